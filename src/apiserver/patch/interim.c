/* SPDX-License-Identifier: Apache-2.0 */
/* Merge patches in place of strategic ones and of server-side apply, until those are here. */
#include "apiserver/patch/apply.h"
#include "apiserver/patch/strategic.h"
#include "codec/json_patch.h"

int strategic_patch(const struct schema_type *types, const struct schema_type *type,
                    const struct json_value *target, const struct json_value *patch,
                    struct arena *a, struct json_value *ret_value, struct err *reterr)
{
    (void)types, (void)type, (void)reterr;
    json_patch_merge(target, patch, a, ret_value);
    return 0;
}

int apply_patch(const struct apply_request *request, const struct json_value *applied,
                struct arena *a, struct json_value *ret_value,
                struct apply_conflicts *ret_conflicts, struct err *reterr)
{
    (void)ret_conflicts, (void)reterr;
    if (request->live)
        json_patch_merge(request->live, applied, a, ret_value);
    else
        *ret_value = *applied;
    return 0;
}

void apply_track_update(const struct apply_request *request, struct json_value *changed,
                        struct arena *a)
{
    (void)request, (void)changed, (void)a;
}
