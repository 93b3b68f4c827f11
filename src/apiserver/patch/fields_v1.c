/* SPDX-License-Identifier: Apache-2.0 */
/* FieldsV1: a field set as JSON (upstream: fieldpath/serialize.go, serialize-pe.go). */
#include "apiserver/patch/field_set.h"
#include "base/err.h"

static int read_element(struct str key, struct arena *a, struct path_element *ret_e,
                        bool *ret_known, struct err *reterr)
{
    struct str rest = str_slice(key, 2, key.n);
    struct json_value v;
    uint64_t index;

    if (key.n < 2)
        return err_set(reterr, -EINVAL, "key must be 2 characters long:");
    if (key.p[1] != ':')
        return err_set(reterr, -EINVAL, "missing colon: %.*s", STR_ARG(key));
    *ret_known = true;
    *ret_e = (struct path_element){.kind = PATH_FIELD, .text = key};
    switch (key.p[0]) {
    case 'f':
        return 0;
    case 'v':
    case 'k':
        if (json_parse(rest, 0, a, &v, reterr) < 0)
            return -EINVAL;
        if (key.p[0] == 'v')
            *ret_e = path_of_value(&v, a);
        else if (v.kind == JSON_OBJECT)
            *ret_e = path_of_key(&v, a);
        else
            return err_set(reterr, -EINVAL, "expect { or n: %.*s", STR_ARG(key));
        return 0;
    case 'i':
        if (!str_to_u64(rest, &index))
            return err_set(reterr, -EINVAL, "strconv.Atoi: parsing \"%.*s\": invalid syntax",
                           STR_ARG(rest));
        ret_e->kind = PATH_INDEX;
        return 0;
    default:
        *ret_known = false;
        return 0;
    }
}

int fields_v1_read(const struct json_value *v, struct arena *a, struct field_set *ret_set,
                   struct err *reterr)
{
    struct field_set out = {0};

    if (v->kind != JSON_OBJECT) {
        *ret_set = out;
        return v->kind == JSON_NULL ? 0 : err_set(reterr, -EINVAL, "expect { or n");
    }
    out.v = arena_array(a, struct field_node, v->n_members);
    for (size_t i = 0; i < v->n_members; i++) {
        const struct json_member *m = &v->members[i];
        struct field_node *to = &out.v[out.n];
        bool known;
        int r;

        if (str_is(m->key, "."))
            continue;
        r = read_element(m->key, a, &to->e, &known, reterr);
        if (r == 0)
            r = fields_v1_read(&m->value, a, &to->below, reterr);
        if (r < 0)
            return r;
        to->member = to->below.n == 0 || json_get(&m->value, STR("."));
        if (known)
            out.n++;
    }
    field_set_sort(&out);
    *ret_set = out;
    return 0;
}

static struct json_value write_set(const struct field_set *s, bool self, struct arena *a)
{
    struct json_value out = {.kind = JSON_OBJECT};

    if (s->n == 0)
        return out;
    out.members = arena_array(a, struct json_member, s->n + 1);
    if (self)
        out.members[out.n_members++] =
            (struct json_member){STR("."), (struct json_value){.kind = JSON_OBJECT}};
    for (size_t i = 0; i < s->n; i++)
        out.members[out.n_members++] =
            (struct json_member){s->v[i].e.text, write_set(&s->v[i].below, s->v[i].member, a)};
    return out;
}

struct json_value fields_v1_write(const struct field_set *s, struct arena *a)
{
    return write_set(s, false, a);
}
