/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/explain/attempt_record.h"

#include "engine/framework/setup.h"

/* Verdicts that differ are few; those further back than this are written down again. */
#define SAME_VERDICT_SEARCH 64

/* --- packing ---------------------------------------------------------------------------------- */

/* Where the next part goes: behind the struct, in a buffer that has room for all there can be. */
struct packer {
    char *start, *at;
};

static uint32_t begin_part(struct packer *p, size_t align)
{
    while ((size_t)(p->at - p->start) % align)
        *p->at++ = '\0';
    return (uint32_t)(p->at - p->start);
}

static uint32_t add_part(struct packer *p, const void *data, size_t n, size_t align)
{
    uint32_t at = begin_part(p, align);
    if (n)
        memcpy(p->at, data, n);
    p->at += n;
    return at;
}

/* Seven bits a byte, the low ones first; NUMBER_MAX bytes at most. */
#define NUMBER_MAX 10

static void add_number(struct packer *p, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *p->at++ = (char)(value | 128);
    *p->at++ = (char)value;
}

static uint64_t read_number(const struct attempt_record *e, size_t *at)
{
    const uint8_t *p = (const uint8_t *)e;
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        uint8_t byte = p[(*at)++];
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static uint8_t width_for(uint64_t range)
{
    if (range <= UINT16_MAX)
        return range <= UINT8_MAX ? 1 : 2;
    return range <= UINT32_MAX ? 4 : 8;
}

/* The differences from low, in the narrowest type that holds them all. */
#define NARROW(type)                                        \
    do {                                                    \
        type *to = (type *)(void *)p->at;                   \
        for (size_t i = 0; i < n; i++)                      \
            to[i] = (type)((uint64_t)v[i] - (uint64_t)low); \
    } while (0)

/* The smallest of v, and how far the largest is from it. Numbers that are not negative, as nearly
 * all are, count from 0: that takes a pass of or's instead of comparisons. */
static int64_t base_of(const int64_t *v, size_t n, uint64_t *ret_range)
{
    uint64_t all = 0;
    int64_t low = v[0], high = v[0];
    for (size_t i = 0; i < n; i++)
        all |= (uint64_t)v[i];
    *ret_range = all;
    if (all <= INT64_MAX)
        return 0;
    for (size_t i = 1; i < n; i++) {
        low = MIN(low, v[i]);
        high = MAX(high, v[i]);
    }
    *ret_range = (uint64_t)high - (uint64_t)low;
    return low;
}

static struct packed_ints pack(struct packer *p, const int64_t *v, size_t n)
{
    uint64_t range;
    if (n <= 1 || memcmp(v, v + 1, (n - 1) * sizeof(*v)) == 0)
        return (struct packed_ints){.base = v[0]};
    int64_t low = base_of(v, n, &range);
    uint8_t width = width_for(range);
    struct packed_ints ints = {.base = low, .width = width, .at = begin_part(p, width)};
    if (width == 1)
        NARROW(uint8_t);
    else if (width == 2)
        NARROW(uint16_t);
    else if (width == 4)
        NARROW(uint32_t);
    else
        NARROW(uint64_t);
    p->at += n * width;
    return ints;
}

static int64_t unpack(const struct attempt_record *e, const struct packed_ints *ints, size_t i)
{
    uint64_t rest = 0;
    /* The low bytes come first on the machines we run on. */
    memcpy(&rest, (const char *)e + ints->at + i * ints->width, ints->width);
    return (int64_t)((uint64_t)ints->base + rest);
}

static struct attempt_record_score take_score(const struct plugin_scores *from, size_t n,
                                              struct packer *p)
{
    struct attempt_record_score s = {
        .weight = from->handle->weight, .plugin = from->handle->id, .has_raw = from->raw != NULL};
    if (from->normalized)
        s.normalized = (struct packed_ints){.width = 1, .at = add_part(p, from->normalized, n, 1)};
    else
        s.normalized.base = from->scores[0];
    if (from->raw)
        s.raw = pack(p, from->raw, n);
    return s;
}

static void take_scores(const struct berth_cycle *c, struct attempt_record *e, struct packer *p)
{
    struct attempt_record_score scores[2 * FRAMEWORK_MAX_PLUGINS];
    size_t k = 0;
    for (size_t i = 0; i < c->plugin_scores.n; i++)
        scores[k++] = take_score(&c->plugin_scores.v[i], c->n_slots, p);
    for (size_t i = 0; i < c->extender_scores.n; i++) {
        const struct extender_scores *from = &c->extender_scores.v[i];
        const struct engine_extender *x = &c->profile->setup->extenders.v[from->extender];
        if (from->scores)
            scores[k++] = (struct attempt_record_score){.raw = pack(p, from->scores, c->n_slots),
                                                        .weight = x->spec.weight,
                                                        .plugin = x->id,
                                                        .is_extender = true,
                                                        .has_raw = true};
    }
    e->n_scores = (uint32_t)k;
    e->scores = add_part(p, scores, k * sizeof(*scores), _Alignof(struct attempt_record_score));
}

/* Its place among the verdicts, each of which is written down once or nearly so. */
static size_t place_of(const struct verdict *v, struct verdict *known, size_t *n)
{
    for (size_t i = *n; i-- > 0 && *n - i <= SAME_VERDICT_SEARCH;)
        if (verdict_eq(&known[i], v))
            return i;
    known[*n] = *v;
    return (*n)++;
}

static void take_verdicts(const struct berth_cycle *c, struct attempt_record *e, struct packer *p)
{
    const struct attempt_buffers *s = &c->cycles->buffers;
    if (!s->runs.n)
        return;
    e->passed = add_part(p, s->passed, BITSET_WORDS((size_t)e->n_looked_at) * sizeof(uint64_t),
                         _Alignof(uint64_t));
    /* They come to stand behind the runs; until those are known, as far back as they can be. */
    struct verdict *known =
        (struct verdict *)(p->at + (2 * NUMBER_MAX * s->runs.n & ~(sizeof(*known) - 1)) +
                           sizeof(*known));
    size_t n = 0;
    e->runs = begin_part(p, 1);
    for (size_t i = 0; i < s->runs.n; i++) {
        add_number(p, place_of(&s->runs.v[i].verdict, known, &n));
        add_number(p, s->runs.v[i].n);
    }
    e->verdicts = begin_part(p, _Alignof(struct verdict));
    memmove(p->at, known, n * sizeof(*known));
    p->at += n * sizeof(*known);
}

static void take_pre_filter(const struct berth_cycle *c, struct attempt_record *e, struct packer *p)
{
    e->n_pre_filter = (uint32_t)c->pre_filter.n;
    e->pre_filter = begin_part(p, 1);
    for (size_t i = 0; i < c->pre_filter.n; i++) {
        const struct pre_filter_verdict *v = &c->pre_filter.v[i];
        add_number(p, v->plugin);
        *p->at++ = (char)v->code;
        *p->at++ = (char)v->n_reasons;
        for (size_t k = 0; k < v->n_reasons; k++) {
            add_number(p, v->reasons[k].n);
            add_part(p, v->reasons[k].p, v->reasons[k].n, 1);
        }
    }
}

/* An upper bound of what all parts take. */
static size_t room_for(const struct berth_cycle *c)
{
    const struct attempt_buffers *s = &c->cycles->buffers;
    size_t n_scores = c->plugin_scores.n + c->extender_scores.n;
    size_t looked_at = c->n_slots + c->n_failed;
    size_t room = sizeof(struct attempt_record) + 64; /* for aligning */
    room += c->n_nodes * sizeof(uint32_t);
    room +=
        n_scores * (sizeof(struct attempt_record_score) + c->n_slots * (1 + sizeof(int64_t)) + 16);
    room += BITSET_WORDS(looked_at) * sizeof(uint64_t);
    room += s->runs.n * (2 * NUMBER_MAX + sizeof(struct verdict));
    for (size_t i = 0; i < c->pre_filter.n; i++) {
        room += NUMBER_MAX + 2;
        for (size_t k = 0; k < c->pre_filter.v[i].n_reasons; k++)
            room += NUMBER_MAX + c->pre_filter.v[i].reasons[k].n;
    }
    return room;
}

void attempt_record_take(const struct berth_cycle *c, struct buf *out)
{
    buf_clear(out);
    buf_reserve(out, room_for(c));
    struct packer p = {.start = out->p, .at = out->p + sizeof(struct attempt_record)};
    struct attempt_record *e = (struct attempt_record *)out->p;
    *e = (struct attempt_record){.names = c->names,
                                 .n_all = (uint32_t)c->n_all,
                                 .n_candidates = (uint32_t)c->n_nodes,
                                 .start = (uint32_t)c->start,
                                 .n_looked_at = (uint32_t)(c->n_slots + c->n_failed),
                                 .n_passed = (uint32_t)c->n_slots};
    if (c->only_some)
        e->candidates =
            add_part(&p, c->candidates, c->n_nodes * sizeof(uint32_t), _Alignof(uint32_t));
    take_scores(c, e, &p);
    take_verdicts(c, e, &p);
    take_pre_filter(c, e, &p);
    out->n = begin_part(&p, _Alignof(struct attempt_record));
    e->size = out->n;
}

/* --- reading ---------------------------------------------------------------------------------- */

static const void *part(const struct attempt_record *e, uint32_t at)
{
    return (const char *)e + at;
}

static struct str name_of(const struct attempt_record *e, size_t i)
{
    size_t at = (e->start + i) % e->n_candidates;
    const uint32_t *slots = e->candidates ? part(e, e->candidates) : e->names->order;
    return node_names_name(e->names, slots[at]);
}

bool attempt_record_next(struct attempt_record_reader *r, struct str *ret_name,
                         struct verdict *ret_verdict)
{
    const struct attempt_record *e = r->record;
    size_t i = r->i++;
    if (i >= e->n_looked_at)
        return false;
    *ret_name = name_of(e, i);
    *ret_verdict = (struct verdict){.plugin = VERDICT_NOBODY};
    if (!e->passed || word_bit(part(e, e->passed), i))
        return true;
    if (!r->left) {
        r->at = r->at ? r->at : e->runs;
        r->last = ((const struct verdict *)part(e, e->verdicts))[read_number(e, &r->at)];
        r->left = read_number(e, &r->at);
    }
    r->left--;
    *ret_verdict = r->last;
    return true;
}

const struct attempt_record_score *attempt_record_score(const struct attempt_record *e, size_t k)
{
    return (const struct attempt_record_score *)part(e, e->scores) + k;
}

int64_t attempt_record_normalized(const struct attempt_record *e,
                                  const struct attempt_record_score *s, size_t i)
{
    return unpack(e, &s->normalized, i);
}

int64_t attempt_record_raw(const struct attempt_record *e, const struct attempt_record_score *s,
                           size_t i)
{
    return unpack(e, s->has_raw ? &s->raw : &s->normalized, i);
}

bool attempt_record_next_pre_filter(struct attempt_record_pre_filter *p)
{
    const struct attempt_record *e = p->record;
    if (p->i++ >= e->n_pre_filter)
        return false;
    p->at = p->at ? p->at : e->pre_filter;
    p->plugin = (uint16_t)read_number(e, &p->at);
    p->code = ((const uint8_t *)e)[p->at++];
    p->n_reasons = ((const uint8_t *)e)[p->at++];
    return true;
}

struct str attempt_record_next_reason(struct attempt_record_pre_filter *p)
{
    size_t n = (size_t)read_number(p->record, &p->at);
    struct str text = {(const char *)p->record + p->at, n};
    p->at += n;
    return text;
}
