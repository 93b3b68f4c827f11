/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/evidence.h"

#include "engine/internal.h"

/* Verdicts that differ are few; those further back than this are written down again. */
#define SAME_VERDICT_SEARCH 64

/* --- packing ---------------------------------------------------------------------------------- */

/* Everything goes behind the struct in a buffer of the scratch, then into memory of its own. */
static uint32_t begin_part(struct buf *out, size_t align)
{
    while (out->n % align)
        buf_add_char(out, '\0');
    return (uint32_t)out->n;
}

static uint32_t add_part(struct buf *out, const void *data, size_t n, size_t align)
{
    uint32_t at = begin_part(out, align);
    buf_add_str(out, (struct str){data, n});
    return at;
}

static void add_number(struct buf *out, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        buf_add_char(out, (char)(value | 128));
    buf_add_char(out, (char)value);
}

static uint64_t read_number(const struct evidence *e, size_t *at)
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
    return range == 0            ? 0
           : range <= UINT8_MAX  ? 1
           : range <= UINT16_MAX ? 2
           : range <= UINT32_MAX ? 4
                                 : 8;
}

static struct packed_ints pack(struct buf *out, const int64_t *v, size_t n)
{
    int64_t low = n ? v[0] : 0, high = low;
    for (size_t i = 1; i < n; i++) {
        low = MIN(low, v[i]);
        high = MAX(high, v[i]);
    }
    struct packed_ints p = {.base = low, .width = width_for((uint64_t)high - (uint64_t)low)};
    if (!p.width)
        return p;
    p.at = begin_part(out, p.width);
    buf_reserve(out, n * p.width);
    for (size_t i = 0; i < n; i++) {
        /* The low bytes come first on the machines we run on. */
        uint64_t rest = (uint64_t)v[i] - (uint64_t)low;
        memcpy(out->p + out->n + i * p.width, &rest, p.width);
    }
    out->n += n * p.width;
    return p;
}

static int64_t unpack(const struct evidence *e, const struct packed_ints *p, size_t i)
{
    uint64_t rest = 0;
    memcpy(&rest, (const char *)e + p->at + i * p->width, p->width);
    return (int64_t)((uint64_t)p->base + rest);
}

static void take_scores(const struct berth_cycle *c, struct evidence *e, struct buf *out)
{
    struct evidence_score scores[FRAMEWORK_MAX_PLUGINS * 2];
    size_t n = c->n_slots, k = 0;
    for (size_t i = 0; i < c->plugin_scores.n; i++) {
        const struct plugin_scores *from = &c->plugin_scores.v[i];
        struct evidence_score *to = &scores[k++];
        *to = (struct evidence_score){.weight = from->handle->weight,
                                      .plugin = from->handle->id,
                                      .has_raw = from->raw != NULL};
        if (from->normalized)
            to->normalized =
                (struct packed_ints){.width = 1, .at = add_part(out, from->normalized, n, 1)};
        else
            to->normalized.base = from->scores[0];
        if (from->raw)
            to->raw = pack(out, from->raw, n);
    }
    for (size_t i = 0; i < c->extender_scores.n; i++) {
        const struct extender_scores *from = &c->extender_scores.v[i];
        const struct engine_extender *x = &c->engine->extenders.v[from->extender];
        if (!from->scores)
            continue;
        scores[k++] = (struct evidence_score){.raw = pack(out, from->scores, n),
                                              .weight = x->spec.weight,
                                              .plugin = x->id,
                                              .is_extender = true,
                                              .has_raw = true};
    }
    e->n_scores = (uint32_t)k;
    e->scores = add_part(out, scores, k * sizeof(*scores), _Alignof(struct evidence_score));
}

/* Its place among the verdicts, each of which is written down once or nearly so. */
static size_t place_of(const struct verdict *v, struct verdict *known, size_t *n)
{
    for (size_t i = *n; i-- > 0 && *n - i <= SAME_VERDICT_SEARCH;)
        if (known[i].reason == v->reason && known[i].plugin == v->plugin &&
            known[i].code == v->code)
            return i;
    known[*n] = *v;
    return (*n)++;
}

static void take_verdicts(const struct berth_cycle *c, struct evidence *e, struct buf *out)
{
    const struct scratchpad *s = &c->engine->scratch;
    if (!s->runs.n)
        return;
    size_t n = 0;
    struct verdict few[8], *known = few;
    if (s->runs.n > ARRAY_LEN(few))
        known = xcalloc(s->runs.n, sizeof(*known));
    e->passed = add_part(out, s->passed, BITSET_WORDS((size_t)e->n_looked_at) * sizeof(uint64_t),
                         _Alignof(uint64_t));
    e->runs = begin_part(out, 1);
    for (size_t i = 0; i < s->runs.n; i++) {
        add_number(out, place_of(&s->runs.v[i].verdict, known, &n));
        add_number(out, s->runs.v[i].n);
    }
    e->verdicts = add_part(out, known, n * sizeof(*known), _Alignof(struct verdict));
    if (known != few)
        free(known);
}

static void take_pre_filter(const struct berth_cycle *c, struct evidence *e, struct buf *out)
{
    e->n_pre_filter = (uint32_t)c->pre_filter.n;
    e->pre_filter = begin_part(out, 1);
    for (size_t i = 0; i < c->pre_filter.n; i++) {
        const struct pre_filter_verdict *v = &c->pre_filter.v[i];
        add_number(out, v->plugin);
        buf_add_char(out, (char)v->code);
        buf_add_char(out, (char)v->n_reasons);
        for (size_t k = 0; k < v->n_reasons; k++) {
            add_number(out, v->reasons[k].n);
            buf_add_str(out, v->reasons[k]);
        }
    }
}

struct evidence *evidence_take(const struct berth_cycle *c)
{
    struct buf *out = &c->engine->scratch.packed;
    struct evidence head = {.names = c->names,
                            .n_all = (uint32_t)c->n_all,
                            .n_candidates = (uint32_t)c->n_nodes,
                            .start = (uint32_t)c->start,
                            .n_looked_at = (uint32_t)(c->n_slots + c->n_failed),
                            .n_passed = (uint32_t)c->n_slots};
    buf_clear(out);
    add_part(out, &head, sizeof(head), 1);
    if (c->only_some)
        head.candidates =
            add_part(out, c->candidates, c->n_nodes * sizeof(uint32_t), _Alignof(uint32_t));
    take_scores(c, &head, out);
    take_verdicts(c, &head, out);
    take_pre_filter(c, &head, out);
    head.size = out->n;
    struct evidence *e = xmalloc(head.size);
    memcpy(e, out->p, head.size);
    *e = head;
    if (e->names)
        explain_nodes_ref(e->names);
    return e;
}

void evidence_free(struct evidence *e)
{
    if (!e)
        return;
    explain_nodes_unref(e->names);
    free(e);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const void *part(const struct evidence *e, uint32_t at)
{
    return (const char *)e + at;
}

static struct str name_of(const struct evidence *e, size_t i)
{
    size_t at = (e->start + i) % e->n_candidates;
    const uint32_t *slots = e->candidates ? part(e, e->candidates) : e->names->order;
    return explain_nodes_name(e->names, slots[at]);
}

bool evidence_next(struct evidence_reader *r, struct str *ret_name, struct verdict *ret_verdict)
{
    const struct evidence *e = r->evidence;
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

const struct evidence_score *evidence_score(const struct evidence *e, size_t k)
{
    return (const struct evidence_score *)part(e, e->scores) + k;
}

int64_t evidence_normalized(const struct evidence *e, const struct evidence_score *s, size_t i)
{
    return unpack(e, &s->normalized, i);
}

int64_t evidence_raw(const struct evidence *e, const struct evidence_score *s, size_t i)
{
    return unpack(e, s->has_raw ? &s->raw : &s->normalized, i);
}

bool evidence_next_pre_filter(struct evidence_pre_filter *p)
{
    const struct evidence *e = p->evidence;
    if (p->i++ >= e->n_pre_filter)
        return false;
    p->at = p->at ? p->at : e->pre_filter;
    p->plugin = (uint16_t)read_number(e, &p->at);
    p->code = ((const uint8_t *)e)[p->at++];
    p->n_reasons = ((const uint8_t *)e)[p->at++];
    return true;
}

struct str evidence_next_reason(struct evidence_pre_filter *p)
{
    size_t n = (size_t)read_number(p->evidence, &p->at);
    struct str text = {(const char *)p->evidence + p->at, n};
    p->at += n;
    return text;
}
