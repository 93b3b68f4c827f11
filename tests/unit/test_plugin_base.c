/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by plugins: normalizing, distinguishing keys, batches. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "plugins/common/go_math.h"
#include "plugins/common/plugin_base.h"
#include "prop.h"

/* --- normalizing ------------------------------------------------------------------------------ */

static int64_t any_score(struct rand *r)
{
    static const uint64_t spans[] = {2, 101, 100000, (uint64_t)1 << 46, (uint64_t)1 << 62};
    int64_t score = (int64_t)rand_below(r, spans[rand_below(r, ARRAY_LEN(spans))]);
    return rand_below(r, 20) ? score : -score;
}

/* A score that scales to just below an integer, where rounding would be visible. */
static int64_t awkward_score(struct rand *r, int64_t highest)
{
    return (1 + (int64_t)rand_below(r, 99)) * (highest % ((int64_t)1 << 56)) / 100;
}

/* The formula, in integers. */
static bool scales_by_the_letter(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    int64_t scores[100], before[100], highest = 0;
    bool reverse = rand_below(r, 2), ok = true;
    for (size_t i = 0; i < size; i++) {
        before[i] = scores[i] = i && rand_below(r, 2) ? awkward_score(r, before[0]) : any_score(r);
        highest = MAX(highest, scores[i]);
    }
    normalize_scores(scores, size, 100, reverse);
    for (size_t i = 0; i < size; i++) {
        int64_t scaled = highest ? go_mul(100, before[i]) / highest : before[i];
        int64_t want = !reverse ? scaled : highest ? go_sub(100, scaled) : 100;
        ok &= scores[i] == want;
    }
    return ok;
}

static void scores_are_scaled_to_the_highest(void **state)
{
    (void)state;
    int64_t scores[] = {0, 1, 2, 3};
    normalize_scores(scores, 4, 100, false);
    assert_int_equal(scores[0], 0);
    assert_int_equal(scores[1], 33);
    assert_int_equal(scores[2], 66);
    assert_int_equal(scores[3], 100);
    assert_true(prop_run("normalize_scores", 3000, scales_by_the_letter, NULL));
}

/* --- batches ---------------------------------------------------------------------------------- */

static void refused_nodes_are_reported_and_others_kept(void **state)
{
    (void)state;
    uint64_t feasible[2] = {0x0f, 0x3}, set[2] = {0x33, 0x1};
    uint8_t codes[128] = {0};
    berth_reason reasons[128] = {0};
    struct berth_columns columns = {.n = 70};
    struct berth_filter_batch batch = {sizeof(batch), &columns, feasible, codes, reasons};
    assert_true(sets_meet(feasible, set, 70));
    batch_refuse_set(&batch, set, BERTH_UNSCHEDULABLE, 7);
    assert_int_equal(feasible[0], 0x0c);
    assert_int_equal(feasible[1], 0x2);
    assert_int_equal(codes[0], BERTH_UNSCHEDULABLE);
    assert_int_equal(reasons[64], 7);
    assert_int_equal(codes[2], 0);
    assert_int_equal(codes[4], 0); /* was rejected before */
    assert_false(sets_meet(feasible, set, 70));
    batch_refuse_others(&batch, (uint64_t[]){0x04, 0x0}, BERTH_ERROR, 8);
    assert_int_equal(feasible[0], 0x04);
    assert_int_equal(feasible[1], 0);
    assert_int_equal(reasons[3], 8);
    assert_int_equal(reasons[65], 8);
    assert_int_equal(reasons[0], 7);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void parts_are_distinguished(void **state)
{
    (void)state;
    struct buf a = BUF_INIT, b = BUF_INIT;
    key_begin(&a, STR("q"));
    key_add(&a, STR("ab"));
    key_add(&a, STR(""));
    key_begin(&b, STR("q"));
    key_add(&b, STR("a"));
    key_add(&b, STR("b"));
    assert_false(str_eq(buf_str(&a), buf_str(&b)));
    key_begin(&b, STR("q"));
    key_add(&b, STR("ab"));
    key_add(&b, STR(""));
    assert_true(str_eq(buf_str(&a), buf_str(&b)));
    buf_release(&a);
    buf_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_scaled_to_the_highest),
        cmocka_unit_test(refused_nodes_are_reported_and_others_kept),
        cmocka_unit_test(parts_are_distinguished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
