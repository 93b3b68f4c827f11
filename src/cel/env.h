/* SPDX-License-Identifier: Apache-2.0 */
/*
 * env.h - what an expression may name: functions, types and the variable device.
 *
 * Purpose:   made once per set of features from the table of libraries.
 * Ownership: cel_env_free frees it.
 * Threading: immutable; any thread.
 */
#ifndef BERTH_CEL_ENV_H
#define BERTH_CEL_ENV_H

#include "base/map.h"
#include "cel/cel.h"
#include "cel/function.h"

/* All overloads of one name, in the order of the libraries. */
struct cel_function {
    struct str name;
    const struct cel_overload **overloads;
    size_t n;
};

struct cel_env {
    struct arena arena;
    struct cel_features features;
    struct map functions; /* struct cel_function */
    struct map types;     /* struct cel_value: the type as a value */
    const struct cel_type *device;
};

/* NULL if there is none. A leading dot is ignored. */
const struct cel_function *cel_env_function(const struct cel_env *env, struct str name);
const struct cel_value *cel_env_type(const struct cel_env *env, struct str name);
/* The type of a field of an object type; NULL: it has no such field. */
const struct cel_type *cel_env_field(const struct cel_env *env, const struct cel_type *object,
                                     struct str field);

#endif
