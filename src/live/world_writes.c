/* SPDX-License-Identifier: Apache-2.0 */
/* The loop's thread carries out what the engine wants written, in the order of write_queue.h. */
#include "base/log.h"
#include "live/world_internal.h"

/* --- api_writes ---------------------------------------------------------------------------------- */

/* Moves a text to *at, which then is behind it. */
static void move_text(struct str *text, char **at)
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
    struct api_write *e = xcalloc(1, sizeof(*e) + n);
    char *at = e->text;
    e->world = w;
    e->write = *write;
    e->write.object = object_ref(write->object);
    /* Upstream names a group that preempts, but no pod: it cannot tell that one's kind. */
    bool names = write->related && object_kind(write->related) == kind_get(KIND_POD_GROUP);
    e->write.related = names ? object_ref(write->related) : NULL;
    move_text(&e->write.scheduler_name, &at);
    move_text(&e->write.node_name, &at);
    move_text(&e->write.reason, &at);
    move_text(&e->write.message, &at);
    move_text(&e->write.action, &at);
    write_metrics_pending(&w->write_metrics, write->kind, 1);
    return e;
}

void world_api_write_free(struct api_write *e)
{
    if (e->prev_open) {
        *e->prev_open = e->next_open;
        if (e->next_open)
            e->next_open->prev_open = e->prev_open;
    }
    object_unref(e->write.object);
    object_unref(e->write.related);
    free(e);
}

/* "namespace/name" */
static struct str name_of(const struct object *pod, struct buf *out)
{
    const struct object_meta *meta = object_meta(pod);
    buf_add_printf(out, "%.*s/%.*s", STR_ARG(meta->namespace), STR_ARG(meta->name));
    return buf_str(out);
}

/* --- what came of them ------------------------------------------------------------------------ */

static void count(const struct api_write *e, const struct rest_result *result)
{
    bool written = result->code || result->status; /* else there was nothing to change */
    if (written)
        write_metrics_done(&e->world->write_metrics, e->write.kind, result->code == 0,
                           time_mono() - e->began);
}

/* It was sent and has ended. */
static void end_api_write(struct api_write *e)
{
    write_queue_done(e->world->writes, &e->queued);
    world_api_write_free(e);
}

/* Tells the engine what came of it, and is done. */
static void tell_outcome(struct api_write *e, const struct rest_result *result)
{
    bool refused = result->code < 0;
    struct engine_msg msg = {.kind = ENGINE_MSG_WRITE_DONE,
                             .id = e->write.id,
                             .of_binding = e->write.kind == WRITE_BINDING};
    if (!refused)
        msg.status = result->status ? result->status : 200; /* there was nothing to change */
    else if (result->status >= 300)
        msg.status = result->status;
    if (!str_empty(result->reason))
        msg.reason = str_dup(result->reason);
    if (refused)
        msg.message = xstrdup(result->err.msg);
    world_post_msg(e->world, &msg);
    end_api_write(e);
}

static void binding_done(void *ctx, const struct rest_result *result)
{
    count(ctx, result);
    tell_outcome(ctx, result);
}

/* What the server has now is what the next status of this pod is compared with. */
static void know(const struct api_write *e, const struct rest_result *result)
{
    struct object *pod;

    if (result->code == 0 && result->body.n && rest_result_object(result, &pod, NULL) == 0) {
        write_queue_know(e->world->writes, pod);
        object_unref(pod);
    }
}

static void status_done(void *ctx, const struct rest_result *result)
{
    struct api_write *e = ctx;
    count(e, result);
    know(e, result);
    if (result->code && result->status != 404) {
        struct buf name = BUF_INIT;
        log_error("Error updating pod", KV_STR("pod", name_of(e->write.object, &name)),
                  KV_ERR(&result->err));
        buf_release(&name);
    }
    if (e->write.id)
        tell_outcome(e, result);
    else
        end_api_write(e);
}

/* Who asks for the deletion of a pod that is another's by now finds it gone. */
static void deleted(void *ctx, const struct rest_result *result)
{
    struct rest_result outcome = *result;
    if (outcome.status == 409)
        outcome.status = 404;
    tell_outcome(ctx, &outcome);
}

/* The victim has been told why; now it is deleted. */
static void condition_done(void *ctx, const struct rest_result *result)
{
    struct api_write *e = ctx;
    e->status_write = NULL;
    if (result->code)
        tell_outcome(e, result);
    else
        e->deletion = pod_delete(e->world->client, object_meta(e->write.object), deleted, e);
}

static void group_status_done(void *ctx, const struct rest_result *result)
{
    struct api_write *e = ctx;
    if (result->code && result->status != 404) {
        struct buf name = BUF_INIT;
        log_error("Failed to update PodGroup status",
                  KV_STR("podGroup", name_of(e->write.object, &name)), KV_ERR(&result->err));
        buf_release(&name);
    }
    end_api_write(e);
}

/* --- carrying them out ------------------------------------------------------------------------ */

/* The pod as far as is known: never older than what the engine has seen. */
static struct object *newest(const struct api_write *e)
{
    const struct object_meta *meta = object_meta(e->write.object);
    struct object *seen =
        reflector_get(informers_get(e->world->informers, KIND_POD), meta->namespace, meta->name);
    bool same = seen && str_eq(object_meta(seen)->uid, meta->uid);
    return write_queue_newest(e->world->writes, same ? seen : e->write.object);
}

/* What the api_write changes of the pod as it is now; condition is where to put that. */
static struct pod_status_change change_of(const struct api_write *e,
                                          struct pod_condition *condition)
{
    const struct pod *pod = object_pod(newest(e));
    *condition = (struct pod_condition){
        .type = STR(POD_SCHEDULED),
        .observed_generation = pod->metadata.generation,
        .status = STR("False"),
        .reason = e->write.reason,
        .message = e->write.message,
    };
    return (struct pod_status_change){
        .pod = pod,
        .condition = e->write.sets_condition ? condition : NULL,
        .nominated_node_name = e->write.sets_nomination ? &e->write.node_name : NULL,
    };
}

static void write_status(struct world *w, struct api_write *e)
{
    struct pod_condition condition;
    struct pod_status_change change = change_of(e, &condition);
    e->status_write = pod_status_write(w->client, &change, status_done, e);
}

static void write_eviction(struct world *w, struct api_write *e)
{
    const struct pod *pod = object_pod(e->write.object);
    struct pod_condition condition = {
        .type = STR(POD_DISRUPTION_TARGET),
        .observed_generation = pod->metadata.generation,
        .status = STR("True"),
        .reason = e->write.reason,
        .message = e->write.message,
    };
    struct pod_status_change change = {.pod = pod, .condition = &condition};
    e->status_write = pod_status_write(w->client, &change, condition_done, e);
}

static void write_group_status(struct world *w, struct api_write *e)
{
    struct condition condition = {
        .type = STR(POD_GROUP_SCHEDULED),
        .status = e->write.scheduled ? STR("True") : STR("False"),
        .reason = e->write.reason,
        .message = e->write.message,
    };
    e->status_write = pod_group_status_write(w->client, object_pod_group(e->write.object),
                                             &condition, group_status_done, e);
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

static void write_event(struct world *w, struct api_write *e)
{
    struct object_reference related;
    if (e->write.related)
        related = reference_to(e->write.related);
    struct event_info info = {
        .regarding = reference_to(e->write.object),
        .related = e->write.related ? &related : NULL,
        .type = e->write.warning ? STR("Warning") : STR("Normal"),
        .reason = e->write.reason,
        .action = e->write.action,
        .note = e->write.message,
        .reporting_controller = e->write.scheduler_name,
    };
    event_emit(w->recorder, &info);
}

/* --- the queue -------------------------------------------------------------------------------- */

static struct api_write *api_write_of(const struct queued_write *queued)
{
    return CONTAINER_OF(queued, struct api_write, queued);
}

static void start(struct queued_write *queued)
{
    struct api_write *e = api_write_of(queued);
    struct world *w = e->world;
    write_metrics_pending(&w->write_metrics, e->write.kind, -1);
    e->next_open = w->open;
    e->prev_open = &w->open;
    if (w->open)
        w->open->prev_open = &e->next_open;
    w->open = e;
    e->began = time_mono();
    if (e->write.kind == WRITE_BINDING)
        e->binding = pod_binding_start(w->client, object_meta(e->write.object), e->write.node_name,
                                       binding_done, e);
    else if (e->write.kind == WRITE_EVICTION)
        write_eviction(w, e);
    else if (e->write.kind == WRITE_POD_GROUP_STATUS)
        write_group_status(w, e);
    else
        write_status(w, e);
}

/* Whoever waits for it hears that it is over; only a binding that is not sent has failed. */
static void drop(struct queued_write *queued)
{
    struct api_write *e = api_write_of(queued);
    struct world *w = e->world;
    bool binds = e->write.kind == WRITE_BINDING;
    write_metrics_pending(&w->write_metrics, e->write.kind, -1);
    if (e->write.id && w->ending < ENDING_RELEASES) {
        struct engine_msg msg = {.kind = ENGINE_MSG_WRITE_DONE,
                                 .id = e->write.id,
                                 .of_binding = binds,
                                 .status = binds ? 409 : 200,
                                 .message = binds ? xstrdup("the pod is being evicted") : NULL};
        world_post_msg(w, &msg);
    }
    world_api_write_free(e);
}

/* A leader that is no more writes nothing; one that ends leaves statuses to the next. */
static bool is_over(const struct queued_write *queued)
{
    enum ending ending = api_write_of(queued)->world->ending;
    return ending >= ENDING_RELEASES ||
           (ending != ENDING_NOT && queued->class >= WRITE_CLASS_STATUS);
}

/* Of a pod that has a node nobody wants to know why it has none. */
static bool is_needless_status(const struct queued_write *queued)
{
    struct pod_condition condition;
    struct pod_status_change change = change_of(api_write_of(queued), &condition);
    return is_over(queued) || !str_empty(change.pod->spec.node_name) ||
           !pod_status_changes(&change);
}

/* What the newer status leaves as it is, the older one may have changed. */
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
    struct api_write *e = world_api_write_new(api_write_of(newer)->world, &both);
    e->queued = *newer;
    e->queued.uid = object_meta(e->write.object)->uid;
    e->queued.class = MIN(newer->class, older->class);
    api_write_of(newer)->write.id = 0; /* the new one answers */
    drop(newer);
    drop(older);
    return &e->queued;
}

static struct queued_write *keep_newer(struct queued_write *newer, struct queued_write *older)
{
    (void)newer;
    drop(older);
    return NULL;
}

static const struct write_type write_types[] = {
    [WRITE_POD_STATUS] = {1, is_needless_status, start, drop, merge_status},
    [WRITE_POD_GROUP_STATUS] = {1, is_over, start, drop, keep_newer},
    [WRITE_BINDING] = {2, is_over, start, drop, keep_newer},
    [WRITE_EVICTION] = {3, is_over, start, drop, keep_newer},
};

/* People know already that the pod has no node, and the sort of reason. */
static bool is_refresh(const struct api_write *e)
{
    const struct pod_status *status = &object_pod(newest(e))->status;
    for (size_t i = 0; i < status->conditions.n; i++)
        if (str_is(status->conditions.v[i].type, POD_SCHEDULED))
            return str_is(status->conditions.v[i].status, "False") &&
                   str_eq(status->conditions.v[i].reason, e->write.reason);
    return false;
}

/* A nomination is somebody's room: others decide by it. */
static enum write_class class_of(const struct api_write *e)
{
    const struct write *write = &e->write;
    if (write->kind == WRITE_BINDING)
        return WRITE_CLASS_BINDING;
    if (write->kind == WRITE_EVICTION ||
        (write->kind == WRITE_POD_STATUS &&
         (!write->sets_condition || (write->sets_nomination && !str_empty(write->node_name)))))
        return WRITE_CLASS_PROMPT;
    return write->kind == WRITE_POD_STATUS && is_refresh(e) ? WRITE_CLASS_REFRESH
                                                            : WRITE_CLASS_STATUS;
}

static void add_api_write(struct api_write *e)
{
    e->queued = (struct queued_write){.type = &write_types[e->write.kind],
                                      .class = class_of(e),
                                      .uid = object_meta(e->write.object)->uid};
    write_queue_add(e->world->writes, &e->queued);
}

void world_run_api_writes(void *ctx)
{
    struct api_write_batch *batch = ctx;
    struct world *w = batch->world;
    struct api_write *e = batch->first;
    free(batch);
    while (e) {
        struct api_write *next = e->next;
        if (w->ending >= ENDING_RELEASES) {
            write_metrics_pending(&w->write_metrics, e->write.kind, -1);
            world_api_write_free(e);
        } else if (e->write.kind == WRITE_EVENT) {
            write_event(w, e);
            world_api_write_free(e);
        } else {
            add_api_write(e);
        }
        e = next;
    }
}
