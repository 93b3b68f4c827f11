/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/scheduler_instance.h"

#include "base/log.h"
#include "base/rand.h"
#include "cmd/config/config_file.h"
#include "cmd/scheduler/metrics_flags.h"
#include "cmd/scheduler/scheduler.h"

/* --- configuration ---------------------------------------------------------------------------- */

int scheduler_instance_load(struct scheduler_instance *s, struct err *reterr)
{
    struct loaded_plugins *plugins;
    int r = loaded_plugins_new(&s->options->plugins.sources, NULL, &plugins, reterr);
    if (r < 0)
        return r;
    r = loaded_config_new(s->options, plugins, &s->loaded, reterr);
    loaded_plugins_unref(plugins);
    if (r < 0)
        return r;
    s->config = &s->loaded->config;
    s->registry = &s->loaded->plugins->registry;
    return 0;
}

/* Logs the lines of `berth config validate`, then upstream's error: all problems in one line. */
static void fail_as_upstream(const struct scheduler_instance *s, const struct buf *lines)
{
    struct str rest = buf_str(lines), line;
    struct buf text = BUF_INIT, why = BUF_INIT;
    while (rest.n && str_split(&rest, '\n', &line))
        log_error("Invalid configuration", KV_STR("problem", line));
    if (s->config->file)
        buf_add_printf(&text, "%s: ", s->config->file);
    (void)config_check_text(s->config, s->registry, &s->features, &why);
    buf_add_str(&text, buf_str(&why));
    scheduler_fail(s->options, buf_cstr(&text));
    buf_release(&text);
    buf_release(&why);
}

bool scheduler_instance_check(const struct scheduler_instance *s)
{
    struct buf lines = BUF_INIT;
    bool good = config_file_check(s->config, s->registry, &s->features, &lines);
    if (!good && s->options->as_upstream)
        fail_as_upstream(s, &lines);
    else
        config_file_print(&lines);
    buf_release(&lines);
    return good;
}

/* --- the API server --------------------------------------------------------------------------- */

static int connect_as(struct scheduler_instance *s, struct kube_config_options options,
                      struct err *reterr)
{
    options.content_type = s->config->client_connection.content_type;
    options.accept_content_types = s->config->client_connection.accept_content_types;
    return kube_config_load(&s->kube, &options, reterr);
}

int scheduler_instance_connect(struct scheduler_instance *s, struct err *reterr)
{
    const struct client_connection_config *c = &s->config->client_connection;
    char *kubeconfig = str_dup(c->kubeconfig);
    int r = connect_as(s,
                       (struct kube_config_options){.kubeconfig = kubeconfig,
                                                    .master = s->options->master,
                                                    .qps = c->qps,
                                                    .burst = c->burst},
                       reterr);
    free(kubeconfig);
    return r;
}

int scheduler_instance_connect_to(struct scheduler_instance *s, const char *kubeconfig,
                                  struct err *reterr)
{
    return connect_as(s, (struct kube_config_options){.kubeconfig = kubeconfig}, reterr);
}

/* --- callbacks -------------------------------------------------------------------------------- */

static void on_lost(void *ctx)
{
    const struct scheduler_instance *s = ctx;
    s->on_lost(s->ctx);
}

static void on_stopped(void *ctx)
{
    const struct scheduler_instance *s = ctx;
    s->on_stopped(s->ctx);
}

static void on_reloaded(void *ctx, void *owner, const struct reload_result *result,
                        const struct err *err)
{
    struct scheduler_instance *s = ctx;
    reloader_on_reloaded(s->reloader, owner, result, err);
}

static void on_retired(void *ctx, void *owner)
{
    struct scheduler_instance *s = ctx;
    reloader_on_retired(s->reloader, owner);
}

static const struct world_callbacks world_callbacks = {
    .on_lost = on_lost,
    .on_stopped = on_stopped,
    .on_reloaded = on_reloaded,
    .on_retired = on_retired,
};

static void on_config(void *ctx, const struct loaded_config *loaded)
{
    struct scheduler_instance *s = ctx;
    s->config = &loaded->config;
    s->registry = &loaded->plugins->registry;
    if (s->on_config)
        s->on_config(s->ctx);
}

/* --- start and end ---------------------------------------------------------------------------- */

/* For EBSLimits and the like; 0: not set. */
static int64_t max_pd_volumes(void)
{
    static const char name[] = "KUBE_MAX_PD_VOLS";
    const char *text = getenv(name);
    int64_t max = 0;
    if (!text || !text[0])
        return 0;
    if (str_to_i64(str_of(text), &max) && max > 0)
        return max;
    log_error("Unable to parse maximum PD volumes value, using default", KV_CSTR(name, text));
    return 0;
}

static void start_reloader(struct scheduler_instance *s, struct loop *loop)
{
    struct reload_parts parts = {
        .loop = loop,
        .options = s->options,
        .features = &s->features,
        .metrics = s->metrics,
        .world = s->world,
        .on_config = on_config,
        .ctx = s,
    };
    s->reloader = reloader_new(&parts, s->loaded);
    s->loaded = NULL;
    reloader_start(s->reloader);
}

int scheduler_instance_start(struct scheduler_instance *s, struct loop *loop, struct err *reterr)
{
    s->metrics = metrics_of_flags(s->options, &s->features);
    struct world_options world = {
        .loop = loop,
        .kube = &s->kube,
        .config = s->config,
        .registry = s->registry,
        .owner = s->loaded,
        .features = &s->features,
        .version = &KUBE_GIT_VERSION[1], /* without the v */
        .seed = rand_entropy(),
        .max_in_unschedulable = s->options->deprecated.max_in_unschedulable,
        .max_pd_volumes = max_pd_volumes(),
        .plugin_call_limit = s->options->plugin_call_limit,
        .metrics = s->metrics,
    };
    int r = world_new(&world, &world_callbacks, s, &s->world, reterr);
    if (r == 0)
        start_reloader(s, loop);
    return r;
}

void scheduler_instance_end(struct scheduler_instance *s)
{
    s->world = world_free(s->world);
    if (s->reloader)
        reloader_stop(s->reloader);
}

void scheduler_instance_release(struct scheduler_instance *s)
{
    metrics_free(s->metrics);
    kube_config_release(&s->kube);
    reloader_free(s->reloader);
    loaded_config_unref(s->loaded);
}
