/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The built-in resources, in upstream's order of groups. unit/resource compares this table with
 * upstream's discovery documents.
 */
#include "api/schema_kinds.h"
#include "apiserver/types/resource_internal.h"

#define NAMES(...)        ((const char *const[]){__VA_ARGS__, NULL})
#define SUBRESOURCES(...) ((const struct subresource[]){__VA_ARGS__, {NULL}})

/* Verbs of most subresources, of proxies and of connections. */
#define RW      (VERB_GET | VERB_PATCH | VERB_UPDATE)
#define PROXY   (VERB_CREATE | VERB_DELETE | VERB_GET | VERB_PATCH | VERB_UPDATE)
#define CONNECT (VERB_CREATE | VERB_GET)

#define STATUS(k) {"status", k, "", RW}
#define SCALE     {"scale", "Scale", "autoscaling/v1", RW}

/* t: of schema_kinds.h; p, s, k: plural, singular, kind; ns: namespaced; vb: verbs. */
#define RESOURCE_OF(g, gv, v, t, p, s, k, ns, vb, ...) \
    {.group = STR_INIT(g),                             \
     .version = STR_INIT(v),                           \
     .api_version = STR_INIT(gv),                      \
     .plural = STR_INIT(p),                            \
     .singular = STR_INIT(s),                          \
     .kind = STR_INIT(k),                              \
     .list_kind = STR_INIT(k "List"),                  \
     .namespaced = ns,                                 \
     .verbs = vb,                                      \
     .types = schema_types,                            \
     .type = &schema_types[SCHEMA_##t],                \
     ##__VA_ARGS__}
#define R(g, v, t, ...) RESOURCE_OF(g, g "/" v, v, t, __VA_ARGS__)

/* clang-format off */
#define CORE(t, ...) RESOURCE_OF("", "v1", "v1", CORE_V1_##t, __VA_ARGS__)
#define APPS(t, ...) R("apps", "v1", APPS_V1_##t, __VA_ARGS__)
#define EVENTS(t, ...) R("events.k8s.io", "v1", EVENTS_V1_##t, __VA_ARGS__)
#define AUTHENTICATION(t, ...) R("authentication.k8s.io", "v1", AUTHENTICATION_V1_##t, __VA_ARGS__)
#define AUTHORIZATION(t, ...) R("authorization.k8s.io", "v1", AUTHORIZATION_V1_##t, __VA_ARGS__)
#define AUTOSCALING_V2(t, ...) R("autoscaling", "v2", AUTOSCALING_V2_##t, __VA_ARGS__)
#define AUTOSCALING(t, ...) R("autoscaling", "v1", AUTOSCALING_V1_##t, __VA_ARGS__)
#define BATCH(t, ...) R("batch", "v1", BATCH_V1_##t, __VA_ARGS__)
#define CERTIFICATES(t, ...) R("certificates.k8s.io", "v1", CERTIFICATES_V1_##t, __VA_ARGS__)
#define NETWORKING(t, ...) R("networking.k8s.io", "v1", NETWORKING_V1_##t, __VA_ARGS__)
#define POLICY(t, ...) R("policy", "v1", POLICY_V1_##t, __VA_ARGS__)
#define RBAC(t, ...) R("rbac.authorization.k8s.io", "v1", RBAC_V1_##t, __VA_ARGS__)
#define STORAGE(t, ...) R("storage.k8s.io", "v1", STORAGE_V1_##t, __VA_ARGS__)
#define APIEXTENSIONS(t, ...) R("apiextensions.k8s.io", "v1", APIEXTENSIONS_V1_##t, __VA_ARGS__)
#define SCHEDULING(t, ...) R("scheduling.k8s.io", "v1", SCHEDULING_V1_##t, __VA_ARGS__)
#define SCHEDULING_V1ALPHA2(t, ...) \
    R("scheduling.k8s.io", "v1alpha2", SCHEDULING_V1ALPHA2_##t, __VA_ARGS__)
#define COORDINATION(t, ...) R("coordination.k8s.io", "v1", COORDINATION_V1_##t, __VA_ARGS__)
#define COORDINATION_V1BETA1(t, ...) \
    R("coordination.k8s.io", "v1beta1", COORDINATION_V1BETA1_##t, __VA_ARGS__)
#define NODE(t, ...) R("node.k8s.io", "v1", NODE_V1_##t, __VA_ARGS__)
#define DISCOVERY(t, ...) R("discovery.k8s.io", "v1", DISCOVERY_V1_##t, __VA_ARGS__)
#define RESOURCE(t, ...) R("resource.k8s.io", "v1", RESOURCE_V1_##t, __VA_ARGS__)
#define RESOURCE_V1BETA2(t, ...) R("resource.k8s.io", "v1beta2", RESOURCE_V1BETA2_##t, __VA_ARGS__)

const struct resource resource_table[] = {
    CORE(BINDING, "bindings", "binding", "Binding", true, VERB_CREATE),
    CORE(COMPONENTSTATUS, "componentstatuses", "componentstatus", "ComponentStatus", false,
      VERB_GET | VERB_LIST, .short_names = NAMES("cs")),
    CORE(CONFIGMAP, "configmaps", "configmap", "ConfigMap", true, VERBS_ALL,
      .short_names = NAMES("cm")),
    CORE(ENDPOINTS, "endpoints", "endpoints", "Endpoints", true, VERBS_ALL,
      .short_names = NAMES("ep")),
    CORE(EVENT, "events", "event", "Event", true, VERBS_ALL, .short_names = NAMES("ev")),
    CORE(LIMITRANGE, "limitranges", "limitrange", "LimitRange", true, VERBS_ALL,
      .short_names = NAMES("limits")),
    CORE(NAMESPACE, "namespaces", "namespace", "Namespace", false,
      VERBS_ALL & ~(unsigned)VERB_DELETE_COLLECTION, .short_names = NAMES("ns"),
      .subresources = SUBRESOURCES({"finalize", "Namespace", "", VERB_UPDATE},
          STATUS("Namespace"))),
    CORE(NODE, "nodes", "node", "Node", false, VERBS_ALL, .short_names = NAMES("no"),
      .subresources = SUBRESOURCES({"proxy", "NodeProxyOptions", "", PROXY}, STATUS("Node"))),
    CORE(PERSISTENTVOLUMECLAIM, "persistentvolumeclaims", "persistentvolumeclaim",
      "PersistentVolumeClaim", true, VERBS_ALL, .short_names = NAMES("pvc"),
      .subresources = SUBRESOURCES(STATUS("PersistentVolumeClaim"))),
    CORE(PERSISTENTVOLUME, "persistentvolumes", "persistentvolume", "PersistentVolume", false,
      VERBS_ALL, .short_names = NAMES("pv"),
      .subresources = SUBRESOURCES(STATUS("PersistentVolume"))),
    CORE(POD, "pods", "pod", "Pod", true, VERBS_ALL, .short_names = NAMES("po"),
      .categories = NAMES("all"),
      .subresources = SUBRESOURCES({"attach", "PodAttachOptions", "", CONNECT},
          {"binding", "Binding", "", VERB_CREATE}, {"ephemeralcontainers", "Pod", "", RW},
          {"eviction", "Eviction", "policy/v1", VERB_CREATE},
          {"exec", "PodExecOptions", "", CONNECT}, {"log", "Pod", "", VERB_GET},
          {"portforward", "PodPortForwardOptions", "", CONNECT},
          {"proxy", "PodProxyOptions", "", PROXY}, {"resize", "Pod", "", RW}, STATUS("Pod"))),
    CORE(PODTEMPLATE, "podtemplates", "podtemplate", "PodTemplate", true, VERBS_ALL),
    CORE(REPLICATIONCONTROLLER, "replicationcontrollers", "replicationcontroller",
      "ReplicationController", true, VERBS_ALL, .short_names = NAMES("rc"),
      .categories = NAMES("all"),
      .subresources = SUBRESOURCES(SCALE, STATUS("ReplicationController"))),
    CORE(RESOURCEQUOTA, "resourcequotas", "resourcequota", "ResourceQuota", true, VERBS_ALL,
      .short_names = NAMES("quota"), .subresources = SUBRESOURCES(STATUS("ResourceQuota"))),
    CORE(SECRET, "secrets", "secret", "Secret", true, VERBS_ALL),
    CORE(SERVICEACCOUNT, "serviceaccounts", "serviceaccount", "ServiceAccount", true, VERBS_ALL,
      .short_names = NAMES("sa"),
      .subresources = SUBRESOURCES(
          {"token", "TokenRequest", "authentication.k8s.io/v1", VERB_CREATE})),
    CORE(SERVICE, "services", "service", "Service", true, VERBS_ALL, .short_names = NAMES("svc"),
      .categories = NAMES("all"),
      .subresources = SUBRESOURCES({"proxy", "ServiceProxyOptions", "", PROXY}, STATUS("Service"))),

    APPS(CONTROLLERREVISION, "controllerrevisions", "controllerrevision", "ControllerRevision",
      true, VERBS_ALL),
    APPS(DAEMONSET, "daemonsets", "daemonset", "DaemonSet", true, VERBS_ALL,
      .short_names = NAMES("ds"), .categories = NAMES("all"),
      .subresources = SUBRESOURCES(STATUS("DaemonSet"))),
    APPS(DEPLOYMENT, "deployments", "deployment", "Deployment", true, VERBS_ALL,
      .short_names = NAMES("deploy"), .categories = NAMES("all"),
      .subresources = SUBRESOURCES(SCALE, STATUS("Deployment"))),
    APPS(REPLICASET, "replicasets", "replicaset", "ReplicaSet", true, VERBS_ALL,
      .short_names = NAMES("rs"), .categories = NAMES("all"),
      .subresources = SUBRESOURCES(SCALE, STATUS("ReplicaSet"))),
    APPS(STATEFULSET, "statefulsets", "statefulset", "StatefulSet", true, VERBS_ALL,
      .short_names = NAMES("sts"), .categories = NAMES("all"),
      .subresources = SUBRESOURCES(SCALE, STATUS("StatefulSet"))),

    EVENTS(EVENT, "events", "event", "Event", true, VERBS_ALL, .short_names = NAMES("ev"),
      .stored = &resource_table[RESOURCE_EVENTS]),

    AUTHENTICATION(SELFSUBJECTREVIEW, "selfsubjectreviews", "selfsubjectreview",
      "SelfSubjectReview", false, VERB_CREATE),
    AUTHENTICATION(TOKENREVIEW, "tokenreviews", "tokenreview", "TokenReview", false, VERB_CREATE),

    AUTHORIZATION(LOCALSUBJECTACCESSREVIEW, "localsubjectaccessreviews", "localsubjectaccessreview",
      "LocalSubjectAccessReview", true, VERB_CREATE),
    AUTHORIZATION(SELFSUBJECTACCESSREVIEW, "selfsubjectaccessreviews", "selfsubjectaccessreview",
      "SelfSubjectAccessReview", false, VERB_CREATE),
    AUTHORIZATION(SELFSUBJECTRULESREVIEW, "selfsubjectrulesreviews", "selfsubjectrulesreview",
      "SelfSubjectRulesReview", false, VERB_CREATE),
    AUTHORIZATION(SUBJECTACCESSREVIEW, "subjectaccessreviews", "subjectaccessreview",
      "SubjectAccessReview", false, VERB_CREATE),

    AUTOSCALING_V2(HORIZONTALPODAUTOSCALER, "horizontalpodautoscalers", "horizontalpodautoscaler",
      "HorizontalPodAutoscaler", true, VERBS_ALL, .short_names = NAMES("hpa"),
      .categories = NAMES("all"), .subresources = SUBRESOURCES(STATUS("HorizontalPodAutoscaler"))),

    AUTOSCALING(HORIZONTALPODAUTOSCALER, "horizontalpodautoscalers", "horizontalpodautoscaler",
      "HorizontalPodAutoscaler", true, VERBS_ALL, .short_names = NAMES("hpa"),
      .categories = NAMES("all"), .stored = &resource_table[RESOURCE_AUTOSCALERS],
      .subresources = SUBRESOURCES(STATUS("HorizontalPodAutoscaler"))),

    BATCH(CRONJOB, "cronjobs", "cronjob", "CronJob", true, VERBS_ALL, .short_names = NAMES("cj"),
      .categories = NAMES("all"), .subresources = SUBRESOURCES(STATUS("CronJob"))),
    BATCH(JOB, "jobs", "job", "Job", true, VERBS_ALL, .categories = NAMES("all"),
      .subresources = SUBRESOURCES(STATUS("Job"))),

    CERTIFICATES(CERTIFICATESIGNINGREQUEST, "certificatesigningrequests",
      "certificatesigningrequest", "CertificateSigningRequest", false, VERBS_ALL,
      .short_names = NAMES("csr"),
      .subresources = SUBRESOURCES({"approval", "CertificateSigningRequest", "", RW},
          STATUS("CertificateSigningRequest"))),

    NETWORKING(INGRESSCLASS, "ingressclasses", "ingressclass", "IngressClass", false, VERBS_ALL),
    NETWORKING(INGRESS, "ingresses", "ingress", "Ingress", true, VERBS_ALL,
      .short_names = NAMES("ing"), .subresources = SUBRESOURCES(STATUS("Ingress"))),
    NETWORKING(IPADDRESS, "ipaddresses", "ipaddress", "IPAddress", false, VERBS_ALL,
      .short_names = NAMES("ip")),
    NETWORKING(NETWORKPOLICY, "networkpolicies", "networkpolicy", "NetworkPolicy", true, VERBS_ALL,
      .short_names = NAMES("netpol")),
    NETWORKING(SERVICECIDR, "servicecidrs", "servicecidr", "ServiceCIDR", false, VERBS_ALL,
      .subresources = SUBRESOURCES(STATUS("ServiceCIDR"))),

    POLICY(PODDISRUPTIONBUDGET, "poddisruptionbudgets", "poddisruptionbudget",
      "PodDisruptionBudget", true, VERBS_ALL, .short_names = NAMES("pdb"),
      .subresources = SUBRESOURCES(STATUS("PodDisruptionBudget"))),

    RBAC(CLUSTERROLEBINDING, "clusterrolebindings", "clusterrolebinding", "ClusterRoleBinding",
      false, VERBS_ALL),
    RBAC(CLUSTERROLE, "clusterroles", "clusterrole", "ClusterRole", false, VERBS_ALL),
    RBAC(ROLEBINDING, "rolebindings", "rolebinding", "RoleBinding", true, VERBS_ALL),
    RBAC(ROLE, "roles", "role", "Role", true, VERBS_ALL),

    STORAGE(CSIDRIVER, "csidrivers", "csidriver", "CSIDriver", false, VERBS_ALL),
    STORAGE(CSINODE, "csinodes", "csinode", "CSINode", false, VERBS_ALL),
    STORAGE(CSISTORAGECAPACITY, "csistoragecapacities", "csistoragecapacity", "CSIStorageCapacity",
      true, VERBS_ALL),
    STORAGE(STORAGECLASS, "storageclasses", "storageclass", "StorageClass", false, VERBS_ALL,
      .short_names = NAMES("sc")),
    STORAGE(VOLUMEATTACHMENT, "volumeattachments", "volumeattachment", "VolumeAttachment", false,
      VERBS_ALL, .subresources = SUBRESOURCES(STATUS("VolumeAttachment"))),
    STORAGE(VOLUMEATTRIBUTESCLASS, "volumeattributesclasses", "volumeattributesclass",
      "VolumeAttributesClass", false, VERBS_ALL, .short_names = NAMES("vac")),

    APIEXTENSIONS(CUSTOMRESOURCEDEFINITION, "customresourcedefinitions", "customresourcedefinition",
      "CustomResourceDefinition", false, VERBS_ALL, .short_names = NAMES("crd", "crds"),
      .categories = NAMES("api-extensions"), .storage_version = "v1beta1",
      .subresources = SUBRESOURCES(STATUS("CustomResourceDefinition"))),

    SCHEDULING(PRIORITYCLASS, "priorityclasses", "priorityclass", "PriorityClass", false, VERBS_ALL,
      .short_names = NAMES("pc")),

    SCHEDULING_V1ALPHA2(PODGROUP, "podgroups", "podgroup", "PodGroup", true, VERBS_ALL,
      .subresources = SUBRESOURCES(STATUS("PodGroup"))),
    SCHEDULING_V1ALPHA2(WORKLOAD, "workloads", "workload", "Workload", true, VERBS_ALL),

    COORDINATION(LEASE, "leases", "lease", "Lease", true, VERBS_ALL),

    COORDINATION_V1BETA1(LEASECANDIDATE, "leasecandidates", "leasecandidate", "LeaseCandidate",
      true, VERBS_ALL),

    NODE(RUNTIMECLASS, "runtimeclasses", "runtimeclass", "RuntimeClass", false, VERBS_ALL),

    DISCOVERY(ENDPOINTSLICE, "endpointslices", "endpointslice", "EndpointSlice", true, VERBS_ALL),

    RESOURCE(DEVICECLASS, "deviceclasses", "deviceclass", "DeviceClass", false, VERBS_ALL),
    RESOURCE(RESOURCECLAIM, "resourceclaims", "resourceclaim", "ResourceClaim", true, VERBS_ALL,
      .subresources = SUBRESOURCES(STATUS("ResourceClaim"))),
    RESOURCE(RESOURCECLAIMTEMPLATE, "resourceclaimtemplates", "resourceclaimtemplate",
      "ResourceClaimTemplate", true, VERBS_ALL),
    RESOURCE(RESOURCESLICE, "resourceslices", "resourceslice", "ResourceSlice", false, VERBS_ALL),

    RESOURCE_V1BETA2(DEVICETAINTRULE, "devicetaintrules", "devicetaintrule", "DeviceTaintRule",
      false, VERBS_ALL, .subresources = SUBRESOURCES(STATUS("DeviceTaintRule")),
      .storage_version = "v1alpha3"),
};
const size_t n_resource_table = ARRAY_LEN(resource_table);
/* clang-format on */
