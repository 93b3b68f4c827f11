/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of struct berth_host that are services of the framework. */
#include "engine/framework/plugin_arguments.h"
#include "engine/framework/plugin_metrics.h"
#include "engine/framework/shared_state.h"
#include "engine/host.h"
#include "engine/post.h"

/* --- log, reasons ----------------------------------------------------------------------------- */

#define MAX_KVS 16

bool host_log_enabled(struct berth_handle *h, int level)
{
    return engine_log_on(&h->framework->log, MAX(level, 0));
}

static struct log_kv log_kv_of(const struct berth_kv *kv, const char *key)
{
    switch (kv->kind) {
    case BERTH_VALUE_STRING:
        return KV_STR(key, str_abi(kv->str));
    case BERTH_VALUE_INT:
        return KV_INT(key, kv->i);
    case BERTH_VALUE_BOOL:
        return KV_BOOL(key, kv->i != 0);
    case BERTH_VALUE_DOUBLE:
        return KV_DOUBLE(key, kv->d);
    default:
        break;
    }
    if (kv->pod)
        return KV_META(key, &kv->pod->pod->metadata);
    if (kv->object)
        return KV_META(key, object_meta(object_of_abi(kv->object)));
    return KV_STR(key, STR(""));
}

/* Keys and values beyond MAX_KVS are dropped. */
void host_log(struct berth_handle *h, int level, struct berth_str message,
              const struct berth_kv *kv, size_t n)
{
    const struct engine_log *log = &h->framework->log;
    if (!host_log_enabled(h, level))
        return;
    struct arena arena;
    struct log_kv kvs[MAX_KVS + 1] = {KV_CSTR("plugin", h->plugin->name)};
    struct log_site site = {level < 0 ? LOG_ERROR : LOG_INFO, MAX(level, 0), __FILE__, __LINE__,
                            false};
    n = MIN(n, (size_t)MAX_KVS);
    arena_init(&arena, 0);
    for (size_t i = 0; i < n; i++)
        kvs[i + 1] = log_kv_of(&kv[i], arena_dup(&arena, str_abi(kv[i].key)).p);
    log->fn(log->ctx, &site, arena_dup(&arena, str_abi(message)).p, kvs, n + 1);
    arena_release(&arena);
}

berth_reason host_reason(struct berth_handle *h, struct berth_str text)
{
    return reasons_text(&h->framework->reasons, str_abi(text));
}

berth_reason host_reason_list(struct berth_handle *h, const berth_reason *reasons, size_t n)
{
    return reasons_list(&h->framework->reasons, reasons, n);
}

void host_status_text(struct berth_status *status, struct berth_str text)
{
    status_add_text(status, str_abi(text));
}

/* --- requests, timers ------------------------------------------------------------------------- */

uint64_t host_api_call(struct berth_handle *h, const struct berth_api_call *call,
                       berth_api_done_fn *done, void *ctx)
{
    struct framework *fw = h->framework;
    struct berth_api_call copy;
    HOST_COPY(copy, call);
    return plugin_calls_send(&fw->calls, &fw->ports, h, &copy, done, ctx);
}

uint64_t host_http_get(struct berth_handle *h, const struct berth_http_get *get,
                       berth_http_done_fn *done, void *ctx)
{
    struct framework *fw = h->framework;
    struct berth_http_get copy;
    HOST_COPY(copy, get);
    return plugin_calls_get(&fw->calls, &fw->ports, h, &copy, done, ctx);
}

void host_api_forget(struct berth_handle *h, uint64_t id)
{
    plugin_calls_cancel_request(&h->framework->calls, id);
}

int64_t host_now(const struct berth_handle *h)
{
    return framework_now(h->framework);
}

uint64_t host_timer(struct berth_handle *h, int64_t delay_ns, berth_fn *fn, void *ctx)
{
    struct framework *fw = h->framework;
    int64_t at;
    if (__builtin_add_overflow(framework_now(fw), MAX(delay_ns, 0), &at))
        at = INT64_MAX;
    return plugin_calls_add_timer(&fw->calls, h, at, fn, ctx);
}

void host_timer_cancel(struct berth_handle *h, uint64_t id)
{
    plugin_calls_cancel_timer(&h->framework->calls, id);
}

/* --- events, shared state, threads ------------------------------------------------------------ */

void host_event(struct berth_handle *h, const struct berth_event *event)
{
    struct berth_event e;
    HOST_COPY(e, event);
    struct write write = {.kind = WRITE_EVENT,
                          .reason = str_abi(e.reason),
                          .action = str_abi(e.action),
                          .message = str_abi(e.note),
                          .warning = e.warning};
    if (e.pod)
        write.object = e.pod->object;
    else if (e.object)
        write.object = (struct object *)(uintptr_t)e.object;
    else
        return;
    if (e.related)
        write.related = (struct object *)(uintptr_t)e.related;
    if (object_kind(write.object)->id == KIND_POD)
        write.scheduler_name = object_pod(write.object)->spec.scheduler_name;
    else if (h->profile)
        write.scheduler_name = h->profile->scheduler_name;
    framework_submit(h->framework, &write);
}

void *host_shared(struct berth_handle *h, const struct berth_shared_type *type)
{
    return shared_state_get(h, type);
}

void host_post(struct berth_handle *h, berth_fn *fn, void *ctx)
{
    engine_post_fn(h->framework, h, fn, ctx);
}

struct parallel_loop {
    void (*fn)(void *ctx, size_t begin, size_t end);
    void *ctx;
};

static void run_piece(void *ctx, size_t worker, size_t from, size_t to)
{
    (void)worker;
    const struct parallel_loop *loop = ctx;
    loop->fn(loop->ctx, from, to);
}

/* Pieces are small enough for threads of different speed, and not smaller than is worth a call. */
#define PARALLEL_PIECE 64

void host_parallel(struct berth_handle *h, size_t n,
                   void (*fn)(void *ctx, size_t begin, size_t end), void *ctx)
{
    struct parallel_loop loop = {fn, ctx};
    struct pool *pool = h->framework->ports.pool;
    if (!n)
        return;
    if (pool)
        pool_run(pool, n, PARALLEL_PIECE, run_piece, &loop);
    else
        fn(ctx, 0, n);
}

/* --- arguments, metrics ----------------------------------------------------------------------- */

int host_args(struct berth_handle *h, struct berth_str args, const struct berth_arg *table,
              void *ret_args, struct berth_error *error)
{
    struct err err;
    int r = plugin_arguments_read(str_abi(args), table, &h->arena, ret_args, &err);
    if (r < 0)
        snprintf(error->text, sizeof(error->text), "%.*s", (int)sizeof(error->text) - 1, err.msg);
    return r;
}

struct berth_metric *host_metric(struct berth_handle *h, const struct berth_metric_desc *desc)
{
    struct berth_metric_desc copy;
    HOST_COPY(copy, desc);
    return plugin_metric_new(h, &copy);
}

void host_metric_add(struct berth_metric *metric, const struct berth_str *labels, double value)
{
    plugin_metric_update(metric, PLUGIN_METRIC_ADD, labels, value);
}

void host_metric_set(struct berth_metric *metric, const struct berth_str *labels, double value)
{
    plugin_metric_update(metric, PLUGIN_METRIC_SET, labels, value);
}

void host_metric_observe(struct berth_metric *metric, const struct berth_str *labels, double value)
{
    plugin_metric_update(metric, PLUGIN_METRIC_OBSERVE, labels, value);
}
