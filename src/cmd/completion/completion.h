/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.h - shell completion scripts.
 *
 * Purpose:   one writer per shell. Scripts complete commands, flags and values of flags: files,
 *            fixed words, feature gates. A link named kube-scheduler is completed like
 *            `berth scheduler`.
 * Ownership: appends to the caller's buffer; nothing is kept.
 * Threading: any.
 */
#ifndef BERTH_CMD_COMPLETION_COMPLETION_H
#define BERTH_CMD_COMPLETION_COMPLETION_H

#include "cmd/cli/outline.h"

void completion_bash(const struct outline *o, struct buf *out);
void completion_zsh(const struct outline *o, struct buf *out);
void completion_fish(const struct outline *o, struct buf *out);

#endif
