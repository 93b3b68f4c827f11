/* SPDX-License-Identifier: Apache-2.0 */
/* Per-thread CPU timers whose signal handler records stacks. */
#include "serve/serving_sampler.h"

#include <dirent.h>
#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/map.h"
#include "base/time.h"
#include "base/vec.h"
#include "codec/proto.h"
#include "serve/serving_symbols.h"

#define DEPTH   48
#define SAMPLES 16384
#define SKIP    2 /* frames of the handler and of the signal trampoline */

struct sample {
    uint32_t n;
    void *stack[DEPTH];
};

static struct {
    struct sample *samples;
    atomic_size_t taken; /* samples beyond SAMPLES are dropped */
    atomic_bool on;
    bool busy;
    VEC(timer_t) timers;
} sampler;

/* --- sampling --------------------------------------------------------------------------------- */

/*
 * Runs in any thread at any point. backtrace allocates only in its first call, which sampler_begin
 * makes, and finds its tables without a lock (_dl_find_object).
 */
static void on_tick(int number)
{
    (void)number;
    int error = errno;
    if (atomic_load_explicit(&sampler.on, memory_order_acquire)) {
        size_t i = atomic_fetch_add(&sampler.taken, 1);
        if (i < SAMPLES)
            sampler.samples[i].n = (uint32_t)backtrace(sampler.samples[i].stack, DEPTH);
    }
    errno = error;
}

/* The clock id of a thread's CPU time, as the kernel encodes it. */
static clockid_t clock_of(pid_t tid)
{
    return (clockid_t)((~(unsigned)tid << 3) | 6);
}

static void watch_thread(pid_t tid)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    struct itimerspec spec = {.it_interval = {.tv_nsec = SAMPLER_PERIOD},
                              .it_value = {.tv_nsec = SAMPLER_PERIOD}};
    timer_t timer;
    event._sigev_un._tid = tid;
    if (timer_create(clock_of(tid), &event, &timer) < 0)
        return; /* the thread has exited */
    vec_push(&sampler.timers, timer);
    timer_settime(timer, 0, &spec, NULL);
}

static void watch_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        int64_t tid;
        if (str_to_i64(str_of(entry->d_name), &tid) && tid > 0)
            watch_thread((pid_t)tid);
    }
    if (dir)
        closedir(dir);
}

int sampler_begin(struct err *reterr)
{
    if (sampler.busy)
        return err_set(reterr, -EBUSY, "cpu profiling already in use");
    struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
    void *warm_up[2];
    sampler.busy = true;
    sampler.samples = xcalloc(SAMPLES, sizeof(*sampler.samples));
    atomic_store(&sampler.taken, 0);
    (void)backtrace(warm_up, 2);
    sigemptyset(&action.sa_mask);
    sigaction(SIGPROF, &action, NULL);
    atomic_store_explicit(&sampler.on, true, memory_order_release);
    watch_threads();
    return 0;
}

/* The handler stays installed: a pending SIGPROF would otherwise terminate the process. */
void sampler_end(void)
{
    atomic_store(&sampler.on, false);
    for (size_t i = 0; i < sampler.timers.n; i++)
        timer_delete(sampler.timers.v[i]);
    vec_release(&sampler.timers);
}

static size_t n_samples(void)
{
    return MIN(atomic_load(&sampler.taken), (size_t)SAMPLES);
}

void sampler_clear(void)
{
    free(sampler.samples);
    sampler.samples = NULL;
    sampler.busy = false;
}

/* --- writing: profile.proto of pprof ---------------------------------------------------------- */

struct writer {
    struct buf *out;
    struct symbols *symbols;
    struct symbols_mapping mapping;
    struct map texts;     /* text → its index + 1, as a pointer */
    struct map locations; /* the eight bytes of an address → its id */
    VEC(uint64_t) addresses;
    struct arena arena;
    uint64_t n_texts;
};

static uint64_t text_of(struct writer *w, struct str text)
{
    uintptr_t number = (uintptr_t)map_get(&w->texts, text);
    if (number)
        return number - 1;
    struct str copy = arena_dup(&w->arena, text);
    proto_write_bytes(w->out, 6, copy);
    map_put(&w->texts, copy, (void *)(uintptr_t)(w->n_texts + 1));
    return w->n_texts++;
}

static uint64_t location_of(struct writer *w, uint64_t address)
{
    struct str key = {(const char *)&address, sizeof(address)};
    uintptr_t id = (uintptr_t)map_get(&w->locations, key);
    if (id)
        return id;
    vec_push(&w->addresses, address);
    map_put(&w->locations, arena_dup(&w->arena, key), (void *)(uintptr_t)w->addresses.n);
    return w->addresses.n;
}

static void write_value_type(struct writer *w, uint32_t field, const char *type, const char *unit)
{
    struct buf m = BUF_INIT;
    uint64_t t = text_of(w, str_of(type)), u = text_of(w, str_of(unit));
    proto_write_varint(&m, 1, t);
    proto_write_varint(&m, 2, u);
    proto_write_bytes(w->out, field, buf_str(&m));
    buf_release(&m);
}

static void write_sample(struct writer *w, const struct sample *s)
{
    struct buf m = BUF_INIT;
    for (uint32_t i = SKIP; i < s->n; i++) {
        /* Return addresses point after the call: subtract 1 to get into the caller's line. */
        uint64_t address = (uint64_t)(uintptr_t)s->stack[i] - (i > SKIP);
        proto_write_varint(&m, 1, location_of(w, address));
    }
    proto_write_varint(&m, 2, 1);
    proto_write_varint(&m, 2, (uint64_t)SAMPLER_PERIOD);
    proto_write_bytes(w->out, 2, buf_str(&m));
    buf_release(&m);
}

static void write_mapping(struct writer *w)
{
    struct buf m = BUF_INIT;
    uint64_t file = text_of(w, str_of(w->mapping.file));
    proto_write_varint(&m, 1, 1);
    proto_write_varint(&m, 2, w->mapping.start);
    proto_write_varint(&m, 3, w->mapping.limit);
    proto_write_varint(&m, 4, w->mapping.offset);
    proto_write_varint(&m, 5, file);
    proto_write_varint(&m, 7, 1);
    proto_write_bytes(w->out, 3, buf_str(&m));
    buf_release(&m);
}

/* A location and its function, with the same id. pprof merges functions by name. */
static void write_location(struct writer *w, uint64_t id, uint64_t address)
{
    struct buf location = BUF_INIT, line = BUF_INIT, function = BUF_INIT;
    struct str name;
    bool own = address >= w->mapping.start && address < w->mapping.limit;
    proto_write_varint(&location, 1, id);
    if (own)
        proto_write_varint(&location, 2, 1);
    proto_write_varint(&location, 3, address);
    if (symbols_find(w->symbols, address, &name)) {
        uint64_t text = text_of(w, name);
        proto_write_varint(&line, 1, id);
        proto_write_bytes(&location, 4, buf_str(&line));
        proto_write_varint(&function, 1, id);
        proto_write_varint(&function, 2, text);
        proto_write_varint(&function, 3, text);
        proto_write_bytes(w->out, 5, buf_str(&function));
    }
    proto_write_bytes(w->out, 4, buf_str(&location));
    buf_release(&location);
    buf_release(&line);
    buf_release(&function);
}

void sampler_write(int64_t duration, struct buf *out)
{
    struct writer w = {.out = out, .symbols = symbols_new()};
    arena_init(&w.arena, 0);
    (void)text_of(&w, STR("")); /* the format requires "" at index 0 */
    write_value_type(&w, 1, "samples", "count");
    write_value_type(&w, 1, "cpu", "nanoseconds");
    for (size_t i = 0; i < n_samples(); i++)
        if (sampler.samples[i].n > SKIP)
            write_sample(&w, &sampler.samples[i]);
    if (symbols_mapping(w.symbols, &w.mapping))
        write_mapping(&w);
    for (size_t i = 0; i < w.addresses.n; i++)
        write_location(&w, i + 1, w.addresses.v[i]);
    proto_write_varint(out, 9, (uint64_t)(time_wall() - duration));
    proto_write_varint(out, 10, (uint64_t)duration);
    write_value_type(&w, 11, "cpu", "nanoseconds");
    proto_write_varint(out, 12, (uint64_t)SAMPLER_PERIOD);
    symbols_free(w.symbols);
    map_release(&w.texts);
    map_release(&w.locations);
    vec_release(&w.addresses);
    arena_release(&w.arena);
}
