/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_record.h - what is known of the Lease that an election is about.
 *
 * Purpose:   who holds it and since when, as this candidate has seen it: time counts from when the
 *            record was seen to change, by our own clock.
 * Ownership: the elector's; it owns a reference on the Lease.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_RECORD_H
#define BERTH_KUBE_LEASE_LEASE_RECORD_H

#include "api/coordination.h"
#include "api/object.h"

struct lease_record {
    struct object *lease; /* as the server gave it last; NULL: none seen */
    char *holder;         /* NULL: none seen; empty: released */
    int32_t duration_seconds;
    int32_t transitions;
    struct timestamp acquired;
    int64_t observed_at;
};

/* Both take over the reference on the lease. Somebody's record was read: */
void lease_record_see(struct lease_record *record, struct object *lease, int64_t now);
/* … and this one we have written ourselves, so that it counts from now in any case. */
void lease_record_take(struct lease_record *record, struct object *lease, int64_t now);
void lease_record_release(struct lease_record *record);

bool lease_record_is_held_by(const struct lease_record *record, struct str identity);
/* When it ends unless it is renewed. */
int64_t lease_record_end(const struct lease_record *record);

/* What a candidate wants to stand there. */
struct lease_claim {
    struct str holder; /* empty: nobody, it is given back */
    int32_t seconds;
    int32_t transitions;
};
/*
 * The lease with the claim, to be created or, with all else that stands there, updated. It borrows
 * of both.
 */
void lease_record_fill(const struct lease_record *record, struct lease_claim *claim, bool create,
                       struct lease *ret_lease);

#endif
