/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base.h - included by every file of berth.
 *
 * Purpose:   attributes, small macros, allocation that cannot fail, banned functions.
 * Ownership: the caller owns memory from xmalloc and its family and frees it with free().
 * Threading: any thread.
 *
 * Running out of memory cannot be handled here: the x-functions print an error and abort. Sizes
 * from outside are therefore limited before they reach an allocation.
 */
#ifndef BERTH_BASE_BASE_H
#define BERTH_BASE_BASE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUST_CHECK        __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define UNUSED            __attribute__((unused))
#define NORETURN          __attribute__((noreturn))
#define LIKELY(x)         __builtin_expect(!!(x), 1)
#define UNLIKELY(x)       __builtin_expect(!!(x), 0)

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)    ((a) < (b) ? (a) : (b))
#define MAX(a, b)    ((a) > (b) ? (a) : (b))

/* The struct that has `ptr` as its member `member`. */
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* An expression of value 0 that compiles only if `cond` holds. */
#define BUILD_ASSERT_ZERO(cond) (sizeof(char[(cond) ? 1 : -1]) - 1)

/*
 * A condition that the code relies on and that is too expensive to check in production: an assert()
 * in sanitizer and debug builds. Cheap conditions use assert(), which is always on.
 */
#ifdef BERTH_INVARIANTS
#define INVARIANT(cond) assert(cond)
#else
#define INVARIANT(cond) ((void)sizeof(!(cond)))
#endif

/* Returns the pointer's value and sets it to NULL: transfers ownership. */
#define TAKE(p)                     \
    ({                              \
        __typeof__(p) taken_ = (p); \
        (p) = NULL;                 \
        taken_;                     \
    })

void *xmalloc(size_t size) __attribute__((malloc, returns_nonnull));
void *xcalloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull));
void *xrealloc(void *ptr, size_t size) __attribute__((returns_nonnull));
/* Memory for n elements; aborts if n * size overflows. */
void *xreallocarray(void *ptr, size_t n, size_t size) __attribute__((returns_nonnull));
char *xstrdup(const char *s) __attribute__((malloc, returns_nonnull));
char *xasprintf(const char *fmt, ...) PRINTF_LIKE(1, 2) __attribute__((returns_nonnull));

#define xnew(type) ((type *)xcalloc(1, sizeof(type)))

/* Functions whose bounds or state are not visible at the call: using one does not compile. */
#define BANNED_(name)  berth_banned_function_##name
#define strcpy(...)    BANNED_(strcpy)
#define strcat(...)    BANNED_(strcat)
#define strncpy(...)   BANNED_(strncpy)
#define strncat(...)   BANNED_(strncat)
#define sprintf(...)   BANNED_(sprintf)
#define vsprintf(...)  BANNED_(vsprintf)
#define strtok(...)    BANNED_(strtok)
#define gmtime(...)    BANNED_(gmtime)
#define localtime(...) BANNED_(localtime)
#define ctime(...)     BANNED_(ctime)
#define atoi(...)      BANNED_(atoi)
#define atol(...)      BANNED_(atol)

#endif
