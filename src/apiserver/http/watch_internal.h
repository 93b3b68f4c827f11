/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch_internal.h - what the two files of watches share.
 *
 * Purpose:   watch.c begins and ends watches, watch_events.c writes their events.
 * Ownership: struct watches owns all watches; a watch owns its exchange.
 * Threading: the loop's thread.
 */
#ifndef BERTH_APISERVER_HTTP_WATCH_INTERNAL_H
#define BERTH_APISERVER_HTTP_WATCH_INTERNAL_H

#include "apiserver/http/api_server_internal.h"

struct watch;

/* The watches of one stored resource. */
struct feed {
    uint64_t key; /* address of the resource */
    struct watch **v;
    size_t n, cap;
    bool changed; /* there are events for all of them */
    bool wanted;  /* some of them want to be served */
};

struct watch {
    struct watches *all;
    struct feed *feed;
    size_t at;               /* in the feed */
    struct http_exchange *x; /* NULL: ended */
    struct arena arena;
    const struct resource *resource, *stored;
    struct api_form form;
    struct str namespace;
    struct revision_selector *selector; /* NULL: everything */
    struct loop_timer end;
    bool bookmarks, bookmark_due;
    bool busy;    /* being served: it is freed afterwards */
    bool paused;  /* until the client has taken what is queued */
    bool wanted;  /* to be served by the next delivery */
    bool columns; /* of a table: they were sent */
    bool expired; /* its position is not kept any more */

    struct snapshot *snapshot; /* initial events; NULL: none or done */
    struct store_range range;
    bool ends_initial; /* a bookmark marks their end */
    uint64_t requested;
    struct store_watch position;
};

struct watches {
    struct api_server *server;
    struct map feeds; /* by address of the resource */
    struct loop_timer bookmarks;
    struct buf out;
    struct form_cache *cache; /* of the delivery that is under way */
};

/* Ends the exchange; frees the watch unless it is busy. */
void watch_end(struct watch *w);
void watch_free(struct watch *w);

#endif
