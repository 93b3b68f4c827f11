/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of manifests: the same objects and lines in every form and with any chunk size. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "codec/manifest.h"
#include "objects.h"

/* A text that is read in chunks of `step` bytes. */
struct pieces {
    struct str text;
    size_t step;
};

static ssize_t read_piece(void *ctx, char *to, size_t n, struct err *reterr)
{
    (void)reterr;
    struct pieces *p = ctx;
    n = MIN(MIN(n, p->step), p->text.n);
    if (n)
        memcpy(to, p->text.p, n);
    p->text = str_slice(p->text, n, p->text.n);
    return (ssize_t)n;
}

/* "d3:{...}", "i4 List:{...}", "l1:{...}": what, line, the list's kind, text without white space.
 */
static int note_part(void *ctx, const struct manifest_part *part, struct err *reterr)
{
    (void)reterr;
    static const char letters[] = {[YAML_DOCUMENT] = 'd', [YAML_ITEM] = 'i', [YAML_LIST] = 'l'};
    struct buf *out = ctx;
    buf_add_printf(out, "%c%zu", letters[part->what], part->locate(part->locate_ctx, 0));
    if (part->what == YAML_ITEM)
        buf_add_printf(out, "[%zu]%.*s", part->index, STR_ARG(part->kind));
    buf_add_char(out, ':');
    for (size_t i = 0; i < part->json.n; i++)
        if (part->json.p[i] != ' ' && part->json.p[i] != '\n')
            buf_add_char(out, part->json.p[i]);
    buf_add_char(out, '\n');
    return 0;
}

static int read_text(struct str text, size_t step, struct buf *out, struct err *reterr)
{
    struct pieces pieces = {text, step};
    struct yaml_source source = {.read = read_piece, .ctx = &pieces};
    return manifest_read(&source, 0, note_part, out, reterr);
}

static const struct {
    const char *text, *parts;
} cases[] = {
    {"", ""},
    {"---\n# nothing\n---\n", ""},
    {"a: 1\n", "d1:{'a':1}\n"},
    {"{'a': 1}", "d1:{'a':1}\n"},
    {"\xef\xbb\xbf{'a': 1}\n", "d1:{'a':1}\n"},
    {"{'a': 1}{'b': 2}\n\n{'c':{}}", "d1:{'a':1}\nd1:{'b':2}\nd3:{'c':{}}\n"},
    {"---\n{'a': 1}\n--- # x\n{'b': 2}\n---\nc: 3\n---\n{'d': 4}\n",
     "d2:{'a':1}\nd4:{'b':2}\nd6:{'c':3}\nd8:{'d':4}\n"},
    {"--- {'a': 1}\n", "d1:{'a':1}\n"},
    /* Flow style that is not JSON, detected at any place. */
    {"{a: 1}\n", "d1:{'a':1}\n"},
    {"{'a': x}\n", "d1:{'a':'x'}\n"},
    {"{'a': {b: 1}}\n", "d1:{'a':{'b':1}}\n"},
    {"{'a': 1,}\n", "d1:{'a':1}\n"},
    {"{'items': [{a: 1}, {'b': 2}]}\n", "i1[0]:{'a':1}\ni1[1]:{'b':2}\nl1:{}\n"},
    /* Lists, item by item; kind may be before or after them. */
    {"{'kind': 'List',\n'items': [\n{'a':\n1},\n{'b': [2]}\n],\n'x': 0}",
     "i3[0]List:{'a':1}\ni5[1]List:{'b':[2]}\nl1:{'kind':'List','x':0}\n"},
    {"{'items': [], 'kind': 'List'}", "l1:{'kind':'List'}\n"},
    {"{'items': null, 'kind': 'List'}", "d1:{'items':null,'kind':'List'}\n"},
    {"kind: PodList\nitems:\n- a: 1\n- b:\n  - 2\nx: 0\n---\nc: 3\n",
     "i3[0]PodList:{'a':1}\ni4[1]PodList:{'b':[2]}\nl1:{'kind':'PodList','x':0}\n"
     "d8:{'c':3}\n"},
    {"items:\n- a: &x 1\n- b: *x\nkind: List\n",
     "i2[0]:{'a':1}\ni3[1]:{'b':1}\nl1:{'kind':'List'}\n"},
    {"items: &x\n- 1\n", "d1:{'items':[1]}\n"},
    {"spec:\n  items:\n  - 1\n", "d1:{'spec':{'items':[1]}}\n"},
};

static void texts_are_read_however_they_come(void **state)
{
    (void)state;
    static const size_t steps[] = {1, 2, 3, 7, 4096};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
            struct buf parts = BUF_INIT;
            struct err err = {0};
            int r = read_text(json_quotes_str(cases[i].text), steps[k], &parts, &err);
            if (r < 0)
                fail_msg("%s: %s", cases[i].text, err.msg);
            assert_string_equal(buf_cstr(&parts), json_quotes(cases[i].parts));
            buf_release(&parts);
        }
}

static void errors_name_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"a: [\n", "line 2"},
        {"{'a': 1}\n{'b': \n", "line 3"},
        {"{'items': [\n{'a': 1},\n}]}", "line 3: expected a value"},
        {"{'items': [\n{'a': 1}\n{'b': 2}]}", "line 3: expected ',' or ']'"},
        {"{'items': [\n{'a': 1}", "line 2: unexpected end of input"},
        {"items:\n- a: 1\n- b: *x\n", "line 3, column 6: unknown anchor"},
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct buf parts = BUF_INIT;
        struct err err = {0};
        if (read_text(json_quotes_str(bad[i].text), 5, &parts, &err) >= 0)
            fail_msg("accepted: %s", bad[i].text);
        if (!strstr(err.msg, bad[i].message))
            fail_msg("%s: said %s", bad[i].text, err.msg);
        buf_release(&parts);
    }
}

static void a_nul_is_no_end(void **state)
{
    (void)state;
    struct buf parts = BUF_INIT;
    struct err err = {0};
    assert_true(read_text(STR("\0\xff\0\xff"), 64, &parts, &err) < 0);
    assert_true(read_text(STR("{\"a\": 1}\n\0"), 64, &parts, &err) < 0);
    buf_release(&parts);
}

/* An endless source: a head, then the same chunk again and again. */
struct endless {
    const char *head, *piece;
    size_t given, limit;
    size_t n_parts;
};

static ssize_t read_endless(void *ctx, char *to, size_t n, struct err *reterr)
{
    (void)reterr;
    struct endless *e = ctx;
    const char *text = e->given ? e->piece : e->head;
    size_t length = strlen(text), done = 0;
    if (e->given > e->limit)
        return 0;
    for (; done + length <= n; done += length)
        memcpy(to + done, text, length);
    e->given += done;
    if (text == e->head)
        return (ssize_t)(e->given = length);
    return (ssize_t)done;
}

static int count_part(void *ctx, const struct manifest_part *part, struct err *reterr)
{
    (void)part, (void)reterr;
    ((struct endless *)ctx)->n_parts++;
    return 0;
}

static void one_object_is_bounded(void **state)
{
    (void)state;
    static const char *const heads[] = {"{\"a\": \"", "{\"items\": [{\"a\": \"", "a: \"",
                                        "items:\n- a: \""};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        struct endless e = {heads[i], "xxxxxxxx", 0, (size_t)1 << 30, 0};
        struct yaml_source source = {.read = read_endless, .ctx = &e};
        struct err err = {0};
        assert_int_equal(manifest_read(&source, 0, count_part, &e, &err), -EMSGSIZE);
        assert_non_null(strstr(err.msg, "object larger than 32 MiB"));
        assert_true(e.given < (size_t)70 << 20);
    }
}

/* Many more values than one object may have. */
static void the_number_of_objects_is_not_bounded(void **state)
{
    (void)state;
    struct endless e = {"items:\n", "- [1, 2, 3, 4, 5, 6]\n", 0, (size_t)6 << 20, 0};
    struct yaml_source source = {.read = read_endless, .ctx = &e};
    struct err err = {0};
    assert_int_equal(manifest_read(&source, 0, count_part, &e, &err), 0);
    assert_true(e.n_parts * 7 > YAML_MAX_NODES);
}

static void what_aliases_expand_to_is_bounded(void **state)
{
    (void)state;
    struct buf text = BUF_INIT, parts = BUF_INIT;
    struct err err = {0};
    buf_add_cstr(&text, "x0: &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (int i = 1; i < 9; i++)
        buf_add_printf(&text,
                       "x%d: &x%d [*x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d]\n",
                       i, i, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(read_text(buf_str(&text), 4096, &parts, &err), -EBADMSG);
    assert_non_null(strstr(err.msg, "after expanding aliases"));
    /* The same for items. */
    buf_clear(&text);
    buf_add_cstr(&text, "items:\n- &x0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (int i = 1; i < 9; i++)
        buf_add_printf(&text,
                       "- &x%d [*x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d, *x%d]\n", i,
                       i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
    assert_int_equal(read_text(buf_str(&text), 4096, &parts, &err), -EBADMSG);
    buf_release(&parts);
    buf_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_read_however_they_come),
        cmocka_unit_test(errors_name_their_line),
        cmocka_unit_test(a_nul_is_no_end),
        cmocka_unit_test(one_object_is_bounded),
        cmocka_unit_test(the_number_of_objects_is_not_bounded),
        cmocka_unit_test(what_aliases_expand_to_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
