/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/up/up_view.h"

#include <stdio.h>

#include "base/time.h"
#include "base/vec.h"
#include "cmd/cli/text_table.h"

#define MAX_ROWS  50 /* of placements */
#define MAX_NODES 10 /* of the live table */
#define ZONE      "topology.kubernetes.io/zone"

/* --- pods ------------------------------------------------------------------------------------- */

static const struct resource *core(struct control_plane *plane, const char *plural)
{
    return resources_named(registry_resources(control_plane_registry(plane)), STR(""),
                           str_of(plural));
}

static struct str node_of(const struct revision *pod)
{
    return revision_field(pod, STR("spec.nodeName"));
}

/* In a text of JSON this can only be a member of a condition: quotes in strings are escaped. */
static bool has_reason(const struct revision *pod, struct str reason)
{
    return str_search(pod->text, reason) < pod->text.n;
}

static bool is_refused(const struct revision *pod)
{
    return has_reason(pod, STR("\"reason\":\"Unschedulable\"")) ||
           has_reason(pod, STR("\"reason\":\"SchedulingGated\""));
}

static bool is_finished(struct str phase)
{
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

void up_count(struct control_plane *plane, struct up_counts *ret_counts)
{
    struct snapshot *s = store_snapshot(registry_store(control_plane_registry(plane)));
    struct up_counts c = {.nodes = snapshot_count(s, core(plane, "nodes"))};
    struct store_range range;
    const struct revision *pod;
    store_range_init(&range, s, core(plane, "pods"), STR(""), NULL);
    while ((pod = store_range_next(&range))) {
        struct str phase = revision_field(pod, STR("status.phase"));
        bool placed = !str_empty(node_of(pod));
        c.pods++;
        c.placed += placed;
        c.running += placed && str_is(phase, "Running");
        c.finished += is_finished(phase);
        if (!placed && !is_finished(phase)) {
            c.pending++;
            c.refused += is_refused(pod);
        }
    }
    snapshot_unref(s);
    *ret_counts = c;
}

bool up_counts_settled(const struct up_counts *counts)
{
    return counts->pending == counts->refused;
}

/* --- the live table --------------------------------------------------------------------------- */

struct node_row {
    struct str name, zone;
    size_t pods;
};

static int by_pods(const void *a, const void *b)
{
    const struct node_row *x = a, *y = b;
    if (x->pods != y->pods)
        return x->pods > y->pods ? -1 : 1;
    return str_cmp(x->name, y->name);
}

/* The nodes with most pods. */
static void write_nodes(struct control_plane *plane, struct buf *out)
{
    struct snapshot *s = store_snapshot(registry_store(control_plane_registry(plane)));
    VEC(struct node_row) rows = {0};
    struct map index = MAP_INIT;
    struct store_range range;
    const struct revision *rev;
    vec_reserve(&rows, snapshot_count(s, core(plane, "nodes")) + 1);
    store_range_init(&range, s, core(plane, "nodes"), STR(""), NULL);
    while ((rev = store_range_next(&range))) {
        vec_push(&rows,
                 (struct node_row){.name = rev->name, .zone = revision_label(rev, STR(ZONE))});
        map_put(&index, rev->name, &vec_last(&rows));
    }
    store_range_init(&range, s, core(plane, "pods"), STR(""), NULL);
    while ((rev = store_range_next(&range))) {
        struct node_row *row = map_get(&index, node_of(rev));
        if (row && !is_finished(revision_field(rev, STR("status.phase"))))
            row->pods++;
    }
    if (rows.n)
        qsort(rows.v, rows.n, sizeof(*rows.v), by_pods);
    struct text_table t;
    text_table_init(&t, 3);
    text_table_add(&t, STR("NODE"));
    text_table_add(&t, STR("ZONE"));
    text_table_add(&t, STR("PODS"));
    for (size_t i = 0; i < rows.n && i < MAX_NODES; i++) {
        char number[24];
        snprintf(number, sizeof(number), "%zu", rows.v[i].pods);
        text_table_add(&t, rows.v[i].name);
        text_table_add(&t, rows.v[i].zone);
        text_table_add(&t, str_of(number));
    }
    text_table_write(&t, 0, out);
    if (rows.n > MAX_NODES)
        buf_add_printf(out, "and %zu more\n", rows.n - MAX_NODES);
    text_table_release(&t);
    map_release(&index);
    vec_release(&rows);
    snapshot_unref(s);
}

static void write_counts(const struct up_view *view, const struct up_counts *c, struct buf *out)
{
    static const char *const heads[] = {"NODES",  "PODS",    "PENDING",  "UNSCHEDULABLE",
                                        "PLACED", "RUNNING", "FINISHED", "PLACED/S"};
    const size_t values[] = {c->nodes,   c->pods,    c->pending - c->refused, c->refused, c->placed,
                             c->running, c->finished};
    char number[32];
    struct text_table t;
    text_table_init(&t, ARRAY_LEN(heads));
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        text_table_add(&t, str_of(heads[i]));
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        snprintf(number, sizeof(number), "%zu", values[i]);
        text_table_add(&t, str_of(number));
    }
    snprintf(number, sizeof(number), "%.0f", view->rate);
    text_table_add(&t, str_of(number));
    text_table_write(&t, 0, out);
    text_table_release(&t);
}

void up_view_clear(struct up_view *view)
{
    if (view->n_lines)
        printf("\033[%zuA\033[J", view->n_lines);
    view->n_lines = 0;
}

void up_view_draw(struct up_view *view, struct control_plane *plane, int64_t now)
{
    struct up_counts c;
    struct buf out = BUF_INIT;
    up_count(plane, &c);
    if (view->at && now > view->at)
        view->rate = c.placed > view->n_placed ? (double)(c.placed - view->n_placed) *
                                                     (double)NSEC_PER_SEC / (double)(now - view->at)
                                               : 0;
    view->at = now;
    view->n_placed = c.placed;
    buf_add_char(&out, '\n');
    write_counts(view, &c, &out);
    buf_add_char(&out, '\n');
    write_nodes(plane, &out);
    up_view_clear(view);
    fwrite(out.p, 1, out.n, stdout);
    fflush(stdout);
    for (size_t i = 0; i < out.n; i++)
        view->n_lines += out.p[i] == '\n';
    buf_release(&out);
}

/* --- placements ------------------------------------------------------------------------------- */

static void add_pod(struct text_table *t, struct control_plane *plane, const struct revision *pod)
{
    struct str node = node_of(pod);
    const struct revision *on = str_empty(node)
                                    ? NULL
                                    : store_get(registry_store(control_plane_registry(plane)),
                                                core(plane, "nodes"), STR(""), node);
    text_table_add(t, pod->namespace);
    text_table_add(t, pod->name);
    text_table_add(t, revision_field(pod, STR("status.phase")));
    text_table_add(t, node);
    text_table_add(t, on ? revision_label(on, STR(ZONE)) : STR(""));
}

void up_print_placements(struct control_plane *plane)
{
    static const char *const heads[] = {"NAMESPACE", "POD", "STATUS", "NODE", "ZONE"};
    struct snapshot *s = store_snapshot(registry_store(control_plane_registry(plane)));
    struct store_range range;
    const struct revision *pod;
    struct text_table t;
    struct buf out = BUF_INIT;
    size_t n = 0;
    text_table_init(&t, ARRAY_LEN(heads));
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        text_table_add(&t, str_of(heads[i]));
    store_range_init(&range, s, core(plane, "pods"), STR(""), NULL);
    while ((pod = store_range_next(&range)))
        if (n++ < MAX_ROWS)
            add_pod(&t, plane, pod);
    text_table_write(&t, 0, &out);
    if (n > MAX_ROWS)
        buf_add_printf(&out, "and %zu more\n", n - MAX_ROWS);
    fwrite(out.p, 1, out.n, stdout);
    buf_release(&out);
    text_table_release(&t);
    snapshot_unref(s);
}

bool up_pick_pod(struct control_plane *plane, struct arena *a, struct store_key *ret_pod)
{
    struct snapshot *s = store_snapshot(registry_store(control_plane_registry(plane)));
    const struct revision *pod, *picked = NULL;
    struct store_range range;
    store_range_init(&range, s, core(plane, "pods"), STR(""), NULL);
    while ((pod = store_range_next(&range))) {
        picked = pod;
        if (str_empty(node_of(pod)) && has_reason(pod, STR("\"reason\":\"Unschedulable\"")))
            break;
    }
    if (picked)
        *ret_pod = (struct store_key){arena_dup(a, picked->namespace), arena_dup(a, picked->name)};
    snapshot_unref(s);
    return picked != NULL;
}
