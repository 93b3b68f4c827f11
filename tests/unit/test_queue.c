/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduling queue: every rule by name, then random streams compared with a slow model. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"
#include "engine/framework/status.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "prop.h"
#include "queue_model.h"

/* --- a queue with scripted plugins ------------------------------------------------------------ */

enum plugin_number {
    SORT,
    ON_NODE_ADD,
    ON_LABEL,
    ON_POD_UPDATE,
    ON_ANYTHING,
    ON_TAINT,
    ON_NOTHING,
    ON_POD_LABEL,
    GATE,
    GATE_TWO,
    GATE_ANYTHING,
    N_PLUGINS,
};
#define BIT(plugin) (1u << (plugin))
#define BOTH        3

#define EVENT(r, a, h) {BERTH_RESOURCE_##r, (a), (h)}
static const struct world_plugin world_plugins[N_PLUGINS] = {
    [SORT] = {"Sort", BOTH, .events = {{0}}},
    [ON_NODE_ADD] = {"OnNodeAdd", BOTH, .events = {EVENT(NODE, BERTH_ACTION_ADD, true)},
                     .n_events = 1},
    [ON_LABEL] = {"OnLabel", 1,
                  .events = {EVENT(NODE, BERTH_ACTION_UPDATE_NODE_LABEL, true),
                             EVENT(POD, BERTH_ACTION_DELETE, false)},
                  .n_events = 2},
    [ON_POD_UPDATE] = {"OnPodUpdate", 1,
                       .events = {EVENT(POD, BERTH_ACTION_UPDATE, true),
                                  EVENT(PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD, true)},
                       .n_events = 2},
    [ON_ANYTHING] = {"OnAnything", BOTH, .any_event = true},
    [ON_TAINT] = {"OnTaint", BOTH,
                  .events = {EVENT(NODE, BERTH_ACTION_ADD | BERTH_ACTION_UPDATE_NODE_TAINT, true)},
                  .n_events = 1},
    [ON_NOTHING] = {"OnNothing", 1, .events = {{0}}},
    [ON_POD_LABEL] = {"OnPodLabel", 1,
                      .events = {EVENT(
                          POD, BERTH_ACTION_UPDATE_POD_LABEL | BERTH_ACTION_UPDATE_POD_TOLERATION,
                          true)},
                      .n_events = 1},
    [GATE] = {"Gate", 1, .gate = true,
              .events = {EVENT(POD, BERTH_ACTION_UPDATE_POD_LABEL, false),
                         EVENT(NODE, BERTH_ACTION_ADD, false)},
              .n_events = 2},
    [GATE_TWO] = {"GateTwo", BOTH, .gate = true,
                  .events = {EVENT(POD, BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
                                   false)},
                  .n_events = 1},
    [GATE_ANYTHING] = {"GateAnything", 1, .gate = true, .any_event = true},
};

/* Versions of a pod differ in priority and nominated node; hints look at the version. */
#define VERSIONS 6
_Static_assert(VERSIONS <= WORLD_ANSWERS, "a version is an answer");

struct bench;
struct instance {
    struct bench *bench;
    int number;
};

struct bench {
    struct queue q;
    struct queue_options options;
    struct world world;
    struct intern names;
    struct berth_status status;
    struct berth_plugin plugins[N_PLUGINS];
    struct instance instances[N_PLUGINS];
    struct berth_handle handles[WORLD_PROFILES][N_PLUGINS];
    struct profile profiles[WORLD_PROFILES];
    int64_t now;
    int version[WORLD_PODS];
    VEC(int) gates_asked;
    size_t hints_asked[N_PLUGINS];
};

/* Objects are immutable: created once for all tests. */
static struct object *pods[WORLD_PODS][VERSIONS];
static struct object *nodes[WORLD_ANSWERS];

static int32_t priority_of(int version)
{
    return version % 2 ? 10 : 0;
}

/* 0: none, otherwise node n1 or n2. */
static int nominated_of(int version)
{
    return version / 2;
}

static int make_objects(void **state)
{
    (void)state;
    for (int i = 0; i < WORLD_PODS; i++)
        for (int v = 0; v < VERSIONS; v++) {
            char node[8] = "";
            if (nominated_of(v))
                snprintf(node, sizeof(node), "n%d", nominated_of(v));
            pods[i][v] =
                POD(.name = textf("p%02d", i), .namespace = "ns", .version = textf("%d", v),
                    .priority = (int)priority_of(v), .nominated = node);
        }
    for (int a = 0; a < WORLD_ANSWERS; a++)
        nodes[a] = NODE(.name = textf("e%d", a), .version = textf("%d", a));
    return 0;
}

static int drop_objects(void **state)
{
    (void)state;
    for (int i = 0; i < WORLD_PODS; i++)
        for (int v = 0; v < VERSIONS; v++)
            object_unref(pods[i][v]);
    for (int a = 0; a < WORLD_ANSWERS; a++)
        object_unref(nodes[a]);
    return 0;
}

static int number_of(const struct berth_pod *pod)
{
    uint64_t n = 0;
    struct str uid = pod_info_key(pod);
    assert_true(str_to_u64(str_slice(uid, 1, uid.n), &n));
    return (int)n;
}

static int answer_of(const struct berth_object *before, const struct berth_object *after)
{
    uint64_t n = 0;
    assert_true(
        str_to_u64(object_meta(object_of_abi(after ? after : before))->resource_version, &n));
    return (int)n;
}

static bool before_by_priority(void *self, const struct berth_queued_pod *a,
                               const struct berth_queued_pod *b)
{
    (void)self;
    if (a->pod->priority != b->pod->priority)
        return a->pod->priority > b->pod->priority;
    if (a->timestamp != b->timestamp)
        return a->timestamp < b->timestamp;
    return str_cmp(pod_info_key(a->pod), pod_info_key(b->pod)) < 0;
}

static enum berth_code ask_gate(void *self, const struct berth_pod *pod,
                                struct berth_status *status)
{
    struct instance *i = self;
    (void)status;
    vec_push(&i->bench->gates_asked, i->number);
    return i->bench->world.closed[i->number][number_of(pod)] ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
}

static enum berth_hint ask_hint(void *self, const struct berth_pod *pod,
                                const struct berth_object *before, const struct berth_object *after)
{
    struct instance *i = self;
    i->bench->hints_asked[i->number]++;
    return i->bench->world.queue[i->number][number_of(pod)][answer_of(before, after)]
               ? BERTH_QUEUE
               : BERTH_QUEUE_SKIP;
}

static void register_events(void *self, struct berth_registrar *r)
{
    struct instance *i = self;
    const struct world_plugin *p = &world_plugins[i->number];
    for (size_t k = 0; k < p->n_events; k++)
        engine_host.register_event(r, p->events[k].resource, p->events[k].actions,
                                   p->events[k].hinted ? ask_hint : NULL);
}

static void make_profile(struct bench *b, int profile)
{
    struct profile *p = &b->profiles[profile];
    for (int i = 0; i < N_PLUGINS; i++) {
        struct berth_handle *h = &b->handles[profile][i];
        *h = (struct berth_handle){
            .plugin = &b->plugins[i], .self = &b->instances[i], .profile = p, .id = (uint16_t)i};
        if (!(world_plugins[i].profiles >> profile & 1))
            continue;
        vec_push(&p->instances, h);
        if (i == SORT)
            vec_push(&p->at[POINT_QUEUE_SORT], h);
        if (world_plugins[i].gate)
            vec_push(&p->at[POINT_PRE_ENQUEUE], h);
    }
    queue_add_profile(&b->q, p);
}

static void bench_init(struct bench *b)
{
    *b = (struct bench){.now = 1000 * NSEC_PER_SEC,
                        .options = {.initial_backoff = NSEC_PER_SEC,
                                    .max_backoff = 10 * NSEC_PER_SEC,
                                    .max_in_unschedulable = 300 * NSEC_PER_SEC},
                        .world = {.plugins = world_plugins, .n_plugins = N_PLUGINS}};
    intern_init(&b->names);
    status_init(&b->status);
    queue_init(&b->q, &b->options);
    for (int i = 0; i < N_PLUGINS; i++) {
        b->instances[i] = (struct instance){b, i};
        b->plugins[i] = (struct berth_plugin){.abi = BERTH_ABI,
                                              .struct_size = sizeof(struct berth_plugin),
                                              .name = world_plugins[i].name};
        b->plugins[i].events = world_plugins[i].any_event ? NULL : register_events;
        b->plugins[i].pre_enqueue = world_plugins[i].gate ? ask_gate : NULL;
        b->plugins[i].less = i == SORT ? before_by_priority : NULL;
    }
    for (int i = 0; i < WORLD_PROFILES; i++)
        make_profile(b, i);
}

static void bench_release(struct bench *b)
{
    queue_release(&b->q);
    for (int i = 0; i < WORLD_PROFILES; i++) {
        vec_release(&b->profiles[i].instances);
        for (int k = 0; k < POINT_COUNT; k++)
            vec_release(&b->profiles[i].at[k]);
    }
    status_release(&b->status);
    assert_int_equal(b->names.by_text.n, 0);
    intern_release(&b->names);
    vec_release(&b->gates_asked);
}

static struct str uid_of(int pod)
{
    return object_meta(pods[pod][0])->uid;
}

static struct berth_queued_pod *queued(struct bench *b, int pod)
{
    return queue_get(&b->q, uid_of(pod));
}

static enum queue_place place_of(struct bench *b, int pod)
{
    struct berth_queued_pod *qp = queued(b, pod);
    return qp ? qp->place : QUEUE_NOWHERE;
}

static void add_to(struct bench *b, int profile, int pod, int version)
{
    struct berth_pod *info = pod_info_new(pods[pod][version], &b->names);
    b->version[pod] = version;
    queue_add(&b->q, info, &b->profiles[profile], b->now);
    pod_info_unref(info);
}

static void add(struct bench *b, int pod)
{
    add_to(b, 0, pod, 0);
}

static void update(struct bench *b, int pod, int version, unsigned actions)
{
    struct berth_pod *info = pod_info_new(pods[pod][version], &b->names);
    queue_update(&b->q, info, pods[pod][b->version[pod]], actions, b->now);
    b->version[pod] = version;
    pod_info_unref(info);
}

/* The popped pod; -1 if none. */
static int pop(struct bench *b)
{
    struct berth_queued_pod *qp = queue_pop(&b->q, b->now);
    return qp ? number_of(qp->pod) : -1;
}

static void requeue_queued(struct bench *b, struct berth_queued_pod *qp, unsigned rejectors,
                           unsigned pending)
{
    qp->rejectors = (struct plugin_set){{rejectors}};
    qp->pending = (struct plugin_set){{pending}};
    queue_requeue(&b->q, qp, b->now);
}

static void requeue(struct bench *b, int pod, unsigned rejectors, unsigned pending)
{
    requeue_queued(b, queued(b, pod), rejectors, pending);
}

static void happens(struct bench *b, enum berth_resource resource, unsigned action, int answer)
{
    struct cluster_event event = {.resource = resource, .action = action, .after = nodes[answer]};
    queue_event(&b->q, &event, b->now);
}

static void pass(struct bench *b, int64_t ns)
{
    b->now += ns;
    queue_flush(&b->q, b->now);
}

/* Adds, pops and rejects the pod: it is in unschedulablePods then. */
static void add_rejected(struct bench *b, int pod, unsigned rejectors)
{
    add(b, pod);
    assert_int_equal(pop(b), pod);
    requeue(b, pod, rejectors, 0);
    assert_int_equal(place_of(b, pod), QUEUE_UNSCHEDULABLE);
}

/* Its backoff is over, and no tick has passed. */
static void wait_out(struct bench *b)
{
    b->now += 15 * NSEC_PER_SEC;
}

#define BENCH(b)    \
    struct bench b; \
    (void)state;    \
    bench_init(&b)

/* --- order and time --------------------------------------------------------------------------- */

static void pods_come_in_the_order_of_queue_sort(void **state)
{
    BENCH(b);
    add_to(&b, 0, 3, 0);
    b.now++;
    add_to(&b, 0, 2, 0);
    add_to(&b, 0, 1, 1); /* of higher priority */
    add_to(&b, 1, 4, 1);
    const int expected[] = {1, 4, 3, 2, -1};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_int_equal(pop(&b), expected[i]);
    bench_release(&b);
}

static void the_timestamp_is_set_when_queued_and_when_back_not_when_moved(void **state)
{
    BENCH(b);
    int64_t first = b.now;
    add(&b, 0);
    assert_true(queued(&b, 0)->timestamp == first);
    assert_true(queued(&b, 0)->first_attempt == first);
    b.now += 5;
    assert_int_equal(pop(&b), 0);
    assert_true(queued(&b, 0)->timestamp == first);
    b.now += 5;
    int64_t back = b.now;
    requeue(&b, 0, BIT(ON_ANYTHING), 0);
    assert_true(queued(&b, 0)->timestamp == back);
    b.now += 5;
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    assert_true(queued(&b, 0)->timestamp == back);
    pass(&b, 2 * NSEC_PER_SEC);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    assert_true(queued(&b, 0)->timestamp == back);
    update(&b, 0, 1, BERTH_ACTION_UPDATE_OTHER);
    assert_true(queued(&b, 0)->timestamp == back);
    assert_true(queued(&b, 0)->first_attempt == first);
    bench_release(&b);
}

static void a_gated_pod_has_not_been_attempted(void **state)
{
    BENCH(b);
    b.world.closed[GATE][0] = true;
    int64_t came = b.now;
    add(&b, 0);
    assert_true(queued(&b, 0)->first_attempt == 0);
    b.world.closed[GATE][0] = false;
    b.now += 7;
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    assert_true(queued(&b, 0)->first_attempt == came + 7);
    assert_true(queued(&b, 0)->timestamp == came);
    bench_release(&b);
}

static void attempts_are_counted_by_pop(void **state)
{
    BENCH(b);
    add(&b, 0);
    for (uint32_t i = 1; i < 4; i++) {
        assert_int_equal(queued(&b, 0)->attempts, i - 1);
        assert_int_equal(pop(&b), 0);
        assert_int_equal(queued(&b, 0)->attempts, i);
        requeue(&b, 0, 0, 0);
        pass(&b, 20 * NSEC_PER_SEC);
    }
    bench_release(&b);
}

/* --- backoff ---------------------------------------------------------------------------------- */

static void backoff_doubles_up_to_its_maximum(void **state)
{
    BENCH(b);
    static const int64_t seconds[] = {1, 2, 4, 8, 10, 10, 10};
    add(&b, 0);
    for (size_t i = 0; i < ARRAY_LEN(seconds); i++) {
        b.now = (int64_t)(10000 + i * 100) * NSEC_PER_SEC;
        assert_int_equal(pop(&b), 0);
        requeue(&b, 0, BIT(ON_ANYTHING), 0);
        assert_true(queued(&b, 0)->backoff_until == b.now + seconds[i] * NSEC_PER_SEC);
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
        assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    }
    bench_release(&b);
}

static void a_backoff_of_centuries_does_not_wrap(void **state)
{
    BENCH(b);
    b.q.options.initial_backoff = INT64_MAX / 3;
    b.q.options.max_backoff = INT64_MAX;
    struct queue_options options = b.q.options;
    queue_release(&b.q);
    queue_init(&b.q, &options);
    for (int i = 0; i < WORLD_PROFILES; i++)
        queue_add_profile(&b.q, &b.profiles[i]);
    add(&b, 0);
    for (int i = 0; i < 70; i++) {
        assert_int_equal(pop(&b), 0);
        requeue(&b, 0, BIT(ON_ANYTHING), 0);
        assert_true(queued(&b, 0)->backoff_until > b.now + INT64_MAX / 8);
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
        assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
        assert_true(queue_next_flush(&b.q) > b.now);
    }
    bench_release(&b);
}

static void backoffs_end_on_whole_seconds(void **state)
{
    static const struct {
        int64_t at_ms, until_s, still_ms, over_ms;
    } table[] = {
        {0, 1, 1999, 2000}, /* the window of its end counts as backing off */
        {1, 1, 1999, 2000}, {999, 1, 1999, 2000}, {1000, 2, 2999, 3000}, {1500, 2, 2999, 3000},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        int64_t base = b.now;
        add(&b, 0);
        b.now = base + table[i].at_ms * NSEC_PER_MSEC;
        assert_int_equal(pop(&b), 0);
        requeue(&b, 0, 0, 0);
        assert_true(queued(&b, 0)->backoff_until == base + table[i].until_s * NSEC_PER_SEC);
        b.now = base + table[i].still_ms * NSEC_PER_MSEC;
        queue_flush(&b.q, b.now);
        assert_int_equal(place_of(&b, 0), QUEUE_ERROR_BACKOFF);
        b.now = base + table[i].over_ms * NSEC_PER_MSEC;
        assert_true(queue_next_flush(&b.q) == b.now);
        queue_flush(&b.q, b.now);
        assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
        bench_release(&b);
    }
}

static void pods_of_one_window_come_in_the_order_of_queue_sort(void **state)
{
    BENCH(b);
    for (int i = 0; i < 3; i++)
        add_to(&b, 0, i, i == 2); /* the last has a higher priority */
    for (int i = 0; i < 3; i++) {
        int pod = pop(&b);
        b.now += 100 * NSEC_PER_MSEC;
        requeue(&b, pod, BIT(ON_ANYTHING), 0);
    }
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    const int expected[] = {2, 0, 1, -1};
    for (size_t i = 0; i < ARRAY_LEN(expected); i++)
        assert_int_equal(pop(&b), expected[i]);
    bench_release(&b);
}

static void errors_and_rejections_are_counted_apart(void **state)
{
    static const struct {
        bool error;
        uint32_t rejections, errors;
        int64_t seconds;
    } table[] = {
        {false, 1, 0, 1}, {false, 2, 0, 2}, {true, 2, 1, 1}, {true, 2, 2, 2},
        {true, 2, 3, 4},  {false, 3, 0, 4}, {true, 3, 1, 1}, {false, 4, 0, 8},
    };
    BENCH(b);
    add(&b, 0);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        b.now = (int64_t)(10000 + i * 100) * NSEC_PER_SEC;
        queue_flush(&b.q, b.now);
        queue_activate(&b.q, uid_of(0), b.now);
        assert_int_equal(pop(&b), 0);
        requeue(&b, 0, table[i].error ? 0 : BIT(ON_NOTHING), 0);
        assert_int_equal(queued(&b, 0)->unschedulable_count, table[i].rejections);
        assert_int_equal(queued(&b, 0)->error_count, table[i].errors);
        assert_true(queued(&b, 0)->backoff_until == b.now + table[i].seconds * NSEC_PER_SEC);
        assert_int_equal(place_of(&b, 0),
                         table[i].error ? QUEUE_ERROR_BACKOFF : QUEUE_UNSCHEDULABLE);
    }
    bench_release(&b);
}

static void without_a_rejector_it_is_tried_again_whatever_happens(void **state)
{
    BENCH(b);
    add(&b, 0);
    assert_int_equal(pop(&b), 0);
    requeue(&b, 0, 0, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_ERROR_BACKOFF);
    pass(&b, 2 * NSEC_PER_SEC);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    bench_release(&b);
}

static void an_idle_queue_pops_pods_before_their_backoff_ends(void **state)
{
    BENCH(b);
    add_rejected(&b, 0, BIT(ON_ANYTHING));
    assert_int_equal(pop(&b), -1);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    add(&b, 1);
    assert_int_equal(pop(&b), 1);
    assert_int_equal(pop(&b), 0);
    assert_string_equal(queued(&b, 0)->moved_by.label, EVENT_POP_FROM_BACKOFF);
    assert_int_equal(queued(&b, 0)->attempts, 2);
    assert_int_equal(pop(&b), -1);
    bench_release(&b);
}

static void an_error_keeps_its_backoff(void **state)
{
    BENCH(b);
    add(&b, 0);
    assert_int_equal(pop(&b), 0);
    requeue(&b, 0, 0, 0);
    assert_int_equal(pop(&b), -1);
    pass(&b, 2 * NSEC_PER_SEC);
    assert_int_equal(pop(&b), 0);
    bench_release(&b);
}

static void a_backoff_that_is_over_sends_to_active_at_once(void **state)
{
    BENCH(b);
    add_rejected(&b, 0, BIT(ON_ANYTHING));
    wait_out(&b);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    bench_release(&b);
}

/* --- maximal time in unschedulablePods -------------------------------------------------------- */

static void an_over_long_stay_ends_at_the_next_tick(void **state)
{
    BENCH(b);
    int64_t base = b.now;
    add_rejected(&b, 0, BIT(ON_NOTHING));
    assert_true(queue_next_flush(&b.q) == base + 30 * NSEC_PER_SEC);
    for (int i = 1; i <= 10; i++) {
        b.now = base + i * 30 * NSEC_PER_SEC;
        queue_flush(&b.q, b.now);
        assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE); /* 300 s are not above the limit */
    }
    b.now = base + 329 * NSEC_PER_SEC;
    queue_flush(&b.q, b.now);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE); /* between two ticks */
    assert_false(queued(&b, 0)->was_flushed);
    b.now = base + 330 * NSEC_PER_SEC;
    queue_flush(&b.q, b.now);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    assert_true(queued(&b, 0)->was_flushed);
    assert_string_equal(queued(&b, 0)->moved_by.label, EVENT_UNSCHEDULABLE_TIMEOUT);
    assert_int_equal(pop(&b), 0);
    assert_true(queued(&b, 0)->was_flushed);
    requeue(&b, 0, BIT(ON_NOTHING), 0);
    assert_false(queued(&b, 0)->was_flushed);
    bench_release(&b);
}

static void a_gated_pod_stays_however_long(void **state)
{
    BENCH(b);
    b.world.closed[GATE][0] = b.world.closed[GATE_ANYTHING][1] = true;
    add(&b, 0);
    add(&b, 1);
    b.world.closed[GATE][0] = b.world.closed[GATE_ANYTHING][1] = false;
    for (int i = 0; i < 20; i++)
        pass(&b, 31 * NSEC_PER_SEC);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    assert_false(queued(&b, 0)->was_flushed);
    /* Unless its gate gets all events. */
    assert_int_equal(place_of(&b, 1), QUEUE_ACTIVE);
    bench_release(&b);
}

static void pods_in_flight_learn_of_the_end_of_long_stays(void **state)
{
    BENCH(b);
    add_rejected(&b, 0, BIT(ON_NOTHING));
    add(&b, 1);
    assert_int_equal(pop(&b), 1);
    pass(&b, 10 * NSEC_PER_SEC);
    assert_int_equal(b.q.events.n, 0);
    pass(&b, 400 * NSEC_PER_SEC);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    assert_int_equal(b.q.events.n, 1);
    requeue(&b, 1, BIT(ON_NOTHING), 0);
    assert_int_equal(place_of(&b, 1), QUEUE_BACKOFF);
    bench_release(&b);
}

/* --- gates ------------------------------------------------------------------------------------ */

static void assert_asked(struct bench *b, const int *gates, size_t n)
{
    assert_int_equal(b->gates_asked.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(b->gates_asked.v[i], gates[i]);
    vec_clear(&b->gates_asked);
}
#define ASSERT_ASKED(b, ...) \
    assert_asked((b), (const int[]){__VA_ARGS__}, ARRAY_LEN(((const int[]){__VA_ARGS__})))

static void every_gate_must_be_open_and_the_closed_one_is_asked_first(void **state)
{
    BENCH(b);
    b.world.closed[GATE_TWO][0] = true;
    add(&b, 0);
    ASSERT_ASKED(&b, GATE, GATE_TWO);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    assert_ptr_equal(queued(&b, 0)->gate, &b.handles[0][GATE_TWO]);
    assert_true(plugin_set_has(&queued(&b, 0)->rejectors, GATE_TWO));

    update(&b, 0, 0, BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED);
    ASSERT_ASKED(&b, GATE_TWO);
    b.world.closed[GATE_TWO][0] = false;
    b.world.closed[GATE][0] = true;
    update(&b, 0, 0, BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED);
    ASSERT_ASKED(&b, GATE_TWO, GATE);
    assert_ptr_equal(queued(&b, 0)->gate, &b.handles[0][GATE]);

    b.world.closed[GATE][0] = false;
    update(&b, 0, 0, BERTH_ACTION_UPDATE_POD_LABEL);
    ASSERT_ASKED(&b, GATE, GATE_TWO, GATE_ANYTHING);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    assert_null(queued(&b, 0)->gate);
    bench_release(&b);
}

static void only_events_of_its_gate_wake_a_gated_pod(void **state)
{
    BENCH(b);
    add(&b, 0);
    assert_int_equal(pop(&b), 0);
    b.world.closed[GATE][0] = true;
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_DELETE, 0);
    requeue(&b, 0, BIT(ON_ANYTHING), 0); /* would be requeued, but the gate is closed now */
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    assert_ptr_equal(queued(&b, 0)->gate, &b.handles[0][GATE]);
    b.world.closed[GATE][0] = false;
    vec_clear(&b.gates_asked);

    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_DELETE, 0); /* the other rejector would queue */
    assert_int_equal(b.gates_asked.n, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    wait_out(&b);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    bench_release(&b);
}

/* However many objects arrive in the initial lists, and in whatever order. */
static void gates_are_asked_once_after_the_initial_lists(void **state)
{
    BENCH(b);
    b.world.closed[GATE][0] = b.world.closed[GATE][1] = true;
    queue_begin_listing(&b.q);
    add(&b, 0);
    add_to(&b, 0, 1, 2); /* with a nominated node */
    add(&b, 2);
    assert_int_equal(place_of(&b, 2), QUEUE_ACTIVE);
    vec_clear(&b.gates_asked);
    b.world.closed[GATE][1] = false;
    for (int i = 0; i < 10; i++)
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(b.gates_asked.n, 0);
    assert_int_equal(place_of(&b, 1), QUEUE_UNSCHEDULABLE);

    queue_end_listing(&b.q, b.now);
    ASSERT_ASKED(&b, GATE, GATE_TWO, GATE_ANYTHING, GATE);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    assert_int_equal(place_of(&b, 1), QUEUE_ACTIVE);
    assert_true(str_is(nominator_node_of(&b.q.nominator, uid_of(1)), "n1"));
    b.world.closed[GATE][0] = false;
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    bench_release(&b);
}

static void a_gate_is_asked_on_the_way_to_backoff_and_not_again(void **state)
{
    BENCH(b);
    add_rejected(&b, 0, BIT(ON_ANYTHING));
    vec_clear(&b.gates_asked);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    ASSERT_ASKED(&b, GATE, GATE_TWO, GATE_ANYTHING);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    b.world.closed[GATE][0] = true;
    pass(&b, 2 * NSEC_PER_SEC);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    assert_int_equal(b.gates_asked.n, 0);
    bench_release(&b);
}

/* Its gate is a rejector from then on, so it no longer counts as an error. */
static void a_broken_pod_that_was_gated_backs_off_with_the_rejected(void **state)
{
    BENCH(b);
    add(&b, 0);
    assert_int_equal(pop(&b), 0);
    b.world.closed[GATE][0] = true;
    requeue(&b, 0, 0, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    b.world.closed[GATE][0] = false;
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    bench_release(&b);
}

/* --- hints ------------------------------------------------------------------------------------ */

static void hints_decide_where_a_pod_goes(void **state)
{
    static const struct {
        const char *rule;
        unsigned rejectors, pending;
        bool add_queues, taint_queues;
        bool backing_off;
        enum queue_place place;
    } table[] = {
        {"Queue, backing off", BIT(ON_NODE_ADD), 0, true, false, true, QUEUE_BACKOFF},
        {"Queue, backoff over", BIT(ON_NODE_ADD), 0, true, false, false, QUEUE_ACTIVE},
        {"Skip", BIT(ON_NODE_ADD), 0, false, true, true, QUEUE_UNSCHEDULABLE},
        {"Skip, backoff over", BIT(ON_NODE_ADD), 0, false, true, false, QUEUE_UNSCHEDULABLE},
        {"Pending at once", 0, BIT(ON_NODE_ADD), true, false, true, QUEUE_ACTIVE},
        {"Pending, Skip", 0, BIT(ON_NODE_ADD), false, false, true, QUEUE_UNSCHEDULABLE},
        {"one of two", BIT(ON_NODE_ADD) | BIT(ON_TAINT), 0, false, true, true, QUEUE_BACKOFF},
        {"pending beats Queue", BIT(ON_NODE_ADD), BIT(ON_TAINT), true, true, true, QUEUE_ACTIVE},
        {"pending skips", BIT(ON_NODE_ADD), BIT(ON_TAINT), true, false, true, QUEUE_BACKOFF},
        {"not concerned", BIT(ON_LABEL), 0, true, true, true, QUEUE_UNSCHEDULABLE},
        {"cares for nothing", BIT(ON_NOTHING), 0, true, true, true, QUEUE_UNSCHEDULABLE},
        {"cares for anything", BIT(ON_ANYTHING), 0, false, false, true, QUEUE_BACKOFF},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        b.world.queue[ON_NODE_ADD][0][0] = table[i].add_queues;
        b.world.queue[ON_TAINT][0][0] = table[i].taint_queues;
        add(&b, 0);
        assert_int_equal(pop(&b), 0);
        requeue(&b, 0, table[i].rejectors, table[i].pending);
        if (!table[i].backing_off)
            wait_out(&b);
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
        if (place_of(&b, 0) != table[i].place)
            fail_msg("%s: place %d", table[i].rule, (int)place_of(&b, 0));
        bench_release(&b);
    }
}

static void only_rejectors_are_asked_for_hints(void **state)
{
    BENCH(b);
    add_rejected(&b, 0, BIT(ON_TAINT));
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(b.hints_asked[ON_TAINT], 1);
    assert_int_equal(b.hints_asked[ON_NODE_ADD], 0);
    bench_release(&b);
}

static void rejectors_are_those_of_the_pods_profile(void **state)
{
    BENCH(b);
    /* The same plugin in two profiles is two instances: one of them is called. */
    add_to(&b, 1, 0, 0);
    assert_int_equal(pop(&b), 0);
    requeue(&b, 0, BIT(ON_NODE_ADD), 0);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(b.hints_asked[ON_NODE_ADD], 1);
    bench_release(&b);
}

static void registrations_cover_events(void **state)
{
    static const struct {
        const char *rule;
        unsigned rejector;
        enum berth_resource resource;
        unsigned action;
        bool moves;
    } table[] = {
        {"Node/Add", ON_NODE_ADD, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, true},
        {"another action", ON_NODE_ADD, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL, false},
        {"another resource", ON_NODE_ADD, BERTH_RESOURCE_CSI_NODE, BERTH_ACTION_ADD, false},
        {"Node/Add implies taints", ON_NODE_ADD, BERTH_RESOURCE_NODE,
         BERTH_ACTION_UPDATE_NODE_TAINT, true},
        {"Node/Label implies nothing", ON_LABEL, BERTH_RESOURCE_NODE,
         BERTH_ACTION_UPDATE_NODE_TAINT, false},
        {"Pod is the assigned pod", ON_LABEL, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_DELETE,
         true},
        {"Pod is the waiting pod", ON_LABEL, BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_DELETE,
         true},
        {"an update of no known kind reaches Update", ON_POD_UPDATE, BERTH_RESOURCE_ASSIGNED_POD,
         BERTH_ACTION_UPDATE, true},
        {"a kind of update reaches Update", ON_POD_UPDATE, BERTH_RESOURCE_ASSIGNED_POD,
         BERTH_ACTION_UPDATE_POD_TOLERATION, true},
        {"an update of no known kind does not reach kinds", ON_POD_LABEL,
         BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_UPDATE, false},
        {"the kind does", ON_POD_LABEL, BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_UPDATE_POD_LABEL,
         true},
        {"another kind does not", ON_POD_LABEL, BERTH_RESOURCE_ASSIGNED_POD,
         BERTH_ACTION_UPDATE_POD_SCALE_DOWN, false},
        {"anything", ON_ANYTHING, BERTH_RESOURCE_DEVICE_CLASS, BERTH_ACTION_DELETE, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        b.world.queue[table[i].rejector][0][0] = true;
        add_rejected(&b, 0, BIT(table[i].rejector));
        happens(&b, table[i].resource, table[i].action, 0);
        if ((place_of(&b, 0) == QUEUE_BACKOFF) != table[i].moves)
            fail_msg("%s: place %d", table[i].rule, (int)place_of(&b, 0));
        bench_release(&b);
    }
}

static void every_resource_with_some_actions_is_not_everything(void **state)
{
    (void)state;
    struct cluster_event node_add = {.resource = BERTH_RESOURCE_NODE, .action = BERTH_ACTION_ADD};
    struct cluster_event node_delete = {.resource = BERTH_RESOURCE_NODE,
                                        .action = BERTH_ACTION_DELETE};
    struct cluster_event everything = {.resource = BERTH_RESOURCE_ALL, .action = BERTH_ACTION_ALL};
    assert_true(event_matches(BERTH_RESOURCE_ALL, BERTH_ACTION_ADD, &node_add));
    assert_false(event_matches(BERTH_RESOURCE_ALL, BERTH_ACTION_ADD, &node_delete));
    assert_false(event_matches(BERTH_RESOURCE_ALL, BERTH_ACTION_ADD, &everything));
    assert_true(event_matches(BERTH_RESOURCE_ALL, BERTH_ACTION_ALL, &node_delete));
    assert_true(event_matches(BERTH_RESOURCE_ALL, BERTH_ACTION_ALL, &everything));
    assert_false(event_matches(BERTH_RESOURCE_NODE, BERTH_ACTION_ALL, &everything));
}

static void a_taint_registration_is_not_doubled(void **state)
{
    BENCH(b);
    add_rejected(&b, 0, BIT(ON_TAINT));
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_TAINT, 0); /* its hint returns Skip */
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    assert_int_equal(b.hints_asked[ON_TAINT], 1);
    bench_release(&b);
}

static void an_event_may_be_meant_for_some_pods(void **state)
{
    BENCH(b);
    int32_t five = 5;
    for (int i = 0; i < 3; i++) {
        add_to(&b, 0, i, i == 1); /* pod 1 has priority 10 */
        assert_int_equal(pop(&b), i);
        requeue(&b, i, BIT(ON_LABEL), 0);
    }
    struct cluster_event event = {.resource = BERTH_RESOURCE_ASSIGNED_POD,
                                  .action = BERTH_ACTION_DELETE,
                                  .before = nodes[0],
                                  .max_priority = &five,
                                  .except = uid_of(2)};
    queue_event(&b.q, &event, b.now);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    assert_int_equal(place_of(&b, 1), QUEUE_UNSCHEDULABLE);
    assert_int_equal(place_of(&b, 2), QUEUE_UNSCHEDULABLE);
    bench_release(&b);
}

/* --- in flight -------------------------------------------------------------------------------- */

static void events_during_flight_are_asked_when_the_pod_comes_back(void **state)
{
    static const struct {
        const char *rule;
        unsigned rejectors, pending;
        bool first, second; /* answers to the two events */
        enum queue_place place;
    } table[] = {
        {"none helps", BIT(ON_NODE_ADD), 0, false, false, QUEUE_UNSCHEDULABLE},
        {"the first helps", BIT(ON_NODE_ADD), 0, true, false, QUEUE_BACKOFF},
        {"the second helps", BIT(ON_NODE_ADD), 0, false, true, QUEUE_BACKOFF},
        {"pending, the second helps", 0, BIT(ON_NODE_ADD), false, true, QUEUE_ACTIVE},
        {"pending counts after a rejector", BIT(ON_ANYTHING), BIT(ON_NODE_ADD), false, true,
         QUEUE_ACTIVE},
        {"the rejector's event only", BIT(ON_ANYTHING), BIT(ON_NODE_ADD), false, false,
         QUEUE_BACKOFF},
        {"of no concern", BIT(ON_NOTHING), 0, true, true, QUEUE_UNSCHEDULABLE},
        {"nobody rejected", 0, 0, false, false, QUEUE_ERROR_BACKOFF},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        b.world.queue[ON_NODE_ADD][0][0] = table[i].first;
        b.world.queue[ON_NODE_ADD][0][1] = table[i].second;
        add(&b, 0);
        assert_int_equal(pop(&b), 0);
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 1);
        assert_int_equal(b.hints_asked[ON_NODE_ADD], 0);
        assert_int_equal(b.q.events.n, 2);
        requeue(&b, 0, table[i].rejectors, table[i].pending);
        if (place_of(&b, 0) != table[i].place)
            fail_msg("%s: place %d", table[i].rule, (int)place_of(&b, 0));
        assert_int_equal(b.q.events.n, 0);
        bench_release(&b);
    }
}

static void events_before_the_flight_do_not_count(void **state)
{
    BENCH(b);
    add(&b, 0);
    add(&b, 1);
    assert_int_equal(pop(&b), 0);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(pop(&b), 1);
    requeue(&b, 1, BIT(ON_ANYTHING), 0);
    assert_int_equal(place_of(&b, 1), QUEUE_UNSCHEDULABLE);
    requeue(&b, 0, BIT(ON_ANYTHING), 0);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    bench_release(&b);
}

static void events_are_kept_for_the_oldest_pod_in_flight_and_no_longer(void **state)
{
    BENCH(b);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    assert_int_equal(b.q.events.n, 0); /* no pod is in flight */
    for (int i = 0; i < 3; i++) {
        add(&b, i);
        assert_int_equal(pop(&b), i);
        happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    }
    assert_int_equal(b.q.events.n, 3);
    queue_done(&b.q, queued(&b, 1)); /* not the oldest */
    assert_int_equal(b.q.events.n, 3);
    queue_begin_binding(&b.q, queued(&b, 0));
    assert_int_equal(b.q.events.n, 1);
    happens(&b, BERTH_RESOURCE_DEVICE_CLASS, BERTH_ACTION_ADD, 0); /* for OnAnything */
    assert_int_equal(b.q.events.n, 2);
    requeue(&b, 2, BIT(ON_NOTHING), 0);
    assert_int_equal(b.q.events.n, 0);
    assert_null(b.q.first_in_flight);
    assert_null(b.q.last_in_flight);
    bench_release(&b);
}

static void a_write_that_failed_is_tried_again_whatever_was_missed(void **state)
{
    BENCH(b);
    add(&b, 0);
    assert_int_equal(pop(&b), 0);
    queue_begin_binding(&b.q, queued(&b, 0));
    assert_int_equal(place_of(&b, 0), QUEUE_BINDING);
    assert_int_equal(b.q.n_in_flight, 0);
    requeue(&b, 0, BIT(ON_NOTHING), 0);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    bench_release(&b);
}

static void a_bound_pod_is_forgotten(void **state)
{
    BENCH(b);
    add(&b, 0);
    add(&b, 1);
    assert_int_equal(pop(&b), 0);
    queue_done(&b.q, queued(&b, 0));
    assert_null(queued(&b, 0));
    assert_int_equal(pop(&b), 1);
    queue_begin_binding(&b.q, queued(&b, 1));
    queue_done(&b.q, queued(&b, 1));
    assert_null(queued(&b, 1));
    assert_int_equal(b.q.by_key.n, 0);
    bench_release(&b);
}

/* --- update ----------------------------------------------------------------------------------- */

/* Puts pod 0 there; its rejector is OnPodLabel if it has one. */
static void bring_to(struct bench *b, enum queue_place place)
{
    add(b, 0);
    if (place != QUEUE_ACTIVE)
        assert_int_equal(pop(b), 0);
    if (place == QUEUE_BINDING)
        queue_begin_binding(&b->q, queued(b, 0));
    if (place == QUEUE_BACKOFF) {
        happens(b, BERTH_RESOURCE_DEVICE_CLASS, BERTH_ACTION_ADD, 0);
        requeue(b, 0, BIT(ON_ANYTHING), 0);
    }
    if (place == QUEUE_ERROR_BACKOFF)
        requeue(b, 0, 0, 0);
    if (place == QUEUE_UNSCHEDULABLE)
        requeue(b, 0, BIT(ON_POD_LABEL), 0);
    assert_int_equal(place_of(b, 0), place);
}

static const enum queue_place all_places[] = {QUEUE_ACTIVE,        QUEUE_BACKOFF,
                                              QUEUE_ERROR_BACKOFF, QUEUE_UNSCHEDULABLE,
                                              QUEUE_IN_FLIGHT,     QUEUE_BINDING};

static void a_pod_is_updated_where_it_is(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(all_places); i++) {
        BENCH(b);
        bring_to(&b, all_places[i]);
        update(&b, 0, 1, BERTH_ACTION_UPDATE_POD_LABEL); /* its hint returns Skip */
        assert_int_equal(place_of(&b, 0), all_places[i]);
        assert_ptr_equal(queued(&b, 0)->pod->object, pods[0][1]);
        assert_int_equal(b.q.events.n, all_places[i] == QUEUE_IN_FLIGHT);
        bench_release(&b);
    }
}

static void an_update_of_an_unknown_pod_is_ignored(void **state)
{
    BENCH(b);
    update(&b, 0, 1, BERTH_ACTION_UPDATE_OTHER);
    assert_null(queued(&b, 0));
    bench_release(&b);
}

static void a_new_priority_changes_the_order(void **state)
{
    BENCH(b);
    for (int i = 0; i < 3; i++)
        add(&b, i);
    update(&b, 2, 1, BERTH_ACTION_UPDATE_OTHER);
    assert_int_equal(pop(&b), 2);
    assert_int_equal(pop(&b), 0);
    happens(&b, BERTH_RESOURCE_NODE, BERTH_ACTION_ADD, 0);
    requeue(&b, 2, BIT(ON_ANYTHING), 0);
    requeue(&b, 0, BIT(ON_ANYTHING), 0);
    update(&b, 2, 0, BERTH_ACTION_UPDATE_OTHER);
    update(&b, 0, 1, BERTH_ACTION_UPDATE_OTHER);
    assert_int_equal(pop(&b), 1);
    assert_int_equal(pop(&b), 0); /* from backoff, in the same window */
    assert_int_equal(pop(&b), 2);
    bench_release(&b);
}

static void an_update_may_make_a_pod_worth_another_attempt(void **state)
{
    static const struct {
        const char *rule;
        unsigned rejector, actions;
        bool queues;
        enum queue_place place;
    } table[] = {
        {"Queue", ON_POD_LABEL, BERTH_ACTION_UPDATE_POD_LABEL, true, QUEUE_BACKOFF},
        {"Skip", ON_POD_LABEL, BERTH_ACTION_UPDATE_POD_LABEL, false, QUEUE_UNSCHEDULABLE},
        {"one of two changes", ON_POD_LABEL,
         BERTH_ACTION_UPDATE_POD_SCALE_DOWN | BERTH_ACTION_UPDATE_POD_TOLERATION, true,
         QUEUE_BACKOFF},
        {"of no concern", ON_POD_LABEL, BERTH_ACTION_UPDATE_POD_SCALE_DOWN, true,
         QUEUE_UNSCHEDULABLE},
        {"other", ON_POD_LABEL, BERTH_ACTION_UPDATE_OTHER, true, QUEUE_UNSCHEDULABLE},
        {"other, for who asked for any update", ON_POD_UPDATE, BERTH_ACTION_UPDATE_OTHER, true,
         QUEUE_BACKOFF},
        {"nothing that counts", ON_ANYTHING, 0, true, QUEUE_UNSCHEDULABLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        BENCH(b);
        b.world.queue[table[i].rejector][0][1] = table[i].queues;
        add_rejected(&b, 0, BIT(table[i].rejector));
        update(&b, 0, 1, table[i].actions);
        if (place_of(&b, 0) != table[i].place)
            fail_msg("%s: place %d", table[i].rule, (int)place_of(&b, 0));
        bench_release(&b);
    }
}

static void an_update_during_flight_counts_when_the_pod_comes_back(void **state)
{
    BENCH(b);
    b.world.queue[ON_POD_LABEL][0][1] = true;
    add(&b, 0);
    assert_int_equal(pop(&b), 0);
    update(&b, 0, 1, BERTH_ACTION_UPDATE_POD_LABEL);
    requeue(&b, 0, BIT(ON_POD_LABEL), 0);
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    assert_ptr_equal(queued(&b, 0)->pod->object, pods[0][1]);
    bench_release(&b);
}

/* --- delete ----------------------------------------------------------------------------------- */

static void a_pod_is_deleted_where_it_is(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(all_places); i++)
        for (int again = 0; again < 2; again++) {
            BENCH(b);
            bring_to(&b, all_places[i]);
            struct berth_queued_pod *qp = queued(&b, 0);
            bool out = all_places[i] == QUEUE_IN_FLIGHT || all_places[i] == QUEUE_BINDING;
            queue_delete(&b.q, uid_of(0));
            assert_null(queued(&b, 0));
            assert_int_equal(pop(&b), -1);
            queue_delete(&b.q, uid_of(0));
            if (again)
                add(&b, 0); /* the same UID again */
            if (out) {
                assert_true(qp->deleted); /* the caller that popped it still has it */
                requeue_queued(&b, qp, BIT(ON_ANYTHING), 0);
            }
            assert_int_equal(b.q.n_in_flight, 0);
            assert_int_equal(place_of(&b, 0), again ? QUEUE_ACTIVE : QUEUE_NOWHERE);
            assert_int_equal(b.q.by_key.n, again);
            bench_release(&b);
        }
}

static void a_pod_deleted_while_it_was_bound_is_done_with(void **state)
{
    BENCH(b);
    for (int again = 0; again < 2; again++) {
        bring_to(&b, QUEUE_BINDING);
        struct berth_queued_pod *qp = queued(&b, 0);
        queue_delete(&b.q, uid_of(0));
        if (again)
            add(&b, 0);
        queue_done(&b.q, qp);
        assert_int_equal(b.q.by_key.n, again);
    }
    bench_release(&b);
}

/* --- activate --------------------------------------------------------------------------------- */

static void a_pod_is_activated_where_it_is(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(all_places); i++) {
        BENCH(b);
        enum queue_place from = all_places[i];
        bool out = from == QUEUE_IN_FLIGHT || from == QUEUE_BINDING;
        bring_to(&b, from);
        queue_activate(&b.q, uid_of(0), b.now);
        assert_int_equal(place_of(&b, 0), out ? from : QUEUE_ACTIVE);
        assert_int_equal(b.q.events.n, from == QUEUE_IN_FLIGHT);
        if (!out && from != QUEUE_ACTIVE)
            assert_string_equal(queued(&b, 0)->moved_by.label, EVENT_FORCE_ACTIVATE);
        bench_release(&b);
    }
}

static void a_pod_activated_during_flight_comes_back_to_backoff(void **state)
{
    BENCH(b);
    for (int i = 0; i < 2; i++) {
        add(&b, i);
        assert_int_equal(pop(&b), i);
    }
    queue_activate(&b.q, uid_of(0), b.now);
    requeue(&b, 0, BIT(ON_NOTHING), 0);
    requeue(&b, 1, BIT(ON_NOTHING), 0); /* another pod's activation does not affect it */
    assert_int_equal(place_of(&b, 0), QUEUE_BACKOFF);
    assert_int_equal(place_of(&b, 1), QUEUE_UNSCHEDULABLE);
    bench_release(&b);
}

static void a_gate_holds_an_activated_pod(void **state)
{
    BENCH(b);
    b.world.closed[GATE][0] = true;
    add(&b, 0);
    queue_activate(&b.q, uid_of(0), b.now);
    assert_int_equal(place_of(&b, 0), QUEUE_UNSCHEDULABLE);
    b.world.closed[GATE][0] = false;
    queue_activate(&b.q, uid_of(0), b.now);
    assert_int_equal(place_of(&b, 0), QUEUE_ACTIVE);
    queue_activate(&b.q, STR("nobody"), b.now);
    bench_release(&b);
}

/* --- nominated pods --------------------------------------------------------------------------- */

#define UNPROMISED 0
#define ON_N1      2 /* versions whose status names that node */
#define ON_N2      4

static void assert_nominated(struct bench *b, int pod, const char *node)
{
    assert_true(str_is(nominator_node_of(&b->q.nominator, uid_of(pod)), node));
}

static void a_new_pods_nomination_is_taken_over(void **state)
{
    BENCH(b);
    add_to(&b, 0, 0, ON_N1);
    assert_nominated(&b, 0, "n1");
    b.world.closed[GATE][1] = true;
    add_to(&b, 0, 1, ON_N1); /* a gated pod reserves nothing */
    assert_nominated(&b, 1, "");
    bench_release(&b);
}

static void a_changed_nomination_is_taken_over_unless_the_pod_is_out(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(all_places); i++) {
        BENCH(b);
        bool out = all_places[i] == QUEUE_IN_FLIGHT || all_places[i] == QUEUE_BINDING;
        bring_to(&b, all_places[i]);
        update(&b, 0, ON_N1, 0);
        assert_nominated(&b, 0, out ? "" : "n1");
        update(&b, 0, ON_N2, 0);
        assert_nominated(&b, 0, out ? "" : "n2");
        update(&b, 0, UNPROMISED, 0);
        assert_nominated(&b, 0, "");
        bench_release(&b);
    }
}

static void a_nomination_the_api_has_not_heard_of_is_kept(void **state)
{
    BENCH(b);
    add(&b, 0);
    nominator_set(&b.q.nominator, queued(&b, 0)->pod, STR("n1"));
    update(&b, 0, UNPROMISED, BERTH_ACTION_UPDATE_POD_LABEL);
    assert_nominated(&b, 0, "n1");
    assert_ptr_equal(nominator_node(&b.q.nominator, STR("n1"))->pods.v[0], queued(&b, 0)->pod);
    update(&b, 0, ON_N2, 0);
    assert_nominated(&b, 0, "n2");
    bench_release(&b);
}

static void a_deleted_pods_nomination_goes(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(all_places); i++) {
        BENCH(b);
        bring_to(&b, all_places[i]);
        struct berth_queued_pod *qp = queued(&b, 0);
        nominator_set(&b.q.nominator, qp->pod, STR("n1"));
        queue_delete(&b.q, uid_of(0));
        assert_null(nominator_node(&b.q.nominator, STR("n1")));
        if (all_places[i] == QUEUE_IN_FLIGHT || all_places[i] == QUEUE_BINDING)
            queue_done(&b.q, qp);
        bench_release(&b);
    }
}

/* --- random streams compared with the model --------------------------------------------------- */

/* A pod in flight, in both the queue and the model. */
struct out {
    struct berth_queued_pod *qp;
    struct model_pod *model;
};

struct stream {
    struct bench b;
    struct queue_model m;
    struct rand *r;
    VEC(struct out) out;
};

static uint64_t below(struct stream *s, uint64_t n)
{
    return rand_below(s->r, n);
}

static bool one_in(struct stream *s, uint64_t n)
{
    return below(s, n) == 0;
}

static bool same(const char *what, int pod, long long got, long long wanted)
{
    if (got != wanted)
        fprintf(stderr, "pod %d: %s is %lld, the model says %lld\n", pod, what, got, wanted);
    return got == wanted;
}

static int promised_node(const struct queue *q, int pod)
{
    struct str node = nominator_node_of(&q->nominator, uid_of(pod));
    return str_empty(node) ? 0 : node.p[1] - '0';
}

static bool pod_agrees(struct stream *s, const struct model_pod *m)
{
    const struct berth_queued_pod *qp = queued(&s->b, m->number);
    int n = m->number;
    if (!same("presence", n, qp != NULL, 1))
        return false;
    return same("place", n, qp->place, m->place) &&
           same("attempts", n, qp->attempts, m->attempts) &&
           same("timestamp", n, qp->timestamp, m->timestamp) &&
           same("rejections", n, qp->unschedulable_count, m->rejections) &&
           same("errors", n, qp->error_count, m->errors) &&
           (!m->expiry || same("expiry", n, qp->backoff_until, m->expiry)) &&
           same("gate", n, qp->gate ? (int)qp->gate->id : -1, m->gate) &&
           same("rejectors", n, (long long)qp->rejectors.words[0], m->rejectors) &&
           same("pending", n, (long long)qp->pending.words[0], m->pending) &&
           same("flushed", n, qp->was_flushed, m->flushed) &&
           same("priority", n, qp->pod->priority, m->priority) &&
           same("promise", n, promised_node(&s->b.q, n), s->m.promised[n]);
}

/* The pods that pop would return: the heads of the heaps. */
static int next_of(const struct queue *q)
{
    const struct heap_node *node = heap_peek(&q->active);
    if (!node)
        node = heap_peek(&q->backoff);
    return node ? number_of(CONTAINER_OF(node, struct berth_queued_pod, node)->pod) : -1;
}

static bool agrees(struct stream *s)
{
    const struct queue *q = &s->b.q;
    const struct model_pod *next = model_next(&s->m);
    size_t live = 0, in_flight = 0;
    for (size_t i = 0; i < s->m.pods.n; i++) {
        in_flight += s->m.pods.v[i]->place == QUEUE_IN_FLIGHT;
        if (s->m.pods.v[i]->deleted)
            continue;
        live++;
        if (!pod_agrees(s, s->m.pods.v[i]))
            return false;
    }
    return same("number of pods", -1, (long long)q->by_key.n, (long long)live) &&
           same("in flight", -1, (long long)q->n_in_flight, (long long)in_flight) &&
           same("events kept", -1, (long long)q->events.n, (long long)model_kept(&s->m)) &&
           same("next pod", -1, next_of(q), next ? next->number : -1) &&
           same("next flush", -1, queue_next_flush(q), model_next_flush(&s->m));
}

static struct model_pod as_version(int pod, int profile, int version)
{
    return (struct model_pod){.number = pod,
                              .profile = profile,
                              .priority = priority_of(version),
                              .nominated = nominated_of(version)};
}

static void step_add_or_update(struct stream *s, int pod)
{
    static const unsigned some[] = {
        0,
        BERTH_ACTION_UPDATE_OTHER,
        BERTH_ACTION_UPDATE_POD_LABEL,
        BERTH_ACTION_UPDATE_POD_TOLERATION | BERTH_ACTION_UPDATE_POD_SCALE_DOWN,
        BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
        BERTH_ACTION_UPDATE_POD_LABEL | BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED,
    };
    int version = (int)below(s, VERSIONS), profile = (int)below(s, WORLD_PROFILES);
    struct model_pod wanted = as_version(pod, profile, version);
    if (queued(&s->b, pod)) {
        unsigned actions = some[below(s, ARRAY_LEN(some))];
        update(&s->b, pod, version, actions);
        model_update(&s->m, &wanted, actions, version, s->b.now);
    } else {
        add_to(&s->b, profile, pod, version);
        model_add(&s->m, &wanted, s->b.now);
    }
}

static bool step_pop(struct stream *s)
{
    struct model_pod *model = model_next(&s->m);
    struct berth_queued_pod *qp = queue_pop(&s->b.q, s->b.now);
    if (!same("popped", -1, qp ? number_of(qp->pod) : -1, model ? model->number : -1))
        return false;
    if (qp) {
        model_pop(&s->m, model);
        vec_push(&s->out, (struct out){qp, model});
    }
    return true;
}

static unsigned random_rejectors(struct stream *s, int profile)
{
    unsigned set = 0;
    for (unsigned n = (unsigned)below(s, 4); n; n--) {
        unsigned plugin = ON_NODE_ADD + (unsigned)below(s, ON_POD_LABEL);
        if (world_plugins[plugin].profiles >> profile & 1)
            set |= BIT(plugin);
    }
    return set;
}

/* Ends an attempt: begins the binding, is bound, or is requeued. */
static void step_end(struct stream *s)
{
    if (!s->out.n)
        return;
    size_t i = below(s, s->out.n);
    struct out o = s->out.v[i];
    uint64_t what = below(s, 6);
    if (what == 0 && o.model->place == QUEUE_IN_FLIGHT) {
        queue_begin_binding(&s->b.q, o.qp);
        model_begin_binding(&s->m, o.model);
        return;
    }
    vec_remove(&s->out, i);
    if (what == 1) {
        queue_done(&s->b.q, o.qp);
        model_done(&s->m, o.model);
        return;
    }
    unsigned rejectors = random_rejectors(s, o.model->profile);
    unsigned pending = one_in(s, 3) ? random_rejectors(s, o.model->profile) : 0;
    rejectors &= ~pending;
    requeue_queued(&s->b, o.qp, rejectors, pending);
    model_requeue(&s->m, o.model, rejectors, pending, s->b.now);
}

static void step_event(struct stream *s)
{
    static const struct {
        enum berth_resource resource;
        unsigned action;
    } some[] = {
        {BERTH_RESOURCE_NODE, BERTH_ACTION_ADD},
        {BERTH_RESOURCE_NODE, BERTH_ACTION_DELETE},
        {BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL},
        {BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_TAINT},
        {BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_ALLOCATABLE},
        {BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE},
        {BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_ADD},
        {BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_DELETE},
        {BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_UPDATE_POD_LABEL},
        {BERTH_RESOURCE_ASSIGNED_POD, BERTH_ACTION_UPDATE},
        {BERTH_RESOURCE_UNSCHEDULED_POD, BERTH_ACTION_UPDATE_POD_SCHEDULING_GATES_ELIMINATED},
        {BERTH_RESOURCE_PERSISTENT_VOLUME_CLAIM, BERTH_ACTION_ADD},
        {BERTH_RESOURCE_STORAGE_CLASS, BERTH_ACTION_DELETE},
        {BERTH_RESOURCE_ALL, BERTH_ACTION_ALL},
    };
    size_t i = below(s, ARRAY_LEN(some));
    int answer = (int)below(s, WORLD_ANSWERS);
    int except = one_in(s, 4) ? (int)below(s, WORLD_PODS) : -1;
    int32_t five = 5;
    struct cluster_event event = {.resource = some[i].resource, .action = some[i].action};
    struct model_event model = {some[i].resource, some[i].action, answer, -1};
    if (some[i].resource != BERTH_RESOURCE_ALL) {
        event.after = one_in(s, 3) ? NULL : nodes[answer];
        event.before = nodes[answer];
    }
    event.max_priority = one_in(s, 4) ? &five : NULL;
    event.except = except >= 0 ? uid_of(except) : STR("");
    queue_event(&s->b.q, &event, s->b.now);
    model_happens(&s->m, &model, event.max_priority, except, s->b.now);
}

static void step_time(struct stream *s)
{
    static const int64_t some[] = {1,
                                   40 * NSEC_PER_MSEC,
                                   300 * NSEC_PER_MSEC,
                                   NSEC_PER_SEC,
                                   5 * NSEC_PER_SEC / 2,
                                   7 * NSEC_PER_SEC,
                                   31 * NSEC_PER_SEC,
                                   200 * NSEC_PER_SEC};
    s->b.now += some[below(s, ARRAY_LEN(some))];
    if (one_in(s, 4))
        s->b.now += NSEC_PER_SEC - s->b.now % NSEC_PER_SEC; /* a whole second */
    if (one_in(s, 3))
        return; /* time may pass without a tick */
    queue_flush(&s->b.q, s->b.now);
    model_flush(&s->m, s->b.now);
}

/* Changes the plugins: gates open and close, hints change their answers. */
static void step_world(struct stream *s)
{
    struct world *w = &s->b.world;
    int pod = (int)below(s, WORLD_PODS);
    int gate = GATE + (int)below(s, 3);
    w->closed[gate][pod] = one_in(s, 3);
    int plugin = ON_NODE_ADD + (int)below(s, ON_POD_LABEL);
    w->queue[plugin][pod][below(s, WORLD_ANSWERS)] = one_in(s, 2);
}

static bool step(struct stream *s, int n_pods)
{
    int pod = (int)below(s, (uint64_t)n_pods);
    switch (below(s, 16)) {
    case 0 ... 2:
        step_add_or_update(s, pod);
        return true;
    case 3 ... 5:
        return step_pop(s);
    case 6 ... 8:
        step_end(s);
        return true;
    case 9 ... 11:
        step_event(s);
        return true;
    case 12:
        if (one_in(s, 2)) {
            queue_delete(&s->b.q, uid_of(pod));
            model_delete(&s->m, pod);
        } else {
            queue_activate(&s->b.q, uid_of(pod), s->b.now);
            model_activate(&s->m, pod, s->b.now);
        }
        return true;
    case 13:
        step_world(s);
        return true;
    default:
        step_time(s);
        return true;
    }
}

static bool stream_agrees(struct rand *r, size_t size, void *ctx)
{
    struct stream *s = xnew(struct stream);
    size_t *steps_done = ctx;
    bool ok = true;
    s->r = r;
    bench_init(&s->b);
    model_init(&s->m, &s->b.world, &s->b.options);
    for (int i = 0; i < N_PLUGINS * WORLD_PODS; i++)
        step_world(s);
    size_t steps = 60 * size;
    int n_pods = 1 + (int)below(s, WORLD_PODS);
    for (size_t i = 0; ok && i < steps; i++, ++*steps_done) {
        ok = step(s, n_pods) && agrees(s);
        if (!ok)
            fprintf(stderr, "after step %zu of %zu\n", i, steps);
    }
    for (size_t i = 0; i < s->out.n; i++) {
        queue_done(&s->b.q, s->out.v[i].qp);
        model_done(&s->m, s->out.v[i].model);
    }
    ok = ok && agrees(s);
    vec_release(&s->out);
    model_release(&s->m);
    bench_release(&s->b);
    free(s);
    return ok;
}

static void random_streams_agree_with_the_model(void **state)
{
    (void)state;
    size_t steps = 0;
    assert_true(prop_run("queue agrees with the model", 100, stream_agrees, &steps));
    assert_true(steps >= prop_share(250000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_come_in_the_order_of_queue_sort),
        cmocka_unit_test(the_timestamp_is_set_when_queued_and_when_back_not_when_moved),
        cmocka_unit_test(a_gated_pod_has_not_been_attempted),
        cmocka_unit_test(attempts_are_counted_by_pop),
        cmocka_unit_test(backoff_doubles_up_to_its_maximum),
        cmocka_unit_test(a_backoff_of_centuries_does_not_wrap),
        cmocka_unit_test(backoffs_end_on_whole_seconds),
        cmocka_unit_test(pods_of_one_window_come_in_the_order_of_queue_sort),
        cmocka_unit_test(errors_and_rejections_are_counted_apart),
        cmocka_unit_test(without_a_rejector_it_is_tried_again_whatever_happens),
        cmocka_unit_test(an_idle_queue_pops_pods_before_their_backoff_ends),
        cmocka_unit_test(an_error_keeps_its_backoff),
        cmocka_unit_test(a_backoff_that_is_over_sends_to_active_at_once),
        cmocka_unit_test(an_over_long_stay_ends_at_the_next_tick),
        cmocka_unit_test(a_gated_pod_stays_however_long),
        cmocka_unit_test(pods_in_flight_learn_of_the_end_of_long_stays),
        cmocka_unit_test(every_gate_must_be_open_and_the_closed_one_is_asked_first),
        cmocka_unit_test(only_events_of_its_gate_wake_a_gated_pod),
        cmocka_unit_test(gates_are_asked_once_after_the_initial_lists),
        cmocka_unit_test(a_gate_is_asked_on_the_way_to_backoff_and_not_again),
        cmocka_unit_test(a_broken_pod_that_was_gated_backs_off_with_the_rejected),
        cmocka_unit_test(hints_decide_where_a_pod_goes),
        cmocka_unit_test(only_rejectors_are_asked_for_hints),
        cmocka_unit_test(rejectors_are_those_of_the_pods_profile),
        cmocka_unit_test(registrations_cover_events),
        cmocka_unit_test(every_resource_with_some_actions_is_not_everything),
        cmocka_unit_test(a_taint_registration_is_not_doubled),
        cmocka_unit_test(an_event_may_be_meant_for_some_pods),
        cmocka_unit_test(events_during_flight_are_asked_when_the_pod_comes_back),
        cmocka_unit_test(events_before_the_flight_do_not_count),
        cmocka_unit_test(events_are_kept_for_the_oldest_pod_in_flight_and_no_longer),
        cmocka_unit_test(a_write_that_failed_is_tried_again_whatever_was_missed),
        cmocka_unit_test(a_bound_pod_is_forgotten),
        cmocka_unit_test(a_pod_is_updated_where_it_is),
        cmocka_unit_test(an_update_of_an_unknown_pod_is_ignored),
        cmocka_unit_test(a_new_priority_changes_the_order),
        cmocka_unit_test(an_update_may_make_a_pod_worth_another_attempt),
        cmocka_unit_test(an_update_during_flight_counts_when_the_pod_comes_back),
        cmocka_unit_test(a_pod_is_deleted_where_it_is),
        cmocka_unit_test(a_pod_deleted_while_it_was_bound_is_done_with),
        cmocka_unit_test(a_pod_is_activated_where_it_is),
        cmocka_unit_test(a_pod_activated_during_flight_comes_back_to_backoff),
        cmocka_unit_test(a_gate_holds_an_activated_pod),
        cmocka_unit_test(a_new_pods_nomination_is_taken_over),
        cmocka_unit_test(a_changed_nomination_is_taken_over_unless_the_pod_is_out),
        cmocka_unit_test(a_nomination_the_api_has_not_heard_of_is_kept),
        cmocka_unit_test(a_deleted_pods_nomination_goes),
        cmocka_unit_test(random_streams_agree_with_the_model),
    };
    return cmocka_run_group_tests_name("queue", tests, make_objects, drop_objects);
}
