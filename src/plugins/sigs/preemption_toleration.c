/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PreemptionToleration of sigs.k8s.io/scheduler-plugins: DefaultPreemption, except that pods whose
 * PriorityClass says so are not evicted for a while (tolerations.h). It replaces DefaultPreemption
 * in a profile.
 */
#include "engine/metrics/scheduler_metrics.h"
#include "plugins/common/plugin_base.h"
#include "plugins/default_preemption/args.h"
#include "plugins/default_preemption/victims.h"
#include "plugins/sigs/tolerations.h"

struct preemption_toleration {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct cluster *cluster;
    int64_t percentage, absolute; /* see struct preemption_policy */
    struct budgets budgets;
    struct tolerations tolerations;
    struct timestamp now; /* of the attempt */
};

static void destroy(void *ctx)
{
    struct preemption_toleration *self = ctx;
    budgets_release(&self->budgets);
    tolerations_release(&self->tolerations);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct preemption_toleration *self = xnew(struct preemption_toleration);
    struct default_preemption_args args;
    struct arena arena;
    self->host = host;
    self->handle = h;
    self->cluster = handle_cluster(h);
    budgets_init(&self->budgets);
    tolerations_init(&self->tolerations);
    host->watch(h, &(struct berth_watch){.struct_size = sizeof(struct berth_watch),
                                         .api_version = BERTH_STR("scheduling.k8s.io/v1"),
                                         .kind = BERTH_STR("PriorityClass"),
                                         .resource = BERTH_STR("priorityclasses"),
                                         .cluster_scoped = true});
    arena_init(&arena, 0);
    int r = plugin_args_read(&preemption_toleration_args_kind, text, &arena, &args, error);
    if (r == 0) {
        self->percentage = *args.min_candidate_nodes_percentage;
        self->absolute = *args.min_candidate_nodes_absolute;
        *ret_self = self;
    } else {
        destroy(self);
    }
    arena_release(&arena);
    return r;
}

/* --- eligibility ------------------------------------------------------------------------------ */

/* Upstream: PodEligibleToPreemptOthers, of a release that did not ask why a pod terminates. */
static bool waits_for_victims(const struct preemption_toleration *self, struct berth_cycle *cycle,
                              const struct berth_pod *pod)
{
    struct str name = preemption_nominated_node(cycle, pod);
    const struct berth_node *node = str_empty(name) ? NULL : preemption_node(cycle, name);
    if (!node || self->host->node_verdict(cycle, node) == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE)
        return false;
    for (size_t i = 0; i < node->pods.n; i++)
        if (node->pods.v[i]->priority < pod->priority &&
            node->pods.v[i]->pod->metadata.deletion_timestamp.set)
            return true;
    return preemption_node_has_room(cycle, pod, node);
}

/* Why the pod may not preempt; NULL: it may. */
static const char *why_not(const struct preemption_toleration *self, struct berth_cycle *cycle,
                           const struct berth_pod *pod)
{
    if (str_is(pod->pod->spec.preemption_policy, PREEMPT_NEVER))
        return "not eligible due to preemptionPolicy=Never.";
    if (waits_for_victims(self, cycle, pod))
        return "not eligible due to a terminating pod on the nominated node.";
    return NULL;
}

/* --- PostFilter ------------------------------------------------------------------------------- */

static enum berth_code may_evict(const struct victim_rules *rules, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, struct berth_status *status)
{
    (void)cycle;
    const struct preemption_toleration *self = rules->ctx;
    if (pod->priority >= rules->pod->priority)
        return BERTH_SKIP;
    switch (tolerations_judge(&self->tolerations, pod->pod, rules->pod->priority, self->now)) {
    case TOLERANCE_NONE:
        return BERTH_SUCCESS;
    case TOLERANCE_YES:
        return BERTH_SKIP;
    case TOLERANCE_NO_CLASS:
        break;
    }
    status_printf(self->host, status, "priorityclass.scheduling.k8s.io \"%.*s\" not found",
                  STR_ARG(pod->pod->spec.priority_class_name));
    return BERTH_ERROR;
}

static const struct victim_hooks hooks = {.may_evict = may_evict};
static const struct preemption_style style = {PREEMPTION_LOGGER("PreemptionToleration"),
                                              .prefix = "", .awaited = true};

static enum berth_code post_filter(void *ctx, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    (void)pod; /* the version of the cycle: upstream reads the latest from its lister */
    struct preemption_toleration *self = ctx;
    const struct berth_pod *newest = preemption_pod(cycle);
    const char *refusal = why_not(self, cycle, newest);
    scheduler_metrics_preemption_attempt(handle_metrics(self->handle));
    if (refusal)
        return preemption_refuse(self->handle, &style, newest, refusal, status);
    self->now = timestamp_of(handle_wall(self->handle));
    budgets_refresh(&self->budgets, &self->cluster->objects);
    tolerations_refresh(&self->tolerations, &self->cluster->objects, handle_log(self->handle));
    struct victim_rules rules = {.pod = newest,
                                 .budgets = &self->budgets,
                                 .cluster = self->cluster,
                                 .log = handle_log(self->handle),
                                 .logger = style.logger,
                                 .hooks = &hooks,
                                 .ctx = self};
    struct preemption_policy policy = {.ctx = &rules,
                                       .style = &style,
                                       .min_percentage = self->percentage,
                                       .min_absolute = self->absolute,
                                       .select = victims_select};
    return preemption_run(cycle, self->handle, &policy, status);
}

const struct berth_plugin preemption_toleration_plugin = {
    PLUGIN_HEAD("PreemptionToleration"), .create = create, .destroy = destroy, .events = no_events,
    .post_filter = post_filter,
};
