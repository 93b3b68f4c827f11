/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_profile.h - where the process spends its CPU time.
 *
 * Purpose:   every thread that exists when it begins is interrupted after each 10 ms of CPU time of
 *            its own, and its stack is written down. What comes out is pprof's protobuf format,
 *            with names, as `go tool pprof` reads it.
 * Ownership: one sampler per process at a time. Memory is bounded; what does not fit is counted.
 * Threading: begin, end and write on one thread; the samples come from all.
 */
#ifndef BERTH_SERVE_SERVING_PROFILE_H
#define BERTH_SERVE_SERVING_PROFILE_H

#include "base/buf.h"
#include "base/err.h"

#define SAMPLER_PERIOD ((int64_t)10000000) /* ns */

/* -EBUSY where one runs already. */
int sampler_begin(struct err *reterr) MUST_CHECK;
void sampler_end(void);
/* After sampler_end: appends the profile. duration: ns between begin and end. */
void sampler_write(int64_t duration, struct buf *out);
/* Gives the memory back; another may begin. */
void sampler_clear(void);

#endif
