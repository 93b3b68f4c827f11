/* SPDX-License-Identifier: Apache-2.0 */
/*
 * selector.h - label and field selectors, compiled once and matched often.
 *
 * Purpose:   a selector comes from an API object (metav1.LabelSelector, a map of labels) or from
 *            text ("app=web,tier in (a,b),!canary") and is validated as upstream does. The compiled
 *            requirements are plain data that others may translate into something faster.
 * Ownership: a selector borrows its strings from its source, which must outlive it; its arrays live
 *            in the arena.
 * Threading: immutable once compiled; any thread.
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
    /* These match as IN and NOT_IN do; they are distinct only for writing. */
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

/* All requirements must match; without requirements everything matches. */
struct selector {
    LIST(struct requirement) requirements; /* sorted by key */
    bool nothing;                          /* matches nothing */
};

/*
 * Validates a requirement whose key, op and values are set; sorts a copy of the values and parses
 * the number. -EINVAL if upstream would refuse it.
 */
int requirement_compile(struct requirement *r, struct arena *a, struct err *reterr) MUST_CHECK;
/* The operator of that name in API objects; false if it is none of In … Lt. */
bool selector_op_parse(struct str name, enum selector_op *ret_op) MUST_CHECK;

/* The integer that Gt and Lt compare, as Go parses it: a plus sign is allowed. */
bool selector_number(struct str s, int64_t *ret_number) MUST_CHECK;

/* NULL matches nothing, an empty selector everything. */
int selector_compile(const struct label_selector *ls, struct arena *a,
                     struct selector *ret_selector, struct err *reterr) MUST_CHECK;
/*
 * Appends upstream's error text for a selector that selector_compile refuses; false if it is valid.
 */
bool selector_write_fault(const struct label_selector *ls, struct buf *out);
/* Requires every label of the set, which is not validated. */
void selector_from_set(const str_map *set, struct arena *a, struct selector *ret_selector);
/* From text: =, ==, !=, in, notin, key, !key, >, <. */
int selector_parse(struct str text, struct arena *a, struct selector *ret_selector,
                   struct err *reterr) MUST_CHECK;
/* Sorts requirements by key; stable. */
void requirements_sort(struct requirement *requirements, size_t n);

bool selector_matches(const struct selector *s, const str_map *labels);
/* Appends the selector in the syntax of selector_parse. */
void selector_write(const struct selector *s, struct buf *out);

/* --- field selectors -------------------------------------------------------------------------- */

struct field_requirement {
    struct str field, value;
    bool negated;
};

struct field_selector {
    LIST(struct field_requirement) requirements;
};

/* From text: =, ==, != separated by commas; in a value \ , and = are escaped by \. */
int field_selector_parse(struct str text, struct arena *a, struct field_selector *ret_selector,
                         struct err *reterr) MUST_CHECK;
/* A missing field counts as empty. */
bool field_selector_matches(const struct field_selector *s, const str_map *fields);
void field_selector_write(const struct field_selector *s, struct buf *out);

#endif
