/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pod_controller.h - objects whose controllers make pods, and the pods that they make.
 *
 * Purpose:   Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet and Job in one
 *            form, as far as it decides how many pods there are and what they look like. The
 *            fields of all of them have the same names, so one table reads all from JSON. Pods get
 *            the names, labels, owners and tolerations that upstream's controllers give them; what
 *            upstream draws at random, or computes from all fields of a template (the ends of
 *            names, pod-template-hash), is a hash of what is known here.
 * Ownership: all of a decoded controller lives in the arena that it was decoded into. An object
 * that is made is the caller's. Threading: immutable once decoded; any.
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

/* A claim that each pod of a StatefulSet has for itself. */
struct pod_controller_claim {
    struct object_meta metadata;
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

/* False where the kind makes no pods. */
bool pod_controller_kind_find(struct str api_version, struct str kind,
                              enum pod_controller_kind *ret_kind);
struct str pod_controller_kind_name(enum pod_controller_kind kind);
struct str pod_controller_kind_api_version(enum pod_controller_kind kind);

/* How many pods there should be at once; 0 of a DaemonSet, which has one on each of its nodes. */
int64_t pod_controller_replicas(enum pod_controller_kind kind, const struct pod_controller *w);
/* Whether a DaemonSet wants a pod on the node. */
bool pod_controller_runs_on(const struct pod_controller *w, const struct object *node);

/* Which of its pods is to be made. */
struct controlled_pod {
    int64_t index;        /* the ordinal of a StatefulSet's, the index of an indexed Job's */
    struct str node_name; /* of a DaemonSet */
    /* Other than 0 where the name that 0 gives is taken: the ends of names are hashes. */
    uint64_t salt;
};

/*
 * One of its pods, without uid and defaults. owner: the controller, or the ReplicaSet that its
 * Deployment makes; the pod is in its namespace.
 */
struct object *pod_controller_make_pod(enum pod_controller_kind kind,
                                       const struct pod_controller *w,
                                       const struct controlled_pod *pod)
    __attribute__((returns_nonnull));

/*
 * The ReplicaSet of a Deployment: a KIND_REPLICA_SET to be filled with a uid, and the view from
 * which its pods are made. *ret_view borrows from w and from the object.
 */
struct object *pod_controller_make_replica_set(const struct pod_controller *deployment,
                                               struct pod_controller *ret_view);

#endif
