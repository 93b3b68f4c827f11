/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csi_translation.c - the rules of upstream's csi-translation-lib, one row per plugin.
 *
 * Handles: what the driver calls the volume. Affinity: requirements on the zone label become
 * requirements on the driver's own key; a volume without such requirements gets one from its zone
 * label.
 */
#include "plugins/common/csi_translation.h"

#include "plugins/common/csi_volume_id.h"

#define ZONE        "topology.kubernetes.io/zone"
#define REGION      "topology.kubernetes.io/region"
#define BETA_ZONE   "failure-domain.beta.kubernetes.io/zone"
#define BETA_REGION "failure-domain.beta.kubernetes.io/region"

#define VSPHERE_REGION_KEY "topology.csi.vmware.com/region"

enum plugin { GCE_PD, AWS_EBS, CINDER, AZURE_DISK, AZURE_FILE, VSPHERE, PORTWORX, PLUGINS };

static const struct csi_migration rows[PLUGINS] = {
    [GCE_PD] = {STR_INIT("kubernetes.io/gce-pd"), STR_INIT("pd.csi.storage.gke.io"), true,
                STR_INIT("topology.gke.io/zone")},
    [AWS_EBS] = {STR_INIT("kubernetes.io/aws-ebs"), STR_INIT("ebs.csi.aws.com"), true,
                 STR_INIT("topology.ebs.csi.aws.com/zone")},
    [CINDER] = {STR_INIT("kubernetes.io/cinder"), STR_INIT("cinder.csi.openstack.org"), true,
                STR_INIT("topology.cinder.csi.openstack.org/zone")},
    [AZURE_DISK] = {STR_INIT("kubernetes.io/azure-disk"),
                    STR_INIT("disk.csi.azure.com"),
                    true,
                    {0}},
    [AZURE_FILE] = {STR_INIT("kubernetes.io/azure-file"),
                    STR_INIT("file.csi.azure.com"),
                    false,
                    {0}},
    [VSPHERE] = {STR_INIT("kubernetes.io/vsphere-volume"), STR_INIT("csi.vsphere.vmware.com"),
                 false, STR_INIT("topology.csi.vmware.com/zone")},
    [PORTWORX] = {STR_INIT("kubernetes.io/portworx-volume"),
                  STR_INIT("pxd.portworx.com"),
                  true,
                  {0}},
};

/* --- names ------------------------------------------------------------------------------------ */

const struct csi_migration *csi_migration_of_plugin(struct str plugin)
{
    for (size_t i = 0; i < PLUGINS; i++)
        if (str_eq(rows[i].plugin, plugin))
            return &rows[i];
    return NULL;
}

const struct csi_migration *csi_migration_of_inline(const struct volume_source *s)
{
    return s->gce_persistent_disk       ? &rows[GCE_PD]
           : s->aws_elastic_block_store ? &rows[AWS_EBS]
           : s->cinder                  ? &rows[CINDER]
           : s->azure_disk              ? &rows[AZURE_DISK]
           : s->azure_file              ? &rows[AZURE_FILE]
           : s->vsphere_volume          ? &rows[VSPHERE]
           : s->portworx_volume         ? &rows[PORTWORX]
                                        : NULL;
}

const struct csi_migration *csi_migration_of_pv(const struct persistent_volume *pv)
{
    const struct persistent_volume_source *s = &pv->spec.source;
    return s->gce_persistent_disk       ? &rows[GCE_PD]
           : s->aws_elastic_block_store ? &rows[AWS_EBS]
           : s->cinder                  ? &rows[CINDER]
           : s->azure_disk              ? &rows[AZURE_DISK]
           : s->azure_file              ? &rows[AZURE_FILE]
           : s->vsphere_volume          ? &rows[VSPHERE]
           : s->portworx_volume         ? &rows[PORTWORX]
                                        : NULL;
}

bool csi_migrated_on_node(struct str plugin, const struct csi_node *node)
{
    const struct str *list =
        node ? str_map_get(&node->metadata.annotations, STR(ANN_MIGRATED_PLUGINS)) : NULL;
    struct str rest = list ? *list : (struct str){0}, one;
    while (rest.n && str_split(&rest, ',', &one))
        if (str_eq(one, plugin))
            return true;
    return false;
}

/* --- handles ---------------------------------------------------------------------------------- */

#define UNSPECIFIED "UNSPECIFIED"

static bool aws_handle(struct str id, struct buf *handle, struct buf *why)
{
    size_t start = why->n;
    if (ebs_volume_id(id, handle, why))
        return true;
    struct buf reason = BUF_INIT;
    buf_add_str(&reason, str_slice(buf_str(why), start, why->n));
    why->n = start;
    buf_add_cstr(why, "failed to translate Kubernetes ID to EBS Volume ID ");
    buf_add_str(why, buf_str(&reason));
    buf_release(&reason);
    return false;
}

static bool azure_disk_handle(const struct azure_disk_volume_source *disk, struct buf *handle,
                              struct buf *why)
{
    if (disk->kind && !str_eq_fold(*disk->kind, STR("Managed"))) {
        buf_add_printf(why, "kind(%.*s) is not supported in csi migration", STR_ARG(*disk->kind));
        return false;
    }
    buf_add_str(handle, disk->disk_uri);
    return true;
}

/* "GROUP#ACCOUNT#SHARE#NAME#NAMESPACE" */
static void azure_file_handle(struct str group, struct str secret, struct str share,
                              struct str name, struct str namespace, struct buf *handle)
{
    struct str account = azure_storage_account(secret);
    buf_add_printf(handle, "%.*s#%.*s#%.*s#%.*s#%.*s", STR_ARG(group), STR_ARG(account),
                   STR_ARG(share), STR_ARG(name), STR_ARG(namespace));
}

bool csi_inline_handle(const struct volume *volume, struct str pod_namespace, struct buf *handle,
                       struct buf *why)
{
    const struct volume_source *s = &volume->source;
    if (s->gce_persistent_disk) {
        buf_add_cstr(handle, "projects/" UNSPECIFIED "/zones/" UNSPECIFIED "/disks/");
        buf_add_str(handle, s->gce_persistent_disk->pd_name);
    } else if (s->aws_elastic_block_store) {
        return aws_handle(s->aws_elastic_block_store->volume_id, handle, why);
    } else if (s->azure_disk) {
        return azure_disk_handle(s->azure_disk, handle, why);
    } else if (s->azure_file) {
        azure_file_handle(STR(""), s->azure_file->secret_name, s->azure_file->share_name,
                          volume->name, pod_namespace.n ? pod_namespace : STR("default"), handle);
    } else if (s->cinder) {
        buf_add_str(handle, s->cinder->volume_id);
    } else if (s->vsphere_volume) {
        buf_add_str(handle, s->vsphere_volume->volume_path);
    } else if (s->portworx_volume) {
        buf_add_str(handle, s->portworx_volume->volume_id);
    }
    return true;
}

static struct str label_of(const struct persistent_volume *pv, const char *key)
{
    const struct str *value = str_map_get(&pv->metadata.labels, str_of(key));
    return value ? *value : (struct str){0};
}

/* A zone: zonal disk. Several zones: regional disk. None: unspecified. */
static bool gce_pv_handle(const struct persistent_volume *pv, struct buf *handle, struct buf *why)
{
    struct str name = pv->spec.source.gce_persistent_disk->pd_name;
    struct str zones = label_of(pv, BETA_ZONE), region;
    if (str_empty(zones))
        zones = label_of(pv, ZONE);
    if (str_search(zones, STR(ZONE_DELIMITER)) < zones.n) {
        if (!gce_region_of_zones(zones, &region, why))
            return false;
        buf_add_printf(handle, "projects/" UNSPECIFIED "/regions/%.*s/disks/%.*s", STR_ARG(region),
                       STR_ARG(name));
        return true;
    }
    buf_add_printf(handle, "projects/" UNSPECIFIED "/zones/%.*s/disks/%.*s",
                   STR_ARG(zones.n ? zones : STR(UNSPECIFIED)), STR_ARG(name));
    return true;
}

static bool azure_file_pv_handle(const struct persistent_volume *pv, struct buf *handle,
                                 struct buf *why)
{
    const struct azure_file_persistent_volume_source *file = pv->spec.source.azure_file;
    const struct str *group =
        str_map_get(&pv->metadata.annotations, STR("kubernetes.io/azure-file-resource-group"));
    struct str namespace = file->secret_namespace ? *file->secret_namespace
                           : pv->spec.claim_ref   ? pv->spec.claim_ref->namespace
                                                  : STR("");
    if (str_empty(namespace)) {
        buf_add_cstr(why,
                     "could not find a secret namespace in PersistentVolumeSource or ClaimRef");
        return false;
    }
    azure_file_handle(group ? *group : STR(""), file->secret_name, file->share_name,
                      pv->metadata.name, namespace, handle);
    return true;
}

bool csi_pv_handle(const struct persistent_volume *pv, struct buf *handle, struct buf *why)
{
    const struct persistent_volume_source *s = &pv->spec.source;
    if (s->gce_persistent_disk)
        return gce_pv_handle(pv, handle, why);
    if (s->aws_elastic_block_store)
        return aws_handle(s->aws_elastic_block_store->volume_id, handle, why);
    if (s->azure_disk)
        return azure_disk_handle(s->azure_disk, handle, why);
    if (s->azure_file)
        return azure_file_pv_handle(pv, handle, why);
    if (s->cinder)
        buf_add_str(handle, s->cinder->volume_id);
    else if (s->vsphere_volume)
        buf_add_str(handle, s->vsphere_volume->volume_path);
    else if (s->portworx_volume)
        buf_add_str(handle, s->portworx_volume->volume_id);
    return true;
}

/* --- affinity --------------------------------------------------------------------------------- */

/* A selector that is copied before its first change. */
struct rewrite {
    struct arena *arena;
    const struct node_selector *from; /* NULL: none */
    struct node_selector *copy;       /* NULL: unchanged */
};

static const struct node_selector *current(const struct rewrite *a)
{
    return a->copy ? a->copy : a->from;
}

static struct node_selector *writable(struct rewrite *a)
{
    if (a->copy)
        return a->copy;
    size_t n = a->from ? a->from->node_selector_terms.n : 0;
    a->copy = arena_new(a->arena, struct node_selector);
    *a->copy = (struct node_selector){0};
    a->copy->node_selector_terms.v = arena_array(a->arena, struct node_selector_term, n ? n : 1);
    a->copy->node_selector_terms.n = n;
    for (size_t i = 0; i < n; i++) {
        struct node_selector_term *term = &a->copy->node_selector_terms.v[i];
        *term = a->from->node_selector_terms.v[i];
        size_t m = term->match_expressions.n;
        struct node_selector_requirement *copy =
            arena_array(a->arena, struct node_selector_requirement, m + 2); /* zone and region */
        for (size_t k = 0; k < m; k++)
            copy[k] = term->match_expressions.v[k];
        term->match_expressions.v = copy;
    }
    return a->copy;
}

typedef bool requirement_test(const struct node_selector_requirement *r);

static bool always(const struct node_selector_requirement *r)
{
    (void)r;
    return true;
}

static bool has_values(const struct node_selector_requirement *r)
{
    return r->values.n > 0;
}

static bool any_requirement(const struct node_selector *s, struct str key, requirement_test *test)
{
    for (size_t i = 0; s && i < s->node_selector_terms.n; i++) {
        const struct node_selector_term *term = &s->node_selector_terms.v[i];
        for (size_t k = 0; k < term->match_expressions.n; k++)
            if (str_eq(term->match_expressions.v[k].key, key) &&
                test(&term->match_expressions.v[k]))
                return true;
    }
    return false;
}

/* The key of every requirement on `from`; false if none of them has values. */
static bool replace_key(struct rewrite *a, struct str from, struct str to)
{
    if (!any_requirement(current(a), from, has_values))
        return false;
    struct node_selector *s = writable(a);
    for (size_t i = 0; i < s->node_selector_terms.n; i++) {
        struct node_selector_term *term = &s->node_selector_terms.v[i];
        for (size_t k = 0; k < term->match_expressions.n; k++)
            if (str_eq(term->match_expressions.v[k].key, from))
                term->match_expressions.v[k].key = to;
    }
    return true;
}

/* Adds "key in values" to every term; without values nothing. */
static void add_requirement(struct rewrite *a, struct str key, struct str *values, size_t n)
{
    if (!n)
        return;
    struct node_selector *s = writable(a);
    struct node_selector_requirement r = {.key = key, .operator= STR("In"), .values = {values, n}};
    if (!s->node_selector_terms.n) {
        s->node_selector_terms.v[s->node_selector_terms.n++] = (struct node_selector_term){
            .match_expressions = {arena_array(a->arena, struct node_selector_requirement, 2), 0}};
    }
    for (size_t i = 0; i < s->node_selector_terms.n; i++) {
        struct node_selector_term *term = &s->node_selector_terms.v[i];
        term->match_expressions.v[term->match_expressions.n++] = r;
    }
}

/* Zones of a label, which several separate by "__"; whole: the label is one zone. */
static void add_zones(struct rewrite *a, struct str key, struct str label, bool whole)
{
    size_t n = 0;
    struct str *zones = arena_array(a->arena, struct str, label.n / 2 + 1), rest = label;
    do {
        size_t at = whole ? rest.n : str_search(rest, STR(ZONE_DELIMITER));
        struct str zone = str_trim(str_slice(rest, 0, at));
        if (zone.n)
            zones[n++] = zone;
        rest = at < rest.n ? str_slice(rest, at + strlen(ZONE_DELIMITER), rest.n)
                           : (struct str){NULL, 0};
    } while (rest.p);
    add_requirement(a, key, zones, n);
}

/* Does the volume use the labels of before Kubernetes 1.17? */
static bool is_beta(const struct persistent_volume *pv, const struct node_selector *s)
{
    if (any_requirement(s, STR(ZONE), always))
        return false;
    if (any_requirement(s, STR(BETA_ZONE), always))
        return true;
    return !str_map_get(&pv->metadata.labels, STR(ZONE)) &&
           str_map_get(&pv->metadata.labels, STR(BETA_ZONE));
}

/* From the label of a volume that has no such requirement. */
static void translate_key(struct rewrite *a, const struct persistent_volume *pv, const char *label,
                          struct str key, bool whole)
{
    if (replace_key(a, str_of(label), key))
        return;
    const struct str *value = str_map_get(&pv->metadata.labels, str_of(label));
    if (value)
        add_zones(a, key, *value, whole);
}

const struct node_selector *csi_pv_affinity(const struct persistent_volume *pv, struct arena *arena)
{
    const struct csi_migration *m = csi_migration_of_pv(pv);
    struct rewrite a = {.arena = arena,
                        .from = pv->spec.node_affinity ? pv->spec.node_affinity->required : NULL};
    if (!m || str_empty(m->zone_key))
        return a.from;
    bool beta = is_beta(pv, a.from), vsphere = m == &rows[VSPHERE];
    translate_key(&a, pv, beta ? BETA_ZONE : ZONE, m->zone_key, vsphere);
    if (vsphere)
        translate_key(&a, pv, beta ? BETA_REGION : REGION, STR(VSPHERE_REGION_KEY), true);
    else if (beta)
        replace_key(&a, STR(BETA_REGION), STR(REGION));
    return current(&a);
}
