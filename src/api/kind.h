/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kind.h - the table of the API kinds that berth knows.
 *
 * Purpose:   all names of a kind (URL, JSON, envelope) and the table that decodes it. Custom kinds,
 *            which plugins ask for, are added at run time; their objects are JSON trees
 *            (api/custom.h).
 * Ownership: constant data of the program; custom kinds stay until it ends.
 * Threading: any thread.
 */
#ifndef BERTH_API_KIND_H
#define BERTH_API_KIND_H

#include "codec/desc.h"

enum kind_id {
    KIND_POD,
    KIND_NODE,
    KIND_NAMESPACE,
    KIND_PERSISTENT_VOLUME,
    KIND_PERSISTENT_VOLUME_CLAIM,
    KIND_SERVICE,
    KIND_REPLICATION_CONTROLLER,
    KIND_REPLICA_SET,
    KIND_STATEFUL_SET,
    KIND_POD_DISRUPTION_BUDGET,
    KIND_PRIORITY_CLASS,
    KIND_STORAGE_CLASS,
    KIND_CSI_NODE,
    KIND_CSI_DRIVER,
    KIND_CSI_STORAGE_CAPACITY,
    KIND_VOLUME_ATTACHMENT,
    KIND_RESOURCE_CLAIM,
    KIND_RESOURCE_CLAIM_TEMPLATE,
    KIND_RESOURCE_SLICE,
    KIND_DEVICE_CLASS,
    KIND_DEVICE_TAINT_RULE,
    KIND_POD_GROUP,
    KIND_WORKLOAD,
    KIND_LEASE,
    KIND_LEASE_CANDIDATE,
    KIND_EVENT,
    KIND_CORE_EVENT,
    KIND_BINDING,
    KIND_STATUS,         /* no metadata, no resource */
    KIND_DELETE_OPTIONS, /* no metadata, no resource */
    KIND_COUNT,          /* the first custom kind */
};

/* Numbers of kinds, including custom ones. */
#define KIND_MAX_CUSTOM 32
#define KIND_SPACE      (KIND_COUNT + KIND_MAX_CUSTOM)

static inline bool kind_is_custom(enum kind_id id)
{
    return (int)id >= KIND_COUNT;
}

struct kind {
    enum kind_id id;
    bool namespaced;
    bool has_metadata;      /* the C struct begins with a struct object_meta */
    struct str group;       /* "" (core), "apps" */
    struct str version;     /* "v1" */
    struct str api_version; /* "v1", "apps/v1" */
    struct str kind;        /* "Pod" */
    struct str list_kind;   /* "PodList" */
    struct str resource;    /* "pods", as in URLs; "" if there is none */
    const struct type *type;
};

const struct kind *kind_get(enum kind_id id) __attribute__((returns_nonnull));
/* NULL if berth does not know it. */
const struct kind *kind_find(struct str api_version, struct str kind);
const struct kind *kind_find_resource(struct str group, struct str resource);
/*
 * The kind of these names, a custom one if berth does not know it. NULL: there are KIND_MAX_CUSTOM
 * already, or a name is empty.
 */
struct kind_names {
    struct str api_version, kind, resource;
    bool namespaced;
};
const struct kind *kind_custom(const struct kind_names *names);

#endif
