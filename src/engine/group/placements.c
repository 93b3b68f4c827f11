/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/placements.h"
#include "engine/framework/call_mark.h"

void placement_add(struct berth_placements *out, struct str name, const struct berth_str *nodes,
                   size_t n)
{
    struct berth_placement p = placement_new(out->arena, name, n);
    for (size_t i = 0; i < n; i++)
        p.node_names[i] = arena_dup(out->arena, str_abi(nodes[i]));
    placement_find_nodes(&p, out->cache);
    vec_push(&out->list, p);
}

static void add_all_nodes(struct berth_placements *out)
{
    const struct cache *cache = out->cache;
    struct berth_placement p = placement_new(out->arena, STR(""), cache->order.n);
    for (size_t i = 0; i < p.n; i++)
        p.node_names[i] = arena_dup(out->arena, str_of(cache->order.v[i]->name));
    placement_find_nodes(&p, cache);
    vec_push(&out->list, p);
}

bool placement_generate(struct berth_cycle *cycle, const struct berth_pod_group *group,
                        struct berth_placements *out, struct cycle_failure *failure)
{
    struct berth_status *status = &cycle->cycles->status;
    const handle_list *list = &cycle->profile->at[POINT_PLACEMENT_GENERATE];
    cache_refresh(cycle->framework->cache);
    if (list->n == 0) {
        add_all_nodes(out);
        return true;
    }
    const struct berth_handle *h = list->v[0];
    status_clear(status);
    cycle_failure_clear(failure);
    struct call_mark outer = call_begin(h, "PlacementGenerate", NULL);
    enum berth_code code = h->plugin->generate_placements(h->self, cycle, group, out, status);
    call_end(outer);
    if (code == BERTH_SUCCESS && out->list.n)
        return true;
    if (code == BERTH_SUCCESS)
        buf_add_cstr(&failure->text, "no feasible placements found");
    else
        status_write(status, &cycle->framework->reasons, &failure->text);
    if (code_rejects(code))
        cycle_failure_blame(failure, h, code);
    failure->error = code != BERTH_SUCCESS && !code_rejects(code);
    return false;
}

/* One plugin's scores, normalized if it does that. */
static bool score_by(struct berth_cycle *cycle, const struct berth_handle *h,
                     const struct berth_pod_group *group, const struct berth_placements *placements,
                     int64_t *scores, struct cycle_failure *failure)
{
    struct berth_status *status = &cycle->cycles->status;
    const char *doing = "running PlacementScore plugins";
    enum berth_code code = BERTH_SUCCESS;
    struct call_mark outer = call_begin(h, "PlacementScore", NULL);
    status_clear(status);
    for (size_t i = 0; code == BERTH_SUCCESS && i < placements->list.n; i++)
        code = h->plugin->score_placement(h->self, cycle, group, &placements->list.v[i], &scores[i],
                                          status);
    if (code == BERTH_SUCCESS && h->plugin->normalize_placements) {
        doing = "running NormalizePlacementScore on PlacementScore plugins";
        code = h->plugin->normalize_placements(h->self, cycle, group, scores, placements->list.n,
                                               status);
    }
    call_end(outer);
    if (code != BERTH_SUCCESS)
        cycle_failure_status(failure, &cycle->framework->reasons, status, code,
                             "%s: plugin \"%s\" failed with", doing, h->plugin->name);
    return code == BERTH_SUCCESS;
}

bool placement_score(struct berth_cycle *cycle, const struct berth_pod_group *group,
                     const struct berth_placements *placements, int64_t *totals,
                     struct cycle_failure *failure)
{
    const handle_list *list = &cycle->profile->at[POINT_PLACEMENT_SCORE];
    size_t n = placements->list.n;
    int64_t *scores = arena_array(&cycle->arena, int64_t, n);
    memset(totals, 0, n * sizeof(*totals));
    for (size_t i = 0; i < list->n; i++) {
        const struct berth_handle *h = list->v[i];
        if (!score_by(cycle, h, group, placements, scores, failure))
            return false;
        for (size_t k = 0; k < n; k++) {
            if (scores[k] < 0 || scores[k] > MAX_NODE_SCORE) {
                cycle_failure_error(failure,
                                    "applying score defaultWeights on PlacementScore plugins: "
                                    "plugin \"%s\" returns an invalid score %lld, it should in the "
                                    "range of [0, %d] after normalizing",
                                    h->plugin->name, (long long)scores[k], MAX_NODE_SCORE);
                return false;
            }
            totals[k] += scores[k] * h->placement_weight;
        }
    }
    return true;
}
