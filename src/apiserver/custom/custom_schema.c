/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/custom/custom_schema.h"

#include "codec/json_draft.h"

/* --- reading ---------------------------------------------------------------------------------- */

static enum custom_type type_named(struct str name)
{
    static const char *const names[] = {
        [CUSTOM_OBJECT] = "object",   [CUSTOM_ARRAY] = "array",   [CUSTOM_STRING] = "string",
        [CUSTOM_INTEGER] = "integer", [CUSTOM_NUMBER] = "number", [CUSTOM_BOOLEAN] = "boolean",
    };

    for (size_t i = CUSTOM_OBJECT; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return (enum custom_type)i;
    return CUSTOM_ANY;
}

static void read_limit(const struct json_value *v, struct custom_limit *limit)
{
    char *text;

    if (v->kind != JSON_NUMBER)
        return;
    text = str_dup(v->text);
    limit->set = true;
    limit->value = strtod(text, NULL);
    free(text);
}

static void read_properties(struct custom_schema *s, const struct json_value *v, struct arena *a)
{
    s->ordered = json_members_at(v, "");
    for (size_t i = 0; i < s->ordered.n; i++) {
        struct custom_schema *below = custom_schema_new(&s->ordered.v[i].value, a);

        map_put(&s->properties, s->ordered.v[i].key, below);
        s->n_presets += below->preset != NULL;
    }
}

static void read_additional(struct custom_schema *s, const struct json_value *v, struct arena *a)
{
    if (v->kind == JSON_OBJECT)
        s->additional = custom_schema_new(v, a);
    else
        s->allows_additional = v->kind == JSON_BOOL && v->boolean;
}

static struct custom_schemas read_list(const struct json_value *v, struct arena *a)
{
    struct json_items items = json_items_at(v, "");
    struct custom_schemas out = {.v = arena_array(a, struct custom_schema *, items.n)};

    for (size_t i = 0; i < items.n; i++)
        out.v[out.n++] = custom_schema_new(&items.v[i], a);
    return out;
}

static void read_pattern(struct custom_schema *s, const struct json_value *v, struct arena *a)
{
    struct regex_error err;

    if (v->kind == JSON_STRING && regex_new(v->text, a, &s->regex, &err) == 0)
        s->pattern = v->text;
}

static bool is_true(const struct json_value *v)
{
    return v->kind == JSON_BOOL && v->boolean;
}

static struct str text_of(const struct json_value *v)
{
    return v->kind == JSON_STRING ? v->text : STR("");
}

/* Members that are one value. False: the key is another one. */
static bool read_scalar(struct custom_schema *s, struct str key, const struct json_value *v)
{
    const struct {
        const char *name;
        struct custom_limit *limit;
    } limits[] = {
        {"minimum", &s->minimum},           {"maximum", &s->maximum},
        {"multipleOf", &s->multiple_of},    {"minLength", &s->min_length},
        {"maxLength", &s->max_length},      {"minItems", &s->min_items},
        {"maxItems", &s->max_items},        {"minProperties", &s->min_members},
        {"maxProperties", &s->max_members},
    };
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        {"nullable", &s->nullable},
        {"exclusiveMinimum", &s->minimum.exclusive},
        {"exclusiveMaximum", &s->maximum.exclusive},
        {"x-kubernetes-int-or-string", &s->int_or_string},
        {"x-kubernetes-preserve-unknown-fields", &s->preserve_unknown},
        {"x-kubernetes-embedded-resource", &s->embedded},
    };

    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        if (str_is(key, limits[i].name)) {
            read_limit(v, limits[i].limit);
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        if (str_is(key, flags[i].name)) {
            *flags[i].flag = is_true(v);
            return true;
        }
    }
    return false;
}

static void read_member(struct custom_schema *s, struct str key, const struct json_value *v,
                        struct arena *a)
{
    if (read_scalar(s, key, v))
        return;
    if (str_is(key, "type"))
        s->type = type_named(text_of(v));
    else if (str_is(key, "default"))
        s->preset = v;
    else if (str_is(key, "properties"))
        read_properties(s, v, a);
    else if (str_is(key, "additionalProperties"))
        read_additional(s, v, a);
    else if (str_is(key, "items") && v->kind == JSON_OBJECT)
        s->items = custom_schema_new(v, a);
    else if (str_is(key, "required"))
        s->required = json_items_at(v, "");
    else if (str_is(key, "enum"))
        s->choices = json_items_at(v, "");
    else if (str_is(key, "pattern"))
        read_pattern(s, v, a);
    else if (str_is(key, "format"))
        s->format = text_of(v);
    else if (str_is(key, "x-kubernetes-list-type"))
        s->list_type = text_of(v);
    else if (str_is(key, "x-kubernetes-list-map-keys"))
        s->list_keys = json_items_at(v, "");
    else if (str_is(key, "allOf"))
        s->all_of = read_list(v, a);
    else if (str_is(key, "anyOf"))
        s->any_of = read_list(v, a);
    else if (str_is(key, "oneOf"))
        s->one_of = read_list(v, a);
    else if (str_is(key, "not") && v->kind == JSON_OBJECT)
        s->none_of = custom_schema_new(v, a);
}

/* Depth is that of the parser: at most JSON_MAX_DEPTH. */
struct custom_schema *custom_schema_new(const struct json_value *v, struct arena *a)
{
    struct custom_schema *s = arena_new(a, struct custom_schema);
    struct json_members members = json_members_at(v, "");

    for (size_t i = 0; i < members.n; i++)
        read_member(s, members.v[i].key, &members.v[i].value, a);
    return s;
}

static void release_all(const struct custom_schemas *list)
{
    for (size_t i = 0; i < list->n; i++)
        custom_schema_release(list->v[i]);
}

void custom_schema_release(struct custom_schema *s)
{
    if (!s)
        return;
    map_each (e, &s->properties)
        custom_schema_release(e->value);
    map_release(&s->properties);
    custom_schema_release(s->additional);
    custom_schema_release(s->items);
    custom_schema_release(s->none_of);
    release_all(&s->all_of);
    release_all(&s->any_of);
    release_all(&s->one_of);
}

/* --- pruning ---------------------------------------------------------------------------------- */

struct pruning {
    struct buf path;
    custom_unknown_fn *fn;
    void *ctx;
};

static void prune_value(struct pruning *p, const struct custom_schema *s, struct json_value *v,
                        bool resource);

/* Members of every object with an identity of its own. */
static bool is_identity(struct str key)
{
    return str_is(key, "apiVersion") || str_is(key, "kind") || str_is(key, "metadata");
}

static void prune_members(struct pruning *p, const struct custom_schema *s, struct json_value *v,
                          bool resource)
{
    size_t kept = 0, n = p->path.n;

    for (size_t i = 0; i < v->n_members; i++) {
        struct json_member *m = &v->members[i];
        const struct custom_schema *below = map_get(&s->properties, m->key);

        if (!below)
            below = s->additional;
        buf_add_printf(&p->path, "%s%.*s", p->path.n ? "." : "", STR_ARG(m->key));
        if (resource && is_identity(m->key)) {
            v->members[kept++] = *m;
        } else if (below) {
            prune_value(p, below, &m->value, false);
            v->members[kept++] = *m;
        } else if (s->preserve_unknown || s->allows_additional) {
            v->members[kept++] = *m;
        } else {
            p->fn(p->ctx, buf_str(&p->path));
        }
        p->path.n = n;
    }
    v->n_members = kept;
}

/* Depth is that of the parser: at most JSON_MAX_DEPTH. */
static void prune_value(struct pruning *p, const struct custom_schema *s, struct json_value *v,
                        bool resource)
{
    size_t n = p->path.n;

    if (v->kind == JSON_OBJECT) {
        prune_members(p, s, v, resource || s->embedded);
    } else if (v->kind == JSON_ARRAY && s->items) {
        for (size_t i = 0; i < v->n; i++) {
            buf_add_printf(&p->path, "[%zu]", i);
            prune_value(p, s->items, &v->items[i], false);
            p->path.n = n;
        }
    }
}

void custom_schema_prune(const struct custom_schema *s, struct json_value *object,
                         custom_unknown_fn *fn, void *ctx)
{
    struct pruning p = {.fn = fn, .ctx = ctx};

    prune_value(&p, s, object, true);
    buf_release(&p.path);
}

/* --- defaults --------------------------------------------------------------------------------- */

/* Null counts as missing unless it is allowed. False: nothing takes its place. */
static bool replace_null(const struct custom_schema *s, struct json_value *v, struct arena *a)
{
    if (v->kind != JSON_NULL || s->nullable)
        return true;
    if (!s->preset)
        return false;
    *v = json_copy(s->preset, a);
    return true;
}

static void default_members(const struct custom_schema *s, struct json_value *v, struct arena *a)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->n_members; i++) {
        struct json_member *m = &v->members[i];
        const struct custom_schema *below = map_get(&s->properties, m->key);

        if (!below)
            below = s->additional;
        if (below) {
            if (!replace_null(below, &m->value, a))
                continue;
            custom_schema_default(below, &m->value, a);
        }
        v->members[kept++] = *m;
    }
    v->n_members = kept;
}

/* The members that are missing, in the order of the definition. */
static void add_presets(const struct custom_schema *s, struct json_value *object, struct arena *a)
{
    struct json_draft out;

    json_draft_init(&out, object, s->n_presets, a);
    for (size_t i = 0; i < s->ordered.n; i++) {
        const struct custom_schema *below = map_get(&s->properties, s->ordered.v[i].key);
        struct json_value v;

        if (!below->preset || json_draft_get(&out, s->ordered.v[i].key))
            continue;
        v = json_copy(below->preset, a);
        custom_schema_default(below, &v, a);
        json_draft_set(&out, s->ordered.v[i].key, v);
    }
    *object = json_draft_end(&out);
}

/* Depth is that of the parser: at most JSON_MAX_DEPTH. */
void custom_schema_default(const struct custom_schema *s, struct json_value *object,
                           struct arena *a)
{
    if (object->kind == JSON_ARRAY && s->items) {
        for (size_t i = 0; i < object->n; i++) {
            (void)replace_null(s->items, &object->items[i], a);
            custom_schema_default(s->items, &object->items[i], a);
        }
        return;
    }
    if (object->kind != JSON_OBJECT)
        return;
    default_members(s, object, a);
    if (s->n_presets > 0)
        add_presets(s, object, a);
}
