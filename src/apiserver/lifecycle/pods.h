/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pods.h - the pods of each namespace and of each node, and what selects them.
 *
 * Purpose:   the index that budgets, services, nodes and the collection of pods share. A change of
 *            a pod marks the tasks whose selector matches it; what they need of a pod is read once
 *            per version.
 * Ownership: belongs to struct lifecycle. Entries hold a reference on their revision.
 * Threading: as lifecycle.h.
 */
#ifndef BERTH_APISERVER_LIFECYCLE_PODS_H
#define BERTH_APISERVER_LIFECYCLE_PODS_H

#include "apiserver/lifecycle/lifecycle_internal.h"
#include "apiserver/store/selectors.h"

struct pod_port {
    struct str name, protocol;
    int64_t number;
};

/* What is read of a pod. */
struct pod_facts {
    bool ready, deleting, terminal;
    struct str uid, hostname, subdomain;
    struct str ip4, ip6; /* the first of each family; empty: none */
    struct str controller_api_version, controller_kind, controller_name, controller_uid;
    const struct pod_port *ports; /* those with names */
    size_t n_ports;
};

struct pod_entry {
    struct revision *rev;
    struct pod_group *room, *node; /* its namespace, its node; NULL: none */
    size_t room_at, node_at;
    bool was_read;
    struct pod_facts facts;
    struct arena facts_arena;
    struct str key; /* NAMESPACE/NAME */
    char text[];
};

/* The pods of a namespace or of a node. */
struct pod_group {
    VEC(struct pod_entry *) pods;
    VEC(struct chooser *) choosers; /* of the namespace */
    struct str name;
    char text[];
};

/* A task with a selector: a budget, a service. */
struct chooser {
    struct named_task *task;
    struct pod_group *room;
    size_t at;
    struct selector selector;
    bool valid;
    struct arena arena;
};

/* NULL if there are none. */
struct pod_group *pods_on_node(const struct lifecycle *l, struct str node);
struct pod_entry *pod_find(struct lifecycle *l, struct str namespace, struct str name);
const struct pod_facts *pod_read(struct lifecycle *l, struct pod_entry *pod);

/* The task selects pods of its namespace from now on; it is the task's state. */
struct chooser *chooser_new(struct lifecycle *l, struct named_task *task);
void chooser_free(struct lifecycle *l, void *state);
/* A LabelSelector, or a map of labels. */
void chooser_set(struct chooser *c, const struct json_value *selector, bool is_map);

void pods_changed(struct lifecycle *l, const struct store_event *event,
                  const struct life_view *view);
void pods_release(struct lifecycle *l);

#endif
