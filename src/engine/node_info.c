/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/node_info.h"

struct berth_node *node_info_new(struct str name, struct intern *names)
{
    struct berth_node *node = xnew(struct berth_node);
    node->name = str_dup(name);
    node->names = names;
    return node;
}

void node_info_free(struct berth_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++)
        pod_info_unref(node->pods.v[i]);
    vec_release(&node->pods);
    resource_release(&node->allocatable, node->names);
    resource_release(&node->requested, node->names);
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

static void count_pod(struct berth_node *node, const struct berth_pod *pod, int64_t sign)
{
    resource_add(&node->requested, node->names, &pod->requests, sign);
    node->nonzero_milli_cpu += sign * pod->nonzero_milli_cpu;
    node->nonzero_memory += sign * pod->nonzero_memory;
}

void node_info_add_pod(struct berth_node *node, struct berth_pod *pod)
{
    vec_push(&node->pods, pod_info_ref(pod));
    count_pod(node, pod, 1);
}

bool node_info_remove_pod(struct berth_node *node, struct str uid)
{
    for (size_t i = 0; i < node->pods.n; i++) {
        struct berth_pod *pod = node->pods.v[i];
        if (!str_eq(pod_info_key(pod), uid))
            continue;
        count_pod(node, pod, -1);
        vec_swap_remove(&node->pods, i);
        pod_info_unref(pod);
        return true;
    }
    return false;
}
