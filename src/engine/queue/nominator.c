/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nominator.c - upstream: backend/queue/nominator.go.
 *
 * Two maps describe one relation: every pod of `pods` is in exactly one list of `nodes`, and no
 * list is empty.
 */
#include "engine/queue/nominator.h"

void nominator_init(struct nominator *n)
{
    *n = (struct nominator){0};
}

static void free_node(struct nominated_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++)
        pod_info_unref(node->pods.v[i]);
    vec_release(&node->pods);
    free(node->name);
    free(node);
}

void nominator_release(struct nominator *n)
{
    map_release(&n->pods);
    map_each (e, &n->nodes)
        free_node(e->value);
    map_release(&n->nodes);
}

void nominator_remove(struct nominator *n, struct str uid)
{
    struct nominated_node *node = map_del(&n->pods, uid);
    if (!node)
        return;
    INVARIANT(map_get(&n->nodes, str_of(node->name)) == node);
    bool found = false;
    for (size_t i = 0; i < node->pods.n; i++) {
        struct berth_pod *pod = node->pods.v[i];
        if (!str_eq(pod_info_key(pod), uid))
            continue;
        vec_remove(&node->pods, i);
        pod_info_unref(pod);
        found = true;
        break;
    }
    INVARIANT(found);
    (void)found;
    if (node->pods.n == 0) {
        map_del(&n->nodes, str_of(node->name));
        free_node(node);
    }
}

void nominator_set(struct nominator *n, struct berth_pod *pod, struct str node_name)
{
    /* The pod and the name may belong to the entry that is about to be removed. */
    struct berth_pod *held = pod_info_ref(pod);
    char *name = str_dup(node_name);
    nominator_remove(n, pod_info_key(pod));
    if (*name) {
        struct nominated_node *node = map_get(&n->nodes, str_of(name));
        if (!node) {
            node = xnew(struct nominated_node);
            node->name = xstrdup(name);
            map_put(&n->nodes, str_of(node->name), node);
        }
        vec_push(&node->pods, pod_info_ref(pod));
        struct nominated_node *other = map_put(&n->pods, pod_info_key(pod), node);
        INVARIANT(!other && node->pods.n <= n->pods.n);
        (void)other;
    }
    free(name);
    pod_info_unref(held);
}

void nominator_update(struct nominator *n, const struct berth_pod *before, struct berth_pod *after)
{
    struct str old = before->pod->status.nominated_node_name;
    struct str new = after->pod->status.nominated_node_name;
    /* The update may be older than the nomination, whose write has not been stored yet. */
    if (str_empty(old) && str_empty(new))
        new = nominator_node_of(n, pod_info_key(before));
    nominator_set(n, after, new);
}

struct str nominator_node_of(const struct nominator *n, struct str uid)
{
    const struct nominated_node *node = map_get(&n->pods, uid);
    return node ? str_of(node->name) : STR("");
}

const struct nominated_node *nominator_node(const struct nominator *n, struct str name)
{
    return map_get(&n->nodes, name);
}
