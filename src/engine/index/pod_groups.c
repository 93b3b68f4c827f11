/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_groups.c - upstream: backend/cache/podgroupstate.go.
 *
 * Each member is in the list of its group, at `index`, and counted in exactly one state.
 */
#include "engine/index/pod_groups.h"

#include "engine/cache/object_key.h"

struct str pod_group_of(const struct pod *pod)
{
    const struct pod_scheduling_group *group = pod->spec.scheduling_group;
    return group ? group->pod_group_name : STR("");
}

void pod_groups_init(struct pod_groups *g)
{
    *g = (struct pod_groups){.key = BUF_INIT};
}

static void free_group(struct pod_group_state *group)
{
    vec_release(&group->members);
    free(group->key);
    free(group);
}

void pod_groups_release(struct pod_groups *g)
{
    map_each (e, &g->members) {
        struct group_member *m = e->value;
        pod_info_unref(m->pod);
        free(m);
    }
    map_each (e, &g->by_key)
        free_group(e->value);
    map_release(&g->members);
    map_release(&g->by_key);
    buf_release(&g->key);
}

static struct str key_of(struct pod_groups *g, struct str namespace, struct str name)
{
    return object_key(&g->key, namespace, name);
}

const struct pod_group_state *pod_groups_get(struct pod_groups *g, struct str namespace,
                                             struct str name)
{
    return map_get(&g->by_key, key_of(g, namespace, name));
}

static struct pod_group_state *group_of(struct pod_groups *g, const struct berth_pod *pod)
{
    return map_get(&g->by_key, key_of(g, pod->pod->metadata.namespace, pod_group_of(pod->pod)));
}

/* Each member is counted in its state. */
static UNUSED bool counts_agree(const struct pod_group_state *group)
{
    size_t n = 0;
    for (int state = 0; state < MEMBER_STATES; state++)
        n += group->count[state];
    return n == group->members.n;
}

static void set_state(struct pod_group_state *group, struct group_member *m,
                      enum member_state state)
{
    INVARIANT(group->count[m->state] > 0);
    group->count[m->state]--;
    m->state = state;
    group->count[state]++;
    INVARIANT(counts_agree(group));
}

static struct group_member *add(struct pod_groups *g, struct berth_pod *pod)
{
    struct pod_group_state *group = group_of(g, pod);
    if (!group) {
        group = xnew(struct pod_group_state);
        group->key = xstrdup(buf_cstr(&g->key)); /* set by group_of */
        map_put(&g->by_key, str_of(group->key), group);
    }
    struct group_member *m = xnew(struct group_member);
    *m = (struct group_member){.pod = pod_info_ref(pod), .index = group->members.n};
    vec_push(&group->members, m);
    group->count[MEMBER_UNSCHEDULED]++;
    map_put(&g->members, pod_info_key(pod), m);
    return m;
}

void pod_groups_set(struct pod_groups *g, struct berth_pod *pod)
{
    if (str_empty(pod_group_of(pod->pod)))
        return;
    struct group_member *m = map_get(&g->members, pod_info_key(pod));
    if (!m) {
        m = add(g, pod);
    } else {
        struct berth_pod *old = m->pod;
        m->pod = pod_info_ref(pod);
        map_put(&g->members, pod_info_key(pod), m); /* the key's bytes belong to the new pod */
        pod_info_unref(old);
    }
    if (!str_empty(pod->pod->spec.node_name))
        set_state(group_of(g, pod), m, MEMBER_ASSIGNED);
}

void pod_groups_remove(struct pod_groups *g, struct str uid)
{
    struct group_member *m = map_del(&g->members, uid);
    if (!m)
        return;
    struct pod_group_state *group = group_of(g, m->pod);
    INVARIANT(group->count[m->state] > 0 && group->members.v[m->index] == m);
    group->count[m->state]--;
    vec_swap_remove(&group->members, m->index);
    if (m->index < group->members.n)
        group->members.v[m->index]->index = m->index;
    if (!group->members.n) {
        map_del(&g->by_key, str_of(group->key));
        free_group(group);
    }
    pod_info_unref(m->pod);
    free(m);
}

void pod_groups_moved(struct pod_groups *g, const struct berth_pod *pod, int sign)
{
    struct group_member *m =
        pod->pod->spec.scheduling_group ? map_get(&g->members, pod_info_key(pod)) : NULL;
    /* A pod deleted from the API has left its group, though it may still be assumed. */
    if (!m)
        return;
    bool assigned = !str_empty(m->pod->pod->spec.node_name);
    set_state(group_of(g, m->pod), m,
              assigned   ? MEMBER_ASSIGNED
              : sign > 0 ? MEMBER_ASSUMED
                         : MEMBER_UNSCHEDULED);
}
