/* SPDX-License-Identifier: Apache-2.0 */
/* One request: parsing what is stored, storing what was changed, answers. */
#include "apiserver/registry/registry_internal.h"
#include "apiserver/types/convert.h"

/* --- requests --------------------------------------------------------------------------------- */

void op_warn(struct op *op, struct str text)
{
    if (op->warnings.n > 0)
        buf_add_char(&op->warnings, '\n');
    buf_add_str(&op->warnings, text);
}

struct op op_make(struct registry *reg, const struct api_request *request,
                  struct api_response *response)
{
    const struct resource *stored = resource_stored(request->resource);

    return (struct op){
        .reg = reg,
        .req = request,
        .res = response,
        .a = request->arena,
        .r = request->resource,
        .stored = stored,
        .strategy = strategy_find(stored),
    };
}

struct op op_for(const struct op *op, const struct resource *r)
{
    struct op other = op_make(op->reg, op->req, op->res);

    other.r = r;
    other.stored = resource_stored(r);
    other.strategy = strategy_find(r);
    return other;
}

/* --- objects ---------------------------------------------------------------------------------- */

struct str object_name(const struct json_value *object)
{
    return json_get_text(json_get(object, STR("metadata")), STR("name"));
}

struct str object_namespace(const struct json_value *object)
{
    return json_get_text(json_get(object, STR("metadata")), STR("namespace"));
}

struct json_value *meta_of(struct json_value *object, struct arena *a)
{
    return json_set_object(object, STR("metadata"), a);
}

struct str time_text(int64_t wall_ns, struct arena *a)
{
    struct buf text = BUF_INIT;
    struct str result;

    timestamp_format(timestamp_of(wall_ns), 0, &text);
    result = arena_dup(a, buf_str(&text));
    buf_release(&text);
    return result;
}

struct json_value *object_condition(struct json_value *object, const char *type)
{
    struct json_value *status = json_member(object, STR("status"));
    struct json_value *list = status ? json_member(status, STR("conditions")) : NULL;

    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (str_is(json_get_text(&list->items[i], STR("type")), type))
            return &list->items[i];
    return NULL;
}

void pod_set_condition(struct json_value *pod, struct json_value condition, int64_t now,
                       struct arena *a)
{
    struct str type = json_get_text(&condition, STR("type"));
    struct json_value *status = json_set_object(pod, STR("status"), a);
    struct json_value *list = json_set_array(status, STR("conditions"), a);
    struct json_value time = json_text(time_text(now, a));

    for (size_t i = 0; i < list->n; i++) {
        struct json_value *old = &list->items[i];
        const struct json_value *since;

        if (!str_eq(json_get_text(old, STR("type")), type))
            continue;
        since = json_get(old, STR("lastTransitionTime"));
        if (since &&
            str_eq(json_get_text(old, STR("status")), json_get_text(&condition, STR("status"))))
            time = *since;
        json_set(&condition, STR("lastTransitionTime"), time, a);
        *old = condition;
        return;
    }
    json_set(&condition, STR("lastTransitionTime"), time, a);
    json_append(list, condition, a);
}

bool list_has_text(const struct json_value *list, struct str text)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_STRING && str_eq(list->items[i].text, text))
            return true;
    return false;
}

bool values_equal(const struct json_value *a, const struct json_value *b)
{
    if (a && a->kind == JSON_NULL)
        a = NULL;
    if (b && b->kind == JSON_NULL)
        b = NULL;
    return a && b ? json_value_equal(a, b) : a == b;
}

/* --- reading ---------------------------------------------------------------------------------- */

struct revision *op_find(const struct op *op, struct str namespace, struct str name)
{
    return store_get(op->reg->store, op->stored, op->r->namespaced ? namespace : STR(""), name);
}

struct json_value *op_parse(const struct op *op, const struct revision *rev)
{
    struct json_value *tree = arena_new(op->a, struct json_value);
    int r = json_parse(rev->text, 0, op->a, tree, NULL);

    assert(r == 0); /* the registry wrote it */
    (void)r;
    return tree;
}

void op_to_stored(struct op *op, struct json_value *object)
{
    if (op->r != op->stored)
        *object = convert_object(op->r, op->stored, object, op->a);
}

void op_from_stored(struct op *op, struct json_value *object)
{
    if (op->r != op->stored)
        *object = convert_object(op->stored, op->r, object, op->a);
}

/* --- revisions -------------------------------------------------------------------------------- */

/* What selectors see of a field that is missing. */
static struct str missing_field(const char *path)
{
    static const struct {
        const char *path, *value;
    } zeros[] = {
        {"spec.unschedulable", "false"},
        {"spec.hostNetwork", "false"},
        {"status.replicas", "0"},
        {"status.successful", "0"},
    };

    for (size_t i = 0; i < ARRAY_LEN(zeros); i++)
        if (strcmp(path, zeros[i].path) == 0)
            return str_of(zeros[i].value);
    return STR("");
}

static struct str scalar_text(const struct json_value *v, const char *path)
{
    if (!v)
        return missing_field(path);
    if (v->kind == JSON_STRING || v->kind == JSON_NUMBER)
        return v->text;
    if (v->kind == JSON_BOOL)
        return v->boolean ? STR("true") : STR("false");
    return missing_field(path);
}

static void collect_pairs(struct registry *reg, const struct strategy *strategy,
                          const struct json_value *object)
{
    const struct json_value *labels = json_at(object, "metadata.labels");

    vec_clear(&reg->labels);
    vec_clear(&reg->fields);
    for (size_t i = 0; labels && labels->kind == JSON_OBJECT && i < labels->n_members; i++)
        if (labels->members[i].value.kind == JSON_STRING)
            vec_push(&reg->labels,
                     (struct store_pair){labels->members[i].key, labels->members[i].value.text});
    for (size_t i = 0; strategy && strategy->fields && strategy->fields[i]; i++) {
        const char *path = strategy->fields[i];

        vec_push(&reg->fields,
                 (struct store_pair){str_of(path), scalar_text(json_at(object, path), path)});
    }
}

struct revision *object_revision(struct registry *reg, const struct resource *stored,
                                 const struct json_value *object, struct str text, uint64_t version)
{
    struct revision_source source = {.resource = stored, .version = version, .text = text};

    collect_pairs(reg, strategy_find(stored), object);
    source.namespace = stored->namespaced ? object_namespace(object) : STR("");
    source.name = object_name(object);
    source.labels = reg->labels.v;
    source.n_labels = reg->labels.n;
    source.fields = reg->fields.v;
    source.n_fields = reg->fields.n;
    return revision_new(&source);
}

/* A revision with the next version of the store, which is also set in the tree. */
static struct revision *make_revision(struct op *op, struct json_value *object)
{
    struct registry *reg = op->reg;
    uint64_t version = store_next_version(reg->store);

    json_set(meta_of(object, op->a), STR("resourceVersion"),
             json_text(arena_printf(op->a, "%llu", (unsigned long long)version)), op->a);
    buf_clear(&reg->text);
    json_write(object, &reg->text);
    return object_revision(reg, op->stored, object, buf_str(&reg->text), version);
}

/* Events go after an hour without a change, as kube-apiserver's --event-ttl has it. */
#define EVENT_TTL (3600 * NSEC_PER_SEC)

void expiry_add(struct registry *reg, const struct revision *rev, int64_t now)
{
    struct expiry e = {
        .due = now + EVENT_TTL,
        .version = rev->version,
        .key = xasprintf("%.*s/%.*s", STR_ARG(rev->namespace), STR_ARG(rev->name)),
    };

    /* The wall clock may step back: the queue stays sorted. */
    if (reg->expiries.n > 0)
        e.due = MAX(e.due, vec_last(&reg->expiries).due);
    vec_push(&reg->expiries, e);
}

struct revision *op_put_quietly(struct op *op, struct json_value *object)
{
    struct revision *rev;

    if (op->req->dry_run)
        return NULL;
    definition_before_put(op, object);
    rev = make_revision(op, object);
    store_put(op->reg->store, rev);
    definition_after_put(op->reg, op->stored, object);
    if (str_is(op->stored->plural, "events") && str_empty(op->stored->group))
        expiry_add(op->reg, rev, op->req->now);
    return rev;
}

void op_put(struct op *op, struct json_value *object, int code)
{
    struct revision *rev = op_put_quietly(op, object);

    if (rev)
        op_answer(op, rev, code);
    else
        op_answer_tree(op, object, code);
}

void op_remove(struct op *op, struct json_value *object)
{
    if (op->req->dry_run)
        return;
    store_delete(op->reg->store, make_revision(op, object));
    definition_after_remove(op, object);
}

/* --- answers ---------------------------------------------------------------------------------- */

void op_answer_tree(struct op *op, struct json_value *object, int code)
{
    struct json_value *tree = arena_new(op->a, struct json_value);

    *tree = *object;
    op_from_stored(op, tree);
    op->res->object = revision_unref(op->res->object);
    op->res->tree = tree;
    op->res->code = code;
}

void op_answer(struct op *op, struct revision *rev, int code)
{
    if (op->r != rev->resource) {
        op_answer_tree(op, op_parse(op, rev), code);
        return;
    }
    revision_unref(op->res->object);
    op->res->object = revision_ref(rev);
    op->res->tree = NULL;
    op->res->code = code;
}

void op_answer_success(struct op *op, const struct json_value *object, int code)
{
    struct json_value *status = arena_new(op->a, struct json_value);
    struct json_member *m = arena_array(op->a, struct json_member, 6);
    size_t n = 0;

    m[n++] = (struct json_member){STR("kind"), json_text(STR("Status"))};
    m[n++] = (struct json_member){STR("apiVersion"), json_text(STR("v1"))};
    m[n++] = (struct json_member){STR("metadata"), json_object()};
    m[n++] = (struct json_member){STR("status"), json_text(STR("Success"))};
    if (object) {
        struct json_value details = json_object();
        struct str uid = json_get_text(json_get(object, STR("metadata")), STR("uid"));

        json_set(&details, STR("name"), json_text(object_name(object)), op->a);
        if (!str_empty(op->r->group))
            json_set(&details, STR("group"), json_text(op->r->group), op->a);
        json_set(&details, STR("kind"), json_text(op->r->plural), op->a);
        if (!str_empty(uid))
            json_set(&details, STR("uid"), json_text(uid), op->a);
        m[n++] = (struct json_member){STR("details"), details};
    } else {
        m[n++] = (struct json_member){STR("code"), json_int(code, op->a)};
    }
    *status = (struct json_value){.kind = JSON_OBJECT, .members = m, .n_members = n};
    op->res->object = revision_unref(op->res->object);
    op->res->tree = status;
    op->res->code = code;
}
