/* SPDX-License-Identifier: Apache-2.0 */
#include "live/extender_json.h"

#include "codec/json.h"

/* --- requests --------------------------------------------------------------------------------- */

static void write_object(const struct object *o, struct buf *out)
{
    enum encoding encoding;
    struct str text = object_wire(o, &encoding);
    if (text.p && encoding == ENCODING_JSON)
        buf_add_str(out, text);
    else
        json_encode(object_kind(o)->type, object_body(o), out);
}

/* A v1.NodeList. */
static void write_nodes(const struct extender_call *call, struct buf *out)
{
    buf_add_cstr(out, "{\"metadata\":{},\"items\":[");
    for (size_t i = 0; i < call->n_nodes; i++) {
        if (i)
            buf_add_char(out, ',');
        write_object(call->nodes[i], out);
    }
    buf_add_cstr(out, "]}");
}

static void write_names(const struct extender_call *call, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < call->n_nodes; i++) {
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, call->node_names[i]);
    }
    buf_add_char(out, ']');
}

void extender_encode_pod(const struct extender_call *call, struct buf *out)
{
    buf_add_cstr(out, "{\"Pod\":");
    write_object(call->pod, out);
}

/* The rest of ExtenderArgs. */
void extender_encode_nodes(const struct extender_call *call, bool names_only, struct buf *out)
{
    buf_add_cstr(out, ",\"Nodes\":");
    if (names_only)
        buf_add_cstr(out, "null");
    else
        write_nodes(call, out);
    buf_add_cstr(out, ",\"NodeNames\":");
    if (names_only)
        write_names(call, out);
    else
        buf_add_cstr(out, "null");
    buf_add_char(out, '}');
}

/* ExtenderBindingArgs */
static void write_binding(const struct extender_call *call, struct buf *out)
{
    const struct object_meta *meta = object_meta(call->pod);
    buf_add_cstr(out, "{\"PodName\":");
    json_write_str(out, meta->name);
    buf_add_cstr(out, ",\"PodNamespace\":");
    json_write_str(out, meta->namespace);
    buf_add_cstr(out, ",\"PodUID\":");
    json_write_str(out, meta->uid);
    buf_add_cstr(out, ",\"Node\":");
    json_write_str(out, call->node_names[0]);
    buf_add_char(out, '}');
}

static void write_victim(const struct object *pod, bool names_only, struct buf *out)
{
    if (!names_only) {
        write_object(pod, out);
        return;
    }
    buf_add_cstr(out, "{\"UID\":");
    json_write_str(out, object_meta(pod)->uid);
    buf_add_char(out, '}');
}

static void write_victims(const struct extender_call *call, bool names_only, struct buf *out)
{
    buf_add_char(out, '{');
    for (size_t i = 0; i < call->n_victims; i++) {
        const struct extender_victims *v = &call->victims[i];
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, v->node_name);
        buf_add_cstr(out, ":{\"Pods\":[");
        for (size_t k = 0; k < v->n_pods; k++) {
            if (k)
                buf_add_char(out, ',');
            write_victim(v->pods[k], names_only, out);
        }
        buf_add_printf(out, "],\"NumPDBViolations\":%lld}", (long long)v->pdb_violations);
    }
    buf_add_char(out, '}');
}

/* ExtenderPreemptionArgs */
static void write_preemption(const struct extender_call *call, bool names_only, struct buf *out)
{
    extender_encode_pod(call, out);
    buf_add_cstr(out, ",\"NodeNameToVictims\":");
    if (names_only)
        buf_add_cstr(out, "null,\"NodeNameToMetaVictims\":");
    write_victims(call, names_only, out);
    buf_add_cstr(out, names_only ? "}" : ",\"NodeNameToMetaVictims\":null}");
}

void extender_encode(const struct extender_call *call, bool names_only, struct buf *out)
{
    switch (call->verb) {
    case EXTENDER_FILTER:
    case EXTENDER_PRIORITIZE:
        extender_encode_pod(call, out);
        extender_encode_nodes(call, names_only, out);
        break;
    case EXTENDER_BIND:
        write_binding(call, out);
        break;
    case EXTENDER_PREEMPT:
        write_preemption(call, names_only, out);
        break;
    }
}

/* --- responses -------------------------------------------------------------------------------- */

/* Of a returned node, only the name is read. */
struct named {
    struct str name;
};
static const struct field named_fields[] = {F_ONE(struct named, name, "name", 0, STR)};
static const struct type named_type = TYPE("ObjectMeta", struct named, named_fields);

struct kept_node {
    struct named metadata;
};
static const struct field kept_node_fields[] = {
    F_MSG(struct kept_node, metadata, "metadata", 0, struct named, &named_type),
};
static const struct type kept_node_type = TYPE("Node", struct kept_node, kept_node_fields);

struct kept_nodes {
    LIST(struct kept_node) items;
};
static const struct field kept_nodes_fields[] = {
    F_LIST_MSG(struct kept_nodes, items, "items", 0, struct kept_node, &kept_node_type),
};
static const struct type kept_nodes_type = TYPE("NodeList", struct kept_nodes, kept_nodes_fields);

struct filter_answer {
    struct kept_nodes *nodes;
    LIST(struct str) node_names;
    str_map failed, unresolvable;
    struct str error;
};
static const struct field filter_fields[] = {
    F_PTR_MSG(struct filter_answer, nodes, "Nodes", 0, struct kept_nodes, &kept_nodes_type),
    F_LIST(struct filter_answer, node_names, "NodeNames", 0, STR),
    F_STR_MAP(struct filter_answer, failed, "FailedNodes", 0),
    F_STR_MAP(struct filter_answer, unresolvable, "FailedAndUnresolvableNodes", 0),
    F_ONE(struct filter_answer, error, "Error", 0, STR),
};
static const struct type filter_type =
    TYPE("ExtenderFilterResult", struct filter_answer, filter_fields);

static const struct field host_score_fields[] = {
    F_ONE(struct extender_host_score, node_name, "Host", 0, STR),
    F_ONE(struct extender_host_score, score, "Score", 0, INT64),
};
static const struct type host_score_type =
    TYPE("HostPriority", struct extender_host_score, host_score_fields);

/* A HostPriorityList is an array; it is decoded as the items of an object. */
struct score_answer {
    LIST(struct extender_host_score) items;
};
static const struct field score_fields[] = {
    F_LIST_MSG(struct score_answer, items, "items", 0, struct extender_host_score,
               &host_score_type),
};
static const struct type score_type = TYPE("HostPriorityList", struct score_answer, score_fields);

struct bind_answer {
    struct str error;
};
static const struct field bind_fields[] = {F_ONE(struct bind_answer, error, "Error", 0, STR)};
static const struct type bind_type = TYPE("ExtenderBindingResult", struct bind_answer, bind_fields);

struct meta_pod {
    struct str uid;
};
static const struct field meta_pod_fields[] = {F_ONE(struct meta_pod, uid, "UID", 0, STR)};
static const struct type meta_pod_type = TYPE("MetaPod", struct meta_pod, meta_pod_fields);

struct meta_victims {
    LIST(struct meta_pod) pods;
    int64_t pdb_violations;
};
static const struct field meta_victims_fields[] = {
    F_LIST_MSG(struct meta_victims, pods, "Pods", 0, struct meta_pod, &meta_pod_type),
    F_ONE(struct meta_victims, pdb_violations, "NumPDBViolations", 0, INT64),
};
static const struct type meta_victims_type =
    TYPE("MetaVictims", struct meta_victims, meta_victims_fields);

struct victims_entry {
    struct str node_name;
    struct meta_victims victims;
};
static const struct field victims_entry_fields[] = {
    F_ONE(struct victims_entry, node_name, "key", 1, STR),
    F_MSG(struct victims_entry, victims, "value", 2, struct meta_victims, &meta_victims_type),
};
static const struct type victims_entry_type = TYPE("", struct victims_entry, victims_entry_fields);

struct preempt_answer {
    LIST(struct victims_entry) victims;
};
static const struct field preempt_fields[] = {
    F_MAP(struct preempt_answer, victims, "NodeNameToMetaVictims", 0, struct victims_entry,
          &victims_entry_type),
};
static const struct type preempt_type =
    TYPE("ExtenderPreemptionResult", struct preempt_answer, preempt_fields);

static const struct extender_refusal *refusals(const str_map *map, struct arena *a)
{
    struct extender_refusal *list = arena_array(a, struct extender_refusal, map->n);
    for (size_t i = 0; i < map->n; i++)
        list[i] = (struct extender_refusal){map->v[i].key, map->v[i].value};
    return list;
}

/* As upstream: NodeNames counts for a nodeCacheCapable extender if it is set, otherwise Nodes. */
static void take_kept(const struct filter_answer *f, bool names_only, struct arena *a,
                      struct extender_result *ret)
{
    if (names_only && f->node_names.v) {
        ret->kept = f->node_names.v;
        ret->n_kept = f->node_names.n;
        return;
    }
    size_t n = f->nodes ? f->nodes->items.n : 0;
    struct str *names = arena_array(a, struct str, n);
    for (size_t i = 0; i < n; i++)
        names[i] = f->nodes->items.v[i].metadata.name;
    ret->kept = names;
    ret->n_kept = n;
    ret->kept_objects = f->nodes != NULL;
}

static int decode_filter(bool names_only, struct str text, struct arena *a,
                         struct extender_result *ret, struct err *reterr)
{
    struct filter_answer f;
    int r = json_decode(text, &filter_type, JSON_FOLD_CASE, a, &f, reterr);
    if (r < 0)
        return r;
    *ret = (struct extender_result){.error = f.error,
                                    .failed = refusals(&f.failed, a),
                                    .n_failed = f.failed.n,
                                    .unresolvable = refusals(&f.unresolvable, a),
                                    .n_unresolvable = f.unresolvable.n};
    take_kept(&f, names_only, a, ret);
    return 0;
}

static int decode_scores(struct str text, struct arena *a, struct extender_result *ret,
                         struct err *reterr)
{
    struct score_answer s;
    struct str object = arena_printf(a, "{\"items\":%.*s}", STR_ARG(text));
    int r = json_decode(object, &score_type, JSON_FOLD_CASE, a, &s, reterr);
    if (r < 0)
        return r;
    *ret = (struct extender_result){.scores = s.items.v, .n_scores = s.items.n};
    return 0;
}

static int decode_bind(struct str text, struct arena *a, struct extender_result *ret,
                       struct err *reterr)
{
    struct bind_answer b;
    int r = json_decode(text, &bind_type, JSON_FOLD_CASE, a, &b, reterr);
    if (r == 0)
        *ret = (struct extender_result){.error = b.error};
    return r;
}

static int decode_preempt(struct str text, struct arena *a, struct extender_result *ret,
                          struct err *reterr)
{
    struct preempt_answer p;
    int r = json_decode(text, &preempt_type, JSON_FOLD_CASE, a, &p, reterr);
    if (r < 0)
        return r;
    struct extender_meta_victims *list = arena_array(a, struct extender_meta_victims, p.victims.n);
    for (size_t i = 0; i < p.victims.n; i++) {
        const struct meta_victims *v = &p.victims.v[i].victims;
        struct str *uids = arena_array(a, struct str, v->pods.n);
        for (size_t k = 0; k < v->pods.n; k++)
            uids[k] = v->pods.v[k].uid;
        list[i] = (struct extender_meta_victims){.node_name = p.victims.v[i].node_name,
                                                 .uids = uids,
                                                 .n_uids = v->pods.n,
                                                 .pdb_violations = v->pdb_violations};
    }
    *ret = (struct extender_result){.victims = list, .n_victims = p.victims.n};
    return 0;
}

static int decode(enum extender_verb verb, bool names_only, struct str text, struct arena *a,
                  struct extender_result *ret, struct err *reterr)
{
    switch (verb) {
    case EXTENDER_FILTER:
        return decode_filter(names_only, text, a, ret, reterr);
    case EXTENDER_PRIORITIZE:
        return decode_scores(text, a, ret, reterr);
    case EXTENDER_BIND:
        return decode_bind(text, a, ret, reterr);
    case EXTENDER_PREEMPT:
        return decode_preempt(text, a, ret, reterr);
    }
    return err_set(reterr, -EINVAL, "unknown verb");
}

int extender_decode(enum extender_verb verb, bool names_only, struct str text, struct arena *a,
                    struct extender_result *ret_result, struct err *reterr)
{
    struct json_scan scan = {0};
    text = str_trim(text);
    if (str_empty(text))
        return err_set(reterr, -EBADMSG, "empty response");
    /* Go decodes null as the empty value. */
    if (str_is(text, "null")) {
        *ret_result = (struct extender_result){0};
        return 0;
    }
    if (decode(verb, names_only, text, a, ret_result, reterr) == 0)
        return 0;
    /* Search the end of the value only on failure: there may be text behind it. */
    ssize_t n = json_scan_value(&scan, text);
    if (n <= 0 || (size_t)n == text.n)
        return -EBADMSG;
    return decode(verb, names_only, str_slice(text, 0, (size_t)n), a, ret_result, reterr);
}
