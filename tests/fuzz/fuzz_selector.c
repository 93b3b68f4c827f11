/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a label and as a field selector: an accepted one is written as an equal selector. */
#include "api/selector.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
    if (!held)
        abort();
}

static struct str_entry entries[] = {
    {STR_INIT("a"), STR_INIT("1")},
    {STR_INIT("app"), STR_INIT("web")},
    {STR_INIT("metadata.name"), STR_INIT("n,1=2\\")},
};
static const str_map labels = {entries, ARRAY_LEN(entries)};

static void label_selector(struct str text, struct arena *a)
{
    struct selector s, again;
    struct err e;
    if (selector_parse(text, a, &s, &e) < 0)
        return;
    struct buf once = BUF_INIT, twice = BUF_INIT;
    selector_write(&s, &once);
    check(selector_parse(buf_str(&once), a, &again, &e) == 0);
    selector_write(&again, &twice);
    check(str_eq(buf_str(&once), buf_str(&twice)));
    check(selector_matches(&s, &labels) == selector_matches(&again, &labels));
    buf_release(&once);
    buf_release(&twice);
}

static void field_selector(struct str text, struct arena *a)
{
    struct field_selector s, again;
    struct err e;
    if (field_selector_parse(text, a, &s, &e) < 0)
        return;
    struct buf once = BUF_INIT;
    field_selector_write(&s, &once);
    check(field_selector_parse(buf_str(&once), a, &again, &e) == 0);
    check(s.requirements.n == again.requirements.n);
    check(field_selector_matches(&s, &labels) == field_selector_matches(&again, &labels));
    buf_release(&once);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    struct arena a;
    arena_init(&a, 0);
    label_selector(text, &a);
    field_selector(text, &a);
    arena_release(&a);
    return 0;
}
