/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - one event of a watch.
 *
 * Purpose:   decodes the type and the object of an event. The caller splits the stream into frames
 *            (json_scan_value; in protobuf every frame follows its length, four bytes in big-endian
 *            order).
 * Ownership: the event holds a reference on its object; watch_event_release drops it.
 * Threading: plain values; see api/object.h.
 */
#ifndef BERTH_API_WATCH_H
#define BERTH_API_WATCH_H

#include "api/object.h"

enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };

struct watch_event {
    enum watch_event_type type;
    struct object *object; /* WATCH_ERROR: of KIND_STATUS; otherwise of the watched kind */
};

/* bytes: one JSON value, or one protobuf frame without its length. */
int watch_event_decode(const struct wire *wire, struct str bytes, struct watch_event *ret_event,
                       struct err *reterr) MUST_CHECK;
void watch_event_release(struct watch_event *event);

#endif
