/* SPDX-License-Identifier: Apache-2.0 */
/* What CustomResourceDefinitions and their objects need besides what all resources do. */
#include "apiserver/custom/custom.h"
#include "apiserver/registry/registry_internal.h"

#define DEFINITIONS_GROUP "apiextensions.k8s.io"
#define DEFINITIONS       "customresourcedefinitions"

bool is_definition(const struct resource *r)
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
