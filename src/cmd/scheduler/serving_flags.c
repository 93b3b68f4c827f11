/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/serving_flags.h"

#include "base/descriptors.h"
#include "base/log.h"
#include "codec/yaml.h"

/* Upstream's limits for TokenReviews and SubjectAccessReviews. */
#define REVIEW_QPS   200
#define REVIEW_BURST 400

/*
 * The maximum number of connections, and the descriptors reserved for the API server, extenders,
 * files and exec plugins. If the limit of descriptors is low, half of it is reserved.
 */
#define MAX_CONNECTIONS      4096
#define RESERVED_DESCRIPTORS 256

struct scheduler_serving {
    struct serving_parts parts;
    struct arena arena;
    struct kube_config authn_kube, authz_kube;
    bool has_authn_kube, has_authz_kube;
    struct serving_flag *flags;
    size_t n_flags;
    struct serving *serving;
};

/* --- API server for reviews ------------------------------------------------------------------- */

static bool in_cluster(void)
{
    return getenv("KUBERNETES_SERVICE_HOST") && getenv("KUBERNETES_SERVICE_PORT");
}

/* A given kubeconfig must be valid. Without one, a pod uses its service account, if it can. */
static int load_kube(const char *path, const char *what, struct kube_config *config, bool *ret_has,
                     struct err *reterr)
{
    struct kube_config_options options = {
        .kubeconfig = path, .qps = REVIEW_QPS, .burst = REVIEW_BURST};
    struct err err;
    if (!*path && !in_cluster())
        return 0;
    int r = kube_config_load(config, &options, &err);
    if (r == 0) {
        *ret_has = true;
        return 0;
    }
    if (*path)
        return err_set(reterr, r, "failed to get delegated %s kubeconfig: %s", what, err.msg);
    log_warning("Failed to load the in-cluster configuration", KV_CSTR("for", what), KV_ERR(&err));
    return 0;
}

/* Uses the scheduler's own connection for reviews. */
static int load_own(const struct serving_parts *p, struct kube_config *config, bool *ret_has,
                    struct err *reterr)
{
    const char *master = p->options->master;
    char *path = str_dup(p->config->client_connection.kubeconfig);
    struct kube_config_options options = {
        .kubeconfig = path, .master = master, .qps = REVIEW_QPS, .burst = REVIEW_BURST};
    /* With --master alone there are no credentials, so reviews are not possible. */
    bool has = *path || !master || !*master;
    int r = has ? kube_config_load(config, &options, reterr) : 0;
    free(path);
    if (r < 0 || !has)
        return r;
    /* TokenReviews contain users' tokens: do not send them in clear text. */
    if (config->tls)
        *ret_has = true;
    else
        kube_config_release(config);
    return 0;
}

/*
 * Upstream's rules with one addition: if neither flag is set and the scheduler does not run in a
 * pod, upstream sends no reviews and forbids everything except health checks. berth sends them to
 * the API server that it schedules for.
 */
static int load_kubes(struct scheduler_serving *s, struct err *reterr)
{
    const struct scheduler_options *o = s->parts.options;
    const char *authn = o->authentication.kubeconfig, *authz = o->authorization.kubeconfig;
    if (!*authn && !*authz && !in_cluster()) {
        int r = load_own(&s->parts, &s->authn_kube, &s->has_authn_kube, reterr);
        return r < 0 ? r : load_own(&s->parts, &s->authz_kube, &s->has_authz_kube, reterr);
    }
    int r = load_kube(authn, "authentication", &s->authn_kube, &s->has_authn_kube, reterr);
    return r < 0 ? r
                 : load_kube(authz, "authorization", &s->authz_kube, &s->has_authz_kube, reterr);
}

static authn_names names_of(const struct flag_strings *flag)
{
    return (authn_names){flag->list.v, flag->list.n};
}

static void on_lookup_failed(void *ctx, const struct err *err)
{
    const struct scheduler_serving *s = ctx;
    s->parts.on_failed(s->parts.ctx, err);
}

static struct authn_options authn_options(struct scheduler_serving *s)
{
    const struct authentication_flags *f = &s->parts.options->authentication;
    return (struct authn_options){
        .kube = s->has_authn_kube ? &s->authn_kube : NULL,
        .client_ca_file = f->client_ca_file,
        .request_header_ca_file = f->requestheader_client_ca_file,
        .proxy = {.allowed_names = names_of(&f->allowed_names),
                  .username_headers = names_of(&f->username_headers),
                  .uid_headers = names_of(&f->uid_headers),
                  .group_headers = names_of(&f->group_headers),
                  .extra_prefixes = names_of(&f->extra_headers_prefix)},
        .skip_lookup = f->skip_lookup,
        .token_ttl = f->token_cache_ttl,
        .metrics = s->parts.metrics,
        .on_lookup_failed = f->tolerate_lookup_failure ? NULL : on_lookup_failed,
        .ctx = s,
    };
}

static struct authz_options authz_options(struct scheduler_serving *s)
{
    static const struct str masters = STR_INIT("system:masters");
    const struct authorization_flags *f = &s->parts.options->authorization;
    return (struct authz_options){
        .kube = s->has_authz_kube ? &s->authz_kube : NULL,
        .always_allow_paths = f->always_allow_paths.list.v,
        .n_always_allow_paths = f->always_allow_paths.list.n,
        .always_allow_groups = &masters,
        .n_always_allow_groups = 1,
        .authorized_ttl = f->authorized_ttl,
        .unauthorized_ttl = f->unauthorized_ttl,
        .metrics = s->parts.metrics,
    };
}

/* --- /flagz and /configz ---------------------------------------------------------------------- */

static void on_flag(void *ctx, const struct flag *flag, struct str value)
{
    struct scheduler_serving *s = ctx;
    s->flags[s->n_flags++] = (struct serving_flag){flag->name, arena_dup(&s->arena, value)};
}

/* The output of --write-config-to as JSON. */
static void write_config(void *ctx, struct buf *out)
{
    const struct scheduler_serving *s = ctx;
    const struct serving_parts *p = &s->parts;
    struct buf text = BUF_INIT;
    struct arena arena;
    struct json_value *docs;
    size_t n;
    arena_init(&arena, 0);
    config_write(p->config, p->registry, p->features, &text);
    if (yaml_parse(buf_str(&text), 0, &arena, &docs, &n, NULL) == 0 && n == 1)
        json_write(docs, out);
    else
        buf_add_cstr(out, "null");
    arena_release(&arena);
    buf_release(&text);
}

/* --- certificates ----------------------------------------------------------------------------- */

static struct serving_tls_options tls_options(struct scheduler_serving *s)
{
    const struct secure_serving_flags *f = &s->parts.options->serving;
    struct serving_sni *sni = arena_array(&s->arena, struct serving_sni, f->sni.n);
    int64_t *curves = arena_array(&s->arena, int64_t, f->curve_preferences.n);
    for (size_t i = 0; i < f->sni.n; i++)
        sni[i] = (struct serving_sni){
            .cert_file = arena_dup(&s->arena, f->sni.v[i].cert_file).p,
            .key_file = arena_dup(&s->arena, f->sni.v[i].key_file).p,
            .names = f->sni.v[i].names.v,
            .n_names = f->sni.v[i].names.n,
        };
    for (size_t i = 0; i < f->curve_preferences.n; i++)
        curves[i] = f->curve_preferences.v[i];
    return (struct serving_tls_options){
        .cert_file = f->cert_file,
        .key_file = f->key_file,
        .cert_dir = f->cert_dir,
        .sni = sni,
        .n_sni = f->sni.n,
        .cipher_suites = f->cipher_suites.list.v,
        .n_cipher_suites = f->cipher_suites.list.n,
        .curves = curves,
        .n_curves = f->curve_preferences.n,
        .min_version = str_of(f->min_version),
        .metrics = s->parts.metrics,
    };
}

/* --- start and shutdown ----------------------------------------------------------------------- */

static size_t max_connections(void)
{
    size_t limit = descriptors_limit(), reserved = MIN((size_t)RESERVED_DESCRIPTORS, limit / 2);
    return MAX(MIN(limit - reserved, (size_t)MAX_CONNECTIONS), (size_t)1);
}

static int start(struct scheduler_serving *s, struct loop *loop, struct err *reterr)
{
    const struct serving_parts *p = &s->parts;
    const struct scheduler_options *o = p->options;
    struct authn_options authn = authn_options(s);
    struct authz_options authz = authz_options(s);
    struct serving_options options = {
        .address = o->serving.bind_address,
        .port = (uint16_t)o->serving.port,
        .reuse_port = o->serving.permit_port_sharing,
        .disable_http2 = o->serving.disable_http2,
        .max_streams = (uint32_t)MIN(MAX(o->serving.http2_max_streams, 0), INT32_MAX),
        .max_connections = max_connections(),
        .tls = tls_options(s),
        .authn = &authn,
        .authz = &authz,
        .checks = p->checks,
        .n_checks = p->n_checks,
        .ctx = p->ctx,
        .metrics = p->metrics,
        .write_config = write_config,
        .page_ctx = s,
        .flags = s->flags,
        .n_flags = s->n_flags,
        .flagz = features_enabled(p->features, "ComponentFlagz"),
        .statusz = features_enabled(p->features, "ComponentStatusz"),
        .cbor = features_enabled(p->features, "CBORServingAndStorage"),
        .profiling = *p->config->enable_profiling,
        .world = p->world,
    };
    return serving_new(loop, &options, &s->serving, reterr);
}

int scheduler_serving_new(struct loop *loop, const struct serving_parts *parts,
                          struct scheduler_serving **ret_serving, struct err *reterr)
{
    struct scheduler_serving *s = xnew(struct scheduler_serving);
    const struct scheduler_options *o = parts->options;
    s->parts = *parts;
    arena_init(&s->arena, 0);
    s->flags = arena_array(&s->arena, struct serving_flag, o->n_flags);
    flags_each(o->flags, o->n_flags, on_flag, s);
    int r = load_kubes(s, reterr);
    if (r == 0 && !s->has_authz_kube)
        log_plain_warning("No authorization-kubeconfig provided, so SubjectAccessReview of "
                          "authorization tokens won't work.");
    if (r == 0)
        r = start(s, loop, reterr);
    if (r < 0)
        scheduler_serving_free(s);
    else
        *ret_serving = s;
    return r;
}

void scheduler_serving_set_config(struct scheduler_serving *s,
                                  const struct scheduler_config *config,
                                  const struct registry *registry)
{
    s->parts.config = config;
    s->parts.registry = registry;
}

const char *scheduler_serving_address(const struct scheduler_serving *s)
{
    return serving_address(s->serving);
}

void scheduler_serving_shutdown(struct scheduler_serving *s, int64_t patience,
                                void (*fn)(void *ctx), void *ctx)
{
    serving_shutdown(s->serving, patience, fn, ctx);
}

struct scheduler_serving *scheduler_serving_free(struct scheduler_serving *s)
{
    if (!s)
        return NULL;
    serving_free(s->serving);
    if (s->has_authn_kube)
        kube_config_release(&s->authn_kube);
    if (s->has_authz_kube)
        kube_config_release(&s->authz_kube);
    arena_release(&s->arena);
    free(s);
    return NULL;
}
