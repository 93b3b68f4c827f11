/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/types/api_status.h"

static const struct resource pods = {.plural = STR_INIT("pods"), .kind = STR_INIT("Pod")};
static const struct resource deployments = {
    .group = STR_INIT("apps"), .plural = STR_INIT("deployments"), .kind = STR_INIT("Deployment")};

static void check(const struct api_status *s, const char *json)
{
    struct buf out = BUF_INIT;

    api_status_write(s, &out);
    assert_string_equal(buf_cstr(&out), json);
    buf_release(&out);
}

#define HEAD "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Failure\","

static void test_errors(void **state)
{
    struct arena a;
    struct api_status s;
    (void)state;

    arena_init(&a, 0);
    assert_int_equal(status_not_found(&s, &pods, STR("a\"b"), &a), 404);
    check(&s, HEAD "\"message\":\"pods \\\"a\\\\\\\"b\\\" not found\",\"reason\":\"NotFound\","
                   "\"details\":{\"name\":\"a\\\"b\",\"kind\":\"pods\"},\"code\":404}");
    assert_int_equal(status_already_exists(&s, &deployments, STR("web"), &a), 409);
    check(&s, HEAD "\"message\":\"deployments.apps \\\"web\\\" already exists\","
                   "\"reason\":\"AlreadyExists\",\"details\":{\"name\":\"web\",\"group\":\"apps\","
                   "\"kind\":\"deployments\"},\"code\":409}");
    status_conflict(&s, &deployments, STR("web"), STR("why"), &a);
    assert_string_equal(s.message.p,
                        "Operation cannot be fulfilled on deployments.apps \"web\": why");
    status_forbidden(&s, &pods, STR(""), STR("no"), &a);
    assert_string_equal(s.message.p, "pods is forbidden: no");
    status_forbidden(&s, &pods, STR("x"), STR("no"), &a);
    assert_string_equal(s.message.p, "pods \"x\" is forbidden: no");
    assert_int_equal(status_of(&s, 410, &a, "too old: %d", 7), 410);
    check(&s, HEAD "\"message\":\"too old: 7\",\"reason\":\"Expired\",\"code\":410}");
    status_of(&s, 500, &a, "disk");
    check(&s, HEAD "\"message\":\"Internal error occurred: disk\",\"reason\":\"InternalError\","
                   "\"details\":{\"causes\":[{\"message\":\"disk\"}]},\"code\":500}");
    status_of(&s, 429, &a, "slow");
    s.retry_after = 10;
    check(&s, HEAD "\"message\":\"slow\",\"reason\":\"TooManyRequests\","
                   "\"details\":{\"retryAfterSeconds\":10},\"code\":429}");
    arena_release(&a);
}

static void test_success(void **state)
{
    struct api_status s = {.name = STR_INIT("x"), .kind = STR_INIT("pods"), .uid = STR_INIT("u")};
    (void)state;

    check(&s, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},\"status\":\"Success\","
              "\"details\":{\"name\":\"x\",\"kind\":\"pods\",\"uid\":\"u\"}}");
}

static void test_field_errors(void **state)
{
    static const char *const policies[] = {"Always", "Never", NULL};
    struct arena a;
    struct api_status s;
    (void)state;

    arena_init(&a, 0);
    struct field_errors errors = {.arena = &a};
    struct field_path spec = field_child(NULL, "spec"), list = field_child(&spec, "containers");
    struct field_path item = field_index(&list, 2), name = field_child(&item, "name");
    struct field_path labels = field_child(&spec, "nodeSelector");
    struct field_path key = field_key(&labels, STR("a/b"));
    struct json_value text = json_text(STR("A\n\"\x01\xff\xc3\xa9")), number = json_int(-3, &a);

    field_error(&errors, FIELD_REQUIRED, &name, NULL, "%s", "");
    status_invalid(&s, STR(""), STR("Pod"), STR("p"), &errors);
    assert_string_equal(s.message.p,
                        "Pod \"p\" is invalid: spec.containers[2].name: Required value");

    field_error(&errors, FIELD_INVALID, &key, &text, "must be %s", "good");
    field_error(&errors, FIELD_INVALID, &name, &number, "low");
    field_error(&errors, FIELD_INVALID, &name, &number, "low");
    field_not_supported(&errors, &name, &text, policies);
    field_error(&errors, FIELD_TOO_LONG, &name, &text, "may not be more than 3 bytes");
    assert_int_equal(status_invalid(&s, STR("apps"), STR("ReplicaSet"), STR("r"), &errors), 422);
    assert_string_equal(
        s.message.p,
        "ReplicaSet.apps \"r\" is invalid: [spec.containers[2].name: Required value, "
        "spec.nodeSelector[a/b]: Invalid value: \"A\\n\\\"\\x01\\xff\xc3\xa9\": must be good, "
        "spec.containers[2].name: Invalid value: -3: low, "
        "spec.containers[2].name: Unsupported value: \"A\\n\\\"\\x01\\xff\xc3\xa9\": supported "
        "values: \"Always\", \"Never\", "
        "spec.containers[2].name: Too long: may not be more than 3 bytes]");
    assert_int_equal(s.n_causes, 6);
    assert_string_equal(s.causes[0].reason.p, "FieldValueRequired");
    assert_string_equal(s.causes[0].message.p, "Required value");
    assert_string_equal(s.causes[1].field.p, "spec.nodeSelector[a/b]");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_success),
        cmocka_unit_test(test_field_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
