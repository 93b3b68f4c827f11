/* SPDX-License-Identifier: Apache-2.0 */
/*
 * control_plane.h - a cluster without its network: registry, disk, rights, controllers, kubelets.
 *
 * Purpose:   joins the parts of a cluster. A change of the store is given to every component after
 *            the write that made it has returned; writes of components wait in one queue and are
 *            served in their order. Work is done in steps of bounded size, so that requests of
 *            clients come in between. Time is an argument.
 * Ownership: the caller owns the control plane, which owns everything in it.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_CONTROL_PLANE_H
#define BERTH_APISERVER_CONTROL_PLANE_H

#include "apiserver/access/bootstrap.h"
#include "apiserver/access/rbac.h"
#include "apiserver/registry/registry.h"
#include "base/err.h"

struct control_plane;

struct control_plane_options {
    const char *data_dir; /* of the database; NULL: in memory only */
    bool without_controllers;
    unsigned disabled_admission; /* admission_disable */
    struct str ca_pem;           /* that pods trust; lives as long as the control plane; "": none */
    uint64_t seed;
    /* After every change, on the stack of the write; must not write. May be NULL. */
    void (*changed)(void *ctx, const struct store_event *event);
    void *ctx;
};

/* Loads the objects of data_dir. */
int control_plane_new(const struct control_plane_options *options, struct control_plane **ret_plane,
                      struct err *reterr) MUST_CHECK;
/* Commits. NULL is allowed. Returns NULL. */
struct control_plane *control_plane_free(struct control_plane *plane);

struct registry *control_plane_registry(struct control_plane *plane);
struct rbac *control_plane_rbac(struct control_plane *plane);
/* True if the store had no object when it was opened. */
bool control_plane_is_new(const struct control_plane *plane);

/* Creates the objects of bootstrap.h that are missing. */
int control_plane_bootstrap(struct control_plane *plane, const struct bootstrap_options *options,
                            int64_t now, struct err *reterr) MUST_CHECK;

/*
 * Does a bounded part of what is due. Returns when to call again: 0: at once; INT64_MAX: after the
 * next change only.
 */
int64_t control_plane_step(struct control_plane *plane, int64_t now);
/* Steps until nothing is due at this time, or a limit that only a loop of controllers reaches. */
void control_plane_settle(struct control_plane *plane, int64_t now);
/* Makes all changes durable: the next acknowledgements may be sent. Nothing to do in memory. */
int control_plane_commit(struct control_plane *plane, struct err *reterr) MUST_CHECK;

/* --- objects of files ------------------------------------------------------------------------- */

/*
 * Creates the object as kubectl create does, in the name of the administrator. Returns 0, or the
 * code of *ret_status, which is in the arena.
 */
int control_plane_create(struct control_plane *plane, struct json_value *object, int64_t now,
                         struct arena *a, struct api_status *ret_status);
/* The same as a dry run: whether it would be created. */
int control_plane_check(struct control_plane *plane, struct json_value *object, int64_t now,
                        struct arena *a, struct api_status *ret_status);
/* Stores an object of another cluster as it is (registry_import). */
int control_plane_import(struct control_plane *plane, struct json_value *object, int64_t now,
                         struct arena *a, struct api_status *ret_status);

#endif
