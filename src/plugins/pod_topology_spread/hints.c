/* SPDX-License-Identifier: Apache-2.0 */
/* hints.c - queueing hints of PodTopologySpread. */
#include "plugins/pod_topology_spread/spread.h"

/* The DoNotSchedule constraints. False: they are invalid; the next attempt reports the error. */
static bool constraints_of(struct spread *self, const struct berth_pod *pod, struct arena *a,
                           struct spread_constraints *ret_constraints)
{
    struct buf why = BUF_INIT;
    int r = spread_constraints_compile(self, pod->pod, SPREAD_DO_NOT_SCHEDULE, a, ret_constraints,
                                       &why);
    buf_release(&why);
    return r == 0;
}

/* --- pods ------------------------------------------------------------------------------------- */

/* Upstream: involvedInTopologySpreading. */
static bool is_involved(const struct pod *changed, const struct berth_pod *pod)
{
    if (hint_about(pod, changed))
        return true;
    if (str_empty(changed->spec.node_name) && str_empty(changed->status.nominated_node_name))
        return false;
    return str_eq(changed->metadata.namespace, pod->pod->metadata.namespace);
}

static bool same_tolerations(const struct pod *a, const struct pod *b)
{
    if (a->spec.tolerations.n != b->spec.tolerations.n)
        return false;
    for (size_t i = 0; i < a->spec.tolerations.n; i++) {
        const struct toleration *x = &a->spec.tolerations.v[i], *y = &b->spec.tolerations.v[i];
        if (!str_eq(x->key, y->key) || !str_eq(x->operator, y->operator) ||
            !str_eq(x->value, y->value) || !str_eq(x->effect, y->effect))
            return false;
    }
    return true;
}

static bool any_matches(const struct spread_constraints *cs, const struct pod *pod)
{
    for (size_t i = 0; i < cs->list.n; i++)
        if (selector_matches(&cs->list.v[i].selector, &pod->metadata.labels))
            return true;
    return false;
}

static bool any_honors_taints(const struct spread_constraints *cs)
{
    for (size_t i = 0; i < cs->list.n; i++)
        if (cs->list.v[i].honor_taints)
            return true;
    return false;
}

/* Does a constraint match one of the two and not the other? */
static bool any_distinguishes(const struct spread_constraints *cs, const struct pod *a,
                              const struct pod *b)
{
    for (size_t i = 0; i < cs->list.n; i++) {
        const struct selector *selector = &cs->list.v[i].selector;
        if (selector_matches(selector, &a->metadata.labels) !=
            selector_matches(selector, &b->metadata.labels))
            return true;
    }
    return false;
}

/* Upstream: isSchedulableAfterPodChange. *ret_why is the log message. */
static bool pod_change_helps(const struct spread_constraints *cs, const struct berth_pod *pod,
                             const struct pod *old, const struct pod *new, const char **ret_why)
{
    bool helps;
    if (!old || !new) {
        helps = any_matches(cs, old ? old : new);
        *ret_why =
            new && helps ? "a scheduled pod was created and it matches with the pod's topology "
                           "spread constraints"
            : new        ? "a scheduled pod was created, but it doesn't matches with the pod's "
                           "topology spread constraints"
            : helps      ? "a scheduled pod which matches with the pod's topology spread "
                           "constraints was deleted, and the pod may be schedulable now"
                         : "a scheduled pod was deleted, but it's unrelated to the pod's topology "
                           "spread constraints";
        return helps;
    }
    if (hint_about(pod, new) && !same_tolerations(old, new) && any_honors_taints(cs)) {
        *ret_why =
            "the unschedulable pod has got a new toleration, which could make it schedulable";
        return true;
    }
    if (str_map_equal(&old->metadata.labels, &new->metadata.labels)) {
        *ret_why =
            "the pod's update doesn't include the label update, which doesn't make the target "
            "pod schedulable";
        return false;
    }
    helps = any_distinguishes(cs, old, new);
    *ret_why = helps ? "a scheduled pod's label was updated and it makes the updated pod match or "
                       "unmatch the pod's topology spread constraints"
                     : "a scheduled pod's label was updated, but it's a change unrelated to the "
                       "pod's topology spread constraints";
    return helps;
}

static enum berth_hint after_pod_change(void *ctx, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    struct spread *self = ctx;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    struct spread_constraints cs;
    struct arena scratch;
    const char *why = NULL;
    if ((new && !is_involved(new, pod)) || (old && !is_involved(old, pod))) {
        engine_log(
            self->log, 5,
            "the added/updated/deleted pod is unscheduled or has different namespace with target "
            "pod, so it doesn't make the target pod schedulable",
            KV_POD(pod), KV_HINT_POD("originalPod", old));
        return BERTH_QUEUE_SKIP;
    }
    arena_init(&scratch, 0);
    bool helps =
        !constraints_of(self, pod, &scratch, &cs) || pod_change_helps(&cs, pod, old, new, &why);
    arena_release(&scratch);
    if (why)
        engine_log(self->log, 5, why, KV_POD(pod),
                   old && new ? KV_HINT_POD("modifiedPod", new)
                   : new      ? KV_HINT_POD("createdPod", new)
                              : KV_HINT_POD("deletedPod", old));
    return hint_if(helps);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool has_all_keys(const struct spread_constraints *cs, const struct node *node)
{
    for (size_t i = 0; i < cs->list.n; i++)
        if (!str_map_get(&node->metadata.labels, cs->list.v[i].topology_key))
            return false;
    return true;
}

static bool same_domains(const struct spread_constraints *cs, const struct node *a,
                         const struct node *b)
{
    for (size_t i = 0; i < cs->list.n; i++) {
        const struct str *x = str_map_get(&a->metadata.labels, cs->list.v[i].topology_key);
        const struct str *y = str_map_get(&b->metadata.labels, cs->list.v[i].topology_key);
        if (!str_eq(x ? *x : STR(""), y ? *y : STR("")))
            return false;
    }
    return true;
}

static bool same_taints(const struct node *a, const struct node *b)
{
    if (a->spec.taints.n != b->spec.taints.n)
        return false;
    for (size_t i = 0; i < a->spec.taints.n; i++) {
        const struct taint *x = &a->spec.taints.v[i], *y = &b->spec.taints.v[i];
        if (!str_eq(x->key, y->key) || !str_eq(x->value, y->value) || !str_eq(x->effect, y->effect))
            return false;
    }
    return true;
}

/* Upstream: isSchedulableAfterNodeChange, which does not log an update without effect. */
static bool node_change_helps(const struct spread *self, const struct spread_constraints *cs,
                              const struct berth_pod *pod, const struct node *old,
                              const struct node *new)
{
    bool was_in = old && has_all_keys(cs, old), is_in = new && has_all_keys(cs, new);
    if (!old || !new) {
        engine_log(
            self->log, 5,
            is_in    ? "the created node matches topology spread constraints, and the pod may be "
                       "schedulable now"
            : new    ? "the created node doesn't match pod topology spread constraints"
            : was_in ? "the deleted node matches topology spread constraints, and the pod may be "
                       "schedulable now"
                     : "the deleted node doesn't match pod topology spread constraints",
            KV_POD(pod), KV_NODE(new ? new : old));
        return was_in || is_in;
    }
    if (was_in != is_in) {
        engine_log(
            self->log, 5,
            "the node is updated and now pod topology spread constraints has changed, and the pod "
            "may be schedulable now",
            KV_POD(pod), KV_NODE(new), KV_BOOL("originalMatching", was_in),
            KV_BOOL("newMatching", is_in));
        return true;
    }
    bool helps = is_in && (!same_domains(cs, old, new) || !same_taints(old, new));
    if (helps)
        engine_log(self->log, 5,
                   "the node is updated and now has different taints or labels, and the pod may be "
                   "schedulable now",
                   KV_POD(pod), KV_NODE(new));
    return helps;
}

static enum berth_hint after_node_change(void *self, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    struct spread_constraints cs;
    struct arena scratch;
    const struct node *old = hint_node(before), *new = hint_node(after);
    arena_init(&scratch, 0);
    bool helps = !constraints_of(self, pod, &scratch, &cs) ||
                 ((old || new) && node_change_helps(self, &cs, pod, old, new));
    arena_release(&scratch);
    return hint_if(helps);
}

void spread_events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct spread *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_POD,
                         BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_POD_LABEL |
                             BERTH_ACTION_UPDATE_POD_TOLERATION | BERTH_ACTION_DELETE,
                         after_pod_change);
    host->register_event(r, BERTH_RESOURCE_NODE,
                         BERTH_ACTION_ADD | BERTH_ACTION_DELETE | BERTH_ACTION_UPDATE_NODE_LABEL |
                             BERTH_ACTION_UPDATE_NODE_TAINT,
                         after_node_change);
}
