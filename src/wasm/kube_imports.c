/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kube_imports.c - the modules k8s.io/api, k8s.io/klog and k8s.io/scheduler for guests.
 *
 * A function that returns data has a buffer and its size as parameters. It returns the size of the
 * data and writes them only if they fit, so that a guest can ask again with a larger buffer.
 */
#include <inttypes.h>

#include "codec/json_value.h"
#include "codec/proto.h"
#include "engine/framework/framework.h"
#include "wasm/guest_services.h"
#include "wasm/imports.h"

#define API       "k8s.io/api"
#define KLOG      "k8s.io/klog"
#define SCHEDULER "k8s.io/scheduler"

/* --- reading and writing the guest's memory --------------------------------------------------- */

static uint32_t u32(const wasmtime_val_raw_t *v)
{
    return (uint32_t)v->i32;
}

/* v: address and size. */
static bool take(struct guest *g, const wasmtime_val_raw_t *v, struct str *ret_text)
{
    uint32_t n = u32(&v[1]);
    const char *p = guest_memory(g, u32(&v[0]), n);
    if (!p || !guest_spend(g, n))
        return false;
    *ret_text = (struct str){p, n};
    return true;
}

/* Answers with bytes. v: of the call; at: index of the buffer's address. */
static const char *give(struct guest *g, wasmtime_val_raw_t *v, size_t at, struct str bytes)
{
    uint32_t buffer = u32(&v[at]), limit = u32(&v[at + 1]);
    if (bytes.n > INT32_MAX)
        return "too large for a guest";
    v[0].i32 = (int32_t)bytes.n;
    if (bytes.n == 0 || bytes.n > limit)
        return NULL;
    char *p = guest_memory(g, buffer, (uint32_t)bytes.n);
    if (!p)
        return "out of memory";
    if (guest_spend(g, bytes.n))
        memcpy(p, bytes.p, bytes.n);
    return NULL;
}

static const char *keep(struct guest *g, const wasmtime_val_raw_t *v, struct buf *out,
                        const char *fault)
{
    struct str bytes;
    if (!take(g, v, &bytes) || bytes.n > GUEST_MAX_RESULT)
        return fault;
    buf_clear(out);
    buf_add_str(out, bytes);
    return NULL;
}

/* --- objects ---------------------------------------------------------------------------------- */

/*
 * The bytes of an object as the API server sent them, if they were kept as protobuf: then a guest
 * sees all fields. Otherwise those that berth keeps.
 */
static void add_object(struct buf *out, const struct object *o)
{
    enum encoding encoding;
    struct str wire = object_wire(o, &encoding);
    if (wire.p && encoding == ENCODING_PROTO)
        buf_add_str(out, wire);
    else
        proto_encode(object_kind(o)->type, object_body(o), out);
}

/* Valid until the next object. */
static struct str bytes_of(struct guest *g, struct object *o)
{
    if (g->encoded != o) {
        object_unref(g->encoded);
        g->encoded = object_ref(o);
        buf_clear(&g->encoding);
        add_object(&g->encoding, o);
    }
    return buf_str(&g->encoding);
}

enum { POD_SPEC = 2, POD_SPEC_NODE_NAME = 10, NODE_LIST_ITEMS = 2 }; /* protobuf */

/*
 * Upstream passes pods that are assumed on a node with its name in spec.nodeName. In protobuf a
 * second spec is merged with the first one.
 */
static const char *give_pod(struct guest *g, wasmtime_val_raw_t *v, size_t at,
                            const struct berth_pod *pod)
{
    if (!pod)
        return give(g, v, at, STR(""));
    struct str bytes = bytes_of(g, pod->object);
    if (str_eq(pod->node_name, pod->pod->spec.node_name))
        return give(g, v, at, bytes);
    struct buf spec = BUF_INIT, whole = BUF_INIT;
    proto_write_bytes(&spec, POD_SPEC_NODE_NAME, pod->node_name);
    buf_add_str(&whole, bytes);
    proto_write_bytes(&whole, POD_SPEC, buf_str(&spec));
    const char *fault = give(g, v, at, buf_str(&whole));
    buf_release(&spec);
    buf_release(&whole);
    return fault;
}

static const struct berth_node *node_named(struct guest *g, const wasmtime_val_raw_t *v,
                                           const char **ret_fault)
{
    struct guest_services *s = g->settings->services;
    struct str name;
    if (!take(g, v, &name)) {
        *ret_fault = "out of memory reading nodeName";
        return NULL;
    }
    return s->host->node_by_name(s->handle, abi_str(name));
}

static const char *api_node(struct guest *g, wasmtime_val_raw_t *v)
{
    const char *fault = NULL;
    const struct berth_node *node = node_named(g, v, &fault);
    if (fault)
        return fault;
    return give(g, v, 2, node ? bytes_of(g, node->object) : STR(""));
}

static const char *api_node_list(struct guest *g, wasmtime_val_raw_t *v)
{
    struct guest_services *s = g->settings->services;
    struct berth_columns columns = {.struct_size = sizeof(columns)};
    struct buf list = BUF_INIT;
    s->host->nodes(s->handle, &columns);
    for (size_t i = 0; i < columns.n; i++)
        if (columns.nodes[i] && columns.nodes[i]->object)
            proto_write_bytes(&list, NODE_LIST_ITEMS, bytes_of(g, columns.nodes[i]->object));
    const char *fault = guest_spend(g, list.n) ? give(g, v, 0, buf_str(&list)) : NULL;
    buf_release(&list);
    return fault;
}

static const char *current_pod(struct guest *g, wasmtime_val_raw_t *v)
{
    return give_pod(g, v, 0, g->in->pod);
}

static const char *target_pod(struct guest *g, wasmtime_val_raw_t *v)
{
    return give_pod(g, v, 0, g->in->target);
}

static const char *current_node_name(struct guest *g, wasmtime_val_raw_t *v)
{
    return give(g, v, 0, g->in->node_name);
}

static const char *get_config(struct guest *g, wasmtime_val_raw_t *v)
{
    return give(g, v, 0, g->settings->config);
}

/* --- lists as JSON ---------------------------------------------------------------------------- */

static const char *give_json(struct guest *g, wasmtime_val_raw_t *v, size_t at, struct buf *json)
{
    const char *fault = guest_spend(g, json->n) ? give(g, v, at, buf_str(json)) : NULL;
    buf_release(json);
    return fault;
}

static struct str slot_name(const struct guest_input *in, size_t i)
{
    return str_of(in->columns->nodes[in->slots[i]]->name);
}

static const char *filtered_node_list(struct guest *g, wasmtime_val_raw_t *v)
{
    const struct guest_input *in = g->in;
    struct buf json = BUF_INIT;
    buf_add_char(&json, '[');
    for (size_t i = 0; in->slots && i < in->n; i++) {
        if (i)
            buf_add_char(&json, ',');
        json_write_str(&json, slot_name(in, i));
    }
    buf_add_char(&json, ']');
    return give_json(g, v, 0, &json);
}

static void add_number(struct buf *json, struct str key, int64_t value)
{
    if (json->n > 1)
        buf_add_char(json, ',');
    json_write_str(json, key);
    buf_add_printf(json, ":%" PRId64, value);
}

static const char *node_score_list(struct guest *g, wasmtime_val_raw_t *v)
{
    const struct guest_input *in = g->in;
    struct buf json = BUF_INIT;
    buf_add_char(&json, '{');
    for (size_t i = 0; in->scores && i < in->n; i++)
        add_number(&json, slot_name(in, i), in->scores[i]);
    buf_add_char(&json, '}');
    return give_json(g, v, 0, &json);
}

static const char *node_to_status_map(struct guest *g, wasmtime_val_raw_t *v)
{
    const struct guest_services *s = g->settings->services;
    struct berth_columns columns = {.struct_size = sizeof(columns)};
    struct buf json = BUF_INIT;
    buf_add_char(&json, '{');
    s->host->nodes(s->handle, &columns);
    for (size_t i = 0; g->in->cycle && i < columns.n; i++)
        if (columns.nodes[i] && columns.nodes[i]->object)
            add_number(&json, str_of(columns.nodes[i]->name),
                       s->host->node_verdict(g->in->cycle, columns.nodes[i]));
    buf_add_char(&json, '}');
    return give_json(g, v, 0, &json);
}

static const char *node_image_states(struct guest *g, wasmtime_val_raw_t *v)
{
    const char *fault = NULL;
    struct buf json = BUF_INIT;
    const struct berth_node *node = node_named(g, v, &fault);
    if (fault)
        return fault;
    if (!node)
        return give(g, v, 2, STR("null"));
    buf_add_char(&json, '{');
    for (size_t i = 0; i < node->images.n; i++) {
        const struct image_state *image = node->images.v[i];
        buf_add_cstr(&json, i ? "," : "");
        json_write_str(&json, str_of(image->name));
        buf_add_printf(&json, ":{\"Size\":%" PRId64 ",\"NumNodes\":%zu,\"Nodes\":null}",
                       image->size, image->n_nodes);
    }
    buf_add_char(&json, '}');
    return give_json(g, v, 2, &json);
}

/* --- results ---------------------------------------------------------------------------------- */

static const char *result_cluster_events(struct guest *g, wasmtime_val_raw_t *v)
{
    return keep(g, v, &g->out.events, "out of memory reading clusterEvents");
}

static const char *result_node_names(struct guest *g, wasmtime_val_raw_t *v)
{
    return keep(g, v, &g->out.node_names, "out of memory reading nodeNames");
}

static const char *result_nominated_node_name(struct guest *g, wasmtime_val_raw_t *v)
{
    return keep(g, v, &g->out.nominated, "out of memory reading nominatedNodeName");
}

static const char *result_normalized_score_list(struct guest *g, wasmtime_val_raw_t *v)
{
    return keep(g, v, &g->out.scores, "out of memory reading normalized score list");
}

static const char *result_status_reason(struct guest *g, wasmtime_val_raw_t *v)
{
    if (keep(g, v, &g->out.reason, "")) {
        buf_clear(&g->out.reason);
        buf_add_cstr(&g->out.reason, "BUG: out of memory reading message");
    }
    return NULL;
}

/* --- log -------------------------------------------------------------------------------------- */

enum { SEVERITY_INFO, SEVERITY_WARNING, SEVERITY_ERROR, SEVERITY_FATAL };

/* Keys and values beyond these are dropped. */
#define MAX_KVS 16

static const char *klog_severity(struct guest *g, wasmtime_val_raw_t *v)
{
    v[0].i32 = (int32_t)g->settings->log_severity;
    return NULL;
}

/* kvs: keys and values by turns, each ends with NUL. */
static void write_log(struct guest *g, int32_t severity, struct str message, struct str kvs)
{
    const struct guest_services *s = g->settings->services;
    struct berth_kv list[MAX_KVS];
    size_t n = 0;
    struct str key, value;
    if (severity < g->settings->log_severity)
        return;
    while (n < MAX_KVS && kvs.n && str_split(&kvs, 0, &key) && str_split(&kvs, 0, &value))
        list[n++] = (struct berth_kv){
            .key = abi_str(key), .kind = BERTH_VALUE_STRING, .str = abi_str(value)};
    s->host->log(s->handle, severity >= SEVERITY_ERROR ? BERTH_LOG_ERROR : 0,
                 abi_str(str_slice(message, 0, str_find(message, '\n'))), list, n);
}

/* A text that cannot be read is not logged, as upstream. */
static const char *klog_log(struct guest *g, wasmtime_val_raw_t *v)
{
    struct str message;
    if (take(g, &v[1], &message))
        write_log(g, v[0].i32, message, STR(""));
    return NULL;
}

static const char *klog_logs(struct guest *g, wasmtime_val_raw_t *v)
{
    struct str message, kvs;
    if (take(g, &v[1], &message) && take(g, &v[3], &kvs))
        write_log(g, v[0].i32, message, kvs);
    return NULL;
}

/* --- handle ----------------------------------------------------------------------------------- */

static struct guest_reference reference_of(const struct json_value *v)
{
    return (struct guest_reference){.kind = json_get_text(v, STR("Kind")),
                                    .api_version = json_get_text(v, STR("APIVersion")),
                                    .name = json_get_text(v, STR("Name")),
                                    .namespace = json_get_text(v, STR("Namespace")),
                                    .uid = json_get_text(v, STR("UID")),
                                    .resource_version = json_get_text(v, STR("ResourceVersion"))};
}

static const char *handle_eventf(struct guest *g, wasmtime_val_raw_t *v)
{
    struct arena a;
    struct json_value tree;
    struct str text;
    struct err err;
    if (!take(g, v, &text))
        return "out of memory reading eventrecorder event";
    arena_init(&a, 0);
    bool good = json_parse(text, 0, &a, &tree, &err) == 0 && tree.kind == JSON_OBJECT;
    if (good) {
        const struct guest_event event = {
            .regarding = reference_of(json_get(&tree, STR("RegardingReference"))),
            .related = reference_of(json_get(&tree, STR("RelatedReference"))),
            .type = json_get_text(&tree, STR("Eventtype")),
            .reason = json_get_text(&tree, STR("Reason")),
            .action = json_get_text(&tree, STR("Action")),
            .note = json_get_text(&tree, STR("Note"))};
        guest_services_event(g->settings->services, &event, g->in->pod);
    }
    arena_release(&a);
    return good ? NULL : "the event is not a JSON object";
}

static bool write_u64(struct guest *g, uint32_t at, uint64_t value)
{
    uint8_t *p = guest_memory(g, at, 8);
    for (int i = 0; p && i < 8; i++)
        p[i] = (uint8_t)(value >> (8 * i));
    return p != NULL;
}

static const char *handle_reject_waiting_pod(struct guest *g, wasmtime_val_raw_t *v)
{
    struct str uid;
    if (!take(g, v, &uid))
        return "out of memory reading rejectWaitingPod";
    (void)write_u64(g, u32(&v[2]), guest_services_reject(g->settings->services, uid));
    return NULL;
}

static const char *handle_get_waiting_pod(struct guest *g, wasmtime_val_raw_t *v)
{
    struct str uid;
    if (!take(g, v, &uid))
        return "out of memory reading getWaitingPod";
    const struct berth_pod *pod = guest_services_waiting(g->settings->services, uid);
    if (pod)
        return give_pod(g, v, 2, pod);
    (void)write_u64(g, u32(&v[2]), 0);
    return NULL;
}

const struct import_row kube_imports[] = {
    {API, "node", "iiii", "i", api_node},
    {API, "nodeList", "ii", "i", api_node_list},
    {KLOG, "log", "iii", "", klog_log},
    {KLOG, "logs", "iiiii", "", klog_logs},
    {KLOG, "severity", "", "i", klog_severity},
    {SCHEDULER, "get_config", "ii", "i", get_config},
    {SCHEDULER, "currentPod", "ii", "i", current_pod},
    {SCHEDULER, "targetPod", "ii", "i", target_pod},
    {SCHEDULER, "currentNodeName", "ii", "i", current_node_name},
    {SCHEDULER, "filteredNodeList", "ii", "i", filtered_node_list},
    {SCHEDULER, "nodeToStatusMap", "ii", "i", node_to_status_map},
    {SCHEDULER, "nodeScoreList", "ii", "i", node_score_list},
    {SCHEDULER, "nodeImageStates", "iiii", "i", node_image_states},
    {SCHEDULER, "result.cluster_events", "ii", "", result_cluster_events},
    {SCHEDULER, "result.node_names", "ii", "", result_node_names},
    {SCHEDULER, "result.nominated_node_name", "ii", "", result_nominated_node_name},
    {SCHEDULER, "result.status_reason", "ii", "", result_status_reason},
    {SCHEDULER, "result.normalized_score_list", "ii", "", result_normalized_score_list},
    {SCHEDULER, "handle.eventrecorder.eventf", "ii", "", handle_eventf},
    {SCHEDULER, "handle.reject_waiting_pod", "iiii", "", handle_reject_waiting_pod},
    {SCHEDULER, "handle.get_waiting_pod", "iiii", "", handle_get_waiting_pod},
    {NULL, NULL, NULL, NULL, NULL},
};
