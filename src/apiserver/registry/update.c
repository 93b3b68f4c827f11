/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of objects that exist (upstream: Store.Update, rest.BeforeUpdate). */
#include "apiserver/registry/write_steps.h"

#define MODIFIED \
    "the object has been modified; please apply your changes to the latest version and try again"

/* --- preconditions ---------------------------------------------------------------------------- */

static bool unconditional(const struct op *op)
{
    return !op->strategy || op->strategy->unconditional_update;
}

static int missing_version(struct op *op, const struct json_value *old)
{
    struct field_errors errors = {.arena = op->a};
    struct field_path meta = field_child(NULL, "metadata");
    struct field_path path = field_child(&meta, "resourceVersion");
    struct json_value zero = json_int(0, op->a);

    field_error(&errors, FIELD_INVALID, &path, &zero, "must be specified for an update");
    return status_invalid(op_status(op), op->r->group, op->r->plural, object_name(old), &errors);
}

struct str storage_conflict(const struct op *op, struct str name, struct str uid, struct str had)
{
    struct str namespace = op->stored->namespaced ? op->req->namespace : STR("");

    return arena_printf(op->a,
                        "StorageError: invalid object, Code: 4, Key: /registry/%.*s%s%.*s/%.*s, "
                        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in "
                        "precondition: %.*s, UID in object meta: %.*s",
                        STR_ARG(op->stored->plural), str_empty(namespace) ? "" : "/",
                        STR_ARG(namespace), STR_ARG(name), STR_ARG(uid), STR_ARG(had));
}

int check_preconditions(struct op *op, const struct json_value *old,
                        const struct json_value *object)
{
    const struct json_value *was = json_get(old, STR("metadata"));
    const struct json_value *meta = json_get(object, STR("metadata"));
    struct str uid = json_get_text(meta, STR("uid")), had = json_get_text(was, STR("uid"));
    struct str version = json_get_text(meta, STR("resourceVersion"));
    uint64_t number = 0;

    if (!str_empty(uid) && !str_eq(uid, had))
        return status_conflict(op_status(op), op->r, object_name(old),
                               storage_conflict(op, object_name(old), uid, had), op->a);
    if (!str_empty(version) && !str_to_u64(version, &number))
        return status_of(op_status(op), 500, op->a,
                         "strconv.ParseUint: parsing \"%.*s\": invalid syntax", STR_ARG(version));
    if (number == 0)
        return unconditional(op) ? 0 : missing_version(op, old);
    if (!str_eq(version, json_get_text(was, STR("resourceVersion"))))
        return status_conflict(op_status(op), op->r, object_name(old), STR(MODIFIED), op->a);
    return 0;
}

/* --- what may change -------------------------------------------------------------------------- */

/* The member of `from` replaces that of `to`, also if it is missing. */
static void take_member(struct json_value *to, const struct json_value *from, struct str key,
                        struct arena *a)
{
    const struct json_value *value = json_get(from, key);

    if (value)
        json_set(to, key, *value, a);
    else if (to->kind == JSON_OBJECT)
        json_remove(to, key);
}

/* Resources whose status updates may also change labels and annotations. */
static bool status_keeps_labels(const struct resource *r)
{
    static const char *const free[] = {"pods", "nodes", "persistentvolumes", "namespaces"};

    for (size_t i = 0; i < ARRAY_LEN(free); i++)
        if (str_is(r->plural, free[i]) && str_empty(r->group))
            return false;
    return true;
}

/* Only status changes, and the parts of metadata that upstream's status strategies leave. */
static void prepare_status(struct op *op, struct change *c)
{
    struct json_value object = {.kind = JSON_OBJECT};
    struct json_value *meta = meta_of(&c->object, op->a);
    const struct json_value *was = json_get(c->old, STR("metadata"));
    const struct json_value *status = json_get(&c->object, STR("status"));

    take_member(meta, was, STR("ownerReferences"), op->a);
    if (op->stored->custom) {
        struct json_value kept = json_copy(was, op->a);

        take_member(&kept, meta, STR("managedFields"), op->a);
        take_member(&kept, meta, STR("resourceVersion"), op->a);
        *meta = kept;
    } else if (status_keeps_labels(op->stored)) {
        take_member(meta, was, STR("labels"), op->a);
    }
    for (size_t i = 0; i < c->old->n_members; i++) {
        struct str key = c->old->members[i].key;

        if (str_is(key, "metadata"))
            json_set(&object, key, *meta, op->a);
        else if (!str_is(key, "status"))
            json_set(&object, key, c->old->members[i].value, op->a);
    }
    if (status)
        json_set(&object, STR("status"), *status, op->a);
    c->object = object;
}

/* The old pod with one part of the new one (upstream: dropNonEphemeralContainerUpdates). */
static void prepare_pod_part(struct op *op, struct change *c)
{
    struct json_value pod = json_copy(c->old, op->a);
    struct json_value *meta = meta_of(&pod, op->a);
    struct json_value *spec = json_set_object(&pod, STR("spec"), op->a);
    const struct json_value *changed = json_get(&c->object, STR("spec"));

    take_member(meta, json_get(&c->object, STR("metadata")), STR("managedFields"), op->a);
    if (str_is(c->subresource, "ephemeralcontainers")) {
        take_member(spec, changed, STR("ephemeralContainers"), op->a);
    } else {
        static const char *const lists[] = {"containers", "initContainers"};

        for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
            struct json_value *list = json_member(spec, str_of(lists[l]));
            const struct json_value *from = json_get(changed, str_of(lists[l]));

            for (size_t i = 0; list && from && i < list->n && i < from->n; i++) {
                if (!str_eq(json_get_text(&list->items[i], STR("name")),
                            json_get_text(&from->items[i], STR("name"))))
                    continue;
                take_member(&list->items[i], &from->items[i], STR("resources"), op->a);
                take_member(&list->items[i], &from->items[i], STR("resizePolicy"), op->a);
            }
        }
        take_member(spec, changed, STR("resources"), op->a);
    }
    c->object = pod;
}

static bool generation_changed(const struct op *op, const struct change *c)
{
    static const char *const custom_members[] = {"spec", NULL};
    const char *const *members = op->strategy         ? op->strategy->generation
                                 : op->stored->custom ? custom_members
                                                      : NULL;

    /* Writes of a status may change annotations: they do not count. */
    if (str_is(c->subresource, "status"))
        return false;
    /* All of a custom resource but metadata and status counts. */
    for (size_t i = 0; members && members[i]; i++)
        if (!values_equal(json_at(&c->object, members[i]), json_at(c->old, members[i])))
            return true;
    return false;
}

static void prepare(struct op *op, struct change *c)
{
    const struct strategy *s = op->strategy;
    bool has_status = s ? !s->no_status : resource_subresource(op->r, STR("status")) != NULL;

    if (str_is(c->subresource, "status") || str_is(c->subresource, "approval"))
        prepare_status(op, c);
    else if (str_is(c->subresource, "ephemeralcontainers") || str_is(c->subresource, "resize"))
        prepare_pod_part(op, c);
    else if (str_is(c->subresource, "finalize"))
        take_member(&c->object, c->old, STR("status"), op->a);
    else if (c->internal)
        return;
    else if (s && s->prepare_update)
        s->prepare_update(&c->object, c->old, op->a);
    else if (has_status)
        take_member(&c->object, c->old, STR("status"), op->a);
}

/* What the server alone sets is that of the old object. */
static void keep_metadata(struct op *op, struct change *c)
{
    static const char *const always[] = {"creationTimestamp", "deletionTimestamp"};
    static const char *const if_missing[] = {"uid", "deletionGracePeriodSeconds"};
    const struct json_value *was = json_get(c->old, STR("metadata"));
    struct json_value *meta = meta_of(&c->object, op->a);

    for (size_t i = 0; i < ARRAY_LEN(always); i++)
        if (json_get(was, str_of(always[i])))
            take_member(meta, was, str_of(always[i]), op->a);
    for (size_t i = 0; i < ARRAY_LEN(if_missing); i++)
        if (!json_get(meta, str_of(if_missing[i])))
            take_member(meta, was, str_of(if_missing[i]), op->a);
    json_remove(meta, STR("selfLink"));
}

/* --- validation ------------------------------------------------------------------------------- */

static int validate(struct op *op, const struct change *c)
{
    struct field_errors errors = {.arena = op->a};
    const struct strategy *s = op->strategy;

    if (op->reg->options.without_validation || c->internal)
        return 0;
    metadata_validate_update(op->stored, &c->object, c->old, &errors);
    if (str_is(c->subresource, "status")) {
        if (s && s->validate_status)
            s->validate_status(&c->object, c->old, &errors);
    } else if (s) {
        bool whole = str_empty(c->subresource) || str_is(c->subresource, "scale");

        if (s->validate)
            s->validate(&c->object, &errors);
        if (s->validate_update && whole)
            s->validate_update(&c->object, c->old, &errors);
        if (s->validate_part && !whole)
            s->validate_part(&c->object, c->old, c->subresource, &errors);
    }
    custom_validate(op, &c->object, &errors);
    if (errors.n > 0)
        return status_invalid(op_status(op), op->r->group, op->r->kind, object_name(c->old),
                              &errors);
    return 0;
}

/* --- changes that change nothing -------------------------------------------------------------- */

/* A shallow copy of an object without one member. */
static struct json_value without(const struct json_value *v, struct str key, struct arena *a)
{
    struct json_value copy = *v;

    if (v->kind != JSON_OBJECT || v->n_members == 0)
        return copy;
    copy.members = arena_array(a, struct json_member, v->n_members);
    copy.n_members = 0;
    for (size_t i = 0; i < v->n_members; i++)
        if (!str_eq(v->members[i].key, key))
            copy.members[copy.n_members++] = v->members[i];
    return copy;
}

static bool same_managed_fields(const struct json_value *x, const struct json_value *y,
                                struct arena *a)
{
    const struct json_value *old = json_get(x, STR("managedFields"));
    const struct json_value *new = json_get(y, STR("managedFields"));

    if (!old || !new || old->kind != JSON_ARRAY || new->kind != JSON_ARRAY)
        return values_equal(old, new);
    if (old->n != new->n)
        return false;
    for (size_t i = 0; i < old->n; i++) {
        struct json_value l = without(&old->items[i], STR("time"), a);
        struct json_value r = without(&new->items[i], STR("time"), a);

        if (!json_value_equal(&l, &r))
            return false;
    }
    return true;
}

/* Times of managed fields do not count: they follow other changes. */
static bool unchanged(const struct op *op, const struct change *c)
{
    const struct json_value *old = json_get(c->old, STR("metadata"));
    const struct json_value *new = json_get(&c->object, STR("metadata"));
    struct json_value l = without(c->old, STR("metadata"), op->a);
    struct json_value r = without(&c->object, STR("metadata"), op->a);

    if (!json_value_equal(&l, &r))
        return false;
    l = without(old, STR("managedFields"), op->a);
    r = without(new, STR("managedFields"), op->a);
    return json_value_equal(&l, &r) && same_managed_fields(old, new, op->a);
}

/* The last finalizer of an object that is being deleted has gone. */
static bool ends_deletion(const struct op *op, const struct change *c)
{
    const struct json_value *was = json_get(c->old, STR("metadata"));
    const struct json_value *finalizers = json_at(&c->object, "metadata.finalizers");
    const struct json_value *own = json_at(&c->object, "spec.finalizers");

    if (finalizers && finalizers->kind == JSON_ARRAY && finalizers->n > 0)
        return false;
    if (!json_get(was, STR("deletionTimestamp")))
        return false;
    if (str_is(op->stored->plural, "namespaces") && str_empty(op->stored->group) && own &&
        own->kind == JSON_ARRAY && own->n > 0)
        return false;
    return json_int_at(was, "deletionGracePeriodSeconds", 0) == 0;
}

/* --- the update ------------------------------------------------------------------------------- */

static void set_versions(struct op *op, struct change *c)
{
    const struct json_value *was = json_get(c->old, STR("metadata"));
    struct json_value *meta = meta_of(&c->object, op->a);

    take_member(meta, was, STR("resourceVersion"), op->a);
    take_member(meta, was, STR("generation"), op->a);
}

static void finish(struct op *op, struct change *c)
{
    if (ends_deletion(op, c)) {
        op_answer_tree(op, &c->object, 200);
        op_remove(op, &c->object);
    } else {
        op_put(op, &c->object, 200);
    }
}

int update_object(struct op *op, struct change *c)
{
    struct steps steps = {
        .op = op, .object = &c->object, .old = c->old, .subresource = c->subresource};
    int code;

    if (op->strategy && op->strategy->set_defaults && !c->internal)
        op->strategy->set_defaults(&c->object, op->a);
    if (!c->applied && !c->internal)
        track_managed_fields(op, &c->object, c->old, c->subresource);
    code = c->internal ? 0 : steps_mutate(&steps);
    if (code)
        return code;
    dedup_owners(op, &c->object, true);
    set_versions(op, c);
    prepare(op, c);
    keep_metadata(op, c);
    if (generation_changed(op, c))
        json_set(meta_of(&c->object, op->a), STR("generation"),
                 json_int(json_int_at(c->old, "metadata.generation", 0) + 1, op->a), op->a);
    code = validate(op, c);
    if (code)
        return code;
    if (!c->internal)
        steps_warn(&steps);
    code = c->internal ? 0 : steps_validate(&steps);
    if (code)
        return code;
    if (unchanged(op, c) && !ends_deletion(op, c)) {
        op_answer(op, c->rev, 200);
        return 0;
    }
    steps_apply_effects(&steps);
    finish(op, c);
    return 0;
}

int serve_update(struct op *op)
{
    struct body_kind kind = body_kind_of(op);
    struct change c = {.subresource = op->req->subresource};
    struct json_value *object = op->req->body;
    int code = op_decode(op, object, &kind);

    if (!code)
        code = op_match_namespace(op, object);
    if (!code)
        code = op_match_name(op, object);
    if (code)
        return code;
    op_to_stored(op, object);
    dedup_owners(op, object, false);
    c.rev = op_find(op, op->req->namespace, op->req->name);
    if (!c.rev) {
        if (op->strategy && op->strategy->allow_create_on_update && str_empty(c.subresource))
            return create_object(op, object, false);
        return status_not_found(op_status(op), op->r, op->req->name, op->a);
    }
    c.old = op_parse(op, c.rev);
    c.object = *object;
    code = check_preconditions(op, c.old, object);
    return code ? code : update_object(op, &c);
}
