/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API server asks whether one may before it looks whether there is anything: a resource whose
 * group is off is answered 403 to everybody whose role does not name it. Discovery tells which.
 */
#include "codec/json_value.h"
#include "kube/reflector_internal.h"

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

/* Only a clear answer counts: a group that is not there, or is without the resource. */
static bool is_served(const struct reflector *r, const struct rest_result *result)
{
    struct json_value list;
    struct arena arena;
    bool served = true;

    if (result->code < 0)
        return result->status != 404;
    arena_init(&arena, 0);
    if (json_parse(result->body, 0, &arena, &list, NULL) == 0)
        served = names(&list, r->options.kind->resource);
    arena_release(&arena);
    return served;
}

static void on_discovered(void *ctx, const struct rest_result *result)
{
    struct reflector *r = ctx;

    r->call = NULL;
    if (is_served(r, result))
        reflector_refused(r, &r->forbidden, false);
    else
        reflector_not_served(r, result);
}

void reflector_check_served(struct reflector *r, const struct rest_result *result)
{
    const struct kind *kind = r->options.kind;
    struct buf path = BUF_INIT;
    struct rest_request request = {.verb = REST_GET, .kind = kind};

    r->forbidden = (struct rest_result){
        .code = result->code, .status = result->status, .err = result->err, .kind = kind};
    buf_add_cstr(&path, str_empty(kind->group) ? "/api/" : "/apis/");
    buf_add_str(&path, kind->api_version);
    request.path = buf_str(&path);
    r->call = rest_send(r->client, &request, on_discovered, r);
    buf_release(&path);
}
