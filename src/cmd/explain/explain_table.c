/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/explain/explain_table.h"

#include <unistd.h>

#include "cmd/cli/cmd.h"
#include "cmd/explain/explain_table_internal.h"

#define LABEL_WIDTH     ((size_t)13)
#define WIDTH_NOT_KNOWN ((size_t)100) /* standard output is not a terminal */
#define WIDTH_MIN       ((size_t)60)

#define BOLD  "\x1b[1m"
#define GREEN "\x1b[1;32m"
#define RED   "\x1b[1;31m"
#define RESET "\x1b[0m"

struct explain_table_options explain_table_for_stdout(size_t max_nodes, bool wide)
{
    const char *no_colour = getenv("NO_COLOR"), *term = getenv("TERM");
    size_t columns = cmd_columns();
    return (struct explain_table_options){
        .width = wide      ? 0
                 : columns ? MAX(columns, WIDTH_MIN)
                           : WIDTH_NOT_KNOWN,
        .max_nodes = max_nodes,
        .wide = wide,
        .colour = isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && term &&
                  strcmp(term, "dumb") != 0,
    };
}

/* --- helpers for all parts -------------------------------------------------------------------- */

static void add_coloured(const struct explain_page *p, const char *colour, struct str text)
{
    if (p->options->colour)
        buf_add_cstr(p->out, colour);
    buf_add_str(p->out, text);
    if (p->options->colour)
        buf_add_cstr(p->out, RESET);
}

static size_t name_limit(const struct explain_page *p)
{
    size_t width = p->options->width;
    return width ? MAX(width * 2 / 5, (size_t)20) : SIZE_MAX;
}

size_t explain_name_width(const struct explain_page *p, size_t widest)
{
    return MIN(widest, name_limit(p));
}

struct str explain_node_name(const struct explain_page *p, struct str name)
{
    bool cut = p->domain.n && name.n > p->domain.n && str_ends(name, p->domain);
    return term_clean(p->arena, str_slice(name, 0, name.n - (cut ? p->domain.n : 0)));
}

void explain_begin_row(const struct explain_page *p, bool chosen)
{
    if (chosen && p->options->colour)
        buf_add_cstr(p->out, BOLD);
    if (chosen)
        buf_add_cstr(p->out, EXPLAIN_MARK);
    else
        term_add_blanks(p->out, EXPLAIN_INDENT);
}

void explain_end_row(const struct explain_page *p, bool chosen)
{
    while (p->out->n && p->out->p[p->out->n - 1] == ' ')
        p->out->n--;
    if (chosen && p->options->colour)
        buf_add_cstr(p->out, RESET);
    buf_add_char(p->out, '\n');
}

void explain_add_cell(const struct explain_page *p, struct str clean, size_t width)
{
    term_add_left(p->out, clean, width);
    term_add_blanks(p->out, EXPLAIN_GAP);
}

size_t explain_room(const struct explain_page *p, size_t used)
{
    size_t width = p->options->width;
    return !width ? SIZE_MAX : width > used + 20 ? width - used : 20;
}

void explain_add_note(const struct explain_page *p, struct str text)
{
    struct str line;
    size_t room = explain_room(p, EXPLAIN_INDENT);
    while (term_next_line(&text, room, &line)) {
        term_add_blanks(p->out, EXPLAIN_INDENT);
        buf_add_str(p->out, line);
        buf_add_char(p->out, '\n');
    }
}

void explain_add_title(const struct explain_page *p, const char *title, struct str text)
{
    buf_add_cstr(p->out, "\n  ");
    add_coloured(p, BOLD, str_of(title));
    buf_add_printf(p->out, ": %.*s\n", STR_ARG(text));
}

/* --- the pod ---------------------------------------------------------------------------------- */

static void add_headline(const struct explain_page *p)
{
    const struct explanation *x = p->x;
    struct buf *out = p->out;
    bool scheduled = str_is(x->outcome, "scheduled");
    struct str pod =
        arena_printf(p->arena, "%.*s/%.*s", STR_ARG(term_clean(p->arena, x->namespace)),
                     STR_ARG(term_clean(p->arena, x->pod)));
    struct str outcome = term_clean(p->arena, x->outcome);
    add_coloured(p, BOLD, pod);
    buf_add_cstr(out, ": ");
    add_coloured(p, scheduled ? GREEN : RED, outcome.n ? outcome : STR("unknown"));
    if (x->node.n) {
        buf_add_cstr(out, " to ");
        add_coloured(p, BOLD, term_clean(p->arena, x->node));
    }
    buf_add_printf(out, " (attempt %lld", (long long)x->attempt);
    if (x->profile.n && !str_is(x->profile, "default-scheduler"))
        buf_add_printf(out, ", profile %.*s", STR_ARG(term_clean(p->arena, x->profile)));
    buf_add_cstr(out, ")\n");
}

/* "  Label:      text", with the text wrapped. */
static void add_fact(const struct explain_page *p, const char *label, struct str text)
{
    struct str line;
    size_t used = 2 + LABEL_WIDTH, n = (size_t)buf_str(p->out).n;
    if (!text.n)
        return;
    buf_add_printf(p->out, "  %s:", label);
    for (size_t at = p->out->n - n; term_next_line(&text, explain_room(p, used), &line); at = 0) {
        term_add_blanks(p->out, used > at ? used - at : 1);
        buf_add_str(p->out, line);
        buf_add_char(p->out, '\n');
    }
}

/* The first `max` texts, separated by commas. */
static struct str join(const struct explain_page *p, const explanation_texts *texts, size_t max)
{
    struct buf out = BUF_INIT;
    for (size_t i = 0; i < texts->n && i < max; i++)
        buf_add_printf(&out, "%s%.*s", i ? ", " : "", STR_ARG(term_clean(p->arena, texts->v[i])));
    if (texts->n > max)
        buf_add_printf(&out, ", and %zu more", texts->n - max);
    struct str text = arena_dup(p->arena, buf_str(&out));
    buf_release(&out);
    return text;
}

static void add_preemption(const struct explain_page *p)
{
    const struct explanation_post_filter *f = p->x->post_filter;
    if (!p->x->nominated_node.n && !(f && f->nominated_node.n))
        return;
    struct str node = p->x->nominated_node.n ? p->x->nominated_node : f->nominated_node;
    add_fact(p, "Nominated", term_clean(p->arena, node));
    if (!f)
        return;
    struct buf text = BUF_INIT;
    buf_add_printf(&text, "%zu pod%s by %.*s", f->victims.n, f->victims.n == 1 ? "" : "s",
                   STR_ARG(term_clean(p->arena, f->plugin)));
    if (f->pdb_violations)
        buf_add_printf(&text, ", violating %lld PodDisruptionBudget%s",
                       (long long)f->pdb_violations, f->pdb_violations == 1 ? "" : "s");
    if (f->victims.n)
        buf_add_printf(&text, ": %.*s", STR_ARG(join(p, &f->victims, explain_max_nodes(p))));
    add_fact(p, "Evicts", buf_str(&text));
    buf_release(&text);
}

/* Plugins that refused the pod before any node was filtered. */
static void add_pre_filter(const struct explain_page *p)
{
    for (size_t i = 0; i < p->x->pre_filter.n; i++) {
        const struct explanation_verdict *v = &p->x->pre_filter.v[i];
        if (str_is(v->code, "Skip") || str_is(v->code, "Success"))
            continue;
        struct str name = term_clean(p->arena, v->name);
        add_fact(p, "PreFilter",
                 arena_printf(p->arena, "%.*s refused the pod: %.*s", STR_ARG(name),
                              STR_ARG(join(p, &v->reasons, SIZE_MAX))));
    }
}

/* The queue in which the pod waits, by upstream's name. */
static struct str queue_text(const struct explain_page *p)
{
    static const struct {
        const char *name, *text;
    } places[] = {
        {"active", "activeQ: retried immediately"},
        {"backoff", "backoffQ: retried after the backoff"},
        {"errorBackoff", "backoffQ: retried after the backoff"},
        {"unschedulable", "unschedulablePods: retried when a cluster event may help"},
    };
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (str_is(p->x->queue, places[i].name))
            return str_of(places[i].text);
    return term_clean(p->arena, p->x->queue);
}

/* The longest common suffix of a and b that starts with a dot. */
static struct str common_domain(struct str a, struct str b)
{
    size_t n = 0, domain = 0;
    while (n < a.n && n < b.n && a.p[a.n - 1 - n] == b.p[b.n - 1 - n])
        if (a.p[a.n - 1 - n++] == '.')
            domain = n;
    return str_slice(a, a.n - domain, a.n);
}

/* If node names are too long for a column, their common domain is left out. */
static void find_domain(struct explain_page *p)
{
    const struct explanation *x = p->x;
    size_t widest = 0;
    for (size_t i = 0; i < x->nodes.n; i++) {
        struct str name = x->nodes.v[i].name;
        p->domain = i ? common_domain(p->domain, name) : common_domain(name, name);
        widest = MAX(widest, name.n);
    }
    if (widest <= name_limit(p))
        p->domain = STR("");
}

static void add_pod(const struct explain_page *p)
{
    const struct explanation *x = p->x;
    add_fact(p, "Message", term_clean(p->arena, x->message));
    add_preemption(p);
    if (x->attempt > 1 || p->options->wide)
        add_fact(p, "Event", term_clean(p->arena, x->event));
    add_fact(p, "Queue", queue_text(p));
    if (p->options->wide)
        add_fact(p, "UID", term_clean(p->arena, x->uid));
    add_pre_filter(p);
    if (p->domain.n)
        add_fact(p, "Nodes",
                 arena_printf(p->arena, "names are shown without %.*s",
                              STR_ARG(term_clean(p->arena, p->domain))));
}

void explain_table(const struct explanation *x, const struct explain_table_options *options,
                   struct buf *out)
{
    struct arena arena;
    arena_init(&arena, 4096);
    struct explain_page page = {.x = x, .options = options, .arena = &arena, .out = out};
    find_domain(&page);
    add_headline(&page);
    add_pod(&page);
    explain_filters(&page);
    explain_scores(&page);
    arena_release(&arena);
}
