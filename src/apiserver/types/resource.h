/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resource.h - the resources that the embedded API server serves.
 *
 * Purpose:   the one table of resources: names, scope, verbs, subresources and the schema of their
 *            objects. Discovery, OpenAPI, routing and the registry read it. Resources of
 *            CustomResourceDefinitions have the same struct and are added at run time
 *            (struct resources).
 * Ownership: built-in resources are constant data. Those of a CustomResourceDefinition belong to
 *            their struct resources and live until it is released, even if the definition is
 *            deleted: pointers stay valid.
 * Threading: one thread; the built-in table any.
 */
#ifndef BERTH_APISERVER_TYPES_RESOURCE_H
#define BERTH_APISERVER_TYPES_RESOURCE_H

#include "api/schema.h"
#include "base/map.h"

enum resource_verb {
    VERB_CREATE = 1 << 0,
    VERB_DELETE = 1 << 1,
    VERB_DELETE_COLLECTION = 1 << 2,
    VERB_GET = 1 << 3,
    VERB_LIST = 1 << 4,
    VERB_PATCH = 1 << 5,
    VERB_UPDATE = 1 << 6,
    VERB_WATCH = 1 << 7,
};
#define VERBS_ALL 0xffU

/* "status", "scale", "binding": a row of the resource. */
struct subresource {
    const char *name;
    const char *kind;        /* of its bodies: "Scale", "Eviction", or the resource's own */
    const char *api_version; /* of that kind: "autoscaling/v1"; "": the resource's own */
    unsigned verbs;          /* enum resource_verb */
};

/* A column of kubectl get, of a custom resource: additionalPrinterColumns. */
struct printer_column {
    struct str name, type, format, description, json_path;
    int32_t priority; /* 0: always shown; else with -o wide */
};

struct json_value;

struct resource {
    struct str group, version; /* "apps", "v1"; the core group is "" */
    struct str api_version;    /* "apps/v1", "v1" */
    struct str plural, singular, kind, list_kind;
    bool namespaced;
    unsigned verbs;                                     /* enum resource_verb */
    const char *const *short_names, *const *categories; /* end with NULL; NULL: none */
    const struct subresource *subresources;             /* ends with name NULL; NULL: none */
    const struct schema_type *types;                    /* the table that `type` refers to */
    const struct schema_type *type;                     /* NULL: no schema, anything goes */
    /*
     * Objects of several resources may be kept once: events of the core group and of
     * events.k8s.io, the versions of a custom resource. The objects are stored as the resource
     * `stored`; NULL: as this one. Two resources with the same `stored` see the same objects.
     */
    const struct resource *stored;
    /* Upstream's storage version where it is another one, for discovery only; NULL: `stored`'s. */
    const char *storage_version;
    const void *custom;                   /* of a custom resource: struct custom_resource */
    const struct printer_column *columns; /* of a custom resource, behind the name */
    size_t n_columns;
    const struct json_value *schema; /* of a custom resource: openAPIV3Schema; NULL: none */
};

static inline const struct resource *resource_stored(const struct resource *r)
{
    return r->stored ? r->stored : r;
}

/*
 * Order of versions by upstream's rule: v2 > v1 > v2beta1 > v1beta2 > v1alpha1 > everything else,
 * by name. Positive: a is preferred to b.
 */
int resource_version_compare(struct str a, struct str b);
/* NULL if it has no such subresource. */
const struct subresource *resource_subresource(const struct resource *r, struct str name);

/* --- all that one server serves --------------------------------------------------------------- */

struct resources;

struct resources *resources_new(void) __attribute__((returns_nonnull));
struct resources *resources_free(struct resources *rs);

/* By URL: /apis/GROUP/VERSION/PLURAL. NULL: not served. */
const struct resource *resources_find(const struct resources *rs, struct str group,
                                      struct str version, struct str plural);
/* By the names in an object. NULL: not served. */
const struct resource *resources_find_kind(const struct resources *rs, struct str api_version,
                                           struct str kind);
/* Any version; the preferred one first. For scheduler, controllers and commands. */
const struct resource *resources_named(const struct resources *rs, struct str group,
                                       struct str plural);
/* In the order of discovery; NULL after the last. */
const struct resource *resources_next(const struct resources *rs, const struct resource *after);
/* Whether a group or one of its versions is served: 404 for a whole group. */
bool resources_has_group(const struct resources *rs, struct str group, struct str version);

/*
 * Adds a copy of a custom resource, or replaces the one of the same group, version and plural name.
 * What `types`, `type`, `stored`, `custom` and `columns` point to is borrowed. Returns the one that
 * is served: its address stays the same when it is replaced, or removed and added again. NULL: it
 * is built in.
 */
const struct resource *resources_add(struct resources *rs, const struct resource *r);
/* Takes it out of service; the struct stays. */
void resources_remove(struct resources *rs, const struct resource *r);

#endif
