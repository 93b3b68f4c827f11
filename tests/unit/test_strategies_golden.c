/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Defaults, validation and warnings against upstream's: tests/golden/validation has objects and
 * mutations of them with the errors that upstream finds (tests/kube/cmd/validation).
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <dirent.h>

#include "apiserver/strategies/field_checks.h"
#include "apiserver/strategies/strategy.h"
#include "golden.h"

#define DIR_NAME  "tests/golden/validation"
#define MAX_SHOWN 40

static struct resources *resources;

struct run {
    const struct json_value *messages;
    const struct resource *r;
    const struct strategy *strategy;
    size_t cases, wrong;
    struct arena arena;
};

/* --- changes ---------------------------------------------------------------------------------- */

/* The next name of a JSON pointer, without its escapes. */
static struct str next_name(struct str *rest, struct arena *a)
{
    struct str name = {0};
    struct buf b = BUF_INIT;

    str_split(rest, '/', &name);
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '~' && i + 1 < name.n)
            buf_add_char(&b, name.p[++i] == '1' ? '/' : '~');
        else
            buf_add_char(&b, name.p[i]);
    }
    name = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return name;
}

static void mutate(struct json_value *at, struct str path, const struct json_value *value,
                   struct arena *a)
{
    struct str name;

    path = str_slice(path, 1, path.n);
    for (;;) {
        bool last;
        int64_t i = 0;

        name = next_name(&path, a);
        last = path.p == NULL;
        if (at->kind == JSON_ARRAY) {
            assert_true(str_to_i64(name, &i));
            if (last && !value) {
                json_remove_item(at, (size_t)i);
                return;
            }
            at = (size_t)i < at->n ? &at->items[i] : json_append(at, json_object(), a);
        } else {
            if (last && !value) {
                json_remove(at, name);
                return;
            }
            at = json_member(at, name) ? json_member(at, name)
                                       : json_set(at, name, json_object(), a);
        }
        if (last) {
            *at = json_copy(value, a);
            return;
        }
    }
}

/* --- what the registry does with an object ---------------------------------------------------- */

static void prepare(const struct run *run, struct json_value *object, struct arena *a)
{
    const struct strategy *s = run->strategy;

    if (s->set_defaults)
        s->set_defaults(object, a);
    if (s->prepare_create)
        s->prepare_create(object, a);
    else if (!s->no_status)
        json_remove(object, STR("status"));
}

static void identify(struct json_value *object, struct arena *a)
{
    json_set_at(object, "metadata.uid", json_text(STR("u")), a);
    json_set_at(object, "metadata.resourceVersion", json_text(STR("1")), a);
}

static struct field_errors create_errors(const struct run *run, struct json_value *object,
                                         struct arena *a)
{
    struct field_errors errors = {.arena = a};

    prepare(run, object, a);
    metadata_validate(run->r, object, &errors);
    if (run->strategy->validate)
        run->strategy->validate(object, &errors);
    return errors;
}

static struct field_errors update_errors(const struct run *run, struct json_value *object,
                                         struct json_value *old, struct arena *a)
{
    const struct strategy *s = run->strategy;
    struct field_errors errors = {.arena = a};
    const struct json_value *status;

    prepare(run, old, a);
    identify(old, a);
    if (s->set_defaults)
        s->set_defaults(object, a);
    identify(object, a);
    status = json_get(old, STR("status"));
    if (s->prepare_update)
        s->prepare_update(object, old, a);
    else if (!s->no_status && status)
        json_set(object, STR("status"), *status, a);
    else if (!s->no_status)
        json_remove(object, STR("status"));
    metadata_validate_update(run->r, object, old, &errors);
    if (s->validate)
        s->validate(object, &errors);
    if (s->validate_update)
        s->validate_update(object, old, &errors);
    return errors;
}

static struct field_errors status_errors(const struct run *run, struct json_value *object,
                                         struct json_value *old, struct arena *a)
{
    struct field_errors errors = {.arena = a};
    struct json_value changed;
    const struct json_value *status = json_get(object, STR("status"));

    prepare(run, old, a);
    identify(old, a);
    changed = json_copy(old, a);
    if (status)
        json_set(&changed, STR("status"), *status, a);
    if (run->strategy->set_defaults)
        run->strategy->set_defaults(&changed, a);
    metadata_validate_update(run->r, &changed, old, &errors);
    if (run->strategy->validate_status)
        run->strategy->validate_status(&changed, old, &errors);
    return errors;
}

/* --- comparison ------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

/* The errors as lines; sorted if their order does not count. */
static struct str lines(struct str *v, size_t n, bool sort, struct arena *a)
{
    struct buf b = BUF_INIT;
    struct str text;

    if (sort && n > 0)
        qsort(v, n, sizeof(*v), by_text);
    for (size_t i = 0; i < n; i++)
        if (!sort || i == 0 || !str_eq(v[i], v[i - 1]))
            buf_add_printf(&b, "    %.*s\n", STR_ARG(v[i]));
    text = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return text;
}

/*
 * An error about an object that may not change shows upstream's whole internal struct; here it
 * shows the object. Only the rest of the message is compared.
 */
static struct str without_struct(struct str message, struct arena *a)
{
    struct str start = STR("Invalid value: "), end = STR(": field is immutable");
    char first = message.n > start.n ? message.p[start.n] : 0;

    if (!str_starts(message, start) || !str_ends(message, end) || first == '"')
        return message;
    return arena_printf(a, "%.*s{}%.*s", STR_ARG(start), STR_ARG(end));
}

static struct str expected_lines(const struct run *run, const struct json_value *list, bool sort,
                                 struct arena *a)
{
    size_t n = list ? list->n / 2 : 0;
    struct str *v = arena_array(a, struct str, n);

    for (size_t i = 0; i < n; i++) {
        int64_t m = -1;

        assert_true(str_to_i64(list->items[2 * i + 1].text, &m));
        v[i] = arena_printf(a, "%.*s: %.*s", STR_ARG(list->items[2 * i].text),
                            STR_ARG(without_struct(run->messages->items[m].text, a)));
    }
    return lines(v, n, sort, a);
}

/* A diff may follow. */
static struct str first_line(struct str text)
{
    return str_slice(text, 0, str_find(text, '\n'));
}

static struct str found_lines(const struct field_errors *errors, bool sort, struct arena *a)
{
    struct str *v = arena_array(a, struct str, errors->n);

    for (size_t i = 0; i < errors->n; i++)
        v[i] = arena_printf(a, "%.*s: %.*s", STR_ARG(errors->v[i].field),
                            STR_ARG(without_struct(first_line(errors->v[i].message), a)));
    return lines(v, errors->n, sort, a);
}

static void compare(struct run *run, const struct json_value *c, const char *verb,
                    const struct field_errors *errors)
{
    /* Updates are checked in one order for all kinds; upstream's kinds differ. */
    bool sort = json_bool_at(c, "x", false) || verb[0] != 'c';
    struct arena *a = errors->arena;
    struct str want = expected_lines(run, json_get(c, str_of(verb)), sort, a);
    struct str have = found_lines(errors, sort, a);
    const struct json_value *value = json_get(c, STR("v"));
    struct buf text = BUF_INIT;

    run->cases++;
    if (str_eq(want, have))
        return;
    if (value)
        json_write(value, &text);
    if (run->wrong++ < MAX_SHOWN)
        fprintf(stderr, "%.*s %s %.*s = %.*s\n  upstream:\n%.*s  here:\n%.*s",
                STR_ARG(run->r->kind), verb, STR_ARG(json_get_text(c, STR("p"))),
                STR_ARG(buf_str(&text)), STR_ARG(want), STR_ARG(have));
    buf_release(&text);
}

static struct str warnings_of(const struct run *run, const struct json_value *object,
                              struct arena *a)
{
    struct buf b = BUF_INIT;
    struct str rest, line, *v;
    struct str text;
    size_t n = 0;

    if (run->strategy->warn)
        run->strategy->warn(object, &b, a);
    v = arena_array(a, struct str, b.n);
    rest = buf_str(&b);
    while (rest.n > 0 && str_split(&rest, '\n', &line))
        if (line.n > 0)
            v[n++] = arena_dup(a, line);
    text = lines(v, n, true, a);
    buf_release(&b);
    return text;
}

static void compare_warnings(struct run *run, const struct json_value *list, struct str path,
                             const struct json_value *object, struct arena *a)
{
    size_t n = list ? list->n : 0;
    struct str *v = arena_array(a, struct str, n), want, have;

    for (size_t i = 0; i < n; i++)
        v[i] = list->items[i].text;
    want = lines(v, n, true, a);
    have = warnings_of(run, object, a);
    run->cases++;
    if (!str_eq(want, have) && run->wrong++ < MAX_SHOWN)
        fprintf(stderr, "%.*s warnings %.*s\n  upstream:\n%.*s  here:\n%.*s", STR_ARG(run->r->kind),
                STR_ARG(path), STR_ARG(want), STR_ARG(have));
}

static void run_case(struct run *run, const struct json_value *input, const struct json_value *c,
                     const struct json_value *warnings)
{
    struct str path = json_get_text(c, STR("p"));
    const struct json_value *value = json_get(c, STR("v"));
    struct json_value object, old;
    struct field_errors errors;
    struct arena a;

    arena_init(&a, 4096);
    object = json_copy(input, &a);
    mutate(&object, path, value, &a);
    errors = create_errors(run, &object, &a);
    compare(run, c, "c", &errors);
    if (!json_get(c, STR("c")))
        compare_warnings(run, json_get(c, STR("w")) ? json_get(c, STR("w")) : warnings, path,
                         &object, &a);
    if (!str_starts(path, STR("/metadata"))) {
        old = json_copy(input, &a);
        object = json_copy(input, &a);
        mutate(&object, path, value, &a);
        errors = update_errors(run, &object, &old, &a);
        compare(run, c, "u", &errors);
    }
    if (str_starts(path, STR("/status")) && resource_subresource(run->r, STR("status"))) {
        old = json_copy(input, &a);
        object = json_copy(input, &a);
        mutate(&object, path, value, &a);
        errors = status_errors(run, &object, &old, &a);
        compare(run, c, "s", &errors);
    }
    arena_release(&a);
}

/* The registry sets these. */
static void strip(struct json_value *object)
{
    struct json_value *meta = json_member(object, STR("metadata"));

    json_remove(meta, STR("creationTimestamp"));
    json_remove(meta, STR("generation"));
}

static void run_object(struct run *run, const struct json_value *entry)
{
    const struct json_value *input = json_get(entry, STR("input"));
    struct json_value want = json_copy(json_get(entry, STR("object")), &run->arena);
    struct json_value object = json_copy(input, &run->arena);
    const struct json_value *warnings = json_get(entry, STR("warnings"));
    struct json_items cases = json_items_at(entry, "cases");

    run->r = resources_find_kind(resources, json_get_text(input, STR("apiVersion")),
                                 json_get_text(input, STR("kind")));
    assert_non_null(run->r);
    run->strategy = strategy_find(run->r);
    assert_non_null(run->strategy);
    prepare(run, &object, &run->arena);
    strip(&want);
    strip(&object);
    run->cases++;
    if (!field_equal(&want, &object)) {
        struct buf b = BUF_INIT;

        run->wrong++;
        json_write(&want, &b);
        buf_add_cstr(&b, "\n  here:\n");
        json_write(&object, &b);
        fprintf(stderr, "%.*s defaults\n  upstream:\n%s\n", STR_ARG(run->r->kind), buf_cstr(&b));
        buf_release(&b);
    }
    compare_warnings(run, warnings, STR(""), &object, &run->arena);
    for (size_t i = 0; i < cases.n; i++)
        run_case(run, input, &cases.v[i], warnings);
}

static size_t run_file(const char *name)
{
    struct json_value root;
    struct run run = {0};
    struct json_items objects;

    arena_init(&run.arena, 1 << 16);
    root = golden_tree(arena_printf(&run.arena, "validation/%s", name).p, &run.arena);
    run.messages = json_get(&root, STR("messages"));
    objects = json_items_at(&root, "objects");
    for (size_t i = 0; i < objects.n; i++)
        run_object(&run, &objects.v[i]);
    print_message("%s: %zu of %zu differ\n", name, run.wrong, run.cases);
    assert_true(run.cases > 0);
    arena_release(&run.arena);
    return run.wrong;
}

static void test_golden(void **state)
{
    const char *only = getenv("BERTH_TEST_VALIDATION");
    DIR *dir = opendir(DIR_NAME);
    size_t wrong = 0;
    (void)state;

    assert_non_null(dir);
    resources = resources_new();
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (str_ends(str_of(e->d_name), STR(".json")) && (!only || strstr(e->d_name, only)))
            wrong += run_file(e->d_name);
    closedir(dir);
    resources = resources_free(resources);
    assert_int_equal(wrong, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
