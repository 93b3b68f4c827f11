/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector.h - label and field selectors, compiled once and matched often.
 *
 * Purpose:   a selector comes from an API object (metav1.LabelSelector, a map of labels) or from
 *            text ("app=web,tier in (a,b),!canary") and is checked as upstream does. The compiled
 *            requirements are plain data, for others to translate into something faster.
 * Ownership: a selector borrows its texts from where it was compiled from, which must outlive it;
 *            its arrays live in the arena.
 * Threading: immutable once compiled; any.
 */
#ifndef BERTH_API_SELECTOR_H
#define BERTH_API_SELECTOR_H

#include "api/meta.h"

enum selector_op {
    SELECTOR_IN,
    SELECTOR_NOT_IN,
    SELECTOR_EXISTS,
    SELECTOR_DOES_NOT_EXIST,
    SELECTOR_GT,
    SELECTOR_LT,
    /* These match as IN and NOT_IN do; they are kept apart for writing them out again. */
    SELECTOR_EQUALS,
    SELECTOR_DOUBLE_EQUALS,
    SELECTOR_NOT_EQUALS,
};

struct requirement {
    struct str key;
    enum selector_op op;
    LIST(struct str) values; /* sorted */
    int64_t number;          /* the value of GT and LT */
};

/* All requirements must match, so one without any matches everything. */
struct selector {
    LIST(struct requirement) requirements; /* sorted by key */
    bool nothing;                          /* matches nothing at all */
};

/*
 * Checks a requirement of which key, op and values are set; sorts a copy of the values and reads
 * the number. -EINVAL where upstream would refuse it.
 */
int requirement_compile(struct requirement *r, struct arena *a, struct err *reterr) MUST_CHECK;
/* The operator that an API object calls so; false for what is none of In … Lt. */
bool selector_op_parse(struct str name, enum selector_op *ret_op) MUST_CHECK;

/* The whole number that Gt and Lt compare, as Go reads it: a plus sign is allowed. */
bool selector_number(struct str s, int64_t *ret_number) MUST_CHECK;

/* NULL gives a selector that matches nothing, an empty one matches everything. */
int selector_compile(const struct label_selector *ls, struct arena *a,
                     struct selector *ret_selector, struct err *reterr) MUST_CHECK;
/* Why selector_compile refuses it, word for word as upstream says it; false where it does not. */
bool selector_write_fault(const struct label_selector *ls, struct buf *out);
/* One that demands every label of the set, which is not checked. */
void selector_from_set(const str_map *set, struct arena *a, struct selector *ret_selector);
/* From text: =, ==, !=, in, notin, key, !key, >, <. */
int selector_parse(struct str text, struct arena *a, struct selector *ret_selector,
                   struct err *reterr) MUST_CHECK;
/* Puts requirements in order of their keys and keeps the order of those with the same. */
void requirements_sort(struct requirement *requirements, size_t n);

bool selector_matches(const struct selector *s, const str_map *labels);
/* Appends it in the syntax of selector_parse. */
void selector_write(const struct selector *s, struct buf *out);

/* --- field selectors -------------------------------------------------------------------------- */

struct field_requirement {
    struct str field, value;
    bool negated;
};

struct field_selector {
    LIST(struct field_requirement) requirements;
};

/* From text: =, ==, != with commas between; in a value \ is written before \ , and =. */
int field_selector_parse(struct str text, struct arena *a, struct field_selector *ret_selector,
                         struct err *reterr) MUST_CHECK;
/* A field that is not there counts as empty. */
bool field_selector_matches(const struct field_selector *s, const str_map *fields);
void field_selector_write(const struct field_selector *s, struct buf *out);

#endif
