/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_report.h - plugins that crash, and plugins that do not return.
 *
 * Purpose:   a fatal signal writes plugin, extension point, pod and backtrace to standard error
 *            before the process ends. A watch reports a call on the engine's thread that takes
 *            longer than a limit, with the same details, while it is still running.
 * Ownership: a watch belongs to its creator.
 * Threading: see each function. The signal handlers only use what is safe in them.
 */
#ifndef BERTH_LIVE_CALL_REPORT_H
#define BERTH_LIVE_CALL_REPORT_H

#include <pthread.h>

#include "net/loop.h"

/* Once, before other threads are started: handles SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT. */
void call_report_crashes(void);
/* On each thread that runs plugins: a stack for the handler, so that it can report an overflow. */
void call_report_thread(void);

struct call_watch;

/* On the watched thread. */
struct call_watch *call_watch_new(int64_t limit_ns);
/* On the loop's thread: looks at the watched thread from now on. */
void call_watch_start(struct call_watch *watch, struct loop *loop);
/* On the loop's thread, once the watched thread has ended. NULL is allowed. Returns NULL. */
struct call_watch *call_watch_free(struct call_watch *watch);

#endif
