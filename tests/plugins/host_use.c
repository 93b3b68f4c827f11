/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins that use the services of the host:
 *
 *   TestSleep   blocks in PreBind for as many milliseconds as the pod's label "sleep-ms" says;
 *   TestThread  answers for PreBind from a thread of its own, for pods with the label "answer":
 * once or twice; TestFault   in Filter, pods with the label "fault": abort, segv or slow (2 s);
 *   TestRack    places pods with the label "rack" on the nodes that the Rack of that name lists
 *               (example.com/v1); counts them in test_rack_pods_total.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "test_plugins.h"

static void sleep_ms(long ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
}

static long number(struct berth_str s)
{
    char text[16] = "";
    memcpy(text, s.p, s.n < sizeof(text) ? s.n : sizeof(text) - 1);
    return strtol(text, NULL, 10);
}

/* --- TestSleep, TestThread -------------------------------------------------------------------- */

static enum berth_code sleep_pre_bind(void *ctx, struct berth_cycle *cycle,
                                      const struct berth_pod *pod, struct berth_str node_name,
                                      berth_op op, struct berth_status *status)
{
    (void)cycle;
    (void)node_name;
    (void)op;
    (void)status;
    const struct test_plugin *self = ctx;
    struct berth_str ms = test_label(self, pod, BERTH_STR("sleep-ms"));
    if (ms.n) {
        test_say(self, "%.*s sleeps", BERTH_STR_ARG(self->host->pod_name(pod)));
        sleep_ms(number(ms));
        test_say(self, "%.*s has slept", BERTH_STR_ARG(self->host->pod_name(pod)));
    }
    return BERTH_SUCCESS;
}

struct answer {
    const struct test_plugin *self;
    berth_op op;
    bool twice;
};

static void *answer_main(void *arg)
{
    struct answer *a = arg;
    sleep_ms(50);
    for (int i = 0; i <= a->twice; i++)
        a->self->host->op_done(a->self->handle, a->op, BERTH_SUCCESS, BERTH_STR(""));
    free(a);
    return NULL;
}

static enum berth_code thread_pre_bind(void *ctx, struct berth_cycle *cycle,
                                       const struct berth_pod *pod, struct berth_str node_name,
                                       berth_op op, struct berth_status *status)
{
    (void)cycle;
    (void)node_name;
    (void)status;
    struct berth_str how = test_label(ctx, pod, BERTH_STR("answer"));
    pthread_t thread;
    if (!how.n)
        return BERTH_SUCCESS;
    struct answer *a = malloc(sizeof(*a));
    if (!a)
        return BERTH_ERROR;
    *a = (struct answer){ctx, op, test_same(how, BERTH_STR("twice"))};
    if (pthread_create(&thread, NULL, answer_main, a) != 0) {
        free(a);
        return BERTH_ERROR;
    }
    pthread_detach(thread);
    return BERTH_ASYNC;
}

/* --- TestFault -------------------------------------------------------------------------------- */

static enum berth_code fault_filter(void *ctx, const struct berth_cycle *cycle,
                                    const struct berth_pod *pod, const struct berth_node *node,
                                    struct berth_status *status)
{
    (void)cycle;
    (void)node;
    (void)status;
    struct berth_str fault = test_label(ctx, pod, BERTH_STR("fault"));
    if (test_same(fault, BERTH_STR("abort")))
        abort();
    if (test_same(fault, BERTH_STR("segv")))
        raise(SIGSEGV);
    if (test_same(fault, BERTH_STR("slow")))
        sleep_ms(2000);
    return BERTH_SUCCESS;
}

/* --- TestRack --------------------------------------------------------------------------------- */

struct rack_plugin {
    struct test_plugin base;
    struct berth_lister *racks;
    struct berth_metric *pods;
};

static int rack_create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                       void **ret_self, struct berth_error *error)
{
    void *base;
    if (test_plugin_create(host, h, args, &base, error) != 0)
        return -1;
    struct rack_plugin *self = realloc(base, sizeof(*self));
    if (!self) {
        test_plugin_destroy(base);
        return -1;
    }
    struct berth_watch watch = {.struct_size = sizeof(watch),
                                .api_version = BERTH_STR("example.com/v1"),
                                .kind = BERTH_STR("Rack"),
                                .resource = BERTH_STR("racks"),
                                .cluster_scoped = true};
    struct berth_metric_desc desc = {.struct_size = sizeof(desc),
                                     .kind = BERTH_METRIC_COUNTER,
                                     .name = "test_rack_pods_total",
                                     .help = "Pods with a rack that were tried."};
    self->racks = host->watch(h, &watch);
    self->pods = host->metric(h, &desc);
    *ret_self = self;
    return 0;
}

static void rack_events(void *ctx, struct berth_registrar *r)
{
    const struct rack_plugin *self = ctx;
    const struct berth_host *host = self->base.host;
    host->register_event(r, host->lister_resource(self->racks), BERTH_ACTION_ALL, NULL);
}

static enum berth_code rack_pre_filter(void *ctx, struct berth_cycle *cycle,
                                       const struct berth_pod *pod, struct berth_status *status)
{
    const struct rack_plugin *self = ctx;
    const struct berth_host *host = self->base.host;
    struct berth_str name = test_label(&self->base, pod, BERTH_STR("rack")), nodes[16];
    struct berth_value list, node;
    size_t n = 0;
    if (!name.n)
        return BERTH_SKIP;
    host->metric_add(self->pods, NULL, 1);
    const struct berth_object *rack = host->lister_get(self->racks, BERTH_STR(""), name);
    if (!rack || !host->object_field(rack, BERTH_STR("spec.nodes"), &list)) {
        host->status_text(status, BERTH_STR("no such rack"));
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    for (size_t i = 0; n < 16 && host->value_at(&list, i, NULL, &node); i++)
        nodes[n++] = node.str;
    host->limit_nodes(cycle, nodes, n);
    return BERTH_SUCCESS;
}

const struct berth_plugin test_sleep_plugin = {TEST_PLUGIN("TestSleep"),
                                               .pre_bind = sleep_pre_bind};
const struct berth_plugin test_thread_plugin = {
    TEST_PLUGIN("TestThread"), .flags = BERTH_PLUGIN_NONBLOCKING, .pre_bind = thread_pre_bind};
const struct berth_plugin test_fault_plugin = {TEST_PLUGIN("TestFault"), .filter = fault_filter};
const struct berth_plugin test_rack_plugin = {
    BERTH_PLUGIN_HEAD("TestRack", "1"), .create = rack_create,
    .destroy = test_plugin_destroy,     .events = rack_events,
    .pre_filter = rack_pre_filter,
};
