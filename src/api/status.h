/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - the API server's Status.
 *
 * Purpose:   the outcome of a request: failures, and deletions. Reasons and cause types are
 *            upstream's StatusReason and CauseType.
 * Ownership: part of a decoded object; everything lives in its arena.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_STATUS_H
#define BERTH_API_STATUS_H

#include "api/meta.h"

#define STATUS_SUCCESS "Success"
#define STATUS_FAILURE "Failure"

struct status_cause {
    struct str reason;
    struct str message;
    struct str field;
};

struct status_details {
    struct str name;
    struct str group;
    struct str kind;
    struct str uid;
    LIST(struct status_cause) causes;
    int32_t retry_after_seconds;
};

/* Returned instead of an object. Left out: metadata. */
struct status {
    struct str status;
    struct str message;
    struct str reason;
    struct status_details *details;
    int32_t code;
};

extern const struct type status_cause_type;
extern const struct type status_details_type;
extern const struct type status_type;

#endif
