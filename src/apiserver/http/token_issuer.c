/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/http/token_issuer.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "codec/base64.h"
#include "codec/json_edit.h"

#define HALF      32 /* bytes of r and s */
#define MAX_TOKEN 16384
#define LEEWAY    60 /* seconds by which clocks may differ, as go-jose allows */

struct token_issuer {
    EVP_PKEY *key;
    char id[64]; /* kid: of the public key */
    unsigned char x[HALF], y[HALF];
};

/* --- base64url -------------------------------------------------------------------------------- */

static void add_url64(struct str bytes, struct buf *out)
{
    size_t from = out->n;

    base64_encode(bytes, out);
    while (out->n > from && out->p[out->n - 1] == '=')
        out->n--;
    for (size_t i = from; i < out->n; i++)
        out->p[i] = (char)(out->p[i] == '+' ? '-' : out->p[i] == '/' ? '_' : out->p[i]);
}

static bool read_url64(struct str text, struct arena *a, struct str *ret_bytes)
{
    size_t padded = (text.n + 3) / 4 * 4;
    char *copy = arena_alloc(a, padded + 1, 1);
    char *bytes = arena_alloc(a, BASE64_DECODED_MAX(padded), 1);

    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (c == '+' || c == '/' || c == '\n' || c == '\r')
            return false;
        copy[i] = (char)(c == '-' ? '+' : c == '_' ? '/' : c);
    }
    memset(copy + text.n, '=', padded - text.n);
    ret_bytes->p = bytes;
    return base64_decode((struct str){copy, padded}, bytes, &ret_bytes->n);
}

/* --- the key ---------------------------------------------------------------------------------- */

static bool read_point(struct token_issuer *issuer)
{
    BIGNUM *x = NULL, *y = NULL;
    bool ok = EVP_PKEY_get_bn_param(issuer->key, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1 &&
              EVP_PKEY_get_bn_param(issuer->key, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1 &&
              BN_bn2binpad(x, issuer->x, HALF) == HALF && BN_bn2binpad(y, issuer->y, HALF) == HALF;

    BN_free(x);
    BN_free(y);
    return ok;
}

/* Upstream's key id: base64url of the SHA-256 of the public key in DER. */
static bool make_id(struct token_issuer *issuer)
{
    unsigned char *der = NULL, digest[32];
    int n = i2d_PUBKEY(issuer->key, &der);
    struct buf id = BUF_INIT;
    bool ok = n > 0 && EVP_Digest(der, (size_t)n, digest, NULL, EVP_sha256(), NULL) == 1;

    if (ok) {
        add_url64((struct str){(const char *)digest, sizeof(digest)}, &id);
        snprintf(issuer->id, sizeof(issuer->id), "%.*s", STR_ARG(buf_str(&id)));
    }
    OPENSSL_free(der);
    buf_release(&id);
    return ok;
}

int token_issuer_new(struct str key_pem, struct token_issuer **ret_issuer, struct err *reterr)
{
    struct token_issuer *issuer = xnew(struct token_issuer);
    BIO *bio = BIO_new_mem_buf(key_pem.p ? key_pem.p : "", (int)MIN(key_pem.n, (size_t)1 << 20));

    issuer->key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : NULL;
    BIO_free(bio);
    if (!issuer->key || EVP_PKEY_get_bits(issuer->key) != 256 || !read_point(issuer) ||
        !make_id(issuer)) {
        ERR_clear_error();
        token_issuer_free(issuer);
        return err_set(reterr, -EINVAL, "the key of service account tokens is no P-256 key in PEM");
    }
    *ret_issuer = issuer;
    return 0;
}

struct token_issuer *token_issuer_free(struct token_issuer *issuer)
{
    if (!issuer)
        return NULL;
    EVP_PKEY_free(issuer->key);
    free(issuer);
    return NULL;
}

void token_issuer_write_keys(const struct token_issuer *issuer, struct buf *out)
{
    buf_add_printf(out,
                   "{\"keys\":[{\"use\":\"sig\",\"kty\":\"EC\",\"kid\":\"%s\",\"crv\":\"P-256\","
                   "\"alg\":\"ES256\",\"x\":\"",
                   issuer->id);
    add_url64((struct str){(const char *)issuer->x, HALF}, out);
    buf_add_cstr(out, "\",\"y\":\"");
    add_url64((struct str){(const char *)issuer->y, HALF}, out);
    buf_add_cstr(out, "\"}]}");
}

/* --- signing ---------------------------------------------------------------------------------- */

static void add_ref(struct buf *out, const char *name, const struct token_ref *ref)
{
    if (str_empty(ref->name))
        return;
    buf_add_printf(out, "%s\"%s\":{\"name\":", out->p[out->n - 1] == '{' ? "" : ",", name);
    json_write_str(out, ref->name);
    if (!str_empty(ref->uid)) {
        buf_add_cstr(out, ",\"uid\":");
        json_write_str(out, ref->uid);
    }
    buf_add_char(out, '}');
}

static void write_claims(const struct token_claims *claims, struct buf *out)
{
    buf_add_cstr(out, "{\"aud\":[");
    for (size_t i = 0; i < claims->n_audiences; i++) {
        if (i > 0)
            buf_add_char(out, ',');
        json_write_str(out, claims->audiences[i]);
    }
    buf_add_printf(out, "],\"exp\":%lld,\"iat\":%lld,\"iss\":\"" TOKEN_ISSUER_URL "\",\"jti\":",
                   (long long)claims->expires, (long long)claims->issued);
    json_write_str(out, claims->id);
    buf_add_cstr(out, ",\"kubernetes.io\":{\"namespace\":");
    json_write_str(out, claims->namespace);
    add_ref(out, "node", &claims->node);
    add_ref(out, "pod", &claims->pod);
    add_ref(out, "secret", &claims->secret);
    add_ref(out, "serviceaccount", &claims->account);
    buf_add_printf(out, "},\"nbf\":%lld,\"sub\":\"system:serviceaccount:%.*s:%.*s\"}",
                   (long long)claims->issued, STR_ARG(claims->namespace),
                   STR_ARG(claims->account.name));
}

/* OpenSSL signs in DER; a token has r and s with 32 bytes each. */
static bool sign(const struct token_issuer *issuer, struct str text, unsigned char out[2 * HALF])
{
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char der[160];
    const unsigned char *at = der;
    size_t n = sizeof(der);
    ECDSA_SIG *sig = NULL;
    bool ok = ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, issuer->key) == 1 &&
              EVP_DigestSign(ctx, der, &n, (const unsigned char *)text.p, text.n) == 1;

    sig = ok ? d2i_ECDSA_SIG(NULL, &at, (long)n) : NULL;
    ok = sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), out, HALF) == HALF &&
         BN_bn2binpad(ECDSA_SIG_get0_s(sig), out + HALF, HALF) == HALF;
    ECDSA_SIG_free(sig);
    EVP_MD_CTX_free(ctx);
    return ok;
}

struct str token_issuer_sign(const struct token_issuer *issuer, const struct token_claims *claims,
                             struct arena *a)
{
    struct buf json = BUF_INIT, token = BUF_INIT;
    unsigned char signature[2 * HALF];
    struct str result;

    buf_add_printf(&json, "{\"alg\":\"ES256\",\"kid\":\"%s\"}", issuer->id);
    add_url64(buf_str(&json), &token);
    buf_clear(&json);
    write_claims(claims, &json);
    buf_add_char(&token, '.');
    add_url64(buf_str(&json), &token);
    if (!sign(issuer, buf_str(&token), signature))
        memset(signature, 0, sizeof(signature)); /* a token that nothing accepts */
    buf_add_char(&token, '.');
    add_url64((struct str){(const char *)signature, sizeof(signature)}, &token);
    result = arena_dup(a, buf_str(&token));
    buf_release(&json);
    buf_release(&token);
    return result;
}

/* --- checking --------------------------------------------------------------------------------- */

static bool verify(const struct token_issuer *issuer, struct str text, struct str signature)
{
    const unsigned char *bytes = (const unsigned char *)signature.p;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(bytes, HALF, NULL), *s = BN_bin2bn(bytes + HALF, HALF, NULL);
    unsigned char *der = NULL;
    int n = -1;
    bool ok = false;

    if (ctx && sig && r && s && ECDSA_SIG_set0(sig, r, s) == 1) {
        r = s = NULL; /* they belong to sig */
        n = i2d_ECDSA_SIG(sig, &der);
    }
    ok = n > 0 && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, issuer->key) == 1 &&
         EVP_DigestVerify(ctx, der, (size_t)n, (const unsigned char *)text.p, text.n) == 1;
    ERR_clear_error();
    BN_free(r);
    BN_free(s);
    OPENSSL_free(der);
    ECDSA_SIG_free(sig);
    EVP_MD_CTX_free(ctx);
    return ok;
}

static struct token_ref read_ref(const struct json_value *v, const char *name)
{
    const struct json_value *ref = json_get(v, str_of(name));

    return (struct token_ref){json_get_text(ref, STR("name")), json_get_text(ref, STR("uid"))};
}

static void read_claims(const struct json_value *v, struct arena *a, struct token_claims *ret)
{
    const struct json_value *kube = json_get(v, STR("kubernetes.io"));
    struct json_items items = json_items_at(v, "aud");
    struct str *names = arena_array(a, struct str, items.n + 1);

    for (size_t i = 0; i < items.n; i++)
        names[i] = items.v[i].kind == JSON_STRING ? items.v[i].text : STR("");
    *ret = (struct token_claims){.namespace = json_get_text(kube, STR("namespace")),
                                 .account = read_ref(kube, "serviceaccount"),
                                 .pod = read_ref(kube, "pod"),
                                 .secret = read_ref(kube, "secret"),
                                 .node = read_ref(kube, "node"),
                                 .audiences = names,
                                 .n_audiences = items.n,
                                 .id = json_get_text(v, STR("jti")),
                                 .issued = json_int_at(v, "iat", 0),
                                 .expires = json_int_at(v, "exp", 0)};
}

static int check_times(const struct token_claims *claims, const struct json_value *v, int64_t now,
                       struct err *reterr)
{
    if (claims->expires < now - LEEWAY)
        return err_set(reterr, -EKEYREJECTED, "service account token has expired");
    if (json_int_at(v, "nbf", 0) > now + LEEWAY)
        return err_set(reterr, -EKEYREJECTED, "service account token is not valid yet");
    if (claims->issued > now + LEEWAY)
        return err_set(reterr, -EKEYREJECTED, "service account token is issued in the future");
    return 0;
}

static bool for_this_server(const struct token_claims *claims)
{
    for (size_t i = 0; i < claims->n_audiences; i++)
        if (str_is(claims->audiences[i], TOKEN_ISSUER_URL))
            return true;
    return false;
}

int token_issuer_check(const struct token_issuer *issuer, struct str token, int64_t now,
                       struct arena *a, struct token_claims *ret_claims, struct err *reterr)
{
    struct str rest = token, head, body, text, signature;
    struct json_value header, claims;
    struct token_claims read;
    int r;

    if (token.n > MAX_TOKEN || !str_split(&rest, '.', &head) || !str_split(&rest, '.', &body) ||
        !rest.p || str_find(rest, '.') < rest.n)
        return err_set(reterr, -EKEYREJECTED, "it has not three parts");
    if (!read_url64(head, a, &text) || json_parse(text, 0, a, &header, NULL) < 0 ||
        !str_is(json_get_text(&header, STR("alg")), "ES256"))
        return err_set(reterr, -EKEYREJECTED, "its algorithm is not ES256");
    if (!read_url64(rest, a, &signature) || signature.n != (size_t)2 * HALF ||
        !verify(issuer, str_slice(token, 0, head.n + 1 + body.n), signature))
        return err_set(reterr, -EKEYREJECTED, "its signature is not valid");
    if (!read_url64(body, a, &text) || json_parse(text, 0, a, &claims, NULL) < 0 ||
        !str_is(json_get_text(&claims, STR("iss")), TOKEN_ISSUER_URL))
        return err_set(reterr, -EKEYREJECTED, "its claims are not those of a service account");
    read_claims(&claims, a, &read);
    r = check_times(&read, &claims, now, reterr);
    if (r < 0)
        return r;
    if (!for_this_server(&read))
        return err_set(reterr, -EKEYREJECTED,
                       "token audiences are invalid for the target "
                       "audiences [\"" TOKEN_ISSUER_URL "\"]");
    *ret_claims = read;
    return 0;
}
