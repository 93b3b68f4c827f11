/* SPDX-License-Identifier: Apache-2.0 */
/* berth explain: shows why a running scheduler placed a pod, or did not. */
#include <stdarg.h>

#include "base/time.h"
#include "cmd/cli/cmd.h"
#include "cmd/cli/flags.h"
#include "cmd/cli/term_text.h"
#include "cmd/explain/explain_client.h"
#include "cmd/explain/explain_output.h"
#include "cmd/explain/port_forward.h"
#include "net/url.h"

#define TIMEOUT  (60 * NSEC_PER_SEC)
/* A scheduler keeps 4 MiB of attempts, which take many times that as JSON. */
#define MAX_BODY ((uint64_t)512 << 20)

struct explain_command {
    const char *namespace, *server, *kubeconfig, *context, *lease;
    const char *token, *client_certificate, *client_key, *certificate_authority;
    bool insecure, port_forward;
    const char *output;
    int64_t nodes, timeout;
    bool all_attempts, help;
    struct arena arena;
    struct kube_config config; /* how to connect to the scheduler */
    bool has_credentials;
    struct explain_query query;
    struct explain_found found;
    struct port_forward forward;
    struct flag flags[16];
};

static const char usage[] =
    "Show why a running scheduler placed a pod, or did not. For the latest attempt to\n"
    "schedule the pod, print the nodes that a plugin refused, with the reason, and the\n"
    "scores of the other nodes.\n"
    "\nUsage: berth explain [FLAGS] [NAMESPACE/]POD\n"
    "\nThe request goes to the scheduler at --server, by default " EXPLAIN_DEFAULT_SERVER ".\n"
    "With --kubeconfig, --context or --lease and without --server, the scheduler is\n"
    "found through the API server: the pod's schedulerName determines the lease, and\n"
    "the lease's holder is a machine or a pod. Use --port-forward to connect to a pod\n"
    "that this machine cannot reach; it requires kubectl.\n"
    "\nThe user must be allowed to get the path /debug/explain; administrators are.\n"
    "Credentials are taken from the flags or, if there are none, from --kubeconfig,\n"
    "$KUBECONFIG or ~/.kube/config. A scheduler without --tls-cert-file serves a\n"
    "self-signed certificate, which requires --insecure-skip-tls-verify.\n"
    "\nThe scheduler must be berth. It keeps the latest attempts since it became the\n"
    "leader; older ones are not available.\n"
    "\nExamples:\n"
    "  berth explain default/web-1 --insecure-skip-tls-verify\n"
    "  berth explain web-1 -n prod --server 10.0.0.5:10259 --certificate-authority ca.crt\n"
    "  berth explain prod/web-1 --kubeconfig admin.conf --insecure-skip-tls-verify\n"
    "  berth explain prod/web-1 --kubeconfig admin.conf --port-forward\n";

/* --- server and credentials ------------------------------------------------------------------- */

/* The kubeconfig that kubectl would use; "" if none. */
static struct str default_kubeconfig(struct explain_command *c)
{
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
    struct kubeconfig probe;
    if (*c->kubeconfig)
        return str_of(c->kubeconfig);
    if (list && *list)
        return strchr(list, ':') ? STR("") : str_of(list);
    if (!home || !*home)
        return STR("");
    struct str path = arena_printf(&c->arena, "%s/.kube/config", home);
    kubeconfig_init(&probe);
    int r = kubeconfig_merge_file(&probe, path.p, NULL);
    kubeconfig_release(&probe);
    return r == -ENOENT ? STR("") : path;
}

/* master: the scheduler's URL; NULL: the API server of the kubeconfig. */
static int load_kube(struct explain_command *c, struct kube_config *config, const char *master,
                     struct err *reterr)
{
    struct str kubeconfig = default_kubeconfig(c);
    const char *list = getenv("KUBECONFIG"), *host = getenv("KUBERNETES_SERVICE_HOST");
    bool other = (list && *list) || (host && *host);
    struct kube_config_options options = {.kubeconfig = kubeconfig.n ? kubeconfig.p : "",
                                          .context = *c->context ? c->context : NULL};
    if (master && (kubeconfig.n || !other))
        options.master = master;
    int r = kube_config_load(config, &options, reterr);
    if (r == 0 && master)
        config->server = arena_dup(&config->arena, str_of(master));
    return r;
}

/* Of the kubeconfig's cluster, only the CA applies to the scheduler. Flags override credentials. */
static void use_flags(struct explain_command *c)
{
    struct kube_config *k = &c->config;
    k->tls = true;
    k->proxy_url = k->tls_server_name = (struct str){0};
    k->insecure = c->insecure;
    if (*c->token || *c->client_certificate) {
        k->cert_file = k->cert_data = k->key_file = k->key_data = (struct str){0};
        k->token = k->token_file = k->username = k->password = (struct str){0};
        k->exec = NULL;
    }
    if (*c->token) {
        k->source = STR("--token");
        k->token = str_of(c->token);
    }
    if (*c->client_certificate) {
        k->source = STR("--client-certificate");
        k->cert_file = str_of(c->client_certificate);
        k->key_file = str_of(c->client_key);
    }
    if (*c->certificate_authority || c->insecure)
        k->ca_file = k->ca_data = (struct str){0};
    if (*c->certificate_authority)
        k->ca_file = str_of(c->certificate_authority);
    c->has_credentials = k->token.n || k->token_file.n || k->cert_file.n || k->cert_data.n ||
                         k->username.n || k->exec;
}

static int find_scheduler(struct explain_command *c, struct err *reterr)
{
    struct kube_config api;
    int r = load_kube(c, &api, NULL, reterr);
    if (r < 0)
        return r;
    r = explain_find(&api, &c->query, &c->arena, &c->found, reterr);
    kube_config_release(&api);
    return r;
}

static int choose_server(struct explain_command *c, struct err *reterr)
{
    if (*c->server || !(*c->kubeconfig || *c->context || *c->lease))
        return explain_server_url(str_of(*c->server ? c->server : EXPLAIN_DEFAULT_SERVER),
                                  &c->arena, &c->found.url, reterr);
    return find_scheduler(c, reterr);
}

/*
 * The API server authenticates the pod, and a child of this process listens on the port: the
 * scheduler's certificate need not be verified unless --certificate-authority asks for it.
 */
static int forward_port(struct explain_command *c, struct err *reterr)
{
    struct str kubeconfig = default_kubeconfig(c);
    struct port_forward_options options = {.kubeconfig = kubeconfig.n ? kubeconfig.p : "",
                                           .context = c->context,
                                           .namespace = c->found.namespace.p,
                                           .pod = c->found.pod.p,
                                           .port = c->found.port,
                                           .timeout = c->timeout};
    int r = port_forward_start(&c->forward, &options, reterr);
    if (r < 0)
        return r;
    c->found.url = arena_printf(&c->arena, "https://127.0.0.1:%u", c->forward.port);
    c->insecure = !*c->certificate_authority;
    return 0;
}

/* --- results and errors ----------------------------------------------------------------------- */

/* Prints a hint below an error. */
static void hint(const char *fmt, ...) PRINTF_LIKE(1, 2);
static void hint(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("  ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
}

/* Shows the kubectl command too: kubectl may only be installed on another machine. */
static void hint_forward(const struct explain_command *c)
{
    const struct explain_found *f = &c->found;
    hint("Add --port-forward to run `kubectl port-forward -n %.*s %.*s :%lld`.",
         STR_ARG(f->namespace), STR_ARG(f->pod), (long long)f->port);
}

static int fail_unreachable(const struct explain_command *c, const struct explain_answer *answer)
{
    cmd_fail(0, "%s", answer->err.msg);
    if (answer->code == -EKEYREJECTED) {
        hint("Set --certificate-authority to the authority that signed the scheduler's "
             "certificate.");
        hint("A scheduler without --tls-cert-file serves a self-signed certificate: add "
             "--insecure-skip-tls-verify if you trust the network.");
    } else if (c->found.pod.n && !c->port_forward) {
        hint("The scheduler is the pod %.*s/%.*s; this machine may not be able to reach it.",
             STR_ARG(c->found.namespace), STR_ARG(c->found.pod));
        hint_forward(c);
    } else if (answer->code != -EINVAL && answer->code != -ENOENT) {
        hint("Check that the scheduler is running there, or set --server HOST:PORT; the port is "
             "the scheduler's --secure-port.");
    }
    return EXIT_FAILED;
}

static int fail_forbidden(const struct explain_command *c, const struct explain_answer *answer)
{
    struct arena a;
    arena_init(&a, 0);
    cmd_fail(0, "%.*s: %.*s", STR_ARG(c->found.url),
             STR_ARG(term_clean(&a, str_of(answer->err.msg))));
    bool anonymous = strstr(answer->err.msg, "system:anonymous") != NULL;
    arena_release(&a);
    if (anonymous && !c->has_credentials) {
        hint("Set credentials with --token, --client-certificate and --client-key, or "
             "--kubeconfig.");
    } else if (anonymous) {
        hint("The scheduler did not accept the credentials. Start it with "
             "--authentication-kubeconfig and --authorization-kubeconfig,");
        hint("and check its log for messages about client-ca and TokenReview.");
    } else {
        hint("Allow the user to get the path /debug/explain:");
        hint("kubectl create clusterrole berth-explain --verb=get "
             "--non-resource-url=/debug/explain");
        hint("kubectl create clusterrolebinding berth-explain --clusterrole=berth-explain "
             "--user=NAME");
    }
    return EXIT_FAILED;
}

static int fail_not_found(const struct explain_command *c, const struct explain_answer *answer)
{
    /* berth says "no recorded attempts for this pod"; any other 404 means that there is no page. */
    if (!strstr(answer->err.msg, "attempt"))
        return cmd_fail(EXIT_FAILED,
                        "%.*s does not serve /debug/explain: it is not berth, or it runs with "
                        "--profiling=false; set --server to another scheduler",
                        STR_ARG(c->found.url));
    cmd_fail(0, "%.*s has no recorded attempts for the pod %.*s/%.*s", STR_ARG(c->found.url),
             STR_ARG(c->query.namespace), STR_ARG(c->query.pod));
    hint("A scheduler records the latest attempts since it became the leader, for pods with its "
         "schedulerName. Check the pod:");
    hint("kubectl get pod -n %.*s %.*s -o custom-columns="
         "NODE:.spec.nodeName,SCHEDULER:.spec.schedulerName,GATES:.spec.schedulingGates",
         STR_ARG(c->query.namespace), STR_ARG(c->query.pod));
    return EXIT_FAILED;
}

static int fail_answer(const struct explain_command *c, const struct explain_answer *answer)
{
    switch (answer->status) {
    case 0:
        return fail_unreachable(c, answer);
    case 401:
        cmd_fail(0, "%s", answer->err.msg);
        hint("The scheduler's API server rejected the credentials: a token must belong to that "
             "cluster and must not be expired.");
        return EXIT_FAILED;
    case 403:
        return fail_forbidden(c, answer);
    case 404:
        return fail_not_found(c, answer);
    default:
        return cmd_fail(EXIT_FAILED, "%s", answer->err.msg);
    }
}

/* Prints the latest attempt, or all of them for --all-attempts and -o json. */
static int print_attempts(const struct explain_command *c, struct str body)
{
    struct explain_output out;
    struct str line, rest = str_trim(body), last = STR("");
    size_t n = 0;
    enum explain_format format = explain_format_of(c->output);
    bool all = c->all_attempts || format == EXPLAIN_FORMAT_JSON;
    explain_output_init(&out, format, (size_t)c->nodes);
    for (; rest.n && str_split(&rest, '\n', &line); n++) {
        last = line;
        if (all)
            explain_output_add(&out, line);
    }
    if (!all)
        explain_output_add(&out, last);
    if (!all && n > 1 && out.n)
        printf("\n%zu earlier attempt%s recorded; use --all-attempts to show %s.\n", n - 1,
               n == 2 ? " is" : "s are", n == 2 ? "it" : "them");
    struct err err = out.err;
    size_t bad = out.bad;
    size_t printed = explain_output_end(&out);
    if (bad || !printed)
        return cmd_fail(EXIT_FAILED, "%.*s: invalid response%s%s", STR_ARG(c->found.url),
                        bad ? ": " : "", bad ? err.msg : "");
    return EXIT_DONE;
}

static struct str request_path(struct explain_command *c)
{
    struct buf path = BUF_INIT;
    buf_add_cstr(&path, "/debug/explain?pod=");
    url_add_query(&path, c->query.namespace);
    buf_add_cstr(&path, "%2F");
    url_add_query(&path, c->query.pod);
    struct str result = arena_dup(&c->arena, buf_str(&path));
    buf_release(&path);
    return result;
}

static int ask(struct explain_command *c)
{
    struct explain_answer answer;
    explain_get(&c->config, request_path(c), c->timeout, MAX_BODY, &c->arena, &answer);
    if (answer.code < 0)
        return fail_answer(c, &answer);
    return print_attempts(c, answer.body);
}

static int run(struct explain_command *c, const char *pod)
{
    struct err err;
    struct str otherwise = str_of(*c->namespace ? c->namespace : "default");
    explain_split_pod(str_of(pod), otherwise, &c->query.namespace, &c->query.pod);
    if (!c->query.namespace.n || !c->query.pod.n || str_find(c->query.pod, '/') < c->query.pod.n)
        return cmd_fail(EXIT_USAGE, "invalid pod \"%s\": expected [NAMESPACE/]POD", pod);
    c->query.lease = str_of(c->lease);
    c->query.timeout = c->timeout;
    int r = choose_server(c, &err);
    if (r == 0 && c->found.local_only && !c->port_forward) {
        cmd_fail(0, "the scheduler is the pod %.*s/%.*s, which listens on loopback only",
                 STR_ARG(c->found.namespace), STR_ARG(c->found.pod));
        hint_forward(c);
        return EXIT_FAILED;
    }
    if (r == 0 && c->port_forward && c->found.pod.n)
        r = forward_port(c, &err);
    if (r == 0)
        r = load_kube(c, &c->config, c->found.url.p, &err);
    if (r < 0)
        return cmd_fail(EXIT_FAILED, "%s", err.msg);
    use_flags(c);
    int code = ask(c);
    kube_config_release(&c->config);
    return code;
}

/* --- command line ----------------------------------------------------------------------------- */

static void init(struct explain_command *c)
{
    *c = (struct explain_command){.namespace = "",
                                  .server = "",
                                  .kubeconfig = "",
                                  .context = "",
                                  .lease = "",
                                  .token = "",
                                  .client_certificate = "",
                                  .client_key = "",
                                  .certificate_authority = "",
                                  .output = "table",
                                  .nodes = EXPLAIN_TABLE_NODES,
                                  .timeout = TIMEOUT};
    const struct flag flags[] = {
        {"Explain", "namespace", 'n', FLAG_STR, &c->namespace, "NAMESPACE",
         "Namespace of the pod, if POD has none. The default is \"default\".", false, NULL},
        {NULL, "output", 'o', FLAG_STR, &c->output, "FORMAT", EXPLAIN_OUTPUT_HELP, false, NULL},
        {NULL, "nodes", '\0', FLAG_INT, &c->nodes, "N", EXPLAIN_NODES_HELP, false, NULL},
        {NULL, "all-attempts", '\0', FLAG_BOOL, &c->all_attempts, NULL,
         "Show all recorded attempts, not only the latest.", false, NULL},
        {NULL, "help", 'h', FLAG_BOOL, &c->help, NULL, "Print help and exit.", false, NULL},
        {"Scheduler", "server", 's', FLAG_STR, &c->server, "HOST:PORT",
         "Address of the scheduler. The default port is 10259.", false, NULL},
        {NULL, "lease", '\0', FLAG_STR, &c->lease, "NAMESPACE/NAME",
         "Connect to the holder of this lease.", false, NULL},
        {NULL, "port-forward", '\0', FLAG_BOOL, &c->port_forward, NULL,
         "Connect to the pod that holds the lease with `kubectl port-forward`.", false, NULL},
        {NULL, "request-timeout", '\0', FLAG_DURATION, &c->timeout, NULL,
         "How long to wait for a response.", false, NULL},
        {"Credentials", "kubeconfig", '\0', FLAG_STR, &c->kubeconfig, "FILE",
         "kubeconfig with credentials and the API server that locates the scheduler.", false, NULL},
        {NULL, "context", '\0', FLAG_STR, &c->context, "NAME", "Context of the kubeconfig.", false,
         NULL},
        {NULL, "token", '\0', FLAG_STR, &c->token, "TOKEN", "Bearer token.", false, NULL},
        {NULL, "client-certificate", '\0', FLAG_STR, &c->client_certificate, "FILE",
         "File with the client certificate in PEM.", false, NULL},
        {NULL, "client-key", '\0', FLAG_STR, &c->client_key, "FILE",
         "File with the key of --client-certificate in PEM.", false, NULL},
        {NULL, "certificate-authority", '\0', FLAG_STR, &c->certificate_authority, "FILE",
         "File with the authority that signed the scheduler's certificate, in PEM.", false, NULL},
        {NULL, "insecure-skip-tls-verify", '\0', FLAG_BOOL, &c->insecure, NULL,
         "Do not verify the scheduler's certificate. This exposes the token to "
         "man-in-the-middle attacks.",
         false, NULL},
    };
    static_assert(sizeof(flags) == sizeof(c->flags), "room for every flag");
    memcpy(c->flags, flags, sizeof(flags));
}

static int check_flags(const struct explain_command *c, int n)
{
    if (explain_format_of(c->output) == EXPLAIN_FORMAT_NONE)
        return cmd_fail(EXIT_USAGE, "--output: \"%s\" is not one of " EXPLAIN_FORMATS, c->output);
    if (c->nodes < 0)
        return cmd_fail(EXIT_USAGE, "--nodes: must not be negative");
    if (c->timeout <= 0)
        return cmd_fail(EXIT_USAGE, "--request-timeout: must be greater than 0");
    if (!*c->client_certificate != !*c->client_key)
        return cmd_fail(EXIT_USAGE, "--client-certificate and --client-key must be set together");
    if (*c->certificate_authority && c->insecure)
        return cmd_fail(EXIT_USAGE, "--certificate-authority and --insecure-skip-tls-verify must "
                                    "not be set together");
    if (c->port_forward && (*c->server || !(*c->kubeconfig || *c->context || *c->lease)))
        return cmd_fail(EXIT_USAGE, "--port-forward requires --kubeconfig, --context or --lease, "
                                    "and must not be set together with --server");
    if (n != 1)
        return cmd_fail(EXIT_USAGE, "expected one pod, got %d; see `berth explain --help`", n);
    return EXIT_DONE;
}

int cmd_explain(int argc, char **argv)
{
    struct explain_command c;
    struct err err;
    int n;
    init(&c);
    if (flags_parse(c.flags, ARRAY_LEN(c.flags), argc, argv, &n, &err) < 0)
        return cmd_fail(EXIT_USAGE, "%s; see `berth explain --help`", err.msg);
    if (c.help)
        return cmd_help(usage, c.flags, ARRAY_LEN(c.flags));
    int code = check_flags(&c, n);
    if (code != EXIT_DONE)
        return code;
    arena_init(&c.arena, 4096);
    code = run(&c, argv[1]);
    port_forward_stop(&c.forward);
    arena_release(&c.arena);
    return code;
}

void cmd_explain_flags(cmd_flags_fn *fn, void *ctx)
{
    struct explain_command c;
    init(&c);
    fn(ctx, c.flags, ARRAY_LEN(c.flags));
}
