/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces. */
#include "apiserver/strategies/field_checks.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/strategies.h"

#define NAME_LABEL "kubernetes.io/metadata.name"

static void default_namespace(struct json_value *object, struct arena *a)
{
    struct str name = json_text_at(object, "metadata.name");

    if (!str_empty(name))
        json_set(json_set_object(json_set_object(object, STR("metadata"), a), STR("labels"), a),
                 STR(NAME_LABEL), json_text(name), a);
    default_text(json_set_object(object, STR("status"), a), "phase", "Active", a);
}

static void prepare_namespace(struct json_value *object, struct arena *a)
{
    struct json_value status = json_object();
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct json_value *finalizers = json_set_array(spec, STR("finalizers"), a);

    if (!list_has_string(finalizers, STR("kubernetes")))
        json_append(finalizers, json_text(STR("kubernetes")), a);
    json_set(&status, STR("phase"), json_text(STR("Active")), a);
    json_set(object, STR("status"), status, a);
    /* A generated name was not there for the defaults. */
    default_namespace(object, a);
}

static void prepare_namespace_update(struct json_value *object, const struct json_value *old,
                                     struct arena *a)
{
    const struct json_value *finalizers = json_at(old, "spec.finalizers");
    const struct json_value *status = json_get(old, STR("status"));

    if (finalizers)
        json_set_at(object, "spec.finalizers", *finalizers, a);
    if (status)
        json_set(object, STR("status"), *status, a);
}

static void validate_namespace(const struct json_value *object, struct field_errors *errors)
{
    struct json_items list = json_items_at(object, "spec.finalizers");
    struct field_path spec = field_child(NULL, "spec"), path = field_child(&spec, "finalizers");

    for (size_t i = 0; i < list.n; i++) {
        struct str name = list.v[i].kind == JSON_STRING ? list.v[i].text : STR("");

        field_check_name(errors, &path, name, NAME_QUALIFIED);
        if (str_find(name, '/') >= name.n && !str_is(name, "kubernetes") &&
            !str_is(name, "orphan") && !str_is(name, "foregroundDeletion"))
            field_error(errors, FIELD_INVALID, &path, &list.v[i],
                        "name is neither a standard finalizer name nor is it fully qualified");
    }
}

static void validate_namespace_status(const struct json_value *object, const struct json_value *old,
                                      struct field_errors *errors)
{
    struct field_path path = field_child(NULL, "status");
    struct json_value phase = json_text(json_text_at(object, "status.phase"));
    bool deleted = json_at(object, "metadata.deletionTimestamp") != NULL;

    (void)old;
    if (!deleted && !str_is(phase.text, "Active"))
        field_error_at(errors, FIELD_INVALID, &path, "Phase", &phase,
                       "may only be 'Active' if `deletionTimestamp` is empty");
    if (deleted && !str_is(phase.text, "Terminating"))
        field_error_at(errors, FIELD_INVALID, &path, "Phase", &phase,
                       "may only be 'Terminating' if `deletionTimestamp` is not empty");
}

static const char *const namespace_fields[] = {"status.phase", NULL};

const struct strategy namespace_strategies[] = {
    {
        .plural = STR_INIT("namespaces"),
        .set_defaults = default_namespace,
        .prepare_create = prepare_namespace,
        .prepare_update = prepare_namespace_update,
        .validate = validate_namespace,
        .validate_status = validate_namespace_status,
        .fields = namespace_fields,
        .unconditional_update = true,
    },
    {.plural = STR_INIT("")},
};
