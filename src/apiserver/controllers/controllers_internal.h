/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controllers_internal.h - what the controllers share: objects, indexes, writes.
 *
 * Purpose:   one item per object. The sync functions, one per kind, look at an item and make the
 *            next write for it; its watch event leads to the step after that.
 * Ownership: items belong to struct controllers.
 * Threading: as controllers.h.
 */
#ifndef BERTH_APISERVER_CONTROLLERS_CONTROLLERS_INTERNAL_H
#define BERTH_APISERVER_CONTROLLERS_CONTROLLERS_INTERNAL_H

#include "api/persistent_volume.h"
#include "api/pod.h"
#include "api/resource_claim.h"
#include "api/storage.h"
#include "apiserver/controllers/controllers.h"
#include "base/heap.h"
#include "base/map.h"
#include "codec/json.h"

#define VOLUME_AVAILABLE "Available"
#define VOLUME_BOUND     "Bound"
#define VOLUME_RELEASED  "Released"
#define CLAIM_PENDING    "Pending"
#define CLAIM_BOUND      "Bound"
#define CLAIM_LOST       "Lost"

#define ANN_BETA_STORAGE_PROVISIONER "volume.beta.kubernetes.io/storage-provisioner"
#define ANN_PROVISIONED_BY           "pv.kubernetes.io/provisioned-by"
#define ANN_IS_DEFAULT_CLASS         "storageclass.kubernetes.io/is-default-class"
#define PVC_PROTECTION               "kubernetes.io/pvc-protection"
#define PV_PROTECTION                "kubernetes.io/pv-protection"

/*
 * How long the owner of an object must be missing before the object is released or deleted:
 * watches of different kinds are not in step.
 */
#define MISSING_GRACE ((int64_t)1000000000)

struct bucket;

struct item {
    struct object *object; /* NULL: deleted */
    bool queued;           /* in controllers.queue */
    bool dirty;            /* to be looked at; not before its writes are answered */
    unsigned n_writes;     /* under way, by or for it */
    unsigned n_changes;    /* versions of it that were seen */
    bool outdated;         /* a write changed it, and the new version was not seen yet */
    bool wanted;           /* a volume: a claim could not use it because of a write under way */
    unsigned n_failures;   /* of writes, since the last that succeeded */
    int64_t since;         /* it waits since then: see waits_since; 0: not */
    int64_t due;           /* when to look at it again */
    struct heap_node timer;
    struct bucket *home; /* the bucket in which it is at home_at; NULL: none */
    size_t home_at;
    struct str key;
    char text[];
};

/* Items that have something in common. */
struct bucket {
    struct map *map; /* that it is in; an empty bucket is freed */
    VEC(struct item *) items;
    size_t n_users; /* claims: pods on nodes that use it */
    struct str key;
    char text[];
};

/* A write that is not answered. */
struct flight {
    uint64_t id;
    struct item *target, *by; /* may be the same; NULL: none */
    unsigned n_changes;       /* of the target when it was sent */
};

struct controllers {
    struct controllers_options options;
    struct map items; /* "PersistentVolume /x" → struct item */
    VEC(struct item *) queue;
    size_t queue_at;
    struct heap timers; /* items by due */
    struct map writes;  /* id → struct flight */
    uint64_t next_id;
    int64_t now;
    int64_t since;               /* of the item that is looked at */
    struct map volumes_of_class; /* class → volumes without claimRef */
    struct map claims_of_class;  /* class → claims without a volume; "": the default class */
    struct map volumes_of_claim; /* "ns/name" → volumes whose claimRef names it */
    struct map claims_of_volume; /* volume → claims whose volumeName is it */
    struct map users_of_claim;   /* "ns/name" → number of pods on nodes */
    struct map pods_of_template; /* "ns/name" → pods that wait for this ResourceClaimTemplate */
    VEC(struct item *) classes;
    struct arena scratch; /* of one sync */
    struct buf body;
};

/* NULL if there is none. */
struct item *find_item(const struct controllers *c, enum kind_id kind, struct str namespace,
                       struct str name);
const struct object *find_object(const struct controllers *c, enum kind_id kind,
                                 struct str namespace, struct str name);
/* The bucket of that key, or NULL. namespace is empty for cluster-scoped names. */
struct bucket *find_bucket(const struct map *map, struct str namespace, struct str name);
/* Puts it into the bucket, and takes it out of the one where it was. */
void set_home(struct item *item, struct map *map, struct str namespace, struct str name);
void leave_home(struct item *item);

/* Looks at the item in this or the next run. NULL is allowed. */
void mark(struct controllers *c, struct item *item);
void look_again(struct controllers *c, struct item *item, int64_t at);
/*
 * Since when each look at the item has called this. An item waits for the provisioner, or for an
 * object that is missing.
 */
int64_t waits_since(struct controllers *c, struct item *item);
/* Whether something that is missing now was also missing MISSING_GRACE ago; else looks again. */
bool missing_for_long(struct controllers *c, struct item *item);

/* --- writes.c --------------------------------------------------------------------------------- */

/* Quoted JSON in scratch memory. */
const char *quoted(struct controllers *c, struct str s);
/* "metadata":{"resourceVersion":"7" of a patch of the item, without the closing brace. */
void begin_patch(struct controllers *c, const struct item *item);
/* Sends c->body as a patch of the target; `by` is looked at again if it fails. */
void send_patch(struct controllers *c, struct item *target, struct item *by,
                const char *subresource);
void send_create(struct controllers *c, const struct object *o, struct item *by);
void send_delete(struct controllers *c, struct item *target);
/* Removes a finalizer by a patch, if it has it. Returns whether it did. */
bool remove_finalizer(struct controllers *c, struct item *item, const char *finalizer);

/* --- objects ---------------------------------------------------------------------------------- */

static inline bool has_finalizer(const struct object_meta *meta, const char *finalizer)
{
    for (size_t i = 0; i < meta->finalizers.n; i++)
        if (str_is(meta->finalizers.v[i], finalizer))
            return true;
    return false;
}
static inline bool has_annotation(const struct object_meta *meta, const char *name)
{
    return str_map_get(&meta->annotations, str_of(name)) != NULL;
}
static inline struct str annotation(const struct object_meta *meta, const char *name)
{
    const struct str *value = str_map_get(&meta->annotations, str_of(name));
    return value ? *value : STR("");
}
/* Whether the pod has ended and released its volumes and devices (upstream: isPodDone). */
static inline bool pod_is_done(const struct pod *pod)
{
    return pod_is_terminal(pod) ||
           (pod->metadata.deletion_timestamp.set && str_empty(pod->spec.node_name));
}
/* The class of a claim or volume: the old annotation, or the field. */
struct str claim_class(const struct persistent_volume_claim *claim);
struct str volume_class(const struct persistent_volume *volume);

/* --- the sync functions, one per kind --------------------------------------------------------- */

void volume_sync(struct controllers *c, struct item *item);
void claim_sync(struct controllers *c, struct item *item);
/* The claim needs a new volume of its class, on the selected node if there is one. */
void provision(struct controllers *c, struct item *item, const struct storage_class *class);
void pod_volumes_sync(struct controllers *c, struct item *item);
void pod_devices_sync(struct controllers *c, struct item *item);
void resource_claim_sync(struct controllers *c, struct item *item);

#endif
