/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extender_call.h - a request to an extender, from its text to the text of the answer.
 *
 * Purpose:   reads ExtenderArgs, ExtenderPreemptionArgs and ExtenderBindingArgs
 *            (k8s.io/kube-scheduler/extender/v1), whose member names Go reads case-insensitively;
 *            lets a verb function decide (berth/extender.h); writes the result. Objects stay text:
 *            only their names are decoded until a function asks for more.
 * Ownership: the call owns what was decoded. The text must outlive it.
 * Threading: one thread at a time.
 *
 * Every object needs a name or UID, so that a call takes memory in proportion to its text.
 */
#ifndef BERTH_EXTENDER_EXTENDER_CALL_H
#define BERTH_EXTENDER_EXTENDER_CALL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "berth/extender.h"
#include "codec/desc.h"

/* In the order of extender_verb_names. */
enum extender_call_verb {
    EXTENDER_CALL_FILTER,
    EXTENDER_CALL_PRIORITIZE,
    EXTENDER_CALL_PREEMPT,
    EXTENDER_CALL_BIND,
    EXTENDER_CALL_VERBS,
};
extern const char *const extender_verb_names[EXTENDER_CALL_VERBS];

/* What is decoded at once. */
struct extender_meta {
    struct str name, namespace, uid;
};

struct extender_details; /* what is decoded when it is asked for */

struct berth_extender_object {
    struct str json;
    struct extender_meta meta;
    struct extender_details *details; /* NULL: not decoded yet */
    struct arena *arena;
};

struct extender_victim {
    struct str uid;
    struct berth_extender_object *pod; /* NULL: only the UID is known */
    bool spared;
};

struct extender_node {
    struct str name;
    struct berth_extender_object *object; /* NULL: only the name is known */
    enum berth_code code;                 /* BERTH_SUCCESS: kept */
    struct str reason;
    int64_t score;
    LIST(struct extender_victim) victims;
    int64_t pdb_violations;
};

struct berth_extender_call {
    enum extender_call_verb verb;
    struct arena arena;
    struct berth_extender_object *pod;
    struct extender_node *nodes;
    size_t n_nodes;
    bool whole_nodes, node_names, meta_victims; /* what the request has */
    struct berth_extender_binding binding;
    bool create_binding;
    struct str error; /* empty: none */
};

/* -EBADMSG with "Nodes.items[3]: metadata.name is required" and the like. Release it either way. */
int extender_call_read(struct berth_extender_call *call, enum extender_call_verb verb,
                       struct str text, struct err *reterr) MUST_CHECK;
void extender_call_release(struct berth_extender_call *call);

/* Appends the answer and returns the HTTP status. */
int extender_call_write(const struct berth_extender_call *call, struct buf *out);
/* The answer to a request that could not be read, or was refused: {"Error": message}. */
void extender_write_error(struct str message, struct buf *out);

#endif
