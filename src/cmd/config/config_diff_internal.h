/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_diff_internal.h - the list of changes between two configurations.
 *
 * Purpose:   config_diff.c finds the changes, config_diff_text.c writes them. Private to both.
 * Ownership: texts live in the diff's arena or in the configurations.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CONFIG_CONFIG_DIFF_INTERNAL_H
#define BERTH_CMD_CONFIG_CONFIG_DIFF_INTERNAL_H

#include "base/vec.h"
#include "cmd/config/config_diff.h"

enum change_kind {
    CHANGE_SETTING,
    CHANGE_ADDED, /* a plugin at a point; without a point: a profile */
    CHANGE_REMOVED,
    CHANGE_WEIGHT,
    CHANGE_ORDER,
    CHANGE_ARGUMENTS,
};

struct change {
    enum change_kind kind;
    struct str profile;       /* p NULL: all profiles */
    const char *point;        /* "score"; NULL: none */
    struct str what;          /* plugin or setting; p NULL: the profile, or an order */
    struct str path;          /* CHANGE_ARGUMENTS: the field, "scoringStrategy.type" */
    struct str before, after; /* p NULL: none */
};
typedef VEC(struct change) change_list;

void changes_write_text(const change_list *changes, struct buf *out);
void changes_write_json(const change_list *changes, struct buf *out);

#endif
