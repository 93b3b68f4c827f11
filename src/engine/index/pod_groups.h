/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_groups.h - the members of pod groups (upstream: PodGroupState).
 *
 * Purpose:   the pods that name each PodGroup in spec.schedulingGroup, and the state of each. A
 *            group is known as soon as a pod names it, whether or not its PodGroup exists.
 * Ownership: holds a reference on each pod; results are borrowed.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_INDEX_POD_GROUPS_H
#define BERTH_ENGINE_INDEX_POD_GROUPS_H

#include "base/map.h"
#include "engine/cache/pod_info.h"

enum member_state {
    MEMBER_UNSCHEDULED,
    MEMBER_ASSUMED,  /* on a node in this scheduler's cache only */
    MEMBER_ASSIGNED, /* on a node in the API */
    MEMBER_STATES,
};

struct group_member {
    struct berth_pod *pod;
    enum member_state state;
    size_t index; /* in members */
};

struct pod_group_state {
    char *key;
    VEC(struct group_member *) members;
    size_t count[MEMBER_STATES];
};

struct pod_groups {
    struct map by_key;  /* "namespace/name", to struct pod_group_state */
    struct map members; /* by UID, to struct group_member */
    struct buf key;     /* scratch */
};

/* The name of the pod's group; empty if none. */
struct str pod_group_of(const struct pod *pod);

void pod_groups_init(struct pod_groups *groups);
void pod_groups_release(struct pod_groups *groups);

/* The pod was added or changed. Pods without a group are ignored. */
void pod_groups_set(struct pod_groups *groups, struct berth_pod *pod);
void pod_groups_remove(struct pod_groups *groups, struct str uid);
/* The pod was added to a node of the cache (sign 1), also assumed, or removed from it (-1). */
void pod_groups_moved(struct pod_groups *groups, const struct berth_pod *pod, int sign);

/* NULL if no pod names the group. */
const struct pod_group_state *pod_groups_get(struct pod_groups *groups, struct str namespace,
                                             struct str name);
static inline size_t pod_group_scheduled(const struct pod_group_state *group)
{
    return group->count[MEMBER_ASSUMED] + group->count[MEMBER_ASSIGNED];
}

#endif
