/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/serving_tls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log.h"
#include "base/vec.h"
#include "kube/file.h"
#include "serve/review_metrics.h"

#define PEM_MAX  ((size_t)4 << 20)
#define INTERVAL (2 * NSEC_PER_SEC)
#define QUEUE    "DynamicServingCertificateController" /* upstream's name for it */

/* A certificate and its key in files. */
struct cert_files {
    char *cert, *key;
    struct str *names; /* for SNI */
    size_t n_names;
    struct file_stamp cert_stamp, key_stamp;
};

struct serving_tls {
    struct tls_config *config;
    struct arena arena;
    struct cert_files *own; /* NULL: self-signed certificate in memory */
    VEC(struct cert_files) sni;
    struct loop_timer timer;
    int64_t interval;
    struct metrics *metrics;
};

struct pem_pair {
    struct buf cert, key;
};

static void pem_release(struct pem_pair *pem)
{
    buf_release(&pem->cert);
    buf_release(&pem->key);
}

static int read_pair(const struct cert_files *files, struct pem_pair *pem, struct err *reterr)
{
    *pem = (struct pem_pair){0};
    int r = file_read(files->cert, PEM_MAX, &pem->cert, reterr);
    if (r == 0)
        r = file_read(files->key, PEM_MAX, &pem->key, reterr);
    return r;
}

/* Whether a file has changed since the last call. */
static bool has_changed(struct cert_files *files)
{
    struct file_stamp cert, key;
    if (file_stamp_of(files->cert, &cert) < 0 || file_stamp_of(files->key, &key) < 0)
        return false; /* being replaced; check again at the next tick */
    bool same = file_stamp_eq(cert, files->cert_stamp) && file_stamp_eq(key, files->key_stamp);
    files->cert_stamp = cert;
    files->key_stamp = key;
    return !same;
}

/* --- loading ---------------------------------------------------------------------------------- */

static int load_own(struct serving_tls *tls, struct err *reterr)
{
    struct pem_pair pem;
    int64_t began = time_mono();
    int r = read_pair(tls->own, &pem, reterr);
    if (r == 0)
        r = tls_config_swap_certificate(tls->config, buf_str(&pem.cert), buf_str(&pem.key), reterr);
    pem_release(&pem);
    workqueue_metrics_done(tls->metrics, QUEUE, began, r == 0);
    return r;
}

static int load_sni(struct serving_tls *tls, struct err *reterr)
{
    size_t n = tls->sni.n;
    struct pem_pair *pems = xcalloc(n ? n : 1, sizeof(*pems));
    struct tls_sni *certs = xcalloc(n ? n : 1, sizeof(*certs));
    int64_t began = time_mono();
    int r = 0;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = read_pair(&tls->sni.v[i], &pems[i], reterr);
        certs[i] = (struct tls_sni){.cert_pem = buf_str(&pems[i].cert),
                                    .key_pem = buf_str(&pems[i].key),
                                    .names = tls->sni.v[i].names,
                                    .n_names = tls->sni.v[i].n_names};
    }
    if (r == 0)
        r = tls_config_set_sni(tls->config, certs, n, reterr);
    for (size_t i = 0; i < n; i++)
        pem_release(&pems[i]);
    free(pems);
    free(certs);
    workqueue_metrics_done(tls->metrics, QUEUE, began, r == 0);
    return r;
}

static void on_timer(struct loop_timer *timer)
{
    struct serving_tls *tls = CONTAINER_OF(timer, struct serving_tls, timer);
    struct err err;
    bool sni = false;
    if (tls->own && has_changed(tls->own)) {
        if (load_own(tls, &err) < 0)
            log_error("Failed to reload the serving certificate; keeping the current one",
                      KV_ERR(&err));
        else
            log_info(2, "Loaded a new cert/key pair", KV_CSTR("name", tls->own->cert));
    }
    for (size_t i = 0; i < tls->sni.n; i++)
        sni |= has_changed(&tls->sni.v[i]);
    if (sni && load_sni(tls, &err) < 0)
        log_error("Failed to reload SNI certificates; keeping the current ones", KV_ERR(&err));
    loop_timer_set(timer, tls->interval);
}

/* --- --cert-dir ------------------------------------------------------------------------------- */

static int write_new(const char *path, struct str text, mode_t mode, struct err *reterr)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    bool ok = fd >= 0 && write(fd, text.p, text.n) == (ssize_t)text.n;
    int r = ok ? 0 : err_set(reterr, -EIO, "write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return r;
}

/* Like mkdir -p. */
static int make_dir(const char *dir, struct err *reterr)
{
    char *path = xstrdup(dir);
    int r = 0;
    for (size_t end = 0; r == 0 && dir[end];) {
        end += 1 + strcspn(dir + end + 1, "/");
        path[end] = '\0';
        if (mkdir(path, 0755) < 0 && errno != EEXIST)
            r = err_set(reterr, -errno, "%s: %s", path, strerror(errno));
        path[end] = dir[end];
    }
    free(path);
    return r;
}

/* Upstream generates the pair if either file is missing. */
static int make_missing(const struct cert_files *files, const char *dir, struct err *reterr)
{
    if (access(files->cert, R_OK) == 0 && access(files->key, R_OK) == 0)
        return 0;
    struct pem_pair pem = {0};
    struct tls_cert_request request = {.common_name = "localhost",
                                       .names = "localhost,127.0.0.1,::1"};
    int r = make_dir(dir, reterr);
    if (r == 0)
        r = tls_make_certificate(&request, &pem.cert, &pem.key, reterr);
    if (r == 0)
        r = write_new(files->cert, buf_str(&pem.cert), 0644, reterr);
    if (r == 0)
        r = write_new(files->key, buf_str(&pem.key), 0600, reterr);
    pem_release(&pem);
    if (r == 0) {
        struct buf line = BUF_INIT;
        buf_add_printf(&line, "Generated self-signed cert (%s, %s)", files->cert, files->key);
        log_plain(0, buf_cstr(&line));
        buf_release(&line);
    }
    return r;
}

/* --- making ----------------------------------------------------------------------------------- */

static char *copy(struct arena *a, const char *text)
{
    return (char *)(uintptr_t)arena_dup(a, str_of(text)).p;
}

static bool given(const char *text)
{
    return text && *text;
}

static int find_own(struct serving_tls *tls, const struct serving_tls_options *o,
                    struct err *reterr)
{
    struct cert_files *own = arena_new(&tls->arena, struct cert_files);
    if (given(o->cert_file) || given(o->key_file)) {
        own->cert = copy(&tls->arena, o->cert_file ? o->cert_file : "");
        own->key = copy(&tls->arena, o->key_file ? o->key_file : "");
        tls->own = own;
        return 0;
    }
    if (!given(o->cert_dir)) {
        log_plain(0, "Generated self-signed cert in-memory");
        return 0;
    }
    const char *pair = o->pair_name ? o->pair_name : "kube-scheduler";
    own->cert = (char *)(uintptr_t)arena_printf(&tls->arena, "%s/%s.crt", o->cert_dir, pair).p;
    own->key = (char *)(uintptr_t)arena_printf(&tls->arena, "%s/%s.key", o->cert_dir, pair).p;
    tls->own = own;
    return make_missing(own, o->cert_dir, reterr);
}

static void take_sni(struct serving_tls *tls, const struct serving_tls_options *o)
{
    for (size_t i = 0; i < o->n_sni; i++) {
        const struct serving_sni *from = &o->sni[i];
        struct cert_files files = {.cert = copy(&tls->arena, from->cert_file),
                                   .key = copy(&tls->arena, from->key_file),
                                   .names = arena_array(&tls->arena, struct str, from->n_names),
                                   .n_names = from->n_names};
        for (size_t k = 0; k < from->n_names; k++)
            files.names[k] = arena_dup(&tls->arena, from->names[k]);
        vec_push(&tls->sni, files);
    }
}

static int make_config(struct serving_tls *tls, const struct serving_tls_options *o,
                       struct err *reterr)
{
    struct tls_options options = {.client_auth = TLS_CLIENT_AUTH_ANY};
    struct buf ciphers = BUF_INIT, groups = BUF_INIT;
    int r = tls_parse_version(o->min_version, &options.min_version, reterr);
    for (size_t i = 0; i < o->n_cipher_suites && r == 0; i++)
        r = tls_add_cipher(o->cipher_suites[i], &ciphers, reterr);
    for (size_t i = 0; i < o->n_curves && r == 0; i++)
        r = tls_add_curve(o->curves[i], &groups, reterr);
    if (r == 0 && o->n_curves && !groups.n)
        r = err_set(reterr, -EINVAL,
                    "--tls-curve-preferences: OpenSSL supports none of these curves");
    if (ciphers.n)
        options.ciphers = buf_cstr(&ciphers);
    else if (o->n_cipher_suites)
        options.min_version = TLS_VERSION_1_3; /* none of the suites is for an older version */
    if (groups.n)
        options.groups = buf_cstr(&groups);
    if (r == 0)
        r = tls_config_new_server(&options, &tls->config, reterr);
    buf_release(&ciphers);
    buf_release(&groups);
    return r;
}

int serving_tls_new(struct loop *loop, const struct serving_tls_options *options,
                    struct serving_tls **ret_tls, struct err *reterr)
{
    struct serving_tls *tls = xnew(struct serving_tls);
    arena_init(&tls->arena, 0);
    tls->interval = options->interval ? options->interval : INTERVAL;
    tls->metrics = options->metrics;
    workqueue_metrics_init(tls->metrics, QUEUE);
    loop_timer_init(&tls->timer, loop, on_timer);
    take_sni(tls, options);
    int r = make_config(tls, options, reterr);
    if (r == 0)
        r = find_own(tls, options, reterr);
    if (r == 0 && tls->own) {
        (void)has_changed(tls->own);
        r = load_own(tls, reterr);
    }
    for (size_t i = 0; i < tls->sni.n; i++)
        (void)has_changed(&tls->sni.v[i]);
    if (r == 0 && tls->sni.n)
        r = load_sni(tls, reterr);
    if (r < 0) {
        serving_tls_free(tls);
        return r;
    }
    if (tls->own || tls->sni.n)
        loop_timer_set(&tls->timer, tls->interval);
    *ret_tls = tls;
    return 0;
}

struct tls_config *serving_tls_config(const struct serving_tls *tls)
{
    return tls->config;
}

struct serving_tls *serving_tls_free(struct serving_tls *tls)
{
    if (!tls)
        return NULL;
    loop_timer_stop(&tls->timer);
    tls_config_unref(tls->config);
    vec_release(&tls->sni);
    arena_release(&tls->arena);
    free(tls);
    return NULL;
}
