/* SPDX-License-Identifier: Apache-2.0 */
/*
 * volumes.h - persistent volumes, claims and storage capacities, as all profiles see them.
 *
 * Purpose:   what objects imply for nodes, kept up to date as they change: free volumes by class,
 *            place and size, volumes by the claim that they name, capacities by class, migrated
 *            plugins by node. And what is assumed: a volume that will be bound to a claim, a claim
 *            whose node has been selected (upstream: PVAssumeCache, PVCAssumeCache).
 * Ownership: shared state of the plugin's instances (struct berth_shared_type); holds a reference
 *            on every object.
 * Threading: changed by the engine's thread; the pool's threads read during a cycle.
 *
 * An assumption is made for one version of the object. It ends with revert, or when another version
 * arrives.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_VOLUMES_H
#define BERTH_PLUGINS_VOLUME_BINDING_VOLUMES_H

#include "api/storage.h"
#include "engine/framework/framework.h"
#include "plugins/common/csi_translation.h"
#include "plugins/volume_binding/node_sets.h"

struct pv {
    struct object *object; /* the API server's version */
    const struct persistent_volume *body;
    const struct quantity *size;
    struct node_set *where;  /* NULL: every node */
    struct object *assumed;  /* the claim that it is assumed to be bound to; NULL: none */
    struct pv_pool *pool;    /* if it is free */
    struct claimed *claimed; /* if it names a claim */
    /* On nodes where the volume's plugin is migrated, the CSI driver's topology counts. */
    const struct csi_migration *migration; /* NULL: never */
    struct node_set *migrated_where;       /* NULL: every node */
    char *fault;                           /* why it cannot be translated; NULL: it can */
};

typedef VEC(struct pv *) pv_list;

/* Free volumes of one class that the same nodes can reach, the smallest first. */
struct pv_pool {
    struct pv_class *class;
    struct node_set *where; /* NULL: every node */
    size_t index;           /* in class->pools */
    pv_list free;
    uint64_t offers; /* bits: to which claim kinds it offers a volume (claim_kinds.h) */
};

struct pv_class {
    struct str name; /* owned */
    VEC(struct pv_pool *) pools;
    struct pv_pool *everywhere; /* one of them; NULL: none */
};

/* The volumes that name a claim, by name. */
struct claimed {
    struct str claim; /* "namespace/name", owned */
    pv_list volumes;
};

struct assumed_claim {
    struct str claim;      /* "namespace/name", owned */
    struct object *object; /* the version it was made for */
    struct str node;       /* owned */
};

struct capacity {
    struct str key; /* "namespace/name", owned */
    struct object *object;
    const struct csi_storage_capacity *body;
    struct node_set *where;
    bool reachable; /* it has a topology */
    bool limited;   /* it has a capacity or a maximum size */
    int64_t limit;  /* of one volume */
    struct capacity_class *class;
};

struct capacity_class {
    struct str name;                   /* owned */
    VEC(struct capacity *) capacities; /* by key */
};

/* The nodes on which a plugin is migrated, as of these changes. */
struct migrated_nodes {
    const struct csi_migration *migration;
    uint64_t csi_changes, node_changes;
    uint64_t *words;
    size_t n_words;
};

struct claim_binding;

struct volumes {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct cluster *cluster;
    const struct engine_log *log;
    struct node_sets sets;
    struct map pvs;              /* by name */
    struct map classes;          /* → struct pv_class */
    struct map by_claim;         /* → struct claimed */
    struct map assumed_claims;   /* → struct assumed_claim */
    size_t n_assumed_pvs;        /* pvs with `assumed` */
    struct map capacities;       /* "namespace/name" → struct capacity */
    struct map capacity_classes; /* → struct capacity_class */
    struct map csi_nodes;        /* CSINodes with migrated plugins, by name → struct object */
    uint64_t csi_changes;
    VEC(struct migrated_nodes) migrated; /* few: one for each plugin in use */
    struct claim_kind *kinds[64];        /* claim_kinds.h; NULL: free */
    struct map kinds_by_key;
    uint64_t kinds_used; /* counts uses */
    struct map waits;    /* what bindings wait for: claim_binding_wait.c */
    struct buf key;      /* scratch */
};

extern const struct berth_shared_type volumes_type;

/* Looks at the nodes that changed. Call in pre_filter. */
static inline void volumes_update(struct volumes *v)
{
    node_sets_update(&v->sets);
}

/* --- persistent volumes ----------------------------------------------------------------------- */

void pv_changed(struct volumes *v, struct object *before, struct object *after);
void pvs_release(struct volumes *v);
static inline struct pv *pv_get(const struct volumes *v, struct str name)
{
    return map_get(&v->pvs, name);
}
/* The volumes that name the claim; NULL if there are none. */
const struct claimed *pv_claimed(const struct volumes *v, struct str claim);
/*
 * The volume is bound to the claim from now on. version: of the volume when that was decided; false
 * if it is another one by now.
 */
bool pv_assume(struct volumes *v, const struct object *version, struct object *claim);
/* Ends an assumption that was made for this version. */
void pv_revert(struct volumes *v, const struct object_meta *version);

struct str pv_class_name(const struct persistent_volume *pv);
const struct quantity *pv_capacity(const struct persistent_volume *pv);

/* --- claims ----------------------------------------------------------------------------------- */

const struct quantity *claim_request(const struct persistent_volume_claim *claim);
/* Bound by both sides (upstream: isPVCFullyBound). */
bool claim_is_bound(const struct persistent_volume_claim *claim);
/* Is the volume bound, or to be bound, to this claim (upstream: IsVolumeBoundToClaim)? */
bool pv_is_for(const struct pv *pv, const struct persistent_volume_claim *claim);

/* The claim from the API server; NULL if there is none. */
struct object *claim_get(struct volumes *v, struct str namespace, struct str name);
void claim_changed(struct volumes *v, struct object *before, struct object *after);
void claims_release(struct volumes *v);
/* The assumed node of this version of the claim; p NULL if none is assumed. */
struct str claim_assumed_node(struct volumes *v, const struct object *claim);
/* As pv_assume and pv_revert: the node is selected for the claim from now on. */
bool claim_assume(struct volumes *v, struct object *version, struct str node);
void claim_revert(struct volumes *v, const struct object_meta *version);

/* Is it the same version? Objects without versions, as in manifests, are compared by identity. */
bool same_version(const struct object_meta *a, const struct object_meta *b);

/* --- capacities ------------------------------------------------------------------------------- */

void capacity_changed(struct volumes *v, struct object *before, struct object *after);
void capacities_release(struct volumes *v);
/* The largest volume, NULL if unknown (upstream: volumeLimit). */
const struct quantity *capacity_limit(const struct csi_storage_capacity *c);
/* The first capacity of the class that has room for a volume of this size on the node. */
const struct capacity *capacity_for(const struct volumes *v, struct str class, int64_t size,
                                    const struct berth_node *node);
/* Adds the nodes for which there is one. */
void capacities_paint(const struct volumes *v, struct str class, int64_t size, uint64_t *out,
                      size_t n_slots);

/* --- CSI migration ---------------------------------------------------------------------------- */

void csi_node_changed(struct volumes *v, struct object *before, struct object *after);
void csi_nodes_release(struct volumes *v);
/* Sets migration, migrated_where and fault of a volume. */
void pv_migrate(struct volumes *v, struct pv *pv);
void pv_end_migration(struct volumes *v, struct pv *pv);
/* Does a CSI driver serve the volume on that node? */
bool pv_migrated_on(const struct volumes *v, const struct pv *pv, struct str node);
/* All nodes on which a CSI driver serves the volume; valid until the next event. */
const uint64_t *pv_migrated_nodes(struct volumes *v, const struct pv *pv, size_t n_slots);

#endif
