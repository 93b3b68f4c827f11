/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is [live, applied] of a Pod and of an object without a schema: a configuration that was
 * applied with force applies again without conflicts.
 */
#include "fuzz_patch.h"

#include "apiserver/patch/apply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void apply_twice(struct fuzz_patch *f, const struct resource *r)
{
    struct apply_request req = {.resource = r, .live = f->target, .manager = STR("m")};
    struct apply_conflicts conflicts = {0};
    struct json_value once, twice, changed = json_copy(f->patch, &f->a);
    struct err err;

    req.force = true;
    if (apply_patch(&req, f->patch, &f->a, &once, &conflicts, &err) == 0) {
        req.live = &once;
        req.force = false;
        if (apply_patch(&req, f->patch, &f->a, &twice, &conflicts, &err) < 0)
            abort();
    }
    req.live = f->target;
    apply_track_update(&req, &changed, &f->a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const struct resource custom = {
        .version = STR_INIT("v1"), .api_version = STR_INIT("v1"), .kind = STR_INIT("Widget")};
    static struct resources *resources;
    struct fuzz_patch f;

    if (!resources)
        resources = resources_new();
    if (fuzz_patch_init(&f, data, n) && f.patch->kind == JSON_OBJECT &&
        f.target->kind == JSON_OBJECT) {
        apply_twice(&f, &custom);
        apply_twice(&f, resources_find_kind(resources, STR("v1"), STR("Pod")));
    }
    fuzz_patch_release(&f);
    return 0;
}
