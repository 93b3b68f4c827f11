/* SPDX-License-Identifier: Apache-2.0 */
/* PATCH of four kinds (upstream: endpoints/handlers/patch.go). */
#include "apiserver/patch/apply.h"
#include "apiserver/patch/strategic.h"
#include "apiserver/registry/write_steps.h"
#include "codec/json_patch.h"

#define MAX_OPERATIONS 10000

static int patch_json(struct op *op, const struct json_value *target, struct json_value *ret_object)
{
    const struct json_value *patch = op->req->body;
    struct err err;
    int r;

    if (patch->kind != JSON_ARRAY)
        return status_bad_request(
            op_status(op), op->a,
            "error decoding patch: json: cannot unmarshal object into Go value of type "
            "[]handlers.jsonPatchOp");
    if (patch->n > MAX_OPERATIONS)
        return status_of(op_status(op), 413, op->a,
                         "The allowed maximum operations in a JSON patch is %d, got %zu",
                         MAX_OPERATIONS, patch->n);
    r = json_patch_apply(target, patch, op->a, ret_object, &err);
    if (r < 0)
        return status_of(op_status(op), 422, op->a,
                         "the server rejected our request due to an error in our request");
    return 0;
}

static int patch_merge(struct op *op, const struct json_value *target,
                       struct json_value *ret_object)
{
    if (op->req->body->kind != JSON_OBJECT)
        return status_bad_request(op_status(op), op->a,
                                  "error decoding patch: json: cannot unmarshal array into Go "
                                  "value of type map[string]interface {}");
    json_patch_merge(target, op->req->body, op->a, ret_object);
    return 0;
}

static int refuse_patch(struct op *op, int r, const struct err *err)
{
    if (r == -EINVAL)
        return status_bad_request(op_status(op), op->a, "%s", err->msg);
    /* Upstream has no reason for the others. */
    *op_status(op) = (struct api_status){.code = r == -ENOTSUP ? 422 : 500, .reason = ""};
    op_status(op)->message = arena_dup(op->a, str_of(err->msg));
    return op_status(op)->code;
}

static int patch_strategic(struct op *op, const struct json_value *target,
                           const struct body_kind *kind, struct json_value *ret_object)
{
    struct err err;
    int r;

    if (!kind->type)
        return status_of(
            op_status(op), 415, op->a,
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json-patch+json, application/merge-patch+json, "
            "application/apply-patch+yaml");
    if (op->req->body->kind != JSON_OBJECT)
        return status_bad_request(op_status(op), op->a,
                                  "json: cannot unmarshal array into Go value of type "
                                  "map[string]interface {}");
    r = strategic_patch(kind->types, kind->type, target, op->req->body, op->a, ret_object, &err);
    if (r == 0)
        return 0;
    return refuse_patch(op, r, &err);
}

int patch_tree(struct op *op, const struct json_value *target, const struct body_kind *kind,
               struct json_value *ret_object)
{
    struct json_value copy;
    int code;

    if (!op->req->body)
        return status_bad_request(op_status(op), op->a, "unexpected end of JSON input");
    if (op->req->verb == API_PATCH_JSON)
        code = patch_json(op, target, ret_object);
    else if (op->req->verb == API_PATCH_MERGE)
        code = patch_merge(op, target, ret_object);
    else
        code = patch_strategic(op, target, kind, ret_object);
    if (code)
        return code;
    /* The result shares parts of the target, which must stay as it is. */
    copy = json_copy(ret_object, op->a);
    *ret_object = copy;
    return op_decode_patched(op, ret_object, kind);
}

/* --- server-side apply ------------------------------------------------------------------------ */

/* \"x\" with subresource \"status\" using v1 at 2026-11-15T09:00:00Z */
static void write_manager(const struct apply_conflict *c, struct buf *out)
{
    go_quote(out, c->manager);
    if (!str_empty(c->subresource)) {
        buf_add_cstr(out, " with subresource ");
        go_quote(out, c->subresource);
    }
    if (!str_is(c->operation, "Update"))
        return;
    buf_add_printf(out, " using %.*s", STR_ARG(c->api_version));
    if (!str_empty(c->time))
        buf_add_printf(out, " at %.*s", STR_ARG(c->time));
}

/* Conflicts are sorted by manager. */
static void write_conflicts(const struct apply_conflicts *conflicts, struct api_cause *causes,
                            struct arena *a, struct buf *out)
{
    struct buf who = BUF_INIT;
    struct str last = {0};

    for (size_t i = 0; i < conflicts->n; i++) {
        const struct apply_conflict *c = &conflicts->v[i];
        struct str manager;

        buf_clear(&who);
        write_manager(c, &who);
        manager = arena_dup(a, buf_str(&who));
        causes[i] =
            (struct api_cause){STR("FieldManagerConflict"),
                               arena_printf(a, "conflict with %.*s", STR_ARG(manager)), c->field};
        if (conflicts->n == 1) {
            buf_add_printf(out, "conflict with %.*s: %.*s", STR_ARG(manager), STR_ARG(c->field));
            continue;
        }
        if (i == 0 || !str_eq(manager, last))
            buf_add_printf(out, "%sconflicts with %.*s:", i ? "\n" : "", STR_ARG(manager));
        buf_add_printf(out, "\n- %.*s", STR_ARG(c->field));
        last = manager;
    }
    buf_release(&who);
}

static int refuse_conflicts(struct op *op, const struct apply_conflicts *conflicts)
{
    struct api_cause *causes = arena_array(op->a, struct api_cause, conflicts->n);
    struct buf text = BUF_INIT;

    buf_add_printf(&text, "Apply failed with %zu conflict%s: ", conflicts->n,
                   conflicts->n == 1 ? "" : "s");
    write_conflicts(conflicts, causes, op->a, &text);
    *op_status(op) = (struct api_status){
        .code = 409, .reason = "Conflict", .causes = causes, .n_causes = conflicts->n};
    op_status(op)->message = arena_dup(op->a, buf_str(&text));
    buf_release(&text);
    return 409;
}

static int apply(struct op *op, const struct json_value *live, struct json_value *ret_object)
{
    struct apply_request request = {
        .resource = op->r,
        .live = live,
        .manager = op->req->field_manager,
        .subresource = op->req->subresource,
        .time = time_text(op->req->now, op->a),
        .force = op->req->force,
    };
    struct apply_conflicts conflicts = {0};
    struct body_kind kind = body_kind_of(op);
    struct err err;
    int r;

    if (!op->req->body || op->req->body->kind != JSON_OBJECT)
        return status_bad_request(op_status(op), op->a,
                                  "error decoding YAML: the body is not an object");
    if (str_empty(json_get_text(op->req->body, STR("kind"))) ||
        str_empty(json_get_text(op->req->body, STR("apiVersion"))))
        return status_bad_request(op_status(op), op->a,
                                  "invalid object type: /, Kind=: the apiVersion and kind of an "
                                  "applied object are required");
    /* Fields that do not exist are apply_patch's to refuse. */
    r = op_check_kind(op, op->req->body, &kind);
    if (r)
        return r;
    r = apply_patch(&request, op->req->body, op->a, ret_object, &conflicts, &err);
    if (r == -EEXIST)
        return refuse_conflicts(op, &conflicts);
    if (r < 0)
        return refuse_patch(op, r, &err);
    return kind.custom ? op_decode_patched(op, ret_object, &kind) : 0;
}

/* --- the request ------------------------------------------------------------------------------ */

/* An apply creates the object that is missing. */
static int apply_new(struct op *op)
{
    struct json_value object;
    int code;

    if (!str_empty(op->req->subresource))
        return status_not_found(op_status(op), op->r, op->req->name, op->a);
    code = apply(op, NULL, &object);
    if (!code)
        code = op_match_namespace(op, &object);
    if (!code)
        code = op_match_name(op, &object);
    if (code)
        return code;
    if (!str_empty(json_text_at(&object, "metadata.uid")))
        return status_conflict(
            op_status(op), op->r, op->req->name,
            arena_printf(op->a,
                         "uid mismatch: the provided object specified uid %.*s, and no existing "
                         "object was found",
                         STR_ARG(json_text_at(&object, "metadata.uid"))),
            op->a);
    op_to_stored(op, &object);
    return create_object(op, &object, true);
}

int serve_patch(struct op *op)
{
    struct body_kind kind = body_kind_of(op);
    struct change c = {.subresource = op->req->subresource};
    struct json_value *target;
    int code;

    c.rev = op_find(op, op->req->namespace, op->req->name);
    if (!c.rev)
        return op->req->verb == API_APPLY
                   ? apply_new(op)
                   : status_not_found(op_status(op), op->r, op->req->name, op->a);
    c.old = op_parse(op, c.rev);
    target = c.old;
    if (op->r != op->stored) {
        target = op_parse(op, c.rev);
        op_from_stored(op, target);
    }
    c.applied = op->req->verb == API_APPLY;
    code = c.applied ? apply(op, target, &c.object) : patch_tree(op, target, &kind, &c.object);
    if (!code)
        code = op_match_namespace(op, &c.object);
    if (!code)
        code = op_match_name(op, &c.object);
    if (code)
        return code;
    op_to_stored(op, &c.object);
    code = check_preconditions(op, c.old, &c.object);
    return code ? code : update_object(op, &c);
}
