/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/registry/write_steps.h"

#include "apiserver/patch/apply.h"

/* --- admission -------------------------------------------------------------------------------- */

static struct admission make_admission(struct steps *s, struct snapshot *snapshot)
{
    struct op *op = s->op;
    struct admission adm = {
        .operation = !s->object ? ADMIT_DELETE
                     : s->old   ? ADMIT_UPDATE
                                : ADMIT_CREATE,
        .resource = op->r,
        .subresource = s->subresource,
        .namespace = s->object ? object_namespace(s->object) : s->namespace,
        .name = s->object ? object_name(s->object) : s->name,
        .user = op->req->user,
        .object = s->object,
        .old = s->old,
        .resources = op->reg->resources,
        .snapshot = snapshot,
        .dry_run = op->req->dry_run,
        .disabled = op->reg->options.disabled_admission,
        .arena = op->a,
    };

    return adm;
}

static int admit(struct steps *s, bool mutate)
{
    struct snapshot *snapshot;
    struct admission adm;
    int code;

    if (s->op->reg->options.without_admission)
        return 0;
    snapshot = store_snapshot(s->op->reg->store);
    adm = make_admission(s, snapshot);
    code = mutate ? admission_mutate(&adm, op_status(s->op))
                  : admission_validate(&adm, op_status(s->op));
    if (adm.n_effects > 0) {
        s->effects = adm.effects;
        s->n_effects = adm.n_effects;
    }
    /* Before the write: a store that is not shared is changed in place. */
    snapshot_unref(snapshot);
    return code;
}

int steps_mutate(struct steps *s)
{
    return admit(s, true);
}

int steps_validate(struct steps *s)
{
    return admit(s, false);
}

void steps_apply_effects(struct steps *s)
{
    for (size_t i = 0; i < s->n_effects; i++) {
        struct op op = op_for(s->op, s->effects[i].resource);

        op_put_quietly(&op, &s->effects[i].object);
    }
}

void steps_warn(struct steps *s)
{
    const struct strategy *strategy = s->op->strategy;
    struct buf text = BUF_INIT;
    struct str rest, line;

    if (!strategy || !strategy->warn)
        return;
    strategy->warn(s->object, &text, s->op->a);
    rest = buf_str(&text);
    while (rest.n > 0 && str_split(&rest, '\n', &line))
        if (!str_empty(line))
            op_warn(s->op, line);
    buf_release(&text);
}

/* --- managed fields --------------------------------------------------------------------------- */

void track_managed_fields(struct op *op, struct json_value *object, const struct json_value *old,
                          struct str subresource)
{
    struct apply_request request = {
        .resource = op->stored,
        .live = old,
        .manager = op->req->field_manager,
        .subresource = subresource,
    };

    if (str_empty(request.manager))
        return;
    request.time = time_text(op->req->now, op->a);
    apply_track_update(&request, object, op->a);
}

/* --- owner references ------------------------------------------------------------------------- */

#define DUPLICATE_OWNERS                                                                     \
    "API server dedups owner references in 1.20+, and may reject such requests as early as " \
    "1.24; please fix your requests; duplicate UID(s) observed: "

static bool seen_before(const struct json_value *refs, size_t n, const struct json_value *ref)
{
    for (size_t i = 0; i < n; i++)
        if (json_value_equal(&refs->items[i], ref))
            return true;
    return false;
}

/* A client may send many references; those with a uid of their own are not compared. */
void dedup_owners(struct op *op, struct json_value *object, bool after_admission)
{
    struct json_value *refs = json_member(meta_of(object, op->a), STR("ownerReferences"));
    struct map uids = MAP_INIT;
    struct buf duplicates = BUF_INIT;
    size_t kept = 0;

    if (!refs || refs->kind != JSON_ARRAY || refs->n < 2)
        return;
    for (size_t i = 0; i < refs->n; i++) {
        struct str uid = json_get_text(&refs->items[i], STR("uid"));

        if (map_put(&uids, uid, refs) && seen_before(refs, kept, &refs->items[i]))
            buf_add_printf(&duplicates, "%s%.*s", duplicates.n ? ", " : "", STR_ARG(uid));
        else
            refs->items[kept++] = refs->items[i];
    }
    refs->n = kept;
    if (duplicates.n > 0)
        op_warn(op, arena_printf(
                        op->a,
                        ".metadata.ownerReferences contains duplicate entries%s; " DUPLICATE_OWNERS
                        "%.*s",
                        after_admission ? " after mutating admission happens" : "",
                        STR_ARG(buf_str(&duplicates))));
    buf_release(&duplicates);
    map_release(&uids);
}
