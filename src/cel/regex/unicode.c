/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/regex/unicode.h"

void rune_set_add(struct rune_set *set, uint32_t lo, uint32_t hi)
{
    /* Ranges mostly come in order: join with the last one. */
    if (set->n > 0) {
        struct rune_range *last = &set->v[set->n - 1];
        if (lo >= last->lo && lo <= last->hi + 1) {
            last->hi = MAX(last->hi, hi);
            return;
        }
    }
    vec_push(set, (struct rune_range){lo, hi});
}

void rune_set_add_set(struct rune_set *set, const struct rune_set *other)
{
    for (size_t i = 0; i < other->n; i++)
        rune_set_add(set, other->v[i].lo, other->v[i].hi);
}

static int compare_ranges(const void *a, const void *b)
{
    const struct rune_range *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    return x->hi < y->hi ? -1 : x->hi > y->hi;
}

void rune_set_clean(struct rune_set *set)
{
    size_t n = 0;
    if (set->n > 1)
        qsort(set->v, set->n, sizeof(*set->v), compare_ranges);
    for (size_t i = 0; i < set->n; i++) {
        if (n > 0 && set->v[i].lo <= set->v[n - 1].hi + 1)
            set->v[n - 1].hi = MAX(set->v[n - 1].hi, set->v[i].hi);
        else
            set->v[n++] = set->v[i];
    }
    set->n = n;
}

void rune_set_negate(struct rune_set *set)
{
    struct rune_set out = {0};
    uint32_t next = 0;
    rune_set_clean(set);
    for (size_t i = 0; i < set->n; i++) {
        if (next < set->v[i].lo)
            vec_push(&out, (struct rune_range){next, set->v[i].lo - 1});
        next = set->v[i].hi + 1;
    }
    if (next <= RUNE_MAX)
        vec_push(&out, (struct rune_range){next, RUNE_MAX});
    vec_release(set);
    *set = out;
}

/* Index of the first run of unicode_folds that ends at or after the character. */
static size_t fold_run(uint32_t rune)
{
    size_t lo = 0, hi = unicode_folds_n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (unicode_folds[mid].hi < rune)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

uint32_t rune_fold(uint32_t rune)
{
    size_t i = fold_run(rune);
    if (i == unicode_folds_n || unicode_folds[i].lo > rune)
        return rune;
    const struct unicode_fold *f = &unicode_folds[i];
    if (f->distance == 0)
        return (rune - f->lo) % 2 == 0 ? rune + 1 : rune - 1;
    return (uint32_t)((int32_t)rune + f->distance);
}

/* Adds what the characters of [lo, hi] fold to; of neighbors that swap, both. */
static void add_images(struct rune_set *set, uint32_t lo, uint32_t hi)
{
    for (size_t i = fold_run(lo); i < unicode_folds_n && unicode_folds[i].lo <= hi; i++) {
        const struct unicode_fold *f = &unicode_folds[i];
        uint32_t from = MAX(lo, f->lo), to = MIN(hi, f->hi);
        if (f->distance == 0)
            rune_set_add(set, from - (from - f->lo) % 2, to + (to - f->lo + 1) % 2);
        else
            rune_set_add(set, (uint32_t)((int32_t)from + f->distance),
                         (uint32_t)((int32_t)to + f->distance));
    }
}

void rune_set_fold(struct rune_set *set)
{
    struct rune_set image = {0};
    rune_set_clean(set);
    rune_set_add_set(&image, set);
    /* Folding goes round in circles of at most 4 characters (e.g. the Cyrillic o). */
    for (int step = 0; step < 3; step++) {
        struct rune_set next = {0};
        for (size_t i = 0; i < image.n; i++)
            add_images(&next, image.v[i].lo, image.v[i].hi);
        rune_set_clean(&next);
        rune_set_add_set(set, &next);
        vec_release(&image);
        image = next;
    }
    vec_release(&image);
    rune_set_clean(set);
}

bool rune_set_has(const struct rune_range *v, size_t n, uint32_t rune)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (rune > v[mid].hi)
            lo = mid + 1;
        else if (rune < v[mid].lo)
            hi = mid;
        else
            return true;
    }
    return false;
}

static bool find_name(const struct unicode_name *v, size_t n, const char *name, uint32_t *ret_value)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i].name, name) == 0) {
            *ret_value = v[i].value;
            return true;
        }
    }
    return false;
}

/* Go's form of a name: no blanks, '-' and '_'; the first letter is capital, the others are not. */
static bool canonical_name(struct str name, char *out, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (c == '_' || c == '-' || c == ' ')
            continue;
        if (n + 1 >= max || c == '\0')
            return false;
        if (n == 0 && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        else if (n > 0 && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        out[n++] = c;
    }
    out[n] = '\0';
    return true;
}

static uint32_t run_end(const uint32_t *runs, size_t n, size_t i)
{
    return i + 1 < n ? (runs[i + 1] >> 8) - 1 : RUNE_MAX;
}

bool rune_set_add_class(struct rune_set *set, struct str name)
{
    char canonical[64];
    uint32_t value;
    if (!canonical_name(name, canonical, sizeof(canonical)))
        return false;
    if (strcmp(canonical, "Ascii") == 0) {
        rune_set_add(set, 0, 0x7F);
        return true;
    }
    if (find_name(unicode_categories, unicode_categories_n, canonical, &value)) {
        for (size_t i = 0; i < unicode_category_runs_n; i++) {
            if (value >> (unicode_category_runs[i] & 0xFF) & 1)
                rune_set_add(set, unicode_category_runs[i] >> 8,
                             run_end(unicode_category_runs, unicode_category_runs_n, i));
        }
        return true;
    }
    if (find_name(unicode_scripts, unicode_scripts_n, canonical, &value)) {
        for (size_t i = 0; i < unicode_script_runs_n; i++) {
            if ((unicode_script_runs[i] & 0xFF) == value)
                rune_set_add(set, unicode_script_runs[i] >> 8,
                             run_end(unicode_script_runs, unicode_script_runs_n, i));
        }
        return true;
    }
    return false;
}
