/* SPDX-License-Identifier: Apache-2.0 */
/* Converts Go's names of versions, cipher suites and curves to OpenSSL's. */
#include "net/tls_impl.h"

static const struct {
    struct str name;
    enum tls_version version;
} versions[] = {
    {STR_INIT(""), TLS_VERSION_DEFAULT},         {STR_INIT("VersionTLS10"), TLS_VERSION_1_0},
    {STR_INIT("VersionTLS11"), TLS_VERSION_1_1}, {STR_INIT("VersionTLS12"), TLS_VERSION_1_2},
    {STR_INIT("VersionTLS13"), TLS_VERSION_1_3},
};

static const struct {
    struct str go;
    const char *openssl; /* NULL: a TLS 1.3 suite, or one that OpenSSL 3 has removed */
} suites[] = {
    {STR_INIT("TLS_AES_128_GCM_SHA256"), NULL},
    {STR_INIT("TLS_AES_256_GCM_SHA384"), NULL},
    {STR_INIT("TLS_CHACHA20_POLY1305_SHA256"), NULL},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"), "ECDHE-ECDSA-AES128-SHA"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256"), "ECDHE-ECDSA-AES128-SHA256"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"), "ECDHE-ECDSA-AES128-GCM-SHA256"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA"), "ECDHE-ECDSA-AES256-SHA"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"), "ECDHE-ECDSA-AES256-GCM-SHA384"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305"), "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"), "ECDHE-ECDSA-CHACHA20-POLY1305"},
    {STR_INIT("TLS_ECDHE_ECDSA_WITH_RC4_128_SHA"), NULL},
    {STR_INIT("TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA"), NULL},
    {STR_INIT("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA"), "ECDHE-RSA-AES128-SHA"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256"), "ECDHE-RSA-AES128-SHA256"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"), "ECDHE-RSA-AES128-GCM-SHA256"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"), "ECDHE-RSA-AES256-SHA"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"), "ECDHE-RSA-AES256-GCM-SHA384"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305"), "ECDHE-RSA-CHACHA20-POLY1305"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"), "ECDHE-RSA-CHACHA20-POLY1305"},
    {STR_INIT("TLS_ECDHE_RSA_WITH_RC4_128_SHA"), NULL},
    {STR_INIT("TLS_RSA_WITH_3DES_EDE_CBC_SHA"), NULL},
    {STR_INIT("TLS_RSA_WITH_AES_128_CBC_SHA"), "AES128-SHA"},
    {STR_INIT("TLS_RSA_WITH_AES_128_CBC_SHA256"), "AES128-SHA256"},
    {STR_INIT("TLS_RSA_WITH_AES_128_GCM_SHA256"), "AES128-GCM-SHA256"},
    {STR_INIT("TLS_RSA_WITH_AES_256_CBC_SHA"), "AES256-SHA"},
    {STR_INIT("TLS_RSA_WITH_AES_256_GCM_SHA384"), "AES256-GCM-SHA384"},
    {STR_INIT("TLS_RSA_WITH_RC4_128_SHA"), NULL},
};

static const struct {
    int64_t id;
    const char *openssl; /* NULL: OpenSSL 3.0 does not have these hybrids */
} curves[] = {
    {23, "P-256"}, {24, "P-384"}, {25, "P-521"}, {29, "X25519"},
    {4587, NULL},  {4588, NULL},  {4589, NULL},
};

int tls_parse_version(struct str name, enum tls_version *ret_version, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        if (str_eq(versions[i].name, name)) {
            *ret_version = versions[i].version;
            return 0;
        }
    }
    return err_set(reterr, -EINVAL, "unknown tls version \"%.*s\"", STR_ARG(name));
}

static void add_word(struct buf *out, const char *word)
{
    if (word)
        buf_add_printf(out, "%s%s", out->n ? ":" : "", word);
}

int tls_add_cipher(struct str name, struct buf *openssl, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(suites); i++) {
        if (str_eq(suites[i].go, name)) {
            add_word(openssl, suites[i].openssl);
            return 0;
        }
    }
    return err_set(reterr, -EINVAL, "Cipher suite %.*s not supported or doesn't exist",
                   STR_ARG(name));
}

int tls_add_curve(int64_t id, struct buf *openssl, struct err *reterr)
{
    if (id <= 0 || id > UINT16_MAX)
        return err_set(reterr, -EINVAL, "curve preference %lld is out of range (must be 1-%d)",
                       (long long)id, UINT16_MAX);
    for (size_t i = 0; i < ARRAY_LEN(curves); i++) {
        if (curves[i].id == id) {
            add_word(openssl, curves[i].openssl);
            return 0;
        }
    }
    return err_set(reterr, -EINVAL,
                   "curve preference %lld is not supported by the current Go version",
                   (long long)id);
}
