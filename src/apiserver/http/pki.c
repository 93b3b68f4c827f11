/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/http/pki.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "codec/base64.h"

#define CA_DAYS    3650
#define CERT_DAYS  365
#define RENEW_DAYS 30
#define MAX_FILE   ((size_t)1 << 20)
#define FIXED_NAMES                                                                 \
    "localhost,127.0.0.1,::1,kubernetes,kubernetes.default,kubernetes.default.svc," \
    "kubernetes.default.svc.cluster.local"

/* --- files ------------------------------------------------------------------------------------ */

static int write_all(int fd, struct str text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.p, text.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        text = str_slice(text, (size_t)n, text.n);
    }
    return fsync(fd) < 0 ? -errno : 0;
}

int pki_write_file(const char *path, struct str text, struct err *reterr)
{
    char *temporary = xasprintf("%s.new", path);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600), r;

    r = fd < 0 ? -errno : fchmod(fd, 0600) < 0 ? -errno : write_all(fd, text);
    if (fd >= 0 && close(fd) < 0 && r == 0)
        r = -errno;
    if (r == 0 && rename(temporary, path) < 0)
        r = -errno;
    if (r < 0) {
        (void)unlink(temporary);
        err_set(reterr, r, "%s: %s", path, strerror(-r));
    }
    free(temporary);
    return r;
}

/* -ENOENT without an error text: there is no such file. */
static int read_file(const char *path, struct buf *out, struct err *reterr)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), r = 0;
    char bytes[4096];
    ssize_t n = 0;

    if (fd < 0)
        return errno == ENOENT ? -ENOENT : err_set(reterr, -errno, "%s: %s", path, strerror(errno));
    while (out->n < MAX_FILE && (n = read(fd, bytes, sizeof(bytes))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            r = err_set(reterr, -errno, "%s: %s", path, strerror(errno));
            break;
        }
        buf_add(out, bytes, (size_t)n);
    }
    close(fd);
    return r;
}

static char *path_of(const char *directory, const char *name)
{
    return xasprintf("%s/%s", directory, name);
}

/* 0: read; -ENOENT: it must be made. */
static int load(const char *directory, const char *name, struct buf *out, struct err *reterr)
{
    char *path;
    int r;

    if (!directory)
        return -ENOENT;
    path = path_of(directory, name);
    r = read_file(path, out, reterr);
    free(path);
    return r;
}

static int save(const char *directory, const char *name, const struct buf *text, struct err *reterr)
{
    char *path;
    int r;

    if (!directory)
        return 0;
    path = path_of(directory, name);
    r = pki_write_file(path, buf_str(text), reterr);
    free(path);
    return r;
}

/* --- certificates ----------------------------------------------------------------------------- */

static int make_ca(const struct pki_options *o, struct pki *pki, struct err *reterr)
{
    struct tls_cert_request request = {.common_name = "kubernetes", .days = CA_DAYS, .is_ca = true};
    int r = load(o->directory, "ca.crt", &pki->ca_cert, reterr);

    if (r == 0)
        r = load(o->directory, "ca.key", &pki->ca_key, reterr);
    if (r != -ENOENT)
        return r;
    buf_clear(&pki->ca_cert);
    r = tls_make_certificate(&request, &pki->ca_cert, &pki->ca_key, reterr);
    if (r == 0)
        r = save(o->directory, "ca.crt", &pki->ca_cert, reterr);
    return r < 0 ? r : save(o->directory, "ca.key", &pki->ca_key, reterr);
}

static bool cert_has_name(X509 *cert, struct str name)
{
    char text[256];

    if (name.n >= sizeof(text))
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    return X509_check_ip_asc(cert, text, 0) == 1 ||
           X509_check_host(cert, text, name.n, 0, NULL) == 1;
}

/* Whether a certificate of an earlier start still fits. */
static bool cert_fits(struct str pem, const char *names)
{
    BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
    X509 *cert = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
    struct str rest = str_of(names), name;
    struct tls_validity validity;
    bool fits = cert && tls_pem_validity(pem, &validity) == 0 &&
                validity.not_after - time_wall() / NSEC_PER_SEC > (int64_t)RENEW_DAYS * 86400;

    while (fits && str_split(&rest, ',', &name))
        fits = cert_has_name(cert, name);
    X509_free(cert);
    BIO_free(bio);
    return fits;
}

static int make_server(const struct pki_options *o, struct pki *pki, struct err *reterr)
{
    char *names = xasprintf("%s,%s%s%s", FIXED_NAMES, o->service_ip ? o->service_ip : "10.0.0.1",
                            o->names && *o->names ? "," : "", o->names ? o->names : "");
    struct tls_cert_request request = {.common_name = "kube-apiserver",
                                       .names = names,
                                       .days = CERT_DAYS,
                                       .ca_cert_pem = buf_str(&pki->ca_cert),
                                       .ca_key_pem = buf_str(&pki->ca_key)};
    int r = load(o->directory, "apiserver.crt", &pki->server_cert, reterr);

    if (r == 0)
        r = load(o->directory, "apiserver.key", &pki->server_key, reterr);
    if (r == 0 && !cert_fits(buf_str(&pki->server_cert), names))
        r = -ENOENT;
    if (r == -ENOENT) {
        buf_clear(&pki->server_cert);
        buf_clear(&pki->server_key);
        r = tls_make_certificate(&request, &pki->server_cert, &pki->server_key, reterr);
        if (r == 0)
            r = save(o->directory, "apiserver.crt", &pki->server_cert, reterr);
        if (r == 0)
            r = save(o->directory, "apiserver.key", &pki->server_key, reterr);
    }
    free(names);
    return r;
}

static int make_token_key(const struct pki_options *o, struct pki *pki, struct err *reterr)
{
    int r = load(o->directory, "sa.key", &pki->token_key, reterr);
    EVP_PKEY *key;
    BIO *bio;
    char *data;

    if (r != -ENOENT)
        return r;
    key = EVP_EC_gen("P-256");
    bio = BIO_new(BIO_s_mem());
    r = key && bio && PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) == 1
            ? 0
            : err_set(reterr, -EINVAL, "cannot make a key for service account tokens");
    if (r == 0) {
        long n = BIO_get_mem_data(bio, &data);

        buf_add(&pki->token_key, data, (size_t)n);
        r = save(o->directory, "sa.key", &pki->token_key, reterr);
    }
    BIO_free(bio);
    EVP_PKEY_free(key);
    return r;
}

int pki_init(const struct pki_options *options, struct pki *ret_pki, struct err *reterr)
{
    struct pki pki = {0};
    int r = 0;

    if (options->directory && mkdir(options->directory, 0700) < 0 && errno != EEXIST)
        return err_set(reterr, -errno, "%s: %s", options->directory, strerror(errno));
    r = make_ca(options, &pki, reterr);
    if (r == 0)
        r = make_server(options, &pki, reterr);
    if (r == 0)
        r = make_token_key(options, &pki, reterr);
    if (r < 0)
        pki_release(&pki);
    else
        *ret_pki = pki;
    return r;
}

void pki_release(struct pki *pki)
{
    buf_release(&pki->ca_cert);
    buf_release(&pki->ca_key);
    buf_release(&pki->server_cert);
    buf_release(&pki->server_key);
    buf_release(&pki->token_key);
}

int pki_server_tls(const struct pki *pki, struct tls_config **ret_config, struct err *reterr)
{
    struct tls_options o = {.ca_pem = buf_str(&pki->ca_cert),
                            .cert_pem = buf_str(&pki->server_cert),
                            .key_pem = buf_str(&pki->server_key),
                            .client_auth = TLS_CLIENT_AUTH_OPTIONAL};

    return tls_config_new_server(&o, ret_config, reterr);
}

int pki_client(const struct pki *pki, const char *user, const char *groups, struct buf *cert_pem,
               struct buf *key_pem, struct err *reterr)
{
    struct tls_cert_request request = {.common_name = user,
                                       .organizations = groups,
                                       .days = CERT_DAYS,
                                       .ca_cert_pem = buf_str(&pki->ca_cert),
                                       .ca_key_pem = buf_str(&pki->ca_key)};

    return tls_make_certificate(&request, cert_pem, key_pem, reterr);
}

/* --- kubeconfig ------------------------------------------------------------------------------- */

static void add_data(struct buf *out, const char *key, struct str pem)
{
    if (str_empty(pem))
        return;
    buf_add_printf(out, "    %s: ", key);
    base64_encode(pem, out);
    buf_add_char(out, '\n');
}

void kubeconfig_write(const struct kubeconfig_source *source, struct buf *out)
{
    struct str name = source->name;

    buf_add_printf(out,
                   "apiVersion: v1\nkind: Config\nclusters:\n- name: %.*s\n  cluster:\n"
                   "    server: %.*s\n",
                   STR_ARG(name), STR_ARG(source->server));
    add_data(out, "certificate-authority-data", source->ca_pem);
    buf_add_printf(out, "users:\n- name: %.*s\n  user:%s\n", STR_ARG(name),
                   str_empty(source->cert_pem) && str_empty(source->token) ? " {}" : "");
    add_data(out, "client-certificate-data", source->cert_pem);
    add_data(out, "client-key-data", source->key_pem);
    if (!str_empty(source->token))
        buf_add_printf(out, "    token: %.*s\n", STR_ARG(source->token));
    buf_add_printf(out,
                   "contexts:\n- name: %.*s\n  context:\n    cluster: %.*s\n    user: %.*s\n"
                   "current-context: %.*s\n",
                   STR_ARG(name), STR_ARG(name), STR_ARG(name), STR_ARG(name));
}
