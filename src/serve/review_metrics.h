/* SPDX-License-Identifier: Apache-2.0 */
/*
 * review_metrics.h - metrics of authentication and authorization.
 *
 * Purpose:   apiserver_delegated_authn_* and apiserver_delegated_authz_* (reviews),
 *            authentication_token_cache_*, apiserver_client_certificate_expiration_seconds, and
 *            workqueue_* for reloading CAs and certificates. berth reloads immediately, so these
 *            queues are always empty.
 * Ownership: the registry owns the families.
 * Threading: the loop's thread.
 *
 * The registry may be NULL: then the functions do nothing.
 */
#ifndef BERTH_SERVE_REVIEW_METRICS_H
#define BERTH_SERVE_REVIEW_METRICS_H

#include "base/metrics.h"

enum review_kind { REVIEW_AUTHN, REVIEW_AUTHZ };

/* Adds the families that have no labels. */
void review_metrics_init(struct metrics *metrics);
/* A review is done. status: of HTTP; 0: no response. */
void review_metrics_answer(struct metrics *metrics, enum review_kind kind, int status, int64_t ns);
/* The remaining lifetime of a client's certificate. */
void review_metrics_certificate(struct metrics *metrics, double seconds);

/* A token is found in the cache; a review of it starts; the review is done. */
void review_metrics_token_hit(struct metrics *metrics);
void review_metrics_token_fetch(struct metrics *metrics);
void review_metrics_token_fetched(struct metrics *metrics, bool ok, int64_t ns);

/* --- work queues ------------------------------------------------------------------------------ */

/* Adds the series of a queue. */
void workqueue_metrics_init(struct metrics *metrics, const char *queue);
/* An item whose processing began at `began` (time_mono) is done. */
void workqueue_metrics_done(struct metrics *metrics, const char *queue, int64_t began, bool ok);

#endif
