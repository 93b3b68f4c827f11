/* SPDX-License-Identifier: Apache-2.0 */
/* The process's own families, the flags of a registry, and users as the endpoints count them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/time.h"
#include "cmd/scheduler/metrics_flags.h"
#include "objects.h"
#include "serve/process_metrics.h"
#include "serve/serving_metrics.h"

/* The number after `what` at the beginning of a line; NaN if none. */
static double number(struct metrics *m, const char *what)
{
    struct buf page = BUF_INIT, line = BUF_INIT;
    double value = strtod("nan", NULL);
    buf_add_printf(&line, "\n%s ", what);
    metrics_write(m, &page);
    const char *at = strstr(buf_cstr(&page), buf_cstr(&line));
    if (at)
        value = strtod(at + line.n, NULL);
    buf_release(&page);
    buf_release(&line);
    return value;
}

static bool is_there(struct metrics *m, const char *what)
{
    double value = number(m, what);
    return value == value;
}

static void the_process_is_seen(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    process_metrics_add(m);
    process_metrics_add(m); /* must be idempotent */
    double now = (double)time_wall() / 1e9;
    assert_true(number(m, "process_start_time_seconds") <= now);
    assert_true(number(m, "process_start_time_seconds") > now - 3600);
    assert_true(number(m, "process_start_time_seconds") == process_start_time());
    assert_true(number(m, "process_resident_memory_bytes") > 1 << 18);
    assert_true(number(m, "process_virtual_memory_bytes") >
                number(m, "process_resident_memory_bytes"));
    assert_true(number(m, "go_threads") >= 1);
    assert_true(number(m, "go_goroutines") == number(m, "go_threads"));
    assert_true(number(m, "process_cpu_seconds_total") >= 0);
    double before = number(m, "process_open_fds");
    int fd = dup(0);
    assert_true(fd >= 0);
    assert_true(number(m, "process_open_fds") == before + 1);
    close(fd);
    assert_true(number(m, "process_max_fds") > before);
    assert_true(is_there(m, "process_network_receive_bytes_total"));
    assert_true(is_there(m, "process_network_transmit_bytes_total"));
    metrics_free(m);
}

static void heap_that_is_taken_shows(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* another allocator */
#else
    struct metrics *m = metrics_new();
    process_metrics_add(m);
    double before = number(m, "go_memstats_heap_alloc_bytes");
    void *some = xcalloc(1, 32 << 20);
    assert_true(number(m, "go_memstats_heap_alloc_bytes") >= before + (32 << 20));
    assert_true(number(m, "go_memstats_heap_sys_bytes") >=
                number(m, "go_memstats_heap_alloc_bytes"));
    free(some);
    metrics_free(m);
#endif
}

static void the_build_is_named(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct features features;
    features_default(&features);
    features_emulate(&features, (struct kube_version){1, 35}, (struct kube_version){1, 34});
    build_metrics_add(m, &features, STR("v1.36.3+mine"));
    struct buf page = BUF_INIT;
    metrics_write(m, &page);
    assert_non_null(
        strstr(buf_cstr(&page), json_quotes("git_version='v1.36.3+mine',go_version='none',"
                                            "major='1',minor='36',platform='linux/")));
    assert_non_null(strstr(
        buf_cstr(&page), json_quotes("version_info{binary='1.36.3+mine',component='kube',emulation="
                                     "'1.35',min_compat='1.34'} 1\n")));
    assert_non_null(strstr(buf_cstr(&page), json_quotes("{name='AllAlpha',stage='ALPHA'} 0\n")));
    assert_non_null(
        strstr(buf_cstr(&page), json_quotes("{name='AnyVolumeDataSource',stage=''} 1\n")));
    /* Not before 1.36. */
    assert_null(strstr(buf_cstr(&page), json_quotes("'CRIListStreaming'")));
    buf_release(&page);
    metrics_free(m);
}

/* --- flags ------------------------------------------------------------------------------------ */

static struct metrics *of_flags(struct metrics_flags flags)
{
    struct scheduler_options options = {.metrics = flags};
    struct features features;
    features_default(&features);
    if (!options.metrics.allow_labels_manifest)
        options.metrics.allow_labels_manifest = "";
    options.metrics.show_hidden_for_version = "";
    return metrics_of_flags(&options, &features);
}

static void flags_rule_the_registry(void **state)
{
    (void)state;
    struct str disabled[] = {STR_INIT("version_info")};
    struct str key = STR_INIT("kubernetes_feature_enabled,stage");
    struct str value = STR_INIT("ALPHA,BETA");
    struct metrics *m = of_flags((struct metrics_flags){
        .disabled = {.list = {disabled, 1}},
        .allow_labels = {.keys = {&key, 1}, .values = {&value, 1}, .changed = true}});
    assert_true(number(m, "disabled_metrics_total") == 1);
    assert_true(number(m, "hidden_metrics_total") == 1);
    struct buf page = BUF_INIT;
    metrics_write(m, &page);
    assert_null(strstr(buf_cstr(&page), "version_info{"));
    assert_non_null(strstr(buf_cstr(&page), json_quotes("{name='AllAlpha',stage='ALPHA'} 0\n")));
    assert_non_null(strstr(buf_cstr(&page),
                           json_quotes("{name='AnyVolumeDataSource',stage='unexpected'} 1\n")));
    assert_null(strstr(buf_cstr(&page), json_quotes("stage=''")));
    buf_release(&page);
    metrics_free(m);
}

static void a_manifest_does_the_same(void **state)
{
    (void)state;
    char path[] = "/tmp/berth-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    const char *text = "\"kubernetes_feature_enabled,stage\": \"ALPHA\"\n";
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    struct metrics *m = of_flags((struct metrics_flags){.allow_labels_manifest = path});
    assert_true(number(m, "cardinality_enforcement_unexpected_categorizations_total") > 100);
    metrics_free(m);
    unlink(path);
}

/* --- users ------------------------------------------------------------------------------------ */

static void users_are_counted(void **state)
{
    (void)state;
    struct metrics *m = metrics_new();
    struct serving_metrics *s = serving_metrics_of(m);
    static const char *const names[] = {"admin", "jane", "jane@example.com", "system:anonymous"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct user_info user = {.username = str_of(names[i])};
        serving_metrics_authn(s, AUTHN_OK, &user, NSEC_PER_MSEC);
    }
    serving_metrics_authn(s, AUTHN_REFUSED, NULL, 2 * NSEC_PER_SEC);
    serving_metrics_authn(NULL, AUTHN_OK, NULL, 0);
    static const enum authz_verdict verdicts[] = {AUTHZ_ALLOWED, AUTHZ_FORBIDDEN, AUTHZ_DENIED,
                                                  AUTHZ_FAILED, AUTHZ_BUSY};
    for (size_t i = 0; i < ARRAY_LEN(verdicts); i++)
        serving_metrics_authz(s, verdicts[i], 0);
    serving_metrics_authz(NULL, AUTHZ_ALLOWED, 0);
    static const struct {
        const char *what;
        double want;
    } rows[] = {
        {"authenticated_user_requests{username='admin'}", 1},
        {"authenticated_user_requests{username='email_id'}", 1},
        {"authenticated_user_requests{username='other'}", 2},
        {"authentication_attempts{result='success'}", 4},
        {"authentication_attempts{result='error'}", 1},
        {"authentication_duration_seconds_bucket{result='success',le='0.001'}", 4},
        {"authentication_duration_seconds_bucket{result='error',le='1.024'}", 0},
        {"authentication_duration_seconds_bucket{result='error',le='2.048'}", 1},
        {"authorization_attempts_total{result='allowed'}", 1},
        {"authorization_attempts_total{result='no-opinion'}", 1},
        {"authorization_attempts_total{result='denied'}", 1},
        {"authorization_attempts_total{result='error'}", 2},
        {"apiserver_audit_event_total", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (number(m, json_quotes(rows[i].what)) != rows[i].want)
            fail_msg("%s: %g", rows[i].what, number(m, json_quotes(rows[i].what)));
    metrics_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_process_is_seen),      cmocka_unit_test(heap_that_is_taken_shows),
        cmocka_unit_test(the_build_is_named),       cmocka_unit_test(flags_rule_the_registry),
        cmocka_unit_test(a_manifest_does_the_same), cmocka_unit_test(users_are_counted),
    };
    return cmocka_run_group_tests_name("process_metrics", tests, NULL, NULL);
}
