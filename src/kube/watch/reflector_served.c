/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server authorizes a request before it looks up the resource: a list of a disabled group
 * is answered 403 if the role does not name it, and appears in the audit log as refused. So an
 * optional resource is only requested after discovery has named it.
 */
#include "codec/json_value.h"
#include "kube/watch/reflector_internal.h"

static bool names(const struct json_value *list, struct str resource)
{
    const struct json_value *resources = json_get(list, STR("resources"));

    for (size_t i = 0; resources && resources->kind == JSON_ARRAY && i < resources->n; i++) {
        const struct json_value *name = json_get(&resources->items[i], STR("name"));

        if (name && name->kind == JSON_STRING && str_eq(name->text, resource))
            return true;
    }
    return false;
}

/* Whether the group is served and has the resource. Invalid data means no. */
static bool is_named(const struct reflector *r, struct str body)
{
    struct json_value list;
    struct arena arena;
    bool named = true;

    arena_init(&arena, 0);
    if (json_parse(body, 0, &arena, &list, NULL) == 0)
        named = names(&list, r->options.kind->resource);
    arena_release(&arena);
    return named;
}

static void on_discovered(void *ctx, const struct rest_result *result)
{
    struct reflector *r = ctx;
    /* A client without the right to discover may still be allowed to list. */
    bool unknown = result->code < 0 && result->status == 403;

    r->call = NULL;
    if (unknown || (result->code == 0 && is_named(r, result->body)))
        reflector_fetch(r);
    else if (result->code == 0 || result->status == 404)
        reflector_not_served(r, result);
    else
        reflector_refused(r, result, false);
}

void reflector_discover(struct reflector *r)
{
    const struct kind *kind = r->options.kind;
    struct buf path = BUF_INIT;
    struct rest_request request = {.verb = REST_GET, .kind = kind};

    r->state = REFLECTOR_DISCOVERING;
    buf_add_cstr(&path, str_empty(kind->group) ? "/api/" : "/apis/");
    buf_add_str(&path, kind->api_version);
    request.path = buf_str(&path);
    r->call = rest_send(r->client, &request, on_discovered, r);
    buf_release(&path);
}
