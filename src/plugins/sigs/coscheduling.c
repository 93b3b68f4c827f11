/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Coscheduling of sigs.k8s.io/scheduler-plugins: pods that name a PodGroup run when minMember of
 * them have a node, and not before. Where upstream admits a part of a group, keeps nodes that the
 * group cannot use, or lets two groups block each other, this plugin does not: pg_state.h.
 */
#include "engine/cycle/cycle.h"
#include "plugins/common/in_tree.h"
#include "plugins/common/plugin_args.h"
#include "plugins/common/plugin_base.h"
#include "plugins/sigs/pg_resources.h"
#include "plugins/sigs/pg_state.h"

#define SECOND ((int64_t)1000000000)

/* --- arguments -------------------------------------------------------------------------------- */

struct coscheduling_args {
    struct args_meta meta;
    int64_t *permit_waiting_time_seconds;
    int64_t *pod_group_backoff_seconds;
    int32_t *pod_group_reject_percentage;
};

static const struct field args_fields[] = {
    ARGS_META_FIELDS(struct coscheduling_args),
    F_PTR(struct coscheduling_args, permit_waiting_time_seconds, "permitWaitingTimeSeconds", 0,
          INT64),
    F_PTR(struct coscheduling_args, pod_group_backoff_seconds, "podGroupBackoffSeconds", 0, INT64),
    F_PTR(struct coscheduling_args, pod_group_reject_percentage, "podGroupRejectPercentage", 0,
          INT32),
};
static const struct type args_type =
    TYPE("CoschedulingArgs", struct coscheduling_args, args_fields);

static void fill_seconds(int64_t **seconds, int64_t value, struct arena *a)
{
    if (*seconds)
        return;
    *seconds = arena_new(a, int64_t);
    **seconds = value;
}

static void fill(void *ctx, struct arena *a)
{
    struct coscheduling_args *args = ctx;
    fill_seconds(&args->permit_waiting_time_seconds, 60, a);
    fill_seconds(&args->pod_group_backoff_seconds, 0, a);
    if (!args->pod_group_reject_percentage) {
        args->pod_group_reject_percentage = arena_new(a, int32_t);
        *args->pod_group_reject_percentage = 10;
    }
}

static void check_seconds(const char *field, int64_t seconds, struct error_list *c)
{
    if (seconds < 0)
        error_list_add(c, "%s: Invalid value: %lld: must be greater than 0", field,
                       (long long)seconds);
}

static void check(const void *ctx, struct error_list *c)
{
    const struct coscheduling_args *args = ctx;
    int percentage = *args->pod_group_reject_percentage;
    check_seconds("permitWaitingTimeSeconds", *args->permit_waiting_time_seconds, c);
    check_seconds("podGroupBackoffSeconds", *args->pod_group_backoff_seconds, c);
    if (percentage < 0 || percentage > 100)
        error_list_add(c, "podGroupRejectPercentage: Invalid value: %d: must be between 0 and 100",
                       percentage);
}

const struct args_kind coscheduling_args_kind = {
    .plugin = "Coscheduling",
    .name = "CoschedulingArgs",
    .type = &args_type,
    .fill = fill,
    .check = check,
    .checked_late = true,
};

/* --- plugin ----------------------------------------------------------------------------------- */

struct coscheduling {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct pg_state *state;
    int64_t permit_timeout, backoff; /* ns */
    double reject_above;             /* the part of minMember that may be missing */
};

static int64_t seconds_of(int64_t seconds)
{
    return MIN(seconds, INT64_MAX / SECOND) * SECOND;
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str text,
                  void **ret_self, struct berth_error *error)
{
    struct coscheduling_args args;
    struct arena arena;
    arena_init(&arena, 0);
    int r = plugin_args_read(&coscheduling_args_kind, text, &arena, &args, error);
    if (r == 0) {
        struct coscheduling *self = xnew(struct coscheduling);
        *self = (struct coscheduling){
            .host = host,
            .handle = h,
            .state = pg_state_shared(host, h),
            .permit_timeout = seconds_of(*args.permit_waiting_time_seconds),
            .backoff = seconds_of(*args.pod_group_backoff_seconds),
            .reject_above = *args.pod_group_reject_percentage / 100.0,
        };
        *ret_self = self;
    }
    arena_release(&arena);
    return r;
}

static void log_pod(const struct coscheduling *self, int level, struct berth_str message,
                    const struct berth_pod *pod, struct berth_str node_name)
{
    if (!self->host->log_enabled(self->handle, level))
        return;
    struct berth_kv kv[] = {BERTH_KV_POD("pod", pod), BERTH_KV_STR("nodeName", node_name)};
    self->host->log(self->handle, level, message, kv, node_name.n ? 2 : 1);
}

/* --- QueueSort -------------------------------------------------------------------------------- */

/* Compares "namespace/name" as one text, as upstream does. */
static int compare_names(const struct object_meta *a, struct str name_a,
                         const struct object_meta *b, struct str name_b)
{
    if (str_eq(a->namespace, b->namespace))
        return str_cmp(name_a, name_b);
    size_t n = MIN(a->namespace.n, b->namespace.n);
    int r = str_cmp(str_slice(a->namespace, 0, n), str_slice(b->namespace, 0, n));
    if (r)
        return r;
    /* One of them is the beginning of the other; '/' follows it. */
    return a->namespace.n == n ? '/' - b->namespace.p[n] : a->namespace.p[n] - '/';
}

/* The pod's group; a pod without one is a group of its own. */
static struct str group_name(const struct pod *pod)
{
    struct str name = pg_label(pod);
    return str_empty(name) ? pod->metadata.name : name;
}

/* Members of a group stay together even if another group is as old: upstream mixes them. */
static bool less(void *ctx, const struct berth_queued_pod *a, const struct berth_queued_pod *b)
{
    const struct coscheduling *self = ctx;
    const struct pod *x = a->pod->pod, *y = b->pod->pod;
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    int64_t mine = pg_order(self->state, a), other = pg_order(self->state, b);
    if (mine != other)
        return mine < other;
    int r = compare_names(&x->metadata, group_name(x), &y->metadata, group_name(y));
    if (r)
        return r < 0;
    return compare_names(&x->metadata, x->metadata.name, &y->metadata, y->metadata.name) < 0;
}

/* --- PreFilter -------------------------------------------------------------------------------- */

static enum berth_code reject_recent(const struct coscheduling *self, const struct pg *g,
                                     struct berth_status *status)
{
    status_printf(self->host, status, "podGroup %s failed recently", g->key);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* Whether enough members exist, gated ones counting as missing. */
static bool has_quorum(const struct coscheduling *self, const struct pg *g, const struct pod *pod,
                       struct berth_status *status)
{
    int32_t least = g->body.spec.min_member;
    if ((int64_t)g->n_present < least) {
        status_printf(self->host, status,
                      "pre-filter pod %.*s cannot find enough sibling pods, current pods number: "
                      "%zu, minMember of group: %d",
                      STR_ARG(pod->metadata.name), g->n_present, least);
        return false;
    }
    if ((int64_t)(g->n_present - g->n_gated) < least) {
        status_printf(self->host, status,
                      "pre-filter pod %.*s cannot proceed due to gated pods in the same PodGroup",
                      STR_ARG(pod->metadata.name));
        return false;
    }
    return true;
}

/* How long a check of minResources counts. A cache of upstream has 3 s as its default. */
static int64_t permitted_for(const struct coscheduling *self)
{
    return self->permit_timeout ? self->permit_timeout : 3 * SECOND;
}

static bool has_room(const struct coscheduling *self, struct pg *g, struct berth_status *status)
{
    int64_t now = self->host->now(self->handle);
    struct buf gap = BUF_INIT;
    g->lacks_room = false;
    if (!g->body.spec.has_min_resources || now < g->permitted_until)
        return true;
    g->lacks_room = !pg_resources_free(g, &gap);
    if (g->lacks_room)
        status_printf(self->host, status, "resource gap: %s", buf_cstr(&gap));
    else
        g->permitted_until = now + permitted_for(self);
    buf_release(&gap);
    return !g->lacks_room;
}

static enum berth_code pre_filter(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                                  struct berth_status *status)
{
    const struct coscheduling *self = ctx;
    struct pg *g = pg_of(self->state, pod->pod);
    struct pg_member *m = pg_member_of(self->state, pod->pod);
    if (!g || !g->object)
        return BERTH_SUCCESS;
    /* The nodes that a group gives up wake the member that failed: not before its backoff ends. */
    if (cycle->queued)
        cycle->queued->patient = true;
    if (g->backoff_until)
        return reject_recent(self, g, status);
    if (!has_quorum(self, g, pod->pod, status))
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    if (m && !pg_try(g, m))
        return reject_recent(self, g, status);
    return has_room(self, g, status) ? BERTH_SUCCESS : BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* --- PostFilter ------------------------------------------------------------------------------- */

/*
 * Upstream gives up if the part that is missing is larger than podGroupRejectPercentage, even if
 * other members can take this one's place; if it is smaller, it keeps the nodes of the group until
 * Permit times out. Here the group gives up when the members that have not been tried cannot
 * complete it. The percentage decides what is reported, and whether the group backs off.
 */
static enum berth_code post_filter(void *ctx, struct berth_cycle *cycle,
                                   const struct berth_pod *pod, struct berth_status *status)
{
    (void)cycle;
    const struct coscheduling *self = ctx;
    struct pg *g = pg_of(self->state, pod->pod);
    struct pg_member *m = pg_member_of(self->state, pod->pod);
    static const struct str reason = STR_INIT("optimistic rejection in PostFilter");
    if (!g || !g->object) {
        self->host->status_text(status, BERTH_STR("can not find pod group"));
        return BERTH_UNSCHEDULABLE;
    }
    int64_t least = g->body.spec.min_member, missing = least - (int64_t)g->n_assigned;
    if (missing <= 0)
        return BERTH_UNSCHEDULABLE;
    if (m)
        pg_member_failed(m);
    bool small = (double)missing / (double)least <= self->reject_above;
    if (!pg_reachable(g)) {
        pg_give_up(g, reason);
        if (!small && self->backoff && (int64_t)g->n_present >= least)
            pg_back_off(g, self->backoff);
    }
    if (small)
        return BERTH_UNSCHEDULABLE;
    status_printf(self->host, status,
                  "PodGroup %s gets rejected due to Pod %.*s is unschedulable even after "
                  "PostFilter",
                  g->key, STR_ARG(pod->pod->metadata.name));
    return BERTH_UNSCHEDULABLE;
}

/* --- Permit and Reserve ----------------------------------------------------------------------- */

/* scheduleTimeoutSeconds, or permitWaitingTimeSeconds, or a minute; 0 in either means the next. */
static int64_t wait_of(const struct coscheduling *self, const struct pg *g)
{
    const int32_t *seconds = g->body.spec.schedule_timeout_seconds;
    if (seconds)
        return *seconds ? *seconds * SECOND : self->permit_timeout;
    return self->permit_timeout ? self->permit_timeout : 60 * SECOND;
}

static enum berth_code permit(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    (void)cycle;
    struct coscheduling *self = ctx;
    if (str_empty(pg_label(pod->pod)))
        return BERTH_SUCCESS;
    struct pg *g = pg_of(self->state, pod->pod);
    struct pg_member *m = pg_member_of(self->state, pod->pod);
    if (!g || !g->object || !m) {
        self->host->status_text(status, BERTH_STR("PodGroup not found"));
        return BERTH_UNSCHEDULABLE;
    }
    if (pg_hold(m)) {
        log_pod(self, 3, BERTH_STR("Permit allows"), pod, BERTH_STR(""));
        return BERTH_SUCCESS;
    }
    pg_wait(m, self->handle);
    log_pod(self, 0, BERTH_STR("Pod is waiting to be scheduled to node"), pod, node_name);
    *ret_timeout_ns = wait_of(self, g);
    return BERTH_WAIT;
}

/* One member lost its node, by a timeout, a preemption or an error: the others wait in vain. */
static void unreserve(void *ctx, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle, (void)node_name;
    const struct coscheduling *self = ctx;
    struct pg_member *m = pg_member_of(self->state, pod->pod);
    struct pg *g = pg_of(self->state, pod->pod);
    if (m)
        pg_release(m);
    if (g && g->object)
        pg_give_up(g, STR("rejection in Unreserve"));
}

/* --- events ----------------------------------------------------------------------------------- */

static enum berth_hint hint_member(void *ctx, const struct berth_pod *pod,
                                   const struct berth_object *before,
                                   const struct berth_object *after)
{
    (void)ctx, (void)before;
    const struct pod *added = hint_pod(after);
    return hint_if(str_eq(pg_label(added), pg_label(pod->pod)) &&
                   str_eq(added->metadata.namespace, pod->pod->metadata.namespace));
}

/* Not for a change of its status, which every attempt may cause. */
static enum berth_hint hint_group(void *ctx, const struct berth_pod *pod,
                                  const struct berth_object *before,
                                  const struct berth_object *after)
{
    (void)ctx;
    const struct object_meta *meta = hint_meta(after);
    if (!str_eq(meta->name, pg_label(pod->pod)) ||
        !str_eq(meta->namespace, pod->pod->metadata.namespace))
        return BERTH_QUEUE_SKIP;
    return hint_if(!before || !pg_object_same_spec(object_of_abi(before), object_of_abi(after)));
}

/* Room for minResources may be free now. Upstream tries such a group after five minutes. */
static enum berth_hint hint_room(void *ctx, const struct berth_pod *pod,
                                 const struct berth_object *before,
                                 const struct berth_object *after)
{
    (void)before, (void)after;
    const struct coscheduling *self = ctx;
    const struct pg *g = pg_of(self->state, pod->pod);
    return hint_if(g && g->lacks_room);
}

static void events(void *ctx, struct berth_registrar *r)
{
    const struct coscheduling *self = ctx;
    const struct berth_host *host = self->host;
    host->register_event(r, BERTH_RESOURCE_POD, BERTH_ACTION_ADD, hint_member);
    host->register_event(r, self->state->resource, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE,
                         hint_group);
    host->register_event(r, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_DELETE, hint_room);
    host->register_event(r, BERTH_RESOURCE_NODE,
                         BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_ALLOCATABLE, hint_room);
}

const struct berth_plugin coscheduling_plugin = {
    PLUGIN_HEAD("Coscheduling"),
    .create = create,
    .destroy = free,
    .events = events,
    .less = less,
    .pre_filter = pre_filter,
    .post_filter = post_filter,
    .unreserve = unreserve,
    .permit = permit,
};
