/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lifecycle_scene.h - a registry with the controllers of lifecycle/ and, if wanted, kubelets.
 *
 * Purpose:   tests write objects as clients do (apiserver_kit.h) and let time pass.
 * Ownership: scene_end releases everything.
 * Threading: one thread.
 */
#ifndef BERTH_TESTS_LIFECYCLE_SCENE_H
#define BERTH_TESTS_LIFECYCLE_SCENE_H

#include "apiserver/kubelet/kubelets.h"
#include "apiserver/lifecycle/lifecycle.h"
#include "apiserver_kit.h"
#include "base/vec.h"

struct scene_write {
    bool of_kubelets;
    struct writer_request request;
    struct arena arena;
};

struct scene {
    struct kit kit;
    struct lifecycle *l;
    struct kubelets *k; /* NULL: none */
    VEC(struct scene_write *) writes;
    size_t n_writes, n_refused;
    struct rand *faults; /* NULL: none */
    bool trace;
};

static inline void scene_write(struct scene *s, const struct writer_request *w, bool of_kubelets)
{
    struct scene_write *p = xnew(struct scene_write);
    arena_init(&p->arena, 0);
    p->of_kubelets = of_kubelets;
    p->request = *w;
    struct str *texts[] = {&p->request.group,     &p->request.plural, &p->request.subresource,
                           &p->request.namespace, &p->request.name,   &p->request.body};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_dup(&p->arena, *texts[i]);
    vec_push(&s->writes, p);
}

static inline void scene_lifecycle_write(void *ctx, const struct writer_request *w)
{
    scene_write(ctx, w, false);
}

static inline void scene_kubelets_write(void *ctx, const struct writer_request *w)
{
    scene_write(ctx, w, true);
}

static inline void scene_changed(void *ctx, const struct store_event *event)
{
    struct scene *s = ctx;
    if (s->trace)
        fprintf(stderr, "    %s %.*s %.*s/%.*s\n",
                event->change == STORE_ADDED      ? "added"
                : event->change == STORE_MODIFIED ? "modified"
                                                  : "deleted",
                STR_ARG(event->after->resource->plural), STR_ARG(event->after->namespace),
                STR_ARG(event->after->name));
    if (s->l)
        lifecycle_changed(s->l, event);
    if (s->k)
        kubelets_changed(s->k, event);
}

static inline int scene_serve_write(struct scene *s, struct scene_write *p)
{
    static const enum api_verb verbs[] = {
        [WRITER_CREATE] = API_CREATE,
        [WRITER_UPDATE] = API_UPDATE,
        [WRITER_PATCH_MERGE] = API_PATCH_MERGE,
        [WRITER_DELETE] = API_DELETE,
    };
    struct json_value body;
    struct api_response response = {0};
    struct api_request request = {
        .verb = verbs[p->request.verb],
        .resource =
            resources_named(registry_resources(s->kit.reg), p->request.group, p->request.plural),
        .subresource = p->request.subresource,
        .namespace = p->request.namespace,
        .name = p->request.verb == WRITER_CREATE && str_empty(p->request.subresource)
                    ? STR("")
                    : p->request.name,
        .user = STR("system:kube-controller-manager"),
        .now = s->kit.now,
        .arena = &p->arena,
    };
    assert_non_null(request.resource);
    if (!str_empty(p->request.body)) {
        struct err err = {0};
        assert_int_equal(json_parse(p->request.body, 0, &p->arena, &body, &err), 0);
        request.body = &body;
    }
    int status = registry_serve(s->kit.reg, &request, &response);
    if (s->trace)
        fprintf(stderr, "%d %d %.*s/%.*s %.*s/%.*s %.*s\n", status, p->request.verb,
                STR_ARG(p->request.plural), STR_ARG(p->request.subresource),
                STR_ARG(p->request.namespace), STR_ARG(p->request.name), STR_ARG(p->request.body));
    if (status >= 400 && s->trace)
        fprintf(stderr, "    %.*s\n", STR_ARG(response.status.message));
    registry_response_release(&response);
    return status;
}

static inline void scene_serve(struct scene *s)
{
    size_t i = s->faults ? rand_below(s->faults, s->writes.n) : 0;
    struct scene_write *p = s->writes.v[i];
    vec_remove(&s->writes, i);
    uint64_t fault = s->faults ? rand_below(s->faults, 20) : 99;
    int status = fault == 0 ? 500 : scene_serve_write(s, p);
    s->n_writes++;
    s->n_refused += status >= 400;
    if (fault == 1)
        status = 0; /* the answer is lost */
    if (p->of_kubelets)
        kubelets_write_done(s->k, p->request.id, status, s->kit.now);
    else
        lifecycle_write_done(s->l, p->request.id, status, s->kit.now);
    arena_release(&p->arena);
    free(p);
}

/* Serves writes and runs the parties until nothing is due for this long. */
static inline void scene_run_for(struct scene *s, int64_t duration)
{
    int64_t until = s->kit.now + duration;
    for (size_t steps = 0; steps < 10000000; steps++) {
        lifecycle_run(s->l, s->kit.now);
        if (s->k)
            kubelets_run(s->k, s->kit.now);
        if (s->writes.n) {
            for (size_t n = s->faults ? 1 : s->writes.n; n-- && s->writes.n;)
                scene_serve(s);
            continue;
        }
        int64_t next = MIN(lifecycle_next(s->l), registry_tick(s->kit.reg, s->kit.now));
        if (s->k)
            next = MIN(next, kubelets_next(s->k));
        if (next > until) {
            s->kit.now = until;
            return;
        }
        s->kit.now = MAX(s->kit.now, next);
    }
    fail_msg("the controllers do not come to rest");
}

/* more: a finalizer of the namespace with a comma. */
static inline void scene_namespace(struct scene *s, const char *name, const char *more)
{
    char *body = xasprintf("{'metadata':{'name':'%s'},'spec':{'finalizers':[%s'kubernetes']},"
                           "'status':{'phase':'Active'}}",
                           name, more);
    assert_int_equal(kit_serve(&s->kit, API_CREATE, "namespaces", NULL, body), 201);
    free(body);
}

static inline void scene_begin(struct scene *s, bool with_kubelets)
{
    *s = (struct scene){0};
    struct registry_options registry = {.store = {.changed = scene_changed, .ctx = s}, .seed = 1};
    struct lifecycle_options options = {.root_ca = STR("PEM")};
    kit_init(&s->kit, &registry);
    options.writer = (struct writer){s, scene_lifecycle_write};
    options.store = registry_store(s->kit.reg);
    options.resources = registry_resources(s->kit.reg);
    s->l = lifecycle_new(&options);
    if (with_kubelets)
        s->k = kubelets_new(
            &(struct kubelets_options){.writer = {s, scene_kubelets_write}, .seed = 1});
    scene_namespace(s, "kube-node-lease", "");
    scene_namespace(s, "ns", "");
    scene_run_for(s, NSEC_PER_SEC);
}

static inline void scene_end(struct scene *s)
{
    for (size_t i = 0; i < s->writes.n; i++) {
        arena_release(&s->writes.v[i]->arena);
        free(s->writes.v[i]);
    }
    vec_release(&s->writes);
    s->l = lifecycle_free(s->l);
    s->k = kubelets_free(s->k);
    kit_free(&s->kit);
}

/* The status must be below 300. */
static inline void scene_do(struct scene *s, enum api_verb verb, const char *what, const char *name,
                            const char *body)
{
    int code = kit_serve(&s->kit, verb, what, name, body);
    if (code >= 300)
        fail_msg("%s %s: %d %s", what, name ? name : "", code, buf_cstr(&s->kit.text));
}

static inline bool scene_has(struct scene *s, const char *what, const char *name)
{
    int code = kit_serve(&s->kit, API_GET, what, name, NULL);
    assert_true(code == 200 || code == 404);
    return code == 200;
}

/* The text at a path of an object; "" if there is none. */
static inline const char *scene_at(struct scene *s, const char *what, const char *name,
                                   const char *path)
{
    return scene_has(s, what, name) ? kit_at(&s->kit, path) : "";
}

/* "status/reason" of a condition; with message, that. */
static inline const char *scene_condition(struct scene *s, const char *what, const char *name,
                                          const char *type, bool message)
{
    if (!scene_has(s, what, name))
        return "";
    const struct json_value *list = json_at(kit_tree(&s->kit), "status.conditions");
    for (size_t i = 0; list && i < list->n; i++) {
        const struct json_value *c = &list->items[i];
        if (!str_is(json_get_text(c, STR("type")), type))
            continue;
        if (message)
            return arena_dup(&s->kit.arena, json_get_text(c, STR("message"))).p;
        return arena_printf(&s->kit.arena, "%.*s/%.*s", STR_ARG(json_get_text(c, STR("status"))),
                            STR_ARG(json_get_text(c, STR("reason"))))
            .p;
    }
    return "";
}

/* How many events have this reason. */
static inline size_t scene_events(struct scene *s, const char *reason)
{
    size_t n = 0;
    int code = kit_serve(&s->kit, API_LIST, "events", NULL, NULL);
    assert_int_equal(code, 200);
    for (size_t i = 0; i < s->kit.response.n_items; i++) {
        struct json_value event;
        struct str text = s->kit.response.items[i]->text;
        assert_int_equal(json_parse(text, 0, &s->kit.arena, &event, NULL), 0);
        n += str_is(json_get_text(&event, STR("reason")), reason);
    }
    return n;
}

#endif
