/* SPDX-License-Identifier: Apache-2.0 */
/* The annotations that say how pods live: kubelets.h lists them. */
#include "apiserver/kubelet/kubelets_internal.h"

/* Ten years, so that sums with a point in time do not overflow. */
#define DURATION_MAX (INT64_C(10) * 365 * 86400 * NSEC_PER_SEC)

const struct life kubelet_life_default = {.run_time = LIFE_FOREVER};

static struct str find(const struct json_value *annotations, const char *name, struct str suffix,
                       struct arena *a)
{
    struct str key = arena_printf(a, "berth.dev/%s%.*s", name, STR_ARG(suffix));
    return json_get_text(annotations, key);
}

static bool read_duration(struct str text, int64_t *ret)
{
    int64_t ns;
    if (str_empty(text) || !duration_parse(text, &ns) || ns < 0)
        return false;
    *ret = MIN(ns, DURATION_MAX);
    return true;
}

static void read_code(struct str text, int *ret)
{
    int64_t code;
    if (!str_empty(text) && str_to_i64(text, &code) && code >= 0 && code <= 255)
        *ret = (int)code;
}

/* Most objects have none of these annotations: they are not looked up one by one. */
static bool has_any(const struct json_value *annotations)
{
    if (!annotations || annotations->kind != JSON_OBJECT)
        return false;
    for (size_t i = 0; i < annotations->n_members; i++)
        if (str_starts(annotations->members[i].key, STR("berth.dev/")))
            return true;
    return false;
}

void kubelet_life_read(struct life *life, const struct json_value *annotations, struct str suffix,
                       struct arena *a)
{
    if (!has_any(annotations))
        return;
    read_duration(find(annotations, "start-delay", suffix, a), &life->start_delay);
    read_duration(find(annotations, "init-run-time", suffix, a), &life->init_run_time);
    if (read_duration(find(annotations, "run-time", suffix, a), &life->run_time))
        life->run_time_set = true;
    read_duration(find(annotations, "ready-delay", suffix, a), &life->ready_delay);
    struct str stop = find(annotations, "stop-delay", suffix, a);
    if (str_is(stop, "grace"))
        life->stop_delay = INT64_MAX;
    else
        read_duration(stop, &life->stop_delay);
    read_code(find(annotations, "init-exit-code", suffix, a), &life->init_exit_code);
    read_code(find(annotations, "exit-code", suffix, a), &life->exit_code);
}
