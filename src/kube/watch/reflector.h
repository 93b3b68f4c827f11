/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector.h - one kind of object, kept equal to what the API server has.
 *
 * Purpose:   lists, then watches, and tells a sink what changed: added, modified, deleted, with the
 *            object before and after. Disconnections do not show but as a delay: what was missed is
 *            found by comparing the next list with what is known, and told as the same events.
 * Ownership: the reflector belongs to its maker and owns a reference on every object it knows.
 *            Objects are lent to the sink: what it keeps, it takes by object_ref.
 * Threading: the loop's thread. A sink may do anything but free the reflector that calls it.
 *
 * How it gets the first state: by a watch that begins with it (sendInitialEvents) where the server
 * offers that, else by a list in pages. Then it watches with bookmarks, resumes at the last
 * resource version, and lists again when the server says that this is too long ago.
 */
#ifndef BERTH_KUBE_WATCH_REFLECTOR_H
#define BERTH_KUBE_WATCH_REFLECTOR_H

#include "kube/backoff.h"
#include "kube/rest/rest.h"
#include "kube/watch/store.h"

struct reflector;

struct reflector_sink {
    /*
     * WATCH_ADDED: old is NULL. WATCH_MODIFIED: both. WATCH_DELETED: old is what was last told,
     * object the final state (the same as old where the deletion itself was missed).
     */
    void (*on_event)(void *ctx, enum watch_event_type type, struct object *old,
                     struct object *object);
    /* Once: all that the server had at one point in time has been told. May be NULL. */
    void (*on_synced)(void *ctx, const struct kind *kind);
    /* The server has sent something that makes sense; see reflector_kick. May be NULL. */
    void (*on_contact)(void *ctx, struct reflector *reflector);
    /*
     * No connection, or no valid credentials: true where somebody has told of it just now, so that
     * it need not be an error line. May be NULL.
     */
    bool (*is_known)(void *ctx, const struct rest_result *result);
    /* What reflector_refetch began is done. May be NULL. */
    void (*on_refetched)(void *ctx, struct reflector *reflector);
};

/* Zero means the default. Times in ns. */
struct reflector_options {
    const struct kind *kind;
    struct str namespace;      /* empty: all */
    struct str field_selector; /* "status.phase!=Succeeded,status.phase!=Failed" */
    struct str label_selector;
    /*
     * A server that does not know the resource is fine: it counts as empty, and is asked again.
     * Discovery is asked before every list, so that no request for it is ever refused.
     */
    bool optional;
    bool no_streaming;     /* list in pages without trying the streaming list */
    unsigned object_flags; /* enum object_flags */

    uint32_t page_size;             /* 500; fewer where such a page is larger than is read */
    int64_t watch_timeout;          /* a watch lasts this long up to twice: 300 s */
    int64_t streaming_silence;      /* no event for so long before the first state is complete ends
                                       the streaming list: 30 s */
    int64_t healthy;                /* a watch of at least this age is followed at once: 1 s */
    struct backoff_options backoff; /* 800 ms to 30 s, doubled, jitter 1, forgotten after 2 min */
    struct backoff_options missing; /* for resources that are not there: 5 s to 60 s */
    uint64_t seed;                  /* of jitter; 0: from the kernel */
};

/* Texts of options are copied; sink is a static table. Nothing happens before reflector_start. */
struct reflector *reflector_new(struct rest_client *client, const struct reflector_options *options,
                                const struct reflector_sink *sink, void *ctx);
void reflector_start(struct reflector *reflector);
/* NULL is fine; returns NULL. No event is told. */
struct reflector *reflector_free(struct reflector *reflector);

const struct kind *reflector_kind(const struct reflector *reflector);
bool reflector_has_synced(const struct reflector *reflector);
/* The server does not serve the resource at present. */
bool reflector_is_missing(const struct reflector *reflector);
struct str reflector_resource_version(const struct reflector *reflector);
/* Every object as it is now, in no order. */
void reflector_each(const struct reflector *reflector, store_fn *fn, void *ctx);
/* Lent; NULL where there is none. */
struct object *reflector_get(struct reflector *reflector, struct str namespace, struct str name);

unsigned reflector_object_flags(const struct reflector *reflector);
/* Objects that come from now on are fetched with these flags (enum object_flags). */
void reflector_set_object_flags(struct reflector *reflector, unsigned flags);
/*
 * The same, and those that are known are fetched once more: each is told as modified, be it the
 * same version. One that has not been started only keeps the flags in mind.
 */
void reflector_refetch(struct reflector *reflector, unsigned flags);
bool reflector_is_refetching(const struct reflector *reflector);

/*
 * Somebody else has reached the server: a reflector that waits because it could not tries again
 * now and not when its backoff ends; once in a while only.
 */
void reflector_kick(struct reflector *reflector);

#endif
