#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that only older configurations have: they load by their names and work as before.

Today's kube-scheduler has none of them, so these tests run only on berth.
"""

import json

import subject
from berth import make_node, make_pod
from reasons import NO_AFFINITY, NO_LABELS, nodes_left
from subject import after, apply, have, lands, pends, profile
from tap import main, test

GPU = "example.com/gpu"


def alone(name, plugin, **args):
    """A profile in which this plugin filters with all others and is the only one that scores."""
    made = profile(name, score=plugin, **({plugin: args} if args else {}))
    made["plugins"]["multiPoint"] = {"enabled": [{"name": plugin}]}
    return made


PROFILES = [
    profile(),
    alone("least", "NodeResourcesLeastAllocated"),
    alone("least-gpu", "NodeResourcesLeastAllocated", resources=[{"name": GPU, "weight": 1}]),
    alone("most", "NodeResourcesMostAllocated", resources=[{"name": "cpu", "weight": 1}]),
    alone("half-full", "RequestedToCapacityRatio", resources=[{"name": "cpu", "weight": 1}], shape=[
        {"utilization": 0, "score": 0}, {"utilization": 50, "score": 10},
        {"utilization": 100, "score": 0}]),
    alone("spread", "SelectorSpread"),
    alone("avoid", "NodePreferAvoidPods"),
    alone("label", "NodeLabel", presentLabels=["rack"], absentLabels=["retired"],
          presentLabelsPreference=["fast"], absentLabelsPreference=["loud"]),
    alone("service", "ServiceAffinity", affinityLabels=["rack"],
          antiAffinityLabelsPreference=["row"]),
]
OBJECTS = [
    {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
     "spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}},
]


def web(name, **more):
    return make_pod(name, labels={"app": "web"}, **more)


@test
def resources_are_scored_by_the_three_plugins_that_fit_has_taken_in(c):
    """Of 8 CPUs 1, 4 and 6 are in use."""
    have(c, *[obj for i, cpu in enumerate(("1", "4", "6")) for obj in (
        make_node(f"n{i}", memory="8Gi", extended={GPU: 8}),
        make_pod(f"used-{i}", cpu=cpu, memory=cpu + "Gi", node_name=f"n{i}",
                 extended={GPU: 7 - int(cpu)}))])
    for scheduler, node in (("least", "n0"), ("most", "n2"), ("half-full", "n1")):
        apply(c, make_pod(scheduler, cpu="10m", memory="10Mi", scheduler_name=scheduler))
        lands(c, scheduler, node)
    apply(c, make_pod("gpu", extended={GPU: 1}, scheduler_name="least-gpu"))
    lands(c, "gpu", "n2")


@test
def pods_of_a_service_are_spread_by_selector_spread(c):
    have(c, make_node("n0", zone="a"), make_node("n1", zone="a"), make_node("n2", zone="b"),
         web("web-0", node_name="n0"))
    apply(c, web("p", scheduler_name="spread"))
    lands(c, "p", "n2")
    apply(c, web("q", scheduler_name="spread"))
    lands(c, "q", "n1")


@test
def a_node_can_ask_to_be_avoided_by_the_pods_of_a_controller(c):
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "batch", "controller": True}
    mine, others = [make_pod(name, scheduler_name="avoid") for name in ("mine", "others")]
    mine["metadata"]["ownerReferences"] = [{**owner, "uid": "avoided"}]
    others["metadata"]["ownerReferences"] = [{**owner, "uid": "another"}]

    def avoids(name, uid):
        return make_node(name, annotations={
            "scheduler.alpha.kubernetes.io/preferAvoidPods": json.dumps({"preferAvoidPods": [
                {"podSignature": {"podController": {**owner, "uid": uid}}, "reason": "some"}]})})
    have(c, avoids("n0", "avoided"), avoids("n1", "another"))
    apply(c, mine, others)
    lands(c, "mine", "n1")
    lands(c, "others", "n0")


@test
def labels_that_nodes_have_or_lack_decide(c):
    have(c, make_node("n0", labels={"fast": "yes"}),
         make_node("n1", labels={"rack": "1", "fast": "yes", "pool": "x", "retired": ""}),
         make_node("n2", labels={"rack": "1", "loud": "yes"}),
         make_node("n3", labels={"rack": "2", "fast": "yes"}))
    apply(c, make_pod("p", scheduler_name="label"),
          make_pod("late", scheduler_name="label", node_selector={"pool": "x"}))
    lands(c, "p", "n3")
    pends(c, "late", nodes_left(4, f"1 {NO_LABELS}", f"3 {NO_AFFINITY}"))
    c.kubectl("label", "node", "n1", "retired-")
    lands(c, "late", "n1")


@test
def pods_of_a_service_stay_in_one_rack_and_spread_over_its_rows(c):
    have(c, make_node("n0", labels={"rack": "1", "row": "a"}),
         make_node("n1", labels={"rack": "1", "row": "b"}, cpu="2"),
         make_node("n2", labels={"rack": "2", "row": "c"}), web("web-0", node_name="n0"))
    apply(c, web("p", scheduler_name="service"), web("large", cpu="20", scheduler_name="service"),
          web("elsewhere", scheduler_name="service", node_selector={"rack": "2"}))
    lands(c, "p", "n1")
    pends(c, "large", nodes_left(3, "3 Insufficient cpu"))
    lands(c, "elsewhere", "n2")


if __name__ == "__main__":
    main(fixture=subject.cluster(PROFILES, before=OBJECTS), after=after)
