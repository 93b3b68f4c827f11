/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/post_filter.h"

#include "codec/json.h"
#include "engine/cycle/cycle_timing.h"
#include "engine/framework/call_mark.h"

/*
 * Takes the verdict of the plugin that ran last. Returns whether it is final (upstream:
 * RunPostFilterPlugins): Success, UnschedulableAndUnresolvable and errors are; the reasons of
 * plugins that only say Unschedulable add up.
 */
static bool take(struct berth_cycle *cycle, enum berth_code code, const struct berth_status *status)
{
    struct post_filter *p = &cycle->post_filter;
    bool final = code == BERTH_SUCCESS || code == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE ||
                 !code_rejects(code);
    struct str *texts;
    if (final) {
        vec_clear(&p->reasons);
        cycle->nominated &= code == BERTH_SUCCESS || code_rejects(code);
    } else {
        cycle->nominated |= p->nominated_before;
    }
    p->code = final ? code : BERTH_UNSCHEDULABLE;
    size_t n = status_texts(status, &cycle->framework->reasons, &cycle->arena, &texts);
    for (size_t i = 0; i < n; i++)
        vec_push(&p->reasons, texts[i]);
    return final;
}

static void log_status(const struct berth_cycle *cycle, const struct berth_pod *pod)
{
    const struct engine_log *log = &cycle->framework->log;
    const struct post_filter *p = &cycle->post_filter;
    bool failed = p->last && !code_rejects(p->code) && p->code != BERTH_SUCCESS;
    if (!engine_log_on(log, failed ? 0 : 3))
        return;
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < p->reasons.n; i++) {
        buf_add_cstr(&text, i ? ", " : "");
        buf_add_str(&text, p->reasons.v[i]);
    }
    if (!p->last)
        engine_log(log, 3,
                   "No PostFilter plugins are registered, so no preemption will be performed",
                   KV_POD(pod));
    else if (failed)
        engine_log_error(log, "Status after running PostFilter plugins for pod",
                         KV_CSTR("logger", "UnhandledError"), KV_POD(pod),
                         KV_STR("status", buf_str(&text)));
    else
        engine_log(log, 5, "Status after running PostFilter plugins for pod", KV_POD(pod),
                   KV_STR("status", buf_str(&text)));
    buf_release(&text);
}

static void end(struct berth_cycle *cycle, const struct berth_pod *pod,
                struct cycle_failure *failure)
{
    const struct post_filter *p = &cycle->post_filter;
    if (p->last)
        cycle_timed(cycle, METRIC_POST_FILTER, stage_code(p->code), true);
    log_status(cycle, pod);
    for (size_t i = 0; i < p->reasons.n; i++) {
        buf_add_cstr(&failure->text, i ? ", " : " ");
        buf_add_str(&failure->text, p->reasons.v[i]);
    }
    if (cycle->nominated) {
        failure->keep_nomination = false;
        failure->nominated_node = cycle->nominated_node;
    }
}

static bool run_plugins(struct berth_cycle *cycle, const struct berth_pod *pod,
                        struct cycle_failure *failure)
{
    struct berth_status *status = &cycle->cycles->status;
    struct post_filter *p = &cycle->post_filter;
    const handle_list *list = &cycle->profile->at[POINT_POST_FILTER];
    while (p->asked < list->n) {
        p->last = list->v[p->asked++];
        p->nominated_before = cycle->nominated;
        cycle->nominated = false;
        status_clear(status);
        int64_t began = plugin_begin(cycle);
        struct call_mark outer = call_begin(p->last, "PostFilter", pod);
        enum berth_code code = p->last->plugin->post_filter(p->last->self, cycle, pod, status);
        call_end(outer);
        if (code == BERTH_ASYNC)
            return false;
        plugin_end(cycle, p->last, METRIC_POST_FILTER, code, began);
        if (take(cycle, code, status))
            break;
    }
    end(cycle, pod, failure);
    return true;
}

bool post_filter_run(struct berth_cycle *cycle, const struct berth_pod *pod,
                     struct cycle_failure *failure)
{
    failure->keep_nomination = cycle->profile->at[POINT_POST_FILTER].n > 0;
    cycle_mark(cycle);
    return run_plugins(cycle, pod, failure);
}

bool post_filter_answer(struct berth_cycle *cycle, const struct berth_pod *pod,
                        struct cycle_failure *failure, enum berth_code code,
                        const struct berth_status *status)
{
    INVARIANT(code != BERTH_ASYNC && cycle->post_filter.last);
    if (!take(cycle, code, status))
        return run_plugins(cycle, pod, failure);
    end(cycle, pod, failure);
    return true;
}

enum berth_code post_filter_verdict(const struct berth_cycle *cycle, const struct berth_node *node)
{
    if (cycle->pre_filter_code != BERTH_SUCCESS)
        return cycle->pre_filter_code;
    /* The nominated node is filtered even if PreFilter does not allow it. */
    if (cycle->on_nominated.refused && node->slot == cycle->on_nominated.slot &&
        !node_subset_allows(&cycle->limit, node->slot))
        return (enum berth_code)cycle->on_nominated.verdict.code;
    if (!node->object || !node_subset_allows(&cycle->limit, node->slot))
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    /* Of the attempt under way: there is one at a time. */
    return (enum berth_code)cycle->cycles->buffers.verdicts[node->slot].code;
}

/* --- output ----------------------------------------------------------------------------------- */

static void write_texts(const char *key, const struct str *v, size_t n, struct buf *out)
{
    buf_add_printf(out, ",\"%s\":[", key);
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, v[i]);
    }
    buf_add_char(out, ']');
}

void post_filter_write(const struct berth_cycle *cycle, struct buf *out)
{
    const struct post_filter *p = &cycle->post_filter;
    if (!p->last)
        return;
    buf_add_printf(out, ",\"postFilter\":{\"plugin\":\"%s\",\"code\":\"%s\"", p->last->plugin->name,
                   code_name(p->code));
    write_texts("reasons", p->reasons.v, p->reasons.n, out);
    buf_add_cstr(out, ",\"nominatedNode\":");
    json_write_str(out, cycle->nominated ? cycle->nominated_node : STR(""));
    write_texts("victims", p->victims, p->n_victims, out);
    buf_add_printf(out, ",\"pdbViolations\":%lld,\"candidates\":%zu,\"offset\":%zu}",
                   (long long)p->pdb_violations, p->n_candidates, p->offset);
}
