/* SPDX-License-Identifier: Apache-2.0 */
/* Merge patches in place of server-side apply, until that is here. */
#include "apiserver/patch/apply.h"
#include "codec/json_patch.h"

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
