#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Persistent volumes on a real API server: berth and kube-scheduler have the same outcome.

Every scene is played for both; see controlled.py. There are no kubelets: a pod that is preempted is
ended by the test.
"""

import controlled
from berth import events_of, make_node
from cluster import wait_for
from controlled import CLAIMS, STORAGE, VOLUMES, scene, start_controllers
from subject import LATE
from tap import check, equal, main

DRIVER = "csi.berth.test"
FAILS = "fails"     # the provisioner cannot serve this node


def prefers(node):
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 100, "preference": {"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}}]}}


def bindings(s):
    """Claim to volume, from both sides: they must agree."""
    claims = {o["metadata"]["name"]: o["spec"].get("volumeName")
              for o in s.c.get(CLAIMS)["items"]}
    for o in s.c.get(VOLUMES)["items"]:
        ref = o["spec"].get("claimRef")
        if ref and ref.get("uid"):
            equal(claims.get(ref["name"]), o["metadata"]["name"], f"volume of {ref['name']}")
    return claims


# ---- binding -------------------------------------------------------------------------------------

@scene
def a_set_of_pods_gets_local_volumes(s):
    s.klass("local")
    s.nodes(*[make_node(f"n{i}") for i in range(4)])
    for i in range(3):
        s.volume(f"disk{i}", klass="local", node=f"n{i}", size="5Gi")
    nodes = []
    for i in range(3):
        s.claim(f"data{i}", klass="local")
        s.pod(f"web{i}", claims=[f"data{i}"])
        nodes.append(s.lands(f"web{i}"))
        s.wait_claim(f"data{i}")
    for i, node in enumerate(nodes):
        equal(s.get_claim(f"data{i}")["spec"]["volumeName"], s.name("disk" + node[1:]),
              "the volume on the pod's node")
    s.claim("data3", klass="local")
    s.pod("web3", claims=["data3"])
    message = s.waits("web3")
    s.volume("disk3", klass="local", node="n3")
    return sorted(nodes), message, s.lands("web3"), sorted(bindings(s))


@scene
def the_smallest_volume_that_fits_is_taken(s):
    s.klass("local")
    s.nodes(make_node("n0"))
    for name, size in (("big", "10Gi"), ("small", "2Gi"), ("tiny", "500Mi"), ("middle", "5Gi")):
        s.volume(name, klass="local", node="n0", size=size)
    s.claim("a", klass="local", size="1Gi")
    s.claim("b", klass="local", size="1Gi")
    s.pod("p", claims=["a", "b"])
    s.lands("p")
    s.wait_claim("a")
    s.wait_claim("b")
    return bindings(s)


@scene
def an_immediate_claim_is_waited_for(s):
    s.nodes(make_node("n0"))
    s.claim("a")
    s.pod("p", claims=["a"])
    message = s.waits("p")
    s.volume("v")
    return message, s.lands("p"), bindings(s)


@scene
def an_ephemeral_volume_gets_its_claim(s):
    s.klass("csi", provisioner=DRIVER)
    s.nodes(make_node("n0"))
    s.pod("p", spec={"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "csi",
        "resources": {"requests": {"storage": "1Gi"}}}}}}]})
    node = s.lands("p")
    s.wait_claim("p-scratch")
    return node, bindings(s)


@scene
def a_claim_of_someone_else_is_not_taken_for_an_ephemeral_volume(s):
    s.klass("csi", provisioner=DRIVER)
    s.nodes(make_node("n0"))
    s.claim("p-scratch", klass="csi")
    s.pod("p", spec={"volumes": [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "csi",
        "resources": {"requests": {"storage": "1Gi"}}}}}}]})
    return s.waits("p")


# ---- claims that cannot be used ------------------------------------------------------------------

@scene
def a_missing_claim_is_reported_and_waited_for(s):
    s.nodes(make_node("n0"))
    s.volume("v", claim="a")
    s.pod("p", claims=["a"])
    message = s.waits("p")
    s.claim("a")
    return message, s.lands("p")


@scene
def a_lost_claim_is_reported(s):
    s.nodes(make_node("n0"))
    s.bound("a")
    s.c.delete(f"{VOLUMES}/{s.name('a')}")
    s.c.patch(f"{VOLUMES}/{s.name('a')}", {"metadata": {"finalizers": None}})
    s.wait_claim("a", "Lost")
    s.pod("p", claims=["a"])
    return s.waits("p")


@scene
def a_claim_that_is_being_deleted_is_reported(s):
    s.nodes(make_node("n0"))
    s.bound("a")
    s.c.patch(f"{CLAIMS}/{s.name('a')}", {"metadata": {"finalizers": ["berth.test/keep"]}})
    s.c.delete(f"{CLAIMS}/{s.name('a')}")
    s.pod("p", claims=["a"])
    return s.waits("p")


@scene
def a_claim_without_its_class_is_reported_and_waited_for(s):
    s.nodes(make_node("n0"))
    s.claim("a", klass="later")
    s.pod("p", claims=["a"])
    message = s.waits("p")
    s.klass("later", provisioner=DRIVER)
    return message, s.lands("p")


@scene
def a_bound_claim_without_its_volume_object_is_reported(s):
    s.nodes(make_node("n0"))
    s.claim("a", volumeName=s.name("gone"))
    s.pod("p", claims=["a"])
    return s.waits("p")


# ---- where a volume is ---------------------------------------------------------------------------

@scene
def a_volume_in_another_zone_keeps_the_pod_away(s):
    s.nodes(make_node("n0", zone="east"), make_node("n1", zone="east"))
    s.bound("a", labels={"topology.kubernetes.io/zone": "west"})
    s.pod("p", claims=["a"])
    message = s.waits("p")
    s.nodes(make_node("n2", zone="west"))
    return message, s.lands("p")


@scene
def the_affinity_of_a_volume_keeps_the_pod_away(s):
    s.nodes(make_node("n0", zone="east"), make_node("n1", zone="east"))
    s.bound("a", csi=DRIVER, affinity=("topology.kubernetes.io/zone", ["west"]))
    s.pod("p", claims=["a"])
    message = s.waits("p")
    s.nodes(make_node("n2", zone="west"))
    return message, s.lands("p")


# ---- limits and conflicts ------------------------------------------------------------------------

def csi_node(s, name, count=None):
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": ["kubernetes.io/hostname"]}
    if count is not None:
        driver["allocatable"] = {"count": count}
    s.c.create(STORAGE + "/csinodes", {"metadata": {"name": name, "ownerReferences": []},
                                       "spec": {"drivers": [driver]}})


@scene
def the_volumes_of_a_csi_driver_are_limited(s):
    csi_node(s, "n0", 2)
    s.nodes(make_node("n0"))
    for i in range(3):
        s.bound(f"a{i}", csi=DRIVER)
        s.pod(f"p{i}", claims=[f"a{i}"])
        if i < 2:
            equal(s.lands(f"p{i}"), "n0", "node")
    message = s.waits("p2")
    s.delete_pod("p0")
    return message, s.lands("p2")


@scene
def a_pod_preempts_the_user_of_its_claim(s):
    s.nodes(make_node("n0"), make_node("n1"))
    s.bound("a", modes=("ReadWriteOncePod",))
    s.pod("first", claims=["a"], priority_class="low")
    node = s.lands("first")
    s.pod("equal", claims=["a"], priority_class="low")
    message = s.waits("equal")
    s.delete_pod("equal")
    s.pod("urgent", claims=["a"], priority_class="high")

    def preempted():
        conditions = s.c.pod(s.name("first"))["status"].get("conditions", [])
        return [x["reason"] for x in conditions if x["type"] == "DisruptionTarget"]
    reason = wait_for(preempted, LATE, what="the first pod is preempted")
    s.delete_pod("first")
    check(s.lands("urgent") in ("n0", "n1"), node)
    return message, reason


# ---- provisioning --------------------------------------------------------------------------------

@scene
def a_volume_is_provisioned_on_the_pods_node(s):
    s.klass("csi", provisioner=DRIVER)
    csi_node(s, "n1")
    s.nodes(make_node("n0"), make_node("n1"))
    s.claim("a", klass="csi")
    s.pod("p", claims=["a"], affinity=prefers("n1"))
    node = s.lands("p")
    s.wait_claim("a")
    claim = s.get_claim("a")
    volume = s.c.get(f"{VOLUMES}/{claim['spec']['volumeName']}")
    return (node, claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"],
            volume["spec"]["nodeAffinity"])


@scene
def provisioning_that_fails_is_retried_on_another_node(s):
    def capacity(node, size):
        return {"metadata": {"name": s.name(node)}, "storageClassName": "csi", "capacity": size,
                "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": node}}}
    path = STORAGE + "/namespaces/default/csistoragecapacities"
    s.c.create(STORAGE + "/csidrivers", {"metadata": {"name": DRIVER},
                                         "spec": {"storageCapacity": True}})
    s.klass("csi", provisioner=DRIVER)
    for node in (FAILS, "works"):
        s.c.create(path, capacity(node, "10Gi"))
    s.nodes(make_node(FAILS), make_node("works"))
    s.claim("a", klass="csi")
    s.pod("p", claims=["a"], affinity=prefers(FAILS))
    wait_for(lambda: events_of(s.c, s.name("p"), "FailedScheduling"), LATE,
             what="the provisioner has failed")
    s.c.patch(f"{path}/{s.name(FAILS)}", {"capacity": "0"})
    node = s.lands("p")
    s.wait_claim("a")
    return node, bindings(s)


def wait_selected(s, name):
    """The node that the scheduler has selected for a claim."""
    def selected():
        notes = s.get_claim(name)["metadata"].get("annotations", {})
        return notes.get("volume.kubernetes.io/selected-node")
    return wait_for(selected, LATE, what=f"a node is selected for {s.name(name)}")


@scene
def a_provisioner_that_never_answers_holds_up_only_its_pod(s):
    s.klass("slow", provisioner="slow.berth.test")
    s.nodes(make_node("n0"))
    s.claim("a", klass="slow")
    s.pod("p", claims=["a"], profile="hasty")
    selected = wait_selected(s, "a")
    s.pod("other", profile="hasty")
    return selected, s.lands("other"), s.waits("p")


@scene
def a_volume_that_is_provisioned_for_another_node_moves_the_pod(s):
    s.klass("slow", provisioner="slow.berth.test")
    s.nodes(make_node("n0"), make_node("n1"))
    s.claim("a", klass="slow")
    s.pod("p", claims=["a"], affinity=prefers("n0"))
    selected = wait_selected(s, "a")
    s.volume("v", klass="slow", csi="slow.berth.test", claim="a",
             affinity=("kubernetes.io/hostname", ["n1"]))
    node = s.lands("p")
    # A scheduler may see the pod before its claim, and reports that first.
    notes = [e["note"] for e in events_of(s.c, s.name("p"), "FailedScheduling")]
    return selected, node, [n for n in notes if "not found" not in n][0]


@scene
def a_node_without_capacity_is_not_chosen(s):
    s.c.create(STORAGE + "/csidrivers", {"metadata": {"name": DRIVER},
                                         "spec": {"storageCapacity": True}})
    s.klass("csi", provisioner=DRIVER)
    s.nodes(make_node("n0"))
    s.claim("a", klass="csi", size="5Gi")
    s.pod("p", claims=["a"])
    message = s.waits("p")
    s.c.create(STORAGE + "/namespaces/default/csistoragecapacities", {
        "metadata": {"name": s.name("n0")}, "storageClassName": "csi", "capacity": "6Gi",
        "nodeTopology": {"matchLabels": {"kubernetes.io/hostname": "n0"}}})
    return message, s.lands("p")


# ---- a scheduler that ends in the middle ---------------------------------------------------------

@scene
def nothing_is_bound_twice_by_a_scheduler_that_is_killed(s):
    """Pods with one local and one provisioned claim each; the provisioner does not answer before
    the scheduler was killed, so that none of the bindings is complete."""
    s.klass("local")
    s.klass("slow", provisioner="slow.berth.test")
    s.nodes(*[make_node(f"n{i}") for i in range(5)])
    for i in range(12):
        s.volume(f"disk{i}", klass="local", node=f"n{i % 5}")
    for i in range(10):
        s.claim(f"local{i}", klass="local")
        s.claim(f"slow{i}", klass="slow")
        s.pod(f"p{i}", claims=[f"local{i}", f"slow{i}"])

    def writes():
        return (sum("claimRef" in o["spec"] for o in s.c.get(VOLUMES)["items"]) +
                sum("volume.kubernetes.io/selected-node" in o["metadata"].get("annotations", {})
                    for o in s.c.get(CLAIMS)["items"]))
    for wanted in (1, 8):
        wait_for(lambda wanted=wanted: writes() >= wanted, LATE, interval=0.01,
                 what=f"{wanted} writes of PreBind")
        s.kill_scheduler()
        s.restart_scheduler()
    late = start_controllers(s.c, "provisioner=slow.berth.test", name=f"{s.who}-late")
    for i in range(10):
        node = s.lands(f"p{i}")
        s.wait_claim(f"local{i}")
        disk = s.get_claim(f"local{i}")["spec"]["volumeName"]
        equal(f"n{int(disk.rpartition('disk')[2]) % 5}", node, f"node of the volume of p{i}")
    late.kill()
    s.c.children.remove(late)
    taken = [o["spec"]["claimRef"]["name"] for o in s.c.get(VOLUMES)["items"]
             if o["spec"].get("claimRef")]
    equal(len(taken), len(set(taken)), "claims with one volume")
    return sorted(bindings(s)), sorted(taken)


if __name__ == "__main__":
    main(fixture=controlled.cluster(f"provisioner={DRIVER}", f"fail={FAILS}"), after=controlled.after)
