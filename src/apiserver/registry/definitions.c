/* SPDX-License-Identifier: Apache-2.0 */
/* What CustomResourceDefinitions and their objects need besides what all resources do. */
#include "apiserver/custom/custom.h"
#include "apiserver/registry/registry_internal.h"

#define DEFINITIONS_GROUP "apiextensions.k8s.io"
#define DEFINITIONS       "customresourcedefinitions"

static bool is_definition(const struct resource *r)
{
    return str_is(r->plural, DEFINITIONS) && str_is(r->group, DEFINITIONS_GROUP);
}

void definition_before_put(struct op *op, struct json_value *object)
{
    if (is_definition(op->stored))
        customs_accept(op->reg->customs, object, time_text(op->req->now, op->a), op->a);
}

void definition_after_put(struct registry *reg, const struct resource *stored,
                          const struct json_value *object)
{
    if (is_definition(stored))
        customs_set(reg->customs, object);
}

/* --- deletion --------------------------------------------------------------------------------- */

/* The objects that are there now; deleting them changes the store. */
static struct store_key *list_keys(struct op *op, const struct resource *r, size_t *ret_n)
{
    struct snapshot *s = store_snapshot(op->reg->store);
    struct store_key *keys = arena_array(op->a, struct store_key, snapshot_count(s, r));
    struct store_range range;
    struct revision *rev;
    size_t n = 0;

    store_range_init(&range, s, r, STR(""), NULL);
    while ((rev = store_range_next(&range)))
        keys[n++] =
            (struct store_key){arena_dup(op->a, rev->namespace), arena_dup(op->a, rev->name)};
    snapshot_unref(s);
    *ret_n = n;
    return keys;
}

/* Objects with finalizers remain: the definition waits for them. */
static void wait_for_objects(struct op *op, struct json_value *object)
{
    struct json_value *meta = meta_of(object, op->a), *list, condition = json_object();
    struct json_value *status = json_set_object(object, STR("status"), op->a);

    list = json_set_array(meta, STR("finalizers"), op->a);
    if (!list_has_text(list, STR(CUSTOM_CLEANUP)))
        json_append(list, json_text(STR(CUSTOM_CLEANUP)), op->a);
    if (object_condition(object, "Terminating"))
        return;
    json_set(&condition, STR("lastTransitionTime"), json_text(time_text(op->req->now, op->a)),
             op->a);
    json_set(&condition, STR("message"), json_text(STR("CustomResource deletion is in progress")),
             op->a);
    json_set(&condition, STR("reason"), json_text(STR("InstanceDeletionInProgress")), op->a);
    json_set(&condition, STR("status"), json_text(STR("True")), op->a);
    json_set(&condition, STR("type"), json_text(STR("Terminating")), op->a);
    json_append(json_set_array(status, STR("conditions"), op->a), condition, op->a);
}

int definition_before_delete(struct op *op, struct json_value *object)
{
    const struct resource *r =
        is_definition(op->stored) ? customs_stored(op->reg->customs, object_name(object)) : NULL;
    struct deletion none = {0};
    struct store_key *keys;
    size_t n;

    if (!r || op->req->dry_run)
        return 0;
    keys = list_keys(op, r, &n);
    for (size_t i = 0; i < n; i++) {
        struct api_response ignored = {0};
        struct op each = op_for(op, r);
        int code;

        each.res = &ignored;
        code = delete_object(&each, keys[i].namespace, keys[i].name, &none);
        buf_release(&each.warnings);
        registry_response_release(&ignored);
        if (code && code != 404) {
            *op_status(op) = ignored.status;
            return code;
        }
    }
    if (store_count(op->reg->store, r) > 0)
        wait_for_objects(op, object);
    return 0;
}

/* The last object of a definition that waits for it has gone. */
static void finish_definition(struct op *op)
{
    const struct resource *r =
        resources_find(op->reg->resources, STR(DEFINITIONS_GROUP), STR("v1"), STR(DEFINITIONS));
    struct str name =
        arena_printf(op->a, "%.*s.%.*s", STR_ARG(op->stored->plural), STR_ARG(op->stored->group));
    struct revision *rev = r ? store_get(op->reg->store, r, STR(""), name) : NULL;
    struct op definition;
    struct json_value *object, *list;

    if (!rev)
        return;
    object = op_parse(op, rev);
    list = json_member(meta_of(object, op->a), STR("finalizers"));
    if (!json_at(object, "metadata.deletionTimestamp") || !list || list->kind != JSON_ARRAY)
        return;
    for (size_t i = list->n; i-- > 0;)
        if (list->items[i].kind == JSON_STRING && str_is(list->items[i].text, CUSTOM_CLEANUP))
            json_remove_item(list, i);
    definition = op_for(op, r);
    if (list->n == 0)
        op_remove(&definition, object);
    else
        op_put_quietly(&definition, object);
}

void definition_after_remove(struct op *op, const struct json_value *object)
{
    if (is_definition(op->stored))
        customs_remove(op->reg->customs, object_name(object));
    else if (op->stored->custom && store_count(op->reg->store, op->stored) == 0)
        finish_definition(op);
}

/* --- objects ---------------------------------------------------------------------------------- */

void custom_validate(const struct op *op, const struct json_value *object,
                     struct field_errors *errors)
{
    const struct custom_resource *custom = op->r->custom;

    if (custom && custom->schema)
        custom_schema_validate(custom->schema, object, errors);
}
