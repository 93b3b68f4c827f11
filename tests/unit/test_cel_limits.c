/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions made to exhaust the stack, memory or time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cel/cel.h"

static struct cel_env *env;

static int set_up(void **state)
{
    (void)state;
    env = cel_env_new((struct cel_features){.consumable_capacity = true});
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cel_env_free(env);
    return 0;
}

/* before * n, middle, after * n */
static void repeat(struct buf *out, const char *before, const char *middle, const char *after,
                   size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add_cstr(out, before);
    buf_add_cstr(out, middle);
    for (size_t i = 0; i < n; i++)
        buf_add_cstr(out, after);
}

/* "" if it compiles and evaluates. */
static void outcome(struct str text, char *msg, size_t size)
{
    struct cel_program *program;
    struct device device = {.name = STR_INIT("d")};
    struct err err = {.code = 0};
    bool matches;
    int rc = cel_compile(text, env, &program, &err);
    if (rc == 0) {
        rc = cel_device_matches(program, STR("d"), &device, 0, &matches, NULL, &err);
        cel_program_free(program);
    }
    snprintf(msg, size, "%s", rc < 0 ? err.msg : "");
}

static void expect(const char *before, const char *middle, const char *after, size_t n,
                   const char *wanted)
{
    struct buf text = BUF_INIT;
    char msg[512];
    repeat(&text, before, middle, after, n);
    outcome(buf_str(&text), msg, sizeof(msg));
    if (wanted[0] ? !strstr(msg, wanted) : msg[0])
        fail_msg("%zu times %s: '%s'", n, before, msg);
    buf_release(&text);
}

#define NESTED "expression recursion limit exceeded: 250"
#define DEEP   "max recursion depth exceeded"

/* How deep each form may be is upstream's. */
static void test_depth(void **state)
{
    (void)state;
    static const struct {
        const char *before, *middle, *after;
        size_t most;
    } forms[] = {
        {"(", "true", ")", 249},
        {"!(", "true", ")", 249},
        {"1+", "1 == 1", "", 248},
        {"1+(", "1", ")", 124},
        {"true ? true : ", "true", "", 249},
        {"true == (", "true", ")", 124},
        {"cel.bind(x, 1, ", "true", ")", 249},
        {"[1].all(x, ", "true", ")", 249},
    };
    for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
        expect(forms[i].before, forms[i].middle, forms[i].after, forms[i].most + 100, "recursion");
    }
    expect("(", "true", ")", 249, "");
    expect("(", "true", ")", 250, NESTED);
    expect("(", "true", ")", 5000, NESTED);
    expect("[1].all(x, ", "true", ")", 249, "");
    expect("", "dyn(1)", ".a", 249, "must evaluate");
    expect("", "dyn(1)", ".a", 251, DEEP);
    expect("true && ", "true", "", 1000, "");
    expect("!", "true", "", 4000, "");
}

/* A list that doubles has more elements than there is memory; only looking at all of it costs. */
static void test_doubling(void **state)
{
    (void)state;
    const char *next = "cel.bind(a, a + a, ";
    struct buf text = BUF_INIT;
    char msg[512];
    static const struct {
        const char *body, *wanted;
    } bodies[] = {
        {"a[0] == 1", ""},
        {"a.size() > 1", ""},
        {"2 in a", "actual cost limit exceeded"},
        {"a == a", "actual cost limit exceeded"},
        {"a.all(x, x == 1)", "actual cost limit exceeded"},
        {"a.map(x, x).size() == 1", "actual cost limit exceeded"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bodies); i++) {
        buf_clear(&text);
        buf_add_cstr(&text, "cel.bind(a, [1], ");
        repeat(&text, next, bodies[i].body, ")", 200);
        buf_add_char(&text, ')');
        outcome(buf_str(&text), msg, sizeof(msg));
        if (bodies[i].wanted[0] ? !strstr(msg, bodies[i].wanted) : msg[0])
            fail_msg("%s: '%s'", bodies[i].body, msg);
    }
    buf_release(&text);
}

/* Values and types that are small because they are shared. */
static void test_sharing(void **state)
{
    (void)state;
    struct buf text = BUF_INIT;
    char msg[512];
    buf_add_cstr(&text, "cel.bind(a, [1], ");
    repeat(&text, "cel.bind(a, [a, a], ", "a == a", ")", 60);
    buf_add_char(&text, ')');
    outcome(buf_str(&text), msg, sizeof(msg));
    assert_non_null(strstr(msg, "exceeded"));
    buf_clear(&text);
    buf_add_cstr(&text, "cel.bind(a, {1: 1}, ");
    repeat(&text, "cel.bind(a, {a: a}, ", "a == 1", ")", 60);
    buf_add_char(&text, ')');
    outcome(buf_str(&text), msg, sizeof(msg));
    assert_non_null(strstr(msg, "compilation failed"));
    buf_clear(&text);
    repeat(&text, "", "optional.of(1)", ".optMap(x, x)", 100);
    buf_add_cstr(&text, ".hasValue()");
    outcome(buf_str(&text), msg, sizeof(msg));
    assert_non_null(strstr(msg, "expression is too large"));
    buf_release(&text);
}

/* Loops in loops: the limit ends them. */
static void test_loops(void **state)
{
    (void)state;
    const char *loop = "[1,2,3,4,5,6,7,8,9,10].all(x, ";
    expect(loop, "true", ")", 3, "");
    expect(loop, "true", ")", 30, "actual cost limit exceeded");
    /* Each turn has a negative charge. */
    expect(loop, "[[1]].flatten(-100).size() > 0 || true", ")", 9, "actual cost limit exceeded");
    expect("cel.bind(s, s + s, ", "s.size() > 0", ")", 0, "undeclared reference");
    struct buf text = BUF_INIT;
    char msg[512];
    buf_add_cstr(&text, "cel.bind(s, 'abc', ");
    repeat(&text, "cel.bind(s, s + s, ", "s.size() > 0", ")", 60);
    buf_add_char(&text, ')');
    outcome(buf_str(&text), msg, sizeof(msg));
    assert_non_null(strstr(msg, "actual cost limit exceeded"));
    buf_release(&text);
}

static void test_size(void **state)
{
    (void)state;
    struct buf text = BUF_INIT;
    char msg[512];
    repeat(&text, " ", "true", "", 100000);
    outcome(buf_str(&text), msg, sizeof(msg));
    assert_non_null(
        strstr(msg, "expression code point size exceeds limit: size: 100004, limit 100000"));
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth),   cmocka_unit_test(test_doubling),
        cmocka_unit_test(test_sharing), cmocka_unit_test(test_loops),
        cmocka_unit_test(test_size),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
