/* SPDX-License-Identifier: Apache-2.0 */
/*
 * namespace_sets.c - results of namespace selectors, by the bytes of list and selector.
 *
 * A set that is out of date may still be used by the current cycle: it is freed by the next trim.
 */
#include "engine/index/namespace_sets.h"

#include "engine/cache/pod_selection.h"

struct namespace_set {
    struct str key;
    namespace_list names;
    uint64_t changes; /* of namespaces, when it was computed */
    struct arena arena;
};

void namespace_sets_init(struct namespace_sets *s, struct objects *objects)
{
    *s = (struct namespace_sets){.objects = objects};
}

static void free_set(struct namespace_set *set)
{
    arena_release(&set->arena);
    free(set);
}

static void clear(struct namespace_sets *s)
{
    map_each (e, &s->by_key)
        free_set(e->value);
    map_clear(&s->by_key);
}

static void clear_stale(struct namespace_sets *s)
{
    for (size_t i = 0; i < s->stale.n; i++)
        free_set(s->stale.v[i]);
    vec_clear(&s->stale);
}

void namespace_sets_release(struct namespace_sets *s)
{
    clear(s);
    clear_stale(s);
    map_release(&s->by_key);
    vec_release(&s->stale);
    buf_release(&s->key);
}

void namespace_sets_trim(struct namespace_sets *s)
{
    clear_stale(s);
    if (s->by_key.n > NAMESPACE_SETS_MAX)
        clear(s);
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void fill(struct namespace_set *set, const struct namespace_sets *s, namespace_list named,
                 const struct selector *selector)
{
    const object_list *all = objects_in(s->objects, KIND_NAMESPACE, STR(""));
    size_t n = 0, kept = 0;
    struct str *names = arena_array(&set->arena, struct str, named.n + (all ? all->n : 0));
    for (size_t i = 0; i < named.n; i++)
        names[n++] = arena_dup(&set->arena, named.v[i]);
    for (size_t i = 0; all && i < all->n; i++) {
        const struct object_meta *meta = object_meta(all->v[i]);
        if (selector_matches(selector, &meta->labels))
            names[n++] = arena_dup(&set->arena, meta->name);
    }
    qsort(names, n, sizeof(*names), by_text);
    for (size_t i = 0; i < n; i++)
        if (!kept || !str_eq(names[kept - 1], names[i]))
            names[kept++] = names[i];
    set->names.v = names;
    set->names.n = kept;
}

static struct str key_of(struct namespace_sets *s, namespace_list named,
                         const struct selector *selector)
{
    struct pod_term term = {.namespaces = {named.v, named.n}, .selector = *selector};
    struct pod_selection selection = {.terms = {&term, 1}};
    buf_clear(&s->key);
    pod_selection_write(&selection, &s->key);
    return buf_str(&s->key);
}

namespace_list namespace_sets_get(struct namespace_sets *s, namespace_list named,
                                  const struct selector *selector)
{
    uint64_t changes = s->objects->kind_changes[KIND_NAMESPACE];
    struct str key = key_of(s, named, selector);
    struct namespace_set *set = map_get(&s->by_key, key);
    if (set && set->changes == changes)
        return set->names;
    if (set)
        vec_push(&s->stale, map_del(&s->by_key, key));
    set = xnew(struct namespace_set);
    arena_init(&set->arena, 0);
    set->changes = changes;
    set->key = arena_dup(&set->arena, key);
    fill(set, s, named, selector);
    map_put(&s->by_key, set->key, set);
    return set->names;
}
