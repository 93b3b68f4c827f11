/* SPDX-License-Identifier: Apache-2.0 */
/* berth bench engine: measures how many pods per second the engine schedules. */
#include "api/pod.h"
#include "base/time.h"
#include "cmd/bench/bench_rows.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/flags.h"
#include "cmd/config/config_file.h"
#include "codec/json.h"
#include "engine/engine.h"
#include "engine/ports/abi.h"
#include "loader/loaded_plugins.h"
#include "sim/sim_api.h"

#define MAX_RUNS 101

struct bench {
    int64_t nodes, pods, runs;
    const char *config_file, *output;
    bool compare, metrics, help;
    struct features features;
    VEC(const struct bench_row *) rows; /* none: all */
    struct arena arena;
    struct loaded_plugins *plugins; /* in-tree ones and guests */
    struct scheduler_config config;
    struct flag_custom rows_flag, gates_flag;
    struct flag flags[10];
};

static const char usage[] =
    "Measure the scheduling engine in memory: without a cluster or a network, and with\n"
    "writes that succeed immediately. Print pods per second of CPU time for each kind\n"
    "of pod, best and median of several runs.\n"
    "\nUsage: berth bench engine [FLAGS]\n";

/* --- a world in which every write succeeds ---------------------------------------------------- */

/* A write of a preemption: an eviction or a nomination. */
struct preemption_write {
    enum write_kind kind;
    uint64_t id;
    struct object *pod;
    char *node;
};

/* A request of a plugin. */
struct plugin_call {
    uint64_t id;
    struct sim_request request;
    struct arena arena; /* its texts */
};

struct change {
    struct object *before, *after;
};

struct bench_world {
    int64_t now;          /* advances by 1 ns per read */
    bool real_clock;      /* for --metrics: include the cost of reading the clock */
    VEC(uint64_t) writes; /* bindings, and statuses of unschedulable pods */
    VEC(struct preemption_write) preemptions;
    VEC(struct plugin_call *) calls;
    VEC(struct change) changes; /* of objects, by calls */
    struct sim_api api;         /* the objects that plugins change */
    size_t evicted;
    int64_t idle; /* ns of CPU time spent on the API server's part; not measured */
};

static int64_t port_now(void *ctx)
{
    struct bench_world *w = ctx;
    return w->real_clock ? time_mono() : w->now++;
}

static void port_submit(void *ctx, const struct write *write)
{
    struct bench_world *w = ctx;
    if (write->kind == WRITE_BINDING)
        vec_push(&w->writes, write->id);
    else if (write->kind == WRITE_EVICTION ||
             (write->kind == WRITE_POD_STATUS && write->node_name.n))
        vec_push(&w->preemptions,
                 (struct preemption_write){write->kind, write->id, object_ref(write->object),
                                           str_dup(write->node_name)});
    else if (write->id)
        vec_push(&w->writes, write->id);
}

static void answer_writes(struct bench_world *w, struct engine *engine)
{
    static const struct write_result created = {.status = 201};
    for (size_t i = 0; i < w->writes.n; i++)
        engine_write_done(engine, w->writes.v[i], &created);
    vec_clear(&w->writes);
}

static int64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static void port_call_api(void *ctx, uint64_t id, const struct berth_api_call *call)
{
    static const enum sim_verb patches[] = {
        [BERTH_PATCH_MERGE] = SIM_PATCH_MERGE,
        [BERTH_PATCH_STRATEGIC] = SIM_PATCH_STRATEGIC,
        [BERTH_PATCH_JSON] = SIM_PATCH_JSON,
    };
    struct bench_world *w = ctx;
    int64_t start = cpu_time();
    struct plugin_call *c = xnew(struct plugin_call);
    struct str version = {call->api_version.p, call->api_version.n};
    size_t slash = str_find(version, '/');
    arena_init(&c->arena, 0);
    c->id = id;
    c->request = (struct sim_request){
        .verb = call->verb == BERTH_API_CREATE   ? SIM_CREATE
                : call->verb == BERTH_API_DELETE ? SIM_DELETE
                : call->verb == BERTH_API_GET    ? SIM_GET
                                                 : patches[call->patch],
        .kind = kind_find_resource(slash < version.n ? str_slice(version, 0, slash) : STR(""),
                                   str_abi(call->resource)),
        .subresource = arena_dup(&c->arena, str_abi(call->subresource)),
        .namespace = arena_dup(&c->arena, str_abi(call->namespace_name)),
        .name = arena_dup(&c->arena, str_abi(call->name)),
        .body = arena_dup(&c->arena, str_abi(call->body)),
    };
    vec_push(&w->calls, c);
    w->idle += cpu_time() - start;
}

static void note_change(void *ctx, struct object *before, struct object *after)
{
    struct bench_world *w = ctx;
    vec_push(&w->changes,
             (struct change){before ? object_ref(before) : NULL, after ? object_ref(after) : NULL});
}

/* Answers a request and sends the changed object to the engine. */
static void answer_call(struct bench_world *w, struct engine *engine, struct plugin_call *c)
{
    struct sim_reply reply;
    int64_t start = cpu_time();
    sim_api_serve(&w->api, &c->request, &reply);
    w->idle += cpu_time() - start;
    struct berth_api_result result = {.struct_size = sizeof(result),
                                      .status = reply.status,
                                      .object = (const struct berth_object *)reply.object};
    engine_api_done(engine, c->id, &result);
    for (size_t i = 0; i < w->changes.n; i++) {
        engine_object_changed(engine, w->changes.v[i].before, w->changes.v[i].after);
        object_unref(w->changes.v[i].before);
        object_unref(w->changes.v[i].after);
    }
    vec_clear(&w->changes);
    object_unref(reply.object);
    arena_release(&c->arena);
    free(c);
}

static void answer_calls(struct bench_world *w, struct engine *engine)
{
    for (size_t i = 0; i < w->calls.n; i++) /* more may be made meanwhile */
        answer_call(w, engine, w->calls.v[i]);
    vec_clear(&w->calls);
}

/* The objects that plugins may change: not nodes and pods. */
static void load_api(struct bench_world *w, const struct bench_objects *o)
{
    sim_api_init(&w->api, note_change, w);
    for (size_t i = 0; i < o->cluster.n; i++)
        if (object_kind(o->cluster.v[i])->id == KIND_RESOURCE_CLAIM)
            sim_api_put(&w->api, o->cluster.v[i]);
    for (size_t i = 0; i < w->changes.n; i++)
        object_unref(w->changes.v[i].after);
    vec_clear(&w->changes);
}

/* A copy of the pod with status.nominatedNodeName set. */
static struct object *nominated(struct bench_world *w, const struct preemption_write *write)
{
    int64_t start = cpu_time();
    struct wire wire = {.kind = kind_get(KIND_POD), .encoding = ENCODING_PROTO};
    struct buf bytes = BUF_INIT;
    struct object *after;
    object_encode(wire.kind, object_body(write->pod), wire.encoding, &bytes);
    if (object_decode(&wire, buf_str(&bytes), &after, NULL) < 0)
        abort(); /* cannot happen: it was encoded above */
    struct pod *pod = object_body_mut(after);
    pod->status.nominated_node_name = arena_dup(object_arena(after), str_of(write->node));
    buf_release(&bytes);
    w->idle += cpu_time() - start;
    return after;
}

/* Completes the writes of preemptions, then deletes the victims and shows the nominations. */
static void answer_preemptions(struct bench_world *w, struct engine *engine)
{
    static const struct write_result done = {.status = 200};
    for (size_t i = 0; i < w->preemptions.n; i++)
        if (w->preemptions.v[i].id)
            engine_write_done(engine, w->preemptions.v[i].id, &done);
    for (size_t i = 0; i < w->preemptions.n; i++) {
        struct preemption_write *write = &w->preemptions.v[i];
        bool evicted = write->kind == WRITE_EVICTION;
        struct object *after = evicted ? NULL : nominated(w, write);
        engine_object_changed(engine, write->pod, after);
        w->evicted += evicted;
        object_unref(after);
        object_unref(write->pod);
        free(write->node);
    }
    vec_clear(&w->preemptions);
}

/* --- runs ------------------------------------------------------------------------------------- */

/* Returns the nanoseconds of CPU time to schedule all pods, or negative errno. */
static int64_t run_once(const struct bench *b, const struct bench_objects *o, bool explain,
                        struct err *reterr)
{
    struct bench_world w = {.now = NSEC_PER_SEC, .real_clock = b->metrics};
    struct metrics *metrics = b->metrics ? metrics_new() : NULL;
    struct engine *engine;
    struct engine_options options = {
        .config = &b->config,
        .registry = &b->plugins->registry,
        .features = &b->features,
        .metrics = metrics,
        .seed = 1,
        .no_explain = !explain,
        .ports = {.ctx = &w, .now = port_now, .submit = port_submit, .call_api = port_call_api},
    };
    int r = engine_new(&options, &engine, reterr);
    if (r < 0) {
        metrics_free(metrics);
        return r;
    }
    load_api(&w, o);
    for (size_t i = 0; i < o->cluster.n; i++)
        engine_object_changed(engine, NULL, o->cluster.v[i]);
    for (size_t i = 0; i < o->pods.n; i++)
        engine_object_changed(engine, NULL, o->pods.v[i]);
    int64_t start = cpu_time();
    while (engine_schedule_one(engine)) {
        answer_calls(&w, engine);
        answer_writes(&w, engine);
        answer_preemptions(&w, engine);
        engine_publish_metrics(engine);
    }
    int64_t ns = cpu_time() - start - w.idle;
    size_t placed = engine_get_stats(engine).pods + w.evicted - o->n_residents;
    engine_free(engine);
    metrics_free(metrics);
    sim_api_release(&w.api);
    vec_release(&w.calls);
    vec_release(&w.changes);
    vec_release(&w.writes);
    vec_release(&w.preemptions);
    if (placed != o->pods.n)
        return err_set(reterr, -ENOSPC,
                       "only %zu of %zu pods fit; use more --nodes or fewer --pods", placed,
                       o->pods.n);
    return ns;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

struct timing {
    int64_t best, median; /* ns for all pods */
};

static struct timing take_timing(int64_t *ns, size_t n)
{
    qsort(ns, n, sizeof(*ns), by_value);
    return (struct timing){ns[0], ns[n / 2]};
}

static int64_t pods_of(const struct bench *b, const struct bench_row *row)
{
    return row->fewer ? MAX(b->pods / row->fewer, (int64_t)1) : b->pods;
}

/* with: attempts are recorded, as in the scheduler; without: they are not. */
static int measure(const struct bench *b, const struct bench_row *row, struct timing *ret_with,
                   struct timing *ret_without, struct err *reterr)
{
    int64_t with[MAX_RUNS], without[MAX_RUNS];
    struct bench_objects objects;
    size_t n = (size_t)b->runs;
    int r = bench_objects_init(&objects, row, b->nodes, pods_of(b, row), reterr);
    if (r < 0)
        return r;
    /* Alternate, so that other load on the machine affects both equally. */
    for (size_t i = 0; r == 0 && i < n; i++) {
        with[i] = run_once(b, &objects, true, reterr);
        without[i] = b->compare && with[i] >= 0 ? run_once(b, &objects, false, reterr) : 0;
        if (with[i] < 0 || without[i] < 0)
            r = (int)MIN(with[i], without[i]);
    }
    bench_objects_release(&objects);
    if (r < 0)
        return err_prefix(reterr, r, "row %s", row->name);
    *ret_with = take_timing(with, n);
    *ret_without = take_timing(without, n);
    return 0;
}

/* --- output ----------------------------------------------------------------------------------- */

static double per_second(int64_t pods, int64_t ns)
{
    return (double)pods * 1e9 / (double)ns;
}

static double us_per_pod(int64_t pods, int64_t ns)
{
    return (double)ns / 1e3 / (double)pods;
}

static double cost_of_explaining(struct timing with, struct timing without)
{
    return 100.0 * ((double)with.median / (double)without.median - 1);
}

static void print_head(const struct bench *b)
{
    printf("%lld nodes, %lld pods, %lld runs\n\n", (long long)b->nodes, (long long)b->pods,
           (long long)b->runs);
    printf("%-56s %12s %12s %8s%s\n", "pods", "best pods/s", "median", "us/pod",
           b->compare ? "  explanations" : "");
}

static void print_row(const struct bench *b, const struct bench_row *row, struct timing with,
                      struct timing without)
{
    int64_t n = pods_of(b, row);
    printf("%-56s %12.0f %12.0f %8.2f", row->title, per_second(n, with.best),
           per_second(n, with.median), us_per_pod(n, with.median));
    if (b->compare)
        printf("  %+.2f %% (medians)", cost_of_explaining(with, without));
    putchar('\n');
    fflush(stdout);
}

static void add_json_row(const struct bench *b, const struct bench_row *row, struct timing with,
                         struct timing without, struct buf *out)
{
    int64_t n = pods_of(b, row);
    buf_add_cstr(out, out->n ? ",\n  {\"name\":" : "\n  {\"name\":");
    json_write_str(out, str_of(row->name));
    buf_add_printf(out, ",\"best\":%.0f,\"median\":%.0f,\"usPerPod\":%.3f",
                   per_second(n, with.best), per_second(n, with.median),
                   us_per_pod(n, with.median));
    if (b->compare)
        buf_add_printf(out, ",\"explainPercent\":%.2f", cost_of_explaining(with, without));
    buf_add_char(out, '}');
}

static int run_engine(const struct bench *b)
{
    bool json = strcmp(b->output, "json") == 0;
    struct buf rows = BUF_INIT;
    struct err err;
    int r = 0;
    if (!json)
        print_head(b);
    for (size_t i = 0; r == 0 && i < b->rows.n; i++) {
        struct timing with = {0}, without = {0};
        r = measure(b, b->rows.v[i], &with, &without, &err);
        if (r < 0)
            continue;
        if (json)
            add_json_row(b, b->rows.v[i], with, without, &rows);
        else
            print_row(b, b->rows.v[i], with, without);
    }
    if (json && r == 0)
        printf("{\"nodes\":%lld,\"pods\":%lld,\"runs\":%lld,\"rows\":[%s\n]}\n",
               (long long)b->nodes, (long long)b->pods, (long long)b->runs, buf_cstr(&rows));
    buf_release(&rows);
    return r < 0 ? cmd_fail(EXIT_FAILED, "%s", err.msg) : EXIT_DONE;
}

/* --- flags ------------------------------------------------------------------------------------ */

static int add_rows(void *to, struct str text, struct err *reterr)
{
    struct bench *b = to;
    while (text.n) {
        size_t comma = str_find(text, ',');
        struct str name = str_slice(text, 0, comma);
        const struct bench_row *row = bench_row_find(name);
        if (!row)
            return err_set(reterr, -EINVAL, "unknown row \"%.*s\"", STR_ARG(name));
        vec_push(&b->rows, row);
        text = str_slice(text, MIN(comma + 1, text.n), text.n);
    }
    return 0;
}

static void write_rows(struct buf *out)
{
    for (size_t i = 0; i < bench_n_rows; i++)
        buf_add_printf(out, "%-18s %s\n", bench_rows[i].name, bench_rows[i].title);
}

static void init(struct bench *b)
{
    *b = (struct bench){
        .nodes = 5000, .pods = 10000, .runs = 5, .config_file = "", .output = "table"};
    features_default(&b->features);
    b->rows_flag = (struct flag_custom){.to = b, .set = add_rows, .write_options = write_rows};
    b->gates_flag = flag_features(&b->features);
    const struct flag flags[] = {
        {"Bench", "config", '\0', FLAG_STR, &b->config_file, "FILE",
         "Path to the configuration file: a KubeSchedulerConfiguration. Its profile "
         "default-scheduler is used.",
         false, NULL},
        {NULL, "row", '\0', FLAG_CUSTOM, &b->rows_flag, "NAME[,NAME...]",
         "Comma-separated list of rows to measure. The default is all rows:", false, NULL},
        {NULL, "nodes", '\0', FLAG_INT, &b->nodes, "N", "Number of nodes in the cluster.", false,
         NULL},
        {NULL, "pods", '\0', FLAG_INT, &b->pods, "N", "Number of pods to schedule.", false, NULL},
        {NULL, "runs", '\0', FLAG_INT, &b->runs, "N", "Number of runs per row.", false, NULL},
        {NULL, "output", 'o', FLAG_STR, &b->output, "FORMAT", "Output format: table or json.",
         false, NULL},
        {NULL, "compare-explain", '\0', FLAG_BOOL, &b->compare, NULL,
         "Also measure without recording attempts, and print the difference.", false, NULL},
        {NULL, "feature-gates", '\0', FLAG_CUSTOM, &b->gates_flag, "GATES", FEATURE_GATES_HELP,
         false, NULL},
        {NULL, "metrics", '\0', FLAG_BOOL, &b->metrics, NULL,
         "Record metrics as the scheduler does.", false, NULL},
        {NULL, "help", 'h', FLAG_BOOL, &b->help, NULL, "Print help and exit.", false, NULL},
    };
    static_assert(sizeof(flags) == sizeof(b->flags), "room for every flag");
    memcpy(b->flags, flags, sizeof(flags));
}

/* Prints errors. */
static bool load_config(struct bench *b)
{
    struct buf lines = BUF_INIT;
    config_default(&b->config, &b->arena);
    bool ok = !*b->config_file || config_file_use(b->config_file, &b->plugins, &b->features,
                                                  &b->arena, &b->config, &lines);
    if (ok && b->config.extenders.n) {
        buf_add_printf(&lines, "%s: extenders: not supported by bench; remove them\n",
                       b->config_file);
        ok = false;
    }
    config_file_print(&lines);
    buf_release(&lines);
    return ok;
}

static int run(struct bench *b, int argc, char **argv)
{
    struct err err;
    int n;
    if (flags_parse(b->flags, ARRAY_LEN(b->flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth bench --help`", err.msg);
    if (b->help)
        return cmd_help(usage, b->flags, ARRAY_LEN(b->flags));
    if (n != 1 || strcmp(argv[1], "engine") != 0)
        return cmd_fail(EXIT_USAGE, "expected `berth bench engine`; see `berth bench --help`");
    if (b->nodes < 1 || b->pods < 1 || b->runs < 1 || b->runs > MAX_RUNS)
        return cmd_fail(EXIT_USAGE,
                        "--nodes, --pods and --runs must be at least 1, --runs at most %d",
                        MAX_RUNS);
    if (strcmp(b->output, "table") != 0 && strcmp(b->output, "json") != 0)
        return cmd_fail(EXIT_USAGE, "--output: \"%s\" is not one of table or json", b->output);
    if (loaded_plugins_new(&(struct plugin_sources){0}, NULL, &b->plugins, &err) < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    if (!load_config(b))
        return EXIT_FAILED;
    bool all = b->rows.n == 0;
    for (size_t i = 0; all && i < bench_n_rows; i++)
        vec_push(&b->rows, &bench_rows[i]);
    return run_engine(b);
}

int cmd_bench(int argc, char **argv)
{
    struct bench b;
    init(&b);
    arena_init(&b.arena, 0);
    int code = run(&b, argc, argv);
    loaded_plugins_unref(b.plugins);
    vec_release(&b.rows);
    arena_release(&b.arena);
    return code;
}

void cmd_bench_flags(cmd_flags_fn *fn, void *ctx)
{
    struct bench b;
    init(&b);
    fn(ctx, b.flags, ARRAY_LEN(b.flags));
}
