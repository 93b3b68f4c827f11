/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TaintToleration: rejects nodes with untolerated NoSchedule and NoExecute taints, and prefers
 * nodes with fewer untolerated PreferNoSchedule taints.
 */
#include "codec/json.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define LOGGER LOGGER_FILTER("TaintToleration")

struct taint_toleration {
    const struct berth_host *host;
    const struct engine_log *log;
    struct node_memos *memos;
    bool comparison; /* operators Lt and Gt are enabled */
    berth_reason untolerated;
    berth_state_key scoring; /* PreScore has run */
    struct buf key;          /* scratch */
};

/* The question to nodes: the pod's tolerations of these effects. */
struct view {
    struct toleration_list tolerations;
    bool comparison;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct taint_toleration *self = xnew(struct taint_toleration);
    self->host = host;
    self->log = handle_log(h);
    self->memos = &handle_cluster(h)->memos;
    self->comparison = handle_feature(h, FEATURE_TAINT_TOLERATION_COMPARISON_OPERATORS);
    self->untolerated = host->reason(h, BERTH_STR("node(s) had untolerated taint(s)"));
    self->scoring = host->state_key(h, BERTH_STR("PreScoreTaintToleration"));
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct taint_toleration *self = ctx;
    buf_release(&self->key);
    free(self);
}

static struct view view_of(const struct taint_toleration *self, const struct pod *pod)
{
    return (struct view){pod_tolerations(pod), self->comparison};
}

static const struct taint *untolerated(const struct view *view, const struct node *node)
{
    struct taint_list taints = {node->spec.taints.v, node->spec.taints.n};
    return taints_find_untolerated(taints, view->tolerations, TAINT_BARS, view->comparison);
}

static bool bars(const struct view *view, const struct node *node)
{
    return untolerated(view, node);
}

static int64_t count_intolerable(const struct view *view, const struct node *node)
{
    struct taint_list taints = {node->spec.taints.v, node->spec.taints.n};
    return (int64_t)taints_count_intolerable(taints, view->tolerations, view->comparison);
}

/* --- queueing hints --------------------------------------------------------------------------- */

static enum berth_hint after_node_change(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    const struct taint_toleration *self = ctx;
    const struct node *old = hint_node(before), *new = hint_node(after);
    struct view view = view_of(self, pod->pod);
    if (!new)
        return BERTH_QUEUE_SKIP;
    bool helps = (!old || bars(&view, old)) && !bars(&view, new);
    engine_log(
        self->log, 5,
        helps
            ? "node was created or updated, and this may make the Pod rejected by TaintToleration "
              "plugin in the previous scheduling cycle schedulable"
            : "node was created or updated, but it doesn't change the TaintToleration plugin's "
              "decision",
        KV_POD(pod), KV_NODE(new));
    return hint_if(helps);
}

static enum berth_hint after_pod_change(void *ctx, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)before;
    const struct taint_toleration *self = ctx;
    const struct pod *changed = hint_pod(after);
    if (!changed)
        return BERTH_QUEUE_SKIP;
    bool helps = hint_about(pod, changed);
    engine_log(
        self->log, 5,
        helps
            ? "a new toleration is added for the unschedulable Pod, and it may make it schedulable"
            : "a new toleration is added for a Pod, but it's an unrelated Pod and wouldn't change "
              "the TaintToleration plugin's decision",
        KV_HINT_POD("pod", changed));
    return hint_if(helps);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct taint_toleration *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT,
                         after_node_change);
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION,
                         after_pod_change);
}

/* --- filter ----------------------------------------------------------------------------------- */

static void log_untolerated(const struct taint_toleration *self, const struct berth_pod *pod,
                            const struct node *node, const struct taint *taint)
{
    struct buf json = BUF_INIT;
    json_encode(&taint_type, taint, &json);
    engine_log_as(self->log, 4, LOGGER, "node had untolerated taints", KV_POD(pod), KV_NODE(node),
                  KV_JSON("untoleratedTaint", buf_str(&json)));
    buf_release(&json);
}

/* Logs the nodes of a batch that are rejected. */
static void log_refused(const struct taint_toleration *self, const struct berth_pod *pod,
                        const struct view *view, const struct berth_filter_batch *batch,
                        const uint64_t *barred)
{
    for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
        for (uint64_t bits = batch->feasible[w] & barred[w]; bits; bits &= bits - 1) {
            size_t slot = w * 64 + (size_t)__builtin_ctzll(bits);
            const struct node *node = batch->columns->nodes[slot]->node;
            log_untolerated(self, pod, node, untolerated(view, node));
        }
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct taint_toleration *self = ctx;
    struct view view = view_of(self, pod->pod);
    const struct taint *taint = untolerated(&view, node->node);
    if (!taint)
        return BERTH_SUCCESS;
    if (engine_log_on(self->log, 4))
        log_untolerated(self, pod, node->node, taint);
    self->host->status_reason(status, self->untolerated);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static int64_t ask_bars(const void *ask, const struct berth_node *node)
{
    return bars(ask, node->node);
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)cycle;
    (void)status;
    struct taint_toleration *self = ctx;
    struct view view = view_of(self, pod->pod), nothing_tolerated = {0};
    /* Few nodes have such taints, often none: tolerations are read only if one has. */
    const uint64_t *barred =
        node_memo_set(self->memos, STR("TaintToleration/bars"), ask_bars, &nothing_tolerated);
    if (!sets_meet(batch->feasible, barred, batch->columns->n))
        return BERTH_SUCCESS;
    if (view.tolerations.n) {
        key_begin(&self->key, STR("TaintToleration/bars"));
        key_add_tolerations(&self->key, pod->pod, TAINT_BARS);
        barred = node_memo_set(self->memos, buf_str(&self->key), ask_bars, &view);
    }
    if (engine_log_on(self->log, 4))
        log_refused(self, pod, &view, batch, barred);
    batch_refuse_set(batch, barred, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->untolerated);
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)pod;
    (void)slots;
    (void)n;
    (void)status;
    struct taint_toleration *self = ctx;
    self->host->state_write(cycle, self->scoring, self, NULL, NULL);
    return BERTH_SUCCESS;
}

/* Upstream returns an error if Score is enabled without PreScore. */
static bool is_prepared(const struct taint_toleration *self, const struct berth_cycle *cycle,
                        struct berth_status *status)
{
    if (self->host->state_read(cycle, self->scoring))
        return true;
    self->host->status_text(
        status, BERTH_STR("failed to read \"PreScoreTaintToleration\" from cycleState: not found"));
    return false;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    const struct taint_toleration *self = ctx;
    struct view view = view_of(self, pod->pod);
    if (!is_prepared(self, cycle, status))
        return BERTH_ERROR;
    *ret_score = count_intolerable(&view, node->node);
    return BERTH_SUCCESS;
}

static int64_t ask_intolerable(const void *ask, const struct berth_node *node)
{
    return count_intolerable(ask, node->node);
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    struct taint_toleration *self = ctx;
    struct view view = view_of(self, pod->pod), nothing_tolerated = {0};
    if (!is_prepared(self, cycle, status))
        return BERTH_ERROR;
    const uint64_t *any = node_memo_set(self->memos, STR("TaintToleration/prefers not"),
                                        ask_intolerable, &nothing_tolerated);
    if (!sets_meet(any, batch->columns->present, batch->columns->n)) {
        memset(batch->scores, 0, batch->n * sizeof(int64_t));
        return BERTH_SUCCESS;
    }
    key_begin(&self->key, STR("TaintToleration/prefers not"));
    key_add_tolerations(&self->key, pod->pod, TAINT_PREFER_NO_SCHEDULE);
    const int64_t *counts =
        node_memo_column(self->memos, buf_str(&self->key), ask_intolerable, &view);
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = counts[batch->slots[i]];
    return BERTH_SUCCESS;
}

const struct berth_plugin taint_toleration_plugin = {
    PLUGIN_HEAD("TaintToleration"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .filter = filter,
    .filter_many = filter_many,
    .pre_score = pre_score,
    .score = score,
    .score_many = score_many,
    .normalize = normalize_lowest_best,
};
