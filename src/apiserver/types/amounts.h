/* SPDX-License-Identifier: Apache-2.0 */
/*
 * amounts.h - lists of resources with quantities, as objects have them.
 *
 * Purpose:   {"cpu":"500m","memory":"1Gi"} of a JSON tree as a list that can be added up and
 *            compared: requests and limits of containers, quotas, limit ranges.
 * Ownership: lists live in the arena of the call; names are borrowed.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_TYPES_AMOUNTS_H
#define BERTH_APISERVER_TYPES_AMOUNTS_H

#include "api/quantity.h"
#include "codec/json_edit.h"

/* Zeroed memory is empty. All functions but push need and keep the order by name. */
struct amounts {
    struct quantity_entry *v;
    size_t n, capacity;
};

/* Of a JSON object; texts that are no quantities are left out. NULL is allowed. */
struct amounts amounts_of(const struct json_value *list, struct arena *a);
struct json_value amounts_json(const struct amounts *list, struct arena *a);
/* NULL if there is none. */
const struct quantity *amounts_get(const struct amounts *list, struct str name);

/* Appends; amounts_sum must follow. */
void amounts_push(struct amounts *list, struct str name, const struct quantity *q, struct arena *a);
void amounts_push_all(struct amounts *list, const struct quantity_entry *v, size_t n,
                      struct arena *a);
/* Sorts, and adds up what has the same name. */
void amounts_sum(struct amounts *list);

/* a + b; the larger of both for each name; a - b, at least 0, with the names of both. */
struct amounts amounts_add(const struct amounts *x, const struct amounts *y, struct arena *a);
struct amounts amounts_max(const struct amounts *x, const struct amounts *y, struct arena *a);
struct amounts amounts_sub(const struct amounts *x, const struct amounts *y, struct arena *a);
/* The same names with equal amounts. */
bool amounts_equal(const struct amounts *x, const struct amounts *y);

/* The text of a quantity. */
struct str quantity_text(const struct quantity *q, struct arena *a);

#endif
