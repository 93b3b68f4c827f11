/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as any object, list or watch event. The first byte selects the kind, the second the
 * encoding and the form; decoded input must survive a round trip through both encodings.
 */
#include "api/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

/* The same object after a round trip through an encoding. */
static struct object *round_trip(const struct object *o, enum encoding encoding)
{
    struct wire wire = {.kind = object_kind(o), .encoding = encoding};
    struct buf bytes = BUF_INIT;
    struct object *again = NULL;
    struct err err;
    object_encode(wire.kind, object_body(o), encoding, &bytes);
    require(object_decode(&wire, buf_str(&bytes), &again, &err) == 0);
    buf_release(&bytes);
    return again;
}

static bool same(const struct object *a, const struct object *b)
{
    return desc_equal(object_kind(a)->type, object_body(a), object_body(b));
}

/* Protobuf keeps everything. JSON may drop an invalid RawExtension, but only the first time. */
static void check_round_trips(const struct object *o)
{
    struct object *proto = round_trip(o, ENCODING_PROTO);
    require(same(o, proto));
    struct object *json = round_trip(o, ENCODING_JSON);
    struct object *json_again = round_trip(json, ENCODING_JSON);
    require(same(json, json_again));
    object_unref(json_again);
    object_unref(json);
    object_unref(proto);
}

static int check_object(void *ctx, struct object *o)
{
    (void)ctx;
    check_round_trips(o);
    object_unref(o);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    struct wire wire = {.kind = kind_get((enum kind_id)(data[0] % KIND_COUNT)),
                        .encoding = data[1] & 1 ? ENCODING_PROTO : ENCODING_JSON,
                        .flags = data[1] & 2 ? OBJECT_KEEP_WIRE : 0};
    struct str bytes = {(const char *)data + 2, size - 2};
    struct object *o;
    struct object_list list;
    struct watch_event event;
    struct err err;
    switch (data[1] >> 2 & 3) {
    case 0:
        if (object_decode_list(&wire, bytes, check_object, NULL, &list, &err) == 0)
            object_list_release(&list);
        break;
    case 1:
        if (watch_event_decode(&wire, bytes, &event, &err) == 0)
            check_object(NULL, event.object);
        break;
    default:
        if (object_decode(&wire, bytes, &o, &err) == 0)
            check_object(NULL, o);
    }
    return 0;
}
