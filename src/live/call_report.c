/* SPDX-License-Identifier: Apache-2.0 */
#include "live/call_report.h"

#include <execinfo.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "api/pod.h"
#include "base/log.h"
#include "base/time.h"
#include "engine/cache/pod_info.h"
#include "engine/framework/call_mark.h"

#define MAX_FRAMES 48

/* Sanitizers report fatal signals themselves, except SIGABRT. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#else
#define SANITIZED false
#endif

/* --- crashes ---------------------------------------------------------------------------------- */

/* A line that is put together in a signal handler. */
struct line {
    char text[1024];
    size_t n;
};

static void add(struct line *l, struct str s)
{
    for (size_t i = 0; i < s.n && l->n < sizeof(l->text) - 1; i++)
        l->text[l->n++] = s.p[i];
}

static void write_all(const struct line *l)
{
    for (size_t done = 0; done < l->n;) {
        ssize_t n = write(STDERR_FILENO, l->text + done, l->n - done);
        if (n <= 0)
            return;
        done += (size_t)n;
    }
}

static const char *signal_name(int number)
{
    switch (number) {
    case SIGSEGV:
        return "SIGSEGV";
    case SIGBUS:
        return "SIGBUS";
    case SIGFPE:
        return "SIGFPE";
    case SIGILL:
        return "SIGILL";
    default:
        return "SIGABRT";
    }
}

static void describe_call(const struct call_mark *mark, struct line *l)
{
    if (!mark->handle)
        return;
    add(l, STR(" in plugin "));
    add(l, str_of(mark->handle->plugin->name));
    add(l, STR(", "));
    add(l, str_of(mark->where));
    if (mark->pod) {
        add(l, STR(", pod "));
        add(l, mark->pod->pod->metadata.namespace);
        add(l, STR("/"));
        add(l, mark->pod->pod->metadata.name);
    }
}

/* The default action follows when this returns: the signal is raised again. */
static void on_fatal(int number)
{
    struct line l = {.n = 0};
    void *frames[MAX_FRAMES];
    add(&l, STR("berth: "));
    add(&l, str_of(signal_name(number)));
    describe_call(&call_mark, &l);
    add(&l, STR("\nberth: backtrace:\n"));
    write_all(&l);
    backtrace_symbols_fd(frames, backtrace(frames, MAX_FRAMES), STDERR_FILENO);
    raise(number);
}

void call_report_crashes(void)
{
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    struct sigaction action = {.sa_handler = on_fatal,
                               .sa_flags = SA_ONSTACK | (int)SA_RESETHAND | SA_NODEFER};
    void *frame;
    (void)!backtrace(&frame, 1); /* loads what the first call needs */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        if (!SANITIZED || signals[i] == SIGABRT)
            sigaction(signals[i], &action, NULL);
    call_report_thread();
}

void call_report_thread(void)
{
    static _Thread_local char stack[32768];
    /* AddressSanitizer has a stack of its own, which it frees with the thread. */
    if (!SANITIZED)
        sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
}

/* --- calls that do not return ----------------------------------------------------------------- */

/* What the watched thread says about itself, in its signal handler. */
struct snapshot {
    atomic_int state; /* SNAPSHOT_… */
    struct line call;
    void *frames[MAX_FRAMES];
    int n_frames;
};
enum { SNAPSHOT_NONE, SNAPSHOT_ASKED, SNAPSHOT_TAKEN };

struct call_watch {
    pthread_t thread;
    const struct call_mark *mark; /* of the watched thread */
    int64_t limit;
    struct loop *loop;
    struct loop_timer timer;
    unsigned calls;   /* the call that was seen last */
    int64_t since;    /* when it was seen first; 0: none */
    bool reported;    /* it takes too long */
    struct line name; /* of the reported call */
};

/* There is one engine, and one watch. */
static struct snapshot snapshot;
#define SIGNAL_LOOK (SIGRTMIN + 5)

static void on_look(int number)
{
    (void)number;
    if (atomic_load(&snapshot.state) != SNAPSHOT_ASKED)
        return;
    snapshot.call.n = 0;
    describe_call(&call_mark, &snapshot.call);
    snapshot.n_frames = backtrace(snapshot.frames, MAX_FRAMES);
    atomic_store(&snapshot.state, SNAPSHOT_TAKEN);
}

static void log_backtrace(struct buf *out)
{
    char **names = backtrace_symbols(snapshot.frames, snapshot.n_frames);
    for (int i = 2; names && i < snapshot.n_frames; i++) /* without the handler */
        buf_add_printf(out, "%s%s", i > 2 ? " < " : "", names[i]);
    free(names);
}

static struct str call_name(const struct line *l)
{
    struct str text = {l->text, l->n};
    return str_starts(text, STR(" in ")) ? str_slice(text, 4, text.n) : text;
}

static void report(struct call_watch *w, int64_t now)
{
    struct buf trace = BUF_INIT;
    log_backtrace(&trace);
    w->name = snapshot.call;
    log_error("A plugin has not returned: no other pod is scheduled meanwhile",
              KV_STR("call", call_name(&w->name)), KV_DURATION("duration", now - w->since),
              KV_DURATION("limit", w->limit), KV_STR("backtrace", buf_str(&trace)));
    buf_release(&trace);
    w->reported = true;
}

static void look(struct call_watch *w, int64_t now)
{
    bool busy = __atomic_load_n(&w->mark->handle, __ATOMIC_RELAXED);
    unsigned calls = __atomic_load_n(&w->mark->calls, __ATOMIC_RELAXED);
    if (busy && w->since && calls == w->calls) {
        if (w->reported || now - w->since < w->limit)
            return;
        int state = atomic_load(&snapshot.state);
        if (state == SNAPSHOT_TAKEN) {
            atomic_store(&snapshot.state, SNAPSHOT_NONE);
            report(w, now);
        } else if (state == SNAPSHOT_NONE) {
            atomic_store(&snapshot.state, SNAPSHOT_ASKED);
            pthread_kill(w->thread, SIGNAL_LOOK);
        }
        return;
    }
    if (w->reported)
        log_info(0, "A plugin that took too long has returned", KV_STR("call", call_name(&w->name)),
                 KV_DURATION("duration", now - w->since));
    atomic_store(&snapshot.state, SNAPSHOT_NONE);
    w->reported = false;
    w->calls = calls;
    w->since = busy ? now : 0;
}

static void on_timer(struct loop_timer *timer)
{
    struct call_watch *w = CONTAINER_OF(timer, struct call_watch, timer);
    look(w, loop_now(w->loop));
    loop_timer_set(timer, MAX(w->limit / 2, 10 * NSEC_PER_MSEC));
}

struct call_watch *call_watch_new(int64_t limit_ns)
{
    struct sigaction action = {.sa_handler = on_look, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct call_watch *w = xnew(struct call_watch);
    sigemptyset(&action.sa_mask);
    sigaction(SIGNAL_LOOK, &action, NULL);
    *w = (struct call_watch){.thread = pthread_self(), .mark = &call_mark, .limit = limit_ns};
    return w;
}

void call_watch_start(struct call_watch *w, struct loop *loop)
{
    w->loop = loop;
    loop_timer_init(&w->timer, loop, on_timer);
    loop_timer_set(&w->timer, w->limit / 2);
}

struct call_watch *call_watch_free(struct call_watch *w)
{
    if (!w)
        return NULL;
    if (w->loop)
        loop_timer_stop(&w->timer);
    free(w);
    return NULL;
}
