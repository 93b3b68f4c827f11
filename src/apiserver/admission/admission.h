/* SPDX-License-Identifier: Apache-2.0 */
/*
 * admission.h - the admission plugins that people rely on.
 *
 * Purpose:   changes or refuses a request between decoding and storage, as upstream's plugins of
 *            the same names do, with their messages: NamespaceLifecycle, ServiceAccount, Priority,
 *            DefaultTolerationSeconds, LimitRanger, ResourceQuota, RuntimeClass,
 *            DefaultStorageClass, TaintNodesByCondition, StorageObjectInUseProtection,
 *            PersistentVolumeClaimResize, DefaultIngressClass. One table in admission.c, in
 *            upstream's order.
 * Ownership: objects belong to the request; the snapshot is borrowed.
 * Threading: any thread; no state.
 */
#ifndef BERTH_APISERVER_ADMISSION_ADMISSION_H
#define BERTH_APISERVER_ADMISSION_ADMISSION_H

#include "apiserver/store/store.h"
#include "apiserver/types/api_status.h"

enum admission_operation { ADMIT_CREATE, ADMIT_UPDATE, ADMIT_DELETE, ADMIT_CONNECT };

/* A write that follows from an admitted one: the new usage of a ResourceQuota. */
struct admission_effect {
    const struct resource *resource;
    struct str namespace, name;
    struct json_value object; /* replaces the stored one with the same request */
};

struct admission {
    enum admission_operation operation;
    const struct resource *resource;
    struct str subresource, namespace, name;
    struct str user;
    struct json_value *object;    /* to be changed; NULL: a deletion */
    const struct json_value *old; /* NULL: a creation */
    const struct resources *resources;
    const struct snapshot *snapshot; /* the cluster before the request */
    bool dry_run;
    unsigned disabled; /* plugins that do nothing: admission_disable */
    uint64_t seed;     /* of random names; the version of the snapshot is mixed in, 0 is allowed */
    int64_t now;       /* wall clock, ns; 0: pods that should be gone are charged to quotas */
    struct arena *arena;
    struct admission_effect *effects; /* filled by admit, in the arena */
    size_t n_effects;
};

/*
 * Names of plugins, separated by commas, as a set for struct admission. -EINVAL: there is no such
 * plugin; upstream's that this server does not have are accepted.
 */
int admission_disable(struct str names, unsigned *ret_disabled, struct err *reterr) MUST_CHECK;

/* 0, or the code of *ret_status. */
int admission_mutate(struct admission *adm, struct api_status *ret_status) MUST_CHECK;
/* After validation: what may only refuse, and ResourceQuota. */
int admission_validate(struct admission *adm, struct api_status *ret_status) MUST_CHECK;

#endif
