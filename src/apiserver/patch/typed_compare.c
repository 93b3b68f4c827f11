/* SPDX-License-Identifier: Apache-2.0 */
/* What changed (upstream: typed/compare.go). Depth is that of the parser: JSON_MAX_DEPTH. */
#include "apiserver/patch/typed.h"
#include "base/map.h"
#include "codec/json_draft.h"

enum change { REMOVED, MODIFIED, ADDED, N_CHANGES };

/* Changes of a value itself and below it. */
struct diff {
    bool self[N_CHANGES];
    struct field_set below[N_CHANGES];
};

/* Changes below a value that are being collected. */
struct diffs {
    struct field_set v[N_CHANGES];
    struct arena *a;
    size_t room;
};

static struct diff compare_values(const struct typed *t, struct type_ref ref,
                                  const struct json_value *lhs, const struct json_value *rhs);

static bool diff_any(const struct diff *d)
{
    for (int i = 0; i < N_CHANGES; i++)
        if (d->self[i] || d->below[i].n > 0)
            return true;
    return false;
}

static void diffs_add(struct diffs *to, const struct path_element *e, const struct diff *d)
{
    for (int i = 0; i < N_CHANGES; i++) {
        struct field_set *s = &to->v[i];

        if (!d->self[i] && d->below[i].n == 0)
            continue;
        if (!s->v)
            s->v = arena_array(to->a, struct field_node, to->room);
        s->v[s->n++] = (struct field_node){*e, d->self[i], d->below[i]};
    }
}

static void diffs_end(struct diffs *from, struct diff *d)
{
    for (int i = 0; i < N_CHANGES; i++) {
        field_set_sort(&from->v[i]);
        d->below[i] = field_set_union(d->below[i], from->v[i], from->a);
    }
}

/* --- maps ------------------------------------------------------------------------------------- */

static void compare_member(const struct typed *t, const struct atom *atom, struct str key,
                           const struct json_value *lhs, const struct json_value *rhs,
                           struct diffs *out)
{
    bool named;
    struct diff d = compare_values(t, typed_member(atom, key, &named), lhs, rhs);
    struct path_element e;

    if (!diff_any(&d))
        return;
    e = path_of_field(key, t->a);
    diffs_add(out, &e, &d);
}

static void compare_maps(const struct typed *t, const struct atom *atom,
                         const struct json_value *lhs, const struct json_value *rhs, struct diff *d)
{
    struct diffs out = {.a = t->a, .room = (lhs ? lhs->n_members : 0) + (rhs ? rhs->n_members : 0)};
    struct json_draft left, right;

    json_draft_init(&left, lhs, 0, t->a);
    json_draft_init(&right, rhs, 0, t->a);
    for (size_t i = 0; i < left.n; i++)
        compare_member(t, atom, left.members[i].key, &left.members[i].value,
                       json_draft_get(&right, left.members[i].key), &out);
    for (size_t i = 0; i < right.n; i++)
        if (!json_draft_get(&left, right.members[i].key))
            compare_member(t, atom, right.members[i].key, NULL, &right.members[i].value, &out);
    (void)json_draft_end(&left);
    (void)json_draft_end(&right);
    diffs_end(&out, d);
}

/* --- lists ------------------------------------------------------------------------------------ */

/* The items with one path, in both lists. */
struct pair {
    struct path_element e;
    const struct json_value *first[2];
    size_t n[2];
    size_t last[2]; /* position of the last item + 1, which is linked to the others */
};

struct pairs {
    struct pair *v;
    size_t n;
    struct map by_path; /* text to position + 1 */
    size_t *before[2];  /* of each item: the one before with the same path + 1 */
};

static void pairs_add(struct pairs *p, const struct typed *t, const struct atom *atom,
                      const struct json_value *list, int side)
{
    for (size_t i = 0; list && i < list->n; i++) {
        struct path_element e;
        const char *problem;
        size_t at;
        struct pair *pair;

        if (!typed_item_path(t, atom, &list->items[i], &e, &problem))
            continue;
        at = (size_t)(uintptr_t)map_get(&p->by_path, e.text);
        if (at == 0) {
            p->v[p->n++] = (struct pair){.e = e};
            at = p->n;
            map_put(&p->by_path, e.text, (void *)(uintptr_t)at);
        }
        pair = &p->v[at - 1];
        if (pair->n[side]++ == 0)
            pair->first[side] = &list->items[i];
        p->before[side][i] = pair->last[side];
        pair->last[side] = i + 1;
    }
}

/* Whether items that are several on both sides are the same ones in the same order. */
static bool same_several(const struct pairs *p, const struct pair *pair,
                         const struct json_value *lhs, const struct json_value *rhs)
{
    size_t i = pair->last[0], j = pair->last[1];

    if (pair->n[0] != pair->n[1])
        return false;
    while (i > 0 && j > 0) {
        if (!json_value_equal(&lhs->items[i - 1], &rhs->items[j - 1]))
            return false;
        i = p->before[0][i - 1];
        j = p->before[1][j - 1];
    }
    return true;
}

static struct diff compare_pair(const struct typed *t, const struct atom *atom,
                                const struct pairs *p, const struct pair *pair,
                                const struct json_value *lhs, const struct json_value *rhs)
{
    struct diff d = {0};

    if (pair->n[0] <= 1 && pair->n[1] <= 1)
        return compare_values(t, atom->item, pair->first[0], pair->first[1]);
    if (pair->n[0] >= 2 && pair->n[1] >= 2) {
        d.self[MODIFIED] = !same_several(p, pair, lhs, rhs);
    } else if (pair->n[0] >= 2) {
        if (pair->n[1] > 0)
            d = compare_values(t, atom->item, NULL, pair->first[1]);
        d.self[REMOVED] = true;
    } else {
        if (pair->n[0] > 0)
            d = compare_values(t, atom->item, pair->first[0], NULL);
        d.self[ADDED] = true;
    }
    return d;
}

static void compare_lists(const struct typed *t, const struct atom *atom,
                          const struct json_value *lhs, const struct json_value *rhs,
                          struct diff *d)
{
    size_t l = lhs ? lhs->n : 0, r = rhs ? rhs->n : 0;
    struct pairs p = {.v = arena_array(t->a, struct pair, l + r)};
    struct diffs out = {.a = t->a, .room = l + r};

    p.before[0] = arena_array(t->a, size_t, l);
    p.before[1] = arena_array(t->a, size_t, r);
    pairs_add(&p, t, atom, lhs, 0);
    pairs_add(&p, t, atom, rhs, 1);
    for (size_t i = 0; i < p.n; i++) {
        struct diff below = compare_pair(t, atom, &p, &p.v[i], lhs, rhs);

        diffs_add(&out, &p.v[i].e, &below);
    }
    map_release(&p.by_path);
    diffs_end(&out, d);
}

/* --- values ----------------------------------------------------------------------------------- */

/* Compares as one type says. Returns whether the value is a leaf. */
static bool compare_as(const struct typed *t, const struct atom *atom, const struct json_value *lhs,
                       const struct json_value *rhs, struct diff *d)
{
    enum json_kind kind = atom->kind == ATOM_LIST ? JSON_ARRAY : JSON_OBJECT;
    const struct json_value *l = lhs && lhs->kind == kind ? lhs : NULL;
    const struct json_value *r = rhs && rhs->kind == kind ? rhs : NULL;

    if (atom->kind == ATOM_SCALAR || atom->atomic || (!typed_has_items(l) && !typed_has_items(r))) {
        if (!lhs)
            d->self[ADDED] = true;
        else if (!rhs)
            d->self[REMOVED] = true;
        else if (!json_value_equal(lhs, rhs))
            d->self[MODIFIED] = true;
        return true;
    }
    if (atom->kind == ATOM_MAP)
        compare_maps(t, atom, l, r, d);
    else
        compare_lists(t, atom, l, r, d);
    return false;
}

static struct diff compare_values(const struct typed *t, struct type_ref ref,
                                  const struct json_value *lhs, const struct json_value *rhs)
{
    struct atom left = typed_atom(t, ref, lhs ? lhs : rhs);
    struct atom right = typed_atom(t, ref, rhs ? rhs : lhs);
    struct diff d = {0};
    bool leaf;

    /* Values without a schema may be of two types: both are compared. */
    if (left.kind != right.kind)
        compare_as(t, &left, lhs, rhs, &d);
    leaf = compare_as(t, &right, lhs, rhs, &d);
    if (!leaf && !lhs)
        d.self[ADDED] = true;
    if (!leaf && !rhs)
        d.self[REMOVED] = true;
    return d;
}

struct typed_comparison typed_compare(const struct typed *t, struct type_ref ref,
                                      const struct json_value *lhs, const struct json_value *rhs)
{
    struct diff d = compare_values(t, ref, lhs, rhs);

    return (struct typed_comparison){d.below[REMOVED], d.below[MODIFIED], d.below[ADDED]};
}
