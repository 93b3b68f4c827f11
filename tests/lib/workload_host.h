/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workload_host.h - the registry, kubelets and the controllers of workloads, for unit tests.
 *
 * Purpose:   a cluster without I/O: requests of clients, a scheduler that binds every pod to the
 *            first node that its affinity and the number of pods allow, time that a test moves.
 *            Faults are drawn from a generator: writes that fail, answers that are lost. With
 *            HOST_TRACE in the environment, changes and writes are printed.
 * Ownership: host_end releases everything. Trees live until then.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_WORKLOAD_HOST_H
#define BERTH_TESTS_WORKLOAD_HOST_H

#include "apiserver/controllers/writer.h"
#include "apiserver/kubelet/kubelets.h"
#include "apiserver/registry/registry.h"
#include "apiserver/workloads/workloads.h"
#include "base/rand.h"
#include "base/vec.h"
#include "codec/json_edit.h"

#define HOST_MAX_NODES 256

struct host_write;

struct host {
    struct registry *reg;
    struct workloads *w;
    struct kubelets *k;
    struct arena arena;   /* of trees that tests read */
    struct arena request; /* of one request */
    int64_t now;
    VEC(struct host_write *) writes;
    struct rand *faults; /* NULL: none */
    size_t n_writes, n_controller_writes, n_failed, n_events;
    size_t n_nodes;
    size_t per_node;             /* pods that a node takes; 0: any number */
    size_t load[HOST_MAX_NODES]; /* pods by node */
    size_t fail_every;           /* every such pod ends with exit code 1; 0: none */
    size_t n_bound;
    bool without_scheduler, trace;
    /* After every change of an object; may be NULL. */
    void (*observe)(struct host *h, const struct store_event *event);
    void *ctx;
};

void host_begin(struct host *h);
void host_end(struct host *h);
/* node-0 … with labels zone=z0 … */
void host_add_nodes(struct host *h, size_t n);

/* Requests of clients; JSON may use ' for ". Return the HTTP status. what: "deployments.apps web"
 */
int host_create(struct host *h, const char *what, const char *json);
int host_patch(struct host *h, const char *what, const char *json);
int host_patch_status(struct host *h, const char *what, const char *json);
int host_delete(struct host *h, const char *what);
/* NULL if there is none. In the namespace "default". */
const struct json_value *host_get(struct host *h, const char *what);
/* Text, number, bool or JSON at a path; "" if there is none. */
const char *host_at(struct host *h, const char *what, const char *path);
/* "True Reason" of a condition; "" if there is none. */
const char *host_condition(struct host *h, const char *what, const char *type);
/* Objects of a resource whose text at a path is value (NULL: all). */
size_t host_count(struct host *h, const char *resource, const char *path, const char *value);
/* The names of objects, sorted and separated by spaces. */
const char *host_names(struct host *h, const char *resource);
/* Whether there is an event of that reason and message. */
bool host_has_event(struct host *h, const char *reason, const char *message);

/* Runs everything until nothing is due before now + duration. */
void host_run_for(struct host *h, int64_t duration);
/* Whether the controllers write nothing for a long time. */
bool host_is_idle(struct host *h);

#endif
