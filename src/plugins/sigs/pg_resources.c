/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/pg_resources.h"

#include "engine/cache/cache.h"

/* A pod of the group on a node: what it takes counts as free. */
struct own_pod {
    uint32_t slot;
    const struct resource *takes;
};

struct check {
    VEC(struct own_pod) own;         /* sorted by slot */
    VEC(struct quantity_entry) want; /* what is still missing, sorted by name */
};

static int by_slot(const void *a, const void *b)
{
    const struct own_pod *x = a, *y = b;
    return (x->slot > y->slot) - (x->slot < y->slot);
}

static void find_own(const struct pg *g, const struct cache *cache, struct check *c)
{
    for (size_t i = 0; i < g->members.n; i++) {
        const struct cache_pod *cp = cache_pod(cache, object_meta(g->members.v[i]->object)->uid);
        if (cp && cp->node)
            vec_push(&c->own, (struct own_pod){cp->node->slot, pod_info_counted(cp->pod)});
    }
    if (c->own.n)
        qsort(c->own.v, c->own.n, sizeof(*c->own.v), by_slot);
}

/* The first of the group's pods on the node, or where it would be. */
static size_t first_own(const struct check *c, uint32_t slot)
{
    size_t low = 0, high = c->own.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (c->own.v[mid].slot < slot)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool is_pods(struct str name)
{
    return str_eq(name, STR("pods"));
}

static int64_t amount_of(const struct resource *r, const struct intern *names, struct str name)
{
    if (is_pods(name))
        return 1;
    return resource_by_name(r, names, name);
}

/* What is free of the resource on the node without the group's pods. */
static int64_t free_on(const struct check *c, const struct berth_node *node, struct str name)
{
    int64_t left;
    if (is_pods(name)) {
        left = node->allocatable.pods - (int64_t)node->pods.n;
    } else if (resource_is_scalar(name) &&
               !resource_scalar(&node->allocatable, intern_find(node->names, name))) {
        return 0; /* upstream looks at the resources of the node only */
    } else {
        left = resource_sum(resource_by_name(&node->allocatable, node->names, name), -1,
                            resource_by_name(&node->requested, node->names, name));
    }
    for (size_t i = first_own(c, node->slot); i < c->own.n && c->own.v[i].slot == node->slot; i++)
        left = resource_sum(left, 1, amount_of(c->own.v[i].takes, node->names, name));
    return left;
}

static struct quantity free_quantity(const struct check *c, const struct berth_node *node,
                                     struct str name)
{
    int64_t amount = free_on(c, node, name);
    if (str_eq(name, RESOURCE_CPU))
        return quantity_of_milli(amount, QUANTITY_DECIMAL_SI);
    bool decimal = resource_is_scalar(name) && !str_starts(name, RESOURCE_HUGE_PAGES_PREFIX);
    return quantity_of(amount, decimal ? QUANTITY_DECIMAL_SI : QUANTITY_BINARY_SI);
}

/* Takes the node's room off what is missing. */
static void take_node(struct check *c, const struct berth_node *node)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->want.n; i++) {
        struct quantity_entry e = c->want.v[i];
        struct quantity room = free_quantity(c, node, e.key);
        quantity_sub(&e.value, &room);
        if (quantity_sign(&e.value) > 0)
            c->want.v[kept++] = e;
    }
    c->want.n = kept;
}

/* minResources with as many pods as the group needs. */
static void find_want(const struct pg_spec *spec, struct check *c)
{
    const quantity_map *least = &spec->min_resources;
    struct quantity_entry pods = {STR("pods"), quantity_of(spec->min_member, QUANTITY_DECIMAL_SI)};
    size_t i = 0;
    for (; i < least->n && str_cmp(least->v[i].key, pods.key) < 0; i++)
        vec_push(&c->want, least->v[i]);
    vec_push(&c->want, pods);
    for (; i < least->n; i++)
        if (!is_pods(least->v[i].key))
            vec_push(&c->want, least->v[i]);
}

static void write_gap(const struct check *c, struct buf *out)
{
    buf_add_cstr(out, "map[");
    for (size_t i = 0; i < c->want.n; i++) {
        buf_add_printf(out, "%s%.*s:", i ? " " : "", STR_ARG(c->want.v[i].key));
        quantity_write(&c->want.v[i].value, out);
    }
    buf_add_char(out, ']');
}

bool pg_resources_free(const struct pg *g, struct buf *ret_gap)
{
    const struct cache *cache = g->state->handle->framework->cache;
    struct check c = {0};
    find_own(g, cache, &c);
    find_want(&g->body.spec, &c);
    for (size_t i = 0; c.want.n && i < cache->order.n; i++)
        take_node(&c, cache->order.v[i]);
    bool enough = c.want.n == 0;
    if (!enough)
        write_gap(&c, ret_gap);
    vec_release(&c.own);
    vec_release(&c.want);
    return enough;
}
