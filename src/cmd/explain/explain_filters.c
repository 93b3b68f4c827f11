/* SPDX-License-Identifier: Apache-2.0 */
/* explain_filters.c - the table of nodes and the filters that refused them. */
#include "cmd/explain/explain_table_internal.h"

struct row {
    struct str node;
    const struct explanation_verdict *refused; /* an attempt has the first, a survey has all */
    size_t n_refused;                          /* 0: the node passed */
    bool is_survey, chosen;
    int64_t total; /* score */
    size_t at;     /* index in the attempt */
};

/* Adjacent rows with the same verdict. */
struct group {
    const struct row *rows;
    size_t n, shown;
};

struct table {
    const struct explain_page *page;
    struct row *rows;
    size_t n_rows, n_passed;
    struct group *groups;
    size_t n_groups, n_groups_shown;
    size_t node_width, plugin_width;
};

/* --- order of rows ---------------------------------------------------------------------------- */

/* In a survey, `name` is the plugin; in an attempt it is the node. */
static struct str plugin_of(const struct row *row, size_t i)
{
    return row->is_survey ? row->refused[i].name : row->refused[i].plugin;
}

static int compare_sizes(size_t a, size_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_verdicts(const struct row *a, const struct row *b)
{
    int r = compare_sizes(a->n_refused, b->n_refused);
    for (size_t i = 0; r == 0 && i < a->n_refused; i++) {
        const explanation_texts *x = &a->refused[i].reasons, *y = &b->refused[i].reasons;
        bool x_final = str_is(a->refused[i].code, "UnschedulableAndUnresolvable");
        bool y_final = str_is(b->refused[i].code, "UnschedulableAndUnresolvable");
        r = x_final - y_final;
        if (r == 0)
            r = compare_sizes(x->n, y->n);
        if (r == 0)
            r = str_cmp(plugin_of(a, i), plugin_of(b, i));
        if (r == 0)
            r = str_cmp(a->refused[i].code, b->refused[i].code);
        for (size_t k = 0; r == 0 && k < x->n; k++)
            r = str_cmp(x->v[k], y->v[k]);
    }
    return r;
}

/*
 * Nodes that passed come first: the chosen one, then by score. Refused nodes follow, those closest
 * to passing first: fewer refusals, refusals that preemption can resolve, fewer reasons.
 */
static int compare_rows(const void *x, const void *y)
{
    const struct row *a = x, *b = y;
    int r = compare_verdicts(a, b);
    if (r == 0)
        r = b->chosen - a->chosen;
    if (r == 0)
        r = a->total > b->total ? -1 : a->total < b->total;
    return r ? r : compare_sizes(a->at, b->at);
}

static void collect_attempt(struct table *t)
{
    const struct explanation *x = t->page->x;
    size_t passed = 0;
    t->rows = arena_array(t->page->arena, struct row, x->nodes.n);
    for (size_t i = 0; i < x->nodes.n; i++) {
        const struct explanation_verdict *v = &x->nodes.v[i];
        bool ok = str_is(v->code, "Success");
        struct row *row = &t->rows[t->n_rows++];
        *row = (struct row){.node = v->name, .refused = v, .n_refused = !ok, .at = i};
        if (ok && passed < x->feasible.n && str_eq(x->feasible.v[passed].name, v->name))
            row->total = x->feasible.v[passed].total;
        passed += ok;
    }
}

static void collect_survey(struct table *t)
{
    const struct explanation_survey *survey = t->page->x->filters;
    t->rows = arena_array(t->page->arena, struct row, survey->nodes.n);
    for (size_t i = 0; i < survey->nodes.n; i++) {
        const struct explanation_survey_node *node = &survey->nodes.v[i];
        t->rows[t->n_rows++] = (struct row){.node = node->name,
                                            .refused = node->refused.v,
                                            .n_refused = node->refused.n,
                                            .is_survey = true,
                                            .at = i};
    }
}

static void collect(struct table *t)
{
    if (t->page->x->filters && t->page->x->filters->nodes.n)
        collect_survey(t);
    else
        collect_attempt(t);
    for (size_t i = 0; i < t->n_rows; i++) {
        t->rows[i].chosen = explain_is_chosen(t->page, t->rows[i].node);
        t->n_passed += !t->rows[i].n_refused;
    }
    if (t->n_rows)
        qsort(t->rows, t->n_rows, sizeof(*t->rows), compare_rows);
}

/* --- selection of rows ------------------------------------------------------------------------ */

static void make_groups(struct table *t)
{
    t->groups = arena_array(t->page->arena, struct group, t->n_rows);
    for (size_t i = 0; i < t->n_rows; i++) {
        if (i == 0 || compare_verdicts(&t->rows[i - 1], &t->rows[i]) != 0)
            t->groups[t->n_groups++] = (struct group){.rows = &t->rows[i]};
        t->groups[t->n_groups - 1].n++;
    }
}

/*
 * Every verdict gets one row; the remaining rows are shared among the verdicts. The hidden nodes of
 * a group are one line "... N more", never for a single node.
 */
static void share_rows(struct table *t)
{
    size_t left = explain_max_nodes(t->page);
    t->n_groups_shown = MIN(t->n_groups, left);
    left -= t->n_groups_shown;
    for (size_t i = 0; i < t->n_groups_shown; i++) {
        struct group *g = &t->groups[i];
        size_t share = MIN(left / (t->n_groups_shown - i), g->n - 1);
        g->shown = 1 + share;
        left -= share;
        if (g->shown + 1 == g->n)
            g->shown = g->n;
    }
}

static void measure(struct table *t)
{
    size_t node = 4, plugin = 10;
    for (size_t i = 0; i < t->n_groups_shown; i++) {
        const struct group *g = &t->groups[i];
        for (size_t k = 0; k < g->shown; k++)
            node = MAX(node, term_width(explain_node_name(t->page, g->rows[k].node)));
        if (g->shown < g->n)
            node = MAX(node, (size_t)snprintf(NULL, 0, "... %zu more", g->n - g->shown));
        for (size_t k = 0; k < g->rows->n_refused; k++)
            plugin = MAX(plugin, term_width(term_clean(t->page->arena, plugin_of(g->rows, k))));
    }
    t->node_width = explain_name_width(t->page, node);
    t->plugin_width = explain_name_width(t->page, plugin);
}

/* --- writing ---------------------------------------------------------------------------------- */

static struct str reasons_text(const struct table *t, const struct explanation_verdict *v)
{
    struct buf text = BUF_INIT;
    bool wide = t->page->options->wide;
    if (str_is(v->code, "Error"))
        buf_add_cstr(&text, "error: ");
    for (size_t i = 0; i < v->reasons.n; i++)
        buf_add_printf(&text, "%s%.*s", i ? ", " : "",
                       STR_ARG(term_clean(t->page->arena, v->reasons.v[i])));
    if (wide && v->code.n)
        buf_add_printf(&text, "%s(%.*s)", text.n ? " " : "",
                       STR_ARG(term_clean(t->page->arena, v->code)));
    struct str result = arena_dup(t->page->arena, buf_str(&text));
    buf_release(&text);
    return result;
}

/* The last column, wrapped. again: the row above has the same reason. */
static void add_reason(const struct table *t, struct str text, bool chosen, bool again)
{
    size_t used = EXPLAIN_INDENT + t->node_width + t->plugin_width + 2 * EXPLAIN_GAP;
    size_t room = explain_room(t->page, used);
    struct str line;
    if (again && term_width(text) > room)
        text = STR("same as above");
    if (!term_next_line(&text, room, &line))
        line = STR("");
    buf_add_str(t->page->out, line);
    explain_end_row(t->page, chosen);
    while (term_next_line(&text, room, &line)) {
        term_add_blanks(t->page->out, used);
        buf_add_str(t->page->out, line);
        explain_end_row(t->page, false);
    }
}

static void add_row(const struct table *t, struct str name, const struct row *row, bool again)
{
    const struct explain_page *p = t->page;
    explain_begin_row(p, row->chosen);
    explain_add_cell(p, name, t->node_width);
    if (!row->n_refused) {
        explain_add_cell(p, STR("-"), t->plugin_width);
        add_reason(t, row->chosen ? STR("passed, chosen") : STR("passed"), row->chosen, false);
    }
    for (size_t i = 0; i < row->n_refused; i++) {
        if (i)
            term_add_blanks(p->out, EXPLAIN_INDENT + t->node_width + EXPLAIN_GAP);
        explain_add_cell(p, term_clean(p->arena, plugin_of(row, i)), t->plugin_width);
        add_reason(t, reasons_text(t, &row->refused[i]), row->chosen && i == 0, again);
    }
}

static void add_groups(const struct table *t)
{
    size_t hidden = 0;
    for (size_t i = 0; i < t->n_groups; i++) {
        const struct group *g = &t->groups[i];
        if (i >= t->n_groups_shown) {
            hidden += g->n;
            continue;
        }
        for (size_t k = 0; k < g->shown; k++)
            add_row(t, explain_node_name(t->page, g->rows[k].node), &g->rows[k], k > 0);
        if (g->shown < g->n) {
            struct row rest = *g->rows;
            rest.chosen = false;
            add_row(t, arena_printf(t->page->arena, "... %zu more", g->n - g->shown), &rest, true);
        }
    }
    if (hidden)
        explain_add_note(t->page, arena_printf(t->page->arena,
                                               "... %zu more nodes, refused for %zu other reasons",
                                               hidden, t->n_groups - t->n_groups_shown));
}

static void add_title(const struct table *t)
{
    const struct explanation *x = t->page->x;
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "%zu of %zu node%s passed", t->n_passed, t->n_rows,
                   t->n_rows == 1 ? "" : "s");
    if (x->all_nodes > 0 && (size_t)x->all_nodes > t->n_rows) {
        size_t others = (size_t)x->all_nodes - t->n_rows;
        buf_add_printf(&text, "; %zu other node%s not checked", others,
                       others == 1 ? " was" : "s were");
    }
    explain_add_title(t->page, "Filters", buf_str(&text));
    buf_release(&text);
}

/* Filters that PreFilter skipped. */
static void add_skipped(const struct explain_page *p)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < p->x->pre_filter.n; i++) {
        const struct explanation_verdict *v = &p->x->pre_filter.v[i];
        if (str_is(v->code, "Skip"))
            buf_add_printf(&text, "%s%.*s",
                           text.n ? ", " : "Skipped, nothing to check for this pod: ",
                           STR_ARG(term_clean(p->arena, v->name)));
    }
    explain_add_note(p, buf_str(&text));
    buf_release(&text);
}

void explain_filters(const struct explain_page *p)
{
    struct table t = {.page = p};
    collect(&t);
    if (!t.n_rows) {
        explain_add_title(p, "Filters",
                          p->x->all_nodes > 0 ? STR("no node was checked")
                                              : STR("the cluster has no nodes"));
        return;
    }
    make_groups(&t);
    share_rows(&t);
    measure(&t);
    add_title(&t);
    term_add_blanks(p->out, EXPLAIN_INDENT);
    explain_add_cell(p, STR("NODE"), t.node_width);
    explain_add_cell(p, STR("REFUSED BY"), t.plugin_width);
    buf_add_cstr(p->out, "REASON\n");
    add_groups(&t);
    add_skipped(p);
}
