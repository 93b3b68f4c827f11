#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The events after which a pod that waits for devices is retried: see test_hints.py.

Every change of a node requeues these pods, so nothing but the change itself may happen. The backoff
is always one second: some seconds after a change all requeued pods have been tried.
"""

import collections
import re
import time

import side_by_side
from berth import NODES, PODS, add_pods, make_node, make_pod, wait_bound
from controlled import DEVICE_CLAIMS, DRA
from side_by_side import BOTH, after, copy_for, make_twice
from tap import check, main, note, test

TRIED = re.compile(r'"(Unable to schedule pod; no fit; waiting|Successfully bound pod to node)"'
                   r' pod="default/(\w+)-(for-[\w-]+)"')
SLICES, CLASSES = DRA + "/resourceslices", DRA + "/deviceclasses"
REST = 3  # seconds: the backoff, and time to see the change


def profiles(who):
    def only(name, *plugins):
        return {"schedulerName": name, "plugins": {"multiPoint": {
            "disabled": [{"name": "*"}],
            "enabled": [{"name": n} for n in ("PrioritySort", *plugins, "DefaultBinder")]}}}
    return [only(who), only(f"{who}-devices", "DynamicResources"),
            only(f"{who}-fit", "NodeResourcesFit", "DynamicResources")]


class Changes:
    def __init__(self, c):
        self.c, self.rounds, self.trouble, self.told = c, 0, [], []
        self.before = {who: collections.Counter() for who in BOTH}

    def tried(self, who):
        """How often each pod of this scheduler was tried, with which result."""
        return collections.Counter(
            f"{name}{'' if what.startswith('Unable') else ' bound'}"
            for what, owner, name in TRIED.findall(self.c.schedulers[who].text())
            if owner == who)

    def done(self, what):
        self.rounds += 1
        make_twice(self.c, {f"seen-{self.rounds}": make_pod("p", cpu=None, memory=None)})
        for who in BOTH:
            wait_bound(self.c, f"{who}-seen-{self.rounds}")
        time.sleep(REST)
        now = {who: self.tried(who) for who in BOTH}
        new = {who: dict(now[who] - self.before[who]) for who in BOTH}
        self.told.append(f"{what}: {', '.join(sorted(new['kube'])) or '-'}")
        if new["berth"] != new["kube"]:
            self.trouble.append(f"{what}: berth {new['berth']}, kube {new['kube']}")
        self.before = now

    def create(self, what, path, body):
        self.c.create(path, body)
        self.done(what)

    def patch(self, what, path, body):
        self.c.patch(path, body)
        self.done(what)

    def conclude(self):
        note("\n".join(self.told))
        check(not self.trouble, "\n".join(self.trouble))


def labelled(**labels):
    return {"metadata": {"labels": labels}}


def claim(name, class_name, **meta):
    return {"metadata": {"name": name, **meta}, "spec": {"devices": {"requests": [
        {"name": "r", "exactly": {"deviceClassName": class_name}}]}}}


def device_slice(node, *devices):
    return {"metadata": {"name": f"{node}-devices"}, "spec": {
        "driver": "dev.berth.test", "nodeName": node, "devices": [{"name": d} for d in devices],
        "pool": {"name": node, "generation": 1, "resourceSliceCount": 1}}}


def add_waiting(c):
    """Pods that wait for a slice, a class, a claim, the name of a generated claim, a resource."""
    for who in BOTH:
        for name, class_name in (("slice", "there"), ("class", "late")):
            c.create(DEVICE_CLAIMS, claim(f"{who}-{name}", class_name))
        pods = {name: make_pod("p", scheduler_name="devices", spec={"resourceClaims": [
            {"name": "d", "resourceClaimName": f"{who}-{name}"}]})
            for name in ("slice", "class", "claim")}
        pods["generated"] = make_pod("p", scheduler_name="devices", spec={"resourceClaims": [
            {"name": "d", "resourceClaimTemplateName": "t"}]})
        pods["resource"] = make_pod("p", scheduler_name="fit", extended={"example.com/dev": 1})
        add_pods(c, *[copy_for(who, pod, f"for-{name}") for name, pod in pods.items()])


def change_claims(c, do):
    do.create("a claim that nobody knows", DEVICE_CLAIMS, claim("other", "there"))
    for who in BOTH:
        c.patch(f"{DEVICE_CLAIMS}/{who}-slice", labelled(a="b"))
    do.done("a label of their claims")
    other = f"{DEVICE_CLAIMS}/other/status"
    do.patch("another claim is allocated", other, {"status": {"allocation": {"devices": {
        "results": [{"request": "r", "driver": "dev.berth.test", "pool": "x", "device": "x"}]}}}})
    do.patch("it is reserved", other, {"status": {"reservedFor": [
        {"resource": "pods", "name": "x", "uid": "x"}]}})
    do.patch("it is deallocated", other, {"status": {"allocation": None, "reservedFor": None}})
    for who in BOTH:
        c.create(DEVICE_CLAIMS, claim(f"{who}-claim", "there"))
    do.done("the claims that are waited for")
    for who in BOTH:
        pod = c.pod(f"{who}-for-generated")["metadata"]
        c.create(DEVICE_CLAIMS, claim(f"{who}-generated", "there", ownerReferences=[
            {"apiVersion": "v1", "kind": "Pod", "name": pod["name"], "uid": pod["uid"],
             "controller": True}]))
    do.done("generated claims without a name in the pod")
    for who in BOTH:
        c.patch(f"{PODS}/{who}-for-generated/status", {"status": {"resourceClaimStatuses": [
            {"name": "d", "resourceClaimName": f"{who}-generated"}]}})
    do.done("their names")


def change_nodes(do):
    node = f"{NODES}/a"
    do.patch("a label of a node", node, labelled(any="thing"))
    do.patch("an annotation of it", node, {"metadata": {"annotations": {"c": "d"}}})
    do.patch("a taint of it", node, {"spec": {"taints": [{"key": "t", "effect": "NoSchedule"}]}})
    do.patch("more cpu", f"{node}/status", {"status": {"allocatable": {"cpu": "5"}}})
    do.patch("a condition", f"{node}/status", {"status": {"conditions": [
        {"type": "Ready", "status": "False"}]}})
    do.create("another node", NODES, make_node("b"))


@test
def changes_of_devices(c):
    c.create(NODES, make_node("a"))
    c.create(CLASSES, {"metadata": {"name": "there"}, "spec": {}})
    do = Changes(c)
    add_waiting(c)
    do.done("the pods")
    change_claims(c, do)
    change_nodes(do)
    do.create("a slice of another node", SLICES, device_slice("nowhere", "d0"))
    do.patch("a label of it", f"{SLICES}/nowhere-devices", labelled(a="b"))
    c.delete(f"{SLICES}/nowhere-devices")
    do.done("it is gone")
    do.create("another class", CLASSES, {"metadata": {"name": "other"}, "spec": {}})
    do.patch("a label of a class", f"{CLASSES}/there", labelled(a="b"))
    do.create("the class that is waited for", CLASSES, {"metadata": {"name": "late"}, "spec": {}})
    do.patch("a resource of a class", f"{CLASSES}/other",
             {"spec": {"extendedResourceName": "example.com/other"}})
    do.patch("the resource that is waited for", f"{CLASSES}/other",
             {"spec": {"extendedResourceName": "example.com/dev"}})
    do.create("devices for all", SLICES, device_slice("a", *[f"d{i}" for i in range(12)]))
    do.conclude()


if __name__ == "__main__":
    main(fixture=side_by_side.cluster(profiles, podInitialBackoffSeconds=1,
                                      podMaxBackoffSeconds=1), after=after)
