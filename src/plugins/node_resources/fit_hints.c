/* SPDX-License-Identifier: Apache-2.0 */
/* fit_hints.c - queueing hints of NodeResourcesFit (upstream: EventsToRegister of Fit). */
#include "plugins/node_resources/fit_hints.h"

#include "api/resource_claim.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_resources/fit_request.h"

/* NodeResourcesFit begins with these. */
static const struct extended_classes *classes_of(const void *self)
{
    return ((const struct fit_base *)self)->classes;
}

static const struct engine_log *log_of(const void *self)
{
    return ((const struct fit_base *)self)->plugin.log;
}

/* --- pods ------------------------------------------------------------------------------------- */

/* By its API name; 0 for resources that scheduling does not count. */
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

/* Upstream: isSchedulableAfterPodScaleDown. Was a resource freed that the pending pod requests? */
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

/* Upstream: isSchedulableAfterPodEvent. A pod that leaves a node frees room, also an assumed one.
 */
static enum berth_hint after_assigned_pod_left(void *self, const struct berth_pod *pod,
                                               const struct berth_object *before,
                                               const struct berth_object *after)
{
    (void)after;
    engine_log(log_of(self), 5,
               "another scheduled pod was deleted, and it may make the unscheduled pod schedulable",
               KV_POD(pod), KV_HINT_POD("deletedPod", hint_pod(before)));
    return BERTH_QUEUE;
}

/* A pod without a node held room only if it had a nominated node. */
static enum berth_hint after_waiting_pod_left(void *self, const struct berth_pod *pod,
                                              const struct berth_object *before,
                                              const struct berth_object *after)
{
    (void)after;
    const struct pod *left = hint_pod(before);
    bool helps = !left || !str_empty(left->status.nominated_node_name);
    engine_log(
        log_of(self), 5,
        helps ? "another scheduled pod was deleted, and it may make the unscheduled pod schedulable"
              : "the deleted pod was unscheduled and it wouldn't make the unscheduled pod "
                "schedulable",
        KV_POD(pod), KV_HINT_POD("deletedPod", left));
    return hint_if(helps);
}

static enum berth_hint after_scale_down(void *self, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    if (!old || !new)
        return BERTH_QUEUE;
    bool helps = hint_about(pod, new) ||
                 (!str_empty(new->spec.node_name) && freed_by_resize(pod->pod, old, new));
    engine_log(
        log_of(self), 5,
        helps ? "another scheduled pod or the target pod itself got scaled down, and it may make "
                "the unscheduled pod schedulable"
              : "pod got scaled down, but the modification isn't related to the resource requests "
                "of the target pod",
        KV_POD(pod), KV_HINT_POD("modifiedPod", new));
    return hint_if(helps);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static int64_t scalar_of(const struct resources *r, const struct fit_request *want, size_t i)
{
    const int64_t *amount = resources_scalar(r, intern_text(want->names, want->scalars[i].name));
    return amount ? *amount : 0;
}

/* Upstream: haveAnyRequestedResourcesIncreased. */
static bool has_grown(const struct fit_request *want, const struct resources *old,
                      const struct resources *new)
{
    if (new->allowed_pods > old->allowed_pods ||
        (want->milli_cpu > 0 && new->milli_cpu > old->milli_cpu) ||
        (want->memory > 0 && new->memory > old->memory) ||
        (want->ephemeral_storage > 0 && new->ephemeral_storage > old->ephemeral_storage))
        return true;
    for (size_t i = 0; i < want->n; i++) {
        int64_t has = scalar_of(new, want, i);
        if (has > scalar_of(old, want, i) || fit_is_delegated(&want->scalars[i], has))
            return true;
    }
    return false;
}

/* Upstream: isFit. Would the pod fit the empty node? Resources that the filter ignores count. */
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
    for (size_t i = 0; i < want->n; i++) {
        int64_t there = scalar_of(has, want, i);
        if (!fit_is_delegated(&want->scalars[i], there) && want->scalars[i].amount > there)
            return false;
    }
    return true;
}

/* Upstream: isSchedulableAfterNodeChange. */
static enum berth_hint after_node_change(void *self, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    const struct node *old = hint_node(before), *new = hint_node(after);
    if (!new)
        return BERTH_QUEUE_SKIP;
    struct arena scratch;
    struct resources had = {0}, has = {0};
    struct fit_request *want = fit_request_new(pod, NULL, NULL);
    fit_request_find_devices(want, classes_of(self));
    arena_init(&scratch, 0);
    resources_from_map(&new->status.allocatable, &scratch, &has);
    if (old)
        resources_from_map(&old->status.allocatable, &scratch, &had);
    bool fits = fits_empty(want, &has), helps = fits && (!old || has_grown(want, &had, &has));
    arena_release(&scratch);
    fit_request_free(want);
    engine_log(
        log_of(self), 5,
        !fits
            ? "node was created or updated, but it doesn't have enough resource(s) to accommodate "
              "this pod"
        : !old  ? "node was added and it might fit the pod's resource requests"
        : helps ? "node was updated, and may now fit the pod's resource requests"
                : "node was updated, but haven't changed the pod's resource requestments fit "
                  "assessment",
        KV_POD(pod), KV_NODE(new));
    return hint_if(helps);
}

/* --- device classes --------------------------------------------------------------------------- */

static bool requests_resource(const struct berth_pod *pod, struct str prefix, struct str name)
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

/* Upstream: isSchedulableAfterDeviceClassEvent. A class may provide an extended resource. */
static enum berth_hint after_class_change(void *self, const struct berth_pod *pod,
                                          const struct berth_object *before,
                                          const struct berth_object *after)
{
    const struct device_class *old = before ? object_device_class(object_of_abi(before)) : NULL;
    const struct device_class *new = after ? object_device_class(object_of_abi(after)) : NULL;
    if (!new)
        return BERTH_QUEUE_SKIP;
    struct str name = new->spec.extended_resource_name;
    bool same = old && str_eq(old->spec.extended_resource_name, name);
    bool by_class =
        !old && requests_resource(pod, STR(DEVICE_CLASS_RESOURCE_PREFIX), new->metadata.name);
    bool helps = !same && (by_class || (!str_empty(name) && requests_resource(pod, STR(""), name)));
    engine_log(
        log_of(self), 5,
        same       ? "device class has identical extended resource name"
        : by_class ? "device class was added, and may now fit the pod's resource requests"
        : helps
            ? "device class was created or updated, and may fit the pod's resoruce requests"
            : "created or updated deivce class extended resource name is either nil, or does not "
              "match pod's resource request",
        KV_POD(pod), KV_META("deviceclass", &new->metadata));
    return hint_if(helps);
}

void fit_hints_register(const struct fit_base *self, struct berth_registrar *r)
{
    const struct berth_host *host = self->plugin.host;
    host->register_event(r, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_DELETE,
                         after_assigned_pod_left);
    host->register_event(r, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_DELETE,
                         after_waiting_pod_left);
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_SCALE_DOWN,
                         after_scale_down);
    host->register_event(r, BERTH_RESOURCE_NODE,
                         BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE,
                         after_node_change);
    if (self->classes)
        host->register_event(r, BERTH_RESOURCE_DEVICE_CLASS, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE,
                             after_class_change);
}
