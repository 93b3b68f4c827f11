/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victims.c - upstream: SelectVictimsOnNode.
 *
 * The victims are minimal in the order of reprieve: adding back any of them makes the pod not fit.
 */
#include "plugins/default_preemption/victims.h"

#include "base/go_sort.h"

static void sort(pod_list *pods)
{
    go_sort((void **)pods->v, pods->n, pod_more_important);
}

/* --- potential victims ------------------------------------------------------------------------ */

/* As upstream's: of two equal pods either sorts first. */
static bool less_important(const void *a, const void *b)
{
    return !pod_more_important(a, b);
}

/* The pods of the node in the order in which they are asked about; *sorted holds it if it differs.
 */
static struct berth_pod *const *in_order(const struct victim_rules *rules,
                                         const struct berth_node *node, pod_list *sorted)
{
    if (!rules->hooks || !rules->hooks->least_important_first)
        return node->pods.v;
    for (size_t i = 0; i < node->pods.n; i++)
        vec_push(sorted, node->pods.v[i]);
    go_sort((void **)sorted->v, sorted->n, less_important);
    return sorted->v;
}

/* BERTH_SKIP: it may not be evicted. */
static inline enum berth_code may_evict(const struct victim_rules *rules,
                                        const struct berth_cycle *cycle,
                                        const struct berth_pod *pod, struct berth_status *status)
{
    if (!rules->hooks)
        return pod->priority < rules->pod->priority ? BERTH_SUCCESS : BERTH_SKIP;
    return rules->hooks->may_evict(rules, cycle, pod, status);
}

/*
 * Removes the pods that may be evicted. The dry run begins with the first of them: a node without
 * any costs no copy.
 */
static enum berth_code remove_potential(const struct victim_rules *rules, struct what_if *w,
                                        const struct berth_cycle *cycle,
                                        const struct berth_node *node, pod_list *ret)
{
    pod_list sorted = {0};
    struct berth_pod *const *pods = in_order(rules, node, &sorted);
    enum berth_code code = BERTH_SUCCESS;
    for (size_t i = 0; i < node->pods.n; i++) {
        code = may_evict(rules, ret->n ? &w->cycle : cycle, pods[i], w->status);
        if (code == BERTH_SKIP) {
            code = BERTH_SUCCESS;
            continue;
        }
        if (code != BERTH_SUCCESS)
            break;
        if (!ret->n)
            what_if_begin(w, cycle, node);
        vec_push(ret, pods[i]);
        if (!what_if_remove(w, pods[i])) {
            code = BERTH_ERROR;
            break;
        }
    }
    if (sorted.n)
        vec_release(&sorted);
    return code;
}

static enum berth_code refuse_without(const struct victim_rules *rules,
                                      const struct berth_node *node, struct berth_status *status)
{
    struct buf text = BUF_INIT;
    if (rules->none) {
        status_add_reason(status, rules->none);
        return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
    }
    buf_add_printf(&text, "No victims found on node %s for preemptor pod %.*s", node->name,
                   STR_ARG(rules->pod->pod->metadata.name));
    status_add_text(status, buf_str(&text));
    buf_release(&text);
    return BERTH_UNSCHEDULABLE_AND_UNRESOLVABLE;
}

/* --- reprieve --------------------------------------------------------------------------------- */

static bool fits(const struct victim_rules *rules, struct what_if *w)
{
    const struct berth_handle *plugin;
    if (what_if_filter_nominated(w, &plugin) != BERTH_SUCCESS)
        return false;
    return !rules->hooks || !rules->hooks->may_stay || rules->hooks->may_stay(rules, &w->cycle);
}

/*
 * Adds the pods back in order; those with which the preemptor does not fit are victims. The pods
 * before n_violating violate budgets: so they are reprieved first. False: a plugin failed.
 */
static bool reprieve(const struct victim_rules *rules, struct what_if *w, const pod_list *potential,
                     size_t n_violating, struct victims *ret)
{
    for (size_t i = 0; i < potential->n; i++) {
        struct berth_pod *pod = potential->v[i];
        if (!what_if_add(w, pod))
            return false;
        if (fits(rules, w))
            continue;
        if (!what_if_remove(w, pod))
            return false;
        vec_push(&ret->pods, pod);
        engine_log(rules->log, 5, "Pod is a potential preemption victim on node",
                   KV_CSTR("logger", rules->logger), KV_POD(pod), KV_NODE(w->node.node));
        ret->pdb_violations += i < n_violating;
    }
    return true;
}

static bool has(const pod_list *list, const struct berth_pod *pod)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->v[i] == pod)
            return true;
    return false;
}

/*
 * Victim relocation: moves the pods of `spare` before the others of the same priority, so that they
 * are reprieved first; all else stays in order.
 */
static void prefer(const pod_list *spare, pod_list *pods)
{
    size_t front = 0; /* first pod of this priority that was not moved */
    for (size_t i = 0; i < pods->n; i++) {
        struct berth_pod *pod = pods->v[i];
        if (i && pods->v[i - 1]->priority != pod->priority)
            front = i;
        if (!has(spare, pod))
            continue;
        memmove(pods->v + front + 1, pods->v + front, (i - front) * sizeof(struct berth_pod *));
        pods->v[front++] = pod;
    }
}

static enum berth_code pick(const struct victim_rules *rules, struct what_if *w,
                            pod_list *potential, struct victims *ret)
{
    const struct berth_handle *plugin;
    const char *refusal = NULL;
    enum berth_code code = what_if_filter_nominated(w, &plugin);
    if (code != BERTH_SUCCESS)
        return code;
    if (rules->hooks && rules->hooks->why_not)
        refusal = rules->hooks->why_not(rules, &w->cycle);
    if (refusal) {
        status_add_text(w->status, str_of(refusal));
        return BERTH_UNSCHEDULABLE;
    }
    sort(potential);
    if (ret->spare)
        prefer(ret->spare, potential);
    size_t n_violating = budgets_split(rules->budgets, potential);
    if (!reprieve(rules, w, potential, n_violating, ret)) {
        vec_clear(&ret->pods);
        return BERTH_ERROR;
    }
    /* Upstream: victims are in order of importance if both parts had pods. */
    if ((n_violating && n_violating < potential->n) || ret->spare)
        sort(&ret->pods);
    return BERTH_SUCCESS;
}

bool pod_leaves_by_preemption(const struct berth_pod *pod)
{
    if (!pod->pod->metadata.deletion_timestamp.set)
        return false;
    for (size_t i = 0; i < pod->pod->status.conditions.n; i++) {
        const struct pod_condition *c = &pod->pod->status.conditions.v[i];
        if (str_is(c->type, POD_DISRUPTION_TARGET))
            return str_is(c->status, "True") &&
                   str_is(c->reason, POD_REASON_PREEMPTION_BY_SCHEDULER);
    }
    return false;
}

enum berth_code victims_select(const void *ctx, struct what_if *w, const struct berth_cycle *cycle,
                               const struct berth_node *node, struct victims *ret)
{
    const struct victim_rules *rules = ctx;
    pod_list potential = {0};
    enum berth_code code = remove_potential(rules, w, cycle, node, &potential);
    if (code == BERTH_SUCCESS && !potential.n)
        code = refuse_without(rules, node, w->status);
    else if (code == BERTH_SUCCESS)
        code = pick(rules, w, &potential, ret);
    vec_release(&potential);
    return code;
}
