/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_patch.h"

#include <errno.h>

#include "base/err.h"
#include "codec/json_draft.h"

/* --- members ---------------------------------------------------------------------------------- */

/* A copy of an object's member list with room for more; of anything else: an empty object. */
static struct json_value open_object(const struct json_value *v, size_t more, struct arena *a)
{
    size_t n = v && v->kind == JSON_OBJECT ? v->n_members : 0;
    struct json_value out = {.kind = JSON_OBJECT};
    out.members = arena_array(a, struct json_member, n + more);
    out.n_members = n;
    if (n)
        memcpy(out.members, v->members, n * sizeof(*out.members));
    return out;
}

static struct json_value *find(struct json_value *object, struct str key)
{
    for (size_t i = 0; i < object->n_members; i++)
        if (str_eq(object->members[i].key, key))
            return &object->members[i].value;
    return NULL;
}

/* There is room: see open_object. */
static void set(struct json_value *object, struct str key, struct json_value value)
{
    struct json_value *there = find(object, key);
    if (there)
        *there = value;
    else
        object->members[object->n_members++] = (struct json_member){key, value};
}

static void unset(struct json_value *object, struct str key)
{
    size_t n = 0;
    for (size_t i = 0; i < object->n_members; i++)
        if (!str_eq(object->members[i].key, key))
            object->members[n++] = object->members[i];
    object->n_members = n;
}

/* --- merge patch ------------------------------------------------------------------------------ */

void json_patch_merge(const struct json_value *target, const struct json_value *patch,
                      struct arena *a, struct json_value *ret_value)
{
    if (patch->kind != JSON_OBJECT) {
        *ret_value = *patch;
        return;
    }
    struct json_draft out;
    json_draft_init(&out, target, patch->n_members, a);
    for (size_t i = 0; i < patch->n_members; i++) {
        const struct json_member *m = &patch->members[i];
        if (m->value.kind == JSON_NULL) {
            json_draft_remove(&out, m->key);
            continue;
        }
        struct json_value merged;
        json_patch_merge(json_draft_get(&out, m->key), &m->value, a, &merged);
        json_draft_set(&out, m->key, merged);
    }
    *ret_value = json_draft_end(&out);
}

/* --- strategic merge patch -------------------------------------------------------------------- */

struct strategy {
    const struct json_merge_list *lists;
    size_t n_lists;
    struct arena *a;
};

static const struct json_merge_list *strategy_of(const struct strategy *s, struct str field)
{
    for (size_t i = 0; i < s->n_lists; i++)
        if (str_is(field, s->lists[i].field))
            return &s->lists[i];
    return NULL;
}

static void merge_strategic(const struct strategy *s, const struct json_value *target,
                            const struct json_value *patch, struct json_value *ret_value);

static bool has_text(const struct json_value *list, struct str text)
{
    for (size_t i = 0; list && list->kind == JSON_ARRAY && i < list->n; i++)
        if (list->items[i].kind == JSON_STRING && str_eq(list->items[i].text, text))
            return true;
    return false;
}

static struct json_value open_list(const struct json_value *v, size_t more, struct arena *a)
{
    size_t n = v && v->kind == JSON_ARRAY ? v->n : 0;
    struct json_value out = {.kind = JSON_ARRAY};
    out.items = arena_array(a, struct json_value, n + more);
    out.n = n;
    if (n)
        memcpy(out.items, v->items, n * sizeof(*out.items));
    return out;
}

static struct json_value *find_item(struct json_value *list, const char *key,
                                    const struct json_value *like)
{
    const struct json_value *id = json_get(like, str_of(key));
    for (size_t i = 0; id && i < list->n; i++) {
        const struct json_value *its = json_get(&list->items[i], str_of(key));
        if (its && json_value_equal(its, id))
            return &list->items[i];
    }
    return NULL;
}

static struct json_value merge_list(const struct strategy *s, const struct json_merge_list *how,
                                    const struct json_value *target, const struct json_value *patch)
{
    for (size_t i = 0; i < patch->n; i++)
        if (str_is(json_get_text(&patch->items[i], STR("$patch")), "replace"))
            target = NULL;
    struct json_value out = open_list(target, patch->n, s->a);
    for (size_t i = 0; i < patch->n; i++) {
        const struct json_value *item = &patch->items[i];
        struct str directive = json_get_text(item, STR("$patch"));
        struct json_value *there = *how->key ? find_item(&out, how->key, item) : NULL;
        if (str_is(directive, "replace"))
            continue;
        if (str_is(directive, "delete")) {
            if (there) {
                size_t at = (size_t)(there - out.items);
                memmove(there, there + 1, (out.n - at - 1) * sizeof(*there));
                out.n--;
            }
        } else if (there) {
            struct json_value merged;
            merge_strategic(s, there, item, &merged);
            *there = merged;
        } else if (*how->key || item->kind != JSON_STRING || !has_text(&out, item->text)) {
            out.items[out.n++] = *item;
        }
    }
    return out;
}

#define DELETE_FROM "$deleteFromPrimitiveList/"

static void delete_from(const struct strategy *s, struct json_value *object, struct str field,
                        const struct json_value *texts)
{
    struct json_value *list = find(object, field);
    if (!list || list->kind != JSON_ARRAY)
        return;
    struct json_value out = open_list(NULL, list->n, s->a);
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].kind != JSON_STRING || !has_text(texts, list->items[i].text))
            out.items[out.n++] = list->items[i];
    *list = out;
}

static void retain(struct json_value *object, const struct json_value *keys)
{
    size_t n = 0;
    for (size_t i = 0; i < object->n_members; i++)
        if (has_text(keys, object->members[i].key))
            object->members[n++] = object->members[i];
    object->n_members = n;
}

static void merge_member(const struct strategy *s, struct json_value *out,
                         const struct json_member *m)
{
    const struct json_merge_list *how = strategy_of(s, m->key);
    struct json_value *there = find(out, m->key);
    if (str_starts(m->key, STR(DELETE_FROM))) {
        delete_from(s, out, str_slice(m->key, strlen(DELETE_FROM), m->key.n), &m->value);
    } else if (str_starts(m->key, STR("$"))) {
        return;
    } else if (m->value.kind == JSON_NULL) {
        unset(out, m->key);
    } else if (m->value.kind == JSON_ARRAY && how) {
        set(out, m->key, merge_list(s, how, there, &m->value));
    } else {
        struct json_value merged;
        merge_strategic(s, there, &m->value, &merged);
        set(out, m->key, merged);
    }
}

static void merge_strategic(const struct strategy *s, const struct json_value *target,
                            const struct json_value *patch, struct json_value *ret_value)
{
    if (patch->kind != JSON_OBJECT) {
        *ret_value = *patch;
        return;
    }
    struct str directive = json_get_text(patch, STR("$patch"));
    const struct json_value *keys = json_get(patch, STR("$retainKeys"));
    bool fresh = str_is(directive, "replace") || str_is(directive, "delete");
    struct json_value out = open_object(fresh ? NULL : target, patch->n_members, s->a);
    for (size_t i = 0; !str_is(directive, "delete") && i < patch->n_members; i++)
        merge_member(s, &out, &patch->members[i]);
    if (keys)
        retain(&out, keys);
    *ret_value = out;
}

void json_patch_strategic(const struct json_value *target, const struct json_value *patch,
                          const struct json_merge_list *lists, size_t n_lists, struct arena *a,
                          struct json_value *ret_value)
{
    struct strategy s = {lists, n_lists, a};
    merge_strategic(&s, target, patch, ret_value);
}

/* --- JSON patch ------------------------------------------------------------------------------- */

/* A deep copy: operations change the tree in place. */
static struct json_value copy(const struct json_value *v, struct arena *a)
{
    struct json_value out = *v;
    if (v->kind == JSON_OBJECT) {
        out = open_object(v, 0, a);
        for (size_t i = 0; i < out.n_members; i++)
            out.members[i].value = copy(&v->members[i].value, a);
    } else if (v->kind == JSON_ARRAY) {
        out = open_list(v, 0, a);
        for (size_t i = 0; i < out.n; i++)
            out.items[i] = copy(&v->items[i], a);
    }
    return out;
}

/* A part of a JSON pointer with ~1 and ~0 replaced. */
static struct str unescape(struct str part, struct arena *a)
{
    char *text = arena_array(a, char, part.n + 1);
    size_t n = 0;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] == '~' && i + 1 < part.n)
            text[n++] = part.p[++i] == '1' ? '/' : '~';
        else
            text[n++] = part.p[i];
    }
    return (struct str){text, n};
}

static bool index_of(struct str part, size_t limit, size_t *ret_index)
{
    uint64_t i;
    if (!str_to_u64(part, &i) || i > limit)
        return false;
    *ret_index = (size_t)i;
    return true;
}

/* The value that holds the last part of the path, and that part; NULL if there is none. */
static struct json_value *parent_of(struct json_value *root, struct str path, struct arena *a,
                                    struct str *ret_last)
{
    if (path.n == 0 || path.p[0] != '/')
        return NULL;
    struct str rest = str_slice(path, 1, path.n), part = STR("");
    struct json_value *at = root;
    for (;;) {
        size_t slash = str_find(rest, '/');
        part = unescape(str_slice(rest, 0, slash), a);
        if (slash >= rest.n)
            break;
        rest = str_slice(rest, slash + 1, rest.n);
        size_t i;
        if (at->kind == JSON_OBJECT)
            at = find(at, part);
        else if (at->kind == JSON_ARRAY && index_of(part, at->n, &i) && i < at->n)
            at = &at->items[i];
        else
            at = NULL;
        if (!at)
            return NULL;
    }
    *ret_last = part;
    return at;
}

static struct json_value *value_at(struct json_value *root, struct str path, struct arena *a)
{
    struct str last;
    size_t i;
    if (path.n == 0)
        return root;
    struct json_value *parent = parent_of(root, path, a, &last);
    if (parent && parent->kind == JSON_OBJECT)
        return find(parent, last);
    if (parent && parent->kind == JSON_ARRAY && index_of(last, parent->n, &i) && i < parent->n)
        return &parent->items[i];
    return NULL;
}

static bool add_at(struct json_value *root, struct str path, struct json_value value,
                   struct arena *a)
{
    struct str last;
    size_t i;
    if (path.n == 0) {
        *root = value;
        return true;
    }
    struct json_value *parent = parent_of(root, path, a, &last);
    if (parent && parent->kind == JSON_OBJECT) {
        *parent = open_object(parent, 1, a);
        set(parent, last, value);
        return true;
    }
    if (!parent || parent->kind != JSON_ARRAY)
        return false;
    i = parent->n;
    if (!str_is(last, "-") && !index_of(last, parent->n, &i))
        return false;
    *parent = open_list(parent, 1, a);
    memmove(&parent->items[i + 1], &parent->items[i], (parent->n - i) * sizeof(value));
    parent->items[i] = value;
    parent->n++;
    return true;
}

static bool remove_at(struct json_value *root, struct str path, struct arena *a)
{
    struct str last;
    size_t i;
    struct json_value *parent = parent_of(root, path, a, &last);
    if (parent && parent->kind == JSON_OBJECT && find(parent, last)) {
        unset(parent, last);
        return true;
    }
    if (!parent || parent->kind != JSON_ARRAY || !index_of(last, parent->n, &i) || i >= parent->n)
        return false;
    memmove(&parent->items[i], &parent->items[i + 1], (parent->n - i - 1) * sizeof(*parent->items));
    parent->n--;
    return true;
}

static int run_op(struct json_value *root, const struct json_value *op, struct arena *a,
                  struct err *reterr)
{
    struct str name = json_get_text(op, STR("op")), path = json_get_text(op, STR("path"));
    struct str from = json_get_text(op, STR("from"));
    const struct json_value *value = json_get(op, STR("value"));
    bool moves = str_is(name, "move"), copies = str_is(name, "copy");
    struct json_value *there = value_at(root, moves || copies ? from : path, a);
    struct json_value moved = there ? copy(there, a) : (struct json_value){.kind = JSON_NULL};
    bool ok = false;
    if (str_is(name, "add"))
        ok = value && add_at(root, path, copy(value, a), a);
    else if (str_is(name, "remove"))
        ok = remove_at(root, path, a);
    else if (str_is(name, "replace") && there && value) {
        *there = copy(value, a);
        ok = true;
    } else if (str_is(name, "test")) {
        if (value && there && json_value_equal(there, value))
            return 0;
        return err_set(reterr, -EBUSY, "testing value %.*s failed", STR_ARG(path));
    } else if ((moves || copies) && there) {
        ok = (copies || remove_at(root, from, a)) && add_at(root, path, moved, a);
    }
    if (!ok)
        return err_set(reterr, -EINVAL, "%.*s operation does not apply: %.*s", STR_ARG(name),
                       STR_ARG(path));
    return 0;
}

int json_patch_apply(const struct json_value *target, const struct json_value *patch,
                     struct arena *a, struct json_value *ret_value, struct err *reterr)
{
    struct json_value out = copy(target, a);
    int r = patch->kind == JSON_ARRAY ? 0 : err_set(reterr, -EINVAL, "expected a list");
    for (size_t i = 0; r == 0 && i < patch->n; i++)
        r = run_op(&out, &patch->items[i], a, reterr);
    if (r == 0)
        *ret_value = out;
    return r;
}
