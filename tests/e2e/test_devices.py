#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dynamic resource allocation on a real API server: berth and kube-scheduler have the same outcome.

Every scene is played for both; see controlled.py. There are no drivers: the tests create the slices
that drivers publish.
"""

import controlled
from berth import PODS, events_of, make_node
from cluster import wait_for
from controlled import DEVICE_CLAIMS, DRA, scene
from subject import LATE
from tap import equal, main

DRIVER = "gpu.berth.test"
TEMPLATES = DRA + "/namespaces/default/resourceclaimtemplates"


# ---- objects -------------------------------------------------------------------------------------

def device(name, **more):
    return {"name": name, **more}


def gpu(name, model="a100", memory="40Gi", **more):
    return device(name, attributes={"model": {"string": model}, "type": {"string": "gpu"}},
                  capacity={"memory": {"value": memory}}, **more)


def add_slice(s, node, *devices, name=None, pool=None, slices=1, **more):
    """The slice of a node's pool; node None: reachable from all nodes."""
    where = {"nodeName": node} if node else {"allNodes": True}
    spec = {"driver": DRIVER, **where, **more,
            "pool": {"name": pool or node or "net", "generation": 1, "resourceSliceCount": slices}}
    if devices:
        spec["devices"] = list(devices)
    s.c.create(DRA + "/resourceslices",
               {"metadata": {"name": name or f"{node or 'net'}-{DRIVER}"}, "spec": spec})


def add_class(s, name="gpu", expression=None, **more):
    expression = expression or f"device.driver == '{DRIVER}'"
    s.c.create(DRA + "/deviceclasses", {"metadata": {"name": name}, "spec": {
        "selectors": [{"cel": {"expression": expression}}], **more}})


def request(name="r", expression=None, **more):
    exactly = {"deviceClassName": "gpu", **more}
    if expression:
        exactly["selectors"] = [{"cel": {"expression": expression}}]
    return {"name": name, "exactly": exactly}


def add_claim(s, name, *requests, **more):
    s.c.create(DEVICE_CLAIMS, {"metadata": {"name": s.name(name)}, "spec": {"devices": {
        "requests": list(requests) or [request()], **more}}})


def add_template(s, name, *requests, **more):
    s.c.create(TEMPLATES, {"metadata": {"name": name}, "spec": {"spec": {"devices": {
        "requests": list(requests) or [request()], **more}}}})


# ---- what can be seen ----------------------------------------------------------------------------

def claim_of(s, pod, entry="gpu"):
    """The claim that was made from a template for this pod."""
    statuses = s.c.pod(s.name(pod))["status"].get("resourceClaimStatuses", [])
    name = next(x["resourceClaimName"] for x in statuses if x["name"] == entry)
    return s.c.get(f"{DEVICE_CLAIMS}/{name}")


def devices_of(claim):
    """What was allocated: (pool, device) in order, and where it can be used."""
    allocation = claim["status"].get("allocation")
    if not allocation:
        return None
    return ([(r["request"], r["pool"], r["device"]) for r in allocation["devices"]["results"]],
            allocation.get("nodeSelector"))


def users_of(claim):
    return sorted(r["name"] for r in claim["status"].get("reservedFor", []))


def check_none_twice(s):
    """No device is allocated twice."""
    taken = [(r["pool"], r["device"]) for claim in s.c.get(DEVICE_CLAIMS)["items"]
             for r in claim.get("status", {}).get("allocation", {}).get("devices", {})
             .get("results", [])]
    equal(len(taken), len(set(taken)), "devices that are allocated once")
    return taken


# ---- claims --------------------------------------------------------------------------------------

@scene
def pods_of_a_template_get_a_device_each(s):
    """50 nodes with two devices each, 100 pods; the next one waits."""
    add_class(s)
    add_template(s, "gpu")
    for i in range(50):
        add_slice(s, f"n{i:02}", gpu("gpu-0"), gpu("gpu-1"))
    s.nodes(*[make_node(f"n{i:02}") for i in range(50)])
    for i in range(100):
        s.pod(f"p{i}", devices=[("gpu", "gpu")])
    nodes = [s.lands(f"p{i}") for i in range(100)]
    for i in range(100):
        claim = claim_of(s, f"p{i}")
        equal([pool for _, pool, _ in devices_of(claim)[0]], [nodes[i]], f"pool of p{i}")
        equal(users_of(claim), [s.name(f"p{i}")], f"user of the claim of p{i}")
    check_none_twice(s)
    s.pod("late", devices=[("gpu", "gpu")])
    message = s.waits("late")
    s.delete_pod("p7")
    return sorted(nodes), message, s.lands("late") == nodes[7]


@scene
def a_claim_is_shared_by_two_pods(s):
    add_class(s)
    add_claim(s, "shared")
    add_slice(s, "n1", gpu("gpu-0"))
    s.nodes(make_node("n0"), make_node("n1"))
    s.pod("a", devices=["shared"])
    s.pod("b", devices=["shared"])
    nodes = [s.lands("a"), s.lands("b")]

    def both():
        claim = s.c.get(f"{DEVICE_CLAIMS}/{s.name('shared')}")
        return len(users_of(claim)) == 2 and claim
    claim = wait_for(both, LATE, what="the claim is reserved for both pods")
    return nodes, devices_of(claim), users_of(claim)


@scene
def a_pod_waits_for_a_slice(s):
    add_class(s)
    add_claim(s, "gpu")
    s.nodes(make_node("n0"), make_node("n1"))
    s.pod("p", devices=["gpu"])
    message = s.waits("p")
    add_slice(s, "n1", gpu("gpu-0"))
    return message, s.lands("p"), devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('gpu')}"))


@scene
def a_missing_claim_is_waited_for(s):
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0"))
    s.nodes(make_node("n0"))
    s.pod("p", devices=["gpu"])
    condition = s.is_not_tried("p")
    add_claim(s, "gpu")
    return condition, s.lands("p")


@scene
def a_missing_template_is_waited_for(s):
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0"))
    s.nodes(make_node("n0"))
    s.pod("p", devices=[("gpu", "later")])
    condition = s.is_not_tried("p")
    add_template(s, "later")
    return condition, s.lands("p")


@scene
def a_missing_class_is_reported_and_waited_for(s):
    add_slice(s, "n0", gpu("gpu-0"))
    s.nodes(make_node("n0"))
    add_claim(s, "gpu")
    s.pod("p", devices=["gpu"])
    message = s.waits("p")
    add_class(s)
    return message, s.lands("p")


@scene
def a_claim_that_is_being_deleted_is_not_used(s):
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0"))
    s.nodes(make_node("n0"))
    add_claim(s, "gpu")
    s.c.patch(f"{DEVICE_CLAIMS}/{s.name('gpu')}",
              {"metadata": {"finalizers": ["berth.test/keep"]}})
    s.c.delete(f"{DEVICE_CLAIMS}/{s.name('gpu')}")
    s.pod("p", devices=["gpu"])
    return s.is_not_tried("p")


@scene
def a_claim_is_released_when_its_pod_is_gone(s):
    add_class(s)
    add_claim(s, "gpu")
    add_slice(s, "n0", gpu("gpu-0"))
    s.nodes(make_node("n0"))
    s.pod("a", devices=["gpu"])
    s.lands("a")
    add_claim(s, "other")
    s.pod("b", devices=["other"])
    message = s.waits("b")
    s.delete_pod("a")
    return message, s.lands("b")


# ---- selection -----------------------------------------------------------------------------------

@scene
def selectors_choose_devices(s):
    add_class(s, expression=f"device.driver == '{DRIVER}' && "
                            f"device.attributes['{DRIVER}'].type == 'gpu'")
    add_slice(s, "n0", gpu("gpu-0", memory="20Gi"), gpu("gpu-1", model="h100", memory="80Gi"),
              gpu("gpu-2", memory="80Gi"))
    add_claim(s, "gpu", request(
        expression=f"device.attributes['{DRIVER}'].model == 'a100' && "
                   f"device.capacity['{DRIVER}'].memory.isGreaterThan(quantity('40Gi'))"))
    s.nodes(make_node("n0"))
    s.pod("p", devices=["gpu"])
    return s.lands("p"), devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('gpu')}"))


@scene
def a_selector_that_fails_is_reported(s):
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0"))
    add_claim(s, "gpu", request(expression=f"device.attributes['{DRIVER}'].nothing == 'x'"))
    s.nodes(make_node("n0"))
    s.pod("p", devices=["gpu"])
    return s.waits("p")


@scene
def devices_match_an_attribute(s):
    def nic(name, root):
        return device(name, attributes={"root": {"string": root}})
    add_class(s)
    add_slice(s, "n0", *[nic(f"d{i}", f"r{i % 3}") for i in range(4)])
    add_claim(s, "pair", request("a"), request("b"),
              constraints=[{"requests": ["a", "b"], "matchAttribute": f"{DRIVER}/root"}])
    s.nodes(make_node("n0"))
    s.pod("p", devices=["pair"])
    return s.lands("p"), devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('pair')}"))


@scene
def the_first_alternative_that_fits_is_taken(s):
    add_class(s)
    add_slice(s, "n0", gpu("small", memory="10Gi"), gpu("small2", memory="10Gi"))
    big = {"name": "big", "deviceClassName": "gpu", "selectors": [{"cel": {"expression":
           f"device.capacity['{DRIVER}'].memory.isGreaterThan(quantity('40Gi'))"}}]}
    two = {"name": "two", "deviceClassName": "gpu", "count": 2}
    add_claim(s, "gpu", {"name": "r", "firstAvailable": [big, two]})
    s.nodes(make_node("n0"))
    s.pod("p", devices=["gpu"])
    return s.lands("p"), devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('gpu')}"))


@scene
def a_network_device_is_used_from_any_node(s):
    add_class(s)
    add_slice(s, None, gpu("net-0"))
    add_claim(s, "gpu")
    s.nodes(make_node("n0"))
    s.pod("p", devices=["gpu"])
    return s.lands("p"), devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('gpu')}"))


@scene
def tainted_devices_are_tolerated_or_avoided(s):
    add_class(s)
    taint = [{"key": "berth.test/broken", "value": "yes", "effect": "NoSchedule"}]
    add_slice(s, "n0", gpu("gpu-0", taints=taint))
    add_claim(s, "gpu")
    s.nodes(make_node("n0"))
    s.pod("p", devices=["gpu"])
    message = s.waits("p")
    add_claim(s, "brave", request(tolerations=[{"key": "berth.test/broken", "operator": "Exists"}]))
    s.pod("q", devices=["brave"])
    return message, s.lands("q"), devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('brave')}"))


@scene
def partitions_share_the_counters_of_their_device(s):
    """A card of 40 GiB: as a whole, or as partitions of 10 and 20 GiB."""
    def part(name, memory):
        return gpu(name, memory=memory, consumesCounters=[
            {"counterSet": "card", "counters": {"memory": {"value": memory}}}])
    add_class(s)
    add_slice(s, "n0", name="n0-counters", slices=2, sharedCounters=[
        {"name": "card", "counters": {"memory": {"value": "40Gi"}}}])
    add_slice(s, "n0", part("whole", "40Gi"), part("half-0", "20Gi"), part("half-1", "20Gi"),
              part("quarter-0", "10Gi"), part("quarter-1", "10Gi"), name="n0-devices", slices=2)
    s.nodes(make_node("n0"))
    got = []
    for i, memory in enumerate(("20Gi", "10Gi", "10Gi")):
        add_claim(s, f"c{i}", request(
            expression=f"device.capacity['{DRIVER}'].memory.compareTo(quantity('{memory}')) == 0"))
        s.pod(f"p{i}", devices=[f"c{i}"])
        s.lands(f"p{i}")
        got.append(devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name(f'c{i}')}")))
    add_claim(s, "c3")
    s.pod("p3", devices=["c3"])
    message = s.waits("p3")
    for i in range(3):
        s.delete_pod(f"p{i}")
    return got, message, s.lands("p3")


@scene
def an_extended_resource_is_backed_by_devices(s):
    add_class(s, extendedResourceName="berth.test/gpu")
    add_slice(s, "n1", gpu("gpu-0"))
    s.nodes(make_node("n0"), make_node("n1"))
    s.pod("p", extended={"berth.test/gpu": 1})
    node = s.lands("p")
    status = wait_for(lambda: s.c.pod(s.name("p"))["status"].get("extendedResourceClaimStatus"),
                      LATE, what="the pod's status names the claim")
    claim = s.c.get(f"{DEVICE_CLAIMS}/{status['resourceClaimName']}")
    s.pod("q", extended={"berth.test/gpu": 1})
    return node, devices_of(claim), status["requestMappings"], s.waits("q")


@scene
def claims_share_the_capacity_of_a_device(s):
    def part(memory):
        return request(capacity={"requests": {"memory": memory}})
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0", memory="10Gi", allowMultipleAllocations=True))
    s.nodes(make_node("n0"))
    got = []
    for name, memory in (("a", "6Gi"), ("b", "5Gi"), ("c", "4Gi")):
        add_claim(s, name, part(memory))
        s.pod(name, devices=[name])
        got.append(s.waits(name) if name == "b" else s.lands(name))
    for name in ("a", "c"):
        claim = s.c.get(f"{DEVICE_CLAIMS}/{s.name(name)}")
        got.append(claim["status"]["allocation"]["devices"]["results"][0]["consumedCapacity"])
    s.delete_pod("a")
    return got, s.lands("b")


def set_condition(s, name, kind):
    """What a driver reports about the device of a claim."""
    s.c.patch(f"{DEVICE_CLAIMS}/{s.name(name)}/status", {"status": {"devices": [
        {"driver": DRIVER, "pool": "n0", "device": "gpu-0", "conditions": [
            {"type": kind, "status": "True", "reason": "Told", "message": "",
             "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}})


def wait_allocated(s, name):
    def allocated():
        return devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name(name)}"))
    return wait_for(allocated, LATE, what=f"{s.name(name)} is allocated")


@scene
def a_pod_is_bound_when_its_device_is_ready(s):
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0", bindingConditions=["berth.test/ready"],
                           bindingFailureConditions=["berth.test/failed"]))
    s.nodes(make_node("n0"))
    add_claim(s, "gpu")
    s.pod("p", devices=["gpu"])
    wait_allocated(s, "gpu")
    events = wait_for(lambda: events_of(s.c, s.name("p")), LATE, what="the wait is reported")
    told = [(e["type"], e["reason"], e["action"], e["note"]) for e in events]
    equal(s.c.pod(s.name("p"))["spec"].get("nodeName"), None, "node before the device is ready")
    set_condition(s, "gpu", "berth.test/ready")
    return told, s.lands("p")


@scene
def a_device_that_fails_is_given_back(s):
    add_class(s)
    add_slice(s, "n0", gpu("gpu-0", bindingConditions=["berth.test/ready"],
                           bindingFailureConditions=["berth.test/failed"]))
    s.nodes(make_node("n0"))
    add_claim(s, "gpu")
    s.pod("p", devices=["gpu"])
    wait_allocated(s, "gpu")
    set_condition(s, "gpu", "berth.test/failed")
    note = wait_for(lambda: events_of(s.c, s.name("p"), "FailedScheduling"), LATE,
                    what="the failure is reported")[0]["note"]

    def lands_when_ready():
        # The failed allocation may still be there: then its condition goes away with it.
        if devices_of(s.c.get(f"{DEVICE_CLAIMS}/{s.name('gpu')}")):
            set_condition(s, "gpu", "berth.test/ready")
        return s.c.pod(s.name("p"))["spec"].get("nodeName")
    return note, wait_for(lands_when_ready, LATE, interval=0.5, what="the pod has a node")


# ---- a scheduler that ends in the middle ---------------------------------------------------------

@scene
def nothing_is_allocated_twice_by_a_scheduler_that_is_killed(s):
    """PreBind writes a claim's finalizer and its allocation, then the pod is bound: the scheduler is
    killed when the first claims, and then more of them, have been written."""
    add_class(s)
    add_template(s, "gpu", request("a"), request("b"))
    for i in range(10):
        add_slice(s, f"n{i}", *[gpu(f"gpu-{k}") for k in range(8)])
    s.nodes(*[make_node(f"n{i}") for i in range(10)])
    for i in range(20):
        s.pod(f"p{i}", devices=[("gpu", "gpu"), ("more", "gpu")] if i % 2 else [("gpu", "gpu")])

    def written():
        return sum(bool(claim["metadata"].get("finalizers"))
                   for claim in s.c.get(DEVICE_CLAIMS)["items"])
    for wanted in (1, 9):
        wait_for(lambda wanted=wanted: written() >= wanted, LATE, interval=0.005,
                 what=f"{wanted} claims are written")
        s.kill_scheduler()
        check_none_twice(s)
        s.restart_scheduler()

    def placed():
        return sum(bool(p["spec"].get("nodeName")) for p in s.c.get(PODS)["items"])
    wait_for(lambda: placed() == 20, LATE, what="the pods are placed")
    for p in s.c.get(PODS)["items"]:
        for status in p["status"]["resourceClaimStatuses"]:
            claim = s.c.get(f"{DEVICE_CLAIMS}/{status['resourceClaimName']}")
            pools = {pool for _, pool, _ in devices_of(claim)[0]}
            equal(pools, {p["spec"]["nodeName"]}, f"pools of {claim['metadata']['name']}")
            equal(users_of(claim), [p["metadata"]["name"]], "user of the claim")
    return len(check_none_twice(s))


if __name__ == "__main__":
    main(fixture=controlled.cluster(), after=controlled.after)
