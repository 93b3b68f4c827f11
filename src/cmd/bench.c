/* SPDX-License-Identifier: Apache-2.0 */
/* berth bench engine: how many pods a second the engine places when nothing else is in its way. */
#include "api/pod.h"
#include "base/time.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/flags.h"
#include "engine/engine.h"
#include "plugins/registry.h"

#define MAX_RUNS 101

struct bench {
    int64_t nodes, pods, runs;
    bool compare, help;
    struct arena arena;
    struct scheduler_config config;
    VEC(struct object *) objects; /* nodes, then pods */
};

static const char usage[] =
    "Places identical pods on identical nodes in memory: no cluster, no network, writes succeed "
    "at\n"
    "once. Prints pods per second of CPU time, best and median of several runs.\n"
    "\nUsage: berth bench engine [FLAGS]\n";

/* --- a world in which every binding succeeds -------------------------------------------------- */

struct bench_world {
    int64_t now;
    VEC(uint64_t) bindings;
};

static int64_t port_now(void *ctx)
{
    return ((struct bench_world *)ctx)->now++;
}

static void port_submit(void *ctx, const struct write *write)
{
    struct bench_world *w = ctx;
    if (write->kind == WRITE_BINDING)
        vec_push(&w->bindings, write->id);
}

static void answer_bindings(struct bench_world *w, struct engine *engine)
{
    static const struct write_result created = {.status = 201};
    for (size_t i = 0; i < w->bindings.n; i++)
        engine_write_done(engine, w->bindings.v[i], &created);
    vec_clear(&w->bindings);
}

/* --- runs ------------------------------------------------------------------------------------- */

static int64_t cpu_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

/* Nanoseconds to place all pods, or negative errno. */
static int64_t run_once(const struct bench *b, bool explain, struct err *reterr)
{
    struct bench_world w = {.now = NSEC_PER_SEC};
    struct engine *engine;
    struct engine_options options = {
        .config = &b->config,
        .registry = &in_tree_registry,
        .seed = 1,
        .no_explain = !explain,
        .ports = {.ctx = &w, .now = port_now, .submit = port_submit},
    };
    int r = engine_new(&options, &engine, reterr);
    if (r < 0)
        return r;
    for (size_t i = 0; i < b->objects.n; i++)
        engine_object_changed(engine, NULL, b->objects.v[i]);
    int64_t start = cpu_time();
    while (engine_schedule_one(engine))
        answer_bindings(&w, engine);
    int64_t ns = cpu_time() - start;
    size_t placed = engine_get_stats(engine).pods;
    engine_free(engine);
    vec_release(&w.bindings);
    if (placed != (size_t)b->pods)
        return err_set(reterr, -ENOSPC, "only %zu of %lld pods fit", placed, (long long)b->pods);
    return ns;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void report(const struct bench *b, const char *what, int64_t *ns, size_t n)
{
    qsort(ns, n, sizeof(*ns), by_value);
    size_t middle = n / 2;
    double best = (double)b->pods * 1e9 / (double)ns[0];
    double median = (double)b->pods * 1e9 / (double)ns[middle];
    printf("%-24s %10.0f pods/s best %10.0f median %8.2f us/pod\n", what, best, median,
           (double)ns[middle] / 1e3 / (double)b->pods);
}

static int run_engine(struct bench *b)
{
    int64_t with[MAX_RUNS], without[MAX_RUNS];
    struct err err;
    size_t n = (size_t)b->runs;
    /* In turn, so that a busy moment of the machine hits both alike. */
    for (size_t i = 0; i < n; i++) {
        with[i] = run_once(b, true, &err);
        without[i] = b->compare ? run_once(b, false, &err) : 0;
        if (with[i] < 0 || without[i] < 0)
            return cmd_fail(EXIT_FAILED, "%s", err.msg);
    }
    report(b, "engine", with, n);
    if (b->compare) {
        report(b, "without explanations", without, n);
        size_t middle = n / 2;
        printf("explanations cost %.2f %% (medians)\n",
               100.0 * ((double)with[middle] / (double)without[middle] - 1));
    }
    return EXIT_DONE;
}

/* --- objects ---------------------------------------------------------------------------------- */

static int add_object(struct bench *b, enum kind_id kind, struct str json, struct err *reterr)
{
    struct wire wire = {.kind = kind_get(kind), .encoding = ENCODING_JSON};
    struct object *o;
    int r = object_decode(&wire, json, &o, reterr);
    if (r == 0)
        vec_push(&b->objects, o);
    return r;
}

static int make_objects(struct bench *b, struct err *reterr)
{
    int r = 0;
    for (int64_t i = 0; r == 0 && i < b->nodes; i++)
        r = add_object(b, KIND_NODE,
                       arena_printf(&b->arena,
                                    "{\"metadata\":{\"name\":\"node-%lld\",\"uid\":\"n%lld\"},"
                                    "\"status\":{\"allocatable\":{\"cpu\":\"32\",\"memory\":"
                                    "\"128Gi\",\"pods\":\"110\"}}}",
                                    (long long)i, (long long)i),
                       reterr);
    for (int64_t i = 0; r == 0 && i < b->pods; i++)
        r = add_object(
            b, KIND_POD,
            arena_printf(&b->arena,
                         "{\"metadata\":{\"name\":\"pod-%lld\",\"namespace\":\"default\","
                         "\"uid\":\"p%lld\"},\"spec\":{\"schedulerName\":"
                         "\"default-scheduler\",\"containers\":[{\"name\":\"c\","
                         "\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
                         "\"500Mi\"}}}]}}",
                         (long long)i, (long long)i),
            reterr);
    return r;
}

static int run(struct bench *b)
{
    struct err err;
    arena_init(&b->arena, 0);
    config_default(&b->config, &b->arena);
    int code = make_objects(b, &err) < 0 ? cmd_fail(EXIT_FAILED, "%s", err.msg) : run_engine(b);
    for (size_t i = 0; i < b->objects.n; i++)
        object_unref(b->objects.v[i]);
    vec_release(&b->objects);
    arena_release(&b->arena);
    return code;
}

int cmd_bench(int argc, char **argv)
{
    struct bench b = {.nodes = 5000, .pods = 10000, .runs = 5};
    struct flag flags[] = {
        {"Bench", "nodes", '\0', FLAG_INT, &b.nodes, "N", "nodes of the cluster", false},
        {NULL, "pods", '\0', FLAG_INT, &b.pods, "N", "pods to place", false},
        {NULL, "runs", '\0', FLAG_INT, &b.runs, "N", "how often", false},
        {NULL, "compare-explain", '\0', FLAG_BOOL, &b.compare, NULL,
         "also measure without records of decisions", false},
        {NULL, "help", 'h', FLAG_BOOL, &b.help, NULL, "this text", false},
    };
    struct err err;
    int n;
    if (flags_parse(flags, ARRAY_LEN(flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth bench --help`", err.msg);
    if (b.help)
        return cmd_help(usage, flags, ARRAY_LEN(flags));
    if (n != 1 || strcmp(argv[1], "engine") != 0)
        return cmd_fail(EXIT_USAGE, "what to measure? `berth bench engine`");
    if (b.nodes < 1 || b.pods < 1 || b.runs < 1 || b.runs > MAX_RUNS)
        return cmd_fail(EXIT_USAGE,
                        "--nodes, --pods and --runs must be at least 1, --runs at "
                        "most %d",
                        MAX_RUNS);
    return run(&b);
}
