/* SPDX-License-Identifier: Apache-2.0 */
/* berth simulate: schedules the pods of manifest files, without a cluster. */
#include "api/pod.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/plugin_flags.h"
#include "cmd/config/config_file.h"
#include "cmd/explain/explain_output.h"
#include "cmd/simulate/simulate_input.h"
#include "cmd/simulate/simulate_responses.h"
#include "codec/json.h"
#include "engine/config/config.h"
#include "live/call_report.h"
#include "sim/sim.h"

typedef VEC(const char *) file_list;

struct simulate {
    const char *config_file, *output, *pod;
    int64_t seed, attempts, nodes;
    bool explain, survey, help, recursive, fail_on_pending, controllers, claims;
    enum scenario_validation validation;
    struct features features;
    struct arena arena;
    struct scheduler_config config;
    file_list files, then;
    struct scenario *stages; /* the files, then one for each --then */
    size_t n_stages;
    struct plugin_flags plugins;
    struct simulate_responses responses;
    struct flag_custom gates_flag, files_flag, then_flag, validate_flag, responses_flag;
    struct flag flags[20];
};

static const char usage[] =
    "Schedule the pods in manifest files on the nodes in the same files, and print\n"
    "where each pod would run. No cluster is needed and nothing is written. Files are\n"
    "YAML or JSON of any size, such as the output of `kubectl get nodes,pods -A -o\n"
    "json`. Of a directory, the .yaml, .yml and .json files are read; \"-\" is standard\n"
    "input.\n"
    "\nUsage: berth simulate [FLAGS] FILE... [--then FILE]...\n"
    "\nPods without a uid get the defaults, priority and runtime class that an API\n"
    "server would set. Deployments, ReplicaSets, ReplicationControllers,\n"
    "StatefulSets, DaemonSets and Jobs get the pods that their controllers would\n"
    "create, unless the files contain them. Persistent volume claims are bound and\n"
    "provisioned, and the claims of ephemeral volumes and of resource claim templates\n"
    "are created, unless --controllers=false is set. Every provisioner is assumed to\n"
    "work.\n"
    "\nThe files of --then are applied after the pods of the files before them have\n"
    "been tried. They contain objects, or watch events: {type: ADDED, MODIFIED or\n"
    "DELETED, object: ...}.\n"
    "\nWith --explain, every attempt to schedule a pod is printed first: the nodes that\n"
    "a plugin refused, with the reason, and the scores of the other nodes. With -o\n"
    "json as well, only attempts are printed, one JSON object per line.\n"
    "\nExit status: 0 on success, 1 if the input is invalid, 2 if the command line is\n"
    "invalid, 3 if a pod is left without a node and --fail-on-pending is set.\n"
    "\nExamples:\n"
    "  berth simulate examples/scenario.yaml\n"
    "  berth simulate --fail-on-pending -R -f manifests/\n"
    "  berth simulate --explain --pod default/too-big examples/scenario.yaml\n"
    "  kubectl get nodes,pods -A -o yaml | berth simulate -\n";

/* Enough for all attempts with thousands of pods and nodes; a running scheduler keeps less. */
#define EXPLAIN_BYTES ((size_t)1 << 30)

/* Prints errors. */
static bool load_config(struct simulate *s, struct loaded_plugins **plugins)
{
    struct buf lines = BUF_INIT;
    config_default(&s->config, &s->arena);
    bool ok = !*s->config_file ||
              config_file_use(s->config_file, plugins, &s->features, &s->arena, &s->config, &lines);
    if (ok && s->config.extenders.n) {
        buf_add_printf(&lines,
                       "%s: extenders: not supported by simulate; remove them to simulate "
                       "scheduling without them\n",
                       s->config_file);
        ok = false;
    }
    config_file_print(&lines);
    buf_release(&lines);
    return ok;
}

static int load_stage(struct simulate *s, size_t stage, struct err *reterr)
{
    struct scenario *to = &s->stages[stage];
    int r = 0;
    if (stage)
        scenario_init_after(to, &s->stages[stage - 1]);
    for (size_t i = 0; r == 0 && stage == 0 && i < s->files.n; i++)
        r = simulate_input_read(to, s->files.v[i], s->recursive, reterr);
    if (stage)
        r = simulate_input_read(to, s->then.v[stage - 1], s->recursive, reterr);
    if (r == 0 && (to->validation != VALIDATE_STRICT || to->n_problems == 0))
        r = scenario_complete(to, reterr);
    return r;
}

/* Loads all stages and prints errors and warnings. */
static bool load(struct simulate *s)
{
    bool good = true;
    for (size_t i = 0; i < s->n_stages; i++) {
        struct err err;
        int r = load_stage(s, i, &err);
        good &= simulate_input_report(&s->stages[i]);
        if (r < 0) {
            cmd_fail(EXIT_FAILED, "%s", err.msg);
            return false;
        }
    }
    return good;
}

/* --- output ----------------------------------------------------------------------------------- */

static struct str full_name(const struct object *pod, struct arena *a)
{
    const struct object_meta *meta = object_meta(pod);
    return arena_printf(a, "%.*s/%.*s", STR_ARG(meta->namespace), STR_ARG(meta->name));
}

/* The table of evicted pods. */
static void print_evictions(const struct sim *sim, struct arena *a)
{
    int width = 9, node_width = 4;
    for (size_t i = 0; i < sim->evictions.n; i++) {
        const struct object *victim = sim->evictions.v[i].victim;
        width = MAX(width, (int)full_name(victim, a).n);
        node_width = MAX(node_width, (int)object_pod(victim)->spec.node_name.n);
    }
    if (sim->evictions.n)
        printf("\n%-*s  %-*s  %s\n", width, "PREEMPTED", node_width, "NODE", "BY");
    for (size_t i = 0; i < sim->evictions.n; i++) {
        const struct sim_eviction *e = &sim->evictions.v[i];
        printf("%-*.*s  %-*.*s  %.*s\n", width, STR_ARG(full_name(e->victim, a)), node_width,
               STR_ARG(object_pod(e->victim)->spec.node_name), STR_ARG(full_name(e->preemptor, a)));
    }
}

static bool has_profile(const struct simulate *s, struct str name)
{
    for (size_t i = 0; i < s->config.profiles.n; i++) {
        const struct str *its = s->config.profiles.v[i].scheduler_name;
        if (str_eq(its ? *its : STR(DEFAULT_SCHEDULER_NAME), name))
            return true;
    }
    return false;
}

/* Why a pod was never tried. */
static struct buf *why_untried(const struct simulate *s, const struct object *object,
                               struct buf *out)
{
    const struct pod *pod = object_pod(object);
    buf_clear(out);
    if (!has_profile(s, pod->spec.scheduler_name)) {
        buf_add_printf(out, "no profile for schedulerName \"%.*s\"",
                       STR_ARG(pod->spec.scheduler_name));
    } else if (pod->metadata.deletion_timestamp.set) {
        buf_add_cstr(out, "being deleted");
    } else if (pod->spec.scheduling_gates.n) {
        buf_add_cstr(out, "waiting for scheduling gates: [");
        for (size_t i = 0; i < pod->spec.scheduling_gates.n; i++)
            buf_add_printf(out, "%s%.*s", i ? " " : "",
                           STR_ARG(pod->spec.scheduling_gates.v[i].name));
        buf_add_char(out, ']');
    } else {
        buf_add_cstr(out, pod->spec.scheduling_group
                              ? "waiting for its pod group, or for more pods of the group"
                              : "not queued: rejected by a PreEnqueue plugin");
    }
    return out;
}

static void print_table(const struct simulate *s, const struct sim *sim)
{
    struct buf why = BUF_INIT;
    struct arena a;
    int pod_width = 3, node_width = 4;
    size_t placed = 0;
    arena_init(&a, 4096);
    for (size_t i = 0; i < sim->pods.n; i++) {
        pod_width = MAX(pod_width, (int)full_name(sim->pods.v[i]->object, &a).n);
        if (sim->pods.v[i]->node)
            node_width = MAX(node_width, (int)strlen(sim->pods.v[i]->node));
    }
    printf("%-*s  %-*s  %s\n", pod_width, "POD", node_width, "NODE", "MESSAGE");
    for (size_t i = 0; i < sim->pods.n; i++) {
        const struct sim_pod *pod = sim->pods.v[i];
        struct str name = full_name(pod->object, &a);
        placed += pod->node != NULL && !pod->preempted;
        if (pod->node)
            printf("%-*.*s  %-*s%s\n", pod_width, STR_ARG(name),
                   pod->preempted ? node_width + 2 : 0, pod->node,
                   pod->preempted ? "preempted" : "");
        else
            printf("%-*.*s  %-*s  %s\n", pod_width, STR_ARG(name), node_width, "-",
                   pod->message ? pod->message : buf_cstr(why_untried(s, pod->object, &why)));
    }
    print_evictions(sim, &a);
    printf("\n%zu of %zu pods placed\n", placed, sim->pods.n);
    buf_release(&why);
    arena_release(&a);
}

/* The pods that one pod preempted. */
static void write_victims(const struct sim *sim, const struct object *pod, struct arena *a,
                          struct buf *out)
{
    bool first = true;
    buf_add_cstr(out, ",\"victims\":[");
    for (size_t i = 0; i < sim->evictions.n; i++) {
        const struct sim_eviction *e = &sim->evictions.v[i];
        if (!str_eq(object_meta(e->preemptor)->uid, object_meta(pod)->uid))
            continue;
        buf_add_cstr(out, first ? "" : ",");
        json_write_str(out, full_name(e->victim, a));
        first = false;
    }
    buf_add_char(out, ']');
}

static void print_json(const struct simulate *s, const struct sim *sim)
{
    struct buf out = BUF_INIT, why = BUF_INIT;
    struct arena a;
    arena_init(&a, 0);
    buf_add_cstr(&out, "[");
    for (size_t i = 0; i < sim->pods.n; i++) {
        const struct sim_pod *pod = sim->pods.v[i];
        const struct object_meta *meta = object_meta(pod->object);
        buf_add_cstr(&out, i ? ",\n {\"namespace\":" : "\n {\"namespace\":");
        json_write_str(&out, meta->namespace);
        buf_add_cstr(&out, ",\"name\":");
        json_write_str(&out, meta->name);
        buf_add_cstr(&out, ",\"node\":");
        json_write_str(&out, str_of(pod->node ? pod->node : ""));
        buf_add_cstr(&out, ",\"message\":");
        if (!pod->message && !pod->node)
            json_write_str(&out, buf_str(why_untried(s, pod->object, &why)));
        else
            json_write_str(&out, str_of(pod->message ? pod->message : ""));
        buf_add_printf(&out, ",\"attempts\":%u,\"preempted\":%s", pod->attempts,
                       pod->preempted ? "true" : "false");
        write_victims(sim, pod->object, &a, &out);
        buf_add_char(&out, '}');
    }
    buf_add_cstr(&out, "\n]\n");
    fwrite(out.p, 1, out.n, stdout);
    buf_release(&out);
    buf_release(&why);
    arena_release(&a);
}

/* Returns whether any attempt was printed. */
static bool print_explanations(const struct simulate *s, const struct sim *sim)
{
    struct explain_output out;
    struct str namespace, name;
    explain_split_pod(str_of(s->pod), STR("default"), &namespace, &name);
    explain_output_init(&out, explain_format_of(s->output), (size_t)s->nodes);
    engine_explain_each(sim->engine, namespace, name, explain_output_reader(&out));
    return explain_output_end(&out) > 0;
}

static void play(const struct simulate *s, struct sim *sim)
{
    for (size_t i = 0; i < s->n_stages; i++) {
        sim_load(sim, &s->stages[i]);
        sim_run(sim);
    }
}

/* With --pod, the table of all pods is printed only if the pod was never tried. */
static void print_pods(const struct simulate *s, const struct sim *sim)
{
    bool json = strcmp(s->output, "json") == 0;
    bool explained = s->explain && print_explanations(s, sim);
    if (*s->pod && !explained)
        fprintf(stderr, "berth: --pod: no attempt to schedule pod \"%s\"\n", s->pod);
    if (s->explain && (json || (*s->pod && explained)))
        return;
    if (explained)
        putchar('\n');
    if (json)
        print_json(s, sim);
    else
        print_table(s, sim);
}

static int by_key(const void *a, const void *b)
{
    return str_cmp((*(const struct map_entry *const *)a)->key,
                   (*(const struct map_entry *const *)b)->key);
}

static bool is_claim(const struct object *o)
{
    return object_kind(o)->id == KIND_RESOURCE_CLAIM;
}

static bool takes_of_node(const struct object *o)
{
    return object_kind(o)->id == KIND_POD &&
           object_pod(o)->status.node_allocatable_resource_claim_statuses.n;
}

static void print_claims(const struct sim *sim)
{
    VEC(const struct map_entry *) claims = {0};
    struct buf out = BUF_INIT;
    map_each (e, &sim->api.objects)
        if (is_claim(sim_object_of(e)) || takes_of_node(sim_object_of(e)))
            vec_push(&claims, e);
    if (claims.n > 1)
        qsort(claims.v, claims.n, sizeof(*claims.v), by_key);
    for (size_t i = 0; i < claims.n; i++) {
        const struct object *o = sim_object_of(claims.v[i]);
        object_encode(object_kind(o), object_body(o), ENCODING_JSON, &out);
        buf_add_char(&out, '\n');
    }
    if (out.n)
        fwrite(out.p, 1, out.n, stdout);
    buf_release(&out);
    vec_release(&claims);
}

static void print_result(const struct simulate *s, const struct sim *sim)
{
    print_pods(s, sim);
    if (s->claims)
        print_claims(sim);
}

static bool all_placed(const struct sim *sim)
{
    for (size_t i = 0; i < sim->pods.n; i++)
        if (!sim->pods.v[i]->node || sim->pods.v[i]->preempted)
            return false;
    return true;
}

static int run(struct simulate *s)
{
    struct err err;
    struct sim *sim = NULL;
    struct loaded_plugins *plugins;
    call_report_crashes();
    int r = loaded_plugins_new(&s->plugins.sources, NULL, &plugins, &err);
    if (r < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    bool good = load_config(s, &plugins);
    struct sim_options options = {.config = &s->config,
                                  .registry = &plugins->registry,
                                  .features = &s->features,
                                  .seed = (uint64_t)s->seed,
                                  .explain_bytes = s->explain ? EXPLAIN_BYTES : 0,
                                  .surveys = s->survey,
                                  .max_attempts = (uint32_t)s->attempts,
                                  .responses = s->responses.v.v,
                                  .n_responses = s->responses.v.n,
                                  .no_controllers = !s->controllers};
    if (good)
        r = sim_new(&options, &sim, &err);
    int code = r < 0 ? cmd_fail(EXIT_FAILED, "%s", err.msg) : EXIT_FAILED;
    /* Now it is known which custom resources plugins want. */
    if (sim && load(s)) {
        play(s, sim);
        print_result(s, sim);
        if (sim->unanswered)
            fprintf(stderr,
                    "berth: a plugin asked for %s, which simulate does not do; give the response "
                    "with --http-response URL=FILE\n",
                    sim->unanswered);
        code = s->fail_on_pending && !all_placed(sim) ? EXIT_PENDING : EXIT_DONE;
    }
    sim_free(sim);
    loaded_plugins_unref(plugins);
    return code;
}

static int add_file(void *to, struct str text, struct err *reterr)
{
    (void)reterr;
    file_list *list = to;
    vec_push(list, text.p); /* points into argv: ends with NUL */
    return 0;
}

static int run_stages(struct simulate *s)
{
    arena_init(&s->arena, 4096);
    s->n_stages = s->then.n + 1;
    s->stages = xcalloc(s->n_stages, sizeof(*s->stages));
    scenario_init(&s->stages[0]);
    s->stages[0].validation = s->validation;
    int code = run(s);
    for (size_t i = s->n_stages; i-- > 0;)
        scenario_release(&s->stages[i]);
    free(s->stages);
    arena_release(&s->arena);
    return code;
}

static void init(struct simulate *s)
{
    *s = (struct simulate){.config_file = "",
                           .output = "table",
                           .pod = "",
                           .seed = 1,
                           .attempts = 3,
                           .controllers = true,
                           .nodes = EXPLAIN_TABLE_NODES};
    features_default(&s->features);
    s->gates_flag = flag_features(&s->features);
    s->files_flag = (struct flag_custom){.to = &s->files, .set = add_file};
    s->then_flag = (struct flag_custom){.to = &s->then, .set = add_file};
    s->validate_flag = simulate_input_flag(&s->validation);
    s->responses_flag = simulate_responses_flag(&s->responses);
    plugin_flags_init(&s->plugins);
    const struct flag flags[] = {
        {"Simulate", "config", '\0', FLAG_STR, &s->config_file, "FILE",
         "Path to the configuration file: a KubeSchedulerConfiguration.", false, NULL},
        {NULL, "plugin", '\0', FLAG_CUSTOM, &s->plugins.files, "FILE", PLUGIN_FLAG_HELP, false,
         NULL},
        {NULL, "plugin-dir", '\0', FLAG_CUSTOM, &s->plugins.dirs, "DIR", PLUGIN_DIR_FLAG_HELP,
         false, NULL},
        {NULL, "filename", 'f', FLAG_CUSTOM, &s->files_flag, "FILE",
         "File or directory with objects, the same as the argument FILE. Can be repeated.", false,
         NULL},
        {NULL, "recursive", 'R', FLAG_BOOL, &s->recursive, NULL, "Read directories recursively.",
         false, NULL},
        {NULL, "validate", '\0', FLAG_CUSTOM, &s->validate_flag, "MODE",
         "Validation of fields: \"strict\" (or true) rejects unknown and duplicate fields, "
         "\"warn\" warns about them, \"ignore\" (or false) does not check.",
         false, NULL},
        {NULL, "fail-on-pending", '\0', FLAG_BOOL, &s->fail_on_pending, NULL,
         "Exit with status 3 if a pod is left without a node.", false, NULL},
        {NULL, "then", '\0', FLAG_CUSTOM, &s->then_flag, "FILE",
         "File or directory with changes to apply afterwards. Can be repeated.", false, NULL},
        {NULL, "output", 'o', FLAG_STR, &s->output, "FORMAT", EXPLAIN_OUTPUT_HELP, false, NULL},
        {NULL, "explain", '\0', FLAG_BOOL, &s->explain, NULL,
         "Print every attempt with its verdicts and scores.", false, NULL},
        {NULL, "pod", '\0', FLAG_STR, &s->pod, "NAMESPACE/NAME", "Explain only this pod.", false,
         NULL},
        {NULL, "nodes", '\0', FLAG_INT, &s->nodes, "N", EXPLAIN_NODES_HELP, false, NULL},
        {NULL, "survey", '\0', FLAG_BOOL, &s->survey, NULL,
         "Explain with the verdicts of all filters on every node, not only the first that "
         "refuses it.",
         false, NULL},
        {NULL, "attempts", '\0', FLAG_INT, &s->attempts, "N",
         "Maximum number of attempts to schedule a pod.", false, NULL},
        {NULL, "controllers", '\0', FLAG_BOOL, &s->controllers, NULL,
         "Bind and provision volumes, and create the claims of ephemeral volumes and of resource "
         "claim templates, as the controllers of a cluster do.",
         false, NULL},
        {NULL, "claims", '\0', FLAG_BOOL, &s->claims, NULL,
         "Print the ResourceClaims and what was allocated for them at the end, one JSON object "
         "per line, and the pods whose claims take cpu or memory of their node.",
         false, NULL},
        {NULL, "http-response", '\0', FLAG_CUSTOM, &s->responses_flag, "URL=FILE",
         "File with the response to a plugin that sends a GET to this URL, for example the metrics "
         "of a load watcher. A path such as /apis/metrics.k8s.io/v1beta1/nodes is one of the API "
         "server. Can be repeated.",
         false, NULL},
        {NULL, "seed", '\0', FLAG_INT, &s->seed, "N", "Seed for the scheduler's random choices.",
         false, NULL},
        {NULL, "feature-gates", '\0', FLAG_CUSTOM, &s->gates_flag, "GATES", FEATURE_GATES_HELP,
         false, NULL},
        {NULL, "help", 'h', FLAG_BOOL, &s->help, NULL, "Print help and exit.", false, NULL},
    };
    static_assert(sizeof(flags) == sizeof(s->flags), "room for every flag");
    memcpy(s->flags, flags, sizeof(flags));
}

static int parse_and_run(struct simulate *s, int argc, char **argv)
{
    struct err err;
    int n;
    if (flags_parse(s->flags, ARRAY_LEN(s->flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth simulate --help`", err.msg);
    if (s->help)
        return cmd_help(usage, s->flags, ARRAY_LEN(s->flags));
    if (explain_format_of(s->output) == EXPLAIN_FORMAT_NONE)
        return cmd_fail(EXIT_USAGE, "--output: \"%s\" is not one of " EXPLAIN_FORMATS, s->output);
    if (s->nodes < 0)
        return cmd_fail(EXIT_USAGE, "--nodes: must not be negative");
    if (s->attempts < 1 || s->attempts > UINT32_MAX)
        return cmd_fail(EXIT_USAGE, "--attempts: must be at least 1");
    s->explain |= s->survey || *s->pod;
    for (int i = 1; i <= n; i++)
        vec_push(&s->files, argv[i]);
    if (s->files.n == 0)
        return cmd_fail(EXIT_USAGE, "no file given; see `berth simulate --help`");
    return run_stages(s);
}

int cmd_simulate(int argc, char **argv)
{
    struct simulate s;
    init(&s);
    int code = parse_and_run(&s, argc, argv);
    plugin_flags_release(&s.plugins);
    vec_release(&s.files);
    vec_release(&s.then);
    simulate_responses_release(&s.responses);
    return code;
}

void cmd_simulate_flags(cmd_flags_fn *fn, void *ctx)
{
    struct simulate s;
    init(&s);
    fn(ctx, s.flags, ARRAY_LEN(s.flags));
}
