/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_patch.h - patches of API objects.
 *
 * Purpose:   what an API server does with the body of a PATCH request: a merge patch (RFC 7396), a
 *            JSON patch (RFC 6902) or a strategic merge patch of Kubernetes, applied to a tree. For
 *            the simulator, and for an API server of our own.
 * Ownership: the result is made in the arena and shares parts of target and patch, which must live
 *            as long.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_CODEC_JSON_PATCH_H
#define BERTH_CODEC_JSON_PATCH_H

#include "codec/json_value.h"

void json_patch_merge(const struct json_value *target, const struct json_value *patch,
                      struct arena *a, struct json_value *ret_value);

/*
 * patch is a list of operations: add, remove, replace, test, move, copy. -EINVAL if an operation is
 * malformed or its path does not exist, -EBUSY if a test fails.
 */
int json_patch_apply(const struct json_value *target, const struct json_value *patch,
                     struct arena *a, struct json_value *ret_value, struct err *reterr) MUST_CHECK;

/*
 * The lists that are merged instead of replaced, by the name of their field. key is the member that
 * identifies an item; empty: the items are strings.
 */
struct json_merge_list {
    const char *field;
    const char *key;
};

/*
 * Supports lists with merge keys, "$patch" (delete, replace), "$deleteFromPrimitiveList/FIELD" and
 * "$retainKeys"; "$setElementOrder/FIELD" is ignored.
 */
void json_patch_strategic(const struct json_value *target, const struct json_value *patch,
                          const struct json_merge_list *lists, size_t n_lists, struct arena *a,
                          struct json_value *ret_value);

#endif
