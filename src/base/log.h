/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - log lines in klog's structured text format.
 *
 * Purpose:   log_info(2, "Bound pod", KV_STR("pod", name), KV_INT("nodes", n)) writes
 *
 *            I1115 09:19:43.123456    4711 binding.c:40] "Bound pod" pod="default/a" nodes=5
 *
 *            or, as JSON on one line,
 *
 *            {"ts":1763198383123.456,"caller":"kube/binding.c:40","msg":"Bound pod","v":2,
 *             "pod":"default/a","nodes":5}
 *
 *            Errors have no "v". A value of several lines is kept as such in text and escaped in
 *            JSON. Only kube, live, serve, cmd and apiserver log. The engine logs through its port
 *            (engine/ports/engine_log.h); other code returns errors and leaves logging to its
 *            callers.
 * Ownership: nothing is kept except buffered info lines. A line is written by one write(2). Values
 *            are cut after LOG_VALUE_MAX bytes, dumps are not.
 * Threading: any thread; log_set_streams and log_set_modules before a second one exists.
 */
#ifndef BERTH_BASE_LOG_H
#define BERTH_BASE_LOG_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/str.h"

enum log_severity { LOG_INFO, LOG_WARNING, LOG_ERROR };
#define LOG_VALUE_MAX ((size_t)16 << 10)

enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

enum log_kv_kind {
    LOG_KV_STR,
    LOG_KV_DUMP, /* a string of any length */
    LOG_KV_JSON, /* a JSON value, written unchanged */
    LOG_KV_REF,  /* an object: "namespace/name", or {"name":…,"namespace":…} */
    LOG_KV_REFS, /* a list of LOG_KV_REF */
    LOG_KV_INT,
    LOG_KV_BOOL,
    LOG_KV_DOUBLE,
    LOG_KV_DURATION,
};

struct log_kv {
    const char *key;
    enum log_kv_kind kind;
    union {
        struct str str;
        struct {
            struct str namespace, name; /* namespace empty: the object has none */
        };
        struct {
            const struct log_kv *refs; /* without keys */
            size_t n_refs;
        };
        int64_t i;
        double d;
    };
};

#define KV_STR(k, v)  ((struct log_kv){.key = (k), .kind = LOG_KV_STR, .str = (v)})
#define KV_CSTR(k, v) KV_STR(k, str_of(v))
#define KV_DUMP(k, v) ((struct log_kv){.key = (k), .kind = LOG_KV_DUMP, .str = (v)})
#define KV_JSON(k, v) ((struct log_kv){.key = (k), .kind = LOG_KV_JSON, .str = (v)})
#define KV_REF(k, ns, n) \
    ((struct log_kv){.key = (k), .kind = LOG_KV_REF, .namespace = (ns), .name = (n)})
#define KV_REFS(k, v, n) \
    ((struct log_kv){.key = (k), .kind = LOG_KV_REFS, .refs = (v), .n_refs = (n)})
#define KV_INT(k, v)      ((struct log_kv){.key = (k), .kind = LOG_KV_INT, .i = (int64_t)(v)})
#define KV_BOOL(k, v)     ((struct log_kv){.key = (k), .kind = LOG_KV_BOOL, .i = (v)})
#define KV_DOUBLE(k, v)   ((struct log_kv){.key = (k), .kind = LOG_KV_DOUBLE, .d = (v)})
#define KV_DURATION(k, v) ((struct log_kv){.key = (k), .kind = LOG_KV_DURATION, .i = (v)})
#define KV_ERR(e)         KV_CSTR("err", (e)->msg)

/* Lines of level <= v are written. Set at start, and later from any thread. */
void log_set_verbosity(int v);
int log_verbosity(void);
void log_set_format(enum log_format format);
enum log_format log_get_format(void);

/* The file descriptors that lines are written to; the caller keeps them. */
struct log_streams {
    int info_fd, error_fd; /* if they differ, error_fd gets errors, and warnings in text format */
    size_t info_buffer;    /* bytes of info lines that may be buffered; 0: none */
};
void log_set_streams(const struct log_streams *streams);
/* Writes all lines to one descriptor, unbuffered (default: 2). */
void log_set_fd(int fd);
/* Writes buffered lines. Call regularly, and before exiting. */
void log_flush(void);

/* Files with a level of their own, if that is above the verbosity (--vmodule). */
struct log_module {
    struct str pattern; /* of the file's name without its extension: "queue", "world*" */
    int level;
};
/* The first match counts. Copies the modules. */
void log_set_modules(const struct log_module *modules, size_t n);

/* The highest level that is written for any file. */
extern atomic_int log_threshold_;
static inline int log_threshold(void)
{
    return atomic_load_explicit(&log_threshold_, memory_order_relaxed);
}

/* False if no line of this level is written for any file. */
static inline bool log_on(int level)
{
    return level <= log_threshold();
}

/* Whether an info line of this level from this file is written. */
bool log_wanted(const char *file, int level);

/* The origin of a line. */
struct log_site {
    enum log_severity severity;
    int level; /* of LOG_INFO */
    const char *file;
    int line;
    bool plain; /* the message is written without quotes */
};

/* Called by the macros below. */
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
/* A line without message and values: "FLAG: --v="2"". */
#define log_plain(level, text)                                                     \
    do {                                                                           \
        if (log_on(level)) {                                                       \
            struct log_site site_ = {LOG_INFO, (level), __FILE__, __LINE__, true}; \
            log_write(&site_, (text), NULL, 0);                                    \
        }                                                                          \
    } while (0)
#define log_plain_warning(text)                                             \
    do {                                                                    \
        struct log_site site_ = {LOG_WARNING, 0, __FILE__, __LINE__, true}; \
        log_write(&site_, (text), NULL, 0);                                 \
    } while (0)
#define log_warning(message, ...) LOG_WRITE_(LOG_WARNING, 0, message, ##__VA_ARGS__)
#define log_error(message, ...)   LOG_WRITE_(LOG_ERROR, 0, message, ##__VA_ARGS__)

/* Appends s as Go's %q does: quoted, with everything escaped that is not printable. */
struct buf;
void log_quote(struct buf *out, struct str s);

#endif
