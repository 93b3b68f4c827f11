/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/scenario.h"

#include <ctype.h>

#include "api/node.h"
#include "api/pod_admission.h"
#include "api/resource_claim.h"
#include "api/storage.h"
#include "sim/expansion.h"

void scenario_init(struct scenario *s)
{
    *s = (struct scenario){.expansion = expansion_new(), .owns_expansion = true};
}

void scenario_init_after(struct scenario *s, const struct scenario *before)
{
    *s = (struct scenario){.validation = before->validation,
                           .next_uid = before->next_uid,
                           .expansion = before->expansion};
}

void scenario_release(struct scenario *s)
{
    if (s->owns_expansion)
        expansion_free(s->expansion);
    for (size_t i = 0; i < s->items.n; i++)
        object_unref(s->items.v[i].object);
    vec_release(&s->items);
    for (size_t i = 0; i < s->skipped.n; i++)
        free(s->skipped.v[i].kind);
    vec_release(&s->skipped);
    for (size_t i = 0; i < s->notes.n; i++) {
        free(s->notes.v[i].text);
        free(s->notes.v[i].first);
    }
    vec_release(&s->notes);
    buf_release(&s->problems);
    map_release(&s->names);
}

/* --- warnings --------------------------------------------------------------------------------- */

static bool is_word(struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (!isalnum((unsigned char)text.p[i]))
            return false;
    return text.n > 0 && text.n < 64;
}

void scenario_skip(struct scenario *s, struct str kind)
{
    if (s->skipped.n + 1 >= SCENARIO_MAX_SKIPPED)
        kind = STR("of other kinds");
    else if (!is_word(kind))
        kind = STR("of invalid kind");
    for (size_t i = 0; i < s->skipped.n; i++) {
        if (str_is(kind, s->skipped.v[i].kind)) {
            s->skipped.v[i].n++;
            return;
        }
    }
    vec_push(&s->skipped, (struct scenario_skipped){str_dup(kind), 1});
}

void scenario_note(struct scenario *s, const char *text, struct str which)
{
    for (size_t i = 0; i < s->notes.n; i++)
        if (strcmp(s->notes.v[i].text, text) == 0) {
            s->notes.v[i].n++;
            return;
        }
    if (s->notes.n < SCENARIO_MAX_PROBLEMS)
        vec_push(&s->notes, (struct scenario_note){str_dup(str_of(text)), str_dup(which), 1});
}

/* --- defaults --------------------------------------------------------------------------------- */

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

static void default_storage_class(struct storage_class *class)
{
    if (str_empty(class->volume_binding_mode))
        class->volume_binding_mode = STR(VOLUME_BINDING_IMMEDIATE);
}

static void default_count(struct str *mode, int64_t *count)
{
    if (str_empty(*mode))
        *mode = STR("ExactCount");
    if (str_is(*mode, "ExactCount") && *count == 0)
        *count = 1;
}

static void default_device_claim(struct device_claim *claim)
{
    for (size_t i = 0; i < claim->requests.n; i++) {
        struct device_request *r = &claim->requests.v[i];
        if (r->exactly)
            default_count(&r->exactly->allocation_mode, &r->exactly->count);
        for (size_t k = 0; k < r->first_available.n; k++)
            default_count(&r->first_available.v[k].allocation_mode, &r->first_available.v[k].count);
    }
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
    else if (kind->id == KIND_STORAGE_CLASS)
        default_storage_class(body);
    else if (kind->id == KIND_RESOURCE_CLAIM)
        default_device_claim(&((struct resource_claim *)body)->spec.devices);
    else if (kind->id == KIND_RESOURCE_CLAIM_TEMPLATE)
        default_device_claim(&((struct resource_claim_template *)body)->spec.spec.devices);
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Kinds of one name may be in several API groups. */
static struct str key_of(const struct object *o, struct arena *a)
{
    const struct object_meta *meta = object_meta(o);
    return arena_printf(a, "%d %.*s/%.*s", (int)object_kind(o)->id, STR_ARG(meta->namespace),
                        STR_ARG(meta->name));
}

bool scenario_has(const struct scenario *s, struct object *o)
{
    return map_get(&s->names, key_of(o, object_arena(o))) != NULL;
}

static int note_name(struct scenario *s, struct object *o, struct err *reterr)
{
    const struct object_meta *meta = object_meta(o);
    struct str name = key_of(o, object_arena(o));
    if (map_get(&s->names, name))
        return err_set(reterr, -EEXIST, "metadata.name: \"%.*s\" already exists",
                       STR_ARG(meta->name));
    map_put(&s->names, name, o);
    return 0;
}

int scenario_add(struct scenario *s, struct object *o, enum scenario_what what, struct err *reterr)
{
    const struct kind *kind = object_kind(o);
    if (kind->has_metadata && str_empty(object_meta(o)->name))
        return err_set(reterr, -EINVAL, "metadata.name: required");
    bool is_new = kind->has_metadata && str_empty(object_meta(o)->uid);
    fill_in(s, o);
    if (kind->has_metadata && what == SCENARIO_THERE) {
        int r = note_name(s, o, reterr);
        if (r < 0)
            return r;
    }
    vec_push(&s->items, (struct scenario_item){o, what, is_new});
    if (what != SCENARIO_DELETED)
        expansion_see(s->expansion, o);
    return 0;
}

/* --- admission -------------------------------------------------------------------------------- */

static int admit(struct scenario *s, struct object *o, struct err *reterr)
{
    struct pod *pod = object_body_mut(o);
    struct arena *a = object_arena(o);
    struct buf name = BUF_INIT;
    int r = 0;
    buf_add_printf(&name, "Pod %.*s/%.*s", STR_ARG(pod->metadata.namespace),
                   STR_ARG(pod->metadata.name));
    const struct priority_class *class =
        expansion_priority_class(s->expansion, pod->spec.priority_class_name);
    if (!class && pod->spec.priority_class_name.n && !pod->spec.priority)
        scenario_note(s, "PriorityClass not found in the input; using priority 0", buf_str(&name));
    pod_set_defaults(pod, a);
    pod_set_priority(pod, class, a);
    if (pod->spec.runtime_class_name.n) {
        const struct runtime_class *runtime =
            expansion_runtime_class(s->expansion, pod->spec.runtime_class_name);
        if (runtime)
            r = pod_set_runtime_class(pod, runtime, a, reterr);
        else
            scenario_note(s,
                          "RuntimeClass not found in the input; ignoring its overhead and node "
                          "selector",
                          buf_str(&name));
    }
    if (r < 0)
        err_prefix(reterr, r, "%s", buf_cstr(&name));
    buf_release(&name);
    return r;
}

/* --- completion ------------------------------------------------------------------------------- */

int scenario_complete(struct scenario *s, struct err *reterr)
{
    int r = expansion_run(s->expansion, s, reterr);
    for (size_t i = 0; r == 0 && i < s->items.n; i++) {
        const struct scenario_item *item = &s->items.v[i];
        if (object_kind(item->object)->id != KIND_POD || item->what == SCENARIO_DELETED)
            continue;
        if (item->is_new)
            r = admit(s, item->object, reterr);
    }
    return r;
}
