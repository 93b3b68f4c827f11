/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - the last changes of a store, one stream per resource.
 *
 * Purpose:   what watches read. A change is added to the stream of its resource; the oldest change
 *            of all streams is dropped when there are too many or when they hold too much memory.
 *            Reading costs nothing while a stream has nothing new.
 * Ownership: owns its streams and holds references on the revisions of the changes.
 * Threading: that of the store.
 */
#ifndef BERTH_APISERVER_STORE_HISTORY_H
#define BERTH_APISERVER_STORE_HISTORY_H

#include "apiserver/store/store.h"

/* The changes of one resource, numbered from 0: those from `first` to `next` - 1 are kept. */
struct store_stream {
    struct store_event *ring; /* change i is at i modulo capacity */
    size_t capacity;          /* 0 or a power of two */
    uint64_t first, next;
    uint64_t lost; /* version of the last change that was dropped; 0: none */
    struct str key;
    char text[];
};

#define HISTORY_RECENT 64

struct history {
    size_t max_bytes, max_count;
    struct map streams; /* "GROUP/PLURAL" → struct store_stream */
    /* Found streams by the address of the resource. */
    struct {
        const struct resource *resource;
        struct store_stream *stream;
    } recent[HISTORY_RECENT];
    struct store_stream **order; /* the stream of each change, oldest first; a ring, too */
    size_t capacity;
    uint64_t first, next;
    size_t bytes; /* held by the changes alone: in no tree */
};

void history_init(struct history *h, const struct store_options *options);
void history_release(struct history *h);
/* Never NULL. Valid as long as the history. */
struct store_stream *history_stream(struct history *h, const struct resource *resource);
/* Takes over the references of the event. Returns it as kept, valid until the next call. */
const struct store_event *history_add(struct history *h, struct store_event event);

#endif
