/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of a strategic merge patch (upstream: strategicpatch/patch.go, mergeMap). */
#include "apiserver/patch/strategic.h"

#include "apiserver/patch/strategic_internal.h"
#include "codec/json_draft.h"

#define DIRECTIVE   "$patch"
#define RETAIN_KEYS "$retainKeys"
#define DELETE_FROM "$deleteFromPrimitiveList"
#define SET_ORDER   "$setElementOrder"

/* --- what a patch adds ------------------------------------------------------------------------ */

static struct json_value plain_list(const struct json_value *v, bool without_nulls, struct arena *a)
{
    struct json_value out = {.kind = JSON_ARRAY};

    out.items = arena_array(a, struct json_value, v->n);
    for (size_t i = 0; i < v->n; i++)
        if (strategic_plain(&v->items[i], without_nulls, a, &out.items[out.n]))
            out.n++;
    return out;
}

/* Depth is that of the parser: at most JSON_MAX_DEPTH. */
bool strategic_plain(const struct json_value *v, bool without_nulls, struct arena *a,
                     struct json_value *ret_value)
{
    struct json_value out = *v;

    if (v->kind == JSON_ARRAY) {
        *ret_value = plain_list(v, without_nulls, a);
        return true;
    }
    if (v->kind == JSON_OBJECT) {
        if (json_get(v, STR(DIRECTIVE)))
            return false;
        out.n_members = 0;
        out.members = arena_array(a, struct json_member, v->n_members);
        for (size_t i = 0; i < v->n_members; i++) {
            struct json_member *to = &out.members[out.n_members];

            if (without_nulls && v->members[i].value.kind == JSON_NULL)
                continue;
            to->key = v->members[i].key;
            if (strategic_plain(&v->members[i].value, without_nulls, a, &to->value))
                out.n_members++;
        }
    }
    *ret_value = out;
    return true;
}

/* --- the schema ------------------------------------------------------------------------------- */

/* "PodSpec" of "k8s.io.api.core.v1.PodSpec" */
static struct str short_name(const struct schema_type *type)
{
    const char *dot = strrchr(type->name, '.');

    return str_of(dot ? dot + 1 : type->name);
}

/* Upstream looks fields up as encoding/json does: the exact name first, then any case. */
static const struct schema_field *field_of(const struct schema_type *type, struct str key)
{
    const struct schema_field *f = schema_field_find(type, key);

    for (size_t i = 0; !f && i < type->n_fields; i++)
        if (str_eq_fold((struct str){type->fields[i].name, type->fields[i].name_len}, key))
            f = &type->fields[i];
    return f;
}

static int find_field(const struct strategic *m, const struct strategic_level *level,
                      struct str key, const struct schema_field **ret_field)
{
    const struct schema_field *f = level->type ? field_of(level->type, key) : NULL;

    if (f) {
        *ret_field = f;
        return 0;
    }
    if (level->type || level->name)
        return err_set(
            m->err, -EBADMSG, "unable to find api field in struct %.*s for the json field \"%.*s\"",
            STR_ARG(level->type ? short_name(level->type) : str_of(level->name)), STR_ARG(key));
    return err_set(m->err, -EBADMSG,
                   "merging an object in json but data type is not struct, instead is: %s",
                   level->kind);
}

/* The level of a field's value, or of an item of it. */
static struct strategic_level level_of(const struct strategic *m, const struct schema_field *f,
                                       enum schema_shape shape)
{
    if (shape != SCHEMA_ONE)
        return (struct strategic_level){.kind = shape == SCHEMA_MAP ? "map" : "slice"};
    if (f->value == SCHEMA_MESSAGE)
        return (struct strategic_level){.type = &m->types[f->type]};
    if (f->value == SCHEMA_ANY)
        return (struct strategic_level){.name = f->wire == SCHEMA_WIRE_FIELDS_V1 ? "FieldsV1"
                                                : f->wire == SCHEMA_WIRE_JSON    ? "JSON"
                                                                                 : "RawExtension"};
    return (struct strategic_level){.kind = f->value == SCHEMA_STRING ? "string"
                                            : f->value == SCHEMA_BOOL ? "bool"
                                            : f->value == SCHEMA_INT  ? "int32"
                                                                      : "struct"};
}

static int find_list(const struct strategic *m, const struct strategic_level *level, struct str key,
                     struct strategic_list *ret_how)
{
    const struct schema_field *f = NULL;
    int r = find_field(m, level, key, &f);

    if (r < 0)
        return r;
    if (f->shape != SCHEMA_LIST)
        return err_set(m->err, -EBADMSG, "expected slice or array type, but got: struct");
    *ret_how = (struct strategic_list){
        .item = level_of(m, f, SCHEMA_ONE),
        .key = f->patch_key ? f->patch_key : "",
        .merge = f->patch_key,
    };
    return 0;
}

/* --- directives ------------------------------------------------------------------------------- */

static int apply_directive(const struct strategic *m, const struct json_value *directive,
                           const struct json_value *patch, struct json_value *ret_value)
{
    struct json_draft out;

    if (directive->kind == JSON_STRING && str_is(directive->text, "replace")) {
        json_draft_init(&out, patch, 0, m->a);
        json_draft_remove(&out, STR(DIRECTIVE));
        *ret_value = json_draft_end(&out);
        return 0;
    }
    if (directive->kind == JSON_STRING && str_is(directive->text, "delete")) {
        *ret_value = (struct json_value){.kind = JSON_OBJECT};
        return 0;
    }
    return strategic_bad_directive(m, directive, patch);
}

/* $retainKeys: the members that stay; the patch may have no others. */
static int retain_keys(const struct strategic *m, struct json_draft *out, struct json_draft *patch)
{
    const struct json_value *keys = json_draft_get(patch, STR(RETAIN_KEYS));
    struct map kept = MAP_INIT;
    int r = 0;

    if (!keys)
        return 0;
    json_draft_remove(patch, STR(RETAIN_KEYS));
    if (keys->kind != JSON_ARRAY)
        return err_set(m->err, -EINVAL, "invalid patch format of retainKeys");
    for (size_t i = 0; i < keys->n; i++)
        if (keys->items[i].kind == JSON_STRING)
            map_put(&kept, keys->items[i].text, out);
    for (size_t i = 0; i < patch->n && r == 0; i++) {
        const struct json_member *p = &patch->members[i];

        if (patch->gone[i] || p->value.kind == JSON_NULL || str_starts(p->key, STR(DELETE_FROM)) ||
            str_starts(p->key, STR(SET_ORDER)))
            continue;
        if (!map_get(&kept, p->key))
            r = err_set(m->err, -EINVAL, "invalid patch format of retainKeys");
    }
    for (size_t i = 0; i < out->n && r == 0; i++)
        if (!map_get(&kept, out->members[i].key))
            out->gone[i] = true;
    map_release(&kept);
    return r;
}

/* The field that a directive names: "finalizers" of "$setElementOrder/finalizers". */
static bool directive_field(struct str key, const char *prefix, struct str *ret_field)
{
    struct str rest = str_slice(key, strlen(prefix), key.n);

    if (rest.n == 0 || rest.p[0] != '/')
        return false;
    *ret_field = str_slice(rest, 1, rest.n);
    return true;
}

/* $setElementOrder with the patch's list of the same name, which is done after this. */
static int set_order(const struct strategic *m, const struct strategic_level *level,
                     struct json_draft *out, struct json_draft *patch, size_t i)
{
    struct json_member directive = patch->members[i];
    const struct json_value *target, *list;
    struct strategic_list how = {0};
    struct json_value merged = {0};
    struct str key;
    int r;

    patch->gone[i] = true;
    if (directive.value.kind != JSON_ARRAY)
        return strategic_bad_type(m, GO_LIST, &directive.value);
    if (!directive_field(directive.key, SET_ORDER, &key))
        return err_set(m->err, -EINVAL, "invalid patch format of setElementOrder list");
    target = json_draft_get(out, key);
    list = json_draft_get(patch, key);
    if (target && target->kind != JSON_ARRAY)
        return strategic_bad_type(m, GO_LIST, target);
    if (list && list->kind != JSON_ARRAY)
        return strategic_bad_type(m, GO_LIST, list);
    r = find_list(m, level, key, &how);
    if (r < 0 || (!target && !list))
        return r;
    r = strategic_order_list(m, &how, target, list, &directive.value, &merged);
    if (r < 0)
        return r;
    json_draft_set(out, key, merged);
    json_draft_remove(patch, key);
    return 0;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Both have the member, as objects or as lists. */
static int merge_both(const struct strategic *m, const struct strategic_level *level,
                      struct str key, const struct json_value *target, const struct json_member *p,
                      struct json_value *ret_value)
{
    const struct json_value *patch = &p->value;
    const struct schema_field *f = NULL;
    struct strategic_level child;
    struct strategic_list how = {0};
    int r;

    if (patch->kind == JSON_ARRAY) {
        r = find_list(m, level, key, &how);
        how.removes = p->key.n != key.n;
        return r < 0 ? r : strategic_merge_list(m, &how, target, patch, ret_value);
    }
    r = find_field(m, level, key, &f);
    if (r < 0)
        return r;
    if (f->patch_replace) {
        *ret_value = *patch;
        return 0;
    }
    child = level_of(m, f, f->shape);
    return strategic_merge_object(m, &child, target, patch, ret_value);
}

static int merge_member(const struct strategic *m, const struct strategic_level *level,
                        struct json_draft *out, const struct json_member *p)
{
    bool removes = str_starts(p->key, STR(DELETE_FROM));
    struct str key = p->key;
    struct json_value *there, merged = {0};
    bool both;
    int r;

    if (removes && !directive_field(p->key, DELETE_FROM, &key))
        return err_set(m->err, -EINVAL, "invalid patch format of primitive list");
    if (p->value.kind == JSON_NULL) {
        json_draft_remove(out, key);
        return 0;
    }
    there = json_draft_get(out, key);
    both = there && there->kind == p->value.kind;
    if (both && (there->kind == JSON_OBJECT || there->kind == JSON_ARRAY)) {
        r = merge_both(m, level, key, there, p, &merged);
        if (r == 0)
            json_draft_set(out, key, merged);
        return r;
    }
    if (removes && !both)
        return 0;
    if (strategic_plain(&p->value, true, m->a, &merged))
        json_draft_set(out, key, merged);
    else
        json_draft_remove(out, key);
    return 0;
}

int strategic_merge_object(const struct strategic *m, const struct strategic_level *level,
                           const struct json_value *target, const struct json_value *patch,
                           struct json_value *ret_value)
{
    const struct json_value *directive = json_get(patch, STR(DIRECTIVE));
    struct json_draft out, left;
    int r;

    if (directive)
        return apply_directive(m, directive, patch, ret_value);
    json_draft_init(&out, target, patch->n_members, m->a);
    json_draft_init(&left, patch, 0, m->a);
    r = retain_keys(m, &out, &left);
    for (size_t i = 0; i < left.n && r == 0; i++)
        if (!left.gone[i] && str_starts(left.members[i].key, STR(SET_ORDER)))
            r = set_order(m, level, &out, &left, i);
    for (size_t i = 0; i < left.n && r == 0; i++)
        if (!left.gone[i])
            r = merge_member(m, level, &out, &left.members[i]);
    (void)json_draft_end(&left);
    *ret_value = json_draft_end(&out);
    return r;
}

int strategic_patch(const struct schema_type *types, const struct schema_type *type,
                    const struct json_value *target, const struct json_value *patch,
                    struct arena *a, struct json_value *ret_value, struct err *reterr)
{
    struct strategic m = {types, a, reterr};
    struct strategic_level level = {.type = type};
    struct json_value value = {0};
    int r = strategic_merge_object(&m, &level, target, patch, &value);

    if (r == 0)
        *ret_value = value;
    return r;
}
