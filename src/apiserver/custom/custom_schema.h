/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom_schema.h - OpenAPI v3 schemas of custom resources.
 *
 * Purpose:   a structural schema in a form that is quick to use: pruning of unknown fields,
 *            defaults and validation of objects with upstream's messages. Rules of
 *            x-kubernetes-validations (CEL) are kept in the definition and not evaluated.
 * Ownership: a schema is in the arena it was made in and borrows the definition's tree, which must
 *            live as long. Changes of objects are made in the arena that is passed.
 * Threading: immutable; any thread.
 *
 * All functions are linear in the object times what one level of the schema says. Recursion is as
 * deep as the object, which comes from the parser.
 */
#ifndef BERTH_APISERVER_CUSTOM_CUSTOM_SCHEMA_H
#define BERTH_APISERVER_CUSTOM_CUSTOM_SCHEMA_H

#include "apiserver/types/api_status.h"
#include "base/map.h"
#include "cel/regex/regex.h"

enum custom_type {
    CUSTOM_ANY,
    CUSTOM_OBJECT,
    CUSTOM_ARRAY,
    CUSTOM_STRING,
    CUSTOM_INTEGER,
    CUSTOM_NUMBER,
    CUSTOM_BOOLEAN,
};

struct custom_schemas {
    struct custom_schema **v;
    size_t n;
};

/* A limit that may be missing. */
struct custom_limit {
    bool set, exclusive;
    double value;
};

struct custom_schema {
    enum custom_type type;
    const struct json_value *preset; /* default; NULL: none */
    bool nullable, int_or_string, preserve_unknown, embedded;
    struct map properties;            /* name to struct custom_schema */
    struct json_members ordered;      /* the same as in the definition */
    size_t n_presets;                 /* how many have a default */
    struct custom_schema *additional; /* of members that are no properties; NULL: none */
    bool allows_additional;           /* additionalProperties: true */
    struct custom_schema *items;
    struct json_items required, choices; /* choices: enum */
    struct str pattern, format;
    const struct regex *regex; /* of pattern */
    struct custom_limit minimum, maximum, multiple_of;
    struct custom_limit min_length, max_length, min_items, max_items, min_members, max_members;
    struct str list_type; /* "set", "map", "atomic"; "": none */
    struct json_items list_keys;
    struct custom_schemas all_of, any_of, one_of;
    struct custom_schema *none_of; /* not */
};

/* v: openAPIV3Schema. What is malformed is left out; the definition was validated before. */
struct custom_schema *custom_schema_new(const struct json_value *v, struct arena *a)
    __attribute__((returns_nonnull));
/* Frees the indexes; the rest is in the arena. */
void custom_schema_release(struct custom_schema *s);

/*
 * Removes members that the schema does not have; calls fn with the path of each. apiVersion, kind
 * and metadata of the object and of embedded resources stay.
 */
typedef void custom_unknown_fn(void *ctx, struct str path);
void custom_schema_prune(const struct custom_schema *s, struct json_value *object,
                         custom_unknown_fn *fn, void *ctx);
/* Sets defaults, and removes nulls that are not allowed. */
void custom_schema_default(const struct custom_schema *s, struct json_value *object,
                           struct arena *a);
/* Adds upstream's errors for what does not match. */
void custom_schema_validate(const struct custom_schema *s, const struct json_value *object,
                            struct field_errors *errors);

#endif
