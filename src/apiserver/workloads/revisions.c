/* SPDX-License-Identifier: Apache-2.0 */
/* ControllerRevisions (pkg/controller/history). */
#include "apiserver/workloads/revisions.h"

#define MAX_PREFIX 223

static int by_number(const void *x, const void *y)
{
    const struct revision_view *a = x, *b = y;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->member->created != b->member->created)
        return a->member->created < b->member->created ? -1 : 1;
    return str_cmp(a->member->rev->name, b->member->rev->name);
}

/* The template in the data: without the directive of the patch that it is. */
static const struct json_value *template_of(struct workloads *w, const struct member *m)
{
    struct json_value *tree = workload_tree(w, m);
    struct json_value *data = json_member(tree, STR("data"));
    struct json_value *spec = data ? json_member(data, STR("spec")) : NULL;
    struct json_value *template = spec ? json_member(spec, STR("template")) : NULL;
    if (template)
        json_remove(template, STR("$patch"));
    return template;
}

void history_read(struct workloads *w, struct workload *o, const struct json_value *object,
                  struct history *ret_history)
{
    const struct members *list = &o->family->members[MEMBER_REVISION];
    struct history h = {arena_array(&w->scratch, struct revision_view, list->list.n + 1), 0, NULL};
    uint64_t hash = workload_template_hash(w, json_at(object, "spec.template"));
    for (size_t i = 0; i < list->list.n; i++) {
        struct member *m = list->list.v[i];
        if (m->deleting)
            continue;
        h.v[h.n++] = (struct revision_view){m, template_of(w, m),
                                            json_int_at(workload_tree(w, m), "revision", 0)};
    }
    qsort(h.v, h.n, sizeof(*h.v), by_number);
    for (size_t i = h.n; i-- > 0 && !h.update;)
        if (h.v[i].template && workload_template_hash(w, h.v[i].template) == hash)
            h.update = &h.v[i];
    *ret_history = h;
}

struct revision_view *history_find(struct history *h, struct str name)
{
    for (size_t i = 0; i < h->n; i++)
        if (str_eq(h->v[i].member->rev->name, name))
            return &h->v[i];
    return NULL;
}

struct str revision_hash(const struct workload *o, const struct revision_view *v)
{
    struct str hash = revision_label(v->member->rev, STR(REVISION_LABEL));
    if (str_empty(hash))
        hash = revision_label(v->member->rev, STR("controller.kubernetes.io/hash"));
    if (!str_empty(hash))
        return hash;
    size_t at = MIN(o->member.rev->name.n, (size_t)MAX_PREFIX) + 1;
    return str_slice(v->member->rev->name, at, v->member->rev->name.n);
}

static struct str new_name(struct workloads *w, const struct workload *o, struct str text,
                           int64_t collisions, struct str *ret_hash)
{
    struct json_value count = json_int(collisions, &w->scratch);
    *ret_hash = workload_safe_hash(w, text, collisions ? &count : NULL);
    struct str prefix = str_slice(o->member.rev->name, 0, MAX_PREFIX);
    return arena_printf(&w->scratch, "%.*s-%.*s", STR_ARG(prefix), STR_ARG(*ret_hash));
}

static void create_revision(struct workloads *w, struct workload *o,
                            const struct json_value *object, int64_t number)
{
    struct arena *a = &w->scratch;
    struct json_value rev = json_object(), template, labels, refs = json_array();
    struct buf text = BUF_INIT;
    struct str hash, name;
    workload_write_canonical(json_at(object, "spec.template"), &text);
    int64_t collisions = json_int_at(object, "status.collisionCount", 0);
    do /* a name that another revision has is skipped */
        name = new_name(w, o, buf_str(&text), collisions++, &hash);
    while (map_get(&w->items, arena_printf(a, "controllerrevisions %.*s/%.*s",
                                           STR_ARG(o->member.rev->namespace), STR_ARG(name))));
    buf_release(&text);
    template = json_copy(json_at(object, "spec.template"), a);
    json_set(&template, STR("$patch"), json_text(STR("replace")), a);
    const struct json_value *from = json_at(object, "spec.template.metadata.labels");
    labels = from ? json_copy(from, a) : json_object();
    json_set(&labels,
             o->kind == WORKLOAD_DAEMON_SET ? STR(REVISION_LABEL)
                                            : STR("controller.kubernetes.io/hash"),
             json_text(hash), a);
    json_append(&refs, workload_controller_ref(w, o), a);
    workload_put_text(w, &rev, "apiVersion", STR("apps/v1"));
    workload_put_text(w, &rev, "kind", STR("ControllerRevision"));
    json_set_at(&rev, "metadata.name", json_text(name), a);
    json_set_at(&rev, "metadata.namespace", json_text(o->member.rev->namespace), a);
    json_set_at(&rev, "metadata.labels", labels, a);
    const struct json_value *annotations = json_at(object, "metadata.annotations");
    if (annotations)
        json_set_at(&rev, "metadata.annotations", json_copy(annotations, a), a);
    json_set_at(&rev, "metadata.ownerReferences", refs, a);
    json_set_at(&rev, "data.spec.template", template, a);
    json_set_at(&rev, "revision", json_int(number, a), a);
    struct writer_request where = {
        .group = STR("apps"), .plural = STR("controllerrevisions"), .name = name};
    workload_create(w, o, WORK_ADDS, TAG_OTHER, &where, &rev);
}

bool history_sync(struct workloads *w, struct workload *o, const struct json_value *object,
                  struct history *h)
{
    int64_t last = h->n ? h->v[h->n - 1].number : 0;
    if (!h->update) {
        create_revision(w, o, object, last + 1);
        return true;
    }
    if (h->update->number >= last)
        return false;
    struct json_value patch = json_object();
    json_set_at(&patch, "revision", json_int(last + 1, &w->scratch), &w->scratch);
    workload_patch(w, o, h->update->member, TAG_OTHER, patch);
    return true;
}

void history_truncate(struct workloads *w, struct workload *o, const struct json_value *object,
                      struct history *h, revision_is_live_fn *is_live, void *ctx)
{
    int64_t limit = json_int_at(object, "spec.revisionHistoryLimit", 10);
    struct revision_view **dead = arena_array(&w->scratch, struct revision_view *, h->n);
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        if (&h->v[i] != h->update && !is_live(ctx, &h->v[i]))
            dead[n++] = &h->v[i];
    for (size_t i = 0; (int64_t)(n - i) > limit; i++)
        workload_delete(w, o, dead[i]->member, WORK_NOTHING, TAG_OTHER);
}
