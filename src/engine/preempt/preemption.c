/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/preemption.h"

#include "engine/cycle/extender_calls.h"
#include "engine/cycle/fit_error.h"
#include "engine/cycle/post_filter.h"
#include "engine/preempt/dry_run.h"
#include "engine/preempt/eviction.h"
#include "engine/preempt/victim_relocation.h"

struct preemption {
    struct berth_cycle *cycle;
    const struct berth_handle *handle;
    const struct preemption_style *style;
    struct berth_pod *pod; /* newest version; a reference is held */
    candidate_list candidates;
    size_t next_extender; /* the next that may be called */
    struct candidate chosen;
};

static struct preemption *preemption_of(const struct berth_cycle *cycle)
{
    return cycle->attached[CYCLE_PREEMPTION].data;
}

static struct evictions *evictions_of(const struct preemption *p)
{
    return p->handle->framework->evictions;
}

struct berth_pod *preemption_pod(const struct berth_cycle *cycle)
{
    return cycle->queued->pod;
}

struct str preemption_nominated_node(const struct berth_cycle *cycle, const struct berth_pod *pod)
{
    struct str written = pod->pod->status.nominated_node_name;
    return str_empty(written)
               ? nominator_node_of(&cycle->cycles->queue->nominator, pod_info_key(pod))
               : written;
}

const struct berth_node *preemption_node(const struct berth_cycle *cycle, struct str name)
{
    const struct berth_node *node = cache_node(cycle->framework->cache, name);
    return node && node->object ? node : NULL;
}

bool preemption_node_has_room(struct berth_cycle *cycle, const struct berth_pod *pod,
                              const struct berth_node *nominated)
{
    const struct berth_node *node = cache_node(cycle->framework->cache, str_of(nominated->name));
    const struct berth_handle *plugin;
    if (!cycle->resumed || !cycle->on_nominated.refused ||
        cycle->on_nominated.slot != nominated->slot || !cycle_prepare_again(cycle, pod))
        return false;
    struct berth_status status;
    status_init(&status);
    enum berth_code code = cycle_filter_node(cycle, pod, node, &status, &plugin);
    status_release(&status);
    return code == BERTH_SUCCESS;
}

bool preemption_blocks(const struct berth_handle *handle, const struct berth_pod *pod)
{
    return eviction_blocks(handle->framework->evictions, pod_info_key(pod));
}

static void free_preemption(void *data)
{
    struct preemption *p = data;
    candidates_clear(&p->candidates);
    vec_release(&p->candidates);
    candidate_release(&p->chosen);
    pod_info_unref(p->pod);
    free(p);
}

/* --- verdicts --------------------------------------------------------------------------------- */

static enum berth_code reject(struct berth_status *status, enum berth_code code, const char *text)
{
    status_add_text(status, str_of(text));
    return code;
}

/* Upstream's aggregate of errors. */
static enum berth_code failed(const struct dry_run *run, struct berth_status *status)
{
    struct buf text = BUF_INIT;
    bool many = run->errors.n > 1;
    buf_add_cstr(&text, many ? "[" : "");
    for (size_t i = 0; i < run->errors.n; i++) {
        buf_add_cstr(&text, i ? ", " : "");
        buf_add_str(&text, run->errors.v[i]);
    }
    buf_add_cstr(&text, many ? "]" : "");
    status_add_text(status, buf_str(&text));
    buf_release(&text);
    return BERTH_ERROR;
}

/* No node is helped: upstream clears the nominated node then. */
static enum berth_code not_helpful(const struct dry_run *run, struct berth_status *status)
{
    struct buf text = BUF_INIT;
    engine_log_as(&run->cycle->framework->log, 2, run->policy->style->logger,
                  "No preemption candidate is found; preemption is not helpful for scheduling",
                  KV_POD(run->pod));
    fit_error_preemption(run->cycle, run->n_refused, run->reasons.v, run->reasons.n, &text);
    status_add_text(status, buf_str(&text));
    buf_release(&text);
    run->cycle->nominated_node = STR("");
    run->cycle->nominated = true;
    return BERTH_UNSCHEDULABLE;
}

/* --- candidates ------------------------------------------------------------------------------- */

/* The nodes that the removal of pods may help (upstream: nodesWherePreemptionMightHelp). */
static void find_nodes(struct dry_run *run)
{
    struct berth_cycle *cycle = run->cycle;
    const node_list *all = &cycle->framework->cache->order;
    run->nodes = arena_array(&cycle->arena, const struct berth_node *, all->n);
    for (size_t i = 0; i < all->n; i++)
        if (post_filter_verdict(cycle, all->v[i]) == BERTH_UNSCHEDULABLE)
            run->nodes[run->n_nodes++] = all->v[i];
}

/* After extenders have answered, the plugins' state may refer to a cluster that has changed. */
static bool is_prepared(struct berth_cycle *cycle, const struct berth_pod *pod)
{
    return !cycle->resumed || cycle_prepare_again(cycle, pod);
}

static size_t enough(const struct preemption_policy *policy, size_t n_nodes)
{
    int64_t n = (int64_t)n_nodes, part = n * policy->min_percentage / 100;
    return (size_t)MIN(n, MAX(part, policy->min_absolute));
}

static void search(struct dry_run *run)
{
    struct framework *fw = run->cycle->framework;
    const struct preemption_style *style = run->policy->style;
    find_nodes(run);
    if (!run->n_nodes)
        engine_log_as(&fw->log, 3, style->logger,
                      "Preemption will not help schedule pod on any node", KV_POD(run->pod));
    if (!run->n_nodes || !is_prepared(run->cycle, run->pod))
        return;
    run->offset = style->from_first ? 0 : (size_t)rand_below(&fw->rand, run->n_nodes);
    run->enough = enough(run->policy, run->n_nodes);
    engine_log_as(&fw->log, 5, style->logger, "Dry run the preemption", KV_POD(run->pod),
                  KV_INT("potentialNodesNumber", run->n_nodes),
                  KV_INT("pdbsNumber", fw->cluster->objects.by_name[KIND_POD_DISRUPTION_BUDGET].n),
                  KV_INT("offset", run->offset), KV_INT("candidatesNumber", run->enough));
    fw->log.scope = style->scope;
    dry_run(run);
    fw->log.scope = NULL;
    if (run->policy->widen && !run->candidates.n && !run->errors.n)
        dry_run_widen(run);
}

/* --- the choice ------------------------------------------------------------------------------- */

/* Fills cycle->post_filter, for the explanation. */
static void record_choice(struct berth_cycle *cycle, const struct candidate *chosen)
{
    struct post_filter *out = &cycle->post_filter;
    struct str *names = arena_array(&cycle->arena, struct str, chosen->victims.n);
    for (size_t i = 0; i < chosen->victims.n; i++) {
        const struct object_meta *meta = &chosen->victims.v[i]->pod->metadata;
        names[i] =
            arena_printf(&cycle->arena, "%.*s/%.*s", STR_ARG(meta->namespace), STR_ARG(meta->name));
    }
    out->victims = names;
    out->n_victims = chosen->victims.n;
    out->pdb_violations = chosen->pdb_violations;
}

static void nominate(struct preemption *p)
{
    p->cycle->nominated_node = p->chosen.node_name;
    p->cycle->nominated = true;
}

/*
 * BerthGangPreemption: upstream evicts the victims of a gang's first members before it knows
 * whether the others fit; if they do not, the evictions were for nothing. With the gate, victims
 * are evicted once the whole gang fits: preemption_carry_out.
 */
static bool is_held_back(const struct preemption *p)
{
    return p->cycle->in_group && p->cycle->framework->features.on[FEATURE_BERTH_GANG_PREEMPTION];
}

static enum berth_code evict(struct preemption *p, enum eviction_mode mode)
{
    struct preemptor preemptor = {.uid = pod_info_key(p->pod),
                                  .object = p->pod->object,
                                  .mode = mode,
                                  .priority = p->pod->priority,
                                  .scheduler_name = p->pod->pod->spec.scheduler_name,
                                  .pods = &p->pod,
                                  .n_pods = 1};
    return eviction_start(evictions_of(p), &preemptor, &p->chosen, p->handle);
}

void preemption_carry_out(struct berth_cycle *cycle, struct map *evicted)
{
    struct preemption *p = preemption_of(cycle);
    size_t n = 0;
    if (!p || !is_held_back(p))
        return;
    for (size_t i = 0; i < p->chosen.victims.n; i++) {
        struct berth_pod *victim = p->chosen.victims.v[i];
        if (map_get(evicted, pod_info_key(victim))) {
            pod_info_unref(victim);
            continue;
        }
        map_put(evicted, pod_info_key(victim), victim);
        p->chosen.victims.v[n++] = victim;
    }
    p->chosen.victims.n = n;
    enum berth_code code = n ? evict(p, EVICTION_IN_BACKGROUND) : BERTH_SUCCESS;
    assert(code == BERTH_SUCCESS);
    (void)code;
}

/* BerthVictimsCanMove: prefers victims that fit elsewhere. policy NULL: victims are fixed. */
static void judge(struct preemption *p, const struct preemption_policy *policy,
                  struct berth_status *status)
{
    if (!p->cycle->framework->features.on[FEATURE_BERTH_VICTIMS_CAN_MOVE])
        return;
    victim_relocation_judge(p->cycle, p->pod, policy, &p->candidates);
    status_clear(status);
}

static enum berth_code choose(struct preemption *p, struct berth_status *status)
{
    if (p->candidates.n == 0)
        return reject(status, BERTH_UNSCHEDULABLE, "no candidate node for preemption");
    judge(p, NULL, status);
    size_t best = candidates_best(&p->candidates);
    p->chosen = p->candidates.v[best];
    vec_remove(&p->candidates, best);
    INVARIANT(p->chosen.victims.n > 0);
    record_choice(p->cycle, &p->chosen);
    engine_log_as(&p->cycle->framework->log, 2, p->style->logger,
                  "the target node for the preemption is determined",
                  KV_STR("node", p->chosen.node_name), KV_POD(p->pod));
    enum eviction_mode mode = p->style->awaited ? EVICTION_AWAITED : EVICTION_BY_GATE;
    enum berth_code code = is_held_back(p) ? BERTH_SUCCESS : evict(p, mode);
    if (code == BERTH_SUCCESS)
        nominate(p);
    return code;
}

/* --- extenders -------------------------------------------------------------------------------- */

static const struct setup *setup_of(const struct preemption *p)
{
    return p->cycle->profile->setup;
}

static void call_extender(struct preemption *p, size_t extender)
{
    struct arena *a = &p->cycle->arena;
    size_t n = p->candidates.n;
    struct extender_victims *victims = arena_array(a, struct extender_victims, n);
    for (size_t i = 0; i < n; i++) {
        const struct candidate *c = &p->candidates.v[i];
        struct object **pods = arena_array(a, struct object *, c->victims.n);
        for (size_t k = 0; k < c->victims.n; k++)
            pods[k] = c->victims.v[k]->object;
        victims[i] = (struct extender_victims){c->node_name, pods, c->victims.n, c->pdb_violations};
    }
    struct extender_call call = {
        .verb = EXTENDER_PREEMPT, .pod = p->pod->object, .victims = victims, .n_victims = n};
    extender_calls_add(p->cycle, extender, &call);
}

/* Calls the next extender that preempts; after the last one, chooses. */
static enum berth_code call_extenders(struct preemption *p, struct berth_status *status)
{
    const struct setup *s = setup_of(p);
    while (p->next_extender < s->extenders.n && p->candidates.n) {
        size_t i = p->next_extender++;
        const struct extender *x = &s->extenders.v[i].spec;
        if (!x->preempts || !extender_is_interested(x, p->pod->pod))
            continue;
        call_extender(p, i);
        return BERTH_ASYNC;
    }
    return choose(p, status);
}

static struct berth_pod *find_pod(const struct berth_node *node, struct str uid)
{
    for (size_t i = 0; i < node->pods.n; i++)
        if (str_eq(pod_info_key(node->pods.v[i]), uid))
            return node->pods.v[i];
    return NULL;
}

/* Among the victims that the extender was given: they may be on other nodes. */
static struct berth_pod *find_victim(const struct preemption *p, struct str node, struct str uid)
{
    for (size_t i = 0; i < p->candidates.n; i++) {
        const struct candidate *c = &p->candidates.v[i];
        for (size_t k = 0; str_eq(c->node_name, node) && k < c->victims.n; k++)
            if (str_eq(pod_info_key(c->victims.v[k]), uid))
                return c->victims.v[k];
    }
    return NULL;
}

/* One node of the answer. Returns false if it is wrong: *error. */
static bool read_victims(struct preemption *p, struct str extender,
                         const struct extender_meta_victims *from, struct candidate *ret,
                         struct buf *error)
{
    const struct berth_node *node = preemption_node(p->cycle, from->node_name);
    if (!node) {
        buf_add_printf(error, "nodeinfo not found for node name \"%.*s\"",
                       STR_ARG(from->node_name));
        return false;
    }
    *ret = (struct candidate){.node_name = arena_dup(&p->cycle->arena, from->node_name),
                              .pdb_violations = from->pdb_violations};
    for (size_t i = 0; i < from->n_uids; i++) {
        struct berth_pod *pod = find_pod(node, from->uids[i]);
        if (!pod)
            pod = find_victim(p, from->node_name, from->uids[i]);
        if (!pod) {
            buf_add_printf(error,
                           "extender: %.*s claims to preempt pod (UID: &{%.*s}) on node: %.*s, but "
                           "the pod is not found on that node",
                           STR_ARG(extender), STR_ARG(from->uids[i]), STR_ARG(from->node_name));
            candidate_release(ret);
            return false;
        }
        vec_push(&ret->victims, pod_info_ref(pod));
    }
    return true;
}

/* The candidates that the extender leaves. */
static bool read_answer(struct preemption *p, const struct extender *x,
                        const struct extender_result *result, candidate_list *ret,
                        struct buf *error)
{
    if (!str_empty(result->error)) {
        buf_add_str(error, result->error);
        return false;
    }
    for (size_t i = 0; i < result->n_victims; i++) {
        struct candidate c;
        if (!read_victims(p, x->name, &result->victims[i], &c, error))
            return false;
        vec_push(ret, c);
    }
    return true;
}

/* Drops nodes without victims. Returns false if the extender is not ignorable: *error. */
static bool drop_empty(struct preemption *p, const struct extender *x, candidate_list *list,
                       struct buf *error)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++) {
        struct candidate c = list->v[i];
        if (c.victims.n) {
            list->v[kept++] = c;
            continue;
        }
        if (!x->ignorable && !error->n)
            buf_add_printf(error, "expected at least one victim pod on node \"%.*s\"",
                           STR_ARG(c.node_name));
        else if (x->ignorable)
            engine_log(&p->cycle->framework->log, 2,
                       "Ignored node for which the extender didn't report victims",
                       KV_STR("node", c.node_name), KV_STR("extender", x->name));
        candidate_release(&c);
    }
    list->n = kept;
    return error->n == 0;
}

/* Takes the extender's answer and calls the next one. */
static enum berth_code take_answer(struct preemption *p, const struct extender_result *result,
                                   struct berth_status *status)
{
    INVARIANT(p->next_extender > 0 && p->candidates.n > 0);
    const struct extender *x = &setup_of(p)->extenders.v[p->next_extender - 1].spec;
    candidate_list left = {0};
    struct buf error = BUF_INIT;
    bool ok = read_answer(p, x, result, &left, &error);
    bool ignored = !ok && x->ignorable;
    ok = ok && drop_empty(p, x, &left, &error);
    if (ok) {
        candidate_list before = p->candidates;
        p->candidates = left;
        left = before;
    } else if (ignored) {
        engine_log(&p->cycle->framework->log, 2,
                   "Skipped extender as it returned error and has ignorable flag set",
                   KV_STR("extender", x->name), KV_STR("err", buf_str(&error)));
    } else {
        status_add_text(status, buf_str(&error));
    }
    candidates_clear(&left);
    vec_release(&left);
    buf_release(&error);
    return ok || ignored ? call_extenders(p, status) : BERTH_ERROR;
}

/* --- the whole -------------------------------------------------------------------------------- */

/* One text, with the plugin's prefix. */
static enum berth_code finish(const struct preemption *p, struct berth_status *status,
                              enum berth_code code)
{
    struct buf text = BUF_INIT;
    if (code == BERTH_ASYNC || status->n == 0)
        return code;
    buf_add_cstr(&text, p->style->prefix);
    status_write(status, &p->cycle->framework->reasons, &text);
    status_clear(status);
    status_add_text(status, buf_str(&text));
    buf_release(&text);
    return code;
}

static struct preemption *new_preemption(struct berth_cycle *cycle,
                                         const struct berth_handle *handle,
                                         const struct preemption_style *style)
{
    struct preemption *p = xnew(struct preemption);
    p->style = style;
    p->cycle = cycle;
    p->handle = handle;
    p->pod = pod_info_ref(preemption_pod(cycle));
    cycle_attach(cycle, CYCLE_PREEMPTION, p, free_preemption);
    return p;
}

enum berth_code preemption_refuse(const struct berth_handle *handle,
                                  const struct preemption_style *style, const struct berth_pod *pod,
                                  const char *why, struct berth_status *status)
{
    engine_log_as(&handle->framework->log, 5, style->logger, "Pod is not eligible for preemption",
                  KV_POD(pod), KV_CSTR("reason", why + strlen(style->prefix)));
    status_add_text(status, str_of(why));
    return BERTH_UNSCHEDULABLE;
}

enum berth_code preemption_run(struct berth_cycle *cycle, const struct berth_handle *handle,
                               const struct preemption_policy *policy, struct berth_status *status)
{
    struct preemption *p = new_preemption(cycle, handle, policy->style);
    struct dry_run run = {.cycle = cycle, .pod = p->pod, .policy = policy};
    enum berth_code code;
    search(&run);
    cycle->post_filter.n_candidates = run.candidates.n;
    cycle->post_filter.offset = run.offset;
    status_clear(status);
    if (run.candidates.n) {
        p->candidates = run.candidates;
        run.candidates = (candidate_list){0};
        judge(p, policy, status);
        code = call_extenders(p, status);
    } else if (run.errors.n) {
        code = failed(&run, status);
    } else {
        code = not_helpful(&run, status);
    }
    dry_run_release(&run);
    return finish(p, status, code);
}

enum berth_code preemption_answer(struct berth_cycle *cycle, const struct extender_result *result,
                                  struct berth_status *status)
{
    struct preemption *p = preemption_of(cycle);
    status_clear(status);
    return finish(p, status, take_answer(p, result, status));
}

enum berth_code preemption_evicted(struct berth_cycle *cycle, struct str error,
                                   struct berth_status *status)
{
    status_clear(status);
    if (str_empty(error)) {
        nominate(preemption_of(cycle));
        return BERTH_SUCCESS;
    }
    status_add_text(status, error);
    return finish(preemption_of(cycle), status, BERTH_ERROR);
}
