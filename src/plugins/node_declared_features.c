/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NodeDeclaredFeatures: rejects nodes that do not declare a kubelet feature that the pod needs.
 * Without its feature gate the plugin does nothing, even if a profile enables it.
 */
#include "engine/framework/framework.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

struct declared_features {
    const struct berth_host *host;
    const struct engine_log *log;
    struct node_memos *memos;
    bool enabled;
    berth_reason mismatch;
    berth_state_key needed; /* PreFilter has run */
    struct buf key;         /* scratch */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct declared_features *self = xnew(struct declared_features);
    self->host = host;
    self->log = handle_log(h);
    self->memos = &handle_cluster(h)->memos;
    self->enabled = handle_feature(h, FEATURE_NODE_DECLARED_FEATURES);
    self->mismatch = host->reason(h, BERTH_STR("node(s) didn't match Pod's required features"));
    self->needed = host->state_key(h, BERTH_STR("PreFilterNodeDeclaredFeatures"));
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct declared_features *self = ctx;
    buf_release(&self->key);
    free(self);
}

/* --- features --------------------------------------------------------------------------------- */

static bool has_restart_rule(const struct container *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < v[i].restart_policy_rules.n; k++)
            if (str_is(v[i].restart_policy_rules.v[k].action, "RestartAllContainers"))
                return true;
    return false;
}

static bool restarts_all(const struct pod_spec *spec)
{
    return has_restart_rule(spec->containers.v, spec->containers.n) ||
           has_restart_rule(spec->init_containers.v, spec->init_containers.n);
}

static bool hides_users_on_host_network(const struct pod_spec *spec)
{
    return spec->host_network && spec->host_users && !*spec->host_users;
}

/* Known features by name. Most concern only updates of running pods and are never needed. */
static const struct {
    struct str name;
    bool (*needed)(const struct pod_spec *spec);
} features[] = {
    {STR_INIT("ExtendWebSocketsToKubelet"), NULL},
    {STR_INIT("InPlacePodLevelResourcesVerticalScaling"), NULL},
    {STR_INIT("InPlacePodVerticalScalingInitContainers"), NULL},
    {STR_INIT("RestartAllContainersOnContainerExits"), restarts_all},
    {STR_INIT("UserNamespacesHostNetworkSupport"), hides_users_on_host_network},
};

/* Sets of features: bit i is features[i]. */
static unsigned needed_by(const struct pod *pod)
{
    unsigned set = 0;
    for (unsigned i = 0; i < ARRAY_LEN(features); i++)
        if (features[i].needed && features[i].needed(&pod->spec))
            set |= 1U << i;
    return set;
}

/*
 * Merges two sorted lists, as upstream does: features of a node whose list is not sorted may be
 * missed.
 */
static unsigned declared_by(const struct node *node)
{
    unsigned set = 0;
    size_t i = 0, k = 0;
    while (i < node->status.declared_features.n && k < ARRAY_LEN(features)) {
        int c = str_cmp(node->status.declared_features.v[i], features[k].name);
        if (c == 0)
            set |= 1U << k;
        i += c <= 0;
        k += c >= 0;
    }
    return set;
}

/* --- queueing hints --------------------------------------------------------------------------- */

static bool same_declared(const struct node *a, const struct node *b)
{
    if (a->status.declared_features.n != b->status.declared_features.n)
        return false;
    for (size_t i = 0; i < a->status.declared_features.n; i++)
        if (!str_eq(a->status.declared_features.v[i], b->status.declared_features.v[i]))
            return false;
    return true;
}

static enum berth_hint after_node_change(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    const struct declared_features *self = ctx;
    const struct node *old = hint_node(before), *new = hint_node(after);
    if (!new)
        return BERTH_QUEUE;
    if (old && same_declared(old, new)) {
        engine_log(self->log, 5, "node's declared features didn't change, skipping queueing",
                   KV_POD(pod), KV_NODE(new));
        return BERTH_QUEUE_SKIP;
    }
    engine_log(self->log, 4, "Node declared features updated, queueing", KV_POD(pod), KV_NODE(new));
    return BERTH_QUEUE;
}

static enum berth_hint after_pod_change(void *ctx, const struct berth_pod *pod,
                                        const struct berth_object *before,
                                        const struct berth_object *after)
{
    const struct declared_features *self = ctx;
    const struct pod *old = hint_pod(before), *new = hint_pod(after);
    if (!old || !new)
        return BERTH_QUEUE_SKIP;
    bool own = hint_about(pod, new);
    if (own && needed_by(old) != needed_by(new)) {
        engine_log(self->log, 4, "pod feature requirements changed, queueing", KV_POD(pod));
        return BERTH_QUEUE;
    }
    engine_log(self->log, 5,
               own ? "pod feature requirements didn't change, skipping queueing"
                   : "the update event is not for targetPod, skipping queueing",
               KV_HINT_POD("pod", new));
    return BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct declared_features *self = ctx;
    if (!self->enabled)
        return;
    self->host->register_event(r, BERTH_RESOURCE_NODE,
                               BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE,
                               after_node_change);
    self->host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_UPDATE, after_pod_change);
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)status;
    struct declared_features *self = ctx;
    if (!self->enabled || !needed_by(pod->pod))
        return BERTH_SKIP;
    self->host->state_write(cycle, self->needed, self, NULL, NULL);
    return BERTH_SUCCESS;
}

/* Upstream returns an error if Filter is enabled without PreFilter. */
static bool is_prepared(const struct declared_features *self, const struct berth_cycle *cycle,
                        struct berth_status *status)
{
    if (self->host->state_read(cycle, self->needed))
        return true;
    self->host->status_text(
        status, BERTH_STR("error reading \"PreFilterNodeDeclaredFeatures\" from cycle-state: not "
                          "found"));
    return false;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct declared_features *self = ctx;
    if (!self->enabled)
        return BERTH_SUCCESS;
    if (!is_prepared(self, cycle, status))
        return BERTH_ERROR;
    if (!(needed_by(pod->pod) & ~declared_by(node->node)))
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->mismatch);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static int64_t ask_lacks(const void *ask, const struct berth_node *node)
{
    return *(const unsigned *)ask & ~declared_by(node->node);
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    struct declared_features *self = ctx;
    if (!self->enabled)
        return BERTH_SUCCESS;
    if (!is_prepared(self, cycle, status))
        return BERTH_ERROR;
    unsigned needed = needed_by(pod->pod);
    key_begin(&self->key, STR("NodeDeclaredFeatures"));
    key_add_number(&self->key, needed);
    const uint64_t *lacking = node_memo_set(self->memos, buf_str(&self->key), ask_lacks, &needed);
    batch_refuse_set(batch, lacking, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->mismatch);
    return BERTH_SUCCESS;
}

const struct berth_plugin node_declared_features_plugin = {
    PLUGIN_HEAD("NodeDeclaredFeatures"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = pre_filter,
    .filter = filter,
    .filter_many = filter_many,
};
