/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/store/store.h"

#include <errno.h>

#include "apiserver/store/history.h"
#include "apiserver/store/tree.h"

struct store {
    struct store_options options;
    struct tree tree;
    uint64_t version;
    uint64_t floor; /* changes up to this version were made before there was a history */
    struct history history;
};

struct snapshot {
    unsigned refs;
    uint64_t version;
    struct tree tree;
};

/* --- the store -------------------------------------------------------------------------------- */

static struct store *new_store(const struct store_options *options, uint64_t version)
{
    struct store *store = xnew(struct store);
    if (options)
        store->options = *options;
    store->version = version;
    history_init(&store->history, &store->options);
    return store;
}

struct store *store_new(const struct store_options *options)
{
    return new_store(options, 1);
}

struct store *store_free(struct store *store)
{
    if (!store)
        return NULL;
    history_release(&store->history);
    tree_release(&store->tree);
    free(store);
    return NULL;
}

uint64_t store_version(const struct store *store)
{
    return store->version;
}

uint64_t store_next_version(const struct store *store)
{
    return store->version + 1;
}

static struct revision *get(const struct tree *tree, const struct resource *resource,
                            struct str namespace, struct str name)
{
    struct tree_place place = {resource, namespace, name, TREE_NAME, 0};
    return tree_get(tree, &place);
}

static size_t count(const struct tree *tree, const struct resource *resource)
{
    struct tree_place first = {.resource = resource, .depth = TREE_RESOURCE, .side = -1};
    struct tree_place last = {.resource = resource, .depth = TREE_RESOURCE, .side = 1};
    return tree_rank(tree, &last) - tree_rank(tree, &first);
}

struct revision *store_get(const struct store *store, const struct resource *resource,
                           struct str namespace, struct str name)
{
    return get(&store->tree, resource, namespace, name);
}

size_t store_count(const struct store *store, const struct resource *resource)
{
    return count(&store->tree, resource);
}

static void changed(struct store *store, struct store_event event)
{
    assert(event.after->version == store->version + 1);
    store->version = event.after->version;
    const struct store_event *kept = history_add(&store->history, event);
    if (store->options.changed)
        store->options.changed(store->options.ctx, kept);
}

void store_put(struct store *store, struct revision *rev)
{
    struct revision *before = tree_put(&store->tree, revision_ref(rev));
    changed(store,
            (struct store_event){before ? STORE_MODIFIED : STORE_ADDED, .before = before, rev});
}

void store_delete(struct store *store, struct revision *rev)
{
    struct tree_place place = tree_place_of(rev);
    struct revision *before = tree_take(&store->tree, &place);
    assert(before);
    changed(store, (struct store_event){STORE_DELETED, before, rev});
}

void store_load(struct store *store, struct revision *rev)
{
    store_set_version(store, MAX(rev->version, store->version));
    revision_unref(tree_put(&store->tree, rev));
}

void store_set_version(struct store *store, uint64_t version)
{
    assert(version >= store->version);
    store->version = version;
    store->floor = version;
}

/* --- snapshots -------------------------------------------------------------------------------- */

struct snapshot *store_snapshot(struct store *store)
{
    struct snapshot *s = xnew(struct snapshot);
    *s = (struct snapshot){1, store->version, tree_copy(&store->tree)};
    return s;
}

struct snapshot *snapshot_ref(struct snapshot *s)
{
    s->refs++;
    return s;
}

struct snapshot *snapshot_unref(struct snapshot *s)
{
    if (s && --s->refs == 0) {
        tree_release(&s->tree);
        free(s);
    }
    return NULL;
}

uint64_t snapshot_version(const struct snapshot *s)
{
    return s->version;
}

struct revision *snapshot_get(const struct snapshot *s, const struct resource *resource,
                              struct str namespace, struct str name)
{
    return get(&s->tree, resource, namespace, name);
}

size_t snapshot_count(const struct snapshot *s, const struct resource *resource)
{
    return count(&s->tree, resource);
}

struct store *store_fork(struct snapshot *s, const struct store_options *options)
{
    struct store *store = new_store(options, s->version);
    store->tree = tree_copy(&s->tree);
    store->floor = s->version;
    return store;
}

/* --- ranges ----------------------------------------------------------------------------------- */

/* Before (-1) or after (1) everything that the range can return. */
static struct tree_place end_of(const struct store_range *range, int side)
{
    return (struct tree_place){
        .resource = range->resource,
        .namespace = range->namespace,
        .depth = str_empty(range->namespace) ? TREE_RESOURCE : TREE_NAMESPACE,
        .side = side,
    };
}

/* Where the range goes on. A key before the namespace is no bound. */
static struct tree_place place_of(const struct store_range *range, bool bound)
{
    if (!bound)
        return end_of(range, -1);
    return (struct tree_place){range->resource, range->after.namespace, range->after.name,
                               TREE_NAME, 1};
}

void store_range_init(struct store_range *range, const struct snapshot *s,
                      const struct resource *resource, struct str namespace,
                      const struct store_key *after)
{
    range->snapshot = s;
    range->resource = resource;
    range->namespace = namespace;
    range->has_after = after != NULL;
    if (after)
        range->after = *after;
    struct tree_place bound = place_of(range, range->has_after), first = end_of(range, -1);
    if (after && tree_rank(&s->tree, &bound) < tree_rank(&s->tree, &first)) {
        range->has_after = false;
        bound = first;
    }
    tree_seek(&s->tree, &bound, range);
}

struct revision *store_range_next(struct store_range *range)
{
    struct revision *rev = tree_next(range);
    if (!rev)
        return NULL;
    const struct resource *r = range->resource;
    if ((rev->resource != r &&
         !(str_eq(rev->resource->plural, r->plural) && str_eq(rev->resource->group, r->group))) ||
        (!str_empty(range->namespace) && !str_eq(rev->namespace, range->namespace))) {
        range->n_steps = 0;
        return NULL;
    }
    range->after = (struct store_key){rev->namespace, rev->name};
    range->has_after = true;
    return rev;
}

size_t store_range_left(const struct store_range *range)
{
    struct tree_place at = place_of(range, range->has_after), end = end_of(range, 1);
    const struct tree *tree = &range->snapshot->tree;
    size_t before = tree_rank(tree, &at), all = tree_rank(tree, &end);
    return all > before ? all - before : 0;
}

/* --- watches ---------------------------------------------------------------------------------- */

static const struct store_event *event_at(const struct store_stream *stream, uint64_t i)
{
    return &stream->ring[i & (stream->capacity - 1)];
}

int store_watch_init(struct store_watch *watch, struct store *store,
                     const struct resource *resource, uint64_t version)
{
    const struct store_stream *stream = history_stream(&store->history, resource);
    if (version > store->version)
        return -ERANGE;
    if (version < MAX(store->floor, stream->lost))
        return -ESTALE;
    /* The first change after the version. */
    uint64_t low = stream->first, high = stream->next;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (event_at(stream, middle)->after->version <= version)
            low = middle + 1;
        else
            high = middle;
    }
    *watch = (struct store_watch){store, resource, version, low, stream};
    return 0;
}

int store_watch_next(struct store_watch *watch, const struct store_event **ret_event)
{
    const struct store_stream *stream = watch->stream;
    if (watch->at < stream->first)
        return -ESTALE;
    if (watch->at == stream->next) {
        watch->version = watch->store->version;
        return 0;
    }
    const struct store_event *event = event_at(stream, watch->at++);
    watch->version = event->after->version;
    *ret_event = event;
    return 1;
}
