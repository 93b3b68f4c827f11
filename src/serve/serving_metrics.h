/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_metrics.h - what the endpoints count of those who ask.
 *
 * Purpose:   authentication_*, authenticated_user_requests, authorization_*, and the families of
 *            upstream's audit log, which is off in a scheduler: they stand at zero.
 * Ownership: the state belongs to the registry.
 * Threading: the loop's thread.
 *
 * Every function takes NULL, and then does nothing.
 */
#ifndef BERTH_SERVE_SERVING_METRICS_H
#define BERTH_SERVE_SERVING_METRICS_H

#include "base/metrics.h"
#include "serve/authn.h"
#include "serve/authz.h"

struct serving_metrics;

struct serving_metrics *serving_metrics_of(struct metrics *metrics);
/* user: of AUTHN_OK. ns: from the question to the answer. */
void serving_metrics_authn(struct serving_metrics *m, enum authn_verdict verdict,
                           const struct user_info *user, int64_t ns);
void serving_metrics_authz(struct serving_metrics *m, enum authz_verdict verdict, int64_t ns);

#endif
