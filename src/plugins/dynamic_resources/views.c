/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a node sees the pools (upstream: GatherPools, buildPool). The reasons why a pool is invalid
 * reach no user, so that they are not kept.
 */
#include "plugins/dynamic_resources/devices_internal.h"

/* --- which slices reach a node ---------------------------------------------------------------- */

int slice_device_reaches(const struct slice_device *device, const struct node *node,
                         bool *ret_reaches)
{
    const struct device *api = device->device;
    if (!str_empty(api->node_name))
        *ret_reaches = str_eq(api->node_name, node->metadata.name);
    else if (api->all_nodes)
        *ret_reaches = true;
    else if (!str_empty(device->fault))
        return -EINVAL;
    else
        *ret_reaches =
            node_terms_match(&device->terms, &node->metadata.labels, node->metadata.name);
    return 0;
}

/* -EINVAL: *ret_fault is the text of a selector that cannot be parsed. */
static int slice_reaches(const struct slice *slice, const struct node *node, bool *ret_reaches,
                         const struct slice_device **ret_faulty)
{
    *ret_faulty = NULL;
    *ret_reaches = true;
    if (slice->has_counters && slice->reach != SLICE_REACHES_NOTHING)
        return 0;
    switch (slice->reach) {
    case SLICE_REACHES_NODE:
        *ret_reaches = str_eq(slice->api->spec.node_name, node->metadata.name);
        return 0;
    case SLICE_REACHES_ALL:
        return 0;
    case SLICE_REACHES_TERMS:
        if (!str_empty(slice->fault))
            return -EINVAL;
        *ret_reaches = node_terms_match(&slice->terms, &node->metadata.labels, node->metadata.name);
        return 0;
    case SLICE_REACHES_DEVICES:
        for (size_t i = 0; i < slice->api->spec.devices.n; i++) {
            *ret_faulty = &slice->devices[i];
            int r = slice_device_reaches(&slice->devices[i], node, ret_reaches);
            if (r < 0 || *ret_reaches)
                return r;
        }
        break;
    case SLICE_REACHES_NOTHING:
        break;
    }
    *ret_reaches = false;
    return 0;
}

static struct str fault_text(const struct slice *slice, const struct slice_device *device,
                             struct arena *a)
{
    struct str name = slice->api->metadata.name;
    if (!device)
        return arena_printf(a,
                            "gather pool information: failed to perform node selection for slice "
                            "%.*s: %.*s",
                            STR_ARG(name), STR_ARG(slice->fault));
    return arena_printf(a,
                        "gather pool information: failed to perform node selection for device "
                        "%.*s in slice %.*s: %.*s",
                        STR_ARG(device->device->name), STR_ARG(name), STR_ARG(device->fault));
}

/* --- one pool --------------------------------------------------------------------------------- */

/* The slices of the newest generation among those that reach a node. */
struct reached {
    struct slice **v; /* by name */
    size_t n;
    int64_t generation, count; /* count: resourceSliceCount of the first */
};

/*
 * The first tells the count. Upstream lists slices for the node's name before the others, except
 * in the stable allocator.
 */
static void set_count(const struct devices *d, struct reached *r)
{
    for (int pass = d->stable; pass < 2; pass++)
        for (size_t i = 0; i < r->n; i++) {
            const struct slice *s = r->v[i];
            bool local = s->reach == SLICE_REACHES_NODE && !s->has_counters;
            if (local || pass == 1) {
                r->count = s->api->spec.pool.resource_slice_count;
                return;
            }
        }
}

static struct str reach(const struct devices *d, const struct device_pool *pool,
                        const struct node *node, struct arena *a, struct reached *r)
{
    *r = (struct reached){.v = arena_array(a, struct slice *, pool->slices.n)};
    for (size_t i = 0; i < pool->slices.n; i++) {
        struct slice *slice = pool->slices.v[i];
        const struct slice_device *faulty;
        bool reaches = false;
        if (slice_reaches(slice, node, &reaches, &faulty) < 0)
            return fault_text(slice, faulty, a);
        int64_t generation = slice->api->spec.pool.generation;
        if (!reaches || (r->n > 0 && generation < r->generation))
            continue;
        if (r->n > 0 && generation > r->generation)
            r->n = 0;
        r->generation = generation;
        r->v[r->n++] = slice;
    }
    set_count(d, r);
    return STR("");
}

static int compare_ids(const void *a, const void *b)
{
    const struct device_id *const *x = a, *const *y = b;
    return (uintptr_t)*x<(uintptr_t)*y ? -1 : (uintptr_t)*x>(uintptr_t) * y;
}

static bool has_duplicates(const struct pool_view *view, struct arena *a)
{
    size_t n = 0;
    for (size_t i = 0; i < view->slices.n; i++)
        n += view->slices.v[i]->api->spec.devices.n;
    const struct device_id **ids = arena_array(a, const struct device_id *, n);
    n = 0;
    for (size_t i = 0; i < view->slices.n; i++)
        for (size_t k = 0; k < view->slices.v[i]->api->spec.devices.n; k++)
            ids[n++] = view->slices.v[i]->devices[k].id;
    if (n > 1)
        qsort(ids, n, sizeof(const struct device_id *), compare_ids);
    for (size_t i = 1; i < n; i++)
        if (ids[i - 1] == ids[i])
            return true;
    return false;
}

static int compare_sets(const void *a, const void *b)
{
    const struct counter_set *const *x = a, *const *y = b;
    return str_cmp((*x)->name, (*y)->name);
}

/* False if two counter sets have the same name. */
static bool collect_counters(const struct reached *r, struct arena *a, struct pool_view *view)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += r->v[i]->api->spec.shared_counters.n;
    const struct counter_set **sets = arena_array(a, const struct counter_set *, n);
    n = 0;
    for (size_t i = 0; i < r->n; i++)
        for (size_t k = 0; k < r->v[i]->api->spec.shared_counters.n; k++)
            sets[n++] = &r->v[i]->api->spec.shared_counters.v[k];
    if (n > 1)
        qsort(sets, n, sizeof(const struct counter_set *), compare_sets);
    view->counters.v = sets;
    view->counters.n = n;
    for (size_t i = 1; i < n; i++)
        if (str_eq(sets[i - 1]->name, sets[i]->name))
            return false;
    return true;
}

static const struct counter_set *find_set(const struct pool_view *view, struct str name)
{
    struct counter_set key = {.name = name};
    const struct counter_set *wanted = &key;
    const struct counter_set *const *found =
        bsearch(&wanted, view->counters.v, view->counters.n, sizeof(wanted), compare_sets);
    return view->counters.n > 0 && found ? *found : NULL;
}

static bool set_has(const struct counter_set *set, struct str name)
{
    size_t from = 0, to = set->counters.n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        int c = str_cmp(set->counters.v[mid].key, name);
        if (c == 0)
            return true;
        if (c < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return false;
}

/* Do the counters that the devices consume exist? */
static bool consumption_valid(const struct pool_view *view, const struct slice *slice)
{
    for (size_t i = 0; slice->consumes && i < slice->api->spec.devices.n; i++) {
        const struct device *device = &slice->api->spec.devices.v[i];
        for (size_t k = 0; k < device->consumes_counters.n; k++) {
            const struct device_counter_consumption *c = &device->consumes_counters.v[k];
            const struct counter_set *set = find_set(view, c->counter_set);
            if (!set)
                return false;
            for (size_t m = 0; m < c->counters.n; m++)
                if (!set_has(set, c->counters.v[m].key))
                    return false;
        }
    }
    return true;
}

static bool all_valid(const struct pool_view *view, struct slice *const *slices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!consumption_valid(view, slices[i]))
            return false;
    return true;
}

/*
 * Upstream: buildPool. `others`: there are slices of the same generation for other nodes, and they
 * complete the pool.
 */
static void build(const struct devices *d, const struct reached *r, bool others, struct arena *a,
                  struct pool_view *view)
{
    const struct device_pool *pool = view->pool;
    bool partitionable = d->features.partitionable_devices;
    view->slices.v = arena_array(a, struct slice *, r->n);
    for (size_t i = 0; i < r->n; i++) {
        if (partitionable && r->v[i]->has_counters)
            continue;
        view->slices.v[view->slices.n++] = r->v[i];
        view->has_conditions = view->has_conditions || r->v[i]->has_conditions;
    }
    if ((pool->dirty || !pool->unique) && has_duplicates(view, a)) {
        view->invalid = true;
        return;
    }
    if (!partitionable || (!pool->dirty && !pool->counters))
        return;
    view->invalid = !collect_counters(r, a, view) || !all_valid(view, r->v, r->n);
    if (view->invalid || !others)
        return;
    view->others.v = arena_array(a, struct slice *, pool->slices.n);
    for (size_t i = 0, k = 0; i < pool->slices.n; i++) {
        struct slice *slice = pool->slices.v[i];
        if (k < r->n && r->v[k] == slice)
            k++;
        else if (slice->api->spec.pool.generation == r->generation)
            view->others.v[view->others.n++] = slice;
    }
    view->invalid = !all_valid(view, view->others.v, view->others.n);
}

/* Returns false if the node does not see the pool, or if the pool does not matter to it. */
static bool see(const struct devices *d, const struct reached *r, struct arena *a,
                struct pool_view *view)
{
    if (r->n == 0)
        return false;
    bool complete = (int64_t)r->n == r->count;
    int64_t same = 0;
    for (size_t i = 0; !complete && i < view->pool->slices.n; i++) {
        int64_t generation = view->pool->slices.v[i]->api->spec.pool.generation;
        if (generation > r->generation)
            return false; /* it is being replaced: the new slices are for other nodes */
        same += generation == r->generation;
    }
    view->incomplete = !complete && same != r->count;
    if (!view->incomplete)
        build(d, r, !complete, a, view);
    if (view->incomplete || view->invalid) {
        view->slices.n = 0;
        view->has_conditions = false;
        return true;
    }
    return view->slices.n > 0;
}

/* --- all pools of a node ---------------------------------------------------------------------- */

static int compare_pools(const void *a, const void *b)
{
    const struct device_pool *const *x = a, *const *y = b;
    int c = str_cmp((*x)->driver, (*y)->driver);
    return c != 0 ? c : str_cmp((*x)->name, (*y)->name);
}

/* A copy of the array, or the pool's own list of slices if it is the same. */
static struct slice **keep_slices(const struct device_pool *pool, struct slice **v, size_t n,
                                  struct arena *a)
{
    if (n == pool->slices.n)
        return pool->slices.v;
    struct slice **kept = arena_array(a, struct slice *, n);
    if (n > 0)
        memcpy(kept, v, n * sizeof(*v));
    return kept;
}

/*
 * Copies what was made in the scratch arena, with pools that have binding conditions at the end.
 * The stable allocator does not know that order.
 */
static void keep(const struct devices *d, const struct node_view *view, struct arena *a,
                 struct node_view *ret_view)
{
    *ret_view = *view;
    struct pool_view *v = arena_array(a, struct pool_view, view->pools.n);
    size_t n = 0;
    for (int last = 0; last < 2; last++)
        for (size_t i = 0; i < view->pools.n; i++)
            if ((view->pools.v[i].has_conditions && !d->stable) == last)
                v[n++] = view->pools.v[i];
    for (size_t i = 0; i < n; i++) {
        const struct counter_set *const *sets = v[i].counters.v;
        v[i].slices.v = keep_slices(v[i].pool, v[i].slices.v, v[i].slices.n, a);
        v[i].others.v = keep_slices(v[i].pool, v[i].others.v, v[i].others.n, a);
        v[i].counters.v = arena_array(a, const struct counter_set *, v[i].counters.n);
        if (v[i].counters.n > 0)
            memcpy(v[i].counters.v, sets, v[i].counters.n * sizeof(*sets));
    }
    ret_view->pools.v = v;
}

/* Returns the error, or an empty text. */
static struct str gather(const struct devices *d, const struct node *node,
                         const struct device_pool *const *pools, size_t n, struct arena *a,
                         struct node_view *view)
{
    view->pools.v = arena_array(a, struct pool_view, n);
    for (size_t i = 0; i < n; i++) {
        struct reached r;
        struct str error = reach(d, pools[i], node, a, &r);
        if (!str_empty(error))
            return error;
        struct pool_view seen = {.pool = pools[i]};
        if (!see(d, &r, a, &seen))
            continue;
        view->has_invalid = view->has_invalid || seen.invalid;
        view->pools.v[view->pools.n++] = seen;
    }
    return STR("");
}

void node_view_make(const struct devices *d, const struct node *node,
                    struct device_pool *const *pools, size_t n, struct arena *a,
                    struct node_view *ret_view)
{
    struct arena scratch;
    arena_init(&scratch, 0);
    const struct device_pool **sorted = arena_array(&scratch, const struct device_pool *, n);
    for (size_t i = 0; i < n; i++)
        sorted[i] = pools[i];
    if (n > 1)
        qsort(sorted, n, sizeof(const struct device_pool *), compare_pools);
    struct node_view view = {0};
    struct str error = gather(d, node, sorted, n, &scratch, &view);
    if (str_empty(error))
        keep(d, &view, a, ret_view);
    else
        *ret_view = (struct node_view){.error = arena_dup(a, error)};
    arena_release(&scratch);
}
