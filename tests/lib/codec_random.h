/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec_random.h - random values of described types, for property tests.
 *
 * Purpose:   codec_random fills a value by its table; nothing has to be written per type.
 * Ownership: the value lives in the arena.
 * Threading: any.
 */
#ifndef BERTH_TESTS_CODEC_RANDOM_H
#define BERTH_TESTS_CODEC_RANDOM_H

#include "base/rand.h"
#include "codec/desc.h"

/* Text with the characters that encoders trip over. */
static struct str random_text(struct rand *r, struct arena *a, size_t size)
{
    static const char *const pieces[] = {
        "a",    "b",        "Z",     "0", "-", "\"",     "\\",         "\n",
        "\t",   "\x01",     "<",     "&", "ä", "\u2028", "日本",       "/",
        ":",    "# ",       "{",     "]", "'", " ",      "\U0001F600", "kubernetes.io/hostname",
        "\x7f", "\xC2\x85", "\uFEFF"};
    struct buf b = BUF_INIT;
    for (size_t n = rand_below(r, 1 + size % 12); n > 0; n--)
        buf_add_cstr(&b, pieces[rand_below(r, ARRAY_LEN(pieces))]);
    struct str text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static int64_t random_int(struct rand *r, int64_t min, int64_t max)
{
    switch (rand_below(r, 6)) {
    case 0:
        return min;
    case 1:
        return max;
    case 2:
        return 0;
    case 3:
        return -1;
    default: {
        int64_t v = (int64_t)(rand_u64(r) >> rand_below(r, 63));
        return v < min || v > max ? 7 : v;
    }
    }
}

static void codec_random(struct rand *r, const struct type *type, size_t size, struct arena *a,
                         void *out);

static void random_item(struct rand *r, const struct field *f, size_t size, struct arena *a,
                        void *out)
{
    static const char *const raws[] = {"{}",    "[1,2.5e3,null]", "{\"a\":{\"b\":\"c\"}}",
                                       "\"x\"", "true",           "-12"};
    switch ((enum field_kind)f->kind) {
    case FIELD_STR:
        *(struct str *)out = random_text(r, a, size);
        break;
    case FIELD_BYTES: {
        uint64_t bytes = rand_u64(r);
        struct str part = {(const char *)&bytes, rand_below(r, sizeof(bytes) + 1)};
        *(struct str *)out = arena_dup(a, part);
        break;
    }
    case FIELD_BOOL:
        *(bool *)out = rand_below(r, 2);
        break;
    case FIELD_INT32:
        *(int32_t *)out = (int32_t)random_int(r, INT32_MIN, INT32_MAX);
        break;
    case FIELD_INT64:
        *(int64_t *)out = random_int(r, INT64_MIN, INT64_MAX);
        break;
    case FIELD_DOUBLE:
        *(double *)out = (rand_double(r) - 0.5) * (double)(1 + rand_below(r, 1 << 30));
        break;
    case FIELD_RAW:
        *(struct str *)out = str_of(raws[rand_below(r, ARRAY_LEN(raws))]);
        break;
    case FIELD_MESSAGE:
        codec_random(r, f->type, size / 2, a, out);
        break;
    case FIELD_CUSTOM: /* the only custom of the schema is a number */
        *(uint64_t *)out = (uint64_t)random_int(r, 0, INT64_MAX);
        break;
    }
}

/* Keys ascend, as those of a decoded map do. */
static void random_map(struct rand *r, const struct field *f, size_t size, struct arena *a,
                       struct any_list *map)
{
    const struct type *entry = f->type;
    map->v = arena_alloc_array(a, map->n, entry->size, entry->align);
    for (size_t i = 0; i < map->n; i++) {
        char *e = (char *)map->v + i * entry->size;
        for (size_t k = 0; k < entry->n_fields; k++)
            if (entry->fields[k].number == 1)
                *(struct str *)(void *)(e + entry->fields[k].offset) =
                    arena_printf(a, "key/%03zu", i);
            else
                random_item(r, &entry->fields[k], size, a, e + entry->fields[k].offset);
    }
}

static void random_member(struct rand *r, const struct field *f, size_t size, struct arena *a,
                          void *member)
{
    struct any_list *list = member;
    size_t item_size = field_item_size(f);
    switch ((enum field_shape)f->shape) {
    case SHAPE_ONE:
        random_item(r, f, size, a, member);
        break;
    case SHAPE_PTR:
        *(void **)member = arena_alloc(a, item_size, 16);
        random_item(r, f, size, a, *(void **)member);
        break;
    case SHAPE_LIST:
        list->n = rand_below(r, 5);
        list->v = arena_alloc(a, list->n * item_size, 16);
        for (size_t i = 0; i < list->n; i++)
            random_item(r, f, size / 2, a, (char *)list->v + i * item_size);
        break;
    case SHAPE_MAP:
        list->n = rand_below(r, 5);
        random_map(r, f, size, a, list);
        break;
    }
}

/* Fills a zeroed value; a larger size fills in more fields. */
static void codec_random(struct rand *r, const struct type *type, size_t size, struct arena *a,
                         void *out)
{
    for (size_t i = 0; i < type->n_fields; i++)
        if (size > 0 && rand_below(r, 100) < 20 + size / 2)
            random_member(r, &type->fields[i], size, a, (char *)out + type->fields[i].offset);
}

#endif
