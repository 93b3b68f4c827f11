/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - the API server to use, and the identity.
 *
 * Purpose:   combines flags, kubeconfig files, a pod's environment and the configuration's
 *            clientConnection into one struct kube_config; rest_client_new (kube/rest/rest.h) makes
 *            a client of it.
 *
 *                struct kube_config config;
 *                r = kube_config_load(&config, &(struct kube_config_options){.kubeconfig = path},
 *                                     &err);
 *                r = rest_client_new(loop, &config, NULL, &client, &err);
 *
 * Ownership: a kube_config owns all its strings; it must outlive the clients made of it.
 * Threading: constant after loading; any thread.
 *
 * The configuration comes from the first of these that applies:
 *   1. options.kubeconfig: only that file;
 *   2. options.master without a kubeconfig: that server, no credentials;
 *   3. the pod's service account, if KUBERNETES_SERVICE_HOST and _PORT are set;
 *   4. $KUBECONFIG, a list of files.
 * options.master overrides the server of a kubeconfig.
 */
#ifndef BERTH_KUBE_AUTH_CLIENT_H
#define BERTH_KUBE_AUTH_CLIENT_H

#include "codec/desc.h"
#include "kube/auth/kubeconfig.h"

struct kube_config_options {
    const char *kubeconfig;          /* --kubeconfig; NULL or "": not set */
    const char *master;              /* --master */
    const char *context;             /* NULL: the file's current-context */
    const char *service_account_dir; /* NULL: KUBE_SERVICE_ACCOUNT_DIR */
    struct str content_type;         /* clientConnection.contentType; empty: protobuf */
    struct str
        accept_content_types; /* clientConnection.acceptContentTypes; empty: by contentType */
    double qps;               /* clientConnection.qps; <= 0: no client-side limit */
    int32_t burst;
    const char *program; /* program name in the user agent; NULL: "berth" */
};

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBE_CONTENT_PROTOBUF    "application/vnd.kubernetes.protobuf"
#define KUBE_CONTENT_JSON        "application/json"

/* Impersonation's {"key": ["value", …]}, one row per value. */
struct kube_extra {
    struct str key, value;
};

struct kube_config {
    struct arena arena;
    struct str source;    /* "FILE (context \"NAME\")", "in-cluster configuration", "--master" */
    struct str server;    /* "https://host:port", possibly with a path, without a trailing slash */
    struct str namespace; /* of the context or the pod; "default" if none is set */
    bool tls;

    /* Verification of the server. Data takes precedence over a file. */
    struct str ca_file, ca_data;
    struct str tls_server_name;
    bool insecure;
    struct str proxy_url;

    /*
     * Client credentials. All empty for a plain http server: secrets are never sent in clear text.
     */
    struct str cert_file, cert_data, key_file, key_data;
    struct str token, token_file; /* the file's content takes precedence */
    struct str username, password;
    const struct kubeconfig_exec *exec; /* NULL: none */
    struct str exec_cluster_config;     /* JSON text for the plugin's spec.cluster.config */
    struct str as, as_uid;
    LIST(struct str) as_groups;
    LIST(struct kube_extra) as_extra;

    struct str content_type, accept;
    struct str user_agent;
    double qps;
    int32_t burst;

    struct kubeconfig file; /* owns the strings above */
};

/* On failure reterr has one line, and config needs no release. */
int kube_config_load(struct kube_config *config, const struct kube_config_options *options,
                     struct err *reterr) MUST_CHECK;
void kube_config_release(struct kube_config *config);

#endif
