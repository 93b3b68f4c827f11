/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_fixture.h - an engine in a world of the test's own: a clock that stands still, writes that
 * wait to be answered.
 *
 * Purpose:   tests of queue, cache, cycle and binding tell the engine what happened and look at
 *            what it wants written.
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

/* What an extender was asked. */
struct fixture_call {
    uint64_t id;
    size_t extender;
    enum extender_verb verb;
    struct object *pod;
    char *nodes; /* "n0 n1"; of EXTENDER_PREEMPT "n0:a,b:0 n1:c:1", victims and violations */
    bool answered;
};

struct fixture {
    struct engine *engine;
    struct metrics *metrics; /* what the engine counts */
    struct arena arena;
    struct scheduler_config config;
    int64_t now;
    int64_t step; /* by which the clock moves when it is looked at; mostly it stands still */
    VEC(struct fixture_write) writes;
    bool slow_status; /* statuses are answered by the test; else right after the attempt */
    size_t n_looked;  /* of writes: those that need no answer, or have got it */
    VEC(struct fixture_call) calls;
    VEC(char *) logs;      /* "3 Message key=value", "E Message key=value" */
    VEC(char *) decisions; /* "ns/pod -> node" or "ns/pod: message" */
    VEC(void *) retired;   /* owners of configurations that are in use no more */
};

/* What an engine may be made of; zero: the default. */
struct fixture_parts {
    const char *config;
    const struct registry *registry;
    struct pool *pool;
    const struct extender *extenders;
    size_t n_extenders;
    const char *gates;
    bool uncounted;
};
void fixture_init_parts(struct fixture *f, const struct fixture_parts *parts);
/* config: YAML text of a KubeSchedulerConfiguration, or NULL for the defaults. Fails the test on
 * error. registry NULL: the in-tree one. */
void fixture_init(struct fixture *f, const char *config, const struct registry *registry);
/* The same with threads for Filter and Score; pool NULL: none. */
void fixture_init_pool(struct fixture *f, const char *config, const struct registry *registry,
                       struct pool *pool);
/* The same with extenders, whose calls wait to be answered. */
void fixture_init_extenders(struct fixture *f, const struct registry *registry,
                            const struct extender *extenders, size_t n);
/* The same with feature gates, as --feature-gates has them. */
void fixture_init_features(struct fixture *f, const char *config, const char *gates);
/* The same without metrics. */
void fixture_init_uncounted(struct fixture *f, const char *config, const struct registry *registry);
void fixture_release(struct fixture *f);

/* The value of a series by its text in a scrape, with single quotes: "x_total{result='error'}".
 * NAN: there is none. */
double fixture_metric(struct fixture *f, const char *series);

/* Tells the engine and drops the test's references. */
void fixture_add(struct fixture *f, struct object *o);
#define ADD_POD(f, ...)  fixture_add((f), POD(__VA_ARGS__))
#define ADD_NODE(f, ...) fixture_add((f), NODE(__VA_ARGS__))
void fixture_update(struct fixture *f, struct object *before, struct object *after);
void fixture_delete(struct fixture *f, struct object *o);

/* Answers the statuses for whose end the engine waits. */
void fixture_answer_statuses(struct fixture *f);
/* Tries pods until none is ready. */
void fixture_schedule(struct fixture *f);
/* Moves the clock and ticks. */
void fixture_pass(struct fixture *f, int64_t ns);

/* The binding asked for and not yet answered for this pod; NULL: none. */
struct fixture_write *fixture_binding(struct fixture *f, const char *pod);
/* The eviction asked for and not yet answered of this pod; NULL: none. */
struct fixture_write *fixture_eviction(struct fixture *f, const char *pod);
/* Lets everybody go who was asked to: "a b", in their order. Until the next call. */
const char *fixture_evict(struct fixture *f);
/* A budget for the pods labelled app=APP. */
void fixture_add_budget(struct fixture *f, const char *app, int disruptions_allowed);
/* The last event, or the last status with a condition, about the pod; NULL: none. */
struct fixture_write *fixture_last(struct fixture *f, enum write_kind kind, const char *pod);
/* Answers it. 201 also brings the pod back from the watch as bound, 200 takes a victim away. */
void fixture_answer(struct fixture *f, struct fixture_write *w, int status, const char *message);
/* The oldest call that nobody has answered; NULL: none. */
struct fixture_call *fixture_call(struct fixture *f);
void fixture_extender_done(struct fixture *f, struct fixture_call *call,
                           const struct extender_result *result);
/* Another configuration for the engine. */
struct fixture_reload {
    const char *config; /* YAML; NULL: the defaults */
    const struct registry *registry;
    struct pool *pool;
    const struct extender *extenders;
    size_t n_extenders;
    void *owner;
};
/* As engine_reload. A config that cannot be read fails the test. */
int fixture_reload(struct fixture *f, const struct fixture_reload *reload,
                   struct reload_result *ret_result, struct err *reterr) MUST_CHECK;
/* Schedules, and answers all bindings with 201, until nothing happens any more. */
void fixture_settle(struct fixture *f);
/* The node of the last successful binding of the pod; NULL: none. */
const char *fixture_node_of(const struct fixture *f, const char *pod);

#endif
