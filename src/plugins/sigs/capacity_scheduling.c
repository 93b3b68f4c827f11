/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CapacityScheduling of sigs.k8s.io/scheduler-plugins: the ElasticQuota of a namespace guarantees
 * min, and lets its pods borrow what other namespaces do not use, up to max. A pod of a namespace
 * below its min takes back what was lent: PostFilter evicts pods of namespaces that borrow. Pods
 * with and without a quota do not evict each other.
 */
#include "engine/metrics/scheduler_metrics.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/default_preemption/victims.h"
#include "plugins/sigs/quota_view.h"

struct capacity_scheduling {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct cluster *cluster;
    struct quotas *quotas;
    berth_state_key key;
    struct budgets budgets;
};

static void destroy(void *ctx)
{
    struct capacity_scheduling *self = ctx;
    budgets_release(&self->budgets);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args, (void)error; /* upstream has no arguments and reads none */
    struct capacity_scheduling *self = xnew(struct capacity_scheduling);
    self->host = host;
    self->handle = h;
    self->cluster = handle_cluster(h);
    self->quotas = host->shared(h, &quotas_type);
    self->key = host->state_key(h, BERTH_STR("PreFilterCapacityScheduling"));
    budgets_init(&self->budgets);
    *ret_self = self;
    return 0;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct capacity_scheduling *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, NULL);
    self->host->register_event(r, self->host->lister_resource(self->quotas->lister),
                               BERTH_ACTION_ALL, NULL);
}

static struct quota_view *view_of(const struct capacity_scheduling *self,
                                  const struct berth_cycle *cycle)
{
    return self->host->state_read(cycle, self->key);
}

/* --- PreFilter -------------------------------------------------------------------------------- */

struct nominated {
    const struct berth_pod *pod;
    struct quota_view *view;
    struct arena *arena;
};

/*
 * Upstream: nominated pods of the same namespace count if they are as important, those of others if
 * their quota does not borrow.
 */
static void count_nominated(void *ctx, const struct berth_pod *other)
{
    struct nominated *n = ctx;
    const struct pod *pod = other->pod;
    const struct quota *quota = quotas_find(n->view->quotas, pod->metadata.namespace);
    bool same = str_eq(pod->metadata.namespace, n->pod->pod->metadata.namespace);
    struct resources request;
    if (!quota || str_eq(pod_info_key(other), pod_info_key(n->pod)))
        return;
    if (same ? other->priority < n->pod->priority : quota_borrows(n->view->quotas, quota, NULL))
        return;
    quota_request(pod, n->arena, &request);
    if (same)
        quota_request_add(&n->view->in_quota, &request, n->arena);
    quota_request_add(&n->view->in_all, &request, n->arena);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    struct capacity_scheduling *self = ctx;
    const struct object_meta *meta = &pod->pod->metadata;
    quotas_refresh(self->quotas);
    struct quota_view *view = quota_view_new(self->quotas);
    const struct quota *quota = quotas_find(self->quotas, meta->namespace);
    self->host->state_write(cycle, self->key, view, quota_view_clone, quota_view_free);
    quota_request(pod->pod, &cycle->arena, &view->request);
    if (!quota)
        return BERTH_SUCCESS;
    view->in_quota = view->in_all = view->request;
    self->host->nominated_pods(self->handle, BERTH_STR(""), count_nominated,
                               &(struct nominated){pod, view, &cycle->arena});
    if (quota_exceeds_max(self->quotas, quota, NULL, &view->in_quota)) {
        status_printf(self->host, status,
                      "Pod %.*s/%.*s is rejected in PreFilter because ElasticQuota %.*s is more "
                      "than Max",
                      STR_ARG(meta->namespace), STR_ARG(meta->name), STR_ARG(meta->namespace));
        return BERTH_UNSCHEDULABLE;
    }
    if (quotas_exceed_min(self->quotas, NULL, &view->in_all)) {
        status_printf(self->host, status,
                      "Pod %.*s/%.*s is rejected in PreFilter because total ElasticQuota used is "
                      "more than min",
                      STR_ARG(meta->namespace), STR_ARG(meta->name));
        return BERTH_UNSCHEDULABLE;
    }
    return BERTH_SUCCESS;
}

static enum berth_code add_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    (void)pod, (void)node, (void)status;
    quota_view_add(view_of(ctx, cycle), other->pod, &cycle->arena);
    return BERTH_SUCCESS;
}

static enum berth_code remove_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_pod *other, const struct berth_node *node,
                                  struct berth_status *status)
{
    (void)pod, (void)node, (void)status;
    quota_view_remove(view_of(ctx, cycle), other->pod);
    return BERTH_SUCCESS;
}

/* --- victims ---------------------------------------------------------------------------------- */

/* Would the preemptor's quota use more than its min? Then it takes nothing back from others. */
static bool preemptor_borrows(const struct quota_view *view, const struct quota *quota)
{
    return quota_exceeds_min(view->quotas, quota, quota_view_change(view, quota->namespace),
                             &view->in_quota);
}

/*
 * May the preemptor take the room of this pod? borrows: what preemptor_borrows says.
 */
static bool gives_way(const struct quota_view *view, const struct berth_pod *preemptor,
                      bool borrows, const struct berth_pod *pod)
{
    struct str namespace = pod->pod->metadata.namespace;
    const struct quota *quota = quotas_find(view->quotas, namespace);
    bool has_quota = quotas_find(view->quotas, preemptor->pod->metadata.namespace) != NULL;
    bool lower = pod->priority < preemptor->priority;
    if (!has_quota || !quota)
        return !has_quota && !quota && lower;
    if (str_eq(namespace, preemptor->pod->metadata.namespace))
        return lower;
    return !borrows && quota_borrows(view->quotas, quota, quota_view_change(view, namespace));
}

/* What is constant during the dry run of a node. */
struct capacity_rules {
    const struct capacity_scheduling *self;
    const struct quota *quota; /* the preemptor's; NULL: it has none */
    bool borrows;
};

static enum berth_code may_evict(const struct victim_rules *rules, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, struct berth_status *status)
{
    (void)status;
    const struct capacity_rules *own = rules->ctx;
    const struct quota_view *view = view_of(own->self, cycle);
    /* Within its min a preemptor takes from others only, beyond it from its own namespace. */
    if (own->quota && !own->borrows &&
        str_eq(pod->pod->metadata.namespace, rules->pod->pod->metadata.namespace))
        return BERTH_SKIP;
    return gives_way(view, rules->pod, own->borrows, pod) ? BERTH_SUCCESS : BERTH_SKIP;
}

/* Do the quotas refuse the request, as far as the dry run has come? */
static bool is_refused(const struct capacity_rules *own, const struct quota_view *view,
                       const struct resources *in_quota, const struct resources *in_all)
{
    return own->quota &&
           (quota_exceeds_max(view->quotas, own->quota,
                              quota_view_change(view, own->quota->namespace), in_quota) ||
            quotas_exceed_min(view->quotas, &view->change, in_all));
}

static const char *why_not(const struct victim_rules *rules, const struct berth_cycle *cycle)
{
    const struct capacity_rules *own = rules->ctx;
    const struct quota_view *view = view_of(own->self, cycle);
    return is_refused(own, view, &view->request, &view->request) ? "global quota max exceeded"
                                                                 : NULL;
}

static bool may_stay(const struct victim_rules *rules, const struct berth_cycle *cycle)
{
    const struct capacity_rules *own = rules->ctx;
    const struct quota_view *view = view_of(own->self, cycle);
    return !is_refused(own, view, &view->in_quota, &view->in_all);
}

static const struct victim_hooks hooks = {
    .may_evict = may_evict,
    .least_important_first = true,
    .why_not = why_not,
    .may_stay = may_stay,
};

/* --- PostFilter ------------------------------------------------------------------------------- */

static const struct preemption_style style = {PREEMPTION_LOGGER("CapacityScheduling"), .prefix = "",
                                              .awaited = true, .from_first = true};

/* Is a pod on the nominated node terminating whose room the preemptor will get? */
static bool waits_for_victims(const struct capacity_scheduling *self, struct berth_cycle *cycle,
                              const struct berth_pod *pod, bool borrows)
{
    const struct quota_view *view = view_of(self, cycle);
    struct str name = preemption_nominated_node(cycle, pod);
    const struct berth_node *node = str_empty(name) ? NULL : preemption_node(cycle, name);
    if (!node || self->host->node_verdict(cycle, node) == BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE)
        return false;
    for (size_t i = 0; i < node->pods.n; i++)
        if (node->pods.v[i]->pod->metadata.deletion_timestamp.set &&
            gives_way(view, pod, borrows, node->pods.v[i]))
            return true;
    return preemption_node_has_room(cycle, pod, node);
}

/* Why the pod may not preempt; NULL: it may. */
static const char *why_not_eligible(const struct capacity_rules *own, struct berth_cycle *cycle,
                                    const struct berth_pod *pod)
{
    if (str_is(pod->pod->spec.preemption_policy, PREEMPT_NEVER))
        return "not eligible due to preemptionPolicy=Never.";
    if (!view_of(own->self, cycle))
        return "not eligible due to failed to read from cycleState";
    if (waits_for_victims(own->self, cycle, pod, own->borrows))
        return "not eligible due to a terminating pod on the nominated node.";
    return NULL;
}

static enum berth_code post_filter(void *ctx, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    (void)pod; /* the version of the cycle: upstream reads the latest from its lister */
    struct capacity_scheduling *self = ctx;
    const struct berth_pod *newest = preemption_pod(cycle);
    const struct quota_view *view = view_of(self, cycle);
    struct capacity_rules own = {
        .self = self, .quota = quotas_find(self->quotas, newest->pod->metadata.namespace)};
    own.borrows = own.quota && view && preemptor_borrows(view, own.quota);
    const char *refusal = why_not_eligible(&own, cycle, newest);
    scheduler_metrics_preemption_attempt(handle_metrics(self->handle));
    if (refusal)
        return preemption_refuse(self->handle, &style, newest, refusal, status);
    budgets_refresh(&self->budgets, &self->cluster->objects);
    struct victim_rules rules = {.pod = newest,
                                 .budgets = &self->budgets,
                                 .cluster = self->cluster,
                                 .log = handle_log(self->handle),
                                 .logger = style.logger,
                                 .hooks = &hooks,
                                 .ctx = &own};
    struct preemption_policy policy = {
        .ctx = &rules, .style = &style, .min_percentage = 100, .select = victims_select};
    return preemption_run(cycle, self->handle, &policy, status);
}

/* --- Reserve ---------------------------------------------------------------------------------- */

static enum berth_code reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    (void)cycle, (void)node_name, (void)status;
    struct capacity_scheduling *self = ctx;
    quotas_add_pod(self->quotas, pod->pod);
    return BERTH_SUCCESS;
}

static void unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle, (void)node_name;
    struct capacity_scheduling *self = ctx;
    quotas_remove_pod(self->quotas, pod->pod);
}

const struct berth_plugin capacity_scheduling_plugin = {
    PLUGIN_HEAD("CapacityScheduling"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = pre_filter,
    .add_pod = add_pod,
    .remove_pod = remove_pod,
    .post_filter = post_filter,
    .reserve = reserve,
    .unreserve = unreserve,
};
