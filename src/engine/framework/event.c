/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/framework/event.h"

const struct cluster_event event_reload = {
    .resource = BERTH_RESOURCE_ALL, .action = BERTH_ACTION_ALL, .label = EVENT_RELOAD};

static const char *const resource_names[BERTH_RESOURCE_COUNT] = {
    [BERTH_RESOURCE_POD] = "Pod",
    [BERTH_RESOURCE_ASSIGNED_POD] = "AssignedPod",
    [BERTH_RESOURCE_UNSCHEDULED_POD] = "UnschedulablePod",
    [BERTH_RESOURCE_NODE] = "Node",
    [BERTH_RESOURCE_PERSISTENT_VOLUME] = "PersistentVolume",
    [BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM] = "PersistentVolumeClaim",
    [BERTH_RESOURCE_CSI_NODE] = "storage.k8s.io/CSINode",
    [BERTH_RESOURCE_CSI_DRIVER] = "storage.k8s.io/CSIDriver",
    [BERTH_RESOURCE_CSI_STORAGE_CAPACITY] = "storage.k8s.io/CSIStorageCapacity",
    [BERTH_RESOURCE_STORAGE_CLASS] = "storage.k8s.io/StorageClass",
    [BERTH_RESOURCE_VOLUME_ATTACHMENT] = "storage.k8s.io/VolumeAttachment",
    [BERTH_RESOURCE_RESOURCE_CLAIM] = "resource.k8s.io/ResourceClaim",
    [BERTH_RESOURCE_RESOURCE_SLICE] = "resource.k8s.io/ResourceSlice",
    [BERTH_RESOURCE_DEVICE_CLASS] = "resource.k8s.io/DeviceClass",
    [BERTH_RESOURCE_POD_GROUP] = "scheduling.k8s.io/PodGroup",
    [BERTH_RESOURCE_ALL] = "*",
};

static const struct {
    unsigned action;
    const char *name;
} action_names[] = {
    {BERTH_ACTION_ADD, "Add"},
    {BERTH_ACTION_DELETE, "Delete"},
    {BERTH_ACTION_UPDATE_NODE_ALLOCATABLE, "UpdateNodeAllocatable"},
    {BERTH_ACTION_UPDATE_NODE_LABEL, "UpdateNodeLabel"},
    {BERTH_ACTION_UPDATE_NODE_TAINT, "UpdateNodeTaint"},
    {BERTH_ACTION_UPDATE_NODE_CONDITION, "UpdateNodeCondition"},
    {BERTH_ACTION_UPDATE_NODE_ANNOTATION, "UpdateNodeAnnotation"},
    {BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE, "UpdateNodeDeclaredFeature"},
    {BERTH_ACTION_UPDATE_POD_LABEL, "UpdatePodLabel"},
    {BERTH_ACTION_UPDATE_POD_SCALE_DOWN, "UpdatePodScaleDown"},
    {BERTH_ACTION_UPDATE_POD_TOLERATION, "UpdatePodToleration"},
    {BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED, "UpdatePodSchedulingGatesEliminated"},
    {BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM, "UpdatePodGeneratedResourceClaim"},
    {BERTH_ACTION_UPDATE, "Update"},
    {BERTH_ACTION_ALL, "All"},
};

struct cluster_event event_keep(const struct cluster_event *e)
{
    return (struct cluster_event){
        .resource = e->resource,
        .action = e->action,
        .label = e->label,
        .before = e->before ? object_ref(e->before) : NULL,
        .after = e->after ? object_ref(e->after) : NULL,
    };
}

void event_drop(struct cluster_event *e)
{
    e->before = object_unref(e->before);
    e->after = object_unref(e->after);
}

static bool covers_resource(enum berth_resource registered, enum berth_resource happened)
{
    if (registered == happened || registered == BERTH_RESOURCE_ALL)
        return true;
    return registered == BERTH_RESOURCE_POD &&
           (happened == BERTH_RESOURCE_ASSIGNED_POD || happened == BERTH_RESOURCE_UNSCHEDULED_POD);
}

bool event_matches(enum berth_resource resource, unsigned actions, const struct cluster_event *e)
{
    if (resource == BERTH_RESOURCE_ALL && actions == BERTH_ACTION_ALL)
        return true;
    /* An update of no known kind has all bits: only registrations for all updates match. */
    return covers_resource(resource, e->resource) && (actions & e->action) && e->action <= actions;
}

bool event_next_action(unsigned *actions, unsigned *ret_action)
{
    if (!*actions)
        return false;
    if (*actions & BERTH_ACTION_UPDATE_OTHER) {
        *ret_action = BERTH_ACTION_UPDATE;
        *actions = 0;
        return true;
    }
    *ret_action = *actions & -*actions;
    *actions &= *actions - 1;
    return true;
}

static size_t label_number(const char *label)
{
    static const char *const labels[EVENT_LABELS - 1] = {
        EVENT_FORCE_ACTIVATE,   EVENT_UNSCHEDULABLE_TIMEOUT, EVENT_BACKOFF_COMPLETE,
        EVENT_POP_FROM_BACKOFF, EVENT_ATTEMPT_FAILURE,       EVENT_RELOAD,
    };
    size_t i = 0;
    while (i < ARRAY_LEN(labels) && strcmp(label, labels[i]) != 0)
        i++;
    return i;
}

size_t event_number(const struct cluster_event *e)
{
    if (e->label)
        return (size_t)BERTH_RESOURCE_COUNT * EVENT_ACTIONS + label_number(e->label);
    if (e->resource >= RESOURCE_OF_KINDS)
        return (size_t)BERTH_RESOURCE_COUNT * EVENT_ACTIONS + EVENT_LABELS +
               (e->resource - RESOURCE_OF_KINDS) * (size_t)EVENT_KIND_ACTIONS +
               (e->action == BERTH_ACTION_ADD      ? 0
                : e->action == BERTH_ACTION_DELETE ? 1
                                                   : 2);
    size_t action = e->action & (e->action - 1) ? EVENT_ACTIONS - 1 /* an update of any kind */
                                                : (size_t)__builtin_ctz(e->action);
    return (size_t)e->resource * EVENT_ACTIONS + action;
}

/* "scheduling.x-k8s.io/PodGroup", "Service". */
static void write_kind(const struct kind *kind, struct buf *out)
{
    buf_add_str(out, kind->group);
    if (kind->group.n)
        buf_add_char(out, '/');
    buf_add_str(out, kind->kind);
}

void event_write_label(const struct cluster_event *e, struct buf *out)
{
    if (e->label) {
        buf_add_cstr(out, e->label);
        return;
    }
    if (e->resource >= RESOURCE_OF_KINDS)
        write_kind(kind_get((enum kind_id)(e->resource - RESOURCE_OF_KINDS)), out);
    else
        buf_add_cstr(out, resource_names[e->resource]);
    for (size_t i = 0; i < ARRAY_LEN(action_names); i++)
        if (action_names[i].action == e->action)
            buf_add_cstr(out, action_names[i].name);
}
