/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_watch.h - watches the Lease for changes.
 *
 * Purpose:   a candidate that only polls sees a release late, and counts a renewal from its poll.
 *            With a watch the next candidate leads at once after a release, and exactly when the
 *            lease of a dead leader expires. The watch only adds to polling: a server that refuses
 *            the watch is not asked again, and a watch that ends is started again at the next poll.
 * Ownership: the caller owns the storage.
 * Threading: the loop's thread. The callback may do anything except release the watch.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_WATCH_H
#define BERTH_KUBE_LEASE_LEASE_WATCH_H

#include "kube/rest/rest.h"

/* The lease's current state, borrowed; NULL: it was deleted. */
typedef void lease_watch_fn(void *ctx, struct object *lease);

struct lease_watch {
    struct rest_client *client;
    lease_watch_fn *fn;
    void *ctx;
    struct rest_call *call; /* NULL: not watching */
    bool refused;
};

void lease_watch_init(struct lease_watch *watch, struct rest_client *client, lease_watch_fn *fn,
                      void *ctx);
/* Reports the changes after this state of the lease, until lease_watch_stop. */
void lease_watch_follow(struct lease_watch *watch, const struct object *lease);
void lease_watch_stop(struct lease_watch *watch);

#endif
