/* SPDX-License-Identifier: Apache-2.0 */
#include "objects.h"

#include <stdarg.h>
#include <stdlib.h>

#include "codec/json.h"

#define DELETED_AT "2026-01-01T00:00:00Z"

/* --- texts ------------------------------------------------------------------------------------ */

/* Keeps the text until 1000 more texts were made. */
static const char *keep(char *text)
{
    static char *kept[1000];
    static size_t next;
    char **slot = &kept[next++ % ARRAY_LEN(kept)];
    free(*slot);
    return *slot = text;
}

static void add_quotes(struct buf *out, const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\'')
            buf_add_char(out, '"');
        else if (*c == '`')
            buf_add_cstr(out, "\\\"");
        else if (*c == '\\' && (c[1] == '\'' || c[1] == '`'))
            buf_add_char(out, *++c);
        else if (*c == '\\' && c[1] == '\\')
            buf_add(out, c++, 2);
        else
            buf_add_char(out, *c);
    }
}

const char *textf(const char *fmt, ...)
{
    struct buf text = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    buf_add_vprintf(&text, fmt, ap);
    va_end(ap);
    return keep(buf_take(&text));
}

const char *json_quotes(const char *text)
{
    struct buf out = BUF_INIT;
    add_quotes(&out, text);
    return keep(buf_take(&out));
}

const char *single_quotes(const char *json)
{
    char *copy = str_dup(str_of(json));
    for (char *c = copy; *c; c++)
        if (*c == '"')
            *c = '\'';
    return keep(copy);
}

struct str json_quotes_str(const char *text)
{
    return str_of(json_quotes(text));
}

static void add_vjsonf(struct buf *out, const char *fmt, va_list ap)
{
    struct buf text = BUF_INIT;
    buf_add_vprintf(&text, fmt, ap);
    add_quotes(out, buf_cstr(&text));
    buf_release(&text);
}

const char *jsonf(const char *fmt, ...)
{
    struct buf out = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    add_vjsonf(&out, fmt, ap);
    va_end(ap);
    return keep(buf_take(&out));
}

struct str arena_jsonf(struct arena *a, const char *fmt, ...)
{
    struct buf out = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    add_vjsonf(&out, fmt, ap);
    va_end(ap);
    struct str copy = arena_dup(a, buf_str(&out));
    buf_release(&out);
    return copy;
}

void buf_add_jsonf(struct buf *out, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    add_vjsonf(out, fmt, ap);
    va_end(ap);
}

static struct object *decode(enum kind_id kind, unsigned flags, const char *json)
{
    struct wire wire = {.kind = kind_get(kind), .encoding = ENCODING_JSON, .flags = flags};
    struct object *o = NULL;
    struct err err = {0};
    if (object_decode(&wire, str_of(json), &o, &err) < 0) {
        fprintf(stderr, "%s in %s\n", err.msg, json);
        abort();
    }
    return o;
}

struct object *object_json(enum kind_id kind, const char *json)
{
    return decode(kind, 0, json);
}

struct object *object_kept(enum kind_id kind, unsigned flags, const char *text)
{
    return decode(kind, flags, json_quotes(text));
}

struct object *object_jsonf(enum kind_id kind, const char *fmt, ...)
{
    struct buf json = BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    add_vjsonf(&json, fmt, ap);
    va_end(ap);
    struct object *o = object_json(kind, buf_cstr(&json));
    buf_release(&json);
    return o;
}

/* --- members ---------------------------------------------------------------------------------- */

/* A comma, unless a list or an object has just been opened. */
static void separate(struct buf *out)
{
    if (out->n && out->p[out->n - 1] != '{' && out->p[out->n - 1] != '[')
        buf_add_char(out, ',');
}

static void add_key(struct buf *out, const char *key)
{
    separate(out);
    json_write_str(out, str_of(key));
    buf_add_char(out, ':');
}

static void open_member(struct buf *out, const char *key, char bracket)
{
    add_key(out, key);
    buf_add_char(out, bracket);
}

static void add_text(struct buf *out, const char *key, const char *value)
{
    if (!value)
        return;
    add_key(out, key);
    json_write_str(out, str_of(value));
}

/* 0 is left out. */
static void add_int(struct buf *out, const char *key, int value)
{
    if (!value)
        return;
    add_key(out, key);
    buf_add_printf(out, "%d", value);
}

static void add_true(struct buf *out, const char *key, bool value)
{
    if (!value)
        return;
    add_key(out, key);
    buf_add_cstr(out, "true");
}

/* Members or items in single quotes. */
static void add_raw(struct buf *out, const char *json)
{
    if (!json || !*json)
        return;
    separate(out);
    add_quotes(out, json);
}

/* "a=b,c=d", or JSON members. */
static void add_pairs(struct buf *out, const char *pairs)
{
    if (!pairs)
        return;
    if (strchr(pairs, '\'')) {
        add_raw(out, pairs);
        return;
    }
    struct str rest = str_of(pairs);
    while (rest.n) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct str pair = {rest.p, comma ? (size_t)(comma - rest.p) : rest.n};
        const char *equals = memchr(pair.p, '=', pair.n);
        if (!equals) {
            fprintf(stderr, "\"%s\" is not key=value,key=value\n", pairs);
            abort();
        }
        size_t key = (size_t)(equals - pair.p);
        separate(out);
        json_write_str(out, (struct str){pair.p, key});
        buf_add_char(out, ':');
        json_write_str(out, (struct str){equals + 1, pair.n - key - 1});
        rest = (struct str){pair.p + pair.n, rest.n - pair.n};
        if (comma)
            rest = (struct str){rest.p + 1, rest.n - 1};
    }
}

static void add_map(struct buf *out, const char *key, const char *pairs)
{
    if (!pairs)
        return;
    open_member(out, key, '{');
    add_pairs(out, pairs);
    buf_add_char(out, '}');
}

static void add_selector(struct buf *out, const char *key, const char *pairs)
{
    if (!pairs)
        return;
    open_member(out, key, '{');
    if (*pairs)
        add_map(out, "matchLabels", pairs);
    buf_add_char(out, '}');
}

struct meta_args {
    const char *name, *namespace, *uid, *version, *labels, *more;
    int generation;
    bool deleting;
};

/* Also opens the object. */
static void add_meta(struct buf *out, const struct meta_args *m)
{
    buf_add_cstr(out, "{\"metadata\":{");
    add_text(out, "name", m->name);
    add_text(out, "namespace", m->namespace);
    add_text(out, "uid", m->uid);
    add_text(out, "resourceVersion", m->version);
    add_map(out, "labels", m->labels);
    add_int(out, "generation", m->generation);
    if (m->deleting)
        add_text(out, "deletionTimestamp", DELETED_AT);
    add_raw(out, m->more);
    buf_add_char(out, '}');
}

static struct object *finish(enum kind_id kind, struct buf *text)
{
    struct object *o = object_json(kind, buf_cstr(text));
    buf_release(text);
    return o;
}

/* --- pods ------------------------------------------------------------------------------------- */

static void add_gates(struct buf *out, const char *gates)
{
    if (!gates)
        return;
    open_member(out, "schedulingGates", '[');
    while (*gates) {
        size_t n = strcspn(gates, ",");
        separate(out);
        buf_add_cstr(out, "{\"name\":");
        json_write_str(out, (struct str){gates, n});
        buf_add_char(out, '}');
        gates += n + (gates[n] == ',');
    }
    buf_add_char(out, ']');
}

static void add_tolerations(struct buf *out, const struct toleration_args *t)
{
    if (!t)
        return;
    open_member(out, "tolerations", '[');
    for (; t->key || t->op || t->effect || t->value; t++) {
        separate(out);
        buf_add_char(out, '{');
        add_text(out, "key", t->key);
        add_text(out, "operator", t->op);
        add_text(out, "value", t->value);
        add_text(out, "effect", t->effect);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void add_spread(struct buf *out, const struct spread_args *s)
{
    if (!s)
        return;
    open_member(out, "topologySpreadConstraints", '[');
    for (; s->key; s++) {
        separate(out);
        buf_add_char(out, '{');
        add_int(out, "maxSkew", s->max_skew ? s->max_skew : 1);
        add_text(out, "topologyKey", s->key);
        add_text(out, "whenUnsatisfiable", s->when ? s->when : "DoNotSchedule");
        add_selector(out, "labelSelector", s->labels);
        add_raw(out, s->more);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

#define REQUIRED  "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"

static void add_term(struct buf *out, const struct term_args *t)
{
    buf_add_char(out, '{');
    add_text(out, "topologyKey", t->key);
    add_selector(out, "labelSelector", t->labels);
    add_raw(out, t->more);
    buf_add_char(out, '}');
}

static void add_pod_affinity(struct buf *out, const char *key, const struct term_args *required,
                             const struct term_args *preferred)
{
    if (!required && !preferred)
        return;
    open_member(out, key, '{');
    if (required) {
        open_member(out, REQUIRED, '[');
        for (; required->key; required++) {
            separate(out);
            add_term(out, required);
        }
        buf_add_char(out, ']');
    }
    if (preferred) {
        open_member(out, PREFERRED, '[');
        for (; preferred->key; preferred++) {
            separate(out);
            buf_add_printf(out, "{\"weight\":%d,\"podAffinityTerm\":", preferred->weight);
            add_term(out, preferred);
            buf_add_char(out, '}');
        }
        buf_add_char(out, ']');
    }
    buf_add_char(out, '}');
}

static void add_node_affinity(struct buf *out, const struct pod_args *p)
{
    if (!p->node_terms && !p->preferred_node_terms)
        return;
    open_member(out, "nodeAffinity", '{');
    if (p->node_terms) {
        open_member(out, REQUIRED, '{');
        open_member(out, "nodeSelectorTerms", '[');
        add_raw(out, p->node_terms);
        buf_add_cstr(out, "]}");
    }
    if (p->preferred_node_terms) {
        open_member(out, PREFERRED, '[');
        add_raw(out, p->preferred_node_terms);
        buf_add_char(out, ']');
    }
    buf_add_char(out, '}');
}

static void add_affinity(struct buf *out, const struct pod_args *p)
{
    size_t before = out->n;
    open_member(out, "affinity", '{');
    size_t empty = out->n;
    add_node_affinity(out, p);
    add_pod_affinity(out, "podAffinity", p->affinity, p->preferred_affinity);
    add_pod_affinity(out, "podAntiAffinity", p->anti_affinity, p->preferred_anti_affinity);
    if (out->n == empty)
        out->n = before;
    else
        buf_add_char(out, '}');
}

static void add_container(struct buf *out, const struct pod_args *p)
{
    buf_add_cstr(out, "{\"name\":\"c\"");
    add_text(out, "image", p->image);
    if (p->ports) {
        open_member(out, "ports", '[');
        for (const struct port_args *port = p->ports; port->host_port; port++) {
            separate(out);
            buf_add_printf(out, "{\"hostPort\":%d", port->host_port);
            add_text(out, "protocol", port->protocol);
            add_text(out, "hostIP", port->ip);
            buf_add_char(out, '}');
        }
        buf_add_char(out, ']');
    }
    open_member(out, "resources", '{');
    open_member(out, "requests", '{');
    add_text(out, "cpu", p->cpu);
    add_text(out, "memory", p->memory);
    add_pairs(out, p->requests);
    buf_add_cstr(out, "}}}");
}

static void add_containers(struct buf *out, const struct pod_args *p)
{
    bool one = p->cpu || p->memory || p->requests || p->ports || p->image;
    if (!one && !p->containers)
        return;
    open_member(out, "containers", '[');
    if (p->containers)
        add_raw(out, p->containers);
    else
        add_container(out, p);
    buf_add_char(out, ']');
}

static void add_pod_status(struct buf *out, const struct pod_args *p)
{
    open_member(out, "status", '{');
    add_text(out, "nominatedNodeName", p->nominated);
    add_text(out, "phase", p->phase);
    add_text(out, "startTime", p->started);
    if (p->preempted)
        add_raw(out, "'conditions':[{'type':'DisruptionTarget','status':'True',"
                     "'reason':'PreemptionByScheduler'}]");
    add_raw(out, p->status);
    buf_add_char(out, '}');
}

struct object *object_from_pod_args(const struct pod_args *p)
{
    struct buf out = BUF_INIT;
    const char *name = p->name ? p->name : "p";
    add_meta(&out, &(struct meta_args){.name = name,
                                       .namespace = p->namespace ? p->namespace : "default",
                                       .uid = p->uid ? p->uid : name,
                                       .version = p->version,
                                       .labels = p->labels,
                                       .more = p->meta,
                                       .deleting = p->deleting});
    open_member(&out, "spec", '{');
    add_text(&out, "schedulerName", p->scheduler ? p->scheduler : "default-scheduler");
    add_text(&out, "nodeName", p->node);
    add_int(&out, "priority", p->priority);
    add_text(&out, "preemptionPolicy", p->preemption_policy);
    if (p->group) {
        open_member(&out, "schedulingGroup", '{');
        add_text(&out, "podGroupName", p->group);
        buf_add_char(&out, '}');
    }
    add_gates(&out, p->gates);
    add_map(&out, "nodeSelector", p->node_selector);
    add_tolerations(&out, p->tolerations);
    add_spread(&out, p->spread);
    add_affinity(&out, p);
    add_containers(&out, p);
    add_raw(&out, p->spec);
    buf_add_char(&out, '}');
    add_pod_status(&out, p);
    buf_add_char(&out, '}');
    return finish(KIND_POD, &out);
}

/* --- nodes and the rest ----------------------------------------------------------------------- */

static void add_taints(struct buf *out, const struct taint_args *t)
{
    if (!t)
        return;
    open_member(out, "taints", '[');
    for (; t->key; t++) {
        separate(out);
        buf_add_char(out, '{');
        add_text(out, "key", t->key);
        add_text(out, "value", t->value);
        add_text(out, "effect", t->effect);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

struct object *object_from_node_args(const struct node_args *n)
{
    struct buf out = BUF_INIT;
    const char *name = n->name ? n->name : "n";
    add_meta(&out, &(struct meta_args){.name = name,
                                       .uid = name,
                                       .version = n->version,
                                       .labels = n->labels,
                                       .more = n->meta});
    open_member(&out, "spec", '{');
    add_true(&out, "unschedulable", n->unschedulable);
    add_taints(&out, n->taints);
    add_raw(&out, n->spec);
    buf_add_char(&out, '}');
    open_member(&out, "status", '{');
    open_member(&out, "allocatable", '{');
    add_text(&out, "cpu", n->cpu);
    add_text(&out, "memory", n->memory);
    bool pods_given = n->allocatable && strstr(n->allocatable, "pods");
    add_text(&out, "pods", n->pods ? n->pods : pods_given ? NULL : "110");
    add_pairs(&out, n->allocatable);
    buf_add_char(&out, '}');
    add_raw(&out, n->status);
    buf_add_cstr(&out, "}}");
    return finish(KIND_NODE, &out);
}

struct object *object_from_pod_group_args(const struct pod_group_args *g)
{
    struct buf out = BUF_INIT;
    const char *name = g->name ? g->name : "g";
    add_meta(&out, &(struct meta_args){.name = name,
                                       .namespace = "default",
                                       .uid = g->uid ? g->uid : name,
                                       .more = g->meta,
                                       .generation = g->generation});
    open_member(&out, "spec", '{');
    if (g->min_count)
        buf_add_printf(&out, "\"schedulingPolicy\":{\"gang\":{\"minCount\":%d}}", g->min_count);
    else
        buf_add_cstr(&out, "\"schedulingPolicy\":{\"basic\":{}}");
    add_int(&out, "priority", g->priority);
    if (g->topology) {
        open_member(&out, "schedulingConstraints", '{');
        buf_add_jsonf(&out, "'topology':[{'key':'%s'}]}", g->topology);
    }
    add_raw(&out, g->spec);
    buf_add_char(&out, '}');
    open_member(&out, "status", '{');
    add_raw(&out, g->status);
    buf_add_cstr(&out, "}}");
    return finish(KIND_POD_GROUP, &out);
}

struct object *object_from_budget_args(const struct budget_args *b)
{
    struct buf out = BUF_INIT;
    add_meta(&out, &(struct meta_args){.name = b->name ? b->name : "b", .namespace = "default"});
    open_member(&out, "spec", '{');
    add_selector(&out, "selector", b->selector);
    buf_add_char(&out, '}');
    open_member(&out, "status", '{');
    add_int(&out, "disruptionsAllowed", b->allowed);
    if (b->disrupted) {
        open_member(&out, "disruptedPods", '{');
        add_text(&out, b->disrupted, DELETED_AT);
        buf_add_char(&out, '}');
    }
    buf_add_cstr(&out, "}}");
    return finish(KIND_POD_DISRUPTION_BUDGET, &out);
}

struct object *object_from_args(enum kind_id kind, const struct object_args *o)
{
    struct buf out = BUF_INIT;
    const char *namespace = o->namespace;
    if (!namespace && kind_get(kind)->namespaced)
    namespace = "default";
    add_meta(&out, &(struct meta_args){.name = o->name ? o->name : "o",
                                       .namespace = namespace,
                                       .version = o->version,
                                       .labels = o->labels,
                                       .more = o->meta});
    open_member(&out, "spec", '{');
    if (kind == KIND_SERVICE || kind == KIND_REPLICATION_CONTROLLER)
        add_map(&out, "selector", o->selector);
    else
        add_selector(&out, "selector", o->selector);
    add_raw(&out, o->spec);
    buf_add_char(&out, '}');
    open_member(&out, "status", '{');
    add_raw(&out, o->status);
    buf_add_cstr(&out, "}}");
    return finish(kind, &out);
}
