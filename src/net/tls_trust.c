/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of client certificates on request, against CAs that may change. */
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509v3.h>

#include "net/tls_impl.h"

struct tls_trust {
    X509_STORE *store;
};

size_t tls_add_cas(X509_STORE *store, struct str pem, void (*each)(void *ctx, X509 *cert),
                   void *ctx)
{
    BIO *bio = pem.n && pem.n <= INT_MAX ? BIO_new_mem_buf(pem.p, (int)pem.n) : NULL;
    size_t n = 0;
    for (X509 *cert; bio && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)); n++) {
        X509_STORE_add_cert(store, cert);
        if (each)
            each(ctx, cert);
        X509_free(cert);
    }
    BIO_free(bio);
    return n;
}

int tls_trust_new(struct str ca_pem, const char *what, struct tls_trust **ret_trust,
                  struct err *reterr)
{
    X509_STORE *store = X509_STORE_new();
    if (!store)
        abort();
    size_t n = tls_add_cas(store, ca_pem, NULL, NULL);
    const char *reason = tls_reason();
    if (n == 0) {
        X509_STORE_free(store);
        return err_set(reterr, -EINVAL, "%s: no CA certificate in PEM form: %s", what, reason);
    }
    /* As in Go, every certificate of the bundle is a trust anchor, even if it is not a root. */
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    struct tls_trust *trust = xnew(struct tls_trust);
    trust->store = store;
    *ret_trust = trust;
    return 0;
}

struct tls_trust *tls_trust_free(struct tls_trust *trust)
{
    if (trust)
        X509_STORE_free(trust->store);
    free(trust);
    return NULL;
}

int tls_peer_verify(const struct tls_peer *peer, const struct tls_trust *trust, struct err *reterr)
{
    X509_STORE_CTX *ctx = X509_STORE_CTX_new();
    if (!ctx || X509_STORE_CTX_init(ctx, trust->store, peer->certificate, peer->chain) != 1)
        abort();
    X509_STORE_CTX_set_purpose(ctx, X509_PURPOSE_SSL_CLIENT);
    int r = 0;
    if (X509_verify_cert(ctx) != 1)
        r = err_set(reterr, -EKEYREJECTED, "%s",
                    X509_verify_cert_error_string(X509_STORE_CTX_get_error(ctx)));
    X509_STORE_CTX_free(ctx);
    ERR_clear_error();
    return r;
}

void tls_peer_fingerprint(const struct tls_peer *peer, struct buf *out)
{
    unsigned char digest[SHA256_DIGEST_LENGTH];
    unsigned n = 0;
    if (X509_digest(peer->certificate, EVP_sha256(), digest, &n) != 1)
        return;
    for (unsigned i = 0; i < n; i++)
        buf_add_printf(out, "%02x", digest[i]);
}
