/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h - strings stored once and compared as integers.
 *
 * Purpose:   label keys and values, namespaces, node names, taint keys, resource names. Equal
 *            strings have the same atom, so scheduling compares numbers.
 * Ownership: the table owns a copy of each string and counts its users: every intern_get needs an
 *            intern_put. A string without users is freed and its number reused, so that churn does
 *            not grow the process.
 * Threading: one thread (the engine's).
 */
#ifndef BERTH_BASE_INTERN_H
#define BERTH_BASE_INTERN_H

#include "base/map.h"
#include "base/vec.h"

typedef uint32_t atom_t; /* 0: no string; the empty string has an atom of its own */

struct intern_text;

struct intern {
    struct map by_text;
    VEC(struct intern_text *) by_atom; /* index atom - 1; NULL: free */
    VEC(atom_t) free_atoms;
};

void intern_init(struct intern *in);
void intern_release(struct intern *in);
/* Returns the atom of text and adds a user. */
atom_t intern_get(struct intern *in, struct str text);
/* Removes a user. 0 is allowed. */
void intern_put(struct intern *in, atom_t atom);
/* Adds a user of an atom that is in use. */
atom_t intern_ref(struct intern *in, atom_t atom);
/* Returns the atom if the string is in use, otherwise 0; adds no user. */
atom_t intern_find(const struct intern *in, struct str text);
/* The string of an atom, valid while it is in use. */
struct str intern_text(const struct intern *in, atom_t atom);

#endif
