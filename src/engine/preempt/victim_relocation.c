/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/victim_relocation.h"

/* A preemption as it would be. */
struct plan {
    struct berth_cycle *cycle;
    struct berth_pod *pod;
    const struct preemption_policy *policy;
    size_t left;  /* victims that may be asked about */
    bool touched; /* plugins have prepared themselves for another pod than the cycle's */
};

static bool has(const pod_list *list, const struct berth_pod *pod)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == pod)
            return true;
    return false;
}

/* --- one victim ------------------------------------------------------------------------------- */

static const struct berth_node *node_of(const struct plan *plan, struct str name)
{
    return cache_node(plan->cycle->framework->cache, name);
}

/* The cluster with the preemptor in its place and its victims gone, seen from the node in w. */
static bool imagine(const struct plan *plan, struct what_if *w, const struct candidate *c)
{
    for (size_t i = 0; i < c->victims.n; i++) {
        const struct berth_node *from = node_of(plan, c->victims.v[i]->node_name);
        /* It may have left while extenders were asked. */
        if (from && has(&from->pods, c->victims.v[i]) &&
            !what_if_remove_from(w, c->victims.v[i], from))
            return false;
    }
    const struct berth_node *to = node_of(plan, c->node_name);
    return !to || what_if_add_to(w, plan->pod, to);
}

static bool finds_node(const struct plan *plan, struct berth_cycle *trial, struct what_if *w,
                       const struct candidate *c)
{
    const node_list *all = &plan->cycle->framework->cache->order;
    const struct berth_handle *plugin;
    for (size_t i = 0; i < MIN(all->n, (size_t)RELOCATION_MAX_NODES); i++) {
        what_if_begin(w, trial, all->v[i]);
        if (imagine(plan, w, c) && what_if_filter_nominated(w, &plugin) == BERTH_SUCCESS)
            return true;
    }
    return false;
}

/* The pod that would come in the victim's place: the same, but on no node. Borrows it. */
static struct berth_pod successor_of(const struct berth_pod *victim, struct pod *ret_body)
{
    struct berth_pod pod = *victim;
    *ret_body = *victim->pod;
    ret_body->spec.node_name = STR("");
    ret_body->status.nominated_node_name = STR("");
    pod.pod = ret_body;
    pod.node_name = STR("");
    return pod;
}

static bool can_move(struct plan *plan, const struct candidate *c, const struct berth_pod *victim)
{
    struct framework *fw = plan->cycle->framework;
    struct profile *profile = framework_profile(fw, victim->pod->spec.scheduler_name);
    if (!profile || plan->left == 0)
        return false;
    plan->left--;
    plan->touched = true;
    struct pod body;
    struct berth_pod successor = successor_of(victim, &body);
    struct berth_cycle *trial = cycle_new(plan->cycle->cycles, profile);
    struct berth_status status;
    struct what_if w;
    trial->sampled = false;
    cache_get_columns(fw->cache, &trial->columns);
    status_init(&status);
    what_if_init(&w, &successor, &status);
    bool found = cycle_prepare_again(trial, &successor) && finds_node(plan, trial, &w, c);
    what_if_release(&w);
    status_release(&status);
    cycle_free(trial);
    return found;
}

/* --- one candidate ---------------------------------------------------------------------------- */

/* Adds those that would be lost to *ret_lost. */
static void judge(struct plan *plan, struct candidate *c, pod_list *ret_lost)
{
    c->judged = true;
    c->lost = 0;
    for (size_t i = 0; i < c->victims.n; i++) {
        struct berth_pod *victim = c->victims.v[i];
        if (can_move(plan, c, victim))
            continue;
        c->lost += candidate_weight(victim);
        vec_push(ret_lost, victim);
    }
}

/* The cycle's own plugins' state, after others were asked about. */
static bool prepare(struct plan *plan)
{
    if (!plan->touched)
        return true;
    plan->touched = false;
    return cycle_prepare_again(plan->cycle, plan->pod);
}

/* The victims on its node if these are spared rather than their equals. False: there are none. */
static bool select_sparing(struct plan *plan, const struct candidate *c, const pod_list *spare,
                           struct candidate *ret)
{
    const struct berth_node *node = node_of(plan, c->node_name);
    struct victims victims = {.spare = spare};
    struct berth_status status;
    struct what_if w;
    if (!node || !prepare(plan))
        return false;
    status_init(&status);
    what_if_init(&w, plan->pod, &status);
    enum berth_code code = plan->policy->select(plan->policy->ctx, &w, plan->cycle, node, &victims);
    what_if_release(&w);
    status_release(&status);
    if (code != BERTH_SUCCESS || !victims.pods.n) {
        vec_release(&victims.pods);
        return false;
    }
    *ret = (struct candidate){.node_name = c->node_name,
                              .victims = victims.pods,
                              .pdb_violations = victims.pdb_violations};
    for (size_t i = 0; i < ret->victims.n; i++)
        pod_info_ref(ret->victims.v[i]);
    return true;
}

/* Is there anybody on the node who could leave in the place of one that would be lost? */
static bool has_choice(const struct plan *plan, const struct candidate *c, const pod_list *lost)
{
    const struct berth_node *node = node_of(plan, c->node_name);
    for (size_t i = 0; node && i < node->pods.n; i++)
        for (size_t k = 0; k < lost->n; k++)
            if (node->pods.v[i]->priority == lost->v[k]->priority &&
                !has(&c->victims, node->pods.v[i]) && !has(lost, node->pods.v[i]))
                return true;
    return false;
}

static bool is_for_one_node(const struct candidate *c)
{
    for (size_t i = 0; i < c->victims.n; i++)
        if (!str_eq(c->victims.v[i]->node_name, c->node_name))
            return false;
    return true;
}

/* Judges the candidate, and takes better victims on its node where there are any. */
static void improve(struct plan *plan, struct candidate *c)
{
    pod_list lost = {0}; /* in any round */
    struct candidate other;
    judge(plan, c, &lost);
    bool may = plan->policy && is_for_one_node(c);
    for (int i = 0; may && i < RELOCATION_MAX_ROUNDS && has_choice(plan, c, &lost) && c->lost;
         i++) {
        size_t before = lost.n;
        if (!select_sparing(plan, c, &lost, &other))
            break;
        judge(plan, &other, &lost);
        if (candidate_is_better(&other, c)) {
            struct candidate worse = *c;
            *c = other;
            other = worse;
        }
        candidate_release(&other);
        if (lost.n == before)
            break;
    }
    vec_release(&lost);
}

/* --- all of them ------------------------------------------------------------------------------ */

void victim_relocation_judge(struct berth_cycle *cycle, struct berth_pod *pod,
                             const struct preemption_policy *policy, candidate_list *list)
{
    struct plan plan = {cycle, pod, policy, RELOCATION_MAX_VICTIMS, false};
    struct candidate *best;
    /* Nobody is lost until asked about: whoever is best then, and has been judged, is the best. */
    while (!(best = &list->v[candidates_best(list)])->judged)
        improve(&plan, best);
    (void)prepare(&plan);
}
