/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/auth/kubeconfig.h"

#include "base/log.h"
#include "base/map.h"
#include "codec/yaml.h"
#include "kube/file.h"

/* --- format ----------------------------------------------------------------------------------- */

#define C struct kubeconfig_extension
static const struct field extension_fields[] = {
    F_ONE(C, name, "name", 0, STR),
    F_ONE(C, extension, "extension", 0, RAW),
};
static const struct type extension_type = TYPE("NamedExtension", C, extension_fields);
#undef C

#define C struct kubeconfig_cluster
static const struct field cluster_fields[] = {
    F_ONE(C, server, "server", 0, STR),
    F_ONE(C, tls_server_name, "tls-server-name", 0, STR),
    F_ONE(C, insecure_skip_tls_verify, "insecure-skip-tls-verify", 0, BOOL),
    F_ONE(C, certificate_authority, "certificate-authority", 0, STR),
    F_ONE(C, certificate_authority_data, "certificate-authority-data", 0, BYTES),
    F_ONE(C, proxy_url, "proxy-url", 0, STR),
    F_ONE(C, disable_compression, "disable-compression", 0, BOOL),
    F_LIST_MSG(C, extensions, "extensions", 0, struct kubeconfig_extension, &extension_type),
};
static const struct type cluster_type = TYPE("Cluster", C, cluster_fields);
#undef C

#define C struct kubeconfig_env
static const struct field env_fields[] = {
    F_ONE(C, name, "name", 0, STR),
    F_ONE(C, value, "value", 0, STR),
};
static const struct type env_type = TYPE("ExecEnvVar", C, env_fields);
#undef C

#define C struct kubeconfig_exec
static const struct field exec_fields[] = {
    F_ONE(C, command, "command", 0, STR),
    F_LIST(C, args, "args", 0, STR),
    F_LIST_MSG(C, env, "env", 0, struct kubeconfig_env, &env_type),
    F_ONE(C, api_version, "apiVersion", 0, STR),
    F_ONE(C, install_hint, "installHint", 0, STR),
    F_ONE(C, provide_cluster_info, "provideClusterInfo", 0, BOOL),
    F_ONE(C, interactive_mode, "interactiveMode", 0, STR),
};
static const struct type exec_type = TYPE("ExecConfig", C, exec_fields);
#undef C

#define C struct kubeconfig_auth_provider
static const struct field auth_provider_fields[] = {
    F_ONE(C, name, "name", 0, STR),
};
static const struct type auth_provider_type = TYPE("AuthProviderConfig", C, auth_provider_fields);
#undef C

#define C struct kubeconfig_user
static const struct field user_fields[] = {
    F_ONE(C, client_certificate, "client-certificate", 0, STR),
    F_ONE(C, client_certificate_data, "client-certificate-data", 0, BYTES),
    F_ONE(C, client_key, "client-key", 0, STR),
    F_ONE(C, client_key_data, "client-key-data", 0, BYTES),
    F_ONE(C, token, "token", 0, STR),
    F_ONE(C, token_file, "tokenFile", 0, STR),
    F_ONE(C, as, "as", 0, STR),
    F_ONE(C, as_uid, "as-uid", 0, STR),
    F_LIST(C, as_groups, "as-groups", 0, STR),
    F_ONE(C, as_user_extra, "as-user-extra", 0, RAW),
    F_ONE(C, username, "username", 0, STR),
    F_ONE(C, password, "password", 0, STR),
    F_PTR_MSG(C, auth_provider, "auth-provider", 0, struct kubeconfig_auth_provider,
              &auth_provider_type),
    F_PTR_MSG(C, exec, "exec", 0, struct kubeconfig_exec, &exec_type),
};
static const struct type user_type = TYPE("AuthInfo", C, user_fields);
#undef C

#define C struct kubeconfig_context
static const struct field context_fields[] = {
    F_ONE(C, cluster, "cluster", 0, STR),
    F_ONE(C, user, "user", 0, STR),
    F_ONE(C, namespace, "namespace", 0, STR),
};
static const struct type context_type = TYPE("Context", C, context_fields);
#undef C

#define C struct kubeconfig_named_cluster
static const struct field named_cluster_fields[] = {
    F_ONE(C, name, "name", 0, STR),
    F_MSG(C, cluster, "cluster", 0, struct kubeconfig_cluster, &cluster_type),
};
static const struct type named_cluster_type = TYPE("NamedCluster", C, named_cluster_fields);
#undef C

#define C struct kubeconfig_named_user
static const struct field named_user_fields[] = {
    F_ONE(C, name, "name", 0, STR),
    F_MSG(C, user, "user", 0, struct kubeconfig_user, &user_type),
};
static const struct type named_user_type = TYPE("NamedAuthInfo", C, named_user_fields);
#undef C

#define C struct kubeconfig_named_context
static const struct field named_context_fields[] = {
    F_ONE(C, name, "name", 0, STR),
    F_MSG(C, context, "context", 0, struct kubeconfig_context, &context_type),
};
static const struct type named_context_type = TYPE("NamedContext", C, named_context_fields);
#undef C

struct config_file {
    struct str kind, api_version;
    LIST(struct kubeconfig_named_cluster) clusters;
    LIST(struct kubeconfig_named_user) users;
    LIST(struct kubeconfig_named_context) contexts;
    struct str current_context;
};

#define C struct config_file
static const struct field config_fields[] = {
    F_ONE(C, kind, "kind", 0, STR),
    F_ONE(C, api_version, "apiVersion", 0, STR),
    F_LIST_MSG(C, clusters, "clusters", 0, struct kubeconfig_named_cluster, &named_cluster_type),
    F_LIST_MSG(C, users, "users", 0, struct kubeconfig_named_user, &named_user_type),
    F_LIST_MSG(C, contexts, "contexts", 0, struct kubeconfig_named_context, &named_context_type),
    F_ONE(C, current_context, "current-context", 0, STR),
};
static const struct type config_type = TYPE("Config", C, config_fields);
#undef C

/* --- lifecycle and lookup --------------------------------------------------------------------- */

void kubeconfig_init(struct kubeconfig *kc)
{
    *kc = (struct kubeconfig){0};
    arena_init(&kc->arena, 0);
}

void kubeconfig_release(struct kubeconfig *kc)
{
    vec_release(&kc->clusters);
    vec_release(&kc->users);
    vec_release(&kc->contexts);
    arena_release(&kc->arena);
}

/* The three lists differ only in their type. */
#define FIND(list, wanted)                      \
    for (size_t i = 0; i < (list).n; i++)       \
        if (str_eq((list).v[i].name, (wanted))) \
            return &(list).v[i];                \
    return NULL

const struct kubeconfig_named_cluster *kubeconfig_cluster(const struct kubeconfig *kc,
                                                          struct str name)
{
    FIND(kc->clusters, name);
}

const struct kubeconfig_named_user *kubeconfig_user(const struct kubeconfig *kc, struct str name)
{
    FIND(kc->users, name);
}

const struct kubeconfig_named_context *kubeconfig_context(const struct kubeconfig *kc,
                                                          struct str name)
{
    FIND(kc->contexts, name);
}

/* --- merging ---------------------------------------------------------------------------------- */

/* Makes a file name absolute, relative to the directory of its kubeconfig. */
static void resolve(struct kubeconfig *kc, const char *origin, struct str *path)
{
    const char *slash = strrchr(origin, '/');
    struct str dir = slash ? (struct str){origin, (size_t)(slash - origin)} : STR(".");

    if (str_empty(*path))
        return;
    /* Always a copy, since open() needs a terminating NUL. */
    if (path->p[0] == '/')
        *path = arena_dup(&kc->arena, *path);
    else
        *path = arena_printf(&kc->arena, "%.*s/%.*s", STR_ARG(dir), STR_ARG(*path));
}

/* A name must be unique within a file; of two files, the first one counts. */
static int duplicate(const char *origin, const char *what, struct str name, struct err *reterr)
{
    return err_set(reterr, -EINVAL, "%s: %s: duplicate name \"%.*s\"", origin, what, STR_ARG(name));
}

enum seen { SEEN_NEVER, SEEN_BEFORE, SEEN_IN_THIS_FILE };

/* Where a name was seen, so that n entries take n lookups. */
struct names {
    struct map by_name; /* → &earlier or &here */
    char earlier, here;
};

static enum seen names_add(struct names *names, struct str name)
{
    const char *was = map_get(&names->by_name, name);

    if (was == &names->here)
        return SEEN_IN_THIS_FILE;
    map_put(&names->by_name, name, &names->here);
    return was ? SEEN_BEFORE : SEEN_NEVER;
}

#define NAMES_OF(names, list)             \
    for (size_t i = 0; i < (list).n; i++) \
    map_put(&(names)->by_name, (list).v[i].name, &(names)->earlier)

static int merge_clusters(struct kubeconfig *kc, struct config_file *file, const char *origin,
                          struct err *reterr)
{
    struct names names = {0};
    int r = 0;

    NAMES_OF(&names, kc->clusters);
    for (size_t i = 0; i < file->clusters.n && r == 0; i++) {
        struct kubeconfig_named_cluster *entry = &file->clusters.v[i];
        enum seen seen = names_add(&names, entry->name);

        if (seen == SEEN_IN_THIS_FILE)
            r = duplicate(origin, "clusters", entry->name, reterr);
        if (seen != SEEN_NEVER)
            continue;
        entry->origin = origin;
        resolve(kc, origin, &entry->cluster.certificate_authority);
        vec_push(&kc->clusters, *entry);
    }
    map_release(&names.by_name);
    return r;
}

static int merge_users(struct kubeconfig *kc, struct config_file *file, const char *origin,
                       struct err *reterr)
{
    struct names names = {0};
    int r = 0;

    NAMES_OF(&names, kc->users);
    for (size_t i = 0; i < file->users.n && r == 0; i++) {
        struct kubeconfig_named_user *entry = &file->users.v[i];
        enum seen seen = names_add(&names, entry->name);

        if (seen == SEEN_IN_THIS_FILE)
            r = duplicate(origin, "users", entry->name, reterr);
        if (seen != SEEN_NEVER)
            continue;
        entry->origin = origin;
        resolve(kc, origin, &entry->user.client_certificate);
        resolve(kc, origin, &entry->user.client_key);
        resolve(kc, origin, &entry->user.token_file);
        /* A command with a slash is relative to the kubeconfig; others are searched in $PATH. */
        if (entry->user.exec &&
            str_find(entry->user.exec->command, '/') < entry->user.exec->command.n)
            resolve(kc, origin, &entry->user.exec->command);
        vec_push(&kc->users, *entry);
    }
    map_release(&names.by_name);
    return r;
}

static int merge_contexts(struct kubeconfig *kc, struct config_file *file, const char *origin,
                          struct err *reterr)
{
    struct names names = {0};
    int r = 0;

    NAMES_OF(&names, kc->contexts);
    for (size_t i = 0; i < file->contexts.n && r == 0; i++) {
        struct kubeconfig_named_context *entry = &file->contexts.v[i];
        enum seen seen = names_add(&names, entry->name);

        if (seen == SEEN_IN_THIS_FILE)
            r = duplicate(origin, "contexts", entry->name, reterr);
        if (seen != SEEN_NEVER)
            continue;
        entry->origin = origin;
        vec_push(&kc->contexts, *entry);
    }
    map_release(&names.by_name);
    return r;
}

static int check_kind(const struct config_file *file, const char *origin, struct err *reterr)
{
    if (!str_empty(file->kind) && !str_is(file->kind, "Config"))
        return err_set(reterr, -EINVAL, "%s: kind: \"%.*s\" is not a kubeconfig (expected Config)",
                       origin, STR_ARG(file->kind));
    if (!str_empty(file->api_version) && !str_is(file->api_version, "v1"))
        return err_set(reterr, -EINVAL, "%s: apiVersion: \"%.*s\" is not supported (expected v1)",
                       origin, STR_ARG(file->api_version));
    if (file->clusters.n + file->users.n + file->contexts.n > KUBECONFIG_MAX_ENTRIES)
        return err_set(reterr, -EFBIG, "%s: more than %d entries", origin, KUBECONFIG_MAX_ENTRIES);
    return 0;
}

int kubeconfig_merge_text(struct kubeconfig *kc, struct str text, const char *origin,
                          struct err *reterr)
{
    struct config_file file = {0};
    struct json_value *docs = NULL;
    size_t n = 0;
    int r;

    origin = arena_dup(&kc->arena, str_of(origin)).p;
    r = yaml_parse(text, 0, &kc->arena, &docs, &n, reterr);
    /* As in client-go, only the first document counts; an empty file is an empty configuration. */
    if (r == 0 && n > 0 && docs[0].kind != JSON_NULL)
        r = json_value_decode(&docs[0], &config_type, 0, &kc->arena, &file, reterr);
    if (r < 0)
        return err_prefix(reterr, r, "%s", origin);
    r = check_kind(&file, origin, reterr);
    if (r == 0)
        r = merge_clusters(kc, &file, origin, reterr);
    if (r == 0)
        r = merge_users(kc, &file, origin, reterr);
    if (r == 0)
        r = merge_contexts(kc, &file, origin, reterr);
    if (r < 0)
        return r;
    if (str_empty(kc->current_context) && !str_empty(file.current_context)) {
        kc->current_context = file.current_context;
        kc->current_context_origin = origin;
    }
    kc->n_files++;
    return 0;
}

int kubeconfig_merge_file(struct kubeconfig *kc, const char *path, struct err *reterr)
{
    struct buf text = BUF_INIT;
    int r = file_read(path, KUBECONFIG_MAX_BYTES, &text, reterr);

    if (r == 0)
        r = kubeconfig_merge_text(kc, buf_str(&text), path, reterr);
    if (r == 0 && log_on(6)) {
        buf_clear(&text);
        buf_add_printf(&text, "Config loaded from file:  %s", path);
        log_plain(6, buf_cstr(&text));
    }
    buf_release(&text);
    return r;
}

int kubeconfig_merge_list(struct kubeconfig *kc, const char *list, struct err *reterr)
{
    struct str rest = str_of(list), head;
    size_t n = 0;

    while (str_split(&rest, ':', &head)) {
        char *path;
        int r;

        if (str_empty(head))
            continue;
        if (n++ >= KUBECONFIG_MAX_FILES)
            return err_set(reterr, -E2BIG, "KUBECONFIG: more than %d files", KUBECONFIG_MAX_FILES);
        path = str_dup(head);
        r = kubeconfig_merge_file(kc, path, reterr);
        free(path);
        if (r < 0 && r != -ENOENT)
            return r;
    }
    return 0;
}
