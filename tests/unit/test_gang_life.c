/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gangs and preemption in a random cluster, with a simple model of the API server: pods, groups and
 * nodes are added, changed and deleted, the watch is late, writes succeed, fail or lose their
 * answers. Invariants: no gang is bound without its quorum; at rest nothing is reserved, the
 * engine's state equals the API server's, and no pod waits that could run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "api/scheduling.h"
#include "engine/rooms.h"
#include "engine_fixture.h"
#include "prop.h"

#define SECOND       ((int64_t)1000000000)
#define N_NODES      6
#define N_GROUPS     4
#define MAX_PODS     60
#define NAME_MAX_LEN 24

/* --- state of the API server ------------------------------------------------------------------ */

struct api_node {
    int cpu; /* 0: does not exist */
    struct object *object;
};

struct api_group {
    int min; /* 0: does not exist */
    int generation;
    bool whole;        /* disruptionMode PodGroup */
    int cpu, priority; /* of its members */
    struct object *object;
};

struct api_pod {
    int group; /* -1: no group */
    int cpu, priority, version;
    bool never; /* preemptionPolicy Never */
    bool gone, deleting, preempted;
    char node[NAME_MAX_LEN], promised[NAME_MAX_LEN];
    struct object *object; /* last version sent by the watch, or to be sent */
};

struct news {
    struct object *before, *after;
};

struct world {
    struct fixture f;
    struct rand *r;
    struct api_node nodes[N_NODES];
    struct api_group groups[N_GROUPS];
    struct api_pod pods[MAX_PODS];
    size_t n_pods;
    VEC(struct news) news; /* not sent yet, from `told` on */
    size_t told;
    size_t checked; /* writes that were checked */
    size_t done;    /* at least this many were answered */
    bool trouble;   /* writes may fail */
    bool extends;
    const char *gates;
    char wrong[256]; /* empty: no error */
};

static bool once_in(struct world *w, uint64_t n)
{
    return rand_below(w->r, n) == 0;
}

static void wrong(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void wrong(struct world *w, const char *fmt, ...)
{
    va_list ap;
    if (w->wrong[0])
        return;
    va_start(ap, fmt);
    vsnprintf(w->wrong, sizeof(w->wrong), fmt, ap);
    va_end(ap);
}

/* Events are delivered later. */
static void publish(struct world *w, struct object **at, struct object *after)
{
    struct object *before = *at;
    *at = after;
    if (!before && !after)
        return;
    vec_push(&w->news, (struct news){before, after ? object_ref(after) : NULL});
}

static void check_writes(struct world *w);

static void tell(struct world *w)
{
    if (w->told == w->news.n)
        return;
    struct news *n = &w->news.v[w->told++];
    engine_object_changed(w->f.engine, n->before, n->after);
    object_unref(n->before);
    object_unref(n->after);
    w->f.now++;
    check_writes(w);
}

static struct object *pod_object(const struct world *w, size_t i)
{
    const struct api_pod *p = &w->pods[i];
    return POD(.name = textf("p%zu", i), .version = textf("%d", p->version), .node = p->node,
               .priority = p->priority, .cpu = textf("%d", p->cpu), .nominated = p->promised,
               .group = p->group >= 0 ? textf("g%d", p->group) : NULL,
               .preemption_policy = p->never ? "Never" : NULL, .deleting = p->deleting,
               .preempted = p->preempted);
}

static void pod_changed(struct world *w, size_t i)
{
    struct api_pod *p = &w->pods[i];
    p->version++;
    publish(w, &p->object, p->gone ? NULL : pod_object(w, i));
}

/* --- user actions ----------------------------------------------------------------------------- */

static void change_node(struct world *w, size_t i)
{
    struct api_node *n = &w->nodes[i];
    char name[NAME_MAX_LEN], cpu[NAME_MAX_LEN];
    n->cpu = n->cpu && once_in(w, 4) ? 0 : 1 + (int)rand_below(w->r, 8);
    snprintf(name, sizeof(name), "n%zu", i);
    snprintf(cpu, sizeof(cpu), "%d", n->cpu);
    publish(w, &n->object, n->cpu ? NODE(.name = name, .cpu = cpu, .memory = "8Gi") : NULL);
}

static void change_group(struct world *w, size_t i)
{
    struct api_group *g = &w->groups[i];
    if (g->min) {
        g->min = 0;
        publish(w, &g->object, NULL);
        return;
    }
    g->min = 1 + (int)rand_below(w->r, 5);
    g->whole = once_in(w, 2);
    publish(w, &g->object,
            POD_GROUP(.name = textf("g%zu", i), .uid = textf("g%zu-%d", i, g->generation++),
                      .min_count = g->min, .priority = g->priority,
                      .spec = g->whole ? "'disruptionMode':'PodGroup'" : NULL));
}

static void add_pod(struct world *w)
{
    if (w->n_pods == MAX_PODS)
        return;
    struct api_pod *p = &w->pods[w->n_pods];
    *p = (struct api_pod){.group = once_in(w, 3) ? -1 : (int)rand_below(w->r, N_GROUPS),
                          .cpu = 1 + (int)rand_below(w->r, 4),
                          .priority = (int)rand_below(w->r, 4) * 10,
                          .never = once_in(w, 8)};
    if (p->group >= 0) {
        p->cpu = w->groups[p->group].cpu;
        p->priority = w->groups[p->group].priority;
        p->never = false;
    }
    w->n_pods++;
    pod_changed(w, w->n_pods - 1);
}

/* A pod on a node terminates first; the second call removes it. */
static void delete_pod(struct world *w, size_t i)
{
    struct api_pod *p = &w->pods[i];
    if (p->gone)
        return;
    p->gone = !p->node[0] || p->deleting;
    p->deleting = true;
    pod_changed(w, i);
}

/* --- invariants at any time ------------------------------------------------------------------- */

static size_t pod_of(const struct object *pod)
{
    return (size_t)strtoul(object_meta(pod)->name.p + 1, NULL, 10);
}

/* As the engine knows it. */
static int quorum_of(struct world *w, int group)
{
    const char *name = textf("g%d", group);
    struct object *o =
        objects_get(&w->f.engine->cluster.objects, KIND_POD_GROUP, STR("default"), str_of(name));
    return o ? (int)object_pod_group(o)->spec.scheduling_policy.gang->min_count : 0;
}

static int placed_of(struct world *w, int group)
{
    int n = 0;
    for (size_t i = 0; i < w->n_pods; i++) {
        const char *uid = textf("p%zu", i);
        n += w->pods[i].group == group && cache_pod(&w->f.engine->cache, str_of(uid));
    }
    return n;
}

/* A victim must have a lower priority than its preemptor. */
static void check_eviction(struct world *w, const struct fixture_write *event)
{
    if (object_kind(event->related)->id != KIND_POD)
        return;
    size_t victim = pod_of(event->pod), preemptor = pod_of(event->related);
    if (w->pods[victim].priority >= w->pods[preemptor].priority || w->pods[preemptor].never)
        wrong(w, "p%zu leaves for p%zu", victim, preemptor);
}

static void check_writes(struct world *w)
{
    for (; w->checked < w->f.writes.n; w->checked++) {
        const struct fixture_write *write = &w->f.writes.v[w->checked];
        if (write->kind == WRITE_EVENT && write->related)
            check_eviction(w, write);
        if (write->kind != WRITE_BINDING)
            continue;
        int group = w->pods[pod_of(write->pod)].group;
        if (group >= 0 && placed_of(w, group) < quorum_of(w, group))
            wrong(w, "p%zu of g%d is bound, and only %d of %d have a node", pod_of(write->pod),
                  group, placed_of(w, group), quorum_of(w, group));
    }
}

/* --- writes ----------------------------------------------------------------------------------- */

/* Applies a write to the server. Returns the status of the answer. */
static int apply(struct world *w, const struct fixture_write *write)
{
    size_t i = pod_of(write->pod);
    struct api_pod *p = &w->pods[i];
    if (p->gone)
        return 404;
    if (w->trouble && once_in(w, 12))
        return 500;
    switch (write->kind) {
    case WRITE_BINDING:
        if (p->node[0] || p->deleting)
            return 409;
        snprintf(p->node, sizeof(p->node), "%s", write->node);
        p->promised[0] = '\0';
        break;
    case WRITE_POD_STATUS:
        /* A write that changes nothing, as far as known at the time, is not sent. */
        if (!write->sets_nomination || p->node[0] || strcmp(p->promised, write->node) == 0 ||
            str_is(object_pod(write->pod)->status.nominated_node_name, write->node))
            return 200;
        snprintf(p->promised, sizeof(p->promised), "%s", write->node);
        break;
    case WRITE_EVICTION:
        p->preempted = true;
        p->gone = !p->node[0];
        p->deleting = true;
        break;
    default:
        return 200;
    }
    pod_changed(w, i);
    return write->kind == WRITE_BINDING ? 201 : 200;
}

/* Writes about one pod are applied in order. */
static bool is_next(const struct world *w, size_t at)
{
    for (size_t i = w->done; i < at; i++)
        if (!w->f.writes.v[i].answered &&
            str_eq(object_meta(w->f.writes.v[i].pod)->uid, object_meta(w->f.writes.v[at].pod)->uid))
            return false;
    return true;
}

/* Answers a write, sometimes after the watch. Returns false if there is none. */
static bool answer(struct world *w)
{
    size_t skip = once_in(w, 4) ? (size_t)rand_below(w->r, 4) : 0;
    while (w->done < w->f.writes.n && w->f.writes.v[w->done].answered)
        w->done++;
    for (size_t i = w->done; i < w->f.writes.n; i++) {
        struct fixture_write *write = &w->f.writes.v[i];
        if (write->answered || !is_next(w, i) || (skip && i + 1 < w->f.writes.n && skip--))
            continue;
        write->answered = true;
        if (write->kind == WRITE_POD_GROUP_STATUS || write->kind == WRITE_EVENT)
            return true;
        struct write_result result = {.status = apply(w, write), .message = STR("no")};
        uint64_t id = write->id;
        if (w->trouble && once_in(w, 20))
            result.status = 500; /* it was done, but the answer is lost */
        while (once_in(w, 2) && w->told < w->news.n)
            tell(w);
        if (id)
            engine_write_done(w->f.engine, id, &result);
        check_writes(w);
        w->f.now++;
        return true;
    }
    return false;
}

/* --- extenders -------------------------------------------------------------------------------- */

static const struct extender extenders[] = {
    {.name = STR_INIT("http://x"),
     .filters = true,
     .prioritizes = true,
     .preempts = true,
     .weight = 1},
};

/* "n0:p1,p2:0": the extender selects all of them as victims. */
static void read_victims(struct str text, struct str *uids, struct extender_meta_victims *ret)
{
    struct str pods, one;
    size_t n = 0;
    str_split(&text, ':', &ret->node_name);
    str_split(&text, ':', &pods);
    while (str_split(&pods, ',', &one))
        uids[n++] = one;
    ret->uids = uids;
    ret->n_uids = n;
    ret->pdb_violations = 0;
}

static bool answer_extender(struct world *w)
{
    struct fixture_call *call = fixture_call(&w->f);
    struct extender_result result = {0};
    struct extender_host_score scores[N_NODES];
    struct extender_meta_victims victims[N_NODES];
    struct str kept[N_NODES], uids[N_NODES][MAX_PODS], rest, one;
    if (!call)
        return false;
    char *nodes = xstrdup(call->nodes);
    if (w->trouble && once_in(w, 8))
        result.error = STR("no");
    rest = str_of(nodes);
    while (str_split(&rest, ' ', &one)) {
        size_t n = result.n_victims;
        if (call->verb == EXTENDER_PRIORITIZE)
            scores[result.n_scores++] = (struct extender_host_score){one, 5};
        else if (w->trouble && once_in(w, 6))
            continue;
        else if (call->verb == EXTENDER_PREEMPT)
            read_victims(one, uids[n], &victims[result.n_victims++]);
        else
            kept[result.n_kept++] = one;
    }
    result.kept = kept;
    result.scores = scores;
    result.victims = victims;
    fixture_extender_done(&w->f, call, &result);
    check_writes(w);
    free(nodes);
    return true;
}

/* --- invariants at rest ----------------------------------------------------------------------- */

/* A gang that never completes may keep a nominated node, as upstream; not with the gate. */
static bool is_nominated(const struct world *w, size_t pod, const char *node)
{
    const struct queue *q = &w->f.engine->queue;
    const char *uid = textf("p%zu", pod);
    return w->pods[pod].group >= 0 &&
           !w->f.engine->framework.features.on[FEATURE_BERTH_GANGS_HOLD_NOTHING] &&
           str_is(nominator_node_of(&q->nominator, str_of(uid)), node);
}

/* A node's free resources for pods of this priority; below: pods of lower priority count as
 * gone. */
static int room(const struct world *w, size_t i, int group, int priority, int below)
{
    int cpu = w->nodes[i].cpu;
    const char *node = textf("n%zu", i);
    for (size_t k = 0; k < w->n_pods; k++) {
        const struct api_pod *p = &w->pods[k];
        if (p->gone)
            continue;
        if (strcmp(p->node, node) == 0
                ? p->priority >= below
                : p->priority >= priority && p->group != group && is_nominated(w, k, node))
            cpu -= p->cpu;
    }
    return cpu;
}

static void check_nothing_is_held(struct world *w)
{
    struct engine *e = w->f.engine;
    struct engine_stats s = engine_get_stats(e);
    if (s.held || s.assumed_pods || s.binding)
        wrong(w, "%zu held, %zu assumed, %zu are bound", s.held, s.assumed_pods, s.binding);
    if (e->evictions.by_preemptor.n || e->evictions.writes.n || e->attempt.queued ||
        e->groups.cycle.active)
        wrong(w, "something is under way");
    map_each (entry, &e->queue.nominator.pods) {
        const struct api_pod *p = &w->pods[strtoul(entry->key.p + 1, NULL, 10)];
        if (p->gone || p->node[0])
            wrong(w, "%.*s is promised a node", STR_ARG(entry->key));
    }
}

static void check_knowledge(struct world *w)
{
    struct engine *e = w->f.engine;
    for (size_t i = 0; i < w->n_pods; i++) {
        const struct api_pod *p = &w->pods[i];
        const char *uid = textf("p%zu", i);
        const struct cache_pod *cp = cache_pod(&e->cache, str_of(uid));
        bool runs = !p->gone && p->node[0];
        if ((cp != NULL) != runs || (cp && !str_is(str_of(cp->node->name), p->node)))
            wrong(w, "%s is on %s, says the engine; it is on %s", uid,
                  cp ? cp->node->name : "no node", p->node);
        bool waits = !p->gone && !p->node[0] && !p->deleting;
        if (waits != (queue_get(&e->queue, str_of(uid)) != NULL))
            wrong(w, "%s is %s the queue", uid, waits ? "not in" : "in");
    }
    for (int g = 0; g < N_GROUPS; g++) {
        char name[NAME_MAX_LEN];
        size_t n = 0, placed = 0;
        snprintf(name, sizeof(name), "g%d", g);
        const struct pod_group_state *state =
            pod_groups_get(&e->cluster.pod_groups, STR("default"), str_of(name));
        for (size_t i = 0; i < w->n_pods; i++) {
            n += w->pods[i].group == g && !w->pods[i].gone;
            placed += w->pods[i].group == g && !w->pods[i].gone && w->pods[i].node[0];
        }
        if ((state ? state->members.n : 0) != n ||
            (state ? pod_group_scheduled(state) : 0) != placed)
            wrong(w, "%s has %zu members and %zu run", name, n, placed);
    }
}

/* No pod waits that could run or preempt. */
static void check_pod(struct world *w, size_t i)
{
    const struct api_pod *p = &w->pods[i];
    if (p->gone || p->node[0] || p->deleting || p->group >= 0)
        return;
    for (size_t k = 0; k < N_NODES; k++)
        if (w->nodes[k].cpu &&
            room(w, k, -1, p->priority, p->never ? INT32_MIN : p->priority) >= p->cpu)
            wrong(w, "p%zu of %d cpus and priority %d waits, and n%zu has room", i, p->cpu,
                  p->priority, k);
}

static void check_gang(struct world *w, int g)
{
    const struct api_group *group = &w->groups[g];
    int placed = 0, waits = 0, fit = 0;
    for (size_t i = 0; i < w->n_pods; i++)
        if (w->pods[i].group == g && !w->pods[i].gone) {
            placed += w->pods[i].node[0] != '\0';
            waits += !w->pods[i].node[0];
        }
    for (size_t k = 0; k < N_NODES; k++)
        if (w->nodes[k].cpu)
            fit += MAX(room(w, k, g, group->priority, group->priority), 0) / group->cpu;
    int more = MIN(fit, waits);
    if (group->min && more && placed + more >= group->min)
        wrong(w, "g%d: %d of %d run, %d wait, and there is room for %d", g, placed, group->min,
              waits, fit);
}

/* --- a random run ----------------------------------------------------------------------------- */

static void reload(struct world *w)
{
    struct reload_result result;
    struct fixture_reload to = {.config = once_in(w, 2)
                                              ? NULL
                                              : "apiVersion: kubescheduler.config.k8s.io/v1\n"
                                                "kind: KubeSchedulerConfiguration\n"
                                                "percentageOfNodesToScore: 70\n",
                                .extenders = extenders,
                                .n_extenders = w->extends};
    assert_int_equal(fixture_reload(&w->f, &to, &result, NULL), 0);
}

static void step(struct world *w)
{
    uint64_t what = rand_below(w->r, 64);
    if (what < 8)
        add_pod(w);
    else if (what < 10)
        change_node(w, (size_t)rand_below(w->r, N_NODES));
    else if (what < 11)
        change_group(w, (size_t)rand_below(w->r, N_GROUPS));
    else if (what < 14 && w->n_pods)
        delete_pod(w, (size_t)rand_below(w->r, w->n_pods));
    else if (what < 18)
        fixture_pass(&w->f, (int64_t)rand_below(w->r, 10) * SECOND);
    else if (what < 19 && once_in(w, 4))
        fixture_pass(&w->f, 301 * SECOND);
    else if (what < 20 && once_in(w, 4))
        reload(w);
    else if (what < 34)
        answer(w);
    else if (what < 40)
        answer_extender(w);
    else if (what < 50)
        tell(w);
    else if (engine_schedule_one(w->f.engine))
        w->f.now++;
    check_writes(w);
}

/* Performs everything that is due at this time. */
static void settle(struct world *w)
{
    int busy = 0;
    bool any = true;
    while (any) {
        any = false;
        while (w->told < w->news.n)
            tell(w);
        while (engine_schedule_one(w->f.engine)) {
            check_writes(w);
            w->f.now++;
            any = true;
            if (++busy > 3000) {
                wrong(w, "it turns in circles");
                return;
            }
        }
        while (answer(w) || answer_extender(w))
            any = true;
        for (size_t i = 0; i < w->n_pods; i++)
            if (!w->pods[i].gone && w->pods[i].deleting) {
                delete_pod(w, i);
                any = true;
            }
    }
}

static void come_to_rest(struct world *w)
{
    w->trouble = false;
    for (int i = 0; i < 80 && !w->wrong[0]; i++) {
        settle(w);
        fixture_pass(&w->f, 20 * SECOND);
    }
    settle(w);
    check_nothing_is_held(w);
    check_knowledge(w);
    for (size_t i = 0; i < w->n_pods; i++)
        check_pod(w, i);
    for (int g = 0; g < N_GROUPS; g++)
        check_gang(w, g);
}

static void begin(struct world *w, struct rand *r)
{
    static const char *const gates[] = {
        NULL,
        "BerthGangPreemption=true",
        "BerthGangsHoldNothing=true",
        "BerthGangPreemption=true,BerthGangsHoldNothing=true",
        "SchedulerAsyncPreemption=false",
        "BerthVictimsCanMove=true,BerthWidePreemption=true",
        "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true",
        "GenericWorkload=true,GangScheduling=true,TopologyAwareWorkloadScheduling=true",
        "BerthGangPreemption=true,SchedulerAsyncPreemption=false",
        "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,"
        "SchedulerAsyncPreemption=false",
        "GenericWorkload=true,GangScheduling=true,WorkloadAwarePreemption=true,"
        "BerthGangsHoldNothing=true",
        "BerthGangPreemption=true,BerthGangsHoldNothing=true,BerthVictimsCanMove=true,"
        "BerthWidePreemption=true",
    };
    *w = (struct world){.r = r, .trouble = rand_below(r, 2) == 0, .extends = rand_below(r, 4) == 0};
    w->gates = gates[rand_below(r, ARRAY_LEN(gates))];
    fixture_init_parts(&w->f, &(struct fixture_parts){.gates = w->gates,
                                                      .extenders = extenders,
                                                      .n_extenders = w->extends});
    for (size_t i = 0; i < N_GROUPS; i++) {
        w->groups[i].cpu = 1 + (int)rand_below(r, 3);
        w->groups[i].priority = (int)rand_below(r, 4) * 10;
        if (rand_below(r, 4))
            change_group(w, i);
    }
    for (size_t i = 0; i < N_NODES; i++)
        if (rand_below(r, 4))
            change_node(w, i);
}

static void end(struct world *w)
{
    for (size_t i = w->told; i < w->news.n; i++) {
        object_unref(w->news.v[i].before);
        object_unref(w->news.v[i].after);
    }
    vec_release(&w->news);
    for (size_t i = 0; i < N_NODES; i++)
        object_unref(w->nodes[i].object);
    for (size_t i = 0; i < N_GROUPS; i++)
        object_unref(w->groups[i].object);
    for (size_t i = 0; i < w->n_pods; i++)
        object_unref(w->pods[i].object);
    fixture_release(&w->f);
}

static bool live(struct rand *r, size_t size, void *ctx)
{
    struct world w;
    (void)ctx;
    begin(&w, r);
    for (size_t i = 0; i < 20 + size * 6 && !w.wrong[0]; i++)
        step(&w);
    if (!w.wrong[0])
        come_to_rest(&w);
    if (w.wrong[0])
        fprintf(stderr, "%s (gates %s%s)\n", w.wrong, w.gates ? w.gates : "-",
                w.extends ? ", an extender" : "");
    bool ok = !w.wrong[0];
    end(&w);
    return ok;
}

static void gangs_live_and_let_live(void **state)
{
    (void)state;
    assert_true(prop_run("gang life", 60, live, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gangs_live_and_let_live),
    };
    return cmocka_run_group_tests_name("gang_life", tests, NULL, NULL);
}
