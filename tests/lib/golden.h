/* SPDX-License-Identifier: Apache-2.0 */
/*
 * golden.h - data made by upstream's libraries, read by berth's decoder.
 *
 * Purpose:   golden_load reads a file of tests/golden into a described type and fails the test on
 *            an error. Tests are run from the root of the repository.
 * Ownership: the decoded value lives in the arena.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_GOLDEN_H
#define BERTH_TESTS_GOLDEN_H

#include "codec/desc.h"
#include "codec/json_value.h"

void golden_load(const char *name, const struct type *type, struct arena *a, void *out);
/* The same as a tree. */
struct json_value golden_tree(const char *name, struct arena *a);

#endif
