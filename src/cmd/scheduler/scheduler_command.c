/* SPDX-License-Identifier: Apache-2.0 */
/* berth scheduler: the command line, compatible with kube-scheduler's. */
#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/config/config_file.h"
#include "cmd/scheduler/scheduler.h"
#include "cmd/scheduler/scheduler_logging.h"
#include "engine/config/error_list.h"

static const char usage[] =
    "Watch for pods without a node and bind each of them to the best node, like\n"
    "kube-scheduler. Connect to the API server of the kubeconfig or, in a pod, to that\n"
    "of the pod's cluster.\n"
    "\nExamples:\n"
    "  %s --kubeconfig ~/.kube/config\n"
    "  %s --config /etc/kubernetes/scheduler-config.yaml\n\n";

int scheduler_fail(const struct scheduler_options *o, const char *why)
{
    if (!o->as_upstream)
        return cmd_fail(EXIT_FAILED, "%s", why);
    log_error("command failed", KV_CSTR("err", why));
    return EXIT_FAILED;
}

/* All flags with their defaults; with_text: after the description of the program. */
static void write_usage(const struct scheduler_options *o, bool with_text, struct buf *out)
{
    struct scheduler_options defaults;
    scheduler_options_init(&defaults);
    if (with_text)
        buf_add_printf(out, usage, o->program, o->program);
    buf_add_printf(out, "Usage:\n  %s [flags]\n", o->program);
    flags_help(defaults.flags, defaults.n_flags, cmd_columns(), out);
    scheduler_options_release(&defaults);
}

static int print_help(const struct scheduler_options *o)
{
    struct buf text = BUF_INIT;
    write_usage(o, true, &text);
    fputs(buf_cstr(&text), stdout);
    buf_release(&text);
    return EXIT_DONE;
}

static int fail_usage(const struct scheduler_options *o, const struct err *err)
{
    if (!o->as_upstream)
        return cmd_fail(EXIT_USAGE, "%s; see `berth scheduler --help`", err->msg);
    struct buf text = BUF_INIT;
    write_usage(o, false, &text);
    fprintf(stderr, "%s\nError: %s\n", buf_cstr(&text), err->msg);
    buf_release(&text);
    return EXIT_FAILED;
}

/* Upstream allows empty arguments. */
static int fail_arguments(const struct scheduler_options *o, char **arguments, int n)
{
    struct buf list = BUF_INIT;
    bool any = false;
    for (int i = 0; i < n; i++) {
        any |= *arguments[i] != '\0';
        if (i)
            buf_add_char(&list, ' ');
        log_quote(&list, str_of(arguments[i]));
    }
    int code = EXIT_DONE;
    if (any && o->as_upstream) {
        fprintf(stderr, "Error: \"%s\" does not take any arguments, got [%s]\n", o->program,
                buf_cstr(&list));
        code = EXIT_FAILED;
    } else if (any) {
        code = cmd_fail(EXIT_USAGE, "\"%s\" does not take any arguments, got [%s]", o->program,
                        buf_cstr(&list));
    }
    buf_release(&list);
    return code;
}

static void on_gate(void *ctx, const char *name, bool deprecated, bool value)
{
    (void)ctx;
    if (deprecated)
        log_info(0,
                 "Warning: setting deprecated feature gate. It will be removed in a future "
                 "release.",
                 KV_CSTR("featureGate", name), KV_BOOL("value", value));
    else
        log_info(0, "Warning: setting GA feature gate. It will be removed in a future release.",
                 KV_CSTR("featureGate", name), KV_BOOL("value", value));
}

static void on_flag(void *ctx, const struct flag *flag, struct str value)
{
    struct buf *line = ctx;
    if (flag->deprecated && !flag->given)
        return;
    buf_clear(line);
    buf_add_printf(line, "FLAG: --%s=", flag->name);
    log_quote(line, value.p ? value : STR(""));
    log_plain(1, buf_cstr(line));
}

/* Upstream logs flags and non-default feature gates at start. */
static void log_flags(const struct scheduler_options *o, const struct features *features)
{
    struct buf text = BUF_INIT;
    features_each_notice(features, on_gate, NULL);
    if (log_on(1))
        flags_each(o->flags, o->n_flags, on_flag, &text);
    buf_clear(&text);
    features_write_alpha(features, &text);
    if (text.n)
        log_warning("Alpha features are enabled", KV_STR("features", buf_str(&text)));
    buf_release(&text);
}

static int check_options(const struct scheduler_options *o, const struct features *features)
{
    struct error_list errors = {0};
    struct buf text = BUF_INIT;
    scheduler_options_check(o, features, &errors);
    error_list_write(&errors, &text);
    int code = errors.n ? scheduler_fail(o, buf_cstr(&text)) : EXIT_DONE;
    buf_release(&text);
    error_list_release(&errors);
    return code;
}

static bool print_version(const struct scheduler_options *o)
{
    struct buf text = BUF_INIT;
    bool asked = version_flag_answer(&o->version, &text);
    if (asked)
        puts(buf_cstr(&text));
    buf_release(&text);
    return asked;
}

static int run_options(struct scheduler_options *o, int argc, char **argv)
{
    struct features features;
    struct err err;
    int n;
    if (flags_parse(o->flags, o->n_flags, argc, argv, &n, &err) < 0)
        return fail_usage(o, &err);
    if (o->help)
        return print_help(o);
    int code = fail_arguments(o, argv + 1, n);
    if (code != EXIT_DONE)
        return code;
    o->config_path = config_path_split(o->config_file, &o->arena).file;
    if (scheduler_options_features(o, &features, &err) < 0)
        return scheduler_fail(o, err.msg);
    if (print_version(o))
        return EXIT_DONE;
    /* Logging first: everything after this is logged as the flags say. */
    code = scheduler_logging_start(o, &features);
    if (code != EXIT_DONE)
        return code;
    log_flags(o, &features);
    code = check_options(o, &features);
    return code == EXIT_DONE ? scheduler_run(o, &features) : code;
}

static int run_as(const char *program, bool as_upstream, int argc, char **argv)
{
    struct scheduler_options options;
    scheduler_options_init(&options);
    options.as_upstream = as_upstream;
    options.program = program;
    int code = run_options(&options, argc, argv);
    scheduler_options_release(&options);
    return code;
}

int cmd_scheduler(int argc, char **argv)
{
    return run_as("berth scheduler", false, argc, argv);
}

int cmd_kube_scheduler(int argc, char **argv)
{
    return run_as(cmd_program_name(argv[0]), true, argc, argv);
}

void cmd_scheduler_flags(cmd_flags_fn *fn, void *ctx)
{
    struct scheduler_options defaults;
    scheduler_options_init(&defaults);
    fn(ctx, defaults.flags, defaults.n_flags);
    scheduler_options_release(&defaults);
}
