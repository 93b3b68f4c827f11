/* SPDX-License-Identifier: Apache-2.0 */
#include "api/pod_controller.h"

#include "api/node.h"
#include "api/node_selector.h"
#include "api/pod_admission.h"
#include "api/pod_controller_internal.h"
#include "api/toleration.h"

/* --- tables; fields with number 0 exist in JSON only ------------------------------------------ */

static const struct field pod_template_fields[] = {
    F_MSG(struct pod_template, metadata, "metadata", 1, struct object_meta, &object_meta_type),
    F_MSG(struct pod_template, spec, "spec", 2, struct pod_spec, &pod_spec_type),
};
static const struct type pod_template_type =
    TYPE("k8s.io.api.core.v1.PodTemplateSpec", struct pod_template, pod_template_fields);

static const struct field ordinals_fields[] = {
    F_ONE(struct pod_controller_ordinals, start, "start", 1, INT32),
};
static const struct type ordinals_type =
    TYPE("k8s.io.api.apps.v1.StatefulSetOrdinals", struct pod_controller_ordinals, ordinals_fields);

static const struct field claim_fields[] = {
    F_MSG(struct pod_controller_claim, metadata, "metadata", 1, struct object_meta,
          &object_meta_type),
    F_MSG(struct pod_controller_claim, spec, "spec", 2, struct persistent_volume_claim_spec,
          &persistent_volume_claim_spec_type),
};
static const struct type claim_type =
    TYPE("k8s.io.api.core.v1.PersistentVolumeClaim", struct pod_controller_claim, claim_fields);

static const struct field spec_fields[] = {
    F_PTR(struct pod_controller_spec, replicas, "replicas", 0, INT32),
    F_PTR_MSG(struct pod_controller_spec, selector, "selector", 0, struct label_selector,
              &label_selector_type),
    F_MSG(struct pod_controller_spec, template, "template", 0, struct pod_template,
          &pod_template_type),
    F_PTR_MSG(struct pod_controller_spec, ordinals, "ordinals", 0, struct pod_controller_ordinals,
              &ordinals_type),
    F_LIST_MSG(struct pod_controller_spec, volume_claim_templates, "volumeClaimTemplates", 0,
               struct pod_controller_claim, &claim_type),
    F_PTR(struct pod_controller_spec, parallelism, "parallelism", 0, INT32),
    F_PTR(struct pod_controller_spec, completions, "completions", 0, INT32),
    F_ONE(struct pod_controller_spec, completion_mode, "completionMode", 0, STR),
    F_ONE(struct pod_controller_spec, suspend, "suspend", 0, BOOL),
};
static const struct type spec_type =
    TYPE("PodControllerSpec", struct pod_controller_spec, spec_fields);

static const struct field condition_fields[] = {
    F_ONE(struct pod_controller_condition, type, "type", 0, STR),
    F_ONE(struct pod_controller_condition, status, "status", 0, STR),
};
static const struct type pod_controller_condition_type =
    TYPE("PodControllerCondition", struct pod_controller_condition, condition_fields);

static const struct field status_fields[] = {
    F_ONE(struct pod_controller_status, succeeded, "succeeded", 0, INT32),
    F_LIST_MSG(struct pod_controller_status, conditions, "conditions", 0,
               struct pod_controller_condition, &pod_controller_condition_type),
};
static const struct type status_type =
    TYPE("PodControllerStatus", struct pod_controller_status, status_fields);

static const struct field view_fields[] = {
    F_MSG(struct pod_controller, metadata, "metadata", 0, struct object_meta, &object_meta_type),
    F_MSG(struct pod_controller, spec, "spec", 0, struct pod_controller_spec, &spec_type),
    F_MSG(struct pod_controller, status, "status", 0, struct pod_controller_status, &status_type),
};
const struct type pod_controller_view_type =
    TYPE("PodController", struct pod_controller, view_fields);

/* --- kinds ------------------------------------------------------------------------------------ */

static const struct {
    struct str api_version, kind;
} kinds[POD_CONTROLLER_COUNT] = {
    [POD_CONTROLLER_DEPLOYMENT] = {STR_INIT("apps/v1"), STR_INIT("Deployment")},
    [POD_CONTROLLER_REPLICA_SET] = {STR_INIT("apps/v1"), STR_INIT("ReplicaSet")},
    [POD_CONTROLLER_REPLICATION_CONTROLLER] = {STR_INIT("v1"), STR_INIT("ReplicationController")},
    [POD_CONTROLLER_STATEFUL_SET] = {STR_INIT("apps/v1"), STR_INIT("StatefulSet")},
    [POD_CONTROLLER_DAEMON_SET] = {STR_INIT("apps/v1"), STR_INIT("DaemonSet")},
    [POD_CONTROLLER_JOB] = {STR_INIT("batch/v1"), STR_INIT("Job")},
};

bool pod_controller_kind_find(struct str api_version, struct str kind,
                              enum pod_controller_kind *ret_kind)
{
    for (size_t i = 0; i < POD_CONTROLLER_COUNT; i++)
        if (str_eq(kinds[i].kind, kind) && str_eq(kinds[i].api_version, api_version)) {
            *ret_kind = (enum pod_controller_kind)i;
            return true;
        }
    return false;
}

struct str pod_controller_kind_name(enum pod_controller_kind kind)
{
    return kinds[kind].kind;
}

struct str pod_controller_kind_api_version(enum pod_controller_kind kind)
{
    return kinds[kind].api_version;
}

/* --- number of pods --------------------------------------------------------------------------- */

static int64_t or_one(const int32_t *number)
{
    return number ? MAX(*number, 0) : 1;
}

/* A Job without completions is complete when one of its pods is; it starts `parallelism` pods. */
static int64_t job_replicas(const struct pod_controller *w)
{
    int64_t at_once = or_one(w->spec.parallelism);
    if (!w->spec.completions && w->spec.parallelism)
        return w->status.succeeded ? 0 : at_once;
    return MIN(at_once, MAX(or_one(w->spec.completions) - w->status.succeeded, 0));
}

/* A Job that has run, failed or is suspended. */
static bool job_is_over(const struct pod_controller *w)
{
    for (size_t i = 0; i < w->status.conditions.n; i++) {
        const struct pod_controller_condition *c = &w->status.conditions.v[i];
        if ((str_is(c->type, "Complete") || str_is(c->type, "Failed")) && str_is(c->status, "True"))
            return true;
    }
    return w->spec.suspend;
}

int64_t pod_controller_replicas(enum pod_controller_kind kind, const struct pod_controller *w)
{
    switch (kind) {
    case POD_CONTROLLER_DAEMON_SET:
        return 0;
    case POD_CONTROLLER_JOB:
        return job_is_over(w) ? 0 : job_replicas(w);
    default:
        return or_one(w->spec.replicas);
    }
}

void pod_controller_add_daemon_tolerations(struct pod_spec *spec, struct arena *a)
{
#define TOLERATE(k, e) {.key = STR_INIT(k), .operator= STR_INIT("Exists"), .effect = STR_INIT(e)}
    static const struct toleration tolerations[] = {
        TOLERATE(TAINT_NODE_NOT_READY, TAINT_EFFECT_NO_EXECUTE),
        TOLERATE(TAINT_NODE_UNREACHABLE, TAINT_EFFECT_NO_EXECUTE),
        TOLERATE(TAINT_NODE_DISK_PRESSURE, TAINT_EFFECT_NO_SCHEDULE),
        TOLERATE(TAINT_NODE_MEMORY_PRESSURE, TAINT_EFFECT_NO_SCHEDULE),
        TOLERATE(TAINT_NODE_PID_PRESSURE, TAINT_EFFECT_NO_SCHEDULE),
        TOLERATE(TAINT_NODE_UNSCHEDULABLE, TAINT_EFFECT_NO_SCHEDULE),
        TOLERATE(TAINT_NODE_NETWORK_UNAVAILABLE, TAINT_EFFECT_NO_SCHEDULE),
    };
#undef TOLERATE
    /* The last toleration is only for pods on the host network. */
    pod_add_tolerations(spec, tolerations, ARRAY_LEN(tolerations) - !spec->host_network, a);
}

bool pod_controller_runs_on(const struct pod_controller *w, const struct object *object)
{
    const struct node *node = object_node(object);
    struct pod_spec spec = w->spec.template.spec;
    struct required_node_affinity affinity;
    struct arena a;
    if (spec.node_name.n && !str_eq(spec.node_name, node->metadata.name))
        return false;
    arena_init(&a, 4096);
    pod_controller_add_daemon_tolerations(&spec, &a);
    required_node_affinity_compile(
        &spec.node_selector, spec.affinity ? spec.affinity->node_affinity : NULL, &a, &affinity);
    struct taint_list taints = {node->spec.taints.v, node->spec.taints.n};
    struct toleration_list tolerations = {spec.tolerations.v, spec.tolerations.n};
    bool runs =
        required_node_affinity_matches(&affinity, &node->metadata.labels, node->metadata.name) &&
        !taints_find_untolerated(taints, tolerations, TAINT_BARS, true);
    arena_release(&a);
    return runs;
}
