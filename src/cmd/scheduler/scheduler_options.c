/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the flags of `berth scheduler`, in upstream's order and with upstream's errors. */
#include "base/log.h"
#include "base/time.h"
#include "cmd/cli/cmd.h"
#include "cmd/scheduler/scheduler_flags.h"
#include "cmd/scheduler/scheduler_retired.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "engine/config/error_list.h"

/* --- versions and gates ----------------------------------------------------------------------- */

static struct kube_version one_before(struct kube_version v)
{
    v.minor -= v.minor > 0;
    return kube_version_cmp(v, KUBE_VERSION_OLDEST) < 0 ? KUBE_VERSION_OLDEST : v;
}

int scheduler_options_features(const struct scheduler_options *o, struct features *ret_features,
                               struct err *reterr)
{
    struct features features;
    struct kube_version emulated, oldest;
    struct buf gates = BUF_INIT;
    bool given = false;
    features_default(&features);
    int r = kube_versions_parse(&o->emulated_version.list, &emulated, &given, reterr);
    if (r == 0 && !given)
        emulated = KUBE_VERSION;
    if (r == 0)
        r = kube_versions_parse(&o->min_compatibility_version.list, &oldest, &given, reterr);
    if (r < 0)
        return r;
    features_emulate(&features, emulated, given ? oldest : one_before(emulated));
    for (size_t i = 0; i < o->feature_gates.list.n; i++)
        buf_add_printf(&gates, "%s%.*s", i ? "," : "", STR_ARG(o->feature_gates.list.v[i]));
    r = features_parse(&features, buf_str(&gates), reterr);
    buf_release(&gates);
    if (r == 0)
        *ret_features = features;
    return r;
}

static void check_versions(const struct features *f, struct error_list *out)
{
    struct kube_version v = f->emulated, oldest = f->min_compatible;
    if (kube_version_cmp(v, KUBE_VERSION) > 0 || kube_version_cmp(v, KUBE_VERSION_OLDEST) < 0)
        error_list_add(out, "emulation version %u.%u is not between [%u.%u, %u.%u.0]", v.major,
                       v.minor, KUBE_VERSION_OLDEST.major, KUBE_VERSION_OLDEST.minor,
                       KUBE_VERSION.major, KUBE_VERSION.minor);
    if (kube_version_cmp(oldest, v) > 0 || kube_version_cmp(oldest, KUBE_VERSION_OLDEST) < 0)
        error_list_add(out, "minCompatibilityVersion version %u.%u is not between [%u.%u, %u.%u]",
                       oldest.major, oldest.minor, KUBE_VERSION_OLDEST.major,
                       KUBE_VERSION_OLDEST.minor, v.major, v.minor);
}

/* --- logs ------------------------------------------------------------------------------------- */

static void check_stream(const char *format, bool split, int64_t buffer, bool allowed,
                         struct error_list *out)
{
    if (split && !allowed)
        error_list_add(out,
                       "options.%s.splitStream: Forbidden: Feature LoggingAlphaOptions is disabled",
                       format);
    if (buffer != 0 && !allowed)
        error_list_add(
            out, "options.%s.infoBufferSize: Forbidden: Feature LoggingAlphaOptions is disabled",
            format);
}

void scheduler_options_check_logs(const struct scheduler_options *o,
                                  const struct features *features, struct error_list *out)
{
    const struct logs_flags *logs = &o->logs;
    bool json = strcmp(logs->format, "json") == 0;
    struct buf text = BUF_INIT;
    if (logs->flush_frequency <= 0) {
        duration_format(logs->flush_frequency, &text);
        error_list_add(out, "flushFrequency: Invalid value: \"%s\": Must be greater than zero",
                       buf_cstr(&text));
        buf_clear(&text);
    }
    log_quote(&text, str_of(logs->format));
    if (!json && strcmp(logs->format, "text") != 0)
        error_list_add(out, "format: Invalid value: %s: Unsupported log format", buf_cstr(&text));
    else if (json && !features_enabled(features, "LoggingBetaOptions"))
        error_list_add(
            out, "format: Forbidden: Log format json is disabled, see LoggingBetaOptions feature");
    if (logs->vmodule.n && *logs->format && strcmp(logs->format, "text") != 0)
        error_list_add(out, "vmodule: Forbidden: Only supported for text log format");
    bool alpha = features_enabled(features, "LoggingAlphaOptions");
    check_stream("text", logs->text_split_stream, logs->text_buffer, alpha, out);
    check_stream("json", logs->json_split_stream, logs->json_buffer, alpha, out);
    buf_release(&text);
}

/* --- authentication --------------------------------------------------------------------------- */

static bool has_header(const struct flag_strings *headers, struct str name)
{
    for (size_t i = 0; i < headers->list.n; i++)
        if (str_eq_fold(headers->list.v[i], name))
            return true;
    return false;
}

static void check_blank(const char *flag, const struct flag_strings *headers,
                        struct error_list *out)
{
    for (size_t i = 0; i < headers->list.n; i++)
        if (str_empty(str_trim(headers->list.v[i]))) {
            error_list_add(out, "empty value in \"%s\"", flag);
            return;
        }
}

static void warn_header(const char *flag, const struct flag_strings *headers, const char *name,
                        const char *what)
{
    if (!headers->list.n || has_header(headers, str_of(name)))
        return;
    struct buf text = BUF_INIT;
    buf_add_printf(&text,
                   "--%s is set without specifying the standard %s %s - API aggregation will not "
                   "work",
                   flag, name, what);
    log_warning(buf_cstr(&text));
    buf_release(&text);
}

static void check_request_headers(const struct authentication_flags *a,
                                  const struct features *features, struct error_list *out)
{
    check_blank("requestheader-username-headers", &a->username_headers, out);
    check_blank("requestheader-group-headers", &a->group_headers, out);
    check_blank("requestheader-extra-headers-prefix", &a->extra_headers_prefix, out);
    check_blank("requestheader-allowed-names", &a->allowed_names, out);
    warn_header("requestheader-username-headers", &a->username_headers, "X-Remote-User", "header");
    warn_header("requestheader-group-headers", &a->group_headers, "X-Remote-Group", "header");
    warn_header("requestheader-extra-headers-prefix", &a->extra_headers_prefix, "X-Remote-Extra-",
                "header prefix");
    if (!a->uid_headers.list.n)
        return;
    if (!features_enabled(features, "RemoteRequestHeaderUID")) {
        error_list_add(out, "--requestheader-uid-headers requires the \"RemoteRequestHeaderUID\" "
                            "feature to be enabled");
        return;
    }
    check_blank("requestheader-uid-headers", &a->uid_headers, out);
    if (!has_header(&a->uid_headers, STR("X-Remote-Uid")))
        error_list_add(out, "--requestheader-uid-headers is set without specifying the standard "
                            "X-Remote-Uid header - API aggregation will not work");
}

/* --- metrics ---------------------------------------------------------------------------------- */

#define METRIC_NAME "[a-zA-Z_:][a-zA-Z0-9_:]*"
#define LABEL_NAME  "[a-zA-Z_][a-zA-Z0-9_]*"

static bool is_name(struct str s, bool colons)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && !(colons && c == ':') && !(i > 0 && c >= '0' && c <= '9'))
            return false;
    }
    return s.n > 0;
}

/* "metric,label" */
static bool is_metric_label(struct str s)
{
    size_t comma = str_find(s, ',');
    return is_name(str_slice(s, 0, comma), true) && is_name(str_slice(s, comma + 1, s.n), false);
}

static void check_allow_labels(const struct flag_map *map, struct error_list *out)
{
    bool good = true;
    for (size_t i = 0; i < map->keys.n; i++)
        good = good && is_metric_label(map->keys.v[i]);
    if (good)
        return;
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < map->keys.n; i++) {
        buf_add_char(&text, i ? ',' : '{');
        log_quote(&text, map->keys.v[i]);
        buf_add_char(&text, ':');
        log_quote(&text, map->values.v[i]);
    }
    error_list_add(out,
                   "metrics.allowListMapping: Invalid value: %s}: must have keys with format "
                   "`metricName,labelName` where metricName matches \"" METRIC_NAME
                   "\" and labelName matches \"" LABEL_NAME "\"",
                   buf_cstr(&text));
    buf_release(&text);
}

static void check_disabled(const struct flag_strings *names, struct error_list *out)
{
    for (size_t i = 0; i < names->list.n; i++) {
        if (is_name(names->list.v[i], true))
            continue;
        struct buf all = BUF_INIT, one = BUF_INIT;
        for (size_t j = 0; j < names->list.n; j++) {
            buf_add_char(&all, j ? ',' : '[');
            log_quote(&all, names->list.v[j]);
        }
        log_quote(&one, names->list.v[i]);
        error_list_add(out,
                       "metrics.disabledMetrics: Invalid value: %s]: must be fully qualified "
                       "metric names matching \"^" METRIC_NAME "$\", got %s",
                       buf_cstr(&all), buf_cstr(&one));
        buf_release(&all);
        buf_release(&one);
        return;
    }
}

/* A map of strings with the keys of --allow-metric-labels. */
static int check_manifest_text(struct str text, struct arena *a, struct err *reterr)
{
    struct json_value *docs;
    size_t n;
    int r = yaml_parse(text, JSON_STRICT, a, &docs, &n, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "failed to parse allow list manifest");
    for (size_t i = 0; n && docs[0].kind == JSON_OBJECT && i < docs[0].n_members; i++)
        if (!is_metric_label(docs[0].members[i].key))
            return err_set(reterr, -EINVAL,
                           "invalid allow list mapping in manifest: \"%.*s\" is not of the form "
                           "`metricName,labelName`",
                           STR_ARG(docs[0].members[i].key));
    return 0;
}

static void check_manifest(const char *path, struct error_list *out)
{
    struct arena arena;
    struct str text;
    struct err err;
    arena_init(&arena, 0);
    int r = cmd_read_file(path, &arena, &text, &err);
    if (r < 0)
        error_list_add(out,
                       "metrics.allowListMappingManifest: Invalid value: \"%s\": failed to read "
                       "allow list manifest: open %s",
                       path, err.msg);
    else if (check_manifest_text(text, &arena, &err) < 0)
        error_list_add(out, "metrics.allowListMappingManifest: Invalid value: \"%s\": %s", path,
                       err.msg);
    arena_release(&arena);
}

static void check_metrics(const struct metrics_flags *m, struct error_list *out)
{
    struct buf text = BUF_INIT;
    log_quote(&text, str_of(m->show_hidden_for_version));
    if (*m->show_hidden_for_version && strcmp(m->show_hidden_for_version, "1.35") != 0)
        error_list_add(out,
                       "metrics.showHiddenMetricsForVersion: Invalid value: %s: must be omitted "
                       "or have the value '1.35'; only the previous minor version is allowed",
                       buf_cstr(&text));
    buf_release(&text);
    check_disabled(&m->disabled, out);
    check_allow_labels(&m->allow_labels, out);
    if (*m->allow_labels_manifest)
        check_manifest(m->allow_labels_manifest, out);
    if (*m->allow_labels_manifest && m->allow_labels.changed)
        error_list_add(out, "metrics: Invalid value: cannot specify both allowListMapping and "
                            "allowListMappingManifest");
}

void scheduler_options_check(const struct scheduler_options *o, const struct features *features,
                             struct error_list *out)
{
    long long port = o->serving.port;
    check_versions(features, out);
    if (port > 65535)
        error_list_add(out,
                       "--secure-port %lld must be between 1 and 65535, inclusive. It cannot be "
                       "turned off with 0",
                       port);
    else if (port < 0)
        error_list_add(out,
                       "--secure-port %lld must be between 0 and 65535, inclusive. 0 for turning "
                       "off secure port",
                       port);
    check_request_headers(&o->authentication, features, out);
    check_metrics(&o->metrics, out);
    retired_check(o, out);
}

/* --- TLS -------------------------------------------------------------------------------------- */

static const char *const ciphers[] = {
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_RSA_WITH_RC4_128_SHA",
};
static const int32_t curves[] = {23, 24, 25, 29, 4587, 4588, 4589};
static const char *const tls_versions[] = {"", "VersionTLS10", "VersionTLS11", "VersionTLS12",
                                           "VersionTLS13"};

static bool is_one_of(struct str s, const char *const *all, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(s, all[i]))
            return true;
    return false;
}

static bool is_curve(int32_t id)
{
    for (size_t i = 0; i < ARRAY_LEN(curves); i++)
        if (curves[i] == id)
            return true;
    return false;
}

int scheduler_options_check_tls(const struct scheduler_options *o, struct err *reterr)
{
    const struct secure_serving_flags *s = &o->serving;
    if (s->port == 0)
        return 0;
    for (size_t i = 0; i < s->cipher_suites.list.n; i++)
        if (!is_one_of(s->cipher_suites.list.v[i], ciphers, ARRAY_LEN(ciphers)))
            return err_set(reterr, -EINVAL, "Cipher suite %.*s not supported or doesn't exist",
                           STR_ARG(s->cipher_suites.list.v[i]));
    for (size_t i = 0; i < s->curve_preferences.n; i++)
        if (!is_curve(s->curve_preferences.v[i]))
            return err_set(reterr, -EINVAL,
                           "curve preference %d is not supported by the current Go version",
                           s->curve_preferences.v[i]);
    if (!is_one_of(str_of(s->min_version), tls_versions, ARRAY_LEN(tls_versions)))
        return err_set(reterr, -EINVAL, "unknown tls version \"%s\"", s->min_version);
    return 0;
}
