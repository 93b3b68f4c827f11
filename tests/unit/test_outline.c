/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "cmd/cli/flags.h"
#include "cmd/commands.h"
#include "cmd/completion/completion.h"
#include "engine/config/features.h"

static const struct outline_flag *find(const struct outline *o, const char *command,
                                       const char *name)
{
    const struct outline_command *c = outline_find(o, str_of(command));
    assert_non_null(c);
    for (size_t i = 0; i < c->flags.n; i++)
        if (str_is(c->flags.v[i].name, name))
            return &c->flags.v[i];
    return NULL;
}

/* The outline has the fields of the tables, in the same order. */
static void compare(void *ctx, const struct flag *flags, size_t n)
{
    const struct outline_command *c = ctx;
    size_t shown = 0;
    for (size_t i = 0; i < n; i++) {
        if (flags[i].deprecated)
            continue;
        assert_true(shown < c->flags.n);
        const struct outline_flag *f = &c->flags.v[shown++];
        assert_true(str_is(f->name, flags[i].name));
        assert_true(str_is(f->help, flags[i].help));
        assert_int_equal(f->letter, flags[i].letter);
        assert_int_equal(f->type.n == 0, flags[i].kind == FLAG_BOOL);
    }
    assert_int_equal(shown, c->flags.n);
    assert_true(c->flags.v[0].group.n > 0);
}

static void test_tables(void **state)
{
    (void)state;
    struct outline o;
    size_t shown = 0;
    outline_init(&o, &commands);
    for (size_t i = 0; i < commands.n; i++) {
        const struct outline_command *c = outline_find(&o, str_of(commands.v[i].name));
        assert_int_equal(c != NULL, commands.v[i].help != NULL);
        if (!c)
            continue;
        shown++;
        commands.v[i].flags(compare, (void *)c);
    }
    assert_int_equal(shown, o.commands.n);
    assert_null(outline_find(&o, STR("nonsense")));
    outline_release(&o);
}

static void test_offers(void **state)
{
    (void)state;
    static const struct {
        const char *command, *flag;
        enum offer offer;
        const char *words;
    } rows[] = {
        {"bench", "output", OFFER_WORDS, "table json"},
        {"simulate", "output", OFFER_WORDS, "table wide json"},
        {"simulate", "then", OFFER_FILES, ""},
        {"simulate", "seed", OFFER_NOTHING, ""},
        {"config", "output", OFFER_WORDS, "yaml json text"},
        {"scheduler", "kube-api-content-type", OFFER_WORDS,
         "application/vnd.kubernetes.protobuf application/json"},
        {"scheduler", "leader-elect-resource-lock", OFFER_WORDS, "leases"},
        {"scheduler", "leader-elect-resource-name", OFFER_NOTHING, ""},
        {"scheduler", "logging-format", OFFER_WORDS, "text json"},
        {"scheduler", "tls-min-version", OFFER_WORDS,
         "VersionTLS10 VersionTLS11 VersionTLS12 VersionTLS13"},
        {"scheduler", "version", OFFER_WORDS, "true false raw"},
        {"scheduler", "config", OFFER_FILES, ""},
        {"scheduler", "kubeconfig", OFFER_FILES, ""},
        {"scheduler", "authentication-kubeconfig", OFFER_FILES, ""},
        {"scheduler", "write-config-to", OFFER_FILES, ""},
        {"scheduler", "explain-file", OFFER_FILES, ""},
        {"scheduler", "tls-private-key-file", OFFER_FILES, ""},
        {"scheduler", "allow-metric-labels-manifest", OFFER_FILES, ""},
        {"scheduler", "cert-dir", OFFER_DIRS, ""},
        {"scheduler", "master", OFFER_NOTHING, ""},
    };
    struct outline o;
    outline_init(&o, &commands);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct outline_flag *f = find(&o, rows[i].command, rows[i].flag);
        if (!f || f->offer != rows[i].offer || !str_is(f->words, rows[i].words))
            fail_msg("%s --%s", rows[i].command, rows[i].flag);
    }
    outline_release(&o);
}

static void test_lists(void **state)
{
    (void)state;
    struct outline o;
    outline_init(&o, &commands);
    const struct outline_flag *rows = find(&o, "bench", "row");
    assert_int_equal(rows->offer, OFFER_LIST);
    assert_true(str_starts(rows->words, STR("plain ")));
    const struct outline_flag *gates = find(&o, "scheduler", "feature-gates");
    struct str words = gates->words, word;
    size_t n = 0, lines = 0;
    assert_int_equal(gates->offer, OFFER_GATES);
    while (str_split(&words, ' ', &word)) {
        assert_true(word.n > 0);
        assert_int_equal(str_find(word, ':'), word.n);
        n++;
    }
    for (size_t i = 0; i < gates->options.n; i++)
        lines += gates->options.p[i] == '\n';
    assert_in_range(n, lines, lines + 1);
    assert_true(n > 100);
    assert_false(outline_needs_value(find(&o, "scheduler", "version")));
    assert_false(outline_needs_value(find(&o, "scheduler", "leader-elect")));
    assert_true(outline_needs_value(gates));
    outline_release(&o);
}

static void test_texts(void **state)
{
    (void)state;
    struct buf out = BUF_INIT;
    assert_true(str_is(outline_summary(STR("One thing. Another.")), "One thing"));
    assert_true(str_is(outline_summary(STR("One of:\na\nb")), "One of"));
    assert_true(str_is(outline_summary(STR("Of 1.36 alone.")), "Of 1.36 alone"));
    assert_true(str_is(outline_summary(STR("")), ""));
    outline_quote(&out, STR("it's [a]"), "'\\''", "[]");
    assert_string_equal(buf_cstr(&out), "it'\\''s \\[a\\]");
    buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_offers),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
