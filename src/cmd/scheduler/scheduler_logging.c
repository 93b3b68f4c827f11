/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/scheduler/scheduler_logging.h"

#include <fnmatch.h>

#include "base/log.h"
#include "cmd/cli/cmd.h"
#include "engine/config/error_list.h"

/*
 * Names of upstream's source files, as users write them in --vmodule, and patterns of berth's files
 * with the same log lines.
 */
static const struct {
    const char *theirs, *ours;
} counterparts[] = {
    {"schedule_one", "attempt"},
    {"schedule_one", "binding*"},
    {"schedule_one", "cycle"},
    {"schedule_one", "engine"},
    {"schedule_one", "post_filter"},
    {"schedule_one", "world_writes"},
    {"schedule_one_podgroup", "group_cycle"},
    {"schedule_one_podgroup", "group_submit"},
    {"podgrouppreemption", "group_preemption"},
    {"framework", "binding*"},
    {"framework", "reserve"},
    {"framework", "setup_log"},
    {"default_binder", "binding"},
    {"eventhandlers", "event_handlers"},
    {"scheduling_queue", "queue_log"},
    {"active_queue", "queue_log"},
    {"active_queue", "world_life"},
    {"backoff_queue", "queue_log"},
    {"node_tree", "event_handlers"},
    {"preemption", "preemption"},
    {"preemption", "dry_run"},
    {"default_preemption", "victims"},
    {"plugin", "hints"},
    {"filtering", "filter"},
    {"fit", "fit_hints"},
    {"resource_allocation", "score_log"},
    {"nodedeclaredfeatures", "node_declared_features"},
    {"gangscheduling", "gang_scheduling"},
    {"executor", "eviction"},
    {"extender", "extender"},
    {"comparer", "world_dump"},
    {"dumper", "world_dump"},
    {"server", "scheduler*"},
    {"server", "world_life"},
    {"configfile", "scheduler"},
    {"feature_gate", "scheduler_command"},
    {"secure_serving", "scheduler"},
    {"tlsconfig", "serving_tls"},
    {"dynamic_serving_content", "serving_tls"},
    {"healthz", "serving_health"},
    {"authorization", "serving"},
    {"httplog", "serving"},
    {"pathrecorder", "serving"},
    {"flagz", "serving_zpages"},
    {"statusz", "serving_zpages"},
    {"loader", "kubeconfig"},
    {"leaderelection", "lease*"},
    {"leasecandidate", "lease_candidate"},
    {"reflector", "reflector*"},
    {"event", "events"},
    {"event_broadcaster", "events"},
    {"round_trippers", "http_log"},
    {"request", "http_log_body"},
    {"request", "rest_call"},
};

/* A pattern that matches one of upstream's files also applies to berth's counterparts. */
static void set_modules(const struct vmodule *vmodule)
{
    VEC(struct log_module) modules = {0};
    for (size_t i = 0; i < vmodule->n; i++) {
        struct log_module module = {vmodule->v[i].pattern, vmodule->v[i].level};
        char *pattern = str_dup(module.pattern);
        vec_push(&modules, module);
        for (size_t k = 0; k < ARRAY_LEN(counterparts); k++)
            if (fnmatch(pattern, counterparts[k].theirs, 0) == 0)
                vec_push(&modules, (struct log_module){str_of(counterparts[k].ours), module.level});
        free(pattern);
    }
    log_set_modules(modules.v, modules.n);
    vec_release(&modules);
}

#define BUFFER_MAX ((int64_t)2 << 30)

static void set_streams(bool split, int64_t buffer)
{
    struct log_streams streams = {.info_fd = 1, .error_fd = 2};
    streams.info_buffer = (size_t)MIN(MAX(buffer, 0), BUFFER_MAX);
    if (!split)
        return;
    log_set_streams(&streams);
    atexit(log_flush);
}

int scheduler_logging_start(const struct scheduler_options *o, const struct features *features)
{
    const struct logs_flags *logs = &o->logs;
    bool json = strcmp(logs->format, "json") == 0;
    struct error_list errors = {0};
    struct buf text = BUF_INIT;
    scheduler_options_check_logs(o, features, &errors);
    int code = errors.n ? EXIT_FAILED : EXIT_DONE;
    error_list_write(&errors, &text);
    if (code != EXIT_DONE)
        fprintf(stderr, "%s\n", buf_cstr(&text));
    log_set_verbosity((int)logs->verbosity);
    log_set_format(json ? LOG_FORMAT_JSON : LOG_FORMAT_TEXT);
    set_streams(json ? logs->json_split_stream : logs->text_split_stream,
                json ? logs->json_buffer : logs->text_buffer);
    set_modules(&logs->vmodule);
    buf_release(&text);
    error_list_release(&errors);
    return code;
}
