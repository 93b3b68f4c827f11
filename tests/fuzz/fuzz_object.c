/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as any object, list or watch event. The first byte picks the kind, the second the
 * encoding and the form; what decodes must survive a round through both encodings.
 */
#include "api/watch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_round(const struct object *o, enum encoding encoding)
{
    const struct kind *kind = object_kind(o);
    struct wire wire = {.kind = kind, .encoding = encoding};
    struct buf first = BUF_INIT, second = BUF_INIT;
    struct object *again = NULL;
    struct err err;
    object_encode(kind, object_body(o), encoding, &first);
    require(object_decode(&wire, buf_str(&first), &again, &err) == 0);
    object_encode(kind, object_body(again), encoding, &second);
    require(str_eq(buf_str(&first), buf_str(&second)));
    object_unref(again);
    buf_release(&first);
    buf_release(&second);
}

static int check_object(void *ctx, struct object *o)
{
    (void)ctx;
    check_round(o, ENCODING_JSON);
    check_round(o, ENCODING_PROTO);
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
