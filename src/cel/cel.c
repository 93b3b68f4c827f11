/* SPDX-License-Identifier: Apache-2.0 */
#include "cel/cel.h"

#include "cel/checker.h"
#include "cel/device.h"
#include "cel/estimate.h"
#include "cel/parser.h"
#include "cel/program.h"
#include "cel/run.h"
#include "cel/validate.h"

/* The longest message: a hundred problems, each with its line. */
#define ERROR_MAX ((size_t)1 << 21)

static int fail(struct buf *error, const char *what, struct str detail)
{
    buf_add_cstr(error, what);
    buf_add_str(error, detail);
    return -EINVAL;
}

/* The result must be a bool, or unknown until it is computed. */
static int check_result_type(const struct cel_type *type, struct cel_features features,
                             struct buf *error)
{
    if (type->kind == CEL_T_BOOL || type->kind == CEL_T_ANY ||
        (type->kind == CEL_T_DYN && features.list_type_attributes))
        return 0;
    buf_add_cstr(error, "must evaluate to bool or the unknown type, not ");
    cel_type_write_declared(type, error);
    return -EINVAL;
}

static int compile(struct cel_program *program, struct str expression, struct buf *error)
{
    struct cel_source source;
    struct cel_ast ast;
    cel_source_init(&source, &program->arena, expression);
    if (!cel_parse(&source, &ast) || !cel_check(&source, &ast, program->env) ||
        !cel_validate(&source, &ast, program->env)) {
        buf_add_cstr(error, "compilation failed: ");
        cel_source_write_problems(&source, error);
        return -EINVAL;
    }
    int err = check_result_type(ast.root->type, program->env->features, error);
    if (err < 0)
        return err;
    struct err why;
    err = cel_plan(program, &ast, &why);
    if (err < 0)
        return fail(error, "program instantiation failed: ", str_of(why.msg));
    program->max_cost = cel_estimate(&ast).max;
    return 0;
}

int cel_compile_text(struct str expression, const struct cel_env *env,
                     struct cel_program **ret_program, struct buf *error)
{
    struct cel_program *program = xnew(struct cel_program);
    arena_init(&program->arena, 4096);
    program->env = env;
    int err = compile(program, expression, error);
    if (err < 0) {
        cel_program_free(program);
        return err;
    }
    *ret_program = program;
    return 0;
}

int cel_compile(struct str expression, const struct cel_env *env, struct cel_program **ret_program,
                struct err *reterr)
{
    struct buf error;
    buf_init(&error, ERROR_MAX);
    int err = cel_compile_text(expression, env, ret_program, &error);
    if (err < 0)
        err_set(reterr, err, "%s", buf_cstr(&error));
    buf_release(&error);
    return err;
}

void cel_program_free(struct cel_program *program)
{
    if (!program)
        return;
    arena_release(&program->arena);
    free(program);
}

uint64_t cel_program_max_cost(const struct cel_program *program)
{
    return program->max_cost;
}

/* Why a value is no bool, in upstream's words, which differ by type. */
static struct str conversion_error(struct cel_value v, struct arena *a)
{
    struct str name = cel_type_of(v)->name;
    switch (v.kind) {
    case CEL_INT:
    case CEL_UINT:
        return arena_printf(a, "unsupported type conversion from '%.*s' to bool", STR_ARG(name));
    case CEL_STRING:
        return STR("unsupported native conversion from string to 'bool'");
    case CEL_DOUBLE:
        return STR("type conversion error from Double to 'bool'");
    case CEL_BYTES:
        return STR("type conversion error from Bytes to 'bool'");
    case CEL_LIST:
    case CEL_MAP:
        return arena_printf(a, "type conversion error from %.*s to 'bool'", STR_ARG(name));
    case CEL_TYPE:
        return STR("type conversion not supported for 'type'");
    case CEL_OPTIONAL:
        return STR("optional.none() dereference");
    case CEL_NULL:
        break;
    default: { /* the name without its package: 'Duration', 'Quantity' */
        struct str package;
        while (str_find(name, '.') < name.n)
            (void)str_split(&name, '.', &package);
        if (str_is(name, "NamedFormat"))
            name = STR("Format");
    }
    }
    return arena_printf(a, "type conversion error from '%.*s' to 'bool'", STR_ARG(name));
}

static int to_bool(struct cel_value v, struct arena *a, bool *ret_matches, struct err *reterr)
{
    struct str name = cel_type_of(v)->name;
    while (v.kind == CEL_OPTIONAL && v.optional)
        v = *v.optional;
    if (v.kind != CEL_BOOL)
        return err_set(reterr, -EINVAL,
                       "CEL result of type %.*s could not be converted to bool: %.*s",
                       STR_ARG(name), STR_ARG(conversion_error(v, a)));
    *ret_matches = v.b;
    return 0;
}

int cel_device_matches(const struct cel_program *program, struct str driver,
                       const struct device *device, uint64_t limit, bool *ret_matches,
                       uint64_t *ret_cost, struct err *reterr)
{
    struct arena a;
    struct cel_value value;
    uint64_t cost = 0;
    arena_init(&a, 4096);
    int err = cel_device_value(program->env->features, driver, device, &a, &value, reterr);
    if (err == 0) {
        struct cel_value v =
            cel_run_program(program, value, &a, limit ? limit : CEL_COST_LIMIT, &cost);
        err = cel_is_error(v) ? err_set(reterr, -EINVAL, "%.*s", STR_ARG(v.s))
                              : to_bool(v, &a, ret_matches, reterr);
    }
    if (ret_cost)
        *ret_cost = cost;
    arena_release(&a);
    return err;
}
