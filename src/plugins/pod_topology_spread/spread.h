/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spread.h - internals of PodTopologySpread.
 *
 * Purpose:   the plugin's instance, the compiled constraints of a pod, and pods and nodes by
 *            topology domain.
 * Ownership: data about a pod lives in the arena of its cycle state.
 * Threading: as in include/berth/plugin.h; cycle state is written in pre_filter and pre_score and
 *            read afterwards.
 */
#ifndef BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_H
#define BERTH_PLUGINS_POD_TOPOLOGY_SPREAD_SPREAD_H

#include "api/node_selector.h"
#include "engine/index/cluster.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

typedef LIST(struct topology_spread_constraint) spread_constraint_list;

/* PodTopologySpreadArgs. */
struct spread_args {
    struct args_meta meta;
    spread_constraint_list default_constraints;
    struct str defaulting_type;
};

struct spread {
    const struct berth_host *host;
    const struct engine_log *log;
    struct cluster *cluster;
    struct arena arena; /* of the arguments */
    spread_constraint_list defaults;
    bool system_defaults;
    bool match_label_keys, comparison_operators; /* feature gates */
    berth_reason mismatch, missing_label;
    berth_state_key filter_key, score_key;
    struct buf key; /* scratch */
};

/* --- constraints ------------------------------------------------------------------------------ */

struct spread_constraint {
    struct str topology_key;
    struct selector selector;
    int32_t max_skew, min_domains;
    bool honor_affinity, honor_taints; /* nodes that the pod cannot use do not count (upstream:
                                        * matchNodeInclusionPolicies) */
};

struct spread_constraints {
    LIST(struct spread_constraint) list;
};

/* Upstream: the hostname key is scored by the pods of each node, not by the label's value. */
static inline bool spread_is_per_node(const struct spread_constraint *c)
{
    return str_is(c->topology_key, LABEL_HOSTNAME);
}

enum spread_action { SPREAD_DO_NOT_SCHEDULE, SPREAD_SCHEDULE_ANYWAY };

/*
 * The pod's constraints with that action, or the default constraints if it has none at all
 * (upstream: getConstraints). -EINVAL, with the error appended to *why, if a selector is invalid.
 */
int spread_constraints_compile(struct spread *self, const struct pod *pod,
                               enum spread_action action, struct arena *a,
                               struct spread_constraints *ret_constraints,
                               struct buf *why) MUST_CHECK;
/* A pod and a node: caches whether the pod can use the node. */
struct spread_usable {
    const struct pod *pod;
    const struct node *node;
    enum { SPREAD_UNKNOWN, SPREAD_NO, SPREAD_YES } affinity, taints;
};
/* Do the constraint's nodeAffinityPolicy and nodeTaintsPolicy count the node? */
bool spread_node_counts(const struct spread *self, const struct spread_constraint *c,
                        struct spread_usable *usable);

/* --- pods by domain --------------------------------------------------------------------------- */

/* The cluster as one constraint counts it. */
struct spread_domains {
    struct topology *topology;
    struct pod_count *pods; /* pods that match; NULL: the selector matches none */
    /* By domain, over the nodes that count; counts is 0 where nodes is 0. */
    const uint32_t *counts, *nodes;
    size_t n;      /* length of the arrays */
    size_t n_used; /* domains that have nodes */
};

struct spread_scope {
    struct spread_constraints constraints;
    const struct berth_pod *pod;
    bool all_keys;   /* only nodes that have every key count */
    bool for_scores; /* constraints that are scored by node need no domains */
};

/*
 * Fills one struct spread_domains for each constraint. False: no node carries a required key, so
 * that no node counts; then only the topologies are set.
 */
bool spread_domains_fill(struct spread *self, const struct spread_scope *scope, struct arena *a,
                         struct spread_domains *out);

/* --- extension points ------------------------------------------------------------------------- */

enum berth_code spread_pre_filter(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status);
enum berth_code spread_add_pod(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status);
enum berth_code spread_remove_pod(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status);
enum berth_code spread_filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status);
enum berth_code spread_filter_many(void *self, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status);
enum berth_code spread_pre_score(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status);
enum berth_code spread_score(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status);
enum berth_code spread_score_many(void *self, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status);
enum berth_code spread_normalize(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status);
void spread_events(void *self, struct berth_registrar *r);

/* An error "doing: why". */
enum berth_code spread_fail(const struct spread *self, struct berth_status *status,
                            const char *doing, const struct buf *why);

#endif
