/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/eviction.h"

#include "engine/group/group_preemption.h"
#include "engine/internal.h"
#include "engine/preempt/preemption.h"

enum eviction_stage { STAGE_NOMINATIONS, STAGE_ALL, STAGE_ALL_BUT_LAST, STAGE_LAST, STAGE_END };

static const enum eviction_stage in_background[] = {STAGE_NOMINATIONS, STAGE_ALL_BUT_LAST,
                                                    STAGE_LAST, STAGE_END};
static const enum eviction_stage while_awaited[] = {STAGE_ALL, STAGE_NOMINATIONS, STAGE_END};

struct eviction {
    struct engine *engine;
    struct eviction *older; /* of the same preemptor, still under way */
    char *uid;              /* of the preemptor, as what follows */
    struct object *preemptor;
    bool for_group;
    int32_t priority;
    char *scheduler_name;
    pod_list pods; /* of it */
    char *node_name, *profile, *plugin;
    pod_list victims; /* those that have to be told */
    const enum eviction_stage *stage;
    size_t pending; /* writes without an answer */
    bool awaited;   /* by the attempt under way */
    bool async;     /* never was */
    bool broken;    /* something failed: the preemptor is to try again */
    bool refused;   /* of that: a victim's eviction */
    struct buf error;
    int64_t started;
};

#define KV_PREEMPTOR(x) KV_META("preemptor", object_meta((x)->preemptor))
#define KV_VICTIM(v)    KV_META("victim", &(v)->pod->metadata)

/* A write that has no answer yet. */
struct eviction_write {
    uint64_t id;
    struct eviction *eviction;
    struct berth_pod *victim; /* NULL: a promise is taken back */
};

/* --- beginning and end ------------------------------------------------------------------------ */

static void link_in(struct eviction *x)
{
    struct map *map = &x->engine->evictions;
    x->older = map_get(map, str_of(x->uid));
    map_put(map, str_of(x->uid), x);
}

static void link_out(struct eviction *x)
{
    struct map *map = &x->engine->evictions;
    struct eviction *newest = map_get(map, str_of(x->uid));
    if (newest == x) {
        map_del(map, str_of(x->uid));
        if (x->older)
            map_put(map, str_of(x->older->uid), x->older);
        return;
    }
    while (newest->older != x)
        newest = newest->older;
    newest->older = x->older;
}

static void free_pods(pod_list *pods)
{
    for (size_t i = 0; i < pods->n; i++)
        pod_info_unref(pods->v[i]);
    vec_release(pods);
}

static void free_eviction(struct eviction *x)
{
    free_pods(&x->victims);
    free_pods(&x->pods);
    object_unref(x->preemptor);
    buf_release(&x->error);
    free(x->uid);
    free(x->scheduler_name);
    free(x->node_name);
    free(x->profile);
    free(x->plugin);
    free(x);
}

/* Was it kept out of the queue by this, and by nobody and nothing else? */
static bool only_waits_for(const struct eviction *x, const struct berth_queued_pod *queued)
{
    const struct berth_handle *gate = queued->gate;
    struct plugin_set ours = {0};
    if (!gate || !str_is(str_of(gate->plugin->name), x->plugin))
        return false;
    plugin_set_add(&ours, gate->id);
    return plugin_set_within(&queued->rejectors, &ours) && plugin_set_empty(&queued->pending);
}

/*
 * Who has no other reason to wait will not be woken by the victims' leaving: a member of a group
 * that was put back in the group's words, or came when the group had its victims on their way.
 * Upstream never looks at it again, unless another member is tried.
 */
static void let_in(const struct eviction *x, struct str uid)
{
    struct engine *e = x->engine;
    struct berth_queued_pod *queued = queue_get(&e->queue, uid);
    struct cluster_event event = {
        .resource = BERTH_RESOURCE_ALL, .action = BERTH_ACTION_ALL, .label = EVENT_FORCE_ACTIVATE};
    if (queued && only_waits_for(x, queued))
        queue_place(&e->queue, queued, QUEUE_AFTER_BACKOFF, &event, engine_now(e));
}

static void let_all_in(const struct eviction *x)
{
    const struct object_meta *meta = object_meta(x->preemptor);
    const struct pod_group_state *state =
        x->for_group ? pod_groups_get(&x->engine->cluster.pod_groups, meta->namespace, meta->name)
                     : NULL;
    for (size_t i = 0; state && i < state->members.n; i++)
        let_in(x, pod_info_key(state->members.v[i]->pod));
    for (size_t i = 0; !state && i < x->pods.n; i++)
        let_in(x, pod_info_key(x->pods.v[i]));
}

static void end(struct eviction *x)
{
    struct engine *e = x->engine;
    link_out(x);
    /* Upstream takes both values when it begins, so that there it always goes well in no time. */
    if (e->metrics && x->async)
        scheduler_metrics_preemption_done(e->metrics, !x->broken, engine_now(e) - x->started);
    if (x->async)
        engine_log(&e->log, 2, "Async Preemption finished completely", KV_PREEMPTOR(x),
                   KV_CSTR("node", x->node_name),
                   KV_CSTR("result", x->broken ? "error" : "success"));
    /* Who failed may be stuck: no victim's leaving will bring the preemptor back. */
    for (size_t i = 0; x->broken && x->async && i < x->pods.n; i++)
        queue_activate(&e->queue, pod_info_key(x->pods.v[i]), engine_now(e));
    let_all_in(x);
    struct str error = x->refused ? buf_str(&x->error) : STR("");
    if (x->awaited && x->for_group)
        group_preemption_evicted(e, error);
    else if (x->awaited)
        preemption_evicted(e, error);
    free_eviction(x);
}

/* --- writes ----------------------------------------------------------------------------------- */

/* Submits it, to be told of its outcome. */
static void submit(struct eviction *x, struct write *write, struct berth_pod *victim)
{
    struct engine *e = x->engine;
    struct eviction_write *w = xnew(struct eviction_write);
    *w = (struct eviction_write){++e->next_write_id, x, victim};
    write->id = w->id;
    write->scheduler_name = str_of(x->profile);
    map_put(&e->eviction_writes, write_key(&w->id), w);
    x->pending++;
    e->ports.submit(e->ports.ctx, write);
}

static void clear_nomination(struct eviction *x, const struct berth_pod *pod)
{
    struct write write = {.kind = WRITE_POD_STATUS, .object = pod->object, .sets_nomination = true};
    submit(x, &write, NULL);
}

/* Not of those that are tried together with the preemptor: what they get is not decided yet. */
static bool loses_nomination(const struct eviction *x, const struct berth_pod *pod)
{
    const struct berth_queued_pod *queued = queue_get(&x->engine->queue, pod_info_key(pod));
    return pod->priority < x->priority && !str_empty(pod->pod->status.nominated_node_name) &&
           !(queued && queued->place == QUEUE_IN_FLIGHT);
}

/* Pods of lower priority that hope for this node look for another. */
static void clear_nominations(struct eviction *x)
{
    const struct nominated_node *n =
        nominator_node(&x->engine->queue.nominator, str_of(x->node_name));
    for (size_t i = 0; n && i < n->pods.n; i++)
        if (loses_nomination(x, n->pods.v[i]))
            clear_nomination(x, n->pods.v[i]);
}

static const char *type_of(const struct eviction *x)
{
    return x->for_group ? "podgroup" : "pod";
}

static void tell_event(const struct eviction *x, const struct berth_pod *victim, const char *how)
{
    struct engine *e = x->engine;
    struct buf note = BUF_INIT;
    buf_add_printf(&note, "Preempted by %s %s on node %s%s", type_of(x), x->uid, x->node_name, how);
    struct write write = {.kind = WRITE_EVENT,
                          .object = victim->object,
                          .related = x->preemptor,
                          .scheduler_name = str_of(x->profile),
                          .reason = STR("Preempted"),
                          .action = STR("Preempting"),
                          .message = buf_str(&note)};
    e->ports.submit(e->ports.ctx, &write);
    buf_release(&note);
}

/* A pod that is not bound yet need not be deleted: it may go elsewhere. */
static bool turn_back(const struct eviction *x, const struct berth_pod *victim)
{
    struct berth_binding_op *op = binding_op_of(x->engine, pod_info_key(victim));
    return op && permit_preempt(op, str_of(x->plugin));
}

static void evict(struct eviction *x, struct berth_pod *victim)
{
    struct buf message = BUF_INIT;
    if (turn_back(x, victim)) {
        engine_log(&x->engine->log, 2, "Preemptor preempted a waiting pod", KV_PREEMPTOR(x),
                   KV_META("waitingPod", &victim->pod->metadata), KV_CSTR("node", x->node_name));
        tell_event(x, victim, " (in kube-scheduler memory).");
        return;
    }
    buf_add_printf(&message, "%s: preempting to accommodate a higher priority %s",
                   x->scheduler_name, type_of(x));
    struct write write = {.kind = WRITE_EVICTION,
                          .object = victim->object,
                          .reason = STR(POD_REASON_PREEMPTION_BY_SCHEDULER),
                          .message = buf_str(&message)};
    submit(x, &write, victim);
    buf_release(&message);
}

/* --- stages ----------------------------------------------------------------------------------- */

static void evict_some(struct eviction *x, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        evict(x, x->victims.v[i]);
}

static void begin_stage(struct eviction *x)
{
    size_t n = x->victims.n;
    /* A victim that stays makes all else useless. */
    if (x->refused)
        return;
    switch (*x->stage) {
    case STAGE_NOMINATIONS:
        clear_nominations(x);
        break;
    case STAGE_ALL:
        evict_some(x, 0, n);
        break;
    case STAGE_ALL_BUT_LAST:
        evict_some(x, 0, n - 1);
        break;
    case STAGE_LAST:
        evict_some(x, n - 1, n);
        break;
    case STAGE_END:
        break;
    }
}

/* On to the stages that follow, as far as nothing has to be waited for. True: to the end. */
static bool advance(struct eviction *x)
{
    while (x->pending == 0 && *x->stage != STAGE_END) {
        x->stage++;
        begin_stage(x);
    }
    return x->pending == 0;
}

static struct eviction *new_eviction(struct berth_cycle *cycle, const struct preemptor *preemptor,
                                     const struct candidate *candidate, const char *plugin)
{
    struct engine *e = cycle->engine;
    struct eviction *x = xnew(struct eviction);
    x->engine = e;
    x->uid = str_dup(preemptor->uid);
    x->preemptor = object_ref(preemptor->object);
    x->for_group = preemptor->is_group;
    x->priority = preemptor->priority;
    x->scheduler_name = str_dup(preemptor->scheduler_name);
    for (size_t i = 0; i < preemptor->n_pods; i++)
        vec_push(&x->pods, pod_info_ref(preemptor->pods[i]));
    x->node_name = str_dup(candidate->node_name);
    x->profile = str_dup(cycle->profile->scheduler_name);
    x->plugin = xstrdup(plugin);
    x->started = engine_now(e);
    x->async = e->features.on[FEATURE_SCHEDULER_ASYNC_PREEMPTION] || preemptor->in_background;
    x->stage = x->async ? in_background : while_awaited;
    /* Who is leaving already need not be told. */
    for (size_t i = 0; i < candidate->victims.n; i++) {
        struct berth_pod *victim = candidate->victims.v[i];
        if (!victim->pod->metadata.deletion_timestamp.set)
            vec_push(&x->victims, pod_info_ref(victim));
        else
            engine_log(&e->log, 2,
                       "Victim Pod is already being deleted, skipping the API call for it",
                       KV_PREEMPTOR(x), KV_CSTR("node", x->node_name), KV_VICTIM(victim));
    }
    return x;
}

enum berth_code eviction_start(struct berth_cycle *cycle, const struct preemptor *preemptor,
                               const struct candidate *candidate, const char *plugin)
{
    struct engine *e = cycle->engine;
    struct eviction *x = new_eviction(cycle, preemptor, candidate, plugin);
    if (x->async && x->victims.n == 0) {
        free_eviction(x);
        return BERTH_SUCCESS;
    }
    if (e->metrics)
        scheduler_metrics_preemption_victims(e->metrics, candidate->victims.n);
    if (x->async)
        engine_log(&e->log, 2, "Start the preemption asynchronously", KV_PREEMPTOR(x),
                   KV_CSTR("node", x->node_name), KV_INT("numVictims", candidate->victims.n),
                   KV_INT("numVictimsToDelete", x->victims.n));
    link_in(x);
    begin_stage(x);
    if (advance(x)) {
        end(x);
        return BERTH_SUCCESS;
    }
    x->awaited = !x->async;
    return x->awaited ? BERTH_ASYNC : BERTH_SUCCESS;
}

/* --- what comes back -------------------------------------------------------------------------- */

static void take_outcome(struct eviction *x, const struct berth_pod *victim,
                         const struct write_result *result)
{
    const struct engine_log *log = &x->engine->log;
    if (write_ok(result)) {
        engine_log(log, 2, "Preemptor Pod preempted victim Pod", KV_PREEMPTOR(x), KV_VICTIM(victim),
                   KV_CSTR("node", x->node_name));
        tell_event(x, victim, "");
    } else if (result->status == 404) {
        /* Somebody else was faster; that is as good. */
        engine_log(log, 2, "Victim Pod is already deleted", KV_PREEMPTOR(x), KV_VICTIM(victim),
                   KV_CSTR("node", x->node_name));
    } else {
        engine_log_error(log, "Tried to preempted pod", KV_STR("err", result->message),
                         KV_POD(victim), KV_PREEMPTOR(x));
        if (!x->refused)
            buf_add_str(&x->error, result->message);
        x->refused = x->broken = true;
    }
}

static void take_clear_outcome(struct eviction *x, const struct write_result *result)
{
    if (write_ok(result))
        return;
    x->broken = true;
    engine_log_error(
        &x->engine->log,
        "Cannot clear 'NominatedNodeName' field from lower priority pods on the same target "
        "node",
        KV_STR("err", result->message), KV_CSTR("node", x->node_name));
}

bool eviction_write_done(struct engine *e, uint64_t id, const struct write_result *result)
{
    struct eviction_write *w = map_del(&e->eviction_writes, write_key(&id));
    if (!w)
        return false;
    struct eviction *x = w->eviction;
    x->pending--;
    if (w->victim)
        take_outcome(x, w->victim, result);
    else
        take_clear_outcome(x, result);
    free(w);
    if (x->pending == 0 && advance(x))
        end(x);
    return true;
}

/* --- who is told ------------------------------------------------------------------------------ */

/* Is it there, and does not leave? */
static bool stays(const struct engine *e, const struct berth_pod *victim)
{
    const struct cache_pod *cp = cache_pod(&e->cache, pod_info_key(victim));
    return cp && !cp->pod->pod->metadata.deletion_timestamp.set;
}

bool eviction_blocks(const struct engine *e, struct str uid)
{
    const struct eviction *x = map_get(&e->evictions, uid);
    for (; x; x = x->older)
        if (x->async && (*x->stage != STAGE_LAST || stays(e, vec_last(&x->victims))))
            return true;
    return false;
}

void eviction_forget_attempt(struct engine *e)
{
    map_each (entry, &e->evictions)
        for (struct eviction *x = entry->value; x; x = x->older)
            x->awaited = false;
}

void eviction_abandon_all(struct engine *e)
{
    map_each (entry, &e->eviction_writes)
        free(entry->value);
    map_release(&e->eviction_writes);
    map_each (entry, &e->evictions)
        for (struct eviction *x = entry->value, *older; x; x = older) {
            older = x->older;
            free_eviction(x);
        }
    map_release(&e->evictions);
}
