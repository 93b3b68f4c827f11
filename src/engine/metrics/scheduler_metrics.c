/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scheduler_metrics.c - upstream: pkg/scheduler/metrics.
 *
 * A tally is created when its combination of labels first occurs, so that series exist exactly as
 * upstream's do; those that upstream creates at start are created at start.
 */
#include "engine/metrics/scheduler_metrics.h"

#include "engine/framework/setup.h"

/* Upstream: pluginMetricsSamplePercent. */
#define SAMPLE_PERCENT 10

static const char *const point_names[METRIC_POINT_COUNT] = {
    [METRIC_PRE_ENQUEUE] = "PreEnqueue",
    [METRIC_PRE_FILTER] = "PreFilter",
    [METRIC_PRE_FILTER_ADD_POD] = "PreFilterExtensionAddPod",
    [METRIC_PRE_FILTER_REMOVE_POD] = "PreFilterExtensionRemovePod",
    [METRIC_FILTER] = "Filter",
    [METRIC_POST_FILTER] = "PostFilter",
    [METRIC_PRE_SCORE] = "PreScore",
    [METRIC_SCORE] = "Score",
    [METRIC_NORMALIZE] = "ScoreExtensionNormalize",
    [METRIC_RESERVE] = "Reserve",
    [METRIC_UNRESERVE] = "Unreserve",
    [METRIC_PERMIT] = "Permit",
    [METRIC_PRE_BIND_PRE_FLIGHT] = "PreBindPreFlight",
    [METRIC_PRE_BIND] = "PreBind",
    [METRIC_BIND] = "Bind",
    [METRIC_POST_BIND] = "PostBind",
    [METRIC_SIGN] = "Sign",
    [METRIC_PLACEMENT_GENERATE] = "PlacementGenerate",
    [METRIC_PLACEMENT_SCORE] = "PlacementScore",
    [METRIC_PLACEMENT_NORMALIZE] = "PlacementScoreExtensionNormalize",
};

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static struct str code_label(size_t code)
{
    return str_of(code_name((enum berth_code)code));
}

/* --- tallies ---------------------------------------------------------------------------------- */

/* The tally in this place of a table, created on first use. */
#define TALLY(m, place, family, ...) \
    (*(place) ? *(place) : make_tally((m), (place), (family), (struct str[]){__VA_ARGS__}))

static struct metric_tally *make_tally(struct scheduler_metrics *m, struct metric_tally **place,
                                       enum scheduler_family family, const struct str *values)
{
    return *place = metric_tally_new(&m->board, m->families[family], values);
}

static struct plugin_metrics *plugin_metrics(struct scheduler_metrics *m, uint16_t plugin)
{
    if (!m->plugins[plugin])
        m->plugins[plugin] = arena_new(&m->board.arena, struct plugin_metrics);
    return m->plugins[plugin];
}

/* --- lifecycle -------------------------------------------------------------------------------- */

/* Created at start, as upstream. */
static void make_first_tallies(struct scheduler_metrics *m)
{
    static const char *const queues[] = {"active", "backoff", "unschedulable", "gated"};
    static const char *const types[] = {"nodes", "pods", "assumed_pods"};
    for (size_t i = 0; i < ARRAY_LEN(queues); i++)
        TALLY(m, &m->pending[i], FAMILY_PENDING_PODS, str_of(queues[i]));
    m->algorithm = metric_tally_new(&m->board, m->families[FAMILY_ALGORITHM], NULL);
    m->pod_attempts =
        metric_tally_new(&m->board, m->families[FAMILY_POD_SCHEDULING_ATTEMPTS], NULL);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        TALLY(m, &m->cache[i], FAMILY_CACHE_SIZE, str_of(types[i]));
    m->after_flush =
        metric_tally_new(&m->board, m->families[FAMILY_POD_SCHEDULED_AFTER_FLUSH], NULL);
}

struct scheduler_metrics *scheduler_metrics_new(const struct scheduler_metrics_options *options)
{
    struct scheduler_metrics *m = xnew(struct scheduler_metrics);
    m->now = options->now;
    m->ctx = options->ctx;
    rand_seed(&m->rand, options->seed);
    metric_tally_board_init(&m->board);
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        const struct scheduler_family_desc *d = &scheduler_families[i];
        if (!d->gate || features_enabled(options->features, d->gate))
            m->families[i] = metrics_add(options->registry, &d->metric);
    }
    make_first_tallies(m);
    return m;
}

/* The queue is gone: its gauges are zero. */
static void clear_gauges(struct scheduler_metrics *m)
{
    static const struct scheduler_gauges none = {0};
    for (size_t i = 0; i < EVENT_NUMBERS; i++)
        if (m->in_flight[i])
            metric_tally_set(&m->board, m->in_flight[i], 0);
    if (m->popped)
        metric_tally_set(&m->board, m->popped, 0);
    for (struct profile_metrics *p = m->profiles; p; p = p->next)
        for (size_t i = 0; i < FRAMEWORK_MAX_PLUGINS; i++)
            if (p->unschedulable[i])
                metric_tally_set(&m->board, p->unschedulable[i], 0);
    scheduler_metrics_publish(m, &none, m->published);
}

struct scheduler_metrics *scheduler_metrics_free(struct scheduler_metrics *m)
{
    if (!m)
        return NULL;
    clear_gauges(m);
    metric_tally_board_release(&m->board);
    free(m);
    return NULL;
}

static struct profile_metrics *find_profile(struct scheduler_metrics *m, struct str name)
{
    struct profile_metrics *p = m->profiles;
    while (p && !str_eq(p->name, name))
        p = p->next;
    if (p)
        return p;
    p = arena_new(&m->board.arena, struct profile_metrics);
    p->name = arena_dup(&m->board.arena, name);
    p->next = m->profiles;
    return m->profiles = p;
}

struct profile_metrics *scheduler_metrics_profile(struct scheduler_metrics *m,
                                                  const struct profile *profile)
{
    static const struct {
        enum point point;
        enum metric_point label;
    } at[EVALUATION_COUNT] = {
        [EVALUATION_PRE_FILTER] = {POINT_PRE_FILTER, METRIC_PRE_FILTER},
        [EVALUATION_FILTER] = {POINT_FILTER, METRIC_FILTER},
        [EVALUATION_PRE_SCORE] = {POINT_PRE_SCORE, METRIC_PRE_SCORE},
        [EVALUATION_SCORE] = {POINT_SCORE, METRIC_SCORE},
    };
    struct profile_metrics *p = find_profile(m, profile->scheduler_name);
    for (size_t k = 0; k < EVALUATION_COUNT; k++) {
        const handle_list *list = &profile->at[at[k].point];
        for (size_t i = 0; i < list->n; i++)
            TALLY(m, &p->evaluations[k][list->v[i]->id], FAMILY_PLUGIN_EVALUATION,
                  str_of(list->v[i]->plugin->name), str_of(point_names[at[k].label]), p->name);
    }
    return p;
}

void scheduler_metrics_forget_plugin(struct scheduler_metrics *m, size_t id)
{
    m->plugins[id] = NULL;
    for (struct profile_metrics *p = m->profiles; p; p = p->next) {
        p->unschedulable[id] = NULL;
        for (size_t k = 0; k < EVALUATION_COUNT; k++)
            p->evaluations[k][id] = NULL;
    }
}

/* --- attempts --------------------------------------------------------------------------------- */

bool scheduler_metrics_sample(struct scheduler_metrics *m)
{
    return rand_below(&m->rand, 100) < SAMPLE_PERCENT;
}

void scheduler_metrics_attempt(struct scheduler_metrics *m, struct profile_metrics *p,
                               enum metric_result result, int64_t ns)
{
    static const char *const names[RESULT_COUNT] = {
        [RESULT_SCHEDULED] = "scheduled",
        [RESULT_UNSCHEDULABLE] = "unschedulable",
        [RESULT_ERROR] = "error",
    };
    struct str name = str_of(names[result]);
    metric_tally_add(&m->board,
                     TALLY(m, &p->attempts[result], FAMILY_SCHEDULE_ATTEMPTS, name, p->name), 1);
    metric_tally_observe(&m->board,
                         TALLY(m, &p->durations[result], FAMILY_ATTEMPT_DURATION, name, p->name),
                         seconds(ns), 1);
}

void scheduler_metrics_algorithm(struct scheduler_metrics *m, int64_t ns)
{
    metric_tally_observe(&m->board, m->algorithm, seconds(ns), 1);
}

static struct metric_tally *make_sli(struct scheduler_metrics *m, uint32_t attempts)
{
    char label[] = {'0', '0', '+', '\0'};
    struct str s = {label, 3};
    label[0] = (char)('0' + attempts / 10);
    label[1] = (char)('0' + attempts % 10);
    s.n -= attempts < METRIC_MAX_ATTEMPTS;
    if (attempts < 10)
        s = str_slice(s, 1, s.n);
    return make_tally(m, &m->sli[attempts - 1], FAMILY_POD_SCHEDULING_SLI, &s);
}

void scheduler_metrics_bound(struct scheduler_metrics *m, uint32_t attempts, int64_t ns,
                             bool was_flushed)
{
    uint32_t row = MAX(1u, MIN(attempts, (uint32_t)METRIC_MAX_ATTEMPTS));
    metric_tally_observe(&m->board, m->pod_attempts, attempts, 1);
    if (ns >= 0)
        metric_tally_observe(&m->board, m->sli[row - 1] ? m->sli[row - 1] : make_sli(m, row),
                             seconds(ns), 1);
    if (was_flushed)
        metric_tally_add(&m->board, m->after_flush, 1);
}

void scheduler_metrics_point(struct scheduler_metrics *m, struct profile_metrics *p,
                             enum metric_point point, enum berth_code code, int64_t ns)
{
    size_t c = metric_code(code);
    struct metric_tally *t = TALLY(m, &p->points[point][c], FAMILY_EXTENSION_POINT,
                                   str_of(point_names[point]), code_label(c), p->name);
    metric_tally_observe(&m->board, t, seconds(ns), 1);
}

void scheduler_metrics_plugin(struct scheduler_metrics *m, const struct berth_handle *h,
                              enum metric_point point, enum berth_code code, int64_t ns, size_t n)
{
    size_t c = metric_code(code);
    struct plugin_metrics *plugin = plugin_metrics(m, h->id);
    if (!n)
        return;
    struct metric_tally *t =
        TALLY(m, &plugin->executions[point][c], FAMILY_PLUGIN_EXECUTION, str_of(h->plugin->name),
              str_of(point_names[point]), code_label(c));
    metric_tally_observe(&m->board, t, seconds(ns) / (double)n, (uint32_t)n);
}

void scheduler_metrics_permit_wait(struct scheduler_metrics *m, enum berth_code code, int64_t ns)
{
    size_t c = metric_code(code);
    metric_tally_observe(&m->board, TALLY(m, &m->permit_wait[c], FAMILY_PERMIT_WAIT, code_label(c)),
                         seconds(ns), 1);
}

/* --- queue and cache -------------------------------------------------------------------------- */

/* The tally for an event; extra: the other labels; `at`: the index of the event's label. */
static struct metric_tally *event_tally(struct scheduler_metrics *m, struct metric_tally **place,
                                        enum scheduler_family family,
                                        const struct cluster_event *event, struct str *values,
                                        size_t at)
{
    if (*place)
        return *place;
    struct buf label = BUF_INIT;
    event_write_label(event, &label);
    values[at] = buf_str(&label);
    make_tally(m, place, family, values);
    buf_release(&label);
    return *place;
}

void scheduler_metrics_incoming(struct scheduler_metrics *m, enum metric_queue queue,
                                const struct cluster_event *event)
{
    static const char *const names[INCOMING_COUNT] = {"active", "backoff", "unschedulable"};
    struct str values[] = {str_of(names[queue]), STR("")};
    struct metric_tally *t = event_tally(m, &m->incoming[queue][event_number(event)],
                                         FAMILY_QUEUE_INCOMING_PODS, event, values, 1);
    metric_tally_add(&m->board, t, 1);
}

void scheduler_metrics_in_flight(struct scheduler_metrics *m, const struct cluster_event *event,
                                 int delta)
{
    struct str values[] = {STR("PodPopped")};
    struct metric_tally *t;
    if (!m->families[FAMILY_INFLIGHT_EVENTS])
        return;
    if (event)
        t = event_tally(m, &m->in_flight[event_number(event)], FAMILY_INFLIGHT_EVENTS, event,
                        values, 0);
    else
        t = TALLY(m, &m->popped, FAMILY_INFLIGHT_EVENTS, values[0]);
    metric_tally_add(&m->board, t, delta);
}

void scheduler_metrics_rejected(struct scheduler_metrics *m, const struct profile *profile,
                                const struct plugin_set *a, const struct plugin_set *b, int delta)
{
    struct profile_metrics *p = profile->metrics;
    for (size_t word = 0; word < ARRAY_LEN(a->words); word++)
        for (uint64_t bits = a->words[word] | b->words[word]; bits; bits &= bits - 1) {
            size_t id = word * 64 + (size_t)__builtin_ctzll(bits);
            struct metric_tally *t = TALLY(m, &p->unschedulable[id], FAMILY_UNSCHEDULABLE_PODS,
                                           profile->setup->framework->plugin_names.v[id], p->name);
            metric_tally_add(&m->board, t, delta);
        }
}

void scheduler_metrics_gated(struct scheduler_metrics *m, const struct profile *profile,
                             const struct berth_handle *gate, const struct plugin_set *a,
                             const struct plugin_set *b)
{
    struct plugin_set set = {0};
    if (plugin_set_has(a, gate->id) || plugin_set_has(b, gate->id))
        return;
    plugin_set_add(&set, gate->id);
    scheduler_metrics_rejected(m, profile, &set, &set, 1);
}

void scheduler_metrics_handled(struct scheduler_metrics *m, const struct cluster_event *event,
                               int64_t ns)
{
    struct str values[1];
    struct metric_tally *t =
        event_tally(m, &m->handled[event_number(event)], FAMILY_EVENT_HANDLING, event, values, 0);
    metric_tally_observe(&m->board, t, seconds(ns), 1);
}

void scheduler_metrics_hint(struct scheduler_metrics *m, const struct berth_handle *h,
                            const struct cluster_event *event, enum berth_hint hint, int64_t ns,
                            size_t n)
{
    struct str values[] = {str_of(h->plugin->name), STR(""),
                           hint == BERTH_QUEUE_SKIP ? STR("QueueSkip") : STR("Queue")};
    struct plugin_metrics *plugin = plugin_metrics(m, h->id);
    if (!n || !m->families[FAMILY_QUEUEING_HINT])
        return;
    struct metric_tally *t =
        event_tally(m, &plugin->hints[event_number(event)][hint != BERTH_QUEUE_SKIP],
                    FAMILY_QUEUEING_HINT, event, values, 1);
    metric_tally_observe(&m->board, t, seconds(ns) / (double)n, (uint32_t)n);
}

/* --- publishing ------------------------------------------------------------------------------- */

/* Was there such work before? Its duration metrics show it. */
static bool has_worked(const struct scheduler_metrics *m, enum metric_work work)
{
    static const enum metric_point points[WORK_COUNT] = {
        [WORK_BINDING] = METRIC_PRE_BIND_PRE_FLIGHT,
        [WORK_PRIORITIZING_EXTENDER] = METRIC_POINT_COUNT,
        [WORK_FILTER] = METRIC_FILTER,
        [WORK_SCORE] = METRIC_SCORE,
    };
    if (points[work] == METRIC_POINT_COUNT)
        return false;
    for (const struct profile_metrics *p = m->profiles; p; p = p->next)
        for (size_t code = 0; code < METRIC_CODES; code++)
            if (p->points[points[work]][code])
                return true;
    return false;
}

static void set_gauges(struct scheduler_metrics *m, const struct scheduler_gauges *g)
{
    static const char *const work[WORK_COUNT] = {"binding", "prioritizing_extender", "Filter",
                                                 "Score"};
    size_t pending[] = {g->active, g->backoff, g->unschedulable, g->gated};
    size_t cache[] = {g->nodes, g->pods, g->assumed_pods};
    for (size_t i = 0; i < ARRAY_LEN(pending); i++)
        metric_tally_set(&m->board, m->pending[i], (double)pending[i]);
    for (size_t i = 0; i < ARRAY_LEN(cache); i++)
        metric_tally_set(&m->board, m->cache[i], (double)cache[i]);
    for (size_t i = 0; i < WORK_COUNT; i++)
        if (m->work[i] || g->work[i] || has_worked(m, (enum metric_work)i))
            metric_tally_set(&m->board, TALLY(m, &m->work[i], FAMILY_GOROUTINES, str_of(work[i])),
                             (double)g->work[i]);
}

void scheduler_metrics_publish(struct scheduler_metrics *m, const struct scheduler_gauges *gauges,
                               int64_t now)
{
    set_gauges(m, gauges);
    metric_tally_publish(&m->board);
    m->published = now;
}

/* --- for plugins ------------------------------------------------------------------------------ */

void scheduler_metrics_add(struct scheduler_metrics *m, enum scheduler_family family,
                           const struct str *values, double delta)
{
    if (m && m->families[family])
        metric_add(metric_with(m->families[family], values), delta);
}

void scheduler_metrics_observe(struct scheduler_metrics *m, enum scheduler_family family,
                               const struct str *values, double value)
{
    if (m && m->families[family])
        metric_observe(metric_with(m->families[family], values), value);
}

void scheduler_metrics_preemption_attempt(struct scheduler_metrics *m)
{
    scheduler_metrics_add(m, FAMILY_PREEMPTION_ATTEMPTS, NULL, 1);
}

void scheduler_metrics_preemption_victims(struct scheduler_metrics *m, size_t victims)
{
    scheduler_metrics_observe(m, FAMILY_PREEMPTION_VICTIMS, NULL, (double)victims);
}

void scheduler_metrics_preemption_done(struct scheduler_metrics *m, bool ok, int64_t ns)
{
    struct str result = ok ? STR("success") : STR("error");
    scheduler_metrics_add(m, FAMILY_PREEMPTION_GOROUTINES, &result, 1);
    scheduler_metrics_observe(m, FAMILY_PREEMPTION_GOROUTINES_DURATION, &result, seconds(ns));
}

/* --- pod groups ------------------------------------------------------------------------------- */

void scheduler_metrics_group_algorithm(struct scheduler_metrics *m, int64_t ns)
{
    scheduler_metrics_observe(m, FAMILY_POD_GROUP_ALGORITHM, NULL, seconds(ns));
}

void scheduler_metrics_group_attempt(struct scheduler_metrics *m, struct str profile,
                                     enum metric_group_result result, int64_t ns)
{
    static const char *const names[] = {
        [METRIC_GROUP_SCHEDULED] = "scheduled",
        [METRIC_GROUP_UNSCHEDULABLE] = "unschedulable",
        [METRIC_GROUP_WAITING_ON_PREEMPTION] = "waiting_on_preemption",
        [METRIC_GROUP_ERROR] = "error",
    };
    struct str values[] = {str_of(names[result]), profile};
    scheduler_metrics_add(m, FAMILY_POD_GROUP_ATTEMPTS, values, 1);
    scheduler_metrics_observe(m, FAMILY_POD_GROUP_ATTEMPT_DURATION, values, seconds(ns));
}
