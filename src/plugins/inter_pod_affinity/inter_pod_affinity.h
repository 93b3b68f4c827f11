/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inter_pod_affinity.h - internals of InterPodAffinity.
 *
 * Purpose:   filter.c and what_if.c filter, score.c scores, hints.c has the queueing hints,
 * plugin.c has arguments and registration. Ownership: one instance per profile. Plans are as long
 * as the cluster has nodes, and only the current attempt needs them: an instance has one of each
 * and reuses it. The cycle state holds the number of the attempt that a plan belongs to. Threading:
 * plans are written on the engine's thread and read by the pool's threads.
 */
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H
#define BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H

#include "engine/index/cluster.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/inter_pod_affinity/topology_places.h"

/* Why a node is rejected, in the order of upstream's Filter. */
enum refusal {
    REFUSAL_AFFINITY,      /* a required affinity term is not satisfied */
    REFUSAL_ANTI_AFFINITY, /* a required anti-affinity term selects a pod in its domain */
    REFUSAL_EXISTING,      /* the anti-affinity of a pod in its domain selects the pod */
    REFUSALS,
};

/* Pods by topology key and domain (upstream: topologyToMatchedTermCount); see what_if.c. */
struct pair_counts {
    struct topology_places keys;
    VEC(struct key_counts) counts; /* by place of the key */
    size_t n_pairs;                /* pairs of key and domain that have pods */
};

/*
 * The pending pod's terms of one kind, with the namespaces that their selectors match, and without
 * terms whose topology key no node carries.
 */
struct own_terms {
    LIST(struct pod_term) terms;
    struct topology **topologies; /* by term */
};

/* The result of PreFilter. */
struct filter_plan {
    uint64_t attempt;
    struct arena arena; /* of everything below */
    struct own_terms required, anti;
    bool unreachable;  /* a required term has a topology key that no node carries */
    bool may_be_first; /* the pod matches its own required affinity */
    size_t n_slots;
    uint64_t *refused[REFUSALS];     /* sets of slots; undefined for slots without a node */
    bool counted;                    /* counts are computed for the first "what if" */
    const str_map *namespace_labels; /* of the pending pod's namespace; set with the counts */
    struct pair_counts counts[REFUSALS];
};

/* The result of PreScore. */
struct score_plan {
    uint64_t attempt;
    struct arena arena;
    struct topology_places keys; /* keys with a score for some node */
    VEC(int64_t *) scores;       /* by place of the key: the sum of weights by domain; [0] is 0 */
};

struct inter_pod_affinity_args {
    struct args_meta meta;
    int32_t *hard_pod_affinity_weight;
    bool ignore_preferred_terms_of_existing_pods;
};

struct inter_pod_affinity {
    const struct berth_host *host;
    struct berth_handle *handle;
    const struct engine_log *log;
    struct cluster *cluster;
    int32_t hard_weight;
    bool ignore_preferred; /* of existing pods, if the pending pod has no preferred terms */
    bool exact_namespaces; /* FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS */
    berth_reason reasons[REFUSALS];
    berth_state_key filter_state, score_state;
    uint64_t attempts;
    struct filter_plan filter;
    struct score_plan score;
    running_terms found; /* scratch */
};

/* --- own_terms.c ------------------------------------------------------------------------------ */

/* The pods that a term of the pending pod selects. Valid for this attempt. */
struct pod_term own_term(struct inter_pod_affinity *self, const struct affinity_term *term);
/* All terms of a kind; set NULL: none. False: no node carries the topology key of some. */
bool own_terms_make(struct inter_pod_affinity *self, const struct affinity_set *set,
                    enum affinity_kind kind, struct arena *a, struct own_terms *ret_own);
/* The labels of a pod's namespace; empty if the namespace is unknown. */
const str_map *namespace_labels(const struct inter_pod_affinity *self, const struct pod *pod);
struct topology *topology_of(const struct inter_pod_affinity *self, struct str key);

/* --- extension points ------------------------------------------------------------------------- */

enum berth_code ipa_pre_filter(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_status *status);
enum berth_code ipa_add_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                            const struct berth_pod *other, const struct berth_node *node,
                            struct berth_status *status);
enum berth_code ipa_remove_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status);
enum berth_code ipa_filter(void *self, const struct berth_cycle *cycle, const struct berth_pod *pod,
                           const struct berth_node *node, struct berth_status *status);
enum berth_code ipa_filter_many(void *self, const struct berth_cycle *cycle,
                                const struct berth_pod *pod, struct berth_filter_batch *batch,
                                struct berth_status *status);

enum berth_code ipa_pre_score(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              const uint32_t *slots, size_t n, struct berth_status *status);
enum berth_code ipa_score(void *self, const struct berth_cycle *cycle, const struct berth_pod *pod,
                          const struct berth_node *node, int64_t *ret_score,
                          struct berth_status *status);
enum berth_code ipa_score_many(void *self, const struct berth_cycle *cycle,
                               const struct berth_pod *pod, struct berth_score_batch *batch,
                               struct berth_status *status);
enum berth_code ipa_normalize(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const uint32_t *slots, int64_t *scores,
                              size_t n, struct berth_status *status);

enum berth_hint ipa_after_pod_change(void *self, const struct berth_pod *pod,
                                     const struct berth_object *before,
                                     const struct berth_object *after);
enum berth_hint ipa_after_node_change(void *self, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after);

/* --- what_if.c -------------------------------------------------------------------------------- */

/* The cycle state: the attempt, and the pods added and removed since PreFilter. */
struct filter_state {
    struct inter_pod_affinity *self;
    uint64_t attempt;
    VEC(struct count_change *) changes;
    struct map by_key;  /* → struct count_change; empty while there are few */
    struct arena arena; /* of the changes */
};

struct filter_state *filter_state_new(struct inter_pod_affinity *self, uint64_t attempt);
void *filter_state_clone(const void *state);
void filter_state_free(void *state);
/* NULL, with *status set, if PreFilter has not run. */
struct filter_state *filter_state_read(const struct inter_pod_affinity *self,
                                       const struct berth_cycle *cycle,
                                       struct berth_status *status);
/* The verdict with all pods added and removed; REFUSALS: the node passes. */
enum refusal what_if_refusal(const struct filter_state *state, const struct berth_node *node);

#endif
