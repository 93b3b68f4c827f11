/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All ways through the program advance over the text in step, in order of preference: each
 * instruction is in the list at most once, so a character costs at most the size of the program
 * (Thompson's construction; with positions of groups, Pike's).
 */
#include "cel/regex/syntax.h"

/* The ways that wait for a character; `at` are n_slots positions for each. */
struct ways {
    VEC(uint32_t) pc;
    VEC(size_t) at;
};

/* What remains to be followed: an instruction, or a position to restore. */
struct pending {
    uint32_t pc, slot; /* slot: UINT32_MAX for an instruction */
    size_t at;
};

struct search {
    const struct regex *re;
    struct str text;
    size_t n_slots; /* positions to keep; 0: only whether it matches */
    uint32_t *seen; /* by instruction: the step in which it was last followed */
    uint32_t step;
    size_t *slots; /* of the way that is being followed */
    VEC(struct pending) pending;
    struct ways now, next;
};

static bool is_word(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* The edges between two characters; STR_BAD_RUNE is the end of the text. */
static unsigned edges_between(uint32_t before, uint32_t after)
{
    unsigned edges = is_word(before) != is_word(after) ? EDGE_WORD : EDGE_NO_WORD;
    if (before == STR_BAD_RUNE)
        edges |= EDGE_BEGIN_TEXT | EDGE_BEGIN_LINE;
    if (before == '\n')
        edges |= EDGE_BEGIN_LINE;
    if (after == STR_BAD_RUNE)
        edges |= EDGE_END_TEXT | EDGE_END_LINE;
    if (after == '\n')
        edges |= EDGE_END_LINE;
    return edges;
}

static void add_way(struct search *s, struct ways *list, uint32_t pc)
{
    vec_push(&list->pc, pc);
    for (size_t i = 0; i < s->n_slots; i++)
        vec_push(&list->at, s->slots[i]);
}

/* Follows all instructions that read nothing, from pc at position `at`. */
static void follow(struct search *s, struct ways *list, uint32_t pc, size_t at, unsigned edges)
{
    vec_push(&s->pending, (struct pending){pc, UINT32_MAX, 0});
    while (s->pending.n > 0) {
        struct pending p = vec_pop(&s->pending);
        if (p.slot != UINT32_MAX) {
            s->slots[p.slot] = p.at;
            continue;
        }
        if (s->seen[p.pc] == s->step)
            continue;
        s->seen[p.pc] = s->step;
        const struct regex_inst *inst = &s->re->code[p.pc];
        switch (inst->op) {
        case OP_JUMP:
            vec_push(&s->pending, (struct pending){inst->out, UINT32_MAX, 0});
            break;
        case OP_SPLIT:
            vec_push(&s->pending, (struct pending){inst->arg, UINT32_MAX, 0});
            vec_push(&s->pending, (struct pending){inst->out, UINT32_MAX, 0});
            break;
        case OP_EDGE:
            if (edges & inst->arg)
                vec_push(&s->pending, (struct pending){inst->out, UINT32_MAX, 0});
            break;
        case OP_SAVE:
            if (inst->arg < s->n_slots) {
                vec_push(&s->pending, (struct pending){0, inst->arg, s->slots[inst->arg]});
                s->slots[inst->arg] = at;
            }
            vec_push(&s->pending, (struct pending){inst->out, UINT32_MAX, 0});
            break;
        case OP_RUNE:
        case OP_CLASS:
        case OP_ANY:
        case OP_ANY_NOT_NL:
        case OP_MATCH:
            add_way(s, list, p.pc);
            break;
        }
    }
}

static bool accepts(const struct regex *re, const struct regex_inst *inst, uint32_t rune)
{
    switch (inst->op) {
    case OP_RUNE:
        return rune == inst->arg;
    case OP_ANY:
        return true;
    case OP_ANY_NOT_NL:
        return rune != '\n';
    case OP_CLASS: {
        const struct regex_class *class = &re->classes[inst->arg];
        if (rune < 128)
            return class->ascii[rune / 64] >> rune % 64 & 1;
        return rune_set_has(class->v, class->n, rune);
    }
    default:
        return false;
    }
}

/* The character at a position, and its length; Go reads an invalid byte as U+FFFD. */
static uint32_t rune_at(struct str text, size_t at, size_t *ret_n)
{
    struct str rest = str_slice(text, at, text.n);
    *ret_n = 0;
    if (rest.n == 0)
        return STR_BAD_RUNE;
    uint32_t rune = str_next_rune(&rest);
    *ret_n = text.n - at - rest.n;
    return rune == STR_BAD_RUNE ? 0xFFFD : rune;
}

static uint32_t rune_before(struct str text, size_t at)
{
    size_t n, from = at;
    if (at == 0)
        return STR_BAD_RUNE;
    /* Back over at most three continuation bytes. */
    do
        from--;
    while (from > 0 && at - from < 4 && ((unsigned char)text.p[from] & 0xC0) == 0x80);
    uint32_t rune = rune_at(text, from, &n);
    return from + n == at ? rune : 0xFFFD;
}

/*
 * Steps over one character. Returns true if a way matches before it is read: its positions are
 * then in *ret_at, and the ways after it, which are not preferred, are dropped.
 */
static bool step_ways(struct search *s, uint32_t rune, size_t next_at, unsigned edges,
                      size_t *ret_at)
{
    for (size_t i = 0; i < s->now.pc.n; i++) {
        const struct regex_inst *inst = &s->re->code[s->now.pc.v[i]];
        if (inst->op == OP_MATCH) {
            if (s->n_slots > 0)
                memcpy(ret_at, s->now.at.v + i * s->n_slots, s->n_slots * sizeof(*ret_at));
            return true;
        }
        if (rune == STR_BAD_RUNE || !accepts(s->re, inst, rune))
            continue;
        if (s->n_slots > 0)
            memcpy(s->slots, s->now.at.v + i * s->n_slots, s->n_slots * sizeof(*s->slots));
        follow(s, &s->next, inst->out, next_at, edges);
    }
    return false;
}

static void begin_way(struct search *s, size_t at, unsigned edges)
{
    for (size_t i = 0; i < s->n_slots; i++)
        s->slots[i] = SIZE_MAX;
    if (s->n_slots > 0)
        s->slots[0] = at;
    follow(s, &s->now, 0, at, edges);
}

static bool run(struct search *s, size_t at, size_t *ret_at)
{
    bool matched = false;
    size_t n, after_n;
    uint32_t rune = rune_at(s->text, at, &n);
    unsigned edges = edges_between(rune_before(s->text, at), rune);
    s->step = 1; /* seen is zero */
    for (;;) {
        /* A match further right is not wanted once there is one. */
        if (!matched)
            begin_way(s, at, edges);
        else if (s->now.pc.n == 0)
            break;
        uint32_t after = rune_at(s->text, at + n, &after_n);
        edges = edges_between(rune, after);
        s->step++;
        if (step_ways(s, rune, at + n, edges, ret_at)) {
            matched = true;
            if (s->n_slots == 0)
                break;
            ret_at[1] = at;
        }
        if (rune == STR_BAD_RUNE)
            break;
        struct ways done = s->now;
        s->now = s->next;
        s->next = done;
        vec_clear(&s->next.pc);
        vec_clear(&s->next.at);
        at += n;
        n = after_n;
        rune = after;
    }
    return matched;
}

static bool search(const struct regex *re, struct str text, size_t from, size_t *ret_at,
                   size_t n_slots)
{
    struct search s = {.re = re, .text = text, .n_slots = n_slots};
    s.seen = xcalloc(re->n_code, sizeof(*s.seen));
    s.slots = xcalloc(MAX(n_slots, 1), sizeof(*s.slots));
    bool matched = run(&s, from, ret_at);
    vec_release(&s.pending);
    vec_release(&s.now.pc);
    vec_release(&s.now.at);
    vec_release(&s.next.pc);
    vec_release(&s.next.at);
    free(s.slots);
    free(s.seen);
    return matched;
}

bool regex_match(const struct regex *re, struct str text)
{
    return search(re, text, 0, NULL, 0);
}

bool regex_find(const struct regex *re, struct str text, size_t from, struct regex_span *ret_spans,
                size_t n)
{
    size_t *at = xcalloc(2 * n, sizeof(*at));
    bool found = search(re, text, from, at, 2 * n);
    for (size_t i = 0; found && i < n; i++)
        ret_spans[i] = (struct regex_span){at[2 * i], at[2 * i + 1]};
    free(at);
    return found;
}

bool regex_all_next(struct regex_all *all, struct regex_span *ret_span)
{
    while (all->at <= all->text.n && regex_find(all->re, all->text, all->at, ret_span, 1)) {
        bool empty = ret_span->to == ret_span->from;
        bool counts = !empty || ret_span->from + 1 != all->after;
        size_t n = 0;
        all->at = ret_span->to;
        if (empty && rune_at(all->text, ret_span->to, &n) == STR_BAD_RUNE)
            n = 1;
        all->at += n;
        all->after = ret_span->to + 1;
        if (counts)
            return true;
    }
    all->at = all->text.n + 1;
    return false;
}
