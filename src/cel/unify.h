/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unify.h - type variables of the checker.
 *
 * Purpose:   an overload such as list(A) + list(A) is checked with fresh variables for its
 *            parameters; assigning one type to another binds them.
 * Ownership: types are in the arena; cel_unifier_release frees the bindings.
 * Threading: one thread at a time.
 *
 * Types may be shared, so that a small expression has a type that is huge when it is written out
 * ({a: a} of {b: b} of …). Steps are counted; beyond CEL_UNIFY_MAX everything fails.
 */
#ifndef BERTH_CEL_UNIFY_H
#define BERTH_CEL_UNIFY_H

#include "base/vec.h"
#include "cel/type.h"

#define CEL_UNIFY_MAX 20000000u

struct cel_binding {
    uint32_t var;
    const struct cel_type *before;
};

struct cel_unifier {
    struct arena *arena;
    VEC(const struct cel_type *) bound; /* by variable; NULL: free */
    VEC(struct cel_binding) trail;      /* what a failed attempt restores */
    uint32_t steps;
};

void cel_unifier_init(struct cel_unifier *u, struct arena *a);
void cel_unifier_release(struct cel_unifier *u);

const struct cel_type *cel_new_var(struct cel_unifier *u);
/* Whether `from` may be given where `to` is declared. Binds variables if so, none if not. */
bool cel_assignable(struct cel_unifier *u, const struct cel_type *from, const struct cel_type *to);
bool cel_assignable_all(struct cel_unifier *u, const struct cel_type *const *from,
                        const struct cel_type *const *to, size_t n);
/* With bound variables replaced; free ones become dyn if asked. */
const struct cel_type *cel_substitute(struct cel_unifier *u, const struct cel_type *t,
                                      bool free_to_dyn);
/* The same type, including its parameters. */
bool cel_same_type(struct cel_unifier *u, const struct cel_type *a, const struct cel_type *b);
/* The one of two types that is less specific. */
const struct cel_type *cel_most_general(struct cel_unifier *u, const struct cel_type *a,
                                        const struct cel_type *b);

#endif
