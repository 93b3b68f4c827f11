/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_internal.h - what the files of the registry share.
 *
 * Purpose:   one struct op per request: the verbs decode, check and write through it. Functions
 *            that may refuse return 0, or the HTTP code after they have filled the response's
 *            status.
 * Ownership: an op lives on the stack of registry_serve; everything it makes is in the request's
 *            arena.
 * Threading: one thread.
 */
#ifndef BERTH_APISERVER_REGISTRY_REGISTRY_INTERNAL_H
#define BERTH_APISERVER_REGISTRY_REGISTRY_INTERNAL_H

#include "api/selector.h"
#include "apiserver/custom/custom.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/selectors.h"
#include "apiserver/strategies/strategy.h"
#include "base/time.h"
#include "base/vec.h"

/* Lists that continue are read from the snapshot of their first page. */
#define REGISTRY_PAGES 64

struct page {
    struct snapshot *snapshot; /* NULL: none */
    uint64_t version;
    uint64_t used; /* of the last use, for eviction */
};

/* An event is deleted when it is due, unless it has changed since. */
struct expiry {
    int64_t due;
    uint64_t version;
    char *key; /* namespace '/' name */
};

struct registry {
    struct registry_options options;
    struct store *store;
    struct resources *resources;
    struct customs *customs;
    struct rand rand;
    struct page pages[REGISTRY_PAGES];
    uint64_t page_uses;
    VEC(struct expiry) expiries; /* by due */
    size_t expiries_at;          /* the first that is not done */
    bool expiries_loaded;        /* those of objects that were there before the first tick */
    struct buf text;             /* of the revision that is being made */
    VEC(struct store_pair) labels;
    VEC(struct store_pair) fields;
};

struct op {
    struct registry *reg;
    const struct api_request *req;
    struct api_response *res;
    struct arena *a;
    const struct resource *r;        /* as requested */
    const struct resource *stored;   /* as it is kept */
    const struct strategy *strategy; /* NULL: none */
    struct buf warnings;
};

/* Where a failure goes. */
static inline struct api_status *op_status(struct op *op)
{
    return &op->res->status;
}
struct op op_make(struct registry *reg, const struct api_request *request,
                  struct api_response *response);
void op_warn(struct op *op, struct str text);
/* Another resource with the same request: pods for bindings, budgets for evictions. */
struct op op_for(const struct op *op, const struct resource *r);

/* --- objects ---------------------------------------------------------------------------------- */

struct str object_name(const struct json_value *object);
struct str object_namespace(const struct json_value *object);
struct json_value *meta_of(struct json_value *object, struct arena *a);
/* "2026-11-15T09:00:00Z" */
struct str time_text(int64_t wall_ns, struct arena *a);
/* The condition of this type in status.conditions; NULL: none. */
struct json_value *object_condition(struct json_value *object, const char *type);
/*
 * Adds or changes a condition of a pod (upstream: UpdatePodCondition); its transition time changes
 * with its status only.
 */
void pod_set_condition(struct json_value *pod, struct json_value condition, int64_t now,
                       struct arena *a);
bool list_has_text(const struct json_value *list, struct str text);
bool values_equal(const struct json_value *a, const struct json_value *b); /* NULL: missing */

/* --- decode.c --------------------------------------------------------------------------------- */

/* What a body must be: the resource, or the kind of a subresource. */
struct body_kind {
    struct str kind, api_version;
    const struct schema_type *types, *type; /* type NULL: anything goes, or custom says it */
    const struct custom_resource *custom;   /* of a custom resource; NULL: none */
};
struct body_kind body_kind_of(const struct op *op);
/* Sets a missing kind and version, and refuses others. */
int op_check_kind(struct op *op, struct json_value *body, const struct body_kind *kind) MUST_CHECK;
/* Checks kind, version and fields of an object that was sent, and removes nulls. */
int op_decode(struct op *op, struct json_value *body, const struct body_kind *kind) MUST_CHECK;
/* The same for the object that a patch has made. */
int op_decode_patched(struct op *op, struct json_value *object,
                      const struct body_kind *kind) MUST_CHECK;
/* The object's namespace becomes that of the request; 400 if it has another. */
int op_match_namespace(struct op *op, struct json_value *object) MUST_CHECK;
int op_match_name(struct op *op, const struct json_value *object) MUST_CHECK;

/* --- write.c ---------------------------------------------------------------------------------- */

struct revision *op_find(const struct op *op, struct str namespace, struct str name);
/* The tree of a stored object, in the arena. */
struct json_value *op_parse(const struct op *op, const struct revision *rev);
/* Stores the object with the next version, and answers with it. Dry run: answers only. */
void op_put(struct op *op, struct json_value *object, int code);
/* The same without an answer. Returns the stored revision, borrowed; NULL: dry run. */
struct revision *op_put_quietly(struct op *op, struct json_value *object);
/* A revision of this text, which is that of the object. */
struct revision *object_revision(struct registry *reg, const struct resource *stored,
                                 const struct json_value *object, struct str text, uint64_t version)
    __attribute__((returns_nonnull));
/* An event was written: it expires an hour later. */
void expiry_add(struct registry *reg, const struct revision *rev, int64_t now);
/* Deletes the object; *object is its last state. */
void op_remove(struct op *op, struct json_value *object);
/* Answers with a stored object, in the version of the request. */
void op_answer(struct op *op, struct revision *rev, int code);
void op_answer_tree(struct op *op, struct json_value *object, int code);
/* {"kind":"Status","status":"Success"}; details of the object if it is not NULL. */
void op_answer_success(struct op *op, const struct json_value *object, int code);
/* Trees between the version of the request and the stored one. */
void op_to_stored(struct op *op, struct json_value *object);
void op_from_stored(struct op *op, struct json_value *object);

/* --- verbs ------------------------------------------------------------------------------------ */

int serve_get(struct op *op) MUST_CHECK;
int serve_list(struct op *op) MUST_CHECK;
int serve_create(struct op *op) MUST_CHECK;
int serve_update(struct op *op) MUST_CHECK;
int serve_patch(struct op *op) MUST_CHECK;
int serve_delete(struct op *op) MUST_CHECK;
int serve_delete_collection(struct op *op) MUST_CHECK;
/* Subresources that are no view of the object: binding, eviction, scale. 0: *ret_done tells. */
int serve_subresource(struct op *op, bool *ret_done) MUST_CHECK;

/* The uid of a new object, in the arena. */
struct str make_uid(struct registry *reg, struct arena *a);
/*
 * Creates the decoded object, which is in the stored version: defaults to storage. applied: its
 * managed fields are done.
 */
int create_object(struct op *op, struct json_value *object, bool applied) MUST_CHECK;

/* A change of an object that exists. */
struct change {
    struct revision *rev;     /* that it begins with */
    struct json_value *old;   /* its tree, not to be changed */
    struct json_value object; /* as it shall be, in the stored version */
    struct str subresource;   /* which part may change: "", "status", … */
    bool applied;             /* managed fields are done */
    bool internal;            /* made by the registry: no managed fields, no admission */
};
/* Prepares, validates and stores the change, and answers with the object. */
int update_object(struct op *op, struct change *change) MUST_CHECK;
/* Refuses a version or uid other than the stored one's. */
int check_preconditions(struct op *op, const struct json_value *old,
                        const struct json_value *object) MUST_CHECK;

/* Upstream's words for a uid other than the expected one. */
struct str storage_conflict(const struct op *op, struct str name, struct str uid, struct str had);

/* Applies the patch of the request to *target. */
int patch_tree(struct op *op, const struct json_value *target, const struct body_kind *kind,
               struct json_value *ret_object) MUST_CHECK;

struct deletion {
    bool has_grace;
    int64_t grace; /* seconds */
    struct str uid, version;
    bool has_uid, has_version;
    bool has_orphan, orphan;
    struct str propagation;
    bool dry_run;
};
int delete_options_read(struct op *op, const struct json_value *body,
                        struct deletion *ret_options) MUST_CHECK;
int delete_object(struct op *op, struct str namespace, struct str name,
                  const struct deletion *options) MUST_CHECK;

int serve_binding(struct op *op) MUST_CHECK;
int serve_eviction(struct op *op) MUST_CHECK;
int serve_scale(struct op *op) MUST_CHECK;

/* --- selector.c ------------------------------------------------------------------------------- */

/* Whether the selector names one object, by metadata.name. */
bool revision_selector_name(const struct revision_selector *s, struct str *ret_name);

/* --- definitions.c ---------------------------------------------------------------------------- */

/* CustomResourceDefinition */
bool is_definition(const struct resource *r);
/* A definition's names are accepted and it is established as it is stored. */
void definition_before_put(struct op *op, struct json_value *object);
/* An object was stored: a definition's resources are served from now on. */
void definition_after_put(struct registry *reg, const struct resource *stored,
                          const struct json_value *object);
/* An object was deleted: a definition that waits for its last object goes with it. */
void definition_after_remove(struct op *op, const struct json_value *object);
/* A custom resource against its schema; nothing for others. */
void custom_validate(const struct op *op, const struct json_value *object,
                     struct field_errors *errors);

/* --- expiry.c --------------------------------------------------------------------------------- */

void expiry_release(struct registry *reg);

#endif
