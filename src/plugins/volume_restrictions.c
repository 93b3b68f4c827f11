/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VolumeRestrictions: rejects nodes where a pod uses the same disk in a conflicting way, and all
 * nodes while another pod uses a claim of access mode ReadWriteOncePod.
 *
 * Invariant: the number of conflicting references in the state is what PreFilter found plus the
 * references of pods that a dry run added, minus those of pods that it removed. Upstream compares
 * only names of claims there, not namespaces; so does this plugin.
 */
#include "engine/framework/framework.h"
#include "plugins/common/claims.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

#define STATE "PreFilterVolumeRestrictions"

struct volume_restrictions {
    const struct berth_host *host;
    const struct engine_log *log;
    struct cluster *cluster;
    berth_reason disk, claim_in_use;
    berth_state_key state;
    struct buf key; /* scratch */
};

/* The pod's claims that one pod may use, and how many references to them count. */
struct once_claims {
    int64_t conflicts;
    size_t n;
    struct str names[]; /* sorted, each once; borrowed from the claims */
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct volume_restrictions *self = xnew(struct volume_restrictions);
    self->host = host;
    self->log = handle_log(h);
    self->cluster = handle_cluster(h);
    self->disk = host->reason(h, BERTH_STR("node(s) had no available disk"));
    self->claim_in_use = host->reason(
        h, BERTH_STR("node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod "
                     "access mode already in-use by another pod"));
    self->state = host->state_key(h, BERTH_STR(STATE));
    *ret_self = self;
    return 0;
}

static void destroy(void *ctx)
{
    struct volume_restrictions *self = ctx;
    buf_release(&self->key);
    free(self);
}

/* --- disks ------------------------------------------------------------------------------------ */

static bool is_disk(const struct volume_source *v)
{
    return v->gce_persistent_disk || v->aws_elastic_block_store || v->rbd || v->iscsi;
}

static bool has_disk(const struct pod *pod)
{
    for (size_t i = 0; i < pod->spec.volumes.n; i++)
        if (is_disk(&pod->spec.volumes.v[i].source))
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* Do two lists of Ceph monitors have one in common? Long lists are sorted first. */
static bool monitors_meet(const struct rbd_volume_source *a, const struct rbd_volume_source *b)
{
    const struct rbd_volume_source *few = a->monitors.n < b->monitors.n ? a : b;
    const struct rbd_volume_source *many = few == a ? b : a;
    struct str *sorted = NULL;
    bool found = false;
    if (few->monitors.n > 8) {
        sorted = xreallocarray(NULL, few->monitors.n, sizeof(*sorted));
        memcpy(sorted, few->monitors.v, few->monitors.n * sizeof(*sorted));
        qsort(sorted, few->monitors.n, sizeof(*sorted), by_text);
    }
    for (size_t i = 0; !found && i < many->monitors.n; i++) {
        if (sorted)
            found = str_sorted_has(sorted, few->monitors.n, many->monitors.v[i]);
        for (size_t k = 0; !sorted && !found && k < few->monitors.n; k++)
            found = str_eq(few->monitors.v[k], many->monitors.v[i]);
    }
    free(sorted);
    return found;
}

/* One disk in two pods: allowed if both only read it, for EBS never (isVolumeConflict). */
static bool disks_conflict(const struct volume_source *a, const struct volume_source *b)
{
    if (a->gce_persistent_disk && b->gce_persistent_disk &&
        str_eq(a->gce_persistent_disk->pd_name, b->gce_persistent_disk->pd_name) &&
        !(a->gce_persistent_disk->read_only && b->gce_persistent_disk->read_only))
        return true;
    if (a->aws_elastic_block_store && b->aws_elastic_block_store &&
        str_eq(a->aws_elastic_block_store->volume_id, b->aws_elastic_block_store->volume_id))
        return true;
    if (a->iscsi && b->iscsi && str_eq(a->iscsi->iqn, b->iscsi->iqn) &&
        !(a->iscsi->read_only && b->iscsi->read_only))
        return true;
    return a->rbd && b->rbd && str_eq(a->rbd->pool, b->rbd->pool) &&
           str_eq(a->rbd->image, b->rbd->image) && !(a->rbd->read_only && b->rbd->read_only) &&
           monitors_meet(a->rbd, b->rbd);
}

static bool pods_conflict(const struct pod *pod, const struct pod *other)
{
    for (size_t i = 0; i < other->spec.volumes.n; i++) {
        const struct volume_source *used = &other->spec.volumes.v[i].source;
        if (!is_disk(used))
            continue;
        for (size_t k = 0; k < pod->spec.volumes.n; k++)
            if (disks_conflict(&pod->spec.volumes.v[k].source, used))
                return true;
    }
    return false;
}

static bool node_conflicts(const struct pod *pod, const struct berth_node *node)
{
    for (size_t i = 0; i < node->pods.n; i++)
        if (pods_conflict(pod, node->pods.v[i]->pod))
            return true;
    return false;
}

/* --- claims ----------------------------------------------------------------------------------- */

/* References of a pod to the claims, in any namespace. */
static int64_t references(const struct once_claims *claims, const struct pod *pod)
{
    int64_t n = 0;
    for (size_t i = 0; claims->n && i < pod->spec.volumes.n; i++) {
        const struct volume_source *v = &pod->spec.volumes.v[i].source;
        n += v->persistent_volume_claim &&
             str_sorted_has(claims->names, claims->n, v->persistent_volume_claim->claim_name);
    }
    return n;
}

static void *clone_claims(const void *data)
{
    const struct once_claims *from = data;
    size_t size = sizeof(*from) + from->n * sizeof(from->names[0]);
    return memcpy(xmalloc(size), from, size);
}

/* False: a claim does not exist. */
static bool find_claims(const struct volume_restrictions *self, const struct pod *pod,
                        struct once_claims *claims, struct berth_status *status)
{
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct volume_source *v = &pod->spec.volumes.v[i].source;
        if (!v->persistent_volume_claim)
            continue;
        struct str name = v->persistent_volume_claim->claim_name;
        const struct persistent_volume_claim *claim =
            claim_lookup(&self->cluster->objects, pod->metadata.namespace, name);
        if (!claim) {
            status_printf(self->host, status, "persistentvolumeclaim \"%.*s\" not found",
                          STR_ARG(name));
            return false;
        }
        if (claim_has_mode(claim, STR(ACCESS_MODE_READ_WRITE_ONCE_POD)))
            claims->names[claims->n++] = name;
    }
    return true;
}

static void sort_claims(struct once_claims *claims)
{
    size_t n = 0;
    if (claims->n > 1)
        qsort(claims->names, claims->n, sizeof(claims->names[0]), by_text);
    for (size_t i = 0; i < claims->n; i++)
        if (!n || !str_eq(claims->names[n - 1], claims->names[i]))
            claims->names[n++] = claims->names[i];
    claims->n = n;
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    struct volume_restrictions *self = ctx;
    const struct pod *body = pod->pod;
    if (!body->spec.volumes.n)
        return BERTH_SKIP;
    struct once_claims *claims =
        xmalloc(sizeof(*claims) + body->spec.volumes.n * sizeof(claims->names[0]));
    *claims = (struct once_claims){0};
    if (!find_claims(self, body, claims, status)) {
        free(claims);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    sort_claims(claims);
    for (size_t i = 0; i < claims->n; i++)
        claims->conflicts +=
            claim_is_used(&self->cluster->claim_uses, body->metadata.namespace, claims->names[i]);
    if (!claims->conflicts && !has_disk(body)) {
        free(claims);
        return BERTH_SKIP;
    }
    self->host->state_write(cycle, self->state, claims, clone_claims, free);
    return BERTH_SUCCESS;
}

static struct once_claims *read_state(const struct volume_restrictions *self,
                                      const struct berth_cycle *cycle, struct berth_status *status)
{
    struct once_claims *claims = self->host->state_read(cycle, self->state);
    if (!claims)
        self->host->status_text(status, BERTH_STR("cannot read \"" STATE "\" from cycleState"));
    return claims;
}

static enum berth_code add_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status)
{
    (void)pod;
    (void)node;
    struct once_claims *claims = read_state(ctx, cycle, status);
    if (!claims)
        return BERTH_ERROR;
    claims->conflicts += references(claims, other->pod);
    return BERTH_SUCCESS;
}

static enum berth_code remove_pod(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  const struct berth_pod *other, const struct berth_node *node,
                                  struct berth_status *status)
{
    (void)pod;
    (void)node;
    struct once_claims *claims = read_state(ctx, cycle, status);
    if (!claims)
        return BERTH_ERROR;
    claims->conflicts -= references(claims, other->pod);
    return BERTH_SUCCESS;
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    const struct volume_restrictions *self = ctx;
    if (has_disk(pod->pod) && node_conflicts(pod->pod, node)) {
        self->host->status_reason(status, self->disk);
        return BERTH_UNSCHEDULABLE;
    }
    const struct once_claims *claims = read_state(self, cycle, status);
    if (!claims)
        return BERTH_ERROR;
    if (claims->conflicts <= 0)
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->claim_in_use);
    return BERTH_UNSCHEDULABLE;
}

static int64_t ask_conflict(const void *ask, const struct berth_node *node)
{
    return node_conflicts(ask, node);
}

static enum berth_code filter_many(void *ctx, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status)
{
    struct volume_restrictions *self = ctx;
    if (has_disk(pod->pod)) {
        key_begin(&self->key, STR("VolumeRestrictions"));
        key_add_volumes(&self->key, pod->pod);
        const uint64_t *taken =
            node_memo_pod_set(&self->cluster->memos, buf_str(&self->key), ask_conflict, pod->pod);
        batch_refuse_set(batch, taken, BERTH_UNSCHEDULABLE, self->disk);
    }
    const struct once_claims *claims = read_state(self, cycle, status);
    if (!claims)
        return BERTH_ERROR;
    for (size_t w = 0; claims->conflicts > 0 && w < BITSET_WORDS(batch->columns->n); w++)
        batch_refuse(batch, w, ~(uint64_t)0, BERTH_UNSCHEDULABLE, self->claim_in_use);
    return BERTH_SUCCESS;
}

/* --- queueing hints --------------------------------------------------------------------------- */

/* Both in one namespace. */
static bool shares_claim(const struct pod *pod, const struct pod *gone)
{
    struct once_claims *claims =
        xmalloc(sizeof(*claims) + pod->spec.volumes.n * sizeof(claims->names[0]));
    *claims = (struct once_claims){0};
    for (size_t i = 0; i < pod->spec.volumes.n; i++) {
        const struct volume_source *v = &pod->spec.volumes.v[i].source;
        if (v->persistent_volume_claim)
            claims->names[claims->n++] = v->persistent_volume_claim->claim_name;
    }
    sort_claims(claims);
    bool shares = references(claims, gone) > 0;
    free(claims);
    return shares;
}

static enum berth_hint after_pod_deleted(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)after;
    const struct volume_restrictions *self = ctx;
    const struct pod *gone = hint_pod(before);
    if (!gone || !str_eq(gone->metadata.namespace, pod->pod->metadata.namespace))
        return BERTH_QUEUE_SKIP;
    bool disk = pods_conflict(pod->pod, gone), claim = !disk && shares_claim(pod->pod, gone);
    engine_log(self->log, 5,
               disk    ? "Pod with the volume that the target pod requires was deleted, which "
                         "might make this pod schedulable"
               : claim ? "Pod with the same PVC that the target pod requires was deleted, which "
                         "might make this pod schedulable"
                       : "An irrelevant Pod was deleted, which doesn't make this pod schedulable",
               KV_POD(pod), KV_HINT_POD("deletedPod", gone));
    return hint_if(disk || claim);
}

static enum berth_hint after_claim_added(void *ctx, const struct berth_pod *pod,
                                         const struct berth_object *before,
                                         const struct berth_object *after)
{
    (void)before;
    const struct volume_restrictions *self = ctx;
    const struct object_meta *claim = hint_meta(after);
    if (!claim || !str_eq(claim->namespace, pod->pod->metadata.namespace))
        return BERTH_QUEUE_SKIP;
    bool helps = pod_names_claim(pod->pod, claim, false);
    engine_log(self->log, 5,
               helps ? "PVC that is referred from the pod was created, which might make this pod "
                       "schedulable"
                     : "PVC irrelevant to the Pod was created, which doesn't make this pod "
                       "schedulable",
               KV_POD(pod), KV_META("PVC", claim));
    return hint_if(helps);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct berth_host *host = ((struct volume_restrictions *)ctx)->host;
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, after_pod_deleted);
    host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, NULL);
    host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD,
                         after_claim_added);
}

const struct berth_plugin volume_restrictions_plugin = {
    PLUGIN_HEAD("VolumeRestrictions"),
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_filter = pre_filter,
    .add_pod = add_pod,
    .remove_pod = remove_pod,
    .filter = filter,
    .filter_many = filter_many,
};
