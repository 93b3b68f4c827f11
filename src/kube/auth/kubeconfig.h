/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kubeconfig.h - kubeconfig files: clusters, users and contexts.
 *
 * Purpose:   reads one file, or merges a list by kubectl's rules: the first file that has an entry
 *            provides the whole entry, and the first that sets current-context sets it. File names
 *            are resolved against the directory of the kubeconfig. Unknown fields are ignored, as
 *            in client-go.
 * Ownership: everything lives in the kubeconfig's arena until kubeconfig_release.
 * Threading: one thread at a time; constant after loading.
 */
#ifndef BERTH_KUBE_AUTH_KUBECONFIG_H
#define BERTH_KUBE_AUTH_KUBECONFIG_H

#include "base/vec.h"
#include "codec/desc.h"

#define KUBECONFIG_MAX_BYTES   ((size_t)16 << 20)
#define KUBECONFIG_MAX_FILES   100
#define KUBECONFIG_MAX_ENTRIES 100000

struct kubeconfig_extension {
    struct str name;
    struct str extension; /* JSON text */
};

struct kubeconfig_cluster {
    struct str server;
    struct str tls_server_name;
    bool insecure_skip_tls_verify;
    struct str certificate_authority; /* file */
    struct str certificate_authority_data;
    struct str proxy_url;
    bool disable_compression; /* read, but without effect: berth never requests compression */
    LIST(struct kubeconfig_extension) extensions;
};

struct kubeconfig_env {
    struct str name, value;
};

/* A credential plugin (client.authentication.k8s.io). */
struct kubeconfig_exec {
    struct str api_version;
    struct str command;
    LIST(struct str) args;
    LIST(struct kubeconfig_env) env;
    struct str install_hint;
    bool provide_cluster_info;
    struct str interactive_mode; /* Never, IfAvailable, Always */
};

struct kubeconfig_auth_provider {
    struct str name;
};

struct kubeconfig_user {
    struct str client_certificate; /* file */
    struct str client_certificate_data;
    struct str client_key; /* file */
    struct str client_key_data;
    struct str token;
    struct str token_file;
    struct str as, as_uid;
    LIST(struct str) as_groups;
    struct str as_user_extra; /* JSON text of {"key": ["value", …]} */
    struct str username, password;
    struct kubeconfig_auth_provider *auth_provider;
    struct kubeconfig_exec *exec;
};

struct kubeconfig_context {
    struct str cluster, user, namespace;
};

/* Entries have their file's path for messages. */
struct kubeconfig_named_cluster {
    struct str name;
    struct kubeconfig_cluster cluster;
    const char *origin;
};
struct kubeconfig_named_user {
    struct str name;
    struct kubeconfig_user user;
    const char *origin;
};
struct kubeconfig_named_context {
    struct str name;
    struct kubeconfig_context context;
    const char *origin;
};

struct kubeconfig {
    struct arena arena;
    struct str current_context;
    const char *current_context_origin; /* the file that set it; NULL: none */
    VEC(struct kubeconfig_named_cluster) clusters;
    VEC(struct kubeconfig_named_user) users;
    VEC(struct kubeconfig_named_context) contexts;
    size_t n_files; /* number of files read */
};

void kubeconfig_init(struct kubeconfig *kc);
void kubeconfig_release(struct kubeconfig *kc);

/*
 * Adds the entries of text that kc does not have. origin: the path, for messages and relative file
 * names.
 */
int kubeconfig_merge_text(struct kubeconfig *kc, struct str text, const char *origin,
                          struct err *reterr) MUST_CHECK;
/* The same for a file. -ENOENT if it does not exist. */
int kubeconfig_merge_file(struct kubeconfig *kc, const char *path, struct err *reterr) MUST_CHECK;
/* The same for a list separated by ':', as in $KUBECONFIG. Missing files are skipped. */
int kubeconfig_merge_list(struct kubeconfig *kc, const char *list, struct err *reterr) MUST_CHECK;

/* NULL if there is none of that name. */
const struct kubeconfig_named_cluster *kubeconfig_cluster(const struct kubeconfig *kc,
                                                          struct str name);
const struct kubeconfig_named_user *kubeconfig_user(const struct kubeconfig *kc, struct str name);
const struct kubeconfig_named_context *kubeconfig_context(const struct kubeconfig *kc,
                                                          struct str name);

#endif
