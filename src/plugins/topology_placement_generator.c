/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TopologyPlacementGenerator: for a PodGroup with a topology key, generates one placement per
 * domain; if members run already, only that of their domain.
 */
#include "api/scheduling.h"
#include "engine/framework/framework.h"
#include "engine/group/placements.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* The domain of the members that have a node; *ret_domain.p NULL: none yet. */
static enum berth_code running_domain(const struct plain_plugin *self,
                                      const struct pod_group_state *state, struct str key,
                                      struct str *ret_domain, struct berth_status *status)
{
    static const char prefix[] = "cannot determine domain for already scheduled pods";
    *ret_domain = (struct str){0};
    for (size_t i = 0; state && i < state->members.n; i++) {
        const struct group_member *m = state->members.v[i];
        const struct object_meta *pod = &m->pod->pod->metadata;
        if (m->state == MEMBER_UNSCHEDULED)
            continue;
        const struct cache_pod *cp = cache_pod(handle_cluster(self->handle)->cache, pod->uid);
        if (!cp || !cp->node->object) {
            status_printf(self->host, status,
                          "%s: getting node for pod %.*s/%.*s: nodeinfo not found", prefix,
                          STR_ARG(pod->namespace), STR_ARG(pod->name));
            return BERTH_ERROR;
        }
        const struct str *domain = str_map_get(&cp->node->node->metadata.labels, key);
        if (!domain) {
            status_printf(self->host, status, "%s: no topology domain found for pod %.*s/%.*s",
                          prefix, STR_ARG(pod->namespace), STR_ARG(pod->name));
            return BERTH_ERROR;
        }
        if (ret_domain->p && !str_eq(*ret_domain, *domain)) {
            status_printf(self->host, status,
                          "%s: more than 1 domain found for pod group: %.*s, %.*s", prefix,
                          STR_ARG(*ret_domain), STR_ARG(*domain));
            return BERTH_ERROR;
        }
        *ret_domain = *domain;
    }
    return BERTH_SUCCESS;
}

/* The nodes of one domain, in the order of all nodes. */
struct domain {
    uint32_t number;
    VEC(struct berth_str) nodes;
};

typedef VEC(struct domain) domain_list;

static struct domain *domain_of(domain_list *domains, uint32_t *index, uint32_t number)
{
    if (!index[number]) {
        vec_push(domains, (struct domain){.number = number});
        index[number] = (uint32_t)domains->n;
    }
    return &domains->v[index[number] - 1];
}

static void collect(const struct cache *cache, const struct topology *topology, struct str only,
                    domain_list *ret_domains)
{
    uint32_t *index = xcalloc(topology->n_domains, sizeof(*index));
    uint32_t wanted = only.p ? topology_find(topology, only) : 0;
    for (size_t i = 0; i < cache->order.n; i++) {
        const struct berth_node *node = cache->order.v[i];
        uint32_t number = topology_domain(topology, node->slot);
        if (!number || (only.p && number != wanted))
            continue;
        struct domain *d = domain_of(ret_domains, index, number);
        vec_push(&d->nodes, abi_str(str_of(node->name)));
    }
    free(index);
}

static void propose(const struct plain_plugin *self, struct str key, struct str only,
                    struct berth_placements *out)
{
    struct cluster *cluster = handle_cluster(self->handle);
    const struct topology *topology = topologies_get(&cluster->topologies, key);
    domain_list domains = {0};
    collect(cluster->cache, topology, only, &domains);
    for (size_t i = 0; i < domains.n; i++) {
        struct domain *d = &domains.v[i];
        self->host->placement_add(out, abi_str(topology_value(topology, d->number)), d->nodes.v,
                                  d->nodes.n);
        vec_release(&d->nodes);
    }
    vec_release(&domains);
}

static void propose_all(const struct plain_plugin *self, struct berth_placements *out)
{
    const struct cache *cache = handle_cluster(self->handle)->cache;
    VEC(struct berth_str) nodes = {0};
    for (size_t i = 0; i < cache->order.n; i++)
        vec_push(&nodes, abi_str(str_of(cache->order.v[i]->name)));
    self->host->placement_add(out, abi_str(STR("")), nodes.v, nodes.n);
    vec_release(&nodes);
}

static enum berth_code generate(void *ctx, struct berth_cycle *cycle,
                                const struct berth_pod_group *group, struct berth_placements *out,
                                struct berth_status *status)
{
    const struct plain_plugin *self = ctx;
    (void)cycle;
    if (!group->object) {
        status_printf(self->host, status, "podgroup.scheduling.k8s.io \"%.*s\" not found",
                      STR_ARG(group->name));
        return BERTH_ERROR;
    }
    const struct pod_group_scheduling_constraints *constraints =
        object_pod_group(group->object)->spec.scheduling_constraints;
    if (!constraints || !constraints->topology.n) {
        propose_all(self, out);
        return BERTH_SUCCESS;
    }
    struct str key = constraints->topology.v[0].key, only;
    enum berth_code code = running_domain(self, group->state, key, &only, status);
    if (code == BERTH_SUCCESS)
        propose(self, key, only, out);
    return code;
}

const struct berth_plugin topology_placement_generator_plugin = {
    PLUGIN_HEAD("TopologyPlacementGenerator"),
    .create = plain_plugin_create,
    .destroy = free,
    .events = no_events,
    .generate_placements = generate,
};
