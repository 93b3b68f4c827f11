/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pki.h - the certificates and keys of a cluster.
 *
 * Purpose:   a certificate authority, the certificate of the API server, certificates of clients
 *            and the key that signs tokens of service accounts, all ECDSA P-256. They are made in
 *            memory, or kept in a directory and read again at the next start.
 * Ownership: the caller owns the struct pki; pki_release frees it.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_HTTP_PKI_H
#define BERTH_APISERVER_HTTP_PKI_H

#include "base/buf.h"
#include "base/err.h"
#include "net/tls.h"

struct pki {
    struct buf ca_cert, ca_key;         /* PEM, as everything here */
    struct buf server_cert, server_key; /* of the API server */
    struct buf token_key;               /* signs tokens: token_issuer_new */
};

struct pki_options {
    /*
     * Files ca.crt, ca.key, apiserver.crt, apiserver.key, sa.key, each with mode 0600. Those that
     * are missing are made, and the server's certificate if it does not have all names or ends
     * within 30 days. NULL: in memory.
     */
    const char *directory;
    /* Further names and addresses of the server, with commas; NULL: none. */
    const char *names;
    const char *service_ip; /* of the service kubernetes; NULL: 10.0.0.1 */
};

/* On failure there is nothing to release. */
int pki_init(const struct pki_options *options, struct pki *ret_pki, struct err *reterr) MUST_CHECK;
void pki_release(struct pki *pki);

/* The API server's TLS: its certificate, and client certificates of the CA. */
int pki_server_tls(const struct pki *pki, struct tls_config **ret_config,
                   struct err *reterr) MUST_CHECK;
/*
 * A client certificate: user = CN, groups = O, separated by commas: "kubernetes-admin",
 * "system:masters". Appends PEM.
 */
int pki_client(const struct pki *pki, const char *user, const char *groups, struct buf *cert_pem,
               struct buf *key_pem, struct err *reterr) MUST_CHECK;

/* What a kubeconfig says; empty members are left out. */
struct kubeconfig_source {
    struct str server; /* "https://127.0.0.1:6443" */
    struct str ca_pem, cert_pem, key_pem, token;
    struct str name; /* of cluster, user and context */
};
void kubeconfig_write(const struct kubeconfig_source *source, struct buf *out);
/* Replaces the file with this text, readable by its owner only (mode 0600). */
int pki_write_file(const char *path, struct str text, struct err *reterr) MUST_CHECK;

#endif
