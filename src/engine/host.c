/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host.c - the functions that plugins call (struct berth_host): cycles, bindings, waiting pods, pod
 * groups. Reading objects is in host_read.c, services of the framework are in host_services.c.
 */
#include "engine/host.h"
#include "engine/bind/permit.h"
#include "engine/cycle/post_filter.h"
#include "engine/framework/value.h"
#include "engine/group/placements.h"
#include "engine/post.h"

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

static void host_state_delete(struct berth_cycle *cycle, berth_state_key key)
{
    if (key > 0 && key <= cycle->state.n)
        host_state_write(cycle, key, NULL, NULL, NULL);
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
    else
        engine_log_error(&cycle->framework->log,
                         "limit_nodes was called outside of PreFilter: ignored",
                         KV_STR("profile", cycle->profile->scheduler_name));
}

static const struct berth_columns *host_columns(const struct berth_cycle *cycle)
{
    return &cycle->columns;
}

static void host_nodes(struct berth_handle *h, struct berth_columns *ret_columns)
{
    struct berth_columns columns;
    cache_get_columns(h->framework->cache, &columns);
    size_t size = MIN(ret_columns->struct_size, sizeof(columns));
    memcpy(ret_columns, &columns, size);
    ret_columns->struct_size = size;
}

static const struct berth_node *host_node_by_name(struct berth_handle *h, struct berth_str name)
{
    const struct berth_node *node = cache_node(h->framework->cache, str_abi(name));
    return node && node->object ? node : NULL;
}

static void each_nominated(const struct nominated_node *node,
                           void (*fn)(void *ctx, const struct berth_pod *pod), void *ctx)
{
    for (size_t i = 0; node && i < node->pods.n; i++)
        fn(ctx, node->pods.v[i]);
}

static void host_nominated_pods(struct berth_handle *h, struct berth_str node_name,
                                void (*fn)(void *ctx, const struct berth_pod *pod), void *ctx)
{
    const struct nominator *nominator = &h->framework->queue->nominator;
    if (node_name.n) {
        each_nominated(nominator_node(nominator, str_abi(node_name)), fn, ctx);
        return;
    }
    map_each (entry, &nominator->nodes)
        if (host_node_by_name(h, abi_str(entry->key)))
            each_nominated(nominator_node(nominator, entry->key), fn, ctx);
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

static void host_write_binding(struct berth_handle *h, berth_op op, struct berth_str node_name)
{
    struct framework *fw = h->framework;
    if (framework_is_engine_thread(fw))
        bindings_write(fw->bindings, h, op, str_abi(node_name));
    else
        engine_post_op(fw, h, POST_WRITE_BINDING, op, BERTH_SUCCESS, str_abi(node_name));
}

static void host_op_done(struct berth_handle *h, berth_op op, enum berth_code code,
                         struct berth_str reason)
{
    struct framework *fw = h->framework;
    if (framework_is_engine_thread(fw))
        bindings_op_done(fw->bindings, h, op, code, str_abi(reason));
    else
        engine_post_op(fw, h, POST_OP_DONE, op, code, str_abi(reason));
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

static struct berth_waiting_pod *host_waiting_pod_get(struct berth_handle *h, struct berth_str uid)
{
    struct binding_cycle *bc = binding_cycle_of(h->framework->bindings, str_abi(uid));
    return bc && bc->holds && !bc->first.answered ? &bc->waiting : NULL;
}

static struct berth_str host_waiting_node_name(const struct berth_waiting_pod *w)
{
    return abi_str(w->binding->node_name);
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

/* --- the queue -------------------------------------------------------------------------------- */

static const struct berth_pod *host_queued_pod(const struct berth_queued_pod *q)
{
    return q->pod;
}

static int64_t host_queued_since(const struct berth_queued_pod *q)
{
    return q->timestamp;
}

/* --- pod groups ------------------------------------------------------------------------------- */

static struct berth_str host_pod_group_name(const struct berth_pod_group *g)
{
    return abi_str(g->name);
}

static bool host_pod_group_field(const struct berth_pod_group *g, struct berth_str path,
                                 struct berth_value *ret_value)
{
    return value_of_object(g->object, str_abi(path), ret_value);
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

const struct berth_host engine_host = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_host),
    .log = host_log,
    .log_enabled = host_log_enabled,
    .reason = host_reason,
    .reason_list = host_reason_list,
    .status_reason = status_add_reason,
    .status_text = host_status_text,
    .state_key = host_state_key,
    .state_write = host_state_write,
    .state_read = host_state_read,
    .state_delete = host_state_delete,
    .cycle_alloc = host_cycle_alloc,
    .activate = host_activate,
    .limit_nodes = host_limit_nodes,
    .columns = host_columns,
    .nodes = host_nodes,
    .node_by_name = host_node_by_name,
    .nominated_pods = host_nominated_pods,
    .node_verdict = host_node_verdict,
    .nominate = host_nominate,
    .register_event = host_register_event,
    .write_binding = host_write_binding,
    .op_done = host_op_done,
    .waiting_pods = host_waiting_pods,
    .waiting_pod_get = host_waiting_pod_get,
    .waiting_pod = host_waiting_pod,
    .waiting_node_name = host_waiting_node_name,
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
    .pod_object = host_pod_object,
    .node_name = host_node_name,
    .node_label = host_node_label,
    .node_allocatable = host_node_allocatable,
    .node_requested = host_node_requested,
    .node_pod_count = host_node_pod_count,
    .node_pod = host_node_pod,
    .node_field = host_node_field,
    .node_object = host_node_object,
    .object_field = host_object_field,
    .value_get = host_value_get,
    .value_at = host_value_at,
    .value_json = host_value_json,
    .parse_quantity = host_parse_quantity,
    .object_namespace = host_object_namespace,
    .object_name = host_object_name,
    .object_uid = host_object_uid,
    .object_label = host_object_label,
    .object_ref = host_object_ref,
    .object_unref = host_object_unref,
    .watch = host_watch,
    .lister_synced = host_lister_synced,
    .lister_get = host_lister_get,
    .lister_each = host_lister_each,
    .lister_resource = host_lister_resource,
    .queued_pod = host_queued_pod,
    .queued_since = host_queued_since,
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
    .shared = host_shared,
    .post = host_post,
    .parallel = host_parallel,
    .args = host_args,
    .metric = host_metric,
    .metric_add = host_metric_add,
    .metric_set = host_metric_set,
    .metric_observe = host_metric_observe,
    .http_get = host_http_get,
};
