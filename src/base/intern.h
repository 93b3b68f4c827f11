/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intern.h - text kept once, compared as an integer.
 *
 * Purpose:   label keys and values, namespaces, node names, taint keys, resource names. Two equal
 *            texts have the same atom, so scheduling compares numbers.
 * Ownership: the table owns a copy of each text and counts its users: every atom from intern_get is
 *            given back by intern_put, and a text without users is forgotten, its number reused. A
 *            year of churn does not grow the process.
 * Threading: one thread (the engine's).
 */
#ifndef BERTH_BASE_INTERN_H
#define BERTH_BASE_INTERN_H

#include "base/map.h"
#include "base/vec.h"

typedef uint32_t atom_t; /* 0 is no text at all; the empty text has an atom of its own */

struct intern_text;

struct intern {
    struct map by_text;
    VEC(struct intern_text *) by_atom; /* index atom - 1; NULL: free */
    VEC(atom_t) free_atoms;
};

void intern_init(struct intern *in);
void intern_release(struct intern *in);
/* The atom of text, one user more. */
atom_t intern_get(struct intern *in, struct str text);
/* One user less. Nothing happens for 0. */
void intern_put(struct intern *in, atom_t atom);
/* Another user of an atom that somebody holds already. */
atom_t intern_ref(struct intern *in, atom_t atom);
/* The atom if anybody uses that text now, else 0; no user is counted. */
atom_t intern_find(const struct intern *in, struct str text);
/* Its text, for as long as somebody uses it. */
struct str intern_text(const struct intern *in, atom_t atom);

#endif
