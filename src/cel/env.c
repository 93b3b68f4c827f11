/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/env.h"

#include "cel/device.h"
#include "cel/library.h"

static void add_overload(struct cel_env *env, const struct cel_overload *o)
{
    struct cel_function *f = map_get(&env->functions, str_of(o->function));
    if (!f) {
        f = arena_new(&env->arena, struct cel_function);
        f->name = str_of(o->function);
        map_put(&env->functions, f->name, f);
    }
    const struct cel_overload **grown =
        arena_array(&env->arena, const struct cel_overload *, f->n + 1);
    if (f->n > 0)
        memcpy(grown, f->overloads, f->n * sizeof(*grown));
    grown[f->n++] = o;
    f->overloads = grown;
}

static void add_type(struct cel_env *env, const struct cel_type *type)
{
    struct cel_value *v = arena_new(&env->arena, struct cel_value);
    *v = cel_type_value(type);
    map_put(&env->types, type->name, v);
}

static void add_library(struct cel_env *env, const struct cel_library *lib)
{
    for (size_t i = 0; i < lib->n; i++)
        add_overload(env, &lib->overloads[i]);
    for (size_t i = 0; i < lib->n_types; i++)
        add_type(env, lib->types[i]);
}

struct cel_env *cel_env_new(struct cel_features features)
{
    static const struct cel_type *const types[] = {
        &cel_bool_type,       &cel_bytes_type,  &cel_double_type, &cel_duration_type,
        &cel_int_type,        &cel_list_a_type, &cel_map_ab_type, &cel_null_type,
        &cel_string_type,     &cel_type_type,   &cel_uint_type,   &cel_timestamp_type,
        &cel_optional_a_type,
    };
    struct cel_env *env = xnew(struct cel_env);
    arena_init(&env->arena, 4096);
    env->features = features;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        add_type(env, types[i]);
    for (size_t i = 0; i < n_cel_libraries; i++)
        add_library(env, cel_libraries[i]);
    add_library(env, &cel_lib_device);
    env->device = &cel_device_type;
    return env;
}

void cel_env_free(struct cel_env *env)
{
    if (!env)
        return;
    map_release(&env->functions);
    map_release(&env->types);
    arena_release(&env->arena);
    free(env);
}

static struct str without_dot(struct str name)
{
    return name.n > 0 && name.p[0] == '.' ? str_slice(name, 1, name.n) : name;
}

const struct cel_function *cel_env_function(const struct cel_env *env, struct str name)
{
    return map_get(&env->functions, without_dot(name));
}

const struct cel_value *cel_env_type(const struct cel_env *env, struct str name)
{
    return map_get(&env->types, without_dot(name));
}

const struct cel_type *cel_env_field(const struct cel_env *env, const struct cel_type *object,
                                     struct str field)
{
    return object == env->device ? cel_device_field(env->features, field) : NULL;
}
