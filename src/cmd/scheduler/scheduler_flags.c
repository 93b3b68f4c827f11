/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/scheduler_flags.h"

#include "api/quantity.h"
#include "base/log.h"
#include "base/time.h"

/* struct flag, with the value as an offset into struct scheduler_options. */
struct row {
    const char *group, *name;
    char letter;
    enum flag_kind kind;
    size_t at;
    const char *metavar, *help, *deprecated;
};

#define AT(field)      offsetof(struct scheduler_options, field)
#define CUSTOM(id)     (AT(custom) + (id) * sizeof(struct flag_custom))
#define WITHOUT_CONFIG " Ignored if --config is set."
#define CIPHERS                                                                                 \
    "Comma-separated list of cipher suites for the server. If not set, OpenSSL's defaults are " \
    "used.\n"                                                                                   \
    "Preferred values: TLS_AES_128_GCM_SHA256, TLS_AES_256_GCM_SHA384, "                        \
    "TLS_CHACHA20_POLY1305_SHA256, "                                                            \
    "TLS_ECDHE_{ECDSA,RSA}_WITH_AES_{128,256}_CBC_SHA, "                                        \
    "TLS_ECDHE_{ECDSA,RSA}_WITH_AES_128_GCM_SHA256, "                                           \
    "TLS_ECDHE_{ECDSA,RSA}_WITH_AES_256_GCM_SHA384, "                                           \
    "TLS_ECDHE_{ECDSA,RSA}_WITH_CHACHA20_POLY1305[_SHA256].\n"                                  \
    "Insecure values: TLS_ECDHE_{ECDSA,RSA}_WITH_AES_128_CBC_SHA256, "                          \
    "TLS_ECDHE_{ECDSA,RSA}_WITH_RC4_128_SHA, TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA, "             \
    "TLS_RSA_WITH_{3DES_EDE_CBC_SHA,AES_128_CBC_SHA,AES_128_CBC_SHA256,AES_128_GCM_SHA256,"     \
    "AES_256_CBC_SHA,AES_256_GCM_SHA384,RC4_128_SHA}."

static const struct row rows[] = {
    {"Misc", "config", 0, FLAG_STR, AT(config_file), NULL,
     "Path to the configuration file: a KubeSchedulerConfiguration, or a ConfigMap that contains "
     "one.",
     NULL},
    {NULL, "explain-file", 0, FLAG_STR, AT(explain_file), NULL,
     "On SIGUSR1, write all recorded scheduling attempts to this file, one JSON object per line.",
     NULL},
    {NULL, "master", 0, FLAG_STR, AT(master), NULL,
     "Address of the Kubernetes API server. Overrides the one in the kubeconfig.", NULL},
    {NULL, "plugin", 0, FLAG_CUSTOM, AT(plugins.files), "FILE",
     PLUGIN_FLAG_HELP " A changed file is loaded again.", NULL},
    {NULL, "plugin-call-limit", 0, FLAG_DURATION, AT(plugin_call_limit), NULL,
     "Log a plugin that does not return for this long, with extension point, pod and backtrace. "
     "Calls that may block are not limited. 0: no limit.",
     NULL},
    {NULL, "plugin-dir", 0, FLAG_CUSTOM, AT(plugins.dirs), "DIR", PLUGIN_DIR_FLAG_HELP, NULL},
    {NULL, "write-config-to", 0, FLAG_STR, AT(write_config_to), NULL,
     "Write the configuration with all defaults to this file and exit.", NULL},

    {"Secure serving", "bind-address", 0, FLAG_IP, AT(serving.bind_address), NULL,
     "IP address on which to listen for --secure-port. 0.0.0.0 and :: listen on all interfaces.",
     NULL},
    {NULL, "cert-dir", 0, FLAG_STR, AT(serving.cert_dir), NULL,
     "Directory of the TLS certificate and key, kube-scheduler.crt and kube-scheduler.key. Ignored "
     "if --tls-cert-file and --tls-private-key-file are set.",
     NULL},
    {NULL, "disable-http2-serving", 0, FLAG_BOOL, AT(serving.disable_http2), NULL,
     "Serve HTTP/1.1 only.", NULL},
    {NULL, "http2-max-streams-per-connection", 0, FLAG_INT, AT(serving.http2_max_streams), NULL,
     "Maximum number of concurrent streams per HTTP/2 connection. 0 means berth's default.", NULL},
    {NULL, "permit-address-sharing", 0, FLAG_BOOL, AT(serving.permit_address_sharing), NULL,
     "Bind with SO_REUSEADDR.", NULL},
    {NULL, "permit-port-sharing", 0, FLAG_BOOL, AT(serving.permit_port_sharing), NULL,
     "Bind with SO_REUSEPORT, so that several processes can share the port.", NULL},
    {NULL, "secure-port", 0, FLAG_INT, AT(serving.port), NULL,
     "Port on which to serve HTTPS with authentication and authorization. 0 disables serving.",
     NULL},
    {NULL, "tls-cert-file", 0, FLAG_STR, AT(serving.cert_file), NULL,
     "File with the x509 certificate for HTTPS, followed by intermediate certificates. If not set, "
     "a self-signed certificate is generated, in memory or in --cert-dir.",
     NULL},
    {NULL, "tls-cipher-suites", 0, FLAG_STRINGS, AT(serving.cipher_suites), NULL, CIPHERS, NULL},
    {NULL, "tls-curve-preferences", 0, FLAG_INT32S, AT(serving.curve_preferences), NULL,
     "Comma-separated list of allowed key exchanges by their TLS numbers: 23 (P-256), 24 (P-384), "
     "25 (P-521), 29 (X25519), 4587 to 4589 (hybrids with ML-KEM).",
     NULL},
    {NULL, "tls-min-version", 0, FLAG_STR, AT(serving.min_version), NULL,
     "Minimum TLS version: VersionTLS10, VersionTLS11, VersionTLS12 or VersionTLS13.", NULL},
    {NULL, "tls-private-key-file", 0, FLAG_STR, AT(serving.key_file), NULL,
     "File with the private key of --tls-cert-file.", NULL},
    {NULL, "tls-sni-cert-key", 0, FLAG_CUSTOM, CUSTOM(CUSTOM_SNI), "namedCertKey",
     "Additional certificate and key for clients that request one of the names after the colon or, "
     "if there are none, a name in the certificate: \"a.crt,a.key\", "
     "\"b.crt,b.key:*.b.org,b.org\". Can be repeated.",
     NULL},

    {"Authentication", "authentication-kubeconfig", 0, FLAG_STR, AT(authentication.kubeconfig),
     NULL,
     "kubeconfig of the API server that answers TokenReviews and has the client CA. If neither "
     "this nor --authorization-kubeconfig is set, the scheduler's own kubeconfig is used.",
     NULL},
    {NULL, "authentication-skip-lookup", 0, FLAG_BOOL, AT(authentication.skip_lookup), NULL,
     "Do not look up missing authentication settings in the cluster.", NULL},
    {NULL, "authentication-token-webhook-cache-ttl", 0, FLAG_DURATION,
     AT(authentication.token_cache_ttl), NULL, "How long to cache responses to TokenReviews.",
     NULL},
    {NULL, "authentication-tolerate-lookup-failure", 0, FLAG_BOOL,
     AT(authentication.tolerate_lookup_failure), NULL,
     "Continue if the lookup of authentication settings fails. Requests may then be treated as "
     "anonymous.",
     NULL},
    {NULL, "client-ca-file", 0, FLAG_STR, AT(authentication.client_ca_file), NULL,
     "Certificate authorities of clients. A client whose certificate is signed by one of them is "
     "authenticated as the certificate's common name.",
     NULL},
    {NULL, "requestheader-allowed-names", 0, FLAG_STRINGS, AT(authentication.allowed_names), NULL,
     "Common names of proxies that may pass users in request headers. If empty, any certificate "
     "signed by --requestheader-client-ca-file is allowed.",
     NULL},
    {NULL, "requestheader-client-ca-file", 0, FLAG_STR,
     AT(authentication.requestheader_client_ca_file), NULL,
     "Certificate authorities of proxies that may pass users in request headers.", NULL},
    {NULL, "requestheader-extra-headers-prefix", 0, FLAG_STRINGS,
     AT(authentication.extra_headers_prefix), NULL,
     "Prefixes of request headers that carry extra attributes of the user.", NULL},
    {NULL, "requestheader-group-headers", 0, FLAG_STRINGS, AT(authentication.group_headers), NULL,
     "Request headers that carry the user's groups.", NULL},
    {NULL, "requestheader-uid-headers", 0, FLAG_STRINGS, AT(authentication.uid_headers), NULL,
     "Request headers that carry the user's UID. Must include X-Remote-Uid.", NULL},
    {NULL, "requestheader-username-headers", 0, FLAG_STRINGS, AT(authentication.username_headers),
     NULL, "Request headers that carry the user name.", NULL},

    {"Authorization", "authorization-always-allow-paths", 0, FLAG_STRINGS,
     AT(authorization.always_allow_paths), NULL, "Paths that do not require authorization.", NULL},
    {NULL, "authorization-kubeconfig", 0, FLAG_STR, AT(authorization.kubeconfig), NULL,
     "kubeconfig of the API server that answers SubjectAccessReviews. If neither this nor "
     "--authentication-kubeconfig is set, the scheduler's own kubeconfig is used.",
     NULL},
    {NULL, "authorization-webhook-cache-authorized-ttl", 0, FLAG_DURATION,
     AT(authorization.authorized_ttl), NULL, "How long to cache authorized responses.", NULL},
    {NULL, "authorization-webhook-cache-unauthorized-ttl", 0, FLAG_DURATION,
     AT(authorization.unauthorized_ttl), NULL, "How long to cache unauthorized responses.", NULL},

    {"Deprecated", "contention-profiling", 0, FLAG_BOOL, AT(deprecated.contention_profiling), NULL,
     "DEPRECATED: set enableContentionProfiling, which has no effect: berth has no locks to "
     "profile." WITHOUT_CONFIG,
     NULL},
    {NULL, "kube-api-burst", 0, FLAG_INT32, AT(deprecated.burst), NULL,
     "DEPRECATED: burst of requests to the API server beyond --kube-api-qps." WITHOUT_CONFIG, NULL},
    {NULL, "kube-api-content-type", 0, FLAG_STR, AT(deprecated.content_type), NULL,
     "DEPRECATED: content type of requests to the API server." WITHOUT_CONFIG, NULL},
    {NULL, "kube-api-qps", 0, FLAG_FLOAT, AT(deprecated.qps), NULL,
     "DEPRECATED: requests per second to the API server. If not set, only pod status updates and "
     "Warning events are limited." WITHOUT_CONFIG,
     NULL},
    {NULL, "kubeconfig", 0, FLAG_STR, AT(deprecated.kubeconfig), NULL,
     "DEPRECATED: kubeconfig with the API server's address and the scheduler's "
     "credentials." WITHOUT_CONFIG,
     NULL},
    {NULL, "pod-max-in-unschedulable-pods-duration", 0, FLAG_DURATION,
     AT(deprecated.max_in_unschedulable), NULL,
     "DEPRECATED: maximum time that a pod stays in unschedulablePods before it is moved to activeQ "
     "or backoffQ.",
     NULL},
    {NULL, "profiling", 0, FLAG_BOOL, AT(deprecated.profiling), NULL,
     "DEPRECATED: serve profiles at /debug/pprof/." WITHOUT_CONFIG, NULL},

    {"Leader election", "leader-elect", 0, FLAG_BOOL, AT(leader.elect), NULL,
     "Schedule only while holding the lease, so that one of several instances is active.", NULL},
    {NULL, "leader-elect-lease-duration", 0, FLAG_DURATION, AT(leader.lease_duration), NULL,
     "How long other instances wait after the last renewal before they acquire the lease.", NULL},
    {NULL, "leader-elect-renew-deadline", 0, FLAG_DURATION, AT(leader.renew_deadline), NULL,
     "How long the leader tries to renew the lease before it stops leading. Must be less than the "
     "lease duration.",
     NULL},
    {NULL, "leader-elect-resource-lock", 0, FLAG_STR, AT(leader.lock), NULL,
     "Type of the lock object. Only leases are supported.", NULL},
    {NULL, "leader-elect-resource-name", 0, FLAG_STR, AT(leader.name), NULL,
     "Name of the lock object.", NULL},
    {NULL, "leader-elect-resource-namespace", 0, FLAG_STR, AT(leader.namespace), NULL,
     "Namespace of the lock object.", NULL},
    {NULL, "leader-elect-retry-period", 0, FLAG_DURATION, AT(leader.retry_period), NULL,
     "How long to wait between attempts to acquire or renew the lease.", NULL},

    {"Feature gate", "emulated-version", 0, FLAG_STRINGS, AT(emulated_version), NULL,
     "Emulate this version: feature gates have the defaults of that version.\nFormat: major.minor, "
     "optionally prefixed with the component: 'kube=1.35'. Options are: "
     "kube=1.33..1.36(default:1.36)",
     NULL},
    {NULL, "feature-gates", 0, FLAG_CUSTOM, CUSTOM(CUSTOM_FEATURE_GATES),
     "colonSeparatedMultimapStringString",
     "Comma-separated list of component:Name=true|false. The component is kube and can be omitted. "
     "Can be repeated. Options are:",
     NULL},
    {NULL, "min-compatibility-version", 0, FLAG_STRINGS, AT(min_compatibility_version), NULL,
     "Minimum version of control plane components to be compatible with. Must not be greater than "
     "--emulated-version.\nFormat: major.minor, optionally prefixed with the component: "
     "'kube=1.35'. Options are: kube=1.33..1.36(default:1.35)",
     NULL},

    {"Metrics", "allow-metric-labels", 0, FLAG_MAP, AT(metrics.allow_labels), NULL,
     "Allowed values of metric labels: 'metric1,label1=v1,v2'. Other values become \"unexpected\". "
     "Can be repeated.",
     NULL},
    {NULL, "allow-metric-labels-manifest", 0, FLAG_STR, AT(metrics.allow_labels_manifest), NULL,
     "YAML file with allowed values of metric labels. --allow-metric-labels takes precedence.",
     NULL},
    {NULL, "disabled-metrics", 0, FLAG_STRINGS, AT(metrics.disabled), NULL,
     "Comma-separated list of metrics to disable, by full name.", NULL},
    {NULL, "show-hidden-metrics-for-version", 0, FLAG_STR, AT(metrics.show_hidden_for_version),
     NULL, "Show metrics that are hidden since this version. Only 1.35 is supported.", NULL},

    {"Logs", "log-flush-frequency", 0, FLAG_DURATION, AT(logs.flush_frequency), NULL,
     "Maximum time before buffered log lines are written. Lines are buffered only if "
     "--log-json-info-buffer-size or --log-text-info-buffer-size is set.",
     NULL},
    {NULL, "log-json-info-buffer-size", 0, FLAG_CUSTOM, CUSTOM(CUSTOM_JSON_BUFFER), "quantity",
     "[Alpha] Bytes of info lines to buffer with --log-json-split-stream: 512, 1K, 2Ki. Requires "
     "the feature gate LoggingAlphaOptions.",
     NULL},
    {NULL, "log-json-split-stream", 0, FLAG_BOOL, AT(logs.json_split_stream), NULL,
     "[Alpha] In JSON format, write errors to stderr and info lines to stdout. Requires the "
     "feature gate LoggingAlphaOptions.",
     NULL},
    {NULL, "log-text-info-buffer-size", 0, FLAG_CUSTOM, CUSTOM(CUSTOM_TEXT_BUFFER), "quantity",
     "[Alpha] Bytes of info lines to buffer with --log-text-split-stream: 512, 1K, 2Ki. Requires "
     "the feature gate LoggingAlphaOptions.",
     NULL},
    {NULL, "log-text-split-stream", 0, FLAG_BOOL, AT(logs.text_split_stream), NULL,
     "[Alpha] In text format, write errors to stderr and info lines to stdout. Requires the "
     "feature gate LoggingAlphaOptions.",
     NULL},
    {NULL, "logging-format", 0, FLAG_STR, AT(logs.format), NULL,
     "Log format: \"text\" or \"json\". \"json\" requires the feature gate LoggingBetaOptions.",
     NULL},
    {NULL, "v", 'v', FLAG_CUSTOM, CUSTOM(CUSTOM_VERBOSITY), "Level", "Log verbosity.", NULL},
    {NULL, "vmodule", 0, FLAG_CUSTOM, CUSTOM(CUSTOM_VMODULE), "pattern=N,...",
     "Comma-separated list of pattern=N settings for the verbosity of single files. Text format "
     "only.",
     NULL},

    {"Global", "help", 'h', FLAG_BOOL, AT(help), NULL, "Print help and exit.", NULL},
    {NULL, "version", 0, FLAG_CUSTOM, CUSTOM(CUSTOM_VERSION), "version",
     "--version and --version=raw print the version and exit. --version=vX.Y.Z... sets the "
     "reported version.",
     NULL},

    {"Retired", "address", 0, FLAG_STR, AT(retired.address), NULL, "",
     "plain HTTP is not supported: use --bind-address."},
    {NULL, "algorithm-provider", 0, FLAG_STR, AT(retired.algorithm_provider), NULL, "",
     "use profiles of --config."},
    {NULL, "hard-pod-affinity-symmetric-weight", 0, FLAG_INT32,
     AT(retired.hard_pod_affinity_weight), NULL, "",
     "use hardPodAffinityWeight of InterPodAffinityArgs in --config."},
    {NULL, "lock-object-name", 0, FLAG_STR, AT(retired.lock_object_name), NULL, "",
     "use --leader-elect-resource-name."},
    {NULL, "lock-object-namespace", 0, FLAG_STR, AT(retired.lock_object_namespace), NULL, "",
     "use --leader-elect-resource-namespace."},
    {NULL, "policy-config-file", 0, FLAG_STR, AT(retired.policy_config_file), NULL, "",
     "convert the Policy with `berth config convert` and use --config."},
    {NULL, "policy-configmap", 0, FLAG_STR, AT(retired.policy_configmap), NULL, "",
     "convert the Policy with `berth config convert` and use --config."},
    {NULL, "policy-configmap-namespace", 0, FLAG_STR, AT(retired.policy_configmap_namespace), NULL,
     "", "it only applies to --policy-configmap."},
    {NULL, "port", 0, FLAG_INT, AT(retired.port), NULL, "",
     "plain HTTP is not supported: use --secure-port."},
    {NULL, "scheduler-name", 0, FLAG_STR, AT(retired.scheduler_name), NULL, "",
     "use schedulerName of a profile in --config."},
    {NULL, "use-legacy-policy-config", 0, FLAG_BOOL, AT(retired.use_legacy_policy_config), NULL, "",
     "it only applies to --policy-config-file."},
};
_Static_assert(ARRAY_LEN(rows) <= SCHEDULER_FLAGS_MAX, "make SCHEDULER_FLAGS_MAX larger");

/* --- custom values ---------------------------------------------------------------------------- */

static int set_sni(void *to, struct str text, struct err *reterr)
{
    struct sni_cert_keys *keys = to;
    struct sni_cert_key key = {0};
    size_t colon = str_find(text, ':');
    struct str files = str_trim(str_slice(text, 0, colon)), one;
    struct str names = str_trim(str_slice(text, colon + 1, text.n));
    if (colon < text.n && !names.n)
        return err_set(reterr, -EINVAL, "empty names list is not allowed");
    while (colon < text.n && str_split(&names, ',', &one))
        go_strings_push(&key.names, keys->arena, str_trim(one));
    size_t comma = str_find(files, ',');
    key.cert_file = str_trim(str_slice(files, 0, comma));
    key.key_file = str_trim(str_slice(files, comma + 1, files.n));
    if (comma == files.n || str_find(key.key_file, ',') < key.key_file.n)
        return err_set(reterr, -EINVAL, "expected comma separated certificate and key file paths");
    struct sni_cert_key *v = arena_array(keys->arena, struct sni_cert_key, keys->n + 1);
    if (keys->n)
        memcpy(v, keys->v, keys->n * sizeof(*v));
    v[keys->n++] = key;
    keys->v = v;
    return 0;
}

static void write_sni(const void *to, struct buf *out)
{
    const struct sni_cert_keys *keys = to;
    buf_add_char(out, '[');
    for (size_t i = 0; i < keys->n; i++) {
        const struct sni_cert_key *key = &keys->v[i];
        buf_add_printf(out, "%s%.*s,%.*s", i ? ";" : "", STR_ARG(key->cert_file),
                       STR_ARG(key->key_file));
        for (size_t j = 0; j < key->names.n; j++)
            buf_add_printf(out, "%c%.*s", j ? ',' : ':', STR_ARG(key->names.v[j]));
    }
    buf_add_char(out, ']');
}

static int set_feature_gates(void *to, struct str text, struct err *reterr)
{
    struct flag_strings *gates = to;
    (void)reterr;
    go_strings_push(&gates->list, gates->arena, text);
    return 0;
}

static void write_feature_gates(const void *to, struct buf *out)
{
    const struct flag_strings *gates = to;
    for (size_t i = 0; i < gates->list.n; i++) {
        struct str rest = gates->list.v[i], pair;
        while (str_split(&rest, ',', &pair))
            if (pair.n)
                buf_add_printf(out, "%s%s%.*s", out->n ? "," : "",
                               str_find(pair, ':') < pair.n ? "" : ":", STR_ARG(str_trim(pair)));
    }
}

static int set_bytes(void *to, struct str text, struct err *reterr)
{
    struct arena arena;
    struct quantity quantity;
    arena_init(&arena, 0);
    int r = quantity_parse(text, &arena, &quantity, reterr);
    if (r == 0)
        *(int64_t *)to = quantity_value(&quantity);
    arena_release(&arena);
    return r;
}

static void write_number(const void *to, struct buf *out)
{
    buf_add_printf(out, "%lld", (long long)*(const int64_t *)to);
}

static int set_verbosity(void *to, struct str text, struct err *reterr)
{
    uint64_t level;
    int r = go_parse_uint(text, 31, &level, reterr);
    if (r == 0)
        *(int64_t *)to = (int64_t)level;
    return r;
}

static int add_vmodule(struct vmodule *vmodule, struct str item, struct err *reterr)
{
    size_t equals = str_find(item, '=');
    struct str level_text = str_slice(item, equals + 1, item.n);
    struct buf quoted = BUF_INIT;
    uint64_t level = 0;
    int r = 0;
    log_quote(&quoted, item);
    if (equals == 0 || !level_text.n || str_find(level_text, '=') < level_text.n)
        r = err_set(reterr, -EINVAL, "%s does not have the pattern=N format", buf_cstr(&quoted));
    else if (go_parse_uint(level_text, 31, &level, reterr) < 0)
        r = err_prefix(reterr, -EINVAL, "parsing verbosity in %s", buf_cstr(&quoted));
    buf_release(&quoted);
    if (r < 0)
        return r;
    struct vmodule_item *v = arena_array(vmodule->arena, struct vmodule_item, vmodule->n + 1);
    if (vmodule->n)
        memcpy(v, vmodule->v, vmodule->n * sizeof(*v));
    v[vmodule->n++] = (struct vmodule_item){str_slice(item, 0, equals), (int32_t)level};
    vmodule->v = v;
    return 0;
}

static int set_vmodule(void *to, struct str text, struct err *reterr)
{
    struct str item;
    int r = 0;
    while (r == 0 && str_split(&text, ',', &item))
        if (item.n)
            r = add_vmodule(to, item, reterr);
    return r;
}

static void write_vmodule(const void *to, struct buf *out)
{
    const struct vmodule *vmodule = to;
    for (size_t i = 0; i < vmodule->n; i++)
        buf_add_printf(out, "%s%.*s=%d", i ? "," : "", STR_ARG(vmodule->v[i].pattern),
                       vmodule->v[i].level);
}

static int set_version(void *to, struct str text, struct err *reterr)
{
    return version_flag_set(to, text, reterr);
}

static void write_version(const void *to, struct buf *out)
{
    version_flag_write(to, out);
}

static void bind_customs(struct scheduler_options *o)
{
    struct flag_custom *c = o->custom;
    c[CUSTOM_SNI] = (struct flag_custom){.to = &o->serving.sni, .set = set_sni, .write = write_sni};
    c[CUSTOM_FEATURE_GATES] = (struct flag_custom){.to = &o->feature_gates,
                                                   .set = set_feature_gates,
                                                   .write = write_feature_gates,
                                                   .write_options = features_write_help};
    c[CUSTOM_JSON_BUFFER] =
        (struct flag_custom){.to = &o->logs.json_buffer, .set = set_bytes, .write = write_number};
    c[CUSTOM_TEXT_BUFFER] =
        (struct flag_custom){.to = &o->logs.text_buffer, .set = set_bytes, .write = write_number};
    c[CUSTOM_VERBOSITY] =
        (struct flag_custom){.to = &o->logs.verbosity, .set = set_verbosity, .write = write_number};
    c[CUSTOM_VMODULE] =
        (struct flag_custom){.to = &o->logs.vmodule, .set = set_vmodule, .write = write_vmodule};
    c[CUSTOM_VERSION] = (struct flag_custom){
        .to = &o->version, .set = set_version, .write = write_version, .without = "true"};
}

/* --- the options ------------------------------------------------------------------------------ */

static const struct scheduler_options defaults = {
    .config_file = "",
    .master = "",
    .write_config_to = "",
    .explain_file = "",
    .plugin_call_limit = NSEC_PER_SEC,
    .serving = {.bind_address = "0.0.0.0",
                .cert_dir = "",
                .cert_file = "",
                .key_file = "",
                .min_version = "",
                .port = 10259},
    .authentication = {.kubeconfig = "",
                       .client_ca_file = "",
                       .requestheader_client_ca_file = "",
                       .tolerate_lookup_failure = true,
                       .token_cache_ttl = 10 * NSEC_PER_SEC},
    .authorization = {.kubeconfig = "",
                      .authorized_ttl = 10 * NSEC_PER_SEC,
                      .unauthorized_ttl = 10 * NSEC_PER_SEC},
    .deprecated = {.profiling = true,
                   .contention_profiling = true,
                   .burst = 100,
                   .qps = 50,
                   .content_type = "application/vnd.kubernetes.protobuf",
                   .kubeconfig = "",
                   .max_in_unschedulable = 5 * 60 * NSEC_PER_SEC},
    .leader = {.elect = true,
               .lease_duration = 15 * NSEC_PER_SEC,
               .renew_deadline = 10 * NSEC_PER_SEC,
               .retry_period = 2 * NSEC_PER_SEC,
               .lock = "leases",
               .name = "kube-scheduler",
               .namespace = "kube-system"},
    .metrics = {.allow_labels_manifest = "", .show_hidden_for_version = ""},
    .logs = {.flush_frequency = 5 * NSEC_PER_SEC, .format = "text"},
    .retired = {.policy_config_file = "",
                .policy_configmap = "",
                .policy_configmap_namespace = "kube-system",
                .scheduler_name = "default-scheduler",
                .algorithm_provider = "",
                .address = "0.0.0.0",
                .lock_object_name = "kube-scheduler",
                .lock_object_namespace = "kube-system",
                .hard_pod_affinity_weight = 1},
};

static void bind_lists(struct scheduler_options *o)
{
    static const size_t lists[] = {
        AT(serving.cipher_suites),
        AT(authentication.allowed_names),
        AT(authentication.group_headers),
        AT(authentication.extra_headers_prefix),
        AT(authentication.uid_headers),
        AT(authentication.username_headers),
        AT(emulated_version),
        AT(authorization.always_allow_paths),
        AT(min_compatibility_version),
        AT(metrics.disabled),
        AT(feature_gates),
    };
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        ((struct flag_strings *)((char *)o + lists[i]))->arena = &o->arena;
    o->serving.curve_preferences.arena = o->serving.sni.arena = &o->arena;
    o->metrics.allow_labels.arena = o->logs.vmodule.arena = &o->arena;
    go_strings_push(&o->authentication.extra_headers_prefix.list, &o->arena,
                    STR("x-remote-extra-"));
    go_strings_push(&o->authentication.group_headers.list, &o->arena, STR("x-remote-group"));
    go_strings_push(&o->authentication.username_headers.list, &o->arena, STR("x-remote-user"));
    go_strings_push(&o->authorization.always_allow_paths.list, &o->arena, STR("/healthz"));
    go_strings_push(&o->authorization.always_allow_paths.list, &o->arena, STR("/readyz"));
    go_strings_push(&o->authorization.always_allow_paths.list, &o->arena, STR("/livez"));
}

void scheduler_options_init(struct scheduler_options *o)
{
    *o = defaults;
    arena_init(&o->arena, 4096);
    bind_customs(o);
    bind_lists(o);
    plugin_flags_init(&o->plugins);
    o->n_flags = ARRAY_LEN(rows);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct row *row = &rows[i];
        o->flags[i] = (struct flag){.group = row->group,
                                    .name = row->name,
                                    .letter = row->letter,
                                    .kind = row->kind,
                                    .value = (char *)o + row->at,
                                    .metavar = row->metavar,
                                    .help = row->help,
                                    .deprecated = row->deprecated};
    }
}

void scheduler_options_release(struct scheduler_options *o)
{
    plugin_flags_release(&o->plugins);
    arena_release(&o->arena);
}

bool scheduler_options_given(const struct scheduler_options *o, const char *flag)
{
    return flags_given(o->flags, o->n_flags, flag);
}
