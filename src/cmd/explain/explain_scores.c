/* SPDX-License-Identifier: Apache-2.0 */
/* explain_scores.c - the table of scores of the nodes that passed the filters. */
#include "cmd/explain/explain_table_internal.h"

#define HEADER_LINES ((size_t)8)  /* of a plugin's name */
#define HEADER_WORD  ((size_t)14) /* longer words are broken */

struct row {
    const struct explanation_node_scores *scores;
    bool chosen;
    size_t at; /* index in the attempt */
};

struct column {
    struct str header[HEADER_LINES];
    size_t n_lines, width;
    struct str *cells; /* by row */
    bool same;         /* on all nodes, shown or not */
};

struct table {
    const struct explain_page *page;
    struct row *rows;
    size_t n_rows, n_shown;
    struct column *columns;
    size_t n_columns;
    size_t node_width, total_width;
    size_t n_best;   /* nodes with the highest total */
    struct str same; /* columns left out because all nodes have the same score */
};

/* --- rows ------------------------------------------------------------------------------------- */

static int compare_rows(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    if (a->scores->total != b->scores->total)
        return a->scores->total > b->scores->total ? -1 : 1;
    if (a->chosen != b->chosen)
        return a->chosen ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static void collect_rows(struct table *t)
{
    const struct explanation *x = t->page->x;
    t->n_rows = x->feasible.n;
    t->rows = arena_array(t->page->arena, struct row, t->n_rows);
    for (size_t i = 0; i < t->n_rows; i++)
        t->rows[i] = (struct row){.scores = &x->feasible.v[i],
                                  .chosen = explain_is_chosen(t->page, x->feasible.v[i].name),
                                  .at = i};
    qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_rows);
    while (t->n_best < t->n_rows && t->rows[t->n_best].scores->total == t->rows->scores->total)
        t->n_best++;
    t->n_shown = MIN(t->n_rows, explain_max_nodes(t->page));
    if (t->n_shown + 1 == t->n_rows)
        t->n_shown = t->n_rows;
    /* The chosen node has the highest total, unless another version of berth chose differently. */
    for (size_t i = t->n_shown; i < t->n_rows; i++)
        if (t->rows[i].chosen)
            t->rows[t->n_shown - 1] = t->rows[i];
}

/* --- columns ---------------------------------------------------------------------------------- */

/* The next word of a name in CamelCase, or the first HEADER_WORD columns of a longer one. */
static struct str next_word(struct str *rest)
{
    struct str text = *rest;
    bool lower = false;
    while (rest->n) {
        struct str before = *rest;
        uint32_t c = str_next_rune(rest);
        size_t taken = text.n - before.n;
        if ((lower && c >= 'A' && c <= 'Z') ||
            term_width(str_slice(text, 0, text.n - rest->n)) > HEADER_WORD) {
            *rest = before;
            return str_slice(text, 0, taken);
        }
        lower = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    }
    return text;
}

static void make_header(const struct table *t, struct column *column, struct str name)
{
    struct str rest = term_clean(t->page->arena, name);
    column->width = 1;
    while (rest.n && column->n_lines < HEADER_LINES) {
        struct str word = column->n_lines + 1 < HEADER_LINES ? next_word(&rest) : rest;
        column->header[column->n_lines++] = word;
        if (column->n_lines == HEADER_LINES)
            break;
        column->width = MAX(column->width, term_width(word));
    }
}

/* All nodes normally have the same plugins in the same order; do not rely on it. */
static const struct explanation_score *score_of(const struct explanation_node_scores *node,
                                                size_t at, struct str plugin)
{
    if (at < node->plugins.n && str_eq(node->plugins.v[at].name, plugin))
        return &node->plugins.v[at];
    for (size_t i = 0; i < node->plugins.n; i++)
        if (str_eq(node->plugins.v[i].name, plugin))
            return &node->plugins.v[i];
    return NULL;
}

static struct str cell_text(const struct table *t, const struct explanation_score *s)
{
    struct arena *a = t->page->arena;
    int64_t product;
    if (!s)
        return STR("-");
    bool plain = s->weight == 1 || __builtin_mul_overflow(s->normalized, s->weight, &product) ||
                 product != s->weighted;
    struct str text =
        plain ? arena_printf(a, "%lld", (long long)s->weighted)
              : arena_printf(a, "%lld*%lld", (long long)s->normalized, (long long)s->weight);
    if (t->page->options->wide && s->raw != s->normalized)
        text = arena_printf(a, "%.*s (raw %lld)", STR_ARG(text), (long long)s->raw);
    return text;
}

static void make_columns(struct table *t)
{
    const struct explanation_node_scores *first = t->rows->scores;
    t->n_columns = first->plugins.n;
    t->columns = arena_array(t->page->arena, struct column, t->n_columns);
    for (size_t i = 0; i < t->n_columns; i++) {
        struct column *c = &t->columns[i];
        struct str plugin = first->plugins.v[i].name;
        *c = (struct column){.cells = arena_array(t->page->arena, struct str, t->n_shown),
                             .same = true};
        make_header(t, c, plugin);
        for (size_t k = 0; k < t->n_rows; k++) {
            const struct explanation_score *s = score_of(t->rows[k].scores, i, plugin);
            c->same &= s && s->weighted == first->plugins.v[i].weighted;
            if (k >= t->n_shown)
                continue;
            c->cells[k] = cell_text(t, s);
            c->width = MAX(c->width, term_width(c->cells[k]));
        }
    }
}

static void measure(struct table *t)
{
    size_t node = 4, total = 5;
    for (size_t i = 0; i < t->n_shown; i++) {
        const struct explanation_node_scores *s = t->rows[i].scores;
        node = MAX(node, term_width(explain_node_name(t->page, s->name)));
        total = MAX(total, (size_t)snprintf(NULL, 0, "%lld", (long long)s->total));
    }
    t->node_width = explain_name_width(t->page, node);
    t->total_width = total;
}

/* --- writing ---------------------------------------------------------------------------------- */

static void add_header_line(const struct table *t, const struct column *const *columns, size_t n,
                            size_t below)
{
    struct buf *out = t->page->out;
    term_add_blanks(out, EXPLAIN_INDENT);
    explain_add_cell(t->page, below ? STR("") : STR("NODE"), t->node_width);
    term_add_right(out, below ? STR("") : STR("TOTAL"), t->total_width);
    for (size_t i = 0; i < n; i++) {
        const struct column *c = columns[i];
        term_add_blanks(out, EXPLAIN_GAP);
        term_add_right(out, below < c->n_lines ? c->header[c->n_lines - 1 - below] : STR(""),
                       c->width);
    }
    explain_end_row(t->page, false);
}

static void add_columns(const struct table *t, const struct column *const *columns, size_t n)
{
    struct buf *out = t->page->out;
    size_t lines = 1;
    for (size_t i = 0; i < n; i++)
        lines = MAX(lines, columns[i]->n_lines);
    while (lines--)
        add_header_line(t, columns, n, lines);
    for (size_t i = 0; i < t->n_shown; i++) {
        const struct row *row = &t->rows[i];
        explain_begin_row(t->page, row->chosen);
        explain_add_cell(t->page, explain_node_name(t->page, row->scores->name), t->node_width);
        term_add_right(out, arena_printf(t->page->arena, "%lld", (long long)row->scores->total),
                       t->total_width);
        for (size_t k = 0; k < n; k++) {
            term_add_blanks(out, EXPLAIN_GAP);
            term_add_right(out, columns[k]->cells[i], columns[k]->width);
        }
        explain_end_row(t->page, row->chosen);
    }
}

/* The number of columns that fit side by side, at least one. */
static size_t fitting(const struct table *t, const struct column *const *columns, size_t n)
{
    size_t used = EXPLAIN_INDENT + t->node_width + EXPLAIN_GAP + t->total_width, i = 0;
    size_t width = t->page->options->width;
    for (; i < n; i++) {
        used += EXPLAIN_GAP + columns[i]->width;
        if (i && width && used > width)
            break;
    }
    return i;
}

/* Equal scores do not affect the choice: if not all columns fit, these are left out. */
static void add_tables(struct table *t)
{
    const struct column **columns =
        arena_array(t->page->arena, const struct column *, MAX(t->n_columns, (size_t)1));
    struct buf same = BUF_INIT;
    size_t n = 0;
    for (size_t i = 0; i < t->n_columns; i++)
        columns[n++] = &t->columns[i];
    if (fitting(t, columns, n) < n) {
        n = 0;
        for (size_t i = 0; i < t->n_columns; i++) {
            const struct column *c = &t->columns[i];
            if (!c->same || !t->n_shown)
                columns[n++] = c;
            else
                buf_add_printf(
                    &same, "%s%.*s %.*s", same.n ? ", " : "",
                    STR_ARG(term_clean(t->page->arena, t->rows->scores->plugins.v[i].name)),
                    STR_ARG(c->cells[0]));
        }
    }
    for (size_t i = 0; i < n || i == 0;) {
        size_t fit = fitting(t, columns + i, n - i);
        if (i)
            buf_add_char(t->page->out, '\n');
        add_columns(t, columns + i, fit);
        i += MAX(fit, (size_t)1);
    }
    t->same = arena_dup(t->page->arena, buf_str(&same));
    buf_release(&same);
}

static void add_rest(const struct table *t)
{
    struct arena *a = t->page->arena;
    if (t->n_shown < t->n_rows) {
        int64_t high = t->rows[t->n_shown].scores->total,
                low = t->rows[t->n_rows - 1].scores->total;
        struct str text = arena_printf(a, "... %zu more nodes with a total of %lld",
                                       t->n_rows - t->n_shown, (long long)high);
        if (low != high)
            text = arena_printf(a, "%.*s to %lld", STR_ARG(text), (long long)low);
        explain_add_note(t->page, text);
    }
    if (t->same.n)
        explain_add_note(t->page, arena_printf(a, "The same on all nodes: %.*s", STR_ARG(t->same)));
    if (t->n_best > 1 && t->page->x->node.n)
        explain_add_note(
            t->page,
            arena_printf(a, "%zu nodes share the highest total; the choice is a tie.", t->n_best));
}

void explain_scores(const struct explain_page *p)
{
    struct table t = {.page = p};
    if (!p->x->feasible.n)
        return;
    collect_rows(&t);
    if (!t.rows->scores->plugins.n) {
        explain_add_title(p, "Scores",
                          t.n_rows == 1 ? STR("none, only one node passed the filters")
                                        : STR("none, no plugin scores this pod"));
        return;
    }
    make_columns(&t);
    measure(&t);
    explain_add_title(p, "Scores",
                      p->options->wide ? STR("normalized score * weight (raw score)")
                                       : STR("normalized score * weight"));
    add_tables(&t);
    add_rest(&t);
}
