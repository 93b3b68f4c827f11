/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config/plugin_summary.h"

#include "base/base.h"

static const struct plugin_summary table[] = {
    {"SchedulingGates", "pods with scheduling gates wait until the gates are removed", NULL},
    {"PrioritySort", "pods of higher priority are scheduled first", NULL},
    {"NodeUnschedulable", "cordoned nodes get no pods", NULL},
    {"NodeName", "a pod that names its node runs on that node only", NULL},
    {"TaintToleration", "pods run only on nodes whose taints they tolerate",
     "nodes with fewer PreferNoSchedule taints that the pod does not tolerate"},
    {"NodeAffinity", "pods run only on nodes that match their node selector and affinity",
     "nodes that match the pod's preferred node affinity"},
    {"NodePorts", "pods with the same host port do not share a node", NULL},
    {"NodeResourcesFit", "pods run only on nodes with enough free resources",
     "nodes by resource usage, according to scoringStrategy"},
    {"VolumeRestrictions", "disks and claims for a single node or pod are not shared", NULL},
    {"NodeVolumeLimits", "nodes get no more volumes than they can attach", NULL},
    {"VolumeBinding", "pods run only where their volumes are or can be provisioned",
     "nodes whose volumes fit best"},
    {"VolumeZone", "pods run only in the zones of their volumes", NULL},
    {"PodTopologySpread", "topology spread constraints are enforced",
     "domains with fewer matching pods"},
    {"InterPodAffinity", "affinity and anti-affinity between pods are enforced",
     "nodes that match the pod's preferred affinity to other pods"},
    {"DynamicResources", "resource claims of pods are allocated",
     "nodes with devices that come first in a claim's list"},
    {"DefaultPreemption", "pods preempt pods of lower priority", NULL},
    {"NodeResourcesBalancedAllocation", NULL, "nodes with balanced use of cpu and memory"},
    {"ImageLocality", NULL, "nodes that already have the pod's images"},
    {"DefaultBinder", "pods are bound through the API server", NULL},
    {"NodeDeclaredFeatures", "pods run only on nodes with the features that they need", NULL},
    {"GangScheduling", "pods of a group are scheduled together or not at all", NULL},
    {"TopologyPlacementGenerator", "pods of a group are placed in one topology domain", NULL},
    {"PodGroupPodsCount", NULL, "domains that fit more pods of the group"},
    {"NodeResourcesAllocatable", NULL, "nodes with the least, or most, allocatable resources"},
    {"PodState", NULL, "nodes with more terminating and fewer nominated pods"},
    {"QOSSort", "pods of higher priority, then of a better QoS class, are scheduled first", NULL},
    {"PreemptionToleration", "pods preempt pods of lower priority that do not tolerate preemption",
     NULL},
    {"CapacityScheduling",
     "namespaces have elastic quotas: they lend what they do not use, and take it back", NULL},
    {"NodeMetadata", NULL, "nodes by a number or time in a label or annotation"},
    {"Coscheduling", "pods of a PodGroup are scheduled together or not at all", NULL},
    {"TargetLoadPacking", NULL, "nodes whose measured CPU load is close below a target"},
    {"LoadVariationRiskBalancing", NULL, "nodes whose measured load is low and varies little"},
    {"LowRiskOverCommitment", NULL, "nodes whose pods are less likely to exceed what the node has"},
    {"NodeResourceTopologyMatch", "pods run only on nodes with a NUMA zone that has room for them",
     "nodes by the free resources of their NUMA zones"},
    {"NetworkOverhead", "pods run close enough to the pods that they depend on",
     "nodes that are closer to the pods that the pod depends on"},
    {"TopologicalSort", "pods of an AppGroup are scheduled in the order of their dependencies",
     NULL},
    {"EBSLimits", "nodes attach at most so many AWS disks", NULL},
    {"GCEPDLimits", "nodes attach at most so many GCE disks", NULL},
    {"AzureDiskLimits", "nodes attach at most so many Azure disks", NULL},
    {"CinderLimits", "nodes attach at most so many Cinder disks", NULL},
    {"NodeLabel", "nodes are included or excluded by label", "nodes by label"},
    {"NodePreferAvoidPods", NULL, "nodes without an annotation to avoid the pod"},
    {"NodeResourcesLeastAllocated", NULL, "nodes with more free resources"},
    {"NodeResourcesMostAllocated", NULL, "nodes with fewer free resources"},
    {"RequestedToCapacityRatio", NULL, "nodes by a function of their usage"},
    {"SelectorSpread", NULL, "nodes and zones with fewer pods of the same service or controller"},
    {"ServiceAffinity", "pods of a service run on nodes with the same labels",
     "labels with fewer pods of the service"},
};

const struct plugin_summary *plugin_summary_find(struct str plugin)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_is(plugin, table[i].plugin))
            return &table[i];
    return NULL;
}
