/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/config/config_source.h"

#include "base/buf.h"
#include "codec/base64.h"
#include "codec/yaml.h"
#include "engine/config/config_internal.h"

/* A document or a key of a ConfigMap that may be a configuration. */
struct candidate {
    struct json_value *doc;         /* the document; NULL: `value` is not parsed yet */
    const struct json_value *value; /* of a ConfigMap */
    struct str namespace, name, key;
    bool binary;
    enum { FIT_NONE, FIT_BROKEN, FIT_GOOD } fit; /* BROKEN: cannot be parsed */
};

struct search {
    struct arena *a;
    VEC(struct candidate) found;
    VEC(struct config_twice) twice;
    size_t maps;        /* ConfigMaps seen */
    struct buf kinds;   /* of other documents, for the error */
    size_t other_kinds; /* their number */
};

bool config_source_is_config(const struct json_value *doc)
{
    struct str kind = json_get_text(doc, STR("kind"));
    return str_is(kind, CONFIG_KIND) ||
           (str_is(kind, "Policy") && str_is(json_get_text(doc, STR("apiVersion")), "v1"));
}

/* --- texts inside a ConfigMap ----------------------------------------------------------------- */

static void on_twice(void *ctx, struct str key, uint32_t first_line, uint32_t line)
{
    struct search *s = ctx;
    vec_push(&s->twice, (struct config_twice){key, first_line, line});
}

/* Sets one line for all values: the lines of the text are not those of the file. */
static void set_lines(struct json_value *v, uint32_t line)
{
    v->line = line;
    for (size_t i = 0; v->kind == JSON_ARRAY && i < v->n; i++)
        set_lines(&v->items[i], line);
    for (size_t i = 0; v->kind == JSON_OBJECT && i < v->n_members; i++)
        set_lines(&v->members[i].value, line);
}

/* Is each line of the text a line of the file? */
static bool keeps_lines(const struct candidate *c)
{
    return c->value->literal && !c->binary;
}

static bool text_of(const struct candidate *c, struct arena *a, struct str *ret_text)
{
    struct str text = c->value->text;
    size_t n;
    if (!c->binary) {
        *ret_text = text;
        return true;
    }
    char *bytes = arena_alloc(a, BASE64_DECODED_MAX(text.n) + 1, 1);
    if (!base64_decode(text, bytes, &n))
        return false;
    *ret_text = (struct str){bytes, n};
    return true;
}

/* The first document of the text, with lines of the file. s NULL: duplicates are not recorded. */
static int parse_text(const struct candidate *c, struct search *s, struct arena *a,
                      struct json_value **ret_doc, struct err *reterr)
{
    struct json_value *docs;
    struct str text;
    struct buf shifted = BUF_INIT;
    size_t n = 0, before = s ? s->twice.n : 0;
    uint32_t line = c->value->line;
    if (!text_of(c, a, &text))
        return err_set(reterr, -EBADMSG, "line %u: key %.*s: not base64", line, STR_ARG(c->key));
    /* Empty lines in front shift the line numbers to those of the file. */
    for (uint32_t i = 0; s && keeps_lines(c) && i < line; i++)
        buf_add_char(&shifted, '\n');
    buf_add_str(&shifted, text);
    int r = s ? yaml_parse_twice(buf_str(&shifted), on_twice, s, a, &docs, &n, reterr)
              : yaml_parse(buf_str(&shifted), 0, a, &docs, &n, reterr);
    buf_release(&shifted);
    if (r < 0 && !keeps_lines(c)) {
        struct err inner = *reterr;
        return err_set(reterr, r, "line %u: key %.*s: %s", line, STR_ARG(c->key), inner.msg);
    }
    if (r == 0 && n == 0)
        r = err_set(reterr, -EINVAL, "line %u: key %.*s is empty", line, STR_ARG(c->key));
    if (r < 0)
        return r;
    if (!keeps_lines(c))
        set_lines(&docs[0], line);
    for (size_t i = before; s && !keeps_lines(c) && i < s->twice.n; i++)
        s->twice.v[i].line = s->twice.v[i].first_line = line;
    *ret_doc = &docs[0];
    return 0;
}

static bool mentions(struct str text, const char *word)
{
    return memmem(text.p, text.n, word, strlen(word)) != NULL;
}

/* Is a value of a ConfigMap a configuration? */
static void classify(struct candidate *c)
{
    struct arena a;
    struct json_value *doc;
    struct str text;
    struct err err;
    arena_init(&a, 0);
    if (text_of(c, &a, &text) && text.n) {
        bool named = mentions(text, CONFIG_KIND) || mentions(text, CONFIG_GROUP);
        bool policy = mentions(text, "Policy") &&
                      (mentions(text, "predicates") || mentions(text, "priorities"));
        if (named || policy || mentions(text, "Policy")) {
            if (parse_text(c, NULL, &a, &doc, &err) == 0)
                c->fit = config_source_is_config(doc) ? FIT_GOOD : FIT_NONE;
            else
                c->fit = named || policy ? FIT_BROKEN : FIT_NONE;
        }
    }
    arena_release(&a);
}

/* --- search ----------------------------------------------------------------------------------- */

static void look_at_data(struct search *s, const struct json_value *map, const char *member,
                         bool binary)
{
    const struct json_value *meta = json_get(map, STR("metadata"));
    const struct json_value *data = json_get(map, str_of(member));
    for (size_t i = 0; data && data->kind == JSON_OBJECT && i < data->n_members; i++) {
        const struct json_member *m = &data->members[i];
        struct candidate c = {.value = &m->value,
                              .namespace = json_get_text(meta, STR("namespace")),
                              .name = json_get_text(meta, STR("name")),
                              .key = m->key,
                              .binary = binary};
        if (m->value.kind != JSON_STRING)
            continue;
        classify(&c);
        vec_push(&s->found, c);
    }
}

static void look_at(struct search *s, struct json_value *doc)
{
    struct str kind = json_get_text(doc, STR("kind"));
    const struct json_value *items = json_get(doc, STR("items"));
    if (config_source_is_config(doc)) {
        vec_push(&s->found, (struct candidate){.doc = doc, .fit = FIT_GOOD});
    } else if (str_is(kind, "ConfigMap")) {
        s->maps++;
        look_at_data(s, doc, "data", false);
        look_at_data(s, doc, "binaryData", true);
    } else if ((str_is(kind, "List") || str_is(kind, "ConfigMapList")) && items &&
               items->kind == JSON_ARRAY) {
        for (size_t i = 0; i < items->n; i++)
            if (!str_is(json_get_text(&items->items[i], STR("kind")), "List"))
                look_at(s, &items->items[i]);
    } else if (s->other_kinds++ < 8) {
        buf_add_printf(&s->kinds, "%s%.*s", s->kinds.n ? ", " : "",
                       (int)MIN(kind.n, (size_t)63) + !kind.n, kind.n ? kind.p : "?");
    }
}

/* --- selection -------------------------------------------------------------------------------- */

static struct str where_of(const struct candidate *c, struct arena *a)
{
    if (c->doc)
        return STR("");
    return arena_printf(a, "ConfigMap %.*s%s%.*s, key %.*s", STR_ARG(c->namespace),
                        c->namespace.n ? "/" : "", STR_ARG(c->name), STR_ARG(c->key));
}

static bool has_key(const struct candidate *c, struct str key, struct arena *a)
{
    struct str named = arena_printf(a, "%.*s/%.*s", STR_ARG(c->name), STR_ARG(c->key));
    struct str full = arena_printf(a, "%.*s/%.*s", STR_ARG(c->namespace), STR_ARG(named));
    return !c->doc && (str_eq(c->key, key) || str_eq(named, key) || str_eq(full, key));
}

/* "line 5: key a (ConfigMap x), line 30: …", at most eight of them. */
static void write_places(const struct search *s, int fit, struct buf *out)
{
    size_t n = 0;
    for (size_t i = 0; i < s->found.n; i++) {
        const struct candidate *c = &s->found.v[i];
        if ((int)c->fit < fit || n++ >= 8)
            continue;
        struct str where = where_of(c, s->a);
        buf_add_printf(out, "%s%.*s%sline %u", n > 1 ? "; " : "", STR_ARG(where),
                       where.n ? ", " : "", c->doc ? c->doc->line : c->value->line);
    }
    if (n > 8)
        buf_add_printf(out, "; and %zu more", n - 8);
}

static int refuse_none(struct search *s, const struct json_value *first, size_t n_docs,
                       struct err *reterr)
{
    struct buf keys = BUF_INIT;
    write_places(s, FIT_NONE, &keys);
    int r;
    if (s->found.n || s->maps)
        r = err_set(
            reterr, -EINVAL,
            "line %u: no key of the ConfigMap holds a scheduler configuration (kind: " CONFIG_KIND
            "); %s%s",
            first->line, s->found.n ? "keys: " : "it has no keys", buf_cstr(&keys));
    else
        r = err_set(reterr, -EINVAL,
                    "line %u: none of the %zu documents is a scheduler configuration or a "
                    "ConfigMap that holds one; their kinds: %s%s",
                    first->line, n_docs, buf_cstr(&s->kinds), s->other_kinds > 8 ? ", ..." : "");
    buf_release(&keys);
    return r;
}

static int refuse_several(const struct search *s, int fit, struct str key, struct err *reterr)
{
    struct buf places = BUF_INIT;
    write_places(s, fit, &places);
    int r = err_set(reterr, -EINVAL,
                    "%s%.*s%sseveral configurations; select one by its key, FILE#KEY, or by "
                    "ConfigMap and key, FILE#NAME/KEY: %s",
                    key.n ? "key \"" : "", STR_ARG(key), key.n ? "\" matches " : "the file has ",
                    buf_cstr(&places));
    buf_release(&places);
    return r;
}

static int refuse_key(const struct search *s, struct str key, struct err *reterr)
{
    struct buf places = BUF_INIT;
    write_places(s, FIT_NONE, &places);
    int r = err_set(reterr, -ENOENT, "no ConfigMap has the key \"%.*s\"; %s%s", STR_ARG(key),
                    s->found.n ? "keys: " : "there are no keys", buf_cstr(&places));
    buf_release(&places);
    return r;
}

static int choose_by_key(struct search *s, struct str key, const struct candidate **ret_chosen,
                         struct err *reterr)
{
    size_t n = 0;
    for (size_t i = 0; i < s->found.n; i++)
        if (has_key(&s->found.v[i], key, s->a)) {
            *ret_chosen = &s->found.v[i];
            n++;
        } else {
            s->found.v[i].fit = FIT_NONE;
        }
    if (n == 0)
        return refuse_key(s, key, reterr);
    return n == 1 ? 0 : refuse_several(s, FIT_GOOD, key, reterr);
}

/* Prefers configurations to texts that cannot be parsed; a single key is taken as it is. */
static int choose(struct search *s, struct json_value *docs, size_t n_docs,
                  const struct candidate **ret_chosen, struct err *reterr)
{
    for (int fit = FIT_GOOD; fit > FIT_NONE; fit--) {
        size_t n = 0;
        for (size_t i = 0; i < s->found.n; i++)
            if ((int)s->found.v[i].fit >= fit && n++ == 0)
                *ret_chosen = &s->found.v[i];
        if (n == 1)
            return 0;
        if (n > 1)
            return refuse_several(s, fit, STR(""), reterr);
    }
    if (s->found.n != 1)
        return refuse_none(s, &docs[0], n_docs, reterr);
    *ret_chosen = &s->found.v[0];
    return 0;
}

/* --- configuration ---------------------------------------------------------------------------- */

static void keep_twice(const struct search *s, uint32_t from, uint32_t to,
                       struct config_source *out)
{
    out->twice = arena_array(s->a, struct config_twice, s->twice.n + 1);
    for (size_t i = 0; i < s->twice.n; i++)
        if (s->twice.v[i].line >= from && s->twice.v[i].line < to)
            out->twice[out->n_twice++] = s->twice.v[i];
}

/* first: the document that has the configuration. */
static int take(struct search *s, const struct candidate *c, struct json_value *docs, size_t n,
                struct config_source *out, struct err *reterr)
{
    if (!c->doc) {
        s->twice.n = 0;
        out->within = where_of(c, s->a);
        int r = parse_text(c, s, s->a, &out->doc, reterr);
        if (r == 0)
            keep_twice(s, 0, UINT32_MAX, out);
        return r;
    }
    uint32_t end = UINT32_MAX;
    for (size_t i = n; i-- > 0 && docs[i].line > c->doc->line;)
        end = docs[i].line;
    out->doc = c->doc;
    keep_twice(s, c->doc->line, end, out);
    if (c->doc == &docs[0] && n > 1)
        out->unread_line = docs[1].line;
    return 0;
}

static int find(struct search *s, struct str text, struct str key, struct config_source *out,
                struct err *reterr)
{
    struct json_value *docs;
    const struct candidate *chosen = NULL;
    struct candidate first;
    size_t n = 0;
    int r = yaml_parse_twice(text, on_twice, s, s->a, &docs, &n, reterr);
    if (r < 0)
        return r;
    if (n == 0)
        return err_set(reterr, -EINVAL, "the file is empty: expected kind: " CONFIG_KIND);
    first = (struct candidate){.doc = &docs[0], .fit = FIT_GOOD};
    for (size_t i = 0; i < n; i++)
        look_at(s, &docs[i]);
    if (key.n)
        r = choose_by_key(s, key, &chosen, reterr);
    else if (config_source_is_config(&docs[0]) || (n == 1 && s->maps == 0 && s->found.n == 0))
        chosen = &first; /* decoding reports what is wrong */
    else
        r = choose(s, docs, n, &chosen, reterr);
    return r < 0 ? r : take(s, chosen, docs, n, out, reterr);
}

int config_source_find(struct str text, struct str key, struct arena *a,
                       struct config_source *ret_source, struct err *reterr)
{
    struct search s = {.a = a};
    struct config_source source = {0};
    int r = find(&s, text, key, &source, reterr);
    if (r == 0)
        *ret_source = source;
    vec_release(&s.found);
    vec_release(&s.twice);
    buf_release(&s.kinds);
    return r;
}
