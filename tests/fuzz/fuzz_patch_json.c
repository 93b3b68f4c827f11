/* SPDX-License-Identifier: Apache-2.0 */
/* The input is [target, patch]: a JSON patch gives the same result twice and leaves its target. */
#include "fuzz_patch.h"

#include "codec/json_patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_patch f;
    struct json_value x, y;
    struct err err;

    if (fuzz_patch_init(&f, data, n)) {
        int r = json_patch_apply(f.target, f.patch, &f.a, &x, &err);

        if (r != json_patch_apply(f.target, f.patch, &f.a, &y, &err) ||
            (r == 0 && !json_value_equal(&x, &y)))
            abort();
    }
    fuzz_patch_release(&f);
    return 0;
}
