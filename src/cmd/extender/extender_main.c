/* SPDX-License-Identifier: Apache-2.0 */
/* berth_extender_main: the flags of a program that serves an extender, and its life. */
#include <signal.h>

#include "base/log.h"
#include "base/time.h"
#include "berth/extender.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/flags.h"

struct extender_flags {
    const char *address, *cert_file, *key_file, *client_ca_file, *kubeconfig;
    int64_t port, threads, max_calls, max_body, verbosity;
    int64_t shutdown;
    bool plain, help;
    struct flag table[13];
};

static void make_flags(struct extender_flags *f)
{
    *f = (struct extender_flags){.address = "127.0.0.1",
                                 .cert_file = "",
                                 .key_file = "",
                                 .client_ca_file = "",
                                 .kubeconfig = "",
                                 .port = 8443,
                                 .threads = 4,
                                 .max_calls = 64,
                                 .max_body = (int64_t)64 << 20,
                                 .shutdown = 30 * NSEC_PER_SEC};
    struct flag table[] = {
        {"Serving", "bind-address", 0, FLAG_IP, &f->address, NULL,
         "The address to listen on. 0.0.0.0 and :: are all addresses.", false, NULL},
        {NULL, "port", 0, FLAG_INT, &f->port, NULL, "The port to listen on. 0: any free one.",
         false, NULL},
        {NULL, "plain", 0, FLAG_BOOL, &f->plain, NULL, "Serve HTTP without TLS.", false, NULL},
        {NULL, "tls-cert-file", 0, FLAG_STR, &f->cert_file, NULL,
         "The certificate, with intermediate ones behind it, in PEM. Without it, a self-signed "
         "certificate for localhost is used. Reloaded when it changes.",
         false, NULL},
        {NULL, "tls-private-key-file", 0, FLAG_STR, &f->key_file, NULL,
         "The key of --tls-cert-file, in PEM.", false, NULL},
        {NULL, "client-ca-file", 0, FLAG_STR, &f->client_ca_file, NULL,
         "Require client certificates signed by one of these CAs for verbs and /metrics.", false,
         NULL},
        {NULL, "kubeconfig", 0, FLAG_STR, &f->kubeconfig, NULL,
         "The API server for bindings. Without it, the pod's service account or $KUBECONFIG is "
         "used.",
         false, NULL},
        {"Limits", "threads", 0, FLAG_INT, &f->threads, NULL, "Number of calls that run at once.",
         false, NULL},
        {NULL, "max-calls", 0, FLAG_INT, &f->max_calls, NULL,
         "Number of calls that run or wait. Others are refused with status 503.", false, NULL},
        {NULL, "max-body", 0, FLAG_INT, &f->max_body, NULL,
         "Bytes of a request. Longer ones are refused with status 413.", false, NULL},
        {NULL, "shutdown-timeout", 0, FLAG_DURATION, &f->shutdown, NULL,
         "How long SIGTERM waits for calls under way.", false, NULL},
        {"Other", "v", 'v', FLAG_INT, &f->verbosity, NULL, "Log level.", false, NULL},
        {NULL, "help", 'h', FLAG_BOOL, &f->help, NULL, "Print this help.", false, NULL},
    };
    memcpy(f->table, table, sizeof(table));
}

static int fail(const char *program, int exit_code, const char *message)
{
    fprintf(stderr, "%s: %s\n", program, message);
    return exit_code;
}

static int check_flags(const struct extender_flags *f, struct err *reterr)
{
    const struct {
        const char *name;
        int64_t value, min, max;
    } rows[] = {{"port", f->port, 0, 65535},
                {"threads", f->threads, 1, 1024},
                {"max-calls", f->max_calls, 1, 100000},
                {"max-body", f->max_body, 1024, (int64_t)1 << 30},
                {"shutdown-timeout", f->shutdown, NSEC_PER_SEC, 3600 * NSEC_PER_SEC}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (rows[i].value < rows[i].min || rows[i].value > rows[i].max)
            return err_set(reterr, -ERANGE, "--%s: %lld is not between %lld and %lld", rows[i].name,
                           (long long)rows[i].value, (long long)rows[i].min,
                           (long long)rows[i].max);
    return 0;
}

static int serve(const struct berth_extender *extender, const struct extender_flags *f,
                 const char *program)
{
    struct berth_extender_options options = {
        .struct_size = sizeof(options),
        .address = f->address,
        .port = (uint16_t)f->port,
        .plain = f->plain,
        .cert_file = f->cert_file,
        .key_file = f->key_file,
        .client_ca_file = f->client_ca_file,
        .kubeconfig = f->kubeconfig,
        .threads = (unsigned)f->threads,
        .max_calls = (size_t)f->max_calls,
        .max_body = (size_t)f->max_body,
        .max_memory = 4 * (size_t)f->max_body,
        .shutdown_seconds = f->shutdown / NSEC_PER_SEC,
    };
    struct berth_extender_server *server;
    char error[512];
    sigset_t set;
    int number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (berth_extender_start(extender, &options, &server, error, sizeof(error)) < 0)
        return fail(program, EXIT_FAILED, error);
    log_info(0, "Serving", KV_CSTR("extender", extender->name), KV_CSTR("address", f->address),
             KV_INT("port", berth_extender_port(server)), KV_BOOL("tls", !f->plain));
    sigwait(&set, &number);
    log_info(0, "Shutting down", KV_INT("signal", number));
    berth_extender_stop(server);
    log_flush();
    return EXIT_DONE;
}

int berth_extender_main(const struct berth_extender *extender, int argc, char **argv)
{
    const char *program = argc > 0 ? cmd_program_name(argv[0]) : extender->name;
    struct extender_flags f;
    struct err err;
    int n = 0;
    make_flags(&f);
    if (flags_parse(f.table, ARRAY_LEN(f.table), argc, argv, &n, &err) < 0)
        return fail(program, EXIT_USAGE, err.msg);
    if (f.help) {
        char *usage = xasprintf("Serve the scheduler extender %s.\n\nUsage: %s [FLAGS]\n",
                                extender->name, program);
        make_flags(&f); /* help shows the defaults */
        int r = cmd_help(usage, f.table, ARRAY_LEN(f.table));
        free(usage);
        return r;
    }
    if (n > 0)
        return fail(program, EXIT_USAGE, "takes no arguments; see --help");
    if (check_flags(&f, &err) < 0)
        return fail(program, EXIT_USAGE, err.msg);
    log_set_verbosity((int)f.verbosity);
    return serve(extender, &f, program);
}
