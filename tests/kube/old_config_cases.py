# SPDX-License-Identifier: Apache-2.0
"""Input for older releases: configuration files of the versions that only they read, Policies, and
removed flags. old_configs.py runs them and writes tests/golden/old-configs."""

import json

from config_text import args, head, plugins, profile

GROUP = "kubescheduler.config.k8s.io"


def score(name, text, arguments):
    """A plugin that scores instead of all others, with arguments."""
    return profile("plugins: {score: {disabled: [{name: '*'}], enabled: [{name: " + name + text +
                   "}]}}\npluginConfig: [{name: " + name + ", args: {" + arguments + "}}]")


# ---- files of every version ----------------------------------------------------------------------

FILES = [
    "",
    "parallelism: 4",
    "percentageOfNodesToScore: 30",
    "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 60",
    "enableProfiling: false",
    "enableProfiling: false\nenableContentionProfiling: true",
    "leaderElection: {leaderElect: false}",
    "leaderElection: {leaseDuration: 60s, renewDeadline: 40s, retryPeriod: 5s, resourceName: a, "
    "resourceNamespace: b}",
    "leaderElection: {resourceLock: endpointsleases}",
    "clientConnection: {kubeconfig: '@', qps: 5, burst: 7, contentType: application/json, "
    "acceptContentTypes: a/b}",
    "clientConnection: {kubeconfig: '@', qps: 0.5}",
    profile("schedulerName: mine"),
    profile("schedulerName: a\nplugins: {score: {disabled: [{name: '*'}]}}") +
    "\n- schedulerName: b\n  plugins: {filter: {disabled: [{name: NodePorts}]}}",
    profile("schedulerName: a\npluginConfig: [{name: InterPodAffinity, args: "
            "{hardPodAffinityWeight: 3}}]") + "\n- schedulerName: b",
    profile("plugins: {}\npluginConfig: []"),
    # plugins
    plugins("score: {disabled: [{name: ImageLocality}, {name: Nobody}]}"),
    plugins("score: {disabled: [{name: '*'}], enabled: [{name: NodeAffinity, weight: 5}, "
            "{name: ImageLocality}]}"),
    plugins("score: {disabled: [{name: NodeAffinity}], enabled: [{name: NodeAffinity, weight: 7}]}"),
    plugins("score: {enabled: [{name: NodeAffinity, weight: 7}, {name: TaintToleration}]}"),
    plugins("score: {disabled: [{name: ImageLocality}], enabled: [{name: ImageLocality, weight: 0}]}"),
    plugins("filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}, {name: NodePorts}, "
            "{name: TaintToleration}]}"),
    plugins("filter: {disabled: [{name: NodeUnschedulable}], enabled: [{name: NodeUnschedulable}]}"),
    plugins("filter: {enabled: [{name: InterPodAffinity}, {name: NodeName}]}"),
    plugins("filter: {enabled: [{name: CinderLimits}]}"),
    plugins("filter: {disabled: [{name: EBSLimits}, {name: GCEPDLimits}, {name: AzureDiskLimits}]}"),
    plugins("filter: {disabled: [{name: NodeVolumeLimits}]}"),
    plugins("filter: {disabled: [{name: '*'}], enabled: [{name: EBSLimits}, {name: NodeName}]}"),
    plugins("preFilter: {disabled: [{name: '*'}], enabled: [{name: NodePorts}]}, preScore: "
            "{disabled: [{name: TaintToleration}]}"),
    plugins("postFilter: {disabled: [{name: '*'}]}, permit: {}, postBind: {disabled: [{name: x}]}"),
    plugins("reserve: {disabled: [{name: VolumeBinding}]}, preBind: {disabled: [{name: '*'}]}"),
    plugins("bind: {disabled: [{name: DefaultBinder}], enabled: [{name: DefaultBinder}]}, "
            "queueSort: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}]}"),
    plugins("preScore: {enabled: [{name: SelectorSpread}]}, score: {enabled: [{name: "
            "SelectorSpread, weight: 2}]}"),
    # arguments
    args("DefaultPreemption", "minCandidateNodesPercentage: 0"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 20, minCandidateNodesAbsolute: 5"),
    args("InterPodAffinity", "hardPodAffinityWeight: 0"),
    args("InterPodAffinity", f"apiVersion: {GROUP}/VERSION, kind: InterPodAffinityArgs"),
    args("NodeAffinity", "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [b]}]}]}}"),
    args("NodeResourcesBalancedAllocation", "resources: [{name: cpu}, {name: a.com/b, weight: 1}]"),
    args("NodeResourcesFit", "ignoredResources: [a.com/b], ignoredResourceGroups: [c.com]"),
    args("NodeResourcesFit", "scoringStrategy: {type: MostAllocated, resources: [{name: cpu, "
         "weight: 3}, {name: a.com/b}]}"),
    args("NodeResourcesFit", "scoringStrategy: {type: MostAllocated}"),
    args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio, "
         "requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, {utilization: 100, "
         "score: 10}]}}"),
    args("PodTopologySpread", "defaultingType: List"),
    args("PodTopologySpread", "defaultingType: List, defaultConstraints: [{maxSkew: 2, "
         "topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]"),
    args("PodTopologySpread", "defaultConstraints: [{maxSkew: 2, topologyKey: zone, "
         "whenUnsatisfiable: ScheduleAnyway}]"),
    args("VolumeBinding", "bindTimeoutSeconds: 5"),
    args("VolumeBinding", "bindTimeoutSeconds: 0"),
    args("Nobody", "a: 1, b: [x, {y: 2.5}]"),
    profile("pluginConfig: [{name: InterPodAffinity}]"),
    plugins("filter: {disabled: [{name: PodTopologySpread}]}, preFilter: {disabled: [{name: "
            "PodTopologySpread}]}, preScore: {disabled: [{name: PodTopologySpread}]}, score: "
            "{disabled: [{name: PodTopologySpread}]}"),
    # extenders
    "extenders:\n- urlPrefix: http://127.0.0.1:1/x\n  filterVerb: f\n  preemptVerb: p\n"
    "  prioritizeVerb: s\n  weight: 3\n  bindVerb: b\n  httpTimeout: 2s\n  nodeCacheCapable: true\n"
    "  ignorable: true",
    "extenders:\n- urlPrefix: https://127.0.0.1:1\n  enableHTTPS: true\n  tlsConfig: {insecure: "
    "true, serverName: a}\n  managedResources: [{name: a.com/b, ignoredByScheduler: true}, "
    "{name: a.com/c}]\n- urlPrefix: http://127.0.0.1:2\n  filterVerb: f",
    # rejected, most of them by all
    "parallelism: 0",
    "percentageOfNodesToScore: 101",
    "podInitialBackoffSeconds: 0",
    "podInitialBackoffSeconds: 11",
    "leaderElection: {leaseDuration: 10s}",
    "leaderElection: {resourceLock: nosuch}",
    "clientConnection: {kubeconfig: '@', burst: -1}",
    "paralellism: 1",
    "parallelism: four",
    "parallelism: 1\nparallelism: 2",
    "delayCacheUntilActive: true",
    "algorithmSource: {provider: DefaultProvider}",
    profile("percentageOfNodesToScore: 5"),
    profile("schedulerName: ''"),
    profile("schedulerName: a") + "\n- {}",
    profile("schedulerName: a") + "\n- schedulerName: a",
    profile("schedulerName: a") + "\n- schedulerName: b\n  plugins: {queueSort: {disabled: "
    "[{name: '*'}]}}",
    plugins("queueSort: {disabled: [{name: '*'}]}"),
    plugins("bind: {disabled: [{name: '*'}]}"),
    plugins("score: {enabled: [{name: Nobody, weight: 1}]}"),
    plugins("score: {enabled: [{name: NodePorts, weight: 1}]}"),
    plugins("filter: {disabled: [{name: '*'}], enabled: [{name: NodeName}, {name: NodeName}]}"),
    plugins("preEnqueue: {enabled: [{name: SchedulingGates}]}"),
    plugins("unreserve: {enabled: [{name: VolumeBinding}]}"),
    plugins("scores: {}"),
    profile("pluginConfig: [{name: X}, {name: X}]"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 101"),
    args("DefaultPreemption", "minCandidateNodesPercentage: 0, minCandidateNodesAbsolute: 0"),
    args("InterPodAffinity", "hardPodAffinityWeight: 101"),
    args("InterPodAffinity", "hardPodAffinityWeigh: 1"),
    args("InterPodAffinity", "ignorePreferredTermsOfExistingPods: true"),
    args("InterPodAffinity", f"apiVersion: {GROUP}/v1alpha1, kind: InterPodAffinityArgs"),
    args("InterPodAffinity", "kind: NodeAffinityArgs"),
    args("NodeAffinity", "addedAffinity: {requiredDuringSchedulingIgnoredDuringExecution: "
         "{nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In}]}]}}"),
    args("NodeResourcesBalancedAllocation", "resources: [{name: cpu, weight: 2}]"),
    args("NodeResourcesBalancedAllocation", "resources: [{name: cpu}, {name: cpu}]"),
    args("NodeResourcesFit", "ignoredResourceGroups: [a/b]"),
    args("NodeResourcesFit", "scoringStrategy: {type: Wild}"),
    args("NodeResourcesFit", "scoringStrategy: {type: LeastAllocated, resources: [{name: cpu, "
         "weight: 101}]}"),
    args("NodeResourcesFit", "scoringStrategy: {type: RequestedToCapacityRatio}"),
    args("PodTopologySpread", "defaultingType: Never"),
    args("PodTopologySpread", "defaultingType: System, defaultConstraints: [{maxSkew: 1, "
         "topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]"),
    args("PodTopologySpread", "defaultingType: List, defaultConstraints: [{maxSkew: 0, "
         "topologyKey: a, whenUnsatisfiable: ScheduleAnyway}]"),
    args("VolumeBinding", "bindTimeoutSeconds: -1"),
    args("VolumeBinding", "shape: [{utilization: 0, score: 0}, {utilization: 100, score: 10}]"),
    "extenders:\n- urlPrefix: http://a\n  prioritizeVerb: x",
    "extenders:\n- {bindVerb: a}\n- {bindVerb: b}",
    "extenders:\n- managedResources: [{name: cpu}]",
    "extenders:\n- httpTimeout: 5",
]

# ---- files of one version ------------------------------------------------------------------------

# Before v1beta3 every extension point had its own list of defaults, and there were ports without
# TLS.
LISTED = [
    "healthzBindAddress: ''\nmetricsBindAddress: ''",
    "healthzBindAddress: 0.0.0.0:0\nmetricsBindAddress: 0.0.0.0:0",
    "healthzBindAddress: 127.0.0.1:10251\nmetricsBindAddress: 127.0.0.1:10251",
    "healthzBindAddress: 127.0.0.1\nmetricsBindAddress: ':10251'",
    "healthzBindAddress: nowhere",
    "metricsBindAddress: 1.2.3.4:99999",
    plugins("multiPoint: {enabled: [{name: NodeName}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: SelectorSpread, weight: 3}]}"),
]

# Plugins and arguments that were last in v1beta1; v1beta2 reports that.
EARLY = [
    plugins("score: {disabled: [{name: NodeResourcesLeastAllocated}], enabled: [{name: "
            "NodeResourcesMostAllocated, weight: 5}]}"),
    plugins("score: {disabled: [{name: NodeResourcesLeastAllocated}], enabled: [{name: "
            "NodeResourcesFit, weight: 5}]}"),
    plugins("score: {disabled: [{name: NodePreferAvoidPods}], enabled: [{name: NodePreferAvoidPods, "
            "weight: 5}]}"),
    plugins("score: {enabled: [{name: NodeResourcesFit, weight: 1}]}"),
    score("NodeResourcesLeastAllocated", ", weight: 2", "resources: [{name: cpu, weight: 2}]"),
    score("NodeResourcesMostAllocated", ", weight: 2", "resources: [{name: a.com/b, weight: 9}]"),
    score("NodeResourcesMostAllocated", "", ""),
    score("RequestedToCapacityRatio", ", weight: 2", "shape: [{utilization: 0, score: 0}, "
          "{utilization: 100, score: 10}]"),
    score("RequestedToCapacityRatio", ", weight: 2", "shape: [{utilization: 0, score: 10}, "
          "{utilization: 100, score: 0}], resources: [{name: a.com/b, weight: 9}, {name: cpu}]"),
    profile("plugins: {filter: {enabled: [{name: NodeLabel}]}}\npluginConfig: [{name: NodeLabel, "
            "args: {presentLabels: [a], absentLabels: [b], presentLabelsPreference: [c], "
            "absentLabelsPreference: [d]}}]"),
    profile("plugins: {preFilter: {enabled: [{name: ServiceAffinity}]}, filter: {enabled: [{name: "
            "ServiceAffinity}]}, score: {enabled: [{name: ServiceAffinity, weight: 4}]}}\n"
            "pluginConfig: [{name: ServiceAffinity, args: {affinityLabels: [a], "
            "antiAffinityLabelsPreference: [b]}}]"),
    plugins("filter: {enabled: [{name: NodeLabel}]}"),
    args("NodeLabel", "presentLabels: [a], absentLabels: [a]"),
    args("NodeResourcesLeastAllocated", "resources: [{name: cpu}]"),
    args("NodeResourcesLeastAllocated", "resources: [{name: cpu, weight: 101}]"),
    args("NodeResourcesMostAllocated", "resources: [{name: cpu, weight: 0}]"),
    args("RequestedToCapacityRatio", "shape: []"),
    args("RequestedToCapacityRatio", "shape: [{utilization: 10, score: 11}]"),
]

# v1beta3 added multiPoint.
MULTI_POINT = [
    plugins("multiPoint: {disabled: [{name: ImageLocality}, {name: DefaultPreemption}]}"),
    plugins("multiPoint: {enabled: [{name: NodeResourcesFit, weight: 9}, {name: NodeName}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: DefaultBinder}, {name: "
            "PrioritySort}, {name: InterPodAffinity, weight: 4}, {name: NodePorts}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}]}, queueSort: {enabled: [{name: PrioritySort}]}, "
            "bind: {enabled: [{name: DefaultBinder}]}, filter: {enabled: [{name: NodeName}]}"),
    plugins("multiPoint: {enabled: [{name: NodeAffinity, weight: 6}]}, score: {enabled: [{name: "
            "NodeAffinity, weight: 8}]}"),
    plugins("multiPoint: {disabled: [{name: NodeAffinity}]}, score: {enabled: [{name: NodeAffinity, "
            "weight: 8}]}"),
    plugins("multiPoint: {enabled: [{name: InterPodAffinity}]}, filter: {disabled: [{name: "
            "InterPodAffinity}]}"),
    plugins("multiPoint: {enabled: [{name: CinderLimits}]}"),
    plugins("multiPoint: {disabled: [{name: EBSLimits}]}"),
    plugins("multiPoint: {enabled: [{name: SelectorSpread, weight: 2}]}"),
    plugins("multiPoint: {enabled: [{name: Nobody}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}]}"),
    plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, {name: "
            "DefaultBinder}, {name: NodeName}, {name: NodeName}]}"),
    "healthzBindAddress: 0.0.0.0:0",
    plugins("score: {enabled: [{name: NodePreferAvoidPods, weight: 1}]}"),
    plugins("score: {enabled: [{name: NodeResourcesLeastAllocated, weight: 1}]}"),
]

VERSIONS = {
    "v1beta1": FILES + LISTED + EARLY,
    "v1beta2": FILES + LISTED + EARLY,
    "v1beta3": FILES + MULTI_POINT,
}

# ---- Policies ------------------------------------------------------------------------------------


def predicates(*names):
    return {"predicates": [{"name": n} if isinstance(n, str) else n for n in names]}


def priorities(*entries):
    return {"priorities": [{"name": e[0], "weight": e[1]} if isinstance(e, tuple) else e
                           for e in entries]}


def with_argument(name, weight=None, **argument):
    entry = {"name": name, "argument": argument}
    if weight is not None:
        entry["weight"] = weight
    return entry


SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
PREDICATES = [
    "CheckNodeUnschedulable", "GeneralPredicates", "HostName", "PodFitsHostPorts", "PodFitsPorts",
    "MatchNodeSelector", "PodFitsResources", "NoDiskConflict", "PodToleratesNodeTaints",
    "MaxEBSVolumeCount", "MaxGCEPDVolumeCount", "MaxCSIVolumeCountPred", "MaxAzureDiskVolumeCount",
    "MaxCinderVolumeCount", "CheckVolumeBinding", "NoVolumeZoneConflict", "EvenPodsSpread",
    "MatchInterPodAffinity"]
PRIORITIES = [
    "BalancedResourceAllocation", "EvenPodsSpreadPriority", "ImageLocalityPriority",
    "InterPodAffinityPriority", "LeastRequestedPriority", "MostRequestedPriority",
    "NodeAffinityPriority", "NodePreferAvoidPodsPriority", "SelectorSpreadPriority",
    "ServiceSpreadingPriority", "TaintTolerationPriority", "EqualPriority"]

POLICIES = [json.dumps({"kind": "Policy", "apiVersion": "v1", **policy}) for policy in [
    {},
    {**predicates(), **priorities()},
    predicates(),
    priorities(),
    {"predicates": None, "priorities": None},
    {**predicates(*PREDICATES), **priorities(*((p, i + 2) for i, p in enumerate(PRIORITIES)))},
    *({**predicates(p), **priorities()} for p in PREDICATES),
    *({**predicates(), **priorities((p, 3))} for p in PRIORITIES),
    {**predicates("HostName", "GeneralPredicates"), **priorities(("ImageLocalityPriority", 1),
                                                                 ("ImageLocalityPriority", 4))},
    priorities(("SelectorSpreadPriority", 7), ("EvenPodsSpreadPriority", 3)),
    priorities(("EvenPodsSpreadPriority", 3), ("ServiceSpreadingPriority", 7),
               ("SelectorSpreadPriority", 5)),
    predicates(with_argument("Zoned", serviceAffinity={"labels": ["zone", "rack"]}),
               with_argument("More", serviceAffinity={"labels": ["room"]})),
    predicates(with_argument("Has", labelsPresence={"labels": ["a"], "presence": True}),
               with_argument("Lacks", labelsPresence={"labels": ["b", "c"], "presence": False})),
    predicates(with_argument("NoDiskConflict", labelsPresence={"labels": ["a"], "presence": True})),
    predicates("CheckNodeLabelPresence"),
    predicates("CheckServiceAffinity"),
    priorities(with_argument("x", 4, labelPreference={"label": "b"}),
               with_argument("y", 4, labelPreference={"label": "c", "presence": True})),
    {**predicates(with_argument("Has", labelsPresence={"labels": ["a"], "presence": True})),
     **priorities(with_argument("x", 2, labelPreference={"label": "b", "presence": True}))},
    {**predicates(with_argument("Zoned", serviceAffinity={"labels": ["zone"]})),
     **priorities(with_argument("x", 2, serviceAntiAffinity={"label": "rack"}),
                  with_argument("y", 2, serviceAntiAffinity={"label": "room"}))},
    priorities(with_argument("x", 5, requestedToCapacityRatioArguments={"shape": SHAPE})),
    priorities(with_argument("x", 5, requestedToCapacityRatioArguments={
        "shape": SHAPE, "resources": [{"name": "a.com/b", "weight": 3}, {"name": "cpu"}]})),
    priorities(with_argument("LeastRequestedPriority", 5,
                             requestedToCapacityRatioArguments={"shape": SHAPE})),
    {"hardPodAffinitySymmetricWeight": 7},
    {"hardPodAffinitySymmetricWeight": 0},
    {"hardPodAffinitySymmetricWeight": 100, **priorities(("ImageLocalityPriority", 1))},
    {"alwaysCheckAllPredicates": True},
    {"extenders": [{"urlPrefix": "http://a", "filterVerb": "f", "prioritizeVerb": "p", "weight": 2,
                    "bindVerb": "b", "preemptVerb": "q", "enableHttps": True,
                    "httpTimeout": 30000000000, "nodeCacheCapable": True, "ignorable": True,
                    "tlsConfig": {"Insecure": True, "ServerName": "s"}}]},
    {"extenders": [{"urlPrefix": "http://a", "managedResources": [
        {"name": "a.com/b", "ignoredByScheduler": True}]}]},
    {"extenders": [{"URLPREFIX": "http://a", "FilterVerb": "f"}]},
    {**predicates("PodFitsResources"), "extenders": [{"urlPrefix": "http://a", "managedResources": [
        {"name": "a.com/b", "ignoredByScheduler": True}]}]},
    # rejected
    {"hardPodAffinitySymmetricWeight": 101},
    {"hardPodAffinitySymmetricWeight": -1},
    {"nothing": 1},
    {"predicates": {}},
    predicates("Nobody"),
    predicates({"name": "x", "argument": {}}),
    predicates(with_argument("x", serviceAffinity={"labels": ["a"]}, labelsPresence={"labels": []})),
    predicates({"name": "x", "nothing": 1}),
    predicates({}),
    priorities(("Nobody", 1)),
    priorities(("ImageLocalityPriority", 0)),
    priorities(("ImageLocalityPriority", -1)),
    priorities({"name": "ImageLocalityPriority"}),
    priorities(("ImageLocalityPriority", 92233720368547758)),
    priorities(("ImageLocalityPriority", 2147483648)),
    priorities(("EqualPriority", 0)),
    priorities(("RequestedToCapacityRatioPriority", 1)),
    priorities(("RequestedToCapacityRatio", 1)),
    priorities({"name": "x", "weight": 1, "argument": {}}),
    priorities({"name": "ImageLocalityPriority", "weight": 1, "argument": {}}),
    priorities(with_argument("x", 1, labelPreference={"label": "a"}, serviceAntiAffinity={
        "label": "b"})),
    priorities(with_argument("x", 1, labelPreference={"label": "a"}),
               with_argument("y", 2, labelPreference={"label": "b"})),
    priorities(with_argument("x", 1, serviceAntiAffinity={"label": "a"}),
               with_argument("y", 2, serviceAntiAffinity={"label": "b"})),
    priorities(with_argument("x", 1, requestedToCapacityRatioArguments={"shape": SHAPE}),
               with_argument("y", 1, requestedToCapacityRatioArguments={"shape": SHAPE})),
    priorities(with_argument("x", 1, requestedToCapacityRatioArguments={"shape": []})),
    {"extenders": [{"prioritizeVerb": "p"}]},
    {"extenders": [{"bindVerb": "a"}, {"bindVerb": "b"}]},
    {"extenders": [{"httpTimeout": "5s"}]},
    {"extenders": [{"managedResources": [{"name": "cpu"}]}]},
]]

# ---- flags ---------------------------------------------------------------------------------------

# Files for flags: @ and the name. Servers listen on loopback.
SERVED = ("healthzBindAddress: 127.0.0.1:PORT\nmetricsBindAddress: 127.0.0.1:PORT\n"
          "clientConnection: {kubeconfig: '@'}\n")
FLAG_FILES = {
    "plain.yaml": head("v1beta1") + SERVED,
    "named.yaml": head("v1beta1") + SERVED + profile(
        "schedulerName: mine\nplugins: {score: {disabled: [{name: ImageLocality}]}}") + "\n",
    "policy.json": json.dumps({"kind": "Policy", "apiVersion": "v1", **predicates(),
                               **priorities(("ImageLocalityPriority", 17))}),
}

# By the last release that had them.
FLAGS = {
    "v1.22.17": [
        [],
        ["--lock-object-name=a", "--lock-object-namespace=b"],
        ["--lock-object-name=a", "--leader-elect-resource-name=b"],
        ["--leader-elect-resource-name=b", "--lock-object-name=a"],
        ["--leader-elect-resource-namespace=b", "--lock-object-namespace=a"],
        ["--config=@plain.yaml", "--lock-object-name=a", "--lock-object-namespace=b"],
        ["--config=@plain.yaml", "--leader-elect-resource-name=b"],
        ["--policy-config-file=@policy.json"],
        ["--policy-config-file=@policy.json", "--use-legacy-policy-config"],
        ["--policy-config-file=@policy.json", "--use-legacy-policy-config", "--policy-configmap=p"],
        ["--config=@plain.yaml", "--policy-config-file=@policy.json"],
        ["--config=@named.yaml", "--policy-config-file=@policy.json"],
        ["--config=@named.yaml"],
        ["--use-legacy-policy-config"],
        ["--use-legacy-policy-config", "--policy-configmap=p"],
        ["--policy-config-file=nosuch.json"],
        ["--policy-config-file=@plain.yaml"],
        ["--port=70000"],
        ["--port=-1"],
        ["--port=x"],
        ["--address=nowhere"],
        ["--address="],
        ["--address=::1"],
        ["--address=127.0.0.1"],
    ],
    "v1.21.14": [
        ["--scheduler-name=x"],
        ["--scheduler-name="],
        ["--scheduler-name=x", "--policy-config-file=@policy.json"],
        ["--scheduler-name=x", "--config=@plain.yaml"],
        ["--hard-pod-affinity-symmetric-weight=0"],
        ["--hard-pod-affinity-symmetric-weight=100"],
        ["--hard-pod-affinity-symmetric-weight=101"],
        ["--hard-pod-affinity-symmetric-weight=-1"],
        ["--hard-pod-affinity-symmetric-weight=101", "--config=@plain.yaml"],
        ["--hard-pod-affinity-symmetric-weight=5", "--config=@plain.yaml"],
        ["--algorithm-provider=DefaultProvider"],
        ["--algorithm-provider=ClusterAutoscalerProvider"],
        ["--algorithm-provider=ClusterAutoscalerProvider", "--config=@plain.yaml"],
        ["--algorithm-provider=ClusterAutoscalerProvider", "--config=@named.yaml"],
        ["--algorithm-provider=Nobody"],
        ["--algorithm-provider=Nobody", "--config=@plain.yaml"],
        ["--algorithm-provider=Nobody", "--policy-config-file=@policy.json"],
        ["--algorithm-provider="],
    ],
}
