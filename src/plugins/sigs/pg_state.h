/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pg_state.h - the groups of Coscheduling: PodGroups, the pods that name them, and what became of
 * their last attempts. One state for all profiles.
 *
 * Purpose:   the members of a group are tried in rounds, each of them at most once in a round. The
 *            members that found a node are held in Permit until minMember have one. When so many
 *            have failed that this cannot happen any more, the round has failed: the members that
 *            are held give up their nodes at once, and those that have not been tried are not. The
 *            next round begins when something has happened: a member that was tried is tried again,
 *            a member or the PodGroup is new or changed, or the group's backoff is over.
 * Ownership: the framework owns the state (berth_shared_type); a group lives as long as its
 *            PodGroup or a member; members hold a reference on their pod.
 * Threading: the engine's thread.
 */
#ifndef BERTH_PLUGINS_SIGS_PG_STATE_H
#define BERTH_PLUGINS_SIGS_PG_STATE_H

#include "base/map.h"
#include "base/vec.h"
#include "engine/framework/framework.h"
#include "engine/queue/queued_pod.h"
#include "plugins/sigs/pg_object.h"
#include "plugins/sigs/pg_report.h"

struct pg;

/* A pod with the group's label. Terminal pods are members, but count for nothing here. */
struct pg_member {
    struct pg *group;
    size_t index; /* in group->members */
    struct object *object;
    bool held;                   /* from Permit on until it is bound or Unreserve */
    struct berth_handle *holder; /* Permit of this instance makes it wait; NULL: it does not wait */
    uint64_t round;              /* the last one that it was tried in */
    bool failed;                 /* found no node in the current round */
    /* Its place in the order of the queue, as of when it was queued at that time. */
    bool has_order;
    int64_t queued_at, order;
};

struct pg {
    struct pg_state *state;
    char *key; /* "namespace/name" */
    struct str namespace, name;
    struct object *object; /* the PodGroup; NULL: there is none */
    struct arena arena;    /* of spec and status */
    struct pg_object body;
    VEC(struct pg_member *) members;
    size_t n_present;  /* members that are not terminal; of them: */
    size_t n_gated;    /* with scheduling gates */
    size_t n_assigned; /* with a node, also if it is not in the API yet */
    size_t n_waiting;  /* in Permit */
    size_t n_failed;   /* in this round */
    uint64_t round;
    bool round_failed;
    bool lacks_room;         /* minResources were not free when they were last checked */
    int64_t permitted_until; /* no need to check minResources; 0: there is */
    int64_t backoff_until;   /* 0: none */
    uint64_t backoff_timer;
    int64_t failed_at; /* wall clock; 0: the group is complete, or was never tried */
    struct pg_report report;
};

struct pg_state {
    const struct berth_host *host;
    struct berth_handle *handle; /* the state's own */
    struct berth_lister *lister; /* of PodGroups */
    enum berth_resource resource;
    struct map groups;   /* by key */
    struct map members;  /* by UID of the pod */
    int64_t wall_offset; /* of the scheduler's clock */
    struct buf key;      /* scratch */
    struct pg_reports reports;
};

struct pg_state *pg_state_shared(const struct berth_host *host, struct berth_handle *h);

/* The group that the pod names; NULL: it names none. A group may have no PodGroup. */
struct pg *pg_of(struct pg_state *s, const struct pod *pod);
/* NULL: the pod names no group, or has been deleted. */
struct pg_member *pg_member_of(const struct pg_state *s, const struct pod *pod);

/* --- rounds ----------------------------------------------------------------------------------- */

/* A member is about to be tried. False: its round has failed, and it need not be. */
bool pg_try(struct pg *g, struct pg_member *m);
/* The member found no node. */
void pg_member_failed(struct pg_member *m);
/* Whether minMember members have a node, or may still get one in this round. */
bool pg_reachable(const struct pg *g);
/* The round has failed; members in Permit are rejected with this reason. */
void pg_give_up(struct pg *g, struct str reason);
/* The member has a node. Returns whether minMember have one: no member has to wait any more. */
bool pg_hold(struct pg_member *m);
/* Permit of this instance makes the member wait. The first one brings the others to the activeQ. */
void pg_wait(struct pg_member *m, struct berth_handle *by);
/* The member's node was given up. */
void pg_release(struct pg_member *m);
/* The group is not tried for a while. Without effect if it is backing off. */
void pg_back_off(struct pg *g, int64_t ns);

/* --- order of the queue ----------------------------------------------------------------------- */

/*
 * When the pod's group failed last, or else was created; for a pod without a PodGroup when it was
 * tried first. The answer does not change while the pod is in the activeQ.
 */
int64_t pg_order(struct pg_state *s, const struct berth_queued_pod *q);

#endif
