/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any text as an expression: it compiles or is refused with a message; if it compiles, it costs at
 * most the limit, and a second evaluation gives the same.
 */
#include "cel/cel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT 20000u

static void check(bool held)
{
    if (!held)
        abort();
}

static int64_t one = 1;
static bool yes = true;
static struct str model = STR_INIT("a100"), version = STR_INIT("1.2.3");
static struct str names[] = {STR_INIT("x"), STR_INIT("y")};
static struct device_attribute_entry attributes[] = {
    {STR_INIT("numa"), {.int_value = &one}},
    {STR_INIT("healthy"), {.bool_value = &yes}},
    {STR_INIT("model"), {.string_value = &model}},
    {STR_INIT("other.example.com/version"), {.version_value = &version}},
    {STR_INIT("other.example.com/names"),
     {.string_values = {names, ARRAY_LEN(names)}, .int_value = &one}},
};

struct outcome {
    int err;
    bool matches;
    uint64_t cost;
    char msg[64];
};

static struct outcome evaluate(const struct cel_program *program, const struct device *device)
{
    struct outcome o = {.err = 0};
    struct err err;
    o.err = cel_device_matches(program, STR("dra.example.com"), device, LIMIT, &o.matches, &o.cost,
                               &err);
    if (o.err < 0)
        snprintf(o.msg, sizeof(o.msg), "%.60s", err.msg);
    return o;
}

static void run(struct str text, const struct cel_env *env)
{
    struct cel_program *program;
    struct err err;
    struct device_capacity_entry capacity[] = {
        {STR_INIT("memory"), {.value = quantity_of(40, QUANTITY_BINARY_SI)}}};
    struct device device = {.attributes = {attributes, ARRAY_LEN(attributes)},
                            .capacity = {capacity, ARRAY_LEN(capacity)}};
    if (cel_compile(text, env, &program, &err) < 0) {
        check(err.msg[0] != '\0');
        return;
    }
    struct outcome a = evaluate(program, &device), b = evaluate(program, &device);
    check(a.err == b.err && a.matches == b.matches && a.cost == b.cost && !strcmp(a.msg, b.msg));
    check(a.err < 0 || a.cost <= LIMIT);
    cel_program_free(program);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cel_env *env, *with_lists;
    if (!env) {
        env = cel_env_new((struct cel_features){.consumable_capacity = true});
        with_lists = cel_env_new((struct cel_features){true, true});
    }
    struct str text = {(const char *)data, size};
    if (size > CEL_EXPRESSION_MAX_BYTES)
        return 0;
    run(text, env);
    run(text, with_lists);
    return 0;
}
