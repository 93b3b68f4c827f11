/* SPDX-License-Identifier: Apache-2.0 */
/*
 * InterPodAffinity: podAffinity and podAntiAffinity of the pending pod, and of the pods that run.
 */
#include "plugins/inter_pod_affinity/inter_pod_affinity.h"

#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"

#define DEFAULT_HARD_WEIGHT 1
#define MAX_HARD_WEIGHT     100

/* --- arguments -------------------------------------------------------------------------------- */

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct inter_pod_affinity_args),
    F_PTR(struct inter_pod_affinity_args, hard_pod_affinity_weight, "hardPodAffinityWeight", 0,
          INT32),
    F_ALWAYS(struct inter_pod_affinity_args, ignore_preferred_terms_of_existing_pods,
             "ignorePreferredTermsOfExistingPods", 0, BOOL),
};
static const struct type args_type =
    TYPE("InterPodAffinityArgs", struct inter_pod_affinity_args, args_fields);

static void fill_args(void *ctx, struct arena *a)
{
    struct inter_pod_affinity_args *args = ctx;
    if (!args->hard_pod_affinity_weight) {
        args->hard_pod_affinity_weight = arena_new(a, int32_t);
        *args->hard_pod_affinity_weight = DEFAULT_HARD_WEIGHT;
    }
}

static void check_args(const void *ctx, struct error_list *c)
{
    int32_t weight = *((const struct inter_pod_affinity_args *)ctx)->hard_pod_affinity_weight;
    if (weight < 0 || weight > MAX_HARD_WEIGHT)
        error_list_add(c, "hardPodAffinityWeight: Invalid value: %d: not in valid range [0, %d]",
                       (int)weight, MAX_HARD_WEIGHT);
}

const struct args_kind inter_pod_affinity_args_kind = {
    .plugin = "InterPodAffinity",
    .name = "InterPodAffinityArgs",
    .type = &args_type,
    .fill = fill_args,
    .check = check_args,
};

static int read_args(struct inter_pod_affinity *self, struct berth_str text,
                     struct berth_error *error)
{
    struct inter_pod_affinity_args args;
    struct arena arena;
    arena_init(&arena, 0);
    int r = plugin_args_read(&inter_pod_affinity_args_kind, text, &arena, &args, error);
    if (r == 0) {
        self->hard_weight = *args.hard_pod_affinity_weight;
        self->ignore_preferred = args.ignore_preferred_terms_of_existing_pods;
    }
    arena_release(&arena);
    return r;
}

/* --- lifecycle -------------------------------------------------------------------------------- */

static void destroy(void *ctx)
{
    struct inter_pod_affinity *self = ctx;
    for (int i = 0; i < REFUSALS; i++) {
        topology_places_release(&self->filter.counts[i].keys);
        vec_release(&self->filter.counts[i].counts);
    }
    arena_release(&self->filter.arena);
    topology_places_release(&self->score.keys);
    vec_release(&self->score.scores);
    arena_release(&self->score.arena);
    vec_release(&self->found);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    static const struct berth_str texts[REFUSALS] = {
        [REFUSAL_AFFINITY] = {"node(s) didn't match pod affinity rules", 39},
        [REFUSAL_ANTI_AFFINITY] = {"node(s) didn't match pod anti-affinity rules", 44},
        [REFUSAL_EXISTING] = {"node(s) didn't satisfy existing pods anti-affinity rules", 56},
    };
    struct inter_pod_affinity *self = xnew(struct inter_pod_affinity);
    self->host = host;
    self->handle = h;
    self->log = handle_log(h);
    arena_init(&self->filter.arena, 0);
    arena_init(&self->score.arena, 0);
    int r = read_args(self, args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->cluster = handle_cluster(h);
    self->exact_namespaces = handle_feature(h, FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS);
    for (int i = 0; i < REFUSALS; i++)
        self->reasons[i] = host->reason(h, texts[i]);
    self->filter_state = host->state_key(h, BERTH_STR("PreFilterInterPodAffinity"));
    self->score_state = host->state_key(h, BERTH_STR("PreScoreInterPodAffinity"));
    *ret_self = self;
    return 0;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct inter_pod_affinity *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_POD,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_POD_LABEL |
                                   BERTH_ACTION_DELETE,
                               ipa_after_pod_change);
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL,
                               ipa_after_node_change);
}

const struct berth_plugin inter_pod_affinity_plugin = {
    PLUGIN_HEAD("InterPodAffinity"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = ipa_pre_filter,
    .add_pod = ipa_add_pod,
    .remove_pod = ipa_remove_pod,
    .filter = ipa_filter,
    .filter_many = ipa_filter_many,
    .pre_score = ipa_pre_score,
    .score = ipa_score,
    .score_many = ipa_score_many,
    .normalize = ipa_normalize,
};
