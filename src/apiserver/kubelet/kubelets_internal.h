/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubelets_internal.h - what the parts of the kubelets share: nodes, pods, containers, writes.
 *
 * Purpose:   kubelets.c keeps the objects and the queue; pod_life.c decides what the containers of
 *            a pod do, pod_status.c writes it down, node_status.c reports nodes and leases.
 * Ownership: pods and nodes belong to struct kubelets.
 * Threading: as kubelets.h.
 */
#ifndef BERTH_APISERVER_KUBELET_KUBELETS_INTERNAL_H
#define BERTH_APISERVER_KUBELET_KUBELETS_INTERNAL_H

#include "apiserver/kubelet/kubelets.h"
#include "base/heap.h"
#include "base/rand.h"
#include "base/time.h"
#include "codec/json_edit.h"

#define LIFE_FOREVER INT64_MAX

/* How a container or pod lives: the annotations of kubelets.h. */
struct life {
    int64_t start_delay, init_run_time, run_time, ready_delay, stop_delay;
    int init_exit_code, exit_code;
    bool run_time_set;
};

/* Changes what the annotations name; suffix is "" or ".CONTAINER". */
void kubelet_life_read(struct life *life, const struct json_value *annotations, struct str suffix,
                       struct arena *a);
extern const struct life kubelet_life_default;

enum container_role { CONTAINER_INIT, CONTAINER_SIDECAR, CONTAINER_MAIN };
enum container_state { CONTAINER_WAITING, CONTAINER_RUNNING, CONTAINER_TERMINATED };

struct container_run {
    struct str name; /* owned */
    enum container_role role : 8;
    enum container_state state : 8;
    bool ready;
    int exit_code;
    int64_t started, finished; /* of the last run; 0: never */
    int64_t restart_at;        /* it ended and starts again then; 0: it does not */
    int64_t last_started, last_finished;
    int last_exit_code;
    uint64_t id, last_id; /* of containerID */
    unsigned restarts;
    struct life life;
};

enum pod_phase { POD_PHASE_PENDING, POD_PHASE_RUNNING, POD_PHASE_SUCCEEDED, POD_PHASE_FAILED };

/* What is queued, timed and written: the start of a pod and of a node. */
struct actor {
    bool is_node;
    bool queued;
    bool gone;         /* to be freed when no write is under way */
    unsigned n_writes; /* under way */
    unsigned n_failures;
    int64_t due; /* INT64_MAX: no timer */
    struct heap_node timer;
};

struct sim_node;

struct sim_pod {
    struct actor actor;
    struct revision *rev;
    struct sim_node *node;
    size_t node_at; /* its place in node->pods */
    struct container_run *runs;
    size_t n_runs;
    struct life life;
    bool admitted;  /* its containers are known */
    bool stopping;  /* it was deleted; its containers end at stop_at */
    bool ended;     /* no container runs, and none will */
    bool was_ended; /* before this process saw it: its status is left alone */
    bool deadline_exceeded;
    enum pod_phase phase;
    int64_t start, stop_at;
    uint64_t reported; /* hash of the last status that was written; 0: none */
    uint64_t reporting;
    bool delete_sent;
    uint32_t ip;
    struct str key;
    char text[];
};

struct sim_node {
    struct actor actor;
    struct revision *rev; /* NULL: pods name it, but it does not exist */
    VEC(struct sim_pod *) pods;
    struct life life;
    bool killed;
    bool lease_known;  /* created, or found to exist */
    bool lease_flight; /* the write under way is of the lease */
    int64_t lease_due, status_due;
    char ip[48];
    struct str uid; /* in uid_text */
    char uid_text[64];
    struct str name;
    char text[];
};

struct kubelets {
    struct kubelets_options options;
    struct map pods;  /* "namespace/name" → struct sim_pod */
    struct map nodes; /* name → struct sim_node */
    struct map flights;
    VEC(struct actor *) queue;
    size_t queue_at;
    struct heap timers;
    struct arena scratch;
    struct buf body;
    struct rand rand;
    uint64_t next_id;
    uint32_t next_pod_ip, next_node_ip;
    int64_t now;
};

/* --- kubelets.c ------------------------------------------------------------------------------- */

void kubelet_actor_due(struct kubelets *k, struct actor *actor, int64_t at);
/* Sends k->body. The actor has one write more under way. */
void kubelet_actor_write(struct kubelets *k, struct actor *actor,
                         const struct writer_request *request);
void kubelet_add_time(struct buf *out, int64_t at);
/* A mix of the bits that is the same in every process. */
static inline uint64_t hash_fixed(uint64_t v)
{
    v ^= v >> 30;
    v *= UINT64_C(0xbf58476d1ce4e5b9);
    v ^= v >> 27;
    v *= UINT64_C(0x94d049bb133111eb);
    return v ^ v >> 31;
}

/* --- pod_life.c ------------------------------------------------------------------------------- */

/* What the annotations and the spec say, and what the status says if another process ran it. */
void kubelet_pod_admit(struct kubelets *k, struct sim_pod *pod, const struct json_value *object);
/* Moves the containers on. Returns when to call again. */
int64_t kubelet_pod_advance(struct kubelets *k, struct sim_pod *pod,
                            const struct json_value *object);

/* --- pod_status.c ----------------------------------------------------------------------------- */

/* k->body: the merge patch of the status, without resourceVersion. */
void kubelet_pod_status_write(struct kubelets *k, struct sim_pod *pod,
                              const struct json_value *object);

/* --- node_status.c ---------------------------------------------------------------------------- */

void kubelet_node_read(struct kubelets *k, struct sim_node *node);
void kubelet_node_sync(struct kubelets *k, struct sim_node *node);
void kubelet_node_write_done(struct kubelets *k, struct sim_node *node, int status);

#endif
