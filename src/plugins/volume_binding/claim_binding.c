/* SPDX-License-Identifier: Apache-2.0 */
/*
 * claim_binding.c - the writes of PreBind.
 *
 * Writes are patches with the version that was assumed: they fail with a conflict if the object has
 * changed, and keep every field that berth does not know. As upstream, one follows the other, and
 * the first that fails ends the binding; what was written stays written.
 *
 * Invariant: step i is assumed, unless it needed no change, until it is written; afterwards the
 * watch replaces the assumption by the new version.
 */
#include "plugins/volume_binding/claim_binding_state.h"

#include "codec/json.h"
#include "engine/cycle/cycle.h"
#include "engine/metrics/scheduler_metrics.h"
#include "plugins/common/plugin_base.h"

/* --- assume ----------------------------------------------------------------------------------- */

static void count_failure(const struct claim_binding *b, struct str stage)
{
    struct scheduler_metrics *m = handle_metrics(b->options.handle);
    if (m)
        scheduler_metrics_add(m, FAMILY_VOLUME_STAGE_ERRORS, &stage, 1);
}

static void add_step(struct claim_binding *b, struct object *volume, struct object *claim)
{
    vec_push(&b->steps, (struct step){.volume = volume ? object_ref(volume) : NULL,
                                      .claim = object_ref(claim)});
}

/* Does binding the volume to the claim change it (upstream: GetBindVolumeToClaim)? */
static bool needs_reference(const struct step *s)
{
    const struct object_reference *ref = object_persistent_volume(s->volume)->spec.claim_ref;
    const struct object_meta *claim = object_meta(s->claim);
    return !ref || !str_eq(ref->name, claim->name) || !str_eq(ref->namespace, claim->namespace) ||
           !str_eq(ref->uid, claim->uid);
}

static bool needs_annotation(const struct step *s)
{
    const struct persistent_volume *pv = object_persistent_volume(s->volume);
    struct pv named = {.body = pv};
    return !pv_is_for(&named, object_persistent_volume_claim(s->claim)) &&
           !str_map_get(&pv->metadata.annotations, STR(ANN_BOUND_BY_CONTROLLER));
}

static bool assume(struct claim_binding *b, struct step *s)
{
    if (!s->volume)
        s->assumed = claim_assume(b->volumes, s->claim, b->node_name);
    else if (needs_reference(s) || needs_annotation(s))
        s->assumed = pv_assume(b->volumes, s->volume, s->claim);
    else
        return true;
    return s->assumed;
}

static const struct object_meta *target_of(const struct step *s)
{
    return object_meta(s->volume ? s->volume : s->claim);
}

/* Upstream: passiveAssumeCache.Assume. */
static char *out_of_sync(const struct claim_binding *b, const struct step *s)
{
    const struct object_meta *meta = target_of(s), *now = NULL;
    const struct pv *pv = s->volume ? pv_get(b->volumes, meta->name) : NULL;
    const struct object *claim =
        s->volume ? NULL : claim_get(b->volumes, meta->namespace, meta->name);
    if (pv || claim)
        now = object_meta(pv ? pv->object : claim);
    const char *slash = s->volume ? "" : "/";
    if (!now)
        return xasprintf("%s \"%.*s%s%.*s\" not found",
                         s->volume ? "persistentvolumes" : "persistentvolumeclaims",
                         STR_ARG(meta->namespace), slash, STR_ARG(meta->name));
    return xasprintf("\"%.*s%s%.*s\" is out of sync (stored: %.*s, assume: %.*s)",
                     STR_ARG(meta->namespace), slash, STR_ARG(meta->name),
                     STR_ARG(now->resource_version), STR_ARG(meta->resource_version));
}

/*
 * A claim that several volumes of the pod share is written once, and not provisioned if there is a
 * volume for it. Upstream writes it several times and fails with a conflict.
 */
static void add_provisions(struct claim_binding *b, const struct pod_volumes *p,
                           const struct offers *offers)
{
    struct map added = MAP_INIT;
    for (size_t i = 0; i < p->n_to_match; i++)
        if (offers->volumes[i])
            map_put(&added, p->to_match[i]->key, p->to_match[i]);
    for (size_t i = 0; i < offers->n_to_provision; i++) {
        const struct pod_claim *c = offers->to_provision[i];
        if (!map_put(&added, c->key, (void *)c))
            add_step(b, NULL, c->object);
    }
    map_release(&added);
}

struct claim_binding *claim_binding_assume(const struct binding_options *options,
                                           struct pod_volumes *p, const struct offers *offers,
                                           struct str node, char **ret_fault)
{
    struct claim_binding *b = xnew(struct claim_binding);
    *ret_fault = NULL;
    b->options = *options;
    b->volumes = p->volumes;
    b->node_name = (struct str){str_dup(node), node.n};
    for (size_t i = 0; i < p->n_to_match; i++)
        if (offers->volumes[i])
            add_step(b, offers->volumes[i]->object, p->to_match[i]->object);
    add_provisions(b, p, offers);
    for (size_t i = 0; !*ret_fault && i < b->steps.n; i++)
        if (!assume(b, &b->steps.v[i]))
            *ret_fault = out_of_sync(b, &b->steps.v[i]);
    if (!*ret_fault)
        return b;
    count_failure(b, STR("assume"));
    claim_binding_revert(b);
    claim_binding_free(b);
    return NULL;
}

static void revert_step(struct claim_binding *b, struct step *s)
{
    s->assumed = false;
    if (s->volume)
        pv_revert(b->volumes, object_meta(s->volume));
    else
        claim_revert(b->volumes, object_meta(s->claim));
}

/* A step that is written has another version: the watch will end its assumption. */
void claim_binding_revert(struct claim_binding *b)
{
    for (size_t i = 0; i < b->steps.n; i++)
        if (b->steps.v[i].assumed && !b->steps.v[i].written)
            revert_step(b, &b->steps.v[i]);
}

bool claim_binding_is_for(const struct claim_binding *b, struct str node)
{
    return str_eq(b->node_name, node);
}

/* --- end -------------------------------------------------------------------------------------- */

static void stop(struct claim_binding *b)
{
    if (b->call)
        b->options.host->api_forget(b->options.handle, b->call);
    if (b->timer)
        b->options.host->timer_cancel(b->options.handle, b->timer);
    b->call = b->timer = 0;
    claim_binding_forget_waits(b);
}

void claim_binding_cancel(struct claim_binding *b)
{
    stop(b);
    b->op = 0;
    b->stage = STAGE_ENDED;
}

void claim_binding_free(struct claim_binding *b)
{
    if (!b)
        return;
    stop(b);
    for (size_t i = 0; i < b->steps.n; i++) {
        object_unref(b->steps.v[i].volume);
        object_unref(b->steps.v[i].claim);
        object_unref(b->steps.v[i].written);
    }
    vec_release(&b->steps);
    object_unref(b->node);
    object_unref(b->pod);
    buf_release(&b->text);
    free((char *)b->node_name.p);
    free(b);
}

void claim_binding_end(struct claim_binding *b, enum berth_code code, struct str reason)
{
    berth_op op = b->op;
    b->op = 0;
    stop(b);
    b->stage = STAGE_ENDED;
    if (code != BERTH_SUCCESS) {
        count_failure(b, STR("bind"));
        claim_binding_revert(b);
    }
    engine_log(b->volumes->log, 5,
               code == BERTH_SUCCESS ? "Success binding volumes for pod"
                                     : "Failed to bind volumes for pod",
               KV_META("pod", object_meta(b->pod)), KV_STR("err", reason));
    b->options.host->op_done(b->options.handle, op, code, abi_str(reason));
}

/* --- writes ----------------------------------------------------------------------------------- */

static void add_member(struct buf *out, const char *name, struct str value)
{
    buf_add_printf(out, "%s\"%s\":", out->n && out->p[out->n - 1] != '{' ? "," : "", name);
    json_write_str(out, value);
}

static void begin_patch(struct buf *out, const struct object_meta *meta)
{
    buf_clear(out);
    buf_add_cstr(out, "{\"metadata\":{");
    if (!str_empty(meta->resource_version))
        add_member(out, "resourceVersion", meta->resource_version);
}

static void add_annotation(struct buf *out, const char *name, struct str value)
{
    buf_add_printf(out, "%s\"annotations\":{", out->p[out->n - 1] != '{' ? "," : "");
    add_member(out, name, value);
    buf_add_char(out, '}');
}

static void write_volume_patch(struct buf *out, const struct step *s)
{
    const struct object_meta *claim = object_meta(s->claim);
    const struct object_reference *had = object_persistent_volume(s->volume)->spec.claim_ref;
    begin_patch(out, object_meta(s->volume));
    if (needs_annotation(s))
        add_annotation(out, ANN_BOUND_BY_CONTROLLER, STR("yes"));
    buf_add_char(out, '}');
    if (needs_reference(s)) {
        buf_add_cstr(out, ",\"spec\":{\"claimRef\":{");
        add_member(out, "kind", STR("PersistentVolumeClaim"));
        add_member(out, "namespace", claim->namespace);
        add_member(out, "name", claim->name);
        add_member(out, "uid", claim->uid);
        add_member(out, "apiVersion", STR("v1"));
        add_member(out, "resourceVersion", claim->resource_version);
        /* The reference is replaced: nothing of an earlier one may stay. */
        if (had && !str_empty(had->field_path))
            buf_add_cstr(out, ",\"fieldPath\":null");
        buf_add_cstr(out, "}}");
    }
    buf_add_char(out, '}');
}

static void write_claim_patch(struct buf *out, const struct step *s, struct str node)
{
    begin_patch(out, object_meta(s->claim));
    add_annotation(out, ANN_SELECTED_NODE, node);
    buf_add_cstr(out, "}}");
}

static void written(void *ctx, const struct berth_api_result *result);

static void write_next(struct claim_binding *b)
{
    const struct step *s = &b->steps.v[b->next];
    const struct object_meta *meta = target_of(s);
    if (s->volume)
        write_volume_patch(&b->text, s);
    else
        write_claim_patch(&b->text, s, b->node_name);
    struct berth_api_call call = {.struct_size = sizeof(call),
                                  .verb = BERTH_API_PATCH,
                                  .patch = BERTH_PATCH_MERGE,
                                  .api_version = BERTH_STR("v1"),
                                  .resource = s->volume ? BERTH_STR("persistentvolumes")
                                                        : BERTH_STR("persistentvolumeclaims"),
                                  .namespace_name = abi_str(meta->namespace),
                                  .name = abi_str(meta->name),
                                  .body = abi_str(buf_str(&b->text))};
    b->call = b->options.host->api_call(b->options.handle, &call, written, b);
}

static void timed_out(void *ctx)
{
    struct claim_binding *b = ctx;
    b->timer = 0;
    claim_binding_end(b, BERTH_ERROR, STR("binding volumes: context deadline exceeded"));
}

static void begin_wait(struct claim_binding *b)
{
    b->stage = STAGE_WAITING;
    b->timer = b->options.host->timer(b->options.handle, b->options.timeout_ns, timed_out, b);
    claim_binding_look(b);
}

/* The object of the answer, or the one that was written if the server sent none. */
static struct object *answered(const struct step *s, const struct berth_api_result *result)
{
    struct object *was = s->volume ? s->volume : s->claim;
    const struct object *object = result->object ? object_of_abi(result->object) : NULL;
    bool known = object && object_kind(object)->id == object_kind(was)->id;
    return object_ref(known ? (struct object *)object : was);
}

static void take_step(struct claim_binding *b, const struct berth_api_result *result)
{
    struct step *s = &b->steps.v[b->next++];
    struct object *object = answered(s, result);
    /* Nothing changed on the server: no watch will end the assumption. */
    if (s->assumed && same_version(object_meta(object), target_of(s)))
        revert_step(b, s);
    s->written = object;
}

static void written(void *ctx, const struct berth_api_result *result)
{
    struct claim_binding *b = ctx;
    b->call = 0;
    if (result->status < 200 || result->status > 299) {
        claim_binding_end(b, BERTH_ERROR, str_abi(result->message));
        return;
    }
    take_step(b, result);
    if (b->next < b->steps.n)
        write_next(b);
    else
        begin_wait(b);
}

void claim_binding_start(struct claim_binding *b, const struct berth_pod *pod, berth_op op)
{
    const struct berth_node *node = cache_node(b->volumes->cluster->cache, b->node_name);
    engine_log(b->volumes->log, 4, "BindPodVolumes", KV_POD(pod),
               KV_REF("node", STR(""), b->node_name));
    b->op = op;
    b->pod = object_ref(pod->object);
    b->node = node && node->object ? object_ref(node->object) : NULL;
    claim_binding_await(b);
    b->stage = STAGE_WRITING;
    if (b->steps.n)
        write_next(b);
    else
        begin_wait(b);
}
