/* SPDX-License-Identifier: Apache-2.0 */
/* Another configuration for a running engine: what changes, what stays, what is in flight. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/pool.h"
#include "base/time.h"
#include "cluster_life.h"
#include "engine/rooms.h"
#include "plugins/registry.h"
#include "prop.h"

/* --- a plugin that knows its instance --------------------------------------------------------- */

struct probe {
    int number; /* in order of creation */
    const struct berth_host *host;
    struct berth_handle *handle;
    char args[64];
};

static int n_created, n_destroyed;
static struct probe *newest;
static struct buf calls; /* "filter#1 permit#1 …" */

static bool told(const struct probe *p, const char *what)
{
    return strstr(p->args, what) != NULL;
}

static void note(const void *self, const char *what)
{
    buf_add_printf(&calls, "%s%s#%d", calls.n ? " " : "", what,
                   ((const struct probe *)self)->number);
}

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    struct probe *p = xnew(struct probe);
    *p = (struct probe){.number = ++n_created, .host = host, .handle = h};
    snprintf(p->args, sizeof(p->args), "%.*s", (int)args.n, args.p);
    if (told(p, "fail")) {
        snprintf(error->text, sizeof(error->text), "told to fail");
        n_created--;
        free(p);
        return -1;
    }
    *ret_self = newest = p;
    return 0;
}

static void destroy(void *self)
{
    n_destroyed++;
    free(self);
}

static void events(void *self, struct berth_registrar *r)
{
    const struct probe *p = self;
    p->host->register_event(r, BERTH_RESOURCE_NODE, BERTH_ACTION_UPDATE_NODE_LABEL, NULL);
}

static enum berth_code pre_enqueue(void *self, const struct berth_pod *pod,
                                   struct berth_status *status)
{
    (void)pod, (void)status;
    return told(self, "gate") ? BERTH_UNSCHEDULABLE : BERTH_SUCCESS;
}

static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)cycle, (void)pod, (void)node;
    const struct probe *p = self;
    note(self, "filter");
    if (!told(self, "refuse"))
        return BERTH_SUCCESS;
    p->host->status_text(status, BERTH_STR("told to refuse"));
    return BERTH_UNSCHEDULABLE;
}

static enum berth_code permit(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                              struct berth_str node_name, int64_t *ret_timeout_ns,
                              struct berth_status *status)
{
    (void)cycle, (void)pod, (void)node_name, (void)status;
    note(self, "permit");
    *ret_timeout_ns = 60 * NSEC_PER_SEC;
    return told(self, "hold") ? BERTH_WAIT : BERTH_SUCCESS;
}

static enum berth_code pre_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                                struct berth_str node_name, berth_op op,
                                struct berth_status *status)
{
    (void)cycle, (void)pod, (void)node_name, (void)op, (void)status;
    note(self, "pre_bind");
    return BERTH_SUCCESS;
}

static void post_bind(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle, (void)pod, (void)node_name;
    note(self, "post_bind");
}

static void unreserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                      struct berth_str node_name)
{
    (void)cycle, (void)pod, (void)node_name;
    note(self, "unreserve");
}

static enum berth_code reserve(void *self, struct berth_cycle *cycle, const struct berth_pod *pod,
                               struct berth_str node_name, struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node_name, (void)status;
    return BERTH_SUCCESS;
}

static const struct berth_plugin probe_plugin = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_plugin),
    .name = "Probe",
    .create = create,
    .destroy = destroy,
    .events = events,
    .pre_enqueue = pre_enqueue,
    .filter = filter,
    .reserve = reserve,
    .unreserve = unreserve,
    .permit = permit,
    .pre_bind = pre_bind,
    .post_bind = post_bind,
};

/* The youngest first. */
static bool lifo_less(void *self, const struct berth_queued_pod *a,
                      const struct berth_queued_pod *b)
{
    const struct probe *p = self;
    return p->host->queued_since(a) > p->host->queued_since(b);
}

static const struct berth_plugin lifo_plugin = {
    .abi = BERTH_ABI,
    .struct_size = sizeof(struct berth_plugin),
    .name = "Lifo",
    .create = create,
    .destroy = destroy,
    .less = lifo_less,
};

static const struct berth_plugin *const plugins[] = {
    &priority_sort_plugin,      &lifo_plugin,           &probe_plugin, &node_name_plugin,
    &node_resources_fit_plugin, &default_binder_plugin, NULL};
static const struct plugin_ref defaults[] = {
    {STR_INIT("PrioritySort"), NULL},
    {STR_INIT("Probe"), NULL},
    {STR_INIT("NodeResourcesFit"), NULL},
    {STR_INIT("DefaultBinder"), NULL},
};
static const struct registry registry = {
    .plugins = plugins, .defaults = defaults, .n_defaults = ARRAY_LEN(defaults)};

/* --- fixtures --------------------------------------------------------------------------------- */

#define CONFIG                                     \
    "apiVersion: kubescheduler.config.k8s.io/v1\n" \
    "kind: KubeSchedulerConfiguration\n"
#define PROFILE(name, args)       \
    "- schedulerName: " name "\n" \
    "  pluginConfig:\n"           \
    "  - name: Probe\n"           \
    "    args: {does: \"" args "\"}\n"
#define DEFAULT(args) CONFIG "profiles:\n" PROFILE("default-scheduler", args)

static void begin(struct fixture *f, const char *config)
{
    n_created = n_destroyed = 0;
    buf_clear(&calls);
    fixture_init(f, config, &registry);
    ADD_NODE(f, .name = "n0", .cpu = "8", .memory = "8Gi");
}

static void end(struct fixture *f)
{
    fixture_release(f);
    assert_int_equal(n_created, n_destroyed);
    buf_release(&calls);
}

static struct reload_result reload(struct fixture *f, const char *config, void *owner)
{
    struct reload_result result = {0};
    struct err err = {0};
    struct fixture_reload options = {.config = config, .registry = &registry, .owner = owner};
    if (fixture_reload(f, &options, &result, &err) < 0)
        fail_msg("%s", err.msg);
    return result;
}

static void add(struct fixture *f, const char *name)
{
    ADD_POD(f, .name = name, .cpu = "1", .memory = "1Gi");
}

static struct engine_stats stats(const struct fixture *f)
{
    return engine_get_stats(f->engine);
}

static void assert_calls(const char *expected)
{
    assert_string_equal(buf_cstr(&calls), expected);
    buf_clear(&calls);
}

/* --- what takes effect ------------------------------------------------------------------------ */

static void next_cycle_has_new_instances(void **state)
{
    (void)state;
    struct fixture f;
    int first, second;
    begin(&f, DEFAULT("nothing"));
    add(&f, "a");
    fixture_settle(&f);
    assert_calls("filter#1 permit#1 pre_bind#1 post_bind#1");
    reload(&f, DEFAULT("nothing"), &first);
    assert_int_equal(n_destroyed, 1);
    assert_int_equal(f.retired.n, 1);
    assert_null(f.retired.v[0]); /* the owner of the first configuration is not known */
    add(&f, "b");
    fixture_settle(&f);
    assert_calls("filter#2 permit#2 pre_bind#2 post_bind#2");
    reload(&f, DEFAULT("nothing"), &second);
    assert_ptr_equal(f.retired.v[1], &first);
    assert_string_equal(fixture_node_of(&f, "b"), "n0");
    end(&f);
}

static const char *strategy(const char *type)
{
    static char text[512];
    snprintf(text, sizeof(text),
             CONFIG "profiles:\n- schedulerName: default-scheduler\n  plugins:\n"
                    "    multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation},"
                    "{name: PodTopologySpread}]}\n"
                    "  pluginConfig:\n  - name: NodeResourcesFit\n    args:\n"
                    "      scoringStrategy: {type: %s, resources: [{name: cpu, weight: 1}]}\n",
             type);
    return text;
}

static void scores_change_with_the_next_cycle(void **state)
{
    (void)state;
    struct fixture f;
    struct reload_result result;
    struct err err;
    fixture_init(&f, strategy("LeastAllocated"), NULL);
    ADD_NODE(&f, .name = "n0", .cpu = "8", .memory = "8Gi");
    ADD_NODE(&f, .name = "n1", .cpu = "8", .memory = "8Gi");
    ADD_POD(&f, .name = "full", .cpu = "4", .memory = "1Gi", .node = "n1");
    add(&f, "a");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "a"), "n0");
    assert_int_equal(fixture_reload(&f,
                                    &(struct fixture_reload){.config = strategy("MostAllocated")},
                                    &result, &err),
                     0);
    add(&f, "b");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "b"), "n1");
    fixture_release(&f);
}

static const char *affinity(const char *zone)
{
    static char text[512];
    snprintf(text, sizeof(text),
             CONFIG "profiles:\n- schedulerName: default-scheduler\n  pluginConfig:\n"
                    "  - name: NodeAffinity\n    args:\n      addedAffinity:\n"
                    "        requiredDuringSchedulingIgnoredDuringExecution:\n"
                    "          nodeSelectorTerms:\n          - matchExpressions:\n"
                    "            - {key: zone, operator: In, values: [%s]}\n",
             zone);
    return text;
}

/* Remembered results for nodes were those of the old arguments. */
static void answers_of_nodes_follow(void **state)
{
    (void)state;
    static const char *const zones[] = {"b", "a", "b", "b", "a"};
    struct fixture f;
    struct err err;
    fixture_init(&f, affinity("a"), NULL);
    for (char i = 'a'; i < 'c'; i++)
        ADD_NODE(&f, .name = textf("%c", i), .labels = textf("zone=%c", i), .cpu = "8",
                 .memory = "8Gi");
    for (size_t i = 0; i < ARRAY_LEN(zones); i++) {
        struct reload_result result;
        char name[] = {'p', (char)('0' + i), '\0'};
        struct fixture_reload to = {.config = affinity(zones[i])};
        assert_int_equal(fixture_reload(&f, &to, &result, &err), 0);
        add(&f, name);
        fixture_settle(&f);
        assert_string_equal(fixture_node_of(&f, name), zones[i]);
    }
    fixture_release(&f);
}

static void order_of_the_queue_follows(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("nothing"));
    for (char i = 'a'; i < 'h'; i++)
        add(&f, (char[]){i, '\0'});
    reload(&f,
           CONFIG "profiles:\n- schedulerName: default-scheduler\n  plugins:\n    queueSort:\n"
                  "      enabled: [{name: Lifo}]\n      disabled: [{name: PrioritySort}]\n",
           NULL);
    fixture_settle(&f);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(f.decisions.v[i][0], 'g' - (int)i);
    end(&f);
}

static void backoff_follows(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("refuse"));
    reload(&f,
           CONFIG "podInitialBackoffSeconds: 7\npodMaxBackoffSeconds: 9\nprofiles:\n" PROFILE(
               "default-scheduler", "refuse"),
           NULL);
    assert_int_equal(f.engine->queue.options.initial_backoff, 7 * NSEC_PER_SEC);
    assert_int_equal(f.engine->queue.options.max_backoff, 9 * NSEC_PER_SEC);
    end(&f);
}

static void threads_follow(void **state)
{
    (void)state;
    struct fixture f;
    struct reload_result result;
    struct err err;
    begin(&f, DEFAULT("nothing"));
    for (size_t n = 1; n < 4; n++) {
        struct pool *pool = pool_new(n);
        struct fixture_reload options = {
            .config = DEFAULT("nothing"), .registry = &registry, .pool = pool};
        assert_int_equal(fixture_reload(&f, &options, &result, &err), 0);
        assert_int_equal(f.engine->cycles.workers.n, n);
        add(&f, (char[]){(char)('a' + n), '\0'});
        fixture_settle(&f);
        reload(&f, DEFAULT("nothing"), NULL);
        pool_free(pool);
    }
    assert_int_equal(f.decisions.n, 3);
    end(&f);
}

/* --- pods in flight --------------------------------------------------------------------------- */

static void allow_all(void *ctx, struct berth_waiting_pod *w)
{
    const struct probe *p = ctx;
    p->host->waiting_allow(p->handle, w);
}

/* allow_by 1: the instance that holds it; 2: its successor. */
static void held_pod_ends_with_its_instance(int allow_by)
{
    struct fixture f;
    begin(&f, DEFAULT("hold"));
    add(&f, "a");
    fixture_schedule(&f);
    struct probe *old = newest;
    reload(&f, DEFAULT("nothing"), NULL);
    assert_int_equal(n_destroyed, 0);
    assert_int_equal(f.retired.n, 0);
    assert_int_equal(stats(&f).binding, 1);
    buf_clear(&calls);
    const struct probe *by = allow_by == 1 ? old : newest;
    by->host->waiting_pods(by->handle, allow_all, (void *)(uintptr_t)by);
    fixture_pass(&f, 1);
    fixture_settle(&f);
    assert_calls("pre_bind#1 post_bind#1");
    assert_string_equal(fixture_node_of(&f, "a"), "n0");
    assert_int_equal(n_destroyed, 1);
    assert_int_equal(f.retired.n, 1);
    end(&f);
}

static void old_instance_allows(void **state)
{
    (void)state;
    held_pod_ends_with_its_instance(1);
}

static void new_instance_allows(void **state)
{
    (void)state;
    held_pod_ends_with_its_instance(2);
}

static void held_pod_times_out_after_reload(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("hold"));
    add(&f, "a");
    fixture_schedule(&f);
    reload(&f, DEFAULT("nothing"), NULL);
    buf_clear(&calls);
    fixture_pass(&f, 61 * NSEC_PER_SEC);
    assert_int_equal(n_destroyed, 1);
    /* The plugin that rejected it is gone: it waits only for its backoff. */
    assert_int_equal(stats(&f).unschedulable, 0);
    fixture_settle(&f);
    assert_calls("unreserve#1 filter#2 permit#2 pre_bind#2 post_bind#2");
    end(&f);
}

static void held_pod_times_out_after_the_same(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("hold"));
    add(&f, "a");
    fixture_schedule(&f);
    reload(&f, DEFAULT("hold"), NULL);
    fixture_pass(&f, 61 * NSEC_PER_SEC);
    /* Unchanged: it waits for events of the plugin. */
    assert_int_equal(stats(&f).unschedulable, 1);
    end(&f);
}

static void many_generations_at_once(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("hold"));
    for (char i = 'a'; i < 'f'; i++) {
        add(&f, (char[]){i, '\0'});
        fixture_schedule(&f);
        reload(&f, DEFAULT("hold"), NULL);
    }
    assert_int_equal(n_created, 6);
    assert_int_equal(n_destroyed, 0);
    fixture_delete(&f, POD(.name = "c", .cpu = "1", .memory = "1Gi"));
    assert_int_equal(n_destroyed, 1);
    newest->host->waiting_pods(newest->handle, allow_all, newest);
    fixture_pass(&f, 1);
    fixture_settle(&f);
    assert_int_equal(n_destroyed, 5);
    assert_int_equal(f.retired.n, 5);
    end(&f);
}

/* --- invalid configurations ------------------------------------------------------------------- */

static void bad_one_changes_nothing(void **state)
{
    (void)state;
    static const char *const bad[] = {
        DEFAULT("fail"),
        CONFIG "profiles:\n" PROFILE("default-scheduler", "x") PROFILE("second", "fail"),
        CONFIG "profiles:\n- schedulerName: default-scheduler\n  plugins:\n    multiPoint:\n"
               "      enabled: [{name: Nobody}]\n",
    };
    struct fixture f;
    begin(&f, DEFAULT("nothing"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct reload_result result;
        struct err err = {0};
        struct fixture_reload options = {.config = bad[i], .registry = &registry};
        const struct setup *before = f.engine->framework.setup;
        assert_true(fixture_reload(&f, &options, &result, &err) < 0);
        assert_true(strlen(err.msg) > 10);
        assert_ptr_equal(f.engine->framework.setup, before);
        assert_int_equal(n_created - n_destroyed, 1);
        buf_clear(&calls);
        add(&f, (char[]){(char)('a' + i), '\0'});
        fixture_settle(&f);
        assert_calls("filter#1 permit#1 pre_bind#1 post_bind#1");
    }
    assert_int_equal(f.retired.n, 0);
    end(&f);
}

/* --- the queue -------------------------------------------------------------------------------- */

static void rejected_pods_are_tried_again_where_that_may_help(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("refuse"));
    add(&f, "a");
    fixture_schedule(&f);
    assert_int_equal(stats(&f).unschedulable, 1);
    /* The same again: no reason to retry. */
    assert_int_equal(reload(&f, DEFAULT("refuse"), NULL).moved, 0);
    assert_int_equal(stats(&f).unschedulable, 1);
    /* Other weights do not help it either. */
    assert_int_equal(
        reload(&f,
               CONFIG "profiles:\n- schedulerName: default-scheduler\n  plugins:\n    score:\n"
                      "      disabled: [{name: NodeResourcesFit}]\n"
                      "      enabled: [{name: NodeResourcesFit, weight: 5}]\n"
                      "  pluginConfig:\n  - {name: Probe, args: {does: refuse}}\n",
               NULL)
            .moved,
        0);
    assert_int_equal(reload(&f, DEFAULT("nothing"), NULL).moved, 1);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "a"), "n0");
    end(&f);
}

static void hints_are_those_of_new_instances(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("refuse"));
    add(&f, "a");
    fixture_schedule(&f);
    reload(&f, DEFAULT("refuse"), NULL);
    fixture_update(&f, NODE(.name = "n0", .cpu = "8", .memory = "8Gi"),
                   NODE(.name = "n0", .labels = "a=b", .cpu = "8", .memory = "8Gi"));
    assert_int_equal(stats(&f).unschedulable, 0);
    buf_clear(&calls);
    fixture_schedule(&f);
    assert_calls("filter#2");
    end(&f);
}

static void gates_are_asked_anew(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, DEFAULT("gate"));
    add(&f, "a");
    assert_int_equal(stats(&f).gated, 1);
    assert_int_equal(reload(&f, DEFAULT("gate"), NULL).moved, 0);
    assert_int_equal(stats(&f).gated, 1);
    assert_int_equal(reload(&f, DEFAULT("nothing"), NULL).moved, 1);
    assert_int_equal(stats(&f).gated, 0);
    assert_int_equal(stats(&f).active, 1);
    /* And an admitted pod is held by a new gate. */
    reload(&f, DEFAULT("gate"), NULL);
    assert_int_equal(stats(&f).gated, 1);
    assert_int_equal(stats(&f).active, 0);
    /* The gate is removed. */
    assert_int_equal(reload(&f,
                            CONFIG "profiles:\n- schedulerName: default-scheduler\n  plugins:\n"
                                   "    multiPoint: {disabled: [{name: Probe}]}\n",
                            NULL)
                         .moved,
                     1);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "a"), "n0");
    end(&f);
}

static void pods_of_a_profile_that_goes(void **state)
{
    (void)state;
    static const char two[] =
        CONFIG "profiles:\n" PROFILE("default-scheduler", "nothing") PROFILE("second", "hold");
    struct fixture f;
    begin(&f, two);
    ADD_POD(&f, .name = "held", .scheduler = "second", .containers = "{'name':'c'}");
    ADD_POD(&f, .name = "lost", .scheduler = "second", .containers = "{'name':'c'}");
    fixture_schedule(&f);
    assert_int_equal(stats(&f).binding, 2);
    ADD_POD(&f, .name = "waits", .scheduler = "second", .containers = "{'name':'c'}");
    ADD_POD(&f, .name = "stays", .cpu = "1", .memory = "1Gi");
    assert_int_equal(reload(&f, DEFAULT("nothing"), NULL).gone, 3);
    assert_int_equal(stats(&f).active, 1);
    assert_null(queue_get(&f.engine->queue, STR("waits")));
    /* Pods in flight are bound or dropped. */
    fixture_delete(&f, POD(.name = "lost", .scheduler = "second", .containers = "{'name':'c'}"));
    newest->host->waiting_pods(newest->handle, allow_all, newest);
    fixture_pass(&f, 1);
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "held"), "n0");
    assert_string_equal(fixture_node_of(&f, "stays"), "n0");
    assert_null(fixture_node_of(&f, "waits"));
    /* The profile is added again, and so is the pod at its next event. */
    reload(&f, CONFIG "profiles:\n" PROFILE("second", "nothing"), NULL);
    ADD_POD(&f, .name = "waits", .scheduler = "second", .containers = "{'name':'c'}");
    fixture_settle(&f);
    assert_string_equal(fixture_node_of(&f, "waits"), "n0");
    end(&f);
}

/* It started with one configuration, followed another, and the third does not have its profile. */
static void profile_goes_after_two_reloads(void **state)
{
    (void)state;
    static const char two[] =
        CONFIG "profiles:\n" PROFILE("default-scheduler", "nothing") PROFILE("second", "hold");
    struct fixture f;
    begin(&f, two);
    ADD_POD(&f, .name = "late", .scheduler = "second", .containers = "{'name':'c'}");
    ADD_POD(&f, .name = "lost", .scheduler = "second", .containers = "{'name':'c'}");
    fixture_schedule(&f);
    reload(&f, two, NULL);
    fixture_delete(&f, POD(.name = "lost", .scheduler = "second", .containers = "{'name':'c'}"));
    assert_int_equal(reload(&f, DEFAULT("nothing"), NULL).gone, 1);
    fixture_pass(&f, 61 * NSEC_PER_SEC);
    assert_non_null(fixture_last(&f, WRITE_EVENT, "late"));
    assert_int_equal(stats(&f).binding, 0);
    assert_null(queue_get(&f.engine->queue, STR("late")));
    end(&f);
}

static void a_binding_that_fails_after_its_profile_has_gone(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f, CONFIG "profiles:\n" PROFILE("second", "nothing"));
    ADD_POD(&f, .name = "a", .scheduler = "second", .containers = "{'name':'c'}");
    fixture_schedule(&f);
    reload(&f, DEFAULT("nothing"), NULL);
    fixture_answer(&f, fixture_binding(&f, "a"), 409, "no");
    assert_null(queue_get(&f.engine->queue, STR("a")));
    assert_int_equal(stats(&f).backoff + stats(&f).active + stats(&f).unschedulable, 0);
    assert_int_equal(f.retired.n, 1);
    /* Its profile is added again while it is in flight: so is the pod. */
    reload(&f, CONFIG "profiles:\n" PROFILE("second", "nothing"), NULL);
    ADD_POD(&f, .name = "a", .scheduler = "second", .containers = "{'name':'c'}");
    fixture_schedule(&f);
    reload(&f, DEFAULT("nothing"), NULL);
    reload(&f, CONFIG "profiles:\n" PROFILE("second", "nothing"), NULL);
    fixture_answer(&f, fixture_binding(&f, "a"), 409, "no");
    assert_non_null(queue_get(&f.engine->queue, STR("a")));
    fixture_settle(&f);
    end(&f);
}

/* --- extenders -------------------------------------------------------------------------------- */

static void attempt_at_an_extender_ends_with_it(void **state)
{
    (void)state;
    static const struct extender old = {.name = STR_INIT("http://old"), .filters = true};
    static const struct extender new = {
        .name = STR_INIT("http://new"), .prioritizes = true, .weight = 1};
    static const struct str kept[] = {STR_INIT("n0"), STR_INIT("n1")};
    struct extender_result both = {.kept = kept, .n_kept = 2}, none = {0};
    struct fixture f;
    struct reload_result result;
    struct err err;
    n_created = n_destroyed = 0;
    fixture_init_extenders(&f, &registry, &old, 1);
    ADD_NODE(&f, .name = "n0", .cpu = "8", .memory = "8Gi");
    ADD_NODE(&f, .name = "n1", .cpu = "8", .memory = "8Gi");
    add(&f, "a");
    fixture_schedule(&f);
    struct fixture_call *call = fixture_call(&f);
    assert_int_equal(call->verb, EXTENDER_FILTER);
    struct fixture_reload options = {.registry = &registry, .extenders = &new, .n_extenders = 1};
    assert_int_equal(fixture_reload(&f, &options, &result, &err), 0);
    assert_int_equal(f.retired.n, 0);
    fixture_extender_done(&f, call, &both);
    /* The new extender is not called for it. */
    assert_int_equal(f.calls.n, 1);
    fixture_settle(&f);
    assert_int_equal(f.retired.n, 1);
    assert_non_null(fixture_node_of(&f, "a"));
    /* If an attempt in flight fails, the pod is retried under the new configuration. */
    add(&f, "b");
    fixture_schedule(&f);
    assert_int_equal(fixture_call(&f)->verb, EXTENDER_PRIORITIZE);
    fixture_extender_done(&f, fixture_call(&f), &none);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "b"));
    fixture_release(&f);
    assert_int_equal(n_created, n_destroyed);
}

static void refused_by_an_extender_that_goes(void **state)
{
    (void)state;
    static const struct extender old = {.name = STR_INIT("http://old"), .filters = true};
    struct extender_result nothing = {0};
    struct fixture f;
    struct reload_result result;
    struct err err;
    n_created = n_destroyed = 0;
    fixture_init_extenders(&f, &registry, &old, 1);
    ADD_NODE(&f, .name = "n0", .cpu = "8", .memory = "8Gi");
    add(&f, "waits");
    fixture_schedule(&f);
    fixture_extender_done(&f, fixture_call(&f), &nothing);
    assert_int_equal(stats(&f).unschedulable, 1);
    add(&f, "asks");
    fixture_schedule(&f);
    struct fixture_call *call = fixture_call(&f);
    struct fixture_reload options = {.registry = &registry};
    assert_int_equal(fixture_reload(&f, &options, &result, &err), 0);
    assert_int_equal(result.moved, 1);
    fixture_extender_done(&f, call, &nothing);
    assert_int_equal(stats(&f).unschedulable, 0);
    fixture_settle(&f);
    assert_non_null(fixture_node_of(&f, "waits"));
    assert_non_null(fixture_node_of(&f, "asks"));
    fixture_release(&f);
    assert_int_equal(n_created, n_destroyed);
}

/* The number of names is limited, and every extender needs one. */
static void any_number_of_reloads(void **state)
{
    (void)state;
    struct fixture f;
    struct extender_result none = {0};
    begin(&f, DEFAULT("nothing"));
    for (int i = 0; i < 300; i++) {
        const char *name = textf("http://e%d", i);
        struct extender x = {.name = arena_dup(&f.arena, str_of(name)), .filters = true};
        struct fixture_reload options = {.registry = &registry, .extenders = &x, .n_extenders = 1};
        struct reload_result result;
        struct err err = {0};
        if (fixture_reload(&f, &options, &result, &err) < 0)
            fail_msg("%s", err.msg);
        add(&f, "a");
        fixture_schedule(&f);
        struct fixture_call *call = fixture_call(&f);
        if (call)
            fixture_extender_done(&f, call, &none);
        fixture_delete(&f, POD(.name = "a", .cpu = "1", .memory = "1Gi"));
    }
    assert_int_equal(f.retired.n, 300);
    struct buf explained = BUF_INIT;
    assert_true(engine_explain(f.engine, STR(""), STR(""), &explained) > 0);
    buf_release(&explained);
    end(&f);
}

/* --- the same configuration at random times --------------------------------------------------- */

static struct object *node_object(size_t i, int shape)
{
    return NODE(.name = textf("n%zu", i),
                .labels = textf("s=%d,kubernetes.io/hostname=n%zu,topology.kubernetes.io/zone=z%zu",
                                shape % 3, i, i % 3),
                .unschedulable = shape % 7 == 0, .cpu = textf("%d", 1 + shape % 4),
                .memory = "64Gi", .pods = "20",
                .taints = shape % 4 ? NULL : TAINTS({"t", .effect = "NoSchedule"}));
}

static uint64_t draw_pod(struct rand *r)
{
    return rand_u64(r) >> 8;
}

static struct object *pod_object(const struct life_pod *pod, size_t i)
{
    uint64_t s = pod->shape, wish = s / 13 % 5;
    bool gated = s % 11 == 0 && !pod->opened;
    return POD(.name = textf("p%zu", i), .uid = textf("u%zu", i),
               .labels = textf("app=%u", (unsigned)(s % 3)), .scheduler = s % 4 ? NULL : "second",
               .node = pod->node, .priority = (int)(s / 7 % 3),
               .cpu = textf("%um", 50 + (unsigned)(s / 29 % 900)), .gates = gated ? "g" : NULL,
               .node_selector = wish == 1 ? "s=1" : NULL,
               .tolerations = wish == 2 ? TOLERATIONS({"t", .op = "Exists"}) : NULL,
               .anti_affinity = wish == 3 ? TERMS({"kubernetes.io/hostname", "app=1"}) : NULL,
               .spread = wish == 4 ? SPREAD({"topology.kubernetes.io/zone", "app=2"}) : NULL);
}

static const struct life_kind kind = {.max_nodes = 40,
                                      .max_pods = 600,
                                      .n_shapes = 28,
                                      .one_leaves = 4,
                                      .node = node_object,
                                      .draw = draw_pod,
                                      .pod = pod_object,
                                      .pods_change = true};

static const char two_profiles[] =
    CONFIG "profiles:\n- schedulerName: default-scheduler\n- schedulerName: second\n"
           "  plugins:\n    multiPoint: {disabled: [{name: NodeResourcesBalancedAllocation}]}\n";

/* reload_one_in 0: never. */
static void run_life(uint64_t seed, size_t steps, uint64_t reload_one_in, struct buf *out)
{
    struct life l = {0};
    struct rand dice;
    fixture_init(&l.f, two_profiles, NULL);
    rand_seed(&l.r, seed);
    rand_seed(&dice, ~seed);
    life_begin(&l, &kind);
    for (size_t i = 0; i < steps; i++) {
        struct reload_result result;
        struct err err = {0};
        if (reload_one_in && rand_below(&dice, reload_one_in) == 0 &&
            fixture_reload(&l.f, &(struct fixture_reload){.config = two_profiles}, &result, &err) <
                0)
            fail_msg("%s", err.msg);
        life_step(&l);
    }
    life_write(&l, out);
    life_end(&l);
    fixture_release(&l.f);
}

static bool reloading_decides_nothing(struct rand *r, size_t size, void *ctx)
{
    (void)ctx;
    uint64_t seed = rand_u64(r);
    struct buf plain = BUF_INIT, reloaded = BUF_INIT;
    run_life(seed, size * 25, 0, &plain);
    run_life(seed, size * 25, 1 + rand_below(r, 20), &reloaded);
    bool same = str_eq(buf_str(&plain), buf_str(&reloaded));
    if (!same) {
        size_t at = 0;
        while (at < plain.n && at < reloaded.n && plain.p[at] == reloaded.p[at])
            at++;
        size_t from = at > 200 ? at - 200 : 0;
        print_error("without: %.*s\nwith: %.*s\n", (int)MIN(plain.n - from, (size_t)400),
                    plain.p + from, (int)MIN(reloaded.n - from, (size_t)400), reloaded.p + from);
    }
    buf_release(&plain);
    buf_release(&reloaded);
    return same;
}

/* A case in which every reload ran PreEnqueue again for a pod whose victims were being evicted. */
static void a_pod_stays_gated_by_the_same_plugin(void **state)
{
    (void)state;
    struct rand r;
    rand_seed(&r, UINT64_C(15291102133590758857) + 36);
    assert_true(reloading_decides_nothing(&r, 91, NULL));
}

static void the_same_configuration_decides_the_same(void **state)
{
    (void)state;
    assert_true(prop_run("reload", 40, reloading_decides_nothing, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_cycle_has_new_instances),
        cmocka_unit_test(scores_change_with_the_next_cycle),
        cmocka_unit_test(answers_of_nodes_follow),
        cmocka_unit_test(order_of_the_queue_follows),
        cmocka_unit_test(backoff_follows),
        cmocka_unit_test(threads_follow),
        cmocka_unit_test(old_instance_allows),
        cmocka_unit_test(new_instance_allows),
        cmocka_unit_test(held_pod_times_out_after_reload),
        cmocka_unit_test(held_pod_times_out_after_the_same),
        cmocka_unit_test(many_generations_at_once),
        cmocka_unit_test(bad_one_changes_nothing),
        cmocka_unit_test(rejected_pods_are_tried_again_where_that_may_help),
        cmocka_unit_test(hints_are_those_of_new_instances),
        cmocka_unit_test(gates_are_asked_anew),
        cmocka_unit_test(pods_of_a_profile_that_goes),
        cmocka_unit_test(profile_goes_after_two_reloads),
        cmocka_unit_test(a_binding_that_fails_after_its_profile_has_gone),
        cmocka_unit_test(attempt_at_an_extender_ends_with_it),
        cmocka_unit_test(refused_by_an_extender_that_goes),
        cmocka_unit_test(any_number_of_reloads),
        cmocka_unit_test(a_pod_stays_gated_by_the_same_plugin),
        cmocka_unit_test(the_same_configuration_decides_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
