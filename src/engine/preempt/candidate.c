/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/preempt/candidate.h"

#include "base/time.h"

void candidate_release(struct candidate *c)
{
    for (size_t i = 0; i < c->victims.n; i++)
        pod_info_unref(c->victims.v[i]);
    vec_release(&c->victims);
}

void candidates_clear(candidate_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        candidate_release(&list->v[i]);
    vec_clear(list);
}

int64_t pod_start_time(const struct berth_pod *pod)
{
    struct timestamp t = pod->pod->status.start_time;
    return t.set ? timestamp_ns(t) : INT64_MAX;
}

bool pod_more_important(const void *a, const void *b)
{
    const struct berth_pod *x = a, *y = b;
    if (x->priority != y->priority)
        return x->priority > y->priority;
    int64_t mine = pod_start_time(x), other = pod_start_time(y);
    return mine < other || (mine == INT64_MAX && other == INT64_MAX);
}

/* --- the rules: the lowest wins --------------------------------------------------------------- */

typedef int64_t rule_fn(const struct candidate *c);

static int64_t violations(const struct candidate *c)
{
    return c->pdb_violations;
}

/* The highest priority, unless an extender has changed the order: upstream reads the first. */
static int64_t first_priority(const struct candidate *c)
{
    return c->victims.v[0]->priority;
}

static int64_t lost(const struct candidate *c)
{
    return c->lost;
}

int64_t candidate_weight(const struct berth_pod *victim)
{
    return victim->priority + (int64_t)INT32_MAX + 1;
}

static int64_t sum_of_priorities(const struct candidate *c)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->victims.n; i++)
        sum += candidate_weight(c->victims.v[i]);
    return sum;
}

static int64_t n_victims(const struct candidate *c)
{
    return (int64_t)c->victims.n;
}

/* Negated, since the latest is best. */
static int64_t earliest_start(const struct candidate *c)
{
    int32_t highest = INT32_MIN;
    int64_t start = INT64_MAX;
    for (size_t i = 0; i < c->victims.n; i++)
        highest = MAX(highest, c->victims.v[i]->priority);
    for (size_t i = 0; i < c->victims.n; i++)
        if (c->victims.v[i]->priority == highest)
            start = MIN(start, pod_start_time(c->victims.v[i]));
    return -MAX(start, -INT64_MAX);
}

static rule_fn *const rules[] = {violations,        first_priority, lost,
                                 sum_of_priorities, n_victims,      earliest_start};

bool candidate_is_better(const struct candidate *a, const struct candidate *b)
{
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        int64_t x = rules[i](a), y = rules[i](b);
        if (x != y)
            return x < y;
    }
    return false;
}

size_t candidates_best(const candidate_list *list)
{
    size_t best = 0;
    for (size_t i = 1; i < list->n; i++)
        if (candidate_is_better(&list->v[i], &list->v[best]))
            best = i;
    return best;
}
