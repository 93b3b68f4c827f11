/* SPDX-License-Identifier: Apache-2.0 */
/* Selectors are CEL expressions. */
#include "cel/cel.h"
#include "plugins/dynamic_resources/devices_internal.h"

static void *compile(void *ctx, struct str expression, struct buf *error)
{
    struct cel_program *program = NULL;
    return cel_compile_text(expression, ctx, &program, error) < 0 ? NULL : program;
}

static void free_program(void *ctx, void *program)
{
    (void)ctx;
    cel_program_free(program);
}

static int matches(void *ctx, const void *program, const struct selector_input *input,
                   bool *ret_matches, struct buf *error)
{
    (void)ctx;
    struct err e;
    struct device device = *input->device;
    device.allow_multiple_allocations = input->allow_multiple_allocations;
    int r = cel_device_matches(program, input->driver, &device, 0, ret_matches, NULL, &e);
    if (r < 0)
        buf_add_cstr(error, e.msg);
    return r;
}

static void release(void *ctx)
{
    cel_env_free(ctx);
}

struct selector_engine selector_cel(const struct device_features *features)
{
    /*
     * Upstream's environment for expressions that are stored already knows every field, whatever
     * the gates: device.allowMultipleAllocations compiles without DRAConsumableCapacity.
     */
    struct cel_features f = {.consumable_capacity = true,
                             .list_type_attributes = features->list_attributes};
    return (struct selector_engine){.ctx = cel_env_new(f),
                                    .compile = compile,
                                    .free = free_program,
                                    .matches = matches,
                                    .release = release};
}
