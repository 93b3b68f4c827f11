#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users see: events, conditions, and where pods go, exactly as with kube-scheduler.

Every scene runs twice on the same cluster, with the real kube-scheduler with the plugins that berth
has and with berth, and must look the same. The expected result is written down as well.
"""

import socket

import berth
import subject
from berth import (NODES, add_nodes, add_pods, check, condition_of, equal, events_of, make_node,
                   make_pod, remove_all, visible, wait_bound, wait_events, wait_for,
                   wait_unschedulable)
from cluster import Cluster
from reasons import before_preemption
from tap import main, show_log, test

SOON = 20       # seconds; unschedulable pods are flushed after five minutes


def start_berth(c, profiles=berth.PROFILES):
    return berth.start(c, "-v=2", config=berth.scheduler_config(c, "berth", profiles=profiles))


def start_real(c, profiles):
    p = c.start_scheduler(config={"profiles": profiles})
    show_log(p.log)
    return p


def both_show(c, scene, profiles=berth.PROFILES):
    """Runs scene(c) with each scheduler; the results must be equal. Returns berth's."""
    real = start_real(c, profiles)
    want = scene(c)
    real.kill()
    c.children.remove(real)
    remove_all(c)
    p = start_berth(c, profiles)
    got = scene(c)
    berth.stop(p)
    equal(got, want, "seen with berth")
    return got


def failed_scene(nodes, pod, before=()):
    """A pod that does not fit: its condition and its event."""
    def scene(c):
        add_nodes(c, *nodes)
        for other in before:
            add_pods(c, other)
            wait_bound(c, other["metadata"]["name"])
        add_pods(c, pod)
        name = pod["metadata"]["name"]
        wait_unschedulable(c, name)
        wait_events(c, name, "FailedScheduling")
        seen = visible(c, name)
        # Without any node the pod is retried again and again: the event becomes a series.
        for event in seen["events"]:
            event.pop("in series")
        return seen
    return scene


def check_failed(c, text, nodes, pod, before=()):
    seen = both_show(c, failed_scene(nodes, pod, before))
    message = seen["condition"]["message"]
    equal(seen["condition"], {"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
                              "message": message, "observedGeneration": 1}, "condition")
    equal(before_preemption(message), text, "message")
    equal(len(seen["events"]), 1, "number of events")
    event = seen["events"][0]
    for key, want in (("reason", "FailedScheduling"), ("note", message), ("action", "Scheduling"),
                      ("type", "Warning"), ("reportingController", "default-scheduler"),
                      ("reportingInstance", f"default-scheduler-{socket.gethostname()}")):
        equal(event[key], want, key)


def three(**more):
    return [make_node(f"n{i}", cpu="4", memory="8Gi", **more) for i in range(3)]


@test
def too_little_cpu_is_told_as_upstream_does(c):
    check_failed(c, "0/3 nodes are available: 3 Insufficient cpu.", three(),
                 make_pod("p", cpu="5", memory="1Gi"))


@test
def too_little_memory_is_told_as_upstream_does(c):
    check_failed(c, "0/3 nodes are available: 3 Insufficient memory.", three(),
                 make_pod("p", cpu="1", memory="9Gi"))


@test
def too_little_of_both_is_told_as_upstream_does(c):
    check_failed(c, "0/3 nodes are available: 3 Insufficient cpu, 3 Insufficient memory.", three(),
                 make_pod("p", cpu="5", memory="9Gi"))


@test
def too_little_storage_is_told_as_upstream_does(c):
    check_failed(c, "0/3 nodes are available: 3 Insufficient ephemeral-storage.", three(),
                 make_pod("p", extended=None, spec={"containers": [
                     {"name": "main", "image": "registry.test/pause",
                      "resources": {"requests": {"ephemeral-storage": "200Gi"}}}]}))


@test
def too_many_pods_are_told_as_upstream_does(c):
    check_failed(c, "0/1 nodes are available: 1 Too many pods.", [make_node("n0", pods=2)],
                 make_pod("p"), before=[make_pod("a"), make_pod("b")])


@test
def cordoned_nodes_are_told_as_upstream_does(c):
    check_failed(c, "0/3 nodes are available: 3 node(s) were unschedulable.",
                 three(unschedulable=True), make_pod("p"))


@test
def an_extended_resource_that_is_missing_is_told_as_upstream_does(c):
    nodes = three() + [make_node("gpu", extended={"example.com/gpu": 1})]
    check_failed(c, "0/4 nodes are available: 4 Insufficient example.com/gpu.", nodes,
                 make_pod("p", extended={"example.com/gpu": 2}))


@test
def different_reasons_are_counted_and_sorted_as_upstream_does(c):
    nodes = [make_node("a", cpu="1"), make_node("b", cpu="1", memory="1Gi"),
             make_node("c", unschedulable=True), make_node("d", memory="1Gi"),
             make_node("e", cpu="1", memory="1Gi", pods=0)]
    check_failed(c, "0/5 nodes are available: 1 Too many pods, 1 node(s) were unschedulable, "
                    "3 Insufficient cpu, 3 Insufficient memory.", nodes,
                 make_pod("p", cpu="2", memory="2Gi"))


@test
def no_nodes_at_all_is_told_as_upstream_does(c):
    check_failed(c, "no nodes available to schedule pods", [], make_pod("p"))


@test
def a_scheduled_pod_shows_what_upstream_shows(c):
    def scene(c):
        add_nodes(c, make_node("n0"))
        add_pods(c, make_pod("p"))
        wait_bound(c, "p")
        wait_events(c, "p", "Scheduled")
        return visible(c, "p")
    seen = both_show(c, scene)
    equal(seen["condition"]["status"], "True", "status of PodScheduled")
    event = seen["events"][0]
    equal((event["note"], event["type"], event["action"]),
          ("Successfully assigned default/p to n0", "Normal", "Binding"), "event")


@test
def repeated_failures_become_a_series_as_upstream_has_it(c):
    """The condition changes the pod after the first failure, so the second event is about a new
    version of it; the third one repeats the second."""
    def scene(c):
        add_nodes(c, make_node("n0", cpu="2"))
        for name, cpu in (("filler", "1500m"), ("small-1", "100m"), ("small-2", "100m")):
            add_pods(c, make_pod(name, cpu=cpu))
            wait_bound(c, name)
        add_pods(c, make_pod("p", cpu="1"))
        wait_unschedulable(c, "p")
        # Both help, but not enough: the pod is retried and fails for the same reason.
        c.delete(berth.PODS + "/small-1?gracePeriodSeconds=0")
        wait_events(c, "p", "FailedScheduling", 2)
        c.delete(berth.PODS + "/small-2?gracePeriodSeconds=0")
        wait_for(lambda: any("series" in e for e in events_of(c, "p")), berth.TIMEOUT,
                 what="a series")
        return visible(c, "p"), [e.get("series", {}).get("count") for e in events_of(c, "p")]
    _, counts = both_show(c, scene)
    equal(counts, [None, 2], "counts of the series")


def heals(c, nodes, remedy, pod=None, before=()):
    """The pod waits; after remedy(c) it has a node, long before any flush."""
    start_berth(c)
    add_nodes(c, *nodes)
    for other in before:
        add_pods(c, other)
        wait_bound(c, other["metadata"]["name"])
    add_pods(c, pod or make_pod("p", cpu="3"))
    wait_unschedulable(c, "p")
    remedy(c)
    node = wait_bound(c, "p", SOON)
    wait_events(c, "p", "Scheduled")
    equal(condition_of(c, "p")["status"], "True", "status of PodScheduled")
    return node


@test
def a_new_node_helps_a_waiting_pod(c):
    equal(heals(c, [make_node("small", cpu="2")],
                lambda c: add_nodes(c, make_node("big", cpu="4"))), "big", "node")


@test
def the_first_node_helps_a_waiting_pod(c):
    equal(heals(c, [], lambda c: add_nodes(c, make_node("big", cpu="4"))), "big", "node")


@test
def an_uncordoned_node_helps_a_waiting_pod(c):
    equal(heals(c, [make_node("n0", unschedulable=True)],
                lambda c: c.kubectl("uncordon", "n0")), "n0", "node")


@test
def a_node_that_grows_helps_a_waiting_pod(c):
    equal(heals(c, [make_node("n0", cpu="2")],
                lambda c: c.patch(NODES + "/n0/status",
                                  {"status": {"allocatable": {"cpu": "4"},
                                              "capacity": {"cpu": "4"}}})), "n0", "node")


@test
def a_deleted_pod_makes_room_for_a_waiting_one(c):
    equal(heals(c, [make_node("n0", cpu="4")],
                lambda c: c.delete(berth.PODS + "/filler?gracePeriodSeconds=0"),
                before=[make_pod("filler", cpu="2")]), "n0", "node")


@test
def a_pod_that_has_ended_makes_room_for_a_waiting_one(c):
    equal(heals(c, [make_node("n0", cpu="4")],
                lambda c: c.patch(berth.PODS + "/filler/status",
                                  {"status": {"phase": "Succeeded"}}),
                before=[make_pod("filler", cpu="2")]), "n0", "node")


@test
def a_cordoned_node_gets_no_pods_but_for_those_that_tolerate_it(c):
    start_berth(c)
    add_nodes(c, make_node("n0", unschedulable=True))
    add_pods(c, make_pod("p"), make_pod("q", tolerations=[
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists",
         "effect": "NoSchedule"}]))
    wait_bound(c, "q")
    wait_unschedulable(c, "p")


@test
def a_deleted_pod_that_waited_leaves_nothing_behind(c):
    p = start_berth(c)
    add_nodes(c, make_node("small", cpu="1"))
    add_pods(c, make_pod("p", cpu="3"))
    wait_unschedulable(c, "p")
    c.delete(berth.PODS + "/p?gracePeriodSeconds=0")
    wait_for(lambda: not c.pods(), berth.TIMEOUT, what="p is gone")
    add_nodes(c, make_node("big", cpu="4"))
    add_pods(c, make_pod("q", cpu="3"))
    equal(wait_bound(c, "q"), "big", "node")
    check("\"default/p\" node" not in p.text(), "the deleted pod was bound")


class Model:
    """LeastAllocated as upstream defines it, in a few lines: an independent reference."""

    def __init__(self, sizes):
        self.has = dict(sizes)
        self.used = {name: (0, 0) for name in sizes}

    def score(self, name, want):
        parts = [(has - used - w) * 100 // has
                 for has, used, w in zip(self.has[name], self.used[name], want)]
        return sum(parts) // 2

    def best(self, want):
        """The best node; None if two are equally good."""
        ranked = sorted(self.has, key=lambda name: self.score(name, want), reverse=True)
        first, second = ranked[:2]
        return first if self.score(first, want) > self.score(second, want) else None

    def place(self, name, want):
        self.used[name] = tuple(u + w for u, w in zip(self.used[name], want))


def plan(sizes, count):
    """Requests (cpu, memory, each may be left out) with a unique best node, and that node."""
    model, pods = Model(sizes), []
    tries = ((100 + 37 * (i * 7 % 29), 90 + 61 * (i * 5 % 31), i) for i in range(100000))
    while len(pods) < count:
        cpu, memory, i = next(tries)
        cpu, memory = None if i % 9 == 4 else cpu, None if i % 7 == 3 else memory
        # Missing requests count as 100m and 200Mi in scores.
        want = (cpu or 100, (memory or 200) << 20)
        node = model.best(want)
        if node:
            model.place(node, want)
            pods.append((cpu, memory, node))
    return pods


@test
def sixty_pods_go_where_upstream_puts_them(c):
    """One after the other on nodes of different sizes, by free resources; no two nodes ever tie."""
    figures = [(8, 17), (13, 29), (16, 70), (5, 13), (11, 41), (23, 53),
               (7, 37), (19, 61), (9, 43), (31, 47), (12, 67), (14, 59)]
    sizes = {f"n{i:02}": (cpu * 1000 + 100, (memory * 1009) << 20)
             for i, (cpu, memory) in enumerate(figures)}
    pods = plan(sizes, 60)

    def scene(c):
        add_nodes(c, *[make_node(name, cpu=f"{cpu}m", memory=memory)
                       for name, (cpu, memory) in sizes.items()])
        placed = []
        for i, (cpu, memory, _) in enumerate(pods):
            add_pods(c, make_pod(f"p{i:02}", cpu=cpu and f"{cpu}m",
                                 memory=memory and f"{memory}Mi"))
            placed.append(wait_bound(c, f"p{i:02}"))
        return placed
    placed = both_show(c, scene, [subject.profile(score="NodeResourcesFit")])
    equal(placed, [node for _, _, node in pods], "nodes")
    check(len(set(placed)) > 6, f"all on few nodes: {sorted(set(placed))}")


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
