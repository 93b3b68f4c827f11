/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stdlib.h - the functions of the language itself.
 *
 * Purpose:   tables of operators, relations, conversions and strings, times, matches.
 * Ownership: constants.
 * Threading: any thread.
 */
#ifndef BERTH_CEL_STDLIB_H
#define BERTH_CEL_STDLIB_H

#include "cel/function.h"

extern const struct cel_library cel_lib_operators, cel_lib_relations, cel_lib_conversions,
    cel_lib_times, cel_lib_matches, cel_lib_optional, cel_lib_comprehensions;

/*
 * The error of an operator whose first argument does not support it: "no such overload", with the
 * name of the function unless the argument is a string or a time.
 */
struct cel_value cel_not_supported(const struct cel_call *call);

#endif
