/* SPDX-License-Identifier: Apache-2.0 */
/*
 * watch.h - one event of a watch.
 *
 * Purpose:   decodes what a watch sends: the type and the object it is about. How frames are cut
 *            out of the stream is the reader's business (json_scan_value; in protobuf every frame
 *            is preceded by its length, four bytes, the highest first).
 * Ownership: the event holds a reference on its object; watch_event_release drops it.
 * Threading: values; see api/object.h.
 */
#ifndef BERTH_API_WATCH_H
#define BERTH_API_WATCH_H

#include "api/object.h"

enum watch_event_type { WATCH_ADDED, WATCH_MODIFIED, WATCH_DELETED, WATCH_BOOKMARK, WATCH_ERROR };

struct watch_event {
    enum watch_event_type type;
    struct object *object; /* WATCH_ERROR: of KIND_STATUS; else of the kind that is watched */
};

/* bytes: one JSON value, or one frame of protobuf without its length. */
int watch_event_decode(const struct wire *wire, struct str bytes, struct watch_event *ret_event,
                       struct err *reterr) MUST_CHECK;
void watch_event_release(struct watch_event *event);

#endif
