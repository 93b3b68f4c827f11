/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/store/history.h"

#define DEFAULT_BYTES ((size_t)64 << 20)
#define DEFAULT_COUNT 100000
#define MIN_CAPACITY  16

void history_init(struct history *h, const struct store_options *options)
{
    *h = (struct history){
        .max_bytes = options->history_bytes ? options->history_bytes : DEFAULT_BYTES,
        .max_count = options->history_count ? options->history_count : DEFAULT_COUNT,
    };
}

static struct store_event *event_at(const struct store_stream *stream, uint64_t i)
{
    return &stream->ring[i & (stream->capacity - 1)];
}

void history_release(struct history *h)
{
    map_each (e, &h->streams) {
        struct store_stream *stream = e->value;
        for (uint64_t i = stream->first; i < stream->next; i++) {
            revision_unref(event_at(stream, i)->before);
            revision_unref(event_at(stream, i)->after);
        }
        free(stream->ring);
        free(stream);
    }
    map_release(&h->streams);
    free(h->order);
}

/* --- streams ---------------------------------------------------------------------------------- */

static struct store_stream *find_stream(struct history *h, const struct resource *resource)
{
    size_t n = resource->group.n + 1 + resource->plural.n;
    struct store_stream *stream = xcalloc(1, sizeof(*stream) + n);
    memcpy(stream->text, resource->group.p ? resource->group.p : "", resource->group.n);
    stream->text[resource->group.n] = '/';
    memcpy(stream->text + resource->group.n + 1, resource->plural.p, resource->plural.n);
    stream->key = (struct str){stream->text, n};
    struct store_stream *known = map_get(&h->streams, stream->key);
    if (known) {
        free(stream);
        return known;
    }
    map_put(&h->streams, stream->key, stream);
    return stream;
}

struct store_stream *history_stream(struct history *h, const struct resource *resource)
{
    size_t slot = hash_u64((uint64_t)(uintptr_t)resource) % HISTORY_RECENT;
    if (h->recent[slot].resource != resource) {
        h->recent[slot].stream = find_stream(h, resource);
        h->recent[slot].resource = resource;
    }
    return h->recent[slot].stream;
}

/* The kept changes stay where their numbers say. */
static void resize(struct store_stream *stream, size_t capacity)
{
    struct store_stream old = {.ring = stream->ring, .capacity = stream->capacity};
    stream->ring = xreallocarray(NULL, capacity, sizeof(*stream->ring));
    stream->capacity = capacity;
    for (uint64_t i = stream->first; i < stream->next; i++)
        *event_at(stream, i) = *event_at(&old, i);
    free(old.ring);
}

static void grow_order(struct history *h)
{
    size_t capacity = h->capacity ? h->capacity * 2 : MIN_CAPACITY;
    struct store_stream **order = xreallocarray(NULL, capacity, sizeof(struct store_stream *));
    for (uint64_t i = h->first; i < h->next; i++)
        order[i & (capacity - 1)] = h->order[i & (h->capacity - 1)];
    free(h->order);
    h->order = order;
    h->capacity = capacity;
}

/* --- changes ---------------------------------------------------------------------------------- */

/*
 * The revisions that the change took out of the store. The others are in the store, or were taken
 * out by a later change, which is dropped later.
 */
static size_t event_bytes(const struct store_event *event)
{
    size_t bytes = event->before ? event->before->size : 0;
    return event->change == STORE_DELETED ? bytes + event->after->size : bytes;
}

static void drop_oldest(struct history *h)
{
    struct store_stream *stream = h->order[h->first++ & (h->capacity - 1)];
    struct store_event *event = event_at(stream, stream->first++);
    h->bytes -= event_bytes(event);
    stream->lost = event->after->version;
    revision_unref(event->before);
    revision_unref(event->after);
    if (stream->capacity > MIN_CAPACITY && stream->next - stream->first < stream->capacity / 4)
        resize(stream, stream->capacity / 2);
}

const struct store_event *history_add(struct history *h, struct store_event event)
{
    size_t bytes = event_bytes(&event);
    while (h->next > h->first &&
           (h->next - h->first >= h->max_count || h->bytes + bytes > h->max_bytes))
        drop_oldest(h);
    struct store_stream *stream = history_stream(h, event.after->resource);
    if (stream->next - stream->first == stream->capacity)
        resize(stream, stream->capacity ? stream->capacity * 2 : MIN_CAPACITY);
    if (h->next - h->first == h->capacity)
        grow_order(h);
    h->order[h->next++ & (h->capacity - 1)] = stream;
    h->bytes += bytes;
    struct store_event *kept = event_at(stream, stream->next++);
    *kept = event;
    return kept;
}
