/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model_world.h - a tiny API server for tests of controllers and kubelets.
 *
 * Purpose:   a map of objects that applies the writes of controllers (writer.h) and feeds the
 *            changes back to them. Knows versions, uids, generations, finalizers, grace periods and
 *            propagation policies, and nothing else: no defaults and no validation. Faults are
 *            drawn from a generator: writes that fail, answers that are lost, changes that are seen
 *            late.
 * Ownership: the model owns its objects. Trees that it returns live until world_free.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_MODEL_WORLD_H
#define BERTH_TESTS_MODEL_WORLD_H

#include "apiserver/controllers/writer.h"
#include "apiserver/store/store.h"
#include "base/rand.h"
#include "base/vec.h"
#include "codec/json_edit.h"

/* What is driven: the four calls of kubelets.h and of cluster_controllers.h. */
struct world_party {
    void *ctx;
    void (*changed)(void *ctx, const struct store_event *event);
    void (*write_done)(void *ctx, uint64_t id, int status, int64_t now);
    void (*run)(void *ctx, int64_t now);
    int64_t (*next)(const void *ctx);
};

struct world_write;

struct world {
    struct map objects; /* "group/plural namespace/name" → struct world_object */
    uint64_t version, n_uids;
    int64_t now;
    struct world_party parties[4];
    size_t n_parties;
    VEC(struct world_write *) writes;
    VEC(struct store_event) events; /* not yet seen */
    struct arena arena;
    struct rand *faults; /* NULL: none */
    size_t n_writes, n_failed;
    bool bind; /* binds pods without a node to a node that their affinity names, or to any */
    bool trace;
    /* After every change; may be NULL. */
    void (*observe)(void *ctx, struct world *m);
    void *observe_ctx;
};

void world_init(struct world *m);
void world_release(struct world *m);
/* The port for party i, which is added by world_add next. */
struct writer world_writer(struct world *m);
void world_add(struct world *m, const struct world_party *party);

/* Writes as a client would. JSON may use ' for ". Returns the HTTP status. */
int world_create(struct world *m, const char *json);
int world_patch(struct world *m, const char *what, const char *subresource, const char *json);
int world_delete(struct world *m, const char *what, const char *options);
/* The object "pods default/a" or "apps/deployments default/web"; NULL if there is none. */
const struct json_value *world_get(struct world *m, const char *what);
/* The text at a path of it: strings, numbers and booleans; "" if there is none. */
const char *world_text(struct world *m, const char *what, const char *path);
/* How many objects there are of "pods" in a namespace ("": all). */
size_t world_count(struct world *m, const char *resource, const char *namespace);
typedef bool world_fn(void *ctx, const struct json_value *object);
size_t world_count_if(struct world *m, const char *resource, world_fn *fn, void *ctx);

/* Delivers changes, serves writes and runs the parties until nothing is due before `until`. */
void world_run_until(struct world *m, int64_t until);
void world_run_for(struct world *m, int64_t duration);

#endif
