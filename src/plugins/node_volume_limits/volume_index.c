/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volume_index.c - entries by slot, and which entries depend on an object.
 *
 * An entry that is not valid is collected again when it is asked for. It becomes invalid when the
 * cache's journal names its slot, or when an object changes that it depends on.
 *
 * Invariant: the slots of a dependency are exactly the entries that list it.
 */
#include "plugins/node_volume_limits/volume_index.h"

#include "engine/cache/object_key.h"
#include "engine/framework/framework.h"
#include "plugins/common/claims.h"
#include "plugins/common/plugin_base.h"

/* An object that entries were collected from, whether it exists or not. */
struct dependency {
    VEC(uint32_t) slots; /* sorted */
    size_t key_n;
    char key[];
};

struct entry {
    struct node_volumes volumes;
    VEC(struct dependency *) dependencies;
    char *node; /* its name; NULL: the slot was never used */
    bool valid;
};

/* The VolumeAttachments of a node. */
struct attachments {
    char *node;
    struct map by_name; /* → struct object, borrowed */
};

struct volume_index {
    struct cluster *cluster;
    VEC(struct entry *) entries; /* by slot; NULL: never asked for */
    struct map dependencies;     /* by key */
    struct map attachments;      /* by name of the node */
    uint64_t seen_pods, seen_nodes;
    struct buf key; /* scratch */
};

/* --- dependencies ----------------------------------------------------------------------------- */

static struct str dependency_key(struct volume_index *index, enum kind_id kind,
                                 struct str namespace, struct str name)
{
    buf_clear(&index->key);
    buf_add_char(&index->key, (char)('A' + kind));
    buf_add_str(&index->key, namespace);
    buf_add_char(&index->key, '/');
    buf_add_str(&index->key, name);
    return buf_str(&index->key);
}

/* Where the slot is, or would be. */
static size_t slot_place(const struct dependency *d, uint32_t slot)
{
    size_t from = 0, to = d->slots.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (d->slots.v[mid] < slot)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static void drop_dependency(struct volume_index *index, struct dependency *d, uint32_t slot)
{
    size_t at = slot_place(d, slot);
    INVARIANT(at < d->slots.n && d->slots.v[at] == slot);
    vec_remove(&d->slots, at);
    if (d->slots.n)
        return;
    map_del(&index->dependencies, (struct str){d->key, d->key_n});
    vec_release(&d->slots);
    free(d);
}

static void forget_dependencies(struct volume_index *index, struct entry *e, uint32_t slot)
{
    for (size_t i = 0; i < e->dependencies.n; i++)
        drop_dependency(index, e->dependencies.v[i], slot);
    vec_clear(&e->dependencies);
}

struct collecting {
    struct volume_index *index;
    struct entry *entry;
    uint32_t slot;
};

/* A volume_source_fn: the entry depends on this object. */
static void add_dependency(void *ctx, enum kind_id kind, struct str namespace, struct str name)
{
    const struct collecting *c = ctx;
    struct str key = dependency_key(c->index, kind, namespace, name);
    struct dependency *d = map_get(&c->index->dependencies, key);
    if (!d) {
        d = xmalloc(sizeof(*d) + key.n);
        *d = (struct dependency){.key_n = key.n};
        memcpy(d->key, key.p, key.n);
        map_put(&c->index->dependencies, (struct str){d->key, key.n}, d);
    }
    size_t at = slot_place(d, c->slot);
    if (at < d->slots.n && d->slots.v[at] == c->slot)
        return;
    vec_insert(&d->slots, at, c->slot);
    vec_push(&c->entry->dependencies, d);
}

/* --- the volumes of a node -------------------------------------------------------------------- */

void node_volumes_init(struct node_volumes *v)
{
    *v = (struct node_volumes){0};
    volume_list_init(&v->list);
}

void node_volumes_release(struct node_volumes *v)
{
    vec_release(&v->drivers);
    volume_list_release(&v->list);
    buf_release(&v->why);
}

static int by_name_and_entry(const void *a, const void *b)
{
    const struct node_driver *x = a, *y = b;
    int c = str_cmp(x->name, y->name);
    return c != 0 ? c : (x->entry > y->entry) - (x->entry < y->entry);
}

static int with_name(const void *name, const void *driver)
{
    return str_cmp(*(const struct str *)name, ((const struct node_driver *)driver)->name);
}

struct node_driver *node_volumes_search(const struct node_volumes *v, struct str name)
{
    return bsearch(&name, v->drivers.v, v->drivers.n, sizeof(v->drivers.v[0]), with_name);
}

/* Of several entries of a driver the last one with a limit counts. */
static void read_drivers(struct node_volumes *v)
{
    for (size_t i = 0; v->csi_node && i < v->csi_node->spec.drivers.n; i++) {
        const struct csi_node_driver *d = &v->csi_node->spec.drivers.v[i];
        struct node_driver driver = {.name = d->name, .entry = (uint32_t)i};
        driver.limited = d->allocatable && d->allocatable->count;
        driver.max = driver.limited ? *d->allocatable->count : 0;
        vec_push(&v->drivers, driver);
    }
    if (v->drivers.n > 1)
        qsort(v->drivers.v, v->drivers.n, sizeof(v->drivers.v[0]), by_name_and_entry);
    size_t n = 0;
    v->n_limited = 0;
    for (size_t i = 0; i < v->drivers.n; i++) {
        const struct node_driver d = v->drivers.v[i];
        bool same = n && str_eq(v->drivers.v[n - 1].name, d.name);
        if (!same || d.limited) {
            v->n_limited += d.limited && !(same && v->drivers.v[n - 1].limited);
            v->drivers.v[same ? n - 1 : n++] = d;
        }
    }
    v->drivers.n = n;
}

static void count(const struct node_volumes *v, struct str driver)
{
    struct node_driver *d = node_volumes_driver(v, driver);
    if (d)
        d->attached++;
}

static void collect_pods(const struct volume_lookup *lookup, const struct berth_node *node,
                         struct node_volumes *v)
{
    for (size_t i = 0; !v->failed && i < node->pods.n; i++)
        v->failed =
            volume_list_add_pod(&v->list, lookup, node->pods.v[i]->pod, &v->why) != VOLUME_OK;
    volume_list_sort(&v->list);
    for (size_t i = 0; i < v->list.volumes.n; i++)
        count(v, v->list.volumes.v[i].driver);
}

/*
 * Volumes that are attached though no pod on the node uses them (getNodeVolumeAttachmentInfo).
 * Only those of drivers with a limit are looked at.
 */
static void collect_attachments(const struct volume_lookup *lookup, const struct attachments *all,
                                struct node_volumes *v)
{
    struct volume_list list;
    volume_list_init(&list);
    map_each (e, &all->by_name) {
        const struct volume_attachment *a = object_body(e->value);
        struct str pv_name = a->spec.source.persistent_volume_name;
        if (str_empty(a->spec.attacher) || str_empty(pv_name))
            continue;
        if (lookup->on_read)
            lookup->on_read(lookup->ctx, KIND_PERSISTENT_VOLUME, STR(""), pv_name);
        const struct persistent_volume *pv = pv_lookup(lookup->objects, pv_name);
        if (pv && pv->spec.source.csi)
            volume_list_add(&list, a->spec.attacher, pv->spec.source.csi->volume_handle);
    }
    volume_list_sort(&list);
    for (size_t i = 0; i < list.volumes.n; i++)
        if (!volume_list_has(&v->list, &list.volumes.v[i]))
            count(v, list.volumes.v[i].driver);
    volume_list_release(&list);
}

void node_volumes_collect(const struct volume_index *index, const struct berth_node *node,
                          volume_source_fn *on_read, void *ctx, struct node_volumes *v)
{
    struct str name = str_of(node->name);
    const struct objects *objects = &index->cluster->objects;
    struct volume_lookup lookup = {
        .objects = objects, .migrated = true, .on_read = on_read, .ctx = ctx};
    const struct object *csi_node = objects_get(objects, KIND_CSI_NODE, STR(""), name);
    vec_clear(&v->drivers);
    volume_list_clear(&v->list);
    buf_clear(&v->why);
    v->failed = false;
    v->csi_node = csi_node ? object_body(csi_node) : NULL;
    if (on_read)
        on_read(ctx, KIND_CSI_NODE, STR(""), name);
    read_drivers(v);
    if (!v->n_limited)
        return;
    collect_pods(&lookup, node, v);
    if (on_read)
        on_read(ctx, KIND_VOLUME_ATTACHMENT, STR(""), name);
    const struct attachments *all = map_get(&index->attachments, name);
    if (all && !v->failed)
        collect_attachments(&lookup, all, v);
}

/* --- entries ---------------------------------------------------------------------------------- */

static struct entry *entry_at(const struct volume_index *index, uint32_t slot)
{
    return slot < index->entries.n ? index->entries.v[slot] : NULL;
}

static void invalidate(const struct volume_index *index, uint32_t slot)
{
    struct entry *e = entry_at(index, slot);
    if (e)
        e->valid = false;
}

/* A journal of slots; start over if it has gone on too far. */
static void read_journal(const struct volume_index *index, const struct journal *j, uint64_t *seen)
{
    if (!journal_reaches(j, *seen)) {
        for (uint32_t slot = 0; slot < index->entries.n; slot++)
            invalidate(index, slot);
        *seen = j->n;
    }
    for (; *seen < j->n; (*seen)++)
        invalidate(index, journal_at(j, *seen));
}

/* A change of a node's object matters only if another node has the slot now. */
static void read_nodes(struct volume_index *index)
{
    const struct cache *cache = index->cluster->cache;
    const struct journal *j = &cache->node_changes;
    if (!journal_reaches(j, index->seen_nodes)) {
        read_journal(index, j, &index->seen_nodes);
        return;
    }
    for (; index->seen_nodes < j->n; index->seen_nodes++) {
        uint32_t slot = journal_at(j, index->seen_nodes);
        const struct berth_node *node = cache->columns.nodes[slot];
        struct entry *e = entry_at(index, slot);
        if (e && (!node || !e->node || strcmp(node->name, e->node) != 0))
            e->valid = false;
    }
}

static struct entry *entry_for(struct volume_index *index, uint32_t slot)
{
    while (index->entries.n <= slot)
        vec_push(&index->entries, NULL);
    struct entry *e = index->entries.v[slot];
    if (!e) {
        e = xnew(struct entry);
        node_volumes_init(&e->volumes);
        index->entries.v[slot] = e;
    }
    return e;
}

const struct node_volumes *volume_index_node(struct volume_index *index, uint32_t slot)
{
    const struct cache *cache = index->cluster->cache;
    read_journal(index, &cache->pod_changes, &index->seen_pods);
    read_nodes(index);
    struct entry *e = entry_for(index, slot);
    if (e->valid)
        return &e->volumes;
    const struct berth_node *node = cache->columns.nodes[slot];
    struct collecting collecting = {index, e, slot};
    forget_dependencies(index, e, slot);
    free(e->node);
    e->node = str_dup(str_of(node->name));
    node_volumes_collect(index, node, add_dependency, &collecting, &e->volumes);
    e->valid = true;
    return &e->volumes;
}

/* --- the shared state ------------------------------------------------------------------------- */

static void *make(const struct berth_host *host, struct berth_handle *h)
{
    (void)host;
    struct volume_index *index = xnew(struct volume_index);
    index->cluster = handle_cluster(h);
    return index;
}

static void free_attachments(struct attachments *a)
{
    map_release(&a->by_name);
    free(a->node);
    free(a);
}

static void free_index(void *data)
{
    struct volume_index *index = data;
    for (uint32_t slot = 0; slot < index->entries.n; slot++) {
        struct entry *e = index->entries.v[slot];
        if (!e)
            continue;
        forget_dependencies(index, e, slot);
        vec_release(&e->dependencies);
        node_volumes_release(&e->volumes);
        free(e->node);
        free(e);
    }
    INVARIANT(index->dependencies.n == 0);
    map_each (e, &index->attachments)
        free_attachments(e->value);
    map_release(&index->attachments);
    map_release(&index->dependencies);
    vec_release(&index->entries);
    buf_release(&index->key);
    free(index);
}

static void object_changed(struct volume_index *index, enum kind_id kind, struct str namespace,
                           struct str name)
{
    const struct dependency *d =
        map_get(&index->dependencies, dependency_key(index, kind, namespace, name));
    for (size_t i = 0; d && i < d->slots.n; i++)
        invalidate(index, d->slots.v[i]);
}

static void detach(struct volume_index *index, const struct object *o)
{
    const struct volume_attachment *a = object_body(o);
    struct attachments *all = map_get(&index->attachments, a->spec.node_name);
    if (!all)
        return;
    map_del(&all->by_name, a->metadata.name);
    if (all->by_name.n)
        return;
    map_del(&index->attachments, a->spec.node_name);
    free_attachments(all);
}

static void attach(struct volume_index *index, const struct object *o)
{
    const struct volume_attachment *a = object_body(o);
    struct attachments *all = map_get(&index->attachments, a->spec.node_name);
    if (!all) {
        all = xnew(struct attachments);
        all->node = str_dup(a->spec.node_name);
        map_put(&index->attachments, str_of(all->node), all);
    }
    map_put(&all->by_name, a->metadata.name, (void *)o);
}

static void attachment_changed(struct volume_index *index, const struct object *before,
                               const struct object *after)
{
    if (before) {
        const struct volume_attachment *a = object_body(before);
        object_changed(index, KIND_VOLUME_ATTACHMENT, STR(""), a->spec.node_name);
        detach(index, before);
    }
    if (after) {
        const struct volume_attachment *a = object_body(after);
        object_changed(index, KIND_VOLUME_ATTACHMENT, STR(""), a->spec.node_name);
        attach(index, after);
    }
}

static void changed(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after)
{
    struct volume_index *index = data;
    const struct object_meta *meta = hint_meta(after ? after : before);
    enum kind_id kind = object_kind(object_of_abi(after ? after : before))->id;
    switch (resource) {
    case BERTH_RESOURCE_PERSISTENT_VOLUME:
    case BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM:
    case BERTH_RESOURCE_STORAGE_CLASS:
    case BERTH_RESOURCE_CSI_NODE:
        object_changed(index, kind, meta->namespace, meta->name);
        break;
    case BERTH_RESOURCE_VOLUME_ATTACHMENT:
        attachment_changed(index, before ? object_of_abi(before) : NULL,
                           after ? object_of_abi(after) : NULL);
        break;
    default:
        break;
    }
}

const struct berth_shared_type volume_index_type = {.struct_size = sizeof(struct berth_shared_type),
                                                    .name = "NodeVolumeLimits",
                                                    .make = make,
                                                    .free = free_index,
                                                    .changed = changed};
