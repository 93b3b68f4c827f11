/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_diff_internal.h - the changes between two configurations, between finding and telling.
 *
 * Purpose:   config_diff.c finds them, config_diff_text.c writes them. Private to both.
 * Ownership: texts live in the diff's arena or in the configurations.
 * Threading: one thread.
 */
#ifndef BERTH_CMD_CONFIG_CONFIG_DIFF_INTERNAL_H
#define BERTH_CMD_CONFIG_CONFIG_DIFF_INTERNAL_H

#include "base/vec.h"
#include "cmd/config/config_diff.h"

enum change_kind {
    CHANGE_SETTING,
    CHANGE_ADDED, /* of a plugin at a point; without a point: of a whole profile */
    CHANGE_REMOVED,
    CHANGE_WEIGHT,
    CHANGE_ORDER,
    CHANGE_ARGUMENTS,
};

struct change {
    enum change_kind kind;
    struct str profile; /* p NULL: of all */
    const char *point;  /* "score"; NULL: not of a point */
    struct str what;    /* the plugin or the setting; p NULL: the profile itself, or an order */
    struct str path;    /* ARGUMENTS: the member, "scoringStrategy.type" */
    struct str before, after; /* p NULL: there is none */
};
typedef VEC(struct change) change_list;

void changes_write_text(const change_list *changes, struct buf *out);
void changes_write_json(const change_list *changes, struct buf *out);

#endif
