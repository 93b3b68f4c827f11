/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - the reasons of a plugin's verdict (upstream: Status).
 *
 * Purpose:   the ABI's struct berth_status. Cleared before a plugin call and read after it, so that
 *            one status serves many calls. A plugin may fill it on any thread, since it shares
 *            nothing; it becomes a reason number on the engine's thread.
 * Ownership: owns its buffers.
 * Threading: one thread at a time.
 */
#ifndef BERTH_ENGINE_FRAMEWORK_STATUS_H
#define BERTH_ENGINE_FRAMEWORK_STATUS_H

#include "base/buf.h"
#include "engine/framework/reason.h"

#define STATUS_MAX_REASONS   32
#define STATUS_MAX_TEXT_SIZE 65536

struct berth_status {
    berth_reason reasons[STATUS_MAX_REASONS]; /* 0: the next of the texts */
    size_t n;
    struct buf texts; /* each ends in NUL */
};

void status_init(struct berth_status *s);
void status_release(struct berth_status *s);
void status_clear(struct berth_status *s);
/* Reasons beyond STATUS_MAX_REASONS and texts beyond STATUS_MAX_TEXT_SIZE bytes are dropped. */
void status_add_reason(struct berth_status *s, berth_reason reason);
void status_add_text(struct berth_status *s, struct str text);
/* The number that stands for all reasons that were added. */
berth_reason status_reason(const struct berth_status *s, struct reasons *reasons);
/* Copies all texts into the arena. Returns their number. */
size_t status_texts(const struct berth_status *s, const struct reasons *reasons, struct arena *a,
                    struct str **ret_texts);
/* Appends all texts, joined by ", " as upstream does. */
void status_write(const struct berth_status *s, const struct reasons *reasons, struct buf *out);

#endif
