/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategic.h - strategic merge patches, by the schema of the object.
 *
 * Purpose:   application/strategic-merge-patch+json: lists with a merge key, sets of scalars,
 *            $patch, $retainKeys, $deleteFromPrimitiveList and $setElementOrder, with upstream's
 *            results and errors. Replaces json_patch_strategic of the codec, which knows fields by
 *            name only.
 * Ownership: the result is in the arena and shares parts of target and patch.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_PATCH_STRATEGIC_H
#define BERTH_APISERVER_PATCH_STRATEGIC_H

#include "codec/json_value.h"
#include "codec/schema.h"

/*
 * types, type: as in schema_check. Upstream answers errors of the patch's form with 400 (-EINVAL),
 * lists of lists with 422 (-ENOTSUP), and everything else, such as items without their merge key,
 * with 500 (-EBADMSG). The time is linear in target and patch, but for sorting lists.
 */
int strategic_patch(const struct schema_type *types, const struct schema_type *type,
                    const struct json_value *target, const struct json_value *patch,
                    struct arena *a, struct json_value *ret_value, struct err *reterr) MUST_CHECK;

#endif
