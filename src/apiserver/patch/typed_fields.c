/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields of values, and values without fields (upstream: typed/tofieldset.go, remove.go,
 * reconcile_schema.go). The depth of all recursions is that of the parser: at most JSON_MAX_DEPTH.
 */
#include "apiserver/patch/typed.h"
#include "base/map.h"
#include "codec/json_edit.h"

/* --- all fields ------------------------------------------------------------------------------- */

/* The fields below v; *ret_self: v itself is one. */
static struct field_set fields_below(const struct typed *t, struct type_ref ref,
                                     const struct json_value *v, bool *ret_self);

static struct field_set fields_of_map(const struct typed *t, const struct atom *atom,
                                      const struct json_value *v)
{
    struct field_set out = {0};

    out.v = arena_array(t->a, struct field_node, v->n_members);
    for (size_t i = 0; i < v->n_members; i++) {
        const struct json_value *m = &v->members[i].value;
        struct field_node *to = &out.v[out.n];
        bool named, self;
        struct type_ref ref = typed_member(atom, v->members[i].key, &named);

        to->e = path_of_field(v->members[i].key, t->a);
        to->below = fields_below(t, ref, m, &self);
        to->member =
            self || !named || m->kind == JSON_NULL || (m->kind == JSON_OBJECT && m->n_members == 0);
        if (to->member || to->below.n > 0)
            out.n++;
    }
    field_set_sort(&out);
    return out;
}

/* Items with the same key are one member, and nothing below it. */
static struct field_set fields_of_list(const struct typed *t, const struct atom *atom,
                                       const struct json_value *v)
{
    struct field_set out = {0};
    struct map seen = MAP_INIT;

    out.v = arena_array(t->a, struct field_node, v->n);
    for (size_t i = 0; i < v->n; i++) {
        struct field_node *to = &out.v[out.n], *before;
        const char *problem;
        bool self;

        if (!typed_item_path(t, atom, &v->items[i], &to->e, &problem))
            continue;
        before = map_get(&seen, to->e.text);
        if (before) {
            before->below = (struct field_set){0};
            continue;
        }
        to->member = true;
        to->below = fields_below(t, atom->item, &v->items[i], &self);
        map_put(&seen, to->e.text, to);
        out.n++;
    }
    map_release(&seen);
    field_set_sort(&out);
    return out;
}

static struct field_set fields_below(const struct typed *t, struct type_ref ref,
                                     const struct json_value *v, bool *ret_self)
{
    struct atom atom = typed_atom(t, ref, v);

    *ret_self = atom.kind == ATOM_SCALAR || atom.atomic;
    if (*ret_self)
        return (struct field_set){0};
    if (atom.kind == ATOM_MAP && v->kind == JSON_OBJECT)
        return fields_of_map(t, &atom, v);
    if (atom.kind == ATOM_LIST && v->kind == JSON_ARRAY)
        return fields_of_list(t, &atom, v);
    return (struct field_set){0};
}

struct field_set typed_fields(const struct typed *t, struct type_ref ref,
                              const struct json_value *v)
{
    bool self;

    return fields_below(t, ref, v, &self);
}

/* --- sets and types --------------------------------------------------------------------------- */

/* The type of what an element names. */
static struct type_ref below_ref(const struct atom *atom, const struct path_element *e,
                                 bool *ret_named)
{
    *ret_named = false;
    if (e->kind == PATH_FIELD && atom->kind == ATOM_MAP)
        return typed_member(atom, path_name(e), ret_named);
    if (e->kind == PATH_KEY && atom->kind == ATOM_LIST)
        return atom->item;
    return (struct type_ref){.kind = TYPE_NONE};
}

struct field_set typed_named(const struct typed *t, struct type_ref ref, struct field_set s)
{
    struct atom atom = typed_atom(t, ref, NULL);
    struct field_set out = {.n = s.n};

    out.v = arena_array(t->a, struct field_node, s.n);
    for (size_t i = 0; i < s.n; i++) {
        struct type_ref below;
        bool named;

        out.v[i] = s.v[i];
        if (s.v[i].below.n == 0)
            continue;
        below = below_ref(&atom, &s.v[i].e, &named);
        out.v[i].member |= named;
        out.v[i].below = typed_named(t, below, s.v[i].below);
    }
    return out;
}

struct field_set typed_reconcile(const struct typed *t, struct type_ref ref, struct field_set s)
{
    struct atom atom = typed_atom(t, ref, NULL);
    struct field_set out = {.n = s.n};

    out.v = arena_array(t->a, struct field_node, s.n);
    for (size_t i = 0; i < s.n; i++) {
        struct type_ref below;
        bool named;

        out.v[i] = s.v[i];
        below = below_ref(&atom, &s.v[i].e, &named);
        if (s.v[i].below.n == 0 || below.kind == TYPE_NONE || below.kind == TYPE_DEDUCED ||
            below.kind == TYPE_OPAQUE)
            continue;
        if (typed_atom(t, below, NULL).atomic) {
            out.v[i].member = true;
            out.v[i].below = (struct field_set){0};
        } else {
            out.v[i].below = typed_reconcile(t, below, s.v[i].below);
        }
    }
    return out;
}

/* --- values without fields -------------------------------------------------------------------- */

static struct json_value remove_members(const struct typed *t, const struct atom *atom,
                                        const struct json_value *v, const struct field_set *s)
{
    struct json_value out = json_object();

    out.members = arena_array(t->a, struct json_member, v->n_members);
    for (size_t i = 0; i < v->n_members; i++) {
        struct path_element e = path_of_field(v->members[i].key, t->a);
        const struct field_node *node = field_set_find(s, &e);
        struct json_member *to = &out.members[out.n_members];
        bool named;

        if (node && node->member)
            continue;
        *to = v->members[i];
        out.n_members++;
        if (node)
            to->value = typed_remove(t, typed_member(atom, to->key, &named), &v->members[i].value,
                                     &node->below);
    }
    return out.n_members ? out : json_null();
}

static struct json_value remove_items(const struct typed *t, const struct atom *atom,
                                      const struct json_value *v, const struct field_set *s)
{
    struct json_value out = json_array();

    out.items = arena_array(t->a, struct json_value, v->n);
    for (size_t i = 0; i < v->n; i++) {
        struct path_element e;
        const char *problem;
        const struct field_node *node =
            typed_item_path(t, atom, &v->items[i], &e, &problem) ? field_set_find(s, &e) : NULL;

        if (node && node->member)
            continue;
        out.items[out.n++] =
            node ? typed_remove(t, atom->item, &v->items[i], &node->below) : v->items[i];
    }
    return out.n ? out : json_null();
}

struct json_value typed_remove(const struct typed *t, struct type_ref ref,
                               const struct json_value *v, const struct field_set *s)
{
    struct atom atom = typed_atom(t, ref, v);

    if (atom.kind == ATOM_SCALAR)
        return *v;
    if (atom.atomic || !typed_has_items(v))
        return json_null();
    if (atom.kind == ATOM_MAP && v->kind == JSON_OBJECT)
        return remove_members(t, &atom, v, s);
    if (atom.kind == ATOM_LIST && v->kind == JSON_ARRAY)
        return remove_items(t, &atom, v, s);
    return json_null();
}
