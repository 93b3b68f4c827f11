/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_diff.h - the differences between two configurations that matter to pods.
 *
 * Purpose:   reports profiles added and removed; per profile and extension point, plugins added,
 *            removed or moved, weights and arguments; and settings that affect pods. Different
 *            spellings of the same configuration are not a difference.
 * Ownership: appends to the caller's buffer; nothing is kept.
 * Threading: any.
 */
#ifndef BERTH_CMD_CONFIG_CONFIG_DIFF_H
#define BERTH_CMD_CONFIG_CONFIG_DIFF_H

#include "base/buf.h"
#include "engine/config/features.h"
#include "engine/config/registry.h"

/* Both configurations must be valid (config_check). json: one JSON object instead of text. */
void config_diff(const struct scheduler_config *a, const struct scheduler_config *b,
                 const struct registry *registry, const struct features *features, bool json,
                 struct buf *out);

#endif
