/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expansion.h - the pods that controllers would make of a scenario's Deployments and the like.
 *
 * Purpose:   a manifest has a Deployment and no pods, a dump of a cluster has both. This knows
 *            which pods belong to whom and makes those that are missing, by api/pod_controller.h.
 *            It also keeps the classes that admission looks up.
 * Ownership: borrows objects from the scenarios, and owns controllers and runtime classes.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_EXPANSION_H
#define BERTH_SIM_EXPANSION_H

#include "api/pod_controller.h"
#include "api/runtime_class.h"
#include "api/scheduling.h"

struct scenario;
struct expansion;

/* No controller may have more pods: a misspelt number is no reason to run out of memory. */
#define EXPANSION_MAX_PODS 1000000

struct expansion *expansion_new(void) __attribute__((returns_nonnull));
struct expansion *expansion_free(struct expansion *e);

/* An object of the scenario: pods and ReplicaSets with owners, nodes, classes. */
void expansion_see(struct expansion *e, struct object *o);

/* What a text decodes to, to be filled by the caller; then kept, or released where that failed. */
struct expansion_entry {
    struct arena arena;
    bool is_class; /* a RuntimeClass */
    enum pod_controller_kind kind;
    union {
        struct pod_controller controller;
        struct runtime_class class;
    };
    bool done; /* its pods are made */
};
struct expansion_entry *expansion_entry_new(void) __attribute__((returns_nonnull));
struct expansion_entry *expansion_entry_free(struct expansion_entry *entry);
/* Takes it over. */
void expansion_keep(struct expansion *e, struct expansion_entry *entry);

/* Whether a DeviceClass offers its devices as this extended resource. */
bool expansion_is_device(const struct expansion *e, struct str resource);
/* NULL: there is none. Without a name the global default. */
const struct priority_class *expansion_priority_class(const struct expansion *e, struct str name);
const struct runtime_class *expansion_runtime_class(const struct expansion *e, struct str name);

/* Makes the pods that are missing and adds them to the scenario. */
int expansion_run(struct expansion *e, struct scenario *s, struct err *reterr) MUST_CHECK;

#endif
