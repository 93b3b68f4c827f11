/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/http/form.h"

#include "apiserver/types/convert.h"

/* --- objects ---------------------------------------------------------------------------------- */

struct found_member {
    struct str name, value;
};

static bool take_member(void *ctx, struct str name, struct str value)
{
    struct found_member *found = ctx;

    if (!str_eq(name, found->name))
        return true;
    found->value = value;
    return false;
}

static struct json_value parse_revision(const struct form_object *o, struct arena *a)
{
    struct json_value tree = json_object();

    if (json_parse(o->rev->text, 0, a, &tree, NULL) < 0)
        return json_object(); /* not reached: the store holds what was written as JSON */
    if (o->rev->resource != o->resource)
        return convert_object(o->rev->resource, o->resource, &tree, a);
    return tree;
}

static struct json_value tree_of(const struct form_object *o, struct arena *a)
{
    return o->rev ? parse_revision(o, a) : *o->tree;
}

static void write_partial(const struct form_object *o, struct buf *out)
{
    struct found_member meta = {.name = STR("metadata")};

    buf_add_cstr(out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\","
                      "\"metadata\":");
    if (o->rev) {
        if (json_each_member(o->rev->text, take_member, &meta, NULL) < 0)
            meta.value = STR("{}");
        buf_add_str(out, str_empty(meta.value) ? STR("{}") : meta.value);
    } else {
        const struct json_value *v = json_get(o->tree, STR("metadata"));

        if (v)
            json_write(v, out);
        else
            buf_add_cstr(out, "{}");
    }
    buf_add_char(out, '}');
}

static void write_table(struct api_form form, const struct form_object *o, enum form_part part,
                        struct arena *a, struct buf *out)
{
    struct json_value tree = tree_of(o, a);

    if (part != FORM_ROW)
        table_begin(o->resource, part == FORM_WHOLE,
                    json_text_at(&tree, "metadata.resourceVersion"), STR(""), -1, out);
    table_row(o->resource, &tree, form.include, o->now, out);
    if (part != FORM_ROW)
        table_end(out);
}

void form_write_object(struct api_form form, const struct form_object *o, enum form_part part,
                       struct arena *a, struct buf *out)
{
    switch (form.shape) {
    case FORM_PARTIAL:
        write_partial(o, out);
        return;
    case FORM_TABLE:
        write_table(form, o, part, a, out);
        return;
    case FORM_OBJECT:
        break;
    }
    if (o->rev && o->rev->resource == o->resource) {
        buf_add_str(out, o->rev->text);
    } else {
        struct json_value tree = tree_of(o, a);

        json_write(&tree, out);
    }
}

/* --- lists ------------------------------------------------------------------------------------ */

void form_begin_list(struct api_form form, const struct form_list *list, struct buf *out)
{
    if (form.shape == FORM_TABLE) {
        table_begin(list->resource, true, list->version, list->continue_token, list->remaining,
                    out);
        return;
    }
    if (form.shape == FORM_PARTIAL)
        buf_add_cstr(out,
                     "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\"");
    else
        buf_add_printf(out, "{\"kind\":\"%.*s\",\"apiVersion\":\"%.*s\"",
                       STR_ARG(list->resource->list_kind), STR_ARG(list->resource->api_version));
    buf_add_printf(out, ",\"metadata\":{\"resourceVersion\":\"%.*s\"", STR_ARG(list->version));
    if (!str_empty(list->continue_token))
        buf_add_printf(out, ",\"continue\":\"%.*s\"", STR_ARG(list->continue_token));
    if (list->remaining >= 0)
        buf_add_printf(out, ",\"remainingItemCount\":%lld", (long long)list->remaining);
    buf_add_cstr(out, "},\"items\":[");
}

void form_end_list(struct api_form form, struct buf *out)
{
    if (form.shape == FORM_TABLE)
        table_end(out);
    else
        buf_add_cstr(out, "]}");
}

/* --- indentation ------------------------------------------------------------------------------ */

static void new_line(const struct json_indent *state, struct buf *out)
{
    buf_add_char(out, '\n');
    for (unsigned i = 0; i < state->depth; i++)
        buf_add(out, "  ", 2);
}

static void indent_string(struct json_indent *state, char c)
{
    if (state->escaped)
        state->escaped = false;
    else if (c == '\\')
        state->escaped = true;
    else if (c == '"')
        state->in_string = false;
}

static void indent_mark(struct json_indent *state, char c, struct buf *out)
{
    bool closes = c == '}' || c == ']';

    if (closes) {
        if (state->depth > 0)
            state->depth--;
        if (!state->opened)
            new_line(state, out);
    } else if (state->opened) {
        new_line(state, out);
    }
    state->opened = false;
    buf_add_char(out, c);
    if (c == '{' || c == '[') {
        state->depth++;
        state->opened = true;
    } else if (c == ',') {
        new_line(state, out);
    } else if (c == ':') {
        buf_add_char(out, ' ');
    } else if (c == '"') {
        state->in_string = true;
    }
}

void json_indent(struct json_indent *state, struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];

        if (state->in_string) {
            indent_string(state, c);
            buf_add_char(out, c);
        } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
            indent_mark(state, c, out);
        }
    }
}
