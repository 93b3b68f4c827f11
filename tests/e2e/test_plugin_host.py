#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins and the live world: calls that block, answers from other threads, crashes, slow calls,
custom resources. The plugins are in tests/plugins/host_use.c."""

import json
import os
import re
import signal

import berth
from berth import (TIMEOUT, add_nodes, add_pods, equal, make_node, make_pod, node_of, stop,
                   wait_bound, wait_exit, wait_for, wait_unschedulable)
from cluster import Cluster
from tap import check, contains, main, test

OWN = ("TestSleep", "TestThread", "TestFault", "TestRack")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RACKS = "/apis/example.com/v1/racks"


def start(c, *args):
    section = {"enabled": [{"name": p} for p in OWN]}
    profiles = [{"schedulerName": "default-scheduler", "percentageOfNodesToScore": 100,
                 "plugins": {"multiPoint": section}}]
    return berth.start(c, "-v=2", *args, program="berth-test",
                       config=berth.scheduler_config(c, "host", profiles=profiles))


def wait_log(p, pattern):
    return wait_for(lambda: re.search(pattern, p.text()), TIMEOUT, what=f"log has {pattern!r}")


@test
def a_pre_bind_that_blocks_delays_no_other_pod(c):
    add_nodes(c, make_node("n1"))
    p = start(c)
    add_pods(c, make_pod("sleeper", labels={"sleep-ms": "4000"}))
    wait_log(p, '"sleeper sleeps"')
    add_pods(c, *[make_pod(f"p{i}") for i in range(10)])
    for i in range(10):
        wait_bound(c, f"p{i}")
    check("sleeper has slept" not in p.text(), "others waited for the pod that sleeps")
    equal(node_of(c, "sleeper"), None, "node of sleeper")
    wait_bound(c, "sleeper")
    stop(p)


@test
def a_stop_waits_for_a_plugin_that_blocks(c):
    add_nodes(c, make_node("n1"))
    p = start(c)
    add_pods(c, make_pod("sleeper", labels={"sleep-ms": "1000"}))
    wait_log(p, '"sleeper sleeps"')
    stop(p)
    equal(node_of(c, "sleeper"), "n1", "node of sleeper")


@test
def answers_come_from_any_thread(c):
    add_nodes(c, make_node("n1"))
    p = start(c)
    add_pods(c, *[make_pod(f"p{i}", labels={"answer": "once"}) for i in range(20)])
    add_pods(c, make_pod("twice", labels={"answer": "twice"}))
    for name in [f"p{i}" for i in range(20)] + ["twice"]:
        wait_bound(c, name)
    stop(p)
    check("does not exist" not in p.text(), "an answer was lost")


@test
def a_crash_names_plugin_point_and_pod(c):
    add_nodes(c, make_node("n1"))
    for fault, name, number in (("abort", "SIGABRT", signal.SIGABRT),
                                ("segv", "SIGSEGV", signal.SIGSEGV)):
        p = start(c)
        add_pods(c, make_pod(fault, labels={"fault": fault}))
        code = wait_exit(p)
        c.delete(f"/api/v1/namespaces/default/pods/{fault}?gracePeriodSeconds=0")
        if "Sanitizer" in p.text():
            continue    # its own report
        equal(code, -number, "exit code")
        contains(p.text(), f"berth: {name} in plugin TestFault, Filter, pod default/{fault}",
                 "berth: backtrace:", "berth-test(+0x")


@test
def a_call_that_does_not_return_is_logged(c):
    add_nodes(c, make_node("n1"))
    p = start(c, "--plugin-call-limit=200ms")
    add_pods(c, make_pod("slow", labels={"fault": "slow"}))
    wait_log(p, 'has not returned.*call="plugin TestFault, Filter, pod default/slow"')
    wait_log(p, "A plugin that took too long has returned")
    wait_bound(c, "slow")
    contains(p.text(), "limit=", "backtrace=")
    stop(p)


def install_racks(c):
    c.create(CRDS, {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "racks.example.com"},
        "spec": {"group": "example.com", "scope": "Cluster",
                 "names": {"plural": "racks", "singular": "rack", "kind": "Rack",
                           "listKind": "RackList"},
                 "versions": [{"name": "v1", "served": True, "storage": True,
                               "schema": {"openAPIV3Schema": {
                                   "type": "object",
                                   "x-kubernetes-preserve-unknown-fields": True}}}]}})


def allow_racks(c):
    rbac = "rbac.authorization.k8s.io"
    c.create(f"/apis/{rbac}/v1/clusterroles", {
        "apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": "racks"},
        "rules": [{"apiGroups": ["example.com"], "resources": ["racks"],
                   "verbs": ["get", "list", "watch"]}]})
    c.create(f"/apis/{rbac}/v1/clusterrolebindings", {
        "apiVersion": f"{rbac}/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "racks"},
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": "racks"},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": "system:kube-scheduler"}]})


def add_rack(c, name, *nodes):
    c.create(RACKS, {"apiVersion": "example.com/v1", "kind": "Rack", "metadata": {"name": name},
                     "spec": {"nodes": list(nodes)}})


@test
def custom_resources_are_watched_when_they_appear(c):
    add_nodes(c, make_node("n1"), make_node("n2"), make_node("n3"))
    allow_racks(c)
    p = start(c)
    wait_log(p, "does not serve this resource.*racks")
    add_pods(c, make_pod("a", labels={"rack": "r1"}), make_pod("b"))
    wait_bound(c, "b")
    wait_unschedulable(c, "a")
    install_racks(c)
    wait_for(lambda: try_rack(c, "r1", "n2"), TIMEOUT, what="racks can be created")
    equal(wait_bound(c, "a"), "n2", "node of a")
    # A change of an object that the pod waits for.
    add_pods(c, make_pod("d", labels={"rack": "r2"}))
    wait_unschedulable(c, "d")
    add_rack(c, "r2", "n3", "nowhere")
    equal(wait_bound(c, "d"), "n3", "node of d")
    stop(p)
    c.delete(f"{CRDS}/racks.example.com")


def try_rack(c, name, *nodes):
    try:
        add_rack(c, name, *nodes)
        return True
    except Exception:  # the API server serves the new kind a moment later
        return False


@test
def the_simulator_has_custom_resources_and_waits_for_threads(c):
    def node(name):
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
                "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}

    def pod(name, **labels):
        return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
                "spec": {"containers": [{"name": "c", "image": "x"}]}}
    rack = {"apiVersion": "example.com/v1", "kind": "Rack", "metadata": {"name": "r1"},
            "spec": {"nodes": ["n2"]}}
    items = [node("n1"), node("n2"), rack, pod("a", rack="r1", answer="twice"),
             pod("b", rack="r9"), pod("d", rack="r1", **{"sleep-ms": "10"})]
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "profiles": [{"plugins": {"multiPoint": {"enabled": [{"name": p} for p in OWN]}}}]}
    path = os.path.join(c.dir, "simulate.json")
    with open(path, "w") as f:
        json.dump(config, f)
    p = berth.run("simulate", "--config", path, "-f", "-", program="berth-test",
                  input="\n---\n".join(json.dumps(i) for i in items))
    check(re.search(r"default/a +n2", p.out), p.out)
    check(re.search(r"default/b +- +0/2 nodes are available: no such rack", p.out), p.out)
    check(re.search(r"default/d +n2", p.out), p.out)


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
