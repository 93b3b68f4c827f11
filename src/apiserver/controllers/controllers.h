/* SPDX-License-Identifier: Apache-2.0 */
/*
 * controllers.h - the controllers that complete volumes and devices of pods.
 *
 * Purpose:   what kube-controller-manager and a storage provisioner do around the scheduler: bind
 *            claims to volumes and finish the bindings that the scheduler began, provision volumes,
 *            create the claims of generic ephemeral volumes and of ResourceClaimTemplates, release
 *            and delete what pods no longer use. A state machine: objects and answers in, writes
 *            out, time is an argument. The simulator, a test program and an embedded cluster host
 *            it.
 * Ownership: holds a reference on every object it is told of. Writes are borrowed for the call.
 * Threading: one thread.
 *
 * Every object is looked at again when something around it has changed (upstream: syncClaim,
 * syncVolume and so on), at most one write for it is under way, and each write has a precondition
 * on the version that was looked at. A write that is refused is made again, from newer objects.
 *
 * Objects are made and patched from what api/ knows of them: a claim from a template has no
 * dataSource, for example. Patches leave other fields as they are.
 */
#ifndef BERTH_APISERVER_CONTROLLERS_CONTROLLERS_H
#define BERTH_APISERVER_CONTROLLERS_CONTROLLERS_H

#include "api/object.h"

struct controllers;

enum controllers_verb {
    CONTROLLERS_CREATE, /* the body is an object */
    CONTROLLERS_PATCH,  /* the body is a merge patch */
    CONTROLLERS_DELETE, /* the body is DeleteOptions */
};

struct controllers_write {
    uint64_t id; /* for controllers_write_done */
    enum controllers_verb verb;
    const struct kind *kind;
    struct str subresource; /* "status"; empty: none */
    struct str namespace;   /* empty: cluster-scoped */
    struct str name;
    struct str body; /* JSON */
};

/* The provisioner, for all classes that name one other than kubernetes.io/no-provisioner. */
struct provisioner_options {
    bool enabled;
    bool silent;                     /* never answers */
    struct str only;                 /* the class's provisioner; empty: any */
    int64_t delay;                   /* ns until it answers */
    const struct str *failing_nodes; /* provisioning for these fails: it takes back selected-node */
    size_t n_failing_nodes;
    /*
     * The label of nodes that volumes depend on, where no CSINode names any; empty: volumes are
     * reachable from all nodes that the class allows.
     */
    struct str topology_key;
};

struct controllers_options {
    void *ctx;
    /* Must return before the answer comes. Called by controllers_run only. */
    void (*write)(void *ctx, const struct controllers_write *write);
    struct provisioner_options provisioner; /* its texts must outlive the controllers */
};

struct controllers *controllers_new(const struct controllers_options *options)
    __attribute__((returns_nonnull));
struct controllers *controllers_free(struct controllers *c);

/* Whether the controllers read objects of this kind. */
bool controllers_read_kind(enum kind_id kind);
/*
 * An object was added (before NULL), changed, or deleted (after NULL). Those of kinds that the
 * controllers do not read are ignored.
 */
void controllers_object_changed(struct controllers *c, struct object *before, struct object *after);
/* status: of HTTP; 0: no response. */
void controllers_write_done(struct controllers *c, uint64_t id, int status, int64_t now);
/* Looks at everything that changed or is due, and makes the writes. */
void controllers_run(struct controllers *c, int64_t now);
/* When controllers_run has to be called next: 0: now; INT64_MAX: after the next change only. */
int64_t controllers_next(const struct controllers *c);

#endif
