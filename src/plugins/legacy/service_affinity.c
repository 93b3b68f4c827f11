/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ServiceAffinity (releases up to 1.22): the pods of a Service run on nodes with equal values of
 * affinityLabels, and are spread over the values of antiAffinityLabelsPreference.
 */
#include "api/core.h"
#include "engine/framework/framework.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

struct service_affinity_args {
    struct args_meta meta;
    LIST(struct str) affinity_labels, anti_affinity_labels_preference;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct service_affinity_args),
    F_LIST(struct service_affinity_args, affinity_labels, "affinityLabels", 0, STR),
    F_LIST(struct service_affinity_args, anti_affinity_labels_preference,
           "antiAffinityLabelsPreference", 0, STR),
};
static const struct type args_type =
    TYPE("ServiceAffinityArgs", struct service_affinity_args, args_fields);
const struct args_kind service_affinity_args_kind = {
    .plugin = "ServiceAffinity", .name = "ServiceAffinityArgs", .type = &args_type, .legacy = true};

struct service_affinity {
    const struct berth_host *host;
    struct cluster *cluster;
    struct arena arena; /* of args */
    struct service_affinity_args args;
    berth_reason mismatch;
    berth_state_key filter_state;
};

static void destroy(void *ctx)
{
    struct service_affinity *self = ctx;
    arena_release(&self->arena);
    free(self);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct service_affinity *self = xnew(struct service_affinity);
    self->host = host;
    arena_init(&self->arena, 0);
    int r = plugin_args_read(&service_affinity_args_kind, args, &self->arena, &self->args, error);
    if (r < 0) {
        destroy(self);
        return r;
    }
    self->cluster = handle_cluster(h);
    self->mismatch = host->reason(h, BERTH_STR("node(s) didn't match service affinity"));
    self->filter_state = host->state_key(h, BERTH_STR("PreFilterServiceAffinity"));
    *ret_self = self;
    return 0;
}

static bool labels_include(const str_map *labels, const str_map *wanted)
{
    for (size_t i = 0; i < wanted->n; i++) {
        const struct str *value = str_map_get(labels, wanted->v[i].key);
        if (!value || !str_eq(*value, wanted->v[i].value))
            return false;
    }
    return true;
}

/* The first Service that selects the pod; NULL if none. */
static const struct service *service_of(const struct service_affinity *self, const struct pod *pod)
{
    const object_list *all =
        objects_in(&self->cluster->objects, KIND_SERVICE, pod->metadata.namespace);
    for (size_t i = 0; all && i < all->n; i++) {
        const struct service *service = object_service(all->v[i]);
        if (service->spec.selector.n &&
            labels_include(&pod->metadata.labels, &service->spec.selector))
            return service;
    }
    return NULL;
}

/* --- filter ----------------------------------------------------------------------------------- */

/* Pods of the same namespace with all labels of the pending pod, in the order of nodes. */
struct matching {
    bool has_service;
    VEC(const struct berth_pod *) pods;
};

static void *clone_matching(const void *data)
{
    const struct matching *from = data;
    struct matching *m = xnew(struct matching);
    m->has_service = from->has_service;
    for (size_t i = 0; i < from->pods.n; i++)
        vec_push(&m->pods, from->pods.v[i]);
    return m;
}

static void free_matching(void *data)
{
    struct matching *m = data;
    vec_release(&m->pods);
    free(m);
}

static bool is_alike(const struct pod *pod, const struct pod *other)
{
    return str_eq(pod->metadata.namespace, other->metadata.namespace) &&
           labels_include(&other->metadata.labels, &pod->metadata.labels);
}

static void find_alike(const struct service_affinity *self, const struct berth_pod *pod,
                       struct matching *m)
{
    struct arena a;
    arena_init(&a, 0);
    struct pod_term term = {.namespaces = {(struct str *)&pod->pod->metadata.namespace, 1}};
    selector_from_set(&pod->pod->metadata.labels, &a, &term.selector);
    struct pod_selection selection = {.terms = {&term, 1}};
    const struct pod_count *count = pod_counts_get(&self->cluster->pod_counts, &selection);
    const struct cache *cache = self->cluster->cache;
    for (size_t i = 0; count->slots.n && i < cache->order.n; i++) {
        const struct berth_node *node = cache->order.v[i];
        for (size_t k = 0; pod_count_at(count, node->slot) && k < node->pods.n; k++)
            if (is_alike(pod->pod, node->pods.v[k]->pod))
                vec_push(&m->pods, node->pods.v[k]);
    }
    arena_release(&a);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)status;
    const struct service_affinity *self = ctx;
    if (!self->args.affinity_labels.n)
        return BERTH_SUCCESS;
    struct matching *m = xnew(struct matching);
    m->has_service = service_of(self, pod->pod);
    find_alike(self, pod, m);
    self->host->state_write(cycle, self->filter_state, m, clone_matching, free_matching);
    return BERTH_SUCCESS;
}

static struct matching *read_matching(const struct service_affinity *self,
                                      const struct berth_cycle *cycle, struct berth_status *status)
{
    struct matching *m = self->host->state_read(cycle, self->filter_state);
    if (!m)
        self->host->status_text(
            status,
            BERTH_STR("error reading \"PreFilterServiceAffinity\" from cycleState: not found"));
    return m;
}

static enum berth_code add_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    (void)node;
    const struct service_affinity *self = ctx;
    if (!self->args.affinity_labels.n)
        return BERTH_SUCCESS;
    struct matching *m = read_matching(self, cycle, status);
    if (!m)
        return BERTH_ERROR;
    if (is_alike(pod->pod, other->pod))
        vec_push(&m->pods, other);
    return BERTH_SUCCESS;
}

static enum berth_code remove_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_pod *other, const struct berth_node *node,
                                  struct berth_status *status)
{
    (void)pod;
    (void)node;
    const struct service_affinity *self = ctx;
    if (!self->args.affinity_labels.n)
        return BERTH_SUCCESS;
    struct matching *m = read_matching(self, cycle, status);
    if (!m)
        return BERTH_ERROR;
    for (size_t i = 0; i < m->pods.n; i++) {
        const struct object_meta *meta = &m->pods.v[i]->pod->metadata;
        if (str_eq(meta->name, other->pod->metadata.name) &&
            str_eq(meta->namespace, other->pod->metadata.namespace)) {
            vec_remove(&m->pods, i);
            break;
        }
    }
    return BERTH_SUCCESS;
}

static bool is_on(const struct berth_node *node, const struct berth_pod *pod)
{
    for (size_t i = 0; i < node->pods.n; i++)
        if (str_eq(pod_info_key(node->pods.v[i]), pod_info_key(pod)))
            return true;
    return false;
}

/* The first of the pods; skips one that a "what if" removed from this node. */
static const struct berth_pod *first_alike(const struct matching *m, const struct berth_node *node)
{
    for (size_t i = 0; i < m->pods.n; i++) {
        const struct berth_pod *pod = m->pods.v[i];
        if (!str_eq(pod->node_name, str_of(node->name)) || is_on(node, pod))
            return pod;
    }
    return NULL;
}

/* The value that the node must have for a label; NULL: any. */
static const struct str *wanted(struct str label, const struct pod *pod, const struct node *model)
{
    const struct str *value = str_map_get(&pod->spec.node_selector, label);
    return value || !model ? value : str_map_get(&model->metadata.labels, label);
}

static enum berth_code fail(const struct service_affinity *self, struct berth_status *status)
{
    self->host->status_text(status, BERTH_STR("node not found"));
    return BERTH_ERROR;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct service_affinity *self = ctx;
    const struct berth_node *model = NULL;
    size_t n = self->args.affinity_labels.n, told = 0;
    if (!n)
        return BERTH_SUCCESS;
    const struct matching *m = read_matching(self, cycle, status);
    if (!m)
        return BERTH_ERROR;
    for (size_t i = 0; i < n; i++)
        told += wanted(self->args.affinity_labels.v[i], pod->pod, NULL) != NULL;
    /* Labels that the pod's nodeSelector leaves open come from the node of the first such pod. */
    const struct berth_pod *first = m->has_service && told < n ? first_alike(m, node) : NULL;
    if (first) {
        model = cache_node(self->cluster->cache, first->node_name);
        if (!model || !model->object)
            return fail(self, status);
    }
    for (size_t i = 0; i < n; i++) {
        struct str label = self->args.affinity_labels.v[i];
        const struct str *want = wanted(label, pod->pod, model ? model->node : NULL);
        const struct str *has = str_map_get(&node->node->metadata.labels, label);
        if (want && (!has || !str_eq(*has, *want))) {
            self->host->status_reason(status, self->mismatch);
            return BERTH_UNSCHEDULABLE;
        }
    }
    return BERTH_SUCCESS;
}

/* --- score ------------------------------------------------------------------------------------ */

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct service_affinity *self = ctx;
    const struct service *service = service_of(self, pod->pod);
    int64_t n = 0;
    for (size_t i = 0; service && i < node->pods.n; i++) {
        const struct object_meta *meta = &node->pods.v[i]->pod->metadata;
        n += str_eq(meta->namespace, pod->pod->metadata.namespace) &&
             !meta->deletion_timestamp.set &&
             labels_include(&meta->labels, &service->spec.selector);
    }
    *ret_score = n;
    return BERTH_SUCCESS;
}

/* The pods of the Service by value of one label: fewer score higher. */
static void add_label(struct service_affinity *self, struct str label, const uint32_t *slots,
                      const int64_t *pods, size_t n, double *sums)
{
    const struct topology *t = topologies_get(&self->cluster->topologies, label);
    int64_t *by_domain = xcalloc(t->n_domains, sizeof(*by_domain)), all = 0;
    for (size_t i = 0; i < n; i++) {
        all += pods[i];
        by_domain[topology_domain(t, slots[i])] += pods[i];
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t domain = topology_domain(t, slots[i]);
        if (!domain)
            continue;
        double score = MAX_NODE_SCORE;
        if (all > 0)
            score = MAX_NODE_SCORE * ((double)(all - by_domain[domain]) / (double)all);
        sums[i] += score / (double)self->args.anti_affinity_labels_preference.n;
    }
    free(by_domain);
}

static enum berth_code normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)cycle;
    (void)pod;
    (void)status;
    struct service_affinity *self = ctx;
    double *sums = xcalloc(n, sizeof(*sums));
    for (size_t i = 0; i < self->args.anti_affinity_labels_preference.n; i++)
        add_label(self, self->args.anti_affinity_labels_preference.v[i], slots, scores, n, sums);
    for (size_t i = 0; i < n; i++)
        scores[i] = go_int64(sums[i]);
    free(sums);
    return BERTH_SUCCESS;
}

const struct berth_plugin service_affinity_plugin = {
    PLUGIN_HEAD("ServiceAffinity"),
    .create = create,
    .destroy = destroy,
    .pre_filter = pre_filter,
    .add_pod = add_pod,
    .remove_pod = remove_pod,
    .filter = filter,
    .score = score,
    .normalize = normalize,
};
