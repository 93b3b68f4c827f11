/* SPDX-License-Identifier: Apache-2.0 */
/* berth plugin test: what plugins say about each node, in the simulator. */
#include "cmd/cli/text_table.h"
#include "cmd/config/config_file.h"
#include "cmd/explain/explain_output.h"
#include "cmd/plugin/plugin_internal.h"
#include "cmd/simulate/simulate_input.h"
#include "codec/json.h"
#include "live/call_report.h"
#include "sim/sim.h"

#define EXPLAIN_BYTES ((size_t)1 << 28)

struct trial {
    struct plugin_command *command;
    struct loaded_plugins *set;
    struct scheduler_config config;
    struct scenario *stages;
    size_t n_stages;
    bool json;
    struct arena arena, attempt; /* attempt: reset after each */
    size_t n_attempts;
};

/* The plugins under test, in the order of the files. */
static const struct berth_plugin *tested(const struct trial *t, size_t i)
{
    for (size_t f = 0; f < t->set->files.n; f++)
        for (size_t k = 0; t->set->files.v[f]->plugins[k]; k++)
            if (i-- == 0)
                return t->set->files.v[f]->plugins[k];
    return NULL;
}

/* --- configuration ---------------------------------------------------------------------------- */

/* A second QueueSort plugin is an error: one under test takes the place of the default. */
static void write_config(const struct trial *t, struct buf *out)
{
    const struct berth_plugin *p;
    bool sorts = false;
    buf_add_cstr(out, "apiVersion: kubescheduler.config.k8s.io/v1\n"
                      "kind: KubeSchedulerConfiguration\n"
                      "profiles:\n- plugins:\n    multiPoint:\n      enabled:\n");
    for (size_t i = 0; (p = tested(t, i)); i++) {
        buf_add_cstr(out, "      - name: ");
        json_write_str(out, str_of(p->name));
        buf_add_char(out, '\n');
        sorts |= plugin_implements(p, POINT_QUEUE_SORT);
    }
    if (sorts)
        buf_add_cstr(out, "    queueSort:\n      disabled:\n      - name: PrioritySort\n");
}

/* Prints errors. */
static bool load_config(struct trial *t)
{
    const struct plugin_command *c = t->command;
    struct buf lines = BUF_INIT, text = BUF_INIT;
    struct err err;
    bool ok;
    if (*c->config_file) {
        ok = config_file_use(c->config_file, &t->set, &c->features, &t->arena, &t->config, &lines);
    } else {
        write_config(t, &text);
        struct config_text own = {
            .file = "profile", .shown = "profile", .text = arena_dup(&t->arena, buf_str(&text))};
        ok = config_text_load(&own, &t->arena, &t->config, &err) == 0;
        if (!ok)
            buf_add_printf(&lines, "%s\n", err.msg);
        ok = ok && config_file_check(&t->config, &t->set->registry, &c->features, &lines);
    }
    if (ok && t->config.extenders.n) {
        buf_add_printf(&lines, "%s: extenders: not supported here; remove them\n", c->config_file);
        ok = false;
    }
    config_file_print(&lines);
    buf_release(&lines);
    buf_release(&text);
    return ok;
}

/* --- scenario --------------------------------------------------------------------------------- */

static int load_stage(struct trial *t, size_t stage, struct err *reterr)
{
    struct scenario *to = &t->stages[stage];
    int r = 0;
    if (stage) {
        scenario_init_after(to, &t->stages[stage - 1]);
        r = simulate_input_read(to, t->command->then.v[stage - 1], false, reterr);
    }
    for (size_t i = 0; r == 0 && !stage && i < t->command->files.n; i++)
        r = simulate_input_read(to, t->command->files.v[i], false, reterr);
    if (r == 0 && to->n_problems == 0)
        r = scenario_complete(to, reterr);
    return r;
}

/* Prints errors. */
static bool load_scenario(struct trial *t)
{
    bool good = true;
    for (size_t i = 0; i < t->n_stages; i++) {
        struct err err;
        int r = load_stage(t, i, &err);
        good &= simulate_input_report(&t->stages[i]);
        if (r < 0) {
            cmd_fail(EXIT_FAILED, "%s", err.msg);
            return false;
        }
    }
    return good;
}

/* --- the table of an attempt ------------------------------------------------------------------ */

static struct str join(struct arena *a, struct str code, const explanation_texts *reasons)
{
    struct buf text = BUF_INIT;
    buf_add_str(&text, code);
    for (size_t i = 0; i < reasons->n; i++)
        buf_add_printf(&text, "%s%.*s", i ? ", " : ": ", STR_ARG(reasons->v[i]));
    struct str copy = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return copy;
}

/* A Filter plugin's verdict on a node; "" if it was not asked. */
static struct str verdict(struct trial *t, const struct explanation *x,
                          const struct explanation_survey_node *node, struct str plugin)
{
    for (size_t i = 0; i < node->refused.n; i++)
        if (str_eq(node->refused.v[i].name, plugin))
            return join(&t->attempt, node->refused.v[i].code, &node->refused.v[i].reasons);
    for (size_t i = 0; i < x->filters->asked.n; i++)
        if (str_eq(x->filters->asked.v[i], plugin))
            return STR("Success");
    return STR("");
}

static bool is_tested(const struct trial *t, struct str plugin)
{
    const struct berth_plugin *p;
    for (size_t i = 0; (p = tested(t, i)); i++)
        if (str_is(plugin, p->name))
            return true;
    return false;
}

/* Other plugins that refuse the node. */
static struct str others(struct trial *t, const struct explanation_survey_node *node)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < node->refused.n; i++)
        if (!is_tested(t, node->refused.v[i].name))
            buf_add_printf(&text, "%s%.*s", text.n ? ", " : "", STR_ARG(node->refused.v[i].name));
    struct str copy = arena_dup(&t->attempt, buf_str(&text));
    buf_release(&text);
    return copy;
}

static const struct explanation_node_scores *scores_of(const struct explanation *x, struct str node)
{
    for (size_t i = 0; i < x->feasible.n; i++)
        if (str_eq(x->feasible.v[i].name, node))
            return &x->feasible.v[i];
    return NULL;
}

/* "80 -> 100": the plugin's score and its normalized score, if that differs. */
static struct str score(struct trial *t, const struct explanation_node_scores *scores,
                        struct str plugin)
{
    for (size_t i = 0; scores && i < scores->plugins.n; i++) {
        const struct explanation_score *s = &scores->plugins.v[i];
        if (!str_eq(s->name, plugin))
            continue;
        if (s->raw == s->normalized)
            return arena_printf(&t->attempt, "%lld", (long long)s->raw);
        return arena_printf(&t->attempt, "%lld -> %lld", (long long)s->raw,
                            (long long)s->normalized);
    }
    return STR("");
}

static void add_node(struct trial *t, struct text_table *table, const struct explanation *x,
                     const struct explanation_survey_node *node)
{
    const struct explanation_node_scores *scores = scores_of(x, node->name);
    const struct berth_plugin *p;
    text_table_add(table, node->name);
    for (size_t i = 0; (p = tested(t, i)); i++) {
        if (plugin_implements(p, POINT_FILTER))
            text_table_add(table, verdict(t, x, node, str_of(p->name)));
        if (plugin_implements(p, POINT_SCORE))
            text_table_add(table, score(t, scores, str_of(p->name)));
    }
    text_table_add(table, others(t, node));
    text_table_add(table,
                   scores ? arena_printf(&t->attempt, "%lld", (long long)scores->total) : STR(""));
}

static size_t count_columns(const struct trial *t)
{
    const struct berth_plugin *p;
    size_t n = 3;
    for (size_t i = 0; (p = tested(t, i)); i++)
        n += (size_t)plugin_implements(p, POINT_FILTER) + (size_t)plugin_implements(p, POINT_SCORE);
    return n;
}

static void write_nodes(struct trial *t, const struct explanation *x, struct buf *out)
{
    const struct berth_plugin *p;
    struct text_table table;
    text_table_init(&table, count_columns(t));
    text_table_add(&table, STR("NODE"));
    for (size_t i = 0; (p = tested(t, i)); i++) {
        if (plugin_implements(p, POINT_FILTER))
            text_table_add(&table, arena_printf(&t->attempt, "%s FILTER", p->name));
        if (plugin_implements(p, POINT_SCORE))
            text_table_add(&table, arena_printf(&t->attempt, "%s SCORE", p->name));
    }
    text_table_add(&table, STR("REFUSED BY OTHERS"));
    text_table_add(&table, STR("TOTAL"));
    for (size_t i = 0; i < x->filters->nodes.n; i++)
        add_node(t, &table, x, &x->filters->nodes.v[i]);
    text_table_write(&table, 2, out);
    text_table_release(&table);
}

static void write_attempt(struct trial *t, const struct explanation *x, struct buf *out)
{
    if (t->n_attempts)
        buf_add_char(out, '\n');
    buf_add_printf(out, "%.*s/%.*s, attempt %lld: ", STR_ARG(x->namespace), STR_ARG(x->pod),
                   (long long)x->attempt);
    if (x->node.n)
        buf_add_printf(out, "placed on %.*s\n", STR_ARG(x->node));
    else
        buf_add_printf(out, "%.*s: %.*s\n", STR_ARG(x->outcome), STR_ARG(x->message));
    for (size_t i = 0; i < x->pre_filter.n; i++)
        if (is_tested(t, x->pre_filter.v[i].name)) {
            struct str said =
                join(&t->attempt, x->pre_filter.v[i].code, &x->pre_filter.v[i].reasons);
            buf_add_printf(out, "  %.*s PreFilter: %.*s\n", STR_ARG(x->pre_filter.v[i].name),
                           STR_ARG(said));
        }
    if (x->filters && x->filters->nodes.n)
        write_nodes(t, x, out);
}

static void on_attempt(void *ctx, struct str line)
{
    struct trial *t = ctx;
    struct explanation x;
    struct err err;
    struct buf out = BUF_INIT;
    if (t->json) {
        buf_add_str(&out, str_trim(line));
        buf_add_char(&out, '\n');
    } else if (explanation_decode(str_trim(line), &t->attempt, &x, &err) == 0) {
        write_attempt(t, &x, &out);
    }
    t->n_attempts++;
    fwrite(out.p, 1, out.n, stdout);
    buf_release(&out);
    arena_reset(&t->attempt);
}

/* --- the trial -------------------------------------------------------------------------------- */

static void print_summary(const struct trial *t, const struct sim *sim)
{
    size_t placed = 0;
    for (size_t i = 0; i < sim->pods.n; i++)
        placed += sim->pods.v[i]->node != NULL && !sim->pods.v[i]->preempted;
    if (!t->json)
        printf("%s%zu of %zu pods placed\n", t->n_attempts ? "\n" : "", placed, sim->pods.n);
}

static int simulate(struct trial *t)
{
    struct sim_options options = {.config = &t->config,
                                  .registry = &t->set->registry,
                                  .features = &t->command->features,
                                  .seed = 1,
                                  .explain_bytes = EXPLAIN_BYTES,
                                  .surveys = true};
    struct sim *sim;
    struct err err;
    if (sim_new(&options, &sim, &err) < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    /* Now it is known which custom resources plugins want. */
    bool good = load_scenario(t);
    for (size_t i = 0; good && i < t->n_stages; i++) {
        sim_load(sim, &t->stages[i]);
        sim_run(sim);
    }
    if (good) {
        engine_explain_each(sim->engine, STR(""), STR(""),
                            (struct explain_reader){.fn = on_attempt, .ctx = t});
        print_summary(t, sim);
    }
    sim_free(sim);
    return good ? EXIT_DONE : EXIT_FAILED;
}

static int run(struct trial *t)
{
    t->n_stages = t->command->then.n + 1;
    t->stages = xcalloc(t->n_stages, sizeof(*t->stages));
    scenario_init(&t->stages[0]);
    int code = load_config(t) ? simulate(t) : EXIT_FAILED;
    for (size_t i = t->n_stages; i-- > 0;)
        scenario_release(&t->stages[i]);
    free(t->stages);
    return code;
}

int plugin_test(struct plugin_command *c, char **words, int n)
{
    struct trial t = {.command = c};
    struct err err;
    int code;
    t.json = plugin_output_is_json(c, &code);
    if (code != EXIT_DONE)
        return code;
    for (int i = 0; i < n; i++)
        vec_push(&c->plugins.sources.files, words[i]);
    if (!c->plugins.sources.files.n && !c->plugins.sources.dirs.n)
        return cmd_fail(EXIT_USAGE, "test takes at least one shared object; see `berth plugin "
                                    "--help`");
    if (!c->files.n)
        return cmd_fail(EXIT_USAGE, "test needs nodes and pods: give a scenario with -f FILE");
    call_report_crashes();
    if (loaded_plugins_new(&c->plugins.sources, NULL, &t.set, &err) < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    arena_init(&t.arena, 4096);
    arena_init(&t.attempt, 4096);
    code = run(&t);
    arena_release(&t.arena);
    arena_release(&t.attempt);
    loaded_plugins_unref(t.set);
    return code;
}
