#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coscheduling on a real API server: PodGroups of scheduling.x-k8s.io run whole or not at all.

BERTH_GROUPS=groups,room,size sets the size of the largest test.
"""

import contextlib
import os
import signal

import berth
from berth import PODS, TIMEOUT, add_nodes, add_pods, make_node, make_pod, wait_bound, wait_for
from cluster import ApiError, Cluster
from tap import check, contains, equal, main, test

GROUPS = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default/podgroups"
LABEL = "scheduling.x-k8s.io/pod-group"

# The profile of upstream's manifests/coscheduling/scheduler-config.yaml.
PROFILE = {
    "schedulerName": "default-scheduler",
    "plugins": {
        "multiPoint": {"enabled": [{"name": "Coscheduling"}]},
        "queueSort": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "*"}]}},
    "pluginConfig": [{"name": "Coscheduling", "args": {"permitWaitingTimeSeconds": 10}}]}


def start(c, name="cosched", **config):
    path = berth.scheduler_config(c, name, profiles=[PROFILE], **config)
    return berth.start(c, "-v=2", name=name, config=path)


def try_groups(c):
    try:
        return c.get(GROUPS) is not None
    except ApiError:
        return False


def install(c):
    c.kubectl("apply", "-f", os.path.join(berth.ROOT, "deploy/crds/podgroups.yaml"))
    wait_for(lambda: try_groups(c), TIMEOUT, what="PodGroups are served")


def group(name, least, **spec):
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"minMember": least, **spec}}


def members(name, n, start=0, cpu=1, **more):
    return [make_pod(f"{name}-{i}", cpu=cpu, memory=None, labels={LABEL: name}, **more)
            for i in range(start, start + n)]


def placed(c):
    """How many pods of each group have a node, finished ones included."""
    counts = {}
    for pod in c.pods("default"):
        name = pod["metadata"].get("labels", {}).get(LABEL)
        if name and pod["spec"].get("nodeName"):
            counts[name] = counts.get(name, 0) + 1
    return counts


def wait_placed(c, **want):
    wait_for(lambda: all(placed(c).get(k, 0) == n for k, n in want.items()), TIMEOUT,
             what=f"pods with a node: {want}")


def set_phase(c, pod, phase):
    c.patch(f"{PODS}/{pod}/status", {"status": {"phase": phase}})


@contextlib.contextmanager
def cluster():
    with Cluster() as c:
        berth.allow_scheduler_plugins(c)
        yield c


def done(c):
    if try_groups(c):
        c.delete(GROUPS)
    berth.reset(c)


@test
def without_the_resource_other_pods_are_scheduled(c):
    """The first test: afterwards the resource is there."""
    p = start(c)
    add_nodes(c, make_node("n0", cpu=8))
    add_pods(c, make_pod("alone"), *members("late", 2))
    wait_bound(c, "alone")
    wait_for(lambda: "scheduling.x-k8s.io" in p.text(), TIMEOUT, what="the log says so")
    lines = [line for line in p.text().splitlines() if "does not serve this resource" in line
             and "scheduling.x-k8s.io" in line]
    equal(len(lines), 1, "lines about the resource that is missing")
    message = berth.wait_unschedulable(c, "late-0")["message"]
    contains(message, "PodGroup not found")
    install(c)
    c.create(GROUPS, group("late", 2))
    wait_placed(c, late=2)
    berth.stop(p)


@test
def the_example_of_upstream(c):
    """Three pods of three cpus fit. With minMember 3 three of six run, with 4 none does."""
    install(c)
    p = start(c)
    for i in range(3):
        add_nodes(c, make_node(f"n{i}", cpu=4))
    c.kubectl("apply", "-f", "-", input={
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "nginx"}, "spec": {"scheduleTimeoutSeconds": 10, "minMember": 3}})
    add_pods(c, *members("nginx", 6, cpu="3000m"))
    wait_placed(c, nginx=3)
    c.kubectl("apply", "-f", "-", input={
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "PodGroup",
        "metadata": {"name": "four"}, "spec": {"scheduleTimeoutSeconds": 10, "minMember": 4}})
    c.delete(f"{PODS}?gracePeriodSeconds=0")
    wait_for(lambda: not c.pods("default"), TIMEOUT, what="the pods are gone")
    add_pods(c, *members("four", 6, cpu="3000m"))
    for i in range(6):
        berth.wait_unschedulable(c, f"four-{i}")
    equal(placed(c).get("four", 0), 0, "members with a node")
    add_nodes(c, make_node("n3", cpu=4))
    wait_placed(c, four=4)
    berth.stop(p)


@test
def a_group_waits_for_its_last_member(c):
    install(c)
    p = start(c)
    add_nodes(c, make_node("n0", cpu=8))
    c.create(GROUPS, group("slow", 3))
    add_pods(c, *members("slow", 2))
    contains(berth.wait_unschedulable(c, "slow-0")["message"],
             "pre-filter pod slow-0 cannot find enough sibling pods, current pods number: ",
             "minMember of group: 3")
    equal(placed(c), {}, "members with a node")
    add_pods(c, *members("slow", 1, start=2))
    wait_placed(c, slow=3)
    berth.stop(p)


@test
def many_interleaved_groups_all_finish(c):
    """More groups than fit, with their pods in turn. A group is finished only when all of its pods
    have a node, and nothing is finished while a group has a part of them: a group that stays in
    part would keep its nodes for ever."""
    groups, room, size = (int(n) for n in os.environ.get("BERTH_GROUPS", "100,30,4").split(","))
    install(c)
    p = start(c, podInitialBackoffSeconds=1, podMaxBackoffSeconds=2)
    # Some pods more than the groups need: parts of groups find room, too.
    c.create_many("/api/v1/nodes", [make_node(f"n{i:03}", cpu=1, pods=1)
                                    for i in range(room * size + size - 1)])
    for g in range(groups):
        c.create(GROUPS, group(f"g{g:03}", size))
    c.create_many(PODS, [make_pod(f"m{i}-{g:03}", cpu=1, memory=None, labels={LABEL: f"g{g:03}"})
                         for i in range(size) for g in range(groups)])
    finished, most = set(), 0

    def whole():
        counts = {k: n for k, n in placed(c).items() if k not in finished}
        check(all(n <= size for n in counts.values()), f"{counts}")
        return counts and all(n == size for n in counts.values()) and counts

    while len(finished) < groups:
        now = wait_for(whole, TIMEOUT, what="groups have all of their nodes or none")
        most = max(most, len(now))
        check(len(now) <= room, f"{len(now)} groups in a cluster for {room}")
        for name in now:
            for i in range(size):
                set_phase(c, f"m{i}-{name[1:]}", "Succeeded")
            finished.add(name)
    equal(len(finished), groups, "groups that finished")
    check(most > room // 2, f"at most {most} groups ran at a time")
    berth.stop(p)


def wait_status(c, name, **want):
    def status():
        got = c.get(f"{GROUPS}/{name}").get("status", {})
        return all(got.get(k) == v for k, v in want.items())
    wait_for(status, TIMEOUT, what=f"the status of {name} is {want}")


@test
def the_status_of_a_group_follows_its_pods(c):
    """The phases of the example in upstream's documents, and those of a group that fails."""
    install(c)
    p = start(c)
    add_nodes(c, make_node("n0", cpu=8))
    c.create(GROUPS, group("work", 2))
    c.create(GROUPS, group("bad", 2))
    wait_status(c, "work", phase="Pending")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "1"}
    pods = members("work", 3) + members("bad", 2)
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    add_pods(c, *pods)
    wait_status(c, "work", phase="Scheduling", occupiedBy="default/o")
    wait_placed(c, work=3, bad=2)
    set_phase(c, "work-0", "Running")
    wait_status(c, "work", phase="Scheduling", running=1)
    set_phase(c, "work-1", "Running")
    wait_status(c, "work", phase="Running", running=2, succeeded=0)
    set_phase(c, "work-0", "Succeeded")
    wait_status(c, "work", phase="Running", running=1, succeeded=1)
    # A pod that ended before the scheduler started is known.
    berth.stop(p)
    c.children.remove(p)
    p = start(c, "again")
    set_phase(c, "work-2", "Running")
    wait_status(c, "work", phase="Running", running=2, succeeded=1, failed=0)
    set_phase(c, "work-1", "Succeeded")
    wait_status(c, "work", phase="Finished", running=1, succeeded=2)
    set_phase(c, "bad-0", "Running")
    set_phase(c, "bad-1", "Failed")
    wait_status(c, "bad", phase="Failed", running=1, failed=1)
    contains(c.kubectl("get", "pg", "work"), "PHASE", "MINMEMBER", "Finished")
    berth.stop(p)


@test
def a_reload_that_enables_the_plugin_finds_pods_that_have_ended(c):
    install(c)
    path = berth.scheduler_config(c, "later", profiles=[{"schedulerName": "default-scheduler"}])
    p = berth.start(c, "-v=2", name="later", config=path)
    add_nodes(c, make_node("n0", cpu=8))
    add_pods(c, *members("old", 2))
    wait_placed(c, old=2)
    set_phase(c, "old-0", "Succeeded")
    set_phase(c, "old-1", "Running")
    berth.scheduler_config(c, "later", profiles=[PROFILE])
    p.signal(signal.SIGHUP)
    wait_for(lambda: "Configuration reloaded" in p.text(), TIMEOUT, what="the reload")
    c.create(GROUPS, group("old", 2))
    wait_status(c, "old", phase="Running", running=1, succeeded=1)
    berth.stop(p)


if __name__ == "__main__":
    main(fixture=cluster, after=done)
