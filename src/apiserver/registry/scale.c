/* SPDX-License-Identifier: Apache-2.0 */
/* The scale subresource: spec.replicas of a workload as an autoscaling/v1 Scale. */
#include "apiserver/registry/registry_internal.h"

/* Where the numbers are in the object; custom resources say it themselves. */
struct scale_paths {
    const char *spec, *status, *selector;
};

static struct scale_paths paths_of(const struct op *op)
{
    const struct custom_resource *custom = op->r->custom;

    if (custom && custom->scale_spec && custom->scale_status)
        return (struct scale_paths){custom->scale_spec, custom->scale_status,
                                    custom->scale_selector ? custom->scale_selector : ""};
    return (struct scale_paths){"spec.replicas", "status.replicas", "spec.selector"};
}

/* status.selector: a label selector, or the map of a ReplicationController, as text. */
static struct str selector_text(struct op *op, const struct json_value *v)
{
    struct selector selector;
    struct buf text = BUF_INIT;
    struct str result;

    if (v && v->kind == JSON_STRING)
        return v->text;
    if (str_is(op->stored->plural, "replicationcontrollers"))
        selector_from_labels(v, op->a, &selector);
    else if (selector_from_tree(v, op->a, &selector) < 0)
        return STR("");
    selector_write(&selector, &text);
    result = arena_dup(op->a, buf_str(&text));
    buf_release(&text);
    return result;
}

static struct json_value scale_of(struct op *op, const struct json_value *object)
{
    static const char *const copied[] = {"name", "namespace", "uid", "resourceVersion",
                                         "creationTimestamp"};
    const struct json_value *meta = json_get(object, STR("metadata"));
    struct scale_paths paths = paths_of(op);
    struct json_value scale = json_object(), to = json_object();
    struct json_value spec = json_object(), status = json_object();
    struct str selector =
        selector_text(op, *paths.selector ? json_at(object, paths.selector) : NULL);
    int64_t replicas = json_int_at(object, paths.spec, 0);

    json_set(&scale, STR("kind"), json_text(STR("Scale")), op->a);
    json_set(&scale, STR("apiVersion"), json_text(STR("autoscaling/v1")), op->a);
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        const struct json_value *value = json_get(meta, str_of(copied[i]));

        if (value)
            json_set(&to, str_of(copied[i]), *value, op->a);
    }
    json_set(&scale, STR("metadata"), to, op->a);
    if (replicas != 0)
        json_set(&spec, STR("replicas"), json_int(replicas, op->a), op->a);
    json_set(&scale, STR("spec"), spec, op->a);
    json_set(&status, STR("replicas"), json_int(json_int_at(object, paths.status, 0), op->a),
             op->a);
    if (!str_empty(selector))
        json_set(&status, STR("selector"), json_text(selector), op->a);
    json_set(&scale, STR("status"), status, op->a);
    return scale;
}

static void answer(struct op *op, const struct json_value *object)
{
    struct json_value *tree = arena_new(op->a, struct json_value);

    *tree = scale_of(op, object);
    op->res->object = revision_unref(op->res->object);
    op->res->tree = tree;
    op->res->code = 200;
}

static int validate(struct op *op, const struct json_value *scale)
{
    struct field_errors errors = {.arena = op->a};
    struct field_path spec = field_child(NULL, "spec"), path = field_child(&spec, "replicas");

    metadata_validate(op->stored, scale, &errors);
    if (json_int_at(scale, "spec.replicas", 0) < 0)
        field_error(&errors, FIELD_INVALID, &path, json_at(scale, "spec.replicas"),
                    "must be greater than or equal to 0");
    if (errors.n > 0)
        return status_invalid(op_status(op), STR("autoscaling"), STR("Scale"), object_name(scale),
                              &errors);
    return 0;
}

/* The Scale that the request makes of the current one. */
static int wanted_scale(struct op *op, const struct json_value *current,
                        struct json_value *ret_scale)
{
    struct body_kind kind = body_kind_of(op);
    int code;

    if (op->req->verb == API_UPDATE) {
        code = op_decode(op, op->req->body, &kind);
        if (!code)
            *ret_scale = *op->req->body;
    } else if (op->req->verb == API_APPLY) {
        /* An applied Scale has spec.replicas and nothing else of interest. */
        code = op_check_kind(op, op->req->body, &kind);
        if (!code) {
            *ret_scale = json_copy(current, op->a);
            json_set_at(ret_scale, "spec.replicas",
                        json_int(json_int_at(op->req->body, "spec.replicas", 0), op->a), op->a);
        }
    } else {
        code = patch_tree(op, current, &kind, ret_scale);
    }
    return code;
}

int serve_scale(struct op *op)
{
    struct change c = {.subresource = STR("scale")};
    struct json_value current, scale;
    int code;

    c.rev = op_find(op, op->req->namespace, op->req->name);
    if (!c.rev)
        return status_not_found(op_status(op), op->r, op->req->name, op->a);
    c.old = op_parse(op, c.rev);
    if (op->req->verb == API_GET) {
        answer(op, c.old);
        return 0;
    }
    current = scale_of(op, c.old);
    code = wanted_scale(op, &current, &scale);
    if (!code)
        code = op_match_namespace(op, &scale);
    if (!code)
        code = op_match_name(op, &scale);
    if (!code)
        code = validate(op, &scale);
    if (!code)
        code = check_preconditions(op, c.old, &scale);
    if (code)
        return code;
    c.object = json_copy(c.old, op->a);
    json_set_at(&c.object, paths_of(op).spec,
                json_int(json_int_at(&scale, "spec.replicas", 0), op->a), op->a);
    code = update_object(op, &c);
    if (code)
        return code;
    answer(op, op->res->object ? op_parse(op, op->res->object) : op->res->tree);
    return 0;
}
