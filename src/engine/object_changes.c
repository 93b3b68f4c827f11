/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/object_changes.h"

#include "api/resources.h"

static bool quantity_maps_equal(const quantity_map *a, const quantity_map *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!str_eq(a->v[i].key, b->v[i].key) || quantity_cmp(&a->v[i].value, &b->v[i].value) != 0)
            return false;
    return true;
}

static bool taints_equal(const struct node_spec *a, const struct node_spec *b)
{
    if (a->taints.n != b->taints.n)
        return false;
    for (size_t i = 0; i < a->taints.n; i++) {
        const struct taint *x = &a->taints.v[i], *y = &b->taints.v[i];
        if (!str_eq(x->key, y->key) || !str_eq(x->value, y->value) || !str_eq(x->effect, y->effect))
            return false;
    }
    return true;
}

/* Compares type and status, which heartbeats do not change. */
static bool conditions_equal(const struct node_status *a, const struct node_status *b)
{
    if (a->conditions.n != b->conditions.n)
        return false;
    for (size_t i = 0; i < a->conditions.n; i++)
        if (!str_eq(a->conditions.v[i].type, b->conditions.v[i].type) ||
            !str_eq(a->conditions.v[i].status, b->conditions.v[i].status))
            return false;
    return true;
}

static bool features_equal(const struct node_status *a, const struct node_status *b)
{
    if (a->declared_features.n != b->declared_features.n)
        return false;
    for (size_t i = 0; i < a->declared_features.n; i++)
        if (!str_eq(a->declared_features.v[i], b->declared_features.v[i]))
            return false;
    return true;
}

unsigned node_changes(const struct node *before, const struct node *after)
{
    unsigned changes = 0;
    if (!quantity_maps_equal(&before->status.allocatable, &after->status.allocatable))
        changes |= BERTH_ACTION_UPDATE_NODE_ALLOCATABLE;
    if (!str_map_equal(&before->metadata.labels, &after->metadata.labels))
        changes |= BERTH_ACTION_UPDATE_NODE_LABEL;
    /* Upstream treats an uncordoned node like one that lost a taint. */
    if (!taints_equal(&before->spec, &after->spec) ||
        (before->spec.unschedulable && !after->spec.unschedulable))
        changes |= BERTH_ACTION_UPDATE_NODE_TAINT;
    if (!conditions_equal(&before->status, &after->status))
        changes |= BERTH_ACTION_UPDATE_NODE_CONDITION;
    if (!str_map_equal(&before->metadata.annotations, &after->metadata.annotations))
        changes |= BERTH_ACTION_UPDATE_NODE_ANNOTATION;
    if (!features_equal(&before->status, &after->status))
        changes |= BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE;
    return changes;
}

static bool tolerations_equal(const struct pod_spec *a, const struct pod_spec *b)
{
    if (a->tolerations.n != b->tolerations.n)
        return false;
    for (size_t i = 0; i < a->tolerations.n; i++)
        if (!desc_equal(&toleration_type, &a->tolerations.v[i], &b->tolerations.v[i]))
            return false;
    return true;
}

/* Whether the pod requests less of any resource than before. */
static bool scaled_down(const struct pod *before, const struct pod *after)
{
    struct arena scratch;
    quantity_map old, new;
    bool down = false;
    arena_init(&scratch, 0);
    pod_requests(before, &RESOURCE_GATES_DEFAULT, NULL, &scratch, &old);
    pod_requests(after, &RESOURCE_GATES_DEFAULT, NULL, &scratch, &new);
    for (size_t i = 0; !down && i < old.n; i++) {
        const struct quantity *q = quantity_map_get(&new, old.v[i].key);
        down = !q || quantity_cmp(q, &old.v[i].value) < 0;
    }
    arena_release(&scratch);
    return down;
}

static bool claim_statuses_equal(const struct pod_status *a, const struct pod_status *b)
{
    if (a->resource_claim_statuses.n != b->resource_claim_statuses.n)
        return false;
    for (size_t i = 0; i < a->resource_claim_statuses.n; i++)
        if (!desc_equal(&pod_resource_claim_status_type, &a->resource_claim_statuses.v[i],
                        &b->resource_claim_statuses.v[i]))
            return false;
    return true;
}

unsigned pod_changes(const struct pod *before, const struct pod *after)
{
    unsigned changes = 0;
    if (!str_map_equal(&before->metadata.labels, &after->metadata.labels))
        changes |= BERTH_ACTION_UPDATE_POD_LABEL;
    if (scaled_down(before, after))
        changes |= BERTH_ACTION_UPDATE_POD_SCALE_DOWN;
    if (before->spec.scheduling_gates.n && !after->spec.scheduling_gates.n)
        changes |= BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED;
    if (!tolerations_equal(&before->spec, &after->spec))
        changes |= BERTH_ACTION_UPDATE_POD_TOLERATION;
    if (!claim_statuses_equal(&before->status, &after->status))
        changes |= BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM;
    return changes ? changes : (unsigned)BERTH_ACTION_UPDATE_OTHER;
}

unsigned lookup_change(const struct object *before, const struct object *after)
{
    /* A rule changes the taints of devices in slices that exist. */
    if ((before && after) || object_kind(after ? after : before)->id == KIND_DEVICE_TAINT_RULE)
        return BERTH_ACTION_UPDATE_OTHER;
    return after ? BERTH_ACTION_ADD : BERTH_ACTION_DELETE;
}
