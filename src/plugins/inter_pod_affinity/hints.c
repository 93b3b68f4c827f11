/* SPDX-License-Identifier: Apache-2.0 */
/* When it is worth trying again to place a pod that InterPodAffinity turned down. */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

/*
 * Do all terms mean this pod? Upstream does not look up namespaces by their labels here, so that a
 * pod may wait longer than it needs to; our feature gate mends that as well.
 */
static bool all_mean(struct inter_pod_affinity *self, const struct affinity_set *set,
                     enum affinity_kind kind, const struct pod *pod)
{
    size_t n = set ? set->of[kind].n : 0;
    for (size_t i = 0; i < n; i++) {
        const struct affinity_term *term = &set->of[kind].v[i];
        struct pod_term meant = self->exact_namespaces ? own_term(self, term) : term->pods;
        struct pod_selection selection = {.terms = {&meant, 1}};
        if (!pod_selection_takes(&selection, &pod->metadata))
            return false;
    }
    return n > 0;
}

static bool is_wrong(const struct affinity_set *set, enum affinity_kind kind)
{
    return set && set->is_wrong[kind];
}

/* Neither on a node nor promised one. */
static bool is_nowhere(const struct pod *pod)
{
    return pod && str_empty(pod->spec.node_name) && str_empty(pod->status.nominated_node_name);
}

/* Does the pod that went take with it what was in the way? */
static bool freed_by(struct inter_pod_affinity *self, const struct berth_pod *pod,
                     const struct pod *gone)
{
    if (all_mean(self, pod->affinity, AFFINITY_REQUIRED_ANTI, gone))
        return true;
    struct affinity_set *set = affinity_set_new(gone);
    bool freed = is_wrong(set, AFFINITY_REQUIRED_ANTI) ||
                 all_mean(self, set, AFFINITY_REQUIRED_ANTI, pod->pod);
    affinity_set_free(set);
    return freed;
}

static bool helped_by_update(struct inter_pod_affinity *self, const struct affinity_set *set,
                             const struct pod *old, const struct pod *new)
{
    return (!all_mean(self, set, AFFINITY_REQUIRED, old) &&
            all_mean(self, set, AFFINITY_REQUIRED, new)) ||
           (all_mean(self, set, AFFINITY_REQUIRED_ANTI, old) &&
            !all_mean(self, set, AFFINITY_REQUIRED_ANTI, new));
}

enum berth_hint ipa_after_pod_change(void *ctx, const struct berth_pod *pod,
                                     const struct berth_object *before,
                                     const struct berth_object *after)
{
    struct inter_pod_affinity *self = ctx;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    const struct affinity_set *set = pod->affinity;
    bool helps;
    /* Its own labels are others now: those who hated it may not do so any more. */
    if (old && new && hint_about(pod, new))
        return BERTH_QUEUE;
    if (is_nowhere(new) || is_nowhere(old))
        return BERTH_QUEUE_SKIP;
    if (is_wrong(set, AFFINITY_REQUIRED) || is_wrong(set, AFFINITY_REQUIRED_ANTI))
        return BERTH_QUEUE;
    if (old && new)
        helps = helped_by_update(self, set, old, new);
    else if (new)
        helps = all_mean(self, set, AFFINITY_REQUIRED, new);
    else
        helps = old && freed_by(self, pod, old);
    return helps ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
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

/* The node has come into a domain. */
static bool helps_affinity(const struct affinity_term *term, const struct node *old,
                           const struct node *new)
{
    const struct str *from = old ? value_of(old, term->topology_key) : NULL;
    const struct str *to = value_of(new, term->topology_key);
    return (!from && to) || moved(from, to);
}

/* The node has left a domain, or is new and perhaps in none that matters. */
static bool helps_anti_affinity(const struct affinity_term *term, const struct node *old,
                                const struct node *new)
{
    if (!old)
        return true;
    const struct str *from = value_of(old, term->topology_key);
    const struct str *to = value_of(new, term->topology_key);
    return (from && !to) || moved(from, to);
}

enum berth_hint ipa_after_node_change(void *ctx, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after)
{
    (void)ctx;
    const struct node *old = hint_node(before), *new = hint_node(after);
    const struct affinity_set *set = pod->affinity;
    if (!new || !set)
        return BERTH_QUEUE_SKIP;
    if (set->is_wrong[AFFINITY_REQUIRED])
        return BERTH_QUEUE;
    for (size_t i = 0; i < set->of[AFFINITY_REQUIRED].n; i++)
        if (helps_affinity(&set->of[AFFINITY_REQUIRED].v[i], old, new))
            return BERTH_QUEUE;
    if (set->is_wrong[AFFINITY_REQUIRED_ANTI])
        return BERTH_QUEUE;
    for (size_t i = 0; i < set->of[AFFINITY_REQUIRED_ANTI].n; i++)
        if (helps_anti_affinity(&set->of[AFFINITY_REQUIRED_ANTI].v[i], old, new))
            return BERTH_QUEUE;
    return BERTH_QUEUE_SKIP;
}
