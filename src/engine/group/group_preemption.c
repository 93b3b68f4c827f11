/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/group/group_preemption.h"

#include "api/scheduling.h"
#include "engine/group/group_trial.h"

/* Upstream's names for the whole cluster as the place of the victims. */
#define PLACE  STR("cluster")
#define DOMAIN "cluster-domain"

#define DISRUPTION_MODE_POD_GROUP "PodGroup"

/* A node's pods, in their order before the search. */
struct node_order {
    struct berth_node *node;
    struct berth_pod **pods;
};

typedef VEC(struct group_victim *) victim_list;

struct search {
    struct groups *g;
    const struct pod_group *group;
    int32_t priority;
    struct arena *arena;
    victim_list potential; /* all with a lower priority; in the arena, except lists */
    victim_list chosen;    /* of these, those that cannot be reprieved */
    VEC(struct node_order) orders;
};

void group_preemption_offer(struct berth_handle *h, const struct group_preemption_policy *policy)
{
    h->group_preemption = policy;
}

bool group_preemption_blocks(const struct berth_handle *h, struct str uid)
{
    return eviction_blocks(h->framework->evictions, uid);
}

static int32_t priority_of(const struct pod_group *group)
{
    return group->spec.priority ? *group->spec.priority : 0;
}

/* --- potential victims ------------------------------------------------------------------------ */

/* The PodGroup that is evicted as a whole with this pod; NULL: the pod alone. */
static const struct pod_group *whole_group(struct cluster *cluster, const struct pod *pod)
{
    struct str name = pod_group_of(pod);
    struct object *o = str_empty(name) ? NULL
                                       : objects_get(&cluster->objects, KIND_POD_GROUP,
                                                     pod->metadata.namespace, name);
    const struct pod_group *group = o ? object_pod_group(o) : NULL;
    return group && str_is(group->spec.disruption_mode, DISRUPTION_MODE_POD_GROUP) ? group : NULL;
}

static struct group_victim *new_victim(struct search *s, size_t index, int32_t priority,
                                       const struct berth_pod *first)
{
    struct group_victim *v = arena_new(s->arena, struct group_victim);
    *v =
        (struct group_victim){.priority = priority, .start = pod_start_time(first), .index = index};
    return v;
}

static void add_victim(struct search *s, struct map *groups, victim_list *all,
                       struct berth_pod *pod)
{
    const struct pod_group *group = whole_group(s->g->framework->cluster, pod->pod);
    struct group_victim *v = group ? map_get(groups, group->metadata.uid) : NULL;
    if (!v) {
        v = new_victim(s, all->n, group ? priority_of(group) : pod->priority, pod);
        vec_push(all, v);
        if (group)
            map_put(groups, group->metadata.uid, v);
    }
    vec_push(&v->pods, pod);
}

/* All pods of the cluster as victims, then those of a lower priority than the group. */
static void find_potential(struct search *s)
{
    struct map groups = MAP_INIT;
    victim_list all = {0};
    struct cache *cache = s->g->framework->cache;
    cache_refresh(cache);
    const node_list *nodes = &cache->order;
    for (size_t i = 0; i < nodes->n; i++)
        for (size_t k = 0; k < nodes->v[i]->pods.n; k++)
            add_victim(s, &groups, &all, nodes->v[i]->pods.v[k]);
    for (size_t i = 0; i < all.n; i++)
        if (all.v[i]->priority < s->priority)
            vec_push(&s->potential, all.v[i]);
        else
            vec_release(&all.v[i]->pods);
    vec_release(&all);
    map_release(&groups);
}

/*
 * Higher priority, then groups before pods, the larger and then the older group, the older pod.
 * What upstream calls a group here is any pod that names one, and a group's age is the age of the
 * pod that was found first.
 */
static int compare(const void *a, const void *b)
{
    const struct group_victim *x = *(struct group_victim *const *)a;
    const struct group_victim *y = *(struct group_victim *const *)b;
    bool of_group = x->pods.v[0]->pod->spec.scheduling_group;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    if (of_group != (y->pods.v[0]->pod->spec.scheduling_group != NULL))
        return of_group ? -1 : 1;
    if (of_group && x->pods.n != y->pods.n)
        return x->pods.n > y->pods.n ? -1 : 1;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static void sort(victim_list *list)
{
    if (list->n)
        qsort(list->v, list->n, sizeof(*list->v), compare);
}

/* --- removal and reprieve --------------------------------------------------------------------- */

/* An assumed pod still counts for its own group: upstream's dry run changes nodes only. */
static void move(struct search *s, struct group_victim *v, bool away)
{
    struct cache *cache = s->g->framework->cache;
    for (size_t i = 0; i < v->pods.n; i++) {
        struct cache_pod *cp = cache_pod(cache, pod_info_key(v->pods.v[i]));
        if (away)
            cache_lift_pod(cache, cp);
        else
            cache_put_back_pod(cache, cp);
        pod_groups_moved(&s->g->framework->cluster->pod_groups, cp->pod, 1);
    }
    v->away = away;
}

static void keep_order(struct search *s)
{
    const node_list *nodes = &s->g->framework->cache->order;
    for (size_t i = 0; i < nodes->n; i++) {
        size_t n = nodes->v[i]->pods.n;
        if (!n)
            continue;
        struct node_order order = {nodes->v[i], arena_array(s->arena, struct berth_pod *, n)};
        memcpy(order.pods, nodes->v[i]->pods.v, n * sizeof(*order.pods));
        vec_push(&s->orders, order);
    }
}

static void restore(struct search *s)
{
    for (size_t i = 0; i < s->potential.n; i++)
        if (s->potential.v[i]->away)
            move(s, s->potential.v[i], false);
    for (size_t i = 0; i < s->orders.n; i++)
        node_info_reorder(s->orders.v[i].node, s->orders.v[i].pods);
}

static void log_stays_away(const struct search *s, const struct group_victim *v)
{
    struct buf names = BUF_INIT;
    if (!engine_log_on(&s->g->framework->log, 6))
        return;
    for (size_t i = 0; i < v->pods.n; i++) {
        buf_add_cstr(&names, i ? "," : "");
        buf_add_str(&names, v->pods.v[i]->pod->metadata.name);
    }
    engine_log(&s->g->framework->log, 6, "Pods are potential preemption victims on domain",
               KV_STR("pods", buf_str(&names)), KV_CSTR("domain", DOMAIN));
    buf_release(&names);
}

static void reprieve(struct search *s)
{
    for (size_t i = 0; i < s->potential.n; i++) {
        struct group_victim *v = s->potential.v[i];
        struct buf text = BUF_INIT;
        move(s, v, false);
        if (group_trial(s->g, &text) != GROUP_SCHEDULABLE) {
            move(s, v, true);
            vec_push(&s->chosen, v);
            log_stays_away(s, v);
        }
        buf_release(&text);
    }
}

/* Success: s->chosen have to leave. Else why not, in *text. */
static enum berth_code choose(struct search *s, const struct group_preemption_policy *policy,
                              struct buf *text)
{
    static const enum berth_code codes[] = {[GROUP_SCHEDULABLE] = BERTH_SUCCESS,
                                            [GROUP_UNSCHEDULABLE] = BERTH_UNSCHEDULABLE,
                                            [GROUP_PREEMPTS] = BERTH_UNSCHEDULABLE,
                                            [GROUP_BROKE] = BERTH_ERROR};
    find_potential(s);
    if (!s->potential.n) {
        buf_add_cstr(text, "No preemption victims found for incoming preemptor");
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    keep_order(s);
    for (size_t i = 0; i < s->potential.n; i++)
        move(s, s->potential.v[i], true);
    enum berth_code code = codes[group_trial(s->g, text)];
    if (code == BERTH_SUCCESS) {
        sort(&s->potential);
        policy->split(policy->ctx, s->potential.v, s->potential.n);
        reprieve(s);
        sort(&s->chosen);
    }
    restore(s);
    return code;
}

static void release(struct search *s)
{
    for (size_t i = 0; i < s->potential.n; i++)
        vec_release(&s->potential.v[i]->pods);
    vec_release(&s->potential);
    vec_release(&s->chosen);
    vec_release(&s->orders);
}

/* --- the eviction ----------------------------------------------------------------------------- */

static enum berth_code evict(struct search *s, struct object *group,
                             const struct berth_handle *plugin)
{
    const struct group_cycle *c = &s->g->cycle;
    struct candidate candidate = {.node_name = PLACE};
    size_t n = c->members.n;
    struct berth_pod **members = arena_array(s->arena, struct berth_pod *, n);
    for (size_t i = 0; i < n; i++)
        members[i] = c->members.v[i]->pod;
    for (size_t i = 0; i < s->chosen.n; i++)
        for (size_t k = 0; k < s->chosen.v[i]->pods.n; k++)
            vec_push(&candidate.victims, s->chosen.v[i]->pods.v[k]);
    struct preemptor preemptor = {.uid = s->group->metadata.uid,
                                  .object = group,
                                  .is_group = true,
                                  .priority = s->priority,
                                  .scheduler_name = members[0]->pod->spec.scheduler_name,
                                  .pods = members,
                                  .n_pods = n};
    enum berth_code code = eviction_start(s->g->evictions, &preemptor, &candidate, plugin);
    vec_release(&candidate.victims);
    return code;
}

/* --- the whole -------------------------------------------------------------------------------- */

static const struct berth_handle *find_plugin(const struct profile *profile)
{
    for (size_t i = 0; i < profile->instances.n; i++)
        if (profile->instances.v[i]->group_preemption)
            return profile->instances.v[i];
    return NULL;
}

static bool never_preempts(const struct group_cycle *c)
{
    for (size_t i = 0; i < c->members.n; i++)
        if (str_is(c->members.v[i]->pod->pod->spec.preemption_policy, PREEMPT_NEVER))
            return true;
    return false;
}

/* Why the group may not preempt; NULL: it may. */
static const char *why_not(const struct groups *g, const struct pod_group *group)
{
    const struct pod_group_scheduling_constraints *where = group->spec.scheduling_constraints;
    if (where && where->topology.n)
        return "workload aware preemption is not supported for pod groups with scheduling "
               "constraints";
    if (!never_preempts(&g->cycle))
        return NULL;
    const char *reason = "not eligible due to preemptionPolicy=Never.";
    engine_log(&g->framework->log, 5, "Preemptor is not eligible for preemption",
               KV_META("preemptor", &group->metadata), KV_CSTR("reason", reason));
    return reason;
}

static enum berth_code run(struct groups *g, struct buf *text)
{
    struct group_cycle *c = &g->cycle;
    const struct berth_handle *plugin = find_plugin(c->profile);
    struct object *object =
        objects_get(&g->framework->cluster->objects, KIND_POD_GROUP, c->namespace, c->name);
    if (!plugin) {
        buf_add_cstr(text, "default preemption plugin is not registered, workload aware preemption "
                           "is disabled");
        return BERTH_UNSCHEDULABLE;
    }
    if (!object) {
        buf_add_printf(text,
                       "failed to get pod group object: podgroup.scheduling.k8s.io \"%.*s\" not "
                       "found",
                       STR_ARG(c->name));
        return BERTH_ERROR;
    }
    const struct pod_group *group = object_pod_group(object);
    const char *refusal = why_not(g, group);
    if (refusal) {
        buf_add_cstr(text, refusal);
        return BERTH_UNSCHEDULABLE;
    }
    struct search s = {
        .g = g, .group = group, .priority = priority_of(group), .arena = &c->cycle->arena};
    enum berth_code code = choose(&s, plugin->group_preemption, text);
    if (code == BERTH_SUCCESS)
        code = evict(&s, object, plugin);
    release(&s);
    return code;
}

void group_preempted(struct group_run *run, enum berth_code code, struct str text)
{
    if (code == BERTH_SUCCESS) {
        run->outcome = GROUP_PREEMPTS;
    } else if (code_rejects(code)) {
        buf_add_printf(&run->text, ", %.*s", STR_ARG(text));
    } else {
        run->outcome = GROUP_BROKE;
        buf_clear(&run->text);
        buf_add_str(&run->text, text);
    }
}

bool group_preempt(struct groups *g)
{
    struct group_run *r = &g->cycle.run;
    struct buf text = BUF_INIT;
    if (!g->framework->features.on[FEATURE_WORKLOAD_AWARE_PREEMPTION] ||
        (r->outcome != GROUP_UNSCHEDULABLE && r->outcome != GROUP_PREEMPTS))
        return false;
    enum berth_code code = run(g, &text);
    if (code != BERTH_ASYNC)
        group_preempted(r, code, buf_str(&text));
    buf_release(&text);
    return code == BERTH_ASYNC;
}
