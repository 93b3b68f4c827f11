#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth simulate with volumes and devices: manifests in, placements out; no cluster."""

import json
import os
import tempfile

import berth
from berth import equal, make_node, make_pod
from tap import contains, main, test

DRIVER = "gpu.berth.test"


# ---- objects -------------------------------------------------------------------------------------

def klass(name, provisioner="kubernetes.io/no-provisioner", waits=True, **more):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, **more,
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate"}


def claim(name, klass=None, size="1Gi", **spec):
    if klass is not None:
        spec["storageClassName"] = klass
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}},
                     **spec}}


def volume(name, klass="", node=None, size="1Gi", labels=None, **spec):
    if node:
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
            {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}]}]}}
    return {"apiVersion": "v1", "kind": "PersistentVolume",
            "metadata": {"name": name, "labels": labels or {}},
            "spec": {"capacity": {"storage": size}, "accessModes": ["ReadWriteOnce"],
                     "storageClassName": klass, "hostPath": {"path": "/"}, **spec}}


def user(name, *claims, **more):
    return make_pod(name, spec={"volumes": [
        {"name": f"v{i}", "persistentVolumeClaim": {"claimName": c}}
        for i, c in enumerate(claims)]}, **more)


def dra(kind, name, **spec):
    return {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": name},
            "spec": spec}


def slice_of(node, *devices):
    return dra("ResourceSlice", f"{node}-slice", driver=DRIVER, nodeName=node,
               pool={"name": node, "generation": 1, "resourceSliceCount": 1},
               devices=[{"name": d} for d in devices])


CLASS = dra("DeviceClass", "gpu",
            selectors=[{"cel": {"expression": f"device.driver == '{DRIVER}'"}}])
REQUEST = {"devices": {"requests": [{"name": "r", "exactly": {
    "deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}}]}}
TEMPLATE = dra("ResourceClaimTemplate", "gpu", spec=REQUEST)


def gpu_pod(name, **claim):
    return make_pod(name, spec={"resourceClaims": [
        {"name": "gpu", **(claim or {"resourceClaimTemplateName": "gpu"})}]})


# ---- running -------------------------------------------------------------------------------------

def simulate(d, *stages, flags=()):
    """The stages' objects, one after the other. Returns node or message by pod."""
    argv = ["simulate", "-o", "json", *flags]
    for i, objects in enumerate(stages):
        path = os.path.join(d, f"stage{i}.json")
        with open(path, "w") as f:
            f.write("\n---\n".join(json.dumps(o) for o in objects))
        argv += ["--then", path] if i else [path]
    done = berth.run(*argv, timeout=60)
    equal((done.code, done.err), (0, ""), "exit code and standard error")
    return {p["name"]: p["node"] or p["message"] for p in json.loads(done.out)}


# ---- volumes -------------------------------------------------------------------------------------

@test
def pods_follow_their_local_volumes(d):
    got = simulate(d, [make_node("n0"), make_node("n1"), klass("local"),
                       volume("disk", "local", node="n1"), claim("a", "local"), claim("b", "local"),
                       user("p", "a"), user("q", "b")])
    equal(got["p"], "n1", "node of p")
    contains(got["q"], "2 node(s) didn't find available persistent volumes to bind")


@test
def volumes_are_provisioned(d):
    csi = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "n1"},
           "spec": {"drivers": [{"name": "csi.test", "nodeID": "n1",
                                 "topologyKeys": ["kubernetes.io/hostname"]}]}}
    first = [make_node("n0", cpu="1"), make_node("n1"), csi, klass("csi", "csi.test"),
             claim("a", "csi"), user("p", "a", cpu="2")]
    got = simulate(d, first, [user("next", "a")])
    equal((got["p"], got["next"]), ("n1", "n1"), "nodes: the volume is on the first pod's node")


@test
def a_stateful_set_gets_its_claims(d):
    db = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
          "spec": {"replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
                   "template": {"metadata": {"labels": {"app": "db"}}, "spec": {
                       "containers": [{"name": "c", "image": "registry.test/db"}]}},
                   "volumeClaimTemplates": [{"metadata": {"name": "data"},
                                             "spec": claim("", "local")["spec"]}]}}
    got = simulate(d, [make_node(f"n{i}") for i in range(3)] + [klass("local"), db] +
                   [volume(f"disk{i}", "local", node=f"n{i}") for i in range(3)])
    equal(sorted(got.items()), [("db-0", got["db-0"]), ("db-1", got["db-1"]), ("db-2", got["db-2"])],
          "pods")
    equal(sorted(got.values()), ["n0", "n1", "n2"], "nodes")


@test
def an_ephemeral_volume_of_the_default_class_is_made(d):
    usual = klass("usual", "csi.test")
    usual["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    pod = make_pod("p", spec={"volumes": [{"name": "scratch", "ephemeral": {
        "volumeClaimTemplate": {"spec": claim("")["spec"]}}}]})
    equal(simulate(d, [make_node("n0"), usual, pod]), {"p": "n0"}, "node")


@test
def claims_that_cannot_be_used_are_reported(d):
    lost = claim("lost", "", volumeName="gone")
    lost["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    leaving = claim("leaving", "")
    leaving["metadata"].update(deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["x/y"])
    zone = volume("zone", labels={"topology.kubernetes.io/zone": "west"})
    got = simulate(d, [make_node("n0", zone="east"), lost, leaving, zone,
                       claim("zoned", "", volumeName="zone"), user("missing", "nothing"),
                       user("lost", "lost"), user("leaving", "leaving"), user("zoned", "zoned")])
    contains(got["missing"], 'persistentvolumeclaim "nothing" not found')
    contains(got["lost"], 'persistentvolumeclaim "lost" bound to non-existent persistentvolume "gone"')
    contains(got["leaving"], 'persistentvolumeclaim "leaving" is being deleted')
    contains(got["zoned"], "1 node(s) had no available volume zone")


@test
def changes_of_volumes_count(d):
    first = [make_node("n0"), claim("a", ""), user("p", "a")]
    contains(simulate(d, first)["p"], "pod has unbound immediate PersistentVolumeClaims")
    equal(simulate(d, first, [volume("v")]), {"p": "n0"}, "node, once there is a volume")
    free = volume("v")
    gone = [{"type": "DELETED", "object": free}, make_pod("q")]
    got = simulate(d, [make_node("n0"), claim("a", ""), free], gone, [user("p", "a")])
    contains(got["p"], "not found")


@test
def without_controllers_nothing_is_bound(d):
    got = simulate(d, [make_node("n0"), claim("a", ""), volume("v"), user("p", "a")],
                   flags=["--controllers=false"])
    contains(got["p"], "pod has unbound immediate PersistentVolumeClaims")


@test
def a_scene_with_claims_is_repeatable(d):
    scene = [make_node(f"n{i}") for i in range(5)] + [klass("local"), klass("csi", "csi.test")]
    for i in range(20):
        scene += [volume(f"disk{i}", "local", node=f"n{i % 5}"), claim(f"a{i}", "local"),
                  claim(f"b{i}", "csi"), user(f"p{i}", f"a{i}", f"b{i}")]
    first = simulate(d, scene)
    equal({n[0] for n in first.values()}, {"n"}, "all are placed")
    equal(simulate(d, scene), first, "the same again")


# ---- devices -------------------------------------------------------------------------------------

@test
def devices_of_a_template_are_given_once(d):
    got = simulate(d, [make_node("n0"), make_node("n1"), CLASS, TEMPLATE, slice_of("n0", "a"),
                       slice_of("n1", "a"), gpu_pod("p"), gpu_pod("q"), gpu_pod("r")])
    equal(sorted([got["p"], got["q"]]), ["n0", "n1"], "nodes")
    contains(got["r"], "2 cannot allocate all claims")


@test
def a_claim_is_shared(d):
    got = simulate(d, [make_node("n0"), make_node("n1"), CLASS, slice_of("n1", "a"),
                       dra("ResourceClaim", "shared", **REQUEST),
                       gpu_pod("p", resourceClaimName="shared"),
                       gpu_pod("q", resourceClaimName="shared")])
    equal(got, {"p": "n1", "q": "n1"}, "nodes")


@test
def slices_that_come_later_count(d):
    first = [make_node("n0"), make_node("n1"), CLASS, TEMPLATE, gpu_pod("p")]
    contains(simulate(d, first)["p"], "2 cannot allocate all claims")
    equal(simulate(d, first, [slice_of("n1", "a")]), {"p": "n1"}, "node")


@test
def a_device_is_free_again_when_its_pod_is_gone(d):
    first = [make_node("n0"), CLASS, TEMPLATE, slice_of("n0", "a"), gpu_pod("p")]
    got = simulate(d, first, [{"type": "DELETED", "object": gpu_pod("p")}, make_pod("other")],
                   [gpu_pod("q")])
    equal(got["q"], "n0", "node of q")


@test
def a_claim_that_is_missing_keeps_the_pod_waiting(d):
    first = [make_node("n0"), CLASS, slice_of("n0", "a"), gpu_pod("p", resourceClaimName="later")]
    contains(simulate(d, first)["p"], "not queued: rejected by a PreEnqueue plugin")
    equal(simulate(d, first, [dra("ResourceClaim", "later", **REQUEST)]), {"p": "n0"}, "node")


@test
def warnings_about_claims_are_gone(d):
    got = simulate(d, [make_node("n0"), make_pod("csi", spec={
        "volumes": [{"name": "v", "csi": {"driver": "x"}}]})])
    equal(got, {"csi": "n0"}, "node")


if __name__ == "__main__":
    main(fixture=lambda: tempfile.TemporaryDirectory(prefix="berth-simulate-"))
