/* SPDX-License-Identifier: Apache-2.0 */
#include "live/write_metrics.h"

#include "engine/metrics/scheduler_families.h"

void write_metrics_init(struct write_metrics *m, struct metrics *registry,
                        const struct features *features)
{
    struct features defaults;
    *m = (struct write_metrics){0};
    if (!features) {
        features_default(&defaults);
        features = &defaults;
    }
    if (!registry || !features_enabled(features, scheduler_families[FAMILY_ASYNC_API_CALLS].gate))
        return;
    m->pending = metrics_add(registry, &scheduler_families[FAMILY_PENDING_ASYNC_API_CALLS].metric);
    m->total = metrics_add(registry, &scheduler_families[FAMILY_ASYNC_API_CALLS].metric);
    m->duration = metrics_add(registry, &scheduler_families[FAMILY_ASYNC_API_CALL_DURATION].metric);
}

/* Returns "" for kinds that upstream does not queue. */
static struct str call_type(enum write_kind kind)
{
    switch (kind) {
    case WRITE_BINDING:
        return STR("pod_binding");
    case WRITE_POD_STATUS:
        return STR("pod_status_patch");
    case WRITE_EVENT:
    case WRITE_EVICTION:
    case WRITE_POD_GROUP_STATUS:
        break;
    }
    return STR("");
}

void write_metrics_pending(const struct write_metrics *m, enum write_kind kind, int delta)
{
    struct str type = call_type(kind);
    if (m->pending && !str_empty(type))
        metric_add(metric_with(m->pending, &type), delta);
}

void write_metrics_done(const struct write_metrics *m, enum write_kind kind, bool ok, int64_t ns)
{
    struct str values[] = {call_type(kind), ok ? STR("success") : STR("error")};
    if (!m->total || str_empty(values[0]))
        return;
    metric_add(metric_with(m->total, values), 1);
    metric_observe(metric_with(m->duration, values), (double)ns / 1e9);
}
