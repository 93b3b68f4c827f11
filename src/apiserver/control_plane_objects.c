/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that no client or component writes: those of a new cluster and of files. */
#include "apiserver/control_plane.h"
#include "base/time.h"

#define ADMIN "kubernetes-admin"

/* Where an object goes, from its kind, version and namespace. */
static int address(struct control_plane *plane, struct json_value *object,
                   struct api_request *request, struct api_status *ret_status)
{
    struct str api_version = json_get_text(object, STR("apiVersion"));
    struct str kind = json_get_text(object, STR("kind"));
    if (str_empty(api_version) || str_empty(kind))
        return status_bad_request(ret_status, request->arena, "apiVersion and kind are required");
    const struct resource *r =
        resources_find_kind(registry_resources(control_plane_registry(plane)), api_version, kind);
    if (!r)
        return status_of(ret_status, 404, request->arena,
                         "no matches for kind \"%.*s\" in version \"%.*s\"", STR_ARG(kind),
                         STR_ARG(api_version));
    request->resource = r;
    request->name = json_text_at(object, "metadata.name");
    request->namespace = r->namespaced ? json_text_at(object, "metadata.namespace") : STR("");
    if (r->namespaced && str_empty(request->namespace))
        request->namespace = STR("default");
    request->body = object;
    return 0;
}

typedef int serve_fn(struct registry *reg, const struct api_request *request,
                     struct api_response *ret_response);

static int serve(struct control_plane *plane, serve_fn *fn, struct api_request *request,
                 struct json_value *object, struct api_status *ret_status)
{
    struct api_response response;
    int code = address(plane, object, request, ret_status);
    if (code)
        return code;
    (void)fn(control_plane_registry(plane), request, &response);
    *ret_status = response.status;
    registry_response_release(&response);
    return ret_status->code;
}

static int create(struct control_plane *plane, struct json_value *object,
                  struct api_request request, struct api_status *ret_status)
{
    request.verb = API_CREATE;
    request.user = STR(ADMIN);
    request.field_manager = STR("kubectl-create");
    request.field_validation = FIELD_VALIDATION_STRICT;
    return serve(plane, registry_serve, &request, object, ret_status);
}

int control_plane_create(struct control_plane *plane, struct json_value *object, int64_t now,
                         struct arena *a, struct api_status *ret_status)
{
    return create(plane, object, (struct api_request){.now = now, .arena = a}, ret_status);
}

int control_plane_check(struct control_plane *plane, struct json_value *object, int64_t now,
                        struct arena *a, struct api_status *ret_status)
{
    return create(plane, object, (struct api_request){.now = now, .arena = a, .dry_run = true},
                  ret_status);
}

int control_plane_import(struct control_plane *plane, struct json_value *object, int64_t now,
                         struct arena *a, struct api_status *ret_status)
{
    struct api_request request = {
        .verb = API_CREATE,
        .user = STR(ADMIN),
        .field_validation = FIELD_VALIDATION_IGNORE,
        .now = now,
        .arena = a,
    };
    return serve(plane, registry_import, &request, object, ret_status);
}

int control_plane_bootstrap(struct control_plane *plane, const struct bootstrap_options *options,
                            int64_t now, struct err *reterr)
{
    struct registry *reg = control_plane_registry(plane);
    struct bootstrap_list list;
    struct arena texts, a;
    int r = 0;
    arena_init(&texts, (size_t)256 << 10);
    arena_init(&a, (size_t)64 << 10);
    bootstrap_objects(options, &texts, &list);
    for (size_t i = 0; i < list.n && r == 0; i++) {
        struct bootstrap_object *o = &list.v[i];
        struct api_response response;
        struct api_request request = {
            .verb = API_CREATE,
            .resource = resources_find(registry_resources(reg), o->group, o->version, o->plural),
            .namespace = o->namespace,
            .body = &o->object,
            .user = STR("system:apiserver"),
            .field_manager = STR("kube-apiserver"),
            .field_validation = FIELD_VALIDATION_IGNORE,
            .now = now,
            .arena = &a,
        };
        /* Where the server listens may have changed. */
        bool is_place = str_is(o->plural, "endpoints") || str_is(o->plural, "endpointslices");
        arena_reset(&a);
        if (!request.resource ||
            (!is_place && store_get(registry_store(reg), resource_stored(request.resource),
                                    o->namespace, o->name)))
            continue;
        (void)(is_place ? registry_import : registry_serve)(reg, &request, &response);
        if (response.status.code)
            r = err_set(reterr, -EPROTO, "%.*s %.*s: %.*s", STR_ARG(o->plural), STR_ARG(o->name),
                        STR_ARG(response.status.message));
        registry_response_release(&response);
    }
    arena_release(&a);
    arena_release(&texts);
    return r;
}
