/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - the kinds of Kubernetes 1.36, and all fields of those that berth reads.
 *
 * Purpose:   tells a kind that exists from a misspelt one, and a field that is of no interest to
 *            scheduling from one that does not exist. The tables are generated from upstream's
 *            types (tests/kube/golden.sh); unit/schema compares them with upstream's .proto files.
 * Ownership: constant.
 * Threading: any.
 */
#ifndef BERTH_API_SCHEMA_H
#define BERTH_API_SCHEMA_H

#include "codec/schema.h"

struct schema_kind {
    struct str kind, api_version;
    const struct schema_type *type; /* NULL: its fields are not known */
};

extern const struct schema_type schema_types[];
extern const size_t n_schema_types;
extern const struct schema_kind schema_kinds[]; /* sorted by kind */
extern const size_t n_schema_kinds;

/* NULL: 1.36 has no such kind, though extensions may. */
const struct schema_kind *schema_kind_find(struct str api_version, struct str kind);
/* A built-in kind of this name, whatever its apiVersion; one with fields is preferred. */
const struct schema_kind *schema_kind_named(struct str kind);
/* The kind of the same apiVersion that a misspelt one was probably meant to be; or NULL. */
const struct schema_kind *schema_kind_near(struct str api_version, struct str kind);

#endif
