#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that count: resources, their balance, and images, used through kubectl.

BERTH_SUBJECT=kube-scheduler runs the same tests on the real kube-scheduler.
"""

import json

import subject
from berth import make_node, make_pod
from reasons import nodes_left
from subject import (after, apply, delete_pod, have, lands, patch_status, pends, place_of, profile,
                     settle)
from tap import equal, main, test

GPU = "example.com/gpu"


def strategy(kind, *resources, **more):
    return {"scoringStrategy": {"type": kind, **more, "resources": [
        {"name": name, "weight": weight} for name, weight in resources]}}


FULLEST = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]}
HALF_FULL = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 50, "score": 10},
                       {"utilization": 100, "score": 0}]}
PROFILES = [
    profile(),
    profile("least", score="NodeResourcesFit"),
    profile("least-gpu", score="NodeResourcesFit",
            NodeResourcesFit=strategy("LeastAllocated", ("cpu", 1), (GPU, 5))),
    profile("most", score="NodeResourcesFit",
            NodeResourcesFit=strategy("MostAllocated", ("cpu", 1), ("memory", 1))),
    profile("fullest", score="NodeResourcesFit",
            NodeResourcesFit=strategy("RequestedToCapacityRatio", ("cpu", 1),
                                      requestedToCapacityRatio=FULLEST)),
    profile("half-full", score="NodeResourcesFit",
            NodeResourcesFit=strategy("RequestedToCapacityRatio", ("cpu", 1),
                                      requestedToCapacityRatio=HALF_FULL)),
    profile("ignoring", NodeResourcesFit={"ignoredResources": ["example.com/soft"],
                                          "ignoredResourceGroups": ["soft.example.com"]}),
    profile("balanced", score="NodeResourcesBalancedAllocation"),
    profile("balanced-gpu", score="NodeResourcesBalancedAllocation",
            NodeResourcesBalancedAllocation={"resources": [{"name": "cpu", "weight": 1},
                                                           {"name": GPU, "weight": 1}]}),
    profile("images", score="ImageLocality"),
]
RUNTIME = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"},
           "handler": "heavy", "overhead": {"podFixed": {"cpu": "1"}}}


def short(*resources, nodes=1):
    return nodes_left(nodes, *[f"{nodes} Insufficient {r}" for r in resources])


# ---- NodeResourcesFit: filtering -----------------------------------------------------------------

@test
def what_does_not_fit_waits_until_a_pod_has_gone(c):
    have(c, make_node("n0", cpu="4", memory="4Gi", extended={GPU: 2}),
         make_pod("full", cpu="3", memory="3Gi", node_name="n0", extended={GPU: 2}))
    apply(c, make_pod("cpu", cpu="2"), make_pod("memory", memory="2Gi"),
          make_pod("gpu", extended={GPU: 1}),
          make_pod("all", cpu="4", memory="4Gi", extended={GPU: 3}),
          make_pod("small", cpu="500m", memory="500Mi"))
    lands(c, "small", "n0")
    pends(c, "cpu", short("cpu"))
    pends(c, "memory", short("memory"))
    pends(c, "gpu", short(GPU))
    pends(c, "all", short("cpu", GPU, "memory"))
    delete_pod(c, "full")
    for name in ("cpu", "memory", "gpu"):
        lands(c, name, "n0")
    equal(place_of(c, "all"), {"all": None}, "node of what does not fit at all")


@test
def a_node_takes_no_more_pods_than_it_says(c):
    have(c, make_node("n0", pods=3), make_pod("a", node_name="n0"), make_pod("b", node_name="n0"))
    apply(c, make_pod("p", cpu=None, memory=None))
    lands(c, "p", "n0")
    apply(c, make_pod("q", cpu=None, memory=None))
    pends(c, "q", nodes_left(1, "1 Too many pods"))
    patch_status(c, "n0", capacity={"pods": "4"}, allocatable={"pods": "4"})
    lands(c, "q", "n0")


@test
def a_node_that_grows_and_a_node_that_is_added_help(c):
    have(c, make_node("n0", cpu="1"))
    apply(c, make_pod("p", cpu="2"), make_pod("q", extended={GPU: 1}))
    pends(c, "p", short("cpu"))
    pends(c, "q", short(GPU))
    patch_status(c, "n0", capacity={"cpu": "4"}, allocatable={"cpu": "4"})
    lands(c, "p", "n0")
    apply(c, make_node("n1", extended={GPU: 1}))
    lands(c, "q", "n1")


@test
def a_pod_that_is_resized_makes_room(c):
    """Without a kubelet a pod has what its specification says."""
    have(c, make_node("n0", cpu="4"), make_pod("large", cpu="3", node_name="n0"))
    apply(c, make_pod("p", cpu="2"))
    pends(c, "p", short("cpu"))
    c.kubectl("patch", "pod", "large", "--subresource=resize", "-p", json.dumps(
        {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}))
    lands(c, "p", "n0")


@test
def sidecars_init_containers_overhead_and_pod_level_requests_count(c):
    def init(name, cpu, main="1", **more):
        return make_pod(name, cpu=main, spec={"initContainers": [{
            "name": "init", "image": "registry.test/init", "resources": {"requests": {"cpu": cpu}},
            **more}]})
    have(c, make_node("n0", cpu="3"))
    apply(c, init("sidecar", "2500m", restartPolicy="Always"), init("init", "3500m"),
          make_pod("overhead", cpu="2500m", spec={"runtimeClassName": "heavy"}),
          make_pod("pod-level", cpu="1", spec={"resources": {"requests": {"cpu": "3500m"}}}))
    for name in ("sidecar", "init", "overhead", "pod-level"):
        pends(c, name, short("cpu"))
    # Init containers run before the others, sidecars beside them.
    apply(c, init("fits", "3"))
    lands(c, "fits", "n0")
    apply(c, make_pod("last", cpu="1m"))
    pends(c, "last", short("cpu"))


@test
def ignored_resources_are_not_looked_at(c):
    have(c, make_node("n0"))
    for name, resource in (("soft", "example.com/soft"), ("group", "soft.example.com/x"),
                           ("hard", GPU)):
        apply(c, make_pod(name, scheduler_name="ignoring", extended={resource: 1}))
    lands(c, "soft", "n0")
    lands(c, "group", "n0")
    pends(c, "hard", short(GPU))
    apply(c, make_pod("default", extended={"example.com/soft": 1}))
    pends(c, "default", short("example.com/soft"))


# ---- NodeResourcesFit: scoring -------------------------------------------------------------------

def three_used(**more):
    """Nodes of 8 CPUs of which 1, 4 and 6 are in use."""
    return [obj for i, cpu in enumerate(("1", "4", "6")) for obj in (
        make_node(f"n{i}", cpu="8", memory="8Gi", **more),
        make_pod(f"used-{i}", cpu=cpu, memory=cpu + "Gi", node_name=f"n{i}"))]


@test
def each_strategy_chooses_its_node(c):
    have(c, *three_used())
    for scheduler, node in (("least", "n0"), ("most", "n2"), ("fullest", "n2"),
                            ("half-full", "n1")):
        apply(c, make_pod(scheduler, cpu="10m", memory="10Mi", scheduler_name=scheduler))
        lands(c, scheduler, node)


@test
def the_resources_of_a_strategy_are_weighed(c):
    have(c, make_node("n0", cpu="8", extended={GPU: 8}),
         make_node("n1", cpu="8", extended={GPU: 8}),
         make_pod("used-0", cpu="6", node_name="n0", extended={GPU: 1}),
         make_pod("used-1", cpu="1", node_name="n1", extended={GPU: 4}))
    apply(c, make_pod("plain", scheduler_name="least-gpu"),
          make_pod("gpu", scheduler_name="least-gpu", extended={GPU: 1}))
    lands(c, "plain", "n1")
    lands(c, "gpu", "n0")


@test
def pods_without_requests_are_spread_as_if_they_had_some(c):
    have(c, make_node("n0", cpu="1", memory="2Gi"), make_node("n1", cpu="1", memory="2Gi"))
    apply(c, *[make_pod(f"p{i}", cpu=None, memory=None, scheduler_name="least") for i in range(6)])
    got = [lands(c, f"p{i}", "n0", "n1") for i in range(6)]
    equal((got.count("n0"), got.count("n1")), (3, 3), "pods on n0 and n1")


# ---- NodeResourcesBalancedAllocation -------------------------------------------------------------

@test
def a_node_that_becomes_balanced_is_preferred(c):
    have(c, make_node("n0", cpu="8", memory="8Gi", extended={GPU: 8}),
         make_node("n1", cpu="8", memory="8Gi", extended={GPU: 8}),
         make_pod("used-0", cpu="6", memory="1Gi", node_name="n0", extended={GPU: 1}),
         make_pod("used-1", cpu="1", memory="6Gi", node_name="n1", extended={GPU: 6}))
    apply(c, make_pod("cpu", cpu="1", memory="100Mi", scheduler_name="balanced"),
          make_pod("memory", cpu="100m", memory="1Gi", scheduler_name="balanced"))
    lands(c, "cpu", "n1")
    lands(c, "memory", "n0")
    # Only the resources in the arguments count.
    apply(c, make_pod("gpu", cpu="0", memory="0", extended={GPU: 1}, scheduler_name="balanced-gpu"))
    lands(c, "gpu", "n0")


# ---- ImageLocality -------------------------------------------------------------------------------

@test
def a_node_that_has_the_image_is_preferred(c):
    have(c, make_node("n0"), make_node("n1"), make_node("n2"))
    names = [f"registry.test/{n}" for n in ("big:v1", "small:v1", "plain:latest")]
    big, small, plain = [{"names": [name], "sizeBytes": size * 1000 * 1000}
                         for name, size in zip(names, (900, 30, 600))]
    patch_status(c, "n1", images=[small, big])
    patch_status(c, "n2", images=[plain, small])
    settle(c)
    apply(c, make_pod("big", image=names[0], scheduler_name="images"),
          make_pod("plain", image="registry.test/plain", scheduler_name="images"))
    lands(c, "big", "n1")
    lands(c, "plain", "n2")
    # The node loses the image, another one gets it.
    patch_status(c, "n1", images=[small])
    patch_status(c, "n0", images=[big])
    settle(c)
    apply(c, make_pod("again", image=names[0], scheduler_name="images"))
    lands(c, "again", "n0")


if __name__ == "__main__":
    main(fixture=subject.cluster(PROFILES, before=[RUNTIME]), after=after)
