/* SPDX-License-Identifier: Apache-2.0 */
/*
 * definition_schema.h - whether the schema of a CustomResourceDefinition is structural.
 *
 * Purpose:   upstream's rules for openAPIV3Schema (apiextensions-apiserver: ValidateStructural and
 *            the checks of validation.go), with its messages.
 * Ownership: errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_DEFINITION_SCHEMA_H
#define BERTH_APISERVER_STRATEGIES_DEFINITION_SCHEMA_H

#include "apiserver/types/api_status.h"

void definition_schema_validate(struct field_errors *errors, const struct field_path *path,
                                const struct json_value *schema);

#endif
