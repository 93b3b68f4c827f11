/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deletion of namespaces: pods first, then everything else, then the finalizer "kubernetes"
 * (upstream: namespacedResourcesDeleter).
 */
#include "apiserver/lifecycle/lifecycle_internal.h"

#define FINALIZER          "kubernetes"
#define FINALIZER_ESTIMATE 15 /* seconds until a finalizer is removed */

/* What is left of the content. */
struct content {
    size_t n;                            /* objects */
    struct json_value kinds, finalizers; /* texts of the conditions */
    struct map by_finalizer;             /* → struct count */
    int64_t estimate;                    /* seconds */
    struct str failure;
};

struct count {
    struct str name;
    size_t n;
};

/* --- conditions ------------------------------------------------------------------------------- */

enum { DISCOVERY, PARSING, CONTENT, REMAINING, FINALIZERS, N_CONDITIONS };

static const struct condition_text {
    const char *type, *reason, *message, *failure;
} condition_texts[N_CONDITIONS] = {
    [DISCOVERY] = {"NamespaceDeletionDiscoveryFailure", "ResourcesDiscovered",
                   "All resources successfully discovered", "DiscoveryFailed"},
    [PARSING] = {"NamespaceDeletionGroupVersionParsingFailure", "ParsedGroupVersions",
                 "All legacy kube types successfully parsed", "GroupVersionParsingFailed"},
    [CONTENT] = {"NamespaceDeletionContentFailure", "ContentDeleted",
                 "All content successfully deleted, may be waiting on finalization",
                 "ContentDeletionFailed"},
    [REMAINING] = {"NamespaceContentRemaining", "ContentRemoved",
                   "All content successfully removed", "SomeResourcesRemain"},
    [FINALIZERS] = {"NamespaceFinalizersRemaining", "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished", "SomeFinalizersRemain"},
};

static int by_text(const void *a, const void *b)
{
    const struct json_value *x = a, *y = b;
    return str_cmp(x->text, y->text);
}

/* "PREFIX: a, b" of a list of texts, which is sorted; empty without any. */
static struct str joined(struct lifecycle *l, const char *prefix, struct json_value *list)
{
    struct buf text = BUF_INIT;
    if (list->n == 0)
        return STR("");
    qsort(list->items, list->n, sizeof(*list->items), by_text);
    for (size_t i = 0; i < list->n; i++)
        buf_add_printf(&text, "%s%.*s", i ? ", " : prefix, STR_ARG(list->items[i].text));
    struct str copy = arena_dup(&l->scratch, buf_str(&text));
    buf_release(&text);
    return copy;
}

/* Writes the conditions if they change. Pods that remain are not in the totals, as upstream. */
static bool write_conditions(struct lifecycle *l, struct named_task *task,
                             const struct revision *rev, struct json_value *object,
                             struct content *content)
{
    struct str failures[N_CONDITIONS] = {0};
    bool changed = false;
    failures[CONTENT] = content->failure;
    failures[REMAINING] = joined(l, "Some resources are remaining: ", &content->kinds);
    failures[FINALIZERS] =
        joined(l, "Some content in the namespace has finalizers remaining: ", &content->finalizers);
    for (size_t i = 0; i < N_CONDITIONS; i++) {
        const struct condition_text *text = &condition_texts[i];
        bool failed = !str_empty(failures[i]);
        changed |=
            life_set_condition(l, object,
                               life_make_condition(l, text->type, failed ? "True" : "False",
                                                   failed ? text->failure : text->reason,
                                                   failed ? failures[i] : str_of(text->message)));
    }
    if (changed)
        task_patch_conditions(l, &task->task, rev, object, NULL);
    return changed;
}

/* --- content ---------------------------------------------------------------------------------- */

static void count_finalizers(struct lifecycle *l, struct content *content, struct str text)
{
    struct json_value list;
    if (str_empty(text) || json_parse(text, 0, &l->scratch, &list, NULL) < 0 ||
        list.kind != JSON_ARRAY)
        return;
    for (size_t i = 0; i < list.n; i++) {
        struct str name = list.items[i].kind == JSON_STRING ? list.items[i].text : STR("");
        struct count *count = map_get(&content->by_finalizer, name);
        if (!count) {
            count = arena_new(&l->scratch, struct count);
            count->name = name;
            map_put(&content->by_finalizer, name, count);
        }
        count->n++;
        content->estimate = MAX(content->estimate, FINALIZER_ESTIMATE);
    }
}

/* Seconds until the pods should be gone; 0: they should be gone by now. */
static int64_t grace_left(struct lifecycle *l, const struct revision *pod, int64_t deleted_at)
{
    struct json_value *object = life_parse(l, pod);
    struct str phase = json_text_at(object, "status.phase");
    int64_t grace = json_int_at(object, "spec.terminationGracePeriodSeconds", 0);
    if (str_is(phase, "Succeeded") || str_is(phase, "Failed"))
        return 0;
    grace = MIN(MAX(grace, 0), INT64_C(1) << 31);
    return l->queue.now - deleted_at >= grace * NSEC_PER_SEC ? 0 : grace;
}

/* Deletes the objects of a resource, and counts those that are being deleted. */
static void delete_all(struct lifecycle *l, struct named_task *task, const struct resource *r,
                       int64_t deleted_at, struct content *content)
{
    struct snapshot *snapshot = store_snapshot(l->options.store);
    struct store_range range;
    struct revision *rev;
    size_t n = 0;
    int64_t estimate = 0;
    store_range_init(&range, snapshot, r, task->name, NULL);
    while ((rev = store_range_next(&range))) {
        struct life_view view = life_view(rev);
        n++;
        if (str_empty(view.deletion)) {
            task_delete(l, &task->task, rev, "Background", false);
            continue;
        }
        count_finalizers(l, content, view.finalizers);
        if (r == l->r.pods)
            estimate = MAX(estimate, grace_left(l, rev, deleted_at));
    }
    snapshot_unref(snapshot);
    content->n += n;
    content->estimate = MAX(content->estimate, estimate);
    if (n == 0)
        return;
    json_append(&content->kinds,
                json_text(arena_printf(&l->scratch, "%.*s.%.*s has %zu resource instances",
                                       STR_ARG(r->plural), STR_ARG(r->group), n)),
                &l->scratch);
    if (!content->estimate)
        content->failure = arena_printf(
            &l->scratch,
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in "
            "namespace: %.*s for gvr: %.*s/%.*s, Resource=%.*s",
            STR_ARG(task->name), STR_ARG(r->group), STR_ARG(r->version), STR_ARG(r->plural));
}

static void finish_content(struct lifecycle *l, struct content *content)
{
    map_each (e, &content->by_finalizer) {
        const struct count *count = e->value;
        json_append(&content->finalizers,
                    json_text(arena_printf(&l->scratch, "%.*s in %zu resource instances",
                                           STR_ARG(count->name), count->n)),
                    &l->scratch);
    }
    map_release(&content->by_finalizer);
}

static void delete_content(struct lifecycle *l, struct named_task *task, int64_t deleted_at,
                           struct content *content)
{
    const struct resource *r = NULL;
    if (l->r.pods)
        delete_all(l, task, l->r.pods, deleted_at, content);
    if (content->n) { /* upstream reports pods only by a failure */
        content->kinds = json_array();
        map_clear(&content->by_finalizer);
        return;
    }
    while ((r = resources_next(l->options.resources, r)))
        if (r->namespaced && (r->verbs & VERB_DELETE) && resource_stored(r) == r && r != l->r.pods)
            delete_all(l, task, r, deleted_at, content);
}

/* --- the namespace ---------------------------------------------------------------------------- */

static void finalize(struct lifecycle *l, struct named_task *task, const struct revision *rev,
                     struct json_value *object)
{
    struct json_value *spec = json_set_object(object, STR("spec"), &l->scratch);
    struct json_value *list = json_set_array(spec, STR("finalizers"), &l->scratch);
    struct life_target target = life_target(rev);
    for (size_t i = list->n; i-- > 0;)
        if (list->items[i].kind == JSON_STRING && str_is(list->items[i].text, FINALIZER))
            json_remove_item(list, i);
    buf_clear(&l->body);
    json_write(object, &l->body);
    task_write(l, &task->task, WRITER_UPDATE, &target, "finalize");
}

void namespace_sync(struct lifecycle *l, struct task *t)
{
    struct named_task *task = CONTAINER_OF(t, struct named_task, task);
    struct revision *rev = life_find(l, l->r.namespaces, STR(""), task->name);
    struct content content = {.kinds = json_array(), .finalizers = json_array()};
    struct timestamp deleted;
    if (!rev)
        return;
    struct json_value *object = life_parse(l, rev);
    if (!timestamp_parse(json_text_at(object, "metadata.deletionTimestamp"), &deleted) ||
        !life_list_has(json_at(object, "spec.finalizers"), FINALIZER))
        return;
    delete_content(l, task, timestamp_ns(deleted), &content);
    work_cost(&l->queue, &t->work, content.n);
    finish_content(l, &content);
    *(size_t *)task->state = content.n;
    if (t->work.n_writes)
        return; /* the answers lead here again */
    if (write_conditions(l, task, rev, object, &content))
        return;
    if (content.n == 0)
        finalize(l, task, rev, object);
    else
        task_due(l, t, l->queue.now + (content.estimate / 2 + 1) * NSEC_PER_SEC);
}

static void terminating(struct lifecycle *l, struct str name)
{
    struct named_task *task = task_named(l, TASK_NAMESPACE, STR(""), name);
    if (task->state)
        return;
    task->state = xcalloc(1, sizeof(size_t)); /* objects that are left, at the last look */
    l->n_terminating++;
}

void namespace_changed(struct lifecycle *l, const struct store_event *event,
                       const struct life_view *view)
{
    const struct revision *rev = event->after;
    if (rev->resource == l->r.namespaces) {
        struct named_task *task = task_find(l, TASK_NAMESPACE, STR(""), rev->name);
        if (event->change != STORE_DELETED && !str_empty(view->deletion)) {
            terminating(l, rev->name);
        } else if (task && event->change == STORE_DELETED) {
            l->n_terminating--;
            task_end(l, task);
        }
        return;
    }
    /* Only the last of the objects that are left leads to a look: a look reads all of them. */
    if (l->n_terminating == 0 || event->change != STORE_DELETED || str_empty(rev->namespace))
        return;
    struct named_task *task = task_find(l, TASK_NAMESPACE, STR(""), rev->namespace);
    size_t *left = task ? task->state : NULL;
    if (left && (*left <= 1 || --*left == 0))
        task_mark(l, &task->task);
}
