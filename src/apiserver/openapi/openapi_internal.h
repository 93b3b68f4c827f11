/* SPDX-License-Identifier: Apache-2.0 */
/*
 * openapi_internal.h - the parts of a document.
 *
 * Purpose:   paths, schemas of types and descriptions of the two versions of OpenAPI.
 * Ownership: struct document belongs to the call that writes it.
 * Threading: one thread per document.
 */
#ifndef BERTH_APISERVER_OPENAPI_INTERNAL_H
#define BERTH_APISERVER_OPENAPI_INTERNAL_H

#include "apiserver/openapi/openapi.h"

struct document {
    const struct resources *rs;
    bool v2;
    bool *needed; /* of schema_types, by position */
    struct buf *out;
};

/* Upstream's names of the types that every document has. */
#define OPENAPI_META "k8s.io.apimachinery.pkg.apis.meta.v1."

/* --- schemas ---------------------------------------------------------------------------------- */

/* "#/components/schemas/" or "#/definitions/", and the name of the type in OpenAPI. */
void openapi_write_ref(struct document *d, struct str type_name);
/* "k8s.io.api.core.v1.Pod" as "io.k8s.api.core.v1.Pod". */
void openapi_write_name(struct str type_name, struct buf *out);
/* Marks the type and all types that it refers to. */
void openapi_need(struct document *d, const struct schema_type *type);
/* The type of this name; NULL if there is none. */
const struct schema_type *openapi_type(const char *name);
/* The members of the needed types, of their lists and of scalar types: "name":{…},… */
void openapi_write_types(struct document *d, bool (*serves)(void *ctx, const struct resource *r),
                         void *ctx);
/* "com.example.v1.Widget" */
void openapi_write_custom_name(const struct resource *r, const char *suffix, struct buf *out);

/* --- paths ------------------------------------------------------------------------------------ */

/* The paths of one resource, each with a comma before it unless *first. */
void openapi_write_paths(struct document *d, const struct resource *r, bool *first);

/* --- texts ------------------------------------------------------------------------------------ */

/* What people look up: our own words. NULL: none. type_name: upstream's; field NULL: the type. */
const char *openapi_description(const char *type_name, const char *field);

#endif
