/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest_internal.h - what rest.c, rest_call.c, rest_guard.c and rest_watch.c share.
 *
 * Purpose:   the client's and a call's insides.
 * Ownership: the client owns its calls; see kube/rest.h.
 * Threading: the loop's thread.
 *
 * The life of a call:
 *
 *     waiting for the rate limit → for credentials → for the answer → told
 *            ↑                                             │
 *            └── Retry-After, lost connection ─────────────┤
 *                             ↑                            │
 *                             └── 401, 406, 415 ───────────┘
 *
 * A write that the guard does not let pass, once a connection is free for it, is held and then
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
    struct rest_meter *meter; /* NULL: nothing is counted */
    struct str base_path;     /* of the server's URL, without a slash at its end */
    bool json_only[KIND_COUNT];
    struct rest_call *calls;      /* all that are open */
    bool shut_down;               /* … and none of them gets an answer any more */
    rest_may_write_fn *may_write; /* NULL: writes are not guarded */
    void *guard_ctx;
    struct rest_call *held, **held_end; /* by the guard, the first that was held first */
};

/* A watch's stream on its way into frames. */
struct rest_stream {
    const struct rest_watch_handlers *handlers;
    struct buf bytes;      /* an incomplete frame */
    struct json_scan scan; /* how far it has been looked at */
    bool open;
};

struct rest_call {
    struct rest_client *client;
    struct rest_call *next, **prev;
    struct arena arena; /* the request */
    enum rest_verb verb;
    const struct kind *kind, *body_kind;
    struct str target;
    bool plain; /* no resource: JSON, and nothing is learnt from it */
    struct buf body;
    enum encoding body_encoding;
    int64_t timeout;
    int max_retries;
    unsigned object_flags;
    bool guarded;                             /* asks the client's guard before it is sent */
    struct rest_call *held_next, **held_prev; /* in client->held; prev NULL: not held */
    bool confidential;                        /* bodies are not logged */
    /* For log lines, where requests are logged. */
    struct str pod_namespace, pod_name;
    bool binds;

    rest_done_fn *fn; /* NULL: a watch */
    void *ctx;
    struct rest_stream stream;

    struct loop_timer timer;
    struct loop_task task;
    struct auth_wait wait;
    struct http_call *http;

    int64_t begun; /* when all this did */

    /* The attempt in progress. */
    uint64_t generation; /* of the credentials it carries */
    bool asked_proto;
    int status;
    int64_t retry_after; /* seconds; -1: none */
    int64_t throttled;   /* how long the rate limit held it up */
    enum encoding encoding;
    bool encoding_known;
    struct buf answer;

    int attempts;
    bool again;     /* there has been another, which the server or the network ended */
    bool refreshed; /* after a 401 */
    bool *gone;     /* set by rest_cancel while events are handed out; NULL: none are */
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
/* Ends it: tells the result, then gives the call back. */
void rest_call_finish(struct rest_call *call, struct rest_result *result);
int rest_fail(struct rest_call *call, struct err *reterr, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);

/* rest_guard.c: what the HTTP client asks before it writes the call. */
bool rest_guard_ask(void *call);
/* It waits no longer, if it did. */
void rest_guard_release(struct rest_call *call);

/* rest_watch.c: bytes of an accepted watch. The call may be gone afterwards. */
void rest_stream_data(struct rest_call *call, struct str data);
/* The end of an accepted watch. 0, or -EBADMSG where it ended within a frame. */
int rest_stream_end(struct rest_call *call, struct err *reterr);

#endif
