/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review_metrics.h - what is counted where users and their rights are looked into.
 *
 * Purpose:   apiserver_delegated_authn_* and apiserver_delegated_authz_* (questions to the API
 *            server), authentication_token_cache_* (answers that are kept),
 *            apiserver_client_certificate_expiration_seconds, and workqueue_* of the chores that
 *            keep CAs and certificates fresh. berth does a chore as soon as there is one, so its
 *            queues are empty whenever somebody looks.
 * Ownership: the families belong to the registry.
 * Threading: the loop's thread.
 *
 * Every function takes a NULL registry, and then does nothing.
 */
#ifndef BERTH_SERVE_REVIEW_METRICS_H
#define BERTH_SERVE_REVIEW_METRICS_H

#include "base/metrics.h"

enum review_kind { REVIEW_AUTHN, REVIEW_AUTHZ };

/* Shows the families that have no labels. */
void review_metrics_init(struct metrics *metrics);
/* The API server has answered a review (status 0: it has not). */
void review_metrics_answer(struct metrics *metrics, enum review_kind kind, int status, int64_t ns);
/* Seconds that a client's certificate still holds, as it is shown. */
void review_metrics_certificate(struct metrics *metrics, double seconds);

/* A token: its answer was there, is fetched, has been fetched. */
void review_metrics_token_hit(struct metrics *metrics);
void review_metrics_token_fetch(struct metrics *metrics);
void review_metrics_token_fetched(struct metrics *metrics, bool ok, int64_t ns);

/* --- chores ----------------------------------------------------------------------------------- */

/* The queue is there; nothing is in it. */
void workqueue_metrics_init(struct metrics *metrics, const char *queue);
/* A chore that began at `began` (time_mono) is done. */
void workqueue_metrics_done(struct metrics *metrics, const char *queue, int64_t began, bool ok);

#endif
