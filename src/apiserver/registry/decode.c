/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What decoding an object into upstream's Go struct refuses or drops: other kinds, wrong types,
 * fields that do not exist, nulls.
 */
#include "apiserver/patch/go_value.h"
#include "apiserver/registry/registry_internal.h"

/* Upstream reports at most this many fields. */
#define MAX_PROBLEMS 100

struct step {
    const struct step *up;
    struct str name;
    size_t index; /* SIZE_MAX: a member */
};

struct check {
    const struct schema_type *types;
    struct arena *a;
    struct buf problems; /* `unknown field "spec.x"` joined by newlines */
    size_t n_problems;
    struct str wrong; /* the first wrong type, in Go's words; "": none */
    bool restores;    /* a strategic patch: upstream converts maps, and does not decode JSON */
};

static void check_object(struct check *c, const struct schema_type *type, struct json_value *v,
                         const struct step *up);

static void write_steps(const struct step *step, bool indexes, struct buf *out)
{
    if (!step)
        return;
    write_steps(step->up, indexes, out);
    if (step->index == SIZE_MAX)
        buf_add_printf(out, "%s%.*s", out->n ? "." : "", STR_ARG(step->name));
    else if (indexes)
        buf_add_printf(out, "[%zu]", step->index);
}

static void report_unknown(struct check *c, const struct step *step)
{
    struct buf path = BUF_INIT;

    if (c->n_problems++ >= MAX_PROBLEMS)
        return;
    write_steps(step, true, &path);
    if (c->problems.n > 0)
        buf_add_char(&c->problems, '\n');
    buf_add_printf(&c->problems, "unknown field \"%.*s\"", STR_ARG(buf_str(&path)));
    buf_release(&path);
}

/* --- wrong types ------------------------------------------------------------------------------ */

static struct str short_name(const char *name)
{
    const char *dot = strrchr(name, '.');

    return str_of(dot ? dot + 1 : name);
}

/* "v1.Container", "int32", "[]string", "map[string]string": what the field is in Go. */
static void write_go_type(const struct check *c, const struct schema_field *f, struct buf *out)
{
    static const char *const scalars[] = {
        [SCHEMA_STRING] = "string",
        [SCHEMA_BOOL] = "bool",
        [SCHEMA_INT] = "int32",
        [SCHEMA_NUMBER] = "float64",
        [SCHEMA_QUANTITY] = "resource.Quantity",
        [SCHEMA_INT_OR_STRING] = "intstr.IntOrString",
        [SCHEMA_ANY] = "interface {}",
    };

    if (f->shape != SCHEMA_ONE)
        buf_add_cstr(out, f->shape == SCHEMA_LIST ? "[]" : "map[string]");
    if (f->value == SCHEMA_MESSAGE)
        buf_add_printf(out, "v1.%.*s", STR_ARG(short_name(c->types[f->type].name)));
    else
        buf_add_cstr(out, scalars[f->value]);
}

/* In the words of upstream's converter. */
static void write_restore(const struct check *c, const struct schema_field *f,
                          const struct json_value *v, struct buf *out)
{
    const char *kind = v->kind == JSON_OBJECT  ? "map"
                       : v->kind == JSON_ARRAY ? "slice"
                                               : go_value_type(v);

    if (f->shape == SCHEMA_ONE && f->value == SCHEMA_MESSAGE) {
        buf_add_printf(out, "cannot restore struct from: %s", kind);
    } else if (f->shape != SCHEMA_ONE) {
        buf_add_printf(out, "cannot restore %s from %s", f->shape == SCHEMA_LIST ? "slice" : "map",
                       kind);
    } else {
        buf_add_printf(out, "cannot convert %s to ", go_value_type(v));
        write_go_type(c, f, out);
    }
}

static void write_unmarshal(const struct check *c, const struct schema_type *owner,
                            const struct schema_field *f, const struct json_value *v,
                            const struct step *step, struct buf *out)
{
    static const char *const kinds[] = {
        [JSON_NULL] = "null",     [JSON_BOOL] = "bool",   [JSON_NUMBER] = "number",
        [JSON_STRING] = "string", [JSON_ARRAY] = "array", [JSON_OBJECT] = "object",
    };
    struct buf path = BUF_INIT;

    write_steps(step, false, &path);
    buf_add_printf(out, "json: cannot unmarshal %s into Go struct field %.*s.%.*s of type ",
                   kinds[v->kind], STR_ARG(short_name(owner->name)), STR_ARG(buf_str(&path)));
    write_go_type(c, f, out);
    buf_release(&path);
}

static void report_wrong(struct check *c, const struct schema_type *owner,
                         const struct schema_field *f, const struct json_value *v,
                         const struct step *step)
{
    struct schema_field item = *f;
    struct buf text = BUF_INIT;

    if (!str_empty(c->wrong))
        return;
    if (step->index != SIZE_MAX)
        item.shape = SCHEMA_ONE;
    if (c->restores)
        write_restore(c, &item, v, &text);
    else
        write_unmarshal(c, owner, &item, v, step, &text);
    c->wrong = arena_dup(c->a, buf_str(&text));
    buf_release(&text);
}

static bool is_whole(struct str number)
{
    for (size_t i = 0; i < number.n; i++)
        if (number.p[i] != '-' && (number.p[i] < '0' || number.p[i] > '9'))
            return false;
    return true;
}

static bool scalar_fits(enum schema_value value, const struct json_value *v)
{
    switch (value) {
    case SCHEMA_STRING:
        return v->kind == JSON_STRING;
    case SCHEMA_BOOL:
        return v->kind == JSON_BOOL;
    case SCHEMA_INT:
        return v->kind == JSON_NUMBER && is_whole(v->text);
    case SCHEMA_NUMBER:
        return v->kind == JSON_NUMBER;
    case SCHEMA_QUANTITY:
        return v->kind == JSON_STRING || v->kind == JSON_NUMBER;
    case SCHEMA_INT_OR_STRING:
        return v->kind == JSON_STRING || (v->kind == JSON_NUMBER && is_whole(v->text));
    case SCHEMA_ANY:
    case SCHEMA_MESSAGE:
        break;
    }
    return true;
}

/* --- the walk --------------------------------------------------------------------------------- */

static void check_item(struct check *c, const struct schema_type *owner,
                       const struct schema_field *f, struct json_value *v, const struct step *step)
{
    if (v->kind == JSON_NULL || f->value == SCHEMA_ANY)
        return;
    if (f->value != SCHEMA_MESSAGE) {
        if (!scalar_fits(f->value, v))
            report_wrong(c, owner, f, v, step);
    } else if (v->kind != JSON_OBJECT) {
        report_wrong(c, owner, f, v, step);
    } else {
        check_object(c, &c->types[f->type], v, step);
    }
}

static void check_field(struct check *c, const struct schema_type *owner,
                        const struct schema_field *f, struct json_value *v, const struct step *step)
{
    if (f->shape == SCHEMA_ONE) {
        check_item(c, owner, f, v, step);
    } else if (v->kind != (f->shape == SCHEMA_LIST ? JSON_ARRAY : JSON_OBJECT)) {
        report_wrong(c, owner, f, v, step);
    } else if (f->shape == SCHEMA_LIST) {
        for (size_t i = 0; i < v->n; i++) {
            struct step at = {.up = step, .index = i};

            check_item(c, owner, f, &v->items[i], &at);
        }
    } else {
        for (size_t i = 0; i < v->n_members; i++) {
            struct step at = {.up = step, .name = v->members[i].key, .index = SIZE_MAX};
            struct json_value *value = &v->members[i].value;

            /* A null in a map of strings is an empty string in Go. */
            if (value->kind == JSON_NULL && f->value == SCHEMA_STRING)
                *value = json_text(STR(""));
            check_item(c, owner, f, value, &at);
        }
    }
}

static const struct schema_field *find_field(const struct schema_type *type, struct str name)
{
    size_t from = 0, to = type->n_fields;

    while (from < to) {
        size_t mid = from + (to - from) / 2;
        const struct schema_field *f = &type->fields[mid];
        int order = str_cmp(name, (struct str){f->name, f->name_len});

        if (order == 0)
            return f;
        if (order > 0)
            from = mid + 1;
        else
            to = mid;
    }
    return NULL;
}

/* Fields that are null count as missing and are removed. */
static void check_object(struct check *c, const struct schema_type *type, struct json_value *v,
                         const struct step *up)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->n_members; i++) {
        struct json_member *m = &v->members[i];
        struct step step = {.up = up, .name = m->key, .index = SIZE_MAX};
        const struct schema_field *f = find_field(type, m->key);

        if (!f && !(!up && (str_is(m->key, "kind") || str_is(m->key, "apiVersion"))))
            report_unknown(c, &step);
        else if (m->value.kind == JSON_NULL)
            continue;
        else if (f)
            check_field(c, type, f, &m->value, &step);
        v->members[kept++] = *m;
    }
    v->n_members = kept;
}

/* --- custom resources ------------------------------------------------------------------------- */

static void report_unknown_path(void *ctx, struct str path)
{
    struct check *c = ctx;

    if (c->n_problems++ >= MAX_PROBLEMS)
        return;
    if (c->problems.n > 0)
        buf_add_char(&c->problems, '\n');
    buf_add_printf(&c->problems, "unknown field \"%.*s\"", STR_ARG(path));
}

/* metadata is that of all objects; the rest is pruned and defaulted by the definition's schema. */
static void check_custom(struct check *c, const struct custom_resource *custom,
                         struct json_value *object)
{
    const struct schema_type *any = schema_kind_named(STR("ConfigMap"))->type;
    const struct schema_field *f = find_field(any, STR("metadata"));
    struct step step = {.name = STR("metadata"), .index = SIZE_MAX};
    struct json_value *meta = json_member(object, STR("metadata"));

    c->types = schema_types;
    if (meta)
        check_item(c, any, f, meta, &step);
    if (!custom->schema || !str_empty(c->wrong))
        return;
    custom_schema_prune(custom->schema, object, report_unknown_path, c);
    custom_schema_default(custom->schema, object, c->a);
}

/* --- requests --------------------------------------------------------------------------------- */

struct body_kind body_kind_of(const struct op *op)
{
    const struct subresource *sub =
        str_empty(op->req->subresource) ? NULL : resource_subresource(op->r, op->req->subresource);
    struct body_kind kind = {op->r->kind, op->r->api_version, op->r->types, op->r->type,
                             op->r->custom};

    if (sub && sub->kind && !str_is(op->r->kind, sub->kind)) {
        const struct schema_kind *known;

        kind.kind = str_of(sub->kind);
        if (sub->api_version && *sub->api_version)
            kind.api_version = str_of(sub->api_version);
        known = schema_kind_find(kind.api_version, kind.kind);
        kind.custom = NULL;
        kind.types = schema_types;
        kind.type = known ? known->type : NULL;
    }
    return kind;
}

static struct str version_part(struct str api_version)
{
    size_t slash = str_find(api_version, '/');

    return slash < api_version.n ? str_slice(api_version, slash + 1, api_version.n) : api_version;
}

/* Sets a missing kind and version, and refuses others. */
int op_check_kind(struct op *op, struct json_value *body, const struct body_kind *kind)
{
    struct str got = json_get_text(body, STR("kind"));
    struct str version = json_get_text(body, STR("apiVersion"));

    if (str_empty(version))
        json_set(body, STR("apiVersion"), json_text(kind->api_version), op->a);
    else if (!str_eq(version, kind->api_version))
        return status_bad_request(op_status(op), op->a,
                                  "the API version in the data (%.*s) does not match the expected "
                                  "API version (%.*s)",
                                  STR_ARG(version), STR_ARG(kind->api_version));
    if (str_empty(got))
        json_set(body, STR("kind"), json_text(kind->kind), op->a);
    else if (!str_eq(got, kind->kind))
        return status_bad_request(op_status(op), op->a,
                                  "%.*s in version \"%.*s\" cannot be handled as a %.*s: no kind "
                                  "\"%.*s\" is registered for version \"%.*s\"",
                                  STR_ARG(got), STR_ARG(version_part(kind->api_version)),
                                  STR_ARG(kind->kind), STR_ARG(got), STR_ARG(kind->api_version));
    return 0;
}

static struct check run_check(struct op *op, struct json_value *object,
                              const struct body_kind *kind)
{
    struct check c = {
        .types = kind->types, .a = op->a, .restores = op->req->verb == API_PATCH_STRATEGIC};

    if (kind->type)
        check_object(&c, kind->type, object, NULL);
    else if (kind->custom)
        check_custom(&c, kind->custom, object);
    return c;
}

/* "unknown field \"a\", unknown field \"b\"" */
static struct str joined(const struct check *c)
{
    struct buf text = BUF_INIT;
    struct str rest = buf_str(&c->problems), line, result;

    for (bool first = true; str_split(&rest, '\n', &line); first = false)
        buf_add_printf(&text, "%s%.*s", first ? "" : ", ", STR_ARG(line));
    result = arena_dup(c->a, buf_str(&text));
    buf_release(&text);
    return result;
}

static void warn_problems(struct op *op, const struct check *c)
{
    struct str rest = buf_str(&c->problems), line;

    while (str_split(&rest, '\n', &line))
        op_warn(op, line);
}

static int cannot_handle(struct op *op, const struct body_kind *kind, const char *prefix,
                         struct str why)
{
    return status_bad_request(op_status(op), op->a,
                              "%.*s in version \"%.*s\" cannot be handled as a %.*s: %s%.*s",
                              STR_ARG(kind->kind), STR_ARG(version_part(kind->api_version)),
                              STR_ARG(kind->kind), prefix, STR_ARG(why));
}

int op_decode(struct op *op, struct json_value *body, const struct body_kind *kind)
{
    struct check c;
    int code;

    if (!body || body->kind != JSON_OBJECT)
        return status_bad_request(op_status(op), op->a,
                                  "the object provided is unrecognized (must be of type %.*s): "
                                  "couldn't get version/kind; json parse error: unexpected end "
                                  "of JSON input (<empty>)",
                                  STR_ARG(kind->kind));
    code = op_check_kind(op, body, kind);
    if (code)
        return code;
    c = run_check(op, body, kind);
    if (!str_empty(c.wrong))
        code = cannot_handle(op, kind, "", c.wrong);
    else if (c.problems.n > 0 && op->req->field_validation == FIELD_VALIDATION_STRICT)
        code = cannot_handle(op, kind, "strict decoding error: ", joined(&c));
    else if (c.problems.n > 0 && op->req->field_validation == FIELD_VALIDATION_WARN)
        warn_problems(op, &c);
    buf_release(&c.problems);
    return code;
}

/* "" is invalid: patch: Invalid value: "{…}": why; of a strategic patch the patch itself. */
static int bad_patch(struct op *op, const struct json_value *object, const char *prefix,
                     struct str why)
{
    struct field_errors errors = {.arena = op->a};
    struct field_path path = field_child(NULL, "patch");
    struct buf text = BUF_INIT;
    struct json_value value;

    if (op->req->verb == API_PATCH_STRATEGIC)
        go_value_write(op->req->body, &text);
    else
        json_write(object, &text);
    value = json_text(buf_str(&text));
    field_error(&errors, FIELD_INVALID, &path, &value, "%s%.*s", prefix, STR_ARG(why));
    buf_release(&text);
    return status_invalid(op_status(op), STR(""), STR(""), STR(""), &errors);
}

int op_decode_patched(struct op *op, struct json_value *object, const struct body_kind *kind)
{
    struct check c = {.types = kind->types, .a = op->a};
    int code = 0;

    if (object->kind != JSON_OBJECT)
        return bad_patch(op, object, "", STR("json: cannot unmarshal into Go value"));
    code = op_check_kind(op, object, kind);
    if (code)
        return code;
    c = run_check(op, object, kind);
    if (!str_empty(c.wrong))
        code = bad_patch(op, object, "", c.wrong);
    else if (c.problems.n > 0 && op->req->field_validation == FIELD_VALIDATION_STRICT)
        code = bad_patch(op, object, "strict decoding error: ", joined(&c));
    else if (c.problems.n > 0 && op->req->field_validation == FIELD_VALIDATION_WARN)
        warn_problems(op, &c);
    buf_release(&c.problems);
    return code;
}

int op_match_namespace(struct op *op, struct json_value *object)
{
    struct str has = object_namespace(object);
    struct str wants = op->r->namespaced ? op->req->namespace : STR("");

    if (str_eq(has, wants))
        return 0;
    if (str_empty(wants)) {
        json_remove(meta_of(object, op->a), STR("namespace"));
        return 0;
    }
    if (!str_empty(has))
        return status_bad_request(op_status(op), op->a,
                                  "the namespace of the provided object does not match the "
                                  "namespace sent on the request");
    json_set(meta_of(object, op->a), STR("namespace"), json_text(wants), op->a);
    return 0;
}

int op_match_name(struct op *op, const struct json_value *object)
{
    struct str name = object_name(object);

    if (str_empty(name))
        return status_bad_request(op_status(op), op->a,
                                  "the name of the object (%.*s based on URL) was undeterminable: "
                                  "name must be provided",
                                  STR_ARG(op->req->name));
    if (!str_eq(name, op->req->name))
        return status_bad_request(op_status(op), op->a,
                                  "the name of the object (%.*s) does not match the name on the "
                                  "URL (%.*s)",
                                  STR_ARG(name), STR_ARG(op->req->name));
    return 0;
}
