/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each node becomes instructions that continue behind its last one. The order in which a SPLIT
 * tries its two ways is what makes a repetition greedy or lazy.
 */
#include "cel/regex/syntax.h"

struct emitter {
    struct arena *a;
    VEC(struct regex_inst) code;
    VEC(struct regex_class) classes;
};

static void emit(struct emitter *e, struct node *node);

static uint32_t here(const struct emitter *e)
{
    return (uint32_t)e->code.n;
}

static uint32_t add(struct emitter *e, enum regex_op op, uint32_t arg)
{
    uint32_t at = here(e);
    vec_push(&e->code, (struct regex_inst){.op = op, .out = at + 1, .arg = arg});
    return at;
}

/* A split whose way out is not known yet; the other way is `in`. */
static uint32_t add_split(struct emitter *e, uint32_t in, bool lazy)
{
    uint32_t at = add(e, OP_SPLIT, 0);
    *(lazy ? &e->code.v[at].arg : &e->code.v[at].out) = in;
    return at;
}

static void set_exit(struct emitter *e, uint32_t split, bool lazy, uint32_t to)
{
    *(lazy ? &e->code.v[split].out : &e->code.v[split].arg) = to;
}

static uint32_t add_class(struct emitter *e, const struct rune_range *v, size_t n)
{
    struct rune_range *copy = arena_array(e->a, struct rune_range, n);
    struct regex_class class = {.v = copy, .n = n};
    if (n > 0)
        memcpy(copy, v, n * sizeof(*v));
    for (uint32_t c = 0; c < 128; c++) {
        if (rune_set_has(v, n, c))
            class.ascii[c / 64] |= (uint64_t)1 << c % 64;
    }
    vec_push(&e->classes, class);
    return (uint32_t)e->classes.n - 1;
}

static void emit_class(struct emitter *e, struct node *node)
{
    const struct rune_range *v = node->ranges;
    size_t n = node->n_ranges;
    if (n == 1 && v[0].lo == v[0].hi) {
        add(e, OP_RUNE, v[0].lo);
    } else if (n == 1 && v[0].lo == 0 && v[0].hi == RUNE_MAX) {
        add(e, OP_ANY, 0);
    } else if (n == 2 && v[0].lo == 0 && v[0].hi == '\n' - 1 && v[1].lo == '\n' + 1 &&
               v[1].hi == RUNE_MAX) {
        add(e, OP_ANY_NOT_NL, 0);
    } else {
        /* Copies of a repetition share the class. */
        if (node->program == 0)
            node->program = add_class(e, v, n) + 1;
        add(e, OP_CLASS, node->program - 1);
    }
}

static void emit_literal(struct emitter *e, struct node *node)
{
    for (size_t i = 0; i < node->n_runes; i++) {
        uint32_t rune = node->runes[i];
        if (!node->fold) {
            add(e, OP_RUNE, rune);
            continue;
        }
        struct rune_set set = {0};
        rune_set_add(&set, rune, rune);
        rune_set_fold(&set);
        /* The classes of a literal's letters are added once, in its first copy. */
        if (node->program == 0 || i >= node->n_program) {
            uint32_t class = add_class(e, set.v, set.n);
            if (i == 0)
                node->program = class + 1;
            node->n_program = i + 1;
        }
        add(e, OP_CLASS, node->program - 1 + (uint32_t)i);
        vec_release(&set);
    }
}

/* Go's Simplify: which operator a repetition comes down to; x{2,3} is none of them. */
static enum node_op simple_op(const struct node *node)
{
    if (node->op == NODE_REPEAT) {
        if (node->max == 0)
            return NODE_EMPTY;
        if (node->max < 0 && node->min <= 1)
            return simple_op(node->sub[0]) == NODE_EMPTY ? NODE_EMPTY
                   : node->min == 0                      ? NODE_STAR
                                                         : NODE_PLUS;
        if (node->min == 1 && node->max == 1)
            return simple_op(node->sub[0]);
        return node->min == 0 ? NODE_QUEST : NODE_REPEAT;
    }
    if ((node->op == NODE_STAR || node->op == NODE_PLUS || node->op == NODE_QUEST) &&
        simple_op(node->sub[0]) == NODE_EMPTY)
        return NODE_EMPTY;
    return node->op;
}

static bool simple_lazy(const struct node *node)
{
    while (node->op == NODE_REPEAT && node->min == 1 && node->max == 1)
        node = node->sub[0];
    return node->lazy;
}

static void emit_plus(struct emitter *e, struct node *sub, bool lazy)
{
    uint32_t begin = here(e);
    emit(e, sub);
    uint32_t split = add_split(e, begin, lazy);
    set_exit(e, split, lazy, here(e));
}

/* x*, x+ or x?. A repetition of the same kind inside does the work already: (?:x*)* is x*. */
static void emit_simple(struct emitter *e, enum node_op op, struct node *sub, bool lazy)
{
    enum node_op inner = simple_op(sub);
    if (inner == NODE_EMPTY || (inner == op && simple_lazy(sub) == lazy)) {
        if (inner != NODE_EMPTY)
            emit(e, sub);
        return;
    }
    if (op == NODE_PLUS) {
        emit_plus(e, sub, lazy);
        return;
    }
    uint32_t split = add_split(e, here(e) + 1, lazy);
    if (op == NODE_QUEST) {
        emit(e, sub);
    } else if (sub->nullable) {
        /* As (?:x+)?: x may match nothing once, and then leaves the loop. */
        emit_plus(e, sub, lazy);
    } else {
        emit(e, sub);
        uint32_t jump = add(e, OP_JUMP, 0);
        e->code.v[jump].out = split;
    }
    set_exit(e, split, lazy, here(e));
}

static void emit_repeat(struct emitter *e, struct node *node)
{
    struct node *sub = node->sub[0];
    if (node->max < 0) {
        for (int i = 1; i < node->min; i++)
            emit(e, sub);
        emit_simple(e, node->min == 0 ? NODE_STAR : NODE_PLUS, sub, node->lazy);
        return;
    }
    for (int i = 0; i < node->min; i++)
        emit(e, sub);
    /* (?:x(?:x(?:x)?)?)?: all ways out lead to the same place. */
    VEC(uint32_t) splits = {0};
    for (int i = node->min; i < node->max; i++) {
        if (i == node->max - 1) {
            emit_simple(e, NODE_QUEST, sub, node->lazy);
            break;
        }
        vec_push(&splits, add_split(e, here(e) + 1, node->lazy));
        emit(e, sub);
    }
    for (size_t i = 0; i < splits.n; i++)
        set_exit(e, splits.v[i], node->lazy, here(e));
    vec_release(&splits);
}

static void emit_alternate(struct emitter *e, struct node *node)
{
    VEC(uint32_t) jumps = {0};
    for (size_t i = 0; i + 1 < node->n_sub; i++) {
        uint32_t split = add_split(e, here(e) + 1, false);
        emit(e, node->sub[i]);
        vec_push(&jumps, add(e, OP_JUMP, 0));
        set_exit(e, split, false, here(e));
    }
    emit(e, node->sub[node->n_sub - 1]);
    for (size_t i = 0; i < jumps.n; i++)
        e->code.v[jumps.v[i]].out = here(e);
    vec_release(&jumps);
}

/* The depth of the recursion is that of the tree, at most REGEX_HEIGHT_MAX. */
static void emit(struct emitter *e, struct node *node)
{
    switch (node->op) {
    case NODE_EMPTY:
        break;
    case NODE_LITERAL:
        emit_literal(e, node);
        break;
    case NODE_CLASS:
        emit_class(e, node);
        break;
    case NODE_EDGE:
        add(e, OP_EDGE, node->arg);
        break;
    case NODE_CAPTURE:
        add(e, OP_SAVE, 2 * node->arg);
        emit(e, node->sub[0]);
        add(e, OP_SAVE, 2 * node->arg + 1);
        break;
    case NODE_STAR:
    case NODE_PLUS:
    case NODE_QUEST:
        emit_simple(e, node->op, node->sub[0], node->lazy);
        break;
    case NODE_REPEAT:
        emit_repeat(e, node);
        break;
    case NODE_CONCAT:
        for (size_t i = 0; i < node->n_sub; i++)
            emit(e, node->sub[i]);
        break;
    case NODE_ALTERNATE:
        emit_alternate(e, node);
        break;
    }
}

void regex_emit(struct regex *re, struct node *tree, struct arena *a)
{
    struct emitter e = {.a = a};
    emit(&e, tree);
    add(&e, OP_MATCH, 0);
    struct regex_inst *code = arena_array(a, struct regex_inst, e.code.n);
    struct regex_class *classes = arena_array(a, struct regex_class, e.classes.n);
    memcpy(code, e.code.v, e.code.n * sizeof(*code));
    if (e.classes.n > 0)
        memcpy(classes, e.classes.v, e.classes.n * sizeof(*classes));
    re->code = code;
    re->n_code = e.code.n;
    re->classes = classes;
    vec_release(&e.code);
    vec_release(&e.classes);
}
