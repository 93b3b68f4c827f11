/* SPDX-License-Identifier: Apache-2.0 */
/* berth up: the command line. */
#include "apiserver/access/authorization.h"
#include "apiserver/admission/admission.h"
#include "cmd/cli/cmd.h"
#include "cmd/up/up.h"

#define DEFAULT_NODES 3
#define MAX_NODES     1000000
#define MAX_ZONES     1000

static const char usage[] =
    "Run a Kubernetes cluster in this process: API server, scheduler, controllers and simulated\n"
    "nodes. Print the address and the KUBECONFIG to use, and run until Ctrl-C.\n"
    "\nExamples:\n"
    "  berth up --nodes 100 --zones 3\n"
    "  berth up -f manifests/ --wait\n"
    "  berth up --import dump.yaml --config scheduler-config.yaml\n"
    "\nUsage:\n  berth up [flags]\n";

static const struct up_options defaults = {
    .nodes = DEFAULT_NODES,
    .port = 6443,
    .verbosity = -1,
    .node_template = "",
    .config_file = "",
    .feature_gates = "",
    .import = "",
    .export = "",
    .data_dir = "",
    .address = "127.0.0.1",
    .kubeconfig = "",
    .token_auth_file = "",
    .authorization_modes = "RBAC",
    .disable_admission = "",
};

struct up_command {
    struct up_options options;
    const char *zones;
    bool help;
    struct arena arena;
    struct flag_custom files_flag;
    struct flag flags[26];
};

static int add_file(void *to, struct str text, struct err *reterr UNUSED)
{
    struct up_options *o = to;
    vec_push(&o->files, text.p); /* points into argv: ends with NUL */
    return 0;
}

static void init(struct up_command *c)
{
    struct up_options *o = &c->options;
    *c = (struct up_command){.zones = "3"};
    *o = defaults;
    arena_init(&c->arena, 0);
    plugin_flags_init(&o->plugins);
    c->files_flag = (struct flag_custom){.to = o, .set = add_file};
    const struct flag flags[] = {
        {"Nodes", "nodes", '\0', FLAG_INT, &o->nodes, "N",
         "Number of simulated nodes. With --import, the default is 0.", false, NULL},
        {NULL, "node-template", '\0', FLAG_STR, &o->node_template, "FILE",
         "File with a Node, and the CSINode and ResourceSlices of it, that nodes are copies of. "
         "Several of them take turns.",
         false, NULL},
        {NULL, "zones", '\0', FLAG_STR, &c->zones, "N|NAMES",
         "Number of zones, or their names separated by commas. Nodes take turns.", false, NULL},
        {"Objects", "filename", 'f', FLAG_CUSTOM, &c->files_flag, "FILE",
         "File or directory with objects to create. Can be repeated. - is standard input.", false,
         NULL},
        {NULL, "recursive", 'R', FLAG_BOOL, &o->recursive, NULL, "Read directories recursively.",
         false, NULL},
        {NULL, "import", '\0', FLAG_STR, &o->import, "FILE",
         "Start with the objects of another cluster: the output of kubectl get -o yaml, the export "
         "of kube-scheduler-simulator, or the kubeconfig of a live cluster.",
         false, NULL},
        {NULL, "export", '\0', FLAG_STR, &o->export, "FILE",
         "At the end, write the objects that users have made to this file, as a List for kubectl "
         "apply. YAML, or JSON if the name ends with .json.",
         false, NULL},
        {NULL, "data-dir", '\0', FLAG_STR, &o->data_dir, "DIR",
         "Keep objects and certificates in this directory. The default is memory.", false, NULL},
        {"Scheduler", "config", '\0', FLAG_STR, &o->config_file, "FILE",
         "Path to the configuration file: a KubeSchedulerConfiguration.", false, NULL},
        {NULL, "plugin", '\0', FLAG_CUSTOM, &o->plugins.files, "FILE", PLUGIN_FLAG_HELP, false,
         NULL},
        {NULL, "plugin-dir", '\0', FLAG_CUSTOM, &o->plugins.dirs, "DIR", PLUGIN_DIR_FLAG_HELP,
         false, NULL},
        {NULL, "feature-gates", '\0', FLAG_STR, &o->feature_gates, "GATES",
         "Comma-separated list of Name=true|false, as for berth scheduler.", false, NULL},
        {NULL, "without-scheduler", '\0', FLAG_BOOL, &o->without_scheduler, NULL,
         "Run no scheduler. Another one can use the kubeconfig.", false, NULL},
        {NULL, "without-controllers", '\0', FLAG_BOOL, &o->without_controllers, NULL,
         "Run no controllers. kube-controller-manager can use the kubeconfig.", false, NULL},
        {"Server", "address", '\0', FLAG_IP, &o->address, "IP", "Address to listen on.", false,
         NULL},
        {NULL, "port", '\0', FLAG_INT, &o->port, "PORT", "Port to listen on. 0 selects a free one.",
         false, NULL},
        {NULL, "plain-http", '\0', FLAG_BOOL, &o->plain, NULL,
         "Serve HTTP without TLS and credentials, on a loopback address only. Every client is the "
         "administrator.",
         false, NULL},
        {NULL, "kubeconfig", '\0', FLAG_STR, &o->kubeconfig, "FILE",
         "Write the kubeconfig to this file. The default is a file in the data directory, or in a "
         "private directory that is removed at the end.",
         false, NULL},
        {NULL, "token-auth-file", '\0', FLAG_STR, &o->token_auth_file, "FILE",
         "CSV file with tokens of users: token,user,uid,\"group1,group2\".", false, NULL},
        {NULL, "authorization-mode", '\0', FLAG_STR, &o->authorization_modes, "MODES",
         "Comma-separated list of RBAC, AlwaysAllow, AlwaysDeny and Node (ignored).", false, NULL},
        {NULL, "disable-admission-plugins", '\0', FLAG_STR, &o->disable_admission, "NAMES",
         "Admission plugins to disable, separated by commas: ServiceAccount, LimitRanger and so "
         "on.",
         false, NULL},
        {"Run", "wait", '\0', FLAG_BOOL, &o->wait, NULL,
         "Wait until every pod is placed or found unschedulable, print where they went and one "
         "explanation, and exit.",
         false, NULL},
        {NULL, "summary", '\0', FLAG_BOOL, &o->summary, NULL, "Print that, and keep running.",
         false, NULL},
        {NULL, "for", '\0', FLAG_DURATION, &o->limit, "DURATION",
         "Exit after this time. With --wait, exit with status 3 if it ends first.", false, NULL},
        {NULL, "v", 'v', FLAG_INT, &o->verbosity, "LEVEL",
         "Level of log lines; -1 logs warnings and errors only.", false, NULL},
        {NULL, "help", 'h', FLAG_BOOL, &c->help, NULL, "Print help and exit.", false, NULL},
    };
    static_assert(sizeof(flags) == sizeof(c->flags), "room for every flag");
    memcpy(c->flags, flags, sizeof(flags));
}

static void release(struct up_command *c)
{
    plugin_flags_release(&c->options.plugins);
    vec_release(&c->options.files);
    vec_release(&c->options.zones);
    arena_release(&c->arena);
}

static bool read_zones(struct up_command *c)
{
    struct str rest = str_of(c->zones), name;
    int64_t n;
    if (str_to_i64(rest, &n)) {
        for (int64_t i = 1; i <= n && n <= MAX_ZONES; i++)
            vec_push(&c->options.zones, arena_printf(&c->arena, "zone-%lld", (long long)i));
        return n >= 0 && n <= MAX_ZONES;
    }
    while (rest.n && str_split(&rest, ',', &name)) {
        if (str_empty(name) || c->options.zones.n == MAX_ZONES)
            return false;
        vec_push(&c->options.zones, name);
    }
    return true;
}

static bool is_loopback(const char *address)
{
    return str_starts(str_of(address), STR("127.")) || strcmp(address, "::1") == 0;
}

static int parse_and_run(struct up_command *c, int argc, char **argv)
{
    struct up_options *o = &c->options;
    struct err err;
    int n;
    if (flags_parse(c->flags, ARRAY_LEN(c->flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth up --help`", err.msg);
    if (c->help)
        return cmd_help(usage, c->flags, ARRAY_LEN(c->flags));
    if (n > 0)
        return cmd_fail(EXIT_USAGE, "unexpected argument \"%s\"; objects are read with -f",
                        argv[1]);
    o->nodes_given = flags_given(c->flags, ARRAY_LEN(c->flags), "nodes");
    if (o->nodes < 0 || o->nodes > MAX_NODES)
        return cmd_fail(EXIT_USAGE, "--nodes: must be between 0 and %d", MAX_NODES);
    if (o->port < 0 || o->port > UINT16_MAX)
        return cmd_fail(EXIT_USAGE, "--port: must be between 0 and %d", UINT16_MAX);
    if (o->limit < 0)
        return cmd_fail(EXIT_USAGE, "--for: must not be negative");
    if (!read_zones(c))
        return cmd_fail(EXIT_USAGE, "--zones: \"%s\" is not a number up to %d or a list of names",
                        c->zones, MAX_ZONES);
    if (o->plain && !is_loopback(o->address))
        return cmd_fail(EXIT_USAGE, "--plain-http: %s is not a loopback address", o->address);
    if (authorization_parse(str_of(o->authorization_modes), &o->authorization, &err) < 0)
        return cmd_fail(EXIT_USAGE, "--authorization-mode: %s", err.msg);
    if (admission_disable(str_of(o->disable_admission), &o->disabled_admission, &err) < 0)
        return cmd_fail(EXIT_USAGE, "--disable-admission-plugins: %s", err.msg);
    if (*o->import && !o->nodes_given)
        o->nodes = 0;
    return up_run(o);
}

int cmd_up(int argc, char **argv)
{
    struct up_command c;
    init(&c);
    int code = parse_and_run(&c, argc, argv);
    release(&c);
    return code;
}

void cmd_up_flags(cmd_flags_fn *fn, void *ctx)
{
    struct up_command c;
    init(&c);
    fn(ctx, c.flags, ARRAY_LEN(c.flags));
    release(&c);
}
