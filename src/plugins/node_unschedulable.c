/* SPDX-License-Identifier: Apache-2.0 */
/* NodeUnschedulable: a cordoned node takes only pods that tolerate it. */
#include "api/toleration.h"
#include "plugins/plugin_base.h"
#include "plugins/registry.h"

struct node_unschedulable {
    const struct berth_host *host;
    berth_reason unschedulable;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct node_unschedulable *self = xnew(struct node_unschedulable);
    self->host = host;
    self->unschedulable = host->reason(h, BERTH_STR("node(s) were unschedulable"));
    *ret_self = self;
    return 0;
}

static bool tolerates(const struct pod *pod)
{
    static const struct taint cordoned = {
        .key = STR_INIT(TAINT_NODE_UNSCHEDULABLE),
        .effect = STR_INIT("NoSchedule"),
    };
    struct toleration_list list = {pod->spec.tolerations.v, pod->spec.tolerations.n};
    return tolerations_tolerate(list, &cordoned, false);
}

/* --- queueing hints --------------------------------------------------------------------------- */

static enum berth_hint after_node_change(void *self, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)self;
    (void)pod;
    const struct node *old = hint_node(before), *new = hint_node(after);
    if (!new)
        return BERTH_QUEUE_SKIP;
    bool was_closed = !old || old->spec.unschedulable;
    return was_closed && !new->spec.unschedulable ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

static enum berth_hint after_pod_change(void *self, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    (void)self;
    (void)before;
    const struct pod *changed = hint_pod(after);
    return changed && hint_about(pod, changed) && tolerates(changed) ? BERTH_QUEUE
                                                                     : BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct node_unschedulable *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT,
                         after_node_change);
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE_POD_TOLERATION,
                         after_pod_change);
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct node_unschedulable *self = ctx;
    if (!node->node->spec.unschedulable || tolerates(pod->pod))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->unschedulable);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct node_unschedulable *self = ctx;
    const struct berth_columns *columns = batch->columns;
    bool asked = false, tolerated = false;
    for (size_t w = 0; w < BITSET_WORDS(columns->n); w++) {
        uint64_t closed = batch->feasible[w] & columns->unschedulable[w];
        if (!closed)
            continue;
        /* Most clusters have no cordoned node: ask the pod only when one turns up. */
        if (!asked) {
            tolerated = tolerates(pod->pod);
            asked = true;
        }
        if (tolerated)
            return BERTH_SUCCESS;
        batch->feasible[w] &= ~closed;
        for (; closed; closed &= closed - 1) {
            size_t slot = w * 64 + (size_t)__builtin_ctzll(closed);
            batch->codes[slot] = BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
            batch->reasons[slot] = self->unschedulable;
        }
    }
    return BERTH_SUCCESS;
}

const struct berth_plugin node_unschedulable_plugin = {
    PLUGIN_HEAD("NodeUnschedulable"),
    .create = create,
    .destroy = free,
    .events = events,
    .filter = filter,
    .filter_many = filter_many,
};
