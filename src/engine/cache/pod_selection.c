/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cache/pod_selection.h"

#include "base/buf.h"

/* --- matching --------------------------------------------------------------------------------- */

static bool term_takes(const struct pod_term *term, const struct object_meta *meta)
{
    return (term->any_namespace ||
            str_sorted_has(term->namespaces.v, term->namespaces.n, meta->namespace)) &&
           selector_matches(&term->selector, &meta->labels);
}

bool pod_selection_takes(const struct pod_selection *s, const struct object_meta *meta)
{
    if (s->without_terminating && meta->deletion_timestamp.set)
        return false;
    for (size_t i = 0; i < s->terms.n; i++)
        if (!term_takes(&s->terms.v[i], meta))
            return false;
    return true;
}

bool pod_selection_matches(const struct pod_selection *s, const struct berth_pod *pod)
{
    return pod_selection_takes(s, &pod->pod->metadata);
}

/* --- copies ----------------------------------------------------------------------------------- */

static struct str *copy_strings(struct arena *a, const struct str *v, size_t n)
{
    struct str *copy = arena_array(a, struct str, n);
    for (size_t i = 0; i < n; i++)
        copy[i] = arena_dup(a, v[i]);
    return copy;
}

static void copy_selector(const struct selector *s, struct arena *a, struct selector *copy)
{
    size_t n = s->requirements.n;
    struct requirement *rs = arena_array(a, struct requirement, n);
    for (size_t i = 0; i < n; i++) {
        rs[i] = s->requirements.v[i];
        rs[i].key = arena_dup(a, rs[i].key);
        rs[i].values.v = copy_strings(a, rs[i].values.v, rs[i].values.n);
    }
    *copy = (struct selector){.requirements = {rs, n}, .nothing = s->nothing};
}

void pod_selection_copy(const struct pod_selection *s, struct arena *a,
                        struct pod_selection *ret_copy)
{
    struct pod_term *terms = arena_array(a, struct pod_term, s->terms.n);
    for (size_t i = 0; i < s->terms.n; i++) {
        const struct pod_term *from = &s->terms.v[i];
        terms[i].any_namespace = from->any_namespace;
        terms[i].namespaces.n = from->namespaces.n;
        terms[i].namespaces.v = copy_strings(a, from->namespaces.v, from->namespaces.n);
        copy_selector(&from->selector, a, &terms[i].selector);
    }
    *ret_copy = (struct pod_selection){
        .terms = {terms, s->terms.n},
        .without_terminating = s->without_terminating,
    };
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* Operators that differ only in spelling are written alike. */
static enum selector_op plain_op(enum selector_op op)
{
    switch (op) {
    case SELECTOR_EQUALS:
    case SELECTOR_DOUBLE_EQUALS:
        return SELECTOR_IN;
    case SELECTOR_NOT_EQUALS:
        return SELECTOR_NOT_IN;
    default:
        return op;
    }
}

static void write_size(struct buf *out, size_t n)
{
    buf_add(out, &n, sizeof(n));
}

static void write_text(struct buf *out, struct str s)
{
    write_size(out, s.n);
    buf_add_str(out, s);
}

static void write_term(const struct pod_term *term, struct buf *out)
{
    buf_add_char(out, (char)(term->any_namespace | term->selector.nothing << 1));
    write_size(out, term->namespaces.n);
    for (size_t i = 0; i < term->namespaces.n; i++)
        write_text(out, term->namespaces.v[i]);
    write_size(out, term->selector.requirements.n);
    for (size_t i = 0; i < term->selector.requirements.n; i++) {
        const struct requirement *r = &term->selector.requirements.v[i];
        buf_add_char(out, (char)plain_op(r->op));
        write_text(out, r->key);
        write_size(out, r->values.n);
        for (size_t k = 0; k < r->values.n; k++)
            write_text(out, r->values.v[k]);
    }
}

void pod_selection_write(const struct pod_selection *s, struct buf *out)
{
    buf_add_char(out, (char)s->without_terminating);
    for (size_t i = 0; i < s->terms.n; i++)
        write_term(&s->terms.v[i], out);
}

/* --- sieve ------------------------------------------------------------------------------------ */

static uint64_t bit_of(struct str key, struct str value)
{
    return (uint64_t)1 << (hash_u64(str_hash(key) ^ hash_u64(str_hash(value))) >> 58);
}

uint64_t labels_sieve(const str_map *labels)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < labels->n; i++)
        bits |= bit_of(labels->v[i].key, labels->v[i].value);
    return bits;
}

uint64_t pod_selection_sieve(const struct pod_selection *s)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < s->terms.n; i++)
        for (size_t k = 0; k < s->terms.v[i].selector.requirements.n; k++) {
            const struct requirement *r = &s->terms.v[i].selector.requirements.v[k];
            if (plain_op(r->op) == SELECTOR_IN && r->values.n == 1)
                bits |= bit_of(r->key, r->values.v[0]);
        }
    return bits;
}
