/* SPDX-License-Identifier: Apache-2.0 */
/* Creation of objects (upstream: Store.Create, rest.BeforeCreate). */
#include "apiserver/admission/admission.h"
#include "apiserver/patch/apply.h"
#include "apiserver/registry/registry_internal.h"
#include "apiserver/registry/write_steps.h"

/* Upstream's alphabet has no vowels and no digits that look like letters. */
static const char suffix_alphabet[] = "bcdfghjklmnpqrstvwxz2456789";
#define SUFFIX_LENGTH 5
#define MAX_PREFIX    58
#define NAME_ATTEMPTS 8

/* What only the server may set. */
static void wipe_system_fields(struct json_value *meta)
{
    json_remove(meta, STR("uid"));
    json_remove(meta, STR("creationTimestamp"));
    json_remove(meta, STR("deletionTimestamp"));
    json_remove(meta, STR("deletionGracePeriodSeconds"));
    json_remove(meta, STR("selfLink"));
}

struct str make_uid(struct registry *reg, struct arena *a)
{
    uint64_t hi = rand_u64(&reg->rand), lo = rand_u64(&reg->rand);

    /* RFC 4122: version 4, variant 1. */
    hi = (hi & ~(uint64_t)0xf000) | 0x4000;
    lo = (lo & ~((uint64_t)3 << 62)) | (uint64_t)2 << 62;
    return arena_printf(a, "%08x-%04x-%04x-%04x-%012llx", (unsigned)(hi >> 32),
                        (unsigned)(hi >> 16 & 0xffff), (unsigned)(hi & 0xffff),
                        (unsigned)(lo >> 48), (unsigned long long)(lo & 0xffffffffffffULL));
}

static struct str make_name(struct registry *reg, struct str prefix, struct arena *a)
{
    char suffix[SUFFIX_LENGTH];

    for (size_t i = 0; i < SUFFIX_LENGTH; i++)
        suffix[i] = suffix_alphabet[rand_below(&reg->rand, sizeof(suffix_alphabet) - 1)];
    return arena_printf(a, "%.*s%.*s", (int)MIN(prefix.n, MAX_PREFIX), prefix.p, SUFFIX_LENGTH,
                        suffix);
}

/* A generated name that exists is tried again. */
static void fill_metadata(struct op *op, struct json_value *object)
{
    struct json_value *meta = meta_of(object, op->a);
    struct str prefix = json_get_text(meta, STR("generateName"));

    if (str_empty(object_name(object)) && !str_empty(prefix)) {
        struct str name = {0};

        for (size_t i = 0; i < NAME_ATTEMPTS; i++) {
            name = make_name(op->reg, prefix, op->a);
            if (!op_find(op, object_namespace(object), name))
                break;
        }
        json_set(meta, STR("name"), json_text(name), op->a);
    }
    json_set(meta, STR("uid"), json_text(make_uid(op->reg, op->a)), op->a);
    json_set(meta, STR("creationTimestamp"), json_text(time_text(op->req->now, op->a)), op->a);
}

static void prepare(struct op *op, struct json_value *object)
{
    const struct strategy *s = op->strategy;
    struct json_value *meta;

    if (s && s->prepare_create)
        s->prepare_create(object, op->a);
    else if (s ? !s->no_status : resource_subresource(op->r, STR("status")) != NULL)
        json_remove(object, STR("status"));
    meta = meta_of(object, op->a);
    if (s ? s->generation != NULL : op->stored->custom != NULL)
        json_set(meta, STR("generation"), json_int(1, op->a), op->a);
    else
        json_remove(meta, STR("generation"));
}

static int validate(struct op *op, const struct json_value *object)
{
    struct field_errors errors = {.arena = op->a};

    if (op->reg->options.without_validation)
        return 0;
    metadata_validate(op->stored, object, &errors);
    if (op->strategy && op->strategy->validate)
        op->strategy->validate(object, &errors);
    custom_validate(op, object, &errors);
    if (errors.n > 0)
        return status_invalid(op_status(op), op->r->group, op->r->kind, object_name(object),
                              &errors);
    return 0;
}

static int refuse_existing(struct op *op, const struct json_value *object,
                           const struct revision *existing)
{
    struct str name = object_name(object);
    const struct json_value *meta = json_get(object, STR("metadata"));
    int code = status_already_exists(op_status(op), op->r, name, op->a);

    if (!str_empty(json_get_text(meta, STR("generateName")))) {
        op_status(op)->retry_after = 1;
        op_status(op)->message = arena_printf(
            op->a, "%.*s, the server was not able to generate a unique name for the object",
            STR_ARG(op_status(op)->message));
    }
    if (json_at(op_parse(op, existing), "metadata.deletionTimestamp"))
        op_status(op)->message =
            arena_printf(op->a, "object is being deleted: %.*s", STR_ARG(op_status(op)->message));
    return code;
}

int create_object(struct op *op, struct json_value *object, bool applied)
{
    struct steps steps = {.op = op, .object = object};
    struct json_value *meta = meta_of(object, op->a);
    const struct revision *existing;
    int code;

    wipe_system_fields(meta);
    dedup_owners(op, object, false);
    if (op->strategy && op->strategy->set_defaults)
        op->strategy->set_defaults(object, op->a);
    if (!applied)
        track_managed_fields(op, object, NULL, STR(""));
    code = steps_mutate(&steps);
    if (code)
        return code;
    dedup_owners(op, object, true);
    fill_metadata(op, object);
    prepare(op, object);
    code = validate(op, object);
    if (code)
        return code;
    steps_warn(&steps);
    code = steps_validate(&steps);
    if (code)
        return code;
    meta = meta_of(object, op->a);
    if (!str_empty(json_get_text(meta, STR("resourceVersion"))) &&
        !str_is(json_get_text(meta, STR("resourceVersion")), "0")) {
        *op_status(op) = (struct api_status){
            .code = 500,
            .reason = "",
            .message = STR_INIT("resourceVersion should not be set on objects to be created")};
        return 500;
    }
    existing = op_find(op, object_namespace(object), object_name(object));
    if (existing)
        return refuse_existing(op, object, existing);
    json_remove(meta, STR("resourceVersion"));
    steps_apply_effects(&steps);
    op_put(op, object, 201);
    return 0;
}

int serve_create(struct op *op)
{
    struct body_kind kind = body_kind_of(op);
    struct json_value *object = op->req->body;
    int code = op_decode(op, object, &kind);

    if (!code)
        code = op_match_namespace(op, object);
    if (code)
        return code;
    op_to_stored(op, object);
    return create_object(op, object, false);
}
