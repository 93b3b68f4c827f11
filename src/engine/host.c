/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - the functions that plugins call (struct berth_host), on the engine's structs.
 */
#include "engine/bind/permit.h"
#include "engine/cycle/post_filter.h"
#include "engine/framework/shared_state.h"
#include "engine/framework/signature.h"
#include "engine/group/placements.h"
#include "engine/rooms.h"

/* --- log, reasons ----------------------------------------------------------------------------- */

static void host_log(struct berth_handle *h, int level, struct berth_str message)
{
    if (!engine_log_on(&h->framework->log, level))
        return;
    char *text = str_dup(str_abi(message));
    engine_log(&h->framework->log, level, text, KV_CSTR("plugin", h->plugin->name));
    free(text);
}

static berth_reason host_reason(struct berth_handle *h, struct berth_str text)
{
    return reasons_text(&h->framework->reasons, str_abi(text));
}

static berth_reason host_reason_list(struct berth_handle *h, const berth_reason *reasons, size_t n)
{
    return reasons_list(&h->framework->reasons, reasons, n);
}

static void host_status_text(struct berth_status *status, struct berth_str text)
{
    status_add_text(status, str_abi(text));
}

/* --- cycle state ------------------------------------------------------------------------------ */

static berth_state_key host_state_key(struct berth_handle *h, struct berth_str name)
{
    return framework_state_key(h->framework, str_abi(name));
}

static void host_state_write(struct berth_cycle *cycle, berth_state_key key, void *data,
                             void *(*clone_fn)(const void *data), void (*free_fn)(void *data))
{
    assert(key > 0);
    while (cycle->state.n < key)
        vec_push(&cycle->state, (struct cycle_item){0});
    struct cycle_item *item = &cycle->state.v[key - 1];
    if (item->data && item->free && item->data != data)
        item->free(item->data);
    *item = (struct cycle_item){.data = data, .clone = clone_fn, .free = free_fn};
}

static void *host_state_read(const struct berth_cycle *cycle, berth_state_key key)
{
    return key > 0 && key <= cycle->state.n ? cycle->state.v[key - 1].data : NULL;
}

static void *host_cycle_alloc(struct berth_cycle *cycle, size_t size)
{
    return arena_alloc(&cycle->arena, size, _Alignof(max_align_t));
}

/* --- nodes of a cycle ------------------------------------------------------------------------- */

static void host_limit_nodes(struct berth_cycle *cycle, const struct berth_str *names, size_t n)
{
    if (cycle->in_pre_filter)
        node_subset_to(&cycle->proposal, cycle->framework->cache, &cycle->arena, names, n);
}

static const struct berth_columns *host_columns(const struct berth_cycle *cycle)
{
    return &cycle->columns;
}

static const struct berth_node *host_node_by_name(struct berth_handle *h, struct berth_str name)
{
    const struct berth_node *node = cache_node(h->framework->cache, str_abi(name));
    return node && node->object ? node : NULL;
}

static enum berth_code host_node_verdict(const struct berth_cycle *cycle,
                                         const struct berth_node *node)
{
    return post_filter_verdict(cycle, node);
}

static void host_nominate(struct berth_cycle *cycle, struct berth_str node_name)
{
    cycle->nominated_node = arena_dup(&cycle->arena, str_abi(node_name));
    cycle->nominated = true;
}

static void host_activate(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    /* Pods are constant for plugins; taking a reference changes nothing that they can read. */
    vec_push(&cycle->to_activate, pod_info_ref((struct berth_pod *)(uintptr_t)pod));
}

/* --- events, bindings ------------------------------------------------------------------------- */

static void host_register_event(struct berth_registrar *r, enum berth_resource resource,
                                unsigned actions, berth_hint_fn *hint)
{
    vec_push(&r->events,
             (struct event_registration){
                 .resource = resource, .actions = actions, .hint = hint, .handle = r->handle});
}

static void host_op_done(struct berth_binding_op *op, enum berth_code code, struct berth_str reason)
{
    binding_op_answer(op, NULL, code, str_abi(reason));
}

/* --- pods held in permit ---------------------------------------------------------------------- */

static void host_waiting_pods(struct berth_handle *h,
                              void (*fn)(void *ctx, struct berth_waiting_pod *w), void *ctx)
{
    const struct bindings *b = h->framework->bindings;
    for (size_t i = 0; i < b->cycles.n; i++)
        if (b->cycles.v[i]->holds && !b->cycles.v[i]->first.answered)
            fn(ctx, &b->cycles.v[i]->waiting);
}

static const struct berth_pod *host_waiting_pod(const struct berth_waiting_pod *w)
{
    return w->binding->pod;
}

static bool host_waiting_allow(struct berth_handle *h, struct berth_waiting_pod *w)
{
    return permit_allow(w->binding, h);
}

static bool host_waiting_reject(struct berth_handle *h, struct berth_waiting_pod *w,
                                struct berth_str reason)
{
    return permit_reject(w->binding, h, str_abi(reason));
}

/* --- reading by path -------------------------------------------------------------------------- */

static struct berth_value value_of(const struct field *field, const void *value)
{
    struct berth_value v = {.kind = BERTH_VALUE_ABSENT};
    if (!value)
        return v;
    switch ((enum field_kind)field->kind) {
    case FIELD_STR:
    case FIELD_BYTES:
    case FIELD_RAW:
        v.kind = BERTH_VALUE_STRING;
        v.str = abi_str(*(const struct str *)value);
        break;
    case FIELD_BOOL:
        v.kind = BERTH_VALUE_BOOL;
        v.i = *(const bool *)value;
        break;
    case FIELD_INT32:
        v.kind = BERTH_VALUE_INT;
        v.i = *(const int32_t *)value;
        break;
    case FIELD_INT64:
        v.kind = BERTH_VALUE_INT;
        v.i = *(const int64_t *)value;
        break;
    case FIELD_DOUBLE:
        v.kind = BERTH_VALUE_DOUBLE;
        v.d = *(const double *)value;
        break;
    case FIELD_MESSAGE:
    case FIELD_CUSTOM:
        v.kind = BERTH_VALUE_OBJECT;
        break;
    }
    return v;
}

/* Whether the path ends in an element of a list or map, not in the list itself. */
static bool names_element(struct str path)
{
    return path.n && path.p[path.n - 1] == ']';
}

static struct berth_value read_path(const struct object *o, struct berth_str path)
{
    struct berth_value v = {.kind = BERTH_VALUE_ABSENT};
    const struct field *field;
    const void *value;
    if (!o || !desc_get(object_kind(o)->type, object_body(o), str_abi(path), &field, &value))
        return v;
    bool is_list = field->shape == SHAPE_LIST || field->shape == SHAPE_MAP;
    if (!is_list || names_element(str_abi(path)))
        return value_of(field, value);
    v.kind = BERTH_VALUE_LIST;
    v.i = value ? (int64_t)((const struct any_list *)value)->n : 0;
    return v;
}

static struct berth_value host_pod_field(const struct berth_pod *pod, struct berth_str path)
{
    return read_path(pod->object, path);
}

static struct berth_value host_node_field(const struct berth_node *node, struct berth_str path)
{
    return read_path(node->object, path);
}

static struct berth_value host_object_field(const struct berth_object *object,
                                            struct berth_str path)
{
    return read_path(object_of_abi(object), path);
}

/* --- reading pods and nodes ------------------------------------------------------------------- */

static struct berth_str host_pod_namespace(const struct berth_pod *pod)
{
    return abi_str(pod->pod->metadata.namespace);
}

static struct berth_str host_pod_name(const struct berth_pod *pod)
{
    return abi_str(pod->pod->metadata.name);
}

static struct berth_str host_pod_uid(const struct berth_pod *pod)
{
    return abi_str(pod->pod->metadata.uid);
}

static struct berth_str host_pod_node_name(const struct berth_pod *pod)
{
    return abi_str(pod->node_name);
}

static int32_t host_pod_priority(const struct berth_pod *pod)
{
    return pod->priority;
}

static bool label_of(const str_map *labels, struct berth_str key, struct berth_str *ret)
{
    const struct str *value = str_map_get(labels, str_abi(key));
    if (value)
        *ret = abi_str(*value);
    return value;
}

static bool host_pod_label(const struct berth_pod *pod, struct berth_str key, struct berth_str *ret)
{
    return label_of(&pod->pod->metadata.labels, key, ret);
}

static int64_t host_pod_request(const struct berth_pod *pod, struct berth_str resource)
{
    return resource_by_name(&pod->requests, pod->names, str_abi(resource));
}

static struct berth_str host_node_name(const struct berth_node *node)
{
    return abi_str(str_of(node->name));
}

static bool host_node_label(const struct berth_node *node, struct berth_str key,
                            struct berth_str *ret)
{
    return node->node && label_of(&node->node->metadata.labels, key, ret);
}

static int64_t host_node_allocatable(const struct berth_node *node, struct berth_str resource)
{
    return resource_by_name(&node->allocatable, node->names, str_abi(resource));
}

static int64_t host_node_requested(const struct berth_node *node, struct berth_str resource)
{
    return resource_by_name(&node->requested, node->names, str_abi(resource));
}

static size_t host_node_pod_count(const struct berth_node *node)
{
    return node->pods.n;
}

static const struct berth_pod *host_node_pod(const struct berth_node *node, size_t i)
{
    return i < node->pods.n ? node->pods.v[i] : NULL;
}

/* --- the queue -------------------------------------------------------------------------------- */

static const struct berth_pod *host_queued_pod(const struct berth_queued_pod *q)
{
    return q->pod;
}

static int64_t host_queued_since(const struct berth_queued_pod *q)
{
    return q->timestamp;
}

/* --- signatures, pod groups ------------------------------------------------------------------- */

static void host_sign(struct berth_signature *s, struct berth_str part)
{
    buf_add_printf(s->out, "%zu:", part.n);
    buf_add_str(s->out, str_abi(part));
}

static struct berth_str host_pod_group_name(const struct berth_pod_group *g)
{
    return abi_str(g->name);
}

static struct berth_value host_pod_group_field(const struct berth_pod_group *g,
                                               struct berth_str path)
{
    return g->object ? read_path(g->object, path) : (struct berth_value){0};
}

static void host_placement_add(struct berth_placements *out, struct berth_str name,
                               const struct berth_str *node_names, size_t n)
{
    placement_add(out, str_abi(name), node_names, n);
}

static size_t host_placement_nodes(const struct berth_placement *p)
{
    return p->n;
}

static const struct berth_node *host_placement_node(const struct berth_placement *p, size_t i)
{
    return i < p->n ? p->nodes[i] : NULL;
}

static size_t host_placement_pods(const struct berth_placement *p)
{
    return p->n_pods;
}

static const struct berth_pod *host_placement_pod(const struct berth_placement *p, size_t i,
                                                  struct berth_str *ret_node_name)
{
    if (i >= p->n_pods)
        return NULL;
    *ret_node_name = abi_str(p->pods[i].node_name);
    return p->pods[i].pod;
}

/* --- requests, timers, shared state ----------------------------------------------------------- */

static uint64_t host_api_call(struct berth_handle *h, const struct berth_api_call *call,
                              berth_api_done_fn *done, void *ctx)
{
    struct framework *fw = h->framework;
    return plugin_calls_send(&fw->calls, &fw->ports, h, call, done, ctx);
}

static void host_api_forget(struct berth_handle *h, uint64_t id)
{
    plugin_calls_cancel_request(&h->framework->calls, id);
}

static int64_t host_now(const struct berth_handle *h)
{
    return framework_now(h->framework);
}

static uint64_t host_timer(struct berth_handle *h, int64_t delay_ns, berth_timer_fn *fn, void *ctx)
{
    struct framework *fw = h->framework;
    int64_t at;
    if (__builtin_add_overflow(framework_now(fw), MAX(delay_ns, 0), &at))
        at = INT64_MAX;
    return plugin_calls_add_timer(&fw->calls, h, at, fn, ctx);
}

static void host_timer_cancel(struct berth_handle *h, uint64_t id)
{
    plugin_calls_cancel_timer(&h->framework->calls, id);
}

static void host_event(struct berth_handle *h, const struct berth_pod *pod, bool warning,
                       struct berth_str reason, struct berth_str action, struct berth_str note)
{
    struct write write = {.kind = WRITE_EVENT,
                          .object = pod->object,
                          .scheduler_name = pod->pod->spec.scheduler_name,
                          .reason = str_abi(reason),
                          .action = str_abi(action),
                          .message = str_abi(note),
                          .warning = warning};
    framework_submit(h->framework, &write);
}

const struct berth_host engine_host = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_host),
    .log = host_log,
    .reason = host_reason,
    .reason_list = host_reason_list,
    .status_reason = status_add_reason,
    .status_text = host_status_text,
    .state_key = host_state_key,
    .state_write = host_state_write,
    .state_read = host_state_read,
    .cycle_alloc = host_cycle_alloc,
    .activate = host_activate,
    .limit_nodes = host_limit_nodes,
    .columns = host_columns,
    .node_by_name = host_node_by_name,
    .node_verdict = host_node_verdict,
    .nominate = host_nominate,
    .register_event = host_register_event,
    .write_binding = binding_write,
    .op_done = host_op_done,
    .waiting_pods = host_waiting_pods,
    .waiting_pod = host_waiting_pod,
    .waiting_allow = host_waiting_allow,
    .waiting_reject = host_waiting_reject,
    .pod_namespace = host_pod_namespace,
    .pod_name = host_pod_name,
    .pod_uid = host_pod_uid,
    .pod_node_name = host_pod_node_name,
    .pod_priority = host_pod_priority,
    .pod_label = host_pod_label,
    .pod_request = host_pod_request,
    .pod_field = host_pod_field,
    .node_name = host_node_name,
    .node_label = host_node_label,
    .node_allocatable = host_node_allocatable,
    .node_requested = host_node_requested,
    .node_pod_count = host_node_pod_count,
    .node_pod = host_node_pod,
    .node_field = host_node_field,
    .object_field = host_object_field,
    .queued_pod = host_queued_pod,
    .queued_since = host_queued_since,
    .sign = host_sign,
    .pod_group_name = host_pod_group_name,
    .pod_group_field = host_pod_group_field,
    .placement_add = host_placement_add,
    .placement_nodes = host_placement_nodes,
    .placement_node = host_placement_node,
    .placement_pods = host_placement_pods,
    .placement_pod = host_placement_pod,
    .api_call = host_api_call,
    .api_forget = host_api_forget,
    .now = host_now,
    .timer = host_timer,
    .timer_cancel = host_timer_cancel,
    .event = host_event,
    .shared = shared_state_get,
};
