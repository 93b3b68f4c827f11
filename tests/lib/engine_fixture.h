/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_fixture.h - an engine with ports of the test: a clock that stands still, writes that wait
 * for an answer.
 *
 * Purpose:   tests of queue, cache, cycle and binding feed events to the engine and look at the
 *            writes it submits.
 * Ownership: the fixture owns the engine and copies of all writes and decisions.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_ENGINE_FIXTURE_H
#define BERTH_TESTS_ENGINE_FIXTURE_H

#include "base/vec.h"
#include "engine/engine.h"
#include "engine/reload.h"
#include "objects.h"

struct fixture_write {
    enum write_kind kind;
    uint64_t id;
    struct object *pod, *related;
    char *node, *reason, *message, *action;
    bool warning;
    bool sets_nomination, sets_condition;
    bool scheduled;
    bool answered;
};

/* A call of an extender. */
struct fixture_call {
    uint64_t id;
    size_t extender;
    enum extender_verb verb;
    struct object *pod;
    char *nodes; /* "n0 n1"; of EXTENDER_PREEMPT "n0:a,b:0 n1:c:1", victims and violations */
    bool answered;
};

/* A plugin's request to the API server. */
struct fixture_request {
    uint64_t id;
    char *line; /* "PATCH persistentvolumeclaims default/data", "PATCH resourceclaims/status a/b" */
    char *body;
    bool answered;
};

struct fixture {
    struct engine *engine;
    struct metrics *metrics; /* of the engine */
    struct arena arena;
    struct scheduler_config config;
    int64_t now;
    int64_t step; /* added to the clock at each reading; usually 0 */
    VEC(struct fixture_write) writes;
    bool slow_status; /* the test answers status writes; otherwise they succeed after the attempt */
    size_t n_looked;  /* writes before this one need no answer or were answered */
    VEC(struct fixture_call) calls;
    VEC(struct fixture_request) requests;
    VEC(char *) logs;                 /* "3 Message key=value", "E Message key=value" */
    VEC(char *) decisions;            /* "ns/pod -> node" or "ns/pod: message" */
    VEC(void *) retired;              /* owners of configurations that are no longer used */
    VEC(struct engine_work *) works;  /* for workers, in order; the test runs them */
    VEC(struct engine_post *) posts;  /* of other threads */
    VEC(char *) gets;                 /* HTTP requests of plugins: "7 http://…" */
    VEC(const struct kind *) watched; /* kinds that plugins asked for */
    bool foreign;                     /* calls of plugins come from another thread */
};

/* Options of the engine; zero: the default. */
struct fixture_parts {
    const char *config;
    const struct registry *registry;
    struct pool *pool;
    const struct extender *extenders;
    size_t n_extenders;
    const char *gates;
    bool uncounted;
    bool workers; /* calls that may block are in fixture.works */
    bool leads;   /* plugins that are controllers write */
};
void fixture_init_parts(struct fixture *f, const struct fixture_parts *parts);
/* config: YAML text of a KubeSchedulerConfiguration, or NULL for the defaults. Fails the test on
 * error. registry NULL selects the in-tree one. */
void fixture_init(struct fixture *f, const char *config, const struct registry *registry);
/* The same with threads for Filter and Score; pool NULL: none. */
void fixture_init_pool(struct fixture *f, const char *config, const struct registry *registry,
                       struct pool *pool);
/* The same with extenders, whose calls wait for an answer. */
void fixture_init_extenders(struct fixture *f, const struct registry *registry,
                            const struct extender *extenders, size_t n);
/* The same with feature gates, as --feature-gates has them. */
void fixture_init_features(struct fixture *f, const char *config, const char *gates);
/* The same without metrics. */
void fixture_init_uncounted(struct fixture *f, const char *config, const struct registry *registry);
void fixture_release(struct fixture *f);
/* The first plugin instance of the first profile, for calls that need any. */
struct berth_handle *fixture_handle(struct fixture *f);

/* The value of a series by its text in a scrape, with single quotes: "x_total{result='error'}". NAN
 * if none. */
double fixture_metric(struct fixture *f, const char *series);

/* Feed the event to the engine and drop the test's references. */
void fixture_add(struct fixture *f, struct object *o);
#define ADD_POD(f, ...)  fixture_add((f), POD(__VA_ARGS__))
#define ADD_NODE(f, ...) fixture_add((f), NODE(__VA_ARGS__))
void fixture_update(struct fixture *f, struct object *before, struct object *after);
void fixture_delete(struct fixture *f, struct object *o);

/* Answers the status writes that the engine waits for. */
void fixture_answer_statuses(struct fixture *f);
/* Schedules pods until none is ready. */
void fixture_schedule(struct fixture *f);
/* Moves the clock and ticks. */
void fixture_pass(struct fixture *f, int64_t ns);

/* The unanswered binding of this pod; NULL if none. */
struct fixture_write *fixture_binding(struct fixture *f, const char *pod);
/* The unanswered eviction of this pod; NULL if none. */
struct fixture_write *fixture_eviction(struct fixture *f, const char *pod);
/* Answers all evictions with 200; returns the pods, "a b", valid until the next call. */
const char *fixture_evict(struct fixture *f);
/* A budget for the pods labelled app=APP. */
void fixture_add_budget(struct fixture *f, const char *app, int disruptions_allowed);
/* The last event, or the last status with a condition, about the pod; NULL if none. */
struct fixture_write *fixture_last(struct fixture *f, enum write_kind kind, const char *pod);
/* Answers the write. After 201 the watch shows the pod as bound, after 200 a victim is deleted. */
void fixture_answer(struct fixture *f, struct fixture_write *w, int status, const char *message);
/* The oldest unanswered call; NULL if none. */
struct fixture_call *fixture_call(struct fixture *f);
void fixture_extender_done(struct fixture *f, struct fixture_call *call,
                           const struct extender_result *result);
/* The oldest unanswered request; NULL if none. */
struct fixture_request *fixture_request(struct fixture *f);
/*
 * Answers it with this status. object: what the server answers, NULL for none; the fixture drops
 * the reference. It is not what a watch would show: fixture_update does that.
 */
void fixture_request_done(struct fixture *f, struct fixture_request *request, int status,
                          const char *reason, struct object *object);
/* Another configuration for the engine. */
struct fixture_reload {
    const char *config; /* YAML; NULL: the defaults */
    const struct registry *registry;
    struct pool *pool;
    const struct extender *extenders;
    size_t n_extenders;
    void *owner;
};
/* As engine_reload. Fails the test if config is not valid. */
int fixture_reload(struct fixture *f, const struct fixture_reload *reload,
                   struct reload_result *ret_result, struct err *reterr) MUST_CHECK;
/* Schedules, and answers all bindings with 201, until no pod is left to schedule. */
void fixture_settle(struct fixture *f);
/* The node of the last successful binding of the pod; NULL: none. */
const char *fixture_node_of(const struct fixture *f, const char *pod);

#endif
