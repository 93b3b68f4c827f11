/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "net/tls_impl.h"

#define PEM_FILE_MAX ((size_t)4 << 20)

/* --- files ------------------------------------------------------------------------------------ */

static int read_pem(const char *path, struct buf *out, struct err *reterr)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    int r = 0;
    buf_init(out, PEM_FILE_MAX);
    while (r == 0 && buf_reserve(out, 16384)) {
        size_t n = fread(out->p + out->n, 1, 16384, file);
        if (n == 0)
            break;
        out->n += n;
    }
    if (ferror(file))
        r = err_set(reterr, -EIO, "%s: %s", path, strerror(errno));
    else if (out->overflow)
        r = err_set(reterr, -EFBIG, "%s: larger than %zu bytes", path, PEM_FILE_MAX);
    fclose(file);
    return r;
}

/* Returns the text, or else the file's content; empty if neither is set. */
static int pick_pem(struct str text, const char *path, struct buf *store, struct str *ret_pem,
                    struct err *reterr)
{
    *ret_pem = text;
    if (text.n || !path || !*path)
        return 0;
    int r = read_pem(path, store, reterr);
    *ret_pem = buf_str(store);
    return r;
}

/* --- trust ------------------------------------------------------------------------------------ */

static void announce(void *ctx, X509 *cert)
{
    SSL_CTX_add_client_CA(ctx, cert);
}

static int add_cas(SSL_CTX *ctx, struct str pem, const char *what, bool server, struct err *reterr)
{
    size_t n = tls_add_cas(SSL_CTX_get_cert_store(ctx), pem, server ? announce : NULL, ctx);
    const char *reason = tls_reason();
    if (n == 0)
        return err_set(reterr, -EINVAL, "%s: no CA certificate in PEM form: %s", what, reason);
    return 0;
}

static int set_trust(struct tls_config *config, const struct tls_options *options,
                     struct err *reterr)
{
    struct buf store = BUF_INIT;
    struct str pem;
    int r = pick_pem(options->ca_pem, options->ca_file, &store, &pem, reterr);
    const char *what = options->ca_pem.n ? "CA data" : options->ca_file;
    if (r == 0 && what && *what)
        r = add_cas(config->ctx, pem, what, config->server, reterr);
    else if (r == 0 && !config->server && !config->skip_verify) /* takes 20 ms: only if needed */
        SSL_CTX_set_default_verify_paths(config->ctx);
    buf_release(&store);
    return r;
}

/* With TLS_CLIENT_AUTH_OPTIONAL and _ANY a bad certificate is checked later, not refused here. */
static int accept_any(int ok, X509_STORE_CTX *ctx)
{
    (void)ok, (void)ctx;
    return 1;
}

static void set_verification(struct tls_config *config)
{
    if (!config->server)
        SSL_CTX_set_verify(config->ctx, config->skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                           NULL);
    else if (config->client_auth == TLS_CLIENT_AUTH_REQUIRED)
        SSL_CTX_set_verify(config->ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    else if (config->client_auth != TLS_CLIENT_AUTH_NONE)
        SSL_CTX_set_verify(config->ctx, SSL_VERIFY_PEER, accept_any);
}

/* --- own certificate -------------------------------------------------------------------------- */

static int use_pair(struct tls_config *config, const struct tls_pair *pair, struct err *reterr)
{
    pthread_mutex_lock(&config->lock);
    int ok = SSL_CTX_use_cert_and_key(config->ctx, pair->cert, pair->key, pair->chain, 1);
    pthread_mutex_unlock(&config->lock);
    if (ok != 1)
        return err_set(reterr, -EINVAL, "certificate cannot be used: %s", tls_reason());
    return 0;
}

static int use_self_signed(struct tls_config *config, struct err *reterr)
{
    struct buf cert = BUF_INIT, key = BUF_INIT;
    struct tls_cert_request request = {.common_name = "berth", .names = "localhost,127.0.0.1,::1"};
    int r = tls_make_certificate(&request, &cert, &key, reterr);
    if (r == 0)
        r = tls_config_swap_certificate(config, buf_str(&cert), buf_str(&key), reterr);
    buf_release(&cert);
    buf_release(&key);
    return r;
}

static int set_identity(struct tls_config *config, const struct tls_options *options,
                        struct err *reterr)
{
    struct buf cert_store = BUF_INIT, key_store = BUF_INIT;
    struct str cert, key;
    struct tls_pair pair = {0};
    int r = pick_pem(options->cert_pem, options->cert_file, &cert_store, &cert, reterr);
    if (r == 0)
        r = pick_pem(options->key_pem, options->key_file, &key_store, &key, reterr);
    if (r < 0)
        goto out;
    bool given = cert.n || key.n || options->cert_file || options->key_file;
    if (!given) {
        r = config->server ? use_self_signed(config, reterr) : 0;
        goto out;
    }
    const char *what = !options->cert_pem.n && options->cert_file ? options->cert_file
                       : config->server                           ? "server certificate"
                                                                  : "client certificate";
    r = tls_pair_parse(cert, key, what, &pair, reterr);
    if (r == 0)
        r = use_pair(config, &pair, reterr);
out:
    tls_pair_release(&pair);
    buf_release(&cert_store);
    buf_release(&key_store);
    return r;
}

int tls_config_swap_certificate(struct tls_config *config, struct str cert_pem, struct str key_pem,
                                struct err *reterr)
{
    struct tls_pair pair;
    int r = tls_pair_parse(cert_pem, key_pem, "server certificate", &pair, reterr);
    if (r < 0)
        return r;
    r = use_pair(config, &pair, reterr);
    tls_pair_release(&pair);
    return r;
}

/* --- sessions --------------------------------------------------------------------------------- */

SSL_SESSION *tls_session_take(struct tls_config *config, const char *server)
{
    SSL_SESSION *session = NULL;
    pthread_mutex_lock(&config->lock);
    for (size_t i = 0; i < TLS_SESSIONS && !session; i++)
        if (config->sessions[i].server && strcmp(config->sessions[i].server, server) == 0)
            session = TAKE(config->sessions[i].session);
    pthread_mutex_unlock(&config->lock);
    return session;
}

void tls_session_keep(struct tls_config *config, const char *server, SSL_SESSION *session)
{
    pthread_mutex_lock(&config->lock);
    struct tls_session_slot *slot = NULL;
    for (size_t i = 0; i < TLS_SESSIONS && !slot; i++)
        if (config->sessions[i].server && strcmp(config->sessions[i].server, server) == 0)
            slot = &config->sessions[i];
    if (!slot) {
        slot = &config->sessions[config->next_session++ % TLS_SESSIONS];
        free(slot->server);
        slot->server = xstrdup(server);
    }
    SSL_SESSION_free(slot->session);
    slot->session = session;
    pthread_mutex_unlock(&config->lock);
}

/* --- lifecycle -------------------------------------------------------------------------------- */

/* Converts "h2,http/1.1" to its wire format. */
static int set_alpn(struct tls_config *config, const char *list, struct err *reterr)
{
    struct str rest = str_of(list ? list : "h2,http/1.1"), name;
    if (str_is(rest, "-"))
        return 0;
    while (str_split(&rest, ',', &name)) {
        if (name.n == 0 || name.n > 32 || config->alpn_n + 1 + name.n > sizeof(config->alpn))
            return err_set(reterr, -EINVAL, "bad ALPN list \"%s\"", list);
        config->alpn[config->alpn_n++] = (unsigned char)name.n;
        memcpy(config->alpn + config->alpn_n, name.p, name.n);
        config->alpn_n += (unsigned)name.n;
    }
    if (!config->server)
        SSL_CTX_set_alpn_protos(config->ctx, config->alpn, config->alpn_n);
    return 0;
}

static int protocol_of(enum tls_version version)
{
    switch (version) {
    case TLS_VERSION_1_0:
        return TLS1_VERSION;
    case TLS_VERSION_1_1:
        return TLS1_1_VERSION;
    case TLS_VERSION_1_3:
        return TLS1_3_VERSION;
    default:
        return TLS1_2_VERSION;
    }
}

static void set_modes(struct tls_config *config, const struct tls_options *options)
{
    SSL_CTX *ctx = config->ctx;
    SSL_CTX_set_min_proto_version(ctx, protocol_of(options->min_version));
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                 SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_read_ahead(ctx, 1);
    if (config->server) {
        /* Thousands of quiet connections: release buffers between records. */
        SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"berth", 5);
        /* A resumed session does not have the chain, which may still have to be verified. */
        if (config->client_auth == TLS_CLIENT_AUTH_ANY) {
            SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
            SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
            SSL_CTX_set_num_tickets(ctx, 0);
        }
    } else {
        SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    }
}

static int config_new(const struct tls_options *options, bool server,
                      struct tls_config **ret_config, struct err *reterr)
{
    struct tls_config *config = xnew(struct tls_config);
    atomic_init(&config->refs, 1);
    pthread_mutex_init(&config->lock, NULL);
    config->server = server;
    config->skip_verify = options->insecure_skip_verify;
    config->client_auth = options->client_auth;
    if (options->server_name.n)
        config->server_name = str_dup(options->server_name);
    config->ctx = SSL_CTX_new(server ? TLS_server_method() : TLS_client_method());
    if (!config->ctx)
        abort(); /* out of memory, or a broken installation of OpenSSL */
    set_modes(config, options);
    set_verification(config);
    int r = set_alpn(config, options->alpn, reterr);
    if (r == 0 && options->ciphers && SSL_CTX_set_cipher_list(config->ctx, options->ciphers) != 1)
        r = err_set(reterr, -EINVAL, "no known cipher in \"%s\"", options->ciphers);
    if (r == 0 && options->groups && SSL_CTX_set1_groups_list(config->ctx, options->groups) != 1)
        r = err_set(reterr, -EINVAL, "no known curves in \"%s\"", options->groups);
    if (r == 0)
        r = set_trust(config, options, reterr);
    if (r == 0)
        r = set_identity(config, options, reterr);
    if (r < 0)
        tls_config_unref(config);
    else
        *ret_config = config;
    return r;
}

int tls_config_new_client(const struct tls_options *options, struct tls_config **ret_config,
                          struct err *reterr)
{
    return config_new(options, false, ret_config, reterr);
}

int tls_config_new_server(const struct tls_options *options, struct tls_config **ret_config,
                          struct err *reterr)
{
    return config_new(options, true, ret_config, reterr);
}

struct tls_config *tls_config_ref(struct tls_config *config)
{
    atomic_fetch_add(&config->refs, 1);
    return config;
}

struct tls_config *tls_config_unref(struct tls_config *config)
{
    if (!config || atomic_fetch_sub(&config->refs, 1) != 1)
        return NULL;
    for (size_t i = 0; i < TLS_SESSIONS; i++) {
        free(config->sessions[i].server);
        SSL_SESSION_free(config->sessions[i].session);
    }
    SSL_CTX_free(config->ctx);
    tls_sni_release(config->sni);
    pthread_mutex_destroy(&config->lock);
    free(config->server_name);
    free(config);
    return NULL;
}
