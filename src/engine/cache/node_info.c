/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_info.c - upstream: NodeInfo.AddPodInfo, RemovePod and SetNode.
 *
 * Sums, ports and claims are those of the pods in the list. Ports and claims are sorted lists,
 * since most pods have none and most nodes have few.
 */
#include "engine/cache/node_info.h"

/* The table that counts uses of names; NULL for a borrowing copy. */
static struct intern *names_of(const struct berth_node *node)
{
    return node->borrows ? NULL : node->names;
}

struct berth_node *node_info_new(struct str name, struct intern *names)
{
    struct berth_node *node = xnew(struct berth_node);
    node->name = str_dup(name);
    node->names = names;
    return node;
}

/* Replaces the elements of one vector by those of another. */
#define COPY_VEC(to, from)                                              \
    do {                                                                \
        vec_clear(to);                                                  \
        vec_reserve(to, (from)->n);                                     \
        if ((from)->n)                                                  \
            memcpy((to)->v, (from)->v, (from)->n * sizeof(*(from)->v)); \
        (to)->n = (from)->n;                                            \
    } while (0)

static void copy_resource(struct resource *to, const struct resource *from)
{
    COPY_VEC(&to->scalars, &from->scalars);
    to->milli_cpu = from->milli_cpu;
    to->memory = from->memory;
    to->ephemeral_storage = from->ephemeral_storage;
    to->pods = from->pods;
}

void node_info_borrow(struct berth_node *copy, const struct berth_node *node)
{
    copy->borrows = true;
    copy->names = node->names;
    copy->slot = node->slot;
    copy->name = node->name;
    copy->object = node->object;
    copy->node = node->node;
    copy->generation = node->generation;
    copy->nonzero_milli_cpu = node->nonzero_milli_cpu;
    copy->nonzero_memory = node->nonzero_memory;
    copy->n_claiming = node->n_claiming;
    copy_resource(&copy->allocatable, &node->allocatable);
    copy_resource(&copy->requested, &node->requested);
    COPY_VEC(&copy->pods, &node->pods);
    COPY_VEC(&copy->pods_with_affinity, &node->pods_with_affinity);
    COPY_VEC(&copy->pods_with_required_anti_affinity, &node->pods_with_required_anti_affinity);
    COPY_VEC(&copy->used_ports, &node->used_ports);
    COPY_VEC(&copy->claims, &node->claims);
}

static void release_lists(struct berth_node *node)
{
    vec_release(&node->pods);
    vec_release(&node->pods_with_affinity);
    vec_release(&node->pods_with_required_anti_affinity);
    vec_release(&node->used_ports);
    vec_release(&node->claims);
    vec_release(&node->images);
    resource_release(&node->allocatable, names_of(node));
    resource_release(&node->requested, names_of(node));
}

void node_info_end_borrowing(struct berth_node *copy)
{
    release_lists(copy);
}

void node_info_free(struct berth_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++)
        pod_info_unref(node->pods.v[i]);
    release_lists(node);
    object_unref(node->object);
    free(node->name);
    free(node);
}

void node_info_set_object(struct berth_node *node, struct object *object)
{
    struct object *old = node->object;
    node->object = object ? object_ref(object) : NULL;
    node->node = object ? object_node(object) : NULL;
    object_unref(old);

    struct resources allocatable = {0};
    struct arena scratch;
    arena_init(&scratch, 0);
    if (object)
        resources_from_map(&node->node->status.allocatable, &scratch, &allocatable);
    resource_set(&node->allocatable, node->names, &allocatable);
    arena_release(&scratch);
}

/* --- pods ------------------------------------------------------------------------------------- */

static void count_resources(struct berth_node *node, const struct berth_pod *pod, int64_t sign)
{
    resource_add(&node->requested, names_of(node), pod_info_counted(pod), sign);
    node->nonzero_milli_cpu =
        resource_sum(node->nonzero_milli_cpu, sign, pod_info_counted_cpu(pod));
    node->nonzero_memory = resource_sum(node->nonzero_memory, sign, pod_info_counted_memory(pod));
    node->n_claiming += pod->claimed ? (size_t)sign : 0;
}

static void drop_from(pod_list *list, const struct berth_pod *pod)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == pod) {
            vec_swap_remove(list, i);
            return;
        }
}

/* --- sorted lists ----------------------------------------------------------------------------- */

__attribute__((cold, noinline)) static void add_claims(struct berth_node *node,
                                                       const struct berth_pod *pod)
{
    VEC(struct claim_use) merged = {0};
    size_t i = 0, k = 0, n = node->claims.n;
    vec_reserve(&merged, n + pod->claims.n);
    while (i < n || k < pod->claims.n) {
        if (k == pod->claims.n || (i < n && node->claims.v[i].claim <= pod->claims.v[k])) {
            vec_push(&merged, node->claims.v[i++]);
        } else {
            if (!merged.n || vec_last(&merged).claim != pod->claims.v[k])
                vec_push(&merged, (struct claim_use){pod->claims.v[k], 0});
            vec_last(&merged).pods++;
            k++;
        }
    }
    COPY_VEC(&node->claims, &merged);
    vec_release(&merged);
}

__attribute__((cold, noinline)) static void drop_claims(struct berth_node *node,
                                                        const struct berth_pod *pod)
{
    size_t kept = 0, k = 0;
    for (size_t i = 0; i < node->claims.n; i++) {
        struct claim_use use = node->claims.v[i];
        for (; k < pod->claims.n && pod->claims.v[k] <= use.claim; k++)
            use.pods -= pod->claims.v[k] == use.claim && use.pods;
        if (use.pods)
            node->claims.v[kept++] = use;
    }
    node->claims.n = kept;
}

__attribute__((cold, noinline)) static void add_ports(struct berth_node *node,
                                                      const struct berth_pod *pod)
{
    VEC(struct host_port) merged = {0};
    size_t i = 0, k = 0, n = node->used_ports.n;
    vec_reserve(&merged, n + pod->ports.n);
    while (i < n || k < pod->ports.n) {
        bool mine = k == pod->ports.n ||
                    (i < n && host_port_cmp(&node->used_ports.v[i], &pod->ports.v[k]) <= 0);
        vec_push(&merged, mine ? node->used_ports.v[i++] : pod->ports.v[k++]);
    }
    COPY_VEC(&node->used_ports, &merged);
    vec_release(&merged);
}

/*
 * Upstream keeps a set (HostPortInfo): if two pods have the same port, which only static pods can
 * bring about, the port is free as soon as one of them is removed.
 */
__attribute__((cold, noinline)) static void drop_ports(struct berth_node *node,
                                                       const struct berth_pod *pod)
{
    size_t kept = 0, k = 0;
    for (size_t i = 0; i < node->used_ports.n; i++) {
        const struct host_port used = node->used_ports.v[i];
        while (k < pod->ports.n && host_port_cmp(&pod->ports.v[k], &used) < 0)
            k++;
        if (k == pod->ports.n || host_port_cmp(&pod->ports.v[k], &used) != 0)
            node->used_ports.v[kept++] = used;
    }
    node->used_ports.n = kept;
}

/* --- adding and removing pods ----------------------------------------------------------------- */

void node_info_add_pod(struct berth_node *node, struct berth_pod *pod)
{
    vec_push(&node->pods, node->borrows ? pod : pod_info_ref(pod));
    if (pod->has_affinity)
        vec_push(&node->pods_with_affinity, pod);
    if (pod->has_required_anti_affinity)
        vec_push(&node->pods_with_required_anti_affinity, pod);
    if (pod->ports.n)
        add_ports(node, pod);
    if (pod->claims.n)
        add_claims(node, pod);
    count_resources(node, pod, 1);
}

static void remove_at(struct berth_node *node, size_t i)
{
    struct berth_pod *pod = node->pods.v[i];
    count_resources(node, pod, -1);
    drop_from(&node->pods_with_affinity, pod);
    drop_from(&node->pods_with_required_anti_affinity, pod);
    if (pod->ports.n)
        drop_ports(node, pod);
    if (pod->claims.n)
        drop_claims(node, pod);
    vec_swap_remove(&node->pods, i);
    if (!node->borrows)
        pod_info_unref(pod);
}

void node_info_reorder(struct berth_node *node, struct berth_pod *const *order)
{
    if (node->pods.n)
        memcpy(node->pods.v, order, node->pods.n * sizeof(*order));
}

bool node_info_remove_pod(struct berth_node *node, struct str uid)
{
    for (size_t i = 0; i < node->pods.n; i++)
        if (str_eq(pod_info_key(node->pods.v[i]), uid)) {
            remove_at(node, i);
            return true;
        }
    return false;
}

bool node_info_remove_this(struct berth_node *node, const struct berth_pod *pod)
{
    /* Backwards: dry runs mostly remove the pod that they added last. */
    for (size_t i = node->pods.n; i-- > 0;)
        if (node->pods.v[i] == pod) {
            remove_at(node, i);
            return true;
        }
    return false;
}
