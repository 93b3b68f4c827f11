/* SPDX-License-Identifier: Apache-2.0 */
/*
 * migration.c - in-tree volumes that a CSI driver serves (upstream: tryTranslatePVToCSI).
 *
 * Whether a plugin is migrated is decided by node: by the annotation of its CSINode.
 */
#include "plugins/volume_binding/volumes.h"

/* --- volumes ---------------------------------------------------------------------------------- */

static char *fault_of(const struct persistent_volume *pv)
{
    struct buf handle = BUF_INIT, why = BUF_INIT;
    buf_add_cstr(&why, "could not translate pv: ");
    bool ok = csi_pv_handle(pv, &handle, &why);
    buf_release(&handle);
    if (!ok)
        return buf_take(&why);
    buf_release(&why);
    return NULL;
}

void pv_migrate(struct volumes *v, struct pv *pv)
{
    struct arena scratch;
    const struct csi_migration *migration = csi_migration_of_pv(pv->body);
    if (!migration || !migration->on)
        return;
    pv->migration = migration;
    pv->fault = fault_of(pv->body);
    if (pv->fault)
        return;
    arena_init(&scratch, 0);
    const struct node_selector *s = csi_pv_affinity(pv->body, &scratch);
    pv->migrated_where = s ? node_sets_of_selector(&v->sets, s, pv->object) : NULL;
    arena_release(&scratch);
}

void pv_end_migration(struct volumes *v, struct pv *pv)
{
    node_set_unref(&v->sets, TAKE(pv->migrated_where));
    free(TAKE(pv->fault));
    pv->migration = NULL;
}

/* --- CSINodes --------------------------------------------------------------------------------- */

static bool migrates_any(const struct object *csi_node)
{
    return csi_node && str_map_get(&object_meta(csi_node)->annotations, STR(ANN_MIGRATED_PLUGINS));
}

void csi_node_changed(struct volumes *v, struct object *before, struct object *after)
{
    struct str name = object_meta(after ? after : before)->name;
    struct object *old = map_del(&v->csi_nodes, name);
    if (migrates_any(after))
        map_put(&v->csi_nodes, object_meta(after)->name, object_ref(after));
    if (old || migrates_any(after))
        v->csi_changes++;
    object_unref(old);
}

void csi_nodes_release(struct volumes *v)
{
    map_each (e, &v->csi_nodes)
        object_unref(e->value);
    map_release(&v->csi_nodes);
    for (size_t i = 0; i < v->migrated.n; i++)
        free(v->migrated.v[i].words);
    vec_release(&v->migrated);
}

bool pv_migrated_on(const struct volumes *v, const struct pv *pv, struct str node)
{
    const struct object *csi_node = pv->migration ? map_get(&v->csi_nodes, node) : NULL;
    return csi_node && csi_migrated_on_node(pv->migration->plugin, object_csi_node(csi_node));
}

static struct migrated_nodes *nodes_of(struct volumes *v, const struct csi_migration *migration)
{
    for (size_t i = 0; i < v->migrated.n; i++)
        if (v->migrated.v[i].migration == migration)
            return &v->migrated.v[i];
    vec_push(&v->migrated, (struct migrated_nodes){.migration = migration});
    return &vec_last(&v->migrated);
}

const uint64_t *pv_migrated_nodes(struct volumes *v, const struct pv *pv, size_t n_slots)
{
    struct migrated_nodes *m = nodes_of(v, pv->migration);
    const struct cache *cache = v->cluster->cache;
    if (m->words && m->n_words == BITSET_WORDS(n_slots) && m->csi_changes == v->csi_changes &&
        m->node_changes == cache->node_set)
        return m->words;
    m->n_words = BITSET_WORDS(n_slots);
    m->csi_changes = v->csi_changes;
    m->node_changes = cache->node_set;
    m->words = xreallocarray(m->words, m->n_words, sizeof(uint64_t));
    memset(m->words, 0, m->n_words * sizeof(uint64_t));
    map_each (e, &v->csi_nodes) {
        const struct berth_node *node = cache_node(cache, e->key);
        if (node && node->slot < n_slots && pv_migrated_on(v, pv, e->key))
            m->words[node->slot / 64] |= (uint64_t)1 << (node->slot % 64);
    }
    return m->words;
}
