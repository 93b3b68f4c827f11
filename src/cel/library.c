/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/library.h"

const struct cel_library *const cel_libraries[] = {
    NULL,
};

const size_t n_cel_libraries = 0;
