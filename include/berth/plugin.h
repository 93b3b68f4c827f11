/* SPDX-License-Identifier: Apache-2.0 */
/*
 * berth/plugin.h - the C interface of scheduling plugins.
 *
 * A plugin is one `struct berth_plugin`: a name, a constructor, and one pointer for each extension
 * point of the Kubernetes scheduling framework. A pointer that is not NULL means "implemented".
 * The plugins inside berth and those loaded at run time use the very same struct.
 *
 * A shared object exports one symbol, data only, so that it can be inspected without running it:
 *
 *     const struct berth_plugin *const berth_plugins[] = {&my_plugin, NULL};
 *
 * Everything a plugin needs from berth arrives in `struct berth_host`, a struct of functions: a
 * plugin links against nothing and can be tested on a host of the test's own making.
 *
 * Compatibility: the major half of `abi` must be equal on both sides. Both structs grow only at
 * their end, and each side looks at the other's `struct_size` before it touches a newer member. A
 * plugin compiled against an older header works in a newer berth.
 *
 * Threads: filter, score, filter_many and score_many of one plugin may run on several threads at
 * once for one pod; they must not change anything but what they are given to fill. So may add_pod
 * and remove_pod, each with a cycle of its own; the first call of them in an attempt comes alone.
 * pre_bind and bind of a plugin without BERTH_PLUGIN_NONBLOCKING run on a worker thread and may
 * block. All other functions are called by one thread, one at a time, and must not block: the whole
 * scheduler waits for them.
 *
 * Memory: what a function is given is borrowed for the call unless its comment says otherwise.
 * Strings are (pointer, length) and need not end in NUL.
 */
#ifndef BERTH_PLUGIN_H
#define BERTH_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BERTH_ABI_MAJOR 1
#define BERTH_ABI_MINOR 0
#define BERTH_ABI       ((uint32_t)BERTH_ABI_MAJOR << 16 | BERTH_ABI_MINOR)

struct berth_str {
    const char *p;
    size_t n;
};

/* Verdicts, in upstream's order. */
enum berth_code {
    BERTH_SUCCESS = 0,
    BERTH_ERROR,         /* something broke: the attempt ends, the pod is retried */
    BERTH_UNSCHEDULABLE, /* not here, not now; preemption may help */
    BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, /* not here; preemption cannot help */
    BERTH_WAIT,                           /* permit: hold the pod */
    BERTH_SKIP,                           /* pre_filter, pre_score, bind: not my business */
    BERTH_PENDING,                        /* rejected; requeue at once when a hint says so */

    /* pre_bind and bind only: the outcome comes later through berth_host.op_done. */
    BERTH_ASYNC = 100,
};

/* What the scheduler hands around. Opaque: read by the host's accessors. */
struct berth_pod;    /* a pod and what scheduling derived from it (PodInfo) */
struct berth_node;   /* a node, its pods and their sums (NodeInfo) */
struct berth_object; /* any API object, in queueing hints */
struct berth_queued_pod;
struct berth_cycle;      /* one attempt to schedule one pod (CycleState) */
struct berth_status;     /* takes the reasons of a verdict */
struct berth_binding_op; /* a pre_bind or bind under way */
struct berth_handle;     /* this plugin's instance in its profile */
struct berth_registrar;
struct berth_signature;
struct berth_waiting_pod;
struct berth_pod_group;
struct berth_placement;
struct berth_placements;

/* Number of a reason text, from berth_host.reason; 0 is none. */
typedef uint32_t berth_reason;
/* Number of a cycle-state key, from berth_host.state_key. */
typedef uint32_t berth_state_key;

/* --- cluster events and queueing hints -------------------------------------------------------- */

enum berth_resource {
    BERTH_RESOURCE_POD, /* matches the two below */
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
    BERTH_RESOURCE_RESOURCE_SLICE,
    BERTH_RESOURCE_DEVICE_CLASS,
    BERTH_RESOURCE_POD_GROUP,
    BERTH_RESOURCE_ALL, /* every event */
    BERTH_RESOURCE_COUNT,
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
    BERTH_ACTION_UPDATE_OTHER = 1 << 13, /* an update that none of the above describes */
    BERTH_ACTION_UPDATE = ((1 << 14) - 1) & ~(BERTH_ACTION_ADD | BERTH_ACTION_DELETE),
    BERTH_ACTION_ALL = (1 << 14) - 1,
};

enum berth_hint { BERTH_QUEUE_SKIP, BERTH_QUEUE };

/*
 * Could this change make the pod, which this plugin rejected, schedulable? before is NULL for an
 * addition, after for a deletion. When in doubt: BERTH_QUEUE.
 */
typedef enum berth_hint berth_hint_fn(void *self, const struct berth_pod *pod,
                                      const struct berth_object *before,
                                      const struct berth_object *after);

/* --- columns: all nodes at once --------------------------------------------------------------- */

/*
 * Node state, one array per property. Index: a node's slot, 0 … n - 1. Slots without a node
 * have a zero bit in `present`. cpu in thousandths, memory and storage in bytes.
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

/* The verdict over many nodes: clear the bit of each node that fails and say why. */
struct berth_filter_batch {
    const struct berth_columns *columns;
    uint64_t *feasible;    /* in: the nodes to look at; out: those that pass */
    uint8_t *codes;        /* by slot: berth_code, for those that fail */
    berth_reason *reasons; /* by slot: from berth_host.reason or reason_list */
};

struct berth_score_batch {
    const struct berth_columns *columns;
    const uint32_t *slots; /* the nodes to score */
    size_t n;
    int64_t *scores; /* out, in the order of slots */
};

/* --- the host --------------------------------------------------------------------------------- */

enum berth_value_kind {
    BERTH_VALUE_ABSENT,
    BERTH_VALUE_STRING,
    BERTH_VALUE_INT,
    BERTH_VALUE_BOOL,
    BERTH_VALUE_DOUBLE,
    BERTH_VALUE_LIST, /* number of elements in i */
    BERTH_VALUE_OBJECT,
};

struct berth_value {
    enum berth_value_kind kind;
    struct berth_str str; /* STRING, as long as the object lives */
    int64_t i;            /* INT, BOOL, LIST */
    double d;
};

/* A member that is NULL, or lies beyond struct_size, is a service that this host does not have. */
struct berth_host {
    uint32_t abi;
    size_t struct_size;

    /* Log at klog level `level`; message is text without a line end. Any thread. */
    void (*log)(struct berth_handle *h, int level, struct berth_str message);

    /* A reason text's number; the same text gives the same number, for as long as the process
     * runs: meant for fixed texts. In create; reason_list also later. */
    berth_reason (*reason)(struct berth_handle *h, struct berth_str text);
    /* The number that stands for several reasons of one verdict. */
    berth_reason (*reason_list)(struct berth_handle *h, const berth_reason *reasons, size_t n);
    /* Reasons of the verdict about to be returned; several calls add up. status_text copies. */
    void (*status_reason)(struct berth_status *status, berth_reason reason);
    void (*status_text)(struct berth_status *status, struct berth_str text);

    /* Cycle state. Plugins that ask for the same name share the key. write takes data over and
     * calls free_fn at the end of the attempt; clone_fn copies it for dry runs (NULL: share). */
    berth_state_key (*state_key)(struct berth_handle *h, struct berth_str name);
    void (*state_write)(struct berth_cycle *cycle, berth_state_key key, void *data,
                        void *(*clone_fn)(const void *data), void (*free_fn)(void *data));
    void *(*state_read)(const struct berth_cycle *cycle, berth_state_key key);
    /* Memory that lives as long as the attempt; zeroed, never NULL. */
    void *(*cycle_alloc)(struct berth_cycle *cycle, size_t size);
    /* Pods to move to the active queue when this one has been bound. */
    void (*activate)(struct berth_cycle *cycle, const struct berth_pod *pod);

    /* The node-subset result of pre_filter: only these nodes can be feasible. */
    void (*limit_nodes)(struct berth_cycle *cycle, const struct berth_str *names, size_t n);

    /* All nodes, and one by name (NULL: unknown). */
    const struct berth_columns *(*columns)(const struct berth_cycle *cycle);
    const struct berth_node *(*node_by_name)(struct berth_handle *h, struct berth_str name);
    /* post_filter: a node's verdict in this attempt. */
    enum berth_code (*node_verdict)(const struct berth_cycle *cycle, const struct berth_node *node);
    /* post_filter: the node that the pod may have once its victims are gone. */
    void (*nominate)(struct berth_cycle *cycle, struct berth_str node_name);

    /* Events to register. */
    void (*register_event)(struct berth_registrar *r, enum berth_resource resource,
                           unsigned actions, berth_hint_fn *hint);

    /* The binding of pod to node_name is written to the API; op ends with the outcome. */
    void (*write_binding)(struct berth_handle *h, const struct berth_pod *pod,
                          struct berth_str node_name, struct berth_binding_op *op);
    /* Ends an operation that returned BERTH_ASYNC. Any thread, exactly once. */
    void (*op_done)(struct berth_binding_op *op, enum berth_code code, struct berth_str reason);

    /* Pods held in permit. Each returns false where the pod no longer waits. */
    void (*waiting_pods)(struct berth_handle *h, void (*fn)(void *ctx, struct berth_waiting_pod *w),
                         void *ctx);
    const struct berth_pod *(*waiting_pod)(const struct berth_waiting_pod *w);
    bool (*waiting_allow)(struct berth_handle *h, struct berth_waiting_pod *w);
    bool (*waiting_reject)(struct berth_handle *h, struct berth_waiting_pod *w,
                           struct berth_str reason);

    /* A part of the pod's scheduling signature. */
    void (*sign)(struct berth_signature *s, struct berth_str part);

    /* Reading pods. */
    struct berth_str (*pod_namespace)(const struct berth_pod *pod);
    struct berth_str (*pod_name)(const struct berth_pod *pod);
    struct berth_str (*pod_uid)(const struct berth_pod *pod);
    struct berth_str (*pod_node_name)(const struct berth_pod *pod);
    int32_t (*pod_priority)(const struct berth_pod *pod);
    bool (*pod_label)(const struct berth_pod *pod, struct berth_str key, struct berth_str *ret);
    /* Effective request: cpu in thousandths, anything else in whole units. */
    int64_t (*pod_request)(const struct berth_pod *pod, struct berth_str resource);
    /* By path, as in "spec.tolerations[0].key" or "metadata.annotations[example.com/x]". */
    struct berth_value (*pod_field)(const struct berth_pod *pod, struct berth_str path);

    /* Reading nodes. */
    struct berth_str (*node_name)(const struct berth_node *node);
    bool (*node_label)(const struct berth_node *node, struct berth_str key, struct berth_str *ret);
    int64_t (*node_allocatable)(const struct berth_node *node, struct berth_str resource);
    int64_t (*node_requested)(const struct berth_node *node, struct berth_str resource);
    size_t (*node_pod_count)(const struct berth_node *node);
    const struct berth_pod *(*node_pod)(const struct berth_node *node, size_t i);
    struct berth_value (*node_field)(const struct berth_node *node, struct berth_str path);

    /* Reading the objects of a hint. */
    struct berth_value (*object_field)(const struct berth_object *object, struct berth_str path);

    /* Queue order. */
    const struct berth_pod *(*queued_pod)(const struct berth_queued_pod *q);
    int64_t (*queued_since)(const struct berth_queued_pod *q); /* ns, the queue's clock */

    /* Pod groups. */
    struct berth_str (*pod_group_name)(const struct berth_pod_group *g);
    struct berth_value (*pod_group_field)(const struct berth_pod_group *g, struct berth_str path);
    void (*placement_add)(struct berth_placements *out, struct berth_str name,
                          const struct berth_str *node_names, size_t n);
    size_t (*placement_nodes)(const struct berth_placement *p);
    const struct berth_node *(*placement_node)(const struct berth_placement *p, size_t i);
    /* score_placement: the members that would get a node there, and which one. */
    size_t (*placement_pods)(const struct berth_placement *p);
    const struct berth_pod *(*placement_pod)(const struct berth_placement *p, size_t i,
                                             struct berth_str *ret_node_name);
};

/* --- the plugin ------------------------------------------------------------------------------- */

/* Why create failed, in one line. */
struct berth_error {
    char text[256];
};

enum berth_plugin_flags {
    /* pre_bind and bind never block: they may run on the scheduling thread. */
    BERTH_PLUGIN_NONBLOCKING = 1 << 0,
};

struct berth_plugin {
    uint32_t abi;
    size_t struct_size;
    const char *name; /* as in KubeSchedulerConfiguration */
    const char *version;
    unsigned flags;

    /*
     * Makes an instance for one profile. args: the pluginConfig entry as JSON text, empty where
     * there is none. host and h stay valid until destroy. 0, or non-zero with *error filled.
     */
    int (*create)(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error);
    void (*destroy)(void *self);

    /* Which changes may make a pod schedulable that this plugin rejected. NULL: any change. */
    void (*events)(void *self, struct berth_registrar *r);

    enum berth_code (*pre_enqueue)(void *self, const struct berth_pod *pod,
                                   struct berth_status *status);
    bool (*less)(void *self, const struct berth_queued_pod *a, const struct berth_queued_pod *b);

    enum berth_code (*pre_filter)(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_status *status);
    /* What if `other` were added to, or removed from, node? Changes this plugin's cycle state. */
    enum berth_code (*add_pod)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               const struct berth_pod *other, const struct berth_node *node,
                               struct berth_status *status);
    enum berth_code (*remove_pod)(void *self, struct berth_cycle *cycle,
                                  const struct berth_pod *pod, const struct berth_pod *other,
                                  const struct berth_node *node, struct berth_status *status);
    enum berth_code (*filter)(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status);
    /* The verdicts of filter for many nodes at once; optional, and only beside it. An error code
     * ends the attempt. */
    enum berth_code (*filter_many)(void *self, const struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_filter_batch *batch,
                                   struct berth_status *status);
    enum berth_code (*post_filter)(void *self, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status);

    enum berth_code (*pre_score)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status);
    enum berth_code (*score)(void *self, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status);
    enum berth_code (*score_many)(void *self, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status);
    /* Brings scores to 0 … 100; slots as in pre_score. */
    enum berth_code (*normalize)(void *self, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status);

    enum berth_code (*reserve)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status);
    /* Must not fail; is called even where reserve was not, and may be called twice. */
    void (*unreserve)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name);
    /* BERTH_WAIT holds the pod for at most *ret_timeout_ns. */
    enum berth_code (*permit)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status);

    /* Will pre_bind have work to do? BERTH_SKIP: no. */
    enum berth_code (*pre_bind_preflight)(void *self, struct berth_cycle *cycle,
                                          const struct berth_pod *pod, struct berth_str node_name,
                                          struct berth_status *status);
    enum berth_code (*pre_bind)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, struct berth_binding_op *op,
                                struct berth_status *status);
    enum berth_code (*bind)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                            struct berth_str node_name, struct berth_binding_op *op,
                            struct berth_status *status);
    void (*post_bind)(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name);

    /* Adds all of the pod that this plugin's verdicts depend on; BERTH_UNSCHEDULABLE: cannot. */
    enum berth_code (*sign)(void *self, const struct berth_pod *pod, struct berth_signature *s);

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
};

#endif
