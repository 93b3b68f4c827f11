/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lease_internal.h - the elector's inside: lease.c has its life, lease_attempt.c what it says to
 * the server.
 */
#ifndef BERTH_KUBE_LEASE_LEASE_INTERNAL_H
#define BERTH_KUBE_LEASE_LEASE_INTERNAL_H

#include "base/log.h"
#include "base/rand.h"
#include "kube/lease/lease.h"
#include "kube/lease/lease_record.h"
#include "kube/lease/lease_watch.h"

/* Upstream's name of the election in metrics, whatever the lease is called. */
#define LEASE_ELECTION "kube-scheduler"

enum lease_phase { PHASE_OFF, PHASE_ACQUIRING, PHASE_LEADING, PHASE_RELEASING, PHASE_ENDING };

struct lease_elector {
    struct rest_client *client;
    struct lease_options options;
    const struct lease_callbacks *callbacks;
    void *ctx;
    struct arena arena; /* texts of options */
    char lock[256];     /* "namespace/name" for the log */

    enum lease_phase phase;
    bool lost;              /* PHASE_ENDING */
    struct rest_call *call; /* about the lease */
    struct rest_call *event;
    struct loop_timer retry, deadline;
    struct rand rand;

    struct lease_record record;
    int64_t sent_at; /* when the write of the lease that is under way began */
    bool in_doubt;   /* the lease is not as we left it: no write before the next renewal */
    struct lease_watch watch;
    char *reported; /* the holder last told; NULL: none yet */
};

int64_t lease_now(const struct lease_elector *elector);
bool lease_is_valid(const struct lease_elector *elector);

/* One attempt to acquire or renew; lease_attempt_done is told what came of it. */
void lease_attempt(struct lease_elector *elector);
void lease_attempt_done(struct lease_elector *elector, bool ok);
/* Both are the elector's only call about the lease. holder empty: it is given back. */
void lease_get(struct lease_elector *elector, rest_done_fn *fn);
void lease_write(struct lease_elector *elector, enum rest_verb verb, struct str holder,
                 rest_done_fn *fn);
void lease_log_failure(const struct lease_elector *elector, const char *what,
                       const struct rest_result *result);

#endif
