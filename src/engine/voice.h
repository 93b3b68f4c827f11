/* SPDX-License-Identifier: Apache-2.0 */
/*
 * voice.h - what the engine says about its work, for people who read logs.
 *
 * Purpose:   `say(&e->voice, 5, "Pod moved to an internal scheduling queue", KV_POD(pod));` hands a
 *            line to whoever made the engine. Texts, levels and keys are upstream's. A line that
 *            nobody wants costs one comparison: values are looked at behind it.
 * Ownership: a line and its values are borrowed for the call.
 * Threading: the engine's thread changes it; lines may come from any thread.
 */
#ifndef BERTH_ENGINE_VOICE_H
#define BERTH_ENGINE_VOICE_H

#include "base/log.h"
#include "engine/pod_info.h"

typedef void voice_fn(void *ctx, const struct log_site *site, const char *message,
                      const struct log_kv *kvs, size_t n);

struct voice {
    int verbosity; /* lines above this level are not made; below 0: none at all */
    voice_fn *fn;
    void *ctx;
    const char *scope; /* what stands before the names of loggers: "PostFilter.X."; NULL: nothing */
};

static inline bool voice_on(const struct voice *v, int level)
{
    return level <= v->verbosity;
}

#define SAY_(v, severity_, level_, message, ...)                                        \
    do {                                                                                \
        const struct voice *voice_ = (v);                                               \
        if (voice_on(voice_, level_)) {                                                 \
            struct log_kv kvs_[] = {{0}, ##__VA_ARGS__};                                \
            struct log_site site_ = {(severity_), (level_), __FILE__, __LINE__, false}; \
            voice_->fn(voice_->ctx, &site_, (message), kvs_ + 1, ARRAY_LEN(kvs_) - 1);  \
        }                                                                               \
    } while (0)

#define say(v, level, message, ...) SAY_(v, LOG_INFO, level, message, ##__VA_ARGS__)
#define say_error(v, message, ...)  SAY_(v, LOG_ERROR, 0, message, ##__VA_ARGS__)

/* The full name of a logger, for one line. */
#define VOICE_NAME_MAX 160
static inline const char *voice_name(const struct voice *v, const char *who,
                                     char text[VOICE_NAME_MAX])
{
    if (!v->scope)
        return who;
    snprintf(text, VOICE_NAME_MAX, "%s%s", v->scope, who);
    return text;
}

/* From level 4 on a line also says which plugin it comes from, and where: "Bind.X". */
#define say_as(v, level, who, message, ...)                                                      \
    do {                                                                                         \
        char name_[VOICE_NAME_MAX];                                                              \
        if (voice_on(v, 4))                                                                      \
            say(v, level, message, KV_CSTR("logger", voice_name(v, who, name_)), ##__VA_ARGS__); \
        else                                                                                     \
            say(v, level, message, ##__VA_ARGS__);                                               \
    } while (0)

/* Filters and scores of a plugin. */
#define LOGGER_FILTER(plugin) "FilterWithNominatedPods.Filter." plugin
#define LOGGER_SCORE(plugin)  "Score." plugin

/* The voice of a plugin's engine; stays where it is. */
const struct voice *handle_voice(const struct berth_handle *h);

/* A pod or node as a value. */
#define KV_META(k, meta) KV_REF(k, (meta)->namespace, (meta)->name)
#define KV_NODE(n)       KV_META("node", &(n)->metadata)
#define KV_POD(p)        KV_META("pod", &(p)->pod->metadata)

#endif
