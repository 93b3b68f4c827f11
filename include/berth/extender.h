/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth/extender.h - a server for scheduler extenders.
 *
 * An extender is a web service that kube-scheduler and berth call while they schedule a pod
 * (`extenders` in KubeSchedulerConfiguration). Write one function per verb; the library does the
 * rest: HTTP/1.1 and HTTP/2, TLS with certificates that are reloaded when they change, client
 * certificates, /healthz, /livez, /readyz and /metrics, and limits for whatever clients send.
 *
 *     static void filter(void *user, struct berth_extender_call *call)
 *     {
 *         for (size_t i = 0; i < berth_extender_n_nodes(call); i++)
 *             if (!wanted(berth_extender_node(call, i)))
 *                 berth_extender_reject(call, i, BERTH_UNSCHEDULABLE, "not wanted");
 *     }
 *
 *     int main(int argc, char **argv)
 *     {
 *         struct berth_extender extender = {
 *             .struct_size = sizeof(extender), .name = "my-extender", .filter = filter};
 *         return berth_extender_main(&extender, argc, argv);
 *     }
 *
 * Paths: the last element of a request's path is the verb: filter, prioritize, preempt, bind. A
 * verb without a function is answered 404.
 *
 * Threads: verb functions are called on worker threads, several at the same time, and may block. A
 * call and its objects are used only by the function that got the call, until it returns.
 *
 * Memory: strings and objects belong to the call. Strings that are passed in are copied.
 *
 * Compatibility: both structs grow only at the end; the library checks their struct_size.
 */
#ifndef BERTH_EXTENDER_H
#define BERTH_EXTENDER_H

#include "berth/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_EXTENDER_API __attribute__((visibility("default")))

struct berth_extender_call;   /* one request */
struct berth_extender_object; /* a pod or node of a request */

/* Reads the request and makes the answer with the functions below. */
typedef void berth_extender_fn(void *user, struct berth_extender_call *call);

struct berth_extender {
    size_t struct_size;
    const char *name;
    void *user;                /* the first argument of the functions */
    berth_extender_fn *filter; /* NULL: not implemented */
    berth_extender_fn *prioritize;
    berth_extender_fn *preempt;
    berth_extender_fn *bind;
};

/* --- the request ------------------------------------------------------------------------------ */

/* filter, prioritize, preempt: the pod that is being scheduled. bind: NULL. */
BERTH_EXTENDER_API const struct berth_extender_object *berth_extender_pod(
    const struct berth_extender_call *call);
/* The nodes in question; for preempt, those on which pods would be evicted. */
BERTH_EXTENDER_API size_t berth_extender_n_nodes(const struct berth_extender_call *call);
/* Empty if there is no such node. */
BERTH_EXTENDER_API struct berth_str berth_extender_node_name(const struct berth_extender_call *call,
                                                             size_t node);
/*
 * NULL if the scheduler sent only names (nodeCacheCapable: true), or for preempt; then berth's or
 * kube-scheduler's cache is the only source, and the extender needs one of its own.
 */
BERTH_EXTENDER_API const struct berth_extender_object *berth_extender_node(
    const struct berth_extender_call *call, size_t node);

/* preempt: the pods that would be evicted from a node. */
BERTH_EXTENDER_API size_t berth_extender_n_victims(const struct berth_extender_call *call,
                                                   size_t node);
BERTH_EXTENDER_API struct berth_str berth_extender_victim_uid(
    const struct berth_extender_call *call, size_t node, size_t victim);
/* NULL if the scheduler sent only UIDs (nodeCacheCapable: true). */
BERTH_EXTENDER_API const struct berth_extender_object *berth_extender_victim(
    const struct berth_extender_call *call, size_t node, size_t victim);
/* How many of the victims violate a PodDisruptionBudget. */
BERTH_EXTENDER_API int64_t berth_extender_pdb_violations(const struct berth_extender_call *call,
                                                         size_t node);

/* bind */
struct berth_extender_binding {
    struct berth_str pod_namespace, pod_name, pod_uid, node;
};
/* Empty strings for other verbs. */
BERTH_EXTENDER_API struct berth_extender_binding berth_extender_binding(
    const struct berth_extender_call *call);

/* --- objects ---------------------------------------------------------------------------------- */

/* NULL is allowed as an object: the result is then empty, false or 0. */
BERTH_EXTENDER_API struct berth_str berth_extender_name(const struct berth_extender_object *object);
BERTH_EXTENDER_API struct berth_str berth_extender_namespace(
    const struct berth_extender_object *object);
BERTH_EXTENDER_API struct berth_str berth_extender_uid(const struct berth_extender_object *object);
/* Returns whether the object has the label or annotation; *ret_value is set only then. */
BERTH_EXTENDER_API bool berth_extender_label(const struct berth_extender_object *object,
                                             const char *key, struct berth_str *ret_value);
BERTH_EXTENDER_API bool berth_extender_annotation(const struct berth_extender_object *object,
                                                  const char *key, struct berth_str *ret_value);
/*
 * Any field, by the names of the objects that contain it, ended by NULL:
 *
 *     berth_extender_field(node, &value, "status", "nodeInfo", "kernelVersion", NULL)
 *
 * *ret_value is the content of a string, and the JSON text of any other value.
 */
BERTH_EXTENDER_API bool berth_extender_field(const struct berth_extender_object *object,
                                             struct berth_str *ret_value, ...)
    __attribute__((sentinel));
/* The whole object as JSON, as the scheduler sent it. */
BERTH_EXTENDER_API struct berth_str berth_extender_json(const struct berth_extender_object *object);
/*
 * What the pod requests, as the scheduler counts it (containers, init containers, overhead), and
 * what a node has allocatable: thousandths of a CPU for "cpu", units for other resources.
 */
BERTH_EXTENDER_API int64_t berth_extender_pod_request(const struct berth_extender_object *pod,
                                                      const char *resource);
BERTH_EXTENDER_API int64_t berth_extender_node_allocatable(const struct berth_extender_object *node,
                                                           const char *resource);

/* --- the answer ------------------------------------------------------------------------------- */

/*
 * filter: the node is out. code: BERTH_UNSCHEDULABLE, or BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE if
 * evicting pods would not help. Nodes that are not rejected are kept.
 * preempt: no pods are to be evicted from this node; code and reason are not sent.
 */
BERTH_EXTENDER_API void berth_extender_reject(struct berth_extender_call *call, size_t node,
                                              enum berth_code code, const char *reason);
/*
 * prioritize: usually 0 to 10; the scheduler multiplies it by ten times the extender's weight and
 * does not check it. 0 unless set.
 */
BERTH_EXTENDER_API void berth_extender_score(struct berth_extender_call *call, size_t node,
                                             int64_t score);
/* preempt: the pod need not be evicted. Victims that are not spared are kept. */
BERTH_EXTENDER_API void berth_extender_spare(struct berth_extender_call *call, size_t node,
                                             size_t victim);
BERTH_EXTENDER_API void berth_extender_set_pdb_violations(struct berth_extender_call *call,
                                                          size_t node, int64_t violations);
/*
 * bind: creates the Binding on the API server (see berth_extender_options.kubeconfig) when the
 * function has returned. The answer is sent when the outcome is certain.
 */
BERTH_EXTENDER_API void berth_extender_create_binding(struct berth_extender_call *call);
/*
 * The call failed, and the scheduler retries the pod: `Error` of the result, or status 500 for the
 * verbs whose results have none. The first error counts.
 */
BERTH_EXTENDER_API void berth_extender_fail(struct berth_extender_call *call, const char *error);

/* --- the server ------------------------------------------------------------------------------- */

/* Zero means the default, which is given behind each. */
struct berth_extender_options {
    size_t struct_size;
    const char *address; /* "127.0.0.1"; "0.0.0.0" and "::": every address */
    uint16_t port;       /* any free one */
    bool plain;          /* HTTP without TLS */
    /* PEM files, reloaded when they change. None: a self-signed certificate for localhost. */
    const char *cert_file, *key_file;
    /*
     * Verbs and /metrics require a client certificate that one of these CAs signed. NULL: any
     * client is served.
     */
    const char *client_ca_file;
    /*
     * The API server for berth_extender_create_binding. NULL: the pod's service account, or
     * $KUBECONFIG; needed only if the bind function uses it.
     */
    const char *kubeconfig;
    unsigned threads;         /* workers that call verb functions: 4 */
    size_t max_calls;         /* calls under way or waiting for a worker: 64. More: 503 */
    size_t max_body;          /* bytes of a request: 64 MiB. More: 413 */
    size_t max_memory;        /* bytes of all requests that are being read: 256 MiB */
    int64_t shutdown_seconds; /* how long berth_extender_stop waits for calls under way: 30 */
};

struct berth_extender_server;

/*
 * Starts serving on threads of its own. options may be NULL. Returns 0, or a negative errno with
 * one line in error (size bytes, ended by NUL). The extender and its user must outlive the server;
 * strings of options are copied. The process ignores SIGPIPE from then on.
 */
BERTH_EXTENDER_API int berth_extender_start(const struct berth_extender *extender,
                                            const struct berth_extender_options *options,
                                            struct berth_extender_server **ret_server, char *error,
                                            size_t size);
BERTH_EXTENDER_API uint16_t berth_extender_port(const struct berth_extender_server *server);
/* Answers the calls under way, then ends. NULL is allowed. */
BERTH_EXTENDER_API void berth_extender_stop(struct berth_extender_server *server);

/*
 * The whole program: reads the flags (--help lists them), serves until SIGTERM or SIGINT, and
 * returns the exit code.
 */
BERTH_EXTENDER_API int berth_extender_main(const struct berth_extender *extender, int argc,
                                           char **argv);

#ifdef __cplusplus
}
#endif

#endif
