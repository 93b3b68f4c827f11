/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates: parsed from PEM, and generated for servers without one and for tests. */
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "net/tls_impl.h"

#define CHAIN_MAX 32

const char *tls_reason(void)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text ? text : "unknown TLS error";
}

void tls_pair_release(struct tls_pair *pair)
{
    X509_free(pair->cert);
    sk_X509_pop_free(pair->chain, X509_free);
    EVP_PKEY_free(pair->key);
    *pair = (struct tls_pair){0};
}

static BIO *bio_of(struct str text)
{
    BIO *bio = text.n <= INT_MAX ? BIO_new_mem_buf(text.p ? text.p : "", (int)text.n) : NULL;
    if (!bio)
        abort();
    return bio;
}

/* Refuses keys with a pass phrase instead of prompting for it. */
static int no_password(char *out, int size, int writing, void *ctx)
{
    (void)out, (void)size, (void)writing, (void)ctx;
    return -1;
}

int tls_pair_parse(struct str cert_pem, struct str key_pem, const char *what,
                   struct tls_pair *ret_pair, struct err *reterr)
{
    struct tls_pair pair = {.chain = sk_X509_new_null()};
    BIO *certs = bio_of(cert_pem), *keys = bio_of(key_pem);
    int r = 0;
    ERR_clear_error();
    pair.cert = PEM_read_bio_X509(certs, NULL, no_password, NULL);
    if (!pair.cert) {
        r = err_set(reterr, -EINVAL, "%s: no certificate in PEM form: %s", what, tls_reason());
        goto out;
    }
    for (X509 *next; sk_X509_num(pair.chain) < CHAIN_MAX &&
                     (next = PEM_read_bio_X509(certs, NULL, no_password, NULL));)
        sk_X509_push(pair.chain, next);
    ERR_clear_error();
    pair.key = PEM_read_bio_PrivateKey(keys, NULL, no_password, NULL);
    if (!pair.key)
        r = err_set(reterr, -EINVAL, "%s: no private key in PEM form: %s", what, tls_reason());
    else if (X509_check_private_key(pair.cert, pair.key) != 1)
        r = err_set(reterr, -EINVAL, "%s: private key does not match the certificate", what);
out:
    ERR_clear_error();
    BIO_free(certs);
    BIO_free(keys);
    if (r < 0)
        tls_pair_release(&pair);
    else
        *ret_pair = pair;
    return r;
}

/* --- validity --------------------------------------------------------------------------------- */

static int64_t seconds_of(const ASN1_TIME *time)
{
    struct tm tm = {0};
    return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static struct tls_validity validity_of(const X509 *cert)
{
    return (struct tls_validity){seconds_of(X509_get0_notBefore(cert)),
                                 seconds_of(X509_get0_notAfter(cert))};
}

struct tls_validity tls_peer_validity(const struct tls_peer *peer)
{
    return validity_of(peer->certificate);
}

int tls_pem_validity(struct str cert_pem, struct tls_validity *ret_validity)
{
    BIO *bio = bio_of(cert_pem);
    X509 *cert = PEM_read_bio_X509(bio, NULL, no_password, NULL);
    ERR_clear_error();
    BIO_free(bio);
    if (!cert)
        return -EINVAL;
    *ret_validity = validity_of(cert);
    X509_free(cert);
    return 0;
}

/* --- generation ------------------------------------------------------------------------------- */

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
    bool ok = ext && X509_add_ext(cert, ext, -1) == 1;
    X509_EXTENSION_free(ext);
    return ok;
}

static bool is_address(struct str name)
{
    char text[64];
    if (name.n >= sizeof(text))
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    ASN1_OCTET_STRING *ip = a2i_IPADDRESS(text);
    ASN1_OCTET_STRING_free(ip);
    ERR_clear_error();
    return ip != NULL;
}

static bool add_names(X509 *cert, const char *names)
{
    struct buf value = BUF_INIT;
    struct str rest = str_of(names), name;
    while (str_split(&rest, ',', &name))
        buf_add_printf(&value, "%s%s:%.*s", value.n ? "," : "", is_address(name) ? "IP" : "DNS",
                       STR_ARG(name));
    bool ok = add_extension(cert, cert, NID_subject_alt_name, buf_cstr(&value));
    buf_release(&value);
    return ok;
}

static bool add_entry(X509_NAME *subject, const char *field, struct str value)
{
    return X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, (const unsigned char *)value.p,
                                      (int)value.n, -1, 0) == 1;
}

static bool set_subject(X509 *cert, const struct tls_cert_request *request)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    struct str names = str_of(request->names), cn = str_of(request->common_name), org;
    if (!cn.p)
        cn = names.p ? str_slice(names, 0, str_find(names, ',')) : STR("berth");
    struct str orgs = str_of(request->organizations);
    while (str_split(&orgs, ',', &org))
        if (!add_entry(subject, "O", org))
            return false;
    return add_entry(subject, "CN", cn);
}

static bool set_serial(X509 *cert)
{
    uint64_t serial;
    return RAND_bytes((unsigned char *)&serial, sizeof(serial)) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) == 1;
}

static bool fill(X509 *cert, EVP_PKEY *key, const struct tls_cert_request *request, X509 *issuer)
{
    long days = request->days ? request->days : 365;
    return X509_set_version(cert, X509_VERSION_3) == 1 && set_serial(cert) &&
           X509_gmtime_adj(X509_getm_notBefore(cert), days < 0 ? days * 86400 * 2 : -3600) &&
           X509_gmtime_adj(X509_getm_notAfter(cert), days * 86400) &&
           X509_set_pubkey(cert, key) == 1 && set_subject(cert, request) &&
           X509_set_issuer_name(cert, X509_get_subject_name(issuer)) == 1 &&
           add_extension(cert, issuer, NID_basic_constraints,
                         request->is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
           add_extension(cert, issuer, NID_key_usage,
                         request->is_ca ? "critical,digitalSignature,keyCertSign,cRLSign"
                                        : "critical,digitalSignature,keyEncipherment") &&
           (request->is_ca ||
            add_extension(cert, issuer, NID_ext_key_usage, "serverAuth,clientAuth")) &&
           add_extension(cert, issuer, NID_subject_key_identifier, "hash") &&
           add_extension(cert, issuer, NID_authority_key_identifier, "keyid") &&
           (!request->names || add_names(cert, request->names));
}

static bool write_pem(X509 *cert, EVP_PKEY *key, struct buf *cert_pem, struct buf *key_pem)
{
    BIO *bio = BIO_new(BIO_s_mem());
    char *data;
    bool ok = PEM_write_bio_X509(bio, cert) == 1;
    long n = BIO_get_mem_data(bio, &data);
    buf_add(cert_pem, data, (size_t)n);
    (void)BIO_reset(bio);
    ok = ok && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1;
    n = BIO_get_mem_data(bio, &data);
    buf_add(key_pem, data, (size_t)n);
    BIO_free(bio);
    return ok;
}

int tls_make_certificate(const struct tls_cert_request *request, struct buf *cert_pem,
                         struct buf *key_pem, struct err *reterr)
{
    struct tls_pair ca = {0};
    if (request->ca_cert_pem.n) {
        int r = tls_pair_parse(request->ca_cert_pem, request->ca_key_pem, "CA", &ca, reterr);
        if (r < 0)
            return r;
    }
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    bool ok = key && cert && fill(cert, key, request, ca.cert ? ca.cert : cert) &&
              X509_sign(cert, ca.key ? ca.key : key, EVP_sha256()) > 0 &&
              write_pem(cert, key, cert_pem, key_pem);
    X509_free(cert);
    EVP_PKEY_free(key);
    tls_pair_release(&ca);
    if (!ok)
        return err_set(reterr, -EINVAL, "cannot make a certificate: %s", tls_reason());
    return 0;
}
