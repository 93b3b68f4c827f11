/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upstream's cache debugger (SIGUSR2): logs the engine's cache and queue, and the differences from
 * the informers' stores. The mailbox keeps its order, so the engine has received every event that
 * the snapshot includes.
 */
#include "base/log.h"
#include "engine/dump.h"
#include "live/world_internal.h"

/* What the informers have: names of nodes, UIDs of pods. */
struct dump_snapshot {
    dump_list nodes, pods;
};

static void free_list(dump_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        free((char *)list->v[i].p);
    vec_release(list);
}

void world_dump_snapshot_free(struct dump_snapshot *snapshot)
{
    if (!snapshot)
        return;
    free_list(&snapshot->nodes);
    free_list(&snapshot->pods);
    free(snapshot);
}

static void on_node(void *ctx, struct object *object)
{
    struct dump_snapshot *snapshot = ctx;
    vec_push(&snapshot->nodes, str_of(str_dup(object_meta(object)->name)));
}

static void on_pod(void *ctx, struct object *object)
{
    struct dump_snapshot *snapshot = ctx;
    vec_push(&snapshot->pods, str_of(str_dup(object_meta(object)->uid)));
}

void world_dump(struct world *w)
{
    struct dump_snapshot *snapshot = xnew(struct dump_snapshot);
    reflector_each(informers_get(w->informers, KIND_NODE), on_node, snapshot);
    reflector_each(informers_get(w->informers, KIND_POD), on_pod, snapshot);
    world_post_msg(w, &(struct engine_msg){.kind = ENGINE_MSG_DUMP, .snapshot = snapshot});
}

/* --- the engine's thread ---------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void sort(dump_list *list)
{
    if (list->n)
        qsort(list->v, list->n, sizeof(list->v[0]), by_text);
}

static void add_name(struct buf *out, struct str name)
{
    if (out->n > 1)
        buf_add_char(out, ',');
    log_quote(out, name);
}

/*
 * Both lists are sorted. Appends JSON arrays of what only `actual` has and of what only `cached`
 * has. Returns false if both are empty.
 */
static bool compare(const dump_list *actual, const dump_list *cached, struct buf *missed,
                    struct buf *redundant)
{
    size_t i = 0, k = 0;
    buf_add_char(missed, '[');
    buf_add_char(redundant, '[');
    while (i < actual->n || k < cached->n) {
        int order = i == actual->n ? 1 : k == cached->n ? -1 : str_cmp(actual->v[i], cached->v[k]);
        if (order < 0)
            add_name(missed, actual->v[i]);
        else if (order > 0)
            add_name(redundant, cached->v[k]);
        i += order <= 0;
        k += order >= 0;
    }
    bool differ = missed->n > 1 || redundant->n > 1;
    buf_add_char(missed, ']');
    buf_add_char(redundant, ']');
    return differ;
}

static void log_differences(dump_list *actual, dump_list *cached, const char *missed_key,
                            const char *redundant_key)
{
    struct buf missed = BUF_INIT, redundant = BUF_INIT;
    sort(actual);
    sort(cached);
    if (compare(actual, cached, &missed, &redundant))
        log_info(0, "Cache mismatch", KV_JSON(missed_key, buf_str(&missed)),
                 KV_JSON(redundant_key, buf_str(&redundant)));
    buf_release(&missed);
    buf_release(&redundant);
}

static void compare_all(const struct engine *e, struct dump_snapshot *snapshot)
{
    dump_list nodes = {0}, pods = {0};
    log_info(3, "Cache comparer started");
    dump_list_nodes(e, &nodes);
    dump_list_pods(e, &pods);
    log_differences(&snapshot->nodes, &nodes, "missedNodes", "redundantNodes");
    log_differences(&snapshot->pods, &pods, "missedPods", "redundantPods");
    vec_release(&nodes);
    vec_release(&pods);
    log_info(3, "Cache comparer finished");
}

void world_write_dump(const struct engine *e, struct dump_snapshot *snapshot)
{
    struct buf text = BUF_INIT, summary = BUF_INIT;
    compare_all(e, snapshot);
    dump_nodes(e, &text);
    log_info(0, "Dump of cached NodeInfo", KV_DUMP("nodes", buf_str(&text)));
    buf_clear(&text);
    dump_queue_summary(e, &summary);
    dump_queue(e, &text);
    log_info(0, "Dump of scheduling queue", KV_STR("summary", buf_str(&summary)),
             KV_DUMP("pods", buf_str(&text)));
    buf_release(&text);
    buf_release(&summary);
}
