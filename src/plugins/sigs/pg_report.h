/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pg_report.h - the status of PodGroups (upstream: PodGroupReconciler, a program of its own).
 *
 * Purpose:   phase, counts of pods and owners of each group, written when they change. A state
 *            machine: each step goes from the status that the API server has, and the pods that
 *            exist, to the next status. Changes are collected for a moment, few requests are open
 *            at a time, and each one names the version that it was decided on.
 * Ownership: part of the groups and of their state (pg_state.h).
 * Threading: the engine's thread. Only the instance that leads writes; a simulation does not.
 */
#ifndef BERTH_PLUGINS_SIGS_PG_REPORT_H
#define BERTH_PLUGINS_SIGS_PG_REPORT_H

#include "base/arena.h"
#include "base/vec.h"
#include "plugins/sigs/pg_object.h"

struct pg;
struct pg_state;

/* Of one group. */
struct pg_report {
    size_t place;   /* index in pg_reports.waiting, from 1; 0: nothing has changed */
    bool sent;      /* a request is open */
    bool again;     /* the group has changed meanwhile */
    bool told_late; /* the event Timeout was recorded */
    uint64_t call;  /* the open request */
};

/* Of the state. */
struct pg_reports {
    VEC(struct pg *) waiting;
    size_t open;
    uint64_t timer; /* 0: none */
    int64_t pause;  /* after a failure; 0: the last request succeeded */
};

/* A pod of the group or its PodGroup has changed. */
void pg_report_changed(struct pg *g);
/* The group ends. */
void pg_report_forget(struct pg *g);
void pg_reports_release(struct pg_reports *r);

#endif
