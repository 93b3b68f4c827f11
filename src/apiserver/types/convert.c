/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/types/convert.h"

#include "codec/json_edit.h"

/* --- events ----------------------------------------------------------------------------------- */

/* The names that differ between the core group and events.k8s.io. */
static const struct {
    struct str core, events;
} event_names[] = {
    {STR_INIT("count"), STR_INIT("deprecatedCount")},
    {STR_INIT("firstTimestamp"), STR_INIT("deprecatedFirstTimestamp")},
    {STR_INIT("involvedObject"), STR_INIT("regarding")},
    {STR_INIT("lastTimestamp"), STR_INIT("deprecatedLastTimestamp")},
    {STR_INIT("message"), STR_INIT("note")},
    {STR_INIT("reportingComponent"), STR_INIT("reportingController")},
    {STR_INIT("source"), STR_INIT("deprecatedSource")},
};

static void convert_event(struct json_value *event, bool to_core)
{
    for (size_t i = 0; i < event->n_members; i++)
        for (size_t k = 0; k < ARRAY_LEN(event_names); k++) {
            struct str from = to_core ? event_names[k].events : event_names[k].core;
            if (str_eq(event->members[i].key, from)) {
                event->members[i].key = to_core ? event_names[k].core : event_names[k].events;
                break;
            }
        }
}

/* --- autoscalers ------------------------------------------------------------------------------ */

/*
 * v1 has a target of the CPU utilization only. As in upstream, everything else of v2 is kept in
 * annotations of v1. Unlike upstream's, their values are parts of v2 without change.
 */
static const struct {
    const char *path; /* in v2 */
    struct str annotation;
} kept[] = {
    {"spec.metrics", STR_INIT("autoscaling.alpha.kubernetes.io/metrics")},
    {"spec.behavior", STR_INIT("autoscaling.alpha.kubernetes.io/behavior")},
    {"status.currentMetrics", STR_INIT("autoscaling.alpha.kubernetes.io/current-metrics")},
    {"status.conditions", STR_INIT("autoscaling.alpha.kubernetes.io/conditions")},
};

/* Upstream's default where v1 names no target. */
#define DEFAULT_CPU_UTILIZATION 80

/* NULL if the metric is not that of v1. */
static const struct json_value *cpu_utilization(const struct json_value *metric)
{
    if (!str_is(json_text_at(metric, "type"), "Resource") ||
        !str_is(json_text_at(metric, "resource.name"), "cpu"))
        return NULL;
    const struct json_value *v = json_at(metric, "resource.target.averageUtilization");
    return v && v->kind == JSON_NUMBER ? v : NULL;
}

static void remove_at(struct json_value *object, struct str parent, struct str name)
{
    struct json_value *v = json_member(object, parent);
    if (v)
        json_remove(v, name);
}

/* A copy of metadata and its annotations, which may be shared with the input. */
static struct json_value *own_annotations(struct json_value *object, struct arena *a)
{
    struct json_value *metadata = json_set_object(object, STR("metadata"), a);
    *metadata = json_copy(metadata, a);
    return json_set_object(metadata, STR("annotations"), a);
}

static void keep_in_annotations(struct json_value *object, struct arena *a)
{
    struct json_value *annotations = NULL;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct json_value *v = json_at(object, kept[i].path);
        if (!v || v->kind == JSON_NULL || (v->kind == JSON_ARRAY && v->n == 0))
            continue;
        struct buf text = BUF_INIT;
        json_write(v, &text);
        annotations = annotations ? annotations : own_annotations(object, a);
        json_set(annotations, kept[i].annotation, json_text(arena_dup(a, buf_str(&text))), a);
        buf_release(&text);
    }
}

static void autoscaler_to_v1(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *metrics = json_member(spec, STR("metrics"));
    struct json_value target = json_null(), rest = json_array();
    for (size_t i = 0; metrics && metrics->kind == JSON_ARRAY && i < metrics->n; i++) {
        const struct json_value *cpu = cpu_utilization(&metrics->items[i]);
        if (cpu && target.kind == JSON_NULL)
            target = *cpu;
        else if (!cpu)
            json_append(&rest, metrics->items[i], a);
    }
    json_set(spec, STR("metrics"), rest, a);
    keep_in_annotations(object, a);
    spec = json_member(object, STR("spec"));
    json_remove(spec, STR("metrics"));
    json_remove(spec, STR("behavior"));
    if (target.kind != JSON_NULL)
        json_set(spec, STR("targetCPUUtilizationPercentage"), target, a);

    struct json_value *status = json_member(object, STR("status"));
    const struct json_value *current = json_at(object, "status.currentMetrics");
    for (size_t i = 0; current && current->kind == JSON_ARRAY && i < current->n; i++) {
        const struct json_value *v =
            json_at(&current->items[i], "resource.current.averageUtilization");
        if (v && str_is(json_text_at(&current->items[i], "resource.name"), "cpu")) {
            json_set(status, STR("currentCPUUtilizationPercentage"), *v, a);
            break;
        }
    }
    remove_at(object, STR("status"), STR("currentMetrics"));
    remove_at(object, STR("status"), STR("conditions"));
}

static struct json_value cpu_metric(struct json_value utilization, struct arena *a)
{
    struct json_value metric = json_object();
    json_set(&metric, STR("type"), json_text(STR("Resource")), a);
    json_set_at(&metric, "resource.name", json_text(STR("cpu")), a);
    json_set_at(&metric, "resource.target.type", json_text(STR("Utilization")), a);
    json_set_at(&metric, "resource.target.averageUtilization", utilization, a);
    return metric;
}

static void take_from_annotations(struct json_value *object, struct arena *a)
{
    const struct json_value *present = json_at(object, "metadata.annotations");
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++)
        any = any || json_get(present, kept[i].annotation);
    if (!any)
        return;
    struct json_value *annotations = own_annotations(object, a);
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        struct json_value v;
        struct str text = json_get_text(annotations, kept[i].annotation);
        struct err err;
        if (text.n && json_parse(text, 0, a, &v, &err) == 0)
            json_set_at(object, kept[i].path, v, a);
        annotations = json_member(json_member(object, STR("metadata")), STR("annotations"));
        json_remove(annotations, kept[i].annotation);
    }
    if (annotations->n_members == 0)
        json_remove(json_member(object, STR("metadata")), STR("annotations"));
}

static void autoscaler_to_v2(struct json_value *object, struct arena *a)
{
    take_from_annotations(object, a);
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    const struct json_value *cpu = json_get(spec, STR("targetCPUUtilizationPercentage"));
    struct json_value target = cpu ? *cpu : json_null();
    json_remove(spec, STR("targetCPUUtilizationPercentage"));
    struct json_value *metrics = json_set_array(spec, STR("metrics"), a);
    if (target.kind == JSON_NULL && metrics->n == 0)
        target = json_int(DEFAULT_CPU_UTILIZATION, a);
    if (target.kind != JSON_NULL)
        json_append(metrics, cpu_metric(target, a), a);

    struct json_value *status = json_member(object, STR("status"));
    cpu = json_get(status, STR("currentCPUUtilizationPercentage"));
    if (cpu && !json_get(status, STR("currentMetrics"))) {
        struct json_value metric = json_object();
        struct json_value current = *cpu;
        json_set(&metric, STR("type"), json_text(STR("Resource")), a);
        json_set_at(&metric, "resource.name", json_text(STR("cpu")), a);
        json_set_at(&metric, "resource.current.averageUtilization", current, a);
        json_append(json_set_array(status, STR("currentMetrics"), a), metric, a);
    }
    remove_at(object, STR("status"), STR("currentCPUUtilizationPercentage"));
}

/* --- all -------------------------------------------------------------------------------------- */

/* Two levels: conversions change members of the object, its spec and its status. */
static struct json_value shallow_copy(const struct json_value *v, int levels, struct arena *a)
{
    struct json_value copy = *v;
    if (v->kind != JSON_OBJECT || levels == 0)
        return copy;
    copy.members = arena_array(a, struct json_member, v->n_members);
    for (size_t i = 0; i < v->n_members; i++)
        copy.members[i] = (struct json_member){v->members[i].key,
                                               shallow_copy(&v->members[i].value, levels - 1, a)};
    return copy;
}

struct json_value convert_object(const struct resource *from, const struct resource *to,
                                 const struct json_value *object, struct arena *a)
{
    if (from == to || object->kind != JSON_OBJECT)
        return *object;
    struct json_value result = shallow_copy(object, 2, a);
    json_set(&result, STR("apiVersion"), json_text(to->api_version), a);
    if (str_is(to->kind, "Event") && !to->custom)
        convert_event(&result, to->group.n == 0);
    else if (str_is(to->group, "autoscaling") && str_is(to->version, "v1"))
        autoscaler_to_v1(&result, a);
    else if (str_is(to->group, "autoscaling"))
        autoscaler_to_v2(&result, a);
    return result;
}
