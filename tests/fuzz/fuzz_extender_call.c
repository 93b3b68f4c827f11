/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a request to an extender, for each verb: an error with a text, or an answer that is
 * JSON, whatever the function of the verb does. */
#include "codec/json_value.h"
#include "extender/extender_call.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool held)
{
    if (!held)
        abort();
}

static void read_object(const struct berth_extender_object *object)
{
    struct berth_str value;
    if (berth_extender_label(object, "a", &value))
        check(value.n == 0 || value.p);
    if (berth_extender_annotation(object, "a", &value))
        check(value.n == 0 || value.p);
    if (berth_extender_field(object, &value, "spec", "a", NULL))
        check(value.n == 0 || value.p);
    int64_t requested = berth_extender_pod_request(object, "cpu");
    check(requested == berth_extender_pod_request(object, "cpu"));
    int64_t allocatable = berth_extender_node_allocatable(object, "cpu");
    check(allocatable == berth_extender_node_allocatable(object, "cpu"));
}

static void decide(struct berth_extender_call *call)
{
    read_object(berth_extender_pod(call));
    for (size_t i = 0; i <= berth_extender_n_nodes(call); i++) {
        read_object(berth_extender_node(call, i));
        if (i % 3)
            berth_extender_reject(call, i, (enum berth_code)(i % 5), "a \"reason\"");
        berth_extender_score(call, i, (int64_t)i);
        for (size_t k = 0; k <= berth_extender_n_victims(call, i); k += 2)
            berth_extender_spare(call, i, k);
    }
}

/* As long as the request was JSON throughout, the answer is. */
static void check_answer(const struct berth_extender_call *call)
{
    struct buf out = BUF_INIT;
    struct json_value tree;
    struct arena arena;
    struct err err;
    arena_init(&arena, 0);
    check(extender_call_write(call, &out) == 200);
    check(json_parse(buf_str(&out), 0, &arena, &tree, &err) == 0);
    arena_release(&arena);
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int verb = 0; verb < EXTENDER_CALL_VERBS; verb++) {
        struct berth_extender_call call;
        struct err err = {0};
        int r = extender_call_read(&call, (enum extender_call_verb)verb,
                                   (struct str){(const char *)data, size}, &err);
        check(r == 0 || err.msg[0]);
        if (r == 0) {
            decide(&call);
            check_answer(&call);
        }
        check(call.arena.total <= 64 * size + (64 << 10));
        extender_call_release(&call);
    }
    return 0;
}
