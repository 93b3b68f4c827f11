/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls.h - TLS by OpenSSL 3: what to trust, who we are, and one connection's transformation of
 * bytes.
 *
 * Purpose:   a tls_config says how to verify and how to present oneself; a tls_conn turns plain
 *            bytes into records and back. tls_conn touches no socket, so it also runs inside
 *            another (a TLS proxy) and under a fuzzer.
 * Ownership: configs are counted; connections hold a reference. All input texts are copied.
 * Threading: tls_config_ref, _unref and tls_config_swap_certificate from any thread; a tls_conn
 *            on one thread at a time.
 */
#ifndef BERTH_NET_TLS_H
#define BERTH_NET_TLS_H

#include "base/buf.h"
#include "base/err.h"

struct tls_config;
struct tls_conn;

enum tls_client_auth {
    TLS_CLIENT_AUTH_NONE,
    /* Asks for a certificate. One that does not verify counts as none, as with kube-apiserver. */
    TLS_CLIENT_AUTH_OPTIONAL,
    /* No handshake without a certificate that verifies. */
    TLS_CLIENT_AUTH_REQUIRED,
    /* Asks for a certificate and shows any as the peer; tls_peer_verify says whom to believe. */
    TLS_CLIENT_AUTH_ANY,
};

enum tls_version {
    TLS_VERSION_DEFAULT, /* 1.2 */
    TLS_VERSION_1_0,
    TLS_VERSION_1_1,
    TLS_VERSION_1_2,
    TLS_VERSION_1_3,
};

/* Texts win over files. Zero means default everywhere. */
struct tls_options {
    /* Whom to trust: for a client the server's CAs (neither given: the system's), for a server the
     * CAs of client certificates. */
    struct str ca_pem;
    const char *ca_file;

    /* Client only. */
    bool insecure_skip_verify; /* take any certificate */
    struct str server_name;    /* for SNI and verification, in place of the host dialled */

    /* Who we are: optional for clients. A server without gets a self-signed certificate for
     * localhost, 127.0.0.1 and ::1, made in memory. The PEM may hold a chain, leaf first. */
    struct str cert_pem, key_pem;
    const char *cert_file, *key_file;

    /* Server only. */
    enum tls_client_auth client_auth;

    /* Protocols offered (client) or spoken (server), best first, separated by commas. Default for
     * both: "h2,http/1.1". "-": no ALPN at all. */
    const char *alpn;
    enum tls_version min_version;
    /* TLS 1.2 cipher suites in OpenSSL's notation, separated by colons; NULL: OpenSSL's default. */
    const char *ciphers;
    /* Key exchange groups in OpenSSL's notation, separated by colons; NULL: OpenSSL's default. */
    const char *groups;
};

/* Errors name the file and the reason. ret_config comes with one reference. */
int tls_config_new_client(const struct tls_options *options, struct tls_config **ret_config,
                          struct err *reterr) MUST_CHECK;
int tls_config_new_server(const struct tls_options *options, struct tls_config **ret_config,
                          struct err *reterr) MUST_CHECK;
struct tls_config *tls_config_ref(struct tls_config *config);
/* NULL is fine; returns NULL. */
struct tls_config *tls_config_unref(struct tls_config *config);

/*
 * Server: connections accepted from now on present this certificate (chain) and key; the others
 * keep theirs. On failure everything stays as it was.
 */
int tls_config_swap_certificate(struct tls_config *config, struct str cert_pem, struct str key_pem,
                                struct err *reterr) MUST_CHECK;

/*
 * Server: further certificates, chosen by the name that a client asks for (SNI): the exact name, or
 * "*." in place of its first label. Names given win over those that stand in certificates, and what
 * comes first wins. Replaces what was set before; on failure everything stays as it was.
 */
struct tls_sni {
    struct str cert_pem, key_pem;
    const struct str *names; /* none: the certificate's own */
    size_t n_names;
};
int tls_config_set_sni(struct tls_config *config, const struct tls_sni *certs, size_t n,
                       struct err *reterr) MUST_CHECK;

/*
 * A certificate of our own for the given names and addresses ("localhost,127.0.0.1"), ECDSA P-256,
 * valid from an hour ago for `days` (negative: expired). Signed by the CA given, or by itself where
 * ca_cert_pem is empty; is_ca makes it a CA. Subject: CN=common_name and one O per organization
 * (separated by commas). Both outputs are appended PEM.
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

/* --- one connection --------------------------------------------------------------------------- */

/* The subject of a client certificate, as Kubernetes reads it: user and groups. */
struct tls_peer {
    struct str common_name;
    const struct str *organizations;
    size_t n_organizations;
    bool verified;               /* false only with TLS_CLIENT_AUTH_ANY */
    struct x509_st *certificate; /* OpenSSL's; the chain is without it and may be NULL */
    struct stack_st_X509 *chain;
};

/* CAs whose client certificates are believed. Counted, immutable; any thread. */
struct tls_trust;
int tls_trust_new(struct str ca_pem, const char *what, struct tls_trust **ret_trust,
                  struct err *reterr) MUST_CHECK;
struct tls_trust *tls_trust_free(struct tls_trust *trust); /* NULL is fine; returns NULL */
/* 0, or -EKEYREJECTED and the reason: "certificate has expired", … */
int tls_peer_verify(const struct tls_peer *peer, const struct tls_trust *trust,
                    struct err *reterr) MUST_CHECK;
/* When a certificate holds, in seconds since 1970. */
struct tls_validity {
    int64_t not_before, not_after;
};
struct tls_validity tls_peer_validity(const struct tls_peer *peer);
/* Of the first certificate of a PEM text; -EINVAL where there is none. */
int tls_pem_validity(struct str cert_pem, struct tls_validity *ret_validity) MUST_CHECK;
/* Appends the SHA-256 of the certificate in hexadecimal digits. */
void tls_peer_fingerprint(const struct tls_peer *peer, struct buf *out);

/* --- Go's names ------------------------------------------------------------------------------- */

/*
 * What users of Kubernetes write, in OpenSSL's notation: "VersionTLS12"; cipher suites such as
 * "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"; numbers of curves (23, 24, 25, 29, …). Errors read as
 * upstream's. Suites of TLS 1.3 are always on and add nothing; suites and curves that Go has and
 * this OpenSSL lacks are left out.
 */
int tls_parse_version(struct str name, enum tls_version *ret_version,
                      struct err *reterr) MUST_CHECK;
int tls_add_cipher(struct str name, struct buf *openssl, struct err *reterr) MUST_CHECK;
int tls_add_curve(int64_t id, struct buf *openssl, struct err *reterr) MUST_CHECK;

/* host: what is dialled (name or IP address), verified unless the config says otherwise. port is
 * used to tell cached sessions apart. */
int tls_conn_new_client(struct tls_config *config, struct str host, uint16_t port,
                        struct tls_conn **ret_conn, struct err *reterr) MUST_CHECK;
int tls_conn_new_server(struct tls_config *config, struct tls_conn **ret_conn,
                        struct err *reterr) MUST_CHECK;
/* Server, before the first feed: does not choose "h2" for this connection. */
void tls_conn_refuse_h2(struct tls_conn *conn);
/* Keeps the session for the next connection where there is one. NULL is fine; returns NULL. */
struct tls_conn *tls_conn_free(struct tls_conn *conn);

/*
 * Feeds bytes from the peer (n may be 0, to begin a client's handshake) and appends what they meant
 * to `plain`, and what must go to the peer to `cipher`. Everything fed is consumed. Errors are one
 * line with host and reason, for example
 *     10.0.0.1: certificate signed by unknown authority
 * and cipher may then hold an alert that is worth sending.
 */
int tls_conn_feed(struct tls_conn *conn, const void *data, size_t n, struct buf *plain,
                  struct buf *cipher, struct err *reterr) MUST_CHECK;
/* Appends the records for these bytes to `cipher`. Only after tls_conn_ready. */
int tls_conn_write(struct tls_conn *conn, const void *data, size_t n, struct buf *cipher,
                   struct err *reterr) MUST_CHECK;
/* Appends a close_notify. */
void tls_conn_close(struct tls_conn *conn, struct buf *cipher);

bool tls_conn_is_server(const struct tls_conn *conn);
bool tls_conn_ready(const struct tls_conn *conn);  /* the handshake is done */
bool tls_conn_eof(const struct tls_conn *conn);    /* the peer sent close_notify */
bool tls_conn_reused(const struct tls_conn *conn); /* resumed an earlier session */
struct str tls_conn_alpn(const struct tls_conn *conn);
/* Server: NULL where the client showed no certificate that verifies (TLS_CLIENT_AUTH_ANY: none at
 * all). Lives as long as conn. */
const struct tls_peer *tls_conn_peer(const struct tls_conn *conn);

#endif
