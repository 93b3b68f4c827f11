/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wasi.c - wasi_snapshot_preview1 for guests: arguments, output that is kept for errors, and clocks
 * and random numbers that depend on the calls only (as those of upstream's host).
 */
#include "wasm/imports.h"

#define MODULE "wasi_snapshot_preview1"

enum { WASI_OK = 0, WASI_BADF = 8, WASI_FAULT = 21, WASI_INVAL = 28, WASI_NOSYS = 52 };

#define CLOCK_STEP 1000000 /* 1 ms per reading */

static const char *answer(wasmtime_val_raw_t *v, int32_t code)
{
    v[0].i32 = code;
    return NULL;
}

const char *wasi_not_supported(struct guest *g, wasmtime_val_raw_t *v)
{
    (void)g;
    return answer(v, WASI_NOSYS);
}

/* --- numbers in the guest's memory ------------------------------------------------------------ */

static bool put(struct guest *g, uint32_t at, uint64_t value, uint32_t bytes)
{
    uint8_t *p = guest_memory(g, at, bytes);
    for (uint32_t i = 0; p && i < bytes; i++)
        p[i] = (uint8_t)(value >> (8 * i));
    return p != NULL;
}

static bool get(struct guest *g, uint32_t at, uint64_t *ret_value, uint32_t bytes)
{
    const uint8_t *p = guest_memory(g, at, bytes);
    *ret_value = 0;
    for (uint32_t i = 0; p && i < bytes; i++)
        *ret_value |= (uint64_t)p[i] << (8 * i);
    return p != NULL;
}

/* --- arguments, environment ------------------------------------------------------------------- */

static const char *args_sizes_get(struct guest *g, wasmtime_val_raw_t *v)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < g->settings->n; i++)
        bytes += g->settings->v[i].n + 1;
    bool good =
        put(g, (uint32_t)v[0].i32, g->settings->n, 4) && put(g, (uint32_t)v[1].i32, bytes, 4);
    return answer(v, good ? WASI_OK : WASI_FAULT);
}

static const char *args_get(struct guest *g, wasmtime_val_raw_t *v)
{
    uint32_t list = (uint32_t)v[0].i32, at = (uint32_t)v[1].i32;
    for (size_t i = 0; i < g->settings->n; i++) {
        struct berth_str arg = g->settings->v[i];
        char *p = guest_memory(g, at, (uint32_t)arg.n + 1);
        if (!p || !put(g, list + (uint32_t)i * 4, at, 4))
            return answer(v, WASI_FAULT);
        memcpy(p, arg.p, arg.n);
        p[arg.n] = 0;
        at += (uint32_t)arg.n + 1;
    }
    return answer(v, WASI_OK);
}

static const char *environ_sizes_get(struct guest *g, wasmtime_val_raw_t *v)
{
    bool good = put(g, (uint32_t)v[0].i32, 0, 4) && put(g, (uint32_t)v[1].i32, 0, 4);
    return answer(v, good ? WASI_OK : WASI_FAULT);
}

static const char *environ_get(struct guest *g, wasmtime_val_raw_t *v)
{
    (void)g;
    return answer(v, WASI_OK);
}

/* --- clocks, random numbers, waiting ---------------------------------------------------------- */

static const char *clock_time_get(struct guest *g, wasmtime_val_raw_t *v)
{
    int64_t *clock = v[0].i32 == 0 ? &g->wall_clock : &g->monotonic_clock;
    uint64_t now = (uint64_t)*clock;
    *clock += CLOCK_STEP;
    return answer(v, put(g, (uint32_t)v[2].i32, now, 8) ? WASI_OK : WASI_FAULT);
}

static const char *clock_res_get(struct guest *g, wasmtime_val_raw_t *v)
{
    return answer(v, put(g, (uint32_t)v[1].i32, 1, 8) ? WASI_OK : WASI_FAULT);
}

static const char *random_get(struct guest *g, wasmtime_val_raw_t *v)
{
    uint32_t n = (uint32_t)v[1].i32;
    uint8_t *p = guest_memory(g, (uint32_t)v[0].i32, n);
    if (!p || !guest_spend(g, n))
        return answer(v, WASI_FAULT);
    for (uint32_t i = 0; i < n; i++)
        p[i] = (uint8_t)rand_u64(&g->random);
    return answer(v, WASI_OK);
}

#define SUBSCRIPTION_SIZE 48
#define EVENT_SIZE        32

/* Nothing waits: whatever a guest waits for has happened. */
static const char *poll_oneoff(struct guest *g, wasmtime_val_raw_t *v)
{
    uint32_t in = (uint32_t)v[0].i32, out = (uint32_t)v[1].i32, n = (uint32_t)v[2].i32;
    uint32_t ret = (uint32_t)v[3].i32;
    if (n == 0)
        return answer(v, WASI_INVAL);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t data, tag;
        if (!guest_spend(g, EVENT_SIZE) || !get(g, in + i * SUBSCRIPTION_SIZE, &data, 8) ||
            !get(g, in + i * SUBSCRIPTION_SIZE + 8, &tag, 1))
            return answer(v, WASI_FAULT);
        uint8_t *event = guest_memory(g, out + i * EVENT_SIZE, EVENT_SIZE);
        if (!event)
            return answer(v, WASI_FAULT);
        memset(event, 0, EVENT_SIZE);
        (void)put(g, out + i * EVENT_SIZE, data, 8);
        (void)put(g, out + i * EVENT_SIZE + 10, tag, 1);
    }
    return answer(v, put(g, ret, n, 4) ? WASI_OK : WASI_FAULT);
}

static const char *sched_yield(struct guest *g, wasmtime_val_raw_t *v)
{
    (void)g;
    return answer(v, WASI_OK);
}

static const char *proc_exit(struct guest *g, wasmtime_val_raw_t *v)
{
    g->exited = true;
    g->exit_code = v[0].i32;
    return "exit";
}

/* --- files: standard output and error --------------------------------------------------------- */

static const char *fd_write(struct guest *g, wasmtime_val_raw_t *v)
{
    int32_t fd = v[0].i32;
    uint32_t list = (uint32_t)v[1].i32, n = (uint32_t)v[2].i32, ret = (uint32_t)v[3].i32;
    uint64_t written = 0;
    if (fd != 1 && fd != 2)
        return answer(v, WASI_BADF);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t at, size;
        if (!get(g, list + i * 8, &at, 4) || !get(g, list + i * 8 + 4, &size, 4) ||
            !guest_spend(g, size + 8))
            return answer(v, WASI_FAULT);
        const char *text = guest_memory(g, (uint32_t)at, (uint32_t)size);
        if (!text)
            return answer(v, WASI_FAULT);
        buf_add(&g->printed, text, MIN((size_t)size, GUEST_MAX_OUTPUT - g->printed.n));
        written += size;
    }
    return answer(v, put(g, ret, written, 4) ? WASI_OK : WASI_FAULT);
}

/* A character device that can be written to. */
static const char *fd_fdstat_get(struct guest *g, wasmtime_val_raw_t *v)
{
    int32_t fd = v[0].i32;
    uint8_t *stat = guest_memory(g, (uint32_t)v[1].i32, 24);
    if (fd < 0 || fd > 2)
        return answer(v, WASI_BADF);
    if (!stat)
        return answer(v, WASI_FAULT);
    memset(stat, 0, 24);
    stat[0] = 2;
    memset(stat + 8, 0xff, 16);
    return answer(v, WASI_OK);
}

static const char *no_such_file(struct guest *g, wasmtime_val_raw_t *v)
{
    (void)g;
    return answer(v, WASI_BADF);
}

const struct import_row wasi_imports[] = {
    {MODULE, "args_get", "ii", "i", args_get},
    {MODULE, "args_sizes_get", "ii", "i", args_sizes_get},
    {MODULE, "environ_get", "ii", "i", environ_get},
    {MODULE, "environ_sizes_get", "ii", "i", environ_sizes_get},
    {MODULE, "clock_time_get", "ili", "i", clock_time_get},
    {MODULE, "clock_res_get", "ii", "i", clock_res_get},
    {MODULE, "random_get", "ii", "i", random_get},
    {MODULE, "poll_oneoff", "iiii", "i", poll_oneoff},
    {MODULE, "sched_yield", "", "i", sched_yield},
    {MODULE, "proc_exit", "i", "", proc_exit},
    {MODULE, "fd_write", "iiii", "i", fd_write},
    {MODULE, "fd_fdstat_get", "ii", "i", fd_fdstat_get},
    {MODULE, "fd_prestat_get", "ii", "i", no_such_file},
    {MODULE, "fd_prestat_dir_name", "iii", "i", no_such_file},
    {MODULE, "fd_close", "i", "i", no_such_file},
    {MODULE, "fd_read", "iiii", "i", no_such_file},
    {NULL, NULL, NULL, NULL, NULL},
};
