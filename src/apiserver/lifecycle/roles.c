/* SPDX-License-Identifier: Apache-2.0 */
/* ClusterRoles with an aggregationRule: their rules are written to the objects. */
#include "apiserver/lifecycle/lifecycle_internal.h"

void roles_sync(struct lifecycle *l, struct task *task)
{
    struct named_task *named = CONTAINER_OF(task, struct named_task, task);
    uint64_t *last = named->state;
    struct str name, rules;
    if (!l->options.stale_role ||
        !l->options.stale_role(l->options.stale_role_ctx, &l->scratch, &name, &rules))
        return;
    /* The same again would not help. */
    uint64_t hash = hash_u64(str_hash(name)) ^ str_hash(rules);
    if (*last == hash && task->work.n_failures == 0)
        return;
    *last = hash;
    struct life_target target = {l->r.cluster_roles, STR(""), name};
    buf_clear(&l->body);
    buf_add_cstr(&l->body, "{\"rules\":");
    buf_add_str(&l->body, rules);
    buf_add_char(&l->body, '}');
    task_write(l, task, WRITER_PATCH_MERGE, &target, "");
}

void roles_changed(struct lifecycle *l, const struct store_event *event,
                   const struct life_view *view UNUSED)
{
    if (event->after->resource != l->r.cluster_roles || !l->options.stale_role)
        return;
    struct named_task *task = task_named(l, TASK_ROLES, STR(""), STR("clusterroles"));
    if (!task->state)
        task->state = xcalloc(1, sizeof(uint64_t));
    *(uint64_t *)task->state = 0;
}
