/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of a Deployment's ReplicaSets: rolling updates, Recreate, proportional scaling. */
#include "apiserver/workloads/deployment_internal.h"

int64_t rollout_total(const struct rollout *r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += r->all[i].replicas;
    return sum;
}

int64_t rollout_annotation(const struct rs_view *v, const char *name)
{
    int64_t n;
    const struct json_value *all = json_at(v->tree, "metadata.annotations");
    struct str text = json_get_text(all, str_of(name));
    return str_to_i64(text, &n) && n >= 0 && n <= INT32_MAX ? n : -1;
}

bool rollout_is_scaling(const struct rollout *r)
{
    for (size_t i = 0; i < r->n; i++) {
        int64_t desired = rollout_annotation(&r->all[i], ANN_DESIRED_REPLICAS);
        if (r->all[i].replicas > 0 && desired >= 0 && desired != r->replicas)
            return true;
    }
    return false;
}

/* --- a rolling update ------------------------------------------------------------------------- */

/*
 * Upstream counts the sizes alone: a new pod may then be created before the old one, which it
 * replaces, is deleted. Here pods that a ReplicaSet still has count, so that there are never more
 * than maxSurge allows.
 */
static int64_t pods_held(const struct rollout *r)
{
    int64_t sum = 0;
    for (size_t i = 0; i < r->n; i++)
        sum += MAX(r->all[i].replicas, r->all[i].n_actual);
    return sum;
}

int64_t rollout_new_size(const struct rollout *r, int64_t current)
{
    if (!r->rolling)
        return r->replicas;
    int64_t most = r->replicas + r->max_surge, total = pods_held(r);
    if (total >= most)
        return current;
    return current + MIN(most - total, r->replicas - current);
}

bool rollout_grow_new(struct rollout *r)
{
    struct rs_view *v = r->new_rs;
    int64_t size = v->replicas > r->replicas ? r->replicas : v->replicas;
    if (v->replicas < r->replicas)
        size = rollout_new_size(r, v->replicas);
    bool changed = size != v->replicas;
    v->replicas = size;
    return changed;
}

/* Old pods that are not available go first: they do not count for the minimum. */
static int64_t shrink_unhealthy(struct rollout *r, int64_t most)
{
    int64_t down = 0;
    for (size_t i = 0; i < r->n && down < most; i++) {
        struct rs_view *v = &r->all[i];
        if (!rs_is_old(r, v) || !v->replicas || v->replicas == v->n_available)
            continue;
        int64_t n = MIN(most - down, v->replicas - v->n_available);
        if (n < 0)
            break; /* its status is older than its spec */
        v->replicas -= n;
        down += n;
    }
    return down;
}

/* Pods beyond the size of their ReplicaSet are about to be deleted and do not count. */
static int64_t shrink_healthy(struct rollout *r, int64_t min_available)
{
    int64_t available = 0, down = 0;
    for (size_t i = 0; i < r->n; i++)
        available += MIN(r->all[i].n_available, r->all[i].replicas);
    for (size_t i = 0; i < r->n && down < available - min_available; i++) {
        struct rs_view *v = &r->all[i];
        if (!rs_is_old(r, v) || !v->replicas)
            continue;
        int64_t n = MIN(v->replicas, available - min_available - down);
        v->replicas -= n;
        down += n;
    }
    return down;
}

bool rollout_shrink_old(struct rollout *r)
{
    int64_t total = rollout_total(r), min_available = r->replicas - r->max_unavailable;
    if (total == r->new_rs->replicas)
        return false;
    int64_t new_unavailable = r->new_rs->replicas - r->new_rs->n_available;
    int64_t most = total - min_available - new_unavailable;
    if (most <= 0)
        return false;
    int64_t down = shrink_unhealthy(r, most);
    return down + shrink_healthy(r, min_available) > 0;
}

bool rollout_stop_old(struct rollout *r)
{
    bool changed = false;
    for (size_t i = 0; i < r->n; i++) {
        if (!rs_is_old(r, &r->all[i]) || !r->all[i].replicas)
            continue;
        r->all[i].replicas = 0;
        changed = true;
    }
    return changed;
}

/* --- scaling ---------------------------------------------------------------------------------- */

/* The only ReplicaSet with replicas, or the one that gets them if none has. */
static struct rs_view *active_or_latest(const struct rollout *r)
{
    struct rs_view *active = NULL, *latest = NULL;
    for (size_t i = 0; i < r->n; i++) {
        latest = &r->all[i];
        if (!r->all[i].replicas)
            continue;
        if (active)
            return NULL;
        active = &r->all[i];
    }
    if (active)
        return active;
    return r->new_rs ? r->new_rs : latest;
}

static bool is_saturated(const struct rollout *r)
{
    const struct rs_view *v = r->new_rs;
    return v && v->replicas == r->replicas && v->n_available == r->replicas &&
           rollout_annotation(v, ANN_DESIRED_REPLICAS) == r->replicas;
}

static int64_t fraction(const struct rollout *r, const struct rs_view *v)
{
    if (!r->replicas)
        return -v->replicas;
    int64_t before = rollout_annotation(v, ANN_MAX_REPLICAS);
    if (before <= 0)
        before = json_int_at(r->object, "status.replicas", 0);
    if (before <= 0)
        return 0;
    double size = (double)(v->replicas * (r->replicas + r->max_surge)) / (double)before;
    return (int64_t)(size + 0.5) - v->replicas;
}

static int larger_first(const struct rs_view *a, const struct rs_view *b)
{
    return a->replicas == b->replicas ? 0 : a->replicas > b->replicas ? -1 : 1;
}

/* r->all is by age: the address decides between equal sizes. */
static int larger_then_newer(const void *x, const void *y)
{
    const struct rs_view *a = *(struct rs_view *const *)x, *b = *(struct rs_view *const *)y;
    int diff = larger_first(a, b);
    return diff ? diff : a > b ? -1 : 1;
}

static int larger_then_older(const void *x, const void *y)
{
    const struct rs_view *a = *(struct rs_view *const *)x, *b = *(struct rs_view *const *)y;
    int diff = larger_first(a, b);
    return diff ? diff : a < b ? -1 : 1;
}

/* Every active ReplicaSet gets its part of the difference, the largest one what is left over. */
static void scale_in_proportion(struct rollout *r)
{
    int64_t allowed = r->replicas > 0 ? r->replicas + r->max_surge : 0;
    int64_t to_add = allowed - rollout_total(r), added = 0;
    struct rs_view **active = arena_array(&r->w->scratch, struct rs_view *, r->n);
    size_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->all[i].replicas > 0)
            active[n++] = &r->all[i];
    qsort(active, n, sizeof(struct rs_view *), to_add > 0 ? larger_then_newer : larger_then_older);
    for (size_t i = 0; i < n; i++) {
        active[i]->force = true;
        if (!to_add || to_add == added)
            continue;
        int64_t part = fraction(r, active[i]);
        part = to_add > 0 ? MIN(part, to_add - added) : MAX(part, to_add - added);
        active[i]->replicas += part;
        added += part;
    }
    if (n && to_add)
        active[0]->replicas = MAX(active[0]->replicas + to_add - added, 0);
}

void rollout_scale(struct rollout *r)
{
    struct rs_view *only = active_or_latest(r);
    if (only)
        only->replicas = r->replicas;
    else if (is_saturated(r))
        rollout_stop_old(r);
    else if (r->rolling && r->n)
        scale_in_proportion(r);
}
