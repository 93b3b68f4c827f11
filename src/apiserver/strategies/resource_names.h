/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource_names.h - names and amounts of resources in lists: "cpu", "example.com/gpu".
 *
 * Purpose:   which names containers, quotas and limit ranges may use, and which amounts, with
 *            upstream's messages.
 * Ownership: nothing is kept; errors are in the arena of their list.
 * Threading: any thread.
 */
#ifndef BERTH_APISERVER_STRATEGIES_RESOURCE_NAMES_H
#define BERTH_APISERVER_STRATEGIES_RESOURCE_NAMES_H

#include "api/quantity.h"
#include "apiserver/strategies/field_checks.h"

/* A standard name, or a qualified one. */
bool field_check_resource_name(struct field_errors *errors, const struct field_path *path,
                               struct str name);
bool field_check_container_resource_name(struct field_errors *errors, const struct field_path *path,
                                         struct str name);
bool field_check_quota_resource_name(struct field_errors *errors, const struct field_path *path,
                                     struct str name);
/* Not negative, and whole for what is counted (upstream: ValidateResourceQuantityValue). */
void field_check_resource_quantity(struct field_errors *errors, const struct field_path *path,
                                   struct str name, const struct json_value *value);
/* "must be greater than or equal to 0" */
bool field_check_nonnegative_quantity(struct field_errors *errors, const struct field_path *path,
                                      const struct json_value *value);

/* The quantity of a text or number; 0 if it is none. */
struct quantity quantity_at(const struct json_value *value, struct arena *a);

bool resource_name_is_native(struct str name);
bool resource_name_is_extended(struct str name, struct arena *a);
bool resource_name_is_hugepages(struct str name);
/* Requests may be below limits. */
bool resource_name_overcommits(struct str name);
bool resource_name_is_standard_quota(struct str name);

#endif
