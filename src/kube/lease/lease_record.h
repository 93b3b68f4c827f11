/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_record.h - the last known state of the Lease.
 *
 * Purpose:   the holder and the time since which it is unchanged. As in client-go (observedRecord,
 *            observedTime), time counts from when a change was observed, by the local clock.
 * Ownership: part of the elector; holds a reference on the Lease.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_RECORD_H
#define BERTH_KUBE_LEASE_LEASE_RECORD_H

#include "api/coordination.h"
#include "api/object.h"

struct lease_record {
    struct object *lease; /* last response of the server; NULL: none */
    char *holder;         /* NULL: none seen; empty: released */
    int32_t duration_seconds;
    int32_t transitions;
    struct timestamp acquired;
    int64_t observed_at;
};

/* Both take over the reference on the lease. The lease was read; a changed one counts from now: */
void lease_record_observe(struct lease_record *record, struct object *lease, int64_t now);
/* The lease was written by this instance; it counts from now even if it is unchanged. */
void lease_record_wrote(struct lease_record *record, struct object *lease, int64_t now);
void lease_record_release(struct lease_record *record);

bool lease_record_is_held_by(const struct lease_record *record, struct str identity);
/* When the lease expires unless it is renewed. */
int64_t lease_record_end(const struct lease_record *record);

/* The record that a candidate writes. */
struct lease_claim {
    struct str holder; /* empty: a release */
    int32_t seconds;
    int32_t transitions;
};
/* Fills the lease to create, or to update with all its other fields kept. It borrows from both. */
void lease_record_fill(const struct lease_record *record, struct lease_claim *claim, bool create,
                       struct lease *ret_lease);

#endif
