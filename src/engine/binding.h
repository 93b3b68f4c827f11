/* SPDX-License-Identifier: Apache-2.0 */
/*
 * binding.h - from the decision to its confirmation (upstream: binding cycle).
 *
 * Purpose:   assumes the pod on its node, then runs Reserve, PreBind, Bind and PostBind. PreBind
 * and Bind may take their time: the state between them is a struct berth_op, and every step that
 * fails undoes the ones before it. Ownership: an op owns its cycle and the assumed pod; it ends
 * itself. Threading: the engine's thread.
 */
#ifndef BERTH_ENGINE_BINDING_H
#define BERTH_ENGINE_BINDING_H

#include "engine/cycle.h"
#include "engine/ports.h"

struct berth_op {
    struct engine *engine;
    struct berth_queued_pod *queued;
    struct berth_cycle *cycle;
    struct berth_pod *pod; /* assumed */
    struct str node_name;
    enum point point;  /* POINT_PRE_BIND or POINT_BIND */
    size_t plugin;     /* index in the profile's list at that point */
    uint64_t write_id; /* the write it waits for; 0: none */
    bool running;      /* inside a plugin's function: op_done then only leaves its answer */
    bool answered;
    enum berth_code code;
    struct buf reason;
    size_t index; /* in engine.ops */
    int64_t started;
};

/* Takes cycle and queued over. */
void binding_start(struct engine *engine, struct berth_queued_pod *queued,
                   struct berth_cycle *cycle, struct berth_node *node, int64_t started);
/* The plugin's answer, whenever it comes. */
void binding_answer(struct berth_op *op, enum berth_code code, struct str reason);
/* Writes the binding to the API; the outcome becomes the op's answer. */
void binding_write(struct berth_op *op, const struct berth_pod *pod, struct str node_name);
/* The world is ending: gives everything back without a word. */
void binding_abandon(struct berth_op *op);

#endif
