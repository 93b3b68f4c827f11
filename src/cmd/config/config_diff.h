/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_diff.h - what changes for pods between two configurations.
 *
 * Purpose:   profiles that come and go; for each, at every point, plugins that come, go or move,
 *            weights, and arguments; and the settings that pods notice. What is written differently
 *            but means the same is no difference.
 * Ownership: writes into the caller's buffer.
 * Threading: any.
 */
#ifndef BERTH_CMD_CONFIG_CONFIG_DIFF_H
#define BERTH_CMD_CONFIG_CONFIG_DIFF_H

#include "base/buf.h"
#include "engine/config/features.h"
#include "engine/config/registry.h"

/* Both have been checked (config_check). json: one object, else lines for a person. */
void config_diff(const struct scheduler_config *a, const struct scheduler_config *b,
                 const struct registry *registry, const struct features *features, bool json,
                 struct buf *out);

#endif
