/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pools and nodes by name, kept up to date: a slice marks its pool and the nodes that it may reach;
 * devices_refresh computes what follows.
 */
#include "plugins/dynamic_resources/devices_internal.h"

/* --- nodes ------------------------------------------------------------------------------------ */

static void mark_node(struct devices *d, struct device_node *node)
{
    if (node->dirty)
        return;
    node->dirty = true;
    vec_push(&d->dirty_nodes, node);
}

/* The table of nodes by object is made by devices_refresh; any change of a node drops it. */
static void drop_table(struct devices *d)
{
    free(d->by_object);
    d->by_object = NULL;
    d->by_object_capacity = 0;
}

static size_t table_slot(const struct devices *d, const struct node *node)
{
    size_t mask = d->by_object_capacity - 1;
    size_t i = (size_t)hash_u64((uintptr_t)node) & mask;
    while (d->by_object[i] && d->by_object[i]->api != node)
        i = (i + 1) & mask;
    return i;
}

static void make_table(struct devices *d)
{
    if (d->by_object)
        return;
    d->by_object_capacity = 16;
    while (d->by_object_capacity < d->nodes.n * 2)
        d->by_object_capacity *= 2;
    d->by_object = xcalloc(d->by_object_capacity, sizeof(struct device_node *));
    map_each (e, &d->nodes) {
        struct device_node *node = e->value;
        if (node->object)
            d->by_object[table_slot(d, node->api)] = node;
    }
}

static uint32_t number_get(struct devices *d)
{
    uint32_t number =
        d->free_node_numbers.n > 0 ? vec_pop(&d->free_node_numbers) : d->n_node_numbers++;
    memos_add_number(d, number);
    return number;
}

/* The node has no number afterwards. */
static void put_number(struct devices *d, struct device_node *node)
{
    struct common_view *common = TAKE(node->common);
    if (common && --common->refs > 0)
        return;
    vec_push(&d->free_node_numbers, node->number);
    if (!common)
        return;
    map_del(&d->common_views, common->key);
    free(common);
}

static struct device_node *node_get(struct devices *d, struct str name)
{
    struct device_node *node = map_get(&d->nodes, name);
    if (node)
        return node;
    node = xcalloc(1, sizeof(*node) + name.n);
    if (name.n)
        memcpy(node->text, name.p, name.n);
    node->name = (struct str){node->text, name.n};
    arena_init(&node->arena, 0);
    node->number = number_get(d);
    map_put(&d->nodes, node->name, node);
    return node;
}

static void free_node(struct device_node *node)
{
    object_unref(node->object);
    vec_release(&node->pools);
    arena_release(&node->arena);
    free(node);
}

static void unmark_node(struct devices *d, const struct device_node *node)
{
    for (size_t i = 0; i < d->dirty_nodes.n; i++)
        if (d->dirty_nodes.v[i] == node) {
            vec_swap_remove(&d->dirty_nodes, i);
            break;
        }
}

/* Frees it if there is neither a node nor a slice of that name. */
static void node_check(struct devices *d, struct device_node *node)
{
    if (node->object || node->pools.n > 0)
        return;
    if (node->dirty)
        unmark_node(d, node);
    drop_table(d);
    vec_clear(&d->by_slot);
    put_number(d, node);
    map_del(&d->nodes, node->name);
    free_node(node);
}

void pools_node_changed(struct devices *d, struct str name, struct object *object)
{
    struct device_node *node = node_get(d, name);
    struct object *old = node->object;
    drop_table(d);
    node->object = object ? object_ref(object) : NULL;
    node->api = object ? object_node(object) : NULL;
    node->epoch = 0;
    if (object)
        mark_node(d, node);
    object_unref(old);
    node_check(d, node);
}

/* --- pools ------------------------------------------------------------------------------------ */

static struct str pool_key(struct devices *d, struct str driver, struct str name)
{
    buf_clear(&d->key);
    buf_add_str(&d->key, driver);
    buf_add_char(&d->key, '\0');
    buf_add_str(&d->key, name);
    return buf_str(&d->key);
}

static struct device_pool *pool_get(struct devices *d, struct str driver, struct str name)
{
    struct str key = pool_key(d, driver, name);
    struct device_pool *pool = map_get(&d->pools, key);
    if (pool)
        return pool;
    pool = xcalloc(1, sizeof(*pool) + key.n);
    memcpy(pool->text, key.p, key.n);
    pool->key = (struct str){pool->text, key.n};
    pool->driver = (struct str){pool->text, driver.n};
    pool->name = (struct str){pool->text + driver.n + 1, name.n};
    map_put(&d->pools, pool->key, pool);
    return pool;
}

static void free_pool(struct device_pool *pool)
{
    vec_release(&pool->slices);
    free(pool);
}

/* The devices of the slice are for one node, by its name. */
static bool is_local(const struct slice *slice)
{
    return slice->reach == SLICE_REACHES_NODE && !slice->has_counters;
}

/* Searches that have seen the pool are out of date. */
static void pool_touch(struct devices *d, struct device_pool *pool)
{
    d->clock++;
    if (pool->wide)
        d->wide_clock = d->wide_give_clock = d->clock;
    for (size_t i = 0; i < pool->slices.n && !pool->wide; i++)
        if (pool->slices.v[i]->node)
            pool->slices.v[i]->node->clock = d->clock;
}

/* Other nodes may depend on the device by the counters that it consumes. */
void slice_device_touch(struct devices *d, const struct slice_device *device, bool taking)
{
    struct device_pool *pool = device->slice->pool;
    if (pool->dirty || pool->counters || (pool->wide && !taking)) {
        pool_touch(d, pool);
        return;
    }
    d->clock++;
    if (device->slice->node)
        device->slice->node->clock = d->clock;
    else
        d->wide_clock = d->clock;
}

static void mark_node_of(struct devices *d, const struct slice *slice)
{
    if (!slice->node)
        return;
    slice->node->epoch = 0;
    mark_node(d, slice->node);
}

/*
 * The slice, which is in the pool, changes: views of the pool's nodes are out of date. Those of a
 * dirty pool are marked already.
 */
static void mark_pool(struct devices *d, struct device_pool *pool, const struct slice *slice)
{
    if (pool->dirty) {
        mark_node_of(d, slice);
        return;
    }
    pool_touch(d, pool);
    pool->dirty = true;
    vec_push(&d->dirty_pools, pool);
    for (size_t i = 0; i < pool->slices.n; i++)
        mark_node_of(d, pool->slices.v[i]);
}

/* Whether another slice of the pool is for the same node. */
static bool has_neighbour(const struct device_pool *pool, const struct slice *slice)
{
    for (size_t i = 0; i < pool->slices.n; i++) {
        const struct slice *other = pool->slices.v[i];
        if (other != slice && other->node == slice->node)
            return true;
    }
    return false;
}

void pools_add_slice(struct devices *d, struct slice *slice)
{
    const struct resource_slice_spec *spec = &slice->api->spec;
    struct device_pool *pool = pool_get(d, spec->driver, spec->pool.name);
    slice->pool = pool;
    size_t from = 0, to = pool->slices.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (str_cmp(pool->slices.v[mid]->api->metadata.name, slice->api->metadata.name) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    vec_insert(&pool->slices, from, slice);
    slice->node = is_local(slice) ? node_get(d, spec->node_name) : NULL;
    if (slice->node && !has_neighbour(pool, slice))
        vec_push(&slice->node->pools, pool);
    mark_pool(d, pool, slice);
}

static void forget_pool(struct devices *d, struct device_node *node, const struct device_pool *pool)
{
    for (size_t i = 0; i < node->pools.n; i++)
        if (node->pools.v[i] == pool) {
            vec_remove(&node->pools, i);
            break;
        }
    node->epoch = 0;
    mark_node(d, node);
    node_check(d, node);
}

void pools_remove_slice(struct devices *d, struct slice *slice)
{
    struct device_pool *pool = slice->pool;
    mark_pool(d, pool, slice);
    for (size_t i = 0; i < pool->slices.n; i++)
        if (pool->slices.v[i] == slice) {
            vec_remove(&pool->slices, i);
            break;
        }
    if (slice->node && !has_neighbour(pool, slice))
        forget_pool(d, slice->node, pool);
    if (pool->wide || pool->ill)
        d->epoch++; /* views refer to the slice */
}

/* --- refresh ---------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    const struct device_id *const *x = a, *const *y = b;
    return (uintptr_t)*x<(uintptr_t)*y ? -1 : (uintptr_t)*x>(uintptr_t) * y;
}

static bool names_unique(const struct device_pool *pool)
{
    VEC(const struct device_id *) ids = {0};
    for (size_t i = 0; i < pool->slices.n; i++)
        for (size_t k = 0; k < pool->slices.v[i]->api->spec.devices.n; k++)
            vec_push(&ids, pool->slices.v[i]->devices[k].id);
    if (ids.n > 1)
        qsort(ids.v, ids.n, sizeof(*ids.v), compare_ids);
    bool unique = true;
    for (size_t i = 1; i < ids.n && unique; i++)
        unique = ids.v[i - 1] != ids.v[i];
    vec_release(&ids);
    return unique;
}

/* As a node sees the pool that has no slice for its name: is it incomplete or invalid? */
static bool looks_ill(const struct devices *d, struct device_pool *pool)
{
    static const struct node nowhere;
    struct arena a;
    arena_init(&a, 0);
    struct node_view view;
    node_view_make(d, &nowhere, &pool, 1, &a, &view);
    bool ill = view.pools.n > 0;
    arena_release(&a);
    return ill;
}

/* Sets whether the pool is in a list. */
#define SET_LISTED(list, pool, flag, listed)          \
    do {                                              \
        if ((pool)->flag && !(listed)) {              \
            for (size_t i_ = 0; i_ < (list)->n; i_++) \
                if ((list)->v[i_] == (pool)) {        \
                    vec_swap_remove((list), i_);      \
                    break;                            \
                }                                     \
        } else if (!(pool)->flag && (listed))         \
            vec_push((list), (pool));                 \
        (pool)->flag = (listed);                      \
    } while (0)

static void refresh_pool(struct devices *d, struct device_pool *pool)
{
    bool wide = false, has_counters = false;
    pool->counters = false;
    for (size_t i = 0; i < pool->slices.n; i++) {
        const struct slice *slice = pool->slices.v[i];
        pool->counters = pool->counters || slice->has_counters || slice->consumes;
        /* No node can allocate from a slice that reaches nothing, but scores count its devices. */
        bool reaches = slice->reach != SLICE_REACHES_NOTHING;
        has_counters = has_counters || (reaches && slice->has_counters);
        wide = wide || !reaches || (!slice->has_counters && !is_local(slice));
    }
    pool->unique = names_unique(pool);
    bool was_listed = pool->wide || pool->ill;
    bool ill = has_counters && !wide && looks_ill(d, pool);
    SET_LISTED(&d->wide, pool, wide, wide);
    SET_LISTED(&d->ill, pool, ill, ill);
    if (was_listed || wide || ill)
        d->epoch++;
}

/* What identifies the view, in d->key. Returns false if another node's cannot be the same. */
static bool view_key(struct devices *d, const struct device_node *node)
{
    buf_clear(&d->key);
    buf_add_char(&d->key, 'v');
    if (node->pools.n > 0 || !str_empty(node->view.error))
        return false;
    for (size_t i = 0; i < node->view.pools.n; i++) {
        const struct pool_view *pool = &node->view.pools.v[i];
        buf_add(&d->key, &pool->pool, sizeof(pool->pool));
        buf_add_char(&d->key, pool->incomplete ? 'u' : pool->invalid ? 'i' : 's');
        for (size_t k = 0; k < pool->slices.n; k++) {
            if (pool->slices.v[k]->api->spec.per_device_node_selection)
                return false; /* it also depends on the node */
            buf_add(&d->key, &pool->slices.v[k], sizeof(pool->slices.v[k]));
        }
    }
    return true;
}

/* Nodes with the same view have the same number. Slices that change touch their pool. */
static void number_node(struct devices *d, struct device_node *node)
{
    bool common = view_key(d, node);
    struct common_view *c = common ? map_get(&d->common_views, buf_str(&d->key)) : NULL;
    if (c && c == node->common)
        return;
    node->clock = ++d->clock;
    if (!common && !node->common)
        return;
    if (common && !c) {
        c = xcalloc(1, sizeof(*c) + d->key.n);
        memcpy(c->text, d->key.p, d->key.n);
        c->key = (struct str){c->text, d->key.n};
        c->number = number_get(d);
        map_put(&d->common_views, c->key, c);
    }
    if (c)
        c->refs++;
    put_number(d, node);
    node->common = c;
    node->number = c ? c->number : number_get(d);
}

static void refresh_node(struct devices *d, struct device_node *node)
{
    node->dirty = false;
    if (!node->object || node->epoch == d->epoch)
        return;
    VEC(struct device_pool *) pools = {0};
    for (size_t i = 0; i < node->pools.n; i++)
        if (!node->pools.v[i]->wide)
            vec_push(&pools, node->pools.v[i]);
    for (size_t i = 0; i < d->wide.n; i++)
        vec_push(&pools, d->wide.v[i]);
    for (size_t i = 0; i < d->ill.n; i++) {
        bool own = false;
        for (size_t k = 0; k < node->pools.n && !own; k++)
            own = node->pools.v[k] == d->ill.v[i];
        if (!own)
            vec_push(&pools, d->ill.v[i]);
    }
    arena_reset(&node->arena);
    node_view_make(d, node->api, pools.v, pools.n, &node->arena, &node->view);
    node->epoch = d->epoch;
    number_node(d, node);
    vec_release(&pools);
}

void pools_refresh(struct devices *d)
{
    for (size_t i = 0; i < d->dirty_pools.n; i++) {
        struct device_pool *pool = d->dirty_pools.v[i];
        pool->dirty = false;
        refresh_pool(d, pool);
        if (pool->slices.n == 0) {
            map_del(&d->pools, pool->key);
            free_pool(pool);
        }
    }
    vec_clear(&d->dirty_pools);
    if (d->view_epoch != d->epoch) {
        map_each (e, &d->nodes)
            mark_node(d, e->value);
        d->view_epoch = d->epoch;
    }
    for (size_t i = 0; i < d->dirty_nodes.n; i++)
        refresh_node(d, d->dirty_nodes.v[i]);
    vec_clear(&d->dirty_nodes);
    make_table(d);
}

const struct device_node *devices_node(const struct devices *d, const struct node *node)
{
    const struct device_node *kept = d->by_object ? d->by_object[table_slot(d, node)] : NULL;
    return device_node_is(d, kept, node) ? kept : NULL;
}

const struct device_node *const *devices_nodes_at(struct devices *d, size_t slot, size_t n)
{
    while (d->by_slot.n < slot + n)
        vec_push(&d->by_slot, NULL);
    return d->by_slot.v + slot;
}

const struct device_node *devices_find_at(struct devices *d, const struct node *node, size_t slot)
{
    return d->by_slot.v[slot] = devices_node(d, node);
}

const struct node_view *devices_view(const struct devices *d, const struct node *node,
                                     struct arena *a)
{
    const struct device_node *kept = devices_node(d, node);
    if (LIKELY(kept))
        return &kept->view;
    struct node_view *view = arena_new(a, struct node_view);
    struct device_pool **pools = arena_array(a, struct device_pool *, d->pools.n);
    size_t n = 0;
    map_each (e, &d->pools)
        pools[n++] = e->value;
    node_view_make(d, node, pools, n, a, view);
    return view;
}

void pools_release(struct devices *d)
{
    map_each (e, &d->pools)
        free_pool(e->value);
    map_release(&d->pools);
    map_each (e, &d->nodes)
        free_node(e->value);
    map_release(&d->nodes);
    map_each (e, &d->common_views)
        free(e->value);
    map_release(&d->common_views);
    vec_release(&d->by_slot);
    vec_release(&d->wide);
    vec_release(&d->ill);
    vec_release(&d->dirty_pools);
    vec_release(&d->dirty_nodes);
    vec_release(&d->free_node_numbers);
    drop_table(d);
}
