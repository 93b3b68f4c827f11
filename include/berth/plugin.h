/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth/plugin.h - the C interface for scheduling plugins, ABI 1.
 *
 * A plugin is one `struct berth_plugin`: a name, a constructor, and one function pointer for each
 * extension point of the Kubernetes scheduling framework. NULL means "not implemented". In-tree
 * and out-of-tree plugins use the same struct.
 *
 *     static const struct berth_plugin my_plugin = {
 *         BERTH_PLUGIN_HEAD("MyPlugin", "1.0"),
 *         .create = create,
 *         .filter = filter,
 *     };
 *     BERTH_EXPORT_PLUGINS(&my_plugin);
 *
 * A shared object exports one array, data only, so that it can be inspected without running code.
 * All services of berth are in `struct berth_host`, a struct of functions. A plugin links against
 * nothing, and a unit test can pass its own host. C++ (C++20 for the macros) can include this file.
 *
 * Compatibility: the major half of `abi` must be equal on both sides. Structs that begin with
 * struct_size, and struct berth_plugin and struct berth_host, grow only at the end: berth copies a
 * plugin into a zeroed struct of its own size, and a plugin asks BERTH_HOST_HAS before it uses a
 * function that the first ABI 1 did not have. All other structs keep their size; what they may need
 * later is in members named `spare`, which must be zero. A plugin that was compiled with an older
 * header works with a newer berth.
 *
 * Threads: for one pod, filter, score, filter_many and score_many may run on several threads at the
 * same time; they must not write anything except their results. add_pod and remove_pod may do so
 * too, each with its own cycle; the first call in an attempt is made alone. pre_bind and bind run
 * on a worker thread and may block, unless the plugin sets BERTH_PLUGIN_NONBLOCKING. All other
 * functions are called on one thread, the engine's, one at a time, and must not block: they stop
 * the scheduler. In struct berth_host, functions without a remark are for the engine's thread;
 * "in a cycle" adds the threads of filter and score, "any thread" also workers and threads of the
 * plugin's own. `post` brings work from any thread to the engine's.
 *
 * Memory: arguments are borrowed for the call unless a comment says otherwise. Strings are
 * (pointer, length) and need not end with NUL.
 */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define BERTH_ABI_MAJOR 1
#define BERTH_ABI_MINOR 0
#define BERTH_ABI       ((uint32_t)BERTH_ABI_MAJOR << 16 | BERTH_ABI_MINOR)

struct berth_str {
    const char *p;
    size_t n;
};

/* A string literal; and both arguments of "%.*s". */
#ifdef __cplusplus
#define BERTH_STR(literal) (berth_str{("" literal), sizeof(literal) - 1})
#else
#define BERTH_STR(literal) ((struct berth_str){("" literal), sizeof(literal) - 1})
#endif
#define BERTH_STR_ARG(s) (int)(s).n, (s).p

/* Status codes, in upstream's order. */
enum berth_code {
    BERTH_SUCCESS = 0,
    BERTH_ERROR,                          /* internal error: the attempt ends, the pod is retried */
    BERTH_UNSCHEDULABLE,                  /* the pod does not fit; preemption may help */
    BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, /* the pod does not fit; preemption cannot help */
    BERTH_WAIT,                           /* permit: hold the pod */
    BERTH_SKIP,                           /* pre_filter, pre_score, bind: nothing to do */
    BERTH_PENDING,                        /* rejected; a hint requeues the pod without backoff */

    /* pre_bind and bind only: berth_host.op_done reports the result later. */
    BERTH_ASYNC = 100,
};

/* Opaque types; use the host's functions to read them. */
struct berth_pod;         /* a pod with precomputed data (PodInfo) */
struct berth_node;        /* a node with its pods and sums (NodeInfo) */
struct berth_object;      /* an API object of any kind */
struct berth_lister;      /* all objects of one kind (Lister) */
struct berth_metric;      /* a metric of the plugin, with all its series */
struct berth_queued_pod;  /* a pod in the queue (QueuedPodInfo) */
struct berth_cycle;       /* one attempt to schedule one pod (CycleState) */
struct berth_status;      /* collects the reasons of a status (Status) */
struct berth_handle;      /* the plugin's instance in a profile (Handle) */
struct berth_registrar;   /* collects the events of a plugin */
struct berth_waiting_pod; /* a pod that permit holds (WaitingPod) */
struct berth_pod_group;
struct berth_placement;
struct berth_placements; /* collects the placements of a pod group */

/* The id of a reason, from berth_host.reason; 0: none. */
typedef uint32_t berth_reason;
/* The id of a key in the cycle state, from berth_host.state_key. */
typedef uint32_t berth_state_key;
/* The id of a pre_bind or bind in progress. It is never used again for another one. */
typedef uint64_t berth_op;

/* --- cluster events and queueing hints -------------------------------------------------------- */

enum berth_resource {
    BERTH_RESOURCE_POD, /* matches the next two */
    BERTH_RESOURCE_ASSIGNED_POD,
    BERTH_RESOURCE_UNSCHEDULED_POD,
    BERTH_RESOURCE_NODE,
    BERTH_RESOURCE_PERSISTENT_VOLUME,
    BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM,
    BERTH_RESOURCE_CSI_NODE,
    BERTH_RESOURCE_CSI_DRIVER,
    BERTH_RESOURCE_CSI_STORAGE_CAPACITY,
    BERTH_RESOURCE_STORAGE_CLASS,
    BERTH_RESOURCE_VOLUME_ATTACHMENT,
    BERTH_RESOURCE_RESOURCE_CLAIM,
    BERTH_RESOURCE_RESOURCE_SLICE, /* also changes of DeviceTaintRules, as updates */
    BERTH_RESOURCE_DEVICE_CLASS,
    BERTH_RESOURCE_POD_GROUP,
    BERTH_RESOURCE_ALL, /* every event */
    BERTH_RESOURCE_COUNT,
    /* Larger numbers: the objects of a lister, see berth_host.lister_resource. */
};

enum berth_action {
    BERTH_ACTION_ADD = 1 << 0,
    BERTH_ACTION_DELETE = 1 << 1,
    BERTH_ACTION_UPDATE_NODE_ALLOCATABLE = 1 << 2,
    BERTH_ACTION_UPDATE_NODE_LABEL = 1 << 3,
    BERTH_ACTION_UPDATE_NODE_TAINT = 1 << 4,
    BERTH_ACTION_UPDATE_NODE_CONDITION = 1 << 5,
    BERTH_ACTION_UPDATE_NODE_ANNOTATION = 1 << 6,
    BERTH_ACTION_UPDATE_NODE_DECLARED_FEATURE = 1 << 7,
    BERTH_ACTION_UPDATE_POD_LABEL = 1 << 8,
    BERTH_ACTION_UPDATE_POD_SCALE_DOWN = 1 << 9,
    BERTH_ACTION_UPDATE_POD_TOLERATION = 1 << 10,
    BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 11,
    BERTH_ACTION_UPDATE_POD_GENERATED_RESOURCE_CLAIM = 1 << 12,
    BERTH_ACTION_UPDATE_OTHER = 1 << 13, /* any other update */
    BERTH_ACTION_UPDATE = ((1 << 14) - 1) & ~(BERTH_ACTION_ADD | BERTH_ACTION_DELETE),
    BERTH_ACTION_ALL = (1 << 14) - 1,
};

enum berth_hint { BERTH_QUEUE_SKIP, BERTH_QUEUE };

/*
 * Returns whether the change may make a pod schedulable that this plugin rejected. before is NULL
 * for an addition, after for a deletion. When in doubt, return BERTH_QUEUE.
 */
typedef enum berth_hint berth_hint_fn(void *self, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after);

/* --- requests, timers, shared state ----------------------------------------------------------- */

enum berth_api_verb { BERTH_API_GET, BERTH_API_CREATE, BERTH_API_PATCH, BERTH_API_DELETE };

/* The media type of a patch: merge patch, strategic merge patch, JSON patch. */
enum berth_patch { BERTH_PATCH_MERGE, BERTH_PATCH_STRATEGIC, BERTH_PATCH_JSON };

/* A request to the API server. A patch whose metadata has a resourceVersion fails with 409 if the
 * object has another one. */
struct berth_api_call {
    size_t struct_size;
    enum berth_api_verb verb;
    enum berth_patch patch;          /* BERTH_API_PATCH: what body is */
    struct berth_str api_version;    /* "v1", "resource.k8s.io/v1" */
    struct berth_str resource;       /* "persistentvolumeclaims" */
    struct berth_str subresource;    /* "status"; empty: none */
    struct berth_str namespace_name; /* empty: the resource is cluster-scoped */
    struct berth_str name;           /* empty for BERTH_API_CREATE */
    struct berth_str body;           /* JSON; copied */
};

struct berth_api_result {
    size_t struct_size;
    int status;                        /* HTTP; 0: no response, message says why */
    struct berth_str reason;           /* of the Status: "Conflict", "NotFound", ... */
    struct berth_str message;          /* of the Status */
    const struct berth_object *object; /* the object in the response; NULL: none */
};
typedef void berth_api_done_fn(void *ctx, const struct berth_api_result *result);

/* An HTTP request to any server, for metrics of the load. */
struct berth_http_get {
    size_t struct_size;
    struct berth_str url;           /* http or https */
    struct berth_str authorization; /* of this header; empty: none */
    int64_t timeout_ns;             /* for everything; 0: 10 s */
    size_t max_body;                /* a longer response fails; 0: 1 MiB */
    bool insecure_skip_verify;      /* accept any certificate */
};

struct berth_http_result {
    size_t struct_size;
    int status;               /* HTTP; 0: no complete response, message says why */
    struct berth_str message; /* one line */
    struct berth_str body;
};
typedef void berth_http_done_fn(void *ctx, const struct berth_http_result *result);

/* For timers and posts. */
typedef void berth_fn(void *ctx);

struct berth_host;

/*
 * State that all instances of one or several plugins share, in every profile, and that survives a
 * reload. It is made on first use and freed with the last instance that asked for it.
 */
struct berth_shared_type {
    size_t struct_size;
    const char *name;
    /* h stays valid until free; requests and timers of the state use it. Must not return NULL. */
    void *(*make)(const struct berth_host *host, struct berth_handle *h);
    void (*free)(void *data);
    /*
     * Optional. Called after make for each object other than nodes and pods that exists, then for
     * each change of an object: before is NULL for an addition, after for a deletion. The change is
     * visible in the host's functions, except for nodes and pods; the queue learns of it
     * afterwards.
     */
    void (*changed)(void *data, enum berth_resource resource, const struct berth_object *before,
                    const struct berth_object *after);
};

/* --- columns: all nodes at once --------------------------------------------------------------- */

/*
 * Node state, one array per property. The index is a node's slot, 0 … n - 1. Slots without a node
 * have a zero bit in `present`. cpu is in millicores, memory and storage are in bytes.
 */
struct berth_columns {
    size_t struct_size;
    size_t n;
    const struct berth_node *const *nodes; /* NULL in empty slots */
    const uint64_t *present;
    const uint64_t *unschedulable; /* spec.unschedulable */
    const int64_t *allocatable_cpu, *allocatable_memory, *allocatable_ephemeral_storage;
    const int64_t *allocatable_pods;
    const int64_t *requested_cpu, *requested_memory, *requested_ephemeral_storage;
    const int64_t *nonzero_cpu, *nonzero_memory;
    const int64_t *pod_count;
};

/* Filters many nodes: clear the bit of each node that fails, and set its code and reason. */
struct berth_filter_batch {
    size_t struct_size;
    const struct berth_columns *columns;
    uint64_t *feasible;    /* in: the nodes to check; out: those that pass */
    uint8_t *codes;        /* by slot, for nodes that fail: berth_code */
    berth_reason *reasons; /* by slot, for nodes that fail: from reason or reason_list */
};

struct berth_score_batch {
    size_t struct_size;
    const struct berth_columns *columns;
    const uint32_t *slots; /* the nodes to score */
    size_t n;
    int64_t *scores; /* out, in the order of slots */
};

/* --- values: fields of objects ---------------------------------------------------------------- */

enum berth_value_kind {
    BERTH_VALUE_ABSENT,
    BERTH_VALUE_STRING,
    BERTH_VALUE_INT,
    BERTH_VALUE_BOOL,
    BERTH_VALUE_DOUBLE,
    BERTH_VALUE_LIST, /* number of elements in i */
    BERTH_VALUE_OBJECT,
    BERTH_VALUE_MAP, /* number of entries in i; an object of a custom resource is one as well */
    BERTH_VALUE_QUANTITY, /* i: its value in thousandths, rounded up; d: its value */
    BERTH_VALUE_TIME,     /* i: ns since 1970 */
};

/*
 * A value in an object, as long as the object lives. The members that kind does not name are zero.
 */
struct berth_value {
    enum berth_value_kind kind;
    struct berth_str str; /* STRING */
    int64_t i;            /* INT, BOOL, LIST, MAP, QUANTITY, TIME */
    double d;             /* DOUBLE, QUANTITY */
    const void *spare[4]; /* berth's: where the value is */
};

/* The error of create: one line, ends with NUL. */
struct berth_error {
    char text[256];
};

/* --- arguments -------------------------------------------------------------------------------- */

/* The C type of an argument; {"type in JSON"}. */
enum berth_arg_kind {
    BERTH_ARG_BOOL,     /* bool */
    BERTH_ARG_INT,      /* int64_t */
    BERTH_ARG_DOUBLE,   /* double */
    BERTH_ARG_STRING,   /* struct berth_str */
    BERTH_ARG_DURATION, /* int64_t in ns; a string such as "1m30s" */
    BERTH_ARG_QUANTITY, /* int64_t in thousandths; a string such as "100m" or a number */
    BERTH_ARG_OBJECT,   /* a struct, described by fields */
    BERTH_ARG_LIST,     /* struct berth_list; its elements have kind `item` */
    BERTH_ARG_JSON,     /* struct berth_str: any value, as text; "null" if absent */
};

enum berth_arg_flags {
    BERTH_ARG_REQUIRED = 1 << 0,  /* must be given */
    BERTH_ARG_BOUNDED = 1 << 1,   /* INT, DOUBLE, DURATION, QUANTITY: within min … max */
    BERTH_ARG_NOT_EMPTY = 1 << 2, /* STRING, LIST */
};

/* A list of arguments: n elements of C type. */
struct berth_list {
    void *v;
    size_t n;
};

/*
 * One argument of a plugin: how a field of its JSON becomes a member of a C struct. A table ends
 * with a row whose name is NULL. Fields that no row names are refused, as in upstream's arguments;
 * apiVersion and kind are allowed at the top.
 */
struct berth_arg {
    const char *name;
    enum berth_arg_kind kind;
    unsigned flags;
    size_t offset;                  /* of the member: offsetof(struct my_args, member) */
    const char *value;              /* the default, as JSON; NULL: zero, empty, absent */
    int64_t min, max;               /* BERTH_ARG_BOUNDED; in the member's unit */
    const char *choices;            /* STRING: the allowed values, "A|B|C"; NULL: any */
    const struct berth_arg *fields; /* OBJECT, and LIST of objects */
    size_t size;                    /* LIST: sizeof one element */
    enum berth_arg_kind item;       /* LIST: of its elements; not LIST */
    const void *spare[2];
};

/* --- log, events, metrics --------------------------------------------------------------------- */

/* A key and a value of a log line; use the macros below. */
struct berth_kv {
    struct berth_str key;
    enum berth_value_kind kind; /* STRING, INT, BOOL or DOUBLE; ABSENT: pod or object */
    struct berth_str str;
    int64_t i;
    double d;
    const struct berth_pod *pod; /* shown as namespace/name */
    const struct berth_object *object;
    const void *spare[2];
};
/* clang-format off */
#define BERTH_KV_(k, kind, s, i, d, p, o) {BERTH_STR(k), kind, s, i, d, p, o, {NULL, NULL}}
#define BERTH_KV_NONE_                    {NULL, 0}
#define BERTH_KV_STR(k, s)    BERTH_KV_(k, BERTH_VALUE_STRING, s, 0, 0.0, NULL, NULL)
#define BERTH_KV_INT(k, i)    BERTH_KV_(k, BERTH_VALUE_INT, BERTH_KV_NONE_, i, 0.0, NULL, NULL)
#define BERTH_KV_BOOL(k, b)   BERTH_KV_(k, BERTH_VALUE_BOOL, BERTH_KV_NONE_, b, 0.0, NULL, NULL)
#define BERTH_KV_DOUBLE(k, d) BERTH_KV_(k, BERTH_VALUE_DOUBLE, BERTH_KV_NONE_, 0, d, NULL, NULL)
#define BERTH_KV_POD(k, p)    BERTH_KV_(k, BERTH_VALUE_ABSENT, BERTH_KV_NONE_, 0, 0.0, p, NULL)
#define BERTH_KV_OBJECT(k, o) BERTH_KV_(k, BERTH_VALUE_ABSENT, BERTH_KV_NONE_, 0, 0.0, NULL, o)
/* clang-format on */

/* The level of errors; klog's levels are 0 and more. */
#define BERTH_LOG_ERROR (-1)

/* An event regarding a pod or another object, as kubectl describe shows it. */
struct berth_event {
    size_t struct_size;
    const struct berth_pod *pod;        /* regarding; or */
    const struct berth_object *object;  /* regarding */
    const struct berth_object *related; /* NULL: none */
    bool warning;                       /* its type: Warning, else Normal */
    struct berth_str reason;            /* "FailedScheduling" */
    struct berth_str action;            /* "Scheduling" */
    struct berth_str note;
};

enum berth_metric_kind { BERTH_METRIC_COUNTER, BERTH_METRIC_GAUGE, BERTH_METRIC_HISTOGRAM };

#define BERTH_METRIC_MAX_LABELS 8

struct berth_metric_desc {
    size_t struct_size;
    enum berth_metric_kind kind;
    const char *name; /* "my_plugin_things_total" */
    const char *help;
    const char *const *labels; /* n_labels names, at most BERTH_METRIC_MAX_LABELS */
    size_t n_labels;
    const double *buckets; /* HISTOGRAM: n_buckets upper bounds, ascending, without +Inf */
    size_t n_buckets;
};

/* --- kinds of objects ------------------------------------------------------------------------- */

/* What a plugin wants to watch: a kind of Kubernetes or a custom resource. */
struct berth_watch {
    size_t struct_size;
    struct berth_str api_version; /* "scheduling.x-k8s.io/v1alpha1" */
    struct berth_str kind;        /* "PodGroup" */
    struct berth_str resource;    /* "podgroups" */
    bool cluster_scoped;
};

/* --- host ------------------------------------------------------------------------------------- */

/* A member that is NULL or lies beyond struct_size is not supported by this host. */
struct berth_host {
    uint32_t abi;
    size_t struct_size;

    /*
     * Logs a line at klog level `level`, or BERTH_LOG_ERROR, with keys and values. message has no
     * line break. Any thread.
     */
    void (*log)(struct berth_handle *h, int level, struct berth_str message,
                const struct berth_kv *kv, size_t n);
    /* Whether a line of this level is logged. Any thread. */
    bool (*log_enabled)(struct berth_handle *h, int level);

    /*
     * Returns the id of a reason. Equal texts have the same id, until the process exits: use it for
     * fixed texts only. Call it in create.
     */
    berth_reason (*reason)(struct berth_handle *h, struct berth_str text);
    /* Returns an id for several reasons of one status. May also be called after create. */
    berth_reason (*reason_list)(struct berth_handle *h, const berth_reason *reasons, size_t n);
    /*
     * Adds a reason to the status that the plugin is about to return. status_text copies text. Any
     * thread.
     */
    void (*status_reason)(struct berth_status *status, berth_reason reason);
    void (*status_text)(struct berth_status *status, struct berth_str text);

    /*
     * Cycle state. Plugins that use the same name share the key. state_write takes ownership of
     * data: free_fn frees it at the end of the attempt; clone_fn copies it for dry runs (NULL: dry
     * runs share it). state_delete frees it before. The worker that runs a pod's pre_bind or bind
     * may call these functions and cycle_alloc, too; in filter and score only state_read.
     */
    berth_state_key (*state_key)(struct berth_handle *h, struct berth_str name);
    void (*state_write)(struct berth_cycle *cycle, berth_state_key key, void *data,
                        void *(*clone_fn)(const void *data), void (*free_fn)(void *data));
    void *(*state_read)(const struct berth_cycle *cycle, berth_state_key key);
    void (*state_delete)(struct berth_cycle *cycle, berth_state_key key);
    /* Returns zeroed memory that lives as long as the attempt. Never returns NULL. */
    void *(*cycle_alloc)(struct berth_cycle *cycle, size_t size);
    /* Moves `pod` to activeQ when the pod of this attempt has been bound (PodsToActivate). */
    void (*activate)(struct berth_cycle *cycle, const struct berth_pod *pod);

    /*
     * pre_filter only: limits the attempt to these nodes (PreFilterResult). Names of nodes that do
     * not exist are ignored.
     */
    void (*limit_nodes)(struct berth_cycle *cycle, const struct berth_str *names, size_t n);

    /* All nodes, in a cycle and now, and one by name (NULL if none). In a cycle. */
    const struct berth_columns *(*columns)(const struct berth_cycle *cycle);
    void (*nodes)(struct berth_handle *h, struct berth_columns *ret_columns);
    const struct berth_node *(*node_by_name)(struct berth_handle *h, struct berth_str name);
    /* Calls fn for each pod that is nominated to the node, or, if node_name is empty, to any node,
     * in no order. In a cycle. */
    void (*nominated_pods)(struct berth_handle *h, struct berth_str node_name,
                           void (*fn)(void *ctx, const struct berth_pod *pod), void *ctx);
    /* post_filter only: a node's status in this attempt (NodeToStatusReader). */
    enum berth_code (*node_verdict)(const struct berth_cycle *cycle, const struct berth_node *node);
    /* post_filter only: sets the pod's nominated node (PostFilterResult). */
    void (*nominate)(struct berth_cycle *cycle, struct berth_str node_name);

    /* events only: registers a set of enum berth_action. hint NULL: always BERTH_QUEUE. */
    void (*register_event)(struct berth_registrar *r, enum berth_resource resource,
                           unsigned actions, berth_hint_fn *hint);

    /*
     * Writes the binding of op's pod to node_name to the API server; ends op with the result. bind
     * then returns BERTH_ASYNC. Any thread.
     */
    void (*write_binding)(struct berth_handle *h, berth_op op, struct berth_str node_name);
    /*
     * Ends an operation that returned BERTH_ASYNC, or is about to. Call it exactly once: a second
     * call is logged as an error, a call after the end of the pod's binding is ignored. Any thread.
     */
    void (*op_done)(struct berth_handle *h, berth_op op, enum berth_code code,
                    struct berth_str reason);

    /*
     * Pods held by permit, all of them or the one with this UID (NULL: it is not held). w is valid
     * until the plugin returns. Allow and reject return false if the pod no longer waits.
     */
    void (*waiting_pods)(struct berth_handle *h, void (*fn)(void *ctx, struct berth_waiting_pod *w),
                         void *ctx);
    struct berth_waiting_pod *(*waiting_pod_get)(struct berth_handle *h, struct berth_str uid);
    const struct berth_pod *(*waiting_pod)(const struct berth_waiting_pod *w);
    struct berth_str (*waiting_node_name)(const struct berth_waiting_pod *w);
    bool (*waiting_allow)(struct berth_handle *h, struct berth_waiting_pod *w);
    bool (*waiting_reject)(struct berth_handle *h, struct berth_waiting_pod *w,
                           struct berth_str reason);

    /* Pods. Any thread, except pod_request: in a cycle. */
    struct berth_str (*pod_namespace)(const struct berth_pod *pod);
    struct berth_str (*pod_name)(const struct berth_pod *pod);
    struct berth_str (*pod_uid)(const struct berth_pod *pod);
    struct berth_str (*pod_node_name)(const struct berth_pod *pod);
    int32_t (*pod_priority)(const struct berth_pod *pod);
    bool (*pod_label)(const struct berth_pod *pod, struct berth_str key, struct berth_str *ret);
    /* The pod's total request: cpu in millicores, other resources in whole units. */
    int64_t (*pod_request)(const struct berth_pod *pod, struct berth_str resource);
    /*
     * A field by path: "spec.tolerations[0].key", "metadata.annotations[example.com/x]". Returns
     * false and BERTH_VALUE_ABSENT if there is none. Only fields that scheduling reads are kept of
     * pods, nodes and the other kinds that berth knows; objects of custom resources have all.
     */
    bool (*pod_field)(const struct berth_pod *pod, struct berth_str path,
                      struct berth_value *ret_value);
    const struct berth_object *(*pod_object)(const struct berth_pod *pod);

    /* Nodes. Quantities are in the units of pod_request. In a cycle. */
    struct berth_str (*node_name)(const struct berth_node *node);
    bool (*node_label)(const struct berth_node *node, struct berth_str key, struct berth_str *ret);
    int64_t (*node_allocatable)(const struct berth_node *node, struct berth_str resource);
    int64_t (*node_requested)(const struct berth_node *node, struct berth_str resource);
    size_t (*node_pod_count)(const struct berth_node *node);
    const struct berth_pod *(*node_pod)(const struct berth_node *node, size_t i);
    bool (*node_field)(const struct berth_node *node, struct berth_str path,
                       struct berth_value *ret_value);
    const struct berth_object *(*node_object)(const struct berth_node *node);

    /*
     * Objects. value_get reads on from a value (an empty path: the value itself), value_at is the
     * i-th element of a LIST or entry of a MAP, with its key. value_json appends nothing: it writes
     * the value as JSON to buf, NUL-terminated and cut at size, and returns its full length.
     * parse_quantity: "100m" is 100; rounded up. Any thread.
     */
    bool (*object_field)(const struct berth_object *object, struct berth_str path,
                         struct berth_value *ret_value);
    bool (*value_get)(const struct berth_value *value, struct berth_str path,
                      struct berth_value *ret_value);
    bool (*value_at)(const struct berth_value *value, size_t i, struct berth_str *ret_key,
                     struct berth_value *ret_value);
    size_t (*value_json)(const struct berth_value *value, char *buf, size_t size);
    bool (*parse_quantity)(struct berth_str text, int64_t *ret_thousandths);
    struct berth_str (*object_namespace)(const struct berth_object *object);
    struct berth_str (*object_name)(const struct berth_object *object);
    struct berth_str (*object_uid)(const struct berth_object *object);
    bool (*object_label)(const struct berth_object *object, struct berth_str key,
                         struct berth_str *ret);
    /* Keeps an object beyond the call. Any thread. */
    const struct berth_object *(*object_ref)(const struct berth_object *object);
    void (*object_unref)(const struct berth_object *object);

    /*
     * create only: the objects of a kind. Those that berth watches anyway cost nothing; other
     * kinds, such as custom resources, are watched from now on, as JSON. Never returns NULL: a kind
     * that the API server does not have is reported in the log and asked for again and again, and
     * its lister is empty. The lister is valid until destroy.
     */
    struct berth_lister *(*watch)(struct berth_handle *h, const struct berth_watch *watch);
    /* Whether all objects that existed when the watch began have arrived. In a cycle. */
    bool (*lister_synced)(const struct berth_lister *lister);
    /* One object; NULL: there is none. namespace_name is empty for cluster-scoped kinds. In a
     * cycle. */
    const struct berth_object *(*lister_get)(const struct berth_lister *lister,
                                             struct berth_str namespace_name,
                                             struct berth_str name);
    /*
     * Calls fn for the objects of a namespace, or all if it is empty, in no order, until fn returns
     * false. In a cycle.
     */
    void (*lister_each)(const struct berth_lister *lister, struct berth_str namespace_name,
                        bool (*fn)(void *ctx, const struct berth_object *object), void *ctx);
    /* The number for register_event and berth_shared_type.changed. Any thread. */
    enum berth_resource (*lister_resource)(const struct berth_lister *lister);

    /* Pods in the queue, for less. */
    const struct berth_pod *(*queued_pod)(const struct berth_queued_pod *q);
    int64_t (*queued_since)(const struct berth_queued_pod *q); /* ns on the queue's clock */

    /* Pod groups. */
    struct berth_str (*pod_group_name)(const struct berth_pod_group *g);
    bool (*pod_group_field)(const struct berth_pod_group *g, struct berth_str path,
                            struct berth_value *ret_value);
    void (*placement_add)(struct berth_placements *out, struct berth_str name,
                          const struct berth_str *node_names, size_t n);
    size_t (*placement_nodes)(const struct berth_placement *p);
    const struct berth_node *(*placement_node)(const struct berth_placement *p, size_t i);
    /* score_placement only: the pods of the group that fit, and their nodes. */
    size_t (*placement_pods)(const struct berth_placement *p);
    const struct berth_pod *(*placement_pod)(const struct berth_placement *p, size_t i,
                                             struct berth_str *ret_node_name);

    /*
     * Sends a request. done is called once with the result, on the engine's thread, never within
     * api_call. Returns the id of the call. Calls end without a call of done when their instance or
     * shared state ends. Not in filter and score.
     */
    uint64_t (*api_call)(struct berth_handle *h, const struct berth_api_call *call,
                         berth_api_done_fn *done, void *ctx);
    /* done is not called any more. The request may still be executed. */
    void (*api_forget)(struct berth_handle *h, uint64_t id);

    /* The scheduler's clock in ns. It never goes back. Any thread. */
    int64_t (*now)(const struct berth_handle *h);
    /* Calls fn once after the delay. Returns the id of the timer. Not in filter and score. */
    uint64_t (*timer)(struct berth_handle *h, int64_t delay_ns, berth_fn *fn, void *ctx);
    /* fn is not called any more. A timer that has ended is ignored. */
    void (*timer_cancel)(struct berth_handle *h, uint64_t id);

    /* Records an event. Not in filter and score. */
    void (*event)(struct berth_handle *h, const struct berth_event *event);

    /* create only: the state of that type, made if there is none. Types are compared by address. */
    void *(*shared)(struct berth_handle *h, const struct berth_shared_type *type);

    /*
     * Calls fn on the engine's thread, soon, and not within post. fn is not called after destroy.
     * Any thread.
     */
    void (*post)(struct berth_handle *h, berth_fn *fn, void *ctx);
    /*
     * Calls fn for pieces of 0 … n - 1 on several threads and returns when all are done. fn may
     * call what is allowed in a cycle. Not in filter, score and fn itself.
     */
    void (*parallel)(struct berth_handle *h, size_t n,
                     void (*fn)(void *ctx, size_t begin, size_t end), void *ctx);

    /*
     * create only: reads the plugin's arguments (berth_plugin.args) into ret_args, a struct of the
     * plugin's own; defaults are filled in. Texts and lists live until destroy. Returns 0, or
     * non-zero and sets *error to one line that names the field.
     */
    int (*args)(struct berth_handle *h, struct berth_str args, const struct berth_arg *table,
                void *ret_args, struct berth_error *error);

    /*
     * create only: a metric for /metrics. The same name gives the same metric, in every profile and
     * after a reload. NULL and a line in the log if the name is not allowed, or exists with another
     * kind or other labels. The metric is valid as long as berth runs.
     */
    struct berth_metric *(*metric)(struct berth_handle *h, const struct berth_metric_desc *desc);
    /*
     * Adds to a counter (value >= 0) or gauge, sets a gauge, observes with a histogram. labels: one
     * value for each label. NULL for metric is allowed. Any thread.
     */
    void (*metric_add)(struct berth_metric *metric, const struct berth_str *labels, double value);
    void (*metric_set)(struct berth_metric *metric, const struct berth_str *labels, double value);
    void (*metric_observe)(struct berth_metric *metric, const struct berth_str *labels,
                           double value);

    /* Sends an HTTP GET; as api_call, also for api_forget. */
    uint64_t (*http_get)(struct berth_handle *h, const struct berth_http_get *get,
                         berth_http_done_fn *done, void *ctx);
};

/* Whether this host has a function that was added after the first ABI 1. */
#define BERTH_HOST_HAS(host, member)                                                        \
    ((host)->struct_size >= offsetof(struct berth_host, member) + sizeof((host)->member) && \
     (host)->member != NULL)

/* --- plugin ----------------------------------------------------------------------------------- */

enum berth_plugin_flags {
    /* pre_bind and bind do not block: they may run on the engine's thread. */
    BERTH_PLUGIN_NONBLOCKING = 1 << 0,
    /* With NONBLOCKING: pre_bind may run at the same time as that of other plugins with this flag.
     */
    BERTH_PLUGIN_PARALLEL_PRE_BIND = 1 << 1,
};

struct berth_plugin {
    uint32_t abi;
    size_t struct_size;
    const char *name; /* in KubeSchedulerConfiguration */
    const char *version;
    unsigned flags;
    /* The arguments: see berth_host.args. NULL: berth does not know them. */
    const struct berth_arg *args;

    /*
     * Makes an instance for one profile. args: the plugin's args in pluginConfig as JSON; empty if
     * none. host and h are valid until destroy. Returns 0, or non-zero and sets *error.
     */
    int (*create)(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error);
    void (*destroy)(void *self);

    /* Registers the events that may make a rejected pod schedulable. NULL: all events. */
    void (*events)(void *self, struct berth_registrar *r);

    enum berth_code (*pre_enqueue)(void *self, const struct berth_pod *pod,
                                   struct berth_status *status);
    /* QueueSort: whether a is scheduled before b. */
    bool (*less)(void *self, const struct berth_queued_pod *a, const struct berth_queued_pod *b);

    enum berth_code (*pre_filter)(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status);
    /* PreFilterExtensions: updates the cycle state as if `other` were added to or removed from
     * node. */
    enum berth_code (*add_pod)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status);
    enum berth_code (*remove_pod)(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status);
    enum berth_code (*filter)(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status);
    /*
     * Optional, in addition to filter: the same results for many nodes at once. Returns
     * BERTH_SUCCESS, or a code that ends the attempt.
     */
    enum berth_code (*filter_many)(void *self, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status);
    enum berth_code (*post_filter)(void *self, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status);

    /* slots: the feasible nodes, as indexes into the columns. */
    enum berth_code (*pre_score)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status);
    enum berth_code (*score)(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status);
    /* Optional, in addition to score: the same results for many nodes at once. */
    enum berth_code (*score_many)(void *self, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status);
    /* NormalizeScore: scales scores to 0 … 100. slots as in pre_score. */
    enum berth_code (*normalize)(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status);

    enum berth_code (*reserve)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status);
    /* Must not fail. May be called without a call of reserve before, and more than once. */
    void (*unreserve)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name);
    /* BERTH_WAIT holds the pod for at most *ret_timeout_ns. */
    enum berth_code (*permit)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status);

    /* Returns BERTH_SKIP if pre_bind has nothing to do. */
    enum berth_code (*pre_bind_preflight)(void *self, struct berth_cycle *cycle,
                                          const struct berth_pod *pod, struct berth_str node_name,
                                          struct berth_status *status);
    enum berth_code (*pre_bind)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status);
    enum berth_code (*bind)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, berth_op op, struct berth_status *status);
    void (*post_bind)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name);

    /* Pod groups. */
    enum berth_code (*generate_placements)(void *self, struct berth_cycle *cycle,
                                           const struct berth_pod_group *group,
                                           struct berth_placements *out,
                                           struct berth_status *status);
    enum berth_code (*score_placement)(void *self, const struct berth_cycle *cycle,
                                       const struct berth_pod_group *group,
                                       const struct berth_placement *placement, int64_t *ret_score,
                                       struct berth_status *status);
    enum berth_code (*normalize_placements)(void *self, const struct berth_cycle *cycle,
                                            const struct berth_pod_group *group, int64_t *scores,
                                            size_t n, struct berth_status *status);

    /*
     * Optional. The pod will not be bound: ends a pre_bind that returned BERTH_ASYNC. op is not
     * valid afterwards. unreserve follows. Without this function berth waits for op_done.
     */
    void (*pre_bind_cancel)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                            berth_op op);
};

/* The first members of a struct berth_plugin. */
#define BERTH_PLUGIN_HEAD(plugin_name, plugin_version)                                   \
    .abi = BERTH_ABI, .struct_size = sizeof(struct berth_plugin), .name = (plugin_name), \
    .version = (plugin_version)

/* What a shared object exports: BERTH_EXPORT_PLUGINS(&first, &second); */
#define BERTH_EXPORT_PLUGINS(...)                        \
    BERTH_EXTERN_ __attribute__((visibility("default"))) \
    const struct berth_plugin *const berth_plugins[];    \
    const struct berth_plugin *const berth_plugins[] = {__VA_ARGS__, NULL}
#ifdef __cplusplus
#define BERTH_EXTERN_ extern "C"
}
#else
#define BERTH_EXTERN_ extern
#endif

#endif
