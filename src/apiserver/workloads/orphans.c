/* SPDX-License-Identifier: Apache-2.0 */
/* Pods with the finalizer of Jobs whose Job is gone: they lose it. */
#include "apiserver/workloads/workloads_internal.h"

void workload_orphan_pod(struct workloads *w, struct pod_item *pod)
{
    if (pod->orphaned)
        return;
    pod->orphaned = true;
    vec_push(&w->orphan_keys, str_dup(pod->member.key));
    /* Changes of different kinds are not always in step: its Job may come. */
    work_add_at(&w->queue, &w->orphans, workloads_now(w) + NSEC_PER_SEC);
}

void workload_orphans_sync(struct workloads *w)
{
    size_t left = 0;
    for (size_t i = 0; i < w->orphan_keys.n; i++) {
        struct str key = str_of(w->orphan_keys.v[i]);
        struct member *m = map_get(&w->items, key);
        if (!m || !pod_of(m)->tracked || (m->family && m->family->workload)) {
            if (m)
                pod_of(m)->orphaned = false;
            free(w->orphan_keys.v[i]);
            continue;
        }
        w->orphan_keys.v[left++] = w->orphan_keys.v[i];
        struct json_value patch = json_object();
        json_set_at(&patch, "metadata.finalizers", workload_untracked(w, workload_tree(w, m)),
                    &w->scratch);
        json_set_at(
            &patch, "metadata.resourceVersion",
            json_text(arena_printf(&w->scratch, "%llu", (unsigned long long)m->rev->version)),
            &w->scratch);
        buf_clear(&w->body);
        json_write(&patch, &w->body);
        work_write(&w->queue, &w->orphans, WORK_NOTHING, TAG_OTHER,
                   &(struct writer_request){.verb = WRITER_PATCH_MERGE,
                                            .plural = STR("pods"),
                                            .namespace = m->rev->namespace,
                                            .name = m->rev->name,
                                            .body = buf_str(&w->body)});
    }
    w->orphan_keys.n = left;
}
