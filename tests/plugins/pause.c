/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TestPause: holds the whole scheduler right before it binds a pod with the label "pause", until
 * the file of the argument "file" exists. It says that it never blocks and then does: what happens
 * in the cluster meanwhile is not seen before the binding has been sent, so a test wins every race.
 */
#include <time.h>
#include <unistd.h>

#include "test_plugins.h"

#define STEP_NS   10000000
#define MAX_STEPS 6000 /* a minute: a test that has failed must not hang as well */

static enum berth_code preflight(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 struct berth_str node_name, struct berth_status *status)
{
    (void)cycle;
    (void)node_name;
    (void)status;
    return test_label(ctx, pod, BERTH_STR("pause")).n ? BERTH_SUCCESS : BERTH_SKIP;
}

static enum berth_code pre_bind(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    (void)cycle;
    (void)op;
    (void)status;
    const struct test_plugin *self = ctx;
    char file[512];
    test_arg(self, "file", file, sizeof(file));
    if (!test_label(self, pod, BERTH_STR("pause")).n)
        return BERTH_SUCCESS;
    test_say(self, "%.*s pauses before node %.*s", BERTH_STR_ARG(self->host->pod_name(pod)),
             BERTH_STR_ARG(node_name));
    for (int i = 0; i < MAX_STEPS && access(file, F_OK) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
    test_say(self, "%.*s goes on", BERTH_STR_ARG(self->host->pod_name(pod)));
    return BERTH_SUCCESS;
}

static void events(void *ctx, struct berth_registrar *r)
{
    (void)ctx;
    (void)r;
}

const struct berth_plugin test_pause_plugin = {
    TEST_PLUGIN("TestPause"), .flags = BERTH_PLUGIN_NONBLOCKING,
    .events = events,         .pre_bind_preflight = preflight,
    .pre_bind = pre_bind,
};
