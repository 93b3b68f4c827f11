/* SPDX-License-Identifier: Apache-2.0 */
#include "live/extender_body.h"

#include "live/extender_json.h"

#define BODY_ROOM ((size_t)16 << 10) /* for a pod; twice its size if it is larger */

struct extender_body {
    atomic_uint refs;
    bool names_only;
    struct object *pod;
    struct object **nodes; /* with references */
    size_t n_nodes;
    struct buf bytes;
    size_t begin;    /* start of the text within bytes */
    size_t nodes_at; /* start of the nodes */
};

static struct extender_body *body_new(void)
{
    struct extender_body *b = xnew(struct extender_body);
    atomic_init(&b->refs, 1);
    return b;
}

static void body_forget(struct extender_body *b)
{
    b->pod = object_unref(b->pod);
    for (size_t i = 0; i < b->n_nodes; i++)
        object_unref(b->nodes[i]);
    free(TAKE(b->nodes));
    b->n_nodes = 0;
}

struct extender_body *extender_body_unref(struct extender_body *b)
{
    if (!b || atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
        return NULL;
    body_forget(b);
    buf_release(&b->bytes);
    free(b);
    return NULL;
}

struct str extender_body_text(const struct extender_body *b)
{
    return str_slice(buf_str(&b->bytes), b->begin, b->bytes.n);
}

static bool body_has_nodes(const struct extender_body *b, const struct extender_call *call,
                           bool names_only)
{
    return b->nodes && b->names_only == names_only && b->n_nodes == call->n_nodes &&
           memcmp(b->nodes, call->nodes, call->n_nodes * sizeof(*b->nodes)) == 0;
}

/* The references keep the addresses unique, so nodes can be compared by address. */
static void body_set_nodes(struct extender_body *b, const struct extender_call *call,
                           bool names_only, size_t room)
{
    body_forget(b);
    b->names_only = names_only;
    b->n_nodes = call->n_nodes;
    b->nodes = xcalloc(MAX(call->n_nodes, 1), sizeof(*b->nodes));
    for (size_t i = 0; i < call->n_nodes; i++)
        b->nodes[i] = object_ref(call->nodes[i]);
    buf_clear(&b->bytes);
    if (buf_reserve(&b->bytes, room))
        b->bytes.n = room;
    b->nodes_at = b->bytes.n;
    extender_encode_nodes(call, names_only, &b->bytes);
}

static void body_set(struct extender_body *b, const struct extender_call *call, bool names_only)
{
    struct buf pod = BUF_INIT;
    extender_encode_pod(call, &pod);
    if (!body_has_nodes(b, call, names_only) || pod.n > b->nodes_at)
        body_set_nodes(b, call, names_only, MAX(BODY_ROOM, 2 * pod.n));
    object_unref(b->pod);
    b->pod = object_ref(call->pod);
    b->begin = b->nodes_at - pod.n;
    memcpy(b->bytes.p + b->begin, pod.p, pod.n);
    buf_release(&pod);
}

struct extender_body *extender_body_for(struct extender_body **last,
                                        const struct extender_call *call, bool names_only)
{
    struct extender_body *b = *last;
    if (call->verb != EXTENDER_FILTER && call->verb != EXTENDER_PRIORITIZE) {
        b = body_new();
        extender_encode(call, names_only, &b->bytes);
        return b;
    }
    if (!b || b->pod != call->pod || !body_has_nodes(b, call, names_only)) {
        if (b && atomic_load_explicit(&b->refs, memory_order_acquire) > 1)
            b = extender_body_unref(b);
        if (!b)
            b = body_new();
        body_set(b, call, names_only);
        *last = b;
    }
    atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}
