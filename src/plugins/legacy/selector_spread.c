/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SelectorSpread (releases up to 1.22): spreads the pods of a Service or owner over nodes and
 * zones. PodTopologySpread does this by default now.
 */
#include "engine/framework/framework.h"
#include "plugins/common/default_selector.h"
#include "plugins/common/go_math.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_base.h"

/* The weight of zones; nodes have the rest. */
#define ZONE_WEIGHT (2.0 / 3.0)

struct selector_spread {
    const struct berth_host *host;
    struct cluster *cluster;
    berth_state_key key;
};

/* The pods to spread from; count NULL: none. */
struct state {
    const struct pod_count *pods;
};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)args;
    (void)error;
    struct selector_spread *self = xnew(struct selector_spread);
    self->host = host;
    self->cluster = handle_cluster(h);
    self->key = host->state_key(h, BERTH_STR("PreScoreSelectorSpread"));
    *ret_self = self;
    return 0;
}

/* --- score ------------------------------------------------------------------------------------ */

static enum berth_code pre_score(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                 const uint32_t *slots, size_t n, struct berth_status *status)
{
    (void)slots;
    (void)n;
    (void)status;
    struct selector_spread *self = ctx;
    /* Pods with constraints of their own are left to PodTopologySpread. */
    if (pod->pod->spec.topology_spread_constraints.n)
        return BERTH_SKIP;
    struct state *s = self->host->cycle_alloc(cycle, sizeof(*s));
    struct str namespace = pod->pod->metadata.namespace;
    struct pod_term term = {.namespaces = {&namespace, 1}};
    struct pod_selection selection = {.terms = {&term, 1}, .without_terminating = true};
    struct arena scratch;
    arena_init(&scratch, 0);
    default_selector(&self->cluster->objects, pod->pod, &scratch, &term.selector);
    if (term.selector.requirements.n)
        s->pods = pod_counts_get(&self->cluster->pod_counts, &selection);
    arena_release(&scratch);
    self->host->state_write(cycle, self->key, s, NULL, NULL);
    return BERTH_SUCCESS;
}

static int64_t score_of(const struct state *s, uint32_t slot)
{
    return s && s->pods ? pod_count_at(s->pods, slot) : 0;
}

static enum berth_code score(void *ctx, const struct berth_cycle *cycle,
                             const struct berth_pod *pod, const struct berth_node *node,
                             int64_t *ret_score, struct berth_status *status)
{
    (void)pod;
    (void)status;
    const struct selector_spread *self = ctx;
    *ret_score = score_of(self->host->state_read(cycle, self->key), node->slot);
    return BERTH_SUCCESS;
}

static enum berth_code score_many(void *ctx, const struct berth_cycle *cycle,
                                  const struct berth_pod *pod, struct berth_score_batch *batch,
                                  struct berth_status *status)
{
    (void)pod;
    (void)status;
    const struct selector_spread *self = ctx;
    const struct state *s = self->host->state_read(cycle, self->key);
    for (size_t i = 0; i < batch->n; i++)
        batch->scores[i] = score_of(s, batch->slots[i]);
    return BERTH_SUCCESS;
}

/* --- normalize -------------------------------------------------------------------------------- */

struct zone {
    struct str key; /* in the arena */
    int64_t pods;
};

/* Zones of the nodes that are scored. */
struct zones {
    struct arena arena;
    struct map by_key;
    struct zone **of; /* by index; NULL: the node is in none */
};

static void zones_init(struct zones *z, const struct berth_columns *columns, const uint32_t *slots,
                       size_t n)
{
    struct buf scratch = BUF_INIT;
    *z = (struct zones){0};
    arena_init(&z->arena, 0);
    z->of = arena_array(&z->arena, struct zone *, n);
    for (size_t i = 0; i < n; i++) {
        buf_clear(&scratch);
        struct str key = node_zone_key(columns->nodes[slots[i]]->node, &scratch);
        if (str_empty(key))
            continue;
        z->of[i] = map_get(&z->by_key, key);
        if (!z->of[i]) {
            z->of[i] = arena_new(&z->arena, struct zone);
            z->of[i]->key = arena_dup(&z->arena, key);
            map_put(&z->by_key, z->of[i]->key, z->of[i]);
        }
    }
    buf_release(&scratch);
}

static void zones_release(struct zones *z)
{
    map_release(&z->by_key);
    arena_release(&z->arena);
}

/* 1 without pods, 0 with as many as the fullest. */
static double share(int64_t pods, int64_t most)
{
    const double all = MAX_NODE_SCORE;
    return most > 0 ? all * ((double)(most - pods) / (double)most) : all;
}

static enum berth_code normalize(void *ctx, const struct berth_cycle *cycle,
                                 const struct berth_pod *pod, const uint32_t *slots,
                                 int64_t *scores, size_t n, struct berth_status *status)
{
    (void)pod;
    (void)status;
    const struct selector_spread *self = ctx;
    struct zones zones;
    int64_t most_by_node = 0, most_by_zone = 0;
    zones_init(&zones, self->host->columns(cycle), slots, n);
    for (size_t i = 0; i < n; i++) {
        most_by_node = MAX(most_by_node, scores[i]);
        if (zones.of[i])
            zones.of[i]->pods += scores[i];
    }
    map_each (e, &zones.by_key)
        most_by_zone = MAX(most_by_zone, ((const struct zone *)e->value)->pods);
    for (size_t i = 0; i < n; i++) {
        double points = share(scores[i], most_by_node);
        if (zones.of[i]) {
            double by_zone = share(zones.of[i]->pods, most_by_zone);
            points = points * (1.0 - ZONE_WEIGHT) + ZONE_WEIGHT * by_zone;
        }
        scores[i] = go_int64(points);
    }
    zones_release(&zones);
    return BERTH_SUCCESS;
}

const struct berth_plugin selector_spread_plugin = {
    PLUGIN_HEAD("SelectorSpread"), .create = create,       .destroy = free,
    .events = no_events,           .pre_score = pre_score, .score = score,
    .score_many = score_many,      .normalize = normalize,
};
