#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Feature gates affect the configuration: default plugins of a profile, defaults of arguments,
validation. A table of gates by configurations, compared with the real kube-scheduler."""

import itertools

import berth
from berth import check, equal
from config_files import Both, essence
from config_text import args, plugins, profile
from tap import contains, main, note, test

WORKLOAD = "GenericWorkload=true"
GATES = {
    "none": [],
    "gangs": [f"--feature-gates={WORKLOAD},GangScheduling=true"],
    "topology": [f"--feature-gates={WORKLOAD},TopologyAwareWorkloadScheduling=true"],
    "gangs and topology": [f"--feature-gates={WORKLOAD},GangScheduling=true,"
                           "TopologyAwareWorkloadScheduling=true"],
    "workload preemption": [f"--feature-gates={WORKLOAD},GangScheduling=true,"
                            "WorkloadAwarePreemption=true"],
    "storage scoring": ["--feature-gates=StorageCapacityScoring=true"],
    "no filter timeout": ["--feature-gates=DRASchedulerFilterTimeout=false"],
    "no binding conditions": ["--feature-gates=DRADeviceBindingConditions=false"],
    "no device status": ["--feature-gates=DRADeviceBindingConditions=false,"
                         "DRAResourceClaimDeviceStatusAuthorization=false,"
                         "DRAResourceClaimDeviceStatus=false"],
    "no declared features": ["--feature-gates=AllBeta=false"],
    "all alpha": ["--feature-gates=AllAlpha=true"],
    "all alpha, no beta": ["--feature-gates=AllAlpha=true,AllBeta=false"],
    "all of both": ["--feature-gates=AllAlpha=true,AllBeta=true"],
    "1.33": ["--emulated-version=1.33"],
    "1.34": ["--emulated-version=1.34"],
    "1.35": ["--emulated-version=1.35"],
    "1.34 without DRA": ["--emulated-version=1.34", "--feature-gates=AllBeta=false,"
                         "DynamicResourceAllocation=false"],
    "1.34, alpha": ["--emulated-version=1.34", "--feature-gates=AllAlpha=true"],
    "1.35, gangs": ["--emulated-version=1.35",
                    f"--feature-gates={WORKLOAD},GangScheduling=true"],
    "1.33, DRA": ["--emulated-version=1.33", "--feature-gates=DynamicResourceAllocation=true"],
}

CONFIGS = [
    "",
    profile("schedulerName: a") + "\n- schedulerName: b",
    plugins("multiPoint: {disabled: [{name: '*'}], enabled: [{name: PrioritySort}, "
            "{name: DefaultBinder}, {name: DynamicResources}, {name: VolumeBinding}]}"),
    plugins("multiPoint: {disabled: [{name: GangScheduling}, {name: DynamicResources}]}"),
    plugins("multiPoint: {enabled: [{name: GangScheduling}, {name: NodeDeclaredFeatures}]}"),
    plugins("permit: {disabled: [{name: '*'}], enabled: [{name: GangScheduling}]}"),
    plugins("multiPoint: {enabled: [{name: PodGroupPodsCount, weight: 7}]}"),
    plugins("multiPoint: {disabled: [{name: TopologyPlacementGenerator}]}, "
            "placementScore: {enabled: [{name: PodGroupPodsCount, weight: 4}]}"),
    plugins("placementGenerate: {enabled: [{name: TopologyPlacementGenerator}]}"),
    args("VolumeBinding", "shape: [{utilization: 0, score: 0}, {utilization: 50, score: 10}]"),
    args("VolumeBinding", "shape: []"),
    args("VolumeBinding", "shape: null, bindTimeoutSeconds: 7"),
    args("VolumeBinding", "shape: [{utilization: 50, score: 11}, {utilization: 50, score: -1}, "
         "{utilization: 101, score: 1}], bindTimeoutSeconds: -1"),
    args("DynamicResources", "filterTimeout: 7s"),
    args("DynamicResources", "filterTimeout: 0s, bindingTimeout: 9s"),
    args("DynamicResources", "filterTimeout: -1s, bindingTimeout: 9ms"),
    args("DynamicResources", ""),
    args("DefaultPreemption", "minCandidateNodesPercentage: 3"),
]


@test
def gates_steer_what_is_written_and_what_is_refused(both):
    taken = refused = 0
    wrong = []
    for (name, flags), text in itertools.product(GATES.items(), CONFIGS):
        config = both.config(text)
        want, theirs = both.kube_scheduler(config, *flags)
        got, ours = both.berth(config, *flags)
        taken, refused = taken + (want is not None), refused + (want is None)
        if got != want:
            a, b = (want or theirs).split("\n"), (got or ours).split("\n")
            wrong.append(f"{name}: {text!r}:\n  - {[x for x in a if x not in b]}\n"
                         f"  + {[x for x in b if x not in a]}")
        elif want is None and essence(ours) != essence(theirs):
            wrong.append(f"{name}: {text!r}:\n  - {essence(theirs)}\n  + {essence(ours)}")
    note(f"{len(GATES)} settings of gates by {len(CONFIGS)} files: {taken} taken, {refused} refused")
    check(not wrong, "\n".join(wrong))
    check(taken > 150 and refused > 60, "the table says too little")


@test
def validate_convert_and_diff_go_by_the_same_gates(both):
    config = both.config(args("VolumeBinding", "shape: [{utilization: 0, score: 3}]"))
    plain = both.write("plain.yaml", berth.run("config", "convert", both.config("")).out)
    scoring = "--feature-gates=StorageCapacityScoring=true"
    both.config(args("VolumeBinding", "shape: [{utilization: 0, score: 3}]"))
    for command in (["validate", config], ["convert", config], ["diff", plain, config]):
        done = berth.run("config", *command)
        equal(done.code, 1, f"exit code of {command}")
        contains(done.out + done.err, "turn on the feature gate StorageCapacityScoring")
        done = berth.run("config", *command, scoring)
        equal(done.code, 0, f"exit code of {command} with the gate; it said {done.err!r}")
    contains(done.out, "VolumeBinding: shape[0].score: 10 -> 3")


if __name__ == "__main__":
    main(fixture=Both)
