/* SPDX-License-Identifier: Apache-2.0 */
/* Events of watches: initial ones, changes, bookmarks, and the end of a position. */
#include "apiserver/http/watch_internal.h"

/* Written at once; a slow client has at most this and HTTP_HIGH_WATER queued. */
#define BATCH       ((size_t)32 * 1024)
/* Encodings kept during one delivery. */
#define CACHE_BYTES ((size_t)8 * 1024 * 1024)

/* --- encodings that watches share ------------------------------------------------------------- */

/* One event in one form, without its type. */
struct encoded {
    uint64_t version;
    struct str text;
};

/* Watches of the same form share what is written for them. */
struct variant {
    const struct resource *resource;
    struct api_form form;
    bool columns;
    struct map texts; /* version → struct encoded */
    struct variant *next;
};

struct form_cache {
    struct arena arena;
    struct variant *variants;
};

static struct variant *variant_of(struct form_cache *cache, const struct watch *w, bool columns)
{
    struct variant *v = cache->variants;

    while (v &&
           !(v->resource == w->resource && v->columns == columns && form_equal(v->form, w->form)))
        v = v->next;
    if (v)
        return v;
    v = arena_new(&cache->arena, struct variant);
    v->resource = w->resource;
    v->form = w->form;
    v->columns = columns;
    v->next = cache->variants;
    cache->variants = v;
    return v;
}

static void cache_release(struct form_cache *cache)
{
    for (struct variant *v = cache->variants; v; v = v->next)
        map_release(&v->texts);
    arena_release(&cache->arena);
}

static void encode(struct watch *w, const struct revision *rev, enum form_part part,
                   struct buf *out)
{
    struct form_object o = {.resource = w->resource, .rev = rev, .now = time_wall()};
    struct arena scratch;

    arena_init(&scratch, 0);
    form_write_object(w->form, &o, part, &scratch, out);
    arena_release(&scratch);
}

/* The object of an event. Text of the store is written as it is; everything else once per form. */
static void add_object(struct watch *w, const struct revision *rev, struct buf *out)
{
    bool columns = w->form.shape == FORM_TABLE && !w->columns;
    enum form_part part = columns ? FORM_WHOLE : FORM_NO_COLUMNS;
    struct form_cache *cache = w->all->cache;
    struct variant *v;
    struct encoded *e;
    size_t from = out->n;

    w->columns = true;
    if (w->form.shape == FORM_OBJECT && rev->resource == w->resource) {
        buf_add_str(out, rev->text);
        return;
    }
    v = variant_of(cache, w, columns);
    e = map_get(&v->texts, map_number_key(&rev->version));
    if (e) {
        buf_add_str(out, e->text);
        return;
    }
    encode(w, rev, part, out);
    if (cache->arena.total > CACHE_BYTES)
        return;
    e = arena_new(&cache->arena, struct encoded);
    e->version = rev->version;
    e->text = arena_dup(&cache->arena, str_slice(buf_str(out), from, out->n));
    map_put(&v->texts, map_number_key(&e->version), e);
}

/* --- writing ---------------------------------------------------------------------------------- */

static void flush_out(struct watch *w)
{
    struct buf *out = &w->all->out;

    if (out->n > 0 && w->x && http_write(w->x, buf_str(out)) > HTTP_HIGH_WATER)
        w->paused = true;
    buf_clear(out);
}

static void add_event(struct watch *w, const char *type, const struct revision *rev)
{
    struct buf *out = &w->all->out;

    buf_add_printf(out, "{\"type\":\"%s\",\"object\":", type);
    add_object(w, rev, out);
    buf_add_cstr(out, "}\n");
    if (out->n >= BATCH)
        flush_out(w);
}

/*
 * An object that stops matching: its state before, with the version of the change, as upstream's
 * cache sends it.
 */
static void add_departed(struct watch *w, const struct store_event *event)
{
    struct arena scratch;
    struct json_value tree;
    struct buf text = BUF_INIT;
    struct revision *rev;
    struct revision_source source = {.resource = event->before->resource,
                                     .namespace = event->before->namespace,
                                     .name = event->before->name,
                                     .version = event->after->version};

    arena_init(&scratch, 0);
    if (json_parse(event->before->text, 0, &scratch, &tree, NULL) == 0)
        json_set_at(
            &tree, "metadata.resourceVersion",
            json_text(arena_printf(&scratch, "%llu", (unsigned long long)event->after->version)),
            &scratch);
    json_write(&tree, &text);
    source.text = buf_str(&text);
    rev = revision_new(&source);
    buf_add_cstr(&w->all->out, "{\"type\":\"DELETED\",\"object\":");
    /* Not shared: others may see another state of this version. */
    if (w->form.shape == FORM_OBJECT && rev->resource == w->resource)
        buf_add_str(&w->all->out, rev->text);
    else
        encode(w, rev, w->columns ? FORM_NO_COLUMNS : FORM_WHOLE, &w->all->out);
    buf_add_cstr(&w->all->out, "}\n");
    w->columns = true;
    revision_unref(rev);
    buf_release(&text);
    arena_release(&scratch);
    if (w->all->out.n >= BATCH)
        flush_out(w);
}

static void add_bookmark(struct watch *w, uint64_t version, bool ends_initial)
{
    struct buf *out = &w->all->out;
    bool partial = w->form.shape == FORM_PARTIAL;

    buf_add_cstr(out, "{\"type\":\"BOOKMARK\",\"object\":");
    if (w->form.shape == FORM_TABLE) {
        struct str text = arena_printf(&w->all->cache->arena, "%llu", (unsigned long long)version);

        table_begin(w->resource, !w->columns, text, STR(""), -1, out);
        table_end(out);
        buf_add_cstr(out, "}\n");
        w->columns = true;
        return;
    }
    buf_add_printf(out, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\",\"metadata\":{",
                   STR_ARG(partial ? STR("PartialObjectMetadata") : w->resource->kind),
                   STR_ARG(partial ? STR("meta.k8s.io/v1") : w->resource->api_version));
    buf_add_printf(out, "\"resourceVersion\":\"%llu\"", (unsigned long long)version);
    if (ends_initial)
        buf_add_cstr(out, ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}");
    buf_add_cstr(out, "}}}\n");
}

/* Tells the client that its position has expired, and ends the watch. */
static void expire(struct watch *w)
{
    struct buf *out = &w->all->out;
    struct api_status status;
    struct arena a;

    arena_init(&a, 0);
    status_of(&status, 410, &a, "too old resource version: %llu (%llu)",
              (unsigned long long)w->requested,
              (unsigned long long)store_version(w->all->server->store));
    buf_add_cstr(out, "{\"type\":\"ERROR\",\"object\":");
    api_status_write(&status, out);
    buf_add_cstr(out, "}\n");
    arena_release(&a);
    flush_out(w);
    watch_end(w);
}

/* --- one watch -------------------------------------------------------------------------------- */

static bool matches(const struct watch *w, const struct revision *rev)
{
    return rev && (!w->selector || revision_selector_matches(w->selector, rev));
}

static void add_change(struct watch *w, const struct store_event *event)
{
    bool before = matches(w, event->before);
    bool after = event->change != STORE_DELETED && matches(w, event->after);

    if (!str_empty(w->namespace) && !str_eq(w->namespace, event->after->namespace))
        return;
    if (after)
        add_event(w, before ? "MODIFIED" : "ADDED", event->after);
    else if (before && event->change == STORE_DELETED)
        add_event(w, "DELETED", event->after);
    else if (before)
        add_departed(w, event);
}

static void add_initial(struct watch *w)
{
    struct revision *rev;

    while (w->x && !w->paused) {
        rev = store_range_next(&w->range);
        if (!rev) {
            if (w->ends_initial)
                add_bookmark(w, snapshot_version(w->snapshot), true);
            w->snapshot = snapshot_unref(w->snapshot);
            return;
        }
        if (matches(w, rev))
            add_event(w, "ADDED", rev);
    }
}

static void serve(struct watch *w)
{
    const struct store_event *event;
    int r = 1;

    if (w->snapshot)
        add_initial(w);
    while (!w->snapshot && w->x && !w->paused && !w->expired && r > 0) {
        r = store_watch_next(&w->position, &event);
        if (r > 0)
            add_change(w, event);
        w->expired |= r < 0;
    }
    if (w->expired && !w->snapshot && w->x && !w->paused) {
        expire(w);
        return;
    }
    if (w->bookmark_due && !w->snapshot && !w->paused) {
        w->bookmark_due = false;
        add_bookmark(w, w->position.version, false);
    }
    flush_out(w);
}

static void deliver(struct feed *feed, bool all)
{
    /* Backwards: a watch that ends is replaced by the last one, which was served before. */
    for (size_t i = feed->n; i-- > 0;) {
        struct watch *w = feed->v[i];

        if (w->paused || !(all || w->wanted))
            continue;
        w->wanted = false;
        w->busy = true;
        serve(w);
        w->busy = false;
        if (!w->x)
            watch_free(w);
    }
}

void watches_deliver(struct watches *all)
{
    struct form_cache cache = {0};

    arena_init(&cache.arena, 0);
    all->cache = &cache;
    map_each (e, &all->feeds) {
        struct feed *feed = e->value;
        bool changed = feed->changed;

        if (!changed && !feed->wanted)
            continue;
        feed->changed = feed->wanted = false;
        deliver(feed, changed);
    }
    all->cache = NULL;
    cache_release(&cache);
}
