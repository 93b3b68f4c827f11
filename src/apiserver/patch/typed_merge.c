/* SPDX-License-Identifier: Apache-2.0 */
/* Merging by type (upstream: typed/merge.go). Depth is that of the parser: JSON_MAX_DEPTH. */
#include "apiserver/patch/typed.h"
#include "base/map.h"
#include "codec/json_draft.h"

static const struct json_value null_value = {.kind = JSON_NULL};

/* --- maps ------------------------------------------------------------------------------------- */

static bool merge_map(const struct typed *t, const struct atom *atom, const struct json_value *lhs,
                      const struct json_value *rhs, struct json_value *ret_value)
{
    struct json_draft out, left_members, right;
    bool named;

    json_draft_init(&out, lhs, rhs ? rhs->n_members : 0, t->a);
    json_draft_init(&left_members, lhs, 0, t->a);
    json_draft_init(&right, rhs, 0, t->a);
    for (size_t i = 0; i < out.n; i++) {
        struct json_member *m = &out.members[i];
        struct json_value left = m->value;

        out.gone[i] = !typed_merge(t, typed_member(atom, m->key, &named), &left,
                                   json_draft_get(&right, m->key), &m->value);
    }
    for (size_t i = 0; rhs && i < rhs->n_members; i++) {
        const struct json_member *m = &rhs->members[i];
        struct json_value merged;

        if (!json_draft_get(&left_members, m->key) &&
            typed_merge(t, typed_member(atom, m->key, &named), NULL, &m->value, &merged))
            json_draft_set(&out, m->key, merged);
    }
    (void)json_draft_end(&left_members);
    (void)json_draft_end(&right);
    *ret_value = json_draft_end(&out);
    return ret_value->n_members > 0;
}

/* --- lists ------------------------------------------------------------------------------------ */

/* A list by the paths of its items. */
struct paths {
    struct path_element *v;
    const struct json_value **items;
    bool *merged;
    size_t n;
    struct map first;                  /* text of the path to position + 1 */
    const struct json_value **by_path; /* by the position of the first: null if there are more */
};

static void paths_init(struct paths *p, const struct typed *t, const struct atom *atom,
                       const struct json_value *list)
{
    size_t n = list ? list->n : 0;

    *p = (struct paths){.v = arena_array(t->a, struct path_element, n)};
    p->items = arena_array(t->a, const struct json_value *, n);
    p->by_path = arena_array(t->a, const struct json_value *, n);
    p->merged = arena_array(t->a, bool, n);
    for (size_t i = 0; i < n; i++) {
        const char *problem;
        size_t first;

        if (!typed_item_path(t, atom, &list->items[i], &p->v[p->n], &problem))
            continue;
        first = (size_t)(uintptr_t)map_get(&p->first, p->v[p->n].text);
        if (first > 0)
            p->by_path[first - 1] = &null_value;
        else
            map_put(&p->first, p->v[p->n].text, (void *)(uintptr_t)(p->n + 1));
        p->by_path[p->n] = p->items[p->n] = &list->items[i];
        p->n++;
    }
}

/* SIZE_MAX: none */
static size_t paths_find(const struct paths *p, const struct path_element *e)
{
    return (size_t)(uintptr_t)map_get(&p->first, e->text) - 1;
}

struct list_merge {
    const struct typed *t;
    struct type_ref item;
    struct paths left, right;
    size_t l, r;   /* positions */
    size_t shared; /* of the next item on the right that the left has, too */
    struct json_value out;
};

/* Finds the next item on the right, from `shared` on, that the left has. */
static void next_shared(struct list_merge *m)
{
    while (m->shared < m->right.n && paths_find(&m->left, &m->right.v[m->shared]) == SIZE_MAX)
        m->shared++;
}

static void take(struct list_merge *m, const struct json_value *lhs, const struct json_value *rhs)
{
    if (typed_merge(m->t, m->item, lhs, rhs, &m->out.items[m->out.n]))
        m->out.n++;
}

/* Takes the item on the right, merged with that of the left if there is one. */
static void take_right(struct list_merge *m)
{
    size_t left = paths_find(&m->left, &m->right.v[m->r]);

    m->right.merged[m->r] = true;
    take(m, left == SIZE_MAX ? NULL : m->left.by_path[left], m->right.items[m->r]);
    if (m->shared == m->r) {
        m->shared++;
        next_shared(m);
    }
    m->r++;
}

/*
 * One step: items that both have are in the order of the right; those of the left alone stay where
 * they are between them.
 */
static void list_step(struct list_merge *m)
{
    size_t on_right = m->l < m->left.n ? paths_find(&m->right, &m->left.v[m->l]) : SIZE_MAX;

    if (m->l < m->left.n && m->r < m->right.n) {
        if (on_right == m->r) {
            take_right(m);
            m->l++;
            return;
        }
        if (on_right != SIZE_MAX && m->shared < m->right.n && m->shared != on_right) {
            m->l++;
            return;
        }
    }
    if (m->l < m->left.n) {
        if (on_right == SIZE_MAX) {
            take(m, m->left.items[m->l], NULL);
            m->l++;
            return;
        }
        if (m->right.merged[on_right])
            m->l++;
    }
    if (m->r < m->right.n)
        take_right(m);
}

static bool merge_list(const struct typed *t, const struct atom *atom, const struct json_value *lhs,
                       const struct json_value *rhs, struct json_value *ret_value)
{
    struct list_merge m = {.t = t, .item = atom->item, .out = {.kind = JSON_ARRAY}};

    paths_init(&m.left, t, atom, lhs);
    paths_init(&m.right, t, atom, rhs);
    m.out.items = arena_array(t->a, struct json_value, m.left.n + m.right.n);
    next_shared(&m);
    while (m.l < m.left.n || m.r < m.right.n)
        list_step(&m);
    map_release(&m.left.first);
    map_release(&m.right.first);
    *ret_value = m.out;
    return m.out.n > 0;
}

/* --- values ----------------------------------------------------------------------------------- */

static const struct json_value *if_kind(const struct json_value *v, enum json_kind kind)
{
    return v && v->kind == kind ? v : NULL;
}

bool typed_merge(const struct typed *t, struct type_ref ref, const struct json_value *lhs,
                 const struct json_value *rhs, struct json_value *ret_value)
{
    struct atom atom = typed_atom(t, ref, rhs ? rhs : lhs);
    enum json_kind kind = atom.kind == ATOM_LIST ? JSON_ARRAY : JSON_OBJECT;
    const struct json_value *l = if_kind(lhs, kind), *r = if_kind(rhs, kind);

    /* Null takes the type of the other side. */
    if (rhs && rhs->kind == JSON_NULL && lhs)
        atom = typed_atom(t, ref, lhs);
    if (atom.kind == ATOM_SCALAR || atom.atomic || (!typed_has_items(l) && !typed_has_items(r))) {
        *ret_value = rhs ? *rhs : *lhs;
        return true;
    }
    return atom.kind == ATOM_MAP ? merge_map(t, &atom, l, r, ret_value)
                                 : merge_list(t, &atom, l, r, ret_value);
}
