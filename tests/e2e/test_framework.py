#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scheduling framework: berth with the plugins of tests/plugins on a real API server."""

import os
import re
import time

import berth
from berth import (NODES, PODS, TIMEOUT, add_nodes, add_pods, check, condition_of, equal, events_of,
                   make_node, make_pod, node_of, wait_bound, wait_events, wait_for,
                   wait_unschedulable)
from cluster import ApiError, Cluster
from reasons import before_preemption
from tap import contains, main, note, test

OWN = ("TestPair", "TestNodeLabel", "TestGates", "TestPause")


def profile(name, *plugins, args=None):
    """A profile with the default plugins and these; TestGates replaces SchedulingGates."""
    section = {"disabled": [{"name": "SchedulingGates"}],
               "enabled": [{"name": p} for p in plugins]}
    return {"schedulerName": name, "percentageOfNodesToScore": 100,
            "plugins": {"multiPoint": section},
            "pluginConfig": [{"name": p, "args": a} for p, a in (args or {}).items()]}


def go_file(c):
    """The file for which TestPause waits."""
    return os.path.join(c.dir, "go")


def start(c, *profiles):
    """Starts berth-test. No pod is retried only because time has passed. Nodes that exist before
    the start are known before the first attempt."""
    if os.path.exists(go_file(c)):
        os.remove(go_file(c))
    if not profiles:
        profiles = [profile("default-scheduler", *OWN, args={"TestPause": {"file": go_file(c)}})]
    return berth.start(c, "-v=2", "--pod-max-in-unschedulable-pods-duration=1h",
                       config=berth.scheduler_config(c, "framework", profiles=profiles),
                       program="berth-test")


def wait_log(p, pattern):
    """Waits for a match in the log. Returns the first."""
    return wait_for(lambda: re.search(pattern, p.text()), TIMEOUT, what=f"log has {pattern!r}")


def count_log(p, pattern):
    return len(re.findall(pattern, p.text()))


def wait_held(p, name):
    """Waits until the pod waits in Permit. Returns the node that it reserves."""
    return wait_log(p, rf'"{name} waits for node ([a-z0-9-]+)"')[1]


def see_pods(c, name):
    """Returns when berth has seen all changes of pods: a pod created now has a node."""
    add_pods(c, make_pod(name, cpu=None, memory=None))
    wait_bound(c, name)


def see_nodes(c, name, node):
    """The same for nodes, which have their own watch: one of them gets a label."""
    c.patch(f"{NODES}/{node}", {"metadata": {"labels": {"seen-" + name: "yes"}}})
    add_pods(c, make_pod(name, cpu=None, memory=None, labels={"wants": "seen-" + name}))
    equal(wait_bound(c, name), node, f"node of {name}")


def delete_pod(c, name):
    c.delete(f"{PODS}/{name}?gracePeriodSeconds=0")


def delete_node(c, name):
    c.delete(f"{NODES}/{name}")
    wait_for(lambda: name not in [n["metadata"]["name"] for n in c.nodes()], TIMEOUT,
             what=f"{name} is gone")


def bind_by_hand(c, name, node):
    """Binds as another scheduler would."""
    c.create(f"{PODS}/{name}/binding", {
        "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node}})


def nominated(c, name):
    return c.pod(name)["status"].get("nominatedNodeName")


def pair(name, of, **more):
    return make_pod(name, labels={"pair": of}, **more)


def check_failed_text(c, name, text):
    """Checks that condition and event have this message."""
    wait_for(lambda: before_preemption((condition_of(c, name) or {}).get("message", "")) == text,
             TIMEOUT, what=f"the condition of {name}: {text}")
    condition = condition_of(c, name)
    equal((condition["status"], condition["reason"]), ("False", "Unschedulable"), "condition")
    event = wait_events(c, name, "FailedScheduling")[-1]
    equal((before_preemption(event["note"]), event["type"], event["action"]),
          (text, "Warning", "Scheduling"), "event")


# ---- the registry --------------------------------------------------------------------------------

@test
def only_the_test_build_knows_the_plugins_of_tests(c):
    config = berth.scheduler_config(c, "unknown", profiles=[profile("default-scheduler", *OWN)])
    done = berth.run("scheduler", f"--config={config}", "--secure-port=0")
    equal(done.code, 1, "exit code")
    contains(done.err, 'PreFilterPlugin "TestPair" does not exist (', 'unknown.config.json:1: profiles[0].')


# ---- Permit --------------------------------------------------------------------------------------

@test
def a_pod_waits_in_permit_until_the_second_arrives(c):
    add_nodes(c, make_node("n0", cpu="4"))
    p = start(c)
    add_pods(c, pair("a", "x", cpu="3"))
    equal(wait_held(p, "a"), "n0", "node kept for a")
    # Its resources are reserved though it is not bound, and other pods overtake it.
    add_pods(c, make_pod("big", cpu="2"), make_pod("small", cpu="500m"))
    equal(wait_bound(c, "small"), "n0", "node of small")
    check_failed_text(c, "big", "0/1 nodes are available: 1 Insufficient cpu.")
    equal(node_of(c, "a"), None, "node of a while it waits")
    equal(events_of(c, "a"), [], "events of a while it waits")
    add_pods(c, pair("b", "x", cpu="500m"))
    equal((wait_bound(c, "a"), wait_bound(c, "b")), ("n0", "n0"), "nodes of the pair")
    for name in ("a", "b"):
        equal(wait_events(c, name, "Scheduled")[0]["note"],
              f"Successfully assigned default/{name} to n0", "event")
        equal(events_of(c, name, "FailedScheduling"), [], "failures")


@test
def many_pairs_find_each_other(c):
    add_nodes(c, *[make_node(f"n{i}", cpu="8", pods=20) for i in range(4)])
    start(c)
    names = [(f"{side}{i:02}", f"x{i}") for side in "ab" for i in range(30)]
    add_pods(c, *[pair(name, of) for name, of in names])
    for name, _ in names:
        wait_bound(c, name)
    equal(berth.overcommitted(c), [], "overcommitted nodes")


@test
def the_node_is_nominated_while_a_pod_waits_in_permit(c):
    add_nodes(c, make_node("n0"), make_node("n1"))
    p = start(c)
    add_pods(c, pair("a", "x"))
    node = wait_held(p, "a")
    wait_for(lambda: nominated(c, "a") == node, TIMEOUT, what=f"a is nominated to {node}")
    row = c.kubectl("get", "pod", "a", "-o", "wide", "--no-headers").split()
    equal(row[-4:-1], ["<none>", "<none>", node], "IP, NODE, NOMINATED NODE of kubectl get pod")
    # The update of its own status does not disturb it.
    see_pods(c, "later")
    equal(count_log(p, '"a waits for node'), 1, "attempts")
    add_pods(c, pair("b", "x"))
    equal(wait_bound(c, "a"), node, "node")


@test
def a_pod_that_has_waited_too_long_is_told_so(c):
    add_nodes(c, make_node("n0", cpu="2"))
    p = start(c)
    add_pods(c, pair("a", "x", cpu="1500m", annotations={"test.berth/timeout-ms": "1500"}))
    wait_held(p, "a")
    check_failed_text(c, "a", "0/1 nodes are available: 1 rejected due to timeout after waiting "
                              "1.5s at plugin TestPair.")
    wait_for(lambda: not nominated(c, "a"), TIMEOUT, what="a is not nominated any more")
    # Its resources are free again, and it waits for an event of the plugin that rejected it.
    add_pods(c, make_pod("other", cpu="1500m"))
    equal(wait_bound(c, "other"), "n0", "node of another")
    delete_pod(c, "other")
    c.patch(f"{PODS}/a", {"metadata": {"labels": {"pair": None}}})
    equal(wait_bound(c, "a"), "n0", "node of a when it is alone")


@test
def a_pod_that_is_rejected_in_permit_is_told_why(c):
    add_nodes(c, make_node("n0", cpu="2"))
    p = start(c)
    add_pods(c, pair("a", "x", cpu="1500m"))
    wait_held(p, "a")
    add_pods(c, make_pod("big", cpu="1"))
    check_failed_text(c, "big", "0/1 nodes are available: 1 Insufficient cpu.")
    add_pods(c, make_pod("breaker", labels={"part": "x"}))
    wait_bound(c, "breaker")
    check_failed_text(c, "a", "0/1 nodes are available: 1 the pair has parted.")
    equal(wait_bound(c, "big"), "n0", "node of the pod that waited for the room")


@test
def a_pod_deleted_while_it_waits_in_permit_gives_its_room_back(c):
    add_nodes(c, make_node("n0", cpu="2"))
    p = start(c)
    add_pods(c, pair("a", "x", cpu="1500m"))
    wait_held(p, "a")
    add_pods(c, make_pod("big", cpu="1500m"))
    check_failed_text(c, "big", "0/1 nodes are available: 1 Insufficient cpu.")
    delete_pod(c, "a")
    equal(wait_bound(c, "big"), "n0", "node of the pod that waited for the room")
    # A pod of the same name is another pod with its own Permit.
    add_pods(c, pair("a", "x", cpu="100m"), pair("b", "x", cpu="100m"))
    equal((wait_bound(c, "a"), wait_bound(c, "b")), ("n0", "n0"), "nodes of the new pair")


@test
def sigterm_ends_berth_though_pods_wait_in_permit_and_none_is_lost(c):
    add_nodes(c, make_node("n0"), make_node("n1"))
    p = start(c)
    names = [f"a{i}" for i in range(5)]
    add_pods(c, *[pair(name, name) for name in names])
    for name in names:
        wait_held(p, name)
    berth.stop(p)
    equal([node_of(c, name) for name in names], [None] * 5, "nodes")
    p = start(c)
    for name in names:
        wait_held(p, name)
    add_pods(c, *[pair("b" + name, name) for name in names])
    for name in names:
        wait_bound(c, name)
        wait_bound(c, "b" + name)


# ---- queueing hints ------------------------------------------------------------------------------

@test
def a_label_on_a_node_brings_back_the_pod_that_wants_it_within_a_second(c):
    """A busy machine may be late now and then, so the best of a few counts; a timer would be
    slower."""
    add_nodes(c, make_node("n0"), make_node("n1"))
    p = start(c)
    took = []
    for i in range(8):
        name, label = f"p{i}", f"want-{i}"
        add_pods(c, make_pod(name, labels={"wants": label}))
        check_failed_text(c, name, "0/2 nodes are available: 2 node(s) lacked the wanted label.")
        c.patch(f"{NODES}/n1", {"metadata": {"labels": {label: "yes"}}})
        changed = time.monotonic()
        equal(wait_for(lambda: node_of(c, name), TIMEOUT, interval=0.01, what="bound"), "n1", "node")
        took.append(time.monotonic() - changed)
        contains(p.text(), f"hint for {name}: queue")
        if took[-1] < 1:
            break
    note(f"from the label to the node: {', '.join(f'{t * 1000:.0f} ms' for t in took)}")
    check(min(took) < 1, f"too late every time: {took}")


@test
def other_changes_of_a_node_leave_the_pod_where_it_is(c):
    add_nodes(c, make_node("n0"))
    p = start(c)
    add_pods(c, make_pod("p", labels={"wants": "disk"}))
    wait_unschedulable(c, "p")
    c.patch(f"{NODES}/n0", {"metadata": {"labels": {"colour": "red"}}})
    wait_log(p, '"hint for p: skip"')
    # The hint is not called: the plugin has not registered for these.
    c.patch(f"{NODES}/n0", {"metadata": {"annotations": {"disk": "yes"}}})
    c.patch(f"{NODES}/n0/status", {"status": {"allocatable": {"cpu": "16"},
                                              "capacity": {"cpu": "16"}}})
    see_nodes(c, "later", "n0")
    equal(node_of(c, "p"), None, "node")
    c.kubectl("label", "node", "n0", "disk=fast")
    equal(wait_bound(c, "p"), "n0", "node")
    equal(count_log(p, '"hint for p: skip"'), 2, "times the hint said no")
    equal(count_log(p, '"hint for p: queue"'), 1, "times the hint said yes")
    equal(count_log(p, 'Unable to schedule pod.*"default/p"'), 1, "attempts in vain")


@test
def a_label_that_comes_while_the_pod_is_being_tried_is_not_missed(c):
    """Labels and pods are added in random order: every pod gets its node."""
    add_nodes(c, *[make_node(f"n{i}", pods=200) for i in range(3)])
    start(c)
    for i in range(30):
        add_pods(c, make_pod(f"p{i}", labels={"wants": f"l{i}"}))
        c.patch(f"{NODES}/n{i % 3}", {"metadata": {"labels": {f"l{i}": "yes"}}})
    for i in range(30):
        equal(wait_bound(c, f"p{i}"), f"n{i % 3}", f"node of p{i}")


@test
def plugins_are_asked_by_several_threads_in_a_large_cluster(c):
    add_nodes(c, *[make_node(f"n{i:03}") for i in range(300)])
    start(c)
    add_pods(c, make_pod("p", labels={"wants": "disk"}))
    check_failed_text(c, "p", "0/300 nodes are available: 300 node(s) lacked the wanted label.")
    c.patch(f"{NODES}/n217", {"metadata": {"labels": {"disk": "yes"}}})
    equal(wait_bound(c, "p"), "n217", "node")


# ---- PreEnqueue ----------------------------------------------------------------------------------

@test
def a_gated_pod_is_not_tried_before_it_is_released(c):
    add_nodes(c, make_node("n0"))
    p = start(c)
    add_pods(c, make_pod("p", gates=["test.berth/a", "test.berth/b"]))
    wait_log(p, '"p: gated"')
    c.patch(f"{PODS}/p", {"spec": {"schedulingGates": [{"name": "test.berth/b"}]}})
    see_pods(c, "later")
    equal(node_of(c, "p"), None, "node while one gate is left")
    equal(condition_of(c, "p")["reason"], "SchedulingGated", "condition, the API server's")
    equal(events_of(c, "p"), [], "events while it is gated")
    # No other event admits it.
    add_nodes(c, make_node("n1"))
    see_nodes(c, "latest", "n1")
    equal(node_of(c, "p"), None, "node while one gate is left")
    c.patch(f"{PODS}/p", {"spec": {"schedulingGates": []}})
    check(wait_bound(c, "p") in ("n0", "n1"), "no node")
    wait_events(c, "p", "Scheduled")
    equal(events_of(c, "p", "FailedScheduling"), [], "failures")
    equal(condition_of(c, "p")["status"], "True", "status of PodScheduled")


@test
def gated_pods_that_are_deleted_or_left_gated_are_no_burden(c):
    add_nodes(c, make_node("n0"))
    p = start(c)
    add_pods(c, make_pod("p", gates=["test.berth/a"]), make_pod("q", gates=["test.berth/a"]))
    wait_log(p, '"p: gated"')
    wait_log(p, '"q: gated"')
    delete_pod(c, "p")
    add_pods(c, make_pod("p"))
    equal(wait_bound(c, "p"), "n0", "node of a namesake without gates")
    berth.stop(p)
    equal(node_of(c, "q"), None, "node of a pod that is still gated")


# ---- profiles ------------------------------------------------------------------------------------

@test
def two_profiles_schedule_by_their_own_plugins_in_one_process(c):
    add_nodes(c, *[make_node(f"n{i}", pods=30) for i in range(3)])
    p = start(c, profile("default-scheduler", "TestOnly", args={"TestOnly": {"node": "n0"}}),
              profile("second", "TestOnly", "TestPair", args={"TestOnly": {"node": "n1"}}))
    first = [make_pod(f"a{i}", labels={"pair": "alone"}) for i in range(10)]
    second = [make_pod(f"b{i}", scheduler_name="second") for i in range(10)]
    add_pods(c, *[pod for two in zip(first, second) for pod in two])
    add_pods(c, make_pod("nobodys", scheduler_name="third"))
    for i in range(10):
        equal((wait_bound(c, f"a{i}"), wait_bound(c, f"b{i}")), ("n0", "n1"), "nodes")
    # Only the second profile has TestPair.
    add_pods(c, pair("x", "x", scheduler_name="second"))
    equal(wait_held(p, "x"), "n1", "node kept for x")
    add_pods(c, pair("y", "x", scheduler_name="second"))
    equal((wait_bound(c, "x"), wait_bound(c, "y")), ("n1", "n1"), "nodes of the pair")
    equal({wait_events(c, name, "Scheduled")[0]["reportingController"] for name in ("a0", "b0")},
          {"default-scheduler", "second"}, "who has scheduled them")
    equal(node_of(c, "nobodys"), None, "node of a pod of no profile")
    equal(events_of(c, "nobodys"), [], "its events")


@test
def a_change_helps_the_pods_of_the_profile_whose_plugin_asked_for_it(c):
    add_nodes(c, make_node("n0"))
    p = start(c, profile("default-scheduler", "TestNodeLabel"),
              profile("second", "TestOnly", args={"TestOnly": {"node": "missing"}}))
    add_pods(c, make_pod("a", labels={"wants": "disk"}),
             make_pod("b", labels={"wants": "disk"}, scheduler_name="second"))
    wait_unschedulable(c, "a")
    wait_unschedulable(c, "b")
    c.patch(f"{NODES}/n0", {"metadata": {"labels": {"disk": "yes"}}})
    equal(wait_bound(c, "a"), "n0", "node of a")
    see_pods(c, "later")
    equal(count_log(p, 'Unable to schedule pod.*"default/b"'), 1, "attempts for b")
    add_nodes(c, make_node("missing"))
    equal(wait_bound(c, "b"), "missing", "node of b")


# ---- bindings by others --------------------------------------------------------------------------

def check_room(c, full, free):
    """Checks that of `full` 3 of 4 CPUs are in use and that `free` is free."""
    add_pods(c, make_pod("fits", cpu="3"))
    equal(wait_bound(c, "fits"), free, "the node that has room")
    add_pods(c, make_pod("too-much", cpu="3"))
    check_failed_text(c, "too-much", "0/2 nodes are available: 2 Insufficient cpu.")


@test
def a_pod_that_another_scheduler_binds_first_is_let_go(c):
    add_nodes(c, make_node("n0", cpu="4"), make_node("n1", cpu="4"))
    p = start(c)
    add_pods(c, make_pod("p", cpu="3", labels={"pause": "yes"}))
    chosen = wait_log(p, r'"p pauses before node (n\d)"')[1]
    other = {"n0": "n1", "n1": "n0"}[chosen]
    bind_by_hand(c, "p", other)
    with open(go_file(c), "w"):
        pass
    wait_log(p, r'Error scheduling pod.*already assigned to node.*"default/p"')
    check_room(c, full=other, free=chosen)
    equal(node_of(c, "p"), other, "node, as the other has decided")
    equal(count_log(p, 'Successfully bound pod.*"default/p"'), 0, "bindings by berth")
    equal(events_of(c, "p", "Scheduled"), [], "Scheduled events by berth")
    equal(count_log(p, '"p pauses'), 1, "attempts")


@test
def a_pod_that_another_scheduler_binds_while_it_waits_in_permit_is_let_go(c):
    add_nodes(c, make_node("n0", cpu="4"), make_node("n1", cpu="4"))
    p = start(c)
    add_pods(c, pair("p", "x", cpu="3"))
    kept = wait_held(p, "p")
    other = {"n0": "n1", "n1": "n0"}[kept]
    bind_by_hand(c, "p", other)
    check_room(c, full=other, free=kept)
    add_pods(c, pair("q", "x", cpu="500m"))
    wait_bound(c, "q")
    wait_log(p, r'Error scheduling pod.*already assigned to node.*"default/p"')
    equal(node_of(c, "p"), other, "node, as the other has decided")
    equal(events_of(c, "p", "Scheduled"), [], "Scheduled events by berth")
    equal(berth.overcommitted(c), [], "overcommitted nodes")


@test
def a_pod_that_another_scheduler_binds_while_it_is_queued_is_forgotten(c):
    add_nodes(c, make_node("n0", cpu="4"), make_node("n1", cpu="4"))
    p = start(c)
    add_pods(c, make_pod("p", cpu="3", labels={"wants": "disk"}))
    wait_unschedulable(c, "p")
    bind_by_hand(c, "p", "n0")
    see_pods(c, "later")
    check_room(c, full="n0", free="n1")
    # The event that p waited for arrives when it no longer waits.
    add_pods(c, make_pod("q", labels={"wants": "disk"}))
    wait_unschedulable(c, "q")
    c.patch(f"{NODES}/n0", {"metadata": {"labels": {"disk": "yes"}}})
    equal(wait_bound(c, "q"), "n0", "node of q")
    equal(count_log(p, '"hint for p: '), 0, "times the hint was asked for p")


@test
def a_nomination_never_meets_the_binding(c):
    """A plugin with work at PreBind makes berth nominate the node; the work is done at once."""
    p = start(c)
    open(go_file(c), "w").close()
    add_nodes(c, *[make_node(f"n{i}") for i in range(3)])
    names = [f"p{i}" for i in range(10)]
    for name in names:
        add_pods(c, make_pod(name, labels={"pause": "yes"}))
    add_pods(c, *[make_pod(f"q{i}", labels={"pause": "yes"}) for i in range(10)])
    for name in names + [f"q{i}" for i in range(10)]:
        wait_bound(c, name)
    equal(count_log(p, " goes on"), 20, "pods that were worked on")
    equal(re.findall(r".*Error updating pod.*", p.text()), [], "errors")


@test
def a_pod_deleted_right_before_it_is_bound_is_let_go(c):
    add_nodes(c, make_node("n0", cpu="4"))
    p = start(c)
    add_pods(c, make_pod("p", cpu="3", labels={"pause": "yes"}))
    wait_log(p, '"p pauses before node n0"')
    delete_pod(c, "p")
    with open(go_file(c), "w"):
        pass
    wait_log(p, r'Error scheduling pod.*not found.*"default/p"')
    add_pods(c, make_pod("q", cpu="3"))
    equal(wait_bound(c, "q"), "n0", "node of another, in the same room")
    try:
        c.pod("p")
        check(False, "p is there again")
    except ApiError as e:
        equal(e.status, 404, "status")


# ---- deletion and addition of nodes --------------------------------------------------------------

@test
def pods_go_to_other_nodes_when_one_is_deleted_and_to_it_when_it_is_back(c):
    add_nodes(c, make_node("n0", cpu="4"), make_node("n1", cpu="4"))
    start(c)
    add_pods(c, make_pod("a", cpu="3"))
    gone = wait_bound(c, "a")
    left = {"n0": "n1", "n1": "n0"}[gone]
    delete_node(c, gone)
    see_nodes(c, "later", left)
    add_pods(c, make_pod("b", cpu="3"))
    equal(wait_bound(c, "b"), left, "node of b")
    add_pods(c, make_pod("c", cpu="3"))
    check_failed_text(c, "c", "0/1 nodes are available: 1 Insufficient cpu.")
    # The node is added again, and its pod is still there.
    add_nodes(c, make_node(gone, cpu="4"))
    check_failed_text(c, "c", "0/2 nodes are available: 2 Insufficient cpu.")
    delete_pod(c, "a")
    equal(wait_bound(c, "c"), gone, "node of c")
    equal(berth.overcommitted(c), [], "overcommitted nodes")


@test
def a_pod_whose_node_is_deleted_while_it_waits_in_permit_is_placed_elsewhere(c):
    add_nodes(c, make_node("n0", cpu="4"))
    p = start(c)
    add_pods(c, pair("a", "x", cpu="3"), make_pod("big", cpu="3", labels={"wants": "disk"}))
    wait_held(p, "a")
    wait_unschedulable(c, "big")
    delete_node(c, "n0")
    add_nodes(c, make_node("n1", cpu="8", labels={"disk": "yes"}))
    equal(wait_bound(c, "big"), "n1", "node of the pod that was queued")
    add_pods(c, make_pod("breaker", labels={"part": "x"}))
    wait_bound(c, "breaker")
    check_failed_text(c, "a", "0/1 nodes are available: 1 the pair has parted.")
    c.patch(f"{PODS}/a", {"metadata": {"labels": {"pair": None}}})
    equal(wait_bound(c, "a"), "n1", "node of the pod that was assumed on a node that is gone")
    add_nodes(c, make_node("n0", cpu="8"))
    add_pods(c, make_pod("last", cpu="7"))
    equal(wait_bound(c, "last"), "n0", "node: nothing is left of what was assumed there")


@test
def no_pod_is_lost_while_nodes_come_and_go(c):
    add_nodes(c, *[make_node(f"n{i}", cpu="8", pods=60) for i in range(3)])
    start(c)
    names = []
    for round in range(4):
        batch = [f"p{round}-{i}" for i in range(15)]
        names += batch
        add_pods(c, *[make_pod(name, cpu="50m", memory="1Mi") for name in batch])
        delete_node(c, f"n{round % 3}")
        add_nodes(c, make_node(f"n{round % 3}", cpu="8", pods=60))
    for name in names:
        wait_bound(c, name)
    equal(berth.overcommitted(c), [], "overcommitted nodes")


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
