/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_path.h - JSONPath as kubectl and CustomResourceDefinitions use it.
 *
 * Purpose:   the value that a path such as .status.conditions[?(@.type=="Ready")].status finds in
 *            an object: fields, \. and ['…'], indexes, slices, unions, *, .. and filters.
 * Ownership: the result is in the tree; literals of a path are in the arena.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_CODEC_JSON_PATH_H
#define BERTH_CODEC_JSON_PATH_H

#include "codec/json_value.h"

/* Values that one evaluation may visit; a path of a few ".." on a large object costs more. */
#define JSON_PATH_MAX_VISITS ((size_t)1 << 20)

/*
 * The first value that path, without braces, finds in v. NULL if it finds nothing, is malformed,
 * compares values of different types, or visits more than JSON_PATH_MAX_VISITS values.
 */
const struct json_value *json_path_first(const struct json_value *v, struct str path,
                                         struct arena *a);

#endif
