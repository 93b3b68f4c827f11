/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch's body is a sequence of frames: JSON values, or protobuf messages behind a 4-byte length.
 */
#include "kube/rest/rest_internal.h"

/*
 * Finds the next frame in rest. Returns its length including framing, 0 if more bytes are needed,
 * negative if the data is invalid.
 */
static ssize_t next_frame(struct rest_call *call, struct str rest, struct str *ret_frame)
{
    const unsigned char *p = (const unsigned char *)rest.p;
    size_t max = call->client->options.max_frame;
    ssize_t n;
    size_t length;

    if (call->encoding == ENCODING_JSON) {
        n = json_scan_value(&call->stream.scan, rest);
        if (n > 0) {
            *ret_frame = str_slice(rest, 0, (size_t)n);
            call->stream.scan = (struct json_scan){0};
        }
        if (n > (ssize_t)max || (n == 0 && rest.n > max))
            return -EMSGSIZE;
        return n < 0 ? -EBADMSG : n;
    }
    if (rest.n < 4)
        return 0;
    length = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
    if (length > max)
        return -EMSGSIZE;
    if (rest.n - 4 < length)
        return 0;
    *ret_frame = str_slice(rest, 4, 4 + length);
    return (ssize_t)(4 + length);
}

/* Ends a watch whose data is invalid. */
static void end_invalid(struct rest_call *call, int code, const char *what)
{
    struct rest_result result = {.status = call->status};

    result.code = rest_fail(call, &result.err, code, "watch: %s", what);
    rest_call_finish(call, &result);
}

/* Delivers one event. Returns false if the call is gone. */
static bool deliver(struct rest_call *call, struct str frame)
{
    struct wire wire = {
        .kind = call->kind, .encoding = call->encoding, .flags = call->object_flags};
    struct watch_event event;
    struct err err;
    bool gone = false;
    int r = watch_event_decode(&wire, frame, &event, &err);

    if (r < 0) {
        end_invalid(call, r, err.msg);
        return false;
    }
    call->gone = &gone;
    call->stream.handlers->on_event(call->ctx, &event);
    watch_event_release(&event);
    if (gone)
        return false;
    call->gone = NULL;
    return true;
}

/* Delivers all complete frames; *ret_used is their length. Returns false if the call is gone. */
static bool deliver_all(struct rest_call *call, struct str bytes, size_t *ret_used)
{
    struct str frame = {0};
    size_t used = 0;
    ssize_t n;

    while ((n = next_frame(call, str_slice(bytes, used, bytes.n), &frame)) > 0) {
        if (!deliver(call, frame))
            return false;
        used += (size_t)n;
    }
    if (n < 0) {
        end_invalid(call, (int)n,
                    n == -EMSGSIZE ? "event larger than the limit"
                                   : "the stream is not a sequence of JSON values");
        return false;
    }
    *ret_used = used;
    return true;
}

/*
 * If no bytes are left over from before, which is the usual case, frames are read in place and only
 * an incomplete one at the end is copied. Handlers may cancel the call and free its buffer, so the
 * buffer is moved out of the call meanwhile.
 */
void rest_stream_data(struct rest_call *call, struct str data)
{
    struct buf own = call->stream.bytes;
    size_t used;

    if (!call->encoding_known) {
        end_invalid(call, -EPROTO, "neither JSON nor Kubernetes protobuf");
        return;
    }
    call->stream.bytes = (struct buf)BUF_INIT;
    if (own.n > 0) {
        buf_add_str(&own, data);
        if (!deliver_all(call, buf_str(&own), &used)) {
            buf_release(&own);
            return;
        }
        buf_consume(&own, used);
    } else {
        if (!deliver_all(call, data, &used)) {
            buf_release(&own);
            return;
        }
        buf_add_str(&own, str_slice(data, used, data.n));
    }
    call->stream.bytes = own;
}

int rest_stream_end(struct rest_call *call, struct err *reterr)
{
    if (str_empty(str_trim(buf_str(&call->stream.bytes))))
        return 0;
    return rest_fail(call, reterr, -EBADMSG, "watch: the stream ended within an event");
}

struct rest_call *rest_watch(struct rest_client *client, const struct rest_request *request,
                             const struct rest_watch_handlers *handlers, void *ctx)
{
    struct rest_call *call = rest_call_new(client, request, true);

    call->ctx = ctx;
    call->stream.handlers = handlers;
    rest_call_start(call);
    return call;
}
