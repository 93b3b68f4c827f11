/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema.h - the kinds of Kubernetes 1.36, and all fields of those that berth reads.
 *
 * Purpose:   distinguishes existing kinds from misspelt ones, and fields that scheduling does not
 *            read from fields that do not exist. The tables are generated from upstream's types
 *            (tests/kube/golden.sh); unit/schema compares them with upstream's .proto files.
 * Ownership: constant data of the program.
 * Threading: constant; any thread.
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

/* NULL: not a kind of 1.36, but possibly of an extension. */
const struct schema_kind *schema_kind_find(struct str api_version, struct str kind);
/* A built-in kind of this name, whatever its apiVersion; one with fields is preferred. */
const struct schema_kind *schema_kind_named(struct str kind);
/* The kind of the same apiVersion that a misspelt one probably means, or NULL. */
const struct schema_kind *schema_kind_near(struct str api_version, struct str kind);

#endif
