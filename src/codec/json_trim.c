/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/json_reader.h"

static const struct json_trim_rule *find(const struct json_trim_rule *rules, size_t n,
                                         struct str key)
{
    for (size_t i = 0; i < n; i++)
        if (str_eq(rules[i].key, key))
            return &rules[i];
    return NULL;
}

static bool trim(struct json_reader *r, const struct json_trim_rule *rules, size_t n,
                 struct buf *out);

/* One name and its value. The key is compared as written: an escaped key does not match. */
static bool trim_member(struct json_reader *r, const struct json_trim_rule *rules, size_t n,
                        struct buf *out)
{
    struct json_string key = JSON_STRING_INIT;
    json_space(r);
    const char *begin = r->at;
    if (!json_string(r, &key) || !json_colon(r))
        return false;
    const struct json_trim_rule *rule = find(rules, n, key.raw);
    if (rule && !rule->inside)
        return json_skip(r);
    if (out->p[out->n - 1] != '{')
        buf_add_char(out, ',');
    if (rule && json_peek(r) == '{') {
        buf_add(out, begin, (size_t)(r->at - begin));
        return trim(r, rule->inside, rule->n_inside, out);
    }
    if (!json_skip(r))
        return false;
    buf_add(out, begin, (size_t)(r->at - begin));
    return true;
}

static bool trim(struct json_reader *r, const struct json_trim_rule *rules, size_t n,
                 struct buf *out)
{
    bool more = true;
    if (!json_enter(r, '{', "expected an object"))
        return false;
    buf_add_char(out, '{');
    if (!json_empty(r, '}'))
        while (more)
            if (!trim_member(r, rules, n, out) || !json_next(r, '}', &more))
                return false;
    buf_add_char(out, '}');
    return true;
}

int json_trim(struct str text, const struct json_trim_rule *rules, size_t n, struct buf *out,
              struct err *reterr)
{
    struct json_reader r;
    json_reader_init(&r, text, 0);
    if (trim(&r, rules, n, out) && json_finish(&r))
        return 0;
    size_t line = 0, column = 0;
    json_reader_locate(&r, &line, &column);
    return err_set(reterr, -EBADMSG, "line %zu, column %zu: %s", line, column, r.problem);
}
