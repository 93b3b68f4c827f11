/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - leader election on a Lease.
 *
 * Purpose:   client-go's leaderelection: one of several schedulers works. A candidate takes a Lease
 *            that was not renewed for its duration, measured by the candidate's own clock: clocks
 *            of different machines are never compared. The leader renews it every retry_period. It
 *            stops leading when it could not renew for renew_deadline, and at once when another
 *            holds the lease. Each change is recorded as an Event.
 * Ownership: the caller owns the elector.
 * Threading: the loop's thread. Callbacks may do anything; on_started_leading and
 *            on_stopped_leading may also free the elector.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_H
#define BERTH_KUBE_LEASE_LEASE_H

#include "kube/rest/rest.h"

struct lease_callbacks {
    void (*on_started_leading)(void *ctx);
    /* The lease was renewed, so lease_elector_may_write is true. May be NULL. */
    void (*on_renewed)(void *ctx);
    /* The lease is lost as of now. on_stopped_leading follows after the last Event. */
    void (*on_lost)(void *ctx);
    /* Called once, at the end: lost, or stopped by lease_elector_stop (leading or not). */
    void (*on_stopped_leading)(void *ctx, bool lost);
    /* Another holder was seen, possibly this instance; empty after a release. May be NULL. */
    void (*on_new_leader)(void *ctx, struct str identity);
};

/* Zero means the default. */
struct lease_options {
    struct str namespace, name; /* "kube-system", "kube-scheduler" */
    struct str identity;        /* empty: <hostname>_<uuid> */
    int64_t lease_duration;     /* default 15 s; written in whole seconds, at least 1 */
    int64_t renew_deadline;     /* default 10 s; must be below lease_duration */
    int64_t retry_period;       /* default 2 s; must be below renew_deadline / 1.2 */
    uint64_t seed;              /* of jitter; 0: from the kernel */
    /* Coordinated leader election: the server chooses the holder among the LeaseCandidates. */
    bool coordinated;
    struct rest_client *event_client; /* for Events about the lease; NULL: none */
    struct str component;             /* reporting component of the Events */
    struct metrics *metrics;          /* NULL: no metrics */
    int64_t (*clock)(void);           /* NULL: time_boot */
};

struct lease_elector;

/* -EINVAL if the durations do not fit each other. callbacks is a static table. */
int lease_elector_new(struct rest_client *client, const struct lease_options *options,
                      const struct lease_callbacks *callbacks, void *ctx,
                      struct lease_elector **ret_elector, struct err *reterr) MUST_CHECK;
void lease_elector_start(struct lease_elector *elector);
/* Releases the lease if this instance holds it, then calls on_stopped_leading(lost: false). */
void lease_elector_stop(struct lease_elector *elector);
/* Stops at once, without a callback. NULL is allowed. Returns NULL. */
struct lease_elector *lease_elector_free(struct lease_elector *elector);

bool lease_elector_is_leader(const struct lease_elector *elector);
/*
 * Whether the leader may still write: no other instance can hold the lease yet. False once the
 * lease expires, counted from when the last renewal was sent; while the server's lease is not the
 * one that we wrote; and if we do not lead. Reads the clock at each call, so it is correct after
 * the process or the machine was suspended.
 */
bool lease_elector_may_write(const struct lease_elector *elector);
struct str lease_elector_identity(const struct lease_elector *elector);
/*
 * For health checks: false if we lead and have not renewed for the lease duration plus `tolerance`
 * (client-go: LeaderElector.Check).
 */
bool lease_elector_is_healthy(const struct lease_elector *elector, int64_t tolerance);

#endif
