/* SPDX-License-Identifier: Apache-2.0 */
/*
 * component.h - what runs in a control plane beside the API: controllers and kubelets.
 *
 * Purpose:   the one table of components. Each is a state machine with the same four calls: it is
 *            told of changes, does what is due, writes through a port and is told of the answers.
 * Ownership: the table is constant. The control plane owns what `make` returns.
 * Threading: that of the control plane.
 */
#ifndef BERTH_APISERVER_COMPONENT_H
#define BERTH_APISERVER_COMPONENT_H

#include "apiserver/access/rbac.h"
#include "apiserver/controllers/writer.h"

struct component_options {
    struct writer writer;
    /* These live longer. */
    struct store *store;
    const struct resources *resources;
    struct rbac *rbac;
    struct str ca_pem; /* that pods trust; "": none */
    uint64_t seed;
};

struct component {
    const char *name;   /* the manager of the fields that it writes */
    const char *user;   /* in whose name it writes */
    bool is_controller; /* left out of a control plane without controllers */
    void *(*make)(const struct component_options *options);
    void (*free)(void *self);
    void (*changed)(void *self, const struct store_event *event);
    void (*run)(void *self, int64_t now);
    void (*write_done)(void *self, uint64_t id, int status, int64_t now);
    /* When to run: 0: now; INT64_MAX: after the next change only. */
    int64_t (*next)(const void *self);
};

/* In the order in which they learn of a change; NULL ends it. */
extern const struct component *const component_table[];

/* Rows that are more than calls of another module: volume_component.c, aggregation.c. */
extern const struct component volume_component, aggregation_component;

#endif
