/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - which API server to talk to, and as whom.
 *
 * Purpose:   turns flags, kubeconfig files, the environment of a pod and the clientConnection of
 *            the configuration into one struct kube_config; rest_client_new (kube/rest.h) makes a
 *            client of it.
 *
 *                struct kube_config config;
 *                r = kube_config_load(&config, &(struct kube_config_options){.kubeconfig = path},
 *                                     &err);
 *                struct rest_client *client = rest_client_new(loop, &config, &err);
 *
 * Ownership: a kube_config owns all its texts; it must outlive what is made of it.
 * Threading: constant after loading; any.
 *
 * Where the configuration comes from, first match:
 *   1. options.kubeconfig: that file alone;
 *   2. options.master without a kubeconfig: that server, no credentials;
 *   3. the pod's service account, where KUBERNETES_SERVICE_HOST and _PORT are set;
 *   4. $KUBECONFIG, a list of files.
 * options.master overrides the server of a kubeconfig.
 */
#ifndef BERTH_KUBE_AUTH_CLIENT_H
#define BERTH_KUBE_AUTH_CLIENT_H

#include "codec/desc.h"
#include "kube/auth/kubeconfig.h"

struct kube_config_options {
    const char *kubeconfig;          /* --kubeconfig; NULL or "": not given */
    const char *master;              /* --master */
    const char *context;             /* NULL: the file's current-context */
    const char *service_account_dir; /* NULL: KUBE_SERVICE_ACCOUNT_DIR */
    struct str content_type;         /* clientConnection.contentType; empty: protobuf */
    struct str
        accept_content_types; /* clientConnection.acceptContentTypes; empty: by contentType */
    double qps;               /* clientConnection.qps; <= 0: no limit on the client's side */
    int32_t burst;
    const char *program; /* first word of the user agent; NULL: "berth" */
};

#define KUBE_SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"
#define KUBE_CONTENT_PROTOBUF    "application/vnd.kubernetes.protobuf"
#define KUBE_CONTENT_JSON        "application/json"

/* {"key": ["value", …]} of impersonation, one row per value. */
struct kube_extra {
    struct str key, value;
};

struct kube_config {
    struct arena arena;
    struct str source;    /* "FILE (context \"NAME\")", "in-cluster configuration", "--master" */
    struct str server;    /* "https://host:port" and perhaps a path, without a slash at the end */
    struct str namespace; /* of the context or the pod; "default" where none is given */
    bool tls;

    /* The server's identity; of file and data, data wins. */
    struct str ca_file, ca_data;
    struct str tls_server_name;
    bool insecure;
    struct str proxy_url;

    /* Ours. All empty where the server is not reached over TLS: secrets do not go in clear text. */
    struct str cert_file, cert_data, key_file, key_data;
    struct str token, token_file; /* where both are given, the file's content wins */
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

    struct kubeconfig file; /* what the texts above were taken from */
};

/* One clear line in reterr on failure; config then needs no release. */
int kube_config_load(struct kube_config *config, const struct kube_config_options *options,
                     struct err *reterr) MUST_CHECK;
void kube_config_release(struct kube_config *config);

#endif
