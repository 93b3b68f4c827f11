/* SPDX-License-Identifier: Apache-2.0 */
/*
 * custom.h - the resources that CustomResourceDefinitions define.
 *
 * Purpose:   follows the definitions that are stored: accepts their names or tells which conflict,
 *            establishes them, and adds the versions that are served to struct resources, with
 *            their schema, subresources and printer columns. There is no conversion between the
 *            versions: objects are stored as the version that was the storage version when the
 *            definition was first seen, and differ in apiVersion only.
 *            Rules in x-kubernetes-validations (CEL) are stored and not evaluated.
 * Ownership: struct customs borrows the resources, which live longer, and owns copies of the
 *            definitions. resource->custom and resource->columns are valid until the definition
 *            changes.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_CUSTOM_CUSTOM_H
#define BERTH_APISERVER_CUSTOM_CUSTOM_H

#include "apiserver/custom/custom_schema.h"

#define CUSTOM_CLEANUP "customresourcecleanup.apiextensions.k8s.io"

/* One version of a definition: resource->custom. */
struct custom_resource {
    struct custom_schema *schema; /* NULL: anything goes */
    /* Members with dots, "spec.replicas"; NULL: there is no scale subresource. */
    const char *scale_spec, *scale_status;
    const char *scale_selector; /* NULL: none */
    struct str warning;         /* of a deprecated version, for every request; "": none */
};

struct customs;

struct customs *customs_new(struct resources *resources) __attribute__((returns_nonnull));
struct customs *customs_free(struct customs *cs);

/*
 * Sets status.acceptedNames and the conditions NamesAccepted and Established of a definition that
 * will be stored. time: RFC 3339.
 */
void customs_accept(const struct customs *cs, struct json_value *definition, struct str time,
                    struct arena *a);
/* The definition was stored: what it serves is served from now on. */
void customs_set(struct customs *cs, const struct json_value *definition);
/* The definition is gone. */
void customs_remove(struct customs *cs, struct str name);
/* The resource that the objects of a definition are stored as. NULL: it is not established. */
const struct resource *customs_stored(const struct customs *cs, struct str name);

#endif
