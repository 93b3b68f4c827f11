/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_tls.h - the TLS configuration of the endpoints.
 *
 * Purpose:   makes a tls_config of --tls-cert-file, --cert-dir, --tls-sni-cert-key,
 *            --tls-cipher-suites, --tls-min-version and --tls-curve-preferences. Certificates are
 *            reloaded when their files change; new connections use them.
 * Ownership: the caller owns it. Options are copied.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_SERVING_TLS_H
#define BERTH_SERVE_SERVING_TLS_H

#include "base/metrics.h"
#include "net/loop.h"
#include "net/tls.h"

struct serving_sni {
    const char *cert_file, *key_file;
    const struct str *names; /* n_names 0: those of the certificate */
    size_t n_names;
};

struct serving_tls_options {
    const char *cert_file, *key_file; /* NULL or "": none */
    const char *cert_dir;  /* has PAIR.crt and PAIR.key, generated if missing; "": none */
    const char *pair_name; /* NULL: "kube-scheduler" */
    const struct serving_sni *sni;
    size_t n_sni;
    const struct str *cipher_suites; /* Go's names; n_cipher_suites 0: the default */
    size_t n_cipher_suites;
    const int64_t *curves; /* Go's numbers; n_curves 0: the default */
    size_t n_curves;
    struct str min_version;  /* empty: "VersionTLS12" */
    int64_t interval;        /* between two checks of the files, ns; 0: 2 s */
    struct metrics *metrics; /* NULL: none */
};

struct serving_tls;

/* Without files, generates a self-signed certificate for localhost in memory. */
int serving_tls_new(struct loop *loop, const struct serving_tls_options *options,
                    struct serving_tls **ret_tls, struct err *reterr) MUST_CHECK;
struct tls_config *serving_tls_config(const struct serving_tls *tls); /* borrowed */
struct serving_tls *serving_tls_free(struct serving_tls *tls); /* NULL is allowed; returns NULL */

#endif
