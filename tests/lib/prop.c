/* SPDX-License-Identifier: Apache-2.0 */
#include "prop.h"

#include <inttypes.h>

#include "base/str.h"

static uint64_t from_env(const char *name, uint64_t fallback)
{
    const char *text = getenv(name);
    uint64_t value;
    return text && str_to_u64(str_of(text), &value) ? value : fallback;
}

size_t prop_share(size_t n)
{
    return MIN(n, n * from_env("BERTH_CASES", 100) / 100);
}

bool prop_run(const char *name, size_t cases, prop_fn *check, void *ctx)
{
    uint64_t seed = from_env("BERTH_SEED", rand_entropy());
    cases = MAX(cases * from_env("BERTH_CASES", 100) / 100, 1);
    for (size_t i = 0; i < cases; i++) {
        /* Every case has its own generator, so that a single case can be repeated. */
        struct rand r;
        rand_seed(&r, seed + i);
        size_t size = 1 + i * 100 / cases;
        if (!check(&r, size, ctx)) {
            fprintf(stderr, "property %s: case %zu of %zu fails; BERTH_SEED=%" PRIu64 "\n", name, i,
                    cases, seed);
            return false;
        }
    }
    return true;
}
