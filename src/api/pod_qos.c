/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod_qos.h"

#include "api/resources.h"

enum { QOS_CPU, QOS_MEMORY, QOS_RESOURCES };

/* The sums of the resources that decide the class. */
struct qos_sums {
    struct quantity requests[QOS_RESOURCES], limits[QOS_RESOURCES];
    bool requested[QOS_RESOURCES], limited[QOS_RESOURCES];
    bool guaranteed; /* every container has both limits */
};

static const struct str names[QOS_RESOURCES] = {
    [QOS_CPU] = STR_INIT("cpu"),
    [QOS_MEMORY] = STR_INIT("memory"),
};

/* Adds the positive amounts of a list. Returns how many of the resources it has. */
static int add_list(const quantity_map *list, struct quantity *sums, bool *found)
{
    int n = 0;
    for (size_t i = 0; i < QOS_RESOURCES; i++) {
        const struct quantity *q = quantity_map_get(list, names[i]);
        if (!q || quantity_sign(q) != 1)
            continue;
        if (found[i])
            quantity_add(&sums[i], q);
        else
            sums[i] = *q;
        found[i] = true;
        n++;
    }
    return n;
}

static void add_resources(struct qos_sums *s, const struct resource_requirements *r)
{
    add_list(&r->requests, s->requests, s->requested);
    if (add_list(&r->limits, s->limits, s->limited) < QOS_RESOURCES)
        s->guaranteed = false;
}

/* Pod-level resources: only limits that are given must be complete. */
static void add_pod_level(struct qos_sums *s, const struct resource_requirements *r)
{
    add_list(&r->requests, s->requests, s->requested);
    if (add_list(&r->limits, s->limits, s->limited) < QOS_RESOURCES && r->limits.n > 0)
        s->guaranteed = false;
}

static bool equal_sums(const struct qos_sums *s)
{
    for (size_t i = 0; i < QOS_RESOURCES; i++) {
        if (s->requested[i] != s->limited[i])
            return false;
        if (s->requested[i] && quantity_cmp(&s->requests[i], &s->limits[i]) != 0)
            return false;
    }
    return true;
}

/* Upstream: ComputePodQOS. */
static enum pod_qos compute(const struct pod_spec *spec)
{
    struct qos_sums s = {.guaranteed = true};
    if (spec->resources) {
        add_pod_level(&s, spec->resources);
    } else {
        for (size_t i = 0; i < spec->containers.n; i++)
            add_resources(&s, &spec->containers.v[i].resources);
        for (size_t i = 0; i < spec->init_containers.n; i++)
            add_resources(&s, &spec->init_containers.v[i].resources);
    }
    bool any = false;
    for (size_t i = 0; i < QOS_RESOURCES; i++)
        any = any || s.requested[i] || s.limited[i];
    if (!any)
        return POD_QOS_BEST_EFFORT;
    return s.guaranteed && equal_sums(&s) ? POD_QOS_GUARANTEED : POD_QOS_BURSTABLE;
}

enum pod_qos pod_qos_of(const struct pod *pod)
{
    static const struct {
        struct str name;
        enum pod_qos qos;
    } classes[] = {{STR_INIT("BestEffort"), POD_QOS_BEST_EFFORT},
                   {STR_INIT("Burstable"), POD_QOS_BURSTABLE},
                   {STR_INIT("Guaranteed"), POD_QOS_GUARANTEED}};
    if (str_empty(pod->status.qos_class))
        return compute(&pod->spec);
    for (size_t i = 0; i < ARRAY_LEN(classes); i++)
        if (str_eq(pod->status.qos_class, classes[i].name))
            return classes[i].qos;
    return POD_QOS_UNKNOWN;
}
