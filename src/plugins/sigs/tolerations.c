/* SPDX-License-Identifier: Apache-2.0 */
#include "plugins/sigs/tolerations.h"

#include "api/scheduling.h"

struct toleration_policy {
    int64_t min_priority; /* pods of at least this priority evict at once */
    int64_t seconds;      /* negative: tolerated for ever */
};

void tolerations_init(struct tolerations *t)
{
    *t = (struct tolerations){0};
    arena_init(&t->arena, 0);
}

void tolerations_release(struct tolerations *t)
{
    map_release(&t->by_class);
    arena_release(&t->arena);
}

/* --- policies --------------------------------------------------------------------------------- */

/* The number in an annotation; otherwise: there is none. False: it is not a number in range. */
static bool read_number(const struct priority_class *class, const char *key, int64_t otherwise,
                        int64_t limit, int64_t *ret)
{
    const struct str *text = str_map_get(&class->metadata.annotations, str_of(key));
    *ret = otherwise;
    if (!text)
        return true;
    bool plus = text->n > 1 && text->p[0] == '+' && text->p[1] != '-';
    return str_to_i64(str_slice(*text, plus, text->n), ret) && *ret >= -limit - 1 && *ret <= limit;
}

static bool read_policy(const struct priority_class *class, struct toleration_policy *ret)
{
    return read_number(class, TOLERATION_MIN_PRIORITY, (int64_t)class->value + 1, INT32_MAX,
                       &ret->min_priority) &&
           read_number(class, TOLERATION_SECONDS, 0, INT64_MAX, &ret->seconds);
}

static void add_class(struct tolerations *t, const struct priority_class *class,
                      const struct engine_log *log)
{
    struct toleration_policy *policy = arena_new(&t->arena, struct toleration_policy);
    if (!read_policy(class, policy)) {
        engine_log_error(log,
                         "Failed to parse preemption toleration policy of a priority class. Its "
                         "pods can't tolerate preemption",
                         KV_STR("priorityClass", class->metadata.name));
        *policy = (struct toleration_policy){INT64_MIN, 0};
    }
    map_put(&t->by_class, arena_dup(&t->arena, class->metadata.name), policy);
}

void tolerations_refresh(struct tolerations *t, const struct objects *objects,
                         const struct engine_log *log)
{
    uint64_t now = objects->kind_changes[KIND_PRIORITY_CLASS] + 1;
    if (t->seen == now)
        return;
    t->seen = now;
    map_clear(&t->by_class);
    arena_reset(&t->arena);
    const object_list *all = objects_in(objects, KIND_PRIORITY_CLASS, STR(""));
    for (size_t i = 0; all && i < all->n; i++)
        add_class(t, object_priority_class(all->v[i]), log);
}

/* --- verdict ---------------------------------------------------------------------------------- */

/* The first second of Go's zero time, which stands for a transition without a time. */
#define YEAR_1 ((int64_t)-62135596800)

/*
 * Has the pod been scheduled for fewer seconds than that? A pod without the condition has not begun
 * to count. Upstream's duration wraps beyond 292 years; this one does not.
 */
static bool is_recent(const struct pod *pod, int64_t seconds, struct timestamp now)
{
    const struct pod_condition *scheduled = NULL;
    for (size_t i = 0; !scheduled && i < pod->status.conditions.n; i++)
        if (str_is(pod->status.conditions.v[i].type, POD_SCHEDULED))
            scheduled = &pod->status.conditions.v[i];
    if (!scheduled || !str_is(scheduled->status, "True"))
        return true;
    struct timestamp end = scheduled->last_transition_time;
    if (!end.set)
        end = (struct timestamp){YEAR_1, 0, true};
    if (__builtin_add_overflow(end.sec, seconds, &end.sec))
        return true;
    return timestamp_cmp(end, now) > 0;
}

enum tolerance tolerations_judge(const struct tolerations *t, const struct pod *pod,
                                 int32_t preemptor_priority, struct timestamp now)
{
    if (str_empty(pod->spec.priority_class_name))
        return TOLERANCE_NONE;
    const struct toleration_policy *policy = map_get(&t->by_class, pod->spec.priority_class_name);
    if (!policy)
        return TOLERANCE_NO_CLASS;
    if (preemptor_priority >= policy->min_priority)
        return TOLERANCE_NONE;
    if (policy->seconds < 0 || is_recent(pod, policy->seconds, now))
        return TOLERANCE_YES;
    return TOLERANCE_NONE;
}
