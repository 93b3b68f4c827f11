/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spot.h - a value of an object together with its path.
 *
 * Purpose:   validation walks an object and reports errors with the path of the value. A spot is
 *            both, and the list that errors go to, so that a check is one statement.
 * Ownership: a spot points to its parent's path: it is valid as long as the parent is. Errors are
 *            in the arena of their list.
 * Threading: one thread.
 *
 * A member that is missing or null has v == NULL. spot_text and spot_number give it the zero value
 * that upstream's struct has, which then appears in messages.
 */
#ifndef BERTH_APISERVER_STRATEGIES_SPOT_H
#define BERTH_APISERVER_STRATEGIES_SPOT_H

#include "apiserver/strategies/field_checks.h"

struct spot {
    const struct json_value *v;
    struct field_path path;
    struct field_errors *errors;
    bool root; /* has no path */
};

struct spot spot_root(const struct json_value *object, struct field_errors *errors);
/* A value elsewhere: of a helper that has a path and a value. */
struct spot spot_of(const struct json_value *v, const struct field_path *path,
                    struct field_errors *errors);

/* --- going down ------------------------------------------------------------------------------- */

struct spot spot_get(const struct spot *s, const char *name);
struct spot spot_text(const struct spot *s, const char *name);   /* missing: "" */
struct spot spot_number(const struct spot *s, const char *name); /* missing: 0 */
struct spot spot_item(const struct spot *s, size_t i);           /* of an array */
struct spot spot_value(const struct spot *s, size_t i); /* of an object, by position: path[key] */
/* Items of an array or members of an object; 0 for anything else. */
size_t spot_count(const struct spot *s);

/* --- values ----------------------------------------------------------------------------------- */

static inline bool spot_has(const struct spot *s)
{
    return s->v != NULL;
}
struct str spot_str(const struct spot *s); /* empty if it is no string */
bool spot_is(const struct spot *s, const char *text);
bool spot_empty(const struct spot *s); /* missing, or an empty string */
int64_t spot_int(const struct spot *s);
bool spot_bool(const struct spot *s, bool otherwise);

/* --- errors ----------------------------------------------------------------------------------- */

void spot_required(const struct spot *s, const char *detail);
void spot_invalid(const struct spot *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same for a metav1.LabelSelector, which is shown with its members in upstream's order. */
void spot_invalid_selector(const struct spot *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void spot_forbidden(const struct spot *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
void spot_duplicate(const struct spot *s);
/* More than max items: "Too many: 3: must have at most 2 items". True if there are more. */
bool spot_too_many(const struct spot *s, size_t max);
/* "Too long: may not be more than 10 bytes". */
void spot_too_long(const struct spot *s, size_t max);

/* --- checks: true if the value is as it must be ----------------------------------------------- */

bool spot_check_name(const struct spot *s, enum name_format format);
/* Unsupported value unless the text is one of the values, which end with NULL. */
bool spot_check_one_of(const struct spot *s, const char *const *values);
/* "must be greater than or equal to 0"; a missing value is 0. */
bool spot_check_nonnegative(const struct spot *s);
/* A DNS subdomain, '/' and a path: "acme.io/foo". */
bool spot_check_prefixed_path(const struct spot *s);
/* "field is immutable". */
bool spot_check_immutable(const struct spot *s, const struct json_value *old);
bool spot_check_immutable_selector(const struct spot *s, const struct json_value *old);
/* The member of the same name of `old` must be equal. */
bool spot_check_same(const struct spot *s, const struct json_value *old, const char *name);
/* The same for a text, of which a missing one is shown as "". */
bool spot_check_same_text(const struct spot *s, const struct json_value *old, const char *name);
/* metav1.LabelSelector; a missing one is valid. */
bool spot_check_selector(const struct spot *s);

/*
 * Duplicate value for each item whose text occurred before. `key`: the member of the items; NULL:
 * the items themselves.
 */
void spot_check_unique(const struct spot *list, const char *key);

#endif
