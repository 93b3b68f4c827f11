/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - the libraries of the environment.
 *
 * Purpose:   cel_libraries, in the order in which upstream's environment adds them: the overloads
 *            of a function are tried in this order.
 *
 *            stdlib_*.c      operators, conversions, strings, times of the language itself
 *            lib_optional.c  optional.of, orValue, first, last, ...
 *            lib_*.c         Kubernetes' and cel-go's extensions
 *            device.c        includes(), of DRAListTypeAttributes only
 *
 *            Macros (has, all, cel.bind, transformMap, sortBy, ...) are in macros.c.
 * Ownership: constants.
 * Threading: any thread.
 */
#ifndef BERTH_CEL_LIBRARY_H
#define BERTH_CEL_LIBRARY_H

#include "cel/function.h"

extern const struct cel_library *const cel_libraries[];
extern const size_t n_cel_libraries;

#endif
