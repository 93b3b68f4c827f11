/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector_internal.h - what reflector.c (what is told, and when to try) and reflector_fetch.c
 * (how it is fetched) share.
 *
 * Purpose:   a reflector's insides.
 * Ownership: see kube/reflector.h.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_WATCH_REFLECTOR_INTERNAL_H
#define BERTH_KUBE_WATCH_REFLECTOR_INTERNAL_H

#include "kube/watch/reflector.h"
#include "kube/watch/store.h"

enum reflector_state {
    REFLECTOR_IDLE,        /* not started, or between two tries */
    REFLECTOR_DISCOVERING, /* whether there is anything to fetch */
    REFLECTOR_PAGING,      /* a list in pages */
    REFLECTOR_STREAMING,   /* a watch before its initial state is complete */
    REFLECTOR_WATCHING,
};

struct reflector {
    struct rest_client *client;
    struct reflector_options options;
    const struct reflector_sink *sink;
    void *ctx;
    struct arena arena; /* texts of options */
    struct str type;    /* "*v1.Pod": what logs call it */
    bool started;

    enum reflector_state state;
    struct rest_call *call;
    struct store store;
    struct buf version;        /* last resource version; empty: none yet */
    bool version_unavailable;  /* the server has forgotten it, or does not know it yet */
    struct buf continue_token; /* of the next page; empty: the first */
    uint32_t page_size;        /* as asked for, or less where such a page was too large */
    unsigned page_cuts;        /* since a page was read */
    size_t page_bytes;         /* the largest page of the list so far */
    bool no_streaming;         /* refused by the server, or not wanted */
    bool resume;               /* the next try is a watch, not a list */
    bool synced, missing;
    bool refetching;   /* a list under way, or to come, tells of all objects */
    bool cut_off;      /* waiting because the server could not be reached */
    int64_t kicked_at; /* out of that wait; 0: never */

    int64_t began; /* the watch in progress */
    size_t events; /* of it */
    int64_t timeout;

    struct backoff backoff, backoff_missing;
    struct rand rand;
    struct loop_timer retry, silence;
    char *told; /* the last complaint logged; NULL: all is well */
};

/* What upstream's lines about a watch carry. */
#define KV_TYPE(r)   KV_STR("type", (r)->type)
#define KV_REFLECTOR KV_CSTR("reflector", "kube/reflector")

static inline int64_t reflector_now(const struct reflector *r)
{
    return loop_now(rest_client_loop(r->client));
}

/* reflector.c: what is told. */
/* An object as it is now, as an event brought it. */
void reflector_upsert(struct reflector *r, struct object *object);
void reflector_removed(struct reflector *r, struct object *final);
/* An object of a list. */
void reflector_listed(struct reflector *r, struct object *object);
/* The list is complete. */
void reflector_replaced(struct reflector *r);
/* The server has answered as it should. */
void reflector_contact(struct reflector *r);
void reflector_set_version(struct reflector *r, struct str version);

/* reflector.c: when to try. resume: watch from the last version; else begin with a list. */
void reflector_try_again(struct reflector *r, bool resume, int64_t delay);
void reflector_try_after_watch(struct reflector *r, bool resume);
void reflector_failed(struct reflector *r, const struct rest_result *result, bool resume);

/* The server does not serve the resource. */
void reflector_not_served(struct reflector *r, const struct rest_result *result);
/* The server does not want: told, and tried again. */
void reflector_refused(struct reflector *r, const struct rest_result *result, bool resume);

/* reflector_served.c: asks whether the server has the resource, then fetches it. */
void reflector_discover(struct reflector *r);

/* reflector_fetch.c */
void reflector_try_now(struct reflector *r);
/* Goes on with the watch, or begins with a list. */
void reflector_fetch(struct reflector *r);
void reflector_on_silence(struct loop_timer *timer);

#endif
