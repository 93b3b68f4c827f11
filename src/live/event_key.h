/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_key.h - the identity of an event: everything but its note and time.
 *
 * Purpose:   a key that concatenates all identifying strings of an event. A map finds the series by
 *            it, and the event's members are read back from it, so that each string is stored once.
 * Ownership: strings that are read point into the key.
 * Threading: pure functions; any thread.
 */
#ifndef BERTH_LIVE_EVENT_KEY_H
#define BERTH_LIVE_EVENT_KEY_H

#include "live/events.h"

/* Appends the key. */
void event_key_make(const struct event_info *info, struct buf *key);
/*
 * Sets the members that the key contains. event->related is set to ret_related, or left if the key
 * has none.
 */
void event_key_read(struct str key, struct event *event, struct object_reference *ret_related);

#endif
