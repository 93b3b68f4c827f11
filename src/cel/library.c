/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/library.h"

#include "cel/stdlib.h"

const struct cel_library *const cel_libraries[] = {
    &cel_lib_operators, &cel_lib_relations, &cel_lib_conversions,
    &cel_lib_times,     &cel_lib_optional,  &cel_lib_comprehensions,
};

const size_t n_cel_libraries = ARRAY_LEN(cel_libraries);
