/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gang.h"

#include "engine/internal.h"

void gang_activate(const struct berth_handle *h, const struct berth_pod *pod)
{
    queue_activate(&h->engine->queue, pod_info_key(pod), engine_now(h->engine));
}

void gang_allow(const struct berth_handle *h, const struct berth_pod *pod)
{
    struct berth_op *op = binding_of(h->engine, pod_info_key(pod));
    if (op)
        permit_allow(op, h);
}
