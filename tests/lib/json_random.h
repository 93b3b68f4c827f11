/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_random.h - random JSON trees, for property tests.
 *
 * Purpose:   json_random draws a tree; the larger size, the larger the tree.
 * Ownership: the tree lives in the arena.
 * Threading: any.
 */
#ifndef BERTH_TESTS_JSON_RANDOM_H
#define BERTH_TESTS_JSON_RANDOM_H

#include "codec/json_value.h"
#include "codec_random.h"

/* Strings that YAML would read as another type if they were not quoted. */
static struct str random_string(struct rand *r, struct arena *a, size_t size)
{
    static const char *const odd[] = {
        "true",       "no",   "~",  "null", "1",     "0x1f",   "1e3", ".inf",     "<<",
        "- a",        "a: b", "#",  "",     " lead", "trail ", "a\n", "a\nb\n\n", "\n",
        "2001-01-01", "1:30", "*x", "&x",   "!x",    "|",      "%",   "@",        "`"};
    return rand_below(r, 2) ? str_of(odd[rand_below(r, ARRAY_LEN(odd))]) : random_text(r, a, size);
}

static void json_random(struct rand *r, size_t size, struct arena *a, struct json_value *out)
{
    static const char *const numbers[] = {"0", "-1", "12345678901234", "0.5", "-2.5", "1e+21"};
    *out = (struct json_value){.kind = (enum json_kind)rand_below(r, size > 2 ? 6 : 4)};
    size_t n = size > 2 ? rand_below(r, 5) : 0;
    switch (out->kind) {
    case JSON_NULL:
        break;
    case JSON_BOOL:
        out->boolean = rand_below(r, 2);
        break;
    case JSON_NUMBER:
        out->text = str_of(numbers[rand_below(r, ARRAY_LEN(numbers))]);
        break;
    case JSON_STRING:
        out->text = random_string(r, a, size);
        break;
    case JSON_ARRAY:
        out->n = n;
        out->items = arena_array(a, struct json_value, n);
        for (size_t i = 0; i < n; i++)
            json_random(r, size / 2, a, &out->items[i]);
        break;
    case JSON_OBJECT:
        out->n_members = n;
        out->members = arena_array(a, struct json_member, n);
        for (size_t i = 0; i < n; i++) {
            struct str key = random_string(r, a, size);
            out->members[i].key = arena_printf(a, "%.*s%zu", STR_ARG(key), i);
            json_random(r, size / 2, a, &out->members[i].value);
        }
        break;
    }
}

#endif
