/* SPDX-License-Identifier: Apache-2.0 */
#include "base/intern.h"

struct intern_text {
    size_t users;
    atom_t atom;
    size_t n;
    char bytes[];
};

static struct str text_of(const struct intern_text *t)
{
    return (struct str){t->bytes, t->n};
}

void intern_init(struct intern *in)
{
    *in = (struct intern){0};
}

void intern_release(struct intern *in)
{
    for (size_t i = 0; i < in->by_atom.n; i++)
        free(in->by_atom.v[i]);
    vec_release(&in->by_atom);
    vec_release(&in->free_atoms);
    map_release(&in->by_text);
}

static struct intern_text *of_atom(const struct intern *in, atom_t atom)
{
    assert(atom > 0 && atom <= in->by_atom.n && in->by_atom.v[atom - 1]);
    return in->by_atom.v[atom - 1];
}

/* Returns an unused number: the one freed last, so that the table stays dense. */
static atom_t new_atom(struct intern *in)
{
    if (in->free_atoms.n)
        return vec_pop(&in->free_atoms);
    assert(in->by_atom.n < UINT32_MAX);
    vec_push(&in->by_atom, NULL);
    return (atom_t)in->by_atom.n;
}

atom_t intern_get(struct intern *in, struct str text)
{
    struct intern_text *t = map_get(&in->by_text, text);
    if (!t) {
        t = xmalloc(sizeof(*t) + text.n);
        *t = (struct intern_text){.atom = new_atom(in), .n = text.n};
        if (text.n)
            memcpy(t->bytes, text.p, text.n);
        in->by_atom.v[t->atom - 1] = t;
        map_put(&in->by_text, text_of(t), t);
    }
    t->users++;
    return t->atom;
}

void intern_put(struct intern *in, atom_t atom)
{
    if (!atom)
        return;
    struct intern_text *t = of_atom(in, atom);
    if (--t->users)
        return;
    map_del(&in->by_text, text_of(t));
    in->by_atom.v[atom - 1] = NULL;
    vec_push(&in->free_atoms, atom);
    free(t);
}

atom_t intern_ref(struct intern *in, atom_t atom)
{
    if (atom)
        of_atom(in, atom)->users++;
    return atom;
}

atom_t intern_find(const struct intern *in, struct str text)
{
    const struct intern_text *t = map_get(&in->by_text, text);
    return t ? t->atom : 0;
}

struct str intern_text(const struct intern *in, atom_t atom)
{
    return atom ? text_of(of_atom(in, atom)) : (struct str){0};
}
