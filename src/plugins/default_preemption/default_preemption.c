/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DefaultPreemption: evicts pods of lower priority for a pod that fits no node. The engine searches
 * nodes and evicts (engine/preempt/preemption.h); the plugin decides which pods may preempt, how
 * many candidates are searched for and, in victims.c, which pods are victims.
 */
#include "api/scheduling.h"
#include "engine/framework/framework.h"
#include "engine/metrics/scheduler_metrics.h"
#include "engine/preempt/preemption.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/default_preemption/args.h"
#include "plugins/default_preemption/cross_node_preemption.h"

struct default_preemption {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct cluster *cluster;
    int64_t percentage, absolute; /* see struct preemption_policy */
    bool async;
    bool by_placement; /* placement-based pod group scheduling */
    bool as_group;     /* pod groups preempt as a whole */
    bool wide;         /* victims may be on several nodes */
    berth_reason no_victims, waiting, group_waiting;
    struct budgets budgets;
    struct group_preemption_policy group_policy;
};

/* --- lifecycle -------------------------------------------------------------------------------- */

static int read_args(struct default_preemption *self, struct berth_str text,
                     struct berth_error *error)
{
    struct default_preemption_args args;
    struct arena arena;
    arena_init(&arena, 0);
    int r = plugin_args_read(&default_preemption_args_kind, text, &arena, &args, error);
    if (r == 0) {
        self->percentage = *args.min_candidate_nodes_percentage;
        self->absolute = *args.min_candidate_nodes_absolute;
    }
    arena_release(&arena);
    return r;
}

static void destroy(void *ctx)
{
    struct default_preemption *self = ctx;
    budgets_release(&self->budgets);
    free(self);
}

static size_t split_victims(void *ctx, struct group_victim **victims, size_t n)
{
    struct default_preemption *self = ctx;
    budgets_refresh(&self->budgets, &self->cluster->objects);
    return budgets_split_victims(&self->budgets, victims, n);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct default_preemption *self = xnew(struct default_preemption);
    self->host = host;
    self->handle = h;
    self->cluster = handle_cluster(h);
    self->async = handle_feature(h, FEATURE_SCHEDULER_ASYNC_PREEMPTION);
    self->by_placement = handle_feature(h, FEATURE_TOPOLOGY_AWARE_WORKLOAD_SCHEDULING);
    self->as_group = handle_feature(h, FEATURE_WORKLOAD_AWARE_PREEMPTION);
    self->group_policy = (struct group_preemption_policy){self, split_victims};
    group_preemption_offer(h, &self->group_policy);
    self->wide = handle_feature(h, FEATURE_BERTH_WIDE_PREEMPTION);
    self->no_victims = host->reason(h, BERTH_STR("No preemption victims found for incoming pod"));
    self->waiting =
        host->reason(h, BERTH_STR("waiting for the preemption for this pod to be finished"));
    self->group_waiting =
        host->reason(h, BERTH_STR("waiting for the preemption for this pod group to be finished"));
    budgets_init(&self->budgets);
    int r = read_args(self, args, error);
    if (r < 0)
        destroy(self);
    else
        *ret_self = self;
    return r;
}

/* --- queue ------------------------------------------------------------------------------------ */

/* NULL if there is none. */
static const struct pod_group *group_of(const struct default_preemption *self,
                                        const struct pod *pod)
{
    struct object *o = objects_get(&self->cluster->objects, KIND_POD_GROUP, pod->metadata.namespace,
                                   pod_group_of(pod));
    return o ? object_pod_group(o) : NULL;
}

static bool is_blocked(const struct default_preemption *self, const struct berth_pod *pod,
                       bool as_group)
{
    if (!as_group)
        return preemption_blocks(self->handle, pod);
    const struct pod_group *group = group_of(self, pod->pod);
    return group && group_preemption_blocks(self->handle, group->metadata.uid);
}

static enum berth_code pre_enqueue(void *ctx, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    const struct default_preemption *self = ctx;
    bool as_group = self->as_group && pod->pod->spec.scheduling_group;
    if (!self->async || !is_blocked(self, pod, as_group))
        return BERTH_SUCCESS;
    self->host->status_reason(status, as_group ? self->group_waiting : self->waiting);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/*
 * Upstream: the event wakes a gated pod; whether it is schedulable then depends on the hints of the
 * plugins that rejected it.
 */
static enum berth_hint after_pod_deleted(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)ctx;
    (void)pod;
    (void)before;
    (void)after;
    return BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct default_preemption *self = ctx;
    if (self->async)
        self->host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, after_pod_deleted);
}

/* --- eligibility ------------------------------------------------------------------------------ */

/* Upstream: PodEligibleToPreemptOthers. Is a victim of the pod on its nominated node terminating?
 */
static bool waits_for_victims(const struct default_preemption *self, struct berth_cycle *cycle,
                              const struct berth_pod *pod)
{
    struct str name = preemption_nominated_node(cycle, pod);
    const struct berth_node *node = str_empty(name) ? NULL : preemption_node(cycle, name);
    /* If the nominated node became unresolvable, the pod may preempt elsewhere. */
    if (!node || self->host->node_verdict(cycle, node) == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE)
        return false;
    for (size_t i = 0; i < node->pods.n; i++)
        if (node->pods.v[i]->priority < pod->priority && pod_leaves_by_preemption(node->pods.v[i]))
            return true;
    if (self->wide && cross_node_preemption_waits(self->cluster, pod, node))
        return true;
    return preemption_node_has_room(cycle, pod, node);
}

/* Why a member of a pod group may not preempt on its own; NULL: it may. */
static const char *why_not_member(const struct default_preemption *self, const struct pod *pod)
{
    if (self->by_placement) {
        const struct pod_group *group = group_of(self, pod);
        if (!group)
            return "preemption: pod group for pod not found";
        if (group->spec.scheduling_constraints)
            return "preemption: not eligible due to placement-based pod group scheduling "
                   "limitation";
    }
    return self->as_group ? "preemption: not eligible due to workload aware preemption enabled"
                          : NULL;
}

/* Why the pod may not preempt; NULL: it may. */
static const char *why_not(const struct default_preemption *self, struct berth_cycle *cycle,
                           const struct berth_pod *pod)
{
    const char *refusal = pod->pod->spec.scheduling_group ? why_not_member(self, pod->pod) : NULL;
    if (refusal)
        return refusal;
    if (str_is(pod->pod->spec.preemption_policy, PREEMPT_NEVER))
        return "preemption: not eligible due to preemptionPolicy=Never.";
    if (waits_for_victims(self, cycle, pod))
        return "preemption: not eligible due to a terminating pod on the nominated node.";
    return NULL;
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static const struct preemption_style style = {PREEMPTION_LOGGER("DefaultPreemption"),
                                              .prefix = "preemption: "};

static enum berth_code post_filter(void *ctx, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    (void)pod; /* the version of the cycle: upstream reads the latest from its lister */
    struct default_preemption *self = ctx;
    const struct berth_pod *newest = preemption_pod(cycle);
    const char *refusal = why_not(self, cycle, newest);
    scheduler_metrics_preemption_attempt(handle_metrics(self->handle));
    if (refusal)
        return preemption_refuse(self->handle, &style, newest, refusal, status);
    budgets_refresh(&self->budgets, &self->cluster->objects);
    struct victim_rules rules = {.pod = newest,
                                 .budgets = &self->budgets,
                                 .none = self->no_victims,
                                 .cluster = self->cluster,
                                 .log = handle_log(self->handle),
                                 .logger = style.logger};
    struct preemption_policy policy = {.ctx = &rules,
                                       .style = &style,
                                       .min_percentage = self->percentage,
                                       .min_absolute = self->absolute,
                                       .select = victims_select,
                                       .widen = self->wide ? cross_node_preemption_find : NULL};
    return preemption_run(cycle, self->handle, &policy, status);
}

const struct berth_plugin default_preemption_plugin = {
    PLUGIN_HEAD("DefaultPreemption"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_enqueue = pre_enqueue,
    .post_filter = post_filter,
};
