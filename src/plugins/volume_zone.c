/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VolumeZone: rejects nodes outside of the zones and regions that the labels of the pod's volumes
 * name. A label with several zones separates them by "__"; a node without any zone or region label
 * is in all of them.
 */
#include "base/vec.h"
#include "engine/cycle/cycle.h"
#include "plugins/common/claims.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define ZONE        "topology.kubernetes.io/zone"
#define REGION      "topology.kubernetes.io/region"
#define BETA_ZONE   "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

#define DELIMITER "__"

/* Upstream's order. */
static const struct {
    struct str key, stable; /* a node may have the stable label instead */
} labels[] = {
    {STR_INIT(BETA_ZONE), STR_INIT(ZONE)},
    {STR_INIT(BETA_REGION), STR_INIT(REGION)},
    {STR_INIT(ZONE), STR_INIT(ZONE)},
    {STR_INIT(REGION), STR_INIT(REGION)},
};

struct volume_zone {
    const struct berth_host *host;
    const struct engine_log *log;
    struct cluster *cluster;
    berth_reason conflict;
    berth_state_key state;
    struct buf key; /* scratch */
};

/* One label of one volume. Borrowed from the volume, which cannot change during an attempt. */
struct volume_topology {
    size_t label; /* index */
    struct str values;
};

typedef VEC(struct volume_topology) topology_list;

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct volume_zone *self = xnew(struct volume_zone);
    self->host = host;
    self->log = handle_log(h);
    self->cluster = handle_cluster(h);
    self->conflict = host->reason(h, BERTH_STR("node(s) had no available volume zone"));
    self->state = host->state_key(h, BERTH_STR("PreFilterVolumeZone"));
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct volume_zone *self = ctx;
    buf_release(&self->key);
    free(self);
}

/* --- labels ----------------------------------------------------------------------------------- */

/* The next value of a label; false if there is none left. */
static bool next_value(struct str *rest, struct str *ret_value)
{
    if (!rest->p)
        return false;
    size_t at = str_search(*rest, STR(DELIMITER));
    *ret_value = str_trim(str_slice(*rest, 0, at));
    *rest = at < rest->n ? str_slice(*rest, at + strlen(DELIMITER), rest->n) : (struct str){0};
    return true;
}

/* A label with an empty value does not count. */
static bool is_valid(struct str values)
{
    struct str rest = values.p ? values : STR(""), value;
    while (next_value(&rest, &value))
        if (str_empty(value))
            return false;
    return true;
}

static bool has_value(struct str values, struct str wanted)
{
    struct str value;
    while (next_value(&values, &value))
        if (str_eq(value, wanted))
            return true;
    return false;
}

static void add_topologies(const struct persistent_volume *pv, topology_list *list)
{
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        const struct str *values = str_map_get(&pv->metadata.labels, labels[i].key);
        if (values && is_valid(*values))
            vec_push(list, (struct volume_topology){i, *values});
    }
}

/* --- the pod's volumes ------------------------------------------------------------------------ */

/* Without a volume: waits for its first consumer, or will never fit as it is. */
static bool check_unbound(const struct volume_zone *self,
                          const struct persistent_volume_claim *claim, struct berth_status *status)
{
    struct str name = class_of_claim(claim);
    if (str_empty(name)) {
        self->host->status_text(
            status, BERTH_STR("PersistentVolumeClaim had no pv name and storageClass name"));
        return false;
    }
    const struct storage_class *class = class_lookup(&self->cluster->objects, name);
    if (!class)
        status_printf(self->host, status, "storageclass.storage.k8s.io \"%.*s\" not found",
                      STR_ARG(name));
    else if (str_empty(class->volume_binding_mode))
        status_printf(self->host, status, "VolumeBindingMode not set for StorageClass \"%.*s\"",
                      STR_ARG(name));
    else if (!str_is(class->volume_binding_mode, VOLUME_BINDING_WAIT_FOR_FIRST_CONSUMER))
        self->host->status_text(status, BERTH_STR("PersistentVolume had no name"));
    else
        return true;
    return false;
}

static bool add_claim(const struct volume_zone *self, const struct pod *pod, struct str name,
                      topology_list *list, struct berth_status *status)
{
    if (str_empty(name)) {
        self->host->status_text(status, BERTH_STR("PersistentVolumeClaim had no name"));
        return false;
    }
    const struct persistent_volume_claim *claim =
        claim_lookup(&self->cluster->objects, pod->metadata.namespace, name);
    if (!claim) {
        status_printf(self->host, status, "persistentvolumeclaim \"%.*s\" not found",
                      STR_ARG(name));
        return false;
    }
    if (str_empty(claim->spec.volume_name))
        return check_unbound(self, claim, status);
    const struct persistent_volume *pv =
        pv_lookup(&self->cluster->objects, claim->spec.volume_name);
    if (!pv) {
        status_printf(self->host, status, "persistentvolume \"%.*s\" not found",
                      STR_ARG(claim->spec.volume_name));
        return false;
    }
    add_topologies(pv, list);
    return true;
}

/* False: the pod fits on no node, for the reason in status. */
static bool find_topologies(const struct volume_zone *self, const struct pod *pod,
                            topology_list *list, struct berth_status *status)
{
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct volume_source *v = &pod->spec.volumes.v[i].source;
        if (v->persistent_volume_claim &&
            !add_claim(self, pod, v->persistent_volume_claim->claim_name, list, status))
            return false;
    }
    return true;
}

static void free_topologies(void *data)
{
    topology_list *list = data;
    vec_release(list);
    free(list);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    const struct volume_zone *self = ctx;
    if (!pod->pod->spec.volumes.n)
        return BERTH_SKIP;
    topology_list *list = xnew(topology_list);
    bool ok = find_topologies(self, pod->pod, list, status);
    if (!ok || !list->n) {
        free_topologies(list);
        return ok ? BERTH_SKIP : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    self->host->state_write(cycle, self->state, list, NULL, free_topologies);
    return BERTH_SUCCESS;
}

/* --- filter ----------------------------------------------------------------------------------- */

static bool node_conflicts(const topology_list *list, const struct berth_node *node)
{
    const struct str *values[ARRAY_LEN(labels)];
    bool any = false;
    for (size_t i = 0; i < ARRAY_LEN(labels); i++) {
        values[i] = str_map_get(&node->node->metadata.labels, labels[i].key);
        any = any || values[i];
    }
    if (!any)
        return false;
    for (size_t i = 0; i < list->n; i++) {
        const struct volume_topology *t = &list->v[i];
        const struct str *value = values[t->label];
        if (!value)
            value = str_map_get(&node->node->metadata.labels, labels[t->label].stable);
        if (!value || !has_value(t->values, *value))
            return true;
    }
    return false;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct volume_zone *self = ctx;
    const topology_list *list = self->host->state_read(cycle, self->state);
    topology_list own = {0};
    /* Filter may be enabled without PreFilter. */
    if (!list && !find_topologies(self, pod->pod, &own, status)) {
        vec_release(&own);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    bool conflict = node_conflicts(list ? list : &own, node);
    vec_release(&own);
    if (!conflict)
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->conflict);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

static int64_t ask_conflict(const void *ask, const struct berth_node *node)
{
    return node_conflicts(ask, node);
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    struct volume_zone *self = ctx;
    const topology_list *list = self->host->state_read(cycle, self->state);
    topology_list own = {0};
    if (!list && !find_topologies(self, pod->pod, &own, status)) {
        berth_reason why = status_reason(status, &cycle->framework->reasons);
        for (size_t w = 0; w < BITSET_WORDS(batch->columns->n); w++)
            batch_refuse(batch, w, ~(uint64_t)0, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, why);
    }
    list = list ? list : &own;
    key_begin(&self->key, STR("VolumeZone"));
    for (size_t i = 0; i < list->n; i++) {
        key_add_number(&self->key, (int64_t)list->v[i].label);
        key_add(&self->key, list->v[i].values);
    }
    const uint64_t *refused =
        node_memo_set(&self->cluster->memos, buf_str(&self->key), ask_conflict, list);
    batch_refuse_set(batch, refused, BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, self->conflict);
    vec_release(&own);
    return BERTH_SUCCESS;
}

/* --- queueing hints --------------------------------------------------------------------------- */

static enum berth_hint after_class_added(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)before;
    const struct volume_zone *self = ctx;
    const struct storage_class *class = hint_body(after);
    bool helps =
        class && str_is(class->volume_binding_mode, VOLUME_BINDING_WAIT_FOR_FIRST_CONSUMER);
    if (class)
        engine_log(self->log, 5,
                   helps ? "StorageClass with waitForFirstConsumer mode was created and it might "
                           "make this pod schedulable"
                         : "StorageClass is created, but its VolumeBindingMode is not "
                           "waitForFirstConsumer, which doesn't make the pod schedulable",
                   KV_POD(pod), KV_META("StorageClass", &class->metadata));
    return hint_if(helps);
}

static enum berth_hint after_claim_changed(void *ctx, const struct berth_pod *pod,
                                           const struct berth_object *before,
                                           const struct berth_object *after)
{
    (void)before;
    const struct volume_zone *self = ctx;
    const struct object_meta *claim = hint_meta(after);
    if (!claim)
        return BERTH_QUEUE_SKIP;
    bool helps = pod_names_claim(pod->pod, claim, false);
    engine_log(self->log, 5,
               helps ? "PVC that is referred from the pod was created or updated, which might make "
                       "this pod schedulable"
                     : "PVC irrelevant to the Pod was created or updated, which doesn't make this "
                       "pod schedulable",
               KV_POD(pod), KV_META("PVC", claim));
    return hint_if(helps);
}

/* Is every value of one label a value of the other? */
static bool covers(struct str all, struct str values)
{
    struct str value;
    while (next_value(&values, &value))
        if (!has_value(all, value))
            return false;
    return true;
}

static bool same_topologies(const struct persistent_volume *a, const struct persistent_volume *b)
{
    topology_list x = {0}, y = {0};
    add_topologies(a, &x);
    add_topologies(b, &y);
    bool same = x.n == y.n;
    for (size_t i = 0; same && i < x.n; i++)
        same = x.v[i].label == y.v[i].label && covers(x.v[i].values, y.v[i].values) &&
               covers(y.v[i].values, x.v[i].values);
    vec_release(&x);
    vec_release(&y);
    return same;
}

static enum berth_hint after_volume_changed(void *ctx, const struct berth_pod *pod,
                                            const struct berth_object *before,
                                            const struct berth_object *after)
{
    const struct volume_zone *self = ctx;
    const struct persistent_volume *was = hint_body(before), *is = hint_body(after);
    if (!is)
        return BERTH_QUEUE_SKIP;
    if (!was) {
        engine_log(self->log, 5, "PV is newly created, which might make the pod schedulable");
        return BERTH_QUEUE;
    }
    bool helps = !same_topologies(was, is);
    engine_log(self->log, 5,
               helps ? "PV's topology was updated, which might make the pod schedulable."
                     : "PV was updated, but the topology is unchanged, which it doesn't make the "
                       "pod schedulable",
               KV_POD(pod), KV_META("PV", &is->metadata));
    return hint_if(helps);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct volume_zone *)ctx)->host;
    const unsigned add_or_update = BERTH_ACTION_ADD | BERTH_ACTION_UPDATE;
    host->register_event(r, BERTH_RESOURCE_STORAGE_CLASS, BERTH_ACTION_ADD, after_class_added);
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_LABEL,
                         NULL);
    host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, add_or_update,
                         after_claim_changed);
    host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME, add_or_update, after_volume_changed);
}

const struct berth_plugin volume_zone_plugin = {
    PLUGIN_HEAD("VolumeZone"), .create = create, .destroy = destroy,         .events = events,
    .pre_filter = pre_filter,  .filter = filter, .filter_many = filter_many,
};
