/* SPDX-License-Identifier: Apache-2.0 */
/*
 * counting.c - how much work a run does, and how much memory it takes at most.
 *
 * Purpose:   berth-counting is berth built with -fsanitize-coverage=trace-pc: every basic block
 *            calls the function below. What libc copies, fills and compares counts as a block for
 *            each 8 bytes. When the program ends it writes one JSON object to the file that
 *            BERTH_COUNTS names. The same input gives the same counts, but for hash seeds; on every
 *            machine, however busy.
 * Ownership: of nothing.
 * Threading: the counts of one thread at a time are right; `berth simulate` has one.
 */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/engine.h"

#define UNCOUNTED __attribute__((no_sanitize_coverage))

static uint64_t blocks, engine_blocks;
static int64_t bytes, peak_bytes;
static int in_engine;

void __sanitizer_cov_trace_pc(void);

UNCOUNTED void __sanitizer_cov_trace_pc(void)
{
    blocks++;
    engine_blocks += in_engine > 0;
}

UNCOUNTED static void count_bytes(size_t n)
{
    blocks += n / 8;
    if (in_engine)
        engine_blocks += n / 8;
}

/* --- what libc does with memory: -Wl,--wrap --------------------------------------------------- */

#define WRAP(type, name, ...)        \
    type __real_##name(__VA_ARGS__); \
    type __wrap_##name(__VA_ARGS__); \
    UNCOUNTED type __wrap_##name(__VA_ARGS__)

WRAP(void *, memcpy, void *to, const void *from, size_t n)
{
    count_bytes(n);
    return __real_memcpy(to, from, n);
}

WRAP(void *, memmove, void *to, const void *from, size_t n)
{
    count_bytes(n);
    return __real_memmove(to, from, n);
}

WRAP(void *, memset, void *p, int c, size_t n)
{
    count_bytes(n);
    return __real_memset(p, c, n);
}

WRAP(int, memcmp, const void *a, const void *b, size_t n)
{
    count_bytes(n);
    return __real_memcmp(a, b, n);
}

UNCOUNTED static void *took(void *p)
{
    bytes += (int64_t)malloc_usable_size(p);
    if (bytes > peak_bytes)
        peak_bytes = bytes;
    return p;
}

WRAP(void *, malloc, size_t n)
{
    return took(__real_malloc(n));
}

WRAP(void *, calloc, size_t n, size_t size)
{
    return took(__real_calloc(n, size));
}

WRAP(void *, realloc, void *p, size_t n)
{
    bytes -= (int64_t)malloc_usable_size(p);
    return took(__real_realloc(p, n));
}

WRAP(void *, reallocarray, void *p, size_t n, size_t size)
{
    bytes -= (int64_t)malloc_usable_size(p);
    return took(__real_reallocarray(p, n, size));
}

WRAP(void, free, void *p)
{
    bytes -= (int64_t)malloc_usable_size(p);
    __real_free(p);
}

/* --- the engine ------------------------------------------------------------------------------- */

WRAP(bool, engine_schedule_one, struct engine *engine)
{
    in_engine++;
    bool any = __real_engine_schedule_one(engine);
    in_engine--;
    return any;
}

WRAP(void, engine_object_changed, struct engine *engine, struct object *before,
     struct object *after)
{
    in_engine++;
    __real_engine_object_changed(engine, before, after);
    in_engine--;
}

WRAP(void, engine_write_done, struct engine *engine, uint64_t id, const struct write_result *result)
{
    in_engine++;
    __real_engine_write_done(engine, id, result);
    in_engine--;
}

WRAP(void, engine_tick, struct engine *engine)
{
    in_engine++;
    __real_engine_tick(engine);
    in_engine--;
}

/* --- the result ------------------------------------------------------------------------------- */

UNCOUNTED __attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("BERTH_COUNTS");
    FILE *f = path ? fopen(path, "we") : NULL;
    if (!f)
        return;
    fprintf(f, "{\"blocks\": %llu, \"engine_blocks\": %llu, \"peak_bytes\": %lld}\n",
            (unsigned long long)blocks, (unsigned long long)engine_blocks, (long long)peak_bytes);
    fclose(f);
}
