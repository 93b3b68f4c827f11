/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h - where a plugin puts the reasons of its verdict.
 *
 * Purpose:   struct berth_status of the ABI. One is reused for all calls of a cycle: cleared before
 *            a call, read after it. Filled by any thread that runs a filter, since it touches
 *            nothing shared; turned into a reason number on the engine's thread.
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
void status_add_reason(struct berth_status *s, berth_reason reason);
void status_add_text(struct berth_status *s, struct str text);
/* The number of all that was added. */
berth_reason status_reason(const struct berth_status *s, struct reasons *reasons);
/* All texts, copied into the arena; gives their number. */
size_t status_texts(const struct berth_status *s, const struct reasons *reasons, struct arena *a,
                    struct str **ret_texts);
/* Appends all that was added, joined by ", ". */
void status_write(const struct berth_status *s, const struct reasons *reasons, struct buf *out);

#endif
