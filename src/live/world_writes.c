/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's thread sends the engine's writes in the order that write_queue.h defines. */
#include "base/log.h"
#include "live/world_internal.h"

/* --- writes ----------------------------------------------------------------------------------- */

void world_move_text(struct str *text, char **at)
{
    if (text->n)
        memcpy(*at, text->p, text->n);
    text->p = *at;
    *at += text->n;
}

struct api_write *world_api_write_new(struct world *w, const struct write *write)
{
    size_t n = write->scheduler_name.n + write->node_name.n + write->reason.n + write->message.n +
               write->action.n;
    struct api_write *aw = xcalloc(1, sizeof(*aw) + n);
    char *at = aw->text;
    aw->world = w;
    aw->write = *write;
    aw->write.object = object_ref(write->object);
    /* Upstream sets related for a preempting PodGroup but not for a pod, whose kind is unset. */
    bool names = write->related && object_kind(write->related) == kind_get(KIND_POD_GROUP);
    aw->write.related = names ? object_ref(write->related) : NULL;
    world_move_text(&aw->write.scheduler_name, &at);
    world_move_text(&aw->write.node_name, &at);
    world_move_text(&aw->write.reason, &at);
    world_move_text(&aw->write.message, &at);
    world_move_text(&aw->write.action, &at);
    write_metrics_pending(&w->write_metrics, write->kind, 1);
    return aw;
}

void world_api_write_free(struct api_write *aw)
{
    if (aw->prev_open) {
        *aw->prev_open = aw->next_open;
        if (aw->next_open)
            aw->next_open->prev_open = aw->prev_open;
    }
    object_unref(aw->write.object);
    object_unref(aw->write.related);
    free(aw);
}

/* Returns "namespace/name". */
static struct str name_of(const struct object *pod, struct buf *out)
{
    const struct object_meta *meta = object_meta(pod);
    buf_add_printf(out, "%.*s/%.*s", STR_ARG(meta->namespace), STR_ARG(meta->name));
    return buf_str(out);
}

/* --- outcomes --------------------------------------------------------------------------------- */

static void count(const struct api_write *aw, const struct rest_result *result)
{
    bool written = result->code || result->status; /* false: nothing to change */
    if (written)
        write_metrics_done(&aw->world->write_metrics, aw->write.kind, result->code == 0,
                           time_mono() - aw->began);
}

/* A write that was sent has ended. */
static void end_api_write(struct api_write *aw)
{
    write_queue_done(aw->world->writes, &aw->queued);
    world_api_write_free(aw);
}

/* Reports the outcome to the engine and frees the write. */
static void post_outcome(struct api_write *aw, const struct rest_result *result)
{
    bool refused = result->code < 0;
    struct engine_msg msg = {.kind = ENGINE_MSG_WRITE_DONE,
                             .id = aw->write.id,
                             .of_binding = aw->write.kind == WRITE_BINDING};
    if (!refused)
        msg.status = result->status ? result->status : 200; /* nothing to change */
    else if (result->status >= 300)
        msg.status = result->status;
    if (!str_empty(result->reason))
        msg.reason = str_dup(result->reason);
    if (refused)
        msg.message = xstrdup(result->err.msg);
    world_post_msg(aw->world, &msg);
    end_api_write(aw);
}

static void binding_done(void *ctx, const struct rest_result *result)
{
    count(ctx, result);
    post_outcome(ctx, result);
}

/* The next status of this pod is compared with what the server has now. */
static void note_answer(const struct api_write *aw, const struct rest_result *result)
{
    struct object *pod;

    if (result->code == 0 && result->body.n && rest_result_object(result, &pod, NULL) == 0) {
        write_queue_set_known(aw->world->writes, pod);
        object_unref(pod);
    }
}

static void status_done(void *ctx, const struct rest_result *result)
{
    struct api_write *aw = ctx;
    count(aw, result);
    note_answer(aw, result);
    if (result->code && result->status != 404) {
        struct buf name = BUF_INIT;
        log_error("Error updating pod", KV_STR("pod", name_of(aw->write.object, &name)),
                  KV_ERR(&result->err));
        buf_release(&name);
    }
    if (aw->write.id)
        post_outcome(aw, result);
    else
        end_api_write(aw);
}

/* A conflict means that another pod has this name now: the victim is gone. */
static void deleted(void *ctx, const struct rest_result *result)
{
    struct rest_result outcome = *result;
    if (outcome.status == 409)
        outcome.status = 404;
    post_outcome(ctx, &outcome);
}

/* The victim has its DisruptionTarget condition; delete it. */
static void condition_done(void *ctx, const struct rest_result *result)
{
    struct api_write *aw = ctx;
    aw->status_write = NULL;
    if (result->code)
        post_outcome(aw, result);
    else
        aw->deletion = pod_delete(aw->world->client, object_meta(aw->write.object), deleted, aw);
}

static void group_status_done(void *ctx, const struct rest_result *result)
{
    struct api_write *aw = ctx;
    if (result->code && result->status != 404) {
        struct buf name = BUF_INIT;
        log_error("Failed to update PodGroup status",
                  KV_STR("podGroup", name_of(aw->write.object, &name)), KV_ERR(&result->err));
        buf_release(&name);
    }
    end_api_write(aw);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* The newest known version of the pod, never older than the one that the engine has seen. */
static struct object *newest(const struct api_write *aw)
{
    const struct object_meta *meta = object_meta(aw->write.object);
    struct object *seen =
        reflector_get(informers_get(aw->world->informers, KIND_POD), meta->namespace, meta->name);
    bool same = seen && str_eq(object_meta(seen)->uid, meta->uid);
    return write_queue_newest(aw->world->writes, same ? seen : aw->write.object);
}

/* The change of the pod's newest known status. *condition provides the memory. */
static struct pod_status_change change_of(const struct api_write *aw,
                                          struct pod_condition *condition)
{
    const struct pod *pod = object_pod(newest(aw));
    *condition = (struct pod_condition){
        .type = STR(POD_SCHEDULED),
        .observed_generation = pod->metadata.generation,
        .status = STR("False"),
        .reason = aw->write.reason,
        .message = aw->write.message,
    };
    return (struct pod_status_change){
        .pod = pod,
        .condition = aw->write.sets_condition ? condition : NULL,
        .nominated_node_name = aw->write.sets_nomination ? &aw->write.node_name : NULL,
    };
}

static void write_status(struct world *w, struct api_write *aw)
{
    struct pod_condition condition;
    struct pod_status_change change = change_of(aw, &condition);
    aw->status_write = pod_status_write(w->client, &change, status_done, aw);
}

static void write_eviction(struct world *w, struct api_write *aw)
{
    const struct pod *pod = object_pod(aw->write.object);
    struct pod_condition condition = {
        .type = STR(POD_DISRUPTION_TARGET),
        .observed_generation = pod->metadata.generation,
        .status = STR("True"),
        .reason = aw->write.reason,
        .message = aw->write.message,
    };
    struct pod_status_change change = {.pod = pod, .condition = &condition};
    aw->status_write = pod_status_write(w->client, &change, condition_done, aw);
}

static void write_group_status(struct world *w, struct api_write *aw)
{
    struct condition condition = {
        .type = STR(POD_GROUP_SCHEDULED),
        .status = aw->write.scheduled ? STR("True") : STR("False"),
        .reason = aw->write.reason,
        .message = aw->write.message,
    };
    aw->status_write = pod_group_status_write(w->client, object_pod_group(aw->write.object),
                                              &condition, group_status_done, aw);
}

static struct object_reference reference_to(const struct object *object)
{
    const struct object_meta *meta = object_meta(object);
    return (struct object_reference){.kind = object_kind(object)->kind,
                                     .api_version = object_kind(object)->api_version,
                                     .namespace = meta->namespace,
                                     .name = meta->name,
                                     .uid = meta->uid,
                                     .resource_version = meta->resource_version};
}

static void write_event(struct world *w, struct api_write *aw)
{
    struct object_reference related;
    if (aw->write.related)
        related = reference_to(aw->write.related);
    struct event_info info = {
        .regarding = reference_to(aw->write.object),
        .related = aw->write.related ? &related : NULL,
        .type = aw->write.warning ? STR("Warning") : STR("Normal"),
        .reason = aw->write.reason,
        .action = aw->write.action,
        .note = aw->write.message,
        .reporting_controller = aw->write.scheduler_name,
    };
    event_emit(w->recorder, &info);
}

/* --- queue ------------------------------------------------------------------------------------ */

static struct api_write *api_write_of(const struct queued_write *queued)
{
    return CONTAINER_OF(queued, struct api_write, queued);
}

static void start(struct queued_write *queued)
{
    struct api_write *aw = api_write_of(queued);
    struct world *w = aw->world;
    write_metrics_pending(&w->write_metrics, aw->write.kind, -1);
    aw->next_open = w->open;
    aw->prev_open = &w->open;
    if (w->open)
        w->open->prev_open = &aw->next_open;
    w->open = aw;
    aw->began = time_mono();
    if (aw->write.kind == WRITE_BINDING)
        aw->binding = pod_binding_start(w->client, object_meta(aw->write.object),
                                        aw->write.node_name, binding_done, aw);
    else if (aw->write.kind == WRITE_EVICTION)
        write_eviction(w, aw);
    else if (aw->write.kind == WRITE_POD_GROUP_STATUS)
        write_group_status(w, aw);
    else
        write_status(w, aw);
}

/* Reports the end of a write that is not sent. Only an unsent binding has failed. */
static void drop(struct queued_write *queued)
{
    struct api_write *aw = api_write_of(queued);
    struct world *w = aw->world;
    bool binds = aw->write.kind == WRITE_BINDING;
    write_metrics_pending(&w->write_metrics, aw->write.kind, -1);
    if (aw->write.id && w->ending < ENDING_RELEASE) {
        struct engine_msg msg = {.kind = ENGINE_MSG_WRITE_DONE,
                                 .id = aw->write.id,
                                 .of_binding = binds,
                                 .status = binds ? 409 : 200,
                                 .message = binds ? xstrdup("the pod is being evicted") : NULL};
        world_post_msg(w, &msg);
    }
    world_api_write_free(aw);
}

/* A former leader writes nothing. A stopping one leaves statuses to the next leader. */
static bool is_over(const struct queued_write *queued)
{
    enum ending ending = api_write_of(queued)->world->ending;
    return ending >= ENDING_RELEASE ||
           (ending != ENDING_NONE && queued->class >= WRITE_CLASS_STATUS);
}

/* A pod that has a node needs no reason why it has none. */
static bool is_redundant_status(const struct queued_write *queued)
{
    struct pod_condition condition;
    struct pod_status_change change = change_of(api_write_of(queued), &condition);
    return is_over(queued) || !str_empty(change.pod->spec.node_name) ||
           !pod_status_changes(&change);
}

/* The newer status wins; what it leaves unchanged is taken from the older one. */
static struct queued_write *merge_status(struct queued_write *newer, struct queued_write *older)
{
    const struct write *n = &api_write_of(newer)->write, *o = &api_write_of(older)->write;
    struct write both = *n;
    if (!n->sets_condition && o->sets_condition) {
        both.sets_condition = true;
        both.reason = o->reason;
        both.message = o->message;
    }
    if (!n->sets_nomination && o->sets_nomination) {
        both.sets_nomination = true;
        both.node_name = o->node_name;
    }
    struct api_write *aw = world_api_write_new(api_write_of(newer)->world, &both);
    aw->queued = *newer;
    aw->queued.uid = object_meta(aw->write.object)->uid;
    aw->queued.class = MIN(newer->class, older->class);
    api_write_of(newer)->write.id = 0; /* the merged write reports the outcome */
    drop(newer);
    drop(older);
    return &aw->queued;
}

static struct queued_write *keep_newer(struct queued_write *newer, struct queued_write *older)
{
    (void)newer;
    drop(older);
    return NULL;
}

/*
 * Relevances as upstream's: a binding (2) replaces a status patch (1). Evictions, which upstream
 * does not queue, replace both: a victim needs no binding and no status.
 */
static const struct write_type write_types[] = {
    [WRITE_POD_STATUS] = {1, is_redundant_status, start, drop, merge_status},
    [WRITE_POD_GROUP_STATUS] = {1, is_over, start, drop, keep_newer},
    [WRITE_BINDING] = {2, is_over, start, drop, keep_newer},
    [WRITE_EVICTION] = {3, is_over, start, drop, keep_newer},
};

/* Whether the pod already has a PodScheduled condition with this reason: only the text differs. */
static bool is_refresh(const struct api_write *aw)
{
    const struct pod_status *status = &object_pod(newest(aw))->status;
    for (size_t i = 0; i < status->conditions.n; i++)
        if (str_is(status->conditions.v[i].type, POD_SCHEDULED))
            return str_is(status->conditions.v[i].status, "False") &&
                   str_eq(status->conditions.v[i].reason, aw->write.reason);
    return false;
}

/* Nominations are prompt: other pods' decisions depend on them. */
static enum write_class class_of(const struct api_write *aw)
{
    const struct write *write = &aw->write;
    if (write->kind == WRITE_BINDING)
        return WRITE_CLASS_BINDING;
    if (write->kind == WRITE_EVICTION ||
        (write->kind == WRITE_POD_STATUS &&
         (!write->sets_condition || (write->sets_nomination && !str_empty(write->node_name)))))
        return WRITE_CLASS_PROMPT;
    return write->kind == WRITE_POD_STATUS && is_refresh(aw) ? WRITE_CLASS_REFRESH
                                                             : WRITE_CLASS_STATUS;
}

static void add_api_write(struct api_write *aw)
{
    aw->queued = (struct queued_write){.type = &write_types[aw->write.kind],
                                       .class = class_of(aw),
                                       .uid = object_meta(aw->write.object)->uid};
    write_queue_add(aw->world->writes, &aw->queued);
}

void world_run_api_writes(void *ctx)
{
    struct api_write_batch *batch = ctx;
    struct world *w = batch->world;
    struct api_write *aw = batch->first;
    free(batch);
    while (aw) {
        struct api_write *next = aw->next;
        if (w->ending >= ENDING_RELEASE) {
            write_metrics_pending(&w->write_metrics, aw->write.kind, -1);
            world_api_write_free(aw);
        } else if (aw->write.kind == WRITE_EVENT) {
            write_event(w, aw);
            world_api_write_free(aw);
        } else {
            add_api_write(aw);
        }
        aw = next;
    }
}
