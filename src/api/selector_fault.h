/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector_fault.h - upstream's error texts for invalid selectors.
 *
 * Purpose:   these texts appear in events of pods and in configuration errors, where tools search
 *            for them. Compiling a selector only reports that it is invalid, in berth's own words;
 *            upstream's texts are collected here.
 * Ownership: a list owns its text until faults_write releases it.
 * Threading: one thread.
 */
#ifndef BERTH_API_SELECTOR_FAULT_H
#define BERTH_API_SELECTOR_FAULT_H

#include "api/node_affinity.h"
#include "api/selector.h"
#include "base/buf.h"

/* In the order of detection; initialise with {0}. */
struct faults {
    struct buf text;
    size_t n;
};

/* Adds an entry, printf style. */
void faults_add(struct faults *all, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* "<path>values: Invalid value: ["a"]: why" */
void faults_add_values(struct faults *all, const char *path, const struct str *v, size_t n,
                       const char *why);
/*
 * Adds all errors of key, number and values. path: "", or the prefix of the member's name:
 * "terms[0]."
 */
void faults_check(struct faults *all, const char *path, const struct requirement *r);
/* Adds all errors of a qualified name, one entry each: '<field>: Invalid value: "a b": why'. */
void faults_check_name(struct faults *all, const char *field, struct str name);
/* Appends the entries, several as "[a, b]", and releases the list. False if there are none. */
bool faults_write(struct faults *all, struct buf *out);

/* As Go's %q. */
void fault_quote(struct buf *out, struct str s);

/* Errors in the terms of a node selector; path: "", or the field that it is in. */
void node_selector_faults(struct faults *all, const char *path,
                          const struct node_selector *selector);
/* Errors in preferred terms; those of weight 0 and empty ones are skipped. */
void node_preferences_faults(struct faults *all, const char *path,
                             const struct node_affinity *affinity);

#endif
