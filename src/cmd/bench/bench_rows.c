/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/bench/bench_rows.h"

#include "base/buf.h"

#define HOSTNAME "kubernetes.io/hostname"
#define ZONE     "topology.kubernetes.io/zone"
#define GROUP    "\"labels\":{\"app\":\"group-{group}\"},"
#define SELECTOR "\"labelSelector\":{\"matchLabels\":{\"app\":\"group-{group}\"}}"
#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""

const struct bench_row bench_rows[] = {
    {.name = "plain",
     .title = "plain, identical",
     .metadata = "",
     .spec = "",
     .cpu = "100m",
     .memory = "100Mi"},
    {.name = "requests",
     .title = "plain, all different requests",
     .metadata = "",
     .spec = "",
     .cpu = "{amount}m",
     .memory = "{amount}Mi"},
    {.name = "node-affinity",
     .title = "node affinity",
     .metadata = "",
     .spec = "\"affinity\":{\"nodeAffinity\":{" REQUIRED ":{\"nodeSelectorTerms\":["
             "{\"matchExpressions\":[{\"key\":\"disk\",\"operator\":\"In\",\"values\":[\"ssd\"]}]}"
             "]},\"preferredDuringSchedulingIgnoredDuringExecution\":[{\"weight\":10,"
             "\"preference\":{\"matchExpressions\":[{\"key\":\"" ZONE "\",\"operator\":\"In\","
             "\"values\":[\"zone-1\"]}]}}]}},",
     .cpu = "100m",
     .memory = "100Mi"},
    {.name = "anti-affinity",
     .title = "required pod anti-affinity (hostname), 20 groups",
     .metadata = GROUP,
     .spec = "\"affinity\":{\"podAntiAffinity\":{" REQUIRED ":[{\"topologyKey\":\"" HOSTNAME
             "\"," SELECTOR "}]}},",
     .cpu = "100m",
     .memory = "100Mi"},
    {.name = "spread",
     .title = "topology spread (zone required, hostname preferred)",
     .metadata = "\"labels\":{\"app\":\"spread\"},",
     .spec = "\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"" ZONE
             "\",\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":"
             "{\"app\":\"spread\"}}},{\"maxSkew\":1,\"topologyKey\":\"" HOSTNAME
             "\",\"whenUnsatisfiable\":\"ScheduleAnyway\",\"labelSelector\":{\"matchLabels\":"
             "{\"app\":\"spread\"}}}],",
     .cpu = "100m",
     .memory = "100Mi"},
    {.name = "affinity",
     .title = "required pod affinity (zone), 20 groups",
     .metadata = GROUP,
     .spec = "\"affinity\":{\"podAffinity\":{" REQUIRED ":[{\"topologyKey\":\"" ZONE "\"," SELECTOR
             "}]}},",
     .cpu = "100m",
     .memory = "100Mi"},
    {.name = "default-spreading",
     .title = "default spreading: 20 ReplicaSets, each with a Service",
     .metadata = GROUP "\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
                       "\"name\":\"group-{group}\",\"uid\":\"r{group}\",\"controller\":true}],",
     .spec = "",
     .cpu = "100m",
     .memory = "100Mi",
     .has_owners = true},
    {.name = "preemption",
     .title = "preemption on full nodes, 2 of 4 evicted; 1/20 of pods",
     .metadata = "",
     .spec = "\"priority\":1000,",
     .cpu = "3",
     .memory = "100Mi",
     .residents = 4,
     .fewer = 20},
};
const size_t bench_n_rows = ARRAY_LEN(bench_rows);

const struct bench_row *bench_row_find(struct str name)
{
    for (size_t i = 0; i < bench_n_rows; i++)
        if (str_is(name, bench_rows[i].name))
            return &bench_rows[i];
    return NULL;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* The value of the placeholder at the start of text, and its length; false if there is none. */
static bool placeholder(struct str text, int64_t i, int64_t *ret_value, size_t *ret_n)
{
    const struct {
        struct str name;
        int64_t value;
    } known[] = {
        {STR("{i}"), i},
        {STR("{group}"), i % BENCH_GROUPS},
        {STR("{amount}"), i % BENCH_AMOUNTS + 1},
    };
    for (size_t k = 0; k < ARRAY_LEN(known); k++)
        if (str_starts(text, known[k].name)) {
            *ret_value = known[k].value;
            *ret_n = known[k].name.n;
            return true;
        }
    return false;
}

/* Appends text with the placeholders filled in for pod i. */
static void expand(struct buf *out, const char *text, int64_t i)
{
    struct str left = str_of(text);
    while (left.n) {
        int64_t value;
        size_t n;
        if (placeholder(left, i, &value, &n)) {
            buf_add_printf(out, "%lld", (long long)value);
        } else {
            buf_add_char(out, *left.p);
            n = 1;
        }
        left = str_slice(left, n, left.n);
    }
}

static const char node_text[] =
    "{\"metadata\":{\"name\":\"node-%05lld\",\"uid\":\"n%lld\",\"labels\":{\"" HOSTNAME
    "\":\"node-%05lld\",\"" ZONE "\":\"zone-%lld\",\"disk\":\"%s\",\"kubernetes.io/os\":\"linux\","
    "\"kubernetes.io/arch\":\"amd64\"}},\"status\":{\"allocatable\":{\"cpu\":\"8\",\"memory\":"
    "\"32Gi\",\"pods\":\"110\"}}}";
static const char service_text[] =
    "{\"metadata\":{\"name\":\"group-{i}\",\"namespace\":\"default\",\"uid\":\"s{i}\"},\"spec\":"
    "{\"selector\":{\"app\":\"group-{i}\"}}}";
static const char replica_set_text[] =
    "{\"metadata\":{\"name\":\"group-{i}\",\"namespace\":\"default\",\"uid\":\"r{i}\"},\"spec\":"
    "{\"selector\":{\"matchLabels\":{\"app\":\"group-{i}\"}}}}";

static void write_pod(const struct bench_row *row, int64_t i, struct buf *out)
{
    buf_add_cstr(out, "{\"metadata\":{");
    expand(out, row->metadata, i);
    expand(out, "\"name\":\"pod-{i}\",\"namespace\":\"default\",\"uid\":\"p{i}\"},\"spec\":{", i);
    expand(out, row->spec, i);
    buf_add_cstr(out, "\"schedulerName\":\"default-scheduler\",\"containers\":[{\"name\":\"c\","
                      "\"image\":\"registry.k8s.io/pause:3.10\",\"resources\":{\"requests\":"
                      "{\"cpu\":\"");
    expand(out, row->cpu, i);
    buf_add_cstr(out, "\",\"memory\":\"");
    expand(out, row->memory, i);
    buf_add_cstr(out, "\"}}}]}}");
}

/* --- objects ---------------------------------------------------------------------------------- */

static int decode(enum kind_id kind, struct str json, struct object **ret_object,
                  struct err *reterr)
{
    struct wire wire = {.kind = kind_get(kind), .encoding = ENCODING_JSON};
    return object_decode(&wire, json, ret_object, reterr);
}

static int add_cluster(struct bench_objects *o, enum kind_id kind, struct str json,
                       struct err *reterr)
{
    struct object *object;
    int r = decode(kind, json, &object, reterr);
    if (r == 0)
        vec_push(&o->cluster, object);
    return r;
}

static int add_nodes(struct bench_objects *o, int64_t n, struct buf *text, struct err *reterr)
{
    int r = 0;
    for (int64_t i = 0; r == 0 && i < n; i++) {
        long long k = i;
        buf_clear(text);
        buf_add_printf(text, node_text, k, k, k, k % 3, k % 2 ? "hdd" : "ssd");
        r = add_cluster(o, KIND_NODE, buf_str(text), reterr);
    }
    return r;
}

/* Start times differ within a node, and are the same on all nodes. */
static const char resident_text[] =
    "{\"metadata\":{\"name\":\"resident-%lld-%d\",\"namespace\":\"default\",\"uid\":\"r%lld-%d\"},"
    "\"spec\":{\"nodeName\":\"node-%05lld\",\"priority\":0,\"schedulerName\":\"default-scheduler\","
    "\"containers\":[{\"name\":\"c\",\"image\":\"registry.k8s.io/pause:3.10\",\"resources\":"
    "{\"requests\":{\"cpu\":\"2\",\"memory\":\"100Mi\"}}}]},\"status\":{\"phase\":\"Running\","
    "\"startTime\":\"2026-01-01T%02d:00:00Z\"}}";

static int add_residents(struct bench_objects *o, const struct bench_row *row, int64_t nodes,
                         struct buf *text, struct err *reterr)
{
    int r = 0;
    for (int64_t i = 0; r == 0 && i < nodes; i++)
        for (int k = 0; r == 0 && k < row->residents; k++) {
            long long n = i;
            buf_clear(text);
            buf_add_printf(text, resident_text, n, k, n, k, n, k);
            r = add_cluster(o, KIND_POD, buf_str(text), reterr);
            o->n_residents++;
        }
    return r;
}

static int add_owners(struct bench_objects *o, struct buf *text, struct err *reterr)
{
    int r = 0;
    for (int64_t i = 0; r == 0 && i < BENCH_GROUPS; i++) {
        buf_clear(text);
        expand(text, service_text, i);
        r = add_cluster(o, KIND_SERVICE, buf_str(text), reterr);
        buf_clear(text);
        expand(text, replica_set_text, i);
        if (r == 0)
            r = add_cluster(o, KIND_REPLICA_SET, buf_str(text), reterr);
    }
    return r;
}

static int add_pods(struct bench_objects *o, const struct bench_row *row, int64_t n,
                    struct buf *text, struct err *reterr)
{
    int r = 0;
    for (int64_t i = 0; r == 0 && i < n; i++) {
        struct object *object;
        buf_clear(text);
        write_pod(row, i, text);
        r = decode(KIND_POD, buf_str(text), &object, reterr);
        if (r == 0)
            vec_push(&o->pods, object);
    }
    return r;
}

int bench_objects_init(struct bench_objects *o, const struct bench_row *row, int64_t nodes,
                       int64_t pods, struct err *reterr)
{
    struct buf text = BUF_INIT;
    *o = (struct bench_objects){0};
    int r = add_nodes(o, nodes, &text, reterr);
    if (r == 0 && row->has_owners)
        r = add_owners(o, &text, reterr);
    if (r == 0)
        r = add_residents(o, row, nodes, &text, reterr);
    if (r == 0)
        r = add_pods(o, row, pods, &text, reterr);
    buf_release(&text);
    if (r < 0)
        bench_objects_release(o);
    return r;
}

void bench_objects_release(struct bench_objects *o)
{
    for (size_t i = 0; i < o->cluster.n; i++)
        object_unref(o->cluster.v[i]);
    vec_release(&o->cluster);
    for (size_t i = 0; i < o->pods.n; i++)
        object_unref(o->pods.v[i]);
    vec_release(&o->pods);
}
