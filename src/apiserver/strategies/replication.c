/* SPDX-License-Identifier: Apache-2.0 */
/* PodTemplates and ReplicationControllers. */
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"

/* --- podtemplates ----------------------------------------------------------------------------- */

static void default_template(struct json_value *object, struct arena *a)
{
    pod_template_set_defaults(json_set_object(object, STR("template"), a), a);
}

static void validate_template(const struct json_value *object, struct field_errors *errors)
{
    struct field_path path = field_child(NULL, "template");

    pod_template_validate(json_get(object, STR("template")), &path, errors);
}

static void warn_template(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    pod_template_warn(json_get(object, STR("template")), "template", warnings, a);
}

/* --- replicationcontrollers ------------------------------------------------------------------- */

static void default_controller(struct json_value *object, struct arena *a)
{
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *template = json_member(spec, STR("template"));
    const struct json_value *labels = json_at(template, "metadata.labels");

    if (labels) {
        if (json_members_at(spec, "selector").n == 0)
            json_set(spec, STR("selector"), *labels, a);
        if (json_members_at(object, "metadata.labels").n == 0)
            json_set_at(object, "metadata.labels", *labels, a);
        spec = json_member(object, STR("spec"));
    }
    json_set_default(spec, STR("replicas"), json_int(1, a), a);
    template = json_member(spec, STR("template"));
    if (template)
        pod_template_set_defaults(template, a);
}

static bool selects(const struct json_value *selector, const struct json_value *labels)
{
    struct json_member member = {STR("matchLabels"), *selector};
    struct json_value object = json_object();

    object.members = &member;
    object.n_members = 1;
    return label_selector_matches(&object, labels);
}

static void check_template(const struct json_value *spec, const struct field_path *path,
                           struct field_errors *errors)
{
    static const char *const always[] = {"Always", NULL};
    const struct json_value *template = json_get(spec, STR("template"));
    const struct json_value *selector = json_get(spec, STR("selector"));
    const struct json_value *labels = json_at(template, "metadata.labels");
    struct field_path at = field_child(path, "template"), in = field_child(&at, "spec");
    struct field_path restart = field_child(&in, "restartPolicy");

    if (!template) {
        field_error(errors, FIELD_REQUIRED, &at, NULL, "%s", "");
        return;
    }
    if (json_members_at(spec, "selector").n > 0 && !selects(selector, labels)) {
        struct field_path meta = field_child(&at, "metadata");

        field_error_at(errors, FIELD_INVALID, &meta, "labels", labels,
                       "`selector` does not match template `labels`");
    }
    pod_template_validate(template, &at, errors);
    field_check_enum(errors, &restart, json_text_at(template, "spec.restartPolicy"), always);
    if (json_at(template, "spec.activeDeadlineSeconds"))
        field_error_at(errors, FIELD_FORBIDDEN, &in, "activeDeadlineSeconds", NULL,
                       "activeDeadlineSeconds in ReplicationController is not Supported");
}

static void validate_controller(const struct json_value *object, struct field_errors *errors)
{
    const struct json_value *spec = json_get(object, STR("spec"));
    struct field_path path = field_child(NULL, "spec");
    struct field_path seconds = field_child(&path, "minReadySeconds");
    struct field_path replicas = field_child(&path, "replicas");

    field_check_nonnegative(errors, &seconds, json_get(spec, STR("minReadySeconds")));
    if (json_members_at(spec, "selector").n == 0)
        field_required(errors, &path, "selector");
    field_check_nonnegative(errors, &replicas, json_get(spec, STR("replicas")));
    check_template(spec, &path, errors);
}

static void validate_controller_status(const struct json_value *object,
                                       const struct json_value *old, struct field_errors *errors)
{
    static const char *const counts[] = {"replicas", "fullyLabeledReplicas", "readyReplicas",
                                         "availableReplicas", "observedGeneration"};
    const struct json_value *status = json_get(object, STR("status"));
    struct field_path path = field_child(NULL, "status");
    int64_t replicas = json_int_at(status, "replicas", 0);

    (void)old;
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct field_path at = field_child(&path, counts[i]);

        field_check_nonnegative(errors, &at, json_get(status, str_of(counts[i])));
    }
    for (size_t i = 1; i < 4; i++)
        if (json_int_at(status, counts[i], 0) > replicas)
            field_error_at(errors, FIELD_INVALID, &path, counts[i],
                           json_get(status, str_of(counts[i])),
                           "cannot be greater than status.replicas");
    if (json_int_at(status, "availableReplicas", 0) > json_int_at(status, "readyReplicas", 0))
        field_error_at(errors, FIELD_INVALID, &path, "availableReplicas",
                       json_get(status, STR("availableReplicas")),
                       "cannot be greater than readyReplicas");
}

static void warn_controller(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    if (str_empty(json_text_at(object, "metadata.resourceVersion")))
        warn_dns_label(json_text_at(object, "metadata.name"), "Pod names and hostnames", warnings,
                       a);
    pod_template_warn(json_at(object, "spec.template"), "spec.template", warnings, a);
}

static const char *const template_member[] = {"template", NULL};
static const char *const spec_member[] = {"spec", NULL};
static const char *const controller_fields[] = {"status.replicas", NULL};

const struct strategy replication_strategies[] = {
    {
        .plural = STR_INIT("podtemplates"),
        .set_defaults = default_template,
        .validate = validate_template,
        .generation = template_member,
        .no_status = true,
        .unconditional_update = true,
        .warn = warn_template,
    },
    {
        .plural = STR_INIT("replicationcontrollers"),
        .set_defaults = default_controller,
        .validate = validate_controller,
        .validate_status = validate_controller_status,
        .generation = spec_member,
        .fields = controller_fields,
        .unconditional_update = true,
        .warn = warn_controller,
    },
    {.plural = STR_INIT("")},
};
