/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender.h - schedulers beside the scheduler: programs that are asked over the network.
 *
 * Purpose:   what the engine knows of an extender, what it asks one and what comes back. The engine
 *            never waits: a call goes out by the port call_extender, the attempt (or the binding)
 *            that made it is suspended, and the answer comes in by engine_extender_done.
 * Ownership: texts and arrays are borrowed: those of an extender for the engine's life, those of a
 *            call while the port runs, those of a result while engine_extender_done runs.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_PORTS_EXTENDER_H
#define BERTH_ENGINE_PORTS_EXTENDER_H

#include "api/object.h"
#include "api/pod.h"
#include "base/str.h"

/* The name under which pods remember that extenders turned nodes down. */
#define EXTENDER_PLUGIN "Extender"

struct extender {
    struct str name; /* its URL: what messages and explanations call it */
    bool filters, prioritizes, binds, preempts;
    bool ignorable; /* that it fails is no reason for the pod to fail; asked after the others */
    int64_t weight; /* of its scores */
    const struct str *managed_resources; /* only pods that want one of these; none: all pods */
    size_t n_managed_resources;
};

bool extender_is_interested(const struct extender *extender, const struct pod *pod);

enum extender_verb { EXTENDER_FILTER, EXTENDER_PRIORITIZE, EXTENDER_BIND, EXTENDER_PREEMPT };

/* EXTENDER_PREEMPT: who would have to leave a node. */
struct extender_victims {
    struct str node_name;
    struct object *const *pods;
    size_t n_pods;
    int64_t pdb_violations;
};

struct extender_call {
    uint64_t id;     /* comes back in engine_extender_done */
    size_t extender; /* index in engine_options.extenders */
    void *owner;     /* of these options */
    enum extender_verb verb;
    struct object *pod;
    /* The nodes in question; for EXTENDER_BIND the one to bind to, without its object. */
    const struct str *node_names;
    struct object *const *nodes;
    size_t n_nodes;
    const struct extender_victims *victims; /* EXTENDER_PREEMPT, in place of nodes */
    size_t n_victims;
};

struct extender_refusal {
    struct str node_name, message;
};

struct extender_host_score {
    struct str node_name;
    int64_t score; /* 0 … 10, if the extender keeps to the rules */
};

/* EXTENDER_PREEMPT: who has to leave a node, in the extender's opinion. */
struct extender_meta_victims {
    struct str node_name;
    const struct str *uids;
    size_t n_uids;
    int64_t pdb_violations;
};

struct extender_result {
    struct str error; /* whole text of what went wrong; empty: nothing did */
    /* EXTENDER_FILTER: who may stay; why others may not; and those that no preemption can help. */
    const struct str *kept;
    size_t n_kept;
    const struct extender_refusal *failed, *unresolvable;
    size_t n_failed, n_unresolvable;
    /*
     * It answered with nodes and not with names. Upstream goes on with these objects in place of
     * what it knows of the nodes: scores see nodes without pods and images.
     */
    bool kept_objects;
    /* EXTENDER_PRIORITIZE */
    const struct extender_host_score *scores;
    size_t n_scores;
    /* EXTENDER_PREEMPT, sorted by the nodes' names */
    const struct extender_meta_victims *victims;
    size_t n_victims;
};

/* What a score of an extender adds to a node's total; wraps around as upstream's does. */
int64_t extender_weighted(int64_t score, int64_t weight);

#endif
