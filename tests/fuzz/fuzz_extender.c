/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as an extender's answer to each verb; and as an object whose text is kept for
 * requests. */
#include "codec/json_value.h"
#include "live/extender_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
    if (!held)
        abort();
}

static void answer(struct str text)
{
    for (int verb = EXTENDER_FILTER; verb <= EXTENDER_PREEMPT; verb++)
        for (int names_only = 0; names_only < 2; names_only++) {
            struct extender_result result = {0};
            struct err err = {0};
            struct arena arena;
            arena_init(&arena, 0);
            int r =
                extender_decode((enum extender_verb)verb, names_only, text, &arena, &result, &err);
            check(r == 0 || err.msg[0]);
            arena_release(&arena);
        }
}

/* The kept text is JSON as well, without the fields that are left out. */
static void kept(struct str text)
{
    struct wire wire = {.kind = kind_get(KIND_POD),
                        .flags = OBJECT_KEEP_JSON | OBJECT_DROP_MANAGED_FIELDS};
    struct object *o;
    struct json_value tree;
    struct arena arena;
    struct err err;
    enum encoding encoding;
    if (object_decode(&wire, text, &o, &err) < 0)
        return;
    arena_init(&arena, 0);
    /* A name may be written with escapes, and the last of equal ones wins: those stay. */
    check(json_parse(object_wire(o, &encoding), 0, &arena, &tree, &err) == 0);
    check(tree.kind == JSON_OBJECT);
    arena_release(&arena);
    object_unref(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = {(const char *)data, size};
    answer(text);
    kept(text);
    return 0;
}
