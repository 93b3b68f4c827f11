/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Subresources. Those that are a view of the object (status, finalize, approval,
 * ephemeralcontainers, resize) go through get, update and patch; the others are listed here.
 */
#include "apiserver/registry/registry_internal.h"

#define CREATES (1U << API_CREATE)
#define WRITES                                                                         \
    (1U << API_GET | 1U << API_UPDATE | 1U << API_PATCH_JSON | 1U << API_PATCH_MERGE | \
     1U << API_PATCH_STRATEGIC | 1U << API_APPLY)

static const struct {
    const char *plural; /* NULL: any */
    const char *subresource;
    unsigned verbs; /* bits of enum api_verb */
    int (*serve)(struct op *op);
} table[] = {
    {"pods", "binding", CREATES, serve_binding},
    {"bindings", "", CREATES, serve_binding},
    {"pods", "eviction", CREATES, serve_eviction},
    {NULL, "scale", WRITES, serve_scale},
};

int serve_subresource(struct op *op, bool *ret_done)
{
    const struct api_request *req = op->req;

    if (!str_empty(req->subresource) && !resource_subresource(op->r, req->subresource))
        return status_of(op_status(op), 404, op->a,
                         "the server could not find the requested resource");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        if (!str_is(req->subresource, table[i].subresource) ||
            (table[i].plural && !str_is(op->r->plural, table[i].plural)) ||
            !(table[i].verbs >> req->verb & 1))
            continue;
        *ret_done = true;
        return table[i].serve(op);
    }
    if (!str_empty(req->subresource) &&
        (req->verb == API_CREATE || req->verb == API_DELETE || req->verb == API_LIST))
        return status_of(op_status(op), 405, op->a,
                         "the server does not allow this method on the requested resource");
    return 0;
}
