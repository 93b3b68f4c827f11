#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workload-aware preemption: a gang makes room for itself as a whole, or not at all.

BERTH_SUBJECT=kube-scheduler runs the same tests on the real kube-scheduler. There are no kubelets:
a deleted pod terminates until the test ends it.
"""

import subject
from berth import PODS, events_of, make_node, make_pod, wait_for
from gangs import GROUPS, gang, members, running, wait_condition, wait_running
from subject import LATE, after, apply, delete_pod, have
from tap import equal, main, test

GATES = {"GenericWorkload": True, "GangScheduling": True, "WorkloadAwarePreemption": True}
CLASSES = {"low": 10, "middle": 100, "high": 1000}
WAITS = ("False", "Unschedulable", "pod group is unschedulable")


def profile():
    return {"schedulerName": "default-scheduler", "percentageOfNodesToScore": 100}


def group(name, minimum, priority, **spec):
    made = gang(name, minimum)
    made["spec"].update(priorityClassName=priority, **spec)
    return made


def on(name, node, priority, **more):
    return make_pod(name, cpu=2, node_name=node, priority_class=priority, **more)


def leaving(c):
    return sorted(p["metadata"]["name"] for p in c.pods() if p["metadata"].get("deletionTimestamp"))


def wait_leaving(c, *names):
    try:
        wait_for(lambda: leaving(c) == sorted(names), LATE)
    except TimeoutError:
        equal(leaving(c), sorted(names), "pods that leave")


def is_told(c, name, preemptor):
    """Checks that condition and event of the victim have the reason."""
    uid = c.get(f"{GROUPS}/{preemptor}")["metadata"]["uid"]
    (reason,) = [x for x in c.pod(name)["status"]["conditions"] if x["type"] == "DisruptionTarget"]
    equal((reason["status"], reason["reason"], reason["message"]),
          ("True", "PreemptionByScheduler",
           "default-scheduler: preempting to accommodate a higher priority podgroup"))
    event = wait_for(lambda: events_of(c, name, "Preempted"), LATE, what=f"{name}'s event")[0]
    equal((event["note"], event["action"], event["related"]["kind"], event["related"]["name"]),
          (f"Preempted by podgroup {uid} on node cluster", "Preempting", "PodGroup", preemptor))


def done(c):
    after(c)
    c.delete(GROUPS)
    c.delete("/apis/policy/v1/namespaces/default/poddisruptionbudgets")


@test
def all_that_is_in_the_way_leaves_and_the_gang_runs(c):
    have(c, make_node("n0", cpu=2), make_node("n1", cpu=2), make_node("n2", cpu=2))
    have(c, on("a", "n0", "low"), on("b", "n1", "middle"), on("c", "n2", "high"))
    apply(c, group("big", 2, "high"), *members("big", 2, cpu=2, priority_class="high"))
    wait_leaving(c, "a", "b")
    for name in ("a", "b"):
        is_told(c, name, "big")
    wait_condition(c, "big", WAITS)
    equal(running(c, "big"), 0, "members that run before their victims are gone")
    delete_pod(c, "a")
    delete_pod(c, "b")
    wait_running(c, "big", 2)
    wait_condition(c, "big", ("True", "Scheduled", ""))


@test
def who_would_leave_in_vain_stays(c):
    have(c, make_node("n0", cpu=2), make_node("n1", cpu=2))
    have(c, on("a", "n0", "low"), on("b", "n1", "low"))
    apply(c, group("vain", 3, "high"), *members("vain", 3, cpu=2, priority_class="high"))
    wait_condition(c, "vain", ("False", "Unschedulable",
                              "pod group is unschedulable, pod group is unschedulable"))
    equal(leaving(c), [], "pods that leave")


@test
def nobody_is_below(c):
    have(c, make_node("n0", cpu=2))
    have(c, on("a", "n0", "high"))
    apply(c, group("equal", 1, "high"), *members("equal", 1, cpu=2, priority_class="high"))
    wait_condition(c, "equal", ("False", "Unschedulable", "pod group is unschedulable, No preemption "
                              "victims found for incoming preemptor"))


@test
def a_group_goes_as_one(c):
    have(c, make_node("n0", cpu=2), make_node("n1", cpu=2))
    apply(c, group("v", 1, "low", disruptionMode="PodGroup"))
    have(c, *[on(f"v{i}", f"n{i}", "low", spec={"schedulingGroup": {"podGroupName": "v"}})
              for i in range(2)])
    apply(c, group("one", 1, "high"), *members("one", 1, cpu=2, priority_class="high"))
    wait_leaving(c, "v0", "v1")
    delete_pod(c, "v0")
    delete_pod(c, "v1")
    wait_running(c, "one", 1)


@test
def budgets_are_kept_before_importance(c):
    have(c, make_node("n0", cpu=2), make_node("n1", cpu=2))
    apply(c, {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
              "metadata": {"name": "guard", "namespace": "default"},
              "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}})
    have(c, on("guarded", "n0", "low", labels={"app": "guarded"}), on("free", "n1", "middle"))
    apply(c, group("budget", 1, "high"), *members("budget", 1, cpu=2, priority_class="high"))
    wait_leaving(c, "free")
    c.delete(f"{PODS}/free?gracePeriodSeconds=0")
    wait_running(c, "budget", 1)


if __name__ == "__main__":
    main(fixture=subject.cluster(
        [profile()], flags=("--feature-gates=" + ",".join(f"{g}=true" for g in GATES),),
        before=[{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                 "metadata": {"name": name}, "value": value} for name, value in CLASSES.items()],
        feature_gates=GATES, runtime_config={"scheduling.k8s.io/v1alpha2": True}),
         after=done)
