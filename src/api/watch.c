/* SPDX-License-Identifier: Apache-2.0 */
#include "api/watch.h"

#include "codec/json.h"
#include "codec/proto.h"

/* An undecoded event: the object is its text or its enveloped bytes. */
struct frame {
    struct str type;
    struct str object;
};
static const struct field frame_fields[] = {
    F_ONE(struct frame, type, "type", 1, STR),
    F_ONE(struct frame, object, "object", 2, RAW),
};
static const struct type frame_type =
    TYPE("k8s.io.apimachinery.pkg.apis.meta.v1.WatchEvent", struct frame, frame_fields);

static const char *const type_names[] = {
    [WATCH_ADDED] = "ADDED",       [WATCH_MODIFIED] = "MODIFIED", [WATCH_DELETED] = "DELETED",
    [WATCH_BOOKMARK] = "BOOKMARK", [WATCH_ERROR] = "ERROR",
};

static int find_type(struct str name, enum watch_event_type *ret_type, struct err *reterr)
{
    for (size_t i = 0; i < ARRAY_LEN(type_names); i++)
        if (str_is(name, type_names[i])) {
            *ret_type = (enum watch_event_type)i;
            return 0;
        }
    return err_set(reterr, -EBADMSG, "watch event of unknown type \"%.*s\"", STR_ARG(name));
}

int watch_event_decode(const struct wire *wire, struct str bytes, struct watch_event *ret_event,
                       struct err *reterr)
{
    struct watch_event event;
    struct wire status = *wire;
    struct frame frame;
    struct arena arena;
    int r;
    status.kind = kind_get(KIND_STATUS);
    if (bytes.n > OBJECT_MAX_SIZE)
        return err_set(reterr, -EMSGSIZE,
                       "a watch event of %zu bytes is larger than the limit of %zu", bytes.n,
                       OBJECT_MAX_SIZE);
    arena_init(&arena, bytes.n + 16);
    r = wire->encoding == ENCODING_PROTO
            ? proto_decode(bytes, &frame_type, &arena, &frame, reterr)
            : json_decode(bytes, &frame_type, 0, &arena, &frame, reterr);
    if (r == 0)
        r = find_type(frame.type, &event.type, reterr);
    if (r == 0)
        r = object_decode(event.type == WATCH_ERROR ? &status : wire, frame.object, &event.object,
                          reterr);
    if (r == 0)
        *ret_event = event;
    arena_release(&arena);
    return r;
}

void watch_event_release(struct watch_event *event)
{
    event->object = object_unref(event->object);
}
