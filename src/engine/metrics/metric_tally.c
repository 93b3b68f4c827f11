/* SPDX-License-Identifier: Apache-2.0 */
/*
 * metric_tally.c - publishes changed tallies.
 *
 * A tally is in the list of dirty ones if and only if its flag is set.
 */
#include "engine/metrics/metric_tally.h"

void metric_tally_board_init(struct metric_tally_board *board)
{
    *board = (struct metric_tally_board){0};
    arena_init(&board->arena, 0);
}

void metric_tally_board_release(struct metric_tally_board *board)
{
    arena_release(&board->arena);
}

struct metric_tally *metric_tally_new(struct metric_tally_board *board,
                                      struct metric_family *family, const struct str *values)
{
    const struct metric_desc *desc = metric_family_desc(family);
    size_t buckets = desc->kind == METRIC_HISTOGRAM ? desc->n_buckets + 1 : 0;
    struct metric_tally *t = arena_alloc(&board->arena, sizeof(*t) + buckets * sizeof(*t->buckets),
                                         _Alignof(struct metric_tally));
    memset(t, 0, sizeof(*t) + buckets * sizeof(*t->buckets));
    t->series = metric_with(family, values);
    t->desc = desc;
    return t;
}

static void publish_one(struct metric_tally *t)
{
    switch (t->desc->kind) {
    case METRIC_COUNTER:
        metric_add(t->series, t->value);
        break;
    case METRIC_GAUGE:
        metric_set(t->series, t->value);
        return; /* a gauge keeps its value */
    case METRIC_HISTOGRAM:
        metric_observe_all(t->series, t->buckets, t->value);
        memset(t->buckets, 0, (t->desc->n_buckets + 1) * sizeof(*t->buckets));
        break;
    }
    t->value = 0;
}

void metric_tally_publish(struct metric_tally_board *board)
{
    while (board->dirty) {
        struct metric_tally *t = board->dirty;
        board->dirty = t->next_dirty;
        t->dirty = false;
        publish_one(t);
    }
}
