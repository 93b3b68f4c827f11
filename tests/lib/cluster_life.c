/* SPDX-License-Identifier: Apache-2.0 */
#include "cluster_life.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/time.h"

void life_begin(struct life *l, const struct life_kind *kind)
{
    l->kind = kind;
    l->node_state = xcalloc(kind->max_nodes, sizeof(*l->node_state));
    l->pods = xcalloc(kind->max_pods, sizeof(*l->pods));
    for (size_t i = 0; i < kind->max_nodes / 2; i++) {
        l->node_state[i] = 1 + (int)(i % (size_t)kind->n_shapes);
        fixture_add(&l->f, kind->node(i, l->node_state[i]));
    }
}

void life_end(struct life *l)
{
    free(l->node_state);
    free(l->pods);
}

static void change_node(struct life *l)
{
    const struct life_kind *kind = l->kind;
    size_t i = (size_t)rand_below(&l->r, kind->max_nodes);
    int old = l->node_state[i], new = 1 + (int)rand_below(&l->r, (uint64_t)kind->n_shapes);
    if (!old) {
        fixture_add(&l->f, kind->node(i, new));
    } else if (rand_below(&l->r, kind->one_leaves)) {
        fixture_update(&l->f, kind->node(i, old), kind->node(i, new));
    } else {
        fixture_delete(&l->f, kind->node(i, old));
        new = 0;
    }
    l->node_state[i] = new;
}

static void add_pod(struct life *l)
{
    size_t i = l->n_pods;
    if (i == l->kind->max_pods)
        return;
    l->pods[i].shape = l->kind->draw(&l->r);
    l->n_pods++;
    fixture_add(&l->f, l->kind->pod(&l->pods[i], i));
}

static void change_pod(struct life *l)
{
    size_t i = l->n_pods ? (size_t)rand_below(&l->r, l->n_pods) : 0;
    struct life_pod *pod = &l->pods[i];
    if (!l->n_pods || pod->gone)
        return;
    struct object *before = l->kind->pod(pod, i);
    if (l->kind->pods_change && !pod->node[0] && rand_below(&l->r, 2)) {
        pod->opened = true;
        fixture_update(&l->f, before, l->kind->pod(pod, i));
        return;
    }
    pod->gone = true;
    fixture_delete(&l->f, before);
}

/* Answers a write in flight, now and then with a failure. */
static void answer(struct life *l)
{
    for (size_t i = 0; i < l->f.writes.n; i++) {
        struct fixture_write *w = &l->f.writes.v[i];
        int64_t number = 0;
        if (w->kind != WRITE_BINDING || w->answered || rand_below(&l->r, 3) == 0)
            continue;
        assert_true(str_to_i64(str_slice(object_meta(w->pod)->name, 1, SIZE_MAX), &number));
        struct life_pod *pod = &l->pods[number];
        int status = pod->gone ? 404 : rand_below(&l->r, 8) ? 201 : 409;
        if (status == 201)
            snprintf(pod->node, sizeof(pod->node), "%s", w->node);
        fixture_answer(&l->f, w, status, "conflict");
        return;
    }
}

void life_step(struct life *l)
{
    switch (rand_below(&l->r, 16)) {
    case 0:
        change_node(l);
        break;
    case 1:
    case 2:
    case 3:
        add_pod(l);
        break;
    case 4:
        change_pod(l);
        break;
    case 5:
        fixture_pass(&l->f, (int64_t)rand_below(&l->r, 10000) * NSEC_PER_MSEC);
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        answer(l);
        break;
    default:
        engine_schedule_one(l->f.engine);
        l->f.now++;
        break;
    }
}

void life_write(const struct life *l, struct buf *out)
{
    const struct fixture *f = &l->f;
    for (size_t i = 0; i < f->decisions.n; i++)
        buf_add_printf(out, "%s\n", f->decisions.v[i]);
    for (size_t i = 0; i < f->writes.n; i++) {
        const struct fixture_write *w = &f->writes.v[i];
        struct str pod = object_meta(w->pod)->name;
        buf_add_printf(out, "%d %llu %.*s %s %s %s %d%d%d\n", (int)w->kind,
                       (unsigned long long)w->id, STR_ARG(pod), w->node, w->reason, w->message,
                       w->warning, w->sets_nomination, w->sets_condition);
    }
    engine_explain(f->engine, STR(""), STR(""), out);
}
