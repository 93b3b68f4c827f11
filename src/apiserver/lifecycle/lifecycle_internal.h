/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle_internal.h - what the controllers share: tasks, names, writes.
 *
 * Purpose:   a task is something to look at again: a node of the garbage collector's graph, a
 *            namespace, a service. Its sync function makes the next writes for it; their answers
 *            and the changes that follow lead to the step after that.
 * Ownership: tasks belong to struct lifecycle.
 * Threading: as lifecycle.h.
 */
#ifndef BERTH_APISERVER_LIFECYCLE_LIFECYCLE_INTERNAL_H
#define BERTH_APISERVER_LIFECYCLE_LIFECYCLE_INTERNAL_H

#include "apiserver/controllers/event_recorder.h"
#include "apiserver/controllers/work_queue.h"
#include "apiserver/lifecycle/lifecycle.h"
#include "codec/json_edit.h"

enum task_kind {
    TASK_GC,
    TASK_NAMESPACE,
    TASK_ACCOUNT, /* the default ServiceAccount of a namespace */
    TASK_ROOT_CA, /* its ConfigMap kube-root-ca.crt */
    TASK_TOKEN,   /* a secret with a token of a ServiceAccount */
    TASK_BUDGET,
    TASK_STALE_TARGET, /* the condition DisruptionTarget of a pod */
    TASK_NODE,
    TASK_POD_UNREADY, /* a pod of a node that is not ready */
    TASK_TAINTED_POD, /* a pod of a node with NoExecute taints */
    TASK_POD_GC,      /* a pod that may have to be removed */
    TASK_ORPHANS,     /* the pods of a node that is gone */
    TASK_TERMINATED,  /* pods that have ended */
    TASK_SERVICE,
    TASK_QUOTA,
    N_TASK_KINDS,
};

struct task {
    struct work work;
    enum task_kind kind;
};

/* A task that is about an object with this name. */
struct named_task {
    struct task task;
    struct str key, namespace, name; /* key: KIND NAMESPACE/NAME */
    void *state;                     /* of its kind; freed with it */
    char text[];
};

/* What one kind of task does; the table is in lifecycle.c. */
struct task_type {
    void (*sync)(struct lifecycle *l, struct task *task);
    void (*free_state)(struct lifecycle *l, void *state); /* of a named task; NULL: it has none */
};

/* The resources that controllers read; NULL: not served. */
struct lifecycle_resources {
    const struct resource *pods, *nodes, *namespaces, *service_accounts, *config_maps, *secrets;
    const struct resource *events, *budgets, *replica_sets, *deployments, *leases;
    const struct resource *services, *endpoints, *slices, *quotas, *claims;
};

struct lifecycle {
    struct lifecycle_options options;
    const struct task_type *types; /* by enum task_kind */
    struct lifecycle_resources r;
    struct work_queue queue;
    struct map named;                     /* key → struct named_task */
    struct map graph;                     /* uid → struct gc_node */
    struct map pods, rooms, pods_of_node; /* pods.h */
    size_t n_terminating;                 /* namespaces that are being deleted */
    size_t n_terminated;                  /* pods that have ended */
    size_t n_quotas;
    struct event_recorder events;
    struct arena scratch; /* of one change or sync */
    struct buf body;      /* of the next write */
};

/* --- tasks.c ---------------------------------------------------------------------------------- */

static inline void task_init(struct task *task, enum task_kind kind)
{
    work_init(&task->work);
    task->kind = kind;
}
/* Looks at it in this or the next run, after its writes are answered. NULL is allowed. */
static inline void task_mark(struct lifecycle *l, struct task *task)
{
    if (task)
        work_add(&l->queue, &task->work);
}
/* Looks at it then at the latest. */
static inline void task_due(struct lifecycle *l, struct task *task, int64_t at)
{
    work_add_at(&l->queue, &task->work, at);
}

/* NULL if there is none. */
struct named_task *task_find(struct lifecycle *l, enum task_kind kind, struct str namespace,
                             struct str name);
/* The task of that name, which is made if there is none, and marked. */
struct named_task *task_named(struct lifecycle *l, enum task_kind kind, struct str namespace,
                              struct str name);
/* There is nothing more to look at under this name. */
void task_end(struct lifecycle *l, struct named_task *task);
/* Frees a task that is in no queue and under no name. */
void task_free(struct lifecycle *l, struct named_task *task);

/* --- writes.c --------------------------------------------------------------------------------- */

struct life_target {
    const struct resource *resource;
    struct str namespace, name;
};
struct life_target life_target(const struct revision *rev);

/* Sends l->body. The task has one write more under way. */
void task_write(struct lifecycle *l, struct task *task, enum writer_verb verb,
                const struct life_target *target, const char *subresource);
/* Of the object with this uid; policy "": that of the server; exact: of this version only. */
void task_delete(struct lifecycle *l, struct task *task, const struct revision *rev,
                 const char *policy, bool exact);
/* l->body: the beginning of a merge patch of that version, inside of "metadata". */
void life_patch(struct lifecycle *l, const struct revision *rev);
/* A merge patch of status.conditions, and of status.phase unless it is NULL. */
void task_patch_conditions(struct lifecycle *l, struct task *task, const struct revision *rev,
                           const struct json_value *object, const char *phase);
/* A merge patch without one of the finalizers; `object` is the tree of rev. */
void task_remove_finalizer(struct lifecycle *l, struct task *task, const struct revision *rev,
                           const struct json_value *object, const char *finalizer);
/* An Event about the object. */
void life_event(struct lifecycle *l, const struct revision *about, const struct event_text *text);

/* --- objects.c -------------------------------------------------------------------------------- */

/* What every controller looks at; texts of the revision. */
struct life_view {
    struct str uid, deletion;      /* deletionTimestamp; empty: none */
    struct str owners, finalizers; /* JSON; empty: none */
};
struct life_view life_view(const struct revision *rev);
/* The node of a pod, whether the store keeps it as a field or not; empty: none. */
struct str life_pod_node(const struct revision *pod);
/* The current object; NULL if there is none. */
struct revision *life_find(const struct lifecycle *l, const struct resource *resource,
                           struct str namespace, struct str name);
/* Its tree, in l->scratch. */
struct json_value *life_parse(struct lifecycle *l, const struct revision *rev);
bool life_is_deleting(const struct json_value *object);
bool life_list_has(const struct json_value *list, const char *text);
struct str life_time(struct lifecycle *l, int64_t at);
/* The item of status.conditions with this type; NULL if there is none. */
struct json_value *life_condition(struct json_value *object, const char *type);

/* A condition without lastTransitionTime. reason "": none. */
struct json_value life_make_condition(struct lifecycle *l, const char *type, const char *status,
                                      const char *reason, struct str message);
/*
 * Sets the condition of its type; lastTransitionTime is the time at which its status changed.
 * Returns whether that changes it.
 */
bool life_set_condition(struct lifecycle *l, struct json_value *object, struct json_value c);

/* --- the controllers -------------------------------------------------------------------------- */

void gc_changed(struct lifecycle *l, const struct store_event *event, const struct life_view *view);
void gc_sync(struct lifecycle *l, struct task *task);
void gc_release(struct lifecycle *l, struct task *task);

void namespace_changed(struct lifecycle *l, const struct store_event *event,
                       const struct life_view *view);
void namespace_sync(struct lifecycle *l, struct task *task);

void accounts_changed(struct lifecycle *l, const struct store_event *event,
                      const struct life_view *view);
void account_sync(struct lifecycle *l, struct task *task);
void root_ca_sync(struct lifecycle *l, struct task *task);
void token_sync(struct lifecycle *l, struct task *task);

void budgets_changed(struct lifecycle *l, const struct store_event *event,
                     const struct life_view *view);
void budget_sync(struct lifecycle *l, struct task *task);
void stale_target_sync(struct lifecycle *l, struct task *task);

void nodes_changed(struct lifecycle *l, const struct store_event *event,
                   const struct life_view *view);
void node_sync(struct lifecycle *l, struct task *task);
void pod_unready_sync(struct lifecycle *l, struct task *task);
void tainted_pod_sync(struct lifecycle *l, struct task *task);

void pod_gc_changed(struct lifecycle *l, const struct store_event *event,
                    const struct life_view *view);
void pod_gc_sync(struct lifecycle *l, struct task *task);
void orphans_sync(struct lifecycle *l, struct task *task);
void terminated_sync(struct lifecycle *l, struct task *task);

void services_changed(struct lifecycle *l, const struct store_event *event,
                      const struct life_view *view);
void service_sync(struct lifecycle *l, struct task *task);
void service_free(struct lifecycle *l, void *state);

void quotas_changed(struct lifecycle *l, const struct store_event *event,
                    const struct life_view *view);
void quota_sync(struct lifecycle *l, struct task *task);

#endif
