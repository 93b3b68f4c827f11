/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cel.h - CEL expressions that select devices.
 *
 * Purpose:   the Common Expression Language as Kubernetes v1.36 offers it to DeviceClasses and
 *            ResourceClaims (resource.k8s.io/v1): an expression is parsed, type-checked and planned
 *            once, then evaluated on each device. Values, errors and costs are upstream's.
 * Ownership: cel_program_free frees what cel_compile made. A program keeps a copy of the expression
 *            and borrows the environment.
 * Threading: environments and programs are immutable; several threads may evaluate one program.
 */
#ifndef BERTH_CEL_CEL_H
#define BERTH_CEL_CEL_H

#include "api/resource_slice.h"
#include "base/err.h"

/* CELSelectorExpressionMaxCost and CELSelectorExpressionMaxLength of resource.k8s.io/v1. */
#define CEL_COST_LIMIT           1000000u
#define CEL_EXPRESSION_MAX_BYTES 10240u

/* Feature gates that change the language. */
struct cel_features {
    bool consumable_capacity;  /* DRAConsumableCapacity: device.allowMultipleAllocations */
    bool list_type_attributes; /* DRAListTypeAttributes: lists as attributes, includes() */
};

struct cel_env;
struct cel_program;

/* Variables, types and functions. */
struct cel_env *cel_env_new(struct cel_features features);
void cel_env_free(struct cel_env *env);

/*
 * Compiles. -EINVAL with upstream's message: "compilation failed: ERROR: <input>:1:8: ...", "must
 * evaluate to bool or the unknown type, not int", "program instantiation failed: ...". The struct
 * err keeps its first 511 bytes; cel_compile_text appends all of it to *error.
 */
int cel_compile(struct str expression, const struct cel_env *env, struct cel_program **ret_program,
                struct err *reterr) MUST_CHECK;
int cel_compile_text(struct str expression, const struct cel_env *env,
                     struct cel_program **ret_program, struct buf *error) MUST_CHECK;
void cel_program_free(struct cel_program *program);

/*
 * Evaluates: *ret_matches is the result. -EINVAL with upstream's message if the evaluation fails
 * ("no such key: model", "operation cancelled: actual cost limit exceeded", "attribute x: ...").
 *
 * driver: of the slice, the domain of attributes that name none. limit: 0 is CEL_COST_LIMIT.
 * ret_cost: what was spent; may be NULL.
 */
int cel_device_matches(const struct cel_program *program, struct str driver,
                       const struct device *device, uint64_t limit, bool *ret_matches,
                       uint64_t *ret_cost, struct err *reterr) MUST_CHECK;

/* The largest cost that a device could cause, as upstream's API server estimates it. */
uint64_t cel_program_max_cost(const struct cel_program *program);

#endif
