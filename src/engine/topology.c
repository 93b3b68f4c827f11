/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/topology.h"

void topologies_init(struct topologies *t, const struct cache *cache)
{
    *t = (struct topologies){.cache = cache};
}

static void free_topology(struct topology *t)
{
    for (size_t i = 0; i < t->values.n; i++)
        free((char *)t->values.v[i].p);
    vec_release(&t->values);
    vec_release(&t->free_domains);
    map_release(&t->by_value);
    free(t->domain);
    free(t->nodes);
    free((char *)t->key.p);
    free(t);
}

static void release_all(struct map *map)
{
    map_each (e, map)
        free_topology(e->value);
    map_release(map);
}

void topologies_release(struct topologies *t)
{
    release_all(&t->by_key);
    release_all(&t->derived);
}

static void trim(struct map *map)
{
    while (map->n > TOPOLOGIES_MAX) {
        struct topology *oldest = NULL;
        map_each (e, map) {
            struct topology *one = e->value;
            if (!oldest || one->asked < oldest->asked)
                oldest = one;
        }
        map_del(map, oldest->key);
        free_topology(oldest);
    }
}

void topologies_trim(struct topologies *t)
{
    trim(&t->by_key);
    trim(&t->derived);
}

/* --- domains ---------------------------------------------------------------------------------- */

struct str topology_value(const struct topology *t, uint32_t domain)
{
    return domain && domain < t->values.n ? t->values.v[domain] : STR("");
}

uint32_t topology_find(const struct topology *t, struct str value)
{
    return (uint32_t)(uintptr_t)map_get(&t->by_value, value);
}

/* Room for numbers below n. */
static void make_domains(struct topology *t, size_t n)
{
    if (n <= t->n_domains)
        return;
    if (n > t->cap_domains) {
        t->cap_domains = MAX(n, MAX((size_t)8, t->cap_domains * 2));
        t->nodes = xreallocarray(t->nodes, t->cap_domains, sizeof(*t->nodes));
        t->nodes[0] = 0;
    }
    memset(t->nodes + t->n_domains, 0, (n - t->n_domains) * sizeof(*t->nodes));
    t->n_domains = n;
}

static uint32_t domain_of(struct topology *t, struct str value)
{
    uint32_t domain = topology_find(t, value);
    if (domain)
        return domain;
    if (t->free_domains.n) {
        domain = vec_pop(&t->free_domains);
    } else {
        domain = (uint32_t)t->n_domains;
        make_domains(t, t->n_domains + 1);
        vec_push(&t->values, (struct str){0});
    }
    struct str copy = {str_dup(value), value.n};
    t->values.v[domain] = copy;
    map_put(&t->by_value, copy, (void *)(uintptr_t)domain);
    return domain;
}

/* No node has it any more. */
static void forget_value(struct topology *t, uint32_t domain)
{
    struct str *value = &t->values.v[domain];
    map_del(&t->by_value, *value);
    free((char *)value->p);
    *value = (struct str){0};
    vec_push(&t->free_domains, domain);
}

/* --- keeping up with the nodes ---------------------------------------------------------------- */

/* The column is made when the first node turns out to count. */
static void make_column(struct topology *t, size_t n)
{
    if (n <= t->n_slots)
        return;
    t->domain = xreallocarray(t->domain, n, sizeof(*t->domain));
    memset(t->domain + t->n_slots, 0, (n - t->n_slots) * sizeof(*t->domain));
    t->n_slots = n;
}

static void move(struct topology *t, const struct cache *cache, uint32_t slot, uint32_t after)
{
    uint32_t before = topology_domain(t, slot);
    if (before == after)
        return;
    make_column(t, cache->columns.cap);
    t->domain[slot] = after;
    t->changes++;
    if (after) {
        t->n_nodes++;
        t->n_used += t->nodes[after]++ == 0;
    }
    if (before) {
        t->n_nodes--;
        if (--t->nodes[before] > 0)
            return;
        t->n_used--;
        if (!t->base)
            forget_value(t, before);
    }
}

/* What a topology goes by: the label, or a rule. */
struct looking {
    struct topology *topology;
    const struct cache *cache;
    topology_rule *rule; /* NULL: the label */
    const void *ctx;
};

static uint32_t by_label(struct topology *t, const struct berth_node *node, uint32_t before)
{
    const struct str *value = str_map_get(&node->node->metadata.labels, t->key);
    if (!value)
        return 0;
    return before && str_eq(*value, t->values.v[before]) ? before : domain_of(t, *value);
}

static void look_at(const struct looking *l, uint32_t slot)
{
    struct topology *t = l->topology;
    const struct berth_node *node = l->cache->columns.nodes[slot];
    uint32_t after = 0;
    if (node && node->object)
        after = l->rule ? l->rule(l->ctx, slot) : by_label(t, node, topology_domain(t, slot));
    move(t, l->cache, slot, after);
}

static void look_at_all(const struct looking *l)
{
    for (size_t i = 0; i < l->cache->columns.n; i++)
        look_at(l, (uint32_t)i);
    l->topology->seen = l->cache->node_changes.n;
}

static void catch_up(const struct looking *l)
{
    struct topology *t = l->topology;
    const struct journal *j = &l->cache->node_changes;
    if (t->seen == j->n)
        return;
    if (!journal_reaches(j, t->seen)) {
        look_at_all(l);
    } else {
        for (; t->seen < j->n; t->seen++)
            look_at(l, journal_at(j, t->seen));
    }
    if (t->n_slots)
        make_column(t, l->cache->columns.cap);
}

/* --- all of them ------------------------------------------------------------------------------ */

static struct topology *new_topology(struct topologies *ts, struct map *map, struct str key)
{
    struct topology *t = xnew(struct topology);
    t->key = (struct str){str_dup(key), key.n};
    t->id = ++ts->next_id;
    t->n_domains = 1;
    map_put(map, t->key, t);
    return t;
}

struct topology *topologies_get(struct topologies *ts, struct str key)
{
    struct looking l = {.topology = map_get(&ts->by_key, key), .cache = ts->cache};
    if (l.topology) {
        catch_up(&l);
    } else {
        l.topology = new_topology(ts, &ts->by_key, key);
        vec_push(&l.topology->values, (struct str){0});
        look_at_all(&l);
    }
    l.topology->asked = ++ts->clock;
    return l.topology;
}

/* Numbers of another base mean other domains. */
static void start_over(struct topology *t, const struct topology *base)
{
    if (t->n_slots)
        memset(t->domain, 0, t->n_slots * sizeof(*t->domain));
    if (t->nodes)
        memset(t->nodes, 0, t->n_domains * sizeof(*t->nodes));
    t->n_nodes = t->n_used = 0;
    t->changes++;
    t->base = base->id;
}

const struct topology *topologies_derive(struct topologies *ts, const struct topology *base,
                                         struct str name, topology_rule *rule, const void *ctx)
{
    struct looking l = {map_get(&ts->derived, name), ts->cache, rule, ctx};
    if (!l.topology)
        l.topology = new_topology(ts, &ts->derived, name);
    make_domains(l.topology, base->n_domains);
    if (l.topology->base == base->id) {
        catch_up(&l);
    } else {
        start_over(l.topology, base);
        look_at_all(&l);
    }
    l.topology->asked = ++ts->clock;
    return l.topology;
}
