/* SPDX-License-Identifier: Apache-2.0 */
/* Values, errors and costs of expressions; the expected ones are upstream's, for the same device.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cel/cel.h"
#include "cel_cases.h"

static struct cel_env *plain, *with_lists;

static int set_up(void **state)
{
    (void)state;
    plain = cel_env_new((struct cel_features){.consumable_capacity = true});
    with_lists = cel_env_new((struct cel_features){true, true});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cel_env_free(plain);
    cel_env_free(with_lists);
    return 0;
}

static int64_t one = 1;
static bool yes = true;
static struct str model = STR_INIT("a100"), version = STR_INIT("1.2.3"),
                  name = STR_INIT("h\303\251llo");

static struct device_attribute_entry attributes[] = {
    {STR_INIT("dra.other.com/name"), {.string_value = &name}},
    {STR_INIT("dra.other.com/ver"), {.version_value = &version}},
    {STR_INIT("healthy"), {.bool_value = &yes}},
    {STR_INIT("model"), {.string_value = &model}},
    {STR_INIT("numa"), {.int_value = &one}},
};

static struct device make_device(struct device_capacity_entry capacity[2])
{
    capacity[0] = (struct device_capacity_entry){STR_INIT("dra.other.com/cores"),
                                                 {.value = quantity_of(108, QUANTITY_DECIMAL_SI)}};
    capacity[1] = (struct device_capacity_entry){
        STR_INIT("memory"), {.value = quantity_of((int64_t)40 << 30, QUANTITY_BINARY_SI)}};
    return (struct device){.name = STR_INIT("a"),
                           .attributes = {attributes, ARRAY_LEN(attributes)},
                           .capacity = {capacity, 2},
                           .allow_multiple_allocations = true};
}

/* What is wrong with an evaluation; NULL: nothing. */
static const char *judge(const struct evaluation *e, const struct device *device, struct err *err)
{
    struct cel_program *program;
    bool matches = false;
    uint64_t cost;
    if (cel_compile(str_of(e->expression), e->lists ? with_lists : plain, &program, err) < 0)
        return "does not compile";
    uint64_t max_cost = cel_program_max_cost(program);
    int rc = cel_device_matches(program, STR("dra.example.com"), device, 0, &matches, &cost, err);
    cel_program_free(program);
    if (rc != (e->error ? -EINVAL : 0))
        return "error or not";
    if (e->error ? strcmp(err->msg, e->error) != 0 : matches != e->matches)
        return "result";
    return cost != e->cost ? "cost" : max_cost != e->max_cost ? "estimate" : NULL;
}

static void test_evaluations(void **state)
{
    (void)state;
    struct device_capacity_entry capacity[2];
    struct device device = make_device(capacity);
    for (size_t i = 0; i < ARRAY_LEN(evaluations); i++) {
        struct err err = {.code = 0};
        const char *wrong = judge(&evaluations[i], &device, &err);
        if (wrong)
            fail_msg("%s: %s: %s", evaluations[i].expression, wrong, err.msg);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct cel_program *program;
        struct err err = {.code = 0};
        if (cel_compile(str_of(r->expression), r->lists ? with_lists : plain, &program, &err) == 0)
            fail_msg("%s: compiles", r->expression);
        assert_string_equal(err.msg, r->error);
    }
}

/* The message may be longer than a struct err. */
static void test_whole_message(void **state)
{
    (void)state;
    struct buf text = BUF_INIT, error = BUF_INIT;
    struct cel_program *program;
    for (int i = 0; i < 60; i++)
        buf_add_cstr(&text, "nothing || ");
    buf_add_cstr(&text, "true");
    assert_int_equal(cel_compile_text(buf_str(&text), plain, &program, &error), -EINVAL);
    assert_true(error.n > 60 * text.n);
    buf_release(&text);
    buf_release(&error);
}

static void test_device_errors(void **state)
{
    (void)state;
    struct cel_program *program;
    struct err err;
    bool matches;
    struct str bad = STR("1.x");
    struct device_attribute_entry versions[] = {{STR_INIT("v"), {.version_value = &bad}}},
                                  empty[] = {{STR_INIT("v"), {.int_value = NULL}}};
    struct device device = {.attributes = {versions, 1}};
    assert_int_equal(cel_compile(STR("true"), plain, &program, &err), 0);
    assert_int_equal(cel_device_matches(program, STR("d"), &device, 0, &matches, NULL, &err),
                     -EINVAL);
    assert_non_null(strstr(err.msg, "attribute v: parse semantic version: "));
    device.attributes.v = empty;
    assert_int_equal(cel_device_matches(program, STR("d"), &device, 0, &matches, NULL, &err),
                     -EINVAL);
    assert_string_equal(err.msg, "attribute v: unsupported attribute value");
    cel_program_free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluations),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_whole_message),
        cmocka_unit_test(test_device_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
