/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry.h - what a request does to the objects of the cluster.
 *
 * Purpose:   upstream's generic registry: create, get, list, update, patch, delete and the
 *            subresources on a store, with defaulting, validation, admission, managed fields,
 *            preconditions, finalizers and grace periods. No I/O and no clock: time and randomness
 *            come with the request, so that the simulator and fault tests use it as it is. HTTP is
 *            above it (http/), and so are controllers and kubelets, which write through it too.
 * Ownership: the registry owns its store and resources. A response is in the request's arena and
 *            holds references that registry_response_release gives back.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_REGISTRY_REGISTRY_H
#define BERTH_APISERVER_REGISTRY_REGISTRY_H

#include "apiserver/store/store.h"
#include "apiserver/types/api_status.h"
#include "base/rand.h"

struct registry;

struct registry_options {
    struct store_options store;
    uint64_t seed; /* of uids and generated names */
    unsigned disabled_admission; /* admission_disable */
    bool without_admission;
    bool without_validation; /* for imports of what another server has accepted */
};

struct registry *registry_new(const struct registry_options *options)
    __attribute__((returns_nonnull));
struct registry *registry_free(struct registry *reg);
struct store *registry_store(struct registry *reg);
struct resources *registry_resources(struct registry *reg);

enum api_verb {
    API_GET,
    API_LIST,
    API_CREATE,
    API_UPDATE,
    API_PATCH_JSON,
    API_PATCH_MERGE,
    API_PATCH_STRATEGIC,
    API_APPLY,
    API_DELETE,
    API_DELETE_COLLECTION,
};

enum field_validation { FIELD_VALIDATION_WARN, FIELD_VALIDATION_IGNORE, FIELD_VALIDATION_STRICT };

struct api_request {
    enum api_verb verb;
    const struct resource *resource;
    struct str subresource, namespace, name;
    /* The body: an object, a patch, DeleteOptions; NULL: none. It may be changed. */
    struct json_value *body;
    struct str user; /* for messages and admission */
    struct str field_manager;
    bool dry_run, force;
    enum field_validation field_validation;

    /* Reads. */
    struct str label_selector, field_selector;
    struct str resource_version, resource_version_match;
    struct str continue_token;
    int64_t limit;

    int64_t now;         /* wall clock, ns */
    struct arena *arena; /* of the request */
};

struct api_response {
    struct api_status status; /* code 0: success */
    int code;                 /* of a success: 200, 201 or 202 */
    struct revision *object;  /* one object that is stored; NULL: none */
    struct json_value *tree;  /* an object that is not stored: dry run, Scale, Status, … */
    /* A list: the snapshot and the revisions that matched. */
    struct snapshot *snapshot;
    struct revision **items; /* borrowed from the snapshot */
    size_t n_items;
    struct str continue_token;
    int64_t remaining;   /* remainingItemCount; -1: none */
    struct str warnings; /* lines of Warning headers */
};

/* Never fails silently: ret_response is always filled. Returns its code. */
int registry_serve(struct registry *reg, const struct api_request *request,
                   struct api_response *ret_response);
void registry_response_release(struct api_response *response);

/* --- objects that were accepted before -------------------------------------------------------- */

/*
 * Stores an object of another cluster as it is, in the version of the request: uid, times and
 * status stay, so that owner references do. Defaults are set; nothing else is changed or refused by
 * admission. An object of the same name is replaced. Otherwise as registry_serve.
 */
int registry_import(struct registry *reg, const struct api_request *request,
                    struct api_response *ret_response);
/*
 * Loads an object that this registry has stored, without a change. -EBADMSG: the text is no object
 * of this name.
 */
int registry_load(struct registry *reg, const struct resource *stored, const struct store_key *key,
                  uint64_t version, struct str text) MUST_CHECK;

/*
 * Work that time brings: pods whose grace period has ended, events that expire. Returns when to
 * call again; INT64_MAX: not before the next write.
 */
int64_t registry_tick(struct registry *reg, int64_t now);

/* --- selectors of lists and watches ----------------------------------------------------------- */

struct revision_selector;
/* NULL with a bad request in *ret_status. "" matches everything. In the arena. */
struct revision_selector *revision_selector_parse(const struct resource *r, struct str labels,
                                                  struct str fields, struct arena *a,
                                                  struct api_status *ret_status);
bool revision_selector_matches(const struct revision_selector *s, const struct revision *rev);

#endif
