/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_volumes.h - the claims of a pod and where their volumes are (upstream: PodVolumeClaims,
 * PodVolumes).
 *
 * Purpose:   PreFilter sorts the pod's claims into bound ones, which must be reachable from the
 *            node, and unbound ones of classes that wait for the pod's node. For those, each node
 *            offers a free volume, or the class must be able to provision one there. The answer is
 *            found for one node, or for all nodes as sets.
 * Ownership: state of one attempt; holds a reference on every object that it names. Sets and arrays
 *            are in the cycle's memory.
 * Threading: made and batched on the engine's thread; volumes_find on any thread.
 */
#ifndef BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H
#define BERTH_PLUGINS_VOLUME_BINDING_POD_VOLUMES_H

#include "plugins/volume_binding/volumes.h"

/* Why a node is refused, as bits in the order of upstream's reasons. */
enum volume_conflict {
    CONFLICT_NODE = 1 << 0,  /* a bound volume is not reachable */
    CONFLICT_BIND = 1 << 1,  /* no volume for a claim, and none can be provisioned */
    CONFLICT_SPACE = 1 << 2, /* not enough free storage */
    CONFLICT_LOST = 1 << 3,  /* a bound volume does not exist */
    CONFLICT_ALL = (1 << 4) - 1,
};

struct pod_claim {
    struct object *object; /* the version that PreFilter saw */
    const struct persistent_volume_claim *pvc;
    /* Of unbound claims: */
    struct str key;      /* "namespace/name" */
    struct str selected; /* the node selected before, assumed or not; p NULL: none */
    const struct quantity *request;
    struct object *class_object;
    const struct storage_class *class;
    struct selector *selector; /* NULL: any volume */
    struct str fault;          /* why the selector is invalid; empty: it is not */
    bool provisionable;        /* the class has a provisioner */
    bool tracks_capacity;      /* the provisioner publishes its capacity */
    int64_t size;
    struct node_terms *topologies; /* of the class; NULL: every node */
};

struct claim_list {
    struct pod_claim *v;
    size_t n;
};

/* What a node offers to the pod's unbound claims. */
struct offers {
    struct pv **volumes;             /* by position in to_match; NULL: none, to be provisioned */
    const struct capacity **storage; /* by position in to_provision; NULL: not tracked */
    const struct pod_claim **to_provision;
    size_t n_to_provision;
};

struct pod_volumes {
    struct volumes *volumes;
    struct claim_list bound, unbound; /* in the order of the pod's volumes */
    /* Unbound claims without a selected node, the smallest first; the others. */
    struct pod_claim **to_match, **selected;
    size_t n_to_match, n_selected;
    bool share_class; /* two of to_match may want the same volume */

    /* The sets of filter_many, over n_slots; NULL until it runs. */
    size_t n_slots;
    uint64_t *sets[CONFLICT_LOST + 1]; /* by enum volume_conflict */
    uint64_t *broken;                  /* nodes on which it fails, */
    struct str fault;                  /* and why; borrowed */
    uint64_t *undecided;               /* share_class: nodes to be asked one by one; else NULL */

    bool all_bound; /* Reserve: nothing to do in PreBind */
    struct claim_binding *binding;
};

/* --- PreFilter -------------------------------------------------------------------------------- */

/* Does the pod have claims? Sets *ret_fault, owned by the caller, if one of them is unusable. */
bool pod_has_claims(struct volumes *v, const struct berth_pod *pod, char **ret_fault);
/* Sorts the pod's claims. NULL: one is not bound that the volume controller should have bound. */
struct pod_volumes *pod_volumes_new(struct volumes *v, struct berth_cycle *cycle,
                                    const struct berth_pod *pod);
void pod_volumes_free(struct pod_volumes *p);
/* Are all claims of the pod bound by now (upstream: arePodVolumesBound)? */
bool pod_volumes_are_bound(struct volumes *v, const struct berth_pod *pod);

/* --- Filter ----------------------------------------------------------------------------------- */

/*
 * Conflicts of the node (enum volume_conflict); -1 with *ret_fault, borrowed, on an error. offers
 * with arrays for all unbound claims; NULL: only the verdict counts.
 */
int volumes_find(const struct pod_volumes *p, const struct berth_node *node, struct offers *offers,
                 struct str *ret_fault);
/* Offers with arrays in the arena. */
void offers_init(struct offers *offers, const struct pod_volumes *p, struct arena *a);

/* Makes the sets. */
void volumes_find_sets(struct pod_volumes *p, struct berth_cycle *cycle, size_t n_slots);

#endif
