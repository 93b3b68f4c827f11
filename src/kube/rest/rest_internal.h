/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_internal.h - shared by rest.c, rest_call.c, rest_guard.c and rest_watch.c.
 *
 * Purpose:   the internals of a client and of a call.
 * Ownership: the client owns its calls; see kube/rest/rest.h.
 * Threading: the loop's thread.
 *
 * The states of a call:
 *
 *     wait for the rate limit → wait for credentials → wait for the response → done
 *            ↑                          ↑                       │
 *            │                          └── 401, 406, 415 ──────┤
 *            └────────── Retry-After, lost connection ──────────┘
 *
 * A write that the guard refuses, once a connection is free for it, is held; when it is resumed it
 * waits for credentials again.
 */
#ifndef BERTH_KUBE_REST_REST_INTERNAL_H
#define BERTH_KUBE_REST_REST_INTERNAL_H

#include "codec/json.h"
#include "kube/backoff.h"
#include "kube/rest/rest.h"

enum rest_channel { REST_CHANNEL_CALLS, REST_CHANNEL_WATCHES, REST_N_CHANNELS };

struct rest_client {
    struct loop *loop;
    const struct kube_config *config;
    struct rest_options options;
    struct auth *auth;
    struct http_client *http[REST_N_CHANNELS];
    struct ratelimit limit;
    struct rest_meter *meter; /* NULL: no metrics */
    struct str base_path;     /* of the server's URL, without a trailing slash */
    bool json_only[KIND_SPACE];
    struct rest_call *calls;      /* all open calls */
    bool shut_down;               /* no call gets a response any more */
    rest_may_write_fn *may_write; /* NULL: writes are not guarded */
    void *guard_ctx;
    struct rest_call *held, **held_end; /* held by the guard, the oldest first */
};

/* A watch's stream that is being split into frames. */
struct rest_stream {
    const struct rest_watch_handlers *handlers;
    struct buf bytes;      /* an incomplete frame */
    struct json_scan scan; /* scanner state within bytes */
    bool open;
};

struct rest_call {
    struct rest_client *client;
    struct rest_call *next, **prev;
    struct arena arena; /* strings of the request */
    enum rest_verb verb;
    const struct kind *kind, *body_kind;
    struct str target;
    bool plain; /* not a resource: JSON only, json_only is not updated */
    struct buf body;
    enum encoding body_encoding;
    int64_t timeout;
    int max_retries;
    unsigned object_flags;
    bool guarded;                             /* asks the client's guard before it is sent */
    struct rest_call *held_next, **held_prev; /* in client->held; prev NULL: not held */
    bool confidential;                        /* bodies are not logged */
    /* For log lines. */
    struct str pod_namespace, pod_name;
    bool binds;

    rest_done_fn *fn; /* NULL: a watch */
    void *ctx;
    struct rest_stream stream;

    struct loop_timer timer;
    struct loop_task task;
    struct auth_wait wait;
    struct http_call *http;

    int64_t begun; /* time of rest_call_start */

    /* The current attempt. */
    uint64_t generation; /* of its credentials */
    bool asked_proto;
    int status;
    int64_t retry_after; /* seconds; -1: none */
    int64_t throttled;   /* delay by the rate limit */
    enum encoding encoding;
    bool encoding_known;
    struct buf answer;

    int attempts;
    bool again;     /* it is a retry */
    bool refreshed; /* credentials were refreshed after a 401 */
    bool *gone;     /* set by rest_cancel while events are delivered; NULL: none are */
};

/* rest.c */
/* The server's URL without its path. */
struct str rest_origin(const struct rest_client *client);
struct str rest_target(struct rest_client *client, const struct rest_request *request, bool watch,
                       struct arena *a);
const char *rest_method(enum rest_verb verb);
enum rest_method rest_meter_method(enum rest_verb verb);
struct str rest_body_type(const struct rest_call *call);

/* rest_call.c */
struct rest_call *rest_call_new(struct rest_client *client, const struct rest_request *request,
                                bool watch);
void rest_call_start(struct rest_call *call);
/* Calls the callback with the result, then frees the call. */
void rest_call_finish(struct rest_call *call, struct rest_result *result);
int rest_fail(struct rest_call *call, struct err *reterr, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* rest_guard.c: called by the HTTP client before it writes the request. */
bool rest_guard_ask(void *call);
/* Removes the call from the held ones, if it is held. */
void rest_guard_release(struct rest_call *call);

/* rest_watch.c: data of an accepted watch. The call may be gone afterwards. */
void rest_stream_data(struct rest_call *call, struct str data);
/* The end of an accepted watch. Returns 0, or -EBADMSG if it ended within a frame. */
int rest_stream_end(struct rest_call *call, struct err *reterr);

#endif
