/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strategic.h - strategic merge patches, by the schema of the object.
 *
 * Purpose:   application/strategic-merge-patch+json: lists with a merge key, sets of scalars,
 *            $patch, $retainKeys, $deleteFromPrimitiveList and $setElementOrder, with upstream's
 *            errors. Replaces json_patch_strategic of the codec, which knows fields by name only.
 * Ownership: the result is in the arena and shares parts of target and patch.
 * Threading: any thread, one call at a time per arena.
 */
#ifndef BERTH_APISERVER_PATCH_STRATEGIC_H
#define BERTH_APISERVER_PATCH_STRATEGIC_H

#include "codec/json_value.h"
#include "codec/schema.h"

/* -EINVAL: the patch is malformed. types, type: as in schema_check. */
int strategic_patch(const struct schema_type *types, const struct schema_type *type,
                    const struct json_value *target, const struct json_value *patch,
                    struct arena *a, struct json_value *ret_value, struct err *reterr) MUST_CHECK;

#endif
