/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_hint.h - what to do about a entry.
 *
 * Purpose:   upstream's words say what is wrong with the plugins of a profile; a person also wants
 *            to know what would be right.
 * Ownership: -
 * Threading: any.
 */
#ifndef BERTH_CMD_CONFIG_CONFIG_HINT_H
#define BERTH_CMD_CONFIG_CONFIG_HINT_H

#include "base/buf.h"
#include "engine/config/registry.h"

/* Appends " (did you mean NodePorts?)" or the like, where there is something to say. */
void config_hint(const struct registry *registry, struct str entry, struct buf *out);

#endif
