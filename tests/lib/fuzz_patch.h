/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_patch.h - a target and a patch from the input of a fuzzer.
 *
 * Purpose:   the input is the JSON text [target, patch].
 * Ownership: the trees are in f->a.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_FUZZ_PATCH_H
#define BERTH_TESTS_FUZZ_PATCH_H

#include "base/err.h"
#include "codec/json_value.h"

struct fuzz_patch {
    struct arena a;
    const struct json_value *target, *patch;
    struct json_value both;
};

/* False: the input is something else. f must be released in any case. */
static inline bool fuzz_patch_init(struct fuzz_patch *f, const uint8_t *data, size_t n)
{
    struct err err;

    arena_init(&f->a, 0);
    if (json_parse((struct str){(const char *)data, n}, 0, &f->a, &f->both, &err) < 0 ||
        f->both.kind != JSON_ARRAY || f->both.n != 2)
        return false;
    f->target = &f->both.items[0];
    f->patch = &f->both.items[1];
    return true;
}

static inline void fuzz_patch_release(struct fuzz_patch *f)
{
    arena_release(&f->a);
}

#endif
