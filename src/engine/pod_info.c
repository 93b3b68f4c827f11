/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/pod_info.h"

struct berth_pod *pod_info_new(struct object *object, struct intern *names)
{
    struct berth_pod *p = xnew(struct berth_pod);
    p->refs = 1;
    p->object = object_ref(object);
    p->pod = object_pod(object);
    p->names = names;
    p->node_name = p->pod->spec.node_name;
    p->priority = p->pod->spec.priority ? *p->pod->spec.priority : 0;

    struct arena scratch;
    struct pod_resource resource;
    arena_init(&scratch, 0);
    pod_resource_calculate(p->pod, &RESOURCE_GATES_DEFAULT, &scratch, &resource);
    resource_set(&p->requests, names, &resource.requests);
    p->nonzero_milli_cpu = resource.non_zero_milli_cpu;
    p->nonzero_memory = resource.non_zero_memory;
    arena_release(&scratch);
    return p;
}

struct berth_pod *pod_info_assume(const struct berth_pod *pod, struct str node_name)
{
    struct berth_pod *p = xnew(struct berth_pod);
    *p = *pod;
    p->refs = 1;
    object_ref(p->object);
    p->requests.scalars.v = NULL;
    p->requests.scalars.n = p->requests.scalars.cap = 0;
    for (size_t i = 0; i < pod->requests.scalars.n; i++)
        resource_add_scalar(&p->requests, p->names, pod->requests.scalars.v[i].name,
                            pod->requests.scalars.v[i].amount);
    p->assumed_node = str_dup(node_name);
    p->node_name = str_of(p->assumed_node);
    return p;
}

struct berth_pod *pod_info_ref(struct berth_pod *pod)
{
    pod->refs++;
    return pod;
}

void pod_info_unref(struct berth_pod *pod)
{
    if (--pod->refs)
        return;
    resource_release(&pod->requests, pod->names);
    free(pod->assumed_node);
    object_unref(pod->object);
    free(pod);
}
