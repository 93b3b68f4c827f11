/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cycle/extender_calls.h"

#define MESSAGE_MAX 1024

void extender_calls_add(struct berth_cycle *cycle, size_t extender, struct extender_call *call)
{
    const struct setup *s = cycle->profile->setup;
    call->id = framework_next_id(cycle->framework);
    vec_push(&cycle->cycles->waits, (struct extender_wait){call->id, extender, call->verb});
    setup_call_extender(s, &s->extenders.v[extender], call);
}

void extender_calls_add_nodes(struct berth_cycle *cycle, const struct berth_pod *pod,
                              size_t extender, enum extender_verb verb)
{
    const struct cache *cache = cycle->framework->cache;
    size_t n = cycle->n_slots;
    struct str *names = arena_array(&cycle->arena, struct str, n);
    struct object **nodes = arena_array(&cycle->arena, struct object *, n);
    for (size_t i = 0; i < n; i++) {
        names[i] = cycle_feasible_name(cycle, i);
        nodes[i] = cache->columns.nodes[cycle->slots[i]]->object;
    }
    struct extender_call call = {
        .verb = verb, .pod = pod->object, .node_names = names, .nodes = nodes, .n_nodes = n};
    extender_calls_add(cycle, extender, &call);
}

bool extender_calls_take(struct cycles *cycles, uint64_t id, struct extender_wait *ret_wait)
{
    for (size_t i = 0; i < cycles->waits.n; i++)
        if (cycles->waits.v[i].id == id) {
            *ret_wait = cycles->waits.v[i];
            vec_remove(&cycles->waits, i);
            return true;
        }
    return false;
}

/* The names of the feasible nodes, to their index + 1. */
static void index_names(const struct berth_cycle *cycle, struct map *ret_map)
{
    *ret_map = (struct map)MAP_INIT;
    for (size_t i = 0; i < cycle->n_slots; i++)
        map_put(ret_map, cycle_feasible_name(cycle, i), (void *)(uintptr_t)(i + 1));
}

/* SIZE_MAX: the extender was not given this node. */
static size_t index_of(const struct map *map, struct str name)
{
    return (size_t)(uintptr_t)map_get(map, name) - 1;
}

/* --- filter ----------------------------------------------------------------------------------- */

/* Reasons are kept for the life of the process: limit what comes from outside. */
static struct str cut(struct str message)
{
    if (message.n <= MESSAGE_MAX)
        return message;
    size_t n = MESSAGE_MAX;
    while (n && ((unsigned char)message.p[n] & 0xc0) == 0x80)
        n--; /* not in the middle of a character */
    return str_slice(message, 0, n);
}

static void refuse(struct reasons *reasons, const struct map *names,
                   const struct extender_refusal *list, size_t n, struct verdict verdict,
                   struct verdict *verdicts)
{
    for (size_t k = 0; k < n; k++) {
        size_t i = index_of(names, list[k].node_name);
        if (i == SIZE_MAX)
            continue;
        verdict.reason = reasons_foreign(reasons, cut(list[k].message));
        verdicts[i] = verdict;
    }
}

/* Returns false if the extender kept a node that it was not given: *ret_unknown. */
static bool read_verdicts(struct berth_cycle *cycle, const struct engine_extender *x,
                          const struct extender_result *r, const struct map *names,
                          struct verdict *verdicts, struct str *ret_unknown)
{
    struct verdict no = {BERTH_UNSCHEDULABLE, x->id, 0};
    struct verdict never = {BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE, x->id, 0};
    for (size_t k = 0; k < r->n_kept; k++)
        if (index_of(names, r->kept[k]) == SIZE_MAX) {
            *ret_unknown = r->kept[k];
            return false;
        }
    for (size_t i = 0; i < cycle->n_slots; i++)
        verdicts[i] = never;
    refuse(&cycle->framework->reasons, names, r->failed, r->n_failed, no, verdicts);
    refuse(&cycle->framework->reasons, names, r->unresolvable, r->n_unresolvable, never, verdicts);
    for (size_t k = 0; k < r->n_kept; k++)
        verdicts[index_of(names, r->kept[k])] = (struct verdict){.plugin = VERDICT_NOBODY};
    return true;
}

bool extender_calls_verdicts(struct berth_cycle *cycle, const struct engine_extender *x,
                             const struct extender_result *result, struct verdict *verdicts,
                             struct buf *error)
{
    struct map names;
    struct str unknown = STR("");
    if (!str_empty(result->error)) {
        buf_add_str(error, result->error);
        return false;
    }
    index_names(cycle, &names);
    bool ok = read_verdicts(cycle, x, result, &names, verdicts, &unknown);
    if (!ok)
        buf_add_printf(error,
                       "extender \"%.*s\" claims a filtered node \"%.*s\" which is not found in "
                       "the input node list",
                       STR_ARG(x->spec.name), STR_ARG(unknown));
    map_release(&names);
    return ok;
}

/* --- prioritize ------------------------------------------------------------------------------- */

/* Nodes that it was not given are ignored; the scores of a node named twice add up. */
static void read_scores(struct berth_cycle *cycle, const struct extender_result *result,
                        struct extender_scores *row)
{
    struct map names;
    index_names(cycle, &names);
    row->scores = arena_array(&cycle->arena, int64_t, cycle->n_slots);
    for (size_t k = 0; k < result->n_scores; k++) {
        size_t i = index_of(&names, result->scores[k].node_name);
        if (i == SIZE_MAX)
            continue;
        row->scores[i] = (int64_t)((uint64_t)row->scores[i] + (uint64_t)result->scores[k].score);
        cycle->ties[i] = 1;
    }
    map_release(&names);
}

void extender_calls_scores(struct berth_cycle *cycle, size_t extender,
                           const struct extender_result *result)
{
    for (size_t k = 0; k < cycle->extender_scores.n; k++)
        if (cycle->extender_scores.v[k].extender == extender)
            read_scores(cycle, result, &cycle->extender_scores.v[k]);
}

void extender_calls_add_scores(struct berth_cycle *cycle)
{
    size_t n = 0;
    for (size_t k = 0; k < cycle->extender_scores.n; k++) {
        struct extender_scores row = cycle->extender_scores.v[k];
        int64_t weight = cycle->profile->setup->extenders.v[row.extender].spec.weight;
        if (!row.scores)
            continue;
        for (size_t i = 0; i < cycle->n_slots; i++)
            cycle->scores[i] = (int64_t)((uint64_t)cycle->scores[i] +
                                         (uint64_t)extender_weighted(row.scores[i], weight));
        cycle->extender_scores.v[n++] = row;
    }
    cycle->extender_scores.n = n;
}
