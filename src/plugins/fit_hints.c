/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/fit_hints.h"

#include "api/resource_claim.h"
#include "plugins/fit_request.h"
#include "plugins/plugin_base.h"

/* --- pods ------------------------------------------------------------------------------------- */

/* By its name in the API; what is counted neither as an integer nor by name gives 0. */
static int64_t amount_of(const struct resources *r, struct str name)
{
    if (str_eq(name, RESOURCE_CPU))
        return r->milli_cpu;
    if (str_eq(name, RESOURCE_MEMORY))
        return r->memory;
    if (str_eq(name, RESOURCE_EPHEMERAL_STORAGE))
        return r->ephemeral_storage;
    const int64_t *amount = resources_scalar(r, name);
    return amount ? *amount : 0;
}

/* Does the change leave anything that the pod asks for freer than before? */
static bool freed_by_resize(const struct pod *waiting, const struct pod *old, const struct pod *new)
{
    static const struct resource_gates gates = RESOURCE_GATES_DEFAULT;
    struct arena scratch;
    quantity_map wanted, was, is;
    struct resources before, after;
    bool freed = false;
    arena_init(&scratch, 0);
    pod_requests(waiting, &gates, NULL, &scratch, &wanted);
    pod_requests(old, &gates, NULL, &scratch, &was);
    pod_requests(new, &gates, NULL, &scratch, &is);
    resources_from_map(&was, &scratch, &before);
    resources_from_map(&is, &scratch, &after);
    for (size_t i = 0; !freed && i < wanted.n; i++)
        freed =
            !quantity_is_zero(&wanted.v[i].value) && MAX(amount_of(&before, wanted.v[i].key), 0) >
                                                         MAX(amount_of(&after, wanted.v[i].key), 0);
    arena_release(&scratch);
    return freed;
}

/* Whoever goes from a node leaves room there, also one that was only assumed to be on it. */
static enum berth_hint after_assigned_pod_left(void *self, const struct berth_pod *pod,
                                               const struct berth_object *before,
                                               const struct berth_object *after)
{
    (void)self, (void)pod, (void)before, (void)after;
    return BERTH_QUEUE;
}

/* One without a node held room only if it was promised some. */
static enum berth_hint after_waiting_pod_left(void *self, const struct berth_pod *pod,
                                              const struct berth_object *before,
                                              const struct berth_object *after)
{
    (void)self, (void)pod, (void)after;
    const struct pod *left = hint_pod(before);
    return left && str_empty(left->status.nominated_node_name) ? BERTH_QUEUE_SKIP : BERTH_QUEUE;
}

static enum berth_hint after_scale_down(void *self, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)self;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    if (!old || !new || hint_about(pod, new))
        return BERTH_QUEUE;
    if (str_empty(new->spec.node_name))
        return BERTH_QUEUE_SKIP;
    return freed_by_resize(pod->pod, old, new) ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int64_t scalar_of(const struct resources *r, const struct fit_request *want, size_t i)
{
    const int64_t *amount = resources_scalar(r, intern_text(want->names, want->scalars[i].name));
    return amount ? *amount : 0;
}

/* Has the node grown in something that the pod asks for? */
static bool has_grown(const struct fit_request *want, const struct resources *old,
                      const struct resources *new)
{
    if (new->allowed_pods > old->allowed_pods ||
        (want->milli_cpu > 0 && new->milli_cpu > old->milli_cpu) ||
        (want->memory > 0 && new->memory > old->memory) ||
        (want->ephemeral_storage > 0 && new->ephemeral_storage > old->ephemeral_storage))
        return true;
    for (size_t i = 0; i < want->n; i++)
        if (scalar_of(new, want, i) > scalar_of(old, want, i))
            return true;
    return false;
}

/* Would the pod fit if the node were empty? Resources that the filter ignores count here. */
static bool fits_empty(const struct fit_request *want, const struct resources *has)
{
    const struct fit_amounts amounts = {
        .allocatable_cpu = has->milli_cpu,
        .allocatable_memory = has->memory,
        .allocatable_ephemeral_storage = has->ephemeral_storage,
        .allowed_pods = has->allowed_pods,
    };
    if (fit_lacks(want, &amounts))
        return false;
    for (size_t i = 0; i < want->n; i++)
        if (want->scalars[i].amount > scalar_of(has, want, i))
            return false;
    return true;
}

static enum berth_hint after_node_change(void *self, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)self;
    const struct node *old = hint_node(before), *new = hint_node(after);
    if (!new)
        return BERTH_QUEUE_SKIP;
    struct arena scratch;
    struct resources had = {0}, has = {0};
    struct fit_request *want = fit_request_new(pod, NULL, NULL);
    arena_init(&scratch, 0);
    resources_from_map(&new->status.allocatable, &scratch, &has);
    if (old)
        resources_from_map(&old->status.allocatable, &scratch, &had);
    bool helps = fits_empty(want, &has) && (!old || has_grown(want, &had, &has));
    arena_release(&scratch);
    fit_request_free(want);
    return helps ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

/* --- device classes --------------------------------------------------------------------------- */

/* What a class is called as a resource where it names none itself. */
#define DEVICE_CLASS_PREFIX "deviceclass.resource.kubernetes.io/"

static bool asks_for(const struct berth_pod *pod, struct str prefix, struct str name)
{
    static const struct resource_gates gates = {.pod_level_resources = true};
    struct arena scratch;
    quantity_map requests;
    arena_init(&scratch, 0);
    pod_requests(pod->pod, &gates, NULL, &scratch, &requests);
    struct str full = arena_printf(&scratch, "%.*s%.*s", STR_ARG(prefix), STR_ARG(name));
    bool asks = quantity_map_get(&requests, full);
    arena_release(&scratch);
    return asks;
}

/* A class may stand for a resource that no node has by itself. */
static enum berth_hint after_class_change(void *self, const struct berth_pod *pod,
                                          const struct berth_object *before,
                                          const struct berth_object *after)
{
    (void)self;
    const struct device_class *old = before ? object_device_class(object_of_abi(before)) : NULL;
    const struct device_class *new = after ? object_device_class(object_of_abi(after)) : NULL;
    if (!new)
        return BERTH_QUEUE_SKIP;
    struct str name = new->spec.extended_resource_name;
    if (old && str_eq(old->spec.extended_resource_name, name))
        return BERTH_QUEUE_SKIP;
    bool helps = (!old && asks_for(pod, STR(DEVICE_CLASS_PREFIX), new->metadata.name)) ||
                 (!str_empty(name) && asks_for(pod, STR(""), name));
    return helps ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

void fit_hints_register(const struct berth_host *host, struct berth_registrar *r)
{
    host->register_event(r, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_DELETE,
                         after_assigned_pod_left);
    host->register_event(r, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_DELETE,
                         after_waiting_pod_left);
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_SCALE_DOWN,
                         after_scale_down);
    host->register_event(r, BERTH_RESOURCE_NODE,
                         BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE,
                         after_node_change);
    host->register_event(r, BERTH_RESOURCE_DEVICE_CLASS, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE,
                         after_class_change);
}
