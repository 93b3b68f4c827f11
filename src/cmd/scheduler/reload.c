/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/reload.h"

#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "cmd/config/config_diff.h"
#include "cmd/config/config_file.h"
#include "kube/file.h"

#define INTERVAL NSEC_PER_SEC

struct reloader {
    struct reload_parts parts;
    const char *paths[LOADED_CONFIG_FILES];
    size_t n_paths;                  /* 0: the configuration cannot be reloaded */
    struct loaded_config *running;   /* the latest that the world has taken over */
    struct loaded_config *latest;    /* the latest passed to it; running if it was refused */
    VEC(struct loaded_config *) all; /* in use by the world, or passed to it */
    struct loop_timer timer;
    struct file_stamp seen[LOADED_CONFIG_FILES]; /* at the last check */
    bool changed;                                /* since they were read last */
    uint64_t plugins_seen;                       /* their stamp at the last check */
    bool plugins_changed;                        /* since they were loaded last */
    uint64_t guests_seen;                        /* stamp of the guests of latest */
    bool guests_changed;                         /* at the last check */
    bool stopped;
    struct buf tried; /* the bytes read last, valid or not */
    struct metric *succeeded, *refused, *last;
    struct metric *plugins_succeeded, *plugins_refused;
};

/* --- metrics ---------------------------------------------------------------------------------- */

static const struct metric_desc reloads_desc = {
    .name = "berth_config_reloads_total",
    .help = "Number of reloads of the configuration file, by result",
    .stability = "ALPHA",
    .kind = METRIC_COUNTER,
    .labels = {"result"},
};
static const struct metric_desc last_desc = {
    .name = "berth_config_last_reload_successful",
    .help = "Whether the last reload of the configuration file succeeded",
    .stability = "ALPHA",
    .kind = METRIC_GAUGE,
};

static const struct metric_desc plugin_reloads_desc = {
    .name = "berth_plugin_reloads_total",
    .help = "Number of reloads of plugins from shared objects, by result",
    .stability = "ALPHA",
    .kind = METRIC_COUNTER,
    .labels = {"result"},
};

static void make_metrics(struct reloader *r)
{
    static const struct str success = STR_INIT("success"), refused = STR_INIT("refused");
    struct metrics *m = r->parts.metrics;
    if (!m)
        return;
    struct metric_family *reloads = metrics_add(m, &reloads_desc);
    r->succeeded = metric_with(reloads, &success);
    r->refused = metric_with(reloads, &refused);
    r->last = metric_with(metrics_add(m, &last_desc), NULL);
    metric_set(r->last, 1);
    struct metric_family *plugins = metrics_add(m, &plugin_reloads_desc);
    r->plugins_succeeded = metric_with(plugins, &success);
    r->plugins_refused = metric_with(plugins, &refused);
}

static void count(struct reloader *r, bool success)
{
    if (!r->last)
        return;
    metric_add(success ? r->succeeded : r->refused, 1);
    metric_set(r->last, success);
}

static void count_plugins(struct reloader *r, bool success)
{
    if (r->last)
        metric_add(success ? r->plugins_succeeded : r->plugins_refused, 1);
}

/* --- results ---------------------------------------------------------------------------------- */

static void refuse_plugins(struct reloader *r, const char *why)
{
    count_plugins(r, false);
    log_error("Failed to reload plugins; keeping the current ones", KV_CSTR("err", why));
}

static void refuse(struct reloader *r, const char *why)
{
    count(r, false);
    log_error("Failed to reload the configuration; keeping the current one",
              KV_CSTR("file", r->paths[0]), KV_CSTR("err", why));
}

static void drop(struct reloader *r, struct loaded_config *l)
{
    for (size_t i = 0; i < r->all.n; i++)
        if (r->all.v[i] == l) {
            vec_swap_remove(&r->all, i);
            if (r->latest == l)
                r->latest = r->running;
            loaded_config_unref(l);
            return;
        }
}

static const struct plugin_file *file_of(const struct loaded_plugins *set, const char *path)
{
    for (size_t i = 0; i < set->files.n; i++)
        if (strcmp(set->files.v[i]->path, path) == 0)
            return set->files.v[i];
    return NULL;
}

static void log_plugins(const struct reloader *r, const struct loaded_plugins *now,
                        const struct reload_result *result)
{
    const struct loaded_plugins *before = loaded_plugins_without_guests(r->running->plugins);
    for (size_t i = 0; i < now->files.n; i++) {
        const struct plugin_file *old = file_of(before, now->files.v[i]->path);
        if (old != now->files.v[i])
            log_info(0, old ? "Plugin reloaded" : "Plugin loaded",
                     KV_CSTR("file", now->files.v[i]->path), KV_INT("podsMoved", result->moved));
    }
    for (size_t i = 0; i < before->files.n; i++)
        if (!file_of(now, before->files.v[i]->path))
            log_info(0, "Plugin removed", KV_CSTR("file", before->files.v[i]->path));
}

static void log_changes(const struct reloader *r, const struct scheduler_config *now,
                        const struct reload_result *result)
{
    const struct reload_parts *p = &r->parts;
    struct buf diff = BUF_INIT;
    config_diff(&r->running->config, now, &r->running->plugins->registry, p->features, false,
                &diff);
    log_info(0, "Configuration reloaded", KV_CSTR("file", r->paths[0]),
             KV_INT("podsMoved", result->moved), KV_INT("podsGone", result->gone),
             KV_INT("podsNew", result->come), KV_STR("changes", str_trim(buf_str(&diff))));
    buf_release(&diff);
}

void reloader_on_reloaded(struct reloader *r, void *owner, const struct reload_result *result,
                          const struct err *err)
{
    struct loaded_config *l = owner;
    bool other_config = !l->base;
    bool other_plugins = !loaded_plugins_eq(l->plugins, r->running->plugins);
    if (err) {
        if (other_plugins)
            refuse_plugins(r, err->msg);
        if (other_config)
            refuse(r, err->msg);
        drop(r, l);
        return;
    }
    if (other_plugins) {
        count_plugins(r, true);
        log_plugins(r, loaded_plugins_without_guests(l->plugins), result);
    }
    if (other_config) {
        count(r, true);
        log_changes(r, &l->config, result);
    }
    r->running = l;
    r->parts.on_config(r->parts.ctx, l);
}

void reloader_on_retired(struct reloader *r, void *owner)
{
    drop(r, owner);
}

/* --- loading ---------------------------------------------------------------------------------- */

static void warn_fixed(void *ctx, struct str field, struct str running, struct str loaded)
{
    const struct reloader *r = ctx;
    log_warning("Ignored a changed field: it takes effect only after a restart",
                KV_CSTR("file", r->paths[0]), KV_STR("field", field), KV_STR("inUse", running),
                KV_STR("inFile", loaded));
}

/* Joins all errors to one line. */
static bool is_good(const struct reloader *r, const struct loaded_config *l, struct buf *ret_why)
{
    struct buf lines = BUF_INIT;
    bool good = config_file_check(&l->config, &l->plugins->registry, r->parts.features, &lines);
    struct str rest = str_trim(buf_str(&lines));
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] == '\n')
            buf_add_cstr(ret_why, "; ");
        else
            buf_add_char(ret_why, rest.p[i]);
    buf_release(&lines);
    return good;
}

/* Takes over the reference. Returns false and sets *ret_why if it cannot be used. */
static bool use(struct reloader *r, struct loaded_config *l, struct buf *ret_why)
{
    struct err err;
    if (!is_good(r, l, ret_why)) {
        loaded_config_unref(l);
        return false;
    }
    if (!l->base)
        loaded_config_keep_fixed(l, &r->running->config, warn_fixed, r);
    vec_push(&r->all, l);
    if (world_reload(r->parts.world, &l->config, &l->plugins->registry, l, &err) < 0) {
        buf_add_cstr(ret_why, err.msg);
        drop(r, l);
        return false;
    }
    r->latest = l;
    r->guests_seen = loaded_plugins_guest_stamp(l->plugins);
    return true;
}

/* Reads the files into r->tried. Returns whether the bytes changed. */
static bool read_bytes(struct reloader *r)
{
    struct buf text = BUF_INIT;
    struct err err;
    if (loaded_config_read(r->parts.options, &text, &err) < 0)
        buf_clear(&text); /* load() reports the error */
    bool same = str_eq(buf_str(&text), buf_str(&r->tried));
    buf_release(&r->tried);
    r->tried = text;
    return !same;
}

/* The configuration of the files with these plugins. */
static bool load_config(struct reloader *r, struct loaded_plugins *plugins)
{
    struct loaded_config *l;
    struct buf why = BUF_INIT;
    struct err err = {0};
    bool used = false;
    for (size_t i = 0; i < r->n_paths; i++)
        if (loaded_config_is_stream(r->paths[i]))
            err_set(&err, -EINVAL, "%s: no longer a regular file", r->paths[i]);
    if (err.code < 0 || loaded_config_new(r->parts.options, plugins, &l, &err) < 0)
        buf_add_cstr(&why, err.msg);
    else
        used = use(r, l, &why);
    if (!used)
        refuse(r, buf_cstr(&why));
    buf_release(&why);
    return used;
}

/* Loads what has changed of the shared objects. Returns NULL if nothing has, or on failure. */
static struct loaded_plugins *load_plugins(struct reloader *r)
{
    const struct loaded_plugins *current = r->latest->plugins;
    struct loaded_plugins *set;
    struct err err;
    if (loaded_plugins_new(&r->parts.options->plugins.sources, current, &set, &err) < 0) {
        refuse_plugins(r, err.msg);
        return NULL;
    }
    return loaded_plugins_eq(set, current) ? loaded_plugins_unref(set) : set;
}

/*
 * A new configuration may need the new plugins and the other way round: they are tried together,
 * then the plugins with the current configuration.
 */
static void load(struct reloader *r, bool config, bool plugins)
{
    struct loaded_plugins *set = plugins ? load_plugins(r) : NULL;
    bool used = config && load_config(r, set ? set : r->latest->plugins);
    if (set && !used) {
        struct buf why = BUF_INIT;
        struct loaded_config *l;
        struct err err;
        if (loaded_config_with(r->latest, set, &l, &err) < 0)
            refuse_plugins(r, err.msg);
        else if (!use(r, l, &why))
            refuse_plugins(r, buf_cstr(&why));
        buf_release(&why);
    }
    loaded_plugins_unref(set);
}

/* --- watching --------------------------------------------------------------------------------- */

enum file_state { FILES_SAME, FILES_CHANGED, FILES_MISSING };

static enum file_state check_files(struct reloader *r)
{
    enum file_state state = FILES_SAME;
    for (size_t i = 0; i < r->n_paths; i++) {
        struct file_stamp stamp;
        if (file_stamp_of(r->paths[i], &stamp) < 0)
            return FILES_MISSING; /* being replaced; check again at the next tick */
        if (!file_stamp_eq(stamp, r->seen[i]))
            state = FILES_CHANGED;
        r->seen[i] = stamp;
    }
    return state;
}

/* Whether plugins have changed, and do not change any more. */
static bool plugins_settled(struct reloader *r)
{
    uint64_t stamp = plugin_sources_stamp(&r->parts.options->plugins.sources);
    bool same = stamp == r->plugins_seen;
    r->plugins_seen = stamp;
    if (!same)
        r->plugins_changed = true;
    return same && r->plugins_changed;
}

/* The same for the guests of the configuration, which are loaded with it. */
static bool guests_settled(struct reloader *r)
{
    uint64_t stamp = loaded_plugins_guest_stamp(r->latest->plugins);
    bool same = stamp == r->guests_seen, settled = same && r->guests_changed;
    r->guests_seen = stamp;
    r->guests_changed = !same;
    return settled;
}

/* Reads the files once they are unchanged for a whole interval: a writer may not be done. */
static void check(struct reloader *r)
{
    enum file_state state = r->n_paths ? check_files(r) : FILES_SAME;
    bool plugins = plugins_settled(r);
    bool guests = guests_settled(r);
    if (state == FILES_CHANGED)
        r->changed = true;
    bool config = state == FILES_SAME && r->changed;
    if (config)
        r->changed = false;
    if (plugins)
        r->plugins_changed = false;
    config = (config && read_bytes(r)) || (guests && state == FILES_SAME);
    /* A configuration that was refused may name a plugin that has come now. */
    bool again = plugins && r->n_paths && !str_eq(buf_str(&r->tried), r->latest->source);
    if (config || plugins)
        load(r, config || again, plugins);
}

void reloader_now(struct reloader *r)
{
    const struct plugin_sources *sources = &r->parts.options->plugins.sources;
    bool plugins = sources->files.n || sources->dirs.n;
    if (r->stopped)
        return;
    if (!r->n_paths && !plugins) {
        log_info(0, "Ignored SIGHUP: there is no configuration file to reload");
        return;
    }
    if (r->n_paths) {
        (void)check_files(r);
        r->changed = false;
        (void)read_bytes(r);
    }
    r->plugins_changed = false;
    load(r, r->n_paths > 0, plugins);
}

static void on_timer(struct loop_timer *timer)
{
    struct reloader *r = CONTAINER_OF(timer, struct reloader, timer);
    check(r);
    loop_timer_set(timer, r->parts.interval);
}

/* --- making and ending ------------------------------------------------------------------------ */

struct reloader *reloader_new(const struct reload_parts *parts, struct loaded_config *running)
{
    struct reloader *r = xnew(struct reloader);
    r->parts = *parts;
    if (!r->parts.interval)
        r->parts.interval = INTERVAL;
    r->n_paths = loaded_config_files(parts->options, r->paths);
    r->running = r->latest = running;
    vec_push(&r->all, running);
    loop_timer_init(&r->timer, parts->loop, on_timer);
    make_metrics(r);
    buf_add_str(&r->tried, running->source);
    /* The stamps at the time of reading are not known: the first check compares the bytes. */
    r->changed = true;
    r->plugins_changed = true;
    r->guests_seen = loaded_plugins_guest_stamp(running->plugins);
    return r;
}

void reloader_start(struct reloader *r)
{
    const struct plugin_sources *sources = &r->parts.options->plugins.sources;
    if (r->n_paths || sources->files.n || sources->dirs.n)
        loop_timer_set(&r->timer, r->parts.interval);
}

void reloader_stop(struct reloader *r)
{
    r->stopped = true;
    loop_timer_stop(&r->timer);
}

struct reloader *reloader_free(struct reloader *r)
{
    if (!r)
        return NULL;
    for (size_t i = 0; i < r->all.n; i++)
        loaded_config_unref(r->all.v[i]);
    vec_release(&r->all);
    buf_release(&r->tried);
    free(r);
    return NULL;
}
