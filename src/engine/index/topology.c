/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topology.c - domains of nodes, updated from the cache's journal.
 *
 * A topology reads the journal of nodes from its position `seen` on when it is used; if the journal
 * does not reach back that far, it visits all nodes. Values of the label get numbers; a number is
 * reused when no node has its value any more. `changes` is incremented with each change of a slot's
 * domain, so that pod_counts.c can tell whether its sums by domain are current.
 */
#include "engine/index/topology.h"

#include "engine/index/domain_slots.h"

void topologies_init(struct topologies *t, const struct cache *cache,
                     const struct label_keys *label_keys)
{
    *t = (struct topologies){.cache = cache, .label_keys = label_keys};
    t->none = (struct topology){.id = ++t->next_id, .n_domains = 1};
}

/* --- least recently used ---------------------------------------------------------------------- */

static void count_bytes(struct topologies *ts, struct topology *t)
{
    size_t per_domain = sizeof(*t->nodes) + sizeof(*t->values.v) + sizeof(struct map_entry);
    size_t bytes = sizeof(*t) + t->key.n + t->n_slots * sizeof(*t->domain) +
                   t->cap_domains * per_domain + t->text_bytes +
                   (t->slots ? domain_slots_bytes(t->slots) : 0);
    ts->bytes += bytes - t->bytes;
    t->bytes = bytes;
}

static void unlist(struct topologies *ts, struct topology *t)
{
    *(t->newer ? &t->newer->older : &ts->newest) = t->older;
    *(t->older ? &t->older->newer : &ts->oldest) = t->newer;
}

static void list_newest(struct topologies *ts, struct topology *t)
{
    t->newer = NULL;
    t->older = ts->newest;
    *(ts->newest ? &ts->newest->newer : &ts->oldest) = t;
    ts->newest = t;
}

static void free_topology(struct topology *t)
{
    for (size_t i = 0; i < t->values.n; i++)
        free((char *)t->values.v[i].p);
    vec_release(&t->values);
    vec_release(&t->free_domains);
    map_release(&t->by_value);
    domain_slots_free(t->slots);
    free(t->domain);
    free(t->nodes);
    free((char *)t->key.p);
    free(t);
}

static void forget(struct topologies *ts, struct topology *t)
{
    unlist(ts, t);
    map_del(t->map, t->key);
    ts->bytes -= t->bytes;
    free_topology(t);
}

void topologies_release(struct topologies *t)
{
    while (t->oldest)
        forget(t, t->oldest);
    map_release(&t->by_key);
    map_release(&t->derived);
}

void topologies_trim(struct topologies *t)
{
    while (t->bytes > TOPOLOGIES_MAX_BYTES && t->by_key.n + t->derived.n > TOPOLOGIES_KEPT)
        forget(t, t->oldest);
}

/* Marks the topology as used and counts its size again. */
static struct topology *used(struct topologies *ts, struct topology *t)
{
    if (t != ts->newest) {
        unlist(ts, t);
        list_newest(ts, t);
    }
    count_bytes(ts, t);
    return t;
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

/* Makes the numbers below n valid. */
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
    t->text_bytes += value.n + 1;
    t->values.v[domain] = copy;
    map_put(&t->by_value, copy, (void *)(uintptr_t)domain);
    return domain;
}

/* No node has the value: its number is reused. */
static void forget_value(struct topology *t, uint32_t domain)
{
    struct str *value = &t->values.v[domain];
    map_del(&t->by_value, *value);
    t->text_bytes -= value->n + 1;
    free((char *)value->p);
    *value = (struct str){0};
    vec_push(&t->free_domains, domain);
}

/* --- following changes of nodes --------------------------------------------------------------- */

static void make_column(struct topology *t, size_t n)
{
    if (n <= t->n_slots)
        return;
    t->domain = xreallocarray(t->domain, n, sizeof(*t->domain));
    memset(t->domain + t->n_slots, 0, (n - t->n_slots) * sizeof(*t->domain));
    t->n_slots = n;
    for (; t->n_few; t->n_few--)
        t->domain[t->few_slots[t->n_few - 1]] = t->few_domains[t->n_few - 1];
}

/* The index of the slot among the few, or n_few. */
static size_t find_few(const struct topology *t, uint32_t slot)
{
    size_t i = 0;
    while (i < t->n_few && t->few_slots[i] != slot)
        i++;
    return i;
}

static void set_few(struct topology *t, uint32_t slot, uint32_t domain)
{
    size_t i = find_few(t, slot);
    if (domain) {
        t->few_slots[i] = slot;
        t->few_domains[i] = domain;
        t->n_few += i == t->n_few;
    } else if (i < t->n_few) {
        t->n_few--;
        t->few_slots[i] = t->few_slots[t->n_few];
        t->few_domains[i] = t->few_domains[t->n_few];
    }
}

/* The column is allocated when more than a few nodes are in a domain. */
static void set_domain(struct topology *t, const struct cache *cache, uint32_t slot,
                       uint32_t domain)
{
    if (!t->n_slots && (t->n_few < LABEL_KEY_FEW || find_few(t, slot) < t->n_few)) {
        set_few(t, slot, domain);
        return;
    }
    make_column(t, cache->columns.cap);
    t->domain[slot] = domain;
}

static void move(struct topology *t, const struct cache *cache, uint32_t slot, uint32_t after)
{
    uint32_t before = topology_domain(t, slot);
    if (before == after)
        return;
    set_domain(t, cache, slot, after);
    t->changes++;
    if (after) {
        t->n_nodes++;
        t->n_used += t->nodes[after]++ == 0;
    }
    INVARIANT(t->n_used < t->n_domains && t->n_used <= t->n_nodes);
    if (before) {
        INVARIANT(t->nodes[before] > 0 && t->n_nodes > 0 && t->n_used > 0);
        t->n_nodes--;
        if (--t->nodes[before] > 0)
            return;
        t->n_used--;
        if (!t->base)
            forget_value(t, before);
    }
}

/* What determines the domains of a topology: the label, or a rule. */
struct looking {
    struct topology *topology;
    const struct cache *cache;
    topology_rule *rule; /* NULL: the label */
    const void *ctx;
    const struct label_key *label; /* without a rule */
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

/* Few nodes have the label: label_keys lists them. */
static void look_at_few(const struct looking *l)
{
    uint32_t slots[LABEL_KEY_FEW];
    size_t n = l->topology->n_few;
    memcpy(slots, l->topology->few_slots, sizeof(slots));
    for (size_t i = 0; i < n; i++)
        look_at(l, slots[i]);
    for (size_t i = 0; i < l->label->slots.n; i++)
        look_at(l, l->label->slots.v[i]);
}

static void look_at_all(const struct looking *l)
{
    l->topology->seen = l->cache->node_changes.n;
    if (l->label && !l->label->many && !l->topology->n_slots) {
        look_at_few(l);
        return;
    }
    for (size_t i = 0; i < l->cache->columns.n; i++)
        look_at(l, (uint32_t)i);
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

/* --- topologies ------------------------------------------------------------------------------- */

static struct topology *new_topology(struct topologies *ts, struct map *map, struct str key)
{
    struct topology *t = xnew(struct topology);
    t->key = (struct str){str_dup(key), key.n};
    t->id = ++ts->next_id;
    t->n_domains = 1;
    t->map = map;
    map_put(map, t->key, t);
    list_newest(ts, t);
    return t;
}

struct topology *topologies_get(struct topologies *ts, struct str key)
{
    struct looking l = {.cache = ts->cache, .label = label_keys_get(ts->label_keys, key)};
    if (!l.label)
        return &ts->none;
    l.topology = map_get(&ts->by_key, key);
    if (l.topology) {
        catch_up(&l);
    } else {
        l.topology = new_topology(ts, &ts->by_key, key);
        vec_push(&l.topology->values, (struct str){0});
        look_at_all(&l);
    }
    return used(ts, l.topology);
}

const struct topology *topologies_find(const struct topologies *ts, struct str key)
{
    if (!label_keys_get(ts->label_keys, key))
        return &ts->none;
    const struct topology *t = map_get(&ts->by_key, key);
    return t && t->seen == ts->cache->node_changes.n ? t : NULL;
}

/* Domain numbers of another base mean other domains. */
static void start_over(struct topology *t, const struct topology *base)
{
    if (t->n_slots)
        memset(t->domain, 0, t->n_slots * sizeof(*t->domain));
    t->n_few = 0;
    if (t->nodes)
        memset(t->nodes, 0, t->n_domains * sizeof(*t->nodes));
    t->n_nodes = t->n_used = 0;
    t->changes++;
    t->base = base->id;
}

const struct topology *topologies_derive(struct topologies *ts, const struct topology *base,
                                         struct str name, topology_rule *rule, const void *ctx)
{
    struct looking l = {map_get(&ts->derived, name), ts->cache, rule, ctx, NULL};
    if (!l.topology)
        l.topology = new_topology(ts, &ts->derived, name);
    make_domains(l.topology, base->n_domains);
    if (l.topology->base == base->id) {
        catch_up(&l);
    } else {
        start_over(l.topology, base);
        look_at_all(&l);
    }
    return used(ts, l.topology);
}

/* --- painting --------------------------------------------------------------------------------- */

static const struct domain_slots *slots_of(struct topologies *ts, struct topology *t, size_t n)
{
    if (t->slots && domain_slots_are_current(t->slots, t, n))
        return t->slots;
    domain_slots_free(t->slots);
    t->slots = domain_slots_new(t, n);
    count_bytes(ts, t);
    return t->slots;
}

bool topologies_paint(struct topologies *ts, struct topology *t, size_t n_all,
                      const uint32_t *slots, size_t n, uint64_t *out)
{
    if (!t->n_slots)
        return domain_slots_paint_few(t, n_all, slots, n, out);
    return domain_slots_paint(slots_of(ts, t, n_all), t, slots, n, out);
}

void topologies_paint_others(struct topologies *ts, struct topology *t, size_t n_all, uint64_t *out)
{
    const struct domain_slots *d = t->n_slots ? slots_of(ts, t, n_all) : NULL;
    for (size_t w = 0; w < BITSET_WORDS(n_all); w++) {
        uint64_t labelled = d ? d->labelled[w] : 0;
        for (size_t k = 0; k < t->n_few; k++)
            if (t->few_slots[k] / 64 == w)
                labelled |= (uint64_t)1 << (t->few_slots[k] % 64);
        out[w] |= ~labelled;
    }
}
