/* SPDX-License-Identifier: Apache-2.0 */
/* The header Accept. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/buf.h"
#include "net/media_type.h"

static const struct media_type types[] = {
    {STR_INIT("application"), STR_INIT("json"), true},
    {STR_INIT("application"), STR_INIT("yaml"), false},
    {STR_INIT("text"), STR_INIT("plain"), false},
};

/* Text without a kind, objects with one. */
static bool allows(const void *ctx, const struct media_type *type,
                   const struct media_choice *choice)
{
    (void)ctx;
    return (type == &types[2]) != choice->converts;
}

static bool anything(const void *ctx, const struct media_type *type,
                     const struct media_choice *choice)
{
    (void)ctx, (void)type, (void)choice;
    return true;
}

static void expect(media_allows_fn *fn, const char *accept, const char *want)
{
    struct media_page page = {.types = types, .n = ARRAY_LEN(types), .allows = fn};
    struct media_choice choice;
    struct buf got = BUF_INIT;
    struct arena a;
    arena_init(&a, 0);
    if (media_negotiate(str_of(accept), &page, &a, &choice))
        buf_add_printf(&got, "%.*s%s%.*s%s%.*s%s", STR_ARG(types[choice.index].subtype),
                       choice.converts ? " " : "", STR_ARG(choice.version),
                       choice.kind.n ? " " : "", STR_ARG(choice.kind),
                       choice.pretty ? " pretty" : "");
    else
        buf_add_cstr(&got, "none");
    if (!str_is(buf_str(&got), want))
        fail_msg("\"%s\": want %s, got %s", accept, want, buf_cstr(&got));
    buf_release(&got);
    arena_release(&a);
}

static void test_choice(void **state)
{
    (void)state;
    expect(allows, "", "json");
    expect(allows, "*/*", "plain");
    expect(allows, "*", "plain");
    expect(allows, "text/*", "plain");
    expect(allows, "text/plain", "plain");
    expect(allows, "text/plain;charset=utf-8", "plain");
    expect(allows, "application/json", "none");
    expect(allows, "application/json;v=v1;as=X", "json v1 X");
    expect(allows, "application/*;v=v1;as=X", "json v1 X");
    expect(allows, "application/yaml; v=v1 ; as=X", "yaml v1 X");
    expect(allows, "application/yaml;v=v1;pretty=1", "yaml v1 pretty");
    expect(allows, "application/xml", "none");
    expect(allows, "text/plain;as=X", "none");
    expect(allows, "application/json, text/plain", "plain");
}

static void test_order(void **state)
{
    (void)state;
    expect(anything, "application/yaml, application/json", "yaml");
    expect(anything, "application/yaml;q=0.5, application/json", "json");
    expect(anything, "application/yaml;q=0.5, application/json;q=0.4", "yaml");
    expect(anything, "*/*, text/plain", "plain");
    expect(anything, "text/*, text/plain", "plain");
    expect(anything, "application/yaml;q=nonsense, text/plain;q=0.1", "plain");
    expect(anything, "application/yaml;q=0, text/plain;q=0", "yaml");
    expect(anything, "application/json;v=v1alpha1, application/json;v=v1beta1", "json v1alpha1");
    expect(anything, "application/json;v=v1alpha1;q=0.1, application/json;v=v1beta1",
           "json v1beta1");
}

static void test_odd_headers(void **state)
{
    (void)state;
    static const char *const nothing[] = {
        ",",   ";",      "/",           "json", "application/", "a/b/c", "application/json/x",
        ",,,", "=;=,/;", "application", " ",    "*/json",
    };
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++)
        expect(anything, nothing[i], "none");
    expect(anything, "*/", "json");
    expect(anything, "text/plain/", "plain");
    expect(anything, "application/json;v=a=b;as=;v", "json");
    expect(anything, "application/json;v=a=", "json a");
    expect(anything, "application/json;sv=v1", "none");
    expect(anything, "application/json;stream=watch", "none");
    expect(anything, ",application/yaml,", "yaml");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_odd_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
