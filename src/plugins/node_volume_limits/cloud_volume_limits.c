/* SPDX-License-Identifier: Apache-2.0 */
/*
 * EBSLimits, GCEPDLimits, AzureDiskLimits and CinderLimits (releases up to 1.30): how many disks of
 * one cloud a node can attach. A disk counts once per node, whether pods name it or a claim does.
 * On nodes where a CSI driver serves the disks, NodeVolumeLimits counts them instead.
 */
#include "engine/framework/framework.h"
#include "plugins/common/claims.h"
#include "plugins/common/csi_translation.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"
#include "plugins/node_volume_limits/volume_list.h"

enum cloud { EBS, GCE_PD, AZURE_DISK, CINDER };

static const struct {
    struct str plugin;   /* in-tree volume plugin: the provisioner of its classes */
    struct str resource; /* in a node's allocatable: its own limit */
    int64_t max;
} clouds[] = {
    [EBS] = {STR_INIT("kubernetes.io/aws-ebs"), STR_INIT("attachable-volumes-aws-ebs"), 39},
    [GCE_PD] = {STR_INIT("kubernetes.io/gce-pd"), STR_INIT("attachable-volumes-gce-pd"), 16},
    [AZURE_DISK] = {STR_INIT("kubernetes.io/azure-disk"), STR_INIT("attachable-volumes-azure-disk"),
                    16},
    [CINDER] = {STR_INIT("kubernetes.io/cinder"), STR_INIT("attachable-volumes-cinder"), 256},
};
#define EBS_MAX_NITRO 25

struct cloud_volume_limits {
    const struct berth_host *host;
    struct cluster *cluster;
    enum cloud cloud;
    int64_t max; /* for all nodes, from KUBE_MAX_PD_VOLS; 0: by cloud */
    berth_reason exceeded;
};

static int create(enum cloud cloud, const struct berth_host *host, struct berth_handle *h,
                  void **ret_self)
{
    struct cloud_volume_limits *self = xnew(struct cloud_volume_limits);
    self->host = host;
    self->cluster = handle_cluster(h);
    self->cloud = cloud;
    self->max = handle_max_pd_volumes(h);
    self->exceeded = host->reason(h, BERTH_STR("node(s) exceed max volume count"));
    *ret_self = self;
    return 0;
}

/* --- disks ------------------------------------------------------------------------------------ */

/* False: not a disk of this cloud. */
static bool disk_of_volume(enum cloud cloud, const struct volume_source *s, struct str *ret_id)
{
    if (cloud == EBS && s->aws_elastic_block_store)
        *ret_id = s->aws_elastic_block_store->volume_id;
    else if (cloud == GCE_PD && s->gce_persistent_disk)
        *ret_id = s->gce_persistent_disk->pd_name;
    else if (cloud == AZURE_DISK && s->azure_disk)
        *ret_id = s->azure_disk->disk_name;
    else if (cloud == CINDER && s->cinder)
        *ret_id = s->cinder->volume_id;
    else
        return false;
    return true;
}

static bool disk_of_pv(enum cloud cloud, const struct persistent_volume_source *s,
                       struct str *ret_id)
{
    if (cloud == CINDER && s->cinder) {
        *ret_id = s->cinder->volume_id;
        return true;
    }
    struct volume_source same = {.aws_elastic_block_store = s->aws_elastic_block_store,
                                 .gce_persistent_disk = s->gce_persistent_disk,
                                 .azure_disk = s->azure_disk};
    return disk_of_volume(cloud, &same, ret_id);
}

/* Of a claim without a volume: it counts if its class provisions disks of this cloud. */
static void add_unbound(const struct cloud_volume_limits *self, struct volume_list *list,
                        const struct persistent_volume_claim *claim)
{
    struct str name = claim->spec.storage_class_name ? *claim->spec.storage_class_name : STR("");
    const struct storage_class *class = class_lookup(&self->cluster->objects, name);
    if (class && str_eq(class->provisioner, clouds[self->cloud].plugin))
        volume_list_add_unbound(list, class->provisioner, claim);
}

static void add_claim(const struct cloud_volume_limits *self, struct volume_list *list,
                      const struct persistent_volume_claim *claim)
{
    const struct persistent_volume *pv =
        str_empty(claim->spec.volume_name)
            ? NULL
            : pv_lookup(&self->cluster->objects, claim->spec.volume_name);
    struct str id;
    if (!pv)
        add_unbound(self, list, claim);
    else if (disk_of_pv(self->cloud, &pv->spec.source, &id))
        volume_list_add(list, clouds[self->cloud].plugin, id);
}

/* is_new: the pod is being scheduled, so its claims must exist. */
static enum volume_fault add_pod(const struct cloud_volume_limits *self, struct volume_list *list,
                                 const struct pod *pod, bool is_new, struct buf *why)
{
    struct volume_lookup lookup = {.objects = &self->cluster->objects, .is_new = is_new};
    enum volume_fault fault = VOLUME_OK;
    for (size_t i = 0; fault == VOLUME_OK && i < pod->spec.volumes.n; i++) {
        const struct volume *v = &pod->spec.volumes.v[i];
        const struct persistent_volume_claim *claim;
        struct str id;
        if (disk_of_volume(self->cloud, &v->source, &id)) {
            volume_list_add(list, clouds[self->cloud].plugin, id);
            continue;
        }
        fault = volume_find_claim(&lookup, pod, v, &claim, why);
        if (claim)
            add_claim(self, list, claim);
    }
    return fault;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static bool contains(struct str s, struct str part)
{
    return s.n && memmem(s.p, s.n, part.p, part.n);
}

/* Instances with a Nitro hypervisor (upstream's EBSNitroLimitRegex). */
static bool is_nitro(const struct node *node)
{
    const struct str *type =
        str_map_get(&node->metadata.labels, STR("node.kubernetes.io/instance-type"));
    if (!type)
        type = str_map_get(&node->metadata.labels, STR("beta.kubernetes.io/instance-type"));
    if (!type)
        return false;
    return str_starts(*type, STR("c5")) || str_starts(*type, STR("m5")) ||
           str_starts(*type, STR("r5")) || contains(*type, STR("t3")) ||
           contains(*type, STR("z1d"));
}

static int64_t max_disks(const struct cloud_volume_limits *self, const struct berth_node *node)
{
    atom_t name = intern_find(node->names, clouds[self->cloud].resource);
    for (size_t i = 0; name && i < node->allocatable.scalars.n; i++)
        if (node->allocatable.scalars.v[i].name == name)
            return node->allocatable.scalars.v[i].amount;
    if (self->max)
        return self->max;
    return self->cloud == EBS && is_nitro(node->node) ? EBS_MAX_NITRO : clouds[self->cloud].max;
}

static bool is_migrated(const struct cloud_volume_limits *self, const struct berth_node *node)
{
    const struct object *o =
        objects_get(&self->cluster->objects, KIND_CSI_NODE, STR(""), str_of(node->name));
    return o && csi_migrated_on_node(clouds[self->cloud].plugin, object_body(o));
}

/* --- filter ----------------------------------------------------------------------------------- */

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct cloud_volume_limits *self = ctx;
    for (size_t i = 0; i < pod->pod->spec.volumes.n; i++) {
        const struct volume_source *s = &pod->pod->spec.volumes.v[i].source;
        struct str id;
        if (disk_of_volume(self->cloud, s, &id) || s->persistent_volume_claim || s->ephemeral)
            return BERTH_SUCCESS;
    }
    return BERTH_SKIP;
}

/* The disks of the node's pods, then those that the new pod adds. */
static enum berth_code count(const struct cloud_volume_limits *self, struct volume_list *list,
                             const struct berth_node *node, struct berth_status *status)
{
    struct buf why = BUF_INIT;
    enum volume_fault fault = VOLUME_OK;
    enum berth_code code = BERTH_SUCCESS;
    for (size_t i = 0; fault == VOLUME_OK && i < node->pods.n; i++)
        fault = add_pod(self, list, node->pods.v[i]->pod, false, &why);
    volume_list_sort(list);
    if (fault != VOLUME_OK) {
        self->host->status_text(status, abi_str(buf_str(&why)));
        code = BERTH_ERROR;
    } else if ((int64_t)list->volumes.n > max_disks(self, node)) {
        self->host->status_reason(status, self->exceeded);
        code = BERTH_UNSCHEDULABLE;
    }
    buf_release(&why);
    return code;
}

static enum berth_code filter(void *ctx, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle;
    const struct cloud_volume_limits *self = ctx;
    struct volume_list list;
    struct buf why = BUF_INIT;
    enum berth_code code = BERTH_SUCCESS;
    volume_list_init(&list);
    enum volume_fault fault = add_pod(self, &list, pod->pod, true, &why);
    if (fault != VOLUME_OK) {
        self->host->status_text(status, abi_str(buf_str(&why)));
        code = fault == VOLUME_NO_CLAIM ? BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE : BERTH_ERROR;
    } else if (list.volumes.n && !is_migrated(self, node)) {
        code = count(self, &list, node, status);
    }
    buf_release(&why);
    volume_list_release(&list);
    return code;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct cloud_volume_limits *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, NULL);
    self->host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_DELETE, NULL);
    self->host->register_event(r, BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, NULL);
}

/* --- one plugin for each cloud ---------------------------------------------------------------- */

#define CLOUD_PLUGIN(id, cloud, plugin_name)                                                  \
    static int create_##id(const struct berth_host *host, struct berth_handle *h,             \
                           struct berth_str args, void **ret_self, struct berth_error *error) \
    {                                                                                         \
        (void)args;                                                                           \
        (void)error;                                                                          \
        return create(cloud, host, h, ret_self);                                              \
    }                                                                                         \
    const struct berth_plugin id##_limits_plugin = {                                          \
        PLUGIN_HEAD(plugin_name), .create = create_##id,    .destroy = free,                  \
        .events = events,         .pre_filter = pre_filter, .filter = filter}

CLOUD_PLUGIN(ebs, EBS, "EBSLimits");
CLOUD_PLUGIN(gce_pd, GCE_PD, "GCEPDLimits");
CLOUD_PLUGIN(azure_disk, AZURE_DISK, "AzureDiskLimits");
CLOUD_PLUGIN(cinder, CINDER, "CinderLimits");
