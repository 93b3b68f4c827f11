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

void topologies_release(struct topologies *t)
{
    map_each (e, &t->by_key)
        free_topology(e->value);
    map_release(&t->by_key);
}

void topologies_trim(struct topologies *t)
{
    while (t->by_key.n > TOPOLOGIES_MAX) {
        struct topology *oldest = NULL;
        map_each (e, &t->by_key) {
            struct topology *one = e->value;
            if (!oldest || one->asked < oldest->asked)
                oldest = one;
        }
        map_del(&t->by_key, oldest->key);
        free_topology(oldest);
    }
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

static uint32_t new_domain(struct topology *t)
{
    if (t->free_domains.n)
        return vec_pop(&t->free_domains);
    if (t->n_domains >= t->cap_domains) {
        t->cap_domains = t->cap_domains ? t->cap_domains * 2 : 8;
        t->nodes = xreallocarray(t->nodes, t->cap_domains, sizeof(*t->nodes));
        t->nodes[0] = 0;
    }
    uint32_t domain = (uint32_t)t->n_domains++;
    t->nodes[domain] = 0;
    vec_push(&t->values, (struct str){0});
    return domain;
}

static uint32_t domain_of(struct topology *t, struct str value)
{
    uint32_t domain = topology_find(t, value);
    if (domain)
        return domain;
    domain = new_domain(t);
    struct str copy = {str_dup(value), value.n};
    t->values.v[domain] = copy;
    map_put(&t->by_value, copy, (void *)(uintptr_t)domain);
    t->n_used++;
    return domain;
}

static void leave_domain(struct topology *t, uint32_t domain)
{
    if (!domain)
        return;
    t->n_nodes--;
    if (--t->nodes[domain])
        return;
    struct str *value = &t->values.v[domain];
    map_del(&t->by_value, *value);
    free((char *)value->p);
    *value = (struct str){0};
    t->n_used--;
    vec_push(&t->free_domains, domain);
}

/* --- keeping up with the nodes ---------------------------------------------------------------- */

/* The column is made when the first node turns out to have the label. */
static void make_column(struct topology *t, size_t n)
{
    if (n <= t->n_slots)
        return;
    t->domain = xreallocarray(t->domain, n, sizeof(*t->domain));
    memset(t->domain + t->n_slots, 0, (n - t->n_slots) * sizeof(*t->domain));
    t->n_slots = n;
}

static void look_at(struct topology *t, const struct cache *cache, uint32_t slot)
{
    const struct berth_node *node = cache->columns.nodes[slot];
    const struct str *value =
        node && node->object ? str_map_get(&node->node->metadata.labels, t->key) : NULL;
    uint32_t before = topology_domain(t, slot);
    if (value ? before && str_eq(*value, t->values.v[before]) : !before)
        return;
    make_column(t, cache->columns.cap);
    /* The new one first: a value that stays in use keeps its number. */
    uint32_t after = value ? domain_of(t, *value) : 0;
    if (after) {
        t->nodes[after]++;
        t->n_nodes++;
    }
    leave_domain(t, before);
    t->domain[slot] = after;
    t->changes++;
}

static void catch_up(struct topology *t, const struct cache *cache)
{
    const struct journal *j = &cache->node_changes;
    if (t->seen == j->n)
        return;
    if (journal_reaches(j, t->seen))
        for (uint64_t i = t->seen; i < j->n; i++)
            look_at(t, cache, journal_at(j, i));
    else
        for (size_t i = 0; i < cache->columns.n; i++)
            look_at(t, cache, (uint32_t)i);
    t->seen = j->n;
    if (t->n_slots)
        make_column(t, cache->columns.cap);
}

static struct topology *new_topology(struct topologies *ts, struct str key)
{
    struct topology *t = xnew(struct topology);
    t->key = (struct str){str_dup(key), key.n};
    t->id = ++ts->next_id;
    t->n_domains = 1;
    vec_push(&t->values, (struct str){0});
    /* Everything is new to it, however short the journal. */
    for (size_t i = 0; i < ts->cache->columns.n; i++)
        look_at(t, ts->cache, (uint32_t)i);
    t->seen = ts->cache->node_changes.n;
    map_put(&ts->by_key, t->key, t);
    return t;
}

struct topology *topologies_get(struct topologies *ts, struct str key)
{
    struct topology *t = map_get(&ts->by_key, key);
    if (t)
        catch_up(t, ts->cache);
    else
        t = new_topology(ts, key);
    t->asked = ++ts->clock;
    return t;
}
