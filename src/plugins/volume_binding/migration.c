/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migration.c - in-tree volumes that a CSI driver serves (upstream: tryTranslatePVToCSI).
 *
 * A volume of a migrated plugin has the topology of the CSI driver: the zone in its node affinity,
 * or else in its labels, is looked up under the driver's key. Whether a plugin is migrated is
 * decided by node: by the annotation of its CSINode.
 */
#include "engine/cache/object_key.h"
#include "plugins/volume_binding/volumes.h"

#define LABEL_ZONE        "topology.kubernetes.io/zone"
#define LABEL_REGION      "topology.kubernetes.io/region"
#define LABEL_BETA_ZONE   "failure-domain.beta.kubernetes.io/zone"
#define LABEL_BETA_REGION "failure-domain.beta.kubernetes.io/region"
#define ZONE_DELIMITER    "__"

static const struct {
    struct str plugin;
    struct str topology_key; /* empty: the topology is not translated */
} migrations[MIGRATED_COUNT] = {
    [MIGRATED_AWS_EBS] = {STR_INIT("kubernetes.io/aws-ebs"),
                          STR_INIT("topology.ebs.csi.aws.com/zone")},
    [MIGRATED_GCE_PD] = {STR_INIT("kubernetes.io/gce-pd"), STR_INIT("topology.gke.io/zone")},
    [MIGRATED_AZURE_DISK] = {STR_INIT("kubernetes.io/azure-disk"), {0}},
    [MIGRATED_CINDER] = {STR_INIT("kubernetes.io/cinder"),
                         STR_INIT("topology.cinder.csi.openstack.org/zone")},
    [MIGRATED_PORTWORX] = {STR_INIT("kubernetes.io/portworx-volume"), {0}},
};

static enum migrated_plugin plugin_of(const struct persistent_volume_source *source)
{
    return source->aws_elastic_block_store ? MIGRATED_AWS_EBS
           : source->gce_persistent_disk   ? MIGRATED_GCE_PD
           : source->azure_disk            ? MIGRATED_AZURE_DISK
           : source->cinder                ? MIGRATED_CINDER
           : source->portworx_volume       ? MIGRATED_PORTWORX
                                           : NOT_MIGRATED;
}

/* --- topology --------------------------------------------------------------------------------- */

static bool names_key(const struct node_selector *s, struct str key)
{
    for (size_t i = 0; s && i < s->node_selector_terms.n; i++)
        for (size_t k = 0; k < s->node_selector_terms.v[i].match_expressions.n; k++)
            if (str_eq(s->node_selector_terms.v[i].match_expressions.v[k].key, key))
                return true;
    return false;
}

/* Does any requirement on the key have a value? */
static bool has_values(const struct node_selector *s, struct str key)
{
    for (size_t i = 0; s && i < s->node_selector_terms.n; i++)
        for (size_t k = 0; k < s->node_selector_terms.v[i].match_expressions.n; k++) {
            const struct node_selector_requirement *r =
                &s->node_selector_terms.v[i].match_expressions.v[k];
            if (str_eq(r->key, key) && r->values.n)
                return true;
        }
    return false;
}

static void replace_key(struct node_selector *s, struct str from, struct str to)
{
    for (size_t i = 0; i < s->node_selector_terms.n; i++)
        for (size_t k = 0; k < s->node_selector_terms.v[i].match_expressions.n; k++) {
            struct node_selector_requirement *r =
                &s->node_selector_terms.v[i].match_expressions.v[k];
            if (str_eq(r->key, from))
                r->key = to;
        }
}

/* A copy whose requirements may be changed, with room for one more in each term. */
static struct node_selector *copy_selector(const struct node_selector *from, struct arena *a)
{
    struct node_selector *s = arena_new(a, struct node_selector);
    size_t n = from ? from->node_selector_terms.n : 0;
    s->node_selector_terms.v = arena_array(a, struct node_selector_term, MAX(n, (size_t)1));
    s->node_selector_terms.n = n;
    for (size_t i = 0; i < n; i++) {
        struct node_selector_term *term = &s->node_selector_terms.v[i];
        *term = from->node_selector_terms.v[i];
        const struct node_selector_requirement *had = term->match_expressions.v;
        term->match_expressions.v =
            arena_array(a, struct node_selector_requirement, term->match_expressions.n + 1);
        if (term->match_expressions.n)
            memcpy(term->match_expressions.v, had, term->match_expressions.n * sizeof(*had));
    }
    return s;
}

static int order_of_zones(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The zones of a label "a__b": sorted, each once, without empty ones. */
static size_t split_zones(struct str label, struct arena *a, struct str **ret_zones)
{
    size_t n = 0, kept = 0;
    struct str *zones = arena_array(a, struct str, label.n / 2 + 1);
    for (;;) {
        size_t at = str_search(label, STR(ZONE_DELIMITER));
        struct str zone = str_trim(str_slice(label, 0, at));
        if (!str_empty(zone))
            zones[n++] = zone;
        if (at == label.n)
            break;
        label = str_slice(label, at + sizeof(ZONE_DELIMITER) - 1, label.n);
    }
    qsort(zones, n, sizeof(*zones), order_of_zones);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || !str_eq(zones[i], zones[kept - 1]))
            zones[kept++] = zones[i];
    *ret_zones = zones;
    return kept;
}

/* Adds "key In zones" to every term; without terms that is the only one. */
static void add_zones(struct node_selector *s, struct str key, struct str label, struct arena *a)
{
    struct str *zones;
    size_t n = split_zones(label, a, &zones);
    if (n == 0)
        return;
    if (s->node_selector_terms.n == 0) {
        s->node_selector_terms.n = 1;
        s->node_selector_terms.v[0].match_expressions.v =
            arena_array(a, struct node_selector_requirement, 1);
    }
    for (size_t i = 0; i < s->node_selector_terms.n; i++) {
        struct node_selector_term *term = &s->node_selector_terms.v[i];
        term->match_expressions.v[term->match_expressions.n++] = (struct node_selector_requirement){
            .key = key, .operator= STR("In"), .values = {zones, n}};
    }
}

/* The affinity as the CSI driver has it; NULL if there is none (translateTopologyFromInTreeToCSI).
 */
static const struct node_selector *translate(const struct persistent_volume *pv, struct str to,
                                             struct arena *a)
{
    const struct node_selector *from =
        pv->spec.node_affinity ? pv->spec.node_affinity->required : NULL;
    const str_map *labels = &pv->metadata.labels;
    bool is_beta =
        !names_key(from, STR(LABEL_ZONE)) &&
        (names_key(from, STR(LABEL_BETA_ZONE)) ||
         (!str_map_get(labels, STR(LABEL_ZONE)) && str_map_get(labels, STR(LABEL_BETA_ZONE))));
    struct str zone = is_beta ? STR(LABEL_BETA_ZONE) : STR(LABEL_ZONE);
    const struct str *zones = str_map_get(labels, zone);
    struct node_selector *s = copy_selector(from, a);
    if (has_values(from, zone))
        replace_key(s, zone, to);
    else if (zones)
        add_zones(s, to, *zones, a);
    if (is_beta && has_values(from, STR(LABEL_BETA_REGION)))
        replace_key(s, STR(LABEL_BETA_REGION), STR(LABEL_REGION));
    return from || s->node_selector_terms.n ? s : NULL;
}

/* --- volumes ---------------------------------------------------------------------------------- */

void pv_migrate(struct volumes *v, struct pv *pv)
{
    struct arena scratch;
    pv->plugin = plugin_of(&pv->body->spec.source);
    if (pv->plugin == NOT_MIGRATED)
        return;
    const struct volume_node_affinity *affinity = pv->body->spec.node_affinity;
    const struct node_selector *s = affinity ? affinity->required : NULL;
    struct str key = migrations[pv->plugin].topology_key;
    arena_init(&scratch, 0);
    if (!str_empty(key))
        s = translate(pv->body, key, &scratch);
    pv->migrated_where = s ? node_sets_of_selector(&v->sets, s, pv->object) : NULL;
    arena_release(&scratch);
}

void pv_end_migration(struct volumes *v, struct pv *pv)
{
    node_set_unref(&v->sets, TAKE(pv->migrated_where));
    free(TAKE(pv->fault));
    pv->plugin = NOT_MIGRATED;
}

/* --- CSINodes --------------------------------------------------------------------------------- */

static unsigned plugins_in(const struct object *csi_node)
{
    const struct str *list =
        str_map_get(&object_meta(csi_node)->annotations, STR(ANN_MIGRATED_PLUGINS));
    struct str rest = list ? *list : (struct str){0}, name;
    unsigned plugins = 0;
    while (str_split(&rest, ',', &name))
        for (size_t i = 0; i < MIGRATED_COUNT; i++)
            if (str_eq(name, migrations[i].plugin))
                plugins |= 1U << i;
    return plugins;
}

void csi_node_changed(struct volumes *v, struct object *before, struct object *after)
{
    struct str name = object_meta(after ? after : before)->name;
    unsigned plugins = after ? plugins_in(after) : 0;
    struct csi_migration *m = map_get(&v->csi_nodes, name);
    if ((m ? m->plugins : 0) == plugins)
        return;
    v->csi_changes++;
    if (!m) {
        m = xnew(struct csi_migration);
        m->node = (struct str){str_dup(name), name.n};
        map_put(&v->csi_nodes, m->node, m);
    }
    m->plugins = plugins;
    if (plugins)
        return;
    map_del(&v->csi_nodes, m->node);
    free((char *)m->node.p);
    free(m);
}

void csi_nodes_release(struct volumes *v)
{
    map_each (e, &v->csi_nodes) {
        struct csi_migration *m = e->value;
        free((char *)m->node.p);
        free(m);
    }
    map_release(&v->csi_nodes);
    for (size_t i = 0; i < MIGRATED_COUNT; i++)
        free(v->migrated[i].words);
}

bool pv_migrated_on(const struct volumes *v, const struct pv *pv, struct str node)
{
    if (pv->plugin == NOT_MIGRATED)
        return false;
    const struct csi_migration *m = map_get(&v->csi_nodes, node);
    return m && (m->plugins >> pv->plugin & 1);
}

const uint64_t *pv_migrated_nodes(struct volumes *v, const struct pv *pv, size_t n_slots)
{
    struct migrated_nodes *m = &v->migrated[pv->plugin];
    const struct cache *cache = v->cluster->cache;
    if (m->n_words == BITSET_WORDS(n_slots) && m->csi_changes == v->csi_changes &&
        m->node_changes == cache->node_set)
        return m->words;
    m->n_words = BITSET_WORDS(n_slots);
    m->csi_changes = v->csi_changes;
    m->node_changes = cache->node_set;
    m->words = xreallocarray(m->words, m->n_words, sizeof(uint64_t));
    memset(m->words, 0, m->n_words * sizeof(uint64_t));
    map_each (e, &v->csi_nodes) {
        const struct csi_migration *at = e->value;
        const struct berth_node *node = cache_node(cache, at->node);
        if (node && node->slot < n_slots && (at->plugins >> pv->plugin & 1))
            m->words[node->slot / 64] |= (uint64_t)1 << (node->slot % 64);
    }
    return m->words;
}
