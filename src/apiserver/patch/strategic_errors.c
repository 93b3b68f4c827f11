/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of upstream's mergepatch/errors.go, which show values as Go does. */
#include "apiserver/patch/go_value.h"
#include "apiserver/patch/strategic_internal.h"

/* More than an error message holds. */
#define TEXT_MAX 1024

/* Fails with prefix, value and suffix. */
static int fail_with(const struct strategic *m, const char *prefix, const struct json_value *v,
                     const char *suffix)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    go_value_write(v, &text);
    r = err_set(m->err, -EBADMSG, "%s%.*s%s", prefix, STR_ARG(buf_str(&text)), suffix);
    buf_release(&text);
    return r;
}

int strategic_no_merge_key(const struct strategic *m, const struct json_value *item,
                           const char *key)
{
    char suffix[128];

    (void)snprintf(suffix, sizeof(suffix), " does not contain declared merge key: %s", key);
    return fail_with(m, "map: ", item, suffix);
}

int strategic_bad_directive(const struct strategic *m, const struct json_value *directive,
                            const struct json_value *object)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    buf_add_cstr(&text, "unknown patch type: ");
    if (directive->kind != JSON_STRING)
        buf_add_printf(&text, "%%!s(%s=", go_value_type(directive));
    go_value_write(directive, &text);
    buf_add_printf(&text, "%s in map: ", directive->kind == JSON_STRING ? "" : ")");
    r = fail_with(m, buf_cstr(&text), object, "");
    buf_release(&text);
    return r;
}

int strategic_bad_type(const struct strategic *m, const char *expected,
                       const struct json_value *actual)
{
    return err_set(m->err, -EBADMSG, "expected a %s, but received a %s", expected,
                   go_value_type(actual));
}

int strategic_bad_order(const struct strategic *m, const struct json_value *patch,
                        const struct json_value *order)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    buf_add_cstr(&text, "The order in patch list:\n");
    go_value_write(patch, &text);
    buf_add_cstr(&text, "\n doesn't match $setElementOrder list:\n");
    r = fail_with(m, buf_cstr(&text), order, "\n");
    buf_release(&text);
    return r;
}

int strategic_mixed_items(const struct strategic *m, const struct json_value *target,
                          const struct json_value *patch)
{
    struct buf text;
    int r;

    buf_init(&text, TEXT_MAX);
    buf_add_cstr(&text, "list element types are not identical: [");
    go_value_write(target, &text);
    buf_add_char(&text, ' ');
    r = fail_with(m, buf_cstr(&text), patch, "]");
    buf_release(&text);
    return r;
}
