/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods/binding and bindings: a pod gets its node (upstream: BindingREST).
 *
 * This is the write that a scheduler makes most: the stored text is parsed once, changed and
 * written; there are no managed fields and no strategy in upstream's path either.
 */
#include "apiserver/registry/registry_internal.h"

static int refuse(struct op *op, struct str name, struct str why)
{
    struct resource binding = *op->r;

    binding.plural = STR("pods/binding");
    return status_conflict(op_status(op), &binding, name, why, op->a);
}

/* Upstream does not turn these errors into an Invalid status. */
static int check_target(struct op *op, const struct json_value *binding)
{
    static const char *const kinds[] = {"Node", "<empty>", NULL};
    struct field_errors errors = {.arena = op->a};
    struct field_path target = field_child(NULL, "target");
    struct field_path path = field_child(&target, "kind");
    struct json_value kind = json_text(json_text_at(binding, "target.kind"));
    struct api_status invalid;

    if (!str_empty(kind.text) && !str_is(kind.text, "Node"))
        field_not_supported(&errors, &path, &kind, kinds);
    path = field_child(&target, "name");
    if (str_empty(json_text_at(binding, "target.name")))
        field_error(&errors, FIELD_REQUIRED, &path, NULL, "%s", "");
    if (errors.n == 0)
        return 0;
    status_invalid(&invalid, STR(""), STR(""), STR(""), &errors);
    *op_status(op) = (struct api_status){.code = 500, .reason = ""};
    op_status(op)->message = str_slice(invalid.message, strlen(" \"\" is invalid: "), SIZE_MAX);
    return 500;
}

static int check_pod(struct op *op, const struct json_value *pod, const struct json_value *binding)
{
    const struct json_value *meta = json_get(pod, STR("metadata"));
    const struct json_value *gates = json_at(pod, "spec.schedulingGates");
    struct str name = object_name(pod), node = json_text_at(pod, "spec.nodeName");
    struct str uid = json_text_at(binding, "metadata.uid"), had = json_get_text(meta, STR("uid"));
    struct str version = json_text_at(binding, "metadata.resourceVersion");

    if (!str_empty(uid) && !str_eq(uid, had))
        return status_conflict(op_status(op), op->r, name, storage_conflict(op, name, uid, had),
                               op->a);
    if (!str_empty(version) && !str_eq(version, json_get_text(meta, STR("resourceVersion"))))
        return status_conflict(
            op_status(op), op->r, name,
            arena_printf(op->a,
                         "Precondition failed: ResourceVersion in precondition: %.*s, "
                         "ResourceVersion in object meta: %.*s",
                         STR_ARG(version), STR_ARG(json_get_text(meta, STR("resourceVersion")))),
            op->a);
    if (json_get(meta, STR("deletionTimestamp")))
        return refuse(op, name,
                      arena_printf(op->a, "pod %.*s is being deleted, cannot be assigned to a host",
                                   STR_ARG(name)));
    if (!str_empty(node))
        return refuse(op, name,
                      arena_printf(op->a, "pod %.*s is already assigned to node %.*s",
                                   STR_ARG(name), STR_ARG(arena_quoted(op->a, node))));
    if (gates && gates->kind == JSON_ARRAY && gates->n > 0)
        return refuse(
            op, name,
            arena_printf(op->a, "pod %.*s has non-empty .spec.schedulingGates", STR_ARG(name)));
    return 0;
}

static void copy_members(struct json_value *meta, const char *name, const struct json_value *from,
                         struct arena *a)
{
    struct json_value *to;

    if (!from || from->kind != JSON_OBJECT || from->n_members == 0)
        return;
    to = json_set_object(meta, str_of(name), a);
    for (size_t i = 0; i < from->n_members; i++)
        json_set(to, from->members[i].key, from->members[i].value, a);
}

/* Zone and region of the node (upstream: the admission plugin PodTopologyLabels). */
static void copy_topology(struct op *op, struct json_value *meta, struct str node)
{
    static const char *const keys[] = {"topology.kubernetes.io/zone",
                                       "topology.kubernetes.io/region"};
    const struct resource *nodes = resources_named(op->reg->resources, STR(""), STR("nodes"));
    const struct revision *rev = nodes ? store_get(op->reg->store, nodes, STR(""), node) : NULL;

    if (!rev || op->reg->options.without_admission)
        return;
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct str value = revision_label(rev, str_of(keys[i]));

        /* The text is copied when the pod is written, before the node can change. */
        if (!str_empty(value))
            json_set(json_set_object(meta, STR("labels"), op->a), str_of(keys[i]), json_text(value),
                     op->a);
    }
}

static void assign(struct op *op, struct json_value *pod, const struct json_value *binding)
{
    struct json_value *meta = meta_of(pod, op->a), *status = json_member(pod, STR("status"));
    struct json_value condition = json_object();
    const struct json_value *from = json_get(binding, STR("metadata"));
    struct str node = json_text_at(binding, "target.name");

    if (status)
        json_remove(status, STR("nominatedNodeName"));
    copy_members(meta, "annotations", json_get(from, STR("annotations")), op->a);
    copy_members(meta, "labels", json_get(from, STR("labels")), op->a);
    if (str_is(json_text_at(binding, "target.kind"), "Node"))
        copy_topology(op, meta, node);
    json_set(json_set_object(pod, STR("spec"), op->a), STR("nodeName"), json_text(node), op->a);
    json_set(&condition, STR("type"), json_text(STR("PodScheduled")), op->a);
    json_set(&condition, STR("status"), json_text(STR("True")), op->a);
    json_set(&condition, STR("lastProbeTime"), json_null(), op->a);
    pod_set_condition(pod, condition, op->req->now, op->a);
}

int serve_binding(struct op *op)
{
    const struct resource *pods = resources_named(op->reg->resources, STR(""), STR("pods"));
    struct json_value *binding = op->req->body;
    struct body_kind kind = body_kind_of(op);
    struct op on_pods = op_for(op, pods);
    struct str name = op->req->name;
    const struct revision *rev;
    struct json_value *pod;
    int code = op_decode(op, binding, &kind);

    if (!code)
        code = op_match_namespace(op, binding);
    if (code)
        return code;
    if (str_empty(op->req->subresource))
        name = object_name(binding);
    else if (!str_eq(name, object_name(binding)))
        return status_bad_request(op_status(op), op->a,
                                  "name in URL does not match name in Binding object");
    code = check_target(op, binding);
    if (code)
        return code;
    rev = op_find(&on_pods, op->req->namespace, name);
    if (!rev)
        return status_not_found(op_status(op), pods, name, op->a);
    pod = op_parse(&on_pods, rev);
    code = check_pod(&on_pods, pod, binding);
    if (code)
        return code;
    assign(&on_pods, pod, binding);
    op_put_quietly(&on_pods, pod);
    op_answer_success(op, NULL, 201);
    return 0;
}
