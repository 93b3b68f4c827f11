/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inter_pod_affinity.h - what the files of InterPodAffinity share.
 *
 * Purpose:   filter.c and what_if.c decide where a pod may go, score.c where it is liked best,
 *            hints.c when to try again; plugin.c puts them together.
 * Ownership: one instance for each profile. The plans are as long as the cluster is large, and only
 *            the attempt under way needs them: an instance has one of each and uses it again. The
 *            cycle state says whose attempt they are about.
 * Threading: plans are made on the engine's thread and read by the pool's.
 */
#ifndef BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H
#define BERTH_PLUGINS_INTER_POD_AFFINITY_INTER_POD_AFFINITY_H

#include "engine/index/cluster.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/inter_pod_affinity/topology_places.h"

/* Why a node is refused, in the order in which it is looked at. */
enum refusal {
    REFUSAL_AFFINITY,      /* none of the pods that it wants to be near is there */
    REFUSAL_ANTI_AFFINITY, /* a pod is there that it wants to be far from */
    REFUSAL_EXISTING,      /* a pod is there that wants to be far from it */
    REFUSALS,
};

/* Pods by domain of the topology keys in question; see what_if.c. */
struct pair_counts {
    struct topology_places keys;
    VEC(struct key_counts) counts; /* by place of the key */
    size_t n_pairs;                /* of key and value that have pods */
};

/*
 * The waiting pod's own terms of one kind, namespaces told by their labels included, and without
 * those whose topology key no node carries.
 */
struct own_terms {
    LIST(struct pod_term) terms;
    struct topology **topologies; /* by term */
};

/* What PreFilter found out. */
struct filter_plan {
    uint64_t attempt;
    struct arena arena; /* all of the below */
    struct own_terms required, anti;
    bool unreachable;  /* a required term has a topology key that no node carries */
    bool may_be_first; /* it satisfies its own required affinity */
    size_t n_slots;
    uint64_t *refused[REFUSALS]; /* sets of slots; of nodes that are not there they say nothing */
    bool counted;                /* counts are made when the first "what if" is asked */
    const str_map *namespace_labels; /* of the waiting pod's namespace; with the counts */
    struct pair_counts counts[REFUSALS];
};

/* What PreScore found out. */
struct score_plan {
    uint64_t attempt;
    struct arena arena;
    struct topology_places keys; /* those that say something about any node */
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
    bool ignore_preferred; /* of pods that run, where the waiting pod prefers nothing */
    bool exact_namespaces; /* FEATURE_BERTH_EXACT_NAMESPACE_SELECTORS */
    berth_reason reasons[REFUSALS];
    berth_state_key filter_state, score_state;
    uint64_t attempts;
    struct filter_plan filter;
    struct score_plan score;
    running_terms found; /* scratch */
};

/* --- own_terms.c ------------------------------------------------------------------------------ */

/* The pods that a waiting pod's term means. Valid for this attempt. */
struct pod_term own_term(struct inter_pod_affinity *self, const struct affinity_term *term);
/* All of a kind; set NULL: none. False: some have a topology key that no node carries. */
bool own_terms_make(struct inter_pod_affinity *self, const struct affinity_set *set,
                    enum affinity_kind kind, struct arena *a, struct own_terms *ret_own);
/* The labels of a pod's namespace; none where the namespace is not known. */
const str_map *namespace_labels(const struct inter_pod_affinity *self, const struct pod *pod);
struct topology *topology_of(const struct inter_pod_affinity *self, struct str key);

/* --- the extension points --------------------------------------------------------------------- */

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

/* The cycle state: whose plan it is, and what has come and gone since PreFilter. */
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
/* NULL, and *status filled, where PreFilter has not run. */
struct filter_state *filter_state_read(const struct inter_pod_affinity *self,
                                       const struct berth_cycle *cycle,
                                       struct berth_status *status);
/* The verdict with everything that has come and gone; REFUSALS: the node is fine. */
enum refusal what_if_refusal(const struct filter_state *state, const struct berth_node *node);

#endif
