/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser keeps its own stack of open groups: the depth of an expression does not use the
 * machine's. Errors and their order are those of Go's regexp/syntax with its Perl flags.
 */
#include "cel/regex/parse.h"

int parse_fail(struct parser *p, const char *what, struct str part)
{
    *p->error = (struct regex_error){what, part};
    return -EINVAL;
}

struct str parse_since(const struct parser *p, struct str from)
{
    return str_slice(from, 0, from.n - p->rest.n);
}

int parse_rune(struct parser *p, uint32_t *ret_rune)
{
    struct str begin = p->rest;
    *ret_rune = str_next_rune(&p->rest);
    return *ret_rune == STR_BAD_RUNE ? parse_fail(p, "invalid UTF-8", begin) : 0;
}

int parse_check_utf8(struct parser *p, struct str text)
{
    while (text.n > 0) {
        struct str begin = text;
        if (str_next_rune(&text) == STR_BAD_RUNE)
            return parse_fail(p, "invalid UTF-8", begin);
    }
    return 0;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static struct node *new_node(struct parser *p, enum node_op op, struct node **sub, size_t n)
{
    struct node *node = arena_new(p->a, struct node);
    node->op = op;
    node->sub = sub;
    node->n_sub = n;
    node->copies = 1;
    return node;
}

static struct node *new_unary(struct parser *p, enum node_op op, struct node *sub)
{
    struct node **v = arena_array(p->a, struct node *, 1);
    v[0] = sub;
    return new_node(p, op, v, 1);
}

/* What repetition makes of size and copies. */
static void measure_repeat(struct node *node, const struct node *sub)
{
    uint64_t min = (uint64_t)node->min, max = node->max < 0 ? min : (uint64_t)node->max;
    if (node->max < 0)
        node->size = min == 0 ? 2 + sub->size : 1 + min * sub->size;
    else
        node->size = max * sub->size + (max - min);
    node->copies = node->max == 0 ? 1 : sub->copies * (uint32_t)MAX(max, 1);
    node->nullable = min == 0 || sub->nullable;
}

/* Fills in height, size, copies and nullable from the nodes below; checks the limits. */
static int measure(struct parser *p, struct node *node)
{
    bool all = true, any = false;
    uint32_t height = 0;
    node->size = 0;
    for (size_t i = 0; i < node->n_sub; i++) {
        const struct node *sub = node->sub[i];
        height = MAX(height, sub->height);
        node->size += sub->size;
        node->copies = MAX(node->copies, sub->copies);
        all = all && sub->nullable;
        any = any || sub->nullable;
    }
    node->height = height + 1;
    node->nullable = all;
    switch (node->op) {
    case NODE_LITERAL:
        node->size = node->n_runes;
        node->nullable = false;
        break;
    case NODE_CLASS:
        node->nullable = false;
        break;
    case NODE_CAPTURE:
        node->size += 2;
        break;
    case NODE_STAR:
        node->size += 2;
        node->nullable = true;
        break;
    case NODE_PLUS:
        node->size += 1;
        break;
    case NODE_QUEST:
        node->size += 1;
        node->nullable = true;
        break;
    case NODE_REPEAT:
        measure_repeat(node, node->sub[0]);
        break;
    case NODE_ALTERNATE:
        node->size += node->n_sub - 1;
        node->nullable = any;
        break;
    case NODE_EMPTY:
    case NODE_EDGE:
    case NODE_CONCAT:
        break;
    }
    node->size = MAX(node->size, 1);
    if (node->size > REGEX_SIZE_MAX || p->runes > REGEX_RUNES_MAX)
        return parse_fail(p, "expression too large", p->whole);
    if (node->height > REGEX_HEIGHT_MAX)
        return parse_fail(p, "expression nests too deeply", p->whole);
    return 0;
}

/* --- items: the current concatenation --------------------------------------------------------- */

static struct parse_group *group(struct parser *p)
{
    return &vec_last(&p->groups);
}

static void append_runes(struct parser *p, struct node *to, const struct node *from)
{
    if (to->n_runes + from->n_runes > to->cap_runes) {
        size_t cap = MAX(to->n_runes + from->n_runes, 2 * to->cap_runes);
        uint32_t *runes = arena_array(p->a, uint32_t, cap);
        memcpy(runes, to->runes, to->n_runes * sizeof(*runes));
        to->runes = runes;
        to->cap_runes = cap;
    }
    memcpy(to->runes + to->n_runes, from->runes, from->n_runes * sizeof(*to->runes));
    to->n_runes += from->n_runes;
}

/*
 * Joins the last two items if both are literals. This happens when something follows them: before
 * that, a repetition may still take the last one.
 */
static int join_literals(struct parser *p)
{
    if (p->items.n < group(p)->items + 2)
        return 0;
    struct node *last = vec_last(&p->items), *before = p->items.v[p->items.n - 2];
    if (last->op != NODE_LITERAL || before->op != NODE_LITERAL || last->fold != before->fold)
        return 0;
    append_runes(p, before, last);
    p->items.n--;
    return measure(p, before);
}

static int push(struct parser *p, struct node *node)
{
    int r = measure(p, node);
    if (r == 0)
        r = join_literals(p);
    if (r < 0)
        return r;
    vec_push(&p->items, node);
    return 0;
}

static int push_literal(struct parser *p, uint32_t rune)
{
    struct node *node = new_node(p, NODE_LITERAL, NULL, 0);
    node->fold = (p->flags & FLAG_FOLD) && rune_fold(rune) != rune;
    node->runes = arena_array(p->a, uint32_t, 1);
    node->runes[0] = rune;
    node->n_runes = node->cap_runes = 1;
    return push(p, node);
}

static int push_edge(struct parser *p, uint32_t edge)
{
    struct node *node = new_node(p, NODE_EDGE, NULL, 0);
    node->arg = edge;
    return push(p, node);
}

/* Takes the set's ranges; the set is released. */
static struct node *new_class(struct parser *p, struct rune_set *set)
{
    struct node *node = new_node(p, NODE_CLASS, NULL, 0);
    rune_set_clean(set);
    node->n_ranges = set->n;
    node->ranges = arena_array(p->a, struct rune_range, set->n);
    if (set->n > 0)
        memcpy(node->ranges, set->v, set->n * sizeof(*set->v));
    p->runes += 2 * set->n;
    vec_release(set);
    return node;
}

static int push_dot(struct parser *p)
{
    struct rune_set set = {0};
    if (p->flags & FLAG_DOT_NL) {
        rune_set_add(&set, 0, RUNE_MAX);
    } else {
        rune_set_add(&set, 0, '\n' - 1);
        rune_set_add(&set, '\n' + 1, RUNE_MAX);
    }
    return push(p, new_class(p, &set));
}

/* --- groups and alternatives ------------------------------------------------------------------ */

/* Ends the concatenation of the innermost group and returns it as one node. */
static int end_concat(struct parser *p, struct node **ret_node)
{
    int r = join_literals(p);
    if (r < 0)
        return r;
    size_t from = group(p)->items, n = p->items.n - from;
    struct node *node;
    if (n == 1) {
        node = p->items.v[from];
    } else {
        struct node **sub = arena_array(p->a, struct node *, n);
        if (n > 0)
            memcpy(sub, p->items.v + from, n * sizeof(*sub));
        node = new_node(p, n == 0 ? NODE_EMPTY : NODE_CONCAT, sub, n);
        r = measure(p, node);
    }
    p->items.n = from;
    *ret_node = node;
    return r;
}

static int end_alternative(struct parser *p)
{
    struct node *node;
    int r = end_concat(p, &node);
    if (r == 0)
        vec_push(&p->alternatives, node);
    return r;
}

/* Ends the innermost group, which stays on the stack, and returns it as one node. */
static int end_alternate(struct parser *p, struct node **ret_node)
{
    int r = end_alternative(p);
    if (r < 0)
        return r;
    size_t from = group(p)->alternatives, n = p->alternatives.n - from;
    *ret_node = p->alternatives.v[from];
    if (n > 1) {
        struct node **sub = arena_array(p->a, struct node *, n);
        memcpy(sub, p->alternatives.v + from, n * sizeof(*sub));
        *ret_node = new_node(p, NODE_ALTERNATE, sub, n);
        r = measure(p, *ret_node);
    }
    p->alternatives.n = from;
    return r;
}

static void begin_group(struct parser *p, uint32_t capture)
{
    vec_push(&p->groups, (struct parse_group){
                             .items = p->items.n,
                             .alternatives = p->alternatives.n,
                             .capture = capture,
                             .flags = p->flags,
                         });
}

static int end_group(struct parser *p)
{
    struct node *node;
    int r = end_alternate(p, &node);
    if (r < 0)
        return r;
    if (p->groups.n == 1)
        return parse_fail(p, "unexpected )", p->whole);
    struct parse_group done = vec_pop(&p->groups);
    p->flags = done.flags;
    if (done.capture > 0) {
        node = new_unary(p, NODE_CAPTURE, node);
        node->arg = done.capture;
    }
    return push(p, node);
}

static int parse_group_name(struct parser *p, struct str begin, size_t name_at)
{
    size_t end = str_find(begin, '>');
    if (end == begin.n) {
        int r = parse_check_utf8(p, begin);
        return r < 0 ? r : parse_fail(p, "invalid named capture", begin);
    }
    struct str name = str_slice(begin, name_at, end);
    int r = parse_check_utf8(p, name);
    if (r < 0)
        return r;
    bool valid = name.n > 0;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        valid = valid && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '_');
    }
    if (!valid)
        return parse_fail(p, "invalid named capture", str_slice(begin, 0, end + 1));
    p->rest = str_slice(begin, end + 1, begin.n);
    begin_group(p, ++p->captures);
    return 0;
}

/* (?i), (?i-s:...), (?:...): 1 if it is not valid. */
static int parse_flags(struct parser *p)
{
    unsigned on = 0, off = 0;
    bool minus = false, seen = false;
    while (p->rest.n > 0) {
        uint32_t c;
        unsigned flag = 0;
        int r = parse_rune(p, &c);
        if (r < 0)
            return r;
        switch (c) {
        case 'i':
            flag = FLAG_FOLD;
            break;
        case 'm':
            flag = FLAG_MULTILINE;
            break;
        case 's':
            flag = FLAG_DOT_NL;
            break;
        case 'U':
            flag = FLAG_LAZY;
            break;
        case '-':
            if (minus)
                return 1;
            minus = true;
            seen = false;
            continue;
        case ':':
        case ')':
            if (minus && !seen)
                return 1;
            if (c == ':')
                begin_group(p, 0);
            p->flags = ((p->flags | on) & ~off);
            return 0;
        default:
            return 1;
        }
        seen = true;
        if (minus)
            off |= flag;
        else
            on |= flag;
    }
    return 1;
}

static int parse_open(struct parser *p)
{
    struct str begin = p->rest;
    if (begin.n < 2 || begin.p[1] != '?') {
        p->rest = str_slice(begin, 1, begin.n);
        begin_group(p, ++p->captures);
        return 0;
    }
    if (begin.n > 4 && begin.p[2] == 'P' && begin.p[3] == '<')
        return parse_group_name(p, begin, 4);
    if (begin.n > 3 && begin.p[2] == '<')
        return parse_group_name(p, begin, 3);
    p->rest = str_slice(begin, 2, begin.n);
    int r = parse_flags(p);
    return r == 1 ? parse_fail(p, "invalid or unsupported Perl syntax", parse_since(p, begin)) : r;
}

/* --- repetition ------------------------------------------------------------------------------- */

/*
 * Applies a repetition to the last item. `before` begins with the operator, which has been read;
 * `last` with the one directly before it, if there is one.
 */
static int repeat(struct parser *p, struct node *node, struct str before, struct str last)
{
    node->lazy = p->flags & FLAG_LAZY;
    if (p->rest.n > 0 && p->rest.p[0] == '?') {
        p->rest = str_slice(p->rest, 1, p->rest.n);
        node->lazy = !node->lazy;
    }
    if (last.p)
        return parse_fail(p, "invalid nested repetition operator", parse_since(p, last));
    if (p->items.n == group(p)->items)
        return parse_fail(p, "missing argument to repetition operator", parse_since(p, before));
    struct node **item = &vec_last(&p->items);
    node->sub = arena_array(p->a, struct node *, 1);
    node->sub[0] = *item;
    node->n_sub = 1;
    int r = measure(p, node);
    if (r < 0)
        return r;
    *item = node;
    if (node->op == NODE_REPEAT && (node->min >= 2 || node->max >= 2) &&
        node->copies > REGEX_REPEAT_MAX)
        return parse_fail(p, "invalid repeat count", parse_since(p, before));
    return 0;
}

static bool is_digit(struct str s)
{
    return s.n > 0 && s.p[0] >= '0' && s.p[0] <= '9';
}

/* A number without leading zeros; more than 1000 is enough to know. */
static bool parse_count(struct str *s, int *ret_count)
{
    if (!is_digit(*s) || (s->p[0] == '0' && is_digit(str_slice(*s, 1, s->n))))
        return false;
    int value = 0;
    while (is_digit(*s)) {
        value = MIN(value * 10 + (s->p[0] - '0'), REGEX_REPEAT_MAX + 1);
        *s = str_slice(*s, 1, s->n);
    }
    *ret_count = value;
    return true;
}

/* {2}, {2,} or {2,3}. Anything else is a literal. */
static bool parse_counts(struct str *s, int *ret_min, int *ret_max)
{
    struct str t = str_slice(*s, 1, s->n);
    if (!parse_count(&t, ret_min) || t.n == 0)
        return false;
    *ret_max = *ret_min;
    if (t.p[0] == ',') {
        t = str_slice(t, 1, t.n);
        if (t.n == 0)
            return false;
        if (t.p[0] == '}')
            *ret_max = -1;
        else if (!parse_count(&t, ret_max))
            return false;
    }
    if (t.n == 0 || t.p[0] != '}')
        return false;
    *s = str_slice(t, 1, t.n);
    return true;
}

/* ret_last: the operator, if there was one. */
static int parse_repeat(struct parser *p, struct str last, struct str *ret_last)
{
    struct str before = p->rest;
    struct node *node = new_node(p, NODE_REPEAT, NULL, 0);
    switch (before.p[0]) {
    case '*':
        node->op = NODE_STAR;
        break;
    case '+':
        node->op = NODE_PLUS;
        break;
    case '?':
        node->op = NODE_QUEST;
        break;
    default:
        if (!parse_counts(&p->rest, &node->min, &node->max)) {
            p->rest = str_slice(before, 1, before.n);
            return push_literal(p, '{');
        }
        if (node->min > REGEX_REPEAT_MAX || node->max > REGEX_REPEAT_MAX ||
            (node->max >= 0 && node->min > node->max))
            return parse_fail(p, "invalid repeat count", parse_since(p, before));
        break;
    }
    if (node->op != NODE_REPEAT)
        p->rest = str_slice(before, 1, before.n);
    *ret_last = before;
    return repeat(p, node, before, last);
}

/* --- everything ------------------------------------------------------------------------------- */

/* \Q...\E */
static int parse_quoted(struct parser *p)
{
    struct str text = str_slice(p->rest, 2, p->rest.n);
    size_t end = str_search(text, STR("\\E"));
    struct str after = str_slice(text, end + 2, text.n);
    p->rest = str_slice(text, 0, end);
    while (p->rest.n > 0) {
        uint32_t rune;
        int r = parse_rune(p, &rune);
        if (r == 0)
            r = push_literal(p, rune);
        if (r < 0)
            return r;
    }
    p->rest = after;
    return 0;
}

static int parse_backslash(struct parser *p)
{
    static const struct {
        char c;
        uint32_t edge;
    } edges[] = {
        {'A', EDGE_BEGIN_TEXT}, {'z', EDGE_END_TEXT}, {'b', EDGE_WORD}, {'B', EDGE_NO_WORD}};
    struct str begin = p->rest;
    char c = begin.n >= 2 ? begin.p[1] : '\0';
    for (size_t i = 0; begin.n >= 2 && i < ARRAY_LEN(edges); i++) {
        if (c == edges[i].c) {
            p->rest = str_slice(begin, 2, begin.n);
            return push_edge(p, edges[i].edge);
        }
    }
    if (c == 'C')
        return parse_fail(p, "invalid escape sequence", str_slice(begin, 0, 2));
    if (c == 'Q')
        return parse_quoted(p);

    struct rune_set set = {0};
    bool found;
    int r = parse_class_escape(p, &set, &found);
    if (r == 0 && found)
        return push(p, new_class(p, &set));
    vec_release(&set);
    uint32_t rune;
    if (r == 0)
        r = parse_escape(p, &rune);
    return r < 0 ? r : push_literal(p, rune);
}

static int parse_one(struct parser *p, struct str last, struct str *ret_last)
{
    struct str next = str_slice(p->rest, 1, p->rest.n);
    uint32_t rune;
    int r;
    switch (p->rest.p[0]) {
    case '(':
        return parse_open(p);
    case ')':
        p->rest = next;
        return end_group(p);
    case '|':
        p->rest = next;
        return end_alternative(p);
    case '^':
        p->rest = next;
        return push_edge(p, p->flags & FLAG_MULTILINE ? EDGE_BEGIN_LINE : EDGE_BEGIN_TEXT);
    case '$':
        p->rest = next;
        return push_edge(p, p->flags & FLAG_MULTILINE ? EDGE_END_LINE : EDGE_END_TEXT);
    case '.':
        p->rest = next;
        return push_dot(p);
    case '[': {
        struct rune_set set = {0};
        r = parse_bracket(p, &set);
        if (r == 0)
            return push(p, new_class(p, &set));
        vec_release(&set);
        return r;
    }
    case '*':
    case '+':
    case '?':
    case '{':
        return parse_repeat(p, last, ret_last);
    case '\\':
        return parse_backslash(p);
    default:
        r = parse_rune(p, &rune);
        return r < 0 ? r : push_literal(p, rune);
    }
}

int regex_parse(struct str expression, struct arena *a, struct node **ret_node, size_t *ret_groups,
                struct regex_error *reterr)
{
    struct parser p = {.a = a, .whole = expression, .rest = expression, .error = reterr};
    struct str last = {0};
    int r = 0;
    begin_group(&p, 0);
    while (r == 0 && p.rest.n > 0) {
        struct str now = {0};
        r = parse_one(&p, last, &now);
        last = now;
    }
    struct node *node = NULL;
    if (r == 0)
        r = end_alternate(&p, &node);
    if (r == 0 && p.groups.n > 1)
        r = parse_fail(&p, "missing closing )", expression);
    if (r == 0) {
        *ret_node = node;
        *ret_groups = p.captures;
    }
    vec_release(&p.items);
    vec_release(&p.alternatives);
    vec_release(&p.groups);
    return r;
}
