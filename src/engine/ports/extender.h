/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender.h - extenders: HTTP services that filter, score, preempt and bind.
 *
 * Purpose:   what the engine knows of an extender, its calls and their answers. The engine does not
 *            block: a call goes out by ports.call_extender, the attempt or binding that made it
 *            waits, and the answer comes in by engine_extender_done.
 * Ownership: texts and arrays are borrowed: those of an extender as long as its configuration is in
 *            use, those of a call while the port runs, those of a result while
 *            engine_extender_done runs.
 * Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_PORTS_EXTENDER_H
#define BERTH_ENGINE_PORTS_EXTENDER_H

#include "api/object.h"
#include "api/pod.h"
#include "base/str.h"

/* The rejector of pods whose nodes were refused by extenders. */
#define EXTENDER_PLUGIN "Extender"

struct extender {
    struct str name; /* its URL, which messages and explanations show */
    bool filters, prioritizes, binds, preempts;
    bool ignorable; /* its failures are ignored; called after those that are not ignorable */
    int64_t weight; /* of its scores */
    const struct str *managed_resources; /* only for pods that request one; none: for all pods */
    size_t n_managed_resources;
};

/* Whether the extender is called for the pod (upstream: IsInterested). */
bool extender_is_interested(const struct extender *extender, const struct pod *pod);

enum extender_verb { EXTENDER_FILTER, EXTENDER_PRIORITIZE, EXTENDER_BIND, EXTENDER_PREEMPT };

/* EXTENDER_PREEMPT: the victims on a node. */
struct extender_victims {
    struct str node_name;
    struct object *const *pods;
    size_t n_pods;
    int64_t pdb_violations;
};

struct extender_call {
    uint64_t id;     /* for engine_extender_done */
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
    int64_t score; /* 0 … 10; not checked */
};

/* EXTENDER_PREEMPT: the victims that the extender leaves on a node. */
struct extender_meta_victims {
    struct str node_name;
    const struct str *uids;
    size_t n_uids;
    int64_t pdb_violations;
};

struct extender_result {
    struct str error; /* the complete text; empty: the call succeeded */
    /* EXTENDER_FILTER: the nodes that pass; those refused; those that preemption cannot help. */
    const struct str *kept;
    size_t n_kept;
    const struct extender_refusal *failed, *unresolvable;
    size_t n_failed, n_unresolvable;
    /*
     * It answered with node objects instead of names. Upstream continues with these objects in
     * place of its NodeInfo: scores see nodes without pods and images.
     */
    bool kept_objects;
    /* EXTENDER_PRIORITIZE */
    const struct extender_host_score *scores;
    size_t n_scores;
    /* EXTENDER_PREEMPT, sorted by the nodes' names */
    const struct extender_meta_victims *victims;
    size_t n_victims;
};

/* What an extender's score adds to a node's total; wraps around on overflow, as upstream does. */
int64_t extender_weighted(int64_t score, int64_t weight);

#endif
