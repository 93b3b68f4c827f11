/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_selectors.h - the few selectors that the generator of tests/devices draws.
 *
 * Purpose:   `true`, `false`, `device.driver == "x"`, `device.attributes["d"].a == "x"` and terms
 *            joined by &&, so that the allocator can be compared without CEL.
 * Ownership: a program is a copy of its text.
 * Threading: any.
 */
#ifndef BERTH_TESTS_FAKE_SELECTORS_H
#define BERTH_TESTS_FAKE_SELECTORS_H

#include "plugins/dynamic_resources/devices.h"

static void *fake_compile(void *ctx UNUSED, struct str expression, struct buf *error)
{
    if (str_search(expression, STR("broken")) < expression.n) {
        buf_add_cstr(error, "compilation failed");
        return NULL;
    }
    return str_dup(expression);
}

static void fake_free(void *ctx UNUSED, void *program)
{
    free(program);
}

static struct str between(struct str s, const char *before, const char *after)
{
    size_t from = str_search(s, str_of(before));
    if (from == s.n)
        return STR("");
    struct str rest = str_slice(s, from + strlen(before), s.n);
    return str_slice(rest, 0, str_search(rest, str_of(after)));
}

static const struct device_attribute *fake_attribute(const struct selector_input *in,
                                                     struct str domain, struct str id)
{
    for (size_t i = 0; i < in->device->attributes.n; i++) {
        struct str key = in->device->attributes.v[i].key;
        size_t slash = str_find(key, '/');
        struct str d = slash < key.n ? str_slice(key, 0, slash) : in->driver;
        struct str a = slash < key.n ? str_slice(key, slash + 1, key.n) : key;
        if (str_eq(d, domain) && str_eq(a, id))
            return &in->device->attributes.v[i].value;
    }
    return NULL;
}

/* 1, 0, or -1 with an error. */
static int fake_term(struct str term, const struct selector_input *in, struct buf *error)
{
    if (str_eq(term, STR("true")) || str_eq(term, STR("false")))
        return str_eq(term, STR("true"));
    if (str_starts(term, STR("device.driver")))
        return str_eq(between(term, "== \"", "\""), in->driver);
    if (str_starts(term, STR("device.allow")))
        return in->allow_multiple_allocations;
    struct str id = between(term, "\"].", " ");
    const struct device_attribute *a = fake_attribute(in, between(term, "[\"", "\"]"), id);
    if (!a) {
        buf_add_printf(error, "no such key: %.*s", STR_ARG(id));
        return -1;
    }
    if (a->version_value) {
        buf_add_cstr(error, "no such overload");
        return -1;
    }
    return a->string_value && str_eq(*a->string_value, between(term, "== \"", "\""));
}

static int fake_matches(void *ctx UNUSED, const void *program, const struct selector_input *in,
                        bool *ret_matches, struct buf *error)
{
    struct str rest = str_of(program);
    struct buf first = BUF_INIT;
    int result = 1;
    while (rest.n > 0 && result != 0) {
        size_t end = str_search(rest, STR(" && "));
        struct buf reason = BUF_INIT;
        int r = fake_term(str_slice(rest, 0, end), in, &reason);
        if (r < 0 && first.n == 0)
            buf_add_str(&first, buf_str(&reason));
        result = r == 0 ? 0 : MIN(result, r);
        rest = str_slice(rest, end + 4, rest.n);
        buf_release(&reason);
    }
    if (result < 0)
        buf_add_str(error, buf_str(&first));
    buf_release(&first);
    *ret_matches = result > 0;
    return result < 0 ? -EINVAL : 0;
}

static const struct selector_engine fake_selectors = {
    .compile = fake_compile, .free = fake_free, .matches = fake_matches};

#endif
