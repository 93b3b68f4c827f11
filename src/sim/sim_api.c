/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/sim_api.h"

#include <errno.h>

#include "base/err.h"
#include "codec/json_patch.h"

struct sim_object {
    struct object *object;
    struct str key;
    char text[];
};

/* The lists that a strategic merge patch merges, of the kinds that plugins write. */
static const struct json_merge_list merge_lists[] = {
    {"finalizers", ""},          {"ownerReferences", "uid"},        {"reservedFor", "uid"},
    {"conditions", "type"},      {"resourceClaimStatuses", "name"}, {"tolerations", ""},
    {"containers", "name"},      {"initContainers", "name"},        {"volumes", "name"},
    {"schedulingGates", "name"}, {"resourceClaims", "name"},
};

void sim_api_init(struct sim_api *api, sim_changed_fn *changed, void *ctx)
{
    *api = (struct sim_api){.changed = changed, .ctx = ctx};
}

void sim_api_release(struct sim_api *api)
{
    map_each (entry, &api->objects) {
        struct sim_object *known = entry->value;
        object_unref(known->object);
        free(known);
    }
    map_release(&api->objects);
}

/* --- objects ---------------------------------------------------------------------------------- */

static struct str key_of(const struct kind *kind, struct str namespace, struct str name,
                         struct buf *out)
{
    buf_clear(out);
    buf_add_printf(out, "%d %.*s/%.*s", (int)kind->id, STR_ARG(namespace), STR_ARG(name));
    return buf_str(out);
}

static struct sim_object *find(const struct sim_api *api, const struct kind *kind,
                               struct str namespace, struct str name)
{
    struct buf text = BUF_INIT;
    struct sim_object *known = map_get(&api->objects, key_of(kind, namespace, name, &text));
    buf_release(&text);
    return known;
}

struct object *sim_api_get(const struct sim_api *api, const struct kind *kind, struct str namespace,
                           struct str name)
{
    const struct sim_object *known = find(api, kind, namespace, name);
    return known ? known->object : NULL;
}

struct object *sim_object_of(const struct map_entry *entry)
{
    return ((const struct sim_object *)entry->value)->object;
}

static void set_version(struct sim_api *api, struct object *o)
{
    struct object_meta *meta = object_body_mut(o);
    meta->resource_version =
        arena_printf(object_arena(o), "%llu", (unsigned long long)++api->version);
}

struct object *sim_api_copy(struct sim_api *api, const struct object *o)
{
    struct buf bytes = BUF_INIT;
    struct object *copy;
    struct wire wire = {.kind = object_kind(o), .encoding = ENCODING_PROTO};
    if (kind_is_custom(wire.kind->id))
        wire.encoding = ENCODING_JSON;
    object_encode(wire.kind, object_body(o), wire.encoding, &bytes);
    int r = object_decode(&wire, buf_str(&bytes), &copy, NULL);
    buf_release(&bytes);
    if (r < 0)
        return NULL;
    set_version(api, copy);
    return copy;
}

/*
 * Versions only grow: plugins may compare them. An object that comes with a version of its own
 * keeps it if it is newer than what is there.
 */
static void check_version(struct sim_api *api, struct object *o, const struct object *before)
{
    uint64_t its = 0, old = 0;
    bool valid = str_to_u64(object_meta(o)->resource_version, &its);
    if (before && !str_to_u64(object_meta(before)->resource_version, &old))
        old = 0;
    if (before && (!valid || its <= old))
        set_version(api, o);
    else if (valid)
        api->version = MAX(api->version, its);
}

void sim_api_put(struct sim_api *api, struct object *o)
{
    const struct object_meta *meta = object_meta(o);
    struct sim_object *known = find(api, object_kind(o), meta->namespace, meta->name);
    struct object *before = known ? known->object : NULL;
    check_version(api, o, before);
    if (!known) {
        struct buf text = BUF_INIT;
        struct str key = key_of(object_kind(o), meta->namespace, meta->name, &text);
        known = xmalloc(sizeof(*known) + key.n);
        memcpy(known->text, key.p, key.n);
        known->key = (struct str){known->text, key.n};
        map_put(&api->objects, known->key, known);
        buf_release(&text);
    }
    known->object = object_ref(o);
    api->changed(api->ctx, before, o);
    object_unref(before);
}

void sim_api_remove(struct sim_api *api, const struct object *o)
{
    const struct object_meta *meta = object_meta(o);
    struct sim_object *known = find(api, object_kind(o), meta->namespace, meta->name);
    if (!known)
        return;
    struct object *before = known->object;
    map_del(&api->objects, known->key);
    free(known);
    api->changed(api->ctx, before, NULL);
    object_unref(before);
}

/* --- requests --------------------------------------------------------------------------------- */

/* A request while it is served. */
struct serving {
    struct sim_api *api;
    const struct sim_request *request;
    struct object *current; /* NULL: none. Borrowed */
    struct arena arena;
    struct sim_reply *reply;
};

static void refuse(struct serving *s, int status, const char *reason, const char *message)
{
    s->reply->status = status;
    s->reply->reason = reason;
    if (strcmp(reason, "Conflict") == 0)
        err_set(&s->reply->err, -EBUSY, "Operation cannot be fulfilled on %.*s \"%.*s\": %s",
                STR_ARG(s->request->kind->resource), STR_ARG(s->request->name), message);
    else
        err_set(&s->reply->err, -EINVAL, "%.*s \"%.*s\" %s", STR_ARG(s->request->kind->resource),
                STR_ARG(s->request->name), message);
}

static void answer(struct serving *s, int status, struct object *o)
{
    s->reply->status = status;
    s->reply->reason = "";
    s->reply->object = o ? object_ref(o) : NULL;
}

/* The object with another value of that member; value NULL: without it. */
static struct json_value with_member(struct serving *s, const struct json_value *object,
                                     struct str key, const struct json_value *value)
{
    struct json_value out = {.kind = JSON_OBJECT};
    out.members = arena_array(&s->arena, struct json_member, object->n_members + 1);
    for (size_t i = 0; i < object->n_members; i++)
        if (!str_eq(object->members[i].key, key))
            out.members[out.n_members++] = object->members[i];
    if (value)
        out.members[out.n_members++] = (struct json_member){key, *value};
    return out;
}

static bool conflicts(const struct serving *s, const struct json_value *patched)
{
    const struct json_value *meta = json_get(patched, STR("metadata"));
    const struct object_meta *now = object_meta(s->current);
    struct str version = json_get_text(meta, STR("resourceVersion"));
    struct str uid = json_get_text(meta, STR("uid"));
    return (version.n && !str_eq(version, now->resource_version)) ||
           (uid.n && !str_eq(uid, now->uid));
}

static int apply(struct serving *s, const struct json_value *before, struct json_value *ret_after,
                 struct err *reterr)
{
    struct json_value patch;
    int r = json_parse(s->request->body, 0, &s->arena, &patch, reterr);
    if (r < 0)
        return r;
    if (s->request->verb == SIM_PATCH_JSON)
        return json_patch_apply(before, &patch, &s->arena, ret_after, reterr);
    if (s->request->verb == SIM_PATCH_STRATEGIC)
        json_patch_strategic(before, &patch, merge_lists, ARRAY_LEN(merge_lists), &s->arena,
                             ret_after);
    else
        json_patch_merge(before, &patch, &s->arena, ret_after);
    return 0;
}

/* A request for the status changes nothing else, and others do not change the status. */
static void keep_other_part(struct serving *s, const struct json_value *before,
                            struct json_value *after)
{
    struct str status = STR("status");
    if (str_is(s->request->subresource, "status"))
        *after = with_member(s, before, status, json_get(after, status));
    else
        *after = with_member(s, after, status, json_get(before, status));
}

static int decode(const struct serving *s, const struct json_value *value,
                  struct object **ret_object, struct err *reterr)
{
    const struct kind *kind = s->request->kind;
    if (kind_is_custom(kind->id)) {
        struct wire wire = {.kind = kind, .encoding = ENCODING_JSON};
        struct buf text = BUF_INIT;
        json_write(value, &text);
        int r = object_decode(&wire, buf_str(&text), ret_object, reterr);
        buf_release(&text);
        return r;
    }
    struct object *o = object_new(kind->id);
    int r = json_value_decode(value, kind->type, 0, object_arena(o), object_body_mut(o), reterr);
    if (r < 0)
        object_unref(o);
    else
        *ret_object = o;
    return r;
}

static int patched(struct serving *s, struct object **ret_object, struct err *reterr)
{
    struct buf text = BUF_INIT;
    struct json_value before, after = {.kind = JSON_NULL};
    object_encode(s->request->kind, object_body(s->current), ENCODING_JSON, &text);
    struct str copy = arena_dup(&s->arena, buf_str(&text));
    buf_release(&text);
    int r = json_parse(copy, 0, &s->arena, &before, reterr);
    if (r == 0)
        r = apply(s, &before, &after, reterr);
    if (r < 0)
        return r;
    if (after.kind != JSON_OBJECT)
        return err_set(reterr, -EINVAL, "expected an object");
    if (conflicts(s, &after))
        return -EBUSY;
    keep_other_part(s, &before, &after);
    return decode(s, &after, ret_object, reterr);
}

static void serve_patch(struct serving *s)
{
    struct object *o = NULL;
    struct err err;
    int r = patched(s, &o, &err);
    if (r == -EBUSY) {
        refuse(s, 409, "Conflict",
               "the object has been modified; please apply your changes to the latest version and "
               "try again");
        return;
    }
    if (r < 0) {
        refuse(s, 422, "Invalid", err.msg);
        return;
    }
    set_version(s->api, o);
    answer(s, 200, o);
    if (object_meta(o)->deletion_timestamp.set && !object_meta(o)->finalizers.n)
        sim_api_remove(s->api, o);
    else
        sim_api_put(s->api, o);
    object_unref(o);
}

static void serve_create(struct serving *s)
{
    struct object *o;
    struct err err;
    struct wire wire = {.kind = s->request->kind, .encoding = ENCODING_JSON};
    if (object_decode(&wire, s->request->body, &o, &err) < 0) {
        refuse(s, 422, "Invalid", err.msg);
        return;
    }
    struct object_meta *meta = object_body_mut(o);
    unsigned long long number = ++s->api->n_created;
    if (wire.kind->namespaced)
        meta->namespace = arena_dup(object_arena(o), s->request->namespace);
    if (str_empty(meta->name) && meta->generate_name.n)
        meta->name =
            arena_printf(object_arena(o), "%.*s%05llu", STR_ARG(meta->generate_name), number);
    if (find(s->api, wire.kind, meta->namespace, meta->name)) {
        refuse(s, 409, "AlreadyExists", "already exists");
    } else {
        meta->uid = arena_printf(object_arena(o), "00000000-0000-0000-0001-%012llu", number);
        set_version(s->api, o);
        answer(s, 201, o);
        sim_api_put(s->api, o);
    }
    object_unref(o);
}

static void serve_delete(struct serving *s)
{
    struct object *o = s->current;
    if (!object_meta(o)->finalizers.n) {
        answer(s, 200, o);
        sim_api_remove(s->api, s->reply->object);
        return;
    }
    if (!object_meta(o)->deletion_timestamp.set && (o = sim_api_copy(s->api, o))) {
        ((struct object_meta *)object_body_mut(o))->deletion_timestamp = timestamp_of(0);
        answer(s, 200, o);
        sim_api_put(s->api, o);
        object_unref(o);
        return;
    }
    answer(s, 200, s->current);
}

void sim_api_serve(struct sim_api *api, const struct sim_request *request,
                   struct sim_reply *ret_reply)
{
    *ret_reply = (struct sim_reply){.reason = ""};
    if (!request->kind || !request->kind->has_metadata) {
        ret_reply->status = 404;
        ret_reply->reason = "NotFound";
        err_set(&ret_reply->err, -ENOENT, "the server could not find the requested resource");
        return;
    }
    struct serving s = {.api = api, .request = request, .reply = ret_reply};
    arena_init(&s.arena, 4096);
    s.current = sim_api_get(api, request->kind, request->namespace, request->name);
    if (request->verb == SIM_CREATE)
        serve_create(&s);
    else if (!s.current)
        refuse(&s, 404, "NotFound", "not found");
    else if (request->verb == SIM_GET)
        answer(&s, 200, s.current);
    else if (request->verb == SIM_DELETE)
        serve_delete(&s);
    else
        serve_patch(&s);
    arena_release(&s.arena);
}
