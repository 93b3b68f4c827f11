/* SPDX-License-Identifier: Apache-2.0 */
/* The input is [target, patch] of a Pod: the result is the same twice; the target stays. */
#include "fuzz_patch.h"

#include "api/schema.h"
#include "apiserver/patch/strategic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct schema_type *pod = schema_kind_named(STR("Pod"))->type;
    struct fuzz_patch f;
    struct json_value x, y;
    struct err err;

    if (fuzz_patch_init(&f, data, n) && f.patch->kind == JSON_OBJECT) {
        int r = strategic_patch(schema_types, pod, f.target, f.patch, &f.a, &x, &err);

        if (r != strategic_patch(schema_types, pod, f.target, f.patch, &f.a, &y, &err) ||
            (r == 0 && !json_value_equal(&x, &y)))
            abort();
    }
    fuzz_patch_release(&f);
    return 0;
}
