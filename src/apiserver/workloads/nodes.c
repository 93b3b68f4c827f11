/* SPDX-License-Identifier: Apache-2.0 */
/* What DaemonSets read of nodes: labels and taints. */
#include "apiserver/workloads/nodes.h"

static size_t place_of(const struct workloads *w, struct str name, bool *ret_found)
{
    size_t low = 0, high = w->nodes.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int diff = str_cmp(w->nodes.v[mid]->name, name);
        if (diff == 0) {
            *ret_found = true;
            return mid;
        }
        if (diff < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *ret_found = false;
    return low;
}

static void free_node(struct node_item *node)
{
    arena_release(&node->arena);
    free(node);
}

void workload_nodes_release(struct workloads *w)
{
    for (size_t i = 0; i < w->nodes.n; i++)
        free_node(w->nodes.v[i]);
    vec_release(&w->nodes);
    vec_release(&w->daemon_sets);
}

/* A hash of what decides where pods of DaemonSets run. */
static uint64_t hash_of(const struct json_value *object)
{
    static const char *const parts[] = {"metadata.labels", "spec.taints"};
    struct buf text = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const struct json_value *v = json_at(object, parts[i]);
        if (v)
            workload_write_canonical(v, &text);
        buf_add_char(&text, '\n');
    }
    uint64_t hash = str_hash(buf_str(&text));
    buf_release(&text);
    return hash;
}

static void read_node(struct workloads *w, struct node_item *node, const struct revision *rev,
                      const struct json_value *object)
{
    struct json_items taints = json_items_at(object, "spec.taints");
    str_map labels = workload_sorted_labels(w, rev);
    struct arena *a = &node->arena;
    arena_reset(a);
    node->name = arena_dup(a, rev->name);
    node->labels.v = arena_array(a, struct str_entry, labels.n);
    node->labels.n = labels.n;
    for (size_t i = 0; i < labels.n; i++)
        node->labels.v[i] =
            (struct str_entry){arena_dup(a, labels.v[i].key), arena_dup(a, labels.v[i].value)};
    node->taints = arena_array(a, struct taint, taints.n);
    node->n_taints = 0;
    for (size_t i = 0; i < taints.n; i++)
        if (json_value_decode(&taints.v[i], &taint_type, 0, a, &node->taints[node->n_taints],
                              NULL) == 0)
            node->n_taints++;
}

void workload_node_changed(struct workloads *w, const struct store_event *event)
{
    const struct revision *rev = event->after;
    struct json_value object;
    bool found;
    size_t at = place_of(w, rev->name, &found);
    arena_reset(&w->scratch);
    if (event->change == STORE_DELETED) {
        if (!found)
            return;
        free_node(w->nodes.v[at]);
        vec_remove(&w->nodes, at);
    } else {
        if (json_parse(rev->text, 0, &w->scratch, &object, NULL) < 0)
            return;
        uint64_t hash = hash_of(&object);
        if (found && w->nodes.v[at]->hash == hash)
            return; /* a heartbeat */
        if (!found) {
            struct node_item *node = xnew(struct node_item);
            arena_init(&node->arena, 0);
            vec_insert(&w->nodes, at, node);
        }
        w->nodes.v[at]->hash = hash;
        read_node(w, w->nodes.v[at], rev, &object);
    }
    for (size_t i = 0; i < w->daemon_sets.n; i++)
        work_add(&w->queue, &w->daemon_sets.v[i]->work);
}
