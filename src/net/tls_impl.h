/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_impl.h - shared by the files of tls; included by these only.
 *
 * Purpose:   the internals of tls_config, PEM input and output, cached sessions.
 * Ownership: as in tls.h.
 * Threading: `lock` guards the certificate of ctx and the sessions; the rest is immutable.
 */
#ifndef BERTH_NET_TLS_IMPL_H
#define BERTH_NET_TLS_IMPL_H

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "net/tls.h"

/* One client session per server; the oldest is dropped if there are more servers than slots. */
#define TLS_SESSIONS 8

struct tls_session_slot {
    char *server; /* "host:port" */
    SSL_SESSION *session;
};

struct tls_config {
    atomic_uint refs;
    bool server;
    bool skip_verify;
    enum tls_client_auth client_auth;
    char *server_name;      /* NULL: the dialled host */
    unsigned char alpn[64]; /* wire format: length, bytes, … */
    unsigned alpn_n;
    SSL_CTX *ctx;
    struct tls_sni_table *sni; /* NULL: none; under lock */
    pthread_mutex_t lock;
    struct tls_session_slot sessions[TLS_SESSIONS];
    size_t next_session;
};

/* Removes the session from the cache: a TLS 1.3 ticket is used once. NULL if there is none. */
SSL_SESSION *tls_session_take(struct tls_config *config, const char *server);
/* Takes over `session`. */
void tls_session_keep(struct tls_config *config, const char *server, SSL_SESSION *session);

/* A certificate, its chain and its key. */
struct tls_pair {
    X509 *cert;
    STACK_OF(X509) * chain;
    EVP_PKEY *key;
};
/* `what` names the source in errors. */
int tls_pair_parse(struct str cert_pem, struct str key_pem, const char *what,
                   struct tls_pair *ret_pair, struct err *reterr) MUST_CHECK;
void tls_pair_release(struct tls_pair *pair);

/* NULL is allowed. */
void tls_sni_release(struct tls_sni_table *table);

/* Adds the certificates of a PEM text. Returns their number. `each` may be NULL. */
size_t tls_add_cas(X509_STORE *store, struct str pem, void (*each)(void *ctx, X509 *cert),
                   void *ctx);

/* The text of OpenSSL's newest error; clears its error queue. */
const char *tls_reason(void);

#endif
