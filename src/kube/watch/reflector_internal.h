/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reflector_internal.h - shared by reflector.c (events, retries), reflector_fetch.c (lists and
 * watches) and reflector_served.c (discovery).
 *
 * Purpose:   the internals of a reflector.
 * Ownership: see kube/watch/reflector.h.
 * Threading: the loop's thread.
 */
#ifndef BERTH_KUBE_WATCH_REFLECTOR_INTERNAL_H
#define BERTH_KUBE_WATCH_REFLECTOR_INTERNAL_H

#include "kube/watch/reflector.h"
#include "kube/watch/watch_store.h"

enum reflector_state {
    REFLECTOR_IDLE,        /* not started, or between two attempts */
    REFLECTOR_DISCOVERING, /* asking whether the resource is served */
    REFLECTOR_PAGING,      /* listing in pages */
    REFLECTOR_STREAMING,   /* watching, initial state not complete */
    REFLECTOR_WATCHING,
};

struct reflector {
    struct rest_client *client;
    struct reflector_options options;
    const struct reflector_sink *sink;
    void *ctx;
    struct arena arena; /* strings of options */
    struct str type;    /* "*v1.Pod", as in log lines */
    bool started;

    enum reflector_state state;
    struct rest_call *call;
    struct watch_store store;
    struct buf version;        /* last resource version; empty: none yet */
    bool version_unavailable;  /* expired, or not known to the server yet */
    struct buf continue_token; /* of the next page; empty: the first */
    uint32_t page_size;        /* as configured, or less if such a page was too large */
    unsigned page_cuts;        /* reductions since a page was read */
    size_t page_bytes;         /* the largest page of the list so far */
    bool no_streaming;         /* refused by the server, or not configured */
    bool resume;               /* the next attempt is a watch, not a list */
    bool synced, missing;
    bool refetching;   /* a list in progress, or the next one, reports all objects */
    bool disconnected; /* waiting because the server could not be reached */
    int64_t kicked_at; /* last reflector_kick that had an effect; 0: never */

    int64_t began; /* start of the current watch */
    size_t events; /* of the current watch */
    int64_t timeout;

    struct backoff backoff, backoff_missing;
    struct rand rand;
    struct loop_timer retry, silence;
    char *last_error; /* the last error logged; NULL: none */
};

/* The values of upstream's log lines about a watch. */
#define KV_TYPE(r)   KV_STR("type", (r)->type)
#define KV_REFLECTOR KV_CSTR("reflector", "kube/reflector")

static inline int64_t reflector_now(const struct reflector *r)
{
    return loop_now(rest_client_loop(r->client));
}

/* reflector_fetch.c: the list is complete. */
void reflector_replaced(struct reflector *r);
/* reflector.c: the server has sent a valid response. */
void reflector_contact(struct reflector *r);
void reflector_set_version(struct reflector *r, struct str version);

/* reflector.c: retries. resume: watch from the last version; otherwise list first. */
void reflector_try_again(struct reflector *r, bool resume, int64_t delay);
void reflector_try_after_watch(struct reflector *r, bool resume);
void reflector_failed(struct reflector *r, const struct rest_result *result, bool resume);

/* The server does not serve the resource. */
void reflector_not_served(struct reflector *r, const struct rest_result *result);
/* The server refused: logs the error and schedules a retry. */
void reflector_refused(struct reflector *r, const struct rest_result *result, bool resume);

/* reflector_served.c: asks whether the server has the resource, then calls reflector_fetch. */
void reflector_discover(struct reflector *r);

/* reflector_fetch.c */
void reflector_try_now(struct reflector *r);
/* Resumes the watch, or starts with a list. */
void reflector_fetch(struct reflector *r);
void reflector_on_silence(struct loop_timer *timer);

#endif
