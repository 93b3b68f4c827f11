/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TestTogether: a gang as out-of-tree plugins make one. Pods with the same label "group" wait in
 * Permit until as many of them have a node as the label "size" says, but for no longer than the
 * argument "permitWaitingTimeSeconds". It sorts the queue too, so that a group's pods come one
 * after the other, and has a say at PreFilter, PostFilter, Reserve and PostBind.
 */
#include <stdlib.h>
#include <string.h>

#include "test_plugins.h"

#define SECOND ((int64_t)1000000000)

struct gang {
    const struct test_plugin *self;
    struct berth_str name;
    size_t waiting;
    bool allow, reject;
};

static struct berth_str group_of(const struct test_plugin *self, const struct berth_pod *pod)
{
    return test_label(self, pod, BERTH_STR("group"));
}

static size_t number(struct berth_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && text.p[i] >= '0' && text.p[i] <= '9'; i++)
        n = n * 10 + (size_t)(text.p[i] - '0');
    return n;
}

/* "name": 3 */
static int64_t number_arg(const struct test_plugin *self, const char *name)
{
    const char *at = strstr(self->args, name);
    at = at ? strchr(at, ':') : NULL;
    return at ? strtoll(at + 1, NULL, 10) : 0;
}

static void each_waiting(void *ctx, struct berth_waiting_pod *w)
{
    struct gang *g = ctx;
    const struct berth_host *host = g->self->host;
    if (!test_same(group_of(g->self, host->waiting_pod(w)), g->name))
        return;
    g->waiting++;
    if (g->allow)
        host->waiting_allow(g->self->handle, w);
    else if (g->reject)
        host->waiting_reject(g->self->handle, w, BERTH_STR("its group has no room"));
}

/* --- points ----------------------------------------------------------------------------------- */

static bool less(void *ctx, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    const struct test_plugin *self = ctx;
    const struct berth_host *host = self->host;
    int32_t x = host->pod_priority(host->queued_pod(a)),
            y = host->pod_priority(host->queued_pod(b));
    return x != y ? x > y : host->queued_since(a) < host->queued_since(b);
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    (void)cycle;
    (void)status;
    return group_of(ctx, pod).n ? BERTH_SUCCESS : BERTH_SKIP;
}

/* Where one finds no place the others need not go on waiting. */
static enum berth_code post_filter(void *ctx, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct test_plugin *self = ctx;
    struct gang g = {.self = self, .name = group_of(self, pod), .reject = true};
    if (g.name.n)
        self->host->waiting_pods(self->handle, each_waiting, &g);
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code reserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    (void)cycle;
    (void)status;
    const struct test_plugin *self = ctx;
    test_say(self, "TestTogether: Reserve of %.*s on %.*s",
             BERTH_STR_ARG(self->host->pod_name(pod)), BERTH_STR_ARG(node_name));
    return BERTH_SUCCESS;
}

static enum berth_code permit(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    (void)cycle;
    (void)node_name;
    (void)status;
    const struct test_plugin *self = ctx;
    struct gang g = {.self = self, .name = group_of(self, pod)};
    if (!g.name.n)
        return BERTH_SUCCESS;
    self->host->waiting_pods(self->handle, each_waiting, &g);
    if (g.waiting + 1 < number(test_label(self, pod, BERTH_STR("size")))) {
        *ret_timeout_ns = number_arg(self, "permitWaitingTimeSeconds") * SECOND;
        test_say(self, "TestTogether: %.*s waits", BERTH_STR_ARG(self->host->pod_name(pod)));
        return BERTH_WAIT;
    }
    g.allow = true;
    self->host->waiting_pods(self->handle, each_waiting, &g);
    return BERTH_SUCCESS;
}

static void post_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle;
    const struct test_plugin *self = ctx;
    test_say(self, "TestTogether: PostBind of %.*s to %.*s",
             BERTH_STR_ARG(self->host->pod_name(pod)), BERTH_STR_ARG(node_name));
}

const struct berth_plugin test_together_plugin = {
    TEST_PLUGIN("TestTogether"), .less = less,       .pre_filter = pre_filter,
    .post_filter = post_filter,  .reserve = reserve, .permit = permit,
    .post_bind = post_bind,
};
