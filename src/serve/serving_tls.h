/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_tls.h - the certificates that the endpoints show.
 *
 * Purpose:   --tls-cert-file, --cert-dir, --tls-sni-cert-key, --tls-cipher-suites,
 *            --tls-min-version and --tls-curve-preferences become a tls_config, whose certificates
 *            follow their files: a pair that has changed and fits together is shown to whoever
 *            connects next.
 * Ownership: options are copied.
 * Threading: the loop's thread.
 */
#ifndef BERTH_SERVE_SERVING_TLS_H
#define BERTH_SERVE_SERVING_TLS_H

#include "base/metrics.h"
#include "net/loop.h"
#include "net/tls.h"

struct serving_sni {
    const char *cert_file, *key_file;
    const struct str *names; /* none: those of the certificate */
    size_t n_names;
};

struct serving_tls_options {
    const char *cert_file, *key_file; /* NULL or "": not given */
    const char *cert_dir;  /* PAIR.crt and PAIR.key there, made where they are missing; "": none */
    const char *pair_name; /* NULL: "kube-scheduler" */
    const struct serving_sni *sni;
    size_t n_sni;
    const struct str *cipher_suites; /* Go's names; none: the default */
    size_t n_cipher_suites;
    const int64_t *curves; /* Go's numbers; none: the default */
    size_t n_curves;
    struct str min_version;  /* "VersionTLS12"; empty: that one */
    int64_t interval;        /* between two looks at the files; 0: 2 s */
    struct metrics *metrics; /* NULL: nothing is counted */
};

struct serving_tls;

/* Without files: a self-signed certificate for localhost, made in memory. */
int serving_tls_new(struct loop *loop, const struct serving_tls_options *options,
                    struct serving_tls **ret_tls, struct err *reterr) MUST_CHECK;
struct tls_config *serving_tls_config(const struct serving_tls *tls); /* borrowed */
struct serving_tls *serving_tls_free(struct serving_tls *tls); /* NULL is fine; returns NULL */

#endif
