/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_controller.h - workload controllers and the pods that they create.
 *
 * Purpose:   Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet and Job in one
 *            form, as far as it determines the number and content of their pods. Their fields have
 *            the same names, so one table decodes all from JSON. Pods get the names, labels, owners
 *            and tolerations of upstream's controllers; what upstream chooses at random, or
 *            computes from all fields of a template (suffixes of names, pod-template-hash), is a
 *            hash of the known fields here.
 * Ownership: a decoded controller lives in the arena that it was decoded into. The caller owns
 *            created objects.
 * Threading: immutable once decoded; any thread.
 */
#ifndef BERTH_API_POD_CONTROLLER_H
#define BERTH_API_POD_CONTROLLER_H

#include "api/object.h"
#include "api/pod.h"

enum pod_controller_kind {
    POD_CONTROLLER_DEPLOYMENT,
    POD_CONTROLLER_REPLICA_SET,
    POD_CONTROLLER_REPLICATION_CONTROLLER,
    POD_CONTROLLER_STATEFUL_SET,
    POD_CONTROLLER_DAEMON_SET,
    POD_CONTROLLER_JOB,
    POD_CONTROLLER_COUNT,
};

struct pod_template {
    struct object_meta metadata;
    struct pod_spec spec;
};

struct pod_controller_ordinals {
    int32_t start;
};

/* A claim that each pod of a StatefulSet gets. */
struct pod_controller_claim {
    struct object_meta metadata;
    struct persistent_volume_claim_spec spec;
};

struct pod_controller_spec {
    int32_t *replicas;
    struct label_selector *selector;
    struct pod_template template;
    /* StatefulSet */
    struct pod_controller_ordinals *ordinals;
    LIST(struct pod_controller_claim) volume_claim_templates;
    /* Job */
    int32_t *parallelism, *completions;
    struct str completion_mode;
    bool suspend;
};

struct pod_controller_condition {
    struct str type, status;
};

struct pod_controller_status {
    int32_t succeeded; /* of a Job */
    LIST(struct pod_controller_condition) conditions;
};

struct pod_controller {
    struct object_meta metadata;
    struct pod_controller_spec spec;
    struct pod_controller_status status;
};

extern const struct type pod_controller_view_type; /* JSON only */

/* False if the kind does not create pods. */
bool pod_controller_kind_find(struct str api_version, struct str kind,
                              enum pod_controller_kind *ret_kind);
struct str pod_controller_kind_name(enum pod_controller_kind kind);
struct str pod_controller_kind_api_version(enum pod_controller_kind kind);

/* The desired number of concurrent pods; 0 for a DaemonSet, which has one per matching node. */
int64_t pod_controller_replicas(enum pod_controller_kind kind, const struct pod_controller *w);
/* Whether a DaemonSet places a pod on the node. */
bool pod_controller_runs_on(const struct pod_controller *w, const struct object *node);

/* Selects the pod to create. */
struct controlled_pod {
    int64_t index;        /* ordinal in a StatefulSet, index in an indexed Job */
    struct str node_name; /* of a DaemonSet */
    /* Not 0 if the name for 0 is taken: suffixes of names are hashes. */
    uint64_t salt;
};

/*
 * Creates one of its pods, without uid and defaults, in the owner's namespace. owner: the
 * controller, or the ReplicaSet of its Deployment.
 */
struct object *pod_controller_make_pod(enum pod_controller_kind kind,
                                       const struct pod_controller *w,
                                       const struct controlled_pod *pod)
    __attribute__((returns_nonnull));

/*
 * Creates the ReplicaSet of a Deployment: a KIND_REPLICA_SET that still needs a uid, and the view
 * from which its pods are created. *ret_view borrows from w and from the object.
 */
struct object *pod_controller_make_replica_set(const struct pod_controller *deployment,
                                               struct pod_controller *ret_view);

#endif
