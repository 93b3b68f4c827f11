/* SPDX-License-Identifier: Apache-2.0 */
/*
 * token_issuer.h - tokens of service accounts.
 *
 * Purpose:   makes and checks JSON Web Tokens (ES256) with upstream's claims, as TokenRequest
 *            returns them. Whether the service account still exists is for the caller to check.
 * Ownership: the caller owns the issuer; results are in the arena.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_HTTP_TOKEN_ISSUER_H
#define BERTH_APISERVER_HTTP_TOKEN_ISSUER_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

#define TOKEN_ISSUER_URL "https://kubernetes.default.svc.cluster.local"

struct token_issuer;

/* key_pem: a P-256 private key. */
int token_issuer_new(struct str key_pem, struct token_issuer **ret_issuer,
                     struct err *reterr) MUST_CHECK;
struct token_issuer *token_issuer_free(struct token_issuer *issuer);

/* An object to which a token is bound; name "": none. */
struct token_ref {
    struct str name, uid;
};

struct token_claims {
    struct str namespace;
    struct token_ref account, pod, secret, node;
    const struct str *audiences;
    size_t n_audiences;
    struct str id;           /* jti */
    int64_t issued, expires; /* seconds since 1970 */
};

struct str token_issuer_sign(const struct token_issuer *issuer, const struct token_claims *claims,
                             struct arena *a);
/*
 * -EKEYREJECTED: it is no token of this issuer, or forged, or not valid at `now` (seconds), and
 * *reterr says why in upstream's words.
 */
int token_issuer_check(const struct token_issuer *issuer, struct str token, int64_t now,
                       struct arena *a, struct token_claims *ret_claims,
                       struct err *reterr) MUST_CHECK;
/* The public key as a JSON Web Key Set: /openid/v1/jwks. */
void token_issuer_write_keys(const struct token_issuer *issuer, struct buf *out);

#endif
