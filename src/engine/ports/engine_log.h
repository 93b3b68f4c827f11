/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_log.h - what the engine says about its work, for people who read logs.
 *
 * Purpose:   `engine_log(&e->log, 5, "Pod moved to an internal scheduling queue", KV_POD(pod));`
 * hands a line to whoever made the engine. Texts, levels and keys are upstream's. A line that
 *            nobody wants costs one comparison: values are looked at behind it.
 * Ownership: a line and its values are borrowed for the call.
 * Threading: the engine's thread changes it; lines may come from any thread.
 */
#ifndef BERTH_ENGINE_PORTS_ENGINE_LOG_H
#define BERTH_ENGINE_PORTS_ENGINE_LOG_H

#include "base/log.h"

typedef void engine_log_fn(void *ctx, const struct log_site *site, const char *message,
                           const struct log_kv *kvs, size_t n);

struct engine_log {
    int verbosity; /* lines above this level are not made; below 0: none at all */
    engine_log_fn *fn;
    void *ctx;
    const char *scope; /* what stands before the names of loggers: "PostFilter.X."; NULL: nothing */
};

static inline bool engine_log_on(const struct engine_log *v, int level)
{
    return level <= v->verbosity;
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

/* The full name of a logger, for one line. */
#define ENGINE_LOG_NAME_MAX 160
static inline const char *engine_log_name(const struct engine_log *v, const char *who,
                                          char text[ENGINE_LOG_NAME_MAX])
{
    if (!v->scope)
        return who;
    snprintf(text, ENGINE_LOG_NAME_MAX, "%s%s", v->scope, who);
    return text;
}

/* From level 4 on a line also says which plugin it comes from, and where: "Bind.X". */
#define engine_log_as(v, level, who, message, ...)                                           \
    do {                                                                                     \
        char name_[ENGINE_LOG_NAME_MAX];                                                     \
        if (engine_log_on(v, 4))                                                             \
            engine_log(v, level, message, KV_CSTR("logger", engine_log_name(v, who, name_)), \
                       ##__VA_ARGS__);                                                       \
        else                                                                                 \
            engine_log(v, level, message, ##__VA_ARGS__);                                    \
    } while (0)

/* Filters and scores of a plugin. */
#define LOGGER_FILTER(plugin) "FilterWithNominatedPods.Filter." plugin
#define LOGGER_SCORE(plugin)  "Score." plugin

/* A pod or node as a value. */
#define KV_META(k, meta) KV_REF(k, (meta)->namespace, (meta)->name)
#define KV_NODE(n)       KV_META("node", &(n)->metadata)
#define KV_POD(p)        KV_META("pod", &(p)->pod->metadata)

#endif
