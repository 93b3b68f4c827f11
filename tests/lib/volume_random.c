/* SPDX-License-Identifier: Apache-2.0 */
#include "volume_random.h"

#include "objects.h"
#include "plugin_trial.h"

static size_t pick(struct rand *r, size_t n)
{
    return (size_t)rand_below(r, n);
}
#define PICK(r, ...)         \
    (((const char *const[]){ \
        __VA_ARGS__})[pick(r, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))])

#define DRIVERS "csi.example", "ebs.csi.aws.com", "pd.csi.storage.gke.io"

/* --- objects ---------------------------------------------------------------------------------- */

static struct object *random_node(struct rand *r, size_t i)
{
    return NODE(.name = textf("n%zu", i), .cpu = "100", .memory = "100Gi",
                .labels = PICK(
                    r, "", "topology.kubernetes.io/zone=a", "topology.kubernetes.io/zone=b",
                    "failure-domain.beta.kubernetes.io/zone=a", "topology.kubernetes.io/region=b"));
}

static struct object *random_csi_node(struct rand *r, size_t i)
{
    struct buf text = BUF_INIT;
    const char *const drivers[] = {DRIVERS};
    for (size_t k = 0; k < ARRAY_LEN(drivers); k++) {
        if (!pick(r, 3))
            continue;
        buf_add_printf(&text, "%s{'name':'%s'", text.n ? "," : "", drivers[k]);
        if (pick(r, 3))
            buf_add_printf(&text, ",'allocatable':{'count':%zu}", pick(r, 4));
        buf_add_char(&text, '}');
    }
    struct object *o = object_jsonf(
        KIND_CSI_NODE, "{'metadata':{'name':'n%zu'},'spec':{'drivers':[%s]}}", i, buf_cstr(&text));
    buf_release(&text);
    return o;
}

static struct object *random_class(struct rand *r, size_t i)
{
    return object_jsonf(
        KIND_STORAGE_CLASS,
        "{'metadata':{'name':'s%zu'},'provisioner':'%s','volumeBindingMode':'%s'}", i,
        PICK(r, DRIVERS, "kubernetes.io/gce-pd", "kubernetes.io/no-provisioner", ""),
        PICK(r, "WaitForFirstConsumer", "WaitForFirstConsumer", "Immediate"));
}

static struct object *random_claim(struct rand *r, size_t i)
{
    return object_jsonf(KIND_PERSISTENT_VOLUME_CLAIM,
                        "{'metadata':{'name':'c%zu','namespace':'default'},'spec':{"
                        "'volumeName':'%s','storageClassName':'s%zu','accessModes':['%s']}}",
                        i, PICK(r, "", "v0", "v1", "v2", "v3"), pick(r, 3),
                        PICK(r, "ReadWriteOnce", "ReadWriteOncePod"));
}

static struct object *random_volume(struct rand *r, size_t i)
{
    const char *source =
        PICK(r, "'gcePersistentDisk':{'pdName':'d'}", "'awsElasticBlockStore':{'volumeID':'vol-1'}",
             "'awsElasticBlockStore':{'volumeID':'aws://x'}", "'nfs':{}");
    if (pick(r, 2))
        source = textf("'csi':{'driver':'%s','volumeHandle':'h%zu'}", PICK(r, DRIVERS), pick(r, 3));
    return object_jsonf(
        KIND_PERSISTENT_VOLUME, "{'metadata':{'name':'v%zu','labels':{%s}},'spec':{%s}}", i,
        PICK(r, "", "'topology.kubernetes.io/zone':'a'", "'topology.kubernetes.io/zone':'a__b'",
             "'failure-domain.beta.kubernetes.io/zone':'b'",
             "'topology.kubernetes.io/region':'b','topology.kubernetes.io/zone':''"),
        source);
}

static struct object *random_attachment(struct rand *r, size_t i)
{
    return object_jsonf(KIND_VOLUME_ATTACHMENT,
                        "{'metadata':{'name':'a%zu'},'spec':{'attacher':'%s','nodeName':'n%zu',"
                        "'source':{'persistentVolumeName':'v%zu'}}}",
                        i, PICK(r, DRIVERS, ""), pick(r, 4), pick(r, 5));
}

static struct object *random_driver(struct rand *r, size_t i)
{
    const char *const drivers[] = {DRIVERS};
    return object_jsonf(KIND_CSI_DRIVER,
                        "{'metadata':{'name':'%s'},'spec':{'preventPodSchedulingIfMissing':%s}}",
                        drivers[i], pick(r, 2) ? "true" : "false");
}

static void add_volume(struct buf *out, struct rand *r, size_t i)
{
    const char *flag = pick(r, 2) ? "true" : "false";
    buf_add_printf(out, "%s{'name':'d%zu',", i ? "," : "", i);
    switch (pick(r, 9)) {
    case 0:
        buf_add_printf(out, "'gcePersistentDisk':{'pdName':'d%zu','readOnly':%s}}", pick(r, 2),
                       flag);
        break;
    case 1:
        buf_add_printf(out, "'awsElasticBlockStore':{'volumeID':'%s'}}",
                       PICK(r, "vol-0", "vol-1", "vol-2", "vol-3", "aws://x"));
        break;
    case 2:
        buf_add_printf(out, "'iscsi':{'iqn':'i%zu','readOnly':%s}}", pick(r, 2), flag);
        break;
    case 3:
        buf_add_printf(out, "'rbd':{'monitors':['m%zu','m%zu'],'image':'i','readOnly':%s}}",
                       pick(r, 4), pick(r, 4), flag);
        break;
    case 4:
        buf_add_cstr(out, "'ephemeral':{}}");
        break;
    case 5:
        buf_add_cstr(out, "'emptyDir':{}}");
        break;
    default:
        buf_add_printf(out, "'persistentVolumeClaim':{'claimName':'c%zu'}}", pick(r, 6));
    }
}

struct object *volume_random_pod(struct rand *r, size_t i, const char *node)
{
    struct buf text = BUF_INIT;
    size_t n = pick(r, 4);
    buf_add_cstr(&text, "'volumes':[");
    for (size_t k = 0; k < n; k++)
        add_volume(&text, r, k);
    buf_add_char(&text, ']');
    struct object *o = POD(.name = textf("p%zu", i), .node = node, .spec = buf_cstr(&text));
    buf_release(&text);
    return o;
}

static struct object *random_bound_pod(struct rand *r, size_t i)
{
    return volume_random_pod(r, i, textf("n%zu", pick(r, 5)));
}

/* --- a cluster that changes ------------------------------------------------------------------- */

static const struct {
    size_t n;
    struct object *(*make)(struct rand *r, size_t i);
    bool fixed; /* it is deleted and added again, not changed */
} kinds[] = {
    {4, random_node, false},   {4, random_csi_node, false}, {3, random_class, false},
    {6, random_claim, false},  {5, random_volume, false},   {6, random_attachment, false},
    {3, random_driver, false}, {8, random_bound_pod, true},
};

#define MOST 8

struct cluster_now {
    struct object *objects[ARRAY_LEN(kinds)][MOST];
};

static void change(struct fixture *f, struct rand *r, struct cluster_now *now, size_t kind,
                   size_t i)
{
    struct object **o = &now->objects[kind][i];
    struct object *after = NULL;
    if (!*o || (!kinds[kind].fixed && pick(r, 3)))
        after = kinds[kind].make(r, i);
    /* The fixture takes the references; one is kept. */
    if (after)
        object_ref(after);
    if (!*o)
        fixture_add(f, after);
    else if (after)
        fixture_update(f, *o, after);
    else
        fixture_delete(f, *o);
    *o = after;
}

bool volume_random_agree(struct rand *r, size_t size, void *ctx)
{
    struct fixture f;
    struct cluster_now now = {0};
    bool ok = true;
    fixture_init_features(&f, NULL, pick(r, 2) ? "VolumeLimitScaling=true" : "");
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
        for (size_t i = 0; i < kinds[kind].n; i++)
            if (pick(r, 5))
                change(&f, r, &now, kind, i);
    for (size_t step = 0; ok && step < 5 + size; step++) {
        struct trial t;
        for (size_t k = pick(r, 3); k > 0; k--) {
            size_t kind = pick(r, ARRAY_LEN(kinds));
            change(&f, r, &now, kind, pick(r, kinds[kind].n));
        }
        trial_begin(&t, &f, ctx, volume_random_pod(r, 99, ""));
        ok = trial_batches_agree(&t);
        trial_end(&t);
    }
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
        for (size_t i = 0; i < kinds[kind].n; i++)
            object_unref(now.objects[kind][i]);
    fixture_release(&f);
    return ok;
}
