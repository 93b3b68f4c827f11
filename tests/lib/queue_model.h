/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue_model.h - the scheduling queue's rules, slow and obvious.
 *
 * Purpose:   the reference for engine/queue. Plain arrays, no heaps, no shared list of events:
 *            every pod in flight keeps its own list of the events since it was popped. Written
 *            from upstream's rules, not from queue.c.
 * Ownership: the model owns its arrays; the plugins and their answers belong to the test.
 * Threading: one thread.
 *
 * Pods, plugins, nodes and answers of hints are small numbers.
 */
#ifndef BERTH_TESTS_QUEUE_MODEL_H
#define BERTH_TESTS_QUEUE_MODEL_H

#include "base/vec.h"
#include "engine/queue/queue.h"

#define WORLD_PLUGINS  12
#define WORLD_PODS     24
#define WORLD_ANSWERS  6
#define WORLD_EVENTS   3
#define WORLD_PROFILES 2

struct world_event {
    enum berth_resource resource;
    unsigned actions;
    bool hinted; /* otherwise the answer is always Queue */
};

struct world_plugin {
    const char *name;
    unsigned profiles; /* bit by profile */
    bool gate;
    bool any_event; /* no registration at all: gets every event */
    struct world_event events[WORLD_EVENTS];
    size_t n_events;
};

/* The plugins and their answers. */
struct world {
    const struct world_plugin *plugins;
    size_t n_plugins;
    bool closed[WORLD_PLUGINS][WORLD_PODS]; /* gates */
    bool queue[WORLD_PLUGINS][WORLD_PODS][WORLD_ANSWERS];
};

struct model_event {
    enum berth_resource resource;
    unsigned action;
    int answer; /* which hints this event gets */
    int only;   /* of an event for all pods: the one pod that is concerned; -1: all */
};

struct model_pod {
    int number, profile;
    int32_t priority;
    int nominated; /* in its status; 0: none */
    enum queue_place place;
    bool deleted;
    int64_t timestamp, expiry;
    uint32_t attempts, rejections, errors;
    int gate; /* -1: none */
    unsigned rejectors, pending;
    bool flushed;
    VEC(struct model_event) missed;
};

struct queue_model {
    const struct world *world;
    struct queue_options options;
    VEC(struct model_pod *) pods;
    int promised[WORLD_PODS]; /* the nominated node by pod, independent of the API; 0: none */
    int64_t tick;
};

void model_init(struct queue_model *m, const struct world *world,
                const struct queue_options *options);
void model_release(struct queue_model *m);
/* The pod of that number that is not deleted; NULL if none. */
struct model_pod *model_get(const struct queue_model *m, int number);

/* Uses number, profile, priority and nominated of `pod`. */
void model_add(struct queue_model *m, const struct model_pod *pod, int64_t now);
/* actions as queue_update takes them. */
void model_update(struct queue_model *m, const struct model_pod *pod, unsigned actions, int answer,
                  int64_t now);
void model_delete(struct queue_model *m, int number);
/* The pod that the next pop returns. */
struct model_pod *model_next(const struct queue_model *m);
void model_pop(struct queue_model *m, struct model_pod *pod);
void model_begin_binding(struct queue_model *m, struct model_pod *pod);
void model_done(struct queue_model *m, struct model_pod *pod);
void model_requeue(struct queue_model *m, struct model_pod *pod, unsigned rejectors,
                   unsigned pending, int64_t now);
void model_activate(struct queue_model *m, int number, int64_t now);
/* max_priority NULL: pods of any priority; except -1: none. */
void model_happens(struct queue_model *m, const struct model_event *event,
                   const int32_t *max_priority, int except, int64_t now);
void model_flush(struct queue_model *m, int64_t now);
/* The number of events that must be kept. */
size_t model_kept(const struct queue_model *m);
/* The time of the next timer; INT64_MAX if none. */
int64_t model_next_flush(const struct queue_model *m);

#endif
