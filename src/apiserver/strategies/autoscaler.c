/* SPDX-License-Identifier: Apache-2.0 */
/* autoscaling: HorizontalPodAutoscalers, as v2 has them. */
#include "apiserver/strategies/device_capacity.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/spot.h"
#include "apiserver/strategies/strategies.h"

#define MAX_PERIOD        1800
#define MAX_STABILIZATION 3600

/* --- defaults --------------------------------------------------------------------------------- */

#define CPU_METRIC                                                       \
    "[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",\"target\":" \
    "{\"type\":\"Utilization\",\"averageUtilization\":80}}}]"
#define UP_RULES                                                               \
    "{\"stabilizationWindowSeconds\":0,\"selectPolicy\":\"Max\",\"policies\":" \
    "[{\"type\":\"Pods\",\"value\":4,\"periodSeconds\":15},"                   \
    "{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}"
#define DOWN_RULES                            \
    "{\"selectPolicy\":\"Max\",\"policies\":" \
    "[{\"type\":\"Percent\",\"value\":100,\"periodSeconds\":15}]}"

static void default_rules(struct json_value *behavior, const char *name, const char *text,
                          struct arena *a)
{
    struct json_value defaults = json_literal(text, a);
    struct json_value *rules = json_set_object(behavior, str_of(name), a);

    for (size_t i = 0; i < defaults.n_members; i++)
        json_set_default(rules, defaults.members[i].key, defaults.members[i].value, a);
}

/* Quantities are written in their canonical form. */
static void normalize(struct json_value *object, const char *name, struct arena *a)
{
    struct json_value *v = json_member(object, str_of(name));
    struct buf text = BUF_INIT;
    struct quantity q;

    if (!v || (v->kind != JSON_STRING && v->kind != JSON_NUMBER))
        return;
    q = quantity_at(v, a);
    quantity_write(&q, &text);
    *v = json_text(arena_dup(a, buf_str(&text)));
    buf_release(&text);
}

static void normalize_metrics(struct json_value *metrics, struct arena *a)
{
    static const char *const members[] = {"object", "external", "pods", "resource",
                                          "containerResource"};

    for (size_t i = 0; metrics && metrics->kind == JSON_ARRAY && i < metrics->n; i++) {
        for (size_t j = 0; j < ARRAY_LEN(members); j++) {
            struct json_value *source = json_member(&metrics->items[i], str_of(members[j]));
            struct json_value *target = json_member(source, STR("target"));

            normalize(target, "value", a);
            normalize(target, "averageValue", a);
        }
    }
}

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *behavior;

    normalize_metrics(json_member(spec, STR("metrics")), a);
    json_set_default(spec, STR("minReplicas"), json_int(1, a), a);
    if (json_items_at(spec, "metrics").n == 0)
        json_set(spec, STR("metrics"), json_literal(CPU_METRIC, a), a);
    behavior = json_member(spec, STR("behavior"));
    if (!behavior || behavior->kind != JSON_OBJECT)
        return;
    default_rules(behavior, "scaleUp", UP_RULES, a);
    default_rules(behavior, "scaleDown", DOWN_RULES, a);
    normalize(json_member(behavior, STR("scaleUp")), "tolerance", a);
    normalize(json_member(behavior, STR("scaleDown")), "tolerance", a);
}

/* --- validation ------------------------------------------------------------------------------- */

static void check_segment(const struct spot *s, const char *required)
{
    if (spot_empty(s))
        spot_required(s, required);
    else
        spot_check_name(s, NAME_PATH_SEGMENT);
}

/* Upstream's ParseGroupVersion: at most one slash. */
static void check_version(const struct spot *ref, bool core_allowed)
{
    struct spot version = spot_text(ref, "apiVersion");
    struct str text = spot_str(&version), group;
    size_t slash = str_find(text, '/');

    group = slash < text.n ? str_slice(text, 0, slash) : STR("");
    if (slash < text.n && str_find(str_slice(text, slash + 1, text.n), '/') < text.n - slash - 1)
        spot_invalid(&version, "unexpected GroupVersion string: %.*s", STR_ARG(text));
    else if (!core_allowed && str_empty(group))
        spot_invalid(&version, "apiVersion must specify API group");
}

static void check_reference(const struct spot *ref, bool core_allowed)
{
    struct spot kind = spot_text(ref, "kind"), name = spot_text(ref, "name");

    check_segment(&kind, "");
    check_segment(&name, "");
    check_version(ref, core_allowed);
}

static void check_positive(const struct spot *target, const char *name)
{
    struct spot value = spot_get(target, name);
    struct quantity q;

    if (!spot_has(&value))
        return;
    q = quantity_at(value.v, target->errors->arena);
    if (quantity_sign(&q) != 1)
        device_refuse_quantity(&value, &q, "must be positive", NULL);
}

static void check_target(const struct spot *source)
{
    struct spot target = spot_get(source, "target"), type = spot_text(&target, "type");
    struct spot utilization = spot_get(&target, "averageUtilization");

    if (spot_empty(&type))
        spot_required(&type, "must specify a metric target type");
    if (!spot_is(&type, "Utilization") && !spot_is(&type, "Value") &&
        !spot_is(&type, "AverageValue"))
        spot_invalid(&type, "must be either Utilization, Value, or AverageValue");
    check_positive(&target, "value");
    check_positive(&target, "averageValue");
    if (spot_has(&utilization) && spot_int(&utilization) < 1)
        spot_invalid(&utilization, "must be greater than 0");
}

static void check_metric_name(const struct spot *source)
{
    struct spot metric = spot_get(source, "metric"), name = spot_text(&metric, "name");

    check_segment(&name, "must specify a metric name");
}

static void check_object(const struct spot *source)
{
    struct spot ref = spot_get(source, "describedObject"), target = spot_get(source, "target");
    struct spot value = spot_get(&target, "value"), average = spot_get(&target, "averageValue");

    check_reference(&ref, true);
    check_metric_name(source);
    check_target(source);
    if (!spot_has(&value) && !spot_has(&average))
        spot_required(&average, "must set either a target value or averageValue");
}

static void check_external(const struct spot *source)
{
    struct spot target = spot_get(source, "target");
    struct spot value = spot_get(&target, "value"), average = spot_get(&target, "averageValue");

    check_metric_name(source);
    check_target(source);
    if (!spot_has(&value) && !spot_has(&average))
        spot_required(&average, "must set either a target value for metric or a per-pod target");
    if (spot_has(&value) && spot_has(&average))
        spot_forbidden(&value, "may not set both a target value for metric and a per-pod target");
}

static void check_pods(const struct spot *source)
{
    struct spot target = spot_get(source, "target"), average = spot_get(&target, "averageValue");

    check_metric_name(source);
    check_target(source);
    if (!spot_has(&average))
        spot_required(&average, "must specify a positive target averageValue");
}

static void check_utilization(const struct spot *source)
{
    struct spot target = spot_get(source, "target"), average = spot_get(&target, "averageValue");
    struct spot utilization = spot_get(&target, "averageUtilization");

    check_target(source);
    if (!spot_has(&utilization) && !spot_has(&average))
        spot_required(&utilization, "must set either a target raw value or a target utilization");
    if (spot_has(&utilization) && spot_has(&average))
        spot_forbidden(&average, "may not set both a target raw value and a target utilization");
}

static void check_resource(const struct spot *source)
{
    struct spot name = spot_text(source, "name");

    if (spot_empty(&name))
        spot_required(&name, "must specify a resource name");
    check_utilization(source);
}

static void check_container(const struct spot *source)
{
    struct spot name = spot_text(source, "name"), container = spot_text(source, "container");

    if (spot_empty(&name))
        spot_required(&name, "must specify a resource name");
    else
        field_check_container_resource_name(source->errors, &name.path, spot_str(&name));
    if (spot_empty(&container))
        spot_required(&container, "must specify a container");
    else
        spot_check_name(&container, NAME_DNS_LABEL);
    check_utilization(source);
}

/* In upstream's order. */
static const struct {
    const char *type, *member;
    void (*check)(const struct spot *source);
} sources[] = {
    {"Object", "object", check_object},
    {"External", "external", check_external},
    {"Pods", "pods", check_pods},
    {"Resource", "resource", check_resource},
    {"ContainerResource", "containerResource", check_container},
};

static void check_metric(const struct spot *metric)
{
    static const char *const types[] = {"ContainerResource", "External", "Object", "Pods",
                                        "Resource",          NULL};
    struct spot type = spot_text(metric, "type"), wanted;
    const char *expected = NULL;
    size_t present = 0;

    if (spot_empty(&type))
        spot_required(&type, "must specify a metric source type");
    spot_check_one_of(&type, types);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++) {
        struct spot source = spot_get(metric, sources[i].member);

        if (spot_has(&source) && ++present == 1)
            sources[i].check(&source);
        if (spot_is(&type, sources[i].type))
            expected = sources[i].member;
    }
    if (!expected) {
        spot_check_one_of(&type, types);
    } else {
        wanted = spot_get(metric, expected);
        if (!spot_has(&wanted))
            spot_required(&wanted, "must populate information for the given metric source");
    }
    for (size_t i = 0; present != 1 && i < ARRAY_LEN(sources); i++) {
        struct spot source = spot_get(metric, sources[i].member);

        if (spot_has(&source) && sources[i].member != expected)
            spot_forbidden(&source, "must populate the given metric source only");
    }
}

static void check_policy(const struct spot *policy)
{
    static const char *const types[] = {"Percent", "Pods", NULL};
    struct spot type = spot_text(policy, "type"), value = spot_number(policy, "value");
    struct spot period = spot_number(policy, "periodSeconds");

    spot_check_one_of(&type, types);
    if (spot_int(&value) <= 0)
        spot_invalid(&value, "must be greater than zero");
    if (spot_int(&period) <= 0)
        spot_invalid(&period, "must be greater than zero");
    if (spot_int(&period) > MAX_PERIOD)
        spot_invalid(&period, "must be less than or equal to %d", MAX_PERIOD);
}

static void check_rules(const struct spot *behavior, const char *name)
{
    static const char *const selects[] = {"Disabled", "Max", "Min", NULL};
    struct spot rules = spot_get(behavior, name), policies = spot_get(&rules, "policies");
    struct spot window = spot_get(&rules, "stabilizationWindowSeconds");
    struct spot select = spot_get(&rules, "selectPolicy");
    struct spot tolerance = spot_get(&rules, "tolerance");

    if (!spot_has(&rules))
        return;
    if (spot_int(&window) < 0)
        spot_invalid(&window, "must be greater than or equal to zero");
    if (spot_int(&window) > MAX_STABILIZATION)
        spot_invalid(&window, "must be less than or equal to %d", MAX_STABILIZATION);
    if (spot_has(&select))
        spot_check_one_of(&select, selects);
    if (spot_count(&policies) == 0)
        spot_required(&policies, "must specify at least one Policy");
    for (size_t i = 0; i < spot_count(&policies); i++) {
        struct spot policy = spot_item(&policies, i);

        check_policy(&policy);
    }
    if (spot_has(&tolerance))
        field_check_nonnegative_quantity(behavior->errors, &tolerance.path, tolerance.v);
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot least = spot_get(&spec, "minReplicas"), most = spot_number(&spec, "maxReplicas");
    struct spot ref = spot_get(&spec, "scaleTargetRef"), metrics = spot_get(&spec, "metrics");
    struct spot behavior = spot_get(&spec, "behavior");

    if (spot_has(&least) && spot_int(&least) < 1)
        spot_invalid(&least, "must be greater than or equal to 1");
    if (spot_int(&most) == 0)
        spot_required(&most, "must be set and greater than 0");
    else if (spot_int(&most) < 0)
        spot_invalid(&most, "must be greater than or equal to 1");
    if (spot_has(&least) && spot_int(&most) < spot_int(&least))
        spot_invalid(&most, "must be greater than or equal to `minReplicas`");
    check_reference(&ref, str_is(json_text_at(ref.v, "kind"), "ReplicationController"));
    for (size_t i = 0; i < spot_count(&metrics); i++) {
        struct spot metric = spot_item(&metrics, i);

        check_metric(&metric);
    }
    if (!spot_has(&behavior))
        return;
    check_rules(&behavior, "scaleUp");
    check_rules(&behavior, "scaleDown");
}

static void validate_status(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");
    struct spot current = spot_get(&status, "currentReplicas");
    struct spot desired = spot_get(&status, "desiredReplicas");

    (void)old;
    spot_check_nonnegative(&current);
    spot_check_nonnegative(&desired);
}

const struct strategy autoscaler_strategies[] = {
    {
        .group = STR_INIT("autoscaling"),
        .plural = STR_INIT("horizontalpodautoscalers"),
        .set_defaults = set_defaults,
        .validate = validate,
        .validate_status = validate_status,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
