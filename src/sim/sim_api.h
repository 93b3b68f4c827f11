/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sim_api.h - the simulated API server: objects, versions and requests.
 *
 * Purpose:   holds the current state of every object and does what an API server does with a
 *            request: preconditions on versions, patches, status apart from the rest, deletion that
 *            waits for finalizers. Every change is reported, as a watch does.
 * Ownership: holds a reference on each object.
 * Threading: one thread.
 *
 * Objects have the fields that berth knows: others are lost when an object is changed.
 */
#ifndef BERTH_SIM_SIM_API_H
#define BERTH_SIM_SIM_API_H

#include "api/object.h"
#include "base/map.h"

enum sim_verb {
    SIM_GET,
    SIM_CREATE,
    SIM_PATCH_MERGE,
    SIM_PATCH_STRATEGIC,
    SIM_PATCH_JSON,
    SIM_DELETE,
};

struct sim_request {
    enum sim_verb verb;
    const struct kind *kind; /* NULL: 404 */
    struct str subresource;
    struct str namespace;
    struct str name;
    struct str body;
};

struct sim_reply {
    int status;
    const char *reason;    /* of a Status; "" on success */
    struct err err;        /* its message */
    struct object *object; /* the caller owns the reference; NULL: none */
};

/* before NULL: added; after NULL: deleted. */
typedef void sim_changed_fn(void *ctx, struct object *before, struct object *after);

struct sim_api {
    struct map objects; /* "Pod default/web" → struct sim_object */
    uint64_t version;   /* the highest resourceVersion so far */
    uint64_t n_created;
    sim_changed_fn *changed;
    void *ctx;
};

void sim_api_init(struct sim_api *api, sim_changed_fn *changed, void *ctx);
void sim_api_release(struct sim_api *api);

/* The current object; NULL if there is none. Borrowed. */
struct object *sim_api_get(const struct sim_api *api, const struct kind *kind, struct str namespace,
                           struct str name);
/* The object of an entry of `objects`. Borrowed. */
struct object *sim_object_of(const struct map_entry *entry);
/* A copy to be changed, with a new resourceVersion; NULL if it cannot be encoded. */
struct object *sim_api_copy(struct sim_api *api, const struct object *o);
/* Adds or replaces the object and reports it. One without a newer version than before gets one. */
void sim_api_put(struct sim_api *api, struct object *o);
/* Deletes the object of that kind and name, if there is one, and reports it. */
void sim_api_remove(struct sim_api *api, const struct object *o);

void sim_api_serve(struct sim_api *api, const struct sim_request *request,
                   struct sim_reply *ret_reply);

#endif
