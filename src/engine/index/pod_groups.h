/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_groups.h - pods that belong together (upstream: PodGroupState).
 *
 * Purpose:   which pods name which PodGroup in spec.schedulingGroup, and how far each of them is.
 *            A group is known as soon as a pod names it, whether or not its PodGroup exists.
 * Ownership: holds a reference on each pod; what it gives is borrowed.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_INDEX_POD_GROUPS_H
#define BERTH_ENGINE_INDEX_POD_GROUPS_H

#include "base/map.h"
#include "engine/cache/pod_info.h"

enum member_state {
    MEMBER_UNSCHEDULED,
    MEMBER_ASSUMED,  /* has a node in this scheduler's mind only */
    MEMBER_ASSIGNED, /* has one for all to see */
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

/* The name of the pod's group; empty: it is on its own. */
struct str pod_group_of(const struct pod *pod);

void pod_groups_init(struct pod_groups *groups);
void pod_groups_release(struct pod_groups *groups);

/* The pod is there, or is another version of itself. Pods without a group are passed over. */
void pod_groups_set(struct pod_groups *groups, struct berth_pod *pod);
void pod_groups_remove(struct pod_groups *groups, struct str uid);
/* It came to a node (sign 1), be it in mind only, or left it (-1). */
void pod_groups_moved(struct pod_groups *groups, const struct berth_pod *pod, int sign);

/* NULL: no pod names it. */
const struct pod_group_state *pod_groups_get(struct pod_groups *groups, struct str namespace,
                                             struct str name);
static inline size_t pod_group_scheduled(const struct pod_group_state *group)
{
    return group->count[MEMBER_ASSUMED] + group->count[MEMBER_ASSIGNED];
}

#endif
