/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rest.h - requests to the API server: verbs on resources, and watches.
 *
 * Purpose:   a rest_client is one server with one identity. It keeps two connections, one for
 *            watches and one for everything else, so that neither waits for the other; speaks
 *            protobuf and falls back to JSON for resources that have none; refreshes credentials
 *            once after a 401; tries again when the server asks for it (429 and 5xx with
 *            Retry-After) or the connection was lost before anything happened; keeps to the
 *            configured QPS.
 * Ownership: the client belongs to its maker. A call belongs to the client and is valid until its
 *            callback begins, or until rest_cancel. All texts and bodies of a request are copied.
 * Threading: the loop's thread. From elsewhere: loop_post.
 *
 * Callbacks may do anything: send, cancel other calls, free the client. None is made before the
 * function that started the call has returned.
 */
#ifndef BERTH_KUBE_REST_REST_H
#define BERTH_KUBE_REST_REST_H

#include "api/object.h"
#include "api/watch.h"
#include "kube/auth/auth.h"
#include "kube/auth/client.h"
#include "kube/rest_metrics.h"
#include "net/http_client.h"

#define REST_MAX_LIST    ((uint64_t)128 << 20) /* a list's page, of 500 objects */
#define REST_MAX_REPLY   ((uint64_t)16 << 20)  /* any other answer */
#define REST_MAX_FRAME   (OBJECT_MAX_SIZE + 4096)
#define REST_MAX_RETRIES 10

struct rest_client;
struct rest_call;

/* Zero means the default. Times in ns; tests make them small. */
struct rest_options {
    struct auth_options auth;
    int64_t retry_unit;      /* one second of a Retry-After: 1 s */
    int64_t retry_after_max; /* a longer Retry-After is cut to: 60 s */
    int64_t ping_interval;   /* see net/http_client.h */
    int64_t ping_timeout;
    uint64_t max_list, max_reply; /* REST_MAX_LIST, REST_MAX_REPLY */
    size_t max_frame;             /* REST_MAX_FRAME */
    struct metrics *metrics;      /* see kube/rest_metrics.h; NULL: nothing is counted */
};

/* config must outlive the client. options may be NULL. */
int rest_client_new(struct loop *loop, const struct kube_config *config,
                    const struct rest_options *options, struct rest_client **ret_client,
                    struct err *reterr) MUST_CHECK;
/* Open calls end without a callback. NULL is fine; returns NULL. */
struct rest_client *rest_client_free(struct rest_client *client);
/*
 * For who must not write any more: no request goes out from now on, none that was sent is waited
 * for, and nobody is told. Calls stay their owners' to cancel.
 */
void rest_client_shutdown(struct rest_client *client);
/*
 * From now on every attempt of a call that changes something (neither GET, LIST nor a watch) asks
 * first, when a connection is free and before its first byte is written. Where the answer is false
 * the call is held until rest_client_resume_writes, which asks again, or until it is cancelled.
 * may_write must not touch the client.
 */
typedef bool rest_may_write_fn(void *ctx);
void rest_client_guard_writes(struct rest_client *client, rest_may_write_fn *may_write, void *ctx);
/* Sends what is held, in the order in which it was held. */
void rest_client_resume_writes(struct rest_client *client);
struct loop *rest_client_loop(const struct rest_client *client);
/* The largest answer to a list that is read, in bytes: a longer one fails with -EMSGSIZE. */
uint64_t rest_client_max_list(const struct rest_client *client);
/* How many ns a request sent now would wait for the configured QPS. */
int64_t rest_client_next_call(const struct rest_client *client);
/* One second, as options have it: what else waits for the server does so in this unit. */
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
    REST_APPLY, /* text: YAML or JSON; query needs fieldManager */
    REST_DELETE,
};

struct rest_request {
    enum rest_verb verb;
    const struct kind *kind; /* whose resource it is about */
    struct str namespace;    /* empty: all namespaces, or none for a cluster's resource */
    struct str name;
    struct str subresource; /* "status", "binding" */
    struct str query;       /* without '?', encoded: "limit=500" */
    /* In place of all above, for what is no resource: asks for JSON and takes what comes. */
    struct str path;
    /* The body: a value of body_kind (create, update, delete with options), or text (patches). */
    const struct kind *body_kind;
    const void *body;
    struct str text;
    int64_t timeout;       /* of one attempt; 0: 60 s, lists 300 s, watches none */
    int max_retries;       /* on Retry-After; 0: REST_MAX_RETRIES; negative: none */
    unsigned object_flags; /* enum object_flags, for decoding the answer */
    bool unguarded;        /* is sent whatever the guard says, see rest_client_guard_writes */
    bool confidential;     /* neither its body nor that of the answer is logged */
};

/* What came of it. Everything lives until the callback returns. */
struct rest_result {
    int code;   /* 0, or negative errno: see rest_status_errno for what the server refused */
    int status; /* HTTP's; 0: no answer at all */
    /* The server's own message, or "METHOD URL: what went wrong". */
    struct err err;
    struct str url;    /* without query; of failures and lists only */
    struct str reason; /* of the server's Status: "NotFound", "Conflict", …; may be empty */
    bool too_large_resource_version; /* a Status with that cause: the server is behind */
    const struct kind *kind;
    enum encoding encoding;
    unsigned object_flags;
    struct str body; /* the answer on success */
};

typedef void rest_done_fn(void *ctx, const struct rest_result *result);

/* Never NULL. */
struct rest_call *rest_send(struct rest_client *client, const struct rest_request *request,
                            rest_done_fn *fn, void *ctx);
/* No callback any more; the call is gone. NULL is fine; returns NULL. */
struct rest_call *rest_cancel(struct rest_call *call);

/* The object of a successful answer, with one reference for the caller. */
int rest_result_object(const struct rest_result *result, struct object **ret_object,
                       struct err *reterr) MUST_CHECK;
/* The objects of a list's answer; see object_decode_list. */
int rest_result_list(const struct rest_result *result, object_fn *on_object, void *ctx,
                     struct object_list *ret_list, struct err *reterr) MUST_CHECK;

/*
 * 401 -EACCES, 403 -EPERM, 404 -ENOENT, 409 -EEXIST (AlreadyExists) or -EBUSY (Conflict),
 * 410 -ESTALE, 429 -EAGAIN, 400 and 422 -EINVAL, 405 -EOPNOTSUPP, 503 -EHOSTDOWN, other -EIO.
 */
int rest_status_errno(int status, struct str reason);
/* Worth another try of a write: InternalError, ServiceUnavailable, Conflict, refused connections.
 */
bool rest_is_retriable(const struct rest_result *result);

/* --- watches ---------------------------------------------------------------------------------- */

struct rest_watch_handlers {
    /* The server has accepted. */
    void (*on_open)(void *ctx);
    /* The event is released when it returns: take the object by object_ref. */
    void (*on_event)(void *ctx, const struct watch_event *event);
    /* Last, once, except after rest_cancel. code 0: the server ended the watch in good order. */
    void (*on_end)(void *ctx, const struct rest_result *result);
};

/*
 * request->verb is REST_LIST, its query what the watch needs but for "watch". handlers is a static
 * table. Watches are not subject to the rate limit.
 */
struct rest_call *rest_watch(struct rest_client *client, const struct rest_request *request,
                             const struct rest_watch_handlers *handlers, void *ctx);

/* True where the resource has turned out to know JSON only. */
bool rest_is_json_only(const struct rest_client *client, const struct kind *kind);

#endif
