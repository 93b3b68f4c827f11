/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_kinds.c - counts of pools by node.
 *
 * Invariant: bit k of pool->offers is set exactly if the pool has a volume for kind k of its class;
 * counts[slot] of the kind is the number of such pools that the node reaches, except for volumes
 * that every node reaches, which are counted in `everywhere`; bit `slot` of nodes is set exactly if
 * the count is not 0.
 */
#include "plugins/volume_binding/claim_kinds.h"

#include "engine/cache/object_key.h"
#include "plugins/common/plugin_base.h"
#include "plugins/volume_binding/find.h"

struct claim_kind {
    struct str key; /* owned */
    size_t index;   /* in volumes.kinds */
    const struct pv_class *class;
    struct pod_claim claim; /* one of the kind */
    struct arena arena;     /* of its selector */
    uint64_t last_used;
    size_t everywhere;
    uint32_t *counts; /* by slot */
    uint64_t *nodes;
    size_t n_slots; /* a multiple of 64 */
};

/* --- key -------------------------------------------------------------------------------------- */

static void key_add_selector(struct buf *key, const struct label_selector *s)
{
    key_add_number(key, s ? (int64_t)s->match_labels.n : -1);
    for (size_t i = 0; s && i < s->match_labels.n; i++) {
        key_add(key, s->match_labels.v[i].key);
        key_add(key, s->match_labels.v[i].value);
    }
    for (size_t i = 0; s && i < s->match_expressions.n; i++) {
        const struct label_selector_requirement *r = &s->match_expressions.v[i];
        key_add(key, r->key);
        key_add(key, r->operator);
        key_add_number(key, (int64_t)r->values.n);
        for (size_t k = 0; k < r->values.n; k++)
            key_add(key, r->values.v[k]);
    }
}

/* Everything that pool_offer reads. */
static struct str kind_key(struct volumes *v, const struct pod_claim *c)
{
    const struct persistent_volume_claim_spec *spec = &c->pvc->spec;
    struct buf size = BUF_INIT;
    key_begin(&v->key, c->class->metadata.name);
    quantity_write(c->request, &size);
    key_add(&v->key, buf_str(&size));
    buf_release(&size);
    key_add(&v->key, spec->volume_mode);
    key_add(&v->key,
            spec->volume_attributes_class_name ? *spec->volume_attributes_class_name : STR(""));
    key_add_number(&v->key, (int64_t)spec->access_modes.n);
    for (size_t i = 0; i < spec->access_modes.n; i++)
        key_add(&v->key, spec->access_modes.v[i]);
    key_add_selector(&v->key, spec->selector);
    return buf_str(&v->key);
}

/* --- counts ----------------------------------------------------------------------------------- */

static void make_room(struct claim_kind *kind, size_t n_slots)
{
    size_t want = BITSET_WORDS(n_slots) * 64;
    if (want <= kind->n_slots)
        return;
    want = MAX(want, 2 * kind->n_slots);
    kind->counts = xreallocarray(kind->counts, want, sizeof(uint32_t));
    kind->nodes = xreallocarray(kind->nodes, BITSET_WORDS(want), sizeof(uint64_t));
    memset(kind->counts + kind->n_slots, 0, (want - kind->n_slots) * sizeof(uint32_t));
    memset(kind->nodes + kind->n_slots / 64, 0, (want - kind->n_slots) / 8);
    kind->n_slots = want;
}

static void count(struct claim_kind *kind, uint32_t slot, int sign)
{
    uint64_t bit = (uint64_t)1 << (slot % 64);
    make_room(kind, (size_t)slot + 1);
    INVARIANT(sign > 0 || kind->counts[slot]);
    kind->counts[slot] += (uint32_t)sign;
    if (kind->counts[slot])
        kind->nodes[slot / 64] |= bit;
    else
        kind->nodes[slot / 64] &= ~bit;
}

static void count_pool(struct claim_kind *kind, const struct pv_pool *pool, int sign)
{
    const struct node_set *where = pool->where;
    if (!where) {
        kind->everywhere += (size_t)sign;
        return;
    }
    for (size_t i = 0; !where->words && i < where->n; i++)
        count(kind, where->few[i], sign);
    for (size_t w = 0; where->words && w < where->n_words; w++)
        for (uint64_t left = where->words[w]; left; left &= left - 1)
            count(kind, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left), sign);
}

/* Asks the pool again. */
static void look(struct claim_kind *kind, struct pv_pool *pool)
{
    uint64_t bit = (uint64_t)1 << kind->index;
    bool had = pool->offers & bit, has = pool_offer(&kind->claim, pool) != NULL;
    if (had == has)
        return;
    pool->offers ^= bit;
    count_pool(kind, pool, has ? 1 : -1);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void drop(struct volumes *v, struct claim_kind *kind)
{
    uint64_t bit = (uint64_t)1 << kind->index;
    for (size_t i = 0; kind->class && i < kind->class->pools.n; i++)
        kind->class->pools.v[i]->offers &= ~bit;
    map_del(&v->kinds_by_key, kind->key);
    v->kinds[kind->index] = NULL;
    object_unref(kind->claim.object);
    object_unref(kind->claim.class_object);
    arena_release(&kind->arena);
    free((char *)kind->key.p);
    free(kind->counts);
    free(kind->nodes);
    free(kind);
}

/* A free index: the one that was used longest ago if there is none. */
static size_t free_index(struct volumes *v)
{
    size_t oldest = 0;
    for (size_t i = 0; i < CLAIM_KINDS_MAX; i++) {
        if (!v->kinds[i])
            return i;
        if (v->kinds[i]->last_used < v->kinds[oldest]->last_used)
            oldest = i;
    }
    drop(v, v->kinds[oldest]);
    return oldest;
}

/* The claim with a selector of its own: that of the attempt does not live as long. */
static void take_claim(struct claim_kind *kind, const struct pod_claim *c)
{
    struct err err;
    kind->claim = (struct pod_claim){.object = object_ref(c->object),
                                     .pvc = c->pvc,
                                     .request = c->request,
                                     .class_object = object_ref(c->class_object),
                                     .class = c->class};
    arena_init(&kind->arena, 0);
    if (!c->pvc->spec.selector)
        return;
    kind->claim.selector = arena_new(&kind->arena, struct selector);
    int r = selector_compile(c->pvc->spec.selector, &kind->arena, kind->claim.selector, &err);
    INVARIANT(r == 0); /* an invalid selector is an error before anything is matched */
    (void)r;
}

static struct claim_kind *get(struct volumes *v, const struct pod_claim *c,
                              const struct pv_class *class)
{
    struct str key = kind_key(v, c);
    struct claim_kind *kind = map_get(&v->kinds_by_key, key);
    if (!kind) {
        kind = xnew(struct claim_kind);
        kind->key = (struct str){str_dup(key), key.n};
        kind->index = free_index(v);
        kind->class = class;
        take_claim(kind, c);
        v->kinds[kind->index] = kind;
        map_put(&v->kinds_by_key, kind->key, kind);
        for (size_t i = 0; i < class->pools.n; i++)
            look(kind, class->pools.v[i]);
    }
    kind->last_used = ++v->kinds_used;
    return kind;
}

const uint64_t *claim_kind_nodes(struct volumes *v, const struct pod_claim *c, size_t n_slots,
                                 bool *ret_everywhere)
{
    const struct pv_class *class = map_get(&v->classes, c->class->metadata.name);
    *ret_everywhere = false;
    if (!class)
        return NULL;
    struct claim_kind *kind = get(v, c, class);
    make_room(kind, n_slots);
    *ret_everywhere = kind->everywhere > 0;
    return kind->nodes;
}

/* --- changes ---------------------------------------------------------------------------------- */

void claim_kinds_pool_changed(struct volumes *v, struct pv_pool *pool)
{
    for (size_t i = 0; v->kinds_by_key.n && i < CLAIM_KINDS_MAX; i++)
        if (v->kinds[i] && v->kinds[i]->class == pool->class)
            look(v->kinds[i], pool);
}

void claim_kinds_class_gone(struct volumes *v, const struct pv_class *class)
{
    for (size_t i = 0; v->kinds_by_key.n && i < CLAIM_KINDS_MAX; i++)
        if (v->kinds[i] && v->kinds[i]->class == class) {
            v->kinds[i]->class = NULL;
            drop(v, v->kinds[i]);
        }
}

void claim_kinds_node_moved(void *ctx, const struct node_set *set, uint32_t slot, int sign)
{
    struct volumes *v = ctx;
    for (size_t i = 0; i < set->pools.n; i++)
        for (uint64_t left = set->pools.v[i]->offers; left; left &= left - 1)
            count(v->kinds[__builtin_ctzll(left)], slot, sign);
}

void claim_kinds_release(struct volumes *v)
{
    for (size_t i = 0; i < CLAIM_KINDS_MAX; i++)
        if (v->kinds[i])
            drop(v, v->kinds[i]);
    map_release(&v->kinds_by_key);
}
