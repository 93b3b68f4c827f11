/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity_terms.c - distinct affinity terms of running pods.
 *
 * A term is in by_text and in the list of its topology key while a pod has it, and in its buckets
 * only while a node carries the topology key.
 */
#include "engine/index/affinity_terms.h"

#include "base/buf.h"

/*
 * Terms are filed in buckets by what a pod must have to be selected: one of the listed namespaces,
 * and one label that the selector requires. A term with too many namespaces or values is filed as
 * if it had none: it is then compared more often than necessary.
 */
#define MAX_NAMED 16

struct bucket_entry {
    struct running_term *term;
    size_t filing; /* index of this entry in the term's filings */
};

struct affinity_bucket {
    VEC(struct bucket_entry) terms;
    size_t n_key;
    char key[];
};

/* A place in a bucket. */
struct affinity_filing {
    struct affinity_bucket *bucket;
    size_t place;
};

/* The terms with one topology key. */
struct affinity_key {
    struct str text; /* owned */
    VEC(struct running_term *) terms;
};

void affinity_terms_init(struct affinity_terms *t, const struct label_keys *label_keys)
{
    *t = (struct affinity_terms){.label_keys = label_keys};
}

static void free_term(struct running_term *term)
{
    vec_release(&term->filings);
    slot_counts_release(&term->pods);
    arena_release(&term->arena);
    free(term);
}

static void free_bucket(struct affinity_bucket *b)
{
    vec_release(&b->terms);
    free(b);
}

static void free_key(struct affinity_key *key)
{
    vec_release(&key->terms);
    free((char *)key->text.p);
    free(key);
}

void affinity_terms_release(struct affinity_terms *t)
{
    map_each (e, &t->by_text)
        free_term(e->value);
    map_release(&t->by_text);
    map_each (e, &t->buckets)
        free_bucket(e->value);
    map_release(&t->buckets);
    map_each (e, &t->keys)
        free_key(e->value);
    map_release(&t->keys);
    buf_release(&t->text);
    buf_release(&t->key);
}

static enum affinity_role role_of(enum affinity_kind kind)
{
    return kind == AFFINITY_REQUIRED_ANTI ? AFFINITY_MUST : AFFINITY_MAY;
}

/* --- buckets ---------------------------------------------------------------------------------- */

/* The pods that a bucket is for: of one namespace or any (NULL), with one label or any. */
struct address {
    enum affinity_role role;
    const struct str *namespace;
    const struct str *label, *value;
};

static void add_text(struct buf *out, const struct str *s)
{
    size_t n = s ? s->n + 1 : 0;
    buf_add(out, &n, sizeof(n));
    if (s)
        buf_add_str(out, *s);
}

static struct str key_of(struct affinity_terms *t, const struct address *a)
{
    buf_clear(&t->key);
    buf_add_char(&t->key, (char)a->role);
    add_text(&t->key, a->namespace);
    add_text(&t->key, a->label);
    add_text(&t->key, a->value);
    return buf_str(&t->key);
}

static void file_at(struct affinity_terms *t, struct running_term *term, const struct address *a)
{
    struct str key = key_of(t, a);
    struct affinity_bucket *b = map_get(&t->buckets, key);
    if (!b) {
        b = xcalloc(1, sizeof(*b) + key.n);
        b->n_key = key.n;
        memcpy(b->key, key.p, key.n);
        map_put(&t->buckets, (struct str){b->key, b->n_key}, b);
    }
    vec_push(&b->terms, (struct bucket_entry){term, term->filings.n});
    vec_push(&term->filings, (struct affinity_filing){b, b->terms.n - 1});
}

static void unfile_from(struct affinity_terms *t, struct affinity_filing filing)
{
    struct affinity_bucket *b = filing.bucket;
    INVARIANT(filing.place < b->terms.n);
    vec_swap_remove(&b->terms, filing.place);
    if (filing.place < b->terms.n) {
        const struct bucket_entry *moved = &b->terms.v[filing.place];
        moved->term->filings.v[moved->filing].place = filing.place;
    }
    if (b->terms.n)
        return;
    map_del(&t->buckets, (struct str){b->key, b->n_key});
    free_bucket(b);
}

/* A requirement that only a few labels meet; NULL if the selector has none. */
static const struct requirement *required_label(const struct selector *s)
{
    for (size_t i = 0; i < s->requirements.n; i++) {
        const struct requirement *r = &s->requirements.v[i];
        bool by_value = r->op == SELECTOR_IN || r->op == SELECTOR_EQUALS;
        if (by_value && r->values.n <= MAX_NAMED)
            return r;
    }
    return NULL;
}

/* Under every value, without duplicates: values are sorted. */
static void file_values(struct affinity_terms *t, struct running_term *term, struct address a)
{
    const struct requirement *r = required_label(&term->term.pods.selector);
    for (size_t i = 0; r && i < r->values.n; i++) {
        if (i && str_eq(r->values.v[i - 1], r->values.v[i]))
            continue;
        a.label = &r->key;
        a.value = &r->values.v[i];
        file_at(t, term, &a);
    }
    if (!r)
        file_at(t, term, &a);
}

static void file(struct affinity_terms *t, struct running_term *term)
{
    const struct pod_term *pods = &term->term.pods;
    struct address a = {.role = role_of(term->kind)};
    bool anywhere = !term->term.namespace_selector.nothing || pods->namespaces.n > MAX_NAMED;
    if (anywhere)
        file_values(t, term, a);
    for (size_t i = 0; !anywhere && i < pods->namespaces.n; i++) {
        a.namespace = &pods->namespaces.v[i];
        file_values(t, term, a);
    }
    t->n[a.role]++;
}

static void unfile(struct affinity_terms *t, struct running_term *term)
{
    for (size_t i = 0; i < term->filings.n; i++)
        unfile_from(t, term->filings.v[i]);
    vec_release(&term->filings);
    INVARIANT(t->n[role_of(term->kind)] > 0);
    t->n[role_of(term->kind)]--;
}

/* --- topology keys ---------------------------------------------------------------------------- */

static void add_to_key(struct affinity_terms *t, struct running_term *term)
{
    struct str text = term->term.topology_key;
    struct affinity_key *key = map_get(&t->keys, text);
    if (!key) {
        key = xnew(struct affinity_key);
        key->text = (struct str){str_dup(text), text.n};
        map_put(&t->keys, key->text, key);
    }
    term->key = key;
    term->key_place = key->terms.n;
    vec_push(&key->terms, term);
}

static void drop_from_key(struct affinity_terms *t, struct running_term *term)
{
    struct affinity_key *key = term->key;
    INVARIANT(key->terms.v[term->key_place] == term);
    vec_swap_remove(&key->terms, term->key_place);
    if (term->key_place < key->terms.n)
        key->terms.v[term->key_place]->key_place = term->key_place;
    if (key->terms.n)
        return;
    map_del(&t->keys, key->text);
    free_key(key);
}

static bool is_carried(const struct affinity_terms *t, const struct running_term *term)
{
    return label_keys_get(t->label_keys, term->term.topology_key);
}

void affinity_terms_key_carried(struct affinity_terms *t, struct str text, bool carried)
{
    const struct affinity_key *key = map_get(&t->keys, text);
    for (size_t i = 0; key && i < key->terms.n; i++) {
        if (carried)
            file(t, key->terms.v[i]);
        else
            unfile(t, key->terms.v[i]);
    }
}

/* --- adding and removing terms ---------------------------------------------------------------- */

static struct str text_of(struct affinity_terms *t, enum affinity_kind kind,
                          const struct affinity_term *term)
{
    buf_clear(&t->text);
    buf_add_char(&t->text, (char)kind);
    affinity_term_write(term, &t->text);
    return buf_str(&t->text);
}

static struct running_term *add_term(struct affinity_terms *t, enum affinity_kind kind,
                                     const struct affinity_term *from)
{
    struct running_term *term = xnew(struct running_term);
    arena_init(&term->arena, 0);
    term->kind = kind;
    term->text = arena_dup(&term->arena, buf_str(&t->text));
    affinity_term_copy(from, &term->arena, &term->term);
    map_put(&t->by_text, term->text, term);
    add_to_key(t, term);
    if (is_carried(t, term))
        file(t, term);
    return term;
}

static void remove_term(struct affinity_terms *t, struct running_term *term)
{
    if (is_carried(t, term))
        unfile(t, term);
    drop_from_key(t, term);
    map_del(&t->by_text, term->text);
    free_term(term);
}

static void move_term(struct affinity_terms *t, enum affinity_kind kind,
                      const struct affinity_term *from, uint32_t slot, int sign)
{
    if (from->pods.selector.nothing)
        return; /* it selects no pod */
    struct running_term *term = map_get(&t->by_text, text_of(t, kind, from));
    if (!term) {
        assert(sign > 0); /* a pod is added before it is removed */
        term = add_term(t, kind, from);
    }
    INVARIANT(sign > 0 || (term->n > 0 && slot_counts_at(&term->pods, slot) > 0));
    slot_counts_add(&term->pods, slot, sign);
    term->n = sign > 0 ? term->n + 1 : term->n - 1;
    if (!term->n)
        remove_term(t, term);
}

void affinity_terms_moved(struct affinity_terms *t, const struct berth_pod *pod,
                          const struct berth_node *node, int sign)
{
    if (!pod->affinity)
        return;
    t->changes++;
    for (int kind = 0; kind < AFFINITY_KINDS; kind++)
        for (size_t i = 0; i < pod->affinity->of[kind].n; i++)
            move_term(t, (enum affinity_kind)kind, &pod->affinity->of[kind].v[i], node->slot, sign);
}

/* --- lookup ----------------------------------------------------------------------------------- */

static void look_into(struct affinity_terms *t, const struct address *a,
                      const struct object_meta *pod, const str_map *namespace_labels,
                      running_terms *ret_terms)
{
    const struct affinity_bucket *b = map_get(&t->buckets, key_of(t, a));
    for (size_t i = 0; b && i < b->terms.n; i++)
        if (affinity_term_matches(&b->terms.v[i].term->term, pod, namespace_labels))
            vec_push(ret_terms, b->terms.v[i].term);
}

void affinity_terms_find(struct affinity_terms *t, enum affinity_role role,
                         const struct object_meta *pod, const str_map *namespace_labels,
                         running_terms *ret_terms)
{
    const struct str *const namespaces[] = {&pod->namespace, NULL};
    if (!t->n[role])
        return;
    for (size_t k = 0; k < ARRAY_LEN(namespaces); k++) {
        struct address a = {.role = role, .namespace = namespaces[k]};
        look_into(t, &a, pod, namespace_labels, ret_terms);
        for (size_t i = 0; i < pod->labels.n; i++) {
            a.label = &pod->labels.v[i].key;
            a.value = &pod->labels.v[i].value;
            look_into(t, &a, pod, namespace_labels, ret_terms);
        }
    }
}
