/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/client.h"

#include <unistd.h>

#include "base/log.h"
#include "codec/json_value.h"
#include "kube/file.h"
#include "net/tls.h"
#include "net/url.h"

#define EXEC_EXTENSION "client.authentication.k8s.io/exec"

static bool is_set(const char *text)
{
    return text && *text;
}

/* --- users and clusters ----------------------------------------------------------------------- */

/* A kubeconfig entry that is being checked; every message starts with its file and name. */
struct subject {
    const char *origin;
    const char *list; /* "users" or "clusters" */
    struct str name;
};

static int bad(const struct subject *s, const char *field, struct err *reterr, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
static int bad(const struct subject *s, const char *field, struct err *reterr, const char *fmt, ...)
{
    char text[400];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    return err_set(reterr, -EINVAL, "%s: %s[%.*s].%s: %s", s->origin, s->list, STR_ARG(s->name),
                   field, text);
}

static int check_readable(const struct subject *s, const char *field, struct str path,
                          struct err *reterr)
{
    if (str_empty(path) || access(path.p, R_OK) == 0)
        return 0;
    return bad(s, field, reterr, "%s: %s", path.p, strerror(errno));
}

static int check_certificate(const struct subject *s, const struct kubeconfig_user *u,
                             struct err *reterr)
{
    int r;

    if (str_empty(u->client_certificate) && str_empty(u->client_certificate_data))
        return 0;
    if (!str_empty(u->client_certificate) && !str_empty(u->client_certificate_data))
        return bad(s, "user.client-certificate", reterr,
                   "cannot be set together with client-certificate-data; remove one of them");
    if (!str_empty(u->client_key) && !str_empty(u->client_key_data))
        return bad(s, "user.client-key", reterr,
                   "cannot be set together with client-key-data; remove one of them");
    if (str_empty(u->client_key) && str_empty(u->client_key_data))
        return bad(s, "user.client-key", reterr, "required with a client certificate");
    r = check_readable(s, "user.client-certificate", u->client_certificate, reterr);
    return r < 0 ? r : check_readable(s, "user.client-key", u->client_key, reterr);
}

static int check_exec(const struct subject *s, struct kubeconfig_exec *exec, struct err *reterr)
{
    bool v1 = str_is(exec->api_version, "client.authentication.k8s.io/v1");

    if (str_empty(exec->command))
        return bad(s, "user.exec.command", reterr, "missing");
    if (!v1 && !str_is(exec->api_version, "client.authentication.k8s.io/v1beta1"))
        return bad(
            s, "user.exec.apiVersion", reterr,
            "\"%.*s\" is not supported (expected client.authentication.k8s.io/v1 or v1beta1)",
            STR_ARG(exec->api_version));
    for (size_t i = 0; i < exec->env.n; i++) {
        if (str_empty(exec->env.v[i].name))
            return bad(s, "user.exec.env", reterr, "entry %zu has no name", i);
    }
    if (str_empty(exec->interactive_mode) && !v1)
        exec->interactive_mode = STR("IfAvailable"); /* v1beta1 did not have this field at first */
    if (!str_is(exec->interactive_mode, "Never") &&
        !str_is(exec->interactive_mode, "IfAvailable") && !str_is(exec->interactive_mode, "Always"))
        return bad(s, "user.exec.interactiveMode", reterr,
                   "\"%.*s\" is not one of Never, IfAvailable, Always",
                   STR_ARG(exec->interactive_mode));
    return 0;
}

static int check_user(const struct subject *s, const struct kubeconfig_user *u, struct err *reterr)
{
    bool basic = !str_empty(u->username) || !str_empty(u->password);
    int r;

    if (u->auth_provider)
        return bad(s, "user.auth-provider", reterr,
                   "\"%.*s\": auth providers were removed from Kubernetes; use an exec plugin",
                   STR_ARG(u->auth_provider->name));
    if (basic && (!str_empty(u->token) || !str_empty(u->token_file)))
        return bad(s, "user.token", reterr,
                   "cannot be set together with username and password; remove one of them");
    if (str_empty(u->as) &&
        (!str_empty(u->as_uid) || u->as_groups.n > 0 || !str_empty(u->as_user_extra)))
        return bad(s, "user.as", reterr, "required with as-uid, as-groups and as-user-extra");
    r = check_certificate(s, u, reterr);
    /* A token given with the file is used until the file exists, as in client-go. */
    if (r == 0 && str_empty(u->token))
        r = check_readable(s, "user.tokenFile", u->token_file, reterr);
    if (r == 0 && u->exec)
        r = check_exec(s, u->exec, reterr);
    return r;
}

/* Converts {"key": ["a", "b"]} to rows. */
static int take_extra(struct kube_config *c, const struct subject *s, struct str text,
                      struct err *reterr)
{
    struct json_value tree;
    VEC(struct kube_extra) rows = {0};
    struct err why;
    bool ok;

    if (str_empty(text) || str_is(text, "null"))
        return 0;
    if (json_parse(text, 0, &c->arena, &tree, &why) < 0)
        return bad(s, "user.as-user-extra", reterr, "%s", why.msg);
    ok = tree.kind == JSON_OBJECT;
    for (size_t i = 0; ok && i < tree.n_members; i++) {
        const struct json_value *values = &tree.members[i].value;

        ok = values->kind == JSON_ARRAY || values->kind == JSON_NULL;
        for (size_t k = 0; ok && values->kind == JSON_ARRAY && k < values->n; k++) {
            ok = values->items[k].kind == JSON_STRING;
            if (ok)
                vec_push(&rows, (struct kube_extra){tree.members[i].key, values->items[k].text});
        }
    }
    if (ok && rows.n > 0) {
        c->as_extra.v = arena_array(&c->arena, struct kube_extra, rows.n);
        c->as_extra.n = rows.n;
        memcpy(c->as_extra.v, rows.v, rows.n * sizeof(*rows.v));
    }
    vec_release(&rows);
    return ok ? 0 : bad(s, "user.as-user-extra", reterr, "expected a map of string lists");
}

static int take_user(struct kube_config *c, const struct kubeconfig_named_user *entry,
                     struct err *reterr)
{
    struct subject s = {entry->origin, "users", entry->name};
    const struct kubeconfig_user *u = &entry->user;
    int r = check_user(&s, u, reterr);

    if (r < 0)
        return r;
    c->cert_file = u->client_certificate;
    c->cert_data = u->client_certificate_data;
    c->key_file = u->client_key;
    c->key_data = u->client_key_data;
    c->token = u->token;
    c->token_file = u->token_file;
    c->username = u->username;
    c->password = u->password;
    /* Any other credential takes precedence over the plugin, as in client-go. */
    if (u->exec && str_empty(u->token) && str_empty(u->token_file) && str_empty(u->username) &&
        str_empty(u->password) && str_empty(u->client_certificate) &&
        str_empty(u->client_certificate_data))
        c->exec = u->exec;
    c->as = u->as;
    c->as_uid = u->as_uid;
    c->as_groups.v = u->as_groups.v;
    c->as_groups.n = u->as_groups.n;
    return take_extra(c, &s, u->as_user_extra, reterr);
}

static int check_proxy(const struct subject *s, struct str url, struct err *reterr)
{
    if (str_empty(url) || str_starts(url, STR("http://")) || str_starts(url, STR("https://")) ||
        str_starts(url, STR("socks5://")))
        return 0;
    return bad(s, "cluster.proxy-url", reterr,
               "\"%.*s\" does not start with http://, https:// or socks5://", STR_ARG(url));
}

static int take_cluster(struct kube_config *c, const struct kubeconfig_named_cluster *entry,
                        bool master, struct err *reterr)
{
    struct subject s = {entry->origin, "clusters", entry->name};
    const struct kubeconfig_cluster *k = &entry->cluster;
    int r;

    if (str_empty(k->server) && !master)
        return bad(&s, "cluster.server", reterr, "missing");
    if (!str_empty(k->certificate_authority) && !str_empty(k->certificate_authority_data))
        return bad(&s, "cluster.certificate-authority", reterr,
                   "cannot be set together with certificate-authority-data; remove one of them");
    if (k->insecure_skip_tls_verify &&
        (!str_empty(k->certificate_authority) || !str_empty(k->certificate_authority_data)))
        return bad(&s, "cluster.insecure-skip-tls-verify", reterr,
                   "cannot be set together with a certificate authority; remove one of them");
    r = check_readable(&s, "cluster.certificate-authority", k->certificate_authority, reterr);
    if (r == 0)
        r = check_proxy(&s, k->proxy_url, reterr);
    if (r < 0)
        return r;
    c->server = k->server;
    c->ca_file = k->certificate_authority;
    c->ca_data = k->certificate_authority_data;
    c->insecure = k->insecure_skip_tls_verify;
    c->proxy_url = arena_dup(&c->arena, k->proxy_url); /* also used as a C string */
    /* The name belongs to the kubeconfig's server, not to --master. */
    if (!master)
        c->tls_server_name = k->tls_server_name;
    for (size_t i = 0; i < k->extensions.n; i++) {
        if (str_is(k->extensions.v[i].name, EXEC_EXTENSION))
            c->exec_cluster_config = k->extensions.v[i].extension;
    }
    return 0;
}

/* --- sources ---------------------------------------------------------------------------------- */

static int find_context(const struct kubeconfig *kc, const char *wanted, const char *what,
                        const struct kubeconfig_named_context **ret_context, struct err *reterr)
{
    struct str name = is_set(wanted) ? str_of(wanted) : kc->current_context;

    if (str_empty(name))
        return err_set(reterr, -EINVAL,
                       "%s: current-context: not set; set it to the name of a context", what);
    *ret_context = kubeconfig_context(kc, name);
    if (*ret_context)
        return 0;
    if (is_set(wanted))
        return err_set(reterr, -EINVAL, "%s: contexts: no context named \"%s\"", what, wanted);
    return err_set(reterr, -EINVAL, "%s: current-context: no context named \"%.*s\"",
                   kc->current_context_origin, STR_ARG(name));
}

static int take_context(struct kube_config *c, const struct kube_config_options *o,
                        const char *what, struct err *reterr)
{
    const struct kubeconfig_named_context *context;
    const struct kubeconfig_named_cluster *cluster;
    const struct kubeconfig_named_user *user;
    int r = find_context(&c->file, o->context, what, &context, reterr);

    if (r < 0)
        return r;
    cluster = kubeconfig_cluster(&c->file, context->context.cluster);
    if (!cluster)
        return err_set(reterr, -EINVAL, "%s: contexts[%.*s].context.cluster: %s \"%.*s\"",
                       context->origin, STR_ARG(context->name), "no cluster named",
                       STR_ARG(context->context.cluster));
    user = kubeconfig_user(&c->file, context->context.user);
    /* client-go accepts a context without a user: an anonymous client. */
    if (!user && !str_empty(context->context.user))
        return err_set(reterr, -EINVAL, "%s: contexts[%.*s].context.user: no user named \"%.*s\"",
                       context->origin, STR_ARG(context->name), STR_ARG(context->context.user));
    r = take_cluster(c, cluster, is_set(o->master), reterr);
    if (r == 0 && user)
        r = take_user(c, user, reterr);
    if (r < 0)
        return r;
    if (!str_empty(context->context.namespace))
        c->namespace = context->context.namespace;
    c->source =
        arena_printf(&c->arena, "%s (context \"%.*s\")", context->origin, STR_ARG(context->name));
    return 0;
}

/* The file layout of a projected service account (client-go: rest.InClusterConfig). */
static int take_service_account(struct kube_config *c, const char *dir, const char *host,
                                const char *port, struct err *reterr)
{
    struct str token = arena_printf(&c->arena, "%s/token", dir);
    struct str ca = arena_printf(&c->arena, "%s/ca.crt", dir);
    struct str namespace_file = arena_printf(&c->arena, "%s/namespace", dir);
    struct buf text = BUF_INIT;
    int r = file_read(token.p, 1 << 20, &text, reterr);

    buf_clear(&text);
    if (r == 0) {
        bool v6 = strchr(host, ':') != NULL;

        c->server =
            arena_printf(&c->arena, "https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
        c->token_file = token;
        c->source = STR("in-cluster configuration");
        /* Without a CA file the system's CAs are used, as in client-go. */
        if (access(ca.p, R_OK) == 0)
            c->ca_file = ca;
        else
            log_warning("Expected a root CA file", KV_STR("file", ca),
                        KV_CSTR("err", strerror(errno)));
        if (file_read(namespace_file.p, 4096, &text, NULL) == 0 &&
            !str_empty(str_trim(buf_str(&text))))
            c->namespace = arena_dup(&c->arena, str_trim(buf_str(&text)));
    } else {
        err_prefix(reterr, r, "in-cluster configuration");
    }
    buf_release(&text);
    return r;
}

static int take_files(struct kube_config *c, const struct kube_config_options *o,
                      struct err *reterr)
{
    const char *list = getenv("KUBECONFIG");
    int r;

    if (is_set(o->kubeconfig)) {
        r = kubeconfig_merge_file(&c->file, o->kubeconfig, reterr);
        if (r == 0)
            r = take_context(c, o, o->kubeconfig, reterr);
        return r < 0 ? err_prefix(reterr, r, "kubeconfig") : 0;
    }
    r = kubeconfig_merge_list(&c->file, list, reterr);
    if (r == 0 && c->file.n_files == 0)
        r = err_set(reterr, -ENOENT, "%s: no such file", list);
    if (r == 0)
        r = take_context(c, o, list, reterr);
    return r < 0 ? err_prefix(reterr, r, "KUBECONFIG") : 0;
}

static int take_source(struct kube_config *c, const struct kube_config_options *o,
                       struct err *reterr)
{
    const char *host = getenv("KUBERNETES_SERVICE_HOST");
    const char *port = getenv("KUBERNETES_SERVICE_PORT");
    const char *dir = o->service_account_dir ? o->service_account_dir : KUBE_SERVICE_ACCOUNT_DIR;

    if (is_set(o->kubeconfig))
        return take_files(c, o, reterr);
    if (is_set(o->master)) {
        c->source = STR("--master");
        return 0;
    }
    if (is_set(host) && is_set(port))
        return take_service_account(c, dir, host, port, reterr);
    if (is_set(getenv("KUBECONFIG")))
        return take_files(c, o, reterr);
    return err_set(reterr, -EINVAL,
                   "no API server given: use --kubeconfig or --master, set KUBECONFIG, or run "
                   "inside a cluster");
}

/* --- loading ---------------------------------------------------------------------------------- */

/* As in client-go, "host:port" means https if any TLS setting is configured. */
static int normalize_server(struct kube_config *c, struct err *reterr)
{
    struct str s = c->server;
    bool wants_tls = !str_empty(c->ca_file) || !str_empty(c->ca_data) || c->insecure ||
                     !str_empty(c->cert_file) || !str_empty(c->cert_data);
    struct url url;
    size_t cut;
    int r;

    if (str_search(s, STR("://")) == s.n)
        s = arena_printf(&c->arena, "%s://%.*s", wants_tls ? "https" : "http", STR_ARG(s));
    cut = MIN(str_find(s, '?'), str_find(s, '#'));
    s = str_slice(s, 0, cut);
    while (str_ends(s, STR("/")))
        s.n--;
    c->tls = str_starts(s, STR("https://"));
    if ((!c->tls && !str_starts(s, STR("http://"))) || s.n <= (c->tls ? 8u : 7u))
        return err_set(reterr, -EINVAL, "%.*s: server: \"%.*s\" is not an http or https URL",
                       STR_ARG(c->source), STR_ARG(c->server));
    r = url_parse(s, &url, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "%.*s: server", STR_ARG(c->source));
    c->server = arena_dup(&c->arena, s);
    return 0;
}

static void drop_credentials(struct kube_config *c)
{
    c->cert_file = c->cert_data = c->key_file = c->key_data = (struct str){0};
    c->token = c->token_file = c->username = c->password = (struct str){0};
    c->exec = NULL;
}

static void set_content_types(struct kube_config *c, const struct kube_config_options *o)
{
    bool protobuf = str_empty(o->content_type) || str_is(o->content_type, KUBE_CONTENT_PROTOBUF);

    c->content_type = protobuf ? STR(KUBE_CONTENT_PROTOBUF) : STR(KUBE_CONTENT_JSON);
    if (!str_empty(o->accept_content_types))
        c->accept = arena_dup(&c->arena, o->accept_content_types);
    else
        c->accept =
            protobuf ? STR(KUBE_CONTENT_PROTOBUF "," KUBE_CONTENT_JSON) : STR(KUBE_CONTENT_JSON);
    c->qps = o->qps;
    c->burst = o->burst;
    c->user_agent = arena_printf(&c->arena, "%s/v%s (linux/%s) kubernetes/berth",
                                 o->program ? o->program : "berth", BERTH_VERSION,
#if defined(__x86_64__)
                                 "amd64"
#elif defined(__aarch64__)
                                 "arm64"
#else
                                 "unknown"
#endif
    );
}

/*
 * Parses the certificates in the kubeconfig, so that an error can name the field. Nothing is
 * verified with these configurations.
 */
static int try_certificates(const struct kube_config *c, struct err *reterr)
{
    struct tls_options options = {.ca_pem = c->ca_data};
    const char *field = "certificate-authority-data";
    struct tls_config *tls = NULL;
    struct err err;
    int r = 0;

    if (!str_empty(c->ca_data))
        r = tls_config_new_client(&options, &tls, &err);
    tls = tls_config_unref(tls);
    if (r == 0 && !str_empty(c->cert_data) && !str_empty(c->key_data)) {
        options = (struct tls_options){
            .cert_pem = c->cert_data, .key_pem = c->key_data, .insecure_skip_verify = true};
        r = tls_config_new_client(&options, &tls, &err);
        tls_config_unref(tls);
        field = r < 0 && strstr(err.msg, "key") ? "client-key-data" : "client-certificate-data";
    }
    return r < 0 ? err_set(reterr, r, "%.*s: %s: %s", STR_ARG(c->source), field, err.msg) : 0;
}

int kube_config_load(struct kube_config *config, const struct kube_config_options *options,
                     struct err *reterr)
{
    int r;

    *config = (struct kube_config){.namespace = STR_INIT("default")};
    arena_init(&config->arena, 0);
    kubeconfig_init(&config->file);
    r = take_source(config, options, reterr);
    if (r == 0 && is_set(options->master))
        config->server = arena_dup(&config->arena, str_of(options->master));
    if (r == 0)
        r = normalize_server(config, reterr);
    if (r == 0 && !config->tls)
        drop_credentials(config);
    if (r == 0 && config->tls)
        r = try_certificates(config, reterr);
    if (r < 0) {
        kube_config_release(config);
        return r;
    }
    set_content_types(config, options);
    return 0;
}

void kube_config_release(struct kube_config *config)
{
    kubeconfig_release(&config->file);
    arena_release(&config->arena);
}
