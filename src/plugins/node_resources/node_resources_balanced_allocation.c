/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourcesBalancedAllocation: prefers nodes on which the pod makes the utilization of
 * resources more even.
 *
 * Scores must equal upstream's exactly: the operations on doubles are upstream's, in its order,
 * each rounded by itself.
 */
#include <math.h>

#include "engine/config/features.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_resources/fit_request.h"
#include "plugins/node_resources/score_log.h"

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF /* gcc does not contract in ISO mode */
#endif

struct balanced_allocation {
    const struct berth_host *host;
    const struct engine_log *log;
    struct arena arena; /* holds the arguments */
    struct scored_resources resources;
    berth_state_key state;
    bool sane;
};

static void destroy(void *ctx)
{
    struct balanced_allocation *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct balanced_allocation *self = xnew(struct balanced_allocation);
    struct balanced_allocation_args args;
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&balanced_allocation_args_kind, text, &self->arena, &args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->host = host;
    self->log = handle_log(h);
    self->state = host->state_key(h, BERTH_STR("PreScoreNodeResourcesBalancedAllocation"));
    self->sane = handle_feature(h, FEATURE_BERTH_SANE_SCORES);
    scored_resources_init(&self->resources, args.resources, false, &RESOURCE_GATES_DEFAULT);
    scored_resources_use_devices(&self->resources, host, h);
    *ret_self = self;
    return 0;
}

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)slots, (void)n, (void)status;
    const struct balanced_allocation *self = ctx;
    struct score_terms *terms = self->host->cycle_alloc(cycle, score_terms_size(&self->resources));
    score_terms_fill(terms, &self->resources, pod);
    /* Upstream skips pods without requests: all of them would score the same node best. */
    if (terms->best_effort)
        return BERTH_SKIP;
    self->host->state_write(cycle, self->state, terms, NULL, NULL);
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

/* The used fraction of a resource, at most 1. */
static inline double fraction(int64_t requested, int64_t allocatable, bool sane)
{
    double f = (double)requested / (double)allocatable;
    if (f > 1)
        f = 1;
    return sane && f < 0 ? 0 : f;
}

/* The fractions of one node: their sum in the order of the terms, and the first two. */
struct fractions {
    double first, second, total;
    size_t n;
};

static inline void add(struct fractions *f, double value)
{
    if (f->n == 0)
        f->first = value;
    else
        f->second = value;
    f->total += value;
    f->n++;
}

/* With the pod and without it. */
struct change {
    struct fractions with, without;
};

static inline void add_term(struct change *c, struct term_amounts amounts,
                            const struct score_term *term, bool sane)
{
    int64_t has = amounts.allocatable, used = amounts.allocated;
    if (has == 0)
        return;
    add(&c->with, fraction(go_add(used, term->request), has, sane));
    add(&c->without, fraction(used, has, sane));
}

static inline int64_t balance(double deviation)
{
    return go_int64((1 - deviation) * (double)MAX_NODE_SCORE);
}

/* Upstream: balancedResourceScorer. 50: as uneven as possible, 75: no change, 100: as even. */
static inline int64_t improvement(int64_t with, int64_t without)
{
    return MAX_NODE_SCORE / 2 + go_sub(go_add(MAX_NODE_SCORE / 2, with), without) / 2;
}

/* The standard deviation of two fractions. */
static inline double half_apart(double a, double b)
{
    return fabs((a - b) / 2);
}

/* Of at most two fractions. */
static inline double deviation_of_few(const struct fractions *f)
{
    return f->n == 2 ? half_apart(f->first, f->second) : 0;
}

/* Of more than two fractions; with_pod adds the pod's requests. */
static double deviation(const struct balanced_allocation *self, const struct score_terms *terms,
                        const struct berth_node *node, const struct fractions *f, bool with_pod)
{
    double mean = f->total / (double)f->n, sum = 0;
    for (size_t i = 0; i < terms->n; i++) {
        struct term_amounts amounts = node_amounts(&terms->v[i], node);
        int64_t request = with_pod ? terms->v[i].request : 0;
        if (amounts.allocatable == 0)
            continue;
        double distance =
            fraction(go_add(amounts.allocated, request), amounts.allocatable, self->sane) - mean;
        sum = sum + distance * distance;
    }
    return sqrt(sum / (double)f->n);
}

static int64_t score_node(const struct balanced_allocation *self, const struct score_terms *terms,
                          const struct berth_node *node)
{
    struct change c = {0};
    for (size_t i = 0; i < terms->n; i++)
        add_term(&c, node_amounts(&terms->v[i], node), &terms->v[i], self->sane);
    if (c.with.n <= 2)
        return improvement(balance(deviation_of_few(&c.with)),
                           balance(deviation_of_few(&c.without)));
    return improvement(balance(deviation(self, terms, node, &c.with, true)),
                       balance(deviation(self, terms, node, &c.without, false)));
}

/* Two resources, the default: four divisions per node. */
static inline int64_t score_two(const struct score_term *terms, struct term_amounts a,
                                struct term_amounts b, bool sane)
{
    if (a.allocatable == 0 || b.allocatable == 0)
        return improvement(balance(0), balance(0));
    double with_a = fraction(go_add(a.allocated, terms[0].request), a.allocatable, sane);
    double with_b = fraction(go_add(b.allocated, terms[1].request), b.allocatable, sane);
    double without_a = fraction(a.allocated, a.allocatable, sane);
    double without_b = fraction(b.allocated, b.allocatable, sane);
    return improvement(balance(half_apart(with_a, with_b)),
                       balance(half_apart(without_a, without_b)));
}

static void score_columns(const struct balanced_allocation *self, const struct score_terms *terms,
                          const struct term_column *columns, struct berth_score_batch *batch)
{
    struct term_column a = columns[0], b = columns[1];
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = score_two(terms->v, term_column_at(&a, batch->slots[i]),
                                     term_column_at(&b, batch->slots[i]), self->sane);
}

static struct score_log score_log(const struct balanced_allocation *self,
                                  const struct berth_pod *pod, const struct score_terms *terms)
{
    return (struct score_log){.log = self->log,
                              .logger = LOGGER_SCORE("NodeResourcesBalancedAllocation"),
                              .scorer = "NodeResourcesBalancedAllocation",
                              .resources = &self->resources,
                              .terms = terms,
                              .pod = pod};
}

/* If the profile enables Score without PreScore, a pod without requests scores 0. */
static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)status;
    const struct balanced_allocation *self = ctx;
    struct score_terms *kept = self->host->state_read(cycle, self->state);
    struct score_terms *terms = kept ? kept : score_terms_new(&self->resources, pod);
    *ret_score = terms->best_effort ? 0 : score_node(self, terms, node);
    if (score_log_on(self->log)) {
        struct score_log log = score_log(self, pod, terms);
        score_log_node(&log, node, *ret_score);
    }
    if (!kept)
        free(terms);
    return BERTH_SUCCESS;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)status;
    const struct balanced_allocation *self = ctx;
    struct score_terms *kept = self->host->state_read(cycle, self->state);
    struct score_terms *terms = kept ? kept : score_terms_new(&self->resources, pod);
    struct term_column columns[TERM_COLUMNS_MAX];
    if (terms->best_effort)
        memset(batch->scores, 0, batch->n * sizeof(int64_t));
    else if (terms->n == 2 && score_terms_columns(terms, batch->columns, columns))
        score_columns(self, terms, columns, batch);
    else
        for (size_t i = 0; i < batch->n; i++)
            batch->scores[i] = score_node(self, terms, batch->columns->nodes[batch->slots[i]]);
    if (score_log_on(self->log)) {
        struct score_log log = score_log(self, pod, terms);
        score_log_batch(&log, batch);
    }
    if (!kept)
        free(terms);
    return BERTH_SUCCESS;
}

const struct berth_plugin node_resources_balanced_allocation_plugin = {
    PLUGIN_HEAD("NodeResourcesBalancedAllocation"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .pre_score = pre_score,
    .score = score,
    .score_many = score_many,
};
