/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving.h - the scheduler's own HTTPS endpoints.
 *
 * Purpose:   /healthz, /livez and /readyz, each a list of named checks; `?verbose` and `?exclude=`
 *            as upstream has them, and /healthz/NAME for one check.
 * Ownership: belongs to its maker; the checks' ctx is theirs.
 * Threading: the loop's thread.
 */
#ifndef BERTH_CMD_SERVING_H
#define BERTH_CMD_SERVING_H

#include "net/http_server.h"

struct health_check {
    const char *name;
    bool (*ok)(void *ctx);
    unsigned paths; /* enum health_path: where it counts */
};

enum health_path { HEALTHZ = 1, LIVEZ = 2, READYZ = 4 };

struct serving;

struct serving_options {
    const char *address;
    uint16_t port;                    /* 0: any free one */
    const char *cert_file, *key_file; /* "": a self-signed certificate made in memory */
    const struct health_check *checks;
    size_t n_checks;
    void *ctx;
};

int serving_new(struct loop *loop, const struct serving_options *options,
                struct serving **ret_serving, struct err *reterr) MUST_CHECK;
uint16_t serving_port(const struct serving *serving);
struct serving *serving_free(struct serving *serving); /* NULL is fine; returns NULL */

#endif
