/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/config/plugin_summary.h"

#include "base/base.h"

static const struct plugin_summary table[] = {
    {"SchedulingGates", "pods with scheduling gates wait until these are removed", NULL},
    {"PrioritySort", "pods of higher priority come first", NULL},
    {"NodeUnschedulable", "cordoned nodes get no pods", NULL},
    {"NodeName", "a pod that names its node goes there only", NULL},
    {"TaintToleration", "nodes with taints get only pods that tolerate them",
     "nodes with fewer taints to avoid"},
    {"NodeAffinity", "pods go only where their node selectors and affinities allow",
     "nodes that a pod's node affinity prefers"},
    {"NodePorts", "no two pods of a node have the same host port", NULL},
    {"NodeResourcesFit", "pods go only where what they request is free",
     "nodes by how much of them is in use, as its scoringStrategy says"},
    {"VolumeRestrictions", "disks and claims for one node or pod are not shared", NULL},
    {"NodeVolumeLimits", "nodes get no more volumes than they can attach", NULL},
    {"VolumeBinding", "pods go only where their volumes are or can be made",
     "nodes whose volumes fit closest"},
    {"VolumeZone", "pods go only to the zones of their volumes", NULL},
    {"PodTopologySpread", "spreading constraints are kept", "domains with fewer of such pods"},
    {"InterPodAffinity", "affinity and anti-affinity between pods is kept",
     "nodes near pods that a pod likes, far from those that it does not"},
    {"DynamicResources", "resource claims of pods are allocated",
     "nodes whose devices are higher in a claim's list"},
    {"DefaultPreemption", "pods of higher priority evict those of lower", NULL},
    {"NodeResourcesBalancedAllocation", NULL, "nodes whose cpu and memory are used alike"},
    {"ImageLocality", NULL, "nodes that have the pod's images already"},
    {"DefaultBinder", "pods are bound by the API server's binding", NULL},
    {"NodeDeclaredFeatures", "pods go only to nodes with the features that they need", NULL},
    {"GangScheduling", "pods of a group are placed together or not at all", NULL},
    {"TopologyPlacementGenerator", "pods of a group are kept within one domain", NULL},
    {"PodGroupPodsCount", NULL, "domains that hold more pods of the group"},
    {"NodeLabel", "nodes are taken or left by labels that they have", "nodes by their labels"},
    {"NodePreferAvoidPods", NULL, "nodes whose annotation does not send the pod away"},
    {"NodeResourcesLeastAllocated", NULL, "nodes with more room"},
    {"NodeResourcesMostAllocated", NULL, "nodes that are fuller"},
    {"RequestedToCapacityRatio", NULL, "nodes by a function of how full they are"},
    {"SelectorSpread", NULL, "nodes and zones with fewer pods of the same service or controller"},
    {"ServiceAffinity", "pods of a service keep to nodes with equal labels",
     "labels with fewer pods of the service"},
};

const struct plugin_summary *plugin_summary_find(struct str plugin)
{
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (str_is(plugin, table[i].plugin))
            return &table[i];
    return NULL;
}
