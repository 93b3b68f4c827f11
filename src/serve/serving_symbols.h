/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_symbols.h - function names of addresses.
 *
 * Purpose:   for CPU profiles and /debug/pprof/symbol. Reads the symbol table of the executable,
 *            which includes static functions; uses dladdr for shared libraries.
 * Ownership: the table owns its names.
 * Threading: constant after symbols_new.
 */
#ifndef BERTH_SERVE_SERVING_SYMBOLS_H
#define BERTH_SERVE_SERVING_SYMBOLS_H

#include "base/str.h"

struct symbols;

struct symbols *symbols_new(void); /* empty if the executable is stripped */
struct symbols *symbols_free(struct symbols *symbols);
/* The function that contains the address. *ret_name lives as long as symbols. */
bool symbols_find(const struct symbols *symbols, uint64_t address, struct str *ret_name);

/* The executable segment of the program; false if unknown. */
struct symbols_mapping {
    uint64_t start, limit, offset; /* in memory, and in the file */
    const char *file;
};
bool symbols_mapping(const struct symbols *symbols, struct symbols_mapping *ret_mapping);

#endif
