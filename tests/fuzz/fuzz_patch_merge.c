/* SPDX-License-Identifier: Apache-2.0 */
/* The input is [target, patch]: merging the patch again changes nothing. */
#include "fuzz_patch.h"

#include "codec/json_patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct fuzz_patch f;
    struct json_value once, twice;

    if (fuzz_patch_init(&f, data, n)) {
        json_patch_merge(f.target, f.patch, &f.a, &once);
        json_patch_merge(&once, f.patch, &f.a, &twice);
        if (!json_value_equal(&once, &twice))
            abort();
    }
    fuzz_patch_release(&f);
    return 0;
}
