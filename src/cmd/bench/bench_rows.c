/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/bench/bench_rows.h"

#include "base/buf.h"

#define HOSTNAME "kubernetes.io/hostname"
#define ZONE     "topology.kubernetes.io/zone"
#define GROUP    "\"labels\":{\"app\":\"group-{group}\"},"
#define SELECTOR "\"labelSelector\":{\"matchLabels\":{\"app\":\"group-{group}\"}}"
#define REQUIRED "\"requiredDuringSchedulingIgnoredDuringExecution\""

#define DRIVER "gpu.example.com"

#define WITH_VOLUME \
    "\"volumes\":[{\"name\":\"data\",\"persistentVolumeClaim\":{\"claimName\":\"claim-{i}\"}}],"
#define WITH_DEVICE "\"resourceClaims\":[{\"name\":\"gpu\",\"resourceClaimName\":\"claim-{i}\"}],"

/* A volume and its claim, bound. */
#define BOUND_VOLUME                                                                               \
    {KIND_PERSISTENT_VOLUME, EACH_POD,                                                             \
     "{\"metadata\":{\"name\":\"volume-{i}\",\"uid\":\"v{i}\",\"resourceVersion\":\"1\"},"         \
     "\"spec\":"                                                                                   \
     "{\"capacity\":{\"storage\":\"1Gi\"},\"accessModes\":[\"ReadWriteOnce\"],"                    \
     "\"storageClassName\":"                                                                       \
     "\"fast\",\"csi\":{\"driver\":\"csi.example.com\",\"volumeHandle\":\"volume-{i}\"},"          \
     "\"claimRef\":"                                                                               \
     "{\"namespace\":\"default\",\"name\":\"claim-{i}\",\"uid\":\"c{i}\"}},\"status\":{\"phase\":" \
     "\"Bound\"}}",                                                                                \
     0},                                                                                           \
        {KIND_PERSISTENT_VOLUME_CLAIM, EACH_POD,                                                   \
         "{\"metadata\":{\"name\":\"claim-{i}\",\"namespace\":\"default\",\"uid\":\"c{i}\","       \
         "\"resourceVersion\":\"1\",\"annotations\":{\"pv.kubernetes.io/"                          \
         "bind-completed\":\"yes\"}},"                                                             \
         "\"spec\":{\"accessModes\":[\"ReadWriteOnce\"],\"storageClassName\":\"fast\","            \
         "\"volumeName\":\"volume-{i}\",\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}},"      \
         "\"status\":{\"phase\":\"Bound\"}}",                                                      \
         0}

/* A class of devices, and a slice for each node. */
#define DEVICES(n)                                                                                \
    {KIND_DEVICE_CLASS, EACH_RUN,                                                                 \
     "{\"metadata\":{\"name\":\"" DRIVER "\",\"uid\":\"dc\",\"resourceVersion\":\"1\"},\"spec\":" \
     "{\"selectors\":[{\"cel\":{\"expression\":\"device.driver == '" DRIVER "'\"}}]}}",           \
     0},                                                                                          \
    {                                                                                             \
        KIND_RESOURCE_SLICE, EACH_NODE,                                                           \
            "{\"metadata\":{\"name\":\"{node}\",\"uid\":\"s{i}\",\"resourceVersion\":\"1\"},"     \
            "\"spec\":"                                                                           \
            "{\"nodeName\":\"{node}\",\"driver\":\"" DRIVER "\",\"pool\":{\"name\":\"{node}\","   \
            "\"generation\":1,\"resourceSliceCount\":1},\"devices\":[{}]}}",                      \
            (n)                                                                                   \
    }

#define DEVICE_CLAIM(devices)                                                            \
    {KIND_RESOURCE_CLAIM, EACH_POD,                                                      \
     "{\"metadata\":{\"name\":\"claim-{i}\",\"namespace\":\"default\",\"uid\":\"c{i}\"," \
     "\"resourceVersion\":\"1\"},\"spec\":{\"devices\":{" devices "}}}",                 \
     0}
#define REQUEST(name)                                                   \
    "{\"name\":\"" name "\",\"exactly\":{\"deviceClassName\":\"" DRIVER \
    "\",\"allocationMode\":\"ExactCount\",\"count\":1}}"

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
    {.name = "bound-claims",
     .title = "volume claims that are bound",
     .metadata = "",
     .spec = WITH_VOLUME,
     .cpu = "100m",
     .memory = "100Mi",
     .extras = {BOUND_VOLUME}},
    {.name = "csi-limits",
     .title = "volume claims that are bound, 16 volumes a node",
     .metadata = "",
     .spec = WITH_VOLUME,
     .cpu = "100m",
     .memory = "100Mi",
     .extras = {BOUND_VOLUME,
                {KIND_CSI_NODE, EACH_NODE,
                 "{\"metadata\":{\"name\":\"{node}\",\"uid\":\"cn{i}\",\"resourceVersion\":\"1\"},"
                 "\"spec\":{\"drivers\":[{\"name\":\"csi.example.com\",\"nodeID\":\"{node}\","
                 "\"allocatable\":{\"count\":16}}]}}",
                 0}}},
    {.name = "device-claims",
     .title = "resource claims, 16 devices a node",
     .metadata = "",
     .spec = WITH_DEVICE,
     .cpu = "100m",
     .memory = "100Mi",
     .extras = {DEVICES(16), DEVICE_CLAIM("\"requests\":[" REQUEST("r") "]")}},
    {.name = "match-attribute",
     .title = "resource claims, two devices with the same attribute",
     .metadata = "",
     .spec = WITH_DEVICE,
     .cpu = "100m",
     .memory = "100Mi",
     .extras = {DEVICES(32), DEVICE_CLAIM("\"requests\":[" REQUEST("r") "," REQUEST(
                                 "s") "],\"constraints\":[{\"requests\":[\"r\",\"s\"],"
                                      "\"matchAttribute\":\"" DRIVER "/numa\"}]")}},
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

/* Appends text with the placeholders filled in for pod or node i. */
static void expand(struct buf *out, const char *text, int64_t i)
{
    struct str left = str_of(text);
    while (left.n) {
        int64_t value;
        size_t n;
        if (str_starts(left, STR("{node}"))) {
            buf_add_printf(out, "node-%05lld", (long long)i);
            n = strlen("{node}");
        } else if (placeholder(left, i, &value, &n)) {
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

/* The text of an extra object; "{}" stands for the devices. */
static void write_extra(const struct bench_extra *extra, int64_t i, struct buf *out)
{
    const char *devices = extra->devices ? strstr(extra->text, "{}") : NULL;
    if (!devices) {
        expand(out, extra->text, i);
        return;
    }
    struct buf head = BUF_INIT;
    buf_add(&head, extra->text, (size_t)(devices - extra->text));
    expand(out, buf_cstr(&head), i);
    for (int k = 0; k < extra->devices; k++)
        buf_add_printf(out,
                       "%s{\"name\":\"d-%d\",\"attributes\":{\"numa\":{\"int\":%d},\"model\":"
                       "{\"string\":\"a100\"}},\"capacity\":{\"memory\":{\"value\":\"40Gi\"}}}",
                       k ? "," : "", k, k % 2);
    expand(out, devices + strlen("{}"), i);
    buf_release(&head);
}

static int add_extras(struct bench_objects *o, const struct bench_row *row, int64_t nodes,
                      int64_t pods, struct err *reterr)
{
    struct buf text = BUF_INIT;
    int r = 0;
    for (size_t k = 0; k < ARRAY_LEN(row->extras) && row->extras[k].text; k++) {
        const struct bench_extra *extra = &row->extras[k];
        int64_t n = extra->each == EACH_POD ? pods : extra->each == EACH_NODE ? nodes : 1;
        for (int64_t i = 0; r == 0 && i < n; i++) {
            buf_clear(&text);
            write_extra(extra, i, &text);
            r = add_cluster(o, extra->kind, buf_str(&text), reterr);
        }
    }
    buf_release(&text);
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
        r = add_extras(o, row, nodes, pods, reterr);
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
