/* SPDX-License-Identifier: Apache-2.0 */
/* berth plugin: lists, inspects, creates and tries plugins. */
#include "cmd/plugin/plugin_internal.h"

static const char usage[] =
    "List the plugins of this program, and create, inspect and try plugins in shared\n"
    "objects. Schedulers load them with --plugin and --plugin-dir.\n"
    "\nUsage:\n"
    "  berth plugin list [--plugin FILE]... [-o table|json]\n"
    "  berth plugin inspect [-o table|json] FILE...\n"
    "  berth plugin new [--lang c|c++|rust] NAME\n"
    "  berth plugin test [--config FILE] [-o table|json] FILE... -f SCENARIO\n"
    "\n\"list\" prints all plugins that a profile can enable, with their extension points\n"
    "and the kind of their arguments. \"inspect\" prints what a shared object exports,\n"
    "without running its code. \"new\" creates the directory NAME with a plugin, a unit\n"
    "test, a scenario, a configuration and a Makefile. \"test\" schedules the pods of a\n"
    "scenario in the simulator and prints what the plugins of FILE say about each\n"
    "node. Without --config they are added to the default profile.\n"
    "\nExit status: 0 on success, 1 if a file is invalid, 2 if the command line is\n"
    "invalid.\n"
    "\nExamples:\n"
    "  berth plugin new my-filter && make -C my-filter test\n"
    "  berth plugin inspect my-filter/my-filter.so\n"
    "  berth plugin test my-filter/my-filter.so -f my-filter/scenario.yaml\n";

bool plugin_output_is_json(const struct plugin_command *c, int *ret_code)
{
    *ret_code = EXIT_DONE;
    if (strcmp(c->output, "json") != 0 && strcmp(c->output, "table") != 0)
        *ret_code = cmd_fail(EXIT_USAGE, "--output: \"%s\" is not one of table or json", c->output);
    return strcmp(c->output, "json") == 0;
}

struct str plugin_points_text(unsigned points, struct arena *a)
{
    struct buf text = BUF_INIT;
    for (int i = 0; i < POINT_COUNT; i++)
        if (points >> i & 1)
            buf_add_printf(&text, "%s%s", text.n ? ", " : "", point_table[i].section);
    struct str copy = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return copy;
}

static const char *const arg_kinds[] = {
    [BERTH_ARG_BOOL] = "bool",         [BERTH_ARG_INT] = "int",
    [BERTH_ARG_DOUBLE] = "number",     [BERTH_ARG_STRING] = "string",
    [BERTH_ARG_DURATION] = "duration", [BERTH_ARG_QUANTITY] = "quantity",
    [BERTH_ARG_OBJECT] = "object",     [BERTH_ARG_LIST] = "list of",
    [BERTH_ARG_JSON] = "any",
};

/* A file may have kinds of a later version. */
static const char *kind_name(enum berth_arg_kind kind)
{
    return (size_t)kind < ARRAY_LEN(arg_kinds) && arg_kinds[kind] ? arg_kinds[kind] : "unknown";
}

struct str plugin_args_text(const struct berth_arg *args, struct arena *a)
{
    struct buf text = BUF_INIT;
    for (size_t i = 0; args && args[i].name; i++) {
        buf_add_printf(&text, "%s%s %s", i ? ", " : "", args[i].name, kind_name(args[i].kind));
        if (args[i].kind == BERTH_ARG_LIST)
            buf_add_printf(&text, " %s", kind_name(args[i].item));
    }
    struct str copy = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return copy;
}

static const struct {
    const char *name;
    int (*run)(struct plugin_command *c, char **words, int n);
} verbs[] = {
    {"list", plugin_list}, {"inspect", plugin_inspect}, {"new", plugin_new}, {"test", plugin_test}};

static int run(struct plugin_command *c, char **words, int n)
{
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(verbs); i++)
        if (strcmp(words[0], verbs[i].name) == 0)
            return verbs[i].run(c, words + 1, n - 1);
    return cmd_fail(EXIT_USAGE, "expected list, inspect, new or test; see `berth plugin --help`");
}

static int add_file(void *to, struct str text, struct err *reterr)
{
    (void)reterr;
    plugin_paths *list = to;
    vec_push(list, text.p); /* points into argv: ends with NUL */
    return 0;
}

static void init(struct plugin_command *c)
{
    *c = (struct plugin_command){.output = "table", .lang = "c", .config_file = ""};
    features_default(&c->features);
    plugin_flags_init(&c->plugins);
    c->gates_flag = flag_features(&c->features);
    c->files_flag = (struct flag_custom){.to = &c->files, .set = add_file};
    c->then_flag = (struct flag_custom){.to = &c->then, .set = add_file};
    const struct flag flags[] = {
        {"Plugin", "output", 'o', FLAG_STR, &c->output, "FORMAT",
         "Output format of list, inspect and test: table or json.", false, NULL},
        {NULL, "lang", '\0', FLAG_STR, &c->lang, "LANGUAGE", "Language of new: c, c++ or rust.",
         false, NULL},
        {NULL, "filename", 'f', FLAG_CUSTOM, &c->files_flag, "FILE",
         "File or directory with nodes and pods, for test. Can be repeated.", false, NULL},
        {NULL, "then", '\0', FLAG_CUSTOM, &c->then_flag, "FILE",
         "File or directory with changes to apply afterwards, for test. Can be repeated.", false,
         NULL},
        {NULL, "config", '\0', FLAG_STR, &c->config_file, "FILE",
         "KubeSchedulerConfiguration that enables the plugins, for test.", false, NULL},
        {NULL, "plugin", '\0', FLAG_CUSTOM, &c->plugins.files, "FILE", PLUGIN_FLAG_HELP, false,
         NULL},
        {NULL, "plugin-dir", '\0', FLAG_CUSTOM, &c->plugins.dirs, "DIR", PLUGIN_DIR_FLAG_HELP,
         false, NULL},
        {NULL, "feature-gates", '\0', FLAG_CUSTOM, &c->gates_flag, "GATES", FEATURE_GATES_HELP,
         false, NULL},
        {NULL, "help", 'h', FLAG_BOOL, &c->help, NULL, "Print help and exit.", false, NULL},
    };
    static_assert(sizeof(flags) == sizeof(c->flags), "room for every flag");
    memcpy(c->flags, flags, sizeof(flags));
}

int cmd_plugin(int argc, char **argv)
{
    struct plugin_command c;
    struct err err;
    int n, code;
    init(&c);
    if (flags_parse(c.flags, ARRAY_LEN(c.flags), argc, argv, &n, &err) < 0)
        code = cmd_fail(EXIT_USAGE, "%s; see `berth plugin --help`", err.msg);
    else if (c.help)
        code = cmd_help(usage, c.flags, ARRAY_LEN(c.flags));
    else
        code = run(&c, argv + 1, n);
    plugin_flags_release(&c.plugins);
    vec_release(&c.files);
    vec_release(&c.then);
    return code;
}

void cmd_plugin_flags(cmd_flags_fn *fn, void *ctx)
{
    struct plugin_command c;
    init(&c);
    fn(ctx, c.flags, ARRAY_LEN(c.flags));
}
