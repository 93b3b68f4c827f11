/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An extender that keeps every node, gives the nodes the scores 0, 1, 2, … in their order, and
 * binds through the API server. docs/tutorials/extender.md builds and runs it.
 */
#include <berth/extender.h>

static void filter(void *user, struct berth_extender_call *call)
{
    (void)user, (void)call; /* nodes that are not rejected are kept */
}

static void prioritize(void *user, struct berth_extender_call *call)
{
    (void)user;
    for (size_t i = 0; i < berth_extender_n_nodes(call); i++)
        berth_extender_score(call, i, (int64_t)i);
}

static void bind_pod(void *user, struct berth_extender_call *call)
{
    (void)user;
    berth_extender_create_binding(call);
}

int main(int argc, char **argv)
{
    struct berth_extender extender = {
        .struct_size = sizeof(extender),
        .name = "my-scheduler-extender",
        .filter = filter,
        .prioritize = prioritize,
        .bind = bind_pod,
    };
    return berth_extender_main(&extender, argc, argv);
}
