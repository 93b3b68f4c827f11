/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TestPair: two pods with the same label "pair" are placed together or not at all. The first waits
 * in Permit until the second has a node too; the annotation "test.berth/timeout-ms" says for how
 * long. A pod with the label "part" ends the waiting of that pair.
 */
#include <stdint.h>
#include <stdlib.h>

#include "test_plugins.h"

#define MINUTE ((int64_t)60 * 1000000000)

struct search {
    const struct test_plugin *self;
    struct berth_str namespace, pair;
    struct berth_waiting_pod *found;
};

static void look(void *ctx, struct berth_waiting_pod *w)
{
    struct search *s = ctx;
    const struct berth_pod *pod = s->self->host->waiting_pod(w);
    if (test_same(test_label(s->self, pod, BERTH_STR("pair")), s->pair) &&
        test_same(s->self->host->pod_namespace(pod), s->namespace))
        s->found = w;
}

static struct berth_waiting_pod *find(const struct test_plugin *self, const struct berth_pod *pod,
                                      struct berth_str pair)
{
    struct search search = {self, self->host->pod_namespace(pod), pair, NULL};
    self->host->waiting_pods(self->handle, look, &search);
    return search.found;
}

static int64_t timeout_of(const struct test_plugin *self, const struct berth_pod *pod)
{
    struct berth_value v;
    self->host->pod_field(pod, BERTH_STR("metadata.annotations[test.berth/timeout-ms]"), &v);
    char text[32] = "";
    for (size_t i = 0; v.kind == BERTH_VALUE_STRING && i < v.str.n && i < sizeof(text) - 1; i++)
        text[i] = v.str.p[i];
    return *text ? strtoll(text, NULL, 10) * 1000000 : 10 * MINUTE;
}

static enum berth_code permit(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct test_plugin *self = ctx;
    struct berth_str pair = test_label(self, pod, BERTH_STR("pair"));
    struct berth_str part = test_label(self, pod, BERTH_STR("part"));
    struct berth_waiting_pod *other;
    if (part.n && (other = find(self, pod, part)))
        self->host->waiting_reject(self->handle, other, BERTH_STR("the pair has parted"));
    if (!pair.n)
        return BERTH_SUCCESS;
    other = find(self, pod, pair);
    if (other && self->host->waiting_allow(self->handle, other))
        return BERTH_SUCCESS;
    *ret_timeout_ns = timeout_of(self, pod);
    test_say(self, "%.*s waits for node %.*s", BERTH_STR_ARG(self->host->pod_name(pod)),
             BERTH_STR_ARG(node_name));
    return BERTH_WAIT;
}

/* A pod that is no longer one of a pair need not wait for anybody. */
static enum berth_hint relabelled(void *ctx, const struct berth_pod *pod,
                                  const struct berth_object *before,
                                  const struct berth_object *after)
{
    (void)before;
    return test_about(ctx, pod, after) ? BERTH_QUEUE : BERTH_QUEUE_SKIP;
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct test_plugin *self = ctx;
    self->host->register_event(r, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_UPDATE_POD_LABEL,
                               relabelled);
}

const struct berth_plugin test_pair_plugin = {
    TEST_PLUGIN("TestPair"),
    .events = events,
    .permit = permit,
};
