/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario.h"

#include <ctype.h>

#include "api/node.h"
#include "api/pod.h"
#include "codec/yaml.h"

void scenario_init(struct scenario *s)
{
    *s = (struct scenario){0};
}

void scenario_release(struct scenario *s)
{
    for (size_t i = 0; i < s->items.n; i++)
        object_unref(s->items.v[i].object);
    vec_release(&s->items);
    for (size_t i = 0; i < s->skipped.n; i++)
        free(s->skipped.v[i].kind);
    vec_release(&s->skipped);
    map_release(&s->names);
}

/* --- what an API server fills in -------------------------------------------------------------- */

static void default_meta(struct scenario *s, const struct kind *kind, struct object_meta *meta,
                         struct arena *a)
{
    if (kind->namespaced && str_empty(meta->namespace))
        meta->namespace = STR("default");
    s->next_uid++;
    if (str_empty(meta->uid))
        meta->uid =
            arena_printf(a, "00000000-0000-0000-0000-%012llu", (unsigned long long)s->next_uid);
    if (str_empty(meta->resource_version))
        meta->resource_version = arena_printf(a, "%llu", (unsigned long long)s->next_uid);
}

static void default_pod(struct pod *pod)
{
    if (str_empty(pod->spec.scheduler_name))
        pod->spec.scheduler_name = STR(DEFAULT_SCHEDULER_NAME);
    if (str_empty(pod->status.phase))
        pod->status.phase = STR(POD_PHASE_PENDING);
}

static void default_node(struct node *node)
{
    if (node->status.allocatable.n == 0)
        node->status.allocatable = node->status.capacity;
}

static void fill_in(struct scenario *s, struct object *o)
{
    const struct kind *kind = object_kind(o);
    void *body = object_body_mut(o);
    if (kind->has_metadata)
        default_meta(s, kind, body, object_arena(o));
    if (kind->id == KIND_POD)
        default_pod(body);
    else if (kind->id == KIND_NODE)
        default_node(body);
}

/* --- reading ---------------------------------------------------------------------------------- */

static int note_name(struct scenario *s, struct object *o, struct err *reterr)
{
    const struct object_meta *meta = object_meta(o);
    struct str name = arena_printf(object_arena(o), "%.*s %.*s/%.*s", STR_ARG(object_kind(o)->kind),
                                   STR_ARG(meta->namespace), STR_ARG(meta->name));
    if (map_get(&s->names, name))
        return err_set(reterr, -EEXIST, "metadata.name: there is a \"%.*s\" already",
                       STR_ARG(meta->name));
    map_put(&s->names, name, o);
    return 0;
}

/* Takes the reference, on success. */
static int add(struct scenario *s, struct object *o, enum scenario_what what, struct err *reterr)
{
    const struct kind *kind = object_kind(o);
    if (kind->has_metadata && str_empty(object_meta(o)->name))
        return err_set(reterr, -EINVAL, "metadata.name: required");
    fill_in(s, o);
    if (kind->has_metadata && what == SCENARIO_THERE) {
        int r = note_name(s, o, reterr);
        if (r < 0)
            return r;
    }
    vec_push(&s->items, (struct scenario_item){o, what});
    return 0;
}

static bool is_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]))
            return false;
    return text.n > 0 && text.n < 64;
}

static void skip(struct scenario *s, struct str kind)
{
    if (s->skipped.n + 1 >= SCENARIO_MAX_SKIPPED)
        kind = STR("others");
    else if (!is_word(kind))
        kind = STR("nameless");
    for (size_t i = 0; i < s->skipped.n; i++) {
        if (str_is(kind, s->skipped.v[i].kind)) {
            s->skipped.v[i].n++;
            return;
        }
    }
    vec_push(&s->skipped, (struct scenario_skipped){str_dup(kind), 1});
}

static int read_object(struct scenario *s, const struct json_value *doc, enum scenario_what what,
                       struct err *reterr)
{
    struct str kind_name = json_get_text(doc, STR("kind"));
    const struct kind *kind = kind_find(json_get_text(doc, STR("apiVersion")), kind_name);
    if (!kind) {
        skip(s, kind_name);
        return 0;
    }
    struct object *o = object_new(kind->id);
    int r = json_value_decode(doc, kind->type, 0, object_arena(o), object_body_mut(o), reterr);
    if (r == 0)
        r = add(s, o, what, reterr);
    if (r < 0) {
        object_unref(o);
        return err_prefix(reterr, r, "%.*s", STR_ARG(kind_name));
    }
    return 0;
}

static int read_event(struct scenario *s, struct str type, const struct json_value *object,
                      struct err *reterr)
{
    if (str_is(type, "BOOKMARK"))
        return 0;
    bool deleted = str_is(type, "DELETED");
    if (!deleted && !str_is(type, "ADDED") && !str_is(type, "MODIFIED"))
        return err_set(reterr, -EINVAL, "type: \"%.*s\" is none of ADDED, MODIFIED, DELETED",
                       STR_ARG(type));
    return read_object(s, object, deleted ? SCENARIO_DELETED : SCENARIO_CHANGED, reterr);
}

static int read_document(struct scenario *s, const struct json_value *doc, struct err *reterr)
{
    const struct json_value *object =
        doc->kind == JSON_OBJECT ? json_get(doc, STR("object")) : NULL;
    if (object && object->kind == JSON_OBJECT && json_get(doc, STR("type")))
        return read_event(s, json_get_text(doc, STR("type")), object, reterr);
    if (doc->kind != JSON_OBJECT || !json_get(doc, STR("kind")))
        return err_set(reterr, -EINVAL, "expected a Kubernetes object with apiVersion and kind");
    const struct json_value *items = json_get(doc, STR("items"));
    if (!str_ends(json_get_text(doc, STR("kind")), STR("List")) || !items)
        return read_object(s, doc, SCENARIO_THERE, reterr);
    if (items->kind != JSON_ARRAY)
        return err_set(reterr, -EINVAL, "items: expected an array");
    int r = 0;
    for (size_t i = 0; r == 0 && i < items->n; i++) {
        r = read_object(s, &items->items[i], SCENARIO_THERE, reterr);
        if (r < 0)
            err_prefix(reterr, r, "items[%zu]", i);
    }
    return r;
}

int scenario_read(struct scenario *s, const char *file, struct str text, struct err *reterr)
{
    struct arena a;
    struct json_value *docs;
    size_t n;
    arena_init(&a, 4096);
    int r = yaml_parse(text, 0, &a, &docs, &n, reterr);
    if (r < 0)
        err_prefix(reterr, r, "%s", file);
    for (size_t i = 0; r == 0 && i < n; i++) {
        r = read_document(s, &docs[i], reterr);
        if (r < 0)
            err_prefix(reterr, r, "%s:%u", file, docs[i].line);
    }
    arena_release(&a);
    return r;
}
