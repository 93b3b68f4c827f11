/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.h - one evaluation of a program.
 *
 * Purpose:   eval.c evaluates nodes, attribute.c paths; both charge through the stack of costs.
 * Ownership: struct cel_run is on the stack of cel_run_program; frames and entries are freed there.
 * Threading: one thread per evaluation.
 *
 * The stack of costs is upstream's CostTracker: every value that was computed is pushed with the id
 * of its expression, and a call finds its arguments there. Values of paths and of terms that were
 * not evaluated stay on it or are missed, and then a call costs nothing. To charge the same, it is
 * modelled entry by entry. Unlike upstream's, a search does not walk the stack: entries of one id
 * are linked.
 */
#ifndef BERTH_CEL_RUN_H
#define BERTH_CEL_RUN_H

#include "base/vec.h"
#include "cel/program.h"

/* The variables of a comprehension under way. */
struct cel_frame {
    bool initialized;
    struct cel_value accu, iter, iter2;
    const struct cel_node *init;
};

struct cel_stack_entry {
    uint32_t id, before; /* before: 1 + the previous entry of this id; 0: none */
    struct cel_value value;
};

struct cel_run {
    struct cel_eval eval;
    struct cel_value device;
    struct cel_frame *frames;
    VEC(struct cel_stack_entry) stack;
    uint32_t *top;  /* by id: 1 + the topmost entry; 0: none */
    bool untracked; /* constants are folded without costs */
    uint64_t steps; /* nodes evaluated */
};

struct cel_value cel_eval_node(struct cel_run *r, const struct cel_node *node);
struct cel_value cel_attr_resolve(struct cel_run *r, const struct cel_attr *attr);
/* Calls the function of a CEL_N_CALL node; no argument of a strict function is an error. */
struct cel_value cel_call_function(struct cel_eval *e, const struct cel_node *node,
                                   const struct cel_value *args);

/* Adds to the cost; ends the evaluation beyond the limit. */
void cel_charge(struct cel_run *r, uint64_t cost);
void cel_stack_push(struct cel_run *r, uint32_t id, struct cel_value v);
/* Removes the topmost entry of the id and all above it; false if there is none. */
bool cel_stack_drop(struct cel_run *r, uint32_t id, struct cel_value *ret_value);

/* Evaluates within `limit`; *ret_cost is what was spent. */
struct cel_value cel_run_program(const struct cel_program *program, struct cel_value device,
                                 struct arena *a, uint64_t limit, uint64_t *ret_cost);

#endif
