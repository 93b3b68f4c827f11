/* SPDX-License-Identifier: Apache-2.0 */
#include "live/pod_writes.h"

#include "api/core.h"
#include "codec/json.h"
#include "kube/backoff.h"

#define STATUS_TRIES 4

/* --- binding and deletion --------------------------------------------------------------------- */

struct rest_call *pod_bind(struct rest_client *client, const struct object_meta *pod,
                           struct str node, rest_done_fn *fn, void *ctx)
{
    struct binding binding = {
        .metadata = {.namespace = pod->namespace, .name = pod->name, .uid = pod->uid},
        .target = {.kind = STR_INIT("Node"), .name = node},
    };
    struct rest_request request = {
        .verb = REST_CREATE,
        .kind = kind_get(KIND_POD),
        .namespace = pod->namespace,
        .name = pod->name,
        .subresource = STR_INIT("binding"),
        .body_kind = kind_get(KIND_BINDING),
        .body = &binding,
    };

    return rest_send(client, &request, fn, ctx);
}

struct rest_call *pod_delete(struct rest_client *client, const struct object_meta *pod,
                             rest_done_fn *fn, void *ctx)
{
    struct str uid = pod->uid;
    struct preconditions same = {.uid = &uid};
    struct delete_options options = {.preconditions = str_empty(uid) ? NULL : &same};
    struct rest_request request = {
        .verb = REST_DELETE,
        .kind = kind_get(KIND_POD),
        .namespace = pod->namespace,
        .name = pod->name,
        .body_kind = kind_get(KIND_DELETE_OPTIONS),
        .body = &options,
    };

    return rest_send(client, &request, fn, ctx);
}

/* --- status patch ----------------------------------------------------------------------------- */

static const struct pod_condition *find_condition(const struct pod *pod, struct str type)
{
    for (size_t i = 0; i < pod->status.conditions.n; i++) {
        if (str_eq(pod->status.conditions.v[i].type, type))
            return &pod->status.conditions.v[i];
    }
    return NULL;
}

static bool condition_changes(const struct pod_condition *old, const struct pod_condition *new)
{
    return !old || !str_eq(old->status, new->status) || !str_eq(old->reason, new->reason) ||
           !str_eq(old->message, new->message);
}

/* Appends "key": and, if it is not the first key, a comma before it. */
static void add_key(struct buf *out, const char *key)
{
    if (out->p[out->n - 1] != '{')
        buf_add_char(out, ',');
    json_write_str(out, str_of(key));
    buf_add_char(out, ':');
}

/* The API omits empty strings, so an empty value means removal. */
static void add_text(struct buf *out, const char *key, struct str value)
{
    add_key(out, key);
    if (str_empty(value))
        buf_add_cstr(out, "null");
    else
        json_write_str(out, value);
}

/* Appends only what differs from old (NULL: everything) and the merge key, sorted by key. */
static void add_condition(struct buf *out, const struct pod_condition *old,
                          const struct pod_condition *new, struct timestamp now)
{
    static const struct pod_condition none;
    const struct pod_condition *was = old ? old : &none;

    buf_add_char(out, '{');
    if (!old) {
        add_key(out, "lastProbeTime");
        buf_add_cstr(out, "null");
    }
    if (!str_eq(was->status, new->status)) {
        add_key(out, "lastTransitionTime");
        buf_add_char(out, '"');
        timestamp_format(now, 0, out);
        buf_add_char(out, '"');
    }
    if (!str_eq(was->message, new->message))
        add_text(out, "message", new->message);
    if (was->observed_generation != new->observed_generation) {
        add_key(out, "observedGeneration");
        if (new->observed_generation)
            buf_add_printf(out, "%lld", (long long)new->observed_generation);
        else
            buf_add_cstr(out, "null");
    }
    if (!str_eq(was->reason, new->reason))
        add_text(out, "reason", new->reason);
    if (!str_eq(was->status, new->status))
        add_text(out, "status", new->status);
    add_text(out, "type", new->type);
    buf_add_char(out, '}');
}

/* The order of the list after the patch, by merge key. */
static void add_order(struct buf *out, const struct pod *pod, struct str added)
{
    add_key(out, "$setElementOrder/conditions");
    buf_add_char(out, '[');
    for (size_t i = 0; i < pod->status.conditions.n; i++) {
        buf_add_cstr(out, i ? ",{" : "{");
        add_text(out, "type", pod->status.conditions.v[i].type);
        buf_add_char(out, '}');
    }
    if (!str_empty(added)) {
        buf_add_cstr(out, pod->status.conditions.n ? ",{" : "{");
        add_text(out, "type", added);
        buf_add_char(out, '}');
    }
    buf_add_char(out, ']');
}

static bool changes_condition(const struct pod_status_change *change)
{
    const struct pod_condition *new = change->condition;

    return new && condition_changes(find_condition(change->pod, new->type), new);
}

static bool changes_nomination(const struct pod_status_change *change)
{
    const struct str *node = change->nominated_node_name;

    return node && !str_eq(*node, change->pod->status.nominated_node_name);
}

bool pod_status_changes(const struct pod_status_change *change)
{
    return changes_condition(change) || changes_nomination(change);
}

bool pod_status_patch(const struct pod_status_change *change, struct timestamp now, struct buf *out)
{
    const struct pod *pod = change->pod;
    const struct pod_condition *new = change->condition;
    const struct pod_condition *old = new ? find_condition(pod, new->type) : NULL;
    const struct str *node = change->nominated_node_name;
    bool condition = changes_condition(change);
    bool nominated = changes_nomination(change);

    if (!condition && !nominated)
        return false;
    buf_add_cstr(out, "{\"status\":{");
    if (condition) {
        add_order(out, pod, old ? (struct str){0} : new->type);
        add_key(out, "conditions");
        buf_add_char(out, '[');
        add_condition(out, old, new, now);
        buf_add_char(out, ']');
    }
    if (nominated)
        add_text(out, "nominatedNodeName", *node);
    buf_add_cstr(out, "}}");
    return true;
}

/* --- sending ---------------------------------------------------------------------------------- */

struct pod_status_write {
    struct rest_client *client;
    const struct kind *kind;
    rest_done_fn *fn;
    void *ctx;
    struct arena arena;
    struct str namespace, name;
    struct buf patch;
    struct rest_call *call;
    struct loop_timer timer;
    struct backoff backoff;
    int tries;
};

static void write_free(struct pod_status_write *w)
{
    rest_cancel(w->call);
    loop_timer_stop(&w->timer);
    buf_release(&w->patch);
    arena_release(&w->arena);
    free(w);
}

struct pod_status_write *pod_status_write_cancel(struct pod_status_write *w)
{
    if (w)
        write_free(w);
    return NULL;
}

static void finish(struct pod_status_write *w, const struct rest_result *result)
{
    rest_done_fn *fn = w->fn;
    void *ctx = w->ctx;

    write_free(w);
    fn(ctx, result);
}

static void on_patched(void *ctx, const struct rest_result *result)
{
    struct pod_status_write *w = ctx;

    w->call = NULL;
    if (result->code < 0 && rest_is_retriable(result) && ++w->tries < STATUS_TRIES)
        loop_timer_set(&w->timer, backoff_next(&w->backoff, loop_now(rest_client_loop(w->client))));
    else
        finish(w, result);
}

static void on_timer(struct loop_timer *timer)
{
    struct pod_status_write *w = CONTAINER_OF(timer, struct pod_status_write, timer);
    struct rest_request request = {
        .verb = REST_PATCH_STRATEGIC,
        .kind = w->kind,
        .namespace = w->namespace,
        .name = w->name,
        .subresource = STR_INIT("status"),
        .text = buf_str(&w->patch),
    };

    if (w->patch.n == 0)
        finish(w, &(struct rest_result){.kind = w->kind});
    else
        w->call = rest_send(w->client, &request, on_patched, w);
}

/* The caller fills the patch; an empty one is not sent. */
static struct pod_status_write *new_write(struct rest_client *client, enum kind_id kind,
                                          const struct object_meta *meta, rest_done_fn *fn,
                                          void *ctx)
{
    static const struct backoff_options tries = {10 * NSEC_PER_MSEC, NSEC_PER_SEC, 5, 0.1, 0};
    struct pod_status_write *w = xnew(struct pod_status_write);

    w->client = client;
    w->kind = kind_get(kind);
    w->fn = fn;
    w->ctx = ctx;
    arena_init(&w->arena, 0);
    w->namespace = arena_dup(&w->arena, meta->namespace);
    w->name = arena_dup(&w->arena, meta->name);
    backoff_init(&w->backoff, &tries, str_hash(w->name));
    loop_timer_init(&w->timer, rest_client_loop(client), on_timer);
    loop_timer_set(&w->timer, 0);
    return w;
}

struct pod_status_write *pod_status_write(struct rest_client *client,
                                          const struct pod_status_change *change, rest_done_fn *fn,
                                          void *ctx)
{
    struct pod_status_write *w = new_write(client, KIND_POD, &change->pod->metadata, fn, ctx);

    if (!pod_status_patch(change, timestamp_of(time_wall()), &w->patch))
        buf_clear(&w->patch);
    return w;
}

/* --- PodGroups -------------------------------------------------------------------------------- */

static struct timestamp transition_time(const struct pod_group *group, const struct condition *new)
{
    for (size_t i = 0; i < group->status.conditions.n; i++) {
        const struct condition *old = &group->status.conditions.v[i];

        if (str_eq(old->type, new->type) && str_eq(old->status, new->status))
            return old->last_transition_time;
    }
    return timestamp_of(time_wall());
}

struct pod_status_write *pod_group_status_write(struct rest_client *client,
                                                const struct pod_group *group,
                                                const struct condition *condition, rest_done_fn *fn,
                                                void *ctx)
{
    struct pod_status_write *w = new_write(client, KIND_POD_GROUP, &group->metadata, fn, ctx);
    struct condition full = *condition;

    full.observed_generation = group->metadata.generation;
    full.last_transition_time = transition_time(group, condition);
    buf_add_cstr(&w->patch, "{\"status\":{\"conditions\":[");
    json_encode(&condition_type, &full, &w->patch);
    buf_add_cstr(&w->patch, "]}}");
    return w;
}
