/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "apiserver/admission/admission.h"
#include "base/buf.h"

/* --- a cluster, and one request at a time ----------------------------------------------------- */

static struct {
    struct resources *resources;
    struct store *store;
    struct arena arena;
    struct admission adm;
    struct json_value object;
    struct api_status status;
} t;

static void put(const char *group, const char *plural, const char *text)
{
    const struct resource *r = resources_named(t.resources, str_of(group), str_of(plural));
    assert_non_null(r);
    struct json_value v;
    assert_int_equal(json_parse(str_of(text), 0, &t.arena, &v, NULL), 0);
    store_put(t.store, revision_new(&(struct revision_source){
                           .resource = r,
                           .namespace = json_text_at(&v, "metadata.namespace"),
                           .name = json_text_at(&v, "metadata.name"),
                           .version = store_next_version(t.store),
                           .text = str_of(text),
                       }));
}

static int setup(void **state)
{
    (void)state;
    t.resources = resources_new();
    t.store = store_new(NULL);
    arena_init(&t.arena, 0);
    put("", "namespaces", "{\"metadata\":{\"name\":\"ns\"},\"status\":{\"phase\":\"Active\"}}");
    put("", "namespaces",
        "{\"metadata\":{\"name\":\"old\"},\"status\":{\"phase\":\"Terminating\"}}");
    put("", "serviceaccounts", "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"default\"}}");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_free(t.store);
    resources_free(t.resources);
    arena_release(&t.arena);
    return 0;
}

struct request {
    enum admission_operation operation;
    const char *group, *plural, *subresource, *namespace;
    const char *object, *old; /* NULL: none */
    bool dry_run;
};

/* Returns the message; "" if it is admitted. The object is in t.object. */
static const char *send(struct request q)
{
    const struct resource *r = resources_named(t.resources, str_of(q.group), str_of(q.plural));
    struct json_value *old = NULL;
    assert_non_null(r);
    if (q.object)
        assert_int_equal(json_parse(str_of(q.object), 0, &t.arena, &t.object, NULL), 0);
    if (q.old) {
        old = arena_new(&t.arena, struct json_value);
        assert_int_equal(json_parse(str_of(q.old), 0, &t.arena, old, NULL), 0);
    }
    struct snapshot *s = store_snapshot(t.store);
    t.adm = (struct admission){
        .operation = q.operation,
        .resource = r,
        .subresource = str_of(q.subresource ? q.subresource : ""),
        .namespace = str_of(q.namespace ? q.namespace : ""),
        .name = json_text_at(q.object ? &t.object : old, "metadata.name"),
        .object = q.object ? &t.object : NULL,
        .old = old,
        .resources = t.resources,
        .snapshot = s,
        .dry_run = q.dry_run,
        .arena = &t.arena,
    };
    t.status = (struct api_status){0};
    int code = admission_mutate(&t.adm, &t.status);
    if (!code)
        code = admission_validate(&t.adm, &t.status);
    snapshot_unref(s);
    assert_int_equal(code, t.status.code);
    return code ? arena_dup(&t.arena, t.status.message).p : "";
}

static const char *create(const char *group, const char *plural, const char *namespace,
                          const char *object)
{
    return send((struct request){ADMIT_CREATE, .group = group, .plural = plural,
                                 .namespace = namespace, .object = object});
}

static const char *pod(const char *object)
{
    return create("", "pods", "ns", object);
}

static const char *text_of(const struct json_value *v)
{
    if (!v)
        return "none";
    struct buf text = BUF_INIT;
    json_write(v, &text);
    const char *kept = arena_dup(&t.arena, buf_str(&text)).p;
    buf_release(&text);
    return kept;
}

static const char *at(const char *path)
{
    return text_of(json_at(&t.object, path));
}

#define POD(spec)                                                            \
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"ns\"},\"spec\":{" spec "" \
    "}}"
#define FORBIDDEN "pods \"p\" is forbidden: "

/* --- NamespaceLifecycle ----------------------------------------------------------------------- */

static void namespaces_must_exist(void **state)
{
    (void)state;
    assert_string_equal(create("", "configmaps", "nope", "{\"metadata\":{\"name\":\"c\"}}"),
                        "namespaces \"nope\" not found");
    assert_int_equal(t.status.code, 404);
    assert_string_equal(create("", "configmaps", "ns", "{\"metadata\":{\"name\":\"c\"}}"), "");
    assert_string_equal(create("", "configmaps", "old", "{\"metadata\":{\"name\":\"c\"}}"),
                        "configmaps \"c\" is forbidden: unable to create new content in namespace "
                        "old because it is being terminated");
    assert_int_equal(t.status.code, 403);
    assert_int_equal(t.status.n_causes, 1);
    assert_true(str_is(t.status.causes[0].reason, "NamespaceTerminating"));
    assert_true(str_is(t.status.causes[0].message, "namespace old is being terminated"));
    assert_true(str_is(t.status.causes[0].field, "metadata.namespace"));
    /* Updates and deletions go on in a namespace that is being deleted. */
    assert_string_equal(
        send((struct request){ADMIT_UPDATE, .group = "", .plural = "configmaps", .namespace = "old",
                              .object = "{\"metadata\":{\"name\":\"c\"}}",
                              .old = "{\"metadata\":{\"name\":\"c\"}}"}),
        "");
    assert_string_equal(
        send((struct request){ADMIT_DELETE, .group = "", .plural = "configmaps",
                              .namespace = "nope", .old = "{\"metadata\":{\"name\":\"c\"}}"}),
        "");
}

static void some_namespaces_stay(void **state)
{
    (void)state;
    static const char *const names[] = {"default", "kube-system", "kube-public", "kube-node-lease"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char old[100], want[100] = "";
        snprintf(old, sizeof(old), "{\"metadata\":{\"name\":\"%s\"}}", names[i]);
        if (i < 3)
            snprintf(want, sizeof(want),
                     "namespaces \"%s\" is forbidden: this namespace may not be deleted", names[i]);
        assert_string_equal(
            send((struct request){ADMIT_DELETE, .group = "", .plural = "namespaces", .old = old}),
            want);
    }
}

/* --- ServiceAccount --------------------------------------------------------------------------- */

static void pods_get_a_token(void **state)
{
    (void)state;
    assert_string_equal(pod(POD("\"containers\":[{\"name\":\"a\"}],\"initContainers\":[{\"name\":"
                                "\"i\"}]")),
                        "");
    assert_string_equal(at("spec.serviceAccountName"), "\"default\"");
    assert_string_equal(at("spec.serviceAccount"), "\"default\"");
    const struct json_value *volume = &json_at(&t.object, "spec.volumes")->items[0];
    struct str name = json_text_at(volume, "name");
    assert_int_equal(name.n, strlen("kube-api-access-xxxxx"));
    assert_true(str_starts(name, STR("kube-api-access-")));
    assert_string_equal(
        text_of(json_at(volume, "projected")),
        "{\"sources\":[{\"serviceAccountToken\":{\"expirationSeconds\":3607,\"path\":\"token\"}},"
        "{\"configMap\":{\"name\":\"kube-root-ca.crt\",\"items\":[{\"key\":\"ca.crt\",\"path\":"
        "\"ca.crt\"}]}},{\"downwardAPI\":{\"items\":[{\"path\":\"namespace\",\"fieldRef\":{"
        "\"apiVersion\":\"v1\",\"fieldPath\":\"metadata.namespace\"}}]}}],\"defaultMode\":420}");
    static const char *const lists[] = {"spec.containers", "spec.initContainers"};
    for (size_t i = 0; i < 2; i++) {
        const struct json_value *mount =
            &json_at(&json_at(&t.object, lists[i])->items[0], "volumeMounts")->items[0];
        assert_true(str_eq(json_text_at(mount, "name"), name));
        assert_true(json_bool_at(mount, "readOnly", false));
        assert_true(str_is(json_text_at(mount, "mountPath"),
                           "/var/run/secrets/kubernetes.io/serviceaccount"));
    }
    /* Another pod, another name. */
    char first[64];
    snprintf(first, sizeof(first), "%.*s", STR_ARG(name));
    assert_string_equal(pod("{\"metadata\":{\"name\":\"q\"},\"spec\":{\"containers\":[{\"name\":"
                            "\"a\"}]}}"),
                        "");
    volume = &json_at(&t.object, "spec.volumes")->items[0];
    assert_false(str_is(json_text_at(volume, "name"), first));
}

static void tokens_are_not_always_mounted(void **state)
{
    (void)state;
    assert_string_equal(
        pod(POD("\"automountServiceAccountToken\":false,\"containers\":[{\"name\":\"a\"}]")), "");
    assert_string_equal(at("spec.volumes"), "none");
    put("", "serviceaccounts",
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"quiet\"},\"automountServiceAccountToken\":"
        "false,\"imagePullSecrets\":[{\"name\":\"registry\"}]}");
    assert_string_equal(pod(POD("\"serviceAccountName\":\"quiet\",\"containers\":[{\"name\":"
                                "\"a\"}]")),
                        "");
    assert_string_equal(at("spec.volumes"), "none");
    assert_string_equal(at("spec.imagePullSecrets"), "[{\"name\":\"registry\"}]");
    /* The pod's own setting wins, and a mount of its own at the same path. */
    assert_string_equal(pod(POD("\"serviceAccountName\":\"quiet\",\"automountServiceAccountToken\":"
                                "true,\"containers\":[{\"name\":\"a\"}]")),
                        "");
    assert_string_not_equal(at("spec.volumes"), "none");
    assert_string_equal(
        pod(POD("\"containers\":[{\"name\":\"a\",\"volumeMounts\":[{\"name\":\"x\",\"mountPath\":"
                "\"/var/run/secrets/kubernetes.io/serviceaccount\"}]}]")),
        "");
    assert_string_equal(at("spec.volumes"), "none");
}

static void accounts_must_exist(void **state)
{
    (void)state;
    assert_string_equal(pod(POD("\"serviceAccountName\":\"x\",\"containers\":[]")),
                        FORBIDDEN "error looking up service account ns/x: serviceaccount \"x\" not "
                                  "found");
    put("", "serviceaccounts",
        "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"strict\",\"annotations\":{"
        "\"kubernetes.io/enforce-mountable-secrets\":\"true\"}},\"secrets\":[{\"name\":\"s\"}]}");
    assert_string_equal(
        pod(POD("\"serviceAccountName\":\"strict\",\"containers\":[],\"volumes\":[{\"name\":\"v\","
                "\"secret\":{\"secretName\":\"other\"}}]")),
        FORBIDDEN "volume with secret.secretName=\"other\" is not allowed because service account "
                  "strict does not reference that secret");
    assert_string_equal(
        pod(POD("\"serviceAccountName\":\"strict\",\"containers\":[{\"name\":\"a\",\"env\":[{"
                "\"name\":\"E\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"other\"}}}]}]")),
        FORBIDDEN
        "container a with envVar E referencing secret.secretName=\"other\" is not allowed "
        "because service account strict does not reference that secret");
    assert_string_equal(
        pod(POD("\"serviceAccountName\":\"strict\",\"containers\":[],\"volumes\":[{\"name\":\"v\","
                "\"secret\":{\"secretName\":\"s\"}}]")),
        "");
    assert_string_equal(pod("{\"metadata\":{\"name\":\"p\",\"annotations\":{\"kubernetes.io/"
                            "config.mirror\":\"x\"}},"
                            "\"spec\":{\"serviceAccountName\":\"default\",\"containers\":[]}}"),
                        FORBIDDEN "a mirror pod may not reference service accounts");
}

/* --- Priority --------------------------------------------------------------------------------- */

static void put_class(const char *name, int value, bool global, const char *policy)
{
    char text[300];
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\"},\"value\":%d%s,\"preemptionPolicy\":\"%s\"}", name,
             value, global ? ",\"globalDefault\":true" : "", policy);
    put("scheduling.k8s.io", "priorityclasses", text);
}

static void pods_get_a_priority(void **state)
{
    (void)state;
    assert_string_equal(pod(POD("\"containers\":[]")), "");
    assert_string_equal(at("spec.priority"), "0");
    assert_string_equal(at("spec.preemptionPolicy"), "\"PreemptLowerPriority\"");
    assert_string_equal(at("spec.priorityClassName"), "none");
    put_class("high", 1000, false, "Never");
    put_class("usual", 50, true, "PreemptLowerPriority");
    put_class("usual2", 40, true, "PreemptLowerPriority");
    assert_string_equal(pod(POD("\"priorityClassName\":\"high\"")), "");
    assert_string_equal(at("spec.priority"), "1000");
    assert_string_equal(at("spec.preemptionPolicy"), "\"Never\"");
    assert_string_equal(pod(POD("")), "");
    assert_string_equal(at("spec.priority"), "40");
    assert_string_equal(at("spec.priorityClassName"), "\"usual2\"");
    assert_string_equal(pod(POD("\"priorityClassName\":\"x\"")),
                        FORBIDDEN "no PriorityClass with name x was found");
    assert_string_equal(
        pod(POD("\"priorityClassName\":\"high\",\"priority\":5")),
        FORBIDDEN "the integer value of priority (5) must not be provided in pod spec; priority "
                  "admission controller computed 1000 from the given PriorityClass name");
    assert_string_equal(
        pod(POD("\"priorityClassName\":\"high\",\"preemptionPolicy\":\"PreemptLowerPriority\"")),
        FORBIDDEN
        "the string value of PreemptionPolicy (PreemptLowerPriority) must not be provided "
        "in pod spec; priority admission controller computed Never from the given "
        "PriorityClass name");
    assert_string_equal(
        send((struct request){ADMIT_UPDATE, .group = "", .plural = "pods", .namespace = "ns",
                              .object = POD(""), .old = POD("\"priority\":7")}),
        "");
    assert_string_equal(at("spec.priority"), "7");
}

static void one_class_is_the_default(void **state)
{
    (void)state;
    put_class("usual", 50, true, "PreemptLowerPriority");
    assert_string_equal(
        create("scheduling.k8s.io", "priorityclasses", "",
               "{\"metadata\":{\"name\":\"b\"},\"value\":1,\"globalDefault\":true}"),
        "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass usual is already "
        "marked "
        "as default. Only one default can exist");
    assert_string_equal(send((struct request){
                            ADMIT_UPDATE, .group = "scheduling.k8s.io", .plural = "priorityclasses",
                            .object = "{\"metadata\":{\"name\":\"usual\"},\"globalDefault\":true}",
                            .old = "{\"metadata\":{\"name\":\"usual\"}}"}),
                        "");
}

/* --- tolerations, taints ---------------------------------------------------------------------- */

#define DEFAULT_TOLERATION(key)                                                   \
    "{\"key\":\"node.kubernetes.io/" key "\",\"operator\":\"Exists\",\"effect\":" \
    "\"NoExecute\",\"tolerationSeconds\":300}"

static void pods_tolerate_for_a_while(void **state)
{
    (void)state;
    pod(POD(""));
    assert_string_equal(
        at("spec.tolerations"),
        "[" DEFAULT_TOLERATION("not-ready") "," DEFAULT_TOLERATION("unreachable") "]");
    pod(POD(
        "\"tolerations\":[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\"}]"));
    assert_string_equal(
        at("spec.tolerations"),
        "[{\"key\":\"node.kubernetes.io/not-ready\",\"operator\":\"Exists\"}," DEFAULT_TOLERATION(
            "unreachable") "]");
    pod(POD("\"tolerations\":[{\"operator\":\"Exists\"}]"));
    assert_string_equal(at("spec.tolerations"), "[{\"operator\":\"Exists\"}]");
    pod(POD("\"tolerations\":[{\"operator\":\"Exists\",\"effect\":\"NoSchedule\"}]"));
    assert_int_equal(json_at(&t.object, "spec.tolerations")->n, 3);
}

static void new_nodes_are_not_ready(void **state)
{
    (void)state;
    const char *taint = "[{\"key\":\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"}]";
    create("", "nodes", "", "{\"metadata\":{\"name\":\"n\"}}");
    assert_string_equal(at("spec.taints"), taint);
    create("", "nodes", "",
           "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":"
           "\"node.kubernetes.io/not-ready\",\"effect\":\"NoSchedule\"}]}}");
    assert_string_equal(at("spec.taints"), taint);
    send((struct request){ADMIT_UPDATE, .group = "", .plural = "nodes",
                          .object = "{\"metadata\":{\"name\":\"n\"}}",
                          .old = "{\"metadata\":{\"name\":\"n\"}}"});
    assert_string_equal(at("spec.taints"), "none");
}

/* --- RuntimeClass ----------------------------------------------------------------------------- */

static void runtime_classes_add_overhead(void **state)
{
    (void)state;
    put("node.k8s.io", "runtimeclasses",
        "{\"metadata\":{\"name\":\"vm\"},\"overhead\":{\"podFixed\":{\"cpu\":\"250m\",\"memory\":"
        "\"64Mi\"}},\"scheduling\":{\"nodeSelector\":{\"vm\":\"yes\"},\"tolerations\":[{\"key\":"
        "\"vm\",\"operator\":\"Exists\"}]}}");
    assert_string_equal(
        pod(POD("\"runtimeClassName\":\"vm\",\"nodeSelector\":{\"a\":\"b\"},\"tolerations\":[{"
                "\"key\":\"vm\",\"operator\":\"Equal\",\"value\":\"x\"},{\"operator\":\"Exists\","
                "\"effect\":\"NoExecute\"}]")),
        "");
    assert_string_equal(at("spec.overhead"), "{\"cpu\":\"250m\",\"memory\":\"64Mi\"}");
    assert_string_equal(at("spec.nodeSelector"), "{\"a\":\"b\",\"vm\":\"yes\"}");
    /* The toleration of the class includes the pod's. */
    assert_string_equal(at("spec.tolerations"),
                        "[{\"operator\":\"Exists\",\"effect\":\"NoExecute\"},{\"key\":\"vm\","
                        "\"operator\":\"Exists\"}]");
    assert_string_equal(pod(POD("\"runtimeClassName\":\"vm\",\"overhead\":{\"cpu\":\"0.25\","
                                "\"memory\":\"65536Ki\"}")),
                        "");
    assert_string_equal(
        pod(POD("\"runtimeClassName\":\"vm\",\"overhead\":{\"cpu\":\"1\"}")),
        FORBIDDEN "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    assert_string_equal(pod(POD("\"overhead\":{\"cpu\":\"1\"}")),
                        FORBIDDEN "pod rejected: Pod Overhead set without corresponding "
                                  "RuntimeClass defined Overhead");
    assert_string_equal(pod(POD("\"runtimeClassName\":\"x\"")),
                        FORBIDDEN "pod rejected: RuntimeClass \"x\" not found");
    assert_string_equal(pod(POD("\"runtimeClassName\":\"vm\",\"nodeSelector\":{\"vm\":\"no\"}")),
                        FORBIDDEN "conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; "
                                  "pod.spec.nodeSelector[vm] = no");
}

/* --- storage ---------------------------------------------------------------------------------- */

#define CLAIM(spec) "{\"metadata\":{\"name\":\"c\"},\"spec\":{" spec "}}"

static void put_storage_class(const char *name, const char *created, bool expands)
{
    char text[400];
    snprintf(text, sizeof(text),
             "{\"metadata\":{\"name\":\"%s\",\"creationTimestamp\":\"%s\",\"annotations\":{"
             "\"storageclass.kubernetes.io/is-default-class\":\"true\"}},"
             "\"allowVolumeExpansion\":%s}",
             name, created, expands ? "true" : "false");
    put("storage.k8s.io", "storageclasses", text);
}

static void claims_get_a_class_and_a_finalizer(void **state)
{
    (void)state;
    create("", "persistentvolumeclaims", "ns", CLAIM(""));
    assert_string_equal(at("spec.storageClassName"), "none");
    assert_string_equal(at("metadata.finalizers"), "[\"kubernetes.io/pvc-protection\"]");
    put_storage_class("b", "2026-01-02T00:00:00Z", false);
    put_storage_class("a", "2026-01-02T00:00:00Z", false);
    put_storage_class("0", "2026-01-01T00:00:00Z", false);
    create("", "persistentvolumeclaims", "ns", CLAIM(""));
    assert_string_equal(at("spec.storageClassName"), "\"a\"");
    create("", "persistentvolumeclaims", "ns", CLAIM("\"storageClassName\":\"\""));
    assert_string_equal(at("spec.storageClassName"), "\"\"");
    create(
        "", "persistentvolumes", "",
        "{\"metadata\":{\"name\":\"v\",\"finalizers\":[\"x\",\"kubernetes.io/pv-protection\"]}}");
    assert_string_equal(at("metadata.finalizers"), "[\"x\",\"kubernetes.io/pv-protection\"]");
}

static const char *sized_claim(const char *phase, const char *class, const char *size)
{
    return arena_printf(&t.arena,
                        "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"storageClassName\":\"%s\","
                        "\"resources\":{\"requests\":{\"storage\":\"%s\"}}},\"status\":{"
                        "\"phase\":\"%s\"}}",
                        class, size, phase)
        .p;
}

static const char *resize(const char *phase, const char *class)
{
    return send((struct request){ADMIT_UPDATE, .group = "", .plural = "persistentvolumeclaims",
                                 .namespace = "ns", .object = sized_claim(phase, class, "2Gi"),
                                 .old = sized_claim(phase, class, "1Gi")});
}

static void claims_grow_if_their_class_allows_it(void **state)
{
    (void)state;
    put_storage_class("fixed", "", false);
    put_storage_class("grows", "", true);
    assert_string_equal(resize("Bound", "grows"), "");
    assert_string_equal(resize("Pending", "grows"),
                        "persistentvolumeclaims \"c\" is forbidden: Only bound persistent volume "
                        "claims can be expanded");
    assert_string_equal(
        resize("Bound", "fixed"),
        "persistentvolumeclaims \"c\" is forbidden: only dynamically provisioned pvc "
        "can be resized and the storageclass that provisions the pvc must support "
        "resize");
}

/* --- LimitRanger ------------------------------------------------------------------------------ */

static void put_limits(const char *limits)
{
    put("", "limitranges",
        arena_printf(
            &t.arena,
            "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"l\"},\"spec\":{\"limits\":[%s]}}",
            limits)
            .p);
}

#define RESOURCES(requests, limits) \
    "\"resources\":{\"requests\":{" requests "},\"limits\":{" limits "}}"

static void containers_get_default_limits(void **state)
{
    (void)state;
    put_limits("{\"type\":\"Container\",\"default\":{\"memory\":\"1Gi\",\"cpu\":\"2\"},"
               "\"defaultRequest\":{\"memory\":\"512Mi\",\"cpu\":\"1\"}}");
    assert_string_equal(
        pod(POD("\"containers\":[{\"name\":\"a\"},{\"name\":\"b\"," RESOURCES(
            "\"cpu\":\"100m\"", "\"memory\":\"2Gi\"") "}],\"initContainers\":[{\"name\":\"i\"}]")),
        "");
    const struct json_value *b = &json_at(&t.object, "spec.containers")->items[1];
    assert_string_equal(text_of(json_at(b, "resources")),
                        "{\"requests\":{\"cpu\":\"100m\",\"memory\":\"512Mi\"},\"limits\":{"
                        "\"memory\":\"2Gi\",\"cpu\":\"2\"}}");
    const struct json_value *annotation =
        json_get(json_at(&t.object, "metadata.annotations"), STR("kubernetes.io/limit-ranger"));
    assert_string_equal(
        text_of(annotation),
        "\"LimitRanger plugin set: cpu, memory request for container a; cpu, memory "
        "limit for container a; memory request for container b; cpu limit for "
        "container b; cpu, memory request for init container i; cpu, memory limit "
        "for init container i\"");
}

static void limits_are_enforced(void **state)
{
    (void)state;
    put_limits("{\"type\":\"Container\",\"min\":{\"cpu\":\"100m\"},\"max\":{\"cpu\":\"2\"},"
               "\"maxLimitRequestRatio\":{\"cpu\":\"4\"}}");
    static const struct {
        const char *requests, *limits, *message;
    } cases[] = {
        {"\"cpu\":\"500m\"", "\"cpu\":\"1\"", ""},
        {"\"cpu\":\"50m\"", "\"cpu\":\"100m\"",
         FORBIDDEN "minimum cpu usage per Container is 100m, but request is 50m"},
        {"\"cpu\":\"1\"", "\"cpu\":\"3\"",
         FORBIDDEN "maximum cpu usage per Container is 2, but limit is 3"},
        {"\"cpu\":\"100m\"", "\"cpu\":\"1\"",
         FORBIDDEN "cpu max limit to request ratio per Container is 4, but provided ratio is "
                   "10.000000"},
        {"", "",
         FORBIDDEN
         "[minimum cpu usage per Container is 100m.  No request is specified, maximum cpu "
         "usage per Container is 2.  No limit is specified, cpu max limit to request "
         "ratio per Container is 4, but no request is specified or request is 0]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str object = arena_printf(
            &t.arena, POD("\"containers\":[{\"name\":\"a\"," RESOURCES("%s", "%s") "}]"),
            cases[i].requests, cases[i].limits);
        assert_string_equal(pod(object.p), cases[i].message);
    }
}

static void pods_have_limits_too(void **state)
{
    (void)state;
    put_limits("{\"type\":\"Pod\",\"max\":{\"memory\":\"3Gi\"}},{\"type\":"
               "\"PersistentVolumeClaim\",\"min\":{\"storage\":\"1Gi\"},\"max\":{\"storage\":"
               "\"5Gi\"}}");
#define GIB(n) "{\"name\":\"a\"," RESOURCES("", "\"memory\":\"" n "Gi\"") "}"
    assert_string_equal(pod(POD("\"containers\":[" GIB("1") "," GIB("2") "]")), "");
    assert_string_equal(pod(POD("\"containers\":[" GIB("2") "," GIB("2") "]")),
                        FORBIDDEN "maximum memory usage per Pod is 3Gi, but limit is 4Gi");
    /* An init container runs alone, a sidecar beside the others. */
    assert_string_equal(pod(POD("\"containers\":[" GIB("2") "],\"initContainers\":[" GIB("3") "]")),
                        "");
    assert_string_equal(
        pod(POD("\"containers\":[" GIB("2") "],\"initContainers\":[{\"name\":\"s\","
                                            "\"restartPolicy\":\"Always\"," RESOURCES(
                                                "", "\"memory\":\"2Gi\"") "}]")),
        FORBIDDEN "maximum memory usage per Pod is 3Gi, but limit is 4Gi");
    assert_string_equal(pod(POD("\"resources\":{\"limits\":{\"memory\":\"1Gi\"}},"
                                "\"containers\":[" GIB("2") "," GIB("2") "]")),
                        "");
    assert_string_equal(create("", "persistentvolumeclaims", "ns",
                               CLAIM("\"resources\":{\"requests\":{\"storage\":\"6Gi\"}}")),
                        "persistentvolumeclaims \"c\" is forbidden: maximum storage usage per "
                        "PersistentVolumeClaim "
                        "is 5Gi, but request is 6Gi");
    assert_string_equal(create("", "persistentvolumeclaims", "ns",
                               CLAIM("\"resources\":{\"requests\":{\"storage\":\"500Mi\"}}")),
                        "persistentvolumeclaims \"c\" is forbidden: minimum storage usage per "
                        "PersistentVolumeClaim "
                        "is 1Gi, but request is 500Mi");
}

/* --- ResourceQuota ---------------------------------------------------------------------------- */

static void put_quota(const char *spec, const char *hard, const char *used)
{
    put("", "resourcequotas",
        arena_printf(
            &t.arena,
            "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"q\"},\"spec\":{%s},\"status\":{"
            "\"hard\":{%s},\"used\":{%s}}}",
            spec, hard, used)
            .p);
}

/* status.used after the request; "none": it is not changed. */
static const char *used(void)
{
    return t.adm.n_effects ? text_of(json_at(&t.adm.effects[0].object, "status.used")) : "none";
}

#define CPU_POD(more, cpu) \
    POD(more "\"containers\":[{\"name\":\"a\"," RESOURCES("\"cpu\":\"" cpu "\"", "") "}]")

static void quotas_are_charged(void **state)
{
    (void)state;
    put_quota(
        "", "\"cpu\":\"2\",\"pods\":\"5\",\"count/pods\":\"5\",\"requests.nvidia.com/gpu\":\"1\"",
        "\"cpu\":\"500m\",\"pods\":\"1\",\"count/pods\":\"1\",\"requests.nvidia.com/gpu\":\"0\"");
    assert_string_equal(pod(CPU_POD("", "1")), "");
    assert_string_equal(used(), "{\"count/pods\":\"2\",\"cpu\":\"1500m\",\"pods\":\"2\","
                                "\"requests.nvidia.com/gpu\":\"0\"}");
    assert_true(str_is(t.adm.effects[0].name, "q"));
    assert_string_equal(pod(CPU_POD("", "1600m")), FORBIDDEN
                        "exceeded quota: q, requested: cpu=1600m, used: cpu=500m, limited: "
                        "cpu=2");
    assert_string_equal(used(), "none");
    assert_string_equal(pod(POD("\"containers\":[{\"name\":\"b\"},{\"name\":\"a\"}]")),
                        FORBIDDEN "failed quota: q: must specify cpu for: a,b");
    assert_string_equal(
        pod(POD("\"containers\":[{\"name\":\"a\"," RESOURCES(
            "\"cpu\":\"1\",\"nvidia.com/gpu\":\"2\"", "\"nvidia.com/gpu\":\"2\"") "}]")),
        FORBIDDEN "exceeded quota: q, requested: requests.nvidia.com/gpu=2, used: "
                  "requests.nvidia.com/gpu=0, limited: requests.nvidia.com/gpu=1");
    assert_string_equal(
        send((struct request){ADMIT_CREATE, .group = "", .plural = "pods", .namespace = "ns",
                              .object = CPU_POD("", "1"), .dry_run = true}),
        "");
    assert_string_equal(used(), "none");
    /* Other resources, and other namespaces, are not concerned. */
    assert_string_equal(create("", "configmaps", "ns", "{\"metadata\":{\"name\":\"c\"}}"), "");
    assert_string_equal(used(), "none");
}

static void quotas_wait_for_their_status(void **state)
{
    (void)state;
    put_quota("", "\"cpu\":\"2\",\"pods\":\"5\"", "\"pods\":\"1\"");
    assert_string_equal(pod(CPU_POD("", "1")),
                        FORBIDDEN "status unknown for quota: q, resources: cpu,pods");
    put_quota("\"hard\":{\"pods\":\"0\"}", "", "");
    assert_string_equal(pod(CPU_POD("", "1")), "");
}

static void quotas_have_scopes(void **state)
{
    (void)state;
    static const struct {
        const char *scopes, *pod;
        bool counted;
    } cases[] = {
        {"\"scopes\":[\"BestEffort\"]", POD("\"containers\":[{\"name\":\"a\"}]"), true},
        {"\"scopes\":[\"BestEffort\"]", CPU_POD("", "1"), false},
        {"\"scopes\":[\"NotBestEffort\"]", CPU_POD("", "1"), true},
        {"\"scopes\":[\"Terminating\"]", CPU_POD("", "1"), false},
        {"\"scopes\":[\"Terminating\"]", CPU_POD("\"activeDeadlineSeconds\":5,", "1"), true},
        {"\"scopes\":[\"NotTerminating\",\"NotBestEffort\"]", CPU_POD("", "1"), true},
        {"\"scopes\":[\"NotTerminating\",\"BestEffort\"]", CPU_POD("", "1"), false},
        {"\"scopes\":[\"CrossNamespacePodAffinity\"]", CPU_POD("", "1"), false},
        {"\"scopes\":[\"CrossNamespacePodAffinity\"]",
         CPU_POD(
             "\"affinity\":{\"podAffinity\":{\"requiredDuringSchedulingIgnoredDuringExecution\":"
             "[{\"namespaceSelector\":{}}]}},",
             "1"),
         true},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
         "\"In\",\"values\":[\"high\"]}]}",
         CPU_POD("\"priorityClassName\":\"high\",", "1"), true},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
         "\"In\",\"values\":[\"high\"]}]}",
         CPU_POD("", "1"), false},
        {"\"scopeSelector\":{\"matchExpressions\":[{\"scopeName\":\"PriorityClass\",\"operator\":"
         "\"NotIn\",\"values\":[\"high\"]}]}",
         CPU_POD("", "1"), true},
    };
    put_class("high", 10, false, "Never");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_quota(cases[i].scopes, "\"pods\":\"5\"", "\"pods\":\"1\"");
        assert_string_equal(pod(cases[i].pod), "");
        assert_string_equal(used(), cases[i].counted ? "{\"pods\":\"2\"}" : "none");
    }
}

static void all_kinds_of_objects_count(void **state)
{
    (void)state;
    static const struct {
        const char *group, *plural, *object, *hard, *zero, *want;
    } cases[] = {
        {"", "configmaps", "{\"metadata\":{\"name\":\"x\"}}",
         "\"configmaps\":\"5\",\"count/configmaps\":\"5\"",
         "\"configmaps\":\"0\",\"count/configmaps\":\"0\"",
         "{\"configmaps\":\"1\",\"count/configmaps\":\"1\"}"},
        {"apps", "deployments", "{\"metadata\":{\"name\":\"x\"}}",
         "\"count/deployments.apps\":\"5\"", "\"count/deployments.apps\":\"1\"",
         "{\"count/deployments.apps\":\"2\"}"},
        {"", "services",
         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"type\":\"LoadBalancer\",\"ports\":[{},{}]}}",
         "\"services\":\"5\",\"services.nodeports\":\"5\",\"services.loadbalancers\":\"5\"",
         "\"services\":\"0\",\"services.nodeports\":\"0\",\"services.loadbalancers\":\"0\"",
         "{\"services\":\"1\",\"services.loadbalancers\":\"1\",\"services.nodeports\":\"2\"}"},
        {"", "persistentvolumeclaims",
         CLAIM("\"storageClassName\":\"gold\",\"resources\":{\"requests\":{\"storage\":\"3Gi\"}}"),
         "\"persistentvolumeclaims\":\"5\",\"requests.storage\":\"9Gi\","
         "\"gold.storageclass.storage.k8s.io/requests.storage\":\"9Gi\","
         "\"silver.storageclass.storage.k8s.io/requests.storage\":\"9Gi\"",
         "\"persistentvolumeclaims\":\"0\",\"requests.storage\":\"1Gi\","
         "\"gold.storageclass.storage.k8s.io/requests.storage\":\"0\","
         "\"silver.storageclass.storage.k8s.io/requests.storage\":\"0\"",
         "{\"gold.storageclass.storage.k8s.io/requests.storage\":\"3Gi\","
         "\"persistentvolumeclaims\":\"1\",\"requests.storage\":\"4Gi\","
         "\"silver.storageclass.storage.k8s.io/requests.storage\":\"0\"}"},
        {"resource.k8s.io", "resourceclaims",
         "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"devices\":{\"requests\":[{\"exactly\":{"
         "\"deviceClassName\":\"gpu\",\"count\":3}},{\"firstAvailable\":[{\"deviceClassName\":"
         "\"gpu\",\"count\":2},{\"deviceClassName\":\"gpu\",\"count\":4}]}]}}}",
         "\"gpu.deviceclass.resource.k8s.io/devices\":\"9\"",
         "\"gpu.deviceclass.resource.k8s.io/devices\":\"1\"",
         "{\"gpu.deviceclass.resource.k8s.io/devices\":\"8\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put_quota("", cases[i].hard, cases[i].zero);
        assert_string_equal(create(cases[i].group, cases[i].plural, "ns", cases[i].object), "");
        assert_string_equal(used(), cases[i].want);
    }
}

static void updates_are_charged_by_their_difference(void **state)
{
    (void)state;
    put_quota("", "\"services.nodeports\":\"3\",\"services\":\"1\"",
              "\"services.nodeports\":\"1\",\"services\":\"1\"");
#define SERVICE(ports) \
    "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"type\":\"NodePort\",\"ports\":[" ports "]}}"
    struct request q = {ADMIT_UPDATE,
                        .group = "",
                        .plural = "services",
                        .namespace = "ns",
                        .object = SERVICE("{},{},{}"),
                        .old = SERVICE("{}")};
    assert_string_equal(send(q), "");
    assert_string_equal(used(), "{\"services\":\"1\",\"services.nodeports\":\"3\"}");
    q.object = SERVICE("{},{},{},{}");
    assert_string_equal(send(q), "services \"s\" is forbidden: exceeded quota: q, requested: "
                                 "services.nodeports=3, used: services.nodeports=1, limited: "
                                 "services.nodeports=3");
    q.object = SERVICE("");
    assert_string_equal(send(q), "");
    assert_string_equal(used(), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(namespaces_must_exist, setup, teardown),
        cmocka_unit_test_setup_teardown(some_namespaces_stay, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_get_a_token, setup, teardown),
        cmocka_unit_test_setup_teardown(tokens_are_not_always_mounted, setup, teardown),
        cmocka_unit_test_setup_teardown(accounts_must_exist, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_get_a_priority, setup, teardown),
        cmocka_unit_test_setup_teardown(one_class_is_the_default, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_tolerate_for_a_while, setup, teardown),
        cmocka_unit_test_setup_teardown(new_nodes_are_not_ready, setup, teardown),
        cmocka_unit_test_setup_teardown(runtime_classes_add_overhead, setup, teardown),
        cmocka_unit_test_setup_teardown(claims_get_a_class_and_a_finalizer, setup, teardown),
        cmocka_unit_test_setup_teardown(claims_grow_if_their_class_allows_it, setup, teardown),
        cmocka_unit_test_setup_teardown(containers_get_default_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(limits_are_enforced, setup, teardown),
        cmocka_unit_test_setup_teardown(pods_have_limits_too, setup, teardown),
        cmocka_unit_test_setup_teardown(quotas_are_charged, setup, teardown),
        cmocka_unit_test_setup_teardown(quotas_wait_for_their_status, setup, teardown),
        cmocka_unit_test_setup_teardown(quotas_have_scopes, setup, teardown),
        cmocka_unit_test_setup_teardown(all_kinds_of_objects_count, setup, teardown),
        cmocka_unit_test_setup_teardown(updates_are_charged_by_their_difference, setup, teardown),
    };
    return cmocka_run_group_tests_name("admission", tests, NULL, NULL);
}
