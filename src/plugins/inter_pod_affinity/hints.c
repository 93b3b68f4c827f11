/* SPDX-License-Identifier: Apache-2.0 */
/* hints.c - queueing hints of InterPodAffinity. */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

/*
 * Do all terms select this pod (upstream: podMatchesAllAffinityTerms)? Upstream does not evaluate
 * namespace selectors here, so a pod may wait longer than necessary; BerthExactNamespaceSelectors
 * corrects that as well.
 */
static bool all_select(struct inter_pod_affinity *self, const struct affinity_set *set,
                       enum affinity_kind kind, const struct pod *pod)
{
    size_t n = set ? set->of[kind].n : 0;
    for (size_t i = 0; i < n; i++) {
        const struct affinity_term *term = &set->of[kind].v[i];
        struct pod_term selected = self->exact_namespaces ? own_term(self, term) : term->pods;
        struct pod_selection selection = {.terms = {&selected, 1}};
        if (!pod_selection_takes(&selection, &pod->metadata))
            return false;
    }
    return n > 0;
}

static bool is_invalid(const struct affinity_set *set, enum affinity_kind kind)
{
    return set && set->is_wrong[kind];
}

/* Neither on a node nor with a nominated node. */
static bool is_nowhere(const struct pod *pod)
{
    return pod && str_empty(pod->spec.node_name) && str_empty(pod->status.nominated_node_name);
}

/* Each of these returns whether the change helps, and the log message; NULL: none. */

static bool freed_by(struct inter_pod_affinity *self, const struct berth_pod *pod,
                     const struct pod *gone, const char **ret_why)
{
    if (all_select(self, pod->affinity, AFFINITY_REQUIRED_ANTI, gone)) {
        *ret_why = "a scheduled pod was deleted and it matches the target pod's anti-affinity. The "
                   "pod may be schedulable now";
        return true;
    }
    struct affinity_set *set = affinity_set_new(gone);
    bool wrong = is_invalid(set, AFFINITY_REQUIRED_ANTI);
    bool freed = !wrong && all_select(self, set, AFFINITY_REQUIRED_ANTI, pod->pod);
    affinity_set_free(set);
    *ret_why = wrong   ? NULL
               : freed ? "a scheduled pod was deleted and the target pod matches the deleted pod's "
                         "anti-affinity. The pod may be schedulable now"
                       : "a scheduled pod was deleted but it doesn't match the target pod's "
                         "anti-affinity, nor vice versa";
    return wrong || freed;
}

static bool helped_by_update(struct inter_pod_affinity *self, const struct affinity_set *set,
                             const struct pod *old, const struct pod *new, const char **ret_why)
{
    if (!all_select(self, set, AFFINITY_REQUIRED, old) &&
        all_select(self, set, AFFINITY_REQUIRED, new)) {
        *ret_why =
            "a scheduled pod was updated to match the target pod's affinity, and the pod may "
            "be schedulable now";
        return true;
    }
    bool helps = all_select(self, set, AFFINITY_REQUIRED_ANTI, old) &&
                 !all_select(self, set, AFFINITY_REQUIRED_ANTI, new);
    *ret_why = helps
                   ? "a scheduled pod was updated not to match the target pod's anti affinity, and "
                     "the pod may be schedulable now"
                   : "a scheduled pod was updated but it doesn't match the target pod's affinity "
                     "or does match the target pod's anti-affinity";
    return helps;
}

static bool helped_by_new(struct inter_pod_affinity *self, const struct affinity_set *set,
                          const struct pod *new, const char **ret_why)
{
    bool helps = all_select(self, set, AFFINITY_REQUIRED, new);
    *ret_why = helps ? "a scheduled pod was added and it matches the target pod's affinity"
                     : "a scheduled pod was added and it doesn't match the target pod's affinity";
    return helps;
}

enum berth_hint ipa_after_pod_change(void *ctx, const struct berth_pod *pod,
                                     const struct berth_object *before,
                                     const struct berth_object *after)
{
    struct inter_pod_affinity *self = ctx;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    const struct affinity_set *set = pod->affinity;
    const char *why = NULL;
    bool helps;
    /* Its own labels changed: the anti-affinity of other pods may not select it any more. */
    if (old && new && hint_about(pod, new)) {
        engine_log(self->log, 5, "the target pod labels have changed and it may be schedulable now",
                   KV_POD(pod));
        return BERTH_QUEUE;
    }
    if (is_nowhere(new) || is_nowhere(old)) {
        engine_log(
            self->log, 5,
            "the added/updated/deleted pod is unscheduled, so it doesn't make the target pod "
            "schedulable",
            KV_POD(pod), KV_HINT_POD("originalPod", old), KV_HINT_POD("modifiedPod", new));
        return BERTH_QUEUE_SKIP;
    }
    if (is_invalid(set, AFFINITY_REQUIRED) || is_invalid(set, AFFINITY_REQUIRED_ANTI))
        return BERTH_QUEUE;
    if (old && new)
        helps = helped_by_update(self, set, old, new, &why);
    else if (new)
        helps = helped_by_new(self, set, new, &why);
    else
        helps = old && freed_by(self, pod, old, &why);
    if (why)
        engine_log(self->log, 5, why, KV_POD(pod),
                   new ? KV_HINT_POD("modifiedPod", new) : KV_HINT_POD("originalPod", old));
    return hint_if(helps);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static const struct str *value_of(const struct node *node, struct str key)
{
    return str_map_get(&node->metadata.labels, key);
}

static bool moved(const struct str *from, const struct str *to)
{
    return from && to && !str_eq(*from, *to);
}

/* The log message if the node entered a domain; NULL: it did not. */
static const char *helps_affinity(const struct affinity_term *term, const struct node *old,
                                  const struct node *new)
{
    const struct str *from = old ? value_of(old, term->topology_key) : NULL;
    const struct str *to = value_of(new, term->topology_key);
    if (!from && to)
        return old ? "A node got updated to have the topology key of pod affinity, which may make "
                     "the pod schedulable"
                   : "A node with a matched pod affinity topologyKey was added and it may make the "
                     "pod schedulable";
    return moved(from, to)
               ? "A node is moved to a different domain of pod affinity, which may make "
                 "the pod schedulable"
               : NULL;
}

/* The log message if the node left a domain or was added; NULL: neither. */
static const char *helps_anti_affinity(const struct affinity_term *term, const struct node *old,
                                       const struct node *new)
{
    if (!old)
        return "A node was added and it may make the pod schedulable";
    const struct str *from = value_of(old, term->topology_key);
    const struct str *to = value_of(new, term->topology_key);
    if (from && !to)
        return "A node got updated to not have the topology key of pod anti-affinity, which may "
               "make "
               "the pod schedulable";
    return moved(from, to)
               ? "A node is moved to a different domain of pod anti-affinity, which may "
                 "make the pod schedulable"
               : NULL;
}

enum berth_hint ipa_after_node_change(void *ctx, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after)
{
    const struct inter_pod_affinity *self = ctx;
    const struct node *old = hint_node(before), *new = hint_node(after);
    const struct affinity_set *set = pod->affinity;
    const char *why = NULL;
    if (!new)
        return BERTH_QUEUE_SKIP;
    if (is_invalid(set, AFFINITY_REQUIRED))
        return BERTH_QUEUE;
    for (size_t i = 0; !why && set && i < set->of[AFFINITY_REQUIRED].n; i++)
        why = helps_affinity(&set->of[AFFINITY_REQUIRED].v[i], old, new);
    if (!why && is_invalid(set, AFFINITY_REQUIRED_ANTI))
        return BERTH_QUEUE;
    for (size_t i = 0; !why && set && i < set->of[AFFINITY_REQUIRED_ANTI].n; i++)
        why = helps_anti_affinity(&set->of[AFFINITY_REQUIRED_ANTI].v[i], old, new);
    engine_log(self->log, 5,
               why ? why
                   : "a node is added/updated but doesn't have any topologyKey which matches pod "
                     "affinity/anti-affinity",
               KV_POD(pod), KV_NODE(new));
    return hint_if(why);
}
