/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.h - requests to the API server: verbs on resources, and watches.
 *
 * Purpose:   a rest_client is one server with one identity. It has two connections, one for watches
 *            and one for everything else, so that neither delays the other. It uses protobuf and
 *            falls back to JSON for resources without it. It refreshes credentials once after a
 *            401, retries when the server asks for it (429 and 5xx with Retry-After; client-go:
 *            rest.WithRetry) or when the connection was lost before the request was processed, and
 *            keeps to the configured QPS.
 * Ownership: the caller owns the client. A call belongs to the client and is valid until its
 *            callback begins or rest_cancel. Strings and bodies of a request are copied.
 * Threading: the loop's thread. From other threads: loop_post.
 *
 * Callbacks may do anything: send, cancel other calls, free the client. No callback is made before
 * the function that started the call has returned.
 */
#ifndef BERTH_KUBE_REST_REST_H
#define BERTH_KUBE_REST_REST_H

#include "api/object.h"
#include "api/watch.h"
#include "kube/auth/auth.h"
#include "kube/auth/client.h"
#include "kube/rest_metrics.h"
#include "net/http_client.h"

#define REST_MAX_LIST    ((uint64_t)128 << 20) /* one page of a list, 500 objects */
#define REST_MAX_REPLY   ((uint64_t)16 << 20)  /* any other response */
#define REST_MAX_FRAME   (OBJECT_MAX_SIZE + 4096)
#define REST_MAX_RETRIES 10

struct rest_client;
struct rest_call;

/* Zero means the default. Times in ns; tests make them small. */
struct rest_options {
    struct auth_options auth;
    int64_t retry_unit;      /* one second of a Retry-After; default 1 s */
    int64_t retry_after_max; /* limit of a Retry-After; default 60 s */
    int64_t ping_interval;   /* see net/http_client.h */
    int64_t ping_timeout;
    uint64_t max_list, max_reply; /* default REST_MAX_LIST, REST_MAX_REPLY */
    size_t max_frame;             /* default REST_MAX_FRAME */
    struct metrics *metrics;      /* see kube/rest_metrics.h; NULL: no metrics */
};

/* config must outlive the client. options may be NULL. */
int rest_client_new(struct loop *loop, const struct kube_config *config,
                    const struct rest_options *options, struct rest_client **ret_client,
                    struct err *reterr) MUST_CHECK;
/* Open calls end without a callback. NULL is allowed. Returns NULL. */
struct rest_client *rest_client_free(struct rest_client *client);
/*
 * Stops a client that must not write any more: nothing is sent from now on, no responses are
 * awaited and no callbacks are made. The owners of calls still have to cancel them.
 */
void rest_client_shutdown(struct rest_client *client);
/*
 * From now on every attempt of a call that is not a GET, LIST or watch first calls may_write, when
 * a connection is free and before the first byte is written. If it returns false, the call is held
 * until rest_client_resume_writes, which asks again, or until it is cancelled. may_write must not
 * use the client.
 */
typedef bool rest_may_write_fn(void *ctx);
void rest_client_guard_writes(struct rest_client *client, rest_may_write_fn *may_write, void *ctx);
/* Sends the held calls in the order in which they were held. */
void rest_client_resume_writes(struct rest_client *client);
struct loop *rest_client_loop(const struct rest_client *client);
/* The largest list response that is read, in bytes. A larger one fails with -EMSGSIZE. */
uint64_t rest_client_max_list(const struct rest_client *client);
/* Returns the ns that a request sent now would wait for the configured QPS. */
int64_t rest_client_next_call(const struct rest_client *client);
/* The retry_unit of the options: other waits for the server use it as their second. */
int64_t rest_client_retry_unit(const struct rest_client *client);

/* --- requests --------------------------------------------------------------------------------- */

enum rest_verb {
    REST_GET,
    REST_LIST,
    REST_CREATE,
    REST_UPDATE,
    REST_PATCH_STRATEGIC,
    REST_PATCH_MERGE,
    REST_PATCH_JSON,
    REST_APPLY, /* text: YAML or JSON; query must have fieldManager */
    REST_DELETE,
};

struct rest_request {
    enum rest_verb verb;
    const struct kind *kind; /* the resource */
    struct str namespace;    /* empty: all namespaces, or a cluster-scoped resource */
    struct str name;
    struct str subresource; /* "status", "binding" */
    struct str query;       /* encoded, without '?': "limit=500" */
    /*
     * Used instead of the members above for paths that are not resources. Requests JSON and accepts
     * any response.
     */
    struct str path;
    /* The body: a value of body_kind (create, update, delete with options), or text (patches). */
    const struct kind *body_kind;
    const void *body;
    struct str text;
    int64_t timeout;       /* of one attempt; 0: 60 s, lists 300 s, watches none */
    int max_retries;       /* after Retry-After; 0: REST_MAX_RETRIES; negative: none */
    unsigned object_flags; /* enum object_flags, for decoding the response */
    bool unguarded;        /* bypasses the guard, see rest_client_guard_writes */
    bool confidential;     /* the bodies of request and response are not logged */
};

/* The outcome of a call. Everything is valid until the callback returns. */
struct rest_result {
    int code;   /* 0 or negative errno; rest_status_errno for error statuses */
    int status; /* HTTP status; 0: no response */
    /* The server's message, or "METHOD URL: reason". */
    struct err err;
    struct str url;    /* without query; set for failures and lists only */
    struct str reason; /* of the server's Status: "NotFound", "Conflict", …; may be empty */
    bool too_large_resource_version; /* a Status with that cause: the server lags behind */
    const struct kind *kind;
    enum encoding encoding;
    unsigned object_flags;
    struct str body; /* the response body on success */
};

typedef void rest_done_fn(void *ctx, const struct rest_result *result);

/* Never returns NULL. */
struct rest_call *rest_send(struct rest_client *client, const struct rest_request *request,
                            rest_done_fn *fn, void *ctx);
/* Frees the call; no callback follows. NULL is allowed. Returns NULL. */
struct rest_call *rest_cancel(struct rest_call *call);

/* Decodes the object of a successful response. The caller gets one reference. */
int rest_result_object(const struct rest_result *result, struct object **ret_object,
                       struct err *reterr) MUST_CHECK;
/* Decodes the objects of a list response; see object_decode_list. */
int rest_result_list(const struct rest_result *result, object_fn *on_object, void *ctx,
                     struct object_list *ret_list, struct err *reterr) MUST_CHECK;

/*
 * Maps a status: 401 -EACCES, 403 -EPERM, 404 -ENOENT, 409 -EEXIST (AlreadyExists) or -EBUSY
 * (Conflict), 410 -ESTALE, 429 -EAGAIN, 400 and 422 -EINVAL, 405 -EOPNOTSUPP, 503 -EHOSTDOWN, other
 * -EIO.
 */
int rest_status_errno(int status, struct str reason);
/*
 * Whether a failed write should be retried: InternalError, ServiceUnavailable, Conflict, refused
 * connections (upstream: util.Retriable).
 */
bool rest_is_retriable(const struct rest_result *result);

/* --- watches ---------------------------------------------------------------------------------- */

struct rest_watch_handlers {
    /* The server has accepted the watch. */
    void (*on_open)(void *ctx);
    /* The event is freed when this returns: keep the object with object_ref. */
    void (*on_event)(void *ctx, const struct watch_event *event);
    /* Called last, once, except after rest_cancel. code 0: the server ended the watch normally. */
    void (*on_end)(void *ctx, const struct rest_result *result);
};

/*
 * request->verb is REST_LIST; its query has the watch's parameters except "watch". handlers is a
 * static table. Watches are not subject to the rate limit.
 */
struct rest_call *rest_watch(struct rest_client *client, const struct rest_request *request,
                             const struct rest_watch_handlers *handlers, void *ctx);

/* True if the server has returned only JSON for this resource. */
bool rest_is_json_only(const struct rest_client *client, const struct kind *kind);

#endif
