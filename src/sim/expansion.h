/* SPDX-License-Identifier: Apache-2.0 */
/*
 * expansion.h - creates the pods of a scenario's Deployments and other controllers.
 *
 * Purpose:   a manifest has a Deployment and no pods, a dump of a cluster has both. Tracks the pods
 *            of each controller and creates missing ones with api/pod_controller.h. Also keeps the
 *            classes that admission looks up.
 * Ownership: owns controllers and runtime classes; borrows objects of the scenarios.
 * Threading: one thread.
 */
#ifndef BERTH_SIM_EXPANSION_H
#define BERTH_SIM_EXPANSION_H

#include "api/pod_controller.h"
#include "api/runtime_class.h"
#include "api/scheduling.h"

struct scenario;
struct expansion;

/* The maximum of pods per controller, so that a typing error does not exhaust memory. */
#define EXPANSION_MAX_PODS 1000000

struct expansion *expansion_new(void) __attribute__((returns_nonnull));
struct expansion *expansion_free(struct expansion *e);

/* Registers an object of the scenario: pods and ReplicaSets with owners, nodes, classes. */
void expansion_see(struct expansion *e, struct object *o);

/* A controller or RuntimeClass. The caller decodes it, then calls expansion_keep or _entry_free. */
struct expansion_entry {
    struct arena arena;
    bool is_class; /* a RuntimeClass */
    enum pod_controller_kind kind;
    union {
        struct pod_controller controller;
        struct runtime_class class;
    };
    bool done; /* its pods are created */
};
struct expansion_entry *expansion_entry_new(void) __attribute__((returns_nonnull));
struct expansion_entry *expansion_entry_free(struct expansion_entry *entry);
/* Takes ownership of the entry. */
void expansion_keep(struct expansion *e, struct expansion_entry *entry);

/* NULL if none. An empty name: the global default. */
const struct priority_class *expansion_priority_class(const struct expansion *e, struct str name);
const struct runtime_class *expansion_runtime_class(const struct expansion *e, struct str name);

/* Adds the missing pods to the scenario. */
int expansion_run(struct expansion *e, struct scenario *s, struct err *reterr) MUST_CHECK;

#endif
