/* SPDX-License-Identifier: Apache-2.0 */
/* berth config: converts, checks and compares configuration files, without a cluster. */
#include "base/buf.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/plugin_flags.h"
#include "cmd/config/config_diff.h"
#include "cmd/config/config_file.h"
#include "engine/config/profile_plan.h"

struct config_command {
    const char *output;
    bool help;
    struct features features;
    struct loaded_plugins *loaded;
    struct arena arena;
    struct plugin_flags plugins;
    struct flag_custom gates_flag;
    struct flag flags[5];
};

static const char usage[] =
    "Convert, check and compare scheduler configurations: KubeSchedulerConfiguration\n"
    "v1, v1beta3, v1beta2, v1beta1, or Policy v1, in YAML or JSON. No cluster is\n"
    "needed; \"-\" reads standard input. FILE can also be a ConfigMap that contains the\n"
    "configuration, or manifests with such a ConfigMap. If there are several, select\n"
    "one with FILE#KEY or FILE#NAME/KEY, by key and name of the ConfigMap.\n"
    "\nUsage:\n"
    "  berth config convert [-o yaml|json] FILE   print the file as configuration v1\n"
    "  berth config validate FILE...              print all errors with line numbers\n"
    "  berth config diff [-o text|json] A B       print what changes for pods\n"
    "\nExit status: 0 on success, 1 if a file cannot be read or is invalid, 2 if the\n"
    "command line is invalid.\n"
    "\nExamples:\n"
    "  berth config convert old-policy.json > scheduler.yaml\n"
    "  berth config validate scheduler.yaml\n";

/* --- convert ---------------------------------------------------------------------------------- */

/* Names the plugins that kube-scheduler has removed: v1 refuses them, or only berth has them. */
static void note_legacy(const struct config_command *c, const struct scheduler_config *config)
{
    for (size_t i = 0; i < config->profiles.n; i++) {
        struct profile_plan plan;
        struct err err;
        char where[64] = "";
        if (!config->profiles.v[i].from_policy)
            snprintf(where, sizeof(where), ": profiles[%zu]", i);
        if (profile_plan_init(&plan, &c->loaded->registry, &c->features, &config->profiles.v[i],
                              &err) < 0)
            continue;
        for (size_t k = 0; k < plan.needed.n; k++)
            if (plugin_is_removed(plan.needed.v[k]))
                fprintf(stderr, "berth: %s%s: in v1 NodeVolumeLimits replaces %.*s\n", config->file,
                        where, STR_ARG(plan.needed.v[k]));
            else if (plugin_is_legacy(plan.needed.v[k]))
                fprintf(stderr,
                        "berth: %s%s: kube-scheduler no longer has %.*s, only berth supports it\n",
                        config->file, where, STR_ARG(plan.needed.v[k]));
        profile_plan_release(&plan);
    }
}

/* Prints errors to standard error. */
static bool check(struct config_command *c, const struct scheduler_config *config)
{
    struct buf lines = BUF_INIT;
    struct err err;
    bool ok = loaded_plugins_add_guests(&c->loaded, config, NULL, &err) == 0;
    if (!ok)
        buf_add_printf(&lines, "%s\n", err.msg);
    ok = ok && config_file_check(config, &c->loaded->registry, &c->features, &lines);
    config_file_print(&lines);
    buf_release(&lines);
    return ok;
}

/* Loads and checks a file. Prints errors to standard error. */
static bool load(struct config_command *c, const char *file, struct scheduler_config *ret_config)
{
    struct buf lines = BUF_INIT;
    bool ok = config_file_use(file, &c->loaded, &c->features, &c->arena, ret_config, &lines);
    config_file_print(&lines);
    buf_release(&lines);
    return ok;
}

static int convert(struct config_command *c, char **files, int n)
{
    struct scheduler_config config, whole;
    struct config_text text;
    struct err err;
    bool json = strcmp(c->output, "json") == 0;
    if (n != 1)
        return cmd_fail(EXIT_USAGE, "convert takes one file; see `berth config --help`");
    if (*c->output && !json && strcmp(c->output, "yaml") != 0)
        return cmd_fail(EXIT_USAGE, "--output: \"%s\" is not one of yaml or json", c->output);
    if (config_text_read(files[0], &c->arena, &text, &err) < 0 ||
        config_text_load(&text, &c->arena, &whole, &err) < 0 ||
        config_text_parse(&text, &c->arena, &config, &err) < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    if (!check(c, &whole))
        return EXIT_FAILED;
    struct buf out = BUF_INIT;
    config_write_given(&config, json, &out);
    fwrite(out.p, 1, out.n, stdout);
    buf_release(&out);
    note_legacy(c, &whole);
    return EXIT_DONE;
}

/* --- validate --------------------------------------------------------------------------------- */

/* "f.yaml: valid KubeSchedulerConfiguration kubescheduler.config.k8s.io/v1, 1 profile" */
static void print_valid(const struct scheduler_config *config)
{
    size_t profiles = config->profiles.n, extenders = config->extenders.n;
    printf("%s: valid %.*s %.*s", config->file, STR_ARG(config->given_kind),
           STR_ARG(config->version));
    if (!str_is(config->given_kind, "Policy"))
        printf(", %zu profile%s", profiles, profiles == 1 ? "" : "s");
    if (extenders)
        printf(", %zu extender%s", extenders, extenders == 1 ? "" : "s");
    if (config->within.n)
        printf(" (%.*s)", STR_ARG(config->within));
    putchar('\n');
}

static bool validate_one(struct config_command *c, const char *file)
{
    struct scheduler_config config;
    struct buf lines = BUF_INIT;
    struct loaded_plugins *plugins = loaded_plugins_ref(c->loaded);
    bool ok = config_file_use(file, &plugins, &c->features, &c->arena, &config, &lines);
    fputs(buf_cstr(&lines), stdout);
    if (ok)
        print_valid(&config);
    if (ok && config.unread_line)
        fprintf(stderr,
                "berth: warning: %s:%u: only the first document is read; this one is ignored\n",
                config.file, config.unread_line);
    buf_release(&lines);
    loaded_plugins_unref(plugins);
    return ok;
}

static int validate(struct config_command *c, char **files, int n)
{
    bool ok = true;
    if (n == 0)
        return cmd_fail(EXIT_USAGE, "validate takes at least one file; see `berth config --help`");
    for (int i = 0; i < n; i++)
        ok &= validate_one(c, files[i]);
    return ok ? EXIT_DONE : EXIT_FAILED;
}

/* --- diff ------------------------------------------------------------------------------------- */

static int diff(struct config_command *c, char **files, int n)
{
    struct scheduler_config configs[2];
    bool json = strcmp(c->output, "json") == 0;
    if (n != 2)
        return cmd_fail(EXIT_USAGE, "diff takes two files; see `berth config --help`");
    if (*c->output && !json && strcmp(c->output, "text") != 0)
        return cmd_fail(EXIT_USAGE, "--output: \"%s\" is not one of text or json", c->output);
    bool ok = load(c, files[0], &configs[0]);
    ok = load(c, files[1], &configs[1]) && ok;
    if (!ok)
        return EXIT_FAILED;
    struct buf out = BUF_INIT;
    config_diff(&configs[0], &configs[1], &c->loaded->registry, &c->features, json, &out);
    fwrite(out.p, 1, out.n, stdout);
    buf_release(&out);
    return EXIT_DONE;
}

/* --- command line ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    int (*run)(struct config_command *c, char **files, int n);
} verbs[] = {{"convert", convert}, {"validate", validate}, {"diff", diff}};

static int run(struct config_command *c, char **words, int n)
{
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(verbs); i++)
        if (strcmp(words[0], verbs[i].name) == 0)
            return verbs[i].run(c, words + 1, n - 1);
    return cmd_fail(EXIT_USAGE, "expected convert, validate or diff; see `berth config --help`");
}

static void init(struct config_command *c)
{
    *c = (struct config_command){.output = ""};
    features_default(&c->features);
    c->gates_flag = flag_features(&c->features);
    plugin_flags_init(&c->plugins);
    const struct flag flags[] = {
        {.group = "Config",
         .name = "output",
         .letter = 'o',
         .kind = FLAG_STR,
         .value = &c->output,
         .metavar = "FORMAT",
         .help = "Output format: yaml or json for convert, text or json for diff."},
        {.name = "plugin",
         .kind = FLAG_CUSTOM,
         .value = &c->plugins.files,
         .metavar = "FILE",
         .help = PLUGIN_FLAG_HELP},
        {.name = "plugin-dir",
         .kind = FLAG_CUSTOM,
         .value = &c->plugins.dirs,
         .metavar = "DIR",
         .help = PLUGIN_DIR_FLAG_HELP},
        {.name = "feature-gates",
         .kind = FLAG_CUSTOM,
         .value = &c->gates_flag,
         .metavar = "GATES",
         .help = FEATURE_GATES_HELP},
        {.name = "help",
         .letter = 'h',
         .kind = FLAG_BOOL,
         .value = &c->help,
         .help = "Print help and exit."},
    };
    static_assert(sizeof(flags) == sizeof(c->flags), "room for every flag");
    memcpy(c->flags, flags, sizeof(flags));
}

int cmd_config(int argc, char **argv)
{
    struct config_command c;
    init(&c);
    struct err err;
    int n;
    if (flags_parse(c.flags, ARRAY_LEN(c.flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth config --help`", err.msg);
    if (c.help)
        return cmd_help(usage, c.flags, ARRAY_LEN(c.flags));
    arena_init(&c.arena, 4096);
    int r = loaded_plugins_new(&c.plugins.sources, NULL, &c.loaded, &err);
    int code = r < 0 ? cmd_fail(EXIT_FAILED, "%s", err.msg) : run(&c, argv + 1, n);
    loaded_plugins_unref(c.loaded);
    plugin_flags_release(&c.plugins);
    arena_release(&c.arena);
    return code;
}

void cmd_config_flags(cmd_flags_fn *fn, void *ctx)
{
    struct config_command c;
    init(&c);
    fn(ctx, c.flags, ARRAY_LEN(c.flags));
}
