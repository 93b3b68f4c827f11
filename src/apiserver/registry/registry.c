/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/registry/registry_internal.h"

struct registry *registry_new(const struct registry_options *options)
{
    struct registry *reg = xnew(struct registry);

    reg->options = *options;
    reg->store = store_new(&options->store);
    reg->resources = resources_new();
    reg->customs = customs_new(reg->resources);
    rand_seed(&reg->rand, options->seed);
    return reg;
}

struct registry *registry_free(struct registry *reg)
{
    if (!reg)
        return NULL;
    for (size_t i = 0; i < REGISTRY_PAGES; i++)
        if (reg->pages[i].snapshot)
            snapshot_unref(reg->pages[i].snapshot);
    expiry_release(reg);
    store_free(reg->store);
    customs_free(reg->customs);
    resources_free(reg->resources);
    buf_release(&reg->text);
    vec_release(&reg->labels);
    vec_release(&reg->fields);
    free(reg);
    return NULL;
}

struct store *registry_store(struct registry *reg)
{
    return reg->store;
}

struct resources *registry_resources(struct registry *reg)
{
    return reg->resources;
}

/* --- requests --------------------------------------------------------------------------------- */

static int serve(struct op *op)
{
    bool done = false;
    int code = serve_subresource(op, &done);

    if (code || done)
        return code;
    switch (op->req->verb) {
    case API_GET:
        return serve_get(op);
    case API_LIST:
        return serve_list(op);
    case API_CREATE:
        return serve_create(op);
    case API_UPDATE:
        return serve_update(op);
    case API_PATCH_JSON:
    case API_PATCH_MERGE:
    case API_PATCH_STRATEGIC:
    case API_APPLY:
        return serve_patch(op);
    case API_DELETE:
        return serve_delete(op);
    case API_DELETE_COLLECTION:
        return serve_delete_collection(op);
    }
    return status_of(op_status(op), 405, op->a,
                     "the server does not allow this method on the requested resource");
}

static void warn_deprecated(struct op *op)
{
    const struct custom_resource *custom = op->r->custom;

    if (custom && !str_empty(custom->warning))
        op_warn(op, custom->warning);
}

int registry_serve(struct registry *reg, const struct api_request *request,
                   struct api_response *ret_response)
{
    struct op op;
    int code;

    *ret_response = (struct api_response){.remaining = -1};
    op = op_make(reg, request, ret_response);
    warn_deprecated(&op);
    code = serve(&op);
    ret_response->status.code = code;
    if (code) {
        ret_response->object = revision_unref(ret_response->object);
        ret_response->tree = NULL;
    }
    if (op.warnings.n > 0)
        ret_response->warnings = arena_dup(op.a, buf_str(&op.warnings));
    buf_release(&op.warnings);
    return code ? code : ret_response->code;
}

void registry_response_release(struct api_response *response)
{
    response->object = revision_unref(response->object);
    if (response->snapshot)
        response->snapshot = snapshot_unref(response->snapshot);
}
