/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_sampler.h - a sampling CPU profiler.
 *
 * Purpose:   interrupts every thread that exists at the start after each 10 ms of its CPU time, and
 *            records its stack. Writes pprof's protobuf format with symbols, for `go tool pprof`.
 * Ownership: one profile per process at a time. Memory is bounded; samples beyond it are dropped.
 * Threading: begin, end, write and clear on one thread; samples are taken on all threads.
 */
#ifndef BERTH_SERVE_SERVING_SAMPLER_H
#define BERTH_SERVE_SERVING_SAMPLER_H

#include "base/buf.h"
#include "base/err.h"

#define SAMPLER_PERIOD ((int64_t)10000000) /* ns */

/* -EBUSY if a profile is in progress. */
int sampler_begin(struct err *reterr) MUST_CHECK;
void sampler_end(void);
/* After sampler_end: appends the profile. duration: ns between begin and end. */
void sampler_write(int64_t duration, struct buf *out);
/* Frees the samples. Another profile can begin. */
void sampler_clear(void);

#endif
