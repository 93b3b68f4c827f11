#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plugins that look only at the pod and the node, used through kubectl.

BERTH_SUBJECT=kube-scheduler runs the same tests on the real kube-scheduler. Resources are in
test_plugins_resources.py, plugins that depend on other pods in test_plugins_topology.py.
"""

import json

import subject
from berth import condition_of, events_of, make_node, make_pod, wait_for
from reasons import (CORDONED, NO_AFFINITY, NO_FEATURE, NO_PORT, NOT_ENFORCED, OUTSIDE, TAINTED,
                     nodes_left)
from subject import (LATE, after, apply, delete_pod, have, lands, patch_status, pends, place_of,
                     profile, settle)
from tap import contains, equal, main, test


def expression(key, operator, *values):
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def term(*expressions, fields=()):
    return {**({"matchExpressions": list(expressions)} if expressions else {}),
            **({"matchFields": list(fields)} if fields else {})}


def required(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": list(terms)}}}


def preferred(*weighed):
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": weight, "preference": preference} for weight, preference in weighed]}}


def on_node(*names):
    """The term that keeps a daemon on its node."""
    return term(fields=[expression("metadata.name", "In", *names)])


PROFILES = [
    profile(),
    profile("taints", score="TaintToleration"),
    profile("affinity", score="NodeAffinity"),
    profile("enforced", score="NodeAffinity", NodeAffinity={"addedAffinity": {
        **required(term(expression("team", "In", "red")))["nodeAffinity"],
        **preferred((10, term(expression("disk", "Exists"))))["nodeAffinity"]}}),
]


# ---- SchedulingGates, PrioritySort ---------------------------------------------------------------

@test
def a_gated_pod_waits_for_its_last_gate_and_nothing_is_said_about_it(c):
    have(c, make_node("n0"))
    apply(c, make_pod("p", gates=["example.com/a", "example.com/b"]))
    row = c.kubectl("get", "pod", "p", "--no-headers").split()
    equal(row[2], "SchedulingGated", "STATUS of kubectl get pod")
    c.kubectl("patch", "pod", "p", "--type=json", "-p",
              json.dumps([{"op": "remove", "path": "/spec/schedulingGates/0"}]))
    settle(c)
    equal(place_of(c, "p"), {"p": None}, "node while one gate is left")
    equal(condition_of(c, "p")["reason"], "SchedulingGated", "condition, the API server's")
    equal(events_of(c, "p"), [], "events while it is gated")
    c.kubectl("patch", "pod", "p", "--type=json", "-p",
              json.dumps([{"op": "remove", "path": "/spec/schedulingGates"}]))
    lands(c, "p", "n0")


@test
def pods_of_higher_priority_go_first(c):
    """All are waiting when the scheduler starts, and three of them fit."""
    classes = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": {"name": f"p{i}"}, "value": i * 1000} for i in (1, 2, 3)]
    apply(c, *classes)
    apply(c, make_node("n0", cpu="3"),
          *[make_pod(f"{'abcdef'[i]}-p{1 + i % 3}", cpu="1", priority_class=f"p{1 + i % 3}",
                     scheduler_name="by-priority") for i in range(6)])
    p = subject.start(c, [profile("by-priority")], name="by-priority")
    for name in ("c-p3", "f-p3"):
        lands(c, name, "n0")
    wait_for(lambda: list(place_of(c, "b-p2", "e-p2").values()).count("n0") == 1, LATE,
             what="one of priority 2 has a node")
    for name in ("a-p1", "d-p1"):
        pends(c, name, nodes_left(1, "1 Insufficient cpu"))
    subject.stop(c, p)


# ---- NodeName, NodeUnschedulable -----------------------------------------------------------------

@test
def a_pod_made_for_a_node_is_left_there_and_takes_its_room(c):
    have(c, make_node("n0", cpu="2"), make_pod("mine", cpu="1500m", node_name="n0"),
         make_pod("lost", cpu="1500m", node_name="n1"))
    apply(c, make_pod("p", cpu="1"))
    pends(c, "p", nodes_left(1, "1 Insufficient cpu"))
    # A pod on a missing node counts when the node is added.
    apply(c, make_node("n1", cpu="2"))
    pends(c, "p", nodes_left(2, "2 Insufficient cpu"))
    equal((events_of(c, "mine"), events_of(c, "lost")), ([], []), "events of pods that have a node")
    delete_pod(c, "lost")
    lands(c, "p", "n1")


@test
def a_cordoned_node_takes_no_pods_until_it_is_uncordoned(c):
    have(c, make_node("n0"), make_node("n1"))
    c.kubectl("cordon", "n0", "n1")
    settle(c)
    apply(c, make_pod("p"), make_pod("daemon", tolerations=[
        {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}]))
    lands(c, "daemon", "n0", "n1")
    pends(c, "p", nodes_left(2, f"2 {CORDONED}"))
    c.kubectl("uncordon", "n1")
    lands(c, "p", "n1")


@test
def a_pod_comes_to_tolerate_that_nodes_are_cordoned(c):
    have(c, make_node("n0", unschedulable=True))
    apply(c, make_pod("p"))
    pends(c, "p", nodes_left(1, f"1 {CORDONED}"))
    apply(c, make_pod("p", tolerations=[{"key": "node.kubernetes.io/unschedulable",
                                         "operator": "Exists"}]))
    lands(c, "p", "n0")


# ---- TaintToleration -----------------------------------------------------------------------------

@test
def a_tainted_node_takes_only_pods_that_tolerate_the_taint(c):
    have(c, make_node("n0"), make_node("n1"), make_node("n2"))
    c.kubectl("taint", "node", "n0", "team=red:NoSchedule")
    c.kubectl("taint", "node", "n1", "team=blue:NoExecute")
    c.kubectl("taint", "node", "n2", "team=red:NoSchedule", "broken=:NoSchedule")
    settle(c)
    red = {"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"}
    apply(c, make_pod("p"), make_pod("red", tolerations=[red]),
          make_pod("late", tolerations=[{**red, "value": "green"}]),
          make_pod("any", tolerations=[{"key": "team", "operator": "Exists",
                                        "effect": "NoExecute"}]),
          make_pod("broken", tolerations=[{"key": "broken", "operator": "Exists"}, red]))
    lands(c, "red", "n0")
    lands(c, "any", "n1")
    lands(c, "broken", "n0", "n2")
    for name in ("p", "late"):
        pends(c, name, nodes_left(3, f"3 {TAINTED}"))
    contains(c.kubectl("describe", "pod", "p"), "FailedScheduling", nodes_left(3, f"3 {TAINTED}"))


@test
def a_pod_goes_when_the_taint_is_gone_or_when_it_tolerates_it(c):
    taint = [{"key": "team", "value": "red", "effect": "NoSchedule"}]
    have(c, make_node("n0", taints=taint), make_node("n1", taints=taint))
    apply(c, make_pod("p"), make_pod("q"))
    for name in ("p", "q"):
        pends(c, name, nodes_left(2, f"2 {TAINTED}"))
    apply(c, make_pod("q", tolerations=[{"key": "team", "operator": "Exists"}]))
    lands(c, "q", "n0", "n1")
    equal(place_of(c, "p"), {"p": None}, "node of the pod that tolerates nothing")
    c.kubectl("taint", "node", "n1", "team-")
    lands(c, "p", "n1")


@test
def nodes_with_fewer_taints_are_preferred(c):
    soft = [{"key": key, "value": "x", "effect": "PreferNoSchedule"} for key in ("a", "b")]
    have(c, make_node("n0", taints=soft), make_node("n1", taints=soft[:1]))
    apply(c, *[make_pod(f"p{i}", scheduler_name="taints") for i in range(3)])
    for i in range(3):
        lands(c, f"p{i}", "n1")
    # Both taints of n0 are tolerated, that of n1 is not.
    apply(c, make_node("n1", taints=[{"key": "c", "effect": "PreferNoSchedule"}]))
    settle(c)
    apply(c, make_pod("q", scheduler_name="taints", tolerations=[
        {"key": "a", "operator": "Equal", "value": "x"},
        {"key": "b", "operator": "Exists", "effect": "PreferNoSchedule"}]))
    lands(c, "q", "n0")


# ---- NodeAffinity --------------------------------------------------------------------------------

@test
def a_node_selector_waits_for_a_node_to_be_labelled(c):
    have(c, make_node("n0"), make_node("n1", labels={"disk": "slow"}))
    apply(c, make_pod("p", node_selector={"disk": "fast"}))
    pends(c, "p", nodes_left(2, f"2 {NO_AFFINITY}"))
    c.kubectl("label", "node", "n1", "disk=fast", "--overwrite")
    lands(c, "p", "n1")


@test
def required_affinity_knows_all_operators(c):
    have(c, make_node("n0", labels={"disk": "slow", "cores": "8"}),
         make_node("n1", labels={"disk": "fast", "cores": "16"}),
         make_node("n2", labels={"cores": "many"}))
    places = {"in": ("n1", [expression("disk", "In", "fast", "faster")]),
              "not-in": ("n2", [expression("disk", "NotIn", "slow", "fast")]),
              "exists": ("n0", [expression("disk", "Exists"), expression("disk", "NotIn", "fast")]),
              "exists-not": ("n2", [expression("disk", "DoesNotExist")]),
              "gt": ("n1", [expression("cores", "Gt", "8")]),
              "lt": ("n0", [expression("cores", "Lt", "9")])}
    apply(c, *[make_pod(name, affinity=required(term(*expressions)))
               for name, (_, expressions) in places.items()],
          make_pod("either", affinity=required(term(expression("disk", "In", "none")),
                                               term(expression("disk", "In", "fast")))),
          make_pod("both", affinity=required(term(expression("disk", "Exists"))),
                   node_selector={"disk": "slow"}),
          make_pod("neither", affinity=required(term(expression("cores", "Gt", "8"),
                                                     expression("disk", "In", "slow")))))
    for name, (node, _) in places.items():
        lands(c, name, node)
    lands(c, "either", "n1")
    lands(c, "both", "n0")
    pends(c, "neither", nodes_left(3, f"3 {NO_AFFINITY}"))


@test
def affinity_by_the_name_of_a_node_looks_at_no_other(c):
    have(c, make_node("n0"), make_node("n1"), make_node("n2", cpu="1"))
    apply(c, make_pod("here", affinity=required(on_node("n1"))),
          make_pod("either", affinity=required(on_node("n1"), on_node("gone"))),
          make_pod("big", cpu="2", affinity=required(on_node("n2"))),
          make_pod("later", affinity=required(on_node("n3"))),
          make_pod("conflict", affinity=required(term(fields=[
              expression("metadata.name", "In", "n0"), expression("metadata.name", "In", "n1")]))))
    lands(c, "here", "n1")
    lands(c, "either", "n1")
    pends(c, "big", nodes_left(3, "1 Insufficient cpu", f"2 {OUTSIDE}"))
    pends(c, "conflict", nodes_left(3, "pod affinity terms conflict"))
    pends(c, "later", nodes_left(3, f"3 {OUTSIDE}"))
    apply(c, make_node("n3"))
    lands(c, "later", "n3")


@test
def preferred_affinity_weighs_its_terms(c):
    have(c, make_node("n0", labels={"disk": "fast"}), make_node("n1", labels={"cpu": "new"}),
         make_node("n2", labels={"cpu": "new", "gpu": "old"}))
    fast, new = term(expression("disk", "In", "fast")), term(expression("cpu", "In", "new"))
    apply(c, make_pod("a", scheduler_name="affinity", affinity=preferred((2, fast), (1, new))),
          make_pod("b", scheduler_name="affinity", affinity=preferred(
              (2, fast), (2, new), (1, term(expression("gpu", "Exists"))))),
          make_pod("c", scheduler_name="affinity", affinity=preferred((1, on_node("n1")))))
    lands(c, "a", "n0")
    lands(c, "b", "n2")
    lands(c, "c", "n1")


@test
def affinity_can_be_added_to_all_pods_of_a_profile(c):
    have(c, make_node("n0"), make_node("n1", labels={"team": "red"}),
         make_node("n2", labels={"team": "red", "disk": "fast"}))
    apply(c, make_pod("p", scheduler_name="enforced"),
          make_pod("stronger", scheduler_name="enforced", affinity=preferred((100, on_node("n1")))),
          make_pod("elsewhere", scheduler_name="enforced", affinity=required(on_node("n0"))),
          make_pod("other-team", scheduler_name="enforced", node_selector={"team": "blue"}))
    lands(c, "p", "n2")
    lands(c, "stronger", "n1")
    pends(c, "elsewhere", nodes_left(3, f"1 {NOT_ENFORCED}", f"2 {OUTSIDE}"))
    pends(c, "other-team", nodes_left(3, f"1 {NOT_ENFORCED}", f"2 {NO_AFFINITY}"))


@test
def a_pod_waits_for_a_node_with_the_affinity_that_is_added(c):
    have(c, make_node("n0"))
    apply(c, make_pod("p", scheduler_name="enforced", node_selector={"disk": "fast"}),
          make_pod("plain", scheduler_name="enforced"))
    for name in ("p", "plain"):
        pends(c, name, nodes_left(1, f"1 {NOT_ENFORCED}"))
    c.kubectl("label", "node", "n0", "team=red", "disk=fast")
    lands(c, "p", "n0")
    # Upstream checks whether the node now matches the pod's own node affinity, and this pod has
    # none: only new nodes help it.
    settle(c)
    equal(place_of(c, "plain"), {"plain": None}, "node of the pod without affinity of its own")
    apply(c, make_node("n1", labels={"team": "red"}))
    lands(c, "plain", "n0", "n1")


# ---- NodePorts -----------------------------------------------------------------------------------

def port(number, protocol="TCP", ip=None):
    return {"containerPort": number, "hostPort": number, "protocol": protocol,
            **({"hostIP": ip} if ip else {})}


@test
def a_host_port_is_given_once(c):
    have(c, make_node("n0"), make_pod("first", node_name="n0", ports=[port(80), port(81)]),
         make_pod("local", node_name="n0", ports=[port(90, ip="127.0.0.1")]))
    apply(c, make_pod("same", ports=[port(79), port(80)]), make_pod("udp", ports=[port(80, "UDP")]),
          make_pod("other", ports=[port(82)]),
          make_pod("one-address", ports=[port(81, ip="10.0.0.1")]),
          make_pod("every-address", ports=[port(90)]),
          make_pod("other-address", ports=[port(90, ip="10.0.0.1")]))
    for name in ("udp", "other", "other-address"):
        lands(c, name, "n0")
    for name in ("same", "one-address", "every-address"):
        pends(c, name, nodes_left(1, f"1 {NO_PORT}"))
    delete_pod(c, "first")
    lands(c, "same", "n0")
    lands(c, "one-address", "n0")
    equal(place_of(c, "every-address"), {"every-address": None}, "node: that port is still taken")
    apply(c, make_node("n1"))
    lands(c, "every-address", "n1")


@test
def a_sidecar_takes_its_host_port(c):
    def sidecar(name, **more):
        return make_pod(name, spec={"initContainers": [{
            "name": "side", "image": "registry.test/side", "ports": [port(80)], **more}]})
    have(c, make_node("n0"), {**sidecar("first", restartPolicy="Always"), "spec": {
        **sidecar("first", restartPolicy="Always")["spec"], "nodeName": "n0"}})
    apply(c, make_pod("p", ports=[port(80)]), sidecar("init"),
          sidecar("side", restartPolicy="Always"))
    lands(c, "init", "n0")
    for name in ("p", "side"):
        pends(c, name, nodes_left(1, f"1 {NO_PORT}"))


# ---- NodeDeclaredFeatures ------------------------------------------------------------------------

@test
def a_pod_waits_for_a_node_that_declares_what_it_needs(c):
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    pod = make_pod("p", spec={"restartPolicy": "Never"})
    pod["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[rule])
    have(c, make_node("n0"), make_node("n1"))
    patch_status(c, "n0", declaredFeatures=["Other"])
    settle(c)
    apply(c, pod)
    pends(c, "p", nodes_left(2, f"2 {NO_FEATURE}"))
    patch_status(c, "n1", declaredFeatures=["Other", "RestartAllContainersOnContainerExits"])
    lands(c, "p", "n1")


if __name__ == "__main__":
    main(fixture=subject.cluster(PROFILES), after=after)
