/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/eviction.h"

#include "engine/bind/permit.h"
#include "engine/framework/event.h"
#include "engine/metrics/scheduler_metrics.h"

/*
 * The stages of an eviction. In the background upstream clears nominations first and evicts the
 * last victim at the end; if the attempt waits, nominations are cleared last.
 */
enum eviction_stage { STAGE_NOMINATIONS, STAGE_ALL, STAGE_ALL_BUT_LAST, STAGE_LAST, STAGE_END };

static const enum eviction_stage in_background[] = {STAGE_NOMINATIONS, STAGE_ALL_BUT_LAST,
                                                    STAGE_LAST, STAGE_END};
static const enum eviction_stage while_awaited[] = {STAGE_ALL, STAGE_NOMINATIONS, STAGE_END};

struct eviction {
    struct evictions *room;
    struct eviction *older; /* of the same preemptor, still under way */
    char *uid;              /* of the preemptor, like the next five */
    struct object *preemptor;
    bool for_group;
    int32_t priority;
    char *scheduler_name;
    pod_list pods; /* the pod, or the members of the PodGroup */
    char *node_name, *profile, *plugin;
    pod_list victims; /* those not being deleted already */
    const enum eviction_stage *stage;
    size_t pending; /* writes without an answer */
    bool awaited;   /* by the attempt under way */
    bool async;     /* the attempt does not wait */
    bool broken;    /* a write failed: the preemptor is tried again */
    bool refused;   /* the write was a victim's eviction */
    struct buf error;
    int64_t started;
};

#define KV_PREEMPTOR(x) KV_META("preemptor", object_meta((x)->preemptor))
#define KV_VICTIM(v)    KV_META("victim", &(v)->pod->metadata)

/* A write that has no answer yet. */
struct eviction_write {
    uint64_t id;
    struct eviction *eviction;
    struct berth_pod *victim; /* NULL: a nomination is cleared */
};

/* --- beginning and end ------------------------------------------------------------------------ */

static void link_in(struct eviction *x)
{
    struct map *map = &x->room->by_preemptor;
    x->older = map_get(map, str_of(x->uid));
    map_put(map, str_of(x->uid), x);
}

static void link_out(struct eviction *x)
{
    struct map *map = &x->room->by_preemptor;
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

/* Whether this eviction is the only reason why the pod is not in the activeQ. */
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
 * A pod without another reason to wait is not woken by the victims' deletion: a member of a group
 * that was rejected with its group, or that came while the group's victims were being evicted.
 * Upstream does not try it again unless another member is tried.
 */
static void queue_gated(const struct eviction *x, struct str uid)
{
    struct queue *queue = x->room->queue;
    struct berth_queued_pod *queued = queue_get(queue, uid);
    struct cluster_event event = {
        .resource = BERTH_RESOURCE_ALL, .action = BERTH_ACTION_ALL, .label = EVENT_FORCE_ACTIVATE};
    if (queued && only_waits_for(x, queued))
        queue_place(queue, queued, QUEUE_AFTER_BACKOFF, &event, framework_now(x->room->framework));
}

static void queue_all_gated(const struct eviction *x)
{
    const struct object_meta *meta = object_meta(x->preemptor);
    const struct pod_group_state *state =
        x->for_group
            ? pod_groups_get(&x->room->framework->cluster->pod_groups, meta->namespace, meta->name)
            : NULL;
    for (size_t i = 0; state && i < state->members.n; i++)
        queue_gated(x, pod_info_key(state->members.v[i]->pod));
    for (size_t i = 0; !state && i < x->pods.n; i++)
        queue_gated(x, pod_info_key(x->pods.v[i]));
}

/* The writes of this eviction without an outcome: x->pending counts the same. */
static UNUSED size_t n_writes(const struct eviction *x)
{
    size_t n = 0;
    map_each (entry, &x->room->writes)
        n += ((const struct eviction_write *)entry->value)->eviction == x;
    return n;
}

/* Frees it. *ret: for the attempt that waits for it, if one does. */
static void end(struct eviction *x, struct eviction_end *ret)
{
    struct evictions *room = x->room;
    struct framework *fw = room->framework;
    INVARIANT(x->pending == 0 && n_writes(x) == 0);
    link_out(x);
    /* Upstream takes both values at the start, so that it always reports success in no time. */
    if (fw->metrics && x->async)
        scheduler_metrics_preemption_done(fw->metrics, !x->broken, framework_now(fw) - x->started);
    if (x->async)
        engine_log(&fw->log, 2, "Async Preemption finished completely", KV_PREEMPTOR(x),
                   KV_CSTR("node", x->node_name),
                   KV_CSTR("result", x->broken ? "error" : "success"));
    /* After a failure no victim's deletion may bring the preemptor back: activate it. */
    for (size_t i = 0; x->broken && x->async && i < x->pods.n; i++)
        queue_activate(room->queue, pod_info_key(x->pods.v[i]), framework_now(fw));
    queue_all_gated(x);
    *ret = (struct eviction_end){.awaited = x->awaited, .for_group = x->for_group};
    if (x->refused) {
        ret->error = x->error;
        x->error = (struct buf)BUF_INIT;
    }
    free_eviction(x);
}

/* --- writes ----------------------------------------------------------------------------------- */

/* Submits a write whose outcome is awaited. victim NULL: a nomination is cleared. */
static void submit(struct eviction *x, struct write *write, struct berth_pod *victim)
{
    struct evictions *room = x->room;
    struct eviction_write *w = xnew(struct eviction_write);
    *w = (struct eviction_write){framework_next_id(room->framework), x, victim};
    write->id = w->id;
    write->scheduler_name = str_of(x->profile);
    map_put(&room->writes, map_number_key(&w->id), w);
    x->pending++;
    INVARIANT(x->pending == n_writes(x));
    framework_submit(room->framework, write);
}

static void clear_nomination(struct eviction *x, const struct berth_pod *pod)
{
    struct write write = {.kind = WRITE_POD_STATUS, .object = pod->object, .sets_nomination = true};
    submit(x, &write, NULL);
}

/* Members tried together with the preemptor keep theirs: their node is not decided yet. */
static bool loses_nomination(const struct eviction *x, const struct berth_pod *pod)
{
    const struct berth_queued_pod *queued = queue_get(x->room->queue, pod_info_key(pod));
    return pod->priority < x->priority && !str_empty(pod->pod->status.nominated_node_name) &&
           !(queued && queued->place == QUEUE_IN_FLIGHT);
}

/* Pods of lower priority nominated to this node must find another (upstream:
 * getLowerPriorityNominatedPods). */
static void clear_nominations(struct eviction *x)
{
    const struct nominated_node *n =
        nominator_node(&x->room->queue->nominator, str_of(x->node_name));
    for (size_t i = 0; n && i < n->pods.n; i++)
        if (loses_nomination(x, n->pods.v[i]))
            clear_nomination(x, n->pods.v[i]);
}

static const char *type_of(const struct eviction *x)
{
    return x->for_group ? "podgroup" : "pod";
}

static void submit_event(const struct eviction *x, const struct berth_pod *victim, const char *how)
{
    struct buf note = BUF_INIT;
    buf_add_printf(&note, "Preempted by %s %s on node %s%s", type_of(x), x->uid, x->node_name, how);
    struct write write = {.kind = WRITE_EVENT,
                          .object = victim->object,
                          .related = x->preemptor,
                          .scheduler_name = str_of(x->profile),
                          .reason = STR("Preempted"),
                          .action = STR("Preempting"),
                          .message = buf_str(&note)};
    framework_submit(x->room->framework, &write);
    buf_release(&note);
}

/* A victim that is not bound yet goes back to the queue instead of being deleted. */
static bool requeue(const struct eviction *x, const struct berth_pod *victim)
{
    struct binding_cycle *bc = binding_cycle_of(x->room->bindings, pod_info_key(victim));
    return bc && permit_preempt(bc, str_of(x->plugin));
}

static void evict(struct eviction *x, struct berth_pod *victim)
{
    struct buf message = BUF_INIT;
    if (requeue(x, victim)) {
        engine_log(&x->room->framework->log, 2, "Preemptor preempted a waiting pod",
                   KV_PREEMPTOR(x), KV_META("waitingPod", &victim->pod->metadata),
                   KV_CSTR("node", x->node_name));
        submit_event(x, victim, " (in kube-scheduler memory).");
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
    /* If one victim could not be evicted, the rest stays. */
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
        INVARIANT(n > 0); /* eviction_start: without victims nothing is started */
        evict_some(x, 0, n - 1);
        break;
    case STAGE_LAST:
        evict_some(x, n - 1, n);
        break;
    case STAGE_END:
        break;
    }
}

/* Enters the following stages while no write is pending. Returns whether all are done. */
static bool advance(struct eviction *x)
{
    while (x->pending == 0 && *x->stage != STAGE_END) {
        x->stage++;
        begin_stage(x);
    }
    return x->pending == 0;
}

static struct eviction *new_eviction(struct evictions *room, const struct preemptor *preemptor,
                                     const struct candidate *candidate,
                                     const struct berth_handle *plugin)
{
    const struct framework *fw = room->framework;
    struct eviction *x = xnew(struct eviction);
    x->room = room;
    x->uid = str_dup(preemptor->uid);
    x->preemptor = object_ref(preemptor->object);
    x->for_group = preemptor->is_group;
    x->priority = preemptor->priority;
    x->scheduler_name = str_dup(preemptor->scheduler_name);
    for (size_t i = 0; i < preemptor->n_pods; i++)
        vec_push(&x->pods, pod_info_ref(preemptor->pods[i]));
    x->node_name = str_dup(candidate->node_name);
    x->profile = str_dup(plugin->profile->scheduler_name);
    x->plugin = xstrdup(plugin->plugin->name);
    x->started = framework_now(fw);
    x->async = preemptor->mode == EVICTION_BY_GATE
                   ? fw->features.on[FEATURE_SCHEDULER_ASYNC_PREEMPTION]
                   : preemptor->mode == EVICTION_IN_BACKGROUND;
    x->stage = x->async ? in_background : while_awaited;
    for (size_t i = 0; i < candidate->victims.n; i++) {
        struct berth_pod *victim = candidate->victims.v[i];
        if (!victim->pod->metadata.deletion_timestamp.set)
            vec_push(&x->victims, pod_info_ref(victim));
        else
            engine_log(&fw->log, 2,
                       "Victim Pod is already being deleted, skipping the API call for it",
                       KV_PREEMPTOR(x), KV_CSTR("node", x->node_name), KV_VICTIM(victim));
    }
    return x;
}

enum berth_code eviction_start(struct evictions *room, const struct preemptor *preemptor,
                               const struct candidate *candidate, const struct berth_handle *plugin)
{
    const struct framework *fw = room->framework;
    struct eviction *x = new_eviction(room, preemptor, candidate, plugin);
    if (x->async && x->victims.n == 0) {
        free_eviction(x);
        return BERTH_SUCCESS;
    }
    if (fw->metrics)
        scheduler_metrics_preemption_victims(fw->metrics, candidate->victims.n);
    if (x->async)
        engine_log(&fw->log, 2, "Start the preemption asynchronously", KV_PREEMPTOR(x),
                   KV_CSTR("node", x->node_name), KV_INT("numVictims", candidate->victims.n),
                   KV_INT("numVictimsToDelete", x->victims.n));
    link_in(x);
    begin_stage(x);
    if (advance(x)) {
        struct eviction_end ended;
        end(x, &ended);
        eviction_end_release(&ended);
        return BERTH_SUCCESS;
    }
    x->awaited = !x->async;
    return x->awaited ? BERTH_ASYNC : BERTH_SUCCESS;
}

/* --- outcomes --------------------------------------------------------------------------------- */

static void take_outcome(struct eviction *x, const struct berth_pod *victim,
                         const struct write_result *result)
{
    const struct engine_log *log = &x->room->framework->log;
    if (write_ok(result)) {
        engine_log(log, 2, "Preemptor Pod preempted victim Pod", KV_PREEMPTOR(x), KV_VICTIM(victim),
                   KV_CSTR("node", x->node_name));
        submit_event(x, victim, "");
    } else if (result->status == 404) {
        /* Already deleted: as good as evicted. */
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
        &x->room->framework->log,
        "Cannot clear 'NominatedNodeName' field from lower priority pods on the same target "
        "node",
        KV_STR("err", result->message), KV_CSTR("node", x->node_name));
}

bool eviction_write_done(struct evictions *room, uint64_t id, const struct write_result *result,
                         struct eviction_end *ret)
{
    struct eviction_write *w = map_del(&room->writes, map_number_key(&id));
    *ret = (struct eviction_end){0};
    if (!w)
        return false;
    struct eviction *x = w->eviction;
    INVARIANT(x->pending == n_writes(x) + 1);
    x->pending--;
    if (w->victim)
        take_outcome(x, w->victim, result);
    else
        take_clear_outcome(x, result);
    free(w);
    if (x->pending == 0 && advance(x))
        end(x, ret);
    return true;
}

void eviction_end_release(struct eviction_end *ended)
{
    buf_release(&ended->error);
}

/* --- evictions under way ---------------------------------------------------------------------- */

/* Whether the victim still runs and is not being deleted. */
static bool stays(const struct cache *cache, const struct berth_pod *victim)
{
    const struct cache_pod *cp = cache_pod(cache, pod_info_key(victim));
    return cp && !cp->pod->pod->metadata.deletion_timestamp.set;
}

bool eviction_blocks(const struct evictions *room, struct str uid)
{
    const struct eviction *x = map_get(&room->by_preemptor, uid);
    for (; x; x = x->older)
        if (x->async &&
            (*x->stage != STAGE_LAST || stays(room->framework->cache, vec_last(&x->victims))))
            return true;
    return false;
}

void evictions_forget_attempt(struct evictions *room)
{
    map_each (entry, &room->by_preemptor)
        for (struct eviction *x = entry->value; x; x = x->older)
            x->awaited = false;
}

void evictions_init(struct evictions *room, struct framework *fw, struct queue *queue,
                    struct bindings *bindings)
{
    *room = (struct evictions){.framework = fw, .queue = queue, .bindings = bindings};
}

void evictions_release(struct evictions *room)
{
    map_each (entry, &room->writes)
        free(entry->value);
    map_release(&room->writes);
    map_each (entry, &room->by_preemptor)
        for (struct eviction *x = entry->value, *older; x; x = older) {
            older = x->older;
            free_eviction(x);
        }
    map_release(&room->by_preemptor);
}
