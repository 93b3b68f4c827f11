/* SPDX-License-Identifier: Apache-2.0 */
/* Reading objects. */
#include "apiserver/lifecycle/lifecycle_internal.h"

static struct str unquoted(struct str value)
{
    return value.n >= 2 && value.p[0] == '"' ? str_slice(value, 1, value.n - 1) : STR("");
}

static bool on_meta(void *ctx, struct str name, struct str value)
{
    struct life_view *view = ctx;
    if (str_is(name, "uid"))
        view->uid = unquoted(value);
    else if (str_is(name, "deletionTimestamp"))
        view->deletion = unquoted(value);
    else if (str_is(name, "ownerReferences"))
        view->owners = value;
    else if (str_is(name, "finalizers"))
        view->finalizers = value;
    return true;
}

static bool on_top(void *ctx, struct str name, struct str value)
{
    if (!str_is(name, "metadata"))
        return true;
    return json_each_member(value, on_meta, ctx, NULL) < 0;
}

/* Every change passes here: the text is skimmed, not parsed. */
struct life_view life_view(const struct revision *rev)
{
    struct life_view view = {0};
    int r = json_each_member(rev->text, on_top, &view, NULL);
    (void)r; /* the registry stores JSON only */
    return view;
}

static bool on_spec(void *ctx, struct str name, struct str value)
{
    struct str *node = ctx;
    if (!str_is(name, "nodeName"))
        return true;
    *node = unquoted(value);
    return false;
}

static bool on_pod(void *ctx, struct str name, struct str value)
{
    if (!str_is(name, "spec"))
        return true;
    return json_each_member(value, on_spec, ctx, NULL) < 0;
}

struct str life_pod_node(const struct revision *pod)
{
    struct str node = revision_field(pod, STR("spec.nodeName"));
    if (str_empty(node)) {
        int r = json_each_member(pod->text, on_pod, &node, NULL);
        (void)r;
    }
    return node;
}

struct revision *life_find(const struct lifecycle *l, const struct resource *resource,
                           struct str namespace, struct str name)
{
    return resource ? store_get(l->options.store, resource, namespace, name) : NULL;
}

struct json_value *life_parse(struct lifecycle *l, const struct revision *rev)
{
    struct json_value *tree = arena_new(&l->scratch, struct json_value);
    int r = json_parse(rev->text, 0, &l->scratch, tree, NULL);
    assert(r == 0);
    (void)r;
    return tree;
}

bool life_is_deleting(const struct json_value *object)
{
    return !str_empty(json_text_at(object, "metadata.deletionTimestamp"));
}

bool life_list_has(const struct json_value *list, const char *text)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_STRING && str_is(list->items[i].text, text))
            return true;
    return false;
}

struct str life_time(struct lifecycle *l, int64_t at)
{
    struct buf text = BUF_INIT;
    timestamp_format(timestamp_of(at), 0, &text);
    struct str copy = arena_dup(&l->scratch, buf_str(&text));
    buf_release(&text);
    return copy;
}

struct json_value *life_condition(struct json_value *object, const char *type)
{
    struct json_value *status = json_member(object, STR("status"));
    struct json_value *list = status ? json_member(status, STR("conditions")) : NULL;
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (str_is(json_get_text(&list->items[i], STR("type")), type))
            return &list->items[i];
    return NULL;
}

bool life_set_condition(struct lifecycle *l, struct json_value *object, struct json_value c)
{
    struct arena *a = &l->scratch;
    struct str type = json_get_text(&c, STR("type"));
    struct json_value *old = life_condition(object, arena_dup(a, type).p);
    bool same = old && str_eq(json_get_text(old, STR("status")), json_get_text(&c, STR("status")));
    struct str since =
        same ? json_get_text(old, STR("lastTransitionTime")) : life_time(l, l->queue.now);
    json_set(&c, STR("lastTransitionTime"), json_text(since), a);
    if (old && json_value_equal(old, &c))
        return false;
    if (old) {
        *old = c;
        return true;
    }
    struct json_value *status = json_set_object(object, STR("status"), a);
    json_append(json_set_array(status, STR("conditions"), a), c, a);
    return true;
}

struct json_value life_make_condition(struct lifecycle *l, const char *type, const char *status,
                                      const char *reason, struct str message)
{
    struct arena *a = &l->scratch;
    struct json_value c = json_object();
    json_set(&c, STR("type"), json_text(str_of(type)), a);
    json_set(&c, STR("status"), json_text(str_of(status)), a);
    if (*reason)
        json_set(&c, STR("reason"), json_text(str_of(reason)), a);
    json_set(&c, STR("message"), json_text(message), a);
    return c;
}
