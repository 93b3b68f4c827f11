/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease.h - leader election on a Lease.
 *
 * Purpose:   of several schedulers one works. A candidate takes a Lease that nobody renewed for
 *            its duration, as seen by the candidate's own clock: clocks of others are never
 *            compared. The leader renews. It stops where it could not for renew_deadline, and at
 *            once where it reads that another holds the lease. Who begins or ceases to lead says
 *            so in an Event.
 * Ownership: the elector belongs to its maker.
 * Threading: the loop's thread. Callbacks may do anything; on_started_leading and
 *            on_stopped_leading may also free the elector.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_H
#define BERTH_KUBE_LEASE_LEASE_H

#include "kube/rest/rest.h"

struct lease_callbacks {
    void (*on_started_leading)(void *ctx);
    /* The lease has been renewed, and lease_elector_may_write says yes. May be NULL. */
    void (*on_renewed)(void *ctx);
    /* The lease is lost: not ours from this moment, though the end waits for a last word. */
    void (*on_lost)(void *ctx);
    /* Once, at the end: lost, or stopped by lease_elector_stop (leading or not). */
    void (*on_stopped_leading)(void *ctx, bool lost);
    /* Another holder was seen; it may be ourselves, and empty after a release. May be NULL. */
    void (*on_new_leader)(void *ctx, struct str identity);
};

/* Zero means the default. */
struct lease_options {
    struct str namespace, name; /* "kube-system", "kube-scheduler" */
    struct str identity;        /* empty: <hostname>_<uuid> */
    int64_t lease_duration;     /* 15 s; told to others in whole seconds, at least 1 */
    int64_t renew_deadline;     /* 10 s; must be below lease_duration */
    int64_t retry_period;       /* 2 s; must be below renew_deadline / 1.2 */
    uint64_t seed;              /* of jitter; 0: from the kernel */
    /* Who holds the lease is decided by the server, among those that have a LeaseCandidate. */
    bool coordinated;
    struct rest_client *event_client; /* for Events about the lease; NULL: none */
    struct str component;             /* who tells them */
    struct metrics *metrics;          /* NULL: nothing is counted */
    int64_t (*clock)(void);           /* NULL: time_boot */
};

struct lease_elector;

/* -EINVAL and one line where the times do not fit each other. callbacks is a static table. */
int lease_elector_new(struct rest_client *client, const struct lease_options *options,
                      const struct lease_callbacks *callbacks, void *ctx,
                      struct lease_elector **ret_elector, struct err *reterr) MUST_CHECK;
void lease_elector_start(struct lease_elector *elector);
/* Gives the lease back where we hold it, then on_stopped_leading(lost: false). */
void lease_elector_stop(struct lease_elector *elector);
/* At once, without a callback. NULL is fine; returns NULL. */
struct lease_elector *lease_elector_free(struct lease_elector *elector);

bool lease_elector_is_leader(const struct lease_elector *elector);
/*
 * Whether the leader may still change anything: nobody else can have taken the lease yet. False
 * from the moment at which it runs out unless it was renewed, counted from when the last renewal
 * was sent; while the server says that the lease is not as we left it; and where we do not lead.
 * Read from the clock at each call, so it is right after a pause of the process or of the machine.
 */
bool lease_elector_may_write(const struct lease_elector *elector);
struct str lease_elector_identity(const struct lease_elector *elector);
/*
 * For health checks: false where we lead and have not renewed for the lease's duration and
 * `tolerance` more, which means that something is stuck.
 */
bool lease_elector_is_healthy(const struct lease_elector *elector, int64_t tolerance);

#endif
