/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - TLS with OpenSSL 3: trust, identity, and connections.
 *
 * Purpose:   a tls_config defines how to verify the peer and which certificate to present; a
 *            tls_conn turns plain bytes into records and back. tls_conn uses no socket, so it also
 *            runs inside another one (a TLS proxy) and under a fuzzer.
 * Ownership: configurations are reference counted; connections hold a reference. All input strings
 *            are copied.
 * Threading: tls_config_ref, _unref and tls_config_swap_certificate on any thread; a tls_conn on
 *            one thread at a time.
 */
#ifndef BERTH_NET_TLS_H
#define BERTH_NET_TLS_H

#include "base/buf.h"
#include "base/err.h"

struct tls_config;
struct tls_conn;

enum tls_client_auth {
    TLS_CLIENT_AUTH_NONE,
    /* Requests a certificate. One that does not verify counts as none, as with kube-apiserver. */
    TLS_CLIENT_AUTH_OPTIONAL,
    /* Requires a certificate that verifies. */
    TLS_CLIENT_AUTH_REQUIRED,
    /* Requests a certificate and accepts any as the peer's; the caller uses tls_peer_verify. */
    TLS_CLIENT_AUTH_ANY,
};

enum tls_version {
    TLS_VERSION_DEFAULT, /* 1.2 */
    TLS_VERSION_1_0,
    TLS_VERSION_1_1,
    TLS_VERSION_1_2,
    TLS_VERSION_1_3,
};

/* Strings take precedence over files. Zero means the default. */
struct tls_options {
    /*
     * Trusted CAs: for a client those of the server (neither set: the system's), for a server those
     * of client certificates.
     */
    struct str ca_pem;
    const char *ca_file;

    /* Client only. */
    bool insecure_skip_verify; /* accept any certificate */
    struct str server_name;    /* for SNI and verification, instead of the dialled host */

    /*
     * Own certificate: optional for clients. A server without one generates a self-signed
     * certificate for localhost, 127.0.0.1 and ::1. The PEM may contain a chain, leaf first.
     */
    struct str cert_pem, key_pem;
    const char *cert_file, *key_file;

    /* Server only. */
    enum tls_client_auth client_auth;

    /*
     * Protocols offered (client) or accepted (server), in order of preference, separated by commas.
     * Default: "h2,http/1.1". "-": no ALPN.
     */
    const char *alpn;
    enum tls_version min_version;
    /* TLS 1.2 cipher suites in OpenSSL's notation, separated by colons; NULL: OpenSSL's default. */
    const char *ciphers;
    /* Key exchange groups in OpenSSL's notation, separated by colons; NULL: OpenSSL's default. */
    const char *groups;
};

/* Errors name the file and the reason. ret_config has one reference. */
int tls_config_new_client(const struct tls_options *options, struct tls_config **ret_config,
                          struct err *reterr) MUST_CHECK;
int tls_config_new_server(const struct tls_options *options, struct tls_config **ret_config,
                          struct err *reterr) MUST_CHECK;
struct tls_config *tls_config_ref(struct tls_config *config);
/* NULL is allowed. Returns NULL. */
struct tls_config *tls_config_unref(struct tls_config *config);

/*
 * Server: connections accepted from now on present this certificate (chain) and key; existing ones
 * keep theirs. On failure nothing changes.
 */
int tls_config_swap_certificate(struct tls_config *config, struct str cert_pem, struct str key_pem,
                                struct err *reterr) MUST_CHECK;

/*
 * Server: further certificates, chosen by the name that a client requests (SNI): the exact name, or
 * "*." instead of its first label. Given names take precedence over names in certificates, and
 * earlier ones over later ones. Replaces the previous set; on failure nothing changes.
 */
struct tls_sni {
    struct str cert_pem, key_pem;
    const struct str *names; /* none: the certificate's own */
    size_t n_names;
};
int tls_config_set_sni(struct tls_config *config, const struct tls_sni *certs, size_t n,
                       struct err *reterr) MUST_CHECK;

/*
 * Generates a certificate for the given names and addresses ("localhost,127.0.0.1"), ECDSA P-256,
 * valid from an hour ago for `days` (negative: expired). Signed by the given CA, or self-signed if
 * ca_cert_pem is empty; is_ca makes it a CA. Subject: CN=common_name and one O per organization
 * (separated by commas). Appends PEM to both outputs.
 */
struct tls_cert_request {
    const char *common_name;   /* NULL: the first of names */
    const char *organizations; /* NULL: none */
    const char *names;         /* NULL: none */
    int days;                  /* 0: 365 */
    bool is_ca;
    struct str ca_cert_pem, ca_key_pem;
};
int tls_make_certificate(const struct tls_cert_request *request, struct buf *cert_pem,
                         struct buf *key_pem, struct err *reterr) MUST_CHECK;

/* --- connections ------------------------------------------------------------------------------ */

/* The subject of a client certificate, as Kubernetes reads it: user and groups. */
struct tls_peer {
    struct str common_name;
    const struct str *organizations;
    size_t n_organizations;
    bool verified;               /* false only with TLS_CLIENT_AUTH_ANY */
    struct x509_st *certificate; /* OpenSSL's; the chain does not include it and may be NULL */
    struct stack_st_X509 *chain;
};

/* CAs for client certificates. Reference counted, immutable; any thread. */
struct tls_trust;
int tls_trust_new(struct str ca_pem, const char *what, struct tls_trust **ret_trust,
                  struct err *reterr) MUST_CHECK;
struct tls_trust *tls_trust_free(struct tls_trust *trust); /* NULL is allowed; returns NULL */
/* Returns 0, or -EKEYREJECTED and the reason: "certificate has expired", … */
int tls_peer_verify(const struct tls_peer *peer, const struct tls_trust *trust,
                    struct err *reterr) MUST_CHECK;
/* The validity of a certificate, in seconds since 1970. */
struct tls_validity {
    int64_t not_before, not_after;
};
struct tls_validity tls_peer_validity(const struct tls_peer *peer);
/* Of the first certificate of a PEM text; -EINVAL if there is none. */
int tls_pem_validity(struct str cert_pem, struct tls_validity *ret_validity) MUST_CHECK;
/* Appends the SHA-256 of the certificate in hexadecimal digits. */
void tls_peer_fingerprint(const struct tls_peer *peer, struct buf *out);

/* --- Go's names ------------------------------------------------------------------------------- */

/*
 * Converts the names that Kubernetes users write to OpenSSL's: "VersionTLS12"; cipher suites such
 * as "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"; numbers of curves (23, 24, 25, 29, …). Errors have
 * upstream's texts. TLS 1.3 suites are always enabled and add nothing; suites and curves that Go
 * has and this OpenSSL does not are ignored.
 */
int tls_parse_version(struct str name, enum tls_version *ret_version,
                      struct err *reterr) MUST_CHECK;
int tls_add_cipher(struct str name, struct buf *openssl, struct err *reterr) MUST_CHECK;
int tls_add_curve(int64_t id, struct buf *openssl, struct err *reterr) MUST_CHECK;

/*
 * host: the dialled name or IP address, verified unless the configuration says otherwise. port
 * distinguishes cached sessions.
 */
int tls_conn_new_client(struct tls_config *config, struct str host, uint16_t port,
                        struct tls_conn **ret_conn, struct err *reterr) MUST_CHECK;
int tls_conn_new_server(struct tls_config *config, struct tls_conn **ret_conn,
                        struct err *reterr) MUST_CHECK;
/* Server, before the first feed: does not select "h2" for this connection. */
void tls_conn_refuse_h2(struct tls_conn *conn);
/* Saves the session for the next connection, if there is one. NULL is allowed. Returns NULL. */
struct tls_conn *tls_conn_free(struct tls_conn *conn);

/*
 * Processes bytes from the peer (n may be 0, to start a client's handshake): appends the plain text
 * to `plain`, and what must be sent to the peer to `cipher`. Consumes all input. Errors are one
 * line with host and reason, for example
 *     10.0.0.1: certificate signed by unknown authority
 * and cipher may then hold an alert that should be sent.
 */
int tls_conn_feed(struct tls_conn *conn, const void *data, size_t n, struct buf *plain,
                  struct buf *cipher, struct err *reterr) MUST_CHECK;
/* Appends the records for these bytes to `cipher`. Only after tls_conn_ready. */
int tls_conn_write(struct tls_conn *conn, const void *data, size_t n, struct buf *cipher,
                   struct err *reterr) MUST_CHECK;
/* Appends a close_notify. */
void tls_conn_close(struct tls_conn *conn, struct buf *cipher);

bool tls_conn_is_server(const struct tls_conn *conn);
bool tls_conn_ready(const struct tls_conn *conn);  /* the handshake is complete */
bool tls_conn_eof(const struct tls_conn *conn);    /* the peer sent close_notify */
bool tls_conn_reused(const struct tls_conn *conn); /* resumed an earlier session */
struct str tls_conn_alpn(const struct tls_conn *conn);
/*
 * Server: NULL if the client presented no certificate that verifies (TLS_CLIENT_AUTH_ANY: none at
 * all). Lives as long as conn.
 */
const struct tls_peer *tls_conn_peer(const struct tls_conn *conn);

#endif
