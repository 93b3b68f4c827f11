/* SPDX-License-Identifier: Apache-2.0 */
/*
 * score.c - PreScore, Score and NormalizeScore of InterPodAffinity.
 *
 * The score of a node is the sum of the weights of all terms, of the pod and of running pods, that
 * apply in its domains, summed by topology key and value. Sums wrap, as upstream's do.
 */
#include "plugins/common/go_math.h"
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

/* --- PreScore --------------------------------------------------------------------------------- */

static bool touches(const struct topology *t, const struct slot_counts *pods)
{
    for (size_t i = 0; i < pods->n; i++)
        if (topology_domain(t, pods->slots[i]))
            return true;
    return false;
}

static int64_t *scores_of(struct score_plan *plan, const struct topology *t)
{
    size_t place = topology_places_find(&plan->keys, t);
    if (place != TOPOLOGY_PLACE_NONE)
        return plan->scores.v[place];
    topology_places_add(&plan->keys, t);
    vec_push(&plan->scores, arena_array(&plan->arena, int64_t, t->n_domains));
    return vec_last(&plan->scores);
}

/*
 * Upstream: processTerm. Every pod adds the weight to its domain. A weight of 0 creates an entry,
 * too, which decides between a score of 0 and Skip.
 */
static void add_weight(struct inter_pod_affinity *self, const struct topology *t,
                       const struct slot_counts *pods, int64_t weight)
{
    if (!touches(t, pods))
        return;
    int64_t *scores = scores_of(&self->score, t);
    for (size_t i = 0; i < pods->n; i++) {
        int64_t *score = &scores[topology_domain(t, pods->slots[i])];
        *score = go_add(*score, go_mul(weight, pods->counts[i]));
    }
    scores[0] = 0; /* domain 0: none */
}

/* Upstream multiplies by the sign in 32 bits. */
static int64_t signed_weight(enum affinity_kind kind, int32_t weight)
{
    return kind == AFFINITY_PREFERRED_ANTI ? (int32_t)(0 - (uint32_t)weight) : weight;
}

static void add_own(struct inter_pod_affinity *self, const struct affinity_set *set,
                    enum affinity_kind kind)
{
    for (size_t i = 0; i < set->of[kind].n; i++) {
        const struct affinity_term *term = &set->of[kind].v[i];
        const struct topology *t = topology_of(self, term->topology_key);
        if (topology_is_none(t))
            continue;
        struct pod_term own = own_term(self, term);
        struct pod_selection selection = {.terms = {&own, 1}};
        const struct pod_count *count = pod_counts_get(&self->cluster->pod_counts, &selection);
        add_weight(self, t, &count->slots, signed_weight(kind, term->weight));
    }
}

/* Upstream: processExistingPod. Required affinity counts with hardPodAffinityWeight. */
static void add_existing(struct inter_pod_affinity *self, const struct berth_pod *pod)
{
    vec_clear(&self->found);
    affinity_terms_find(&self->cluster->affinity_terms, AFFINITY_MAY, &pod->pod->metadata,
                        namespace_labels(self, pod->pod), &self->found);
    for (size_t i = 0; i < self->found.n; i++) {
        const struct running_term *running = self->found.v[i];
        bool hard = running->kind == AFFINITY_REQUIRED;
        if (hard && self->hard_weight <= 0)
            continue;
        add_weight(self, topology_of(self, running->term.topology_key), &running->pods,
                   hard ? self->hard_weight : signed_weight(running->kind, running->term.weight));
    }
}

/* Has the pod preferred affinity or anti-affinity terms? */
static bool prefers(const struct pod *pod)
{
    const struct affinity *a = pod->spec.affinity;
    return a && ((a->pod_affinity && a->pod_affinity->preferred.n) ||
                 (a->pod_anti_affinity && a->pod_anti_affinity->preferred.n));
}

static enum berth_code fail_to_parse(const struct inter_pod_affinity *self, struct str error,
                                     struct berth_status *status)
{
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "failed to parse pod: %.*s", STR_ARG(error));
    self->host->status_text(status, abi_str(buf_str(&text)));
    buf_release(&text);
    return BERTH_ERROR;
}

static void begin_plan(struct score_plan *plan)
{
    arena_reset(&plan->arena);
    topology_places_clear(&plan->keys);
    vec_clear(&plan->scores);
}

enum berth_code ipa_pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                              const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)slots;
    (void)n;
    struct inter_pod_affinity *self = ctx;
    struct score_plan *plan = &self->score;
    bool has_own = prefers(pod->pod);
    if (self->ignore_preferred && !has_own)
        return BERTH_SKIP;
    if (pod->affinity && pod->affinity->error.n)
        return fail_to_parse(self, pod->affinity->error, status);
    if (!has_own && !self->cluster->affinity_terms.n[AFFINITY_MAY])
        return BERTH_SKIP;
    begin_plan(plan);
    if (has_own) {
        add_own(self, pod->affinity, AFFINITY_PREFERRED);
        add_own(self, pod->affinity, AFFINITY_PREFERRED_ANTI);
    }
    add_existing(self, pod);
    if (!plan->scores.n)
        return BERTH_SKIP;
    plan->attempt = ++self->attempts;
    uint64_t *whose = self->host->cycle_alloc(cycle, sizeof(*whose));
    *whose = plan->attempt;
    self->host->state_write(cycle, self->score_state, whose, NULL, NULL);
    return BERTH_SUCCESS;
}

/* --- Score ------------------------------------------------------------------------------------ */

static bool has_plan(const struct inter_pod_affinity *self, const struct berth_cycle *cycle,
                     struct berth_status *status)
{
    const uint64_t *whose = self->host->state_read(cycle, self->score_state);
    if (whose && *whose == self->score.attempt)
        return true;
    self->host->status_text(
        status, BERTH_STR("failed to read \"PreScoreInterPodAffinity\" from cycleState: not "
                          "found"));
    return false;
}

enum berth_code ipa_score(void *ctx, const struct berth_cycle *cycle, const struct berth_pod *pod,
                          const struct berth_node *node, int64_t *ret_score,
                          struct berth_status *status)
{
    (void)pod;
    const struct inter_pod_affinity *self = ctx;
    int64_t score = 0;
    if (!has_plan(self, cycle, status))
        return BERTH_ERROR;
    for (size_t i = 0; i < self->score.scores.n; i++) {
        uint32_t domain = topology_domain(self->score.keys.all.v[i], node->slot);
        score = go_add(score, self->score.scores.v[i][domain]);
    }
    *ret_score = score;
    return BERTH_SUCCESS;
}

static void add_scores(const struct topology *t, const int64_t *by_domain,
                       struct berth_score_batch *batch)
{
    const uint32_t *domain = t->domain;
    /* A column of a topology is as long as the cache's. */
    for (size_t i = 0; domain && i < batch->n; i++)
        batch->scores[i] = go_add(batch->scores[i], by_domain[domain[batch->slots[i]]]);
    for (size_t i = 0; !domain && i < batch->n; i++)
        batch->scores[i] = go_add(batch->scores[i], by_domain[topology_domain(t, batch->slots[i])]);
}

enum berth_code ipa_score_many(void *ctx, const struct berth_cycle *cycle,
                               const struct berth_pod *pod, struct berth_score_batch *batch,
                               struct berth_status *status)
{
    (void)pod;
    const struct inter_pod_affinity *self = ctx;
    if (!has_plan(self, cycle, status))
        return BERTH_ERROR;
    memset(batch->scores, 0, batch->n * sizeof(*batch->scores));
    for (size_t k = 0; k < self->score.scores.n; k++)
        add_scores(self->score.keys.all.v[k], self->score.scores.v[k], batch);
    return BERTH_SUCCESS;
}

/* --- NormalizeScore --------------------------------------------------------------------------- */

/* Many nodes have the same score: its percentage is cached, since a division is slow. */
#define KNOWN 64

struct known_percent {
    int64_t above, percent;
};

/* Upstream: the position of a score between the lowest and the highest, in percent. */
static int64_t percent(struct known_percent *known, int64_t above, int64_t spread)
{
    struct known_percent *at =
        &known[(uint64_t)above * UINT64_C(0x9e3779b97f4a7c15) / (UINT64_MAX / KNOWN + 1)];
    if (at->above != above) {
        at->above = above;
        at->percent = (int64_t)(MAX_NODE_SCORE * ((double)above / (double)spread));
    }
    return at->percent;
}

enum berth_code ipa_normalize(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const uint32_t *slots, int64_t *scores,
                              size_t n, struct berth_status *status)
{
    (void)pod;
    (void)slots;
    int64_t lowest = INT64_MAX, highest = INT64_MIN;
    if (!has_plan(ctx, cycle, status))
        return BERTH_ERROR;
    for (size_t i = 0; i < n; i++) {
        lowest = MIN(lowest, scores[i]);
        highest = MAX(highest, scores[i]);
    }
    int64_t spread = go_sub(highest, lowest);
    struct known_percent known[KNOWN] = {0}; /* the lowest scores 0 */
    for (size_t i = 0; i < n; i++)
        scores[i] = spread > 0 ? percent(known, scores[i] - lowest, spread) : 0;
    return BERTH_SUCCESS;
}
