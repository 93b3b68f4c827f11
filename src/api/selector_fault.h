/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector_fault.h - what is wrong with a selector, word for word as upstream says it.
 *
 * Purpose:   these texts end up in the events of pods and where a configuration is refused; tools
 *            look for them. Compiling a selector says whether something is wrong, in words of our
 *            own; who then wants upstream's collects them here.
 * Ownership: a list owns its text until faults_write gives it back.
 * Threading: one thread.
 */
#ifndef BERTH_API_SELECTOR_FAULT_H
#define BERTH_API_SELECTOR_FAULT_H

#include "api/node_affinity.h"
#include "api/selector.h"
#include "base/buf.h"

/* In the order of finding them; starts as {0}. */
struct faults {
    struct buf text;
    size_t n;
};

/* One more, by printf. */
void faults_add(struct faults *all, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "<path>values: Invalid value: ["a"]: why" */
void faults_add_values(struct faults *all, const char *path, const struct str *v, size_t n,
                       const char *why);
/* All that is wrong with key, number and text of the values. path: "", or what stands before the
 * member's name, "terms[0]." */
void faults_check(struct faults *all, const char *path, const struct requirement *r);
/* All that is wrong with a qualified name, one entry each: '<field>: Invalid value: "a b": why'. */
void faults_check_name(struct faults *all, const char *field, struct str name);
/* Appends them, several as "[a, b]", and gives the list back. False where there are none. */
bool faults_write(struct faults *all, struct buf *out);

/* As Go's %q. */
void fault_quote(struct buf *out, struct str s);

/* The terms of a node selector; path: "", or the field that it is in. */
void node_selector_faults(struct faults *all, const char *path,
                          const struct node_selector *selector);
/* The preferred terms; those of weight 0 and the empty ones are not looked at. */
void node_preferences_faults(struct faults *all, const char *path,
                             const struct node_affinity *affinity);

#endif
