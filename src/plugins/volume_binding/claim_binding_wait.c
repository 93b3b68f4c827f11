/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_binding_wait.c - what PreBind waits for (upstream: checkBindings).
 *
 * The API server's objects count, not what is assumed: another pod may have assumed them again. An
 * object that is older than what was written says nothing yet.
 */
#include "api/selector_fault.h"
#include "engine/cache/object_key.h"
#include "plugins/volume_binding/claim_binding_state.h"

/* The bindings that wait for one object. */
struct wait {
    struct str key; /* kind, then "namespace/name"; owned */
    VEC(struct claim_binding *) bindings;
};

/* --- registration ----------------------------------------------------------------------------- */

static struct str wait_key(struct volumes *v, enum wait_kind kind, struct str namespace,
                           struct str name)
{
    buf_clear(&v->key);
    buf_add_char(&v->key, (char)kind);
    buf_add_str(&v->key, namespace);
    buf_add_char(&v->key, '/');
    buf_add_str(&v->key, name);
    return buf_str(&v->key);
}

static void await(struct claim_binding *b, enum wait_kind kind, struct str namespace,
                  struct str name)
{
    struct volumes *v = b->volumes;
    struct str key = wait_key(v, kind, namespace, name);
    struct wait *w = map_get(&v->waits, key);
    if (!w) {
        w = xnew(struct wait);
        w->key = (struct str){str_dup(key), key.n};
        map_put(&v->waits, w->key, w);
    }
    /* The same claim may be in several volumes of the pod, one after the other. */
    if (w->bindings.n && vec_last(&w->bindings) == b)
        return;
    vec_push(&w->bindings, b);
    vec_push(&b->waits, w);
}

void claim_binding_await(struct claim_binding *b)
{
    const struct object_meta *pod = object_meta(b->pod);
    await(b, WAIT_POD, pod->namespace, pod->name);
    await(b, WAIT_NODE, STR(""), b->node_name);
    for (size_t i = 0; i < b->steps.n; i++) {
        const struct step *s = &b->steps.v[i];
        const struct object_meta *claim = object_meta(s->claim);
        await(b, WAIT_CLAIM, claim->namespace, claim->name);
        if (s->volume)
            await(b, WAIT_VOLUME, STR(""), object_meta(s->volume)->name);
    }
}

void claim_binding_forget_waits(struct claim_binding *b)
{
    for (size_t i = 0; i < b->waits.n; i++) {
        struct wait *w = b->waits.v[i];
        for (size_t k = 0; k < w->bindings.n; k++)
            if (w->bindings.v[k] == b) {
                vec_swap_remove(&w->bindings, k);
                break;
            }
        if (w->bindings.n)
            continue;
        map_del(&b->volumes->waits, w->key);
        free((char *)w->key.p);
        vec_release(&w->bindings);
        free(w);
    }
    vec_release(&b->waits);
}

/* --- checks ----------------------------------------------------------------------------------- */

/* The text of a failure is in b->text. */
enum progress { STILL_WAITING, BOUND, FAILED };

static enum progress fail(struct claim_binding *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
static enum progress fail(struct claim_binding *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    buf_clear(&b->text);
    buf_add_cstr(&b->text, "binding volumes: ");
    buf_add_vprintf(&b->text, fmt, ap);
    va_end(ap);
    return FAILED;
}

/* Has the watch not shown yet what was written? */
static bool is_older(const struct object *now, const struct object *written)
{
    uint64_t a = 0, b = 0;
    bool ok = str_to_u64(object_meta(now)->resource_version, &a) &&
              str_to_u64(object_meta(written)->resource_version, &b);
    return ok && a < b;
}

static enum progress wrong_node(struct claim_binding *b, const struct persistent_volume *pv)
{
    struct faults faults = {0};
    struct buf why = BUF_INIT;
    /* A migrated volume may have its topology from labels. */
    if (pv->spec.node_affinity)
        node_selector_faults(&faults, "", pv->spec.node_affinity->required);
    if (!faults_write(&faults, &why))
        buf_add_cstr(&why, "no matching NodeSelectorTerms");
    enum progress result = fail(b, "pv \"%.*s\" node affinity doesn't match node \"%.*s\": %s",
                                STR_ARG(pv->metadata.name), STR_ARG(b->node_name), buf_cstr(&why));
    buf_release(&why);
    return result;
}

/* Can the node reach the volume? prefix: of the error if the volume cannot be translated. */
static enum progress check_node(struct claim_binding *b, const struct pv *pv, const char *prefix)
{
    const struct node_set *where = pv->where;
    if (pv_migrated_on(b->volumes, pv, b->node_name)) {
        if (pv->fault)
            return fail(b, "%s%s", prefix, pv->fault);
        where = pv->migrated_where;
    }
    bool reachable =
        !where || node_terms_match(&where->terms, &object_meta(b->node)->labels, STR(""));
    return reachable ? BOUND : wrong_node(b, pv->body);
}

static enum progress check_volume(struct claim_binding *b, const struct step *s)
{
    const struct object_meta *named = object_meta(s->volume), *claim = object_meta(s->claim);
    const struct pv *pv = pv_get(b->volumes, named->name);
    if (!pv)
        return fail(b, "failed to check binding: persistentvolumes \"%.*s\" not found",
                    STR_ARG(named->name));
    const struct object *pvc = claim_get(b->volumes, claim->namespace, claim->name);
    if (!pvc)
        return fail(b, "failed to check binding: persistentvolumeclaims \"%.*s/%.*s\" not found",
                    STR_ARG(claim->namespace), STR_ARG(claim->name));
    if (is_older(pv->object, s->written))
        return STILL_WAITING;
    enum progress there = check_node(b, pv, "failed to translate pv to csi: ");
    if (there != BOUND)
        return there;
    const struct object_reference *ref = pv->body->spec.claim_ref;
    if (!ref || str_empty(ref->uid))
        return fail(b, "ClaimRef got reset for pv \"%.*s\"", STR_ARG(named->name));
    return claim_is_bound(object_persistent_volume_claim(pvc)) ? BOUND : STILL_WAITING;
}

/* A provisioner that gives up removes the annotation. */
static enum progress check_selected(struct claim_binding *b,
                                    const struct persistent_volume_claim *pvc)
{
    const struct str *node = str_map_get(&pvc->metadata.annotations, STR(ANN_SELECTED_NODE));
    if (pvc->metadata.annotations.n == 0)
        return fail(b, "selectedNode annotation reset for PVC \"%.*s\"",
                    STR_ARG(pvc->metadata.name));
    if (!node || !str_eq(*node, b->node_name))
        return fail(b, "provisioning failed for PVC \"%.*s\"", STR_ARG(pvc->metadata.name));
    return BOUND;
}

static enum progress check_claim(struct claim_binding *b, const struct step *s)
{
    const struct object_meta *named = object_meta(s->claim);
    const struct object *object = claim_get(b->volumes, named->namespace, named->name);
    if (!object)
        return fail(b,
                    "failed to check provisioning pvc: persistentvolumeclaims \"%.*s/%.*s\" not "
                    "found",
                    STR_ARG(named->namespace), STR_ARG(named->name));
    if (is_older(object, s->written))
        return STILL_WAITING;
    const struct persistent_volume_claim *pvc = object_persistent_volume_claim(object);
    enum progress so_far = check_selected(b, pvc);
    if (so_far == BOUND && !str_empty(pvc->spec.volume_name)) {
        const struct pv *pv = pv_get(b->volumes, pvc->spec.volume_name);
        if (!pv) {
            /* It comes later than its claim; or it is gone, and the claim will be lost. */
            await(b, WAIT_VOLUME, STR(""), pvc->spec.volume_name);
            return STILL_WAITING;
        }
        so_far = check_node(b, pv, "");
    }
    if (so_far != BOUND)
        return so_far;
    return claim_is_bound(pvc) ? BOUND : STILL_WAITING;
}

static enum progress check(struct claim_binding *b)
{
    const struct object_meta *pod = object_meta(b->pod);
    enum progress progress = BOUND;
    if (!b->node)
        return fail(b, "failed to get node \"%.*s\": node \"%.*s\" not found",
                    STR_ARG(b->node_name), STR_ARG(b->node_name));
    if (b->pod_is_gone)
        return fail(b, "pod does not exist any more: pod \"%.*s\" not found", STR_ARG(pod->name));
    for (size_t i = 0; progress == BOUND && i < b->steps.n; i++) {
        const struct step *s = &b->steps.v[i];
        progress = s->volume ? check_volume(b, s) : check_claim(b, s);
    }
    return progress;
}

void claim_binding_look(struct claim_binding *b)
{
    if (b->stage != STAGE_WAITING)
        return;
    enum progress progress = check(b);
    if (progress == BOUND)
        claim_binding_end(b, BERTH_SUCCESS, STR(""));
    else if (progress == FAILED)
        claim_binding_end(b, BERTH_ERROR, buf_str(&b->text));
}

/* --- changes ---------------------------------------------------------------------------------- */

/* Node and pod are not in the listers yet when their change is reported. */
static void take_change(struct claim_binding *b, enum wait_kind kind, const struct object *before,
                        const struct object *after)
{
    enum kind_id id = object_kind(after ? after : before)->id;
    if (kind == WAIT_NODE && id == KIND_NODE) {
        object_unref(b->node);
        b->node = after ? object_ref((struct object *)after) : NULL;
    } else if (kind == WAIT_POD && !after &&
               str_eq(object_meta(before)->uid, object_meta(b->pod)->uid)) {
        b->pod_is_gone = true;
    }
}

void claim_bindings_wake(struct volumes *v, enum wait_kind kind, const struct object *before,
                         const struct object *after)
{
    if (v->waits.n == 0)
        return;
    const struct object_meta *meta = object_meta(after ? after : before);
    const struct wait *w = map_get(&v->waits, wait_key(v, kind, meta->namespace, meta->name));
    VEC(struct claim_binding *) woken = {0};
    for (size_t i = 0; w && i < w->bindings.n; i++)
        vec_push(&woken, w->bindings.v[i]);
    for (size_t i = 0; i < woken.n; i++) {
        take_change(woken.v[i], kind, before, after);
        claim_binding_look(woken.v[i]);
    }
    vec_release(&woken);
}
