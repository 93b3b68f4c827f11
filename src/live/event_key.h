/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_key.h - what makes two events the same but for their note and time.
 *
 * Purpose:   all identifying texts of an event in a row, so that a map finds its series, and the
 *            event's members can be read from it again: each text is kept once.
 * Ownership: what is read points into the key.
 * Threading: constant functions; any.
 */
#ifndef BERTH_LIVE_EVENT_KEY_H
#define BERTH_LIVE_EVENT_KEY_H

#include "live/events.h"

/* Appends the key. */
void event_key_make(const struct event_info *info, struct buf *key);
/* Sets the members that stand in the key; event->related points at *ret_related, or is left. */
void event_key_read(struct str key, struct event *event, struct object_reference *ret_related);

#endif
