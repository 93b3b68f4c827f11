/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The status of ResourceQuotas. Admission charges what is created (admission/admission_quota.c);
 * here usage is added up again when a quota changes and when objects go or become smaller.
 */
#include "apiserver/lifecycle/lifecycle_internal.h"
#include "apiserver/types/quota.h"

/* A look parses the objects of the namespace: microseconds until the next, for each. */
#define LOOK_COST 100

/* --- adding up -------------------------------------------------------------------------------- */

struct usage {
    const struct json_value *quota;
    struct amounts hard, used; /* with the same names */
    struct arena arena;        /* of one object */
    size_t n;                  /* objects that were read */
};

static void add_object(struct lifecycle *l, struct usage *u, const struct revision *rev)
{
    struct json_value *object;
    arena_reset(&u->arena);
    object = arena_new(&u->arena, struct json_value);
    u->n++;
    if (json_parse(rev->text, 0, &u->arena, object, NULL) < 0)
        return;
    struct quota_object o = {rev->resource->group, rev->resource->plural, object, l->queue.now};
    if (!quota_in_scope(u->quota, &o, &u->arena))
        return;
    struct amounts uses = quota_usage(&o, &u->arena);
    for (size_t i = 0; i < u->used.n; i++) {
        struct quantity_entry *entry = &u->used.v[i];
        const struct quantity *more = amounts_get(&uses, entry->key);
        if (!more || !quota_tracks(o.group, o.plural, entry->key))
            continue;
        quantity_add(&entry->value, more);
        entry->value = quantity_dup(&entry->value, &l->scratch);
    }
}

static bool concerns(const struct usage *u, const struct resource *r)
{
    if (!r->namespaced || resource_stored(r) != r || !quota_counts(r->group, r->plural))
        return false;
    for (size_t i = 0; i < u->hard.n; i++)
        if (quota_tracks(r->group, r->plural, u->hard.v[i].key))
            return true;
    return false;
}

static void add_up(struct lifecycle *l, struct usage *u, struct str namespace)
{
    struct snapshot *snapshot = store_snapshot(l->options.store);
    const struct resource *r = NULL;
    for (size_t i = 0; i < u->hard.n; i++) {
        struct quantity zero = quantity_of(0, QUANTITY_DECIMAL_SI);
        amounts_push(&u->used, u->hard.v[i].key, &zero, &l->scratch);
    }
    while ((r = resources_next(l->options.resources, r))) {
        struct store_range range;
        struct revision *rev;
        if (!concerns(u, r))
            continue;
        store_range_init(&range, snapshot, r, namespace, NULL);
        while ((rev = store_range_next(&range)))
            add_object(l, u, rev);
    }
    snapshot_unref(snapshot);
}

/* --- the quota -------------------------------------------------------------------------------- */

void quota_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    struct revision *rev = life_find(l, l->r.quotas, named->namespace, named->name);
    if (!rev)
        return;
    struct json_value *quota = life_parse(l, rev);
    const struct json_value *hard = json_at(quota, "spec.hard");
    const struct json_value *old = json_at(quota, "status.hard");
    struct usage u = {.quota = quota, .hard = amounts_of(hard, &l->scratch)};
    arena_init(&u.arena, 0);
    add_up(l, &u, named->namespace);
    arena_release(&u.arena);
    work_cost(&l->queue, &task->work, u.n * LOOK_COST);
    struct amounts before = amounts_of(json_at(quota, "status.used"), &l->scratch);
    struct amounts limits = amounts_of(old, &l->scratch);
    if (old && json_at(quota, "status.used") && amounts_equal(&limits, &u.hard) &&
        amounts_equal(&before, &u.used))
        return;
    struct json_value status = json_object();
    json_set(&status, STR("hard"), hard ? *hard : json_object(), &l->scratch);
    json_set(&status, STR("used"), amounts_json(&u.used, &l->scratch), &l->scratch);
    json_set(quota, STR("status"), status, &l->scratch);
    struct life_target target = life_target(rev);
    buf_clear(&l->body);
    json_write(quota, &l->body);
    task_write(l, task, WRITER_UPDATE, &target, "status");
}

/* --- changes ---------------------------------------------------------------------------------- */

static void mark_quotas(struct lifecycle *l, struct str namespace)
{
    struct snapshot *snapshot = store_snapshot(l->options.store);
    struct store_range range;
    struct revision *rev;
    store_range_init(&range, snapshot, l->r.quotas, namespace, NULL);
    while ((rev = store_range_next(&range)))
        task_named(l, TASK_QUOTA, rev->namespace, rev->name);
    snapshot_unref(snapshot);
}

void quotas_changed(struct lifecycle *l, const struct store_event *event,
                    const struct life_view *view UNUSED)
{
    const struct revision *rev = event->after;
    bool deleted = event->change == STORE_DELETED;
    if (rev->resource == l->r.quotas) {
        struct named_task *task = task_named(l, TASK_QUOTA, rev->namespace, rev->name);
        l->n_quotas += event->change == STORE_ADDED;
        if (deleted) {
            l->n_quotas--;
            task_end(l, task);
        }
        return;
    }
    /* What is created was charged when it was admitted. */
    if (l->n_quotas == 0 || str_empty(rev->namespace) || event->change == STORE_ADDED ||
        !quota_counts(rev->resource->group, rev->resource->plural))
        return;
    if (deleted || rev->resource == l->r.pods || rev->resource == l->r.services ||
        rev->resource == l->r.claims)
        mark_quotas(l, rev->namespace);
}
