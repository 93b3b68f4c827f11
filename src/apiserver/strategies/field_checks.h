/* SPDX-License-Identifier: Apache-2.0 */
/*
 * field_checks.h - checks that the validation of many kinds shares.
 *
 * Purpose:   label selectors, numbers, enumerations, percentages and immutability, with upstream's
 *            messages. Each check adds errors to a list and nothing else.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_FIELD_CHECKS_H
#define BERTH_APISERVER_STRATEGIES_FIELD_CHECKS_H

#include "apiserver/strategies/names.h"

#define FIELD_IMMUTABLE_TEXT   "field is immutable"
#define FIELD_NONNEGATIVE_TEXT "must be greater than or equal to 0"

/* Adds an error at the member of `parent`. */
void field_error_at(struct field_errors *errors, enum field_error_type type,
                    const struct field_path *parent, const char *member,
                    const struct json_value *value, const char *fmt, ...) PRINTF_LIKE(6, 7);
/* The member is missing: Required without a detail. */
void field_required(struct field_errors *errors, const struct field_path *parent,
                    const char *member);

/* The text of a member as a value for errors; "" if it is missing. */
struct json_value field_text(const struct json_value *object, const char *member);
/* The number of a member as a value for errors; 0 if it is missing. */
struct json_value field_number(const struct json_value *object, const char *member);

/* metav1.LabelSelector; NULL: none. */
void field_check_label_selector(struct field_errors *errors, const struct field_path *path,
                                const struct json_value *selector);
/* A selector without matchLabels and matchExpressions, or none. */
bool label_selector_empty(const struct json_value *selector);
/* Whether a metav1.LabelSelector matches these labels; one that is not valid does not. */
bool label_selector_matches(const struct json_value *selector, const struct json_value *labels);

/* Each is true if the value is valid. NULL is valid: the member is missing. */
bool field_check_nonnegative(struct field_errors *errors, const struct field_path *path,
                             const struct json_value *number);
/* Inclusive: "must be between 1 and 65535, inclusive". */
bool field_check_range(struct field_errors *errors, const struct field_path *path, int64_t number,
                       int64_t min, int64_t max);
/* "must be between 1 and 65535, inclusive", of a port. */
bool field_check_port(struct field_errors *errors, const struct field_path *path, int64_t number);
/* IsValidPortName. */
bool field_check_port_name(struct field_errors *errors, const struct field_path *path,
                           struct str name);
/* A number that is not negative, or a percentage (upstream: ValidatePositiveIntOrPercent). */
bool field_check_int_or_percent(struct field_errors *errors, const struct field_path *path,
                                const struct json_value *value);
/* A percentage above 100% (upstream: IsNotMoreThan100Percent). Numbers pass. */
bool field_check_percent_limit(struct field_errors *errors, const struct field_path *path,
                               const struct json_value *value);
/* The number of "30%", or -1 if the value is no percentage. */
int64_t percent_of(const struct json_value *value);
/* The text is one of these, which end with NULL. */
bool field_check_enum(struct field_errors *errors, const struct field_path *path, struct str text,
                      const char *const *supported);
bool text_is_one_of(struct str text, const char *const *supported);

/* Equal, with a missing member and an empty list, object, text, false or 0 being the same. */
bool field_equal(const struct json_value *a, const struct json_value *b);
/* "field is immutable" unless both are equal (upstream: ValidateImmutableField). */
bool field_check_immutable(struct field_errors *errors, const struct field_path *path,
                           const struct json_value *value, const struct json_value *old);

/* A whole list as one value, of one text per item: Go's []string. */
bool list_has_string(const struct json_value *list, struct str text);

#endif
