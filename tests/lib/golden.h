/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.h - data that upstream's own libraries made, read by our own decoder.
 *
 * Purpose:   golden_load reads a file of tests/golden (tests are run from the root of the
 *            repository) into a described type; the test fails where that cannot be done.
 * Ownership: what is decoded lives in the arena.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_GOLDEN_H
#define BERTH_TESTS_GOLDEN_H

#include "codec/desc.h"

void golden_load(const char *name, const struct type *type, struct arena *a, void *out);

#endif
