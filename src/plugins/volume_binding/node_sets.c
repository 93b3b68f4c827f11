/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_sets.c - sets are found by the first In requirement of each of their terms.
 *
 * Invariant: a node is in a set exactly if the labels of slots[slot].node match its terms; and the
 * set is in slots[slot].sets exactly if the node is in the set.
 */
#include "plugins/volume_binding/node_sets.h"

#include "plugins/common/plugin_base.h"
#include "plugins/common/required_nodes.h"

#define LABEL_KEYS_MAX 64 /* keys with an index; sets of further ones are asked for every node */

/* The nodes with a label of this key, by value. */
struct label_key {
    struct str key;      /* owned */
    struct map by_value; /* → struct label_value */
};

struct label_value {
    struct str value; /* owned */
    VEC(uint32_t) slots;
    node_set_list sets; /* whose terms name it */
};

static struct str own(struct str s)
{
    return (struct str){str_dup(s), s.n};
}

void node_sets_init(struct node_sets *s, const struct cache *cache)
{
    *s = (struct node_sets){.cache = cache};
}

/* --- membership ------------------------------------------------------------------------------- */

static bool has(const struct node_set *set, uint32_t slot)
{
    if (set->words)
        return slot / 64 < set->n_words && (set->words[slot / 64] >> (slot % 64) & 1);
    for (size_t i = 0; i < set->n; i++)
        if (set->few[i] == slot)
            return true;
    return false;
}

static void make_words(struct node_sets *s, struct node_set *set)
{
    size_t want = BITSET_WORDS(MAX(s->cache->columns.cap, s->slots.n));
    if (set->words && set->n_words >= want)
        return;
    bool had = set->words;
    set->words = xreallocarray(set->words, want, sizeof(uint64_t));
    memset(set->words + set->n_words, 0, (want - set->n_words) * sizeof(uint64_t));
    set->n_words = want;
    for (size_t i = 0; !had && i < set->n; i++)
        set->words[set->few[i] / 64] |= (uint64_t)1 << (set->few[i] % 64);
}

static void add_node(struct node_sets *s, struct node_set *set, uint32_t slot)
{
    if (set->words || set->n == NODE_SET_FEW) {
        make_words(s, set);
        set->words[slot / 64] |= (uint64_t)1 << (slot % 64);
    } else {
        set->few[set->n] = slot;
    }
    set->n++;
    vec_push(&s->slots.v[slot].sets, set);
    s->moved(s->ctx, set, slot, 1);
}

static void remove_node(struct node_sets *s, struct node_set *set, uint32_t slot)
{
    if (set->words) {
        set->words[slot / 64] &= ~((uint64_t)1 << (slot % 64));
        set->n--;
    } else {
        size_t i = 0;
        while (set->few[i] != slot)
            i++;
        set->few[i] = set->few[--set->n];
    }
    s->moved(s->ctx, set, slot, -1);
}

/* Asks one node. */
static void ask(struct node_sets *s, struct node_set *set, uint32_t slot)
{
    const struct object *node = s->slots.v[slot].node;
    if (node && !has(set, slot) &&
        node_terms_match(&set->terms, &object_meta(node)->labels, STR("")))
        add_node(s, set, slot);
}

void node_set_paint(const struct node_set *set, uint64_t *out, size_t n_slots)
{
    if (!set) {
        memset(out, 0xff, BITSET_WORDS(n_slots) * sizeof(uint64_t));
        return;
    }
    for (size_t i = 0; !set->words && i < set->n; i++)
        if (set->few[i] < n_slots)
            out[set->few[i] / 64] |= (uint64_t)1 << (set->few[i] % 64);
    for (size_t w = 0; set->words && w < MIN(set->n_words, BITSET_WORDS(n_slots)); w++)
        out[w] |= set->words[w];
}

/* --- labels ----------------------------------------------------------------------------------- */

static struct label_value *value_of(struct label_key *key, struct str value)
{
    struct label_value *v = map_get(&key->by_value, value);
    if (v)
        return v;
    v = xnew(struct label_value);
    v->value = own(value);
    map_put(&key->by_value, v->value, v);
    return v;
}

static void drop_value_if_unused(struct label_key *key, struct label_value *v)
{
    if (v->slots.n || v->sets.n)
        return;
    map_del(&key->by_value, v->value);
    free((char *)v->value.p);
    vec_release(&v->slots);
    vec_release(&v->sets);
    free(v);
}

/* The index of a key; NULL if there are too many. A new one is filled with all nodes. */
static struct label_key *key_of(struct node_sets *s, struct str name)
{
    struct label_key *key = map_get(&s->label_keys, name);
    if (key || s->label_keys.n == LABEL_KEYS_MAX)
        return key;
    key = xnew(struct label_key);
    key->key = own(name);
    map_put(&s->label_keys, key->key, key);
    for (uint32_t slot = 0; slot < s->slots.n; slot++) {
        const struct object *node = s->slots.v[slot].node;
        const struct str *value = node ? str_map_get(&object_meta(node)->labels, name) : NULL;
        if (value)
            vec_push(&value_of(key, *value)->slots, slot);
    }
    return key;
}

static void free_key(struct label_key *key)
{
    map_each (e, &key->by_value) {
        struct label_value *v = e->value;
        free((char *)v->value.p);
        vec_release(&v->slots);
        vec_release(&v->sets);
        free(v);
    }
    map_release(&key->by_value);
    free((char *)key->key.p);
    free(key);
}

/* The requirement by which nodes of the term are found; NULL if there is none. */
static const struct requirement *handle_of(const struct node_term *term)
{
    for (size_t i = 0; i < term->labels.requirements.n; i++) {
        const struct requirement *r = &term->labels.requirements.v[i];
        if (r->op == SELECTOR_IN || r->op == SELECTOR_EQUALS)
            return r;
    }
    return NULL;
}

static bool can_match(const struct node_term *term)
{
    return str_empty(term->broken) && !term->labels.nothing;
}

/* Can the set be found by label? Creates the indexes of its keys. */
static bool has_handles(struct node_sets *s, const struct node_set *set)
{
    for (size_t i = 0; i < set->terms.v.n; i++) {
        const struct node_term *term = &set->terms.v.v[i];
        const struct requirement *r = handle_of(term);
        if (can_match(term) && (!r || !key_of(s, r->key)))
            return false;
    }
    return true;
}

/* Calls fn for every label by which the set is found. */
typedef void label_fn(struct node_sets *s, struct node_set *set, struct label_key *key,
                      struct label_value *value);
static void each_label(struct node_sets *s, struct node_set *set, label_fn *fn)
{
    for (size_t i = 0; i < set->terms.v.n; i++) {
        const struct node_term *term = &set->terms.v.v[i];
        const struct requirement *r = can_match(term) ? handle_of(term) : NULL;
        struct label_key *key = r ? map_get(&s->label_keys, r->key) : NULL;
        for (size_t k = 0; key && k < r->values.n; k++)
            fn(s, set, key, value_of(key, r->values.v[k]));
    }
}

static void enter(struct node_sets *s, struct node_set *set, struct label_key *key,
                  struct label_value *value)
{
    (void)key;
    vec_push(&value->sets, set);
    for (size_t i = 0; i < value->slots.n; i++)
        ask(s, set, value->slots.v[i]);
}

static void leave(struct node_sets *s, struct node_set *set, struct label_key *key,
                  struct label_value *value)
{
    (void)s;
    for (size_t i = 0; i < value->sets.n; i++)
        if (value->sets.v[i] == set) {
            vec_swap_remove(&value->sets, i);
            break;
        }
    drop_value_if_unused(key, value);
}

/* --- sets ------------------------------------------------------------------------------------- */

/* Returns the set under the scratch key, or a new one without terms. */
static struct node_set *get(struct node_sets *s, struct object *source, bool *ret_new)
{
    struct node_set *set = map_get(&s->by_key, buf_str(&s->key));
    *ret_new = !set;
    if (!set) {
        set = xnew(struct node_set);
        set->key = own(buf_str(&s->key));
        set->source = object_ref(source);
        arena_init(&set->arena, 0);
        map_put(&s->by_key, set->key, set);
    }
    set->refs++;
    return set;
}

static struct node_set *fill(struct node_sets *s, struct node_set *set)
{
    set->by_label = has_handles(s, set);
    if (set->by_label) {
        each_label(s, set, enter);
        return set;
    }
    set->index = s->unlabelled.n;
    vec_push(&s->unlabelled, set);
    for (uint32_t slot = 0; slot < s->slots.n; slot++)
        ask(s, set, slot);
    return set;
}

struct node_set *node_sets_of_selector(struct node_sets *s, const struct node_selector *selector,
                                       struct object *source)
{
    bool is_new;
    key_begin(&s->key, STR("affinity"));
    key_add_node_selector(&s->key, selector);
    struct node_set *set = get(s, source, &is_new);
    if (!is_new)
        return set;
    node_terms_compile(selector, &set->arena, &set->terms);
    return fill(s, set);
}

static void key_add_labels(struct buf *key, const struct label_selector *selector)
{
    key_add_number(key, (int64_t)selector->match_labels.n);
    for (size_t i = 0; i < selector->match_labels.n; i++) {
        key_add(key, selector->match_labels.v[i].key);
        key_add(key, selector->match_labels.v[i].value);
    }
    for (size_t i = 0; i < selector->match_expressions.n; i++) {
        const struct label_selector_requirement *r = &selector->match_expressions.v[i];
        key_add(key, r->key);
        key_add(key, r->operator);
        key_add_number(key, (int64_t)r->values.n);
        for (size_t k = 0; k < r->values.n; k++)
            key_add(key, r->values.v[k]);
    }
}

struct node_set *node_sets_of_labels(struct node_sets *s, const struct label_selector *selector,
                                     struct object *source)
{
    bool is_new;
    struct err err;
    key_begin(&s->key, STR("labels"));
    key_add_labels(&s->key, selector);
    struct node_set *set = get(s, source, &is_new);
    if (!is_new)
        return set;
    struct node_term *term = arena_new(&set->arena, struct node_term);
    if (selector_compile(selector, &set->arena, &term->labels, &err) == 0)
        set->terms = (struct node_terms){.v = {term, 1}};
    return fill(s, set);
}

static void forget_in_slot(struct node_sets *s, struct node_set *set, uint32_t slot)
{
    node_set_list *sets = &s->slots.v[slot].sets;
    for (size_t i = 0; i < sets->n; i++)
        if (sets->v[i] == set) {
            vec_swap_remove(sets, i);
            return;
        }
}

static void free_set(struct node_set *set)
{
    object_unref(set->source);
    arena_release(&set->arena);
    free((char *)set->key.p);
    free(set->words);
    vec_release(&set->pools);
    vec_release(&set->capacities);
    free(set);
}

void node_set_unref(struct node_sets *s, struct node_set *set)
{
    if (!set || --set->refs)
        return;
    for (size_t i = 0; !set->words && i < set->n; i++)
        forget_in_slot(s, set, set->few[i]);
    for (size_t w = 0; set->words && w < set->n_words; w++)
        for (uint64_t left = set->words[w]; left; left &= left - 1)
            forget_in_slot(s, set, (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(left));
    if (set->by_label) {
        each_label(s, set, leave);
    } else {
        vec_last(&s->unlabelled)->index = set->index;
        vec_swap_remove(&s->unlabelled, set->index);
    }
    map_del(&s->by_key, set->key);
    free_set(set);
}

void node_sets_release(struct node_sets *s)
{
    map_each (e, &s->by_key)
        free_set(e->value);
    map_release(&s->by_key);
    map_each (e, &s->label_keys)
        free_key(e->value);
    map_release(&s->label_keys);
    vec_release(&s->unlabelled);
    for (size_t i = 0; i < s->slots.n; i++) {
        object_unref(s->slots.v[i].node);
        vec_release(&s->slots.v[i].sets);
    }
    vec_release(&s->slots);
    buf_release(&s->key);
}

/* --- nodes ------------------------------------------------------------------------------------ */

static void remove_label(struct node_sets *s, const struct str_entry *label, uint32_t slot)
{
    struct label_key *key = map_get(&s->label_keys, label->key);
    struct label_value *value = key ? map_get(&key->by_value, label->value) : NULL;
    for (size_t i = 0; value && i < value->slots.n; i++)
        if (value->slots.v[i] == slot) {
            vec_swap_remove(&value->slots, i);
            drop_value_if_unused(key, value);
            return;
        }
}

static void forget_node(struct node_sets *s, uint32_t slot)
{
    struct slot_sets *at = &s->slots.v[slot];
    if (!at->node)
        return;
    const str_map *labels = &object_meta(at->node)->labels;
    for (size_t i = 0; i < at->sets.n; i++)
        remove_node(s, at->sets.v[i], slot);
    vec_clear(&at->sets);
    for (size_t i = 0; i < labels->n; i++)
        remove_label(s, &labels->v[i], slot);
    at->node = object_unref(at->node);
}

static void enter_node(struct node_sets *s, uint32_t slot, struct object *node)
{
    const str_map *labels = &object_meta(node)->labels;
    s->slots.v[slot].node = object_ref(node);
    for (size_t i = 0; i < labels->n; i++) {
        struct label_key *key = map_get(&s->label_keys, labels->v[i].key);
        struct label_value *value = key ? value_of(key, labels->v[i].value) : NULL;
        if (!value)
            continue;
        vec_push(&value->slots, slot);
        for (size_t k = 0; k < value->sets.n; k++)
            ask(s, value->sets.v[k], slot);
    }
    for (size_t i = 0; i < s->unlabelled.n; i++)
        ask(s, s->unlabelled.v[i], slot);
}

/* Nothing happens if only other parts of the node changed. */
static void look_at(struct node_sets *s, uint32_t slot)
{
    const struct berth_node *now = s->cache->columns.nodes[slot];
    struct object *node = now ? now->object : NULL;
    struct slot_sets *at = &s->slots.v[slot];
    if (node == at->node)
        return;
    if (node && at->node &&
        str_map_equal(&object_meta(node)->labels, &object_meta(at->node)->labels)) {
        object_ref(node);
        object_unref(at->node);
        at->node = node;
        return;
    }
    forget_node(s, slot);
    if (node)
        enter_node(s, slot, node);
}

void node_sets_update(struct node_sets *s)
{
    const struct journal *j = &s->cache->node_changes;
    while (s->slots.n < s->cache->columns.n)
        vec_push(&s->slots, (struct slot_sets){0});
    if (journal_reaches(j, s->seen) && j->n - s->seen <= s->slots.n)
        for (; s->seen < j->n; s->seen++)
            look_at(s, journal_at(j, s->seen));
    else
        for (uint32_t slot = 0; slot < s->slots.n; slot++)
            look_at(s, slot);
    s->seen = j->n;
}

const node_set_list *node_sets_at(const struct node_sets *s, const struct berth_node *node)
{
    bool known = node->slot < s->slots.n && s->slots.v[node->slot].node == node->object;
    return known ? &s->slots.v[node->slot].sets : NULL;
}
