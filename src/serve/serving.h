/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving.h - the scheduler's own HTTPS endpoints.
 *
 * Purpose:   every request is authenticated, authorised and answered as kube-scheduler does it:
 *            /healthz, /livez, /readyz with named checks, /metrics, /configz, /flagz, /statusz, and
 *            with profiling /debug/pprof, /debug/flags/v; besides these /debug/explain tells why
 *            pods are where they are. One table of paths: serving.c.
 * Ownership: belongs to its maker; options are copied, but not what they point to unless it is said
 *            so. Free it before the world that explains for it, and run the loop no more between.
 * Threading: the loop's thread. No handler waits.
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
    unsigned paths; /* enum health_path: where it counts */
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

    const struct authn_options *authn; /* NULL, and authz too: everybody may do everything */
    const struct authz_options *authz;

    const struct health_check *checks;
    size_t n_checks;
    void *ctx; /* of checks */

    struct metrics *metrics;                               /* NULL: an empty page */
    void (*write_config)(void *page_ctx, struct buf *out); /* one JSON object, for /configz */
    void *page_ctx;
    const struct serving_flag *flags; /* sorted by name */
    size_t n_flags;
    bool flagz, statusz; /* the feature gates ComponentFlagz and ComponentStatusz */
    bool cbor;           /* CBORServingAndStorage: these two as CBOR, too */
    bool profiling;      /* /debug */
    struct world *world; /* NULL: no pods to tell of */
};

int serving_new(struct loop *loop, const struct serving_options *options,
                struct serving **ret_serving, struct err *reterr) MUST_CHECK;
uint16_t serving_port(const struct serving *serving);
/* What it listens on: "[::]:10259". */
const char *serving_address(const struct serving *serving);
/* No further request is taken; fn is told when the last is answered, or after `patience` ns. */
void serving_shutdown(struct serving *serving, int64_t patience, void (*fn)(void *ctx), void *ctx);
struct serving *serving_free(struct serving *serving); /* NULL is fine; returns NULL */

#endif
