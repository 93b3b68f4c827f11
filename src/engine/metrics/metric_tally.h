/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_tally.h - counts of one thread since its last publish.
 *
 * Purpose:   a series of base/metrics.h is shared: each update is atomic. The engine counts dozens
 *            of things for each pod, so it keeps tallies, plain numbers, and adds them to the
 *            series a few times a second.
 * Ownership: a board owns its tallies until its release. Series belong to the registry.
 * Threading: one thread; metric_tally_publish may run concurrently with readers of the registry.
 */
#ifndef BERTH_ENGINE_METRICS_METRIC_TALLY_H
#define BERTH_ENGINE_METRICS_METRIC_TALLY_H

#include "base/arena.h"
#include "base/metrics.h"

struct metric_tally {
    struct metric *series;
    const struct metric_desc *desc;
    struct metric_tally *next_dirty;
    bool dirty;
    double value;       /* counter, histogram: to be added; gauge: the value */
    uint32_t buckets[]; /* histogram: to be added, the last one is +Inf */
};

struct metric_tally_board {
    struct arena arena;
    struct metric_tally *dirty;
};

void metric_tally_board_init(struct metric_tally_board *board);
void metric_tally_board_release(struct metric_tally_board *board);
/* The tally of one series, which is created if necessary. values: as for metric_with. */
struct metric_tally *metric_tally_new(struct metric_tally_board *board,
                                      struct metric_family *family, const struct str *values);
/* Adds all tallies to their series. */
void metric_tally_publish(struct metric_tally_board *board);

static inline void metric_tally_touch(struct metric_tally_board *board, struct metric_tally *t)
{
    if (t->dirty)
        return;
    t->dirty = true;
    t->next_dirty = board->dirty;
    board->dirty = t;
}

static inline void metric_tally_add(struct metric_tally_board *board, struct metric_tally *t,
                                    double delta)
{
    t->value += delta;
    metric_tally_touch(board, t);
}

static inline void metric_tally_set(struct metric_tally_board *board, struct metric_tally *t,
                                    double value)
{
    if (t->value == value)
        return;
    t->value = value;
    metric_tally_touch(board, t);
}

/* The same observation, n times. */
static inline void metric_tally_observe(struct metric_tally_board *board, struct metric_tally *t,
                                        double value, uint32_t n)
{
    /* Most observations are in the first bucket. */
    t->buckets[value <= t->desc->buckets[0] ? 0 : metric_bucket(t->desc, value)] += n;
    t->value += value * n;
    metric_tally_touch(board, t);
}

#endif
