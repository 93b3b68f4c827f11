/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_watch.h - tells a candidate of changes of its Lease at the moment when they happen.
 *
 * Purpose:   who only looks now and then sees a released lease late, and counts a renewal from
 *            when it looked. With a watch the next one leads at once, and a leader that died is
 *            followed when its lease ends. It only adds to looking: a server that does not let us
 *            watch is not asked again, a watch that ends is begun anew at the next look.
 * Ownership: the caller owns the storage.
 * Threading: the loop's thread. The callback may do anything but release the watch.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_WATCH_H
#define BERTH_KUBE_LEASE_LEASE_WATCH_H

#include "kube/rest/rest.h"

/* The lease as it is now, lent; NULL: it is gone. */
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
/* What comes after this state of the lease is told, until lease_watch_stop. */
void lease_watch_follow(struct lease_watch *watch, const struct object *lease);
void lease_watch_stop(struct lease_watch *watch);

#endif
