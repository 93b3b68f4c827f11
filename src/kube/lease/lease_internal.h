/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_internal.h - the elector: lease.c has its phases, lease_attempt.c its requests.
 *
 * Purpose:   the internals of a lease_elector.
 * Ownership: see kube/lease/lease.h.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_INTERNAL_H
#define BERTH_KUBE_LEASE_LEASE_INTERNAL_H

#include "base/log.h"
#include "base/rand.h"
#include "kube/lease/lease.h"
#include "kube/lease/lease_record.h"
#include "kube/lease/lease_watch.h"

/* The name of the election in upstream's metrics, whatever the lease is called. */
#define LEASE_ELECTION "kube-scheduler"

enum lease_phase {
    PHASE_OFF,       /* not started, or stopped */
    PHASE_ACQUIRING, /* a candidate: polls and watches the lease */
    PHASE_LEADING,
    PHASE_RELEASING, /* lease_elector_stop: reads the lease, then clears the holder */
    PHASE_ENDING,    /* no longer leader; waits for the last Event */
};

struct lease_elector {
    struct rest_client *client;
    struct lease_options options;
    const struct lease_callbacks *callbacks;
    void *ctx;
    struct arena arena; /* strings of options */
    char lock[256];     /* "namespace/name", for log lines */

    enum lease_phase phase;
    bool lost;              /* PHASE_ENDING */
    struct rest_call *call; /* request about the lease */
    struct rest_call *event;
    struct loop_timer retry, deadline;
    struct rand rand;

    struct lease_record record;
    int64_t sent_at; /* when the current write of the lease was sent */
    bool in_doubt;   /* the server's lease is not the one that we wrote: no writes before the next
                        renewal */
    struct lease_watch watch;
    char *reported; /* the holder last reported; NULL: none yet */
};

int64_t lease_now(const struct lease_elector *elector);
bool lease_is_valid(const struct lease_elector *elector);

/* One attempt to acquire or renew (client-go: tryAcquireOrRenew). Ends in lease_attempt_done. */
void lease_attempt(struct lease_elector *elector);
void lease_attempt_done(struct lease_elector *elector, bool ok);
/* Both start the elector's only request about the lease. holder empty: a release. */
void lease_get(struct lease_elector *elector, rest_done_fn *fn);
void lease_write(struct lease_elector *elector, enum rest_verb verb, struct str holder,
                 rest_done_fn *fn);
void lease_log_failure(const struct lease_elector *elector, const char *what,
                       const struct rest_result *result);

#endif
