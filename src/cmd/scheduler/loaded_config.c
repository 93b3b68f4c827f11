/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/loaded_config.h"

#include <sys/stat.h>

#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/config/config_file.h"
#include "cmd/scheduler/scheduler_retired.h"
#include "codec/json.h"
#include "kube/file.h"

/* --- flags ------------------------------------------------------------------------------------ */

/* Flags on the command line override the file. */
static void apply_leader_flags(const struct scheduler_options *o, struct leader_election_config *le)
{
    const struct leader_election_flags *flags = &o->leader;
    if (scheduler_options_given(o, "leader-elect"))
        *le->leader_elect = flags->elect;
    if (scheduler_options_given(o, "leader-elect-lease-duration"))
        le->lease_duration = flags->lease_duration;
    if (scheduler_options_given(o, "leader-elect-renew-deadline"))
        le->renew_deadline = flags->renew_deadline;
    if (scheduler_options_given(o, "leader-elect-retry-period"))
        le->retry_period = flags->retry_period;
    if (scheduler_options_given(o, "leader-elect-resource-lock"))
        le->resource_lock = str_of(flags->lock);
    if (scheduler_options_given(o, "leader-elect-resource-name"))
        le->resource_name = str_of(flags->name);
    if (scheduler_options_given(o, "leader-elect-resource-namespace"))
        le->resource_namespace = str_of(flags->namespace);
}

/* Ignored if there is a file. */
static void apply_deprecated_flags(const struct scheduler_options *o,
                                   struct scheduler_config *config)
{
    const struct deprecated_flags *flags = &o->deprecated;
    struct client_connection_config *connection = &config->client_connection;
    if (scheduler_options_given(o, "profiling"))
        *config->enable_profiling = flags->profiling;
    if (scheduler_options_given(o, "contention-profiling"))
        *config->enable_contention_profiling = flags->contention_profiling;
    if (scheduler_options_given(o, "kubeconfig"))
        connection->kubeconfig = str_of(flags->kubeconfig);
    if (scheduler_options_given(o, "kube-api-content-type"))
        connection->content_type = str_of(flags->content_type);
    if (scheduler_options_given(o, "kube-api-qps"))
        connection->qps = (double)flags->qps;
    if (scheduler_options_given(o, "kube-api-burst"))
        connection->burst = flags->burst;
}

/* --- loading ---------------------------------------------------------------------------------- */

bool loaded_config_is_stream(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

size_t loaded_config_files(const struct scheduler_options *o,
                           const char *ret_paths[static LOADED_CONFIG_FILES])
{
    const struct retired_flags *flags = &o->retired;
    bool from_map = *flags->policy_configmap && !flags->use_legacy_policy_config;
    size_t n = 0;
    if (strcmp(o->config_file, "-") == 0 || from_map)
        return 0;
    if (*o->config_file)
        ret_paths[n++] = o->config_path;
    if (*flags->policy_config_file)
        ret_paths[n++] = flags->policy_config_file;
    for (size_t i = 0; i < n; i++)
        if (loaded_config_is_stream(ret_paths[i]))
            return 0;
    return n;
}

int loaded_config_read(const struct scheduler_options *o, struct buf *out, struct err *reterr)
{
    const char *paths[LOADED_CONFIG_FILES];
    size_t n = loaded_config_files(o, paths);
    int r = 0;
    for (size_t i = 0; r == 0 && i < n; i++)
        r = file_read(paths[i], CMD_MAX_FILE, out, reterr);
    return r;
}

/* Without a file, upstream reports an invalid lock when it creates it, with other texts. */
static int check_lock(const struct leader_election_config *le, struct err *reterr)
{
    static const char *const removed[] = {"endpoints", "configmaps", "endpointsleases"};
    struct str lock = le->resource_lock;
    if (!*le->leader_elect || str_is(lock, "leases"))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(removed); i++)
        if (str_is(lock, removed[i]))
            return err_set(reterr, -EINVAL,
                           "couldn't create resource lock: %s lock is removed, migrate to leases",
                           removed[i]);
    if (str_is(lock, "configmapsleases"))
        return err_set(reterr, -EINVAL,
                       "couldn't create resource lock: configmapsleases lock is removed, migrated "
                       "to leases");
    return err_set(reterr, -EINVAL, "couldn't create resource lock: Invalid lock-type %.*s",
                   STR_ARG(lock));
}

/* Errors are ignored here: loading the configuration reports them. */
static struct str read_source(const struct scheduler_options *o, struct arena *a)
{
    struct buf bytes = BUF_INIT;
    struct str source = STR("");
    if (loaded_config_read(o, &bytes, NULL) == 0)
        source = arena_dup(a, buf_str(&bytes));
    buf_release(&bytes);
    return source;
}

static int load(const struct scheduler_options *o, const struct loaded_plugins *previous,
                struct loaded_config *l, struct err *reterr)
{
    int r = 0;
    l->source = read_source(o, &l->arena);
    if (*o->config_file) {
        r = config_file_load(o->config_file, &l->arena, &l->config, reterr);
    } else {
        config_default(&l->config, &l->arena);
        apply_deprecated_flags(o, &l->config);
    }
    if (r == 0)
        r = retired_apply(o, &l->arena, &l->config, reterr);
    if (r == 0)
        r = loaded_plugins_add_guests(&l->plugins, &l->config, previous, reterr);
    if (r == 0)
        apply_leader_flags(o, &l->config.leader_election);
    if (r == 0 && !*o->config_file)
        r = check_lock(&l->config.leader_election, reterr);
    return r;
}

static struct loaded_config *make(struct loaded_plugins *plugins)
{
    struct loaded_config *l = xnew(struct loaded_config);
    l->refs = 1;
    l->plugins = loaded_plugins_ref(plugins);
    arena_init(&l->arena, 4096);
    return l;
}

int loaded_config_new(const struct scheduler_options *options, struct loaded_plugins *plugins,
                      struct loaded_config **ret_loaded, struct err *reterr)
{
    struct loaded_config *l = make(loaded_plugins_without_guests(plugins));
    int r = load(options, plugins, l, reterr);
    if (r < 0)
        loaded_config_unref(l);
    else
        *ret_loaded = l;
    return r;
}

int loaded_config_with(struct loaded_config *loaded, struct loaded_plugins *plugins,
                       struct loaded_config **ret_loaded, struct err *reterr)
{
    struct loaded_config *l = make(plugins);
    l->base = loaded->base ? loaded->base : loaded;
    l->base->refs++;
    l->config = loaded->config;
    l->source = loaded->source;
    int r = loaded_plugins_add_guests(&l->plugins, &l->config, loaded->plugins, reterr);
    if (r < 0)
        loaded_config_unref(l);
    else
        *ret_loaded = l;
    return r;
}

struct loaded_config *loaded_config_unref(struct loaded_config *l)
{
    if (!l || --l->refs)
        return NULL;
    loaded_config_unref(l->base);
    loaded_plugins_unref(l->plugins);
    arena_release(&l->arena);
    free(l);
    return NULL;
}

/* --- fields that need a restart --------------------------------------------------------------- */

/* Fields that are read only when the scheduler starts. */
static const char *const fixed[] = {"clientConnection", "leaderElection", "enableProfiling",
                                    "enableContentionProfiling", "delayCacheUntilActive"};

struct comparison {
    struct arena arena;
    loaded_config_fn *fn;
    void *ctx;
};

static struct str text_of(struct comparison *c, const struct json_value *v)
{
    struct buf text = BUF_INIT;
    if (!v)
        return STR("");
    if (v->kind == JSON_STRING)
        return v->text;
    json_write(v, &text);
    struct str copy = arena_dup(&c->arena, buf_str(&text));
    buf_release(&text);
    return copy;
}

static void compare(struct comparison *c, struct str path, const struct json_value *running,
                    const struct json_value *loaded);

/* Compares the union of the members. */
static void compare_members(struct comparison *c, struct str path, const struct json_value *running,
                            const struct json_value *loaded)
{
    for (size_t i = 0; running && i < running->n_members; i++) {
        struct str key = running->members[i].key;
        compare(c, arena_printf(&c->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(key)),
                &running->members[i].value, loaded ? json_get(loaded, key) : NULL);
    }
    for (size_t i = 0; loaded && i < loaded->n_members; i++) {
        struct str key = loaded->members[i].key;
        if (!running || !json_get(running, key))
            compare(c, arena_printf(&c->arena, "%.*s.%.*s", STR_ARG(path), STR_ARG(key)), NULL,
                    &loaded->members[i].value);
    }
}

static void compare(struct comparison *c, struct str path, const struct json_value *running,
                    const struct json_value *loaded)
{
    const struct json_value *any = running ? running : loaded;
    if (!any)
        return;
    if (any->kind == JSON_OBJECT)
        compare_members(c, path, running, loaded);
    else if (!running || !loaded || !json_value_equal(running, loaded))
        c->fn(c->ctx, path, text_of(c, running), text_of(c, loaded));
}

static int tree_of(struct comparison *c, const struct scheduler_config *config,
                   struct json_value *ret_tree)
{
    struct buf text = BUF_INIT;
    json_encode(&scheduler_config_type, config, &text);
    int r = json_parse(arena_dup(&c->arena, buf_str(&text)), 0, &c->arena, ret_tree, NULL);
    buf_release(&text);
    return r;
}

static void report_differences(const struct scheduler_config *running,
                               const struct scheduler_config *loaded, loaded_config_fn *fn,
                               void *ctx)
{
    struct comparison c = {.fn = fn, .ctx = ctx};
    struct json_value a, b;
    arena_init(&c.arena, 0);
    if (tree_of(&c, running, &a) == 0 && tree_of(&c, loaded, &b) == 0)
        for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
            compare(&c, str_of(fixed[i]), json_get(&a, str_of(fixed[i])),
                    json_get(&b, str_of(fixed[i])));
    arena_release(&c.arena);
}

static bool *copy_bool(struct arena *a, const bool *value)
{
    bool *copy = value ? arena_new(a, bool) : NULL;
    if (copy)
        *copy = *value;
    return copy;
}

void loaded_config_keep_fixed(struct loaded_config *l, const struct scheduler_config *running,
                              loaded_config_fn *fn, void *ctx)
{
    struct arena *a = &l->arena;
    struct scheduler_config *to = &l->config;
    struct client_connection_config *c = &to->client_connection;
    struct leader_election_config *le = &to->leader_election;
    report_differences(running, to, fn, ctx);
    *c = running->client_connection;
    c->kubeconfig = arena_dup(a, c->kubeconfig);
    c->accept_content_types = arena_dup(a, c->accept_content_types);
    c->content_type = arena_dup(a, c->content_type);
    *le = running->leader_election;
    le->leader_elect = copy_bool(a, le->leader_elect);
    le->resource_lock = arena_dup(a, le->resource_lock);
    le->resource_name = arena_dup(a, le->resource_name);
    le->resource_namespace = arena_dup(a, le->resource_namespace);
    to->enable_profiling = copy_bool(a, running->enable_profiling);
    to->enable_contention_profiling = copy_bool(a, running->enable_contention_profiling);
    to->delay_cache_until_active = running->delay_cache_until_active;
}
