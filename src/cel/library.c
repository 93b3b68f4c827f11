/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/library.h"

#include "cel/lib.h"
#include "cel/stdlib.h"

const struct cel_library *const cel_libraries[] = {
    &cel_lib_operators,      &cel_lib_relations, &cel_lib_conversions, &cel_lib_times,
    &cel_lib_matches,        &cel_lib_url,       &cel_lib_regex,       &cel_lib_k8s_lists,
    &cel_lib_authz,          &cel_lib_optional,  &cel_lib_quantity,    &cel_lib_strings,
    &cel_lib_sets,           &cel_lib_ip,        &cel_lib_cidr,        &cel_lib_format,
    &cel_lib_comprehensions, &cel_lib_semver,    &cel_lib_lists,
};

const size_t n_cel_libraries = ARRAY_LEN(cel_libraries);
