/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector.h - keeps one kind of object equal to the API server's state.
 *
 * Purpose:   client-go's Reflector: lists, then watches, and reports to a sink what changed: added,
 *            modified, deleted, with the object before and after. A disconnection shows only as a
 *            delay: missed changes are found by comparing the next list with the store, and
 *            reported as the same events.
 * Ownership: the caller owns the reflector, which holds a reference on every object in its store.
 *            Objects are lent to the sink: keep them with object_ref.
 * Threading: the loop's thread. A sink may do anything except free the reflector that calls it.
 *
 * The initial state comes from a streaming list (client-go: WatchList, sendInitialEvents=true) if
 * the server supports it, otherwise from a list in pages. Then the reflector watches with
 * bookmarks, resumes at the last resource version, and lists again when the server reports it as
 * expired.
 */
#ifndef BERTH_KUBE_WATCH_REFLECTOR_H
#define BERTH_KUBE_WATCH_REFLECTOR_H

#include "kube/backoff.h"
#include "kube/rest/rest.h"
#include "kube/watch/watch_store.h"

struct reflector;

struct reflector_sink {
    /*
     * WATCH_ADDED: old is NULL. WATCH_MODIFIED: both are set. WATCH_DELETED: old is the last
     * reported state, object the final one (the same as old if the deletion itself was missed).
     */
    void (*on_event)(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object);
    /* Called once, when the initial state has been reported. May be NULL. */
    void (*on_synced)(void *ctx, const struct kind *kind);
    /* The server has sent valid data; see reflector_kick. May be NULL. */
    void (*on_contact)(void *ctx, struct reflector *reflector);
    /*
     * For connection failures and invalid credentials: true if another reflector has just reported
     * the same error, so that it is not logged as an error again. May be NULL.
     */
    bool (*is_reported)(void *ctx, const struct rest_result *result);
    /* reflector_refetch is complete. May be NULL. */
    void (*on_refetched)(void *ctx, struct reflector *reflector);
};

/* Zero means the default. Times in ns. */
struct reflector_options {
    const struct kind *kind;
    struct str namespace;      /* empty: all */
    struct str field_selector; /* "status.phase!=Succeeded,status.phase!=Failed" */
    struct str label_selector;
    /*
     * The server may not know the resource: then it counts as empty until it appears. Discovery is
     * read before every list, so that no request for it is refused.
     */
    bool optional;
    bool no_streaming;     /* list in pages without trying a streaming list */
    unsigned object_flags; /* enum object_flags */

    uint32_t page_size;        /* default 500 (client-go: tools/pager); reduced if pages are too
                                  large */
    int64_t watch_timeout;     /* minimum; a random part of up to the same is added; default 300 s
                                  (client-go: defaultMinWatchTimeout) */
    int64_t streaming_silence; /* a streaming list ends if it gets no event for this long before it
                                  is complete; default 30 s */
    int64_t healthy; /* a watch of at least this age is renewed without delay; default 1 s */
    struct backoff_options backoff; /* default 800 ms to 30 s, factor 2, jitter 1, reset after 2
                                       min, as in client-go */
    struct backoff_options missing; /* for resources that are not served; default 5 s to 60 s */
    uint64_t seed;                  /* of jitter; 0: from the kernel */
};

/* Strings of options are copied; sink is a static table. Nothing is sent before reflector_start. */
struct reflector *reflector_new(struct rest_client *client, const struct reflector_options *options,
                                const struct reflector_sink *sink, void *ctx);
void reflector_start(struct reflector *reflector);
/* Reports no events. NULL is allowed. Returns NULL. */
struct reflector *reflector_free(struct reflector *reflector);

const struct kind *reflector_kind(const struct reflector *reflector);
bool reflector_has_synced(const struct reflector *reflector);
/* Whether the server does not serve the resource at present. */
bool reflector_is_missing(const struct reflector *reflector);
struct str reflector_resource_version(const struct reflector *reflector);
/* Calls fn for every object in the store, in no particular order. */
void reflector_each(const struct reflector *reflector, watch_store_fn *fn, void *ctx);
/* Borrowed; NULL if there is none. */
struct object *reflector_get(struct reflector *reflector, struct str namespace, struct str name);

unsigned reflector_object_flags(const struct reflector *reflector);
/* Sets the flags (enum object_flags) for objects that arrive from now on. */
void reflector_set_object_flags(struct reflector *reflector, unsigned flags);
/*
 * The same, and lists the known objects again: each is reported as modified even if its version is
 * the same. Before reflector_start only the flags are set.
 */
void reflector_refetch(struct reflector *reflector, unsigned flags);
/* For the next list and watch: call reflector_refetch. Returns whether it is another one. */
bool reflector_set_field_selector(struct reflector *reflector, struct str selector);
bool reflector_is_refetching(const struct reflector *reflector);

/*
 * Another reflector has reached the server. If this one waits because it could not, it tries again
 * now instead of when its backoff ends; at most once per backoff.max.
 */
void reflector_kick(struct reflector *reflector);

#endif
