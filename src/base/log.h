/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - log lines in klog's structured text format.
 *
 * Purpose:   `log_info(2, "Bound pod", KV_STR("pod", name), KV_INT("nodes", n));` writes
 *            I1115 09:19:43.123456    4711 binding.c:40] "Bound pod" pod="default/a" nodes=5
 *            Only kube, cmd and apiserver log above level 4; base, codec, api, net and the engine
 *            return errors and leave the telling to their callers.
 *            or, as JSON, {"ts":1763198383123.456,"caller":"kube/binding.c:40","msg":"Bound pod",
 *            "v":2,"pod":"default/a","nodes":5} on one line; lines of errors have no "v".
 *            A text of several lines is shown as such by the first and escaped by the second.
 * Ownership: nothing is kept. A line is written by one write(2); values are cut after
 *            LOG_VALUE_MAX bytes.
 * Threading: any thread.
 */
#ifndef BERTH_BASE_LOG_H
#define BERTH_BASE_LOG_H

#include "base/err.h"
#include "base/str.h"

enum log_severity { LOG_INFO, LOG_WARNING, LOG_ERROR };
#define LOG_VALUE_MAX ((size_t)16 << 10)

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum log_kv_kind { LOG_KV_STR, LOG_KV_INT, LOG_KV_BOOL, LOG_KV_DOUBLE, LOG_KV_DURATION };

struct log_kv {
    const char *key;
    enum log_kv_kind kind;
    union {
        struct str str;
        int64_t i;
        double d;
    };
};

#define KV_STR(k, v)      ((struct log_kv){.key = (k), .kind = LOG_KV_STR, .str = (v)})
#define KV_CSTR(k, v)     KV_STR(k, str_of(v))
#define KV_INT(k, v)      ((struct log_kv){.key = (k), .kind = LOG_KV_INT, .i = (int64_t)(v)})
#define KV_BOOL(k, v)     ((struct log_kv){.key = (k), .kind = LOG_KV_BOOL, .i = (v)})
#define KV_DOUBLE(k, v)   ((struct log_kv){.key = (k), .kind = LOG_KV_DOUBLE, .d = (v)})
#define KV_DURATION(k, v) ((struct log_kv){.key = (k), .kind = LOG_KV_DURATION, .i = (v)})
#define KV_ERR(e)         KV_CSTR("err", (e)->msg)

/* Which lines are written: those of level <= v. Set at start, and later from any thread. */
void log_set_verbosity(int v);
int log_verbosity(void);
void log_set_format(enum log_format format);
/* Where lines go: a file descriptor that stays the caller's (default 2). */
void log_set_fd(int fd);

static inline bool log_on(int level)
{
    return level <= log_verbosity();
}

/* Where a line comes from. */
struct log_site {
    enum log_severity severity;
    int level; /* of LOG_INFO */
    const char *file;
    int line;
    bool plain; /* the message is shown as it is, not in quotes */
};

/* What the macros below call. */
void log_write(const struct log_site *site, const char *message, const struct log_kv *kvs,
               size_t n);

#define LOG_WRITE_(severity_, level_, message, ...)                                 \
    do {                                                                            \
        struct log_kv kvs_[] = {{0}, ##__VA_ARGS__};                                \
        struct log_site site_ = {(severity_), (level_), __FILE__, __LINE__, false}; \
        log_write(&site_, (message), kvs_ + 1, ARRAY_LEN(kvs_) - 1);                \
    } while (0)

#define log_info(level, message, ...)                            \
    do {                                                         \
        if (log_on(level))                                       \
            LOG_WRITE_(LOG_INFO, level, message, ##__VA_ARGS__); \
    } while (0)
/* A line that is no message with values: "FLAG: --v="2"". */
#define log_plain(level, text)                                                     \
    do {                                                                           \
        if (log_on(level)) {                                                       \
            struct log_site site_ = {LOG_INFO, (level), __FILE__, __LINE__, true}; \
            log_write(&site_, (text), NULL, 0);                                    \
        }                                                                          \
    } while (0)
#define log_warning(message, ...) LOG_WRITE_(LOG_WARNING, 0, message, ##__VA_ARGS__)
#define log_error(message, ...)   LOG_WRITE_(LOG_ERROR, 0, message, ##__VA_ARGS__)

/* Appends s as Go's %q does: in quotes, with everything escaped that is not printable. */
struct buf;
void log_quote(struct buf *out, struct str s);

#endif
