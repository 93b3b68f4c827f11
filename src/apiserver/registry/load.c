/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that were accepted before: of a disk, and of another cluster. */
#include <errno.h>

#include "apiserver/registry/registry_internal.h"

int registry_load(struct registry *reg, const struct resource *stored, const struct store_key *key,
                  uint64_t version, struct str text)
{
    struct json_value object;
    struct arena a;
    int r;

    arena_init(&a, 4096);
    r = json_parse(text, 0, &a, &object, NULL);
    if (r < 0 || !str_eq(object_name(&object), key->name) ||
        (stored->namespaced && !str_eq(object_namespace(&object), key->namespace)))
        r = -EBADMSG;
    if (r == 0) {
        store_load(reg->store, object_revision(reg, stored, &object, text, version));
        definition_after_put(reg, stored, &object);
    }
    arena_release(&a);
    return r;
}

static int import(struct op *op)
{
    struct body_kind kind = body_kind_of(op);
    struct json_value *object = op->req->body, *meta;
    int code = op_decode(op, object, &kind);

    if (!code)
        code = op_match_namespace(op, object);
    if (code)
        return code;
    op_to_stored(op, object);
    if (op->strategy && op->strategy->set_defaults)
        op->strategy->set_defaults(object, op->a);
    /* Without a status it begins as a new object does. */
    if (!json_get(object, STR("status")) && op->strategy && op->strategy->prepare_create)
        op->strategy->prepare_create(object, op->a);
    meta = meta_of(object, op->a);
    json_remove(meta, STR("selfLink"));
    if (str_empty(object_name(object)))
        return status_bad_request(op_status(op), op->a, "metadata.name is required");
    json_set_default(meta, STR("uid"), json_text(make_uid(op->reg, op->a)), op->a);
    json_set_default(meta, STR("creationTimestamp"), json_text(time_text(op->req->now, op->a)),
                     op->a);
    op_put(op, object, 201);
    return 0;
}

int registry_import(struct registry *reg, const struct api_request *request,
                    struct api_response *ret_response)
{
    struct op op;
    int code;

    *ret_response = (struct api_response){.remaining = -1};
    op = op_make(reg, request, ret_response);
    code = import(&op);
    ret_response->status.code = code;
    buf_release(&op.warnings);
    return code ? code : ret_response->code;
}
