/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LowRiskOverCommitment of sigs.k8s.io/scheduler-plugins: prefers nodes where it is unlikely that
 * pods use more than they requested. Two risks are weighed: limits that go beyond the node, and a
 * measured load that goes beyond the requests.
 */
#include <math.h>

#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/beta.h"
#include "plugins/sigs/load_source.h"
#include "plugins/sigs/load_stats.h"

/* Of the largest variance that a load of some mean can have: beyond it nothing can be fitted. */
#define MAX_VARIANCE_PART 0.99

/* --- arguments -------------------------------------------------------------------------------- */

struct risk_weight {
    struct str key;
    double value;
};

struct commitment_args {
    struct args_meta meta;
    struct load_spec spec;
    int64_t *smoothing_window_size;
    LIST(struct risk_weight) risk_limit_weights;
};

static const struct field weight_fields[] = {
    F_ONE(struct risk_weight, key, "key", 1, STR),
    F_ONE(struct risk_weight, value, "value", 2, DOUBLE),
};
static const struct type weight_type = TYPE("RiskLimitWeight", struct risk_weight, weight_fields);

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct commitment_args),
    LOAD_SPEC_FIELDS(struct commitment_args),
    F_PTR(struct commitment_args, smoothing_window_size, "smoothingWindowSize", 0, INT64),
    F_MAP(struct commitment_args, risk_limit_weights, "riskLimitWeights", 0, struct risk_weight,
          &weight_type),
};
static const struct type args_type =
    TYPE("LowRiskOverCommitmentArgs", struct commitment_args, args_fields);

static void fill(void *ctx, struct arena *a)
{
    struct commitment_args *args = ctx;
    load_spec_fill(&args->spec, a);
    if (!args->smoothing_window_size || *args->smoothing_window_size <= 0) {
        args->smoothing_window_size = arena_new(a, int64_t);
        *args->smoothing_window_size = 5;
    }
    if (!args->risk_limit_weights.n) {
        args->risk_limit_weights.v = arena_array(a, struct risk_weight, 2);
        args->risk_limit_weights.n = 2;
        args->risk_limit_weights.v[0] = (struct risk_weight){STR("cpu"), 0.5};
        args->risk_limit_weights.v[1] = (struct risk_weight){STR("memory"), 0.5};
    }
    for (size_t i = 0; i < args->risk_limit_weights.n; i++) {
        double *weight = &args->risk_limit_weights.v[i].value;
        if (*weight < 0 || *weight > 1)
            *weight = 0.5;
    }
}

static void check(const void *ctx, struct error_list *c)
{
    const struct commitment_args *args = ctx;
    load_spec_check(&args->spec, c);
}

const struct args_kind low_risk_over_commitment_args_kind = {
    .plugin = "LowRiskOverCommitment",
    .name = "LowRiskOverCommitmentArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

/* The sums of a node's pods, of the generation in which they were made. */
struct node_sums {
    uint64_t generation;
    const struct berth_node *node;
    struct pod_amounts sums;
};

struct commitment {
    const struct berth_host *host;
    struct load_source *source;
    berth_state_key key;
    double window;                 /* over how many measurements a deviation was smoothed */
    double weight[LOAD_RESOURCES]; /* of the risk of limits; the rest is that of the load */
    VEC(struct node_sums) sums;    /* by slot */
};

static void destroy(void *ctx)
{
    struct commitment *self = ctx;
    load_source_close(self->source);
    vec_release(&self->sums);
    free(self);
}

static void take_weights(struct commitment *self, const struct commitment_args *args)
{
    self->weight[LOAD_CPU] = self->weight[LOAD_MEMORY] = 0.5;
    for (size_t i = 0; i < args->risk_limit_weights.n; i++) {
        const struct risk_weight *w = &args->risk_limit_weights.v[i];
        if (str_is(w->key, "cpu"))
            self->weight[LOAD_CPU] = w->value;
        else if (str_is(w->key, "memory"))
            self->weight[LOAD_MEMORY] = w->value;
    }
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct commitment_args args;
    struct arena a;
    arena_init(&a, 0);
    int r = plugin_args_read(&low_risk_over_commitment_args_kind, text, &a, &args, error);
    if (r == 0) {
        struct commitment *self = xnew(struct commitment);
        self->host = host;
        self->key = host->state_key(h, BERTH_STR("LowRiskOverCommitment.PodResources"));
        self->window = (double)*args.smoothing_window_size;
        take_weights(self, &args);
        self->source = load_source_open(host, h, &args.spec);
        *ret_self = self;
    }
    arena_release(&a);
    return r;
}

/* --- sums of nodes ---------------------------------------------------------------------------- */

static struct pod_amounts sum_pods(const struct berth_node *node)
{
    struct pod_amounts sum = {0};
    for (size_t i = 0; i < node->pods.n; i++) {
        struct pod_amounts pod = pod_amounts_of(node->pods.v[i]->pod);
        for (int k = 0; k < LOAD_RESOURCES; k++) {
            sum.requests.v[k] = go_add(sum.requests.v[k], pod.requests.v[k]);
            sum.limits.v[k] = go_add(sum.limits.v[k], pod.limits.v[k]);
        }
    }
    return sum;
}

/* Only nodes that changed are summed up again. */
static void refresh(struct commitment *self, const struct berth_node *node)
{
    while (self->sums.n <= node->slot)
        vec_push(&self->sums, (struct node_sums){0});
    struct node_sums *s = &self->sums.v[node->slot];
    if (s->node == node && s->generation == node->generation)
        return;
    *s = (struct node_sums){node->generation, node, sum_pods(node)};
}

static struct pod_amounts sums_of(const struct commitment *self, const struct berth_node *node)
{
    const struct node_sums *s = node->slot < self->sums.n ? &self->sums.v[node->slot] : NULL;
    if (s && s->node == node && s->generation == node->generation)
        return s->sums;
    return sum_pods(node);
}

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)status;
    struct commitment *self = ctx;
    const struct berth_columns *columns = self->host->columns(cycle);
    struct pod_amounts *amounts = self->host->cycle_alloc(cycle, sizeof(*amounts));
    *amounts = pod_amounts_of(pod->pod);
    self->host->state_write(cycle, self->key, amounts, NULL, NULL);
    for (size_t i = 0; i < n; i++)
        refresh(self, columns->nodes[slots[i]]);
    return BERTH_SUCCESS;
}

/* --- scores ----------------------------------------------------------------------------------- */

/* The requests and limits of one resource on a node. */
struct committed {
    int64_t capacity;
    int64_t request, limit;         /* with the pod */
    int64_t request_now, limit_now; /* without it */
};

/* How likely the load stays below what the pods on the node requested. */
static double probability_below(double mu, double sigma, const struct committed *c)
{
    struct beta beta;
    double requested = fmin(fmax((double)c->request_now / (double)c->capacity, 0), 1);
    bool fitted = false;
    double p;
    if (mu == 0 || (sigma == 0 && mu <= requested))
        p = 1;
    else if (sigma == 0 || !beta_fit(mu, sigma, &beta))
        p = 0;
    else {
        fitted = true;
        p = beta_below(&beta, requested);
    }
    /* The load does not go beyond the limits. */
    if (c->limit_now < c->capacity && c->request_now <= c->limit_now) {
        double limit = (double)c->limit_now / (double)c->capacity;
        double below_limit = fitted && limit != 0 ? beta_below(&beta, limit) : 0;
        if (limit == 0)
            p = 1;
        else if (below_limit > 0)
            p = fmin(fmax(p / below_limit, 0), 1);
    }
    return p;
}

static double risk_of_load(const struct commitment *self, const struct load_stats *stats,
                           const struct committed *c)
{
    struct load_moments m = load_moments_of(stats);
    double max_variance = m.mu > 0 && m.mu < 1 ? m.mu * (1 - m.mu) : 0;
    double sigma = fmin(m.sigma * sqrt(self->window), sqrt(max_variance * MAX_VARIANCE_PART));
    return 1 - probability_below(m.mu, sigma, c);
}

static double risk_of(const struct commitment *self, const struct node_load *load,
                      const struct node *node, const struct committed *c,
                      enum load_resource resource)
{
    double of_limits = 0, of_load = 0, weight = self->weight[resource];
    struct load_stats stats;
    if (c->limit > c->capacity)
        of_limits = (double)(c->limit - c->capacity) / (double)(c->limit - c->request);
    if (load_stats_of(load, node, 0, resource, &stats))
        of_load = risk_of_load(self, &stats, c);
    return fmin(fmax(weight * of_limits + (1 - weight) * of_load, 0), 1);
}

static bool is_best_effort(const struct pod_amounts *pod)
{
    return !pod->requests.v[LOAD_CPU] && !pod->requests.v[LOAD_MEMORY] &&
           !pod->limits.v[LOAD_CPU] && !pod->limits.v[LOAD_MEMORY];
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)status;
    const struct commitment *self = ctx;
    const struct node_load *load = load_source_node(self->source, str_of(node->name));
    const struct pod_amounts *kept = self->host->state_read(cycle, self->key);
    struct pod_amounts mine = kept ? *kept : pod_amounts_of(pod->pod);
    *ret_score = 0;
    if (!load || !load->any || is_best_effort(&mine))
        return BERTH_SUCCESS;
    struct pod_amounts sums = sums_of(self, node);
    double risk = 0;
    for (int k = 0; k < LOAD_RESOURCES; k++) {
        int64_t capacity =
            quantity_map_amount(&node->node->status.allocatable, (enum load_resource)k);
        struct committed c = {
            .capacity = capacity,
            .request = MIN(go_add(sums.requests.v[k], mine.requests.v[k]), capacity),
            .limit = go_add(sums.limits.v[k], mine.limits.v[k]),
            .request_now = MIN(sums.requests.v[k], capacity),
            .limit_now = sums.limits.v[k],
        };
        risk = fmax(risk, risk_of(self, load, node->node, &c, (enum load_resource)k));
    }
    *ret_score = go_int64(round((1 - risk) * MAX_NODE_SCORE));
    return BERTH_SUCCESS;
}

const struct berth_plugin low_risk_over_commitment_plugin = {
    PLUGIN_HEAD("LowRiskOverCommitment"),
    .create = create,
    .destroy = destroy,
    .events = no_events,
    .pre_score = pre_score,
    .score = score,
};
