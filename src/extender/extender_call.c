/* SPDX-License-Identifier: Apache-2.0 */
#include "extender/extender_call.h"

#include "codec/json.h"

const char *const extender_verb_names[EXTENDER_CALL_VERBS] = {"filter", "prioritize", "preempt",
                                                              "bind"};

/* Only these fields are decoded; the decoder checks the rest of the object. */
static const struct field meta_fields[] = {
    F_ONE(struct extender_meta, name, "name", 0, STR),
    F_ONE(struct extender_meta, namespace, "namespace", 0, STR),
    F_ONE(struct extender_meta, uid, "uid", 0, STR),
};
static const struct type meta_type = TYPE("ObjectMeta", struct extender_meta, meta_fields);

struct named {
    struct extender_meta metadata;
};
static const struct field named_fields[] = {
    F_MSG(struct named, metadata, "metadata", 0, struct extender_meta, &meta_type),
};
static const struct type named_type = TYPE("Object", struct named, named_fields);

struct uid_only {
    struct str uid;
};
static const struct field uid_fields[] = {F_ONE(struct uid_only, uid, "UID", 0, STR)};
static const struct type uid_type = TYPE("MetaPod", struct uid_only, uid_fields);

struct names {
    LIST(struct str) items;
};
static const struct field names_fields[] = {F_LIST(struct names, items, "items", 0, STR)};
static const struct type names_type = TYPE("NodeNames", struct names, names_fields);

struct binding_args {
    struct str pod_name, pod_namespace, pod_uid, node;
};
static const struct field binding_fields[] = {
    F_ONE(struct binding_args, pod_name, "PodName", 0, STR),
    F_ONE(struct binding_args, pod_namespace, "PodNamespace", 0, STR),
    F_ONE(struct binding_args, pod_uid, "PodUID", 0, STR),
    F_ONE(struct binding_args, node, "Node", 0, STR),
};
static const struct type binding_type =
    TYPE("ExtenderBindingArgs", struct binding_args, binding_fields);

struct violations {
    int64_t n;
};
static const struct field violations_fields[] = {F_ONE(struct violations, n, "n", 0, INT64)};
static const struct type violations_type = TYPE("int64", struct violations, violations_fields);

struct nothing {
    bool unused;
};
static const struct field nothing_fields[] = {F_ONE(struct nothing, unused, "", 0, BOOL)};
static const struct type nothing_type = TYPE("List", struct nothing, nothing_fields);

/* The members of a request, as text. */
struct parts {
    struct str pod, nodes, node_names, victims, meta_victims;
};

static bool is_null(struct str text)
{
    return str_empty(text) || str_is(text, "null");
}

static bool take_part(void *ctx, struct str name, struct str value)
{
    struct parts *p = ctx;
    const struct {
        const char *name;
        struct str *to;
    } rows[] = {{"Pod", &p->pod},
                {"Nodes", &p->nodes},
                {"NodeNames", &p->node_names},
                {"NodeNameToVictims", &p->victims},
                {"NodeNameToMetaVictims", &p->meta_victims}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (str_eq_fold(name, str_of(rows[i].name)))
            *rows[i].to = is_null(value) ? (struct str){0} : value;
    return true;
}

/* "WHERE: line 1, column 7: expected a string" */
static int in_part(const char *where, const struct err *inner, struct err *reterr)
{
    return err_set(reterr, -EBADMSG, "%s: %s", where, inner->msg);
}

static int read_object(struct arena *a, struct str json, const char *where,
                       struct berth_extender_object *ret_object, struct err *reterr)
{
    struct named named;
    struct err inner;
    if (json_decode(json, &named_type, 0, a, &named, &inner) < 0)
        return in_part(where, &inner, reterr);
    *ret_object = (struct berth_extender_object){json, named.metadata, NULL, a};
    return 0;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* Nodes or victims that are being read, one by one. */
struct gathering {
    struct berth_extender_call *call;
    struct {
        struct extender_node *v;
        size_t n, cap;
    } nodes;
    struct {
        struct extender_victim *v;
        size_t n, cap;
    } victims;
    struct err err;
    int code;
};

static void *grow(struct arena *a, const void *v, size_t n, size_t *cap, size_t size, size_t align)
{
    size_t wanted = *cap ? 2 * *cap : 16;
    void *larger = arena_alloc_array(a, wanted, size, align);
    if (n)
        memcpy(larger, v, n * size);
    *cap = wanted;
    return larger;
}

static struct extender_node *next_node(struct gathering *g)
{
    if (g->nodes.n == g->nodes.cap)
        g->nodes.v = grow(&g->call->arena, g->nodes.v, g->nodes.n, &g->nodes.cap,
                          sizeof(*g->nodes.v), _Alignof(struct extender_node));
    return &g->nodes.v[g->nodes.n++];
}

static struct extender_victim *next_victim(struct gathering *g)
{
    if (g->victims.n == g->victims.cap)
        g->victims.v = grow(&g->call->arena, g->victims.v, g->victims.n, &g->victims.cap,
                            sizeof(*g->victims.v), _Alignof(struct extender_victim));
    return &g->victims.v[g->victims.n++];
}

static int take_node(void *ctx, struct str json)
{
    struct gathering *g = ctx;
    struct berth_extender_object *object = arena_new(&g->call->arena, struct berth_extender_object);
    char where[48];
    snprintf(where, sizeof(where), "Nodes.items[%zu]", g->nodes.n);
    int r = read_object(&g->call->arena, json, where, object, &g->err);
    if (r < 0)
        return r;
    if (str_empty(object->meta.name))
        return err_set(&g->err, -EBADMSG, "%s: metadata.name is required", where);
    *next_node(g) = (struct extender_node){.name = object->meta.name, .object = object};
    return 0;
}

static int read_nodes(struct berth_extender_call *call, struct str json, struct err *reterr)
{
    struct gathering g = {.call = call};
    struct nothing list;
    int r = json_decode_list(json, &nothing_type, &call->arena, &list, take_node, &g, reterr);
    if (r < 0 && g.err.msg[0])
        *reterr = g.err;
    call->nodes = g.nodes.v;
    call->n_nodes = g.nodes.n;
    call->whole_nodes = true;
    return r;
}

static int read_names(struct berth_extender_call *call, struct str json, struct err *reterr)
{
    struct names names;
    struct err inner;
    /* An array is decoded as the items of an object. */
    struct buf object = BUF_INIT;
    buf_add_cstr(&object, "{\"items\":");
    buf_add_str(&object, json);
    buf_add_char(&object, '}');
    int r = json_decode(buf_str(&object), &names_type, 0, &call->arena, &names, &inner);
    buf_release(&object);
    if (r < 0)
        return in_part("NodeNames", &inner, reterr);
    call->nodes = arena_array(&call->arena, struct extender_node, names.items.n);
    call->n_nodes = names.items.n;
    for (size_t i = 0; i < names.items.n; i++)
        call->nodes[i].name = names.items.v[i];
    call->node_names = true;
    return 0;
}

/* --- victims ---------------------------------------------------------------------------------- */

static int take_victim(void *ctx, struct str json)
{
    struct gathering *g = ctx;
    struct arena *a = &g->call->arena;
    struct extender_victim victim = {0};
    if (g->call->meta_victims) {
        struct uid_only pod;
        struct err inner;
        if (json_decode(json, &uid_type, JSON_FOLD_CASE, a, &pod, &inner) < 0)
            return in_part("Pods", &inner, &g->err);
        victim.uid = pod.uid;
    } else {
        victim.pod = arena_new(a, struct berth_extender_object);
        int r = read_object(a, json, "Pods", victim.pod, &g->err);
        if (r < 0)
            return r;
        victim.uid = victim.pod->meta.uid;
    }
    if (str_empty(victim.uid))
        return err_set(&g->err, -EBADMSG, "Pods: a pod without UID");
    *next_victim(g) = victim;
    return 0;
}

static int read_pods(struct gathering *g, struct str json)
{
    struct nothing list;
    struct err inner;
    struct arena *a = &g->call->arena;
    g->victims.n = g->victims.cap = 0;
    g->victims.v = NULL;
    if (is_null(json))
        return 0;
    /* The text of the pods must stay in place. */
    struct str text = arena_printf(a, "{\"items\":%.*s}", STR_ARG(json));
    int r = json_decode_list(text, &nothing_type, a, &list, take_victim, g, &inner);
    if (r < 0 && !g->err.msg[0])
        return in_part("Pods", &inner, &g->err);
    return r;
}

static int read_violations(struct gathering *g, struct str json, int64_t *ret_violations)
{
    struct violations v;
    struct err inner;
    struct str text = arena_printf(&g->call->arena, "{\"n\":%.*s}", STR_ARG(json));
    if (json_decode(text, &violations_type, 0, &g->call->arena, &v, &inner) < 0)
        return in_part("NumPDBViolations", &inner, &g->err);
    *ret_violations = v.n;
    return 0;
}

struct victims_parts {
    struct str pods, violations;
};

static bool take_victims_part(void *ctx, struct str name, struct str value)
{
    struct victims_parts *p = ctx;
    if (str_eq_fold(name, STR("Pods")))
        p->pods = value;
    else if (str_eq_fold(name, STR("NumPDBViolations")))
        p->violations = value;
    return true;
}

/* A name with escapes does not belong to a node: names of nodes are DNS names. */
static bool take_victims(void *ctx, struct str name, struct str value)
{
    struct gathering *g = ctx;
    struct victims_parts parts = {0};
    struct extender_node *node = next_node(g);
    *node = (struct extender_node){.name = arena_dup(&g->call->arena, name)};
    g->code = str_empty(name) ? err_set(&g->err, -EBADMSG, "a node without name") : 0;
    if (g->code == 0 && !is_null(value))
        g->code = json_each_member(value, take_victims_part, &parts, &g->err);
    if (g->code == 0)
        g->code = read_pods(g, parts.pods);
    if (g->code == 0 && !is_null(parts.violations))
        g->code = read_violations(g, parts.violations, &node->pdb_violations);
    node->victims.v = g->victims.v;
    node->victims.n = g->victims.n;
    return g->code == 0;
}

static int read_victims(struct berth_extender_call *call, const struct parts *p, struct err *reterr)
{
    call->meta_victims = is_null(p->victims);
    struct str json = call->meta_victims ? p->meta_victims : p->victims;
    struct gathering g = {.call = call};
    struct err inner;
    if (is_null(json))
        return err_set(reterr, -EBADMSG, "NodeNameToVictims or NodeNameToMetaVictims is required");
    int r = json_each_member(json, take_victims, &g, &inner);
    call->nodes = g.nodes.v;
    call->n_nodes = g.nodes.n;
    if (r == 0 && g.code == 0)
        return 0;
    return in_part(call->meta_victims ? "NodeNameToMetaVictims" : "NodeNameToVictims",
                   g.code ? &g.err : &inner, reterr);
}

/* --- a whole request -------------------------------------------------------------------------- */

static struct berth_str lent(struct str s)
{
    return (struct berth_str){s.p, s.n};
}

static int read_binding(struct berth_extender_call *call, struct str text, struct err *reterr)
{
    struct binding_args args;
    int r = json_decode(text, &binding_type, JSON_FOLD_CASE, &call->arena, &args, reterr);
    if (r < 0)
        return r;
    if (str_empty(args.pod_name) || str_empty(args.node))
        return err_set(reterr, -EBADMSG, "PodName and Node are required");
    call->binding = (struct berth_extender_binding){lent(args.pod_namespace), lent(args.pod_name),
                                                    lent(args.pod_uid), lent(args.node)};
    return 0;
}

int extender_call_read(struct berth_extender_call *call, enum extender_call_verb verb,
                       struct str text, struct err *reterr)
{
    struct parts parts = {0};
    *call = (struct berth_extender_call){.verb = verb};
    arena_init(&call->arena, 0);
    if (verb == EXTENDER_CALL_BIND)
        return read_binding(call, text, reterr);
    int r = json_each_member(text, take_part, &parts, reterr);
    if (r < 0)
        return r;
    if (is_null(parts.pod))
        return err_set(reterr, -EBADMSG, "Pod is required");
    call->pod = arena_new(&call->arena, struct berth_extender_object);
    r = read_object(&call->arena, parts.pod, "Pod", call->pod, reterr);
    if (r < 0)
        return r;
    if (verb == EXTENDER_CALL_PREEMPT)
        return read_victims(call, &parts, reterr);
    if (!is_null(parts.nodes))
        return read_nodes(call, parts.nodes, reterr);
    return is_null(parts.node_names) ? 0 : read_names(call, parts.node_names, reterr);
}

void extender_call_release(struct berth_extender_call *call)
{
    arena_release(&call->arena);
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns the separator of the next element. */
static const char *write_kept_node(const struct berth_extender_call *call,
                                   const struct extender_node *node, const char *separator,
                                   struct buf *out)
{
    if (node->code != BERTH_SUCCESS)
        return separator;
    buf_add_cstr(out, separator);
    if (call->whole_nodes)
        buf_add_str(out, node->object->json);
    else
        json_write_str(out, node->name);
    return ",";
}

static void write_failed(const struct berth_extender_call *call, enum berth_code code,
                         struct buf *out)
{
    const char *separator = "";
    for (size_t i = 0; i < call->n_nodes; i++) {
        if (call->nodes[i].code != code)
            continue;
        buf_add_cstr(out, separator);
        json_write_str(out, call->nodes[i].name);
        buf_add_char(out, ':');
        json_write_str(out, call->nodes[i].reason);
        separator = ",";
    }
}

/* ExtenderFilterResult. kube-scheduler schedules on with the nodes of the answer, so it is sent
 * them as they came. */
static void write_filter(const struct berth_extender_call *call, struct buf *out)
{
    const char *separator = "";
    buf_add_cstr(out, "{\"Nodes\":");
    buf_add_cstr(out, call->whole_nodes  ? "{\"metadata\":{},\"items\":["
                      : call->node_names ? "null,\"NodeNames\":["
                                         : "null,\"NodeNames\":null");
    for (size_t i = 0; i < call->n_nodes; i++)
        separator = write_kept_node(call, &call->nodes[i], separator, out);
    buf_add_cstr(out, call->whole_nodes ? "]},\"NodeNames\":null" : call->node_names ? "]" : "");
    buf_add_cstr(out, ",\"FailedNodes\":{");
    write_failed(call, BERTH_UNSCHEDULABLE, out);
    buf_add_cstr(out, "},\"FailedAndUnresolvableNodes\":{");
    write_failed(call, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, out);
    buf_add_cstr(out, "},\"Error\":\"\"}");
}

static void add_int(struct buf *out, int64_t value)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        buf_add_char(out, '-');
    buf_add(out, &digits[at], sizeof(digits) - at);
}

/* HostPriorityList */
static void write_scores(const struct berth_extender_call *call, struct buf *out)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < call->n_nodes; i++) {
        buf_add_cstr(out, i ? ",{\"Host\":" : "{\"Host\":");
        json_write_str(out, call->nodes[i].name);
        buf_add_cstr(out, ",\"Score\":");
        add_int(out, call->nodes[i].score);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

/* ExtenderPreemptionResult */
static void write_victims(const struct berth_extender_call *call, struct buf *out)
{
    const char *separator = "";
    buf_add_cstr(out, "{\"NodeNameToMetaVictims\":{");
    for (size_t i = 0; i < call->n_nodes; i++) {
        const struct extender_node *node = &call->nodes[i];
        const char *comma = "";
        if (node->code != BERTH_SUCCESS)
            continue;
        buf_add_cstr(out, separator);
        json_write_str(out, node->name);
        buf_add_cstr(out, ":{\"Pods\":[");
        for (size_t k = 0; k < node->victims.n; k++) {
            if (node->victims.v[k].spared)
                continue;
            buf_add_cstr(out, comma);
            buf_add_cstr(out, "{\"UID\":");
            json_write_str(out, node->victims.v[k].uid);
            buf_add_char(out, '}');
            comma = ",";
        }
        buf_add_cstr(out, "],\"NumPDBViolations\":");
        add_int(out, node->pdb_violations);
        buf_add_char(out, '}');
        separator = ",";
    }
    buf_add_cstr(out, "}}");
}

void extender_write_error(struct str message, struct buf *out)
{
    buf_add_cstr(out, "{\"Error\":");
    json_write_str(out, message);
    buf_add_char(out, '}');
}

int extender_call_write(const struct berth_extender_call *call, struct buf *out)
{
    bool has_error = call->verb == EXTENDER_CALL_FILTER || call->verb == EXTENDER_CALL_BIND;
    if (!str_empty(call->error)) {
        extender_write_error(call->error, out);
        return has_error ? 200 : 500;
    }
    switch (call->verb) {
    case EXTENDER_CALL_FILTER:
        write_filter(call, out);
        break;
    case EXTENDER_CALL_PRIORITIZE:
        write_scores(call, out);
        break;
    case EXTENDER_CALL_PREEMPT:
        write_victims(call, out);
        break;
    case EXTENDER_CALL_BIND:
    case EXTENDER_CALL_VERBS:
        extender_write_error(call->error, out);
        break;
    }
    return 200;
}
