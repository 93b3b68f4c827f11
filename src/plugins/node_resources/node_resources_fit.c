/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeResourcesFit: filters nodes by the free amount of each requested resource, and scores them by
 * the configured scoring strategy.
 */
#include "engine/config/features.h"
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_resources/fit_hints.h"
#include "plugins/node_resources/fit_request.h"
#include "plugins/node_resources/resource_scorer.h"
#include "plugins/node_resources/score_log.h"

#define MAX_INSUFFICIENT 32

struct node_resources_fit {
    struct fit_base base; /* first: fit_hints.c reads it */
    struct arena arena;   /* of args */
    struct fit_args args;
    struct resource_scorer scorer, placement_scorer;
    berth_state_key request_key, terms_key;
    berth_reason lack[FIT_LACKS];       /* by bit of enum fit_lack */
    berth_reason lacks[1 << FIT_LACKS]; /* by set of enum fit_lack: the list of reasons */
};

/* --- lifecycle -------------------------------------------------------------------------------- */

static void make_reasons(struct node_resources_fit *self)
{
    static const struct berth_str texts[FIT_LACKS] = {
        {"Too many pods", 13},
        {"Insufficient cpu", 16},
        {"Insufficient memory", 19},
        {"Insufficient ephemeral-storage", 30},
    };
    for (size_t i = 0; i < FIT_LACKS; i++)
        self->lack[i] = self->base.plugin.host->reason(self->base.plugin.handle, texts[i]);
    for (unsigned set = 1; set < ARRAY_LEN(self->lacks); set++) {
        berth_reason list[FIT_LACKS];
        size_t n = 0;
        for (unsigned i = 0; i < FIT_LACKS; i++)
            if (set >> i & 1)
                list[n++] = self->lack[i];
        self->lacks[set] = self->base.plugin.host->reason_list(self->base.plugin.handle, list, n);
    }
}

static void destroy(void *ctx)
{
    struct node_resources_fit *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct node_resources_fit *self = xnew(struct node_resources_fit);
    self->base.plugin.host = host;
    self->base.plugin.handle = h;
    self->base.plugin.log = handle_log(h);
    self->base.classes = extended_classes_shared(host, h);
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&fit_args_kind, text, &self->arena, &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    const struct scoring_strategy *s = self->args.scoring_strategy;
    const struct requested_to_capacity_ratio *ratio = s->requested_to_capacity_ratio;
    shape_list no_shape = {0};
    bool sane = handle_feature(h, FEATURE_BERTH_SANE_SCORES);
    resource_scorer_init(&self->scorer, s->type, s->resources, ratio ? ratio->shape : no_shape,
                         sane);
    resource_scorer_init(&self->placement_scorer, SCORING_MOST_ALLOCATED, s->resources, no_shape,
                         sane);
    scored_resources_use_devices(&self->scorer.resources, host, h);
    self->request_key = host->state_key(h, BERTH_STR("PreFilterNodeResourcesFit"));
    self->terms_key = host->state_key(h, BERTH_STR("PreScoreNodeResourcesFit"));
    make_reasons(self);
    *ret_self = self;
    return 0;
}

/* --- requests --------------------------------------------------------------------------------- */

static bool list_has(const struct str *v, size_t n, struct str s)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(v[i], s))
            return true;
    return false;
}

/* Upstream: ignoredResources and ignoredResourceGroups exclude extended resources. */
static bool is_checked(const void *ctx, struct str name)
{
    const struct fit_args *args = ctx;
    struct str group = str_slice(name, 0, str_find(name, '/'));
    return !resource_is_extended(name) ||
           (!list_has(args->ignored_resources.v, args->ignored_resources.n, name) &&
            !list_has(args->ignored_resource_groups.v, args->ignored_resource_groups.n, group));
}

static berth_reason insufficient(const struct node_resources_fit *self, struct str name)
{
    char text[512];
    int n = snprintf(text, sizeof(text), "Insufficient %.*s", STR_ARG(name));
    struct berth_str reason = {text, MIN((size_t)MAX(n, 0), sizeof(text) - 1)};
    return self->base.plugin.host->reason(self->base.plugin.handle, reason);
}

static void free_request(void *request)
{
    fit_request_free(request);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)status;
    const struct node_resources_fit *self = ctx;
    struct fit_request *request = fit_request_new(pod, is_checked, &self->args);
    fit_request_find_devices(request, self->base.classes);
    for (size_t i = 0; i < request->n; i++)
        request->scalars[i].reason =
            insufficient(self, intern_text(request->names, request->scalars[i].name));
    self->base.plugin.host->state_write(cycle, self->request_key, request, NULL, free_request);
    return BERTH_SUCCESS;
}

/* The profile enables Filter without PreFilter. */
static enum berth_code no_request(const struct node_resources_fit *self,
                                  struct berth_status *status)
{
    self->base.plugin.host->status_text(
        status,
        BERTH_STR("error reading \"PreFilterNodeResourcesFit\" from cycleState: not found"));
    return BERTH_ERROR;
}

/* --- filter ----------------------------------------------------------------------------------- */

/* Scalar resources that a node lacks. */
struct shortage {
    size_t n;
    bool hopeless; /* a request exceeds the whole node: preemption cannot help */
    berth_reason reasons[MAX_INSUFFICIENT];
};

static void find_scalar_shortage(const struct fit_request *want, const struct berth_node *node,
                                 struct shortage *s)
{
    s->n = 0;
    for (size_t i = 0; i < want->n && s->n < MAX_INSUFFICIENT; i++) {
        const struct fit_scalar *scalar = &want->scalars[i];
        int64_t has = resource_scalar(&node->allocatable, scalar->name);
        int64_t used = resource_scalar(&node->requested, scalar->name);
        if (fit_is_delegated(scalar, has) || scalar->amount <= go_sub(has, used))
            continue;
        s->reasons[s->n++] = scalar->reason;
        s->hopeless |= scalar->amount > has;
    }
}

static enum berth_code refusal(bool hopeless)
{
    return hopeless ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE : BERTH_UNSCHEDULABLE;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)pod;
    const struct node_resources_fit *self = ctx;
    const struct fit_request *want = self->base.plugin.host->state_read(cycle, self->request_key);
    if (!want)
        return no_request(self, status);
    const struct fit_amounts amounts = {
        .allocatable_cpu = node->allocatable.milli_cpu,
        .requested_cpu = node->requested.milli_cpu,
        .allocatable_memory = node->allocatable.memory,
        .requested_memory = node->requested.memory,
        .allocatable_ephemeral_storage = node->allocatable.ephemeral_storage,
        .requested_ephemeral_storage = node->requested.ephemeral_storage,
        .allowed_pods = node->allocatable.pods,
        .pods = (int64_t)node->pods.n,
    };
    unsigned lacks = fit_lacks(want, &amounts);
    struct shortage s;
    s.hopeless = fit_is_hopeless(want, &amounts, lacks);
    find_scalar_shortage(want, node, &s);
    for (size_t i = 0; i < FIT_LACKS; i++)
        if (lacks >> i & 1)
            self->base.plugin.host->status_reason(status, self->lack[i]);
    for (size_t i = 0; i < s.n; i++)
        self->base.plugin.host->status_reason(status, s.reasons[i]);
    return lacks || s.n ? refusal(s.hopeless) : BERTH_SUCCESS;
}

static inline struct fit_amounts column_amounts(const struct berth_columns *c, size_t slot)
{
    return (struct fit_amounts){
        .allocatable_cpu = c->allocatable_cpu[slot],
        .requested_cpu = c->requested_cpu[slot],
        .allocatable_memory = c->allocatable_memory[slot],
        .requested_memory = c->requested_memory[slot],
        .allocatable_ephemeral_storage = c->allocatable_ephemeral_storage[slot],
        .requested_ephemeral_storage = c->requested_ephemeral_storage[slot],
        .allowed_pods = c->allocatable_pods[slot],
        .pods = c->pod_count[slot],
    };
}

/* The reasons for resources in the columns, then for scalar resources, as upstream lists them. */
static berth_reason all_reasons(const struct node_resources_fit *self, unsigned lacks,
                                const struct shortage *s)
{
    berth_reason list[FIT_LACKS + MAX_INSUFFICIENT];
    size_t n = 0;
    if (s->n == 0)
        return self->lacks[lacks];
    for (size_t i = 0; i < FIT_LACKS; i++)
        if (lacks >> i & 1)
            list[n++] = self->lack[i];
    for (size_t i = 0; i < s->n; i++)
        list[n++] = s->reasons[i];
    return self->base.plugin.host->reason_list(self->base.plugin.handle, list, n);
}

/* The nodes among the 64 from `slot` on that lack a resource of the columns. */
static uint64_t lacking(const struct fit_request *want, const struct berth_columns *c, size_t slot)
{
    uint64_t bits = 0;
    size_t n = MIN(c->n - slot, 64);
    for (size_t i = 0; i < n; i++) {
        struct fit_amounts amounts = column_amounts(c, slot + i);
        bits |= (uint64_t)(fit_lacks(want, &amounts) != 0) << i;
    }
    return bits;
}

static void refuse_unfit(const struct node_resources_fit *self, const struct fit_request *want,
                         struct berth_filter_batch *batch, size_t word, uint64_t bit)
{
    const struct berth_columns *c = batch->columns;
    size_t slot = word * 64 + (size_t)__builtin_ctzll(bit);
    struct fit_amounts amounts = column_amounts(c, slot);
    unsigned lacks = fit_lacks(want, &amounts);
    struct shortage s;
    s.hopeless = fit_is_hopeless(want, &amounts, lacks);
    find_scalar_shortage(want, c->nodes[slot], &s);
    if (lacks || s.n)
        batch_refuse(batch, word, bit, refusal(s.hopeless), all_reasons(self, lacks, &s));
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    (void)pod;
    const struct node_resources_fit *self = ctx;
    const struct berth_columns *c = batch->columns;
    const struct fit_request *want = self->base.plugin.host->state_read(cycle, self->request_key);
    if (!want)
        return no_request(self, status);
    for (size_t w = 0; w < BITSET_WORDS(c->n); w++) {
        uint64_t left = batch->feasible[w];
        /* Most nodes fit. Scalar resources are not in the columns: then all nodes are checked. */
        if (left && want->n == 0)
            left &= lacking(want, c, w * 64);
        for (; left; left &= left - 1)
            refuse_unfit(self, want, batch, w, left & -left);
    }
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)slots, (void)n, (void)status;
    const struct node_resources_fit *self = ctx;
    const struct scored_resources *resources = &self->scorer.resources;
    struct score_terms *terms =
        self->base.plugin.host->cycle_alloc(cycle, score_terms_size(resources));
    score_terms_fill(terms, resources, pod);
    self->base.plugin.host->state_write(cycle, self->terms_key, terms, NULL, NULL);
    return BERTH_SUCCESS;
}

static struct score_log score_log(const struct node_resources_fit *self,
                                  const struct berth_pod *pod, const struct score_terms *terms)
{
    return (struct score_log){.log = self->base.plugin.log,
                              .logger = LOGGER_SCORE("NodeResourcesFit"),
                              .scorer = resource_scorer_name(&self->scorer),
                              .resources = &self->scorer.resources,
                              .terms = terms,
                              .pod = pod};
}

/* If the profile enables Score without PreScore, every call computes the terms. */
static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)status;
    const struct node_resources_fit *self = ctx;
    struct score_terms *kept = self->base.plugin.host->state_read(cycle, self->terms_key);
    struct score_terms *terms = kept ? kept : score_terms_new(&self->scorer.resources, pod);
    *ret_score = resource_scorer_score(&self->scorer, terms, node);
    if (score_log_on(self->base.plugin.log)) {
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
    const struct node_resources_fit *self = ctx;
    struct score_terms *kept = self->base.plugin.host->state_read(cycle, self->terms_key);
    struct score_terms *terms = kept ? kept : score_terms_new(&self->scorer.resources, pod);
    resource_scorer_score_many(&self->scorer, terms, batch);
    if (score_log_on(self->base.plugin.log)) {
        struct score_log log = score_log(self, pod, terms);
        score_log_batch(&log, batch);
    }
    if (!kept)
        free(terms);
    return BERTH_SUCCESS;
}

static enum berth_code score_placement(void *ctx, const struct berth_cycle *cycle,
                                       const struct berth_pod_group *group,
                                       const struct berth_placement *placement, int64_t *ret_score,
                                       struct berth_status *status)
{
    (void)cycle, (void)group, (void)status;
    const struct node_resources_fit *self = ctx;
    *ret_score = resource_scorer_score_sum(&self->placement_scorer, placement);
    return BERTH_SUCCESS;
}

/* --- registration ----------------------------------------------------------------------------- */

static void events(void *ctx, struct berth_registrar *r)
{
    fit_hints_register(&((const struct node_resources_fit *)ctx)->base, r);
}

const struct berth_plugin node_resources_fit_plugin = {
    PLUGIN_HEAD("NodeResourcesFit"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = pre_filter,
    .filter = filter,
    .filter_many = filter_many,
    .pre_score = pre_score,
    .score = score,
    .score_many = score_many,
    .score_placement = score_placement,
};
