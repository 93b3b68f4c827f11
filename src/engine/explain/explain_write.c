/* SPDX-License-Identifier: Apache-2.0 */
/* explain_write.c - records as JSON. */
#include "codec/json.h"
#include "engine/explain/explain.h"

static void key(struct buf *out, const char *name)
{
    buf_add_printf(out, ",\"%s\":", name);
}

static void str_member(struct buf *out, const char *name, struct str value)
{
    if (str_empty(value))
        return;
    key(out, name);
    json_write_str(out, value);
}

static const char *outcome_name(enum explain_outcome outcome)
{
    static const char *const names[] = {[EXPLAIN_BOUND] = "scheduled",
                                        [EXPLAIN_UNSCHEDULABLE] = "unschedulable",
                                        [EXPLAIN_ERROR] = "error"};
    return names[outcome];
}

static const char *place_name(enum queue_place place)
{
    static const char *const names[] = {[QUEUE_NOWHERE] = "",
                                        [QUEUE_ACTIVE] = "active",
                                        [QUEUE_BACKOFF] = "backoff",
                                        [QUEUE_ERROR_BACKOFF] = "errorBackoff",
                                        [QUEUE_UNSCHEDULABLE] = "unschedulable",
                                        [QUEUE_IN_FLIGHT] = "inFlight",
                                        [QUEUE_BINDING] = "binding"};
    return names[place];
}

void explain_write_reasons(const struct reasons *reasons, berth_reason reason, struct buf *out)
{
    size_t n = reasons_count(reasons, reason);
    if (!n)
        return;
    key(out, "reasons");
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, i ? ',' : '[');
        json_write_str(out, reasons_at(reasons, reason, i));
    }
    buf_add_char(out, ']');
}

static void write_pre_filter(const struct framework *fw, const struct attempt_record *ev,
                             struct buf *out)
{
    struct attempt_record_pre_filter p = {.record = ev};
    bool first = true;
    key(out, "preFilter");
    buf_add_char(out, '[');
    for (; attempt_record_next_pre_filter(&p); first = false) {
        buf_add_cstr(out, first ? "{\"name\":" : ",{\"name\":");
        json_write_str(out, fw->plugin_names.v[p.plugin]);
        buf_add_printf(out, ",\"code\":\"%s\"", code_name(p.code));
        for (size_t k = 0; k < p.n_reasons; k++) {
            buf_add_cstr(out, k ? "," : ",\"reasons\":[");
            json_write_str(out, attempt_record_next_reason(&p));
        }
        buf_add_cstr(out, p.n_reasons ? "]}" : "}");
    }
    buf_add_char(out, ']');
}

static void write_nodes(const struct framework *fw, const struct attempt_record *ev,
                        struct buf *out)
{
    struct attempt_record_reader r = {.record = ev};
    struct str name;
    struct verdict v;
    bool first = true;
    key(out, "nodes");
    buf_add_char(out, '[');
    for (; attempt_record_next(&r, &name, &v); first = false) {
        buf_add_cstr(out, first ? "{\"name\":" : ",{\"name\":");
        json_write_str(out, name);
        buf_add_printf(out, ",\"code\":\"%s\"", code_name(v.code));
        if (v.plugin != VERDICT_NOBODY)
            str_member(out, "plugin", fw->plugin_names.v[v.plugin]);
        explain_write_reasons(&fw->reasons, v.reason, out);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void write_node_scores(const struct framework *fw, const struct attempt_record *ev, size_t i,
                              struct buf *out)
{
    int64_t total = 0;
    key(out, "plugins");
    for (size_t k = 0; k < ev->n_scores; k++) {
        const struct attempt_record_score *s = attempt_record_score(ev, k);
        int64_t raw = attempt_record_raw(ev, s, i);
        /* Of ten, or whatever the extender took for that; it must not upset the sum. */
        int64_t normalized =
            s->is_extender ? extender_weighted(raw, 1) : attempt_record_normalized(ev, s, i);
        int64_t weighted =
            s->is_extender ? extender_weighted(raw, s->weight) : normalized * s->weight;
        total = (int64_t)((uint64_t)total + (uint64_t)weighted);
        buf_add_cstr(out, k ? ",{\"name\":" : "[{\"name\":");
        json_write_str(out, fw->plugin_names.v[s->plugin]);
        buf_add_printf(out, ",\"raw\":%lld,\"normalized\":%lld,\"weight\":%lld,\"weighted\":%lld}",
                       (long long)raw, (long long)normalized, (long long)s->weight,
                       (long long)weighted);
    }
    buf_add_cstr(out, ev->n_scores ? "]" : "[]");
    buf_add_printf(out, ",\"total\":%lld", (long long)total);
}

static void write_scores(const struct framework *fw, const struct attempt_record *ev,
                         struct buf *out)
{
    struct attempt_record_reader r = {.record = ev};
    struct str name;
    struct verdict v;
    size_t passed = 0;
    key(out, "feasible");
    buf_add_char(out, '[');
    while (attempt_record_next(&r, &name, &v)) {
        if (v.code != BERTH_SUCCESS)
            continue;
        buf_add_cstr(out, passed ? ",{\"name\":" : "{\"name\":");
        json_write_str(out, name);
        write_node_scores(fw, ev, passed++, out);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static void write_event(const struct explain_record *r, struct buf *out)
{
    struct cluster_event event = {.resource = (enum berth_resource)r->event_resource,
                                  .action = r->event_action,
                                  .label = r->event_label};
    struct buf label = BUF_INIT;
    event_write_label(&event, &label);
    key(out, "event");
    json_write_str(out, buf_str(&label));
    buf_release(&label);
}

static void write_record(const struct framework *fw, const struct explain_record *r,
                         struct buf *out)
{
    buf_add_printf(out, "{\"number\":%llu,\"attempt\":%u", (unsigned long long)r->number,
                   r->attempt);
    str_member(out, "namespace", explain_text(r, EXPLAIN_NAMESPACE));
    str_member(out, "pod", explain_text(r, EXPLAIN_NAME));
    str_member(out, "uid", explain_text(r, EXPLAIN_UID));
    str_member(out, "profile", explain_text(r, EXPLAIN_SCHEDULER_NAME));
    str_member(out, "outcome", str_of(outcome_name(r->outcome)));
    str_member(out, "node", explain_text(r, EXPLAIN_NODE_NAME));
    str_member(out, "nominatedNode", explain_text(r, EXPLAIN_NOMINATED_NODE));
    str_member(out, "message", explain_text(r, EXPLAIN_MESSAGE));
    write_event(r, out);
    str_member(out, "queue", str_of(place_name(r->went_to)));
    buf_add_printf(out, ",\"allNodes\":%u", r->record.n_all);
    write_pre_filter(fw, &r->record, out);
    buf_add_str(out, explain_text(r, EXPLAIN_SURVEY));
    write_nodes(fw, &r->record, out);
    write_scores(fw, &r->record, out);
    buf_add_cstr(out, "}\n");
}

static bool is_of(const struct explain_record *r, struct str namespace, struct str name)
{
    return str_eq(explain_text(r, EXPLAIN_NAME), name) &&
           str_eq(explain_text(r, EXPLAIN_NAMESPACE), namespace);
}

/* The next record of the pod, or of any pod where name is empty; NULL behind the last. */
static const struct explain_record *next_of(const struct explain *x, const struct explain_record *r,
                                            struct str namespace, struct str name)
{
    while ((r = explain_ring_next(&x->ring, r)))
        if (str_empty(name) || is_of(r, namespace, name))
            return r;
    return NULL;
}

size_t explain_write(const struct explain *x, struct str namespace, struct str name,
                     struct buf *out)
{
    size_t n = 0;
    const struct explain_record *r = NULL;
    for (; (r = next_of(x, r, namespace, name)); n++)
        write_record(x->framework, r, out);
    return n;
}

void explain_each(const struct explain *x, struct str namespace, struct str name,
                  struct explain_reader reader)
{
    struct buf line = BUF_INIT;
    const struct explain_record *r = NULL;
    while ((r = next_of(x, r, namespace, name))) {
        buf_clear(&line);
        write_record(x->framework, r, &line);
        reader.fn(reader.ctx, buf_str(&line));
    }
    buf_release(&line);
}
