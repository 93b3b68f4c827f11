/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving.h - the scheduler's HTTPS endpoints.
 *
 * Purpose:   authenticates, authorizes and answers requests as kube-scheduler does: /healthz,
 *            /livez and /readyz with named checks, /metrics, /configz, /flagz, /statusz, and with
 *            profiling /debug/pprof and /debug/flags/v. /debug/explain is berth's own: it returns
 *            recorded scheduling attempts. The table of paths is in serving.c.
 * Ownership: the caller owns it. Options are copied; what they point to must outlive it. Free it
 *            before the world, and do not run the loop in between.
 * Threading: the loop's thread. Handlers do not block.
 */
#ifndef BERTH_SERVE_SERVING_H
#define BERTH_SERVE_SERVING_H

#include "base/metrics.h"
#include "live/world.h"
#include "net/http_server.h"
#include "serve/authn.h"
#include "serve/authz.h"
#include "serve/serving_tls.h"

struct health_check {
    const char *name;
    bool (*ok)(void *ctx);
    unsigned paths; /* set of enum health_path: where it is run */
};

enum health_path { HEALTHZ = 1, LIVEZ = 2, READYZ = 4 };

/* One line of /flagz. */
struct serving_flag {
    const char *name;
    struct str value;
};

struct serving;

struct serving_options {
    const char *address;
    uint16_t port; /* 0: any free one */
    bool reuse_port, disable_http2;
    uint32_t max_streams;   /* per HTTP/2 connection; 0: the server's default */
    size_t max_connections; /* 0: the server's default */
    struct serving_tls_options tls;

    const struct authn_options *authn; /* NULL: no authentication and no authorization */
    const struct authz_options *authz; /* NULL if authn is NULL */

    const struct health_check *checks;
    size_t n_checks;
    void *ctx; /* for checks */

    struct metrics *metrics;                               /* NULL: an empty page */
    void (*write_config)(void *page_ctx, struct buf *out); /* writes JSON for /configz */
    void *page_ctx;
    const struct serving_flag *flags; /* sorted by name */
    size_t n_flags;
    bool flagz, statusz; /* the feature gates ComponentFlagz and ComponentStatusz */
    bool cbor;           /* CBORServingAndStorage: these two also as CBOR */
    bool profiling;      /* serve /debug */
    struct world *world; /* NULL: no explanations and no resource metrics */
};

int serving_new(struct loop *loop, const struct serving_options *options,
                struct serving **ret_serving, struct err *reterr) MUST_CHECK;
uint16_t serving_port(const struct serving *serving);
/* The address it listens on: "[::]:10259". */
const char *serving_address(const struct serving *serving);
/* Stops listening. Calls fn when all requests are answered, or after `patience` ns. */
void serving_shutdown(struct serving *serving, int64_t patience, void (*fn)(void *ctx), void *ctx);
struct serving *serving_free(struct serving *serving); /* NULL is allowed; returns NULL */

#endif
