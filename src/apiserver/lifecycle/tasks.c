/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks that are about an object, found by its name. */
#include "apiserver/lifecycle/lifecycle_internal.h"

static struct str key_of(struct lifecycle *l, enum task_kind kind, struct str namespace,
                         struct str name)
{
    return arena_printf(&l->scratch, "%d %.*s/%.*s", (int)kind, STR_ARG(namespace), STR_ARG(name));
}

struct named_task *task_find(struct lifecycle *l, enum task_kind kind, struct str namespace,
                             struct str name)
{
    return map_get(&l->named, key_of(l, kind, namespace, name));
}

struct named_task *task_named(struct lifecycle *l, enum task_kind kind, struct str namespace,
                              struct str name)
{
    struct str key = key_of(l, kind, namespace, name);
    struct named_task *task = map_get(&l->named, key);
    if (!task) {
        task = xcalloc(1, sizeof(*task) + key.n + 1);
        task_init(&task->task, kind);
        memcpy(task->text, key.p, key.n);
        task->key = (struct str){task->text, key.n};
        task->name = str_slice(task->key, key.n - name.n, key.n);
        task->namespace =
            str_slice(task->key, key.n - name.n - 1 - namespace.n, key.n - name.n - 1);
        map_put(&l->named, task->key, task);
    }
    task_mark(l, &task->task);
    return task;
}

static void free_state(struct lifecycle *l, struct named_task *task)
{
    if (l->types[task->task.kind].free_state)
        l->types[task->task.kind].free_state(l, TAKE(task->state));
}

void task_end(struct lifecycle *l, struct named_task *task)
{
    map_del(&l->named, task->key);
    free_state(l, task);
    work_drop(&l->queue, &task->task.work);
}

void task_free(struct lifecycle *l, struct named_task *task)
{
    free_state(l, task);
    free(task);
}
