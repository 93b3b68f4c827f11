/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes. */
#include "apiserver/strategies/addresses.h"
#include "apiserver/strategies/internal_form.h"
#include "apiserver/strategies/pod_template.h"
#include "apiserver/strategies/resource_names.h"
#include "apiserver/strategies/strategies.h"
#include "base/map.h"

/* --- defaults and preparation ----------------------------------------------------------------- */

static void default_node(struct json_value *object, struct arena *a)
{
    const struct json_value *capacity;
    struct json_value *spec = json_set_object(object, STR("spec"), a);
    struct str cidr = json_get_text(spec, STR("podCIDR")), first;
    struct json_value *status = json_set_object(object, STR("status"), a);

    resource_list_set_defaults(json_member(status, STR("capacity")), a);
    capacity = json_get(status, STR("capacity"));
    if (capacity && !json_get(status, STR("allocatable")))
        json_set(status, STR("allocatable"), json_copy(capacity, a), a);
    resource_list_set_defaults(json_member(status, STR("allocatable")), a);
    spec = json_member(object, STR("spec"));
    /* The old field is the first of the list, and counts if they differ. */
    first =
        json_items_at(spec, "podCIDRs").n > 0 ? json_items_at(spec, "podCIDRs").v[0].text : STR("");
    if (str_empty(cidr) && !str_empty(first)) {
        json_set(spec, STR("podCIDR"), json_text(first), a);
    } else if (!str_eq(cidr, first)) {
        struct json_value list = json_array();

        json_append(&list, json_text(cidr), a);
        json_set(spec, STR("podCIDRs"), list, a);
    }
}

/* The status of a new node is kept; dynamic configuration is gone. */
static void prepare_node(struct json_value *object, struct arena *a)
{
    json_remove(json_set_object(object, STR("spec"), a), STR("configSource"));
    json_remove(json_set_object(object, STR("status"), a), STR("config"));
}

static void prepare_node_update(struct json_value *object, const struct json_value *old,
                                struct arena *a)
{
    const struct json_value *status = json_get(old, STR("status"));

    if (status)
        json_set(object, STR("status"), *status, a);
    else
        json_remove(object, STR("status"));
    if (!json_at(old, "spec.configSource"))
        json_remove(json_set_object(object, STR("spec"), a), STR("configSource"));
}

/* --- validation ------------------------------------------------------------------------------- */

static const struct internal_member internal_taint[] = {
    {"Key", "key", NULL, "\"\""},       {"Value", "value", NULL, "\"\""},
    {"Effect", "effect", NULL, "\"\""}, {"TimeAdded", "timeAdded", NULL, NULL},
    {NULL, NULL, NULL, NULL},
};
static const struct internal_member internal_address[] = {
    {"Type", "type", NULL, "\"\""},
    {"Address", "address", NULL, "\"\""},
    {NULL, NULL, NULL, NULL},
};

static void check_taints(const struct json_value *object, struct field_errors *errors)
{
    static const char *const effects[] = {"NoSchedule", "PreferNoSchedule", "NoExecute", NULL};
    struct json_items list = json_items_at(object, "spec.taints");
    struct field_path meta = field_child(NULL, "metadata"), path = field_child(&meta, "taints");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i), key = field_child(&at, "key");
        struct field_path value = field_child(&at, "value"), effect = field_child(&at, "effect");
        struct str kind = json_get_text(&list.v[i], STR("effect"));
        struct str name = json_get_text(&list.v[i], STR("key"));

        field_check_name(errors, &key, name, NAME_QUALIFIED);
        field_check_name(errors, &value, json_get_text(&list.v[i], STR("value")), NAME_LABEL_VALUE);
        if (str_empty(kind))
            field_error(errors, FIELD_REQUIRED, &effect, NULL, "%s", "");
        else
            field_check_enum(errors, &effect, kind, effects);
        if (map_put(&seen, arena_printf(errors->arena, "%.*s/%.*s", STR_ARG(kind), STR_ARG(name)),
                    errors)) {
            struct json_value whole = internal_form(&list.v[i], internal_taint, errors->arena);

            field_error(errors, FIELD_DUPLICATE, &at, &whole,
                        "taints must be unique by key and effect pair");
        }
    }
    map_release(&seen);
}

static void check_amounts(const struct json_value *object, const char *member,
                          struct field_errors *errors)
{
    struct json_members list = {0};
    const struct json_value *amounts = json_get(json_get(object, STR("status")), str_of(member));
    struct field_path status = field_child(NULL, "status"), path = field_child(&status, member);

    if (amounts && amounts->kind == JSON_OBJECT)
        list = (struct json_members){amounts->members, amounts->n_members};
    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = {.parent = &path, .name = list.v[i].key, .index = SIZE_MAX};

        field_check_resource_quantity(errors, &at, list.v[i].key, &list.v[i].value);
    }
}

static void check_cidrs(const struct json_value *object, struct field_errors *errors)
{
    struct json_items list = json_items_at(object, "spec.podCIDRs");
    struct field_path spec = field_child(NULL, "spec"), path = field_child(&spec, "podCIDRs");
    size_t families[2] = {0};

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i);
        struct addr ip;

        if (field_check_cidr(errors, &at, list.v[i].text, false) &&
            ip_parse_sloppy(str_slice(list.v[i].text, 0, str_find(list.v[i].text, '/')), &ip))
            families[ip.is4]++;
    }
    if (list.n > 1 && (families[0] != 1 || families[1] != 1))
        field_error(errors, FIELD_INVALID, &path, json_at(object, "spec.podCIDRs"),
                    "may specify no more than one CIDR for each IP family");
}

static void validate_node(const struct json_value *object, struct field_errors *errors)
{
    check_taints(object, errors);
    check_amounts(object, "capacity", errors);
    check_amounts(object, "allocatable", errors);
    check_cidrs(object, errors);
}

static void check_addresses(const struct json_value *object, struct field_errors *errors)
{
    struct json_items list = json_items_at(object, "status.addresses");
    struct field_path status = field_child(NULL, "status");
    struct field_path path = field_child(&status, "addresses");
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < list.n; i++) {
        struct field_path at = field_index(&path, i);
        struct str key = arena_printf(errors->arena, "%.*s/%.*s",
                                      STR_ARG(json_get_text(&list.v[i], STR("type"))),
                                      STR_ARG(json_get_text(&list.v[i], STR("address"))));

        if (map_put(&seen, key, errors)) {
            struct json_value whole = internal_form(&list.v[i], internal_address, errors->arena);

            field_error(errors, FIELD_DUPLICATE, &at, &whole, "%s", "");
        }
    }
    map_release(&seen);
}

/* Rules of the change, for the node and for its status. */
static void check_change(const struct json_value *object, const struct json_value *old,
                         struct field_errors *errors)
{
    struct json_items now = json_items_at(object, "spec.podCIDRs");
    struct json_items before = json_items_at(old, "spec.podCIDRs");
    struct str id = json_text_at(old, "spec.providerID");
    struct field_path path = field_child(NULL, "spec");
    bool changed = before.n > 0 && before.n != now.n;

    check_addresses(object, errors);
    for (size_t i = 0; before.n == now.n && i < before.n; i++)
        changed = changed || !json_value_equal(&now.v[i], &before.v[i]);
    if (changed)
        field_error_at(errors, FIELD_FORBIDDEN, &path, "podCIDRs", NULL,
                       "node updates may not change podCIDR except from \"\" to valid");
    if (!str_empty(id) && !str_eq(id, json_text_at(object, "spec.providerID")))
        field_error_at(errors, FIELD_FORBIDDEN, &path, "providerID", NULL,
                       "node updates may not change providerID except from \"\" to valid");
    if (!str_eq(json_text_at(object, "spec.externalID"), json_text_at(old, "spec.externalID")))
        field_error_at(errors, FIELD_FORBIDDEN, &path, "externalID", NULL, "may not be updated");
}

static void validate_node_status(const struct json_value *object, const struct json_value *old,
                                 struct field_errors *errors)
{
    check_amounts(object, "capacity", errors);
    check_amounts(object, "allocatable", errors);
    check_change(object, old, errors);
    check_taints(object, errors);
}

static void warn_node(const struct json_value *object, struct buf *warnings, struct arena *a)
{
    (void)a;
    if (json_at(object, "spec.configSource"))
        buf_add_cstr(warnings, "spec.configSource: the feature is removed\n");
    if (!str_empty(json_text_at(object, "spec.externalID")))
        buf_add_cstr(warnings, "spec.externalID: this field is deprecated, and is unused by "
                               "Kubernetes\n");
}

static const char *const node_fields[] = {"spec.unschedulable", NULL};

const struct strategy node_strategies[] = {
    {
        .plural = STR_INIT("nodes"),
        .set_defaults = default_node,
        .prepare_create = prepare_node,
        .prepare_update = prepare_node_update,
        .validate = validate_node,
        .validate_update = check_change,
        .validate_status = validate_node_status,
        .fields = node_fields,
        .unconditional_update = true,
        .warn = warn_node,
    },
    {.plural = STR_INIT("")},
};
