/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_api.h - a tiny API server for tests of controllers and kubelets.
 *
 * Purpose:   a map of objects that applies the writes of controllers (writer.h) and feeds the
 *            changes back to them. Knows versions, uids, generations, finalizers, grace periods and
 *            propagation policies, and nothing else: no defaults and no validation. Faults are
 *            drawn from a generator: writes that fail, answers that are lost, changes that are seen
 *            late.
 * Ownership: the model owns its objects. Trees that it returns live until model_free.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_MODEL_API_H
#define BERTH_TESTS_MODEL_API_H

#include "apiserver/controllers/writer.h"
#include "apiserver/store/store.h"
#include "base/rand.h"
#include "base/vec.h"
#include "codec/json_edit.h"

/* What is driven: the four calls of kubelets.h and of cluster_controllers.h. */
struct model_party {
    void *ctx;
    void (*changed)(void *ctx, const struct store_event *event);
    void (*write_done)(void *ctx, uint64_t id, int status, int64_t now);
    void (*run)(void *ctx, int64_t now);
    int64_t (*next)(const void *ctx);
};

struct model_write;

struct model {
    struct map objects; /* "group/plural namespace/name" → struct model_object */
    uint64_t version, n_uids;
    int64_t now;
    struct model_party parties[4];
    size_t n_parties;
    VEC(struct model_write *) writes;
    VEC(struct store_event) events; /* not yet seen */
    struct arena arena;
    struct rand *faults; /* NULL: none */
    size_t n_writes, n_failed;
    bool bind; /* binds pods without a node to a node that their affinity names, or to any */
    bool trace;
    /* After every change; may be NULL. */
    void (*observe)(void *ctx, struct model *m);
    void *observe_ctx;
};

void model_init(struct model *m);
void model_release(struct model *m);
/* The port for party i, which is added by model_add next. */
struct writer model_writer(struct model *m);
void model_add(struct model *m, const struct model_party *party);

/* Writes as a client would. JSON may use ' for ". Returns the HTTP status. */
int model_create(struct model *m, const char *json);
int model_patch(struct model *m, const char *what, const char *subresource, const char *json);
int model_delete(struct model *m, const char *what, const char *options);
/* The object "pods default/a" or "apps/deployments default/web"; NULL if there is none. */
const struct json_value *model_get(struct model *m, const char *what);
/* The text at a path of it: strings, numbers and booleans; "" if there is none. */
const char *model_text(struct model *m, const char *what, const char *path);
/* How many objects there are of "pods" in a namespace ("": all). */
size_t model_count(struct model *m, const char *resource, const char *namespace);
typedef bool model_fn(void *ctx, const struct json_value *object);
size_t model_count_if(struct model *m, const char *resource, model_fn *fn, void *ctx);

/* Delivers changes, serves writes and runs the parties until nothing is due before `until`. */
void model_run_until(struct model *m, int64_t until);
void model_run_for(struct model *m, int64_t duration);

#endif
