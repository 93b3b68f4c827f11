/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_log.h - structured log lines of the engine.
 *
 * Purpose:   passes lines to ports.log. Messages, levels and keys are upstream's. A line above the
 *            verbosity costs one comparison: its values are not evaluated.
 *            Example: engine_log(&fw->log, 4, "Pod waiting on permit", KV_POD(pod));
 * Ownership: a line and its values are borrowed for the call.
 * Threading: changed by the engine's thread; any thread may log.
 */
#ifndef BERTH_ENGINE_PORTS_ENGINE_LOG_H
#define BERTH_ENGINE_PORTS_ENGINE_LOG_H

#include "base/log.h"

typedef void engine_log_fn(void *ctx, const struct log_site *site, const char *message,
                           const struct log_kv *kvs, size_t n);

struct engine_log {
    int verbosity; /* atomic; lines above this level are dropped; below 0: all are */
    engine_log_fn *fn;
    void *ctx;
    const char *scope; /* prefix of logger names: "PostFilter.X."; NULL: none */
};

static inline bool engine_log_on(const struct engine_log *v, int level)
{
    return level <= __atomic_load_n(&v->verbosity, __ATOMIC_RELAXED);
}

#define ENGINE_LOG_(v, severity_, level_, message, ...)                                 \
    do {                                                                                \
        const struct engine_log *log_ = (v);                                            \
        if (engine_log_on(log_, level_)) {                                              \
            struct log_kv kvs_[] = {{0}, ##__VA_ARGS__};                                \
            struct log_site site_ = {(severity_), (level_), __FILE__, __LINE__, false}; \
            log_->fn(log_->ctx, &site_, (message), kvs_ + 1, ARRAY_LEN(kvs_) - 1);      \
        }                                                                               \
    } while (0)

#define engine_log(v, level, message, ...) ENGINE_LOG_(v, LOG_INFO, level, message, ##__VA_ARGS__)
#define engine_log_error(v, message, ...)  ENGINE_LOG_(v, LOG_ERROR, 0, message, ##__VA_ARGS__)

/* The full name of a logger; text: room for it, valid for one line. */
#define ENGINE_LOG_NAME_MAX 160
static inline const char *engine_log_name(const struct engine_log *v, const char *logger,
                                          char text[ENGINE_LOG_NAME_MAX])
{
    if (!v->scope)
        return logger;
    snprintf(text, ENGINE_LOG_NAME_MAX, "%s%s", v->scope, logger);
    return text;
}

/* Upstream names the logger, extension point and plugin ("Bind.X"), at verbosity 4 and above. */
#define engine_log_as(v, level, logger, message, ...)                                           \
    do {                                                                                        \
        char name_[ENGINE_LOG_NAME_MAX];                                                        \
        if (engine_log_on(v, 4))                                                                \
            engine_log(v, level, message, KV_CSTR("logger", engine_log_name(v, logger, name_)), \
                       ##__VA_ARGS__);                                                          \
        else                                                                                    \
            engine_log(v, level, message, ##__VA_ARGS__);                                       \
    } while (0)

/* Loggers of a plugin's Filter and Score. */
#define LOGGER_FILTER(plugin) "FilterWithNominatedPods.Filter." plugin
#define LOGGER_SCORE(plugin)  "Score." plugin

/* An object, a node and a pod as values. */
#define KV_META(k, meta) KV_REF(k, (meta)->namespace, (meta)->name)
#define KV_NODE(n)       KV_META("node", &(n)->metadata)
#define KV_POD(p)        KV_META("pod", &(p)->pod->metadata)

#endif
