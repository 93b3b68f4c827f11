#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Why a pod has no node, with kube-scheduler's messages.

Every kind of pod is created once for berth and once for the real kube-scheduler, and their
conditions and events must be equal byte for byte. The expected messages are written down as well,
so that each case keeps its purpose.
"""

import json

import berth
import side_by_side
from berth import check, condition_of, events_of, make_node, make_pod, visible, wait_for
from reasons import (CORDONED, NO_AFFINITY, NO_FEATURE, NO_LABEL, NO_PORT, NOT_ENFORCED, NOT_NEAR,
                     OUTSIDE, REPELLED, REPELLED_BY_OTHERS, TAINTED, UNEVEN, before_preemption,
                     nodes_left)
from side_by_side import BOTH, after, have, make_twice
from subject import LATE, profile
from tap import equal, main, note, test

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GPU = "example.com/gpu"

ENFORCED = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "team", "operator": "Exists"}]}]}}}
OBJECTS = [
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "patient"},
     "value": 1000, "preemptionPolicy": "Never"},
    {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "heavy"},
     "handler": "heavy", "overhead": {"podFixed": {"cpu": "3"}}},
    {"apiVersion": "v1", "kind": "Namespace",
     "metadata": {"name": "red", "labels": {"team": "red"}}},
]


def profiles(who):
    return [profile(who), profile(f"{who}-enforced", NodeAffinity=ENFORCED)]


# ---- comparing -----------------------------------------------------------------------------------

def told(c, who, name):
    """The visible results of a pod, without the names of the scheduler and the pod. For a pod that
    is retried without an event, only the first attempt counts."""
    seen = visible(c, f"{who}-{name}")
    for event in seen["events"]:
        event.pop("in series")
    seen["events"] = seen["events"][:1]
    text = json.dumps(seen)
    for field in ("reportingController", "reportingInstance"):
        text = text.replace(f'"{field}": "{who}', f'"{field}": "scheduler')
    return json.loads(text.replace(f'"{who}-{name}"', '"pod"'))


def is_told(c, name):
    return (condition_of(c, name) or {}).get("status") == "False" and events_of(c, name)


def shown(want):
    """A note holds 1024 bytes."""
    return want if len(want.encode()) <= 1024 else want.encode()[:1020].decode() + " ..."


def compare(c, kinds, reason="Unschedulable"):
    """Creates all pods at once, and reports every kind whose messages differ or are unexpected."""
    make_twice(c, {name: made for name, (made, _) in kinds.items()})
    trouble = []
    for name, (_, want) in kinds.items():
        for who in BOTH:
            wait_for(lambda: is_told(c, f"{who}-{name}"), LATE,
                     what=f"{who} reports why {name} has no node")
        ours, theirs = told(c, "berth", name), told(c, "kube", name)
        if ours != theirs:
            trouble.append(f"{name}\n  berth {ours}\n  kube  {theirs}")
            continue
        message = theirs["condition"]["message"]
        if (before_preemption(message), theirs["condition"]["reason"],
                theirs["events"][0]["note"]) != (want, reason, shown(message)):
            trouble.append(f"{name}\n  both  {theirs}\n  want  {want}")
    note(f"{len(kinds)} kinds")
    check(not trouble, "\n".join(trouble))


def pod(**more):
    return make_pod("p", **{"cpu": "100m", "memory": "100Mi", **more})


def either(*terms):
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": list(terms)}}}


def term(*expressions, fields=()):
    def parts(each):
        return [{"key": k, "operator": op, **({"values": v} if v else {})} for k, op, *v in each]
    return {**({"matchExpressions": parts(expressions)} if expressions else {}),
            **({"matchFields": parts(fields)} if fields else {})}


# ---- cases ---------------------------------------------------------------------------------------

@test
def without_nodes(c):
    nothing = "no nodes available to schedule pods"
    compare(c, {"plain": (pod(), nothing),
                "selective": (pod(affinity=either(term(("disk", "Exists")))), nothing)})


@test
def resources_that_are_short(c):
    have(c, *[make_node(f"n{i}", cpu="4", memory="8Gi", extended={GPU: 1}) for i in range(3)],
         make_pod("used", cpu="3", memory="5Gi", node_name="n0"))

    def short(*resources):
        return nodes_left(3, *[f"3 Insufficient {r}" for r in resources])

    def container(**resources):
        return {"name": "other", "image": "registry.test/x", "resources": {"requests": resources}}

    many = {f"example.com/a-resource-with-quite-a-long-name-{i:02}": 1 for i in range(24)}
    compare(c, {
        "cpu": (pod(cpu="5"), short("cpu")),
        "cpu-of-some": (pod(cpu="4500m"), short("cpu")),
        "memory": (pod(memory="9Gi"), short("memory")),
        "both": (pod(cpu="5", memory="9Gi"), short("cpu", "memory")),
        "storage": (pod(spec={"containers": [container(**{"ephemeral-storage": "200Gi"})]}),
                    short("ephemeral-storage")),
        "extended-missing": (pod(extended={"example.com/none": 1}), short("example.com/none")),
        "extended-more": (pod(extended={GPU: 2}), short(GPU)),
        "extended-all": (pod(cpu="5", memory="9Gi", extended={GPU: 2, "example.com/a": 1}),
                         short("cpu", "example.com/a", GPU, "memory")),
        "hugepages": (pod(extended={"hugepages-2Mi": "4Mi"}), short("hugepages-2Mi")),
        "huge-memory": (pod(memory="9223372036854775807"), short("memory")),
        "two-containers": (pod(cpu="3", spec={"containers": [
            container(cpu="3"), {**container(cpu="3"), "name": "third"}]}), short("cpu")),
        "init-container": (pod(spec={"initContainers": [container(cpu="6")]}), short("cpu")),
        "sidecar": (pod(cpu="3", spec={"initContainers": [
            {**container(cpu="3"), "restartPolicy": "Always"}]}), short("cpu")),
        "overhead": (pod(cpu="2", spec={"runtimeClassName": "heavy"}), short("cpu")),
        "pod-level": (pod(spec={"resources": {"requests": {"cpu": "5"}}}), short("cpu")),
        "patient": (pod(cpu="5", priority_class="patient"), short("cpu")),
        # The note of the event is truncated, the message of the condition is not.
        "very-many": (pod(extended=many), short(*sorted(many))),
    })


@test
def resources_of_odd_nodes(c):
    """Each node has another reason: this tests the order of the texts."""
    bare = make_node("n6")
    bare["status"]["allocatable"] = bare["status"]["capacity"] = {}
    have(c, make_node("n0", cpu="1"), make_node("n1", memory="1Gi"), make_node("n2", pods=1), bare,
         make_node("n3", cpu="1", memory="1Gi", pods=1), make_node("n4", extended={GPU: 4}),
         make_node("n5", cpu="0"),
         *[make_pod(f"used-{n}", node_name=n, cpu=None, memory=None) for n in ("n2", "n3")],
         make_pod("gpus", node_name="n4", extended={GPU: 3}))
    compare(c, {
        "nothing": (pod(cpu=None, memory=None, extended={GPU: 2}), nodes_left(
            7, "3 Too many pods", f"7 Insufficient {GPU}")),
        "large": (pod(cpu="2", memory="2Gi", extended={GPU: 2}), nodes_left(
            7, "3 Insufficient memory", "3 Too many pods", "4 Insufficient cpu",
            f"7 Insufficient {GPU}")),
    })


@test
def nodes_that_are_kept_free(c):
    def taint(effect, value="red"):
        return [{"key": "team", "value": value, "effect": effect}]
    have(c, make_node("n0", unschedulable=True), make_node("n1", taints=taint("NoSchedule")),
         make_node("n2", taints=taint("NoExecute")),
         make_node("n3", taints=taint("NoSchedule"), unschedulable=True),
         make_node("n4", taints=taint("PreferNoSchedule"), cpu="1"),
         make_node("n5", taints=taint("NoSchedule", "blue") + taint("NoExecute"), pods=0))
    large, mixed = {"cpu": "2"}, ("1 Insufficient cpu", f"2 {CORDONED}", f"3 {TAINTED}")
    compare(c, {
        "plain": (pod(**large), nodes_left(6, *mixed)),
        "wrong-value": (pod(**large, tolerations=[
            {"key": "team", "value": "green", "effect": "NoSchedule"}]), nodes_left(6, *mixed)),
        "wrong-effect": (pod(cpu="20", tolerations=[
            {"key": "team", "operator": "Exists", "effect": "NoExecute"}]), nodes_left(
                6, "2 Insufficient cpu", f"2 {CORDONED}", f"2 {TAINTED}")),
        "cordon-tolerated": (pod(cpu="20", tolerations=[
            {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]), nodes_left(
                6, "2 Insufficient cpu", f"4 {TAINTED}")),
        "all-tolerated": (pod(cpu="20", tolerations=[{"operator": "Exists"}]), nodes_left(
            6, "1 Too many pods", "6 Insufficient cpu")),
    })


@test
def nodes_that_are_not_wanted(c):
    have(c, make_node("n0"), make_node("n1", labels={"disk": "slow", "team": "red"}),
         make_node("n2", labels={"disk": "fast", "cores": "8"}, unschedulable=True))

    def on(*names):
        return term(fields=[("metadata.name", "In", name) for name in names])

    large = {"cpu": "20"}
    cordoned_or_short = ("1 Insufficient cpu", f"1 {CORDONED}")
    some = nodes_left(3, f"1 {CORDONED}", f"2 {NO_AFFINITY}")
    compare(c, {
        "selector": (pod(node_selector={"disk": "fast"}), some),
        "selector-of-none": (pod(node_selector={"disk": "none"}), some),
        "required": (pod(affinity=either(term(("disk", "In", "fast")))), some),
        "not-an-integer": (pod(affinity=either(term(("cores", "Gt", "many")))), some),
        "empty-term": (pod(affinity=either({})), some),
        "by-name": (pod(affinity=either(on("n2"))), nodes_left(3, f"1 {CORDONED}", f"2 {OUTSIDE}")),
        "by-name-and-label": (
            pod(affinity=either(term(("disk", "Exists"), fields=[("metadata.name", "In", "n0")]))),
            nodes_left(3, f"1 {NO_AFFINITY}", f"2 {OUTSIDE}")),
        "by-name-too-large": (pod(**large, affinity=either(on("n1"))), nodes_left(
            3, "1 Insufficient cpu", f"2 {OUTSIDE}")),
        "by-a-name-nobody-has": (pod(affinity=either(on("n9"))), nodes_left(3, f"3 {OUTSIDE}")),
        "by-two-names": (pod(affinity=either(on("n0", "n1"))), nodes_left(
            3, "pod affinity terms conflict")),
        "by-either-name": (pod(**large, affinity=either(on("n0"), on("n2"))), nodes_left(
            3, *cordoned_or_short, f"1 {OUTSIDE}")),
        "by-name-or-label": (
            pod(**large, affinity=either(on("n0"), term(("disk", "In", "x")))), nodes_left(
                3, *cordoned_or_short, f"1 {NO_AFFINITY}")),
        "not-by-name": (
            pod(**large, affinity=either(term(fields=[("metadata.name", "NotIn", "n0")]))),
            nodes_left(3, *cordoned_or_short, f"1 {NO_AFFINITY}")),
        "enforced": (pod(**large, scheduler_name="enforced"), nodes_left(
            3, *cordoned_or_short, f"1 {NOT_ENFORCED}")),
        "enforced-and-own": (
            pod(scheduler_name="enforced", node_selector={"disk": "fast"}), nodes_left(
                3, f"1 {CORDONED}", f"1 {NO_AFFINITY}", f"1 {NOT_ENFORCED}")),
    })


@test
def errors_are_told_as_errors(c):
    """All filters pass, but no node can be chosen."""
    have(c, make_node("n0", cpu="4"), make_node("n1", cpu="4"))
    preference = {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["many"]}]}
    compare(c, {
        "preference-that-cannot-be-read": (
            pod(affinity={"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": preference}]}}),
            'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid '
            'value: "many": for \'Gt\', \'Lt\' operators, the value must be an integer'),
        # In thousandths this is -1000 in 64 bits.
        "cpu-that-overflows": (
            pod(cpu="9223372036854775807"),
            'applying score defaultWeights on Score plugins: plugin "NodeResourcesFit" returns an '
            'invalid score 112, it should in the range of [0, 100] after normalizing'),
    }, reason="SchedulerError")


@test
def ports_that_are_taken(c):
    def port(number, protocol="TCP", ip=None):
        return {"containerPort": number, "hostPort": number, "protocol": protocol,
                **({"hostIP": ip} if ip else {})}
    have(c, make_node("n0"), make_node("n1", pods=1), make_node("n2", cpu="1"),
         make_pod("a", node_name="n0", ports=[port(80), port(53, "UDP"), port(90, ip="127.0.0.1")]),
         make_pod("b", node_name="n1", ports=[port(80)]))
    taken, more = f"1 {NO_PORT}", "1 Too many pods"
    compare(c, {
        "tcp": (pod(cpu="2", ports=[port(80)]), nodes_left(
            3, "1 Insufficient cpu", f"2 {NO_PORT}")),
        "udp": (pod(cpu="2", ports=[port(79), port(53, "UDP")]), nodes_left(
            3, "1 Insufficient cpu", more, taken)),
        "one-address": (pod(cpu="2", ports=[port(53, "UDP", "10.0.0.1")]), nodes_left(
            3, "1 Insufficient cpu", more, taken)),
        "every-address": (pod(cpu="2", ports=[port(90)]), nodes_left(
            3, "1 Insufficient cpu", more, taken)),
    })


@test
def pods_that_would_not_be_spread(c):
    """Zone a has 2 and 1, zone b has 1, zone c has none but is cordoned; n4 is in no zone."""
    have(c, make_node("n0", zone="a"), make_node("n1", zone="a"), make_node("n2", zone="b"),
         make_node("n3", zone="c", unschedulable=True), make_node("n4"),
         *[make_pod(f"web-{i}", labels={"app": "web", "rev": "1"}, node_name=n)
           for i, n in enumerate(("n0", "n0", "n1", "n2"))])

    def spread(*constraints, **more):
        return pod(**{"labels": {"app": "web"}, **more}, spread=list(constraints))

    def evenly(key=ZONE, skew=1, **more):
        return {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}}, **more}

    compare(c, {
        "zone": (spread(evenly()), nodes_left(
            5, f"1 {NO_LABEL}", f"1 {CORDONED}", f"3 {UNEVEN}")),
        "host": (
            spread(evenly(HOST, nodeAffinityPolicy="Ignore"), node_selector={ZONE: "a"}),
            nodes_left(5, f"1 {CORDONED}", f"2 {NO_AFFINITY}", f"2 {UNEVEN}")),
        "zone-and-host": (spread(evenly(skew=2), evenly(HOST)), nodes_left(
            5, f"1 {NO_LABEL}", f"1 {CORDONED}", f"3 {UNEVEN}")),
        "too-large": (spread(evenly(skew=2), cpu="20"), nodes_left(
            5, f"1 {CORDONED}", "4 Insufficient cpu")),
        "label-nobody-has": (spread(evenly("rack")), nodes_left(
            5, f"1 {CORDONED}", f"4 {NO_LABEL}")),
        "min-domains": (spread(evenly(minDomains=2), node_selector={ZONE: "b"}), nodes_left(
            5, f"1 {CORDONED}", f"1 {UNEVEN}", f"3 {NO_AFFINITY}")),
        "revision": (spread(evenly(matchLabelKeys=["rev"]), labels={"app": "web", "rev": "1"}),
                     nodes_left(5, f"1 {NO_LABEL}", f"1 {CORDONED}", f"3 {UNEVEN}")),
    })


@test
def pods_that_would_be_near_or_far(c):
    def other(app, key=ZONE, **more):
        return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}

    def near(*terms):
        return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}

    def far(*terms):
        return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}

    have(c, make_node("n0", zone="a"), make_node("n1", zone="a"), make_node("n2", zone="b"),
         make_node("n3"),
         make_pod("web", node_name="n0", labels={"app": "web"}),
         make_pod("db", node_name="n2", labels={"app": "db"}),
         make_pod("shy", node_name="n2", labels={"app": "shy"}, affinity=far(other("loud"))),
         make_pod("shy-too", node_name="n3", affinity=far(other("loud", HOST))))
    red = {"matchLabels": {"team": "red"}}
    compare(c, {
        "near-nobody": (pod(affinity=near(other("none"))), nodes_left(4, f"4 {NOT_NEAR}")),
        "near-both": (pod(affinity=near(other("web"), other("db"))), nodes_left(
            4, f"4 {NOT_NEAR}")),
        "near-by-no-label": (pod(affinity=near(other("web", "rack"))), nodes_left(
            4, f"4 {NOT_NEAR}")),
        "near-itself-by-no-label": (pod(labels={"app": "me"}, affinity=near(other("me", "rack"))),
                                    nodes_left(4, f"4 {NOT_NEAR}")),
        "near-elsewhere": (pod(affinity=near(other("web", namespaceSelector=red))),
                           nodes_left(4, f"4 {NOT_NEAR}")),
        "near-too-large": (pod(cpu="20", affinity=near(other("web"))), nodes_left(
            4, "4 Insufficient cpu")),
        "near-and-full": (pod(cpu="7950m", affinity=near(other("web", HOST))), nodes_left(
            4, f"1 {NOT_NEAR}", "3 Insufficient cpu")),
        "far": (pod(affinity=far(other("web"), other("db"), other("shy")),
                    node_selector={ZONE: "a"}), nodes_left(4, f"2 {NO_AFFINITY}", f"2 {REPELLED}")),
        "near-and-far": (pod(affinity={**near(other("db")), **far(other("db", HOST))}), nodes_left(
            4, f"1 {REPELLED}", f"3 {NOT_NEAR}")),
        "unwelcome": (pod(labels={"app": "loud"}, affinity=far(other("web"))), nodes_left(
            4, f"2 {REPELLED}", f"2 {REPELLED_BY_OTHERS}")),
        "far-from-all": (pod(labels={"app": "loud"}, affinity=far(
            {"topologyKey": HOST, "labelSelector": {}}), node_selector={HOST: "n2"}),
            nodes_left(4, f"1 {REPELLED}", f"3 {NO_AFFINITY}")),
    })


@test
def features_that_are_missing_and_many_nodes(c):
    """Counts are sorted as text: 10 before 2."""
    rule = {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}
    needy = pod(spec={"restartPolicy": "Never"})
    needy["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[rule])
    have(c, *[make_node(f"n{i:02}") for i in range(10)],
         *[make_node(f"tainted-{i}", taints=[{"key": "x", "effect": "NoSchedule"}])
           for i in range(2)],
         *[make_node(f"small-{i}", cpu="10m") for i in range(3)])
    compare(c, {
        "features": (needy, nodes_left(
            15, f"10 {NO_FEATURE}", f"2 {TAINTED}", "3 Insufficient cpu")),
    })


@test
def gated_pods(c):
    have(c, make_node("n0"))
    make_twice(c, {"gated": pod(gates=["example.com/a"]), "large": pod(cpu="20")})
    for who in BOTH:
        berth.wait_unschedulable(c, f"{who}-large", LATE)
    equal(told(c, "berth", "gated"), told(c, "kube", "gated"), "messages of gated pods")
    equal(told(c, "berth", "gated")["events"], [], "events of gated pods")


if __name__ == "__main__":
    main(fixture=side_by_side.cluster(profiles, OBJECTS), after=after)
