/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_metrics.h - what clients of the API server count: the families rest_client_*.
 *
 * Purpose:   a meter belongs to one client and has its series at hand: those of its server, by
 *            method and by status. Credential plugins and CA files count without a meter.
 * Ownership: a meter belongs to its maker; the families to the registry, which outlives it.
 * Threading: the loop's thread.
 *
 * Every function takes a NULL meter or registry, and then does nothing.
 */
#ifndef BERTH_KUBE_REST_METRICS_H
#define BERTH_KUBE_REST_METRICS_H

#include "base/metrics.h"

enum rest_method { REST_M_GET, REST_M_POST, REST_M_PUT, REST_M_PATCH, REST_M_DELETE, REST_M_COUNT };

struct rest_meter;

/* host: "10.0.0.1:6443". NULL where metrics is. */
struct rest_meter *rest_meter_new(struct metrics *metrics, struct str host);
struct rest_meter *rest_meter_free(struct rest_meter *meter); /* NULL is fine; returns NULL */

/* An attempt was answered (status 0: it was not); again: it was not the first. */
void rest_meter_attempt(struct rest_meter *meter, enum rest_method method, int status, bool again);
/* Bytes of the body of an attempt, and of the last answer. */
void rest_meter_sent(struct rest_meter *meter, enum rest_method method, size_t n);
void rest_meter_received(struct rest_meter *meter, enum rest_method method, size_t n);
/* How long the rate limit held an attempt back, and how long all took; ns. */
void rest_meter_limited(struct rest_meter *meter, enum rest_method method, int64_t ns);
void rest_meter_done(struct rest_meter *meter, enum rest_method method, int64_t ns);

/* n transports, each for one client only. */
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
/* A certificate made way for another, ns after it had begun to hold. */
void rest_metrics_exec_rotated(struct metrics *metrics, int64_t age);
/*
 * Until when the certificate of `owner` holds, in seconds since 1970; 0: it has none any more. The
 * shortest time of all owners shows.
 */
void rest_metrics_exec_expiry(struct metrics *metrics, const void *owner, int64_t not_after);

#endif
