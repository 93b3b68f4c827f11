/* SPDX-License-Identifier: Apache-2.0 */
/* explain_write.c - records as JSON. */
#include "codec/json.h"
#include "engine/explain.h"
#include "engine/internal.h"

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
    static const char *const names[] = {"scheduled", "unschedulable", "error"};
    return names[outcome];
}

static const char *place_name(enum queue_place place)
{
    static const char *const names[] = {
        "", "active", "backoff", "errorBackoff", "unschedulable", "inFlight", "binding"};
    return names[place];
}

void explain_write_reasons(const struct engine *e, berth_reason reason, struct buf *out)
{
    size_t n = reasons_count(&e->reasons, reason);
    if (!n)
        return;
    key(out, "reasons");
    for (size_t i = 0; i < n; i++) {
        buf_add_char(out, i ? ',' : '[');
        json_write_str(out, reasons_at(&e->reasons, reason, i));
    }
    buf_add_char(out, ']');
}

static void write_verdict(const struct engine *e, const struct verdict_run *run, struct buf *out)
{
    buf_add_printf(out, ",\"code\":\"%s\"", code_name(run->code));
    if (run->plugin != VERDICT_NOBODY)
        str_member(out, "plugin", e->plugin_names.v[run->plugin]);
    explain_write_reasons(e, run->reason, out);
}

static void write_pre_filter(const struct engine *e, const struct explain_record *r,
                             struct buf *out)
{
    key(out, "preFilter");
    buf_add_char(out, '[');
    for (size_t i = 0; i < r->n_pre_filter; i++) {
        const struct pre_filter_verdict *v = &r->pre_filter[i];
        buf_add_cstr(out, i ? ",{\"name\":" : "{\"name\":");
        json_write_str(out, e->plugin_names.v[v->plugin]);
        buf_add_printf(out, ",\"code\":\"%s\"", code_name(v->code));
        for (size_t k = 0; k < v->n_reasons; k++) {
            buf_add_cstr(out, k ? "," : ",\"reasons\":[");
            json_write_str(out, v->reasons[k]);
        }
        buf_add_cstr(out, v->n_reasons ? "]}" : "}");
    }
    buf_add_char(out, ']');
}

static void write_nodes(const struct engine *e, const struct explain_record *r, struct buf *out)
{
    size_t at = 0;
    key(out, "nodes");
    buf_add_char(out, '[');
    for (size_t i = 0; i < r->n_runs; i++)
        for (uint32_t k = 0; k < r->runs[i].n; k++, at++) {
            buf_add_cstr(out, at ? ",{\"name\":" : "{\"name\":");
            json_write_str(out, explain_node_name(r, at));
            write_verdict(e, &r->runs[i], out);
            buf_add_char(out, '}');
        }
    buf_add_char(out, ']');
}

static void write_node_scores(const struct engine *e, const struct explain_record *r, size_t i,
                              struct buf *out)
{
    int64_t total = 0;
    key(out, "plugins");
    for (size_t k = 0; k < r->n_scores; k++) {
        const struct explain_score *s = &r->scores[k];
        /* Of ten, or whatever the extender took for that; it must not upset the sum. */
        int64_t normalized = s->normalized ? s->normalized[i] : extender_weighted(s->raw[i], 1);
        int64_t weighted =
            s->normalized ? normalized * s->weight : extender_weighted(s->raw[i], s->weight);
        total = (int64_t)((uint64_t)total + (uint64_t)weighted);
        buf_add_cstr(out, k ? ",{\"name\":" : "[{\"name\":");
        json_write_str(out, e->plugin_names.v[s->plugin]);
        buf_add_printf(out, ",\"raw\":%lld,\"normalized\":%lld,\"weight\":%lld,\"weighted\":%lld}",
                       (long long)(s->raw ? s->raw[i] : normalized), (long long)normalized,
                       (long long)s->weight, (long long)weighted);
    }
    buf_add_cstr(out, r->n_scores ? "]" : "[]");
    buf_add_printf(out, ",\"total\":%lld", (long long)total);
}

static void write_scores(const struct engine *e, const struct explain_record *r, struct buf *out)
{
    size_t at = 0, passed = 0;
    key(out, "feasible");
    buf_add_char(out, '[');
    for (size_t i = 0; i < r->n_runs; i++)
        for (uint32_t k = 0; k < r->runs[i].n; k++, at++) {
            if (r->runs[i].code != BERTH_SUCCESS)
                continue;
            buf_add_cstr(out, passed ? ",{\"name\":" : "{\"name\":");
            json_write_str(out, explain_node_name(r, at));
            write_node_scores(e, r, passed++, out);
            buf_add_char(out, '}');
        }
    buf_add_char(out, ']');
}

static void write_record(const struct engine *e, const struct explain_record *r, struct buf *out)
{
    buf_add_printf(out, "{\"number\":%llu,\"attempt\":%u", (unsigned long long)r->number,
                   r->attempt);
    str_member(out, "namespace", r->namespace);
    str_member(out, "pod", r->name);
    str_member(out, "uid", r->uid);
    str_member(out, "profile", r->scheduler_name);
    str_member(out, "outcome", str_of(outcome_name(r->outcome)));
    str_member(out, "node", r->node_name);
    str_member(out, "nominatedNode", r->nominated_node);
    str_member(out, "message", r->message);
    key(out, "event");
    struct buf label = BUF_INIT;
    event_write_label(&r->brought_by, &label);
    json_write_str(out, buf_str(&label));
    buf_release(&label);
    str_member(out, "queue", str_of(place_name(r->went_to)));
    buf_add_printf(out, ",\"allNodes\":%zu", r->n_all);
    write_pre_filter(e, r, out);
    buf_add_str(out, r->survey);
    write_nodes(e, r, out);
    write_scores(e, r, out);
    buf_add_cstr(out, "}\n");
}

size_t explain_write(const struct explain *x, const struct engine *engine, struct str namespace,
                     struct str name, struct buf *out)
{
    size_t n = 0;
    for (size_t i = x->first; i < x->ring.n; i++) {
        const struct explain_record *r = x->ring.v[i];
        if (!str_empty(name) && !(str_eq(r->name, name) && str_eq(r->namespace, namespace)))
            continue;
        write_record(engine, r, out);
        n++;
    }
    return n;
}
