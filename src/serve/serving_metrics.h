/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_metrics.h - metrics of the HTTPS endpoints.
 *
 * Purpose:   authentication_*, authenticated_user_requests, authorization_*, and the families of
 *            upstream's audit log, which is off in a scheduler: they are always 0.
 * Ownership: the registry owns the state.
 * Threading: the loop's thread.
 *
 * The state may be NULL: then the functions do nothing.
 */
#ifndef BERTH_SERVE_SERVING_METRICS_H
#define BERTH_SERVE_SERVING_METRICS_H

#include "base/metrics.h"
#include "serve/authn.h"
#include "serve/authz.h"

struct serving_metrics;

struct serving_metrics *serving_metrics_of(struct metrics *metrics);
/* user: with AUTHN_OK only. ns: the duration of authentication. */
void serving_metrics_authn(struct serving_metrics *m, enum authn_verdict verdict,
                           const struct user_info *user, int64_t ns);
void serving_metrics_authz(struct serving_metrics *m, enum authz_verdict verdict, int64_t ns);

#endif
