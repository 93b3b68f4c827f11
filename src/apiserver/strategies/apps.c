/* SPDX-License-Identifier: Apache-2.0 */
/* apps: Deployments, ReplicaSets, DaemonSets and ControllerRevisions. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"
#include "apiserver/strategies/workload_checks.h"

static void default_template(struct json_value *spec, struct arena *a)
{
    pod_template_set_defaults(json_set_object(spec, STR("template"), a), a);
}

static void validate_template(const struct spot *spec)
{
    struct spot template = spot_get(spec, "template");

    pod_template_validate(template.v, &template.path, spec->errors);
}

/* A selector that cannot be used is an error instead of those of the template. */
static void validate_replica_template(const struct spot *spec)
{
    struct spot selector = spot_get(spec, "selector");

    if (!selector_parses(selector.v)) {
        spot_invalid_selector(&selector, "invalid label selector");
        return;
    }
    if (!spot_has(&selector) || !label_selector_empty(selector.v))
        check_template_labels(spec);
    validate_template(spec);
    check_template_runs_forever(spec, "ReplicaSet");
}

static void validate_selector_change(const struct json_value *object, const struct json_value *old,
                                     struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selector = spot_get(&spec, "selector");

    spot_check_immutable_selector(&selector, json_at(old, "spec.selector"));
}

/* Deployments and DaemonSets have the same fields here. */
static const struct internal_member rolling_form[] = {
    {"MaxUnavailable", "maxUnavailable", NULL, "0"},
    {"MaxSurge", "maxSurge", NULL, "0"},
    {0},
};
static const struct internal_member strategy_form[] = {
    {"Type", "type", NULL, "\"\""},
    {"RollingUpdate", "rollingUpdate", rolling_form, NULL},
    {0},
};

static void refuse_strategy(const struct spot *strategy, const char *const *types)
{
    struct json_value shown = internal_form(strategy->v, strategy_form, strategy->errors->arena);

    field_not_supported(strategy->errors, &strategy->path, &shown, types);
}

/* --- Deployments ------------------------------------------------------------------------------ */

static void default_deployment(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *strategy, *rolling;

    json_set_default(spec, STR("replicas"), json_int(1, a), a);
    strategy = json_set_object(spec, STR("strategy"), a);
    default_text(strategy, "type", "RollingUpdate", a);
    if (str_is(json_get_text(strategy, STR("type")), "RollingUpdate")) {
        rolling = json_set_object(strategy, STR("rollingUpdate"), a);
        json_set_default(rolling, STR("maxUnavailable"), json_text(STR("25%")), a);
        json_set_default(rolling, STR("maxSurge"), json_text(STR("25%")), a);
    }
    json_set_default(spec, STR("revisionHistoryLimit"), json_int(10, a), a);
    json_set_default(spec, STR("progressDeadlineSeconds"), json_int(600, a), a);
    default_template(spec, a);
}

static void validate_rolling_deployment(const struct spot *rolling)
{
    struct spot unavailable = spot_number(rolling, "maxUnavailable");
    struct spot surge = spot_number(rolling, "maxSurge");

    field_check_int_or_percent(rolling->errors, &unavailable.path, unavailable.v);
    field_check_int_or_percent(rolling->errors, &surge.path, surge.v);
    if (int_or_percent(unavailable.v) == 0 && int_or_percent(surge.v) == 0)
        spot_invalid(&unavailable, "may not be 0 when `maxSurge` is 0");
    field_check_percent_limit(rolling->errors, &unavailable.path, unavailable.v);
}

static void validate_deployment_strategy(const struct spot *spec)
{
    static const char *const types[] = {"Recreate", "RollingUpdate", NULL};
    struct spot strategy = spot_get(spec, "strategy");
    struct spot type = spot_text(&strategy, "type");
    struct spot rolling = spot_get(&strategy, "rollingUpdate");

    if (spot_is(&type, "Recreate")) {
        if (spot_has(&rolling))
            spot_forbidden(&rolling, "may not be specified when strategy `type` is 'Recreate'");
    } else if (spot_is(&type, "RollingUpdate")) {
        if (!spot_has(&rolling))
            spot_required(&rolling, "this should be defaulted and never be nil");
        else
            validate_rolling_deployment(&rolling);
    } else {
        refuse_strategy(&strategy, types);
    }
}

static void validate_deployment(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot deadline = spot_get(&spec, "progressDeadlineSeconds");
    struct spot ready = spot_get(&spec, "minReadySeconds");

    check_counters(&spec, (const char *const[]){"replicas", NULL});
    check_required_selector(&spec, "deployment");
    validate_replica_template(&spec);
    validate_deployment_strategy(&spec);
    check_counters(&spec, (const char *const[]){"minReadySeconds", "revisionHistoryLimit", NULL});
    if (spot_has(&deadline)) {
        spot_check_nonnegative(&deadline);
        if (spot_int(&deadline) <= spot_int(&ready))
            spot_invalid(&deadline, "must be greater than minReadySeconds");
    }
}

static void validate_deployment_status(const struct json_value *object,
                                       const struct json_value *old, struct field_errors *errors)
{
    static const char *const counters[] = {
        "observedGeneration",  "replicas",          "updatedReplicas",
        "readyReplicas",       "availableReplicas", "unavailableReplicas",
        "terminatingReplicas", "collisionCount",    NULL,
    };
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");

    check_counters(&status, counters);
    check_counter_limit(&status, "updatedReplicas", "replicas", "status.replicas");
    check_counter_limit(&status, "readyReplicas", "replicas", "status.replicas");
    check_counter_limit(&status, "availableReplicas", "replicas", "status.replicas");
    check_counter_limit(&status, "availableReplicas", "readyReplicas", "readyReplicas");
    check_collision_count(&status, old);
}

static void warn_deployment(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (object_is_new(object))
        warn_of_name(object, warnings, "Pod names and hostnames");
}

/* --- ReplicaSets ------------------------------------------------------------------------------ */

static void default_replica_set(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);

    json_set_default(spec, STR("replicas"), json_int(1, a), a);
    default_template(spec, a);
}

static void validate_replica_set(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");

    check_counters(&spec, (const char *const[]){"replicas", "minReadySeconds", NULL});
    check_required_selector(&spec, "deployment");
    validate_replica_template(&spec);
}

static void validate_replica_set_status(const struct json_value *object,
                                        const struct json_value *old, struct field_errors *errors)
{
    static const char *const counters[] = {
        "replicas",
        "fullyLabeledReplicas",
        "readyReplicas",
        "availableReplicas",
        "observedGeneration",
        "terminatingReplicas",
        NULL,
    };
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");

    (void)old;
    check_counters(&status, counters);
    check_counter_limit(&status, "fullyLabeledReplicas", "replicas", "status.replicas");
    check_counter_limit(&status, "readyReplicas", "replicas", "status.replicas");
    check_counter_limit(&status, "availableReplicas", "replicas", "status.replicas");
    check_counter_limit(&status, "availableReplicas", "readyReplicas", "readyReplicas");
}

/* --- DaemonSets ------------------------------------------------------------------------------- */

#define TEMPLATE_GENERATION "deprecated.daemonset.template.generation"

static void default_daemon_set(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *strategy, *rolling;

    strategy = json_set_object(spec, STR("updateStrategy"), a);
    default_text(strategy, "type", "RollingUpdate", a);
    if (str_is(json_get_text(strategy, STR("type")), "RollingUpdate")) {
        rolling = json_set_object(strategy, STR("rollingUpdate"), a);
        json_set_default(rolling, STR("maxUnavailable"), json_int(1, a), a);
        json_set_default(rolling, STR("maxSurge"), json_int(0, a), a);
    }
    json_set_default(spec, STR("revisionHistoryLimit"), json_int(10, a), a);
    default_template(spec, a);
}

static int64_t template_generation(const struct json_value *object)
{
    const struct json_value *annotations = json_at(object, "metadata.annotations");
    int64_t n;

    return str_to_i64(json_get_text(annotations, STR(TEMPLATE_GENERATION)), &n) ? n : 0;
}

/* Upstream keeps this number in the object; apps/v1 shows it as an annotation. */
static void set_template_generation(struct json_value *object, int64_t n, struct arena *a)
{
    struct json_value *meta = json_set_object(object, STR("metadata"), a);
    struct json_value *annotations = json_set_object(meta, STR("annotations"), a);
    struct str text = arena_printf(a, "%lld", (long long)n);

    json_set(annotations, STR(TEMPLATE_GENERATION), json_text(text), a);
}

static void prepare_new_daemon_set(struct json_value *object, struct arena *a)
{
    json_remove(object, STR("status"));
    set_template_generation(object, MAX(template_generation(object), 1), a);
}

static void prepare_changed_daemon_set(struct json_value *object, const struct json_value *old,
                                       struct arena *a)
{
    const struct json_value *status = json_get(old, STR("status"));
    bool changed = !field_equal(json_at(object, "spec.template"), json_at(old, "spec.template"));

    json_remove(object, STR("status"));
    if (status)
        json_set(object, STR("status"), *status, a);
    set_template_generation(object, template_generation(old) + changed, a);
}

static void validate_rolling_daemon_set(const struct spot *rolling)
{
    struct spot unavailable = spot_number(rolling, "maxUnavailable");
    struct spot surge = spot_number(rolling, "maxSurge");
    bool has_unavailable = int_or_percent(unavailable.v) != 0;
    bool has_surge = int_or_percent(surge.v) != 0;

    field_check_int_or_percent(rolling->errors, &unavailable.path, unavailable.v);
    field_check_int_or_percent(rolling->errors, &surge.path, surge.v);
    field_check_percent_limit(rolling->errors, &unavailable.path, unavailable.v);
    field_check_percent_limit(rolling->errors, &surge.path, surge.v);
    if (has_unavailable && has_surge)
        spot_invalid(&surge, "may not be set when maxUnavailable is non-zero");
    else if (!has_unavailable && !has_surge)
        spot_required(&unavailable, "cannot be 0 when maxSurge is 0");
}

static void validate_daemon_set(const struct json_value *object, struct field_errors *errors)
{
    static const char *const types[] = {"RollingUpdate", "OnDelete", NULL};
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot selector = spot_get(&spec, "selector");
    struct spot strategy = spot_get(&spec, "updateStrategy");
    struct spot type = spot_text(&strategy, "type");
    struct spot rolling = spot_get(&strategy, "rollingUpdate");

    if (spot_check_selector(&selector))
        check_template_labels(&spec);
    if (spot_has(&selector) && label_selector_empty(selector.v))
        spot_invalid_selector(&selector, "empty selector is invalid for daemonset");
    validate_template(&spec);
    check_template_runs_forever(&spec, "DaemonSet");
    check_counters(&spec, (const char *const[]){"minReadySeconds", NULL});
    if (!spot_is(&type, "RollingUpdate") && !spot_is(&type, "OnDelete"))
        refuse_strategy(&strategy, types);
    else if (spot_is(&type, "RollingUpdate") && !spot_has(&rolling))
        spot_required(&rolling, "");
    else if (spot_is(&type, "RollingUpdate"))
        validate_rolling_daemon_set(&rolling);
    check_counters(&spec, (const char *const[]){"revisionHistoryLimit", NULL});
}

static void validate_daemon_set_status(const struct json_value *object,
                                       const struct json_value *old, struct field_errors *errors)
{
    static const char *const counters[] = {
        "currentNumberScheduled", "numberMisscheduled",
        "desiredNumberScheduled", "numberReady",
        "observedGeneration",     "updatedNumberScheduled",
        "numberAvailable",        "numberUnavailable",
        "collisionCount",         NULL,
    };
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");

    check_counters(&status, counters);
    check_collision_count(&status, old);
}

/* --- ControllerRevisions ---------------------------------------------------------------------- */

static void validate_revision(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), data = spot_get(&root, "data");
    struct spot revision = spot_get(&root, "revision");

    spot_check_nonnegative(&revision);
    /* Data do not change. */
    if (!object_is_new(object))
        return;
    if (!spot_has(&data))
        spot_required(&data, "data is mandatory");
    else if (data.v->kind != JSON_OBJECT)
        spot_required(&data, "data must be a valid JSON object");
}

static void validate_revision_update(const struct json_value *object, const struct json_value *old,
                                     struct field_errors *errors)
{
    struct spot root = spot_root(object, errors);

    spot_check_same(&root, old, "data");
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char *const spec_generation[] = {"spec", NULL};
static const char *const deployment_generation[] = {"spec", "metadata.annotations", NULL};

const struct strategy apps_strategies[] = {
    {
        .group = STR_INIT("apps"),
        .plural = STR_INIT("deployments"),
        .set_defaults = default_deployment,
        .validate = validate_deployment,
        .validate_update = validate_selector_change,
        .validate_status = validate_deployment_status,
        .generation = deployment_generation,
        .unconditional_update = true,
        .warn = warn_deployment,
    },
    {
        .group = STR_INIT("apps"),
        .plural = STR_INIT("replicasets"),
        .set_defaults = default_replica_set,
        .validate = validate_replica_set,
        .validate_update = validate_selector_change,
        .validate_status = validate_replica_set_status,
        .generation = spec_generation,
        .unconditional_update = true,
        .warn = warn_deployment,
    },
    {
        .group = STR_INIT("apps"),
        .plural = STR_INIT("daemonsets"),
        .set_defaults = default_daemon_set,
        .prepare_create = prepare_new_daemon_set,
        .prepare_update = prepare_changed_daemon_set,
        .validate = validate_daemon_set,
        .validate_update = validate_selector_change,
        .validate_status = validate_daemon_set_status,
        .generation = spec_generation,
        .unconditional_update = true,
    },
    {
        .group = STR_INIT("apps"),
        .plural = STR_INIT("controllerrevisions"),
        .validate = validate_revision,
        .validate_update = validate_revision_update,
        .no_status = true,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
