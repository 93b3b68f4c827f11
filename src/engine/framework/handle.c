/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin's instance: its place in the framework, and what in-tree plugins reach through it. */
#include "engine/framework/framework.h"

void framework_add_handle(struct framework *fw, struct berth_handle *h)
{
    h->framework = fw;
    h->serial = ++fw->last_serial;
    map_put(&fw->handles, map_number_key(&h->serial), h);
}

void framework_remove_handle(struct berth_handle *h)
{
    map_del(&h->framework->handles, map_number_key(&h->serial));
}

struct cluster *handle_cluster(const struct berth_handle *h)
{
    return h->framework->cluster;
}

const struct engine_log *handle_log(const struct berth_handle *h)
{
    return &h->framework->log;
}

int64_t handle_wall(const struct berth_handle *h)
{
    const struct ports *ports = &h->framework->ports;
    return ports->wall ? ports->wall(ports->ctx) : ports->now(ports->ctx);
}

bool handle_may_lead(const struct berth_handle *h)
{
    return h->framework->ports.leads != NULL;
}

bool handle_leads(const struct berth_handle *h)
{
    return handle_may_lead(h) && h->framework->ports.leads(h->framework->ports.ctx);
}

void handle_watch_finished_pods(const struct berth_handle *h)
{
    const struct ports *ports = &h->framework->ports;
    if (ports->watch_finished_pods)
        ports->watch_finished_pods(ports->ctx);
}

bool handle_feature(const struct berth_handle *h, enum feature feature)
{
    return h->framework->features.on[feature];
}

int64_t handle_max_pd_volumes(const struct berth_handle *h)
{
    return h->framework->max_pd_volumes;
}

struct scheduler_metrics *handle_metrics(const struct berth_handle *h)
{
    return h->framework->metrics;
}
