/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <openssl/x509v3.h>

#include "base/vec.h"
#include "net/tls_impl.h"

#define RECORD_MAX 16384

struct tls_conn {
    SSL *ssl;
    struct tls_config *config;
    char *host;   /* client: verified name, for errors */
    char *server; /* client: "host:port", key of cached sessions */
    bool ready, eof, refuse_h2;
    struct buf alt_names; /* client: names of a certificate that does not match */

    /* Input and output of the BIO, during a call only. */
    struct str in;
    struct buf *cipher;

    bool has_peer;
    struct tls_peer peer;
    VEC(struct str) organizations;
};

/* --- BIO: memory on both sides, no copy kept -------------------------------------------------- */

static int bio_read(BIO *bio, char *out, int n)
{
    struct tls_conn *conn = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (conn->in.n == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    size_t take = MIN(conn->in.n, (size_t)n);
    memcpy(out, conn->in.p, take);
    conn->in.p += take;
    conn->in.n -= take;
    return (int)take;
}

static int bio_write(BIO *bio, const char *data, int n)
{
    struct tls_conn *conn = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (!conn->cipher || n < 0)
        return -1;
    buf_add(conn->cipher, data, (size_t)n);
    return conn->cipher->overflow ? -1 : n;
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_PUSH || command == BIO_CTRL_POP;
}

static int bio_create(BIO *bio)
{
    BIO_set_init(bio, 1);
    return 1;
}

static BIO_METHOD *bio_method;
static int ssl_index;

static void make_method(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "berth");
    if (!bio_method)
        abort();
    BIO_meth_set_read(bio_method, bio_read);
    BIO_meth_set_write(bio_method, bio_write);
    BIO_meth_set_ctrl(bio_method, bio_ctrl);
    BIO_meth_set_create(bio_method, bio_create);
    ssl_index = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

static void once(void)
{
    static pthread_once_t done = PTHREAD_ONCE_INIT;
    pthread_once(&done, make_method);
}

/* --- OpenSSL callbacks ------------------------------------------------------------------------ */

static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_conn *conn = SSL_get_ex_data(ssl, ssl_index);
    if (!conn || !conn->server || !SSL_SESSION_is_resumable(session))
        return 0;
    tls_session_keep(conn->config, conn->server, session);
    return 1; /* kept */
}

static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_n,
                   const unsigned char *in, unsigned in_n, void *ctx)
{
    struct tls_conn *conn = SSL_get_ex_data(ssl, ssl_index);
    const struct tls_config *config = ctx;
    static const unsigned char h1[] = "\x08http/1.1";
    const unsigned char *ours = conn->refuse_h2 ? h1 : config->alpn;
    unsigned ours_n = conn->refuse_h2 ? (unsigned)sizeof(h1) - 1 : config->alpn_n;
    if (ours_n == 0 || SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_n, ours, ours_n,
                                             in, in_n) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    return SSL_TLSEXT_ERR_OK;
}

static int on_verify(int ok, X509_STORE_CTX *ctx);

/* --- lifecycle -------------------------------------------------------------------------------- */

static struct tls_conn *conn_new(struct tls_config *config)
{
    once();
    struct tls_conn *conn = xnew(struct tls_conn);
    conn->config = tls_config_ref(config);
    pthread_mutex_lock(&config->lock);
    if (config->server)
        SSL_CTX_set_alpn_select_cb(config->ctx, on_alpn, config);
    else
        SSL_CTX_sess_set_new_cb(config->ctx, on_session);
    conn->ssl = SSL_new(config->ctx);
    pthread_mutex_unlock(&config->lock);
    BIO *bio = BIO_new(bio_method);
    if (!conn->ssl || !bio)
        abort();
    BIO_set_data(bio, conn);
    SSL_set_bio(conn->ssl, bio, bio);
    SSL_set_ex_data(conn->ssl, ssl_index, conn);
    return conn;
}

static bool is_ip(const char *host)
{
    unsigned char raw[16];
    return inet_pton(AF_INET, host, raw) == 1 || inet_pton(AF_INET6, host, raw) == 1;
}

static bool expect_name(struct tls_conn *conn)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(conn->ssl);
    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                               X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (is_ip(conn->host))
        return conn->config->skip_verify || X509_VERIFY_PARAM_set1_ip_asc(param, conn->host) == 1;
    return SSL_set_tlsext_host_name(conn->ssl, conn->host) == 1 &&
           (conn->config->skip_verify || SSL_set1_host(conn->ssl, conn->host) == 1);
}

int tls_conn_new_client(struct tls_config *config, struct str host, uint16_t port,
                        struct tls_conn **ret_conn, struct err *reterr)
{
    struct tls_conn *conn = conn_new(config);
    if (str_ends(host, STR(".")))
        host.n--;
    conn->server = xasprintf("%.*s:%u", STR_ARG(host), port);
    conn->host = config->server_name ? xstrdup(config->server_name) : str_dup(host);
    buf_init(&conn->alt_names, 300);
    SSL_set_connect_state(conn->ssl);
    if (!config->skip_verify)
        SSL_set_verify(conn->ssl, SSL_VERIFY_PEER, on_verify);
    if (!expect_name(conn)) {
        int r = err_set(reterr, -EINVAL, "\"%s\" is not a valid TLS server name", conn->host);
        tls_conn_free(conn);
        return r;
    }
    SSL_SESSION *session = tls_session_take(config, conn->server);
    if (session)
        SSL_set_session(conn->ssl, session);
    SSL_SESSION_free(session);
    *ret_conn = conn;
    return 0;
}

int tls_conn_new_server(struct tls_config *config, struct tls_conn **ret_conn, struct err *reterr)
{
    if (!config->server)
        return err_set(reterr, -EINVAL, "a client TLS configuration cannot be used by a server");
    struct tls_conn *conn = conn_new(config);
    SSL_set_accept_state(conn->ssl);
    *ret_conn = conn;
    return 0;
}

struct tls_conn *tls_conn_free(struct tls_conn *conn)
{
    if (!conn)
        return NULL;
    conn->cipher = NULL;
    SSL_free(conn->ssl);
    buf_release(&conn->alt_names);
    for (size_t i = 0; i < conn->organizations.n; i++)
        OPENSSL_free((char *)(uintptr_t)conn->organizations.v[i].p);
    vec_release(&conn->organizations);
    OPENSSL_free((char *)(uintptr_t)conn->peer.common_name.p);
    tls_config_unref(conn->config);
    free(conn->host);
    free(conn->server);
    free(conn);
    return NULL;
}

void tls_conn_refuse_h2(struct tls_conn *conn)
{
    conn->refuse_h2 = true;
}

/* --- errors ----------------------------------------------------------------------------------- */

static void add_alt_names(struct buf *out, X509 *cert)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names) && i < 8; i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        const char *comma = out->n ? ", " : "";
        char ip[INET6_ADDRSTRLEN] = "";
        if (name->type == GEN_DNS) {
            buf_add_printf(out, "%s%.*s", comma, ASN1_STRING_length(name->d.dNSName),
                           (const char *)ASN1_STRING_get0_data(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            int n = ASN1_STRING_length(name->d.iPAddress);
            if (inet_ntop(n == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), ip,
                          sizeof(ip)) &&
                (n == 4 || n == 16))
                buf_add_printf(out, "%s%s", comma, ip);
        }
    }
    GENERAL_NAMES_free(names);
}

/* Reads the certificate before OpenSSL frees it with the failed handshake. */
static int on_verify(int ok, X509_STORE_CTX *ctx)
{
    int code = X509_STORE_CTX_get_error(ctx);
    if (ok || (code != X509_V_ERR_HOSTNAME_MISMATCH && code != X509_V_ERR_IP_ADDRESS_MISMATCH))
        return ok;
    const SSL *ssl = X509_STORE_CTX_get_ex_data(ctx, SSL_get_ex_data_X509_STORE_CTX_idx());
    struct tls_conn *conn = SSL_get_ex_data(ssl, ssl_index);
    X509 *cert = X509_STORE_CTX_get_current_cert(ctx);
    buf_clear(&conn->alt_names);
    if (cert)
        add_alt_names(&conn->alt_names, cert);
    return 0;
}

static int bad_certificate(struct tls_conn *conn, long verdict, struct err *reterr)
{
    const char *host = conn->host ? conn->host : "client";
    switch (verdict) {
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return err_set(reterr, -EKEYREJECTED, "%s: certificate signed by unknown authority", host);
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return err_set(reterr, -EKEYREJECTED, "%s: certificate has expired", host);
    case X509_V_ERR_CERT_NOT_YET_VALID:
        return err_set(reterr, -EKEYREJECTED, "%s: certificate is not yet valid", host);
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return err_set(reterr, -EKEYREJECTED, "%s: certificate is valid for %s, not %s", host,
                       conn->alt_names.n ? buf_cstr(&conn->alt_names) : "no names", host);
    default:
        return err_set(reterr, -EKEYREJECTED, "%s: bad certificate: %s", host,
                       X509_verify_cert_error_string(verdict));
    }
}

/* The text of a peer's alert about certificates; NULL for other alerts. */
static const char *alert_about_certificate(int reason)
{
    switch (reason) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
        return "the server requires a client certificate";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "the peer does not trust the authority that signed our certificate";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return "the peer does not accept our certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
        return "the peer says that our certificate has expired";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
        return "the peer says that our certificate was revoked";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return "no client certificate was presented";
    default:
        return NULL;
    }
}

static int fail(struct tls_conn *conn, struct err *reterr)
{
    const char *host = conn->host ? conn->host : "client";
    int reason = ERR_GET_REASON(ERR_peek_error());
    long verdict = SSL_get_verify_result(conn->ssl);
    if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verdict != X509_V_OK) {
        ERR_clear_error();
        return bad_certificate(conn, verdict, reterr);
    }
    const char *about = alert_about_certificate(reason);
    if (about) {
        ERR_clear_error();
        return err_set(reterr, -EKEYREJECTED, "%s: %s", host, about);
    }
    if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST) {
        ERR_clear_error();
        return err_set(reterr, -EPROTO, "%s: the peer does not speak TLS", host);
    }
    return err_set(reterr, -EPROTO, "%s: TLS: %s", host, tls_reason());
}

/* --- peer ------------------------------------------------------------------------------------- */

static struct str entry_text(const X509_NAME_ENTRY *entry)
{
    unsigned char *text = NULL;
    int n = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(entry));
    return n < 0 ? (struct str){0} : (struct str){(char *)text, (size_t)n};
}

static void read_peer(struct tls_conn *conn)
{
    X509 *cert = SSL_get0_peer_certificate(conn->ssl);
    bool verified = SSL_get_verify_result(conn->ssl) == X509_V_OK;
    if (!cert || (!verified && conn->config->client_auth != TLS_CLIENT_AUTH_ANY))
        return;
    conn->peer.verified = verified;
    conn->peer.certificate = cert;
    conn->peer.chain = SSL_get_peer_cert_chain(conn->ssl);
    const X509_NAME *subject = X509_get_subject_name(cert);
    int n = X509_NAME_entry_count(subject);
    for (int i = 0; i < n; i++) {
        const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
        int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));
        if (nid == NID_commonName) {
            OPENSSL_free((char *)(uintptr_t)conn->peer.common_name.p);
            conn->peer.common_name = entry_text(entry);
        } else if (nid == NID_organizationName) {
            vec_push(&conn->organizations, entry_text(entry));
        }
    }
    conn->peer.organizations = conn->organizations.v;
    conn->peer.n_organizations = conn->organizations.n;
    conn->has_peer = true;
}

/* --- data ------------------------------------------------------------------------------------- */

/* Returns 1: complete, 0: needs more input, negative: failed. */
static int handshake(struct tls_conn *conn, struct err *reterr)
{
    int r = SSL_do_handshake(conn->ssl);
    if (r != 1)
        return SSL_get_error(conn->ssl, r) == SSL_ERROR_WANT_READ ? 0 : fail(conn, reterr);
    conn->ready = true;
    if (conn->config->server)
        read_peer(conn);
    return 1;
}

static int read_plain(struct tls_conn *conn, struct buf *plain, struct err *reterr)
{
    while (!conn->eof) {
        if (!buf_reserve(plain, RECORD_MAX))
            return err_set(reterr, -EMSGSIZE, "received data larger than the buffer limit");
        int n = SSL_read(conn->ssl, plain->p + plain->n, RECORD_MAX);
        if (n > 0) {
            plain->n += (size_t)n;
            continue;
        }
        int e = SSL_get_error(conn->ssl, n);
        if (e == SSL_ERROR_WANT_READ)
            return 0;
        if (e != SSL_ERROR_ZERO_RETURN)
            return fail(conn, reterr);
        conn->eof = true;
    }
    return 0;
}

int tls_conn_feed(struct tls_conn *conn, const void *data, size_t n, struct buf *plain,
                  struct buf *cipher, struct err *reterr)
{
    conn->in = (struct str){data, n};
    conn->cipher = cipher;
    ERR_clear_error();
    int r = conn->ready ? 1 : handshake(conn, reterr);
    if (r > 0)
        r = read_plain(conn, plain, reterr);
    conn->in = (struct str){0};
    conn->cipher = NULL;
    return MIN(r, 0);
}

int tls_conn_write(struct tls_conn *conn, const void *data, size_t n, struct buf *cipher,
                   struct err *reterr)
{
    size_t written;
    if (n == 0)
        return 0;
    conn->cipher = cipher;
    ERR_clear_error();
    int ok = SSL_write_ex(conn->ssl, data, n, &written);
    conn->cipher = NULL;
    return ok == 1 ? 0 : fail(conn, reterr);
}

void tls_conn_close(struct tls_conn *conn, struct buf *cipher)
{
    if (!conn->ready)
        return;
    conn->cipher = cipher;
    ERR_clear_error();
    SSL_shutdown(conn->ssl);
    ERR_clear_error();
    conn->cipher = NULL;
}

bool tls_conn_is_server(const struct tls_conn *conn)
{
    return conn->config->server;
}

bool tls_conn_ready(const struct tls_conn *conn)
{
    return conn->ready;
}

bool tls_conn_eof(const struct tls_conn *conn)
{
    return conn->eof;
}

bool tls_conn_reused(const struct tls_conn *conn)
{
    return SSL_session_reused(conn->ssl) == 1;
}

struct str tls_conn_alpn(const struct tls_conn *conn)
{
    const unsigned char *name;
    unsigned n;
    SSL_get0_alpn_selected(conn->ssl, &name, &n);
    return (struct str){(const char *)name, n};
}

const struct tls_peer *tls_conn_peer(const struct tls_conn *conn)
{
    return conn->has_peer ? &conn->peer : NULL;
}
