/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval.h - one evaluation as functions see it: memory and budget.
 *
 * Purpose:   functions allocate in `arena`, and ask before they do work that is not bounded by
 *            what they return: hostile expressions double a list two hundred times.
 * Ownership: the evaluation owns the arena.
 * Threading: one thread per evaluation.
 */
#ifndef BERTH_CEL_EVAL_H
#define BERTH_CEL_EVAL_H

#include "cel/value.h"

struct cel_eval {
    struct arena *arena;
    uint64_t cost, limit; /* spent so far; the evaluation ends once cost > limit */
    uint64_t work;        /* steps of comparisons, which cost nothing; bounded as well */
    bool exceeded;        /* ends the evaluation with "actual cost limit exceeded" */
    const char *fault;    /* with exceeded: ends it with "internal error: " and this text */
};

/*
 * Whether `units` of work may be done. If not, sets exceeded; the function then returns any value,
 * which is never seen. A unit is what CEL charges 1 for: an element, ten characters.
 */
bool cel_afford(struct cel_eval *e, uint64_t units);

/* What is a panic of upstream, which no operator absorbs. */
static inline void cel_fault(struct cel_eval *e, const char *text)
{
    e->exceeded = true;
    e->fault = text;
}

/*
 * False for a value that upstream cannot look up in a map or set: bytes and versions, which Go does
 * not hash. Ends the evaluation, as it does there.
 */
bool cel_hashable(struct cel_eval *e, struct cel_value key);

/*
 * The elements as an array, or NULL if there are too many to be paid for (then e->exceeded), or
 * none. Flattens once.
 */
const struct cel_value *cel_list_items(struct cel_eval *e, const struct cel_list *list);

/*
 * The equality of ==: numbers by their amount, lists and maps by their elements, false between
 * different types. Sets e->exceeded (and returns false) if the values are too large to be compared.
 */
bool cel_equal(struct cel_eval *e, struct cel_value a, struct cel_value b);
/* The same; CEL_NOT_COMPARABLE is what == fails with: "no such overload". */
enum cel_equality cel_equality(struct cel_eval *e, struct cel_value a, struct cel_value b);

/* Has the value's type an order (cel-go: traits.Comparer)? */
bool cel_has_order(struct cel_value v);
/*
 * The order of < and >: an int of -1, 0 or 1, or an error ("no such overload", "NaN values cannot
 * be ordered").
 */
struct cel_value cel_compare(struct cel_value a, struct cel_value b);

#endif
