/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/node_resources/score_log.h"

#include "base/buf.h"

/* The amounts of one configured resource; 0 if the pod's score does not count it. */
static struct term_amounts amounts_at(const struct score_log *log, const struct berth_node *node,
                                      size_t i, size_t *term)
{
    struct score_term wanted;
    struct term_amounts none = {0};
    if (*term == log->terms->n || !score_term_init(&wanted, log->resources, i, log->pod->names))
        return none;
    const struct score_term *t = &log->terms->v[*term];
    if (t->source != wanted.source || (t->source == TERM_SCALAR && t->name != wanted.name))
        return none;
    ++*term;
    struct term_amounts amounts = node_amounts(t, node);
    if (!amounts.allocatable) {
        if (t->source == TERM_SCALAR)
            engine_log_as(log->log, SCORE_LOG_LEVEL, log->logger,
                          "Requested resource is omitted for node score calculation",
                          KV_POD(log->pod), KV_STR("resourceName", log->resources->list.v[i].name));
        return none;
    }
    amounts.allocated = go_add(amounts.allocated, t->request);
    return amounts;
}

void score_log_node(const struct score_log *log, const struct berth_node *node, int64_t score)
{
    struct buf allocatable = BUF_INIT, requested = BUF_INIT;
    size_t term = 0;
    for (size_t i = 0; i < log->resources->list.n; i++) {
        struct term_amounts amounts = amounts_at(log, node, i, &term);
        buf_add_printf(&allocatable, "%c%lld", i ? ',' : '[', (long long)amounts.allocatable);
        buf_add_printf(&requested, "%c%lld", i ? ',' : '[', (long long)amounts.allocated);
    }
    buf_add_char(&allocatable, ']');
    buf_add_char(&requested, ']');
    engine_log_as(
        log->log, SCORE_LOG_LEVEL, log->logger,
        "Listed internal info for allocatable resources, requested resources and score",
        KV_POD(log->pod), KV_NODE(node->node), KV_CSTR("resourceAllocationScorer", log->scorer),
        KV_JSON("allocatableResource", buf_str(&allocatable)),
        KV_JSON("requestedResource", buf_str(&requested)), KV_INT("resourceScore", score));
    buf_release(&allocatable);
    buf_release(&requested);
}

void score_log_batch(const struct score_log *log, const struct berth_score_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        score_log_node(log, batch->columns->nodes[batch->slots[i]], batch->scores[i]);
}
