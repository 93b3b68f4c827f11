/* SPDX-License-Identifier: Apache-2.0 */
/*
 * puppet.h - plugins whose results the test sets.
 *
 * Purpose:   a test adds puppets by name and extension points, sets what they return, and looks at
 *            the recorded calls afterwards.
 * Ownership: there is one stage per process; puppet_clear empties it. Texts are borrowed.
 * Threading: one thread: not for tests with a pool.
 */
#ifndef BERTH_TESTS_PUPPET_H
#define BERTH_TESTS_PUPPET_H

#include "engine_fixture.h"

#define PUPPET_MAX 8

enum puppet_point {
    PUPPET_PRE_ENQUEUE,
    PUPPET_LESS,
    PUPPET_PRE_FILTER,
    PUPPET_ADD_POD,
    PUPPET_REMOVE_POD,
    PUPPET_FILTER,
    PUPPET_POST_FILTER,
    PUPPET_PRE_SCORE,
    PUPPET_SCORE,
    PUPPET_NORMALIZE,
    PUPPET_RESERVE,
    PUPPET_UNRESERVE,
    PUPPET_PERMIT,
    PUPPET_PRE_FLIGHT,
    PUPPET_PRE_BIND,
    PUPPET_BIND,
    PUPPET_POST_BIND,
    PUPPET_HINT, /* its events are additions and updates of nodes */
    PUPPET_POINTS,
};
#define AT(point) (1u << PUPPET_##point)

struct puppet;

/* One call; arguments that its extension point does not have are NULL. A hook may change the last
 * three. */
struct puppet_call {
    struct puppet *puppet;
    enum puppet_point point;
    struct berth_cycle *cycle;
    const struct berth_pod *pod, *other;
    const struct berth_node *node;
    berth_op op;
    struct berth_status *status;
    int64_t *scores; /* normalize */
    size_t n;
    enum berth_code code;
    int64_t score;
    int64_t timeout; /* permit; ns */
};

struct puppet {
    const char *name;
    unsigned points;
    struct berth_plugin plugin;
    const struct berth_host *host;
    struct berth_handle *handle; /* in the profile that was created last */

    enum berth_code code[PUPPET_POINTS];  /* returned; Bind defaults to Skip */
    const char *reason, *second_reason;   /* with any code except Success and Skip */
    const char *reason_at[PUPPET_POINTS]; /* overrides these; "": none */
    const char *limit[4];                 /* pre_filter: only these nodes, terminated by NULL */
    int64_t score;
    int64_t timeout;
    void (*hook)(struct puppet_call *call); /* may change code, score and timeout */
};

/* Empties the stage. */
void puppet_clear(void);
/* points: AT(FILTER) | AT(SCORE) … */
struct puppet *puppet_add(const char *name, unsigned points);
/* PrioritySort (unless a puppet sorts), the puppets in the order of adding, DefaultBinder. */
const struct registry *puppet_registry(void);

/* An engine with the puppets and nodes n0, n1, … */
void puppet_scene(struct fixture *f, size_t nodes);

/* Checks the pod's last condition. reason: "Unschedulable" or "SchedulerError". */
void assert_told(struct fixture *f, const char *pod, const char *reason, const char *message);
/* Checks that the pod is bound to the node; NULL: to none. */
void assert_on(const struct fixture *f, const char *pod, const char *node);

/* The calls at these points so far, as "A.Filter(n0) B.Reserve"; valid until the next call. */
const char *puppet_calls(unsigned points);
size_t puppet_count(unsigned points);
void puppet_forget_calls(void);

#endif
