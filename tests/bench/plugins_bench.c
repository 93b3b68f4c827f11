/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cost of each plugin per pod and node: its filter and its score, in the single and in the
 * batch form, on a cluster and with pods that exercise it. Prints a table in Markdown, in
 * nanoseconds.
 *
 *     plugins_bench [NODES]
 */
#include <time.h>

#include "cmd/bench/bench_rows.h"
#include "engine/rooms.h"
#include "plugins/registry.h"

#define PODS    2000 /* placed before anything is measured */
#define ROUNDS  7    /* the best of this many counts */
#define ROUND_S 0.02

/* Rows in addition to those of bench_rows. */
static const struct bench_row own_rows[] = {
    {.name = "tolerations",
     .metadata = "",
     .spec = "\"tolerations\":[{\"key\":\"dedicated\",\"value\":\"{group}\"}],",
     .cpu = "100m",
     .memory = "100Mi"},
    {.name = "host-ports",
     .metadata = "",
     .spec = "\"initContainers\":[{\"name\":\"s\",\"restartPolicy\":\"Always\",\"ports\":["
             "{\"containerPort\":80,\"hostPort\":80{group}}]}],",
     .cpu = "100m",
     .memory = "100Mi"},
};

static const struct trial {
    const char *plugin, *row;
} trials[] = {
    {"NodeUnschedulable", "plain"},
    {"NodeName", "plain"},
    {"TaintToleration", "tolerations"},
    {"NodeAffinity", "node-affinity"},
    {"NodePorts", "host-ports"},
    {"NodeResourcesFit", "requests"},
    {"NodeResourcesBalancedAllocation", "requests"},
    {"ImageLocality", "plain"},
    {"PodTopologySpread", "spread"},
    {"PodTopologySpread", "default-spreading"},
    {"InterPodAffinity", "anti-affinity"},
    {"InterPodAffinity", "affinity"},
    {"(out of tree)", "plain"},
};

/* --- a plugin that knows berth/plugin.h only -------------------------------------------------- */

struct outside {
    const struct berth_host *host;
    berth_reason small;
};

static int outside_create(const struct berth_host *host, struct berth_handle *h,
                          struct berth_str args, void **ret_self, struct berth_error *error)
{
    static struct outside self;
    (void)args, (void)error;
    self = (struct outside){host, host->reason(h, BERTH_STR("too small"))};
    *ret_self = &self;
    return 0;
}

static enum berth_code outside_filter(void *ctx, const struct berth_cycle *cycle,
                                      const struct berth_pod *pod, const struct berth_node *node,
                                      struct berth_status *status)
{
    const struct outside *self = ctx;
    (void)cycle, (void)pod;
    if (self->host->node_allocatable(node, BERTH_STR("cpu")) >= 4000)
        return BERTH_SUCCESS;
    self->host->status_reason(status, self->small);
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code outside_filter_many(void *ctx, const struct berth_cycle *cycle,
                                           const struct berth_pod *pod,
                                           struct berth_filter_batch *batch,
                                           struct berth_status *status)
{
    const struct outside *self = ctx;
    (void)cycle, (void)pod, (void)status;
    for (size_t i = 0; i < batch->columns->n; i++)
        if (batch->columns->allocatable_cpu[i] < 4000) {
            batch->feasible[i / 64] &= ~((uint64_t)1 << (i % 64));
            batch->codes[i] = BERTH_UNSCHEDULABLE;
            batch->reasons[i] = self->small;
        }
    return BERTH_SUCCESS;
}

static const struct berth_plugin outside_plugin = {
    BERTH_PLUGIN_HEAD("(out of tree)", "1"),
    .create = outside_create,
    .filter = outside_filter,
    .filter_many = outside_filter_many,
};

/* The in-tree plugins and this one, all enabled. */
static void add_outside(struct registry *r, struct arena *a)
{
    struct err err;
    registry_init(r, &in_tree_registry);
    if (registry_register(r, &outside_plugin, &err) < 0)
        abort();
    struct plugin_ref *list = arena_array(a, struct plugin_ref, r->n_defaults + 1);
    memcpy(list, r->defaults, r->n_defaults * sizeof(*list));
    list[r->n_defaults++] = (struct plugin_ref){.name = STR("(out of tree)")};
    r->defaults = list;
}

static const struct bench_row *find_row(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(own_rows); i++)
        if (strcmp(own_rows[i].name, name) == 0)
            return &own_rows[i];
    return bench_row_find(str_of(name));
}

/* --- the cluster ------------------------------------------------------------------------------ */

struct stage {
    struct arena arena;
    struct scheduler_config config;
    struct bench_objects objects;
    struct engine *engine;
    int64_t now;
    VEC(uint64_t) bindings;
    struct berth_pod *pod; /* the one that is measured */
    struct berth_cycle *cycle;
    struct cycle_failure failure;
};

static int64_t port_now(void *ctx)
{
    return ((struct stage *)ctx)->now++;
}

static void port_submit(void *ctx, const struct write *write)
{
    struct stage *s = ctx;
    if (write->kind == WRITE_BINDING)
        vec_push(&s->bindings, write->id);
}

static void die(const char *what)
{
    fprintf(stderr, "plugins_bench: %s\n", what);
    exit(1);
}

/* Every 30th node is cordoned, every 8th tainted, every 4th has a PreferNoSchedule taint; half have
 * the image. */
static void add_node(struct stage *s, int64_t i)
{
    struct buf text = BUF_INIT;
    struct wire wire = {.kind = kind_get(KIND_NODE), .encoding = ENCODING_JSON};
    struct object *node;
    struct err err;
    buf_add_printf(
        &text,
        "{\"metadata\":{\"name\":\"node-%05lld\",\"labels\":{\"kubernetes.io/hostname\":"
        "\"node-%05lld\",\"topology.kubernetes.io/zone\":\"zone-%lld\",\"disk\":\"%s\"}},"
        "\"spec\":{\"unschedulable\":%s,\"taints\":[%s%s%s]},\"status\":{\"allocatable\":"
        "{\"cpu\":\"8\",\"memory\":\"32Gi\",\"pods\":\"110\"}%s}}",
        (long long)i, (long long)i, (long long)i % 3, i % 2 ? "hdd" : "ssd",
        i % 30 == 7 ? "true" : "false",
        i % 8 == 1 ? "{\"key\":\"dedicated\",\"value\":\"7\",\"effect\":\"NoSchedule\"}" : "",
        i % 8 == 1 && i % 4 == 1 ? "," : "",
        i % 4 == 1 ? "{\"key\":\"old\",\"effect\":\"PreferNoSchedule\"}" : "",
        i % 2 ? ",\"images\":[{\"names\":[\"registry.k8s.io/pause:3.10\"],\"sizeBytes\":"
                "300000000}]"
              : "");
    if (object_decode(&wire, buf_str(&text), &node, &err) < 0)
        die(err.msg);
    engine_object_changed(s->engine, NULL, node);
    object_unref(node);
    buf_release(&text);
}

static void place_pods(struct stage *s)
{
    static const struct write_result created = {.status = 201};
    for (size_t i = 0; i + 1 < s->objects.pods.n; i++)
        engine_object_changed(s->engine, NULL, s->objects.pods.v[i]);
    while (engine_schedule_one(s->engine)) {
        for (size_t i = 0; i < s->bindings.n; i++)
            engine_write_done(s->engine, s->bindings.v[i], &created);
        vec_clear(&s->bindings);
    }
    if (engine_get_stats(s->engine).pods != PODS)
        die("the pods do not fit");
}

/* All nodes are scored, so that every plugin gets as many as its filters leave. */
static void stage_init(struct stage *s, const struct bench_row *row, int64_t nodes)
{
    static int32_t all = 100;
    struct err err;
    struct registry registry;
    *s = (struct stage){.now = 1000000000};
    arena_init(&s->arena, 0);
    add_outside(&registry, &s->arena);
    config_default(&s->config, &s->arena);
    s->config.profiles.v[0].percentage_of_nodes_to_score = &all;
    struct engine_options options = {
        .config = &s->config,
        .registry = &registry,
        .seed = 1,
        .ports = {.ctx = s, .now = port_now, .submit = port_submit},
    };
    if (engine_new(&options, &s->engine, &err) < 0 ||
        bench_objects_init(&s->objects, row, 0, PODS + 1, &err) < 0)
        die(err.msg);
    registry_release(&registry);
    for (int64_t i = 0; i < nodes; i++)
        add_node(s, i);
    for (size_t i = 0; i < s->objects.cluster.n; i++)
        engine_object_changed(s->engine, NULL, s->objects.cluster.v[i]);
    place_pods(s);
    s->pod = pod_info_new(vec_last(&s->objects.pods), &s->engine->names);
    s->cycle = cycle_new(&s->engine->cycles, s->engine->framework.setup->profiles.v[0]);
    if (!cycle_pre_filter(s->cycle, s->pod, &s->failure) ||
        !cycle_filter(s->cycle, s->pod, &s->failure) || !cycle_score(s->cycle, s->pod, &s->failure))
        die("the pod that is measured does not fit");
}

static void stage_release(struct stage *s)
{
    cycle_failure_release(&s->failure);
    cycle_free(s->cycle);
    pod_info_unref(s->pod);
    engine_free(s->engine);
    bench_objects_release(&s->objects);
    vec_release(&s->bindings);
    arena_release(&s->arena);
}

/* --- measuring -------------------------------------------------------------------------------- */

/* One pass over all nodes that the plugin evaluates. Returns their number. */
typedef size_t pass_fn(struct stage *s, const struct berth_handle *h);

static size_t filter_single(struct stage *s, const struct berth_handle *h)
{
    size_t n = s->engine->cache.order.n;
    for (size_t i = 0; i < n; i++) {
        status_clear(&s->engine->cycles.status);
        h->plugin->filter(h->self, s->cycle, s->pod, s->engine->cache.order.v[i],
                          &s->engine->cycles.status);
    }
    return n;
}

static size_t filter_batch(struct stage *s, const struct berth_handle *h)
{
    struct attempt_buffers *pad = &s->engine->cycles.buffers;
    size_t n = s->cycle->columns.n;
    memcpy(pad->feasible, s->cycle->columns.present, BITSET_WORDS(n) * sizeof(uint64_t));
    struct berth_filter_batch batch = {.struct_size = sizeof(batch),
                                       .columns = &s->cycle->columns,
                                       .feasible = pad->feasible,
                                       .codes = pad->codes,
                                       .reasons = pad->reasons};
    status_clear(&s->engine->cycles.status);
    h->plugin->filter_many(h->self, s->cycle, s->pod, &batch, &s->engine->cycles.status);
    return n;
}

static size_t score_single(struct stage *s, const struct berth_handle *h)
{
    for (size_t i = 0; i < s->cycle->n_slots; i++) {
        const struct berth_node *node = s->cycle->columns.nodes[s->cycle->slots[i]];
        status_clear(&s->engine->cycles.status);
        h->plugin->score(h->self, s->cycle, s->pod, node, &s->cycle->scores[i],
                         &s->engine->cycles.status);
    }
    return s->cycle->n_slots;
}

static size_t score_batch(struct stage *s, const struct berth_handle *h)
{
    struct berth_score_batch batch = {.struct_size = sizeof(batch),
                                      .columns = &s->cycle->columns,
                                      .slots = s->cycle->slots,
                                      .n = s->cycle->n_slots,
                                      .scores = s->cycle->scores};
    status_clear(&s->engine->cycles.status);
    h->plugin->score_many(h->self, s->cycle, s->pod, &batch, &s->engine->cycles.status);
    return s->cycle->n_slots;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Nanoseconds per node. */
static double measure(struct stage *s, const struct berth_handle *h, pass_fn *pass)
{
    double best = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t nodes = 0;
        double start = seconds(), spent = 0;
        while (spent < ROUND_S) {
            nodes += pass(s, h);
            spent = seconds() - start;
        }
        double ns = spent * 1e9 / (double)nodes;
        best = round && best < ns ? best : ns;
    }
    return best;
}

static void print_cell(struct stage *s, const struct berth_handle *h, bool measured, pass_fn *pass)
{
    if (measured)
        printf(" %.1f |", measure(s, h, pass));
    else
        printf(" – |");
}

static const struct berth_handle *find_plugin(const struct stage *s, const char *name)
{
    const struct profile *p = s->engine->framework.setup->profiles.v[0];
    for (size_t i = 0; i < p->instances.n; i++)
        if (strcmp(p->instances.v[i]->plugin->name, name) == 0)
            return p->instances.v[i];
    die(name);
    return NULL;
}

static void run(const struct trial *t, int64_t nodes)
{
    struct stage s;
    stage_init(&s, find_row(t->row), nodes);
    const struct berth_handle *h = find_plugin(&s, t->plugin);
    const struct berth_plugin *p = h->plugin;
    bool filters = !plugin_set_has(&s.cycle->skip_filter, h->id);
    bool scores = !plugin_set_has(&s.cycle->skip_score, h->id);
    printf("| %s | %s |", t->plugin, t->row);
    print_cell(&s, h, filters && p->filter, filter_single);
    print_cell(&s, h, filters && p->filter_many, filter_batch);
    print_cell(&s, h, scores && p->score, score_single);
    print_cell(&s, h, scores && p->score_many, score_batch);
    putchar('\n');
    fflush(stdout);
    stage_release(&s);
}

int main(int argc, char **argv)
{
    int64_t nodes = 5000;
    if (argc > 2 || (argc == 2 && (!str_to_i64(str_of(argv[1]), &nodes) || nodes < 100)))
        die("usage: plugins_bench [NODES], at least 100");
    printf("%lld nodes, %d pods placed before; ns per pod and node\n\n", (long long)nodes, PODS);
    printf(
        "| plugin | pods | filter, one by one | filter, batch | score, one by one | score, batch "
        "|\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(trials); i++)
        run(&trials[i], nodes);
    return 0;
}
