/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff.h - what an update of a field that may not change has changed.
 *
 * Purpose:   a unified diff of two trees as indented JSON, which upstream adds to some errors.
 *            Upstream prints its internal structs; the names here are those of the API.
 * Ownership: the text is in the arena.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_DIFF_H
#define BERTH_APISERVER_STRATEGIES_DIFF_H

#include "codec/json_edit.h"

/* Empty if both are equal. NULL is written as null. */
struct str json_diff(const struct json_value *from, const struct json_value *to, struct arena *a);

#endif
