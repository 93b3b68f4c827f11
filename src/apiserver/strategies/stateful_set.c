/* SPDX-License-Identifier: Apache-2.0 */
/* apps: StatefulSets. */
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"
#include "apiserver/strategies/volume_sources.h"
#include "apiserver/strategies/workload_checks.h"

/* --- defaults --------------------------------------------------------------------------------- */

static void default_update_strategy(struct json_value *spec, struct arena *a)
{
    struct json_value *strategy = json_set_object(spec, STR("updateStrategy"), a), *rolling;

    if (str_empty(json_get_text(strategy, STR("type")))) {
        json_set(strategy, STR("type"), json_text(STR("RollingUpdate")), a);
        json_set_object(strategy, STR("rollingUpdate"), a);
    }
    rolling = json_member(strategy, STR("rollingUpdate"));
    if (!rolling || rolling->kind != JSON_OBJECT ||
        !str_is(json_get_text(strategy, STR("type")), "RollingUpdate"))
        return;
    json_set_default(rolling, STR("partition"), json_int(0, a), a);
}

/* Claims of templates are whole objects: upstream shows their kind and phase. */
static void default_claim_templates(struct json_value *spec, struct arena *a)
{
    struct json_value *templates = json_member(spec, STR("volumeClaimTemplates"));

    for (size_t i = 0; templates && templates->kind == JSON_ARRAY && i < templates->n; i++) {
        struct json_value *claim = &templates->items[i], *status;

        json_set_default(claim, STR("apiVersion"), json_text(STR("v1")), a);
        json_set_default(claim, STR("kind"), json_text(STR("PersistentVolumeClaim")), a);
        claim_spec_set_defaults(json_set_object(claim, STR("spec"), a), a);
        status = json_set_object(claim, STR("status"), a);
        default_text(status, "phase", "Pending", a);
    }
}

static void set_defaults(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a), *retention;

    default_text(spec, "podManagementPolicy", "OrderedReady", a);
    default_update_strategy(spec, a);
    retention = json_set_object(spec, STR("persistentVolumeClaimRetentionPolicy"), a);
    default_text(retention, "whenDeleted", "Retain", a);
    default_text(retention, "whenScaled", "Retain", a);
    json_set_default(spec, STR("replicas"), json_int(1, a), a);
    json_set_default(spec, STR("revisionHistoryLimit"), json_int(10, a), a);
    pod_template_set_defaults(json_set_object(spec, STR("template"), a), a);
    default_claim_templates(spec, a);
}

/* maxUnavailable belongs to a feature that upstream has switched off. */
static void drop_disabled(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *strategy = json_member(spec, STR("updateStrategy"));
    struct json_value *rolling = json_member(strategy, STR("rollingUpdate"));

    if (rolling && rolling->kind == JSON_OBJECT)
        json_remove(rolling, STR("maxUnavailable"));
}

static void prepare_create(struct json_value *object, struct arena *a)
{
    json_remove(object, STR("status"));
    drop_disabled(object, a);
}

static void prepare_update(struct json_value *object, const struct json_value *old, struct arena *a)
{
    const struct json_value *status = json_get(old, STR("status"));

    json_remove(object, STR("status"));
    if (status)
        json_set(object, STR("status"), *status, a);
    drop_disabled(object, a);
}

/* --- validation ------------------------------------------------------------------------------- */

static const struct internal_member rolling_form[] = {
    {"Partition", "partition", NULL, "0"},
    {"MaxUnavailable", "maxUnavailable", NULL, NULL},
    {0},
};
static const struct internal_member strategy_form[] = {
    {"Type", "type", NULL, "\"\""},
    {"RollingUpdate", "rollingUpdate", rolling_form, NULL},
    {0},
};

static void refuse(const struct spot *s, const struct internal_member *fields, const char *text)
{
    struct json_value shown = internal_form(s->v, fields, s->errors->arena);
    struct spot copy = *s;

    copy.v = &shown;
    spot_invalid(&copy, "%s", text);
}

static void validate_update_strategy(const struct spot *spec)
{
    struct spot strategy = spot_get(spec, "updateStrategy");
    struct spot type = spot_text(&strategy, "type");
    struct spot rolling = spot_get(&strategy, "rollingUpdate");
    struct spot partition = spot_get(&rolling, "partition");

    if (spot_empty(&type)) {
        spot_required(&strategy, "");
    } else if (spot_is(&type, "OnDelete")) {
        if (spot_has(&rolling))
            refuse(&rolling, rolling_form, "only allowed for updateStrategy 'RollingUpdate'");
    } else if (!spot_is(&type, "RollingUpdate")) {
        refuse(&strategy, strategy_form, "must be 'RollingUpdate' or 'OnDelete'");
    } else if (spot_has(&rolling)) {
        spot_check_nonnegative(&partition);
    }
}

static void validate_retention(const struct spot *spec)
{
    static const char *const policies[] = {"Retain", "Delete", NULL};
    struct spot retention = spot_get(spec, "persistentVolumeClaimRetentionPolicy");
    struct spot deleted = spot_text(&retention, "whenDeleted");
    struct spot scaled = spot_text(&retention, "whenScaled");

    if (!spot_has(&retention))
        return;
    spot_check_one_of(&deleted, policies);
    spot_check_one_of(&scaled, policies);
}

/* Claims do not change: only those of a new object are checked. */
static void validate_claims(const struct spot *spec)
{
    struct spot claims = spot_get(spec, "volumeClaimTemplates");

    for (size_t i = 0; i < spot_count(&claims); i++) {
        struct spot claim = spot_item(&claims, i), inner = spot_get(&claim, "spec");

        claim_spec_validate(inner.v, &inner.path, spec->errors);
    }
}

/*
 * Upstream validates the template with a volume for each claim and without the names that the
 * controller sets.
 */
static struct json_value whole_template(const struct json_value *spec, struct arena *a)
{
    struct json_value template = json_copy(json_get(spec, STR("template")), a), volumes;
    struct json_items claims = json_items_at(spec, "volumeClaimTemplates");
    struct json_value *pod = json_set_object(&template, STR("spec"), a);
    struct json_items own = json_items_at(pod, "volumes");
    struct map names = MAP_INIT;

    json_remove(pod, STR("subdomain"));
    json_remove(pod, STR("hostname"));
    if (claims.n == 0)
        return template;
    volumes = json_array();
    volumes.items = arena_array(a, struct json_value, claims.n + own.n);
    for (size_t i = 0; i < claims.n; i++) {
        struct str name = json_text_at(&claims.v[i], "metadata.name");
        struct json_value volume = json_object();

        if (map_put(&names, name, pod))
            continue;
        json_set(&volume, STR("name"), json_text(name), a);
        json_set_at(&volume, "persistentVolumeClaim.claimName", json_text(name), a);
        volumes.items[volumes.n++] = volume;
    }
    for (size_t i = 0; i < own.n; i++)
        if (!map_get(&names, json_get_text(&own.v[i], STR("name"))))
            volumes.items[volumes.n++] = own.v[i];
    map_release(&names);
    json_set(pod, STR("volumes"), volumes, a);
    return template;
}

static void validate_template(const struct spot *spec)
{
    struct spot template = spot_get(spec, "template"), selector = spot_get(spec, "selector");
    struct spot metadata = spot_get(&template, "metadata");
    struct field_path labels = field_child(&template.path, "labels");
    struct field_path annotations = field_child(&template.path, "annotations");
    struct json_value whole;

    if (!selector_parses(selector.v)) {
        spot_invalid_selector(&selector, "%s", "");
        return;
    }
    if (!spot_has(&selector) || !label_selector_empty(selector.v))
        check_template_labels(spec);
    if (template.v) {
        whole = whole_template(spec->v, spec->errors->arena);
        pod_template_validate(&whole, &template.path, spec->errors);
    }
    field_check_labels(spec->errors, &labels, json_at(metadata.v, "labels"));
    field_check_annotations(spec->errors, &annotations, json_at(metadata.v, "annotations"));
}

static void validate(const struct json_value *object, struct field_errors *errors)
{
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct spot management = spot_text(&spec, "podManagementPolicy");
    struct spot ordinals = spot_get(&spec, "ordinals");
    struct spot start = spot_get(&spec, "ordinals.start");
    struct spot service = spot_get(&spec, "serviceName");

    if (spot_empty(&management))
        spot_required(&management, "");
    else if (!spot_is(&management, "OrderedReady") && !spot_is(&management, "Parallel"))
        spot_invalid(&management, "must be 'OrderedReady' or 'Parallel'");
    validate_update_strategy(&spec);
    validate_retention(&spec);
    if (object_is_new(object))
        validate_claims(&spec);
    check_counters(&spec, (const char *const[]){"replicas", "minReadySeconds", NULL});
    start.v = json_get(ordinals.v, STR("start"));
    spot_check_nonnegative(&start);
    if (!spot_empty(&service) && object_is_new(object))
        spot_check_name(&service, NAME_DNS_LABEL);
    check_required_selector(&spec, "statefulset");
    validate_template(&spec);
    check_template_runs_forever(&spec, "StatefulSet");
}

#define FROZEN                                                                               \
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', " \
    "'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and "  \
    "'minReadySeconds' are forbidden"

static void validate_update(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    static const char *const free[] = {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    };
    struct spot root = spot_root(object, errors), spec = spot_get(&root, "spec");
    struct json_value mine = json_copy(spec.v, errors->arena);
    struct json_value before = json_copy(json_get(old, STR("spec")), errors->arena);

    for (size_t i = 0; i < ARRAY_LEN(free); i++) {
        json_remove(&mine, str_of(free[i]));
        json_remove(&before, str_of(free[i]));
    }
    if (!field_equal(&mine, &before))
        spot_forbidden(&spec, FROZEN);
}

static void validate_status(const struct json_value *object, const struct json_value *old,
                            struct field_errors *errors)
{
    static const char *const counters[] = {
        "replicas",          "readyReplicas",      "currentReplicas", "updatedReplicas",
        "availableReplicas", "observedGeneration", "collisionCount",  NULL,
    };
    static const char *const parts[] = {"readyReplicas", "currentReplicas", "updatedReplicas",
                                        "availableReplicas"};
    struct spot root = spot_root(object, errors), status = spot_get(&root, "status");

    check_counters(&status, counters);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        check_counter_limit(&status, parts[i], "replicas", "status.replicas");
    check_counter_limit(&status, "availableReplicas", "readyReplicas", "status.readyReplicas");
    check_collision_count(&status, old);
}

static void warn(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    struct json_items claims = json_items_at(object, "spec.volumeClaimTemplates");

    for (size_t i = 0; i < claims.n; i++) {
        struct json_value size =
            json_text(json_text_at(&claims.v[i], "spec.resources.requests.storage"));
        struct quantity q = quantity_at(&size, a);

        if (quantity_milli_value(&q) % 1000 != 0)
            buf_add_printf(warnings,
                           "spec.volumeClaimTemplates[%zu].resources.requests[storage]: fractional "
                           "byte value \"%.*s\" is invalid, must be an integer\n",
                           i, STR_ARG(size.text));
    }
    if (json_int_at(object, "spec.revisionHistoryLimit", 0) < 0)
        buf_add_cstr(warnings, "spec.revisionHistoryLimit: a negative value retains all historical "
                               "revisions; a value >= 0 is recommended\n");
}

const struct strategy stateful_set_strategies[] = {
    {
        .group = STR_INIT("apps"),
        .plural = STR_INIT("statefulsets"),
        .set_defaults = set_defaults,
        .prepare_create = prepare_create,
        .prepare_update = prepare_update,
        .validate = validate,
        .validate_update = validate_update,
        .validate_status = validate_status,
        .generation = (const char *const[]){"spec", NULL},
        .unconditional_update = true,
        .warn = warn,
    },
    {.plural = STR_INIT("")},
};
