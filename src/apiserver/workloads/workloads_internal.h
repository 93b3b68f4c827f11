/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workloads_internal.h - what the controllers of workloads share: objects, indexes, writes.
 *
 * Purpose:   members.c keeps who controls whom, pods.c what is read of pods, writes.c makes the
 *            writes; the other files have one controller each.
 * Ownership: everything belongs to struct workloads. Trees live in the scratch arena of one look.
 * Threading: as workloads.h.
 */
#ifndef BERTH_APISERVER_WORKLOADS_WORKLOADS_INTERNAL_H
#define BERTH_APISERVER_WORKLOADS_WORKLOADS_INTERNAL_H

#include "api/selector.h"
#include "apiserver/controllers/event_recorder.h"
#include "apiserver/workloads/workloads.h"
#include "base/rand.h"
#include "codec/json_edit.h"

#define JOB_TRACKING       "batch.kubernetes.io/job-tracking" /* finalizer of pods of Jobs */
#define JOB_INDEX          "batch.kubernetes.io/job-completion-index"
#define JOB_INDEX_FAILURES "batch.kubernetes.io/job-index-failure-count"
#define JOB_INDEX_IGNORED  "batch.kubernetes.io/job-index-ignored-failure-count"
#define BURST_REPLICAS     500 /* writes of pods in one look; upstream: BurstReplicas */

enum workload_kind {
    WORKLOAD_DEPLOYMENT,
    WORKLOAD_REPLICA_SET,
    WORKLOAD_REPLICATION_CONTROLLER,
    WORKLOAD_STATEFUL_SET,
    WORKLOAD_DAEMON_SET,
    WORKLOAD_JOB,
    WORKLOAD_CRON_JOB,
    N_WORKLOAD_KINDS,
};

/* --- what can have a controller --------------------------------------------------------------- */

enum member_type {
    MEMBER_POD,
    MEMBER_WORKLOAD, /* ReplicaSets of Deployments, Jobs of CronJobs */
    MEMBER_REVISION, /* ControllerRevisions */
    N_MEMBER_TYPES,
};

struct member;
struct members {
    VEC(struct member *) list;
};

/* An object with a controllerRef, or one that may get one. */
struct member {
    enum member_type type;
    struct revision *rev;
    struct str uid; /* owned */
    bool deleting;
    bool matches; /* the selector of its controller, if that is known */
    int64_t created;
    int64_t generation;
    struct family *family; /* of its controller; NULL: an orphan of its namespace */
    struct members *home;  /* the list in which it is at `at` */
    size_t at;
    struct str key; /* "plural namespace/name", owned */
};

enum pod_phase { POD_PENDING, POD_RUNNING, POD_SUCCEEDED, POD_FAILED, POD_UNKNOWN };

struct pod_item {
    struct member member;
    enum pod_phase phase : 8;
    bool ready;
    bool tracked; /* has the finalizer of Jobs */
    bool has_node;
    int64_t ready_since;
    int restarts;      /* the most of one container */
    int deletion_cost; /* annotation */
    int all_restarts;  /* of all containers, init containers too */
    int64_t index;     /* completion index of a Job; -1: none */
    /* Annotations of pods of Jobs with backoffLimitPerIndex. */
    int64_t failures, ignored_failures;
    bool backed_off; /* its failure is in the record of its Job */
    bool kept;       /* its finalizer stays until its index has another pod; of one look */
    bool leaving;    /* deleted because there are too many: it does not count as failed */
    struct pod_item *next_on_node; /* of a DaemonSet, in one look */
    bool orphaned;                 /* in workloads.orphan_keys */
};

/* The members of one controller, by its uid, whether that is known or not. */
struct family {
    struct workload *workload; /* NULL: not known */
    struct members members[N_MEMBER_TYPES];
    struct str uid;
    char text[];
};

/* A namespace. */
struct space {
    struct members orphans[N_MEMBER_TYPES];
    VEC(struct workload *) workloads;
    struct str name;
    char text[];
};

struct workload {
    struct member member;
    struct work work;
    enum workload_kind kind;
    const struct workload_type *type;
    struct family *family; /* its members */
    struct space *space;
    size_t space_at;
    struct arena selector_arena;
    struct selector selector;
    bool selects;           /* the selector is valid and not empty */
    bool adopts;            /* orphans are to be looked at */
    unsigned batch;         /* creations in the next look: slow start */
    int refused;            /* the status of a pod's creation or deletion that failed; 0: none */
    bool refused_delete;    /* it was a deletion */
    uint64_t template_hash; /* ReplicaSet: of its template, without pod-template-hash */
    VEC(char *) messages;   /* of events, for when a write succeeds: tag - 1 is the index */
    void *state;            /* of the controller; freed by its type */
};

struct workload_type {
    struct str group, api_version, plural, kind;
    const char *component;    /* of events */
    enum member_type selects; /* what it adopts */
    bool adopts;
    void (*sync)(struct workloads *w, struct workload *o, struct json_value *object);
    /* May be NULL. */
    void (*done)(struct workloads *w, struct workload *o, unsigned tag, int status);
    void (*free)(struct workload *o);
};

struct workloads {
    struct workloads_options options;
    const struct workload_type *types; /* by enum workload_kind */
    struct work_queue queue;
    struct event_recorder recorder;
    struct map items;              /* member.key → struct member */
    struct map families;           /* uid → struct family */
    struct map spaces;             /* namespace → struct space */
    VEC(struct node_item *) nodes; /* by name; see nodes.h */
    VEC(struct workload *) daemon_sets;
    struct work orphans; /* removes the finalizer of Jobs from pods without a Job */
    VEC(char *) orphan_keys;
    struct arena scratch;
    struct buf body;
    struct rand rand;
};

static inline int64_t workloads_now(const struct workloads *w)
{
    return w->queue.now;
}
static inline const struct workload_type *type_of(const struct workload *o)
{
    return o->type;
}
static inline struct pod_item *pod_of(struct member *m)
{
    return CONTAINER_OF(m, struct pod_item, member);
}
static inline struct workload *workload_of(struct member *m)
{
    return CONTAINER_OF(m, struct workload, member);
}
static inline size_t n_pods(const struct workload *o)
{
    return o->family->members[MEMBER_POD].list.n;
}
static inline struct pod_item *pod_at(const struct workload *o, size_t i)
{
    return pod_of(o->family->members[MEMBER_POD].list.v[i]);
}

/* --- members.c -------------------------------------------------------------------------------- */

void workload_members_changed(struct workloads *w, const struct store_event *event);
void workload_members_release(struct workloads *w);
/* The workload of that kind and name; NULL if there is none. */
struct workload *workload_find(struct workloads *w, enum workload_kind kind, struct str namespace,
                               struct str name);
/* Whether it is of the kind that the workload may adopt, whatever its labels are. */
bool workload_may_adopt(const struct workload *o, const struct member *m);
/* Frees the memory of a workload; for the queue. */
void workload_free(struct workload *o);
/* The labels sorted, in scratch memory. */
str_map workload_sorted_labels(struct workloads *w, const struct revision *rev);
bool workload_labels_match(struct workloads *w, const struct selector *s,
                           const struct revision *rev);

/* --- pods.c ----------------------------------------------------------------------------------- */

void workload_pod_read(struct pod_item *pod, const struct json_value *object);
/* The condition of that type of an object; NULL if there is none. */
const struct json_value *workload_condition(const struct json_value *object, const char *type);
int64_t workload_read_time(const struct json_value *v, const char *path); /* 0: none */
static inline bool pod_is_active(const struct pod_item *pod)
{
    return pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED && !pod->member.deleting;
}
static inline bool pod_is_terminating(const struct pod_item *pod)
{
    return pod->phase != POD_SUCCEEDED && pod->phase != POD_FAILED && pod->member.deleting;
}
/*
 * Whether it has been ready for that time. *next becomes the time when it will have been, if that
 * is earlier.
 */
bool workload_pod_is_available(const struct workloads *w, const struct pod_item *pod,
                               int64_t min_ready, int64_t *next);
/* The object of a member in scratch memory. */
struct json_value *workload_tree(struct workloads *w, const struct member *m);

/* --- writes.c --------------------------------------------------------------------------------- */

/* Tags of writes; those below are of event_tag. */
enum { TAG_POD_CREATE = 1 << 20, TAG_CLAIM, TAG_STATUS, TAG_OTHER };

void workload_event(struct workloads *w, struct workload *o, bool warning, const char *reason,
                    const char *fmt, ...) PRINTF_LIKE(5, 6);
/* The tag of a write that makes an event if it succeeds: a Warning if the reason begins with "!".
 */
unsigned workload_event_tag(struct workload *o, const char *reason, const char *fmt, ...)
    PRINTF_LIKE(3, 4);

/* Sends the object with this status unless it is the one it has. Returns whether it was sent. */
bool workload_write_status(struct workloads *w, struct workload *o, struct json_value *object,
                           struct json_value status, unsigned tag);
/* Sends the object to its subresource status as it is. */
void workload_send_status(struct workloads *w, struct workload *o, const struct json_value *object,
                          unsigned tag);
/* A merge patch with the version of the member. */
void workload_patch(struct workloads *w, struct workload *by, const struct member *m, unsigned tag,
                    struct json_value patch);
void workload_create(struct workloads *w, struct workload *by, enum work_effect effect,
                     unsigned tag, const struct writer_request *where,
                     const struct json_value *object);
/* With a condition on its uid. */
void workload_delete(struct workloads *w, struct workload *by, const struct member *m,
                     enum work_effect effect, unsigned tag);

/* With propagationPolicy Foreground. */
void workload_delete_foreground(struct workloads *w, struct workload *by, const struct member *m,
                                unsigned tag);

/* The pod of a template: labels, annotations, finalizers, spec and the controllerRef. */
struct json_value workload_pod(struct workloads *w, const struct workload *o,
                               const struct json_value *template);
struct json_value workload_controller_ref(struct workloads *w, const struct workload *o);
/* Creates n pods, or fewer as slow start has it; with generateName. */
void workload_create_pods(struct workloads *w, struct workload *o, const struct json_value *pod,
                          size_t n);
/* Deletes pods, with "Deleted pod: NAME". */
void workload_delete_pods(struct workloads *w, struct workload *o, struct pod_item **pods,
                          size_t n);
/* An answer: the event of a success; whether creations and deletions of pods are refused. */
void workload_write_done(struct workloads *w, struct workload *o, unsigned tag, int status);
/* Why, after workload.refused. */
struct str workload_refusal(struct workloads *w, const struct workload *o);
bool workload_namespace_ends(struct workloads *w, struct str namespace);
/* The finalizers of a pod without that of Jobs; null if there are none. */
struct json_value workload_untracked(struct workloads *w, const struct json_value *pod);

/*
 * Adopts what the selector matches and releases what it no longer matches (upstream:
 * ControllerRefManager). Returns whether writes were made: the look ends.
 */
bool workload_claim(struct workloads *w, struct workload *o);

/* --- status ----------------------------------------------------------------------------------- */

struct str workload_time(struct workloads *w, int64_t at);
struct str workload_now_text(struct workloads *w);
/* Left out if it is 0. */
void workload_put_count(struct workloads *w, struct json_value *v, const char *name, int64_t n);
void workload_put_int(struct workloads *w, struct json_value *v, const char *name, int64_t n);
void workload_put_text(struct workloads *w, struct json_value *v, const char *name,
                       struct str text);

struct new_condition {
    const char *type, *status, *reason;
    struct str message;
};
enum condition_form {
    CONDITION_PLAIN,   /* one with the same status and reason stays as it is */
    CONDITION_UPDATED, /* the same; has lastUpdateTime; keeps lastTransitionTime with the status */
    CONDITION_PROBED,  /* as PLAIN, with lastProbeTime */
    CONDITION_RENEWED, /* as UPDATED, but replaced even if nothing changes */
};
/* Sets a condition of a status, at the end of the list. */
void workload_set_condition(struct workloads *w, struct json_value *status,
                            const struct new_condition *c, enum condition_form form);
void workload_remove_condition(struct json_value *status, const char *type);

/* --- templates.c ------------------------------------------------------------------------------ */

/* JSON with members in order of their names, so that equal trees have equal texts. */
void workload_write_canonical(const struct json_value *v, struct buf *out);
/* Of a pod template without pod-template-hash; not the same in another process. */
uint64_t workload_template_hash(struct workloads *w, const struct json_value *template);
/* As upstream writes a hash: digits and consonants. */
struct str workload_safe_hash(struct workloads *w, struct str text,
                              const struct json_value *collision_count);
/* "25%" or 3 of total; 0 if there is none. */
int64_t workload_scaled(const struct json_value *v, int64_t total, bool round_up);

/* --- nodes.c ---------------------------------------------------------------------------------- */

void workload_node_changed(struct workloads *w, const struct store_event *event);
void workload_nodes_release(struct workloads *w);

/* --- replica_set.c ---------------------------------------------------------------------------- */

/*
 * Sorts active pods, those to be deleted first first (upstream: ActivePodsWithRanks). nodes: how
 * many pods of the same workload are on a node; NULL: it does not matter.
 */
void workload_sort_active(struct workloads *w, struct pod_item **pods, size_t n,
                          const struct map *nodes);

/* --- orphans.c -------------------------------------------------------------------------------- */

/* A pod has the finalizer of Jobs and no Job, as far as it is known. */
void workload_orphan_pod(struct workloads *w, struct pod_item *pod);
void workload_orphans_sync(struct workloads *w);
/* --- job.c ------------------------------------------------------------------------------------ */

/* When a Job became Complete or Failed; 0: it did not. */
int64_t job_finish_time(const struct json_value *job, bool *ret_success);

/* --- the controllers -------------------------------------------------------------------------- */

void deployment_sync(struct workloads *w, struct workload *o, struct json_value *object);
void deployment_done(struct workloads *w, struct workload *o, unsigned tag, int status);
void replica_set_sync(struct workloads *w, struct workload *o, struct json_value *object);
void stateful_set_sync(struct workloads *w, struct workload *o, struct json_value *object);
void daemon_set_sync(struct workloads *w, struct workload *o, struct json_value *object);
void job_sync(struct workloads *w, struct workload *o, struct json_value *object);
void daemon_set_free(struct workload *o);
void job_free(struct workload *o);
void cron_job_sync(struct workloads *w, struct workload *o, struct json_value *object);

#endif
