/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_metrics.h - the rest_client_* metrics.
 *
 * Purpose:   a meter belongs to one client and caches its series by method and status. Credential
 *            plugins and CA files are counted without a meter.
 * Ownership: the caller owns the meter; the registry owns the families and outlives it.
 * Threading: the loop's thread.
 *
 * All functions accept a NULL meter or registry and then do nothing.
 */
#ifndef BERTH_KUBE_REST_METRICS_H
#define BERTH_KUBE_REST_METRICS_H

#include "base/metrics.h"

enum rest_method { REST_M_GET, REST_M_POST, REST_M_PUT, REST_M_PATCH, REST_M_DELETE, REST_M_COUNT };

struct rest_meter;

/* host: "10.0.0.1:6443". Returns NULL if metrics is NULL. */
struct rest_meter *rest_meter_new(struct metrics *metrics, struct str host);
struct rest_meter *rest_meter_free(struct rest_meter *meter); /* NULL is allowed; returns NULL */

/* An attempt ended with this HTTP status (0: no response). again: it was a retry. */
void rest_meter_attempt(struct rest_meter *meter, enum rest_method method, int status, bool again);
/* Size of the body of an attempt, and of the last response. */
void rest_meter_sent(struct rest_meter *meter, enum rest_method method, size_t n);
void rest_meter_received(struct rest_meter *meter, enum rest_method method, size_t n);
/* Time that the rate limit delayed an attempt, and total time of the call; ns. */
void rest_meter_limited(struct rest_meter *meter, enum rest_method method, int64_t ns);
void rest_meter_done(struct rest_meter *meter, enum rest_method method, int64_t ns);

/* n transports, each used by one client only. */
void rest_metrics_transports(struct metrics *metrics, size_t n);

/* --- CA files --------------------------------------------------------------------------------- */

enum rest_ca_reload { REST_CA_UNCHANGED, REST_CA_UPDATED, REST_CA_UNREADABLE, REST_CA_BAD };
void rest_metrics_ca_reload(struct metrics *metrics, enum rest_ca_reload outcome);

/* --- credential plugins ----------------------------------------------------------------------- */

enum rest_exec {
    REST_EXEC_OK,
    REST_EXEC_FAILED, /* with an exit code */
    REST_EXEC_NOT_FOUND,
    REST_EXEC_INTERNAL,
};
void rest_metrics_exec(struct metrics *metrics, enum rest_exec outcome, int exit_code);
/* A certificate was replaced, age ns after it became valid. */
void rest_metrics_exec_rotated(struct metrics *metrics, int64_t age);
/*
 * The certificate of `owner` is valid until not_after, in seconds since 1970; 0: it has none any
 * more. The metric shows the shortest time of all owners.
 */
void rest_metrics_exec_expiry(struct metrics *metrics, const void *owner, int64_t not_after);

#endif
