/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_scorer.c - upstream: least_allocated.go, most_allocated.go,
 * requested_to_capacity_ratio.go.
 *
 * The score is the average of the resources' scores by weight. The columns are scored with the same
 * arithmetic as single nodes.
 */
#include "plugins/node_resources/resource_scorer.h"

#include <math.h>

#include "engine/group/placements.h"
#include "plugins/common/plugin_base.h"

/* Shapes have scores from 0 to 10. */

/* --- one resource ----------------------------------------------------------------------------- */

/* Amounts up to this can be multiplied by a score without overflow. */
#define TAME_MAX (INT64_MAX / 128)

/* 0 <= requested <= capacity, 0 < capacity <= TAME_MAX: unsigned, negative amounts are huge. */
static inline bool is_tame(int64_t requested, int64_t capacity)
{
    return (uint64_t)requested <= (uint64_t)capacity && (uint64_t)capacity - 1 < TAME_MAX;
}

/*
 * part * 100 / whole, for 0 <= part <= whole <= TAME_MAX, whole > 0. The quotient of doubles is
 * several times faster than that of 64-bit integers. It is at most 100 with an error below
 * 100 * 3 * 2^-53, so truncation is wrong by at most one, which the remainder shows.
 */
static inline int64_t percent(int64_t part, int64_t whole)
{
    int64_t scaled = part * MAX_NODE_SCORE;
    int64_t quotient = (int64_t)((double)scaled / (double)whole);
    int64_t rest = scaled - quotient * whole;
    return quotient + (rest >= whole) - (rest < 0);
}

/*
 * (part - subtract) * 100 / whole for any amounts: wrapping as upstream's, or with `sane` exact and
 * clamped. Not inlined: it would slow down the loops over nodes.
 */
__attribute__((cold, noinline)) static int64_t odd_percent(int64_t part, int64_t subtract,
                                                           int64_t whole, bool sane)
{
    __extension__ typedef __int128 wide;
    if (!sane)
        return go_div(go_mul(go_sub(part, subtract), MAX_NODE_SCORE), whole);
    if (whole <= 0)
        return 0;
    wide score = ((wide)part - subtract) * MAX_NODE_SCORE / whole;
    return (int64_t)MIN(MAX(score, 0), (wide)MAX_NODE_SCORE);
}

static inline int64_t score_least(int64_t requested, int64_t capacity, bool sane)
{
    if (LIKELY(is_tame(requested, capacity)))
        return percent(capacity - requested, capacity);
    return requested > capacity ? 0 : odd_percent(capacity, requested, capacity, sane);
}

static inline int64_t score_most(int64_t requested, int64_t capacity, bool sane)
{
    /* Upstream: requested may exceed capacity, since containers without requests get defaults. */
    requested = MIN(requested, capacity);
    if (LIKELY(is_tame(requested, capacity)))
        return percent(requested, capacity);
    return odd_percent(requested, 0, capacity, sane);
}

static inline int64_t score_ratio(const struct resource_scorer *s, int64_t requested,
                                  int64_t capacity)
{
    int64_t utilization = 100;
    if (LIKELY(is_tame(requested, capacity)))
        utilization = percent(requested, capacity);
    else if (requested <= capacity && (capacity > 0 || !s->sane))
        utilization = odd_percent(requested, 0, capacity, s->sane);
    return s->ratio_scores[MIN(MAX(utilization, 0), 100)];
}

/* --- several resources ------------------------------------------------------------------------ */

struct tally {
    int64_t sum, weights;
};

static inline void add(struct tally *t, int64_t score, int64_t weight)
{
    t->sum = go_add(t->sum, go_mul(score, weight));
    t->weights = go_add(t->weights, weight);
}

/* type is s->type: a constant in loops that are specialized for one type. */
static inline void add_resource(const struct resource_scorer *s, enum scoring_type type,
                                struct tally *t, struct term_amounts amounts,
                                const struct score_term *term)
{
    int64_t capacity = amounts.allocatable, score;
    int64_t requested = go_add(amounts.allocated, term->request), weight = term->weight;
    if (capacity == 0)
        return;
    switch (type) {
    case SCORING_LEAST_ALLOCATED:
        add(t, score_least(requested, capacity, s->sane), weight);
        break;
    case SCORING_MOST_ALLOCATED:
        add(t, score_most(requested, capacity, s->sane), weight);
        break;
    case SCORING_REQUESTED_TO_CAPACITY_RATIO:
        score = score_ratio(s, requested, capacity);
        /* Upstream: RequestedToCapacityRatio ignores resources with a score of 0. */
        if (score > 0)
            add(t, score, weight);
        break;
    }
}

/* Upstream: math.Round, halves upwards. */
static int64_t rounded(const struct tally *t)
{
    /* Small numbers: integer arithmetic has the same result. */
    if (t->sum >= 0 && t->sum < INT32_MAX && t->weights > 0 && t->weights < INT32_MAX)
        return (2 * t->sum + t->weights) / (2 * t->weights);
    return go_int64(round((double)t->sum / (double)t->weights));
}

static inline int64_t mean(const struct resource_scorer *s, enum scoring_type type,
                           const struct tally *t)
{
    int64_t score;
    if (t->weights == 0)
        return 0;
    if (type == SCORING_REQUESTED_TO_CAPACITY_RATIO)
        score = rounded(t);
    else if (LIKELY((uint64_t)t->sum <= UINT32_MAX && (uint64_t)t->weights <= UINT32_MAX))
        return (uint32_t)t->sum / (uint32_t)t->weights; /* the narrow division is faster */
    else
        score = go_div(t->sum, t->weights);
    return s->sane ? MIN(MAX(score, 0), MAX_NODE_SCORE) : score;
}

/* --- nodes ------------------------------------------------------------------------------------ */

void resource_scorer_init(struct resource_scorer *s, enum scoring_type type,
                          resource_spec_list resources, shape_list shape, bool sane)
{
    static const struct resource_gates no_gates = {0};
    *s = (struct resource_scorer){.type = type, .sane = sane};
    scored_resources_init(&s->resources, resources, true, &no_gates);
    for (size_t i = 0; shape.n && i < ARRAY_LEN(s->ratio_scores); i++)
        s->ratio_scores[i] = shape_at(&shape, (int32_t)i);
}

const char *resource_scorer_name(const struct resource_scorer *s)
{
    switch (s->type) {
    case SCORING_LEAST_ALLOCATED:
        return "LeastAllocated";
    case SCORING_MOST_ALLOCATED:
        return "MostAllocated";
    case SCORING_REQUESTED_TO_CAPACITY_RATIO:
        break;
    }
    return "RequestedToCapacityRatio";
}

int64_t resource_scorer_score(const struct resource_scorer *s, const struct score_terms *terms,
                              const struct berth_node *node)
{
    struct tally tally = {0};
    for (size_t i = 0; i < terms->n; i++)
        add_resource(s, s->type, &tally, node_amounts(&terms->v[i], node), &terms->v[i]);
    return mean(s, s->type, &tally);
}

/* Specialized by type: the loop has no branch on it. */
__attribute__((always_inline)) static inline void score_columns(const struct resource_scorer *s,
                                                                enum scoring_type type,
                                                                const struct score_terms *terms,
                                                                const struct term_column *columns,
                                                                struct berth_score_batch *batch)
{
    for (size_t i = 0; i < batch->n; i++) {
        struct tally tally = {0};
        for (size_t k = 0; k < terms->n; k++)
            add_resource(s, type, &tally, term_column_at(&columns[k], batch->slots[i]),
                         &terms->v[k]);
        batch->scores[i] = mean(s, type, &tally);
    }
}

void resource_scorer_score_many(const struct resource_scorer *s, const struct score_terms *terms,
                                struct berth_score_batch *batch)
{
    struct term_column columns[TERM_COLUMNS_MAX];
    if (!score_terms_columns(terms, batch->columns, columns)) {
        for (size_t i = 0; i < batch->n; i++)
            batch->scores[i] =
                resource_scorer_score(s, terms, batch->columns->nodes[batch->slots[i]]);
        return;
    }
    switch (s->type) {
    case SCORING_LEAST_ALLOCATED:
        score_columns(s, SCORING_LEAST_ALLOCATED, terms, columns, batch);
        break;
    case SCORING_MOST_ALLOCATED:
        score_columns(s, SCORING_MOST_ALLOCATED, terms, columns, batch);
        break;
    case SCORING_REQUESTED_TO_CAPACITY_RATIO:
        score_columns(s, SCORING_REQUESTED_TO_CAPACITY_RATIO, terms, columns, batch);
        break;
    }
}

static bool same_resource(const struct score_term *a, const struct score_term *b)
{
    return a->source == b->source && (a->source != TERM_SCALAR || a->name == b->name);
}

static void add_requests(struct score_terms *sum, const struct score_terms *pod)
{
    for (size_t i = 0; i < sum->n; i++)
        for (size_t k = 0; k < pod->n; k++)
            if (same_resource(&sum->v[i], &pod->v[k]))
                sum->v[i].request = go_add(sum->v[i].request, pod->v[k].request);
}

/* The resources of the placement's nodes, with the sum of the proposed pods' requests. */
static struct score_terms *proposed(const struct resource_scorer *s,
                                    const struct berth_placement *placement)
{
    struct score_terms *sum = xcalloc(1, score_terms_size(&s->resources));
    for (size_t i = 0; i < s->resources.list.n; i++)
        sum->n += score_term_init(&sum->v[sum->n], &s->resources, i, placement->nodes[0]->names);
    for (size_t i = 0; i < placement->n_pods; i++) {
        struct score_terms *pod = score_terms_new(&s->resources, placement->pods[i].pod);
        add_requests(sum, pod);
        free(pod);
    }
    return sum;
}

static struct term_amounts sum_amounts(const struct score_term *term,
                                       const struct berth_placement *placement)
{
    struct term_amounts sum = {0};
    for (size_t i = 0; i < placement->n; i++) {
        struct term_amounts one = node_amounts(term, placement->nodes[i]);
        if (one.allocatable == 0)
            continue;
        sum.allocatable = go_add(sum.allocatable, one.allocatable);
        sum.allocated = go_add(sum.allocated, one.allocated);
    }
    return sum;
}

int64_t resource_scorer_score_sum(const struct resource_scorer *s,
                                  const struct berth_placement *placement)
{
    struct tally tally = {0};
    struct score_terms *terms = placement->n ? proposed(s, placement) : NULL;
    for (size_t i = 0; terms && i < terms->n; i++) {
        const struct score_term *term = &terms->v[i];
        /* Scalar resources that no pod requests are not scored. */
        if (term->source != TERM_SCALAR || term->request != 0)
            add_resource(s, s->type, &tally, sum_amounts(term, placement), term);
    }
    free(terms);
    return mean(s, s->type, &tally);
}
