/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - fields of objects for plugins (struct berth_value).
 *
 * Purpose:   one view of two representations: typed objects, read by their descriptor tables, and
 *            custom objects, which are JSON trees.
 * Ownership: values point into their object and live as long as it.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_VALUE_H
#define BERTH_ENGINE_FRAMEWORK_VALUE_H

#include "api/object.h"
#include "engine/ports/abi.h"

/*
 * All return whether there is a value; otherwise *ret_value is BERTH_VALUE_ABSENT. A path that
 * names no field is an absent value.
 */
bool value_of_object(const struct object *o, struct str path, struct berth_value *ret_value);
bool value_get(const struct berth_value *v, struct str path, struct berth_value *ret_value);
/* The i-th element of a list or entry of a map. *ret_key is empty for a list. */
bool value_at(const struct berth_value *v, size_t i, struct str *ret_key,
              struct berth_value *ret_value);
/* Appends the value as JSON; an absent one is null. */
void value_write_json(const struct berth_value *v, struct buf *out);

#endif
