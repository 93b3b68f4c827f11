/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h - what one thread has counted since it last told.
 *
 * Purpose:   a series of base/metrics.h is shared, so that every update of it is an atomic one. The
 *            engine counts dozens of things for each pod: it keeps its own tallies, plain numbers,
 *            and adds them to the series all at once, a few times a second.
 * Ownership: a board owns its tallies; they live as long as it does. Series belong to the registry.
 * Threading: one thread; tally_publish may run beside readers of the registry.
 */
#ifndef BERTH_ENGINE_TALLY_H
#define BERTH_ENGINE_TALLY_H

#include "base/arena.h"
#include "base/metrics.h"

struct tally {
    struct metric *series;
    const struct metric_desc *desc;
    struct tally *next_dirty;
    bool dirty;
    double value;       /* counter, histogram: to be added; gauge: what it is */
    uint32_t buckets[]; /* histogram: to be added, the last one is +Inf */
};

struct tally_board {
    struct arena arena;
    struct tally *dirty;
};

void tally_board_init(struct tally_board *board);
void tally_board_release(struct tally_board *board);
/* The tally of one series, which comes to life with it. values: as for metric_with. */
struct tally *tally_new(struct tally_board *board, struct metric_family *family,
                        const struct str *values);
/* Adds everything to the series. */
void tally_publish(struct tally_board *board);

static inline void tally_touch(struct tally_board *board, struct tally *t)
{
    if (t->dirty)
        return;
    t->dirty = true;
    t->next_dirty = board->dirty;
    board->dirty = t;
}

static inline void tally_add(struct tally_board *board, struct tally *t, double delta)
{
    t->value += delta;
    tally_touch(board, t);
}

static inline void tally_set(struct tally_board *board, struct tally *t, double value)
{
    if (t->value == value)
        return;
    t->value = value;
    tally_touch(board, t);
}

/* The same observation, n times. */
static inline void tally_observe(struct tally_board *board, struct tally *t, double value,
                                 uint32_t n)
{
    /* Most fall into the first. */
    t->buckets[value <= t->desc->buckets[0] ? 0 : metric_bucket(t->desc, value)] += n;
    t->value += value * n;
    tally_touch(board, t);
}

#endif
