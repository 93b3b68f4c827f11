/* SPDX-License-Identifier: Apache-2.0 */
/*
 * up_view.h - what `berth up` shows of its cluster.
 *
 * Purpose:   counts of nodes and pods, the live table of a terminal, the table of placements.
 * Ownership: the caller owns the view; nothing of the control plane is kept.
 * Threading: that of the control plane.
 */
#ifndef BERTH_CMD_UP_UP_VIEW_H
#define BERTH_CMD_UP_UP_VIEW_H

#include "apiserver/control_plane.h"

struct up_counts {
    size_t nodes, pods;
    size_t pending;  /* have no node */
    size_t refused;  /* of these, fit on no node or are gated */
    size_t placed;   /* have a node */
    size_t running;  /* of these, are running */
    size_t finished; /* of these, have ended */
};
void up_count(struct control_plane *plane, struct up_counts *ret_counts);
/* Every pod has a node, or the scheduler has said why it has none. */
bool up_counts_settled(const struct up_counts *counts);

/* The live table, which is drawn over the one before. */
struct up_view {
    size_t n_lines; /* of the last one */
    size_t n_placed;
    int64_t at, start;
    double rate; /* pods placed per second */
};
void up_view_draw(struct up_view *view, struct control_plane *plane, int64_t now);
/* Removes it, so that something else can be printed. */
void up_view_clear(struct up_view *view);

/* Pods with their nodes, as kubectl get pods -o wide prints them. */
void up_print_placements(struct control_plane *plane);
/*
 * The pod whose explanation is most interesting: one that fits nowhere, or the last one. False if
 * there is none. In the arena.
 */
bool up_pick_pod(struct control_plane *plane, struct arena *a, struct store_key *ret_pod);

#endif
