/* SPDX-License-Identifier: Apache-2.0 */
/* What include/berth/plugin.h offers: values, arguments, listers, metrics, log, events, threads. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/pool.h"
#include "engine/cache/pod_info.h"
#include "engine/rooms.h"
#include "plugins/registry.h"
#include "puppet.h"

#define S(lit) BERTH_STR(lit)

/* --- a plugin that keeps what create is given ------------------------------------------------- */

struct resource_arg {
    struct berth_str name;
    int64_t weight;
};
struct probe_args {
    bool strict;
    int64_t size, timeout, memory;
    double ratio;
    struct berth_str mode, raw;
    struct berth_list resources, zones;
    struct {
        int64_t depth;
    } inner;
};

static const struct berth_arg resource_fields[] = {
    {.name = "name", .kind = BERTH_ARG_STRING, .flags = BERTH_ARG_REQUIRED | BERTH_ARG_NOT_EMPTY},
    {.name = "weight",
     .kind = BERTH_ARG_INT,
     .flags = BERTH_ARG_BOUNDED,
     .offset = offsetof(struct resource_arg, weight),
     .value = "1",
     .min = 1,
     .max = 100},
    {0},
};
static const struct berth_arg inner_fields[] = {
    {.name = "depth", .kind = BERTH_ARG_INT, .value = "7"},
    {0},
};
#define ARG(n, k, ...) \
    {.name = #n, .kind = (k), .offset = offsetof(struct probe_args, n), ##__VA_ARGS__}
static const struct berth_arg probe_table[] = {
    ARG(strict, BERTH_ARG_BOOL, .value = "true"),
    ARG(size, BERTH_ARG_INT, .flags = BERTH_ARG_BOUNDED, .value = "5", .min = 0, .max = 10),
    ARG(timeout, BERTH_ARG_DURATION, .value = "\"1m30s\""),
    ARG(memory, BERTH_ARG_QUANTITY),
    ARG(ratio, BERTH_ARG_DOUBLE, .flags = BERTH_ARG_BOUNDED, .value = "0.5", .min = 0, .max = 1),
    ARG(mode, BERTH_ARG_STRING, .value = "\"Least\"", .choices = "Least|Most"),
    ARG(raw, BERTH_ARG_JSON),
    ARG(resources, BERTH_ARG_LIST, .fields = resource_fields, .item = BERTH_ARG_OBJECT,
        .size = sizeof(struct resource_arg)),
    ARG(zones, BERTH_ARG_LIST, .item = BERTH_ARG_STRING, .size = sizeof(struct berth_str)),
    ARG(inner, BERTH_ARG_OBJECT, .fields = inner_fields),
    {0},
};

static struct {
    const struct berth_host *host;
    struct berth_handle *handle;
    struct berth_lister *racks, *pods, *services;
    struct probe_args args;
    enum berth_hint hint;
    struct buf seen;
} probe;

static const struct berth_watch rack_watch = {.struct_size = sizeof(struct berth_watch),
                                              .api_version = S("example.com/v1"),
                                              .kind = S("Rack"),
                                              .resource = S("racks")};

static int create(const struct berth_host *host, struct berth_handle *h, struct berth_str args,
                  void **ret_self, struct berth_error *error)
{
    (void)ret_self;
    probe.host = host;
    probe.handle = h;
    probe.racks = host->watch(h, &rack_watch);
    probe.pods = host->watch(h, &(struct berth_watch){.struct_size = sizeof(struct berth_watch),
                                                      .api_version = S("v1"),
                                                      .kind = S("Pod"),
                                                      .resource = S("pods")});
    probe.services = host->watch(h, &(struct berth_watch){.struct_size = sizeof(struct berth_watch),
                                                          .api_version = S("v1"),
                                                          .kind = S("Service"),
                                                          .resource = S("services")});
    return host->args(h, args, probe_table, &probe.args, error);
}

/* Rejects all pods; a rack may help. */
static enum berth_code filter(void *self, const struct berth_cycle *cycle,
                              const struct berth_pod *pod, const struct berth_node *node,
                              struct berth_status *status)
{
    (void)self, (void)cycle, (void)pod, (void)node, (void)status;
    return probe.host->lister_get(probe.racks, S("default"), S("free")) ? BERTH_SUCCESS
                                                                        : BERTH_UNSCHEDULABLE;
}

static enum berth_hint rack_hint(void *self, const struct berth_pod *pod,
                                 const struct berth_object *before,
                                 const struct berth_object *after)
{
    (void)self, (void)pod;
    buf_add_printf(&probe.seen, "%c%c:%.*s ", before ? 'B' : '-', after ? 'A' : '-',
                   BERTH_STR_ARG(probe.host->object_name(after ? after : before)));
    return probe.hint;
}

static void events(void *self, struct berth_registrar *r)
{
    (void)self;
    probe.host->register_event(r, probe.host->lister_resource(probe.racks), BERTH_ACTION_ALL,
                               rack_hint);
}

static const struct berth_plugin probe_plugin = {
    BERTH_PLUGIN_HEAD("Probe", "1"),
    .args = probe_table,
    .create = create,
    .events = events,
    .filter = filter,
};

static const struct berth_plugin *const plugins[] = {&priority_sort_plugin, &probe_plugin,
                                                     &default_binder_plugin, NULL};
static const struct plugin_ref defaults[] = {
    {STR_INIT("PrioritySort"), NULL}, {STR_INIT("Probe"), NULL}, {STR_INIT("DefaultBinder"), NULL}};
static const struct registry registry = {
    .plugins = plugins, .defaults = defaults, .n_defaults = ARRAY_LEN(defaults)};

static void begin(struct fixture *f)
{
    buf_clear(&probe.seen);
    probe.hint = BERTH_QUEUE_SKIP;
    fixture_init(f, NULL, &registry);
}

static struct object *rack(const char *name, const char *rest)
{
    const struct kind *kind = kind_find(STR("example.com/v1"), STR("Rack"));
    return object_jsonf(kind->id,
                        "{'apiVersion':'example.com/v1','kind':'Rack','metadata':{'name':'%s',"
                        "'namespace':'default','uid':'u-%s','labels':{'row':'3'}},%s}",
                        name, name, rest);
}

/* --- values ----------------------------------------------------------------------------------- */

static const char *json_of(const struct berth_value *v)
{
    static char text[256];
    assert_true(probe.host->value_json(v, text, sizeof(text)) < sizeof(text));
    return text;
}

static void typed_fields_are_read_by_path(void **state)
{
    (void)state;
    struct fixture f;
    struct berth_value v, item;
    struct berth_str key;
    begin(&f);
    const struct berth_host *host = probe.host;
    struct object *o = object_jsonf(
        KIND_POD, "{'metadata':{'name':'p','namespace':'a','labels':{'a':'1','b':'2'},"
                  "'creationTimestamp':'2024-01-02T03:04:05Z'},'spec':{'priority':7,"
                  "'hostNetwork':true,'tolerations':[{'key':'x'},{'key':'y','value':'z'}],"
                  "'containers':[{'name':'c','resources':{'requests':{'cpu':'1500m'}}}]}}");
    const struct berth_object *pod = object_abi(o);
    assert_true(host->object_field(pod, S("spec.priority"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_INT);
    assert_int_equal(v.i, 7);
    assert_true(host->object_field(pod, S("spec.tolerations[1].value"), &v));
    assert_true(str_is(str_abi(v.str), "z"));
    assert_true(host->object_field(pod, S("metadata.creationTimestamp"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_TIME);
    assert_int_equal(v.i, 1704164645 * 1000000000LL);
    assert_true(host->object_field(pod, S("spec.containers[0].resources.requests[cpu]"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_QUANTITY);
    assert_int_equal(v.i, 1500);
    assert_string_equal(json_of(&v), "\"1500m\"");
    /* Iteration: a list of objects, a map. */
    assert_true(host->object_field(pod, S("spec.tolerations"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_LIST);
    assert_int_equal(v.i, 2);
    assert_true(host->value_at(&v, 1, NULL, &item));
    assert_int_equal(item.kind, BERTH_VALUE_OBJECT);
    assert_true(host->value_get(&item, S("key"), &item));
    assert_true(str_is(str_abi(item.str), "y"));
    assert_true(host->value_get(&v, S("[0].key"), &item));
    assert_true(str_is(str_abi(item.str), "x"));
    assert_false(host->value_at(&v, 2, NULL, &item));
    assert_int_equal(item.kind, BERTH_VALUE_ABSENT);
    assert_true(host->object_field(pod, S("metadata.labels"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_MAP);
    assert_true(host->value_at(&v, 1, &key, &item));
    assert_true(str_is(str_abi(key), "b") && str_is(str_abi(item.str), "2"));
    assert_string_equal(json_of(&v), "{\"a\":\"1\",\"b\":\"2\"}");
    /* What is not there. */
    static const char *const absent[] = {
        "spec.nothing",   "spec.tolerations[9]", "spec..priority", "spec.tolerations[", "[", ".",
        "spec.priority.x"};
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        assert_false(host->object_field(pod, abi_str(str_of(absent[i])), &v));
    object_unref(o);
    fixture_release(&f);
}

static void custom_objects_are_json(void **state)
{
    (void)state;
    struct fixture f;
    struct berth_value v, item;
    struct berth_str key, row;
    begin(&f);
    const struct berth_host *host = probe.host;
    struct object *o = rack("r1", "'spec':{'nodes':['a','b'],'power':2.5,'big':12345678901,"
                                  "'tags':{'x':true,'y':null}}");
    const struct berth_object *r = object_abi(o);
    assert_true(host->object_field(r, S("spec.nodes[1]"), &v));
    assert_true(str_is(str_abi(v.str), "b"));
    assert_true(host->object_field(r, S("spec.power"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_DOUBLE);
    assert_true(v.d == 2.5);
    assert_true(host->object_field(r, S("spec.big"), &v));
    assert_int_equal(v.i, 12345678901);
    assert_true(host->object_field(r, S("spec.tags"), &v));
    assert_int_equal(v.kind, BERTH_VALUE_MAP);
    assert_true(host->value_at(&v, 0, &key, &item));
    assert_true(str_is(str_abi(key), "x") && item.kind == BERTH_VALUE_BOOL && item.i == 1);
    assert_false(host->value_at(&v, 1, &key, &item));
    assert_true(host->value_get(&v, S("[x]"), &item));
    assert_false(host->object_field(r, S("spec.tags[y]"), &v));
    assert_false(host->object_field(r, S("spec.nodes[2]"), &v));
    assert_false(host->object_field(r, S("spec.nodes.x"), &v));
    assert_true(host->object_field(r, S("metadata.labels[row]"), &v));
    assert_true(host->object_label(r, S("row"), &row) && str_is(str_abi(row), "3"));
    assert_true(str_is(str_abi(host->object_uid(r)), "u-r1"));
    assert_true(str_is(str_abi(host->object_namespace(r)), "default"));
    object_unref(o);
    fixture_release(&f);
}

static void quantities_are_parsed(void **state)
{
    (void)state;
    struct fixture f;
    int64_t n = 0;
    begin(&f);
    assert_true(probe.host->parse_quantity(S("100m"), &n) && n == 100);
    assert_true(probe.host->parse_quantity(S("2Ki"), &n) && n == 2048000);
    assert_false(probe.host->parse_quantity(S("much"), &n));
    fixture_release(&f);
}

/* --- arguments -------------------------------------------------------------------------------- */

static void assert_args(struct fixture *f, const char *json, const char *error)
{
    struct berth_error e = {""};
    struct buf text = BUF_INIT;
    (void)f;
    for (const char *p = json; *p; p++)
        buf_add_char(&text, *p == '\'' ? '"' : *p);
    int r = probe.host->args(probe.handle, abi_str(buf_str(&text)), probe_table, &probe.args, &e);
    assert_string_equal(e.text, error);
    assert_int_equal(r != 0, *error != 0);
    buf_release(&text);
}

static void arguments_have_types_defaults_and_bounds(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_args(&f, "", "");
    assert_true(probe.args.strict && probe.args.size == 5 && probe.args.ratio == 0.5);
    assert_true(probe.args.timeout == 90 * 1000000000LL && probe.args.memory == 0);
    assert_true(str_is(str_abi(probe.args.mode), "Least") && probe.args.inner.depth == 7);
    assert_true(str_is(str_abi(probe.args.raw), "null") && probe.args.resources.n == 0);
    assert_args(&f,
                "{'apiVersion':'x/v1','kind':'ProbeArgs','strict':false,'size':10,"
                "'memory':'2Gi','mode':'Most','raw':{'a':[1]},'zones':['a','b'],"
                "'resources':[{'name':'cpu'},{'name':'memory','weight':3}],"
                "'inner':{'depth':1}}",
                "");
    const struct resource_arg *resources = probe.args.resources.v;
    const struct berth_str *zones = probe.args.zones.v;
    assert_true(!probe.args.strict && probe.args.memory == (2LL << 30) * 1000);
    assert_true(probe.args.resources.n == 2 && resources[0].weight == 1 &&
                resources[1].weight == 3);
    assert_true(str_is(str_abi(resources[1].name), "memory") && str_is(str_abi(zones[1]), "b"));
    assert_true(str_is(str_abi(probe.args.raw), "{\"a\":[1]}") && probe.args.inner.depth == 1);
    fixture_release(&f);
}

static void errors_of_arguments_name_the_field(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    assert_args(&f, "{'size':11}", "size: must be between 0 and 10");
    assert_args(&f, "{'size':'1'}", "size: must be an integer");
    assert_args(&f, "{'sise':1}", "sise: unknown field");
    assert_args(&f, "{'mode':'Best'}", "mode: must be one of Least|Most");
    assert_args(&f, "{'timeout':'soon'}", "timeout: must be a duration such as \"1m30s\"");
    assert_args(&f, "{'memory':'much'}", "memory: must be a quantity such as \"100m\"");
    assert_args(&f, "{'ratio':2}", "ratio: must be between 0 and 1");
    assert_args(&f, "{'strict':1}", "strict: must be true or false");
    assert_args(&f, "{'resources':{}}", "resources: must be a list");
    assert_args(&f, "{'resources':[{'name':'cpu'},{'weight':1}]}",
                "resources[1].name: is required");
    assert_args(&f, "{'resources':[{'name':'cpu','weight':0}]}",
                "resources[0].weight: must be between 1 and 100");
    assert_args(&f, "{'resources':[{'name':'cpu','kind':'x'}]}",
                "resources[0].kind: unknown field");
    assert_args(&f, "{'zones':[1]}", "zones[0]: must be a string");
    assert_args(&f, "{'inner':3}", "inner: must be an object");
    assert_args(&f, "[]", "must be an object");
    fixture_release(&f);
}

/* --- listers ---------------------------------------------------------------------------------- */

static bool add_name(void *ctx, const struct berth_object *object)
{
    buf_add_printf(ctx, "%.*s ", BERTH_STR_ARG(probe.host->object_name(object)));
    return true;
}

static bool stop_at_once(void *ctx, const struct berth_object *object)
{
    (void)object;
    ++*(int *)ctx;
    return false;
}

static void listers_have_what_the_engine_has(void **state)
{
    (void)state;
    struct fixture f;
    struct buf names = BUF_INIT;
    int calls = 0;
    begin(&f);
    const struct berth_host *host = probe.host;
    assert_int_equal(f.watched.n, 3);
    assert_false(host->lister_synced(probe.racks));
    for (size_t i = 0; i < f.watched.n; i++)
        engine_kind_synced(f.engine, f.watched.v[i]);
    assert_true(host->lister_synced(probe.racks));
    ADD_NODE(&f, .name = "n");
    ADD_POD(&f, .name = "on", .node = "n");
    ADD_POD(&f, .name = "waits");
    fixture_add(&f, rack("r1", "'spec':{}"));
    fixture_add(&f, object_jsonf(KIND_SERVICE, "{'metadata':{'name':'s','namespace':'x'}}"));
    host->lister_each(probe.pods, S(""), add_name, &names);
    assert_string_equal(buf_cstr(&names), "on waits ");
    buf_clear(&names);
    host->lister_each(probe.pods, S("other"), add_name, &names);
    host->lister_each(probe.racks, S("default"), add_name, &names);
    host->lister_each(probe.services, S(""), add_name, &names);
    assert_string_equal(buf_cstr(&names), "r1 s ");
    host->lister_each(probe.pods, S(""), stop_at_once, &calls);
    assert_int_equal(calls, 1);
    assert_non_null(host->lister_get(probe.racks, S("default"), S("r1")));
    assert_null(host->lister_get(probe.racks, S("default"), S("r2")));
    assert_null(host->lister_get(probe.racks, S("other"), S("r1")));
    assert_non_null(host->lister_get(probe.pods, S("default"), S("waits")));
    fixture_delete(&f, rack("r1", "'spec':{}"));
    assert_null(host->lister_get(probe.racks, S("default"), S("r1")));
    buf_release(&names);
    fixture_release(&f);
}

static void changes_of_custom_objects_are_events(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    ADD_NODE(&f, .name = "n");
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    fixture_add(&f, rack("r1", "'spec':{}"));
    fixture_update(&f, rack("r1", "'spec':{}"), rack("r1", "'spec':{'x':1}"));
    fixture_delete(&f, rack("r1", "'spec':{'x':1}"));
    assert_string_equal(buf_cstr(&probe.seen), "-A:r1 BA:r1 B-:r1 ");
    assert_on(&f, "p", NULL);
    probe.hint = BERTH_QUEUE;
    fixture_add(&f, rack("free", "'spec':{}"));
    fixture_pass(&f, 20 * (int64_t)1000000000);
    fixture_settle(&f);
    assert_on(&f, "p", "n");
    fixture_release(&f);
}

static void a_kind_without_names_is_an_empty_lister(void **state)
{
    (void)state;
    struct fixture f;
    int calls = 0;
    begin(&f);
    struct berth_lister *l = probe.host->watch(
        probe.handle, &(struct berth_watch){.struct_size = sizeof(struct berth_watch)});
    assert_null(probe.host->lister_get(l, S("a"), S("b")));
    probe.host->lister_each(l, S(""), stop_at_once, &calls);
    assert_int_equal(calls, 0);
    assert_false(probe.host->lister_synced(l));
    fixture_release(&f);
}

/* --- log, events, metrics --------------------------------------------------------------------- */

static const char *last_log(const struct fixture *f)
{
    return f->logs.n ? f->logs.v[f->logs.n - 1] : "";
}

static void log_lines_have_keys_and_values(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct object *o = rack("r1", "'spec':{}");
    struct berth_kv kv[] = {BERTH_KV_STR("a", S("x")), BERTH_KV_INT("b", -3),
                            BERTH_KV_OBJECT("rack", object_abi(o))};
    probe.host->log(probe.handle, 0, S("Hello"), kv, ARRAY_LEN(kv));
    assert_string_equal(last_log(&f), "0 Hello plugin=Probe a=x b=-3 rack=default/r1");
    probe.host->log(probe.handle, BERTH_LOG_ERROR, S("Oh"), NULL, 0);
    assert_string_equal(last_log(&f), "E Oh plugin=Probe");
    size_t n = f.logs.n;
    probe.host->log(probe.handle, 9, S("Quiet"), NULL, 0);
    assert_int_equal(f.logs.n, n);
    assert_true(probe.host->log_enabled(probe.handle, 0));
    assert_false(probe.host->log_enabled(probe.handle, 9));
    object_unref(o);
    fixture_release(&f);
}

static void events_regard_any_object(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct object *o = rack("r1", "'spec':{}");
    struct berth_event e = {.struct_size = sizeof(e),
                            .object = object_abi(o),
                            .warning = true,
                            .reason = S("Hot"),
                            .action = S("Cooling"),
                            .note = S("40 degrees")};
    probe.host->event(probe.handle, &e);
    const struct fixture_write *w = &f.writes.v[f.writes.n - 1];
    assert_int_equal(w->kind, WRITE_EVENT);
    assert_ptr_equal(w->pod, o);
    assert_string_equal(w->reason, "Hot");
    assert_true(w->warning);
    size_t n = f.writes.n;
    probe.host->event(probe.handle, &(struct berth_event){.struct_size = sizeof(e)});
    assert_int_equal(f.writes.n, n);
    object_unref(o);
    fixture_release(&f);
}

static void metrics_are_shown_and_checked(void **state)
{
    (void)state;
    struct fixture f;
    static const char *const labels[] = {"kind"};
    static const double buckets[] = {1, 2};
    struct berth_str a = S("a");
    begin(&f);
    const struct berth_host *host = probe.host;
    struct berth_metric_desc d = {.struct_size = sizeof(d),
                                  .kind = BERTH_METRIC_COUNTER,
                                  .name = "probe_things_total",
                                  .help = "Things.",
                                  .labels = labels,
                                  .n_labels = 1};
    struct berth_metric *counter = host->metric(probe.handle, &d);
    assert_non_null(counter);
    assert_ptr_equal(host->metric(probe.handle, &d), counter);
    host->metric_add(counter, &a, 2);
    host->metric_add(counter, &a, -5);
    host->metric_set(counter, &a, 9);
    host->metric_observe(counter, &a, 9);
    assert_true(fixture_metric(&f, "probe_things_total{kind='a'}") == 2);
    d.name = "probe_level", d.kind = BERTH_METRIC_GAUGE, d.n_labels = 0;
    struct berth_metric *gauge = host->metric(probe.handle, &d);
    host->metric_set(gauge, NULL, 4);
    host->metric_add(gauge, NULL, -1);
    assert_true(fixture_metric(&f, "probe_level") == 3);
    d.name = "probe_seconds", d.kind = BERTH_METRIC_HISTOGRAM;
    d.buckets = buckets, d.n_buckets = 2;
    host->metric_observe(host->metric(probe.handle, &d), NULL, 1.5);
    assert_true(fixture_metric(&f, "probe_seconds_bucket{le='2'}") == 1);
    /* Refused, with a line in the log. */
    struct berth_metric_desc wrong[] = {d, d, d, d};
    wrong[0].name = "9 lives";
    wrong[1].name = "probe_level";
    wrong[2].name = "probe_other", wrong[2].n_buckets = 0;
    wrong[3].name = "scheduler_pending_pods";
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        size_t n = f.logs.n;
        assert_null(host->metric(probe.handle, &wrong[i]));
        assert_int_equal(f.logs.n, n + 1);
    }
    host->metric_add(NULL, NULL, 1);
    fixture_release(&f);
}

/* --- cycle state, nodes, waiting and nominated pods ------------------------------------------- */

static int n_freed;

static void count_free(void *data)
{
    (void)data;
    n_freed++;
}

static berth_state_key state_key;

static void use_state(struct puppet_call *call)
{
    const struct berth_host *host = call->puppet->host;
    static int one, two;
    if (call->point == PUPPET_PRE_FILTER) {
        state_key = host->state_key(call->puppet->handle, S("x"));
        host->state_write(call->cycle, state_key, &one, NULL, count_free);
        host->state_write(call->cycle, state_key, &two, NULL, count_free);
        assert_int_equal(n_freed, 1);
        assert_ptr_equal(host->state_read(call->cycle, state_key), &two);
    } else if (call->point == PUPPET_RESERVE) {
        host->state_delete(call->cycle, state_key);
        host->state_delete(call->cycle, 12345);
        assert_int_equal(n_freed, 2);
        assert_null(host->state_read(call->cycle, state_key));
        host->limit_nodes(call->cycle, &(struct berth_str){"n0", 2}, 1);
    }
}

static void state_is_deleted_and_limits_are_for_pre_filter(void **state)
{
    (void)state;
    struct fixture f;
    n_freed = 0;
    puppet_clear();
    puppet_add("A", AT(PRE_FILTER) | AT(RESERVE))->hook = use_state;
    puppet_scene(&f, 2);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_int_equal(n_freed, 2);
    assert_non_null(fixture_node_of(&f, "p"));
    assert_string_equal(
        last_log(&f),
        "E limit_nodes was called outside of PreFilter: ignored profile=default-scheduler");
    fixture_release(&f);
}

static void count_pod(void *ctx, const struct berth_pod *pod)
{
    buf_add_printf(ctx, "%.*s ", STR_ARG(pod->pod->metadata.name));
}

static void add_numbers(void *ctx, size_t begin, size_t end)
{
    _Atomic size_t *sum = ctx;
    for (size_t i = begin; i < end; i++)
        *sum += i;
}

static void nodes_nominations_and_loops(void **state)
{
    (void)state;
    struct fixture f;
    struct buf names = BUF_INIT;
    struct pool *pool = pool_new(3);
    _Atomic size_t sum = 0;
    fixture_init_pool(&f, NULL, &registry, pool);
    ADD_NODE(&f, .name = "a", .cpu = "4");
    ADD_NODE(&f, .name = "b", .cpu = "8");
    ADD_POD(&f, .name = "p", .nominated = "b");
    struct berth_columns columns = {.struct_size = sizeof(columns)};
    probe.host->nodes(probe.handle, &columns);
    assert_int_equal(columns.n, 2);
    assert_int_equal(columns.allocatable_cpu[1], 8000);
    probe.host->nominated_pods(probe.handle, S("b"), count_pod, &names);
    probe.host->nominated_pods(probe.handle, S("a"), count_pod, &names);
    probe.host->nominated_pods(probe.handle, S("nowhere"), count_pod, &names);
    assert_string_equal(buf_cstr(&names), "p ");
    probe.host->parallel(probe.handle, 1000, add_numbers, &sum);
    probe.host->parallel(probe.handle, 0, add_numbers, &sum);
    assert_int_equal(sum, 499500);
    buf_release(&names);
    fixture_release(&f);
    pool_free(pool);
}

/* --- threads ---------------------------------------------------------------------------------- */

static void note(void *ctx)
{
    buf_add_printf(&probe.seen, "%s ", (const char *)ctx);
}

static void posts_run_on_the_engines_thread(void **state)
{
    (void)state;
    struct fixture f;
    static char here[] = "here", there[] = "there";
    begin(&f);
    probe.host->post(probe.handle, note, here);
    assert_string_equal(buf_cstr(&probe.seen), "");
    engine_tick(f.engine);
    assert_string_equal(buf_cstr(&probe.seen), "here ");
    f.foreign = true;
    probe.host->post(probe.handle, note, there);
    f.foreign = false;
    assert_int_equal(f.posts.n, 1);
    engine_posted(f.engine, vec_pop(&f.posts));
    assert_string_equal(buf_cstr(&probe.seen), "here there ");
    /* After the end of the instance a post is dropped: its serial is not known any more. */
    struct berth_handle gone = *probe.handle;
    gone.serial = 999999;
    f.foreign = true;
    probe.host->post(&gone, note, there);
    f.foreign = false;
    engine_posted(f.engine, vec_pop(&f.posts));
    assert_string_equal(buf_cstr(&probe.seen), "here there ");
    fixture_release(&f);
}

static void got(void *ctx, const struct berth_http_result *result)
{
    buf_add_printf(ctx, "%d:%.*s:%.*s ", result->status, BERTH_STR_ARG(result->message),
                   BERTH_STR_ARG(result->body));
}

static void http_requests_are_answered_or_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    begin(&f);
    struct berth_http_get get = {.struct_size = sizeof(get), .url = S("http://x/y")};
    uint64_t first = probe.host->http_get(probe.handle, &get, got, &probe.seen);
    uint64_t second = probe.host->http_get(probe.handle, &get, got, &probe.seen);
    assert_int_equal(f.gets.n, 2);
    probe.host->api_forget(probe.handle, second);
    struct berth_http_result ok = {.struct_size = sizeof(ok), .status = 200, .body = S("hi")};
    engine_http_done(f.engine, first, &ok);
    engine_http_done(f.engine, first, &ok);
    engine_http_done(f.engine, second, &ok);
    assert_string_equal(buf_cstr(&probe.seen), "200::hi ");
    fixture_release(&f);
}

static berth_op kept;

static void answer_later(struct puppet_call *call)
{
    if (call->point != PUPPET_PRE_BIND)
        return;
    kept = call->op;
    call->code = BERTH_ASYNC;
}

static size_t count_logs(const struct fixture *f, const char *text)
{
    size_t n = 0;
    for (size_t i = 0; i < f->logs.n; i++)
        n += strstr(f->logs.v[i], text) != NULL;
    return n;
}

static void answers_twice_or_late_are_harmless(void **state)
{
    (void)state;
    struct fixture f;
    puppet_clear();
    struct puppet *a = puppet_add("A", AT(PRE_BIND));
    a->hook = answer_later;
    puppet_scene(&f, 1);
    ADD_POD(&f, .name = "p");
    fixture_schedule(&f);
    const struct berth_host *host = a->host;
    host->op_done(a->handle, kept, BERTH_SUCCESS, S(""));
    host->op_done(a->handle, kept, BERTH_ERROR, S("again"));
    assert_int_equal(count_logs(&f, "op_done was called twice plugin=A pod=default/p"), 1);
    engine_tick(f.engine);
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    size_t n = f.logs.n;
    host->op_done(a->handle, kept, BERTH_ERROR, S("late"));
    assert_int_equal(f.logs.n, n);
    host->op_done(a->handle, 1 << 30, BERTH_ERROR, S("never"));
    host->op_done(a->handle, 0, BERTH_ERROR, S("never"));
    assert_int_equal(count_logs(&f, "for an operation that does not exist"), 2);
    host->write_binding(a->handle, kept, S("n0"));
    assert_int_equal(count_logs(&f, "write_binding was called for an operation that has ended"), 1);
    fixture_release(&f);
}

/* --- workers ---------------------------------------------------------------------------------- */

static void run_work(struct fixture *f)
{
    struct engine_work *work = f->works.v[0];
    vec_remove(&f->works, 0);
    f->foreign = true;
    work->run(work);
    f->foreign = false;
    while (f->posts.n) {
        struct engine_post *post = f->posts.v[0];
        vec_remove(&f->posts, 0);
        engine_posted(f->engine, post);
    }
    engine_work_done(f->engine, work);
}

static void begin_workers(struct fixture *f, unsigned points, void (*hook)(struct puppet_call *))
{
    puppet_clear();
    struct puppet *a = puppet_add("A", points);
    a->hook = hook;
    a->plugin.flags = 0;
    fixture_init_parts(f, &(struct fixture_parts){.registry = puppet_registry(), .workers = true});
    ADD_NODE(f, .name = "n0", .cpu = "64", .memory = "64Gi", .pods = "110");
}

static void only_bad(struct puppet_call *call)
{
    bool bad = str_is(call->pod->pod->metadata.name, "bad");
    if (call->point == PUPPET_PRE_FLIGHT)
        call->code = bad ? BERTH_SUCCESS : BERTH_SKIP;
}

static void a_plugin_that_blocks_holds_its_own_pod_only(void **state)
{
    (void)state;
    struct fixture f;
    begin_workers(&f, AT(PRE_FLIGHT) | AT(PRE_BIND), only_bad);
    ADD_POD(&f, .name = "bad");
    for (int i = 0; i < 5; i++)
        ADD_POD(&f, .name = textf("p%d", i));
    fixture_settle(&f);
    assert_int_equal(f.decisions.n, 5);
    assert_int_equal(f.works.n, 1);
    assert_null(fixture_binding(&f, "bad"));
    run_work(&f);
    fixture_settle(&f);
    assert_on(&f, "bad", "n0");
    fixture_release(&f);
}

/* On the worker: answers, and returns ASYNC, a success or an error. */
static enum berth_code returned;
static bool answers;

static void answer_on_worker(struct puppet_call *call)
{
    if (call->point != PUPPET_PRE_BIND)
        return;
    if (answers)
        call->puppet->host->op_done(call->puppet->handle, call->op, BERTH_SUCCESS, S(""));
    kept = call->op;
    call->code = returned;
}

static void workers_answer_in_any_way(void **state)
{
    (void)state;
    static const struct {
        enum berth_code code;
        bool answers, bound;
    } cases[] = {
        {BERTH_SUCCESS, false, true},        {BERTH_ERROR, false, false},
        {BERTH_ASYNC, true, true},           {BERTH_UNSCHEDULABLE, false, false},
        {(enum berth_code)77, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        returned = cases[i].code;
        answers = cases[i].answers;
        begin_workers(&f, AT(PRE_BIND), answer_on_worker);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_int_equal(engine_get_stats(f.engine).binding, 1);
        run_work(&f);
        fixture_settle(&f);
        assert_on(&f, "p", cases[i].bound ? "n0" : NULL);
        fixture_release(&f);
    }
}

static void write_on_worker(struct puppet_call *call)
{
    if (call->point != PUPPET_BIND)
        return;
    call->puppet->host->write_binding(call->puppet->handle, call->op, S("n0"));
    call->code = BERTH_ASYNC;
}

static void bind_runs_on_a_worker_too(void **state)
{
    (void)state;
    struct fixture f;
    begin_workers(&f, AT(BIND), write_on_worker);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    assert_null(fixture_binding(&f, "p"));
    run_work(&f);
    assert_non_null(fixture_binding(&f, "p"));
    fixture_settle(&f);
    assert_on(&f, "p", "n0");
    fixture_release(&f);
}

static void a_pod_that_is_deleted_meanwhile_waits_for_the_worker(void **state)
{
    (void)state;
    struct fixture f;
    returned = BERTH_SUCCESS;
    answers = false;
    begin_workers(&f, AT(PRE_BIND) | AT(UNRESERVE), answer_on_worker);
    ADD_POD(&f, .name = "p");
    fixture_settle(&f);
    fixture_delete(&f, POD(.name = "p"));
    assert_int_equal(engine_get_stats(f.engine).binding, 1);
    run_work(&f);
    fixture_settle(&f);
    /* A worker that never returns: the engine ends without its result. */
    ADD_POD(&f, .name = "q");
    fixture_settle(&f);
    assert_int_equal(f.works.n, 1);
    fixture_release(&f);
}

/* --- wrong results ---------------------------------------------------------------------------- */

static int64_t given_score;
static enum berth_code given_code;

static void give(struct puppet_call *call)
{
    if (call->point == PUPPET_SCORE)
        call->score = given_score;
    else if (call->point == PUPPET_FILTER)
        call->code = given_code;
}

static void scores_out_of_range_are_errors(void **state)
{
    (void)state;
    static const int64_t scores[] = {101, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < ARRAY_LEN(scores); i++) {
        struct fixture f;
        given_score = scores[i];
        puppet_clear();
        puppet_add("A", AT(SCORE))->hook = give;
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_on(&f, "p", NULL);
        const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "p");
        assert_non_null(w);
        assert_string_equal(w->reason, "SchedulerError");
        assert_non_null(strstr(w->message, "returns an invalid score"));
        fixture_release(&f);
    }
}

static void unknown_codes_are_errors(void **state)
{
    (void)state;
    static const int codes[] = {BERTH_WAIT, BERTH_SKIP, 7, 99, BERTH_ASYNC, 255, 256, 1 << 20, -1};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fixture f;
        given_code = (enum berth_code)codes[i];
        puppet_clear();
        puppet_add("A", AT(FILTER))->hook = give;
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_on(&f, "p", NULL);
        const struct fixture_write *w = fixture_last(&f, WRITE_POD_STATUS, "p");
        assert_non_null(w);
        assert_string_equal(w->reason, "SchedulerError");
        fixture_release(&f);
    }
}

static void nodes_that_do_not_exist_are_ignored(void **state)
{
    (void)state;
    static const struct {
        const char *limit[3];
        const char *node;
    } cases[] = {{{"nowhere", "n1"}, "n1"}, {{"nowhere"}, NULL}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        puppet_clear();
        struct puppet *a = puppet_add("A", AT(PRE_FILTER));
        memcpy(a->limit, cases[i].limit, sizeof(cases[i].limit));
        puppet_scene(&f, 2);
        ADD_POD(&f, .name = "p");
        fixture_settle(&f);
        assert_on(&f, "p", cases[i].node);
        fixture_release(&f);
    }
}

static int release_seen(void **state)
{
    (void)state;
    buf_release(&probe.seen);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(typed_fields_are_read_by_path),
        cmocka_unit_test(custom_objects_are_json),
        cmocka_unit_test(quantities_are_parsed),
        cmocka_unit_test(arguments_have_types_defaults_and_bounds),
        cmocka_unit_test(errors_of_arguments_name_the_field),
        cmocka_unit_test(listers_have_what_the_engine_has),
        cmocka_unit_test(changes_of_custom_objects_are_events),
        cmocka_unit_test(a_kind_without_names_is_an_empty_lister),
        cmocka_unit_test(log_lines_have_keys_and_values),
        cmocka_unit_test(events_regard_any_object),
        cmocka_unit_test(metrics_are_shown_and_checked),
        cmocka_unit_test(state_is_deleted_and_limits_are_for_pre_filter),
        cmocka_unit_test(nodes_nominations_and_loops),
        cmocka_unit_test(posts_run_on_the_engines_thread),
        cmocka_unit_test(http_requests_are_answered_or_forgotten),
        cmocka_unit_test(answers_twice_or_late_are_harmless),
        cmocka_unit_test(a_plugin_that_blocks_holds_its_own_pod_only),
        cmocka_unit_test(workers_answer_in_any_way),
        cmocka_unit_test(bind_runs_on_a_worker_too),
        cmocka_unit_test(a_pod_that_is_deleted_meanwhile_waits_for_the_worker),
        cmocka_unit_test(scores_out_of_range_are_errors),
        cmocka_unit_test(unknown_codes_are_errors),
        cmocka_unit_test(nodes_that_do_not_exist_are_ignored),
    };
    return cmocka_run_group_tests_name("plugin_host", tests, NULL, release_seen);
}
