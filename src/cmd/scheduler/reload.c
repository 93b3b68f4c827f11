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
    VEC(struct loaded_config *) all; /* in use by the world, or passed to it */
    struct loop_timer timer;
    struct file_stamp seen[LOADED_CONFIG_FILES]; /* at the last check */
    bool changed;                                /* since they were read last */
    bool stopped;
    struct buf tried; /* the bytes read last, valid or not */
    struct metric *succeeded, *refused, *last;
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
}

static void count(struct reloader *r, bool success)
{
    if (!r->last)
        return;
    metric_add(success ? r->succeeded : r->refused, 1);
    metric_set(r->last, success);
}

/* --- results ---------------------------------------------------------------------------------- */

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
            loaded_config_free(l);
            return;
        }
}

static void log_changes(const struct reloader *r, const struct scheduler_config *now,
                        const struct reload_result *result)
{
    const struct reload_parts *p = &r->parts;
    struct buf diff = BUF_INIT;
    config_diff(&r->running->config, now, p->registry, p->features, false, &diff);
    log_info(0, "Configuration reloaded", KV_CSTR("file", r->paths[0]),
             KV_INT("podsMoved", result->moved), KV_INT("podsGone", result->gone),
             KV_INT("podsNew", result->come), KV_STR("changes", str_trim(buf_str(&diff))));
    buf_release(&diff);
}

void reloader_on_reloaded(struct reloader *r, void *owner, const struct reload_result *result,
                          const struct err *err)
{
    struct loaded_config *l = owner;
    if (err) {
        refuse(r, err->msg);
        drop(r, l);
        return;
    }
    count(r, true);
    log_changes(r, &l->config, result);
    r->running = l;
    r->parts.on_config(r->parts.ctx, &l->config);
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
static bool is_good(const struct reloader *r, const struct scheduler_config *config,
                    struct buf *ret_why)
{
    const struct reload_parts *p = &r->parts;
    struct buf lines = BUF_INIT;
    bool good = config_file_check(config, p->registry, p->features, &lines);
    struct str rest = str_trim(buf_str(&lines));
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] == '\n')
            buf_add_cstr(ret_why, "; ");
        else
            buf_add_char(ret_why, rest.p[i]);
    buf_release(&lines);
    return good;
}

static void use(struct reloader *r, struct loaded_config *l)
{
    struct buf why = BUF_INIT;
    struct err err;
    bool good = is_good(r, &l->config, &why);
    if (good) {
        loaded_config_keep_fixed(l, &r->running->config, warn_fixed, r);
        vec_push(&r->all, l);
        if (world_reload(r->parts.world, &l->config, l, &err) < 0) {
            refuse(r, err.msg);
            drop(r, l);
        }
    } else {
        refuse(r, buf_cstr(&why));
        loaded_config_free(l);
    }
    buf_release(&why);
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

static void load(struct reloader *r)
{
    struct loaded_config *l;
    struct err err = {0};
    for (size_t i = 0; i < r->n_paths; i++)
        if (loaded_config_is_stream(r->paths[i]))
            err_set(&err, -EINVAL, "%s: no longer a regular file", r->paths[i]);
    if (err.code < 0 || loaded_config_new(r->parts.options, &l, &err) < 0)
        refuse(r, err.msg);
    else
        use(r, l);
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

/* Reads the files once they are unchanged for a whole interval: a writer may not be done. */
static void check(struct reloader *r)
{
    enum file_state state = check_files(r);
    if (state == FILES_CHANGED)
        r->changed = true;
    if (state != FILES_SAME || !r->changed)
        return;
    r->changed = false;
    if (read_bytes(r))
        load(r);
}

void reloader_now(struct reloader *r)
{
    if (r->stopped)
        return;
    if (!r->n_paths) {
        log_info(0, "Ignored SIGHUP: there is no configuration file to reload");
        return;
    }
    (void)check_files(r);
    r->changed = false;
    (void)read_bytes(r);
    load(r);
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
    r->running = running;
    vec_push(&r->all, running);
    loop_timer_init(&r->timer, parts->loop, on_timer);
    make_metrics(r);
    buf_add_str(&r->tried, running->source);
    /* The stamps at the time of reading are not known: the first check compares the bytes. */
    r->changed = true;
    return r;
}

void reloader_start(struct reloader *r)
{
    if (r->n_paths)
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
        loaded_config_free(r->all.v[i]);
    vec_release(&r->all);
    buf_release(&r->tried);
    free(r);
    return NULL;
}
