/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/lease/lease_event.h"

#include "api/events.h"

/* Exiting waits for it, so it is short. */
#define TIMEOUT (5 * NSEC_PER_SEC)

struct rest_call *lease_event_send(struct rest_client *client, const struct object_meta *lease,
                                   struct str component, struct str message, rest_done_fn *fn,
                                   void *ctx)
{
    int64_t now = time_wall();
    struct buf name = BUF_INIT;
    buf_add_printf(&name, "%.*s.%llx", STR_ARG(lease->name), (unsigned long long)now);
    struct core_event event = {
        .metadata = {.namespace = lease->namespace, .name = buf_str(&name)},
        .involved_object = {.kind = STR("Lease"),
                            .api_version = STR("coordination.k8s.io/v1"),
                            .namespace = lease->namespace,
                            .name = lease->name,
                            .uid = lease->uid,
                            .resource_version = lease->resource_version},
        .reason = STR("LeaderElection"),
        .message = message,
        .source = {.component = component},
        .first_timestamp = timestamp_of(now),
        .last_timestamp = timestamp_of(now),
        .count = 1,
        .type = STR("Normal"),
        .reporting_component = component,
    };
    struct rest_request request = {.verb = REST_CREATE,
                                   .kind = kind_get(KIND_CORE_EVENT),
                                   .namespace = lease->namespace,
                                   .body_kind = kind_get(KIND_CORE_EVENT),
                                   .body = &event,
                                   .timeout = TIMEOUT,
                                   .unguarded = true};
    struct rest_call *call = rest_send(client, &request, fn, ctx);
    buf_release(&name);
    return call;
}
