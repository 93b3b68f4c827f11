/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving_symbols.h - names of the addresses of this program.
 *
 * Purpose:   CPU profiles and /debug/pprof/symbol. Reads the symbol table of the program's own
 *            file, which knows static functions as well; shared libraries are asked for by dladdr.
 * Ownership: the table owns its names.
 * Threading: constant once made.
 */
#ifndef BERTH_SERVE_SERVING_SYMBOLS_H
#define BERTH_SERVE_SERVING_SYMBOLS_H

#include "base/str.h"

struct symbols;

struct symbols *symbols_new(void); /* empty where the file was stripped */
struct symbols *symbols_free(struct symbols *symbols);
/* The function that holds the address. *ret_name lives as long as symbols. */
bool symbols_find(const struct symbols *symbols, uint64_t address, struct str *ret_name);

/* Where the program lies in memory; false: unknown. */
struct symbols_mapping {
    uint64_t start, limit, offset; /* of the file's executable part */
    const char *file;
};
bool symbols_mapping(const struct symbols *symbols, struct symbols_mapping *ret_mapping);

#endif
