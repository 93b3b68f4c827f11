/* SPDX-License-Identifier: Apache-2.0 */
/* Certificates by the name that a client requests. */
#include <openssl/x509v3.h>

#include "base/vec.h"
#include "net/tls_impl.h"

struct sni_name {
    char *name;
    size_t cert;   /* index in the table */
    bool explicit; /* given by the user, not read from the certificate */
};

struct tls_sni_table {
    VEC(struct tls_pair) certs;
    VEC(struct sni_name) names;
};

void tls_sni_release(struct tls_sni_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->certs.n; i++)
        tls_pair_release(&table->certs.v[i]);
    for (size_t i = 0; i < table->names.n; i++)
        free(table->names.v[i].name);
    vec_release(&table->certs);
    vec_release(&table->names);
    free(table);
}

static void add_name(struct tls_sni_table *table, struct str name, bool explicit)
{
    if (name.n)
        vec_push(&table->names, ((struct sni_name){str_dup(name), table->certs.n - 1, explicit}));
}

static struct str text_of(const ASN1_STRING *s)
{
    return (struct str){(const char *)ASN1_STRING_get0_data(s), (size_t)ASN1_STRING_length(s)};
}

/* As upstream: the common name if it is not an IP address, and the DNS names. */
static void add_own_names(struct tls_sni_table *table, X509 *cert)
{
    X509_NAME *subject = X509_get_subject_name(cert);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0) {
        struct str cn = text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
        char *text = str_dup(cn);
        ASN1_OCTET_STRING *ip = a2i_IPADDRESS(text);
        if (!ip)
            add_name(table, cn, false);
        ASN1_OCTET_STRING_free(ip);
        free(text);
    }
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS)
            add_name(table, text_of(name->d.dNSName), false);
    }
    GENERAL_NAMES_free(names);
    ERR_clear_error();
}

static const struct tls_pair *find_name(const struct tls_sni_table *table, struct str name)
{
    for (int explicit = 1; explicit >= 0; explicit --)
        for (size_t i = 0; i < table->names.n; i++)
            if (table->names.v[i].explicit == explicit &&
                str_eq_fold(str_of(table->names.v[i].name), name))
                return &table->certs.v[table->names.v[i].cert];
    return NULL;
}

static const struct tls_pair *find(const struct tls_sni_table *table, struct str name)
{
    while (str_ends(name, STR(".")))
        name.n--;
    const struct tls_pair *pair = find_name(table, name);
    size_t dot = str_find(name, '.');
    if (pair || dot == name.n)
        return pair;
    struct buf wildcard = BUF_INIT;
    buf_add_char(&wildcard, '*');
    buf_add_str(&wildcard, str_slice(name, dot, name.n));
    pair = find_name(table, buf_str(&wildcard));
    buf_release(&wildcard);
    return pair;
}

static int on_name(SSL *ssl, int *alert, void *ctx)
{
    (void)alert;
    struct tls_config *config = ctx;
    const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (!name)
        return SSL_TLSEXT_ERR_NOACK;
    pthread_mutex_lock(&config->lock);
    const struct tls_pair *pair = config->sni ? find(config->sni, str_of(name)) : NULL;
    if (pair)
        SSL_use_cert_and_key(ssl, pair->cert, pair->key, pair->chain, 1);
    pthread_mutex_unlock(&config->lock);
    ERR_clear_error();
    return SSL_TLSEXT_ERR_OK;
}

int tls_config_set_sni(struct tls_config *config, const struct tls_sni *certs, size_t n,
                       struct err *reterr)
{
    struct tls_sni_table *table = xnew(struct tls_sni_table);
    for (size_t i = 0; i < n; i++) {
        struct tls_pair pair;
        int r =
            tls_pair_parse(certs[i].cert_pem, certs[i].key_pem, "SNI certificate", &pair, reterr);
        if (r < 0) {
            tls_sni_release(table);
            return r;
        }
        vec_push(&table->certs, pair);
        for (size_t k = 0; k < certs[i].n_names; k++)
            add_name(table, certs[i].names[k], true);
        if (certs[i].n_names == 0)
            add_own_names(table, pair.cert);
    }
    pthread_mutex_lock(&config->lock);
    struct tls_sni_table *old = config->sni;
    config->sni = table;
    SSL_CTX_set_tlsext_servername_callback(config->ctx, on_name);
    SSL_CTX_set_tlsext_servername_arg(config->ctx, config);
    pthread_mutex_unlock(&config->lock);
    tls_sni_release(old);
    return 0;
}
