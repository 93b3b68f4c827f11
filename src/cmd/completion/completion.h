/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.h - what teaches a shell to complete berth's command lines.
 *
 * Purpose:   one writer a shell. What it writes completes commands, flags, and values of flags:
 *            names of files, words of small sets, feature gates behind --feature-gates=. A link
 *            named kube-scheduler is completed as `berth scheduler`.
 * Ownership: -
 * Threading: any.
 */
#ifndef BERTH_CMD_COMPLETION_COMPLETION_H
#define BERTH_CMD_COMPLETION_COMPLETION_H

#include "cmd/cli/outline.h"

void completion_bash(const struct outline *o, struct buf *out);
void completion_zsh(const struct outline *o, struct buf *out);
void completion_fish(const struct outline *o, struct buf *out);

#endif
