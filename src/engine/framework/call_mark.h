/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_mark.h - which plugin a thread is in.
 *
 * Purpose:   when a plugin crashes or does not return, the report names it, the extension point and
 *            the pod. A mark is a few stores per call; in a loop over nodes one mark serves all.
 * Ownership: each thread has one mark. It borrows; a mark that is set is valid.
 * Threading: written by its own thread; `calls` and `handle` may be read by others.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_CALL_MARK_H
#define BERTH_ENGINE_FRAMEWORK_CALL_MARK_H

#include "engine/framework/profile.h"

struct call_mark {
    const struct berth_handle *handle; /* NULL: in no plugin */
    const char *where;                 /* "Filter" */
    const struct berth_pod *pod;       /* NULL: none */
    unsigned calls;                    /* so far */
};

extern _Thread_local struct call_mark call_mark;

/* Returns the mark of the call around this one, for call_end. */
static inline struct call_mark call_begin(const struct berth_handle *h, const char *where,
                                          const struct berth_pod *pod)
{
    struct call_mark outer = call_mark;
    call_mark.where = where;
    call_mark.pod = pod;
    __atomic_store_n(&call_mark.calls, outer.calls + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&call_mark.handle, h, __ATOMIC_RELAXED);
    return outer;
}

static inline void call_end(struct call_mark outer)
{
    call_mark.where = outer.where;
    call_mark.pod = outer.pod;
    __atomic_store_n(&call_mark.handle, outer.handle, __ATOMIC_RELAXED);
}

/* The next plugin of a series, at the same point for the same pod. */
static inline void call_next(const struct berth_handle *h)
{
    __atomic_store_n(&call_mark.handle, h, __ATOMIC_RELAXED);
}

#endif
