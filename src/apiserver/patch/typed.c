/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/patch/typed.h"

#include "apiserver/patch/go_value.h"
#include "base/map.h"
#include "codec/json_edit.h"

/* --- types ------------------------------------------------------------------------------------ */

static struct atom struct_atom(const struct schema_type *type, bool atomic)
{
    return (struct atom){.kind = ATOM_MAP, .fields = type, .atomic = atomic || type->atomic};
}

/* Without a schema the value tells; null may be a map. */
static struct atom deduced_atom(const struct json_value *v, bool opaque)
{
    struct type_ref item = {.kind = opaque ? TYPE_OPAQUE : TYPE_DEDUCED};

    if (v && v->kind == JSON_ARRAY)
        return (struct atom){.kind = ATOM_LIST, .atomic = true, .item = {.kind = TYPE_OPAQUE}};
    if (!v || v->kind == JSON_OBJECT || v->kind == JSON_NULL)
        return (struct atom){.kind = ATOM_MAP, .atomic = opaque, .item = item};
    return (struct atom){.kind = ATOM_SCALAR, .scalar = SCHEMA_ANY};
}

static struct atom item_atom(const struct typed *t, const struct schema_field *f, bool atomic,
                             const struct json_value *v)
{
    if (f->wire == SCHEMA_WIRE_STRING_LIST || f->wire >= SCHEMA_WIRE_SCHEMA_OR_ARRAY)
        return deduced_atom(v, true);
    if (f->value == SCHEMA_MESSAGE)
        return struct_atom(&t->types[f->type], atomic);
    if (f->value == SCHEMA_ANY)
        return deduced_atom(v, true);
    /* In OpenAPI times are strings; quantities and the like are any scalar. */
    return (struct atom){.kind = ATOM_SCALAR, .scalar = f->value};
}

static struct atom field_atom(const struct typed *t, const struct schema_field *f,
                              const struct json_value *v)
{
    struct type_ref item = {.kind = TYPE_ITEM, .field = f};

    if (f->shape == SCHEMA_LIST)
        return (struct atom){
            .kind = ATOM_LIST,
            .atomic = f->merge != SCHEMA_MERGE_SET && f->merge != SCHEMA_MERGE_MAP,
            .item = item,
            .keys = f->merge == SCHEMA_MERGE_MAP ? f->keys : NULL,
        };
    if (f->shape == SCHEMA_MAP)
        return (struct atom){
            .kind = ATOM_MAP, .atomic = f->merge == SCHEMA_MERGE_ATOMIC, .item = item};
    return item_atom(t, f, f->merge == SCHEMA_MERGE_ATOMIC, v);
}

struct atom typed_atom(const struct typed *t, struct type_ref ref, const struct json_value *v)
{
    switch (ref.kind) {
    case TYPE_STRUCT:
        return struct_atom(ref.type, false);
    case TYPE_FIELD:
        return field_atom(t, ref.field, v);
    case TYPE_ITEM:
        return item_atom(t, ref.field, false, v);
    case TYPE_OPAQUE:
        return deduced_atom(v, true);
    case TYPE_NONE:
    case TYPE_DEDUCED:
        break;
    }
    return deduced_atom(v, false);
}

struct type_ref typed_member(const struct atom *atom, struct str name, bool *ret_named)
{
    const struct schema_field *f = atom->fields ? schema_field_find(atom->fields, name) : NULL;

    *ret_named = f;
    if (f)
        return (struct type_ref){.kind = TYPE_FIELD, .field = f};
    return atom->fields ? (struct type_ref){.kind = TYPE_NONE} : atom->item;
}

bool typed_has_items(const struct json_value *v)
{
    return v && ((v->kind == JSON_ARRAY && v->n > 0) || (v->kind == JSON_OBJECT && v->n_members));
}

/* --- items of lists --------------------------------------------------------------------------- */

static const struct json_value *key_value(const struct typed *t, const struct atom *list,
                                          const struct json_value *item, struct str key)
{
    const struct json_value *v = json_get(item, key);
    const struct schema_field *f;
    struct json_value *preset;

    if (v)
        return v;
    f = schema_field_find(&t->types[list->item.field->type], key);
    if (!f || !f->preset)
        return NULL;
    preset = arena_new(t->a, struct json_value);
    *preset = json_literal(f->preset, t->a);
    return preset;
}

static bool keyed_path(const struct typed *t, const struct atom *list,
                       const struct json_value *item, struct path_element *ret_e,
                       const char **ret_problem)
{
    struct json_value key = json_object();
    struct str rest = str_of(list->keys), name;

    if (item->kind != JSON_OBJECT) {
        *ret_problem = item->kind == JSON_NULL
                           ? "associative list with keys may not have a null element"
                           : "associative list with keys may not have non-map elements";
        return false;
    }
    while (str_split(&rest, ',', &name)) {
        const struct json_value *v = key_value(t, list, item, name);

        if (v)
            json_set(&key, name, *v, t->a);
    }
    if (key.n_members == 0) {
        struct buf text = BUF_INIT;

        rest = str_of(list->keys);
        while (str_split(&rest, ',', &name))
            buf_add_printf(&text, "%s\"%.*s\"", text.n ? " " : "", STR_ARG(name));
        *ret_problem = arena_printf(t->a,
                                    "associative list with keys has an element that omits all key "
                                    "fields [%.*s] (and doesn't have default values for any key "
                                    "fields)",
                                    STR_ARG(buf_str(&text)))
                           .p;
        buf_release(&text);
        return false;
    }
    *ret_e = path_of_key(&key, t->a);
    return true;
}

bool typed_item_path(const struct typed *t, const struct atom *list, const struct json_value *item,
                     struct path_element *ret_e, const char **ret_problem)
{
    if (list->keys)
        return keyed_path(t, list, item, ret_e, ret_problem);
    if (item->kind == JSON_OBJECT)
        *ret_problem = "associative list without keys has an element that's a map type";
    else if (item->kind == JSON_ARRAY)
        *ret_problem = "not supported: associative list with lists as elements";
    else if (item->kind == JSON_NULL)
        *ret_problem = "associative list without keys has an element that's an explicit null";
    else {
        *ret_e = path_of_value(item, t->a);
        return true;
    }
    return false;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* More than an error message holds. */
#define PROBLEMS_MAX 2048

struct check {
    const struct typed *t;
    bool allow_duplicates;
    struct buf path;
    struct buf *problems;
    size_t n;
};

static void check_value(struct check *c, struct type_ref ref, const struct json_value *v);

static void add_problem(struct check *c, const char *prefix, const struct json_value *v,
                        const char *suffix)
{
    if (c->n++ > 0)
        buf_add_cstr(c->problems, "\n  ");
    buf_add_printf(c->problems, "%.*s%s%s", STR_ARG(buf_str(&c->path)), c->path.n ? ": " : "",
                   prefix);
    if (v)
        go_value_write(v, c->problems);
    buf_add_cstr(c->problems, suffix);
}

static void check_scalar(struct check *c, uint8_t scalar, const struct json_value *v)
{
    if (v->kind == JSON_NULL)
        return;
    switch (scalar) {
    case SCHEMA_STRING:
        if (v->kind != JSON_STRING)
            add_problem(c, "expected string, got &value.valueUnstructured{Value:", v, "}");
        break;
    case SCHEMA_BOOL:
        if (v->kind != JSON_BOOL)
            add_problem(c, "expected boolean, got &{", v, "}");
        break;
    case SCHEMA_INT:
    case SCHEMA_NUMBER:
        if (v->kind != JSON_NUMBER)
            add_problem(c, "expected numeric (int or float), got ", NULL, go_value_type(v));
        break;
    default:
        if (v->kind == JSON_ARRAY || v->kind == JSON_OBJECT)
            add_problem(c, "expected any scalar, got &{", v, "}");
        break;
    }
}

/* Appends the element to the path for the time of one check. */
static void check_below(struct check *c, const struct path_element *e, struct type_ref ref,
                        const struct json_value *v)
{
    size_t n = c->path.n;

    path_write(e, &c->path);
    check_value(c, ref, v);
    c->path.n = n;
}

static void check_list(struct check *c, const struct atom *atom, const struct json_value *v)
{
    struct map seen = MAP_INIT;

    for (size_t i = 0; i < v->n && c->problems->n < PROBLEMS_MAX; i++) {
        struct path_element e = {.kind = PATH_INDEX};
        const char *problem = NULL;

        if (atom->atomic) {
            e.text = arena_printf(c->t->a, "i:%zu", i);
        } else if (!typed_item_path(c->t, atom, &v->items[i], &e, &problem)) {
            struct str text = arena_printf(c->t->a, "element %zu: %s", i, problem);

            add_problem(c, text.p, NULL, "");
            break;
        } else if (map_put(&seen, e.text, &seen) && !c->allow_duplicates) {
            struct buf text = BUF_INIT;

            path_write(&e, &text);
            add_problem(c, "duplicate entries for key ", NULL, buf_cstr(&text));
            buf_release(&text);
        }
        check_below(c, &e, atom->item, &v->items[i]);
    }
    map_release(&seen);
}

static void check_map(struct check *c, const struct atom *atom, const struct json_value *v)
{
    for (size_t i = 0; i < v->n_members && c->problems->n < PROBLEMS_MAX; i++) {
        struct path_element e = path_of_field(v->members[i].key, c->t->a);
        bool named;
        struct type_ref ref = typed_member(atom, v->members[i].key, &named);

        if (ref.kind == TYPE_NONE) {
            size_t n = c->path.n;

            path_write(&e, &c->path);
            add_problem(c, "field not declared in schema", NULL, "");
            c->path.n = n;
            break;
        }
        check_below(c, &e, ref, &v->members[i].value);
    }
}

/* Depth is that of the parser: at most JSON_MAX_DEPTH. */
static void check_value(struct check *c, struct type_ref ref, const struct json_value *v)
{
    struct atom atom = typed_atom(c->t, ref, v);

    if (atom.kind == ATOM_SCALAR)
        check_scalar(c, atom.scalar, v);
    else if (v->kind == JSON_NULL)
        return;
    else if (atom.kind == ATOM_MAP && v->kind == JSON_OBJECT)
        check_map(c, &atom, v);
    else if (atom.kind == ATOM_LIST && v->kind == JSON_ARRAY)
        check_list(c, &atom, v);
    else
        add_problem(c, atom.kind == ATOM_MAP ? "expected map, got &{" : "expected list, got &{", v,
                    "}");
}

size_t typed_check(const struct typed *t, struct type_ref ref, const struct json_value *v,
                   bool allow_duplicates, struct buf *problems)
{
    struct check c = {.t = t, .allow_duplicates = allow_duplicates, .problems = problems};

    check_value(&c, ref, v);
    buf_release(&c.path);
    return c.n;
}
