/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain/survey.h"

#include "base/bitset.h"
#include "codec/json.h"
#include "engine/cycle/cycle.h"

static void free_survey(void *data)
{
    struct survey *survey = data;
    buf_release(&survey->filters);
    buf_release(&survey->disputes);
    free(survey);
}

static struct survey *survey_of(struct berth_cycle *cycle)
{
    if (!cycle->attached[CYCLE_SURVEY].data)
        cycle_attach(cycle, CYCLE_SURVEY, xnew(struct survey), free_survey);
    return cycle->attached[CYCLE_SURVEY].data;
}

static void begin_dispute(struct survey *s, const struct berth_handle *h,
                          const struct berth_node *node)
{
    if (s->disputes.n)
        buf_add_char(&s->disputes, ',');
    buf_add_cstr(&s->disputes, "{\"plugin\":");
    json_write_str(&s->disputes, str_of(h->plugin->name));
    buf_add_cstr(&s->disputes, ",\"node\":");
    json_write_str(&s->disputes, str_of(node->name));
}

/* --- filters ---------------------------------------------------------------------------------- */

/* One plugin's verdicts, by slot. */
struct column {
    const struct berth_handle *handle;
    struct verdict *verdicts;
};

/* The single form of a filter. */
static struct verdict filter_one(struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const struct berth_handle *h, const struct berth_node *node)
{
    struct berth_status *status = &cycle->cycles->status;
    status_clear(status);
    enum berth_code code = h->plugin->filter(h->self, cycle, pod, node, status);
    berth_reason reason =
        code == BERTH_SUCCESS ? 0 : status_reason(status, &cycle->framework->reasons);
    return (struct verdict){(uint8_t)code, h->id, reason};
}

static void write_verdict(const struct reasons *reasons, struct verdict v, struct buf *out)
{
    buf_add_printf(out, "{\"code\":\"%s\"", code_name(v.code));
    reasons_write_json(reasons, v.reason, out);
    buf_add_char(out, '}');
}

static void compare(struct berth_cycle *cycle, const struct column *c,
                    const struct berth_filter_batch *batch, const struct berth_node *node)
{
    const struct reasons *reasons = &cycle->framework->reasons;
    uint32_t slot = node->slot;
    bool passed = batch->feasible[slot / 64] >> (slot % 64) & 1;
    struct verdict single = c->verdicts[slot];
    struct verdict many = {.plugin = c->handle->id};
    if (!passed)
        many = (struct verdict){batch->codes[slot], c->handle->id, batch->reasons[slot]};
    /* The text of an error is in the batch's status. */
    bool fails = many.code != BERTH_SUCCESS && !code_rejects(many.code);
    if (single.code == many.code && (single.reason == many.reason || fails))
        return;
    struct survey *s = survey_of(cycle);
    begin_dispute(s, c->handle, node);
    buf_add_cstr(&s->disputes, ",\"single\":");
    write_verdict(reasons, single, &s->disputes);
    buf_add_cstr(&s->disputes, ",\"batch\":");
    write_verdict(reasons, many, &s->disputes);
    buf_add_char(&s->disputes, '}');
}

/* Runs the batch form on all nodes and compares its verdicts with those of the single form. */
static void check_batch(struct berth_cycle *cycle, const struct berth_pod *pod,
                        const struct column *c)
{
    struct attempt_buffers *buffers = &cycle->cycles->buffers;
    struct berth_status *status = &cycle->cycles->status;
    const node_list *nodes = &cycle->framework->cache->order;
    struct bitset feasible;
    bitset_init(&feasible, cycle->columns.n);
    for (size_t i = 0; i < nodes->n; i++)
        bitset_set(&feasible, nodes->v[i]->slot);
    struct berth_filter_batch batch = {.struct_size = sizeof(batch),
                                       .columns = &cycle->columns,
                                       .feasible = feasible.words,
                                       .codes = buffers->codes,
                                       .reasons = buffers->reasons};
    status_clear(status);
    enum berth_code code =
        c->handle->plugin->filter_many(c->handle->self, cycle, pod, &batch, status);
    /* If the batch fails, the attempt fails with the same error. */
    for (size_t i = 0; code == BERTH_SUCCESS && i < nodes->n; i++)
        compare(cycle, c, &batch, nodes->v[i]);
    memset(buffers->codes, 0, cycle->columns.n * sizeof(*buffers->codes));
    memset(buffers->reasons, 0, cycle->columns.n * sizeof(*buffers->reasons));
    bitset_release(&feasible);
}

static void write_asked(const struct column *columns, size_t n, struct buf *out)
{
    buf_add_cstr(out, "{\"asked\":[");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_add_char(out, ',');
        json_write_str(out, str_of(columns[i].handle->plugin->name));
    }
    buf_add_cstr(out, "],\"nodes\":[");
}

static void write_node(const struct reasons *reasons, const struct berth_node *node,
                       const struct column *columns, size_t n, struct buf *out)
{
    bool first = true;
    buf_add_cstr(out, "{\"name\":");
    json_write_str(out, str_of(node->name));
    for (size_t i = 0; i < n; i++) {
        struct verdict v = columns[i].verdicts[node->slot];
        if (v.code == BERTH_SUCCESS)
            continue;
        buf_add_cstr(out, first ? ",\"refused\":[{\"name\":" : ",{\"name\":");
        json_write_str(out, str_of(columns[i].handle->plugin->name));
        buf_add_printf(out, ",\"code\":\"%s\"", code_name(v.code));
        reasons_write_json(reasons, v.reason, out);
        buf_add_char(out, '}');
        first = false;
    }
    buf_add_cstr(out, first ? "}" : "]}");
}

void survey_filters(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    const node_list *nodes = &cycle->framework->cache->order;
    const handle_list *list = &cycle->profile->at[POINT_FILTER];
    struct column *columns = arena_array(&cycle->arena, struct column, list->n);
    size_t n = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (plugin_set_has(&cycle->skip_filter, list->v[i]->id))
            continue;
        struct column *c = &columns[n++];
        c->handle = list->v[i];
        c->verdicts = arena_array(&cycle->arena, struct verdict, cycle->columns.n);
        for (size_t k = 0; k < nodes->n; k++)
            c->verdicts[nodes->v[k]->slot] = filter_one(cycle, pod, c->handle, nodes->v[k]);
        if (c->handle->plugin->filter_many)
            check_batch(cycle, pod, c);
    }
    struct buf *out = &survey_of(cycle)->filters;
    buf_clear(out);
    write_asked(columns, n, out);
    for (size_t k = 0; k < nodes->n; k++) {
        if (k)
            buf_add_char(out, ',');
        write_node(&cycle->framework->reasons, nodes->v[k], columns, n, out);
    }
    buf_add_cstr(out, "]}");
}

/* --- scores ----------------------------------------------------------------------------------- */

static void compare_score(struct berth_cycle *cycle, const struct berth_pod *pod,
                          const struct plugin_scores *scores, size_t i)
{
    struct berth_status *status = &cycle->cycles->status;
    const struct berth_handle *h = scores->handle;
    const struct berth_node *node = cycle->framework->cache->columns.nodes[cycle->slots[i]];
    int64_t batch = scores->raw ? scores->raw[i] : scores->scores[i], single = 0;
    status_clear(status);
    enum berth_code code = h->plugin->score(h->self, cycle, pod, node, &single, status);
    if (code == BERTH_SUCCESS && single == batch)
        return;
    struct survey *s = survey_of(cycle);
    begin_dispute(s, h, node);
    buf_add_printf(&s->disputes, ",\"single\":{\"code\":\"%s\",\"score\":%lld}", code_name(code),
                   (long long)single);
    buf_add_printf(&s->disputes, ",\"batch\":{\"score\":%lld}}", (long long)batch);
}

void survey_scores(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    for (size_t k = 0; k < cycle->plugin_scores.n; k++) {
        const struct plugin_scores *scores = &cycle->plugin_scores.v[k];
        if (!scores->handle->plugin->score_many || !scores->handle->plugin->score)
            continue;
        for (size_t i = 0; i < cycle->n_slots; i++)
            compare_score(cycle, pod, scores, i);
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

void survey_write(const struct berth_cycle *cycle, struct buf *out)
{
    const struct survey *survey = cycle->attached[CYCLE_SURVEY].data;
    if (!survey)
        return;
    if (survey->filters.n) {
        buf_add_cstr(out, ",\"filters\":");
        buf_add_str(out, buf_str(&survey->filters));
    }
    if (survey->disputes.n) {
        buf_add_cstr(out, ",\"disagreements\":[");
        buf_add_str(out, buf_str(&survey->disputes));
        buf_add_char(out, ']');
    }
}
