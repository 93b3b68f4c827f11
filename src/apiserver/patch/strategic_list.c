/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a strategic merge patch (upstream: strategicpatch/patch.go, mergeSlice). */
#include "apiserver/patch/strategic_internal.h"

#define DIRECTIVE "$patch"

/* --- identity of items ------------------------------------------------------------------------ */

/* Equal for values that Go's == finds equal: "s" and the text, "i" and the integer, … */
static struct str identity(const struct json_value *v, struct arena *a)
{
    struct buf text = BUF_INIT;
    struct str id;
    char *copy;
    int64_t n;

    switch (v->kind) {
    case JSON_STRING:
        return arena_printf(a, "s%.*s", STR_ARG(v->text));
    case JSON_NUMBER:
        if (str_to_i64(v->text, &n))
            return arena_printf(a, "i%lld", (long long)n);
        copy = str_dup(v->text);
        id = arena_printf(a, "d%.17g", strtod(copy, NULL));
        free(copy);
        return id;
    case JSON_NULL:
    case JSON_BOOL:
    case JSON_ARRAY:
    case JSON_OBJECT:
        break;
    }
    json_write(v, &text);
    id = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return id;
}

/* What identifies an item: the value of its merge key, or the item. NULL: it has no such key. */
static const struct json_value *identifier(const struct json_value *item, const char *key)
{
    return *key ? json_get(item, str_of(key)) : item;
}

/* Where each item is first in a list: position + 1 by identity. */
static void index_list(const struct strategic *m, const struct json_value *list, const char *key,
                       struct map *positions)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct json_value *id = identifier(&list->items[i], key);
        struct str text;

        if (!id)
            continue;
        text = identity(id, m->a);
        if (!map_get(positions, text))
            map_put(positions, text, (void *)(uintptr_t)(i + 1));
    }
}

/* SIZE_MAX: none */
static size_t position_in(const struct map *positions, struct str id)
{
    return (size_t)(uintptr_t)map_get(positions, id) - 1;
}

/* --- checks ----------------------------------------------------------------------------------- */

static bool same_type(const struct json_value *x, const struct json_value *y)
{
    int64_t n;

    if (x->kind != y->kind)
        return false;
    return x->kind != JSON_NUMBER || str_to_i64(x->text, &n) == str_to_i64(y->text, &n);
}

/* All items must have one type, which is no list. */
static int item_kind(const struct strategic *m, const struct json_value *target,
                     const struct json_value *patch, enum json_kind *ret_kind)
{
    const struct json_value *first = target->n  ? &target->items[0]
                                     : patch->n ? &patch->items[0]
                                                : NULL;

    if (!first)
        return err_set(m->err, -EBADMSG, "no elements in any of the given slices");
    if (first->kind == JSON_ARRAY)
        return err_set(m->err, -ENOTSUP, "lists of lists are not supported");
    for (size_t i = 0; i < target->n + patch->n; i++) {
        const struct json_value *v =
            i < target->n ? &target->items[i] : &patch->items[i - target->n];

        if (!same_type(first, v))
            return strategic_mixed_items(m, target, patch);
    }
    *ret_kind = first->kind;
    return 0;
}

/* All items must be objects with the merge key. */
static int check_keys(const struct strategic *m, const struct json_value *list, const char *key)
{
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].kind != JSON_OBJECT)
            return strategic_bad_type(m, GO_MAP, &list->items[i]);
        if (!json_get(&list->items[i], str_of(key)))
            return strategic_no_merge_key(m, &list->items[i], key);
    }
    return 0;
}

/* --- order ------------------------------------------------------------------------------------ */

struct ranked {
    struct json_value value;
    size_t rank;   /* in the order that is asked for; SIZE_MAX: not there */
    size_t server; /* in the target; SIZE_MAX: not there */
    size_t at;     /* before sorting */
};

/*
 * Items that the order does not have come first, the last one before the others: so they come out
 * of upstream's sort, whose comparison puts them before everything.
 */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->rank == SIZE_MAX || y->rank == SIZE_MAX) {
        if (x->rank != y->rank)
            return x->rank == SIZE_MAX ? -1 : 1;
        return x->at > y->at ? -1 : 1;
    }
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->at < y->at ? -1 : 1;
}

/*
 * Items of the patch are in its order, the others in that of the target. An item of the target
 * comes before the first item of the patch that the target has later.
 */
static struct json_value interleave(const struct strategic *m, struct ranked *left, size_t n_left,
                                    struct ranked *right, size_t n_right)
{
    struct json_value out = {.kind = JSON_ARRAY};
    size_t i = 0, j = 0;

    qsort(left, n_left, sizeof(*left), compare_ranked);
    qsort(right, n_right, sizeof(*right), compare_ranked);
    out.n = n_left + n_right;
    out.items = arena_array(m->a, struct json_value, out.n);
    for (size_t k = 0; k < out.n; k++) {
        bool take_left = j >= n_right;

        if (i < n_left && j < n_right)
            take_left = left[i].server != SIZE_MAX && right[j].server != SIZE_MAX &&
                        left[i].server < right[j].server;
        out.items[k] = take_left ? left[i++].value : right[j++].value;
    }
    return out;
}

/* Orders the merged list by `order`; server: the target as it was. */
static struct json_value put_in_order(const struct strategic *m, const struct json_value *merged,
                                      const struct json_value *order,
                                      const struct json_value *server, const char *key)
{
    struct ranked *left = xcalloc(2 * merged->n + 1, sizeof(*left)), *right = left + merged->n;
    struct map in_order = MAP_INIT, in_server = MAP_INIT;
    size_t n_left = 0, n_right = 0;
    struct json_value out;

    index_list(m, order, key, &in_order);
    index_list(m, server, key, &in_server);
    for (size_t i = 0; i < merged->n; i++) {
        struct str id = identity(identifier(&merged->items[i], key), m->a);
        struct ranked r = {merged->items[i], position_in(&in_order, id),
                           position_in(&in_server, id), i};

        if (r.rank != SIZE_MAX) {
            right[n_right++] = r;
        } else {
            r.rank = r.server;
            left[n_left++] = r;
        }
    }
    out = interleave(m, left, n_left, right, n_right);
    map_release(&in_order);
    map_release(&in_server);
    free(left);
    return out;
}

/* --- lists of scalars ------------------------------------------------------------------------- */

static struct json_value empty_list(const struct strategic *m, size_t room)
{
    struct json_value out = {.kind = JSON_ARRAY};

    out.items = arena_array(m->a, struct json_value, room);
    return out;
}

static struct json_value remove_scalars(const struct strategic *m, const struct json_value *target,
                                        const struct json_value *patch)
{
    struct json_value out = empty_list(m, target->n);
    struct map removed = MAP_INIT;

    index_list(m, patch, "", &removed);
    for (size_t i = 0; i < target->n; i++)
        if (!map_get(&removed, identity(&target->items[i], m->a)))
            out.items[out.n++] = target->items[i];
    map_release(&removed);
    return out;
}

/* Each scalar once. */
static struct json_value unite_scalars(const struct strategic *m, const struct json_value *target,
                                       const struct json_value *patch)
{
    struct json_value out = empty_list(m, target->n + patch->n);
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < target->n + patch->n; i++) {
        const struct json_value *v =
            i < target->n ? &target->items[i] : &patch->items[i - target->n];

        if (!map_put(&seen, identity(v, m->a), &out))
            out.items[out.n++] = *v;
    }
    map_release(&seen);
    return out;
}

/* --- lists of objects ------------------------------------------------------------------------- */

/* The items with a $patch: what they remove, and whether they replace the list. */
static int read_directives(const struct strategic *m, const char *key,
                           const struct json_value *patch, struct json_value *plain,
                           struct json_value *removed, bool *ret_replace)
{
    bool replace = false;

    for (size_t i = 0; i < patch->n; i++) {
        const struct json_value *item = &patch->items[i];
        const struct json_value *directive = json_get(item, STR(DIRECTIVE));
        struct str text = json_get_text(item, STR(DIRECTIVE));

        if (!directive)
            plain->items[plain->n++] = *item;
        else if (str_is(text, "delete")) {
            if (!json_get(item, str_of(key)))
                return strategic_no_merge_key(m, item, key);
            removed->items[removed->n++] = *item;
        } else if (str_is(text, "replace"))
            replace = true;
        else if (str_is(text, "merge"))
            return err_set(m->err, -EBADMSG, "merging lists cannot yet be specified in the patch");
        else
            return strategic_bad_directive(m, directive, item);
    }
    *ret_replace = replace;
    return 0;
}

static struct json_value without_removed(const struct strategic *m, const char *key,
                                         const struct json_value *target,
                                         const struct json_value *removed)
{
    struct json_value out = empty_list(m, target->n);
    struct map gone = MAP_INIT;

    if (removed->n == 0)
        return *target;
    index_list(m, removed, key, &gone);
    for (size_t i = 0; i < target->n; i++) {
        const struct json_value *id = identifier(&target->items[i], key);

        if (!id || !map_get(&gone, identity(id, m->a)))
            out.items[out.n++] = target->items[i];
    }
    map_release(&gone);
    return out;
}

/* Merges items with the same key, and appends those that the target does not have. */
static int merge_items(const struct strategic *m, const struct strategic_list *how,
                       const struct json_value *target, const struct json_value *patch,
                       struct json_value *ret_value)
{
    struct json_value out = empty_list(m, target->n + patch->n);
    struct map positions = MAP_INIT;
    int r = 0;

    if (target->n > 0)
        memcpy(out.items, target->items, target->n * sizeof(*out.items));
    out.n = target->n;
    index_list(m, target, how->key, &positions);
    for (size_t i = 0; i < patch->n && r == 0; i++) {
        const struct json_value *id = identifier(&patch->items[i], how->key);
        struct str text = id ? identity(id, m->a) : STR("");
        size_t at = position_in(&positions, text);

        if (!id) {
            r = strategic_no_merge_key(m, &patch->items[i], how->key);
        } else if (at != SIZE_MAX) {
            struct json_value before = out.items[at];

            r = strategic_merge_object(m, &how->item, &before, &patch->items[i], &out.items[at]);
        } else {
            out.items[out.n++] = patch->items[i];
            map_put(&positions, text, (void *)(uintptr_t)out.n);
        }
    }
    map_release(&positions);
    if (r == 0)
        *ret_value = out;
    return r;
}

static int merge_objects(const struct strategic *m, const struct strategic_list *how,
                         const struct json_value *target, const struct json_value *patch,
                         struct json_value *ret_value)
{
    struct json_value plain = empty_list(m, patch->n), removed = empty_list(m, patch->n);
    struct json_value before, merged = {0};
    bool replace = false;
    int r;

    if (!*how->key)
        return err_set(m->err, -EBADMSG, "cannot merge lists without merge key for %s",
                       how->item.type || how->item.name ? "struct" : how->item.kind);
    r = read_directives(m, how->key, patch, &plain, &removed, &replace);
    if (r < 0)
        return r;
    before = replace ? plain : without_removed(m, how->key, target, &removed);
    if (replace)
        plain.n = 0;
    r = merge_items(m, how, &before, &plain, &merged);
    if (r == 0)
        r = check_keys(m, &merged, how->key);
    if (r == 0)
        *ret_value = put_in_order(m, &merged, &plain, &before, how->key);
    return r;
}

int strategic_merge_list(const struct strategic *m, const struct strategic_list *how,
                         const struct json_value *target, const struct json_value *patch,
                         struct json_value *ret_value)
{
    struct json_value merged = {0};
    enum json_kind kind = JSON_NULL;
    int r;

    if (!how->merge && !how->removes) {
        *ret_value = *patch;
        return 0;
    }
    if (target->n == 0 && patch->n == 0) {
        *ret_value = *target;
        return 0;
    }
    r = item_kind(m, target, patch, &kind);
    if (r < 0)
        return r;
    if (kind == JSON_OBJECT)
        return merge_objects(m, how, target, patch, ret_value);
    if (how->removes) {
        *ret_value = remove_scalars(m, target, patch);
        return 0;
    }
    merged = unite_scalars(m, target, patch);
    if (*how->key)
        return strategic_bad_type(m, GO_MAP, &merged.items[0]);
    *ret_value = put_in_order(m, &merged, patch, target, "");
    return 0;
}

/* --- $setElementOrder ------------------------------------------------------------------------- */

/* Whether two items have the same merge key. */
static int same_item(const struct strategic *m, const char *key, const struct json_value *x,
                     const struct json_value *y, bool *ret_same)
{
    const struct json_value *both[] = {x, y};

    for (size_t i = 0; i < 2 && *key; i++) {
        if (both[i]->kind != JSON_OBJECT)
            return strategic_bad_type(m, GO_MAP, both[i]);
        if (!json_get(both[i], str_of(key)))
            return strategic_no_merge_key(m, both[i], key);
    }
    *ret_same = json_value_equal(identifier(x, key), identifier(y, key));
    return 0;
}

/* The items of the patch must be in the order list, in the same order. */
static int check_order(const struct strategic *m, const char *key, const struct json_value *patch,
                       const struct json_value *order)
{
    size_t i = 0, j = 0;

    if (order->n == 0 || patch->n == 0)
        return 0;
    for (size_t k = 0; k < patch->n && *key; k++)
        if (patch->items[k].kind != JSON_OBJECT)
            return strategic_bad_type(m, GO_MAP, &patch->items[k]);
    while (i < patch->n && j < order->n) {
        bool same = false;
        int r;

        if (json_get(&patch->items[i], STR(DIRECTIVE))) {
            i++;
            continue;
        }
        r = same_item(m, key, &patch->items[i], &order->items[j], &same);
        if (r < 0)
            return r;
        if (same)
            i++;
        j++;
    }
    while (i < patch->n && str_is(json_get_text(&patch->items[i], STR(DIRECTIVE)), "delete"))
        i++;
    return i < patch->n && j >= order->n ? strategic_bad_order(m, patch, order) : 0;
}

int strategic_order_list(const struct strategic *m, const struct strategic_list *how,
                         const struct json_value *target, const struct json_value *patch,
                         const struct json_value *order, struct json_value *ret_value)
{
    const struct json_value none = {.kind = JSON_ARRAY};
    struct json_value merged = {0};
    enum json_kind kind = JSON_NULL;
    int r;

    r = check_order(m, how->key, patch ? patch : &none, order);
    if (r < 0)
        return r;
    if (target && patch)
        r = strategic_merge_list(m, how, target, patch, &merged);
    else if (target)
        merged = *target;
    else if (!strategic_plain(patch, false, m->a, &merged))
        merged = none;
    if (r == 0 && *how->key)
        r = check_keys(m, &merged, how->key);
    if (r == 0)
        r = item_kind(m, target ? target : &none, patch ? patch : &none, &kind);
    if (r == 0 && *how->key && merged.n > 0)
        r = check_keys(m, order, how->key);
    if (r == 0)
        *ret_value = put_in_order(m, &merged, order, target ? target : &none, how->key);
    return r;
}
