# SPDX-License-Identifier: Apache-2.0
"""A cluster with the controllers that volumes and devices need, and two schedulers to compare.

A scene is a function of a Stage. It is played twice on the same cluster, for berth and for
kube-scheduler, one after the other; what it returns must be equal. Objects of a stage have the
scheduler's name in theirs, which is removed from what is returned. With
BERTH_SUBJECT=kube-scheduler a second kube-scheduler takes berth's place, which validates a scene.

The controllers are those of src/apiserver/controllers: build/berth-controllers.
"""

import contextlib
import json
import re
import signal

import berth
import subject
from berth import NODES, PODS, make_pod
from cluster import Cluster, wait_for
from subject import LATE
from tap import check, equal, show_log, test

BOTH = ("berth", "kube")
CORE = "/api/v1"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
STORAGE = "/apis/storage.k8s.io/v1"
CLASSES = STORAGE + "/storageclasses"
DRA = "/apis/resource.k8s.io/v1"
DEVICE_CLAIMS = DRA + "/namespaces/default/resourceclaims"

PRIORITIES = [{"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
               "metadata": {"name": name}, "value": value}
              for name, value in (("low", 10), ("high", 1000))]


def profiles(who):
    """The default profile, and one that does not wait long for volumes."""
    return [{"schedulerName": who, "percentageOfNodesToScore": 100},
            {"schedulerName": who + "-hasty", "percentageOfNodesToScore": 100, "pluginConfig": [
                {"name": "VolumeBinding", "args": {"bindTimeoutSeconds": 3}}]}]


def start_controllers(c, *options, name="controllers"):
    p = c.spawn(name, berth.command("berth-controllers") + [c.admin_kubeconfig, *options],
                env=berth.environment())
    show_log(p.log)
    wait_for(lambda: "ready" in p.text(), LATE, what="the controllers are ready")
    return p


def start_scheduler(c, who):
    name = f"{who}-{len(c.children)}"
    if who == "berth":
        p = subject.start(c, profiles(who), name=name)
    else:
        p = c.start_scheduler(*subject.FLAGS, name=name, config={"profiles": profiles(who)},
                              qps=5000)
    show_log(p.log)
    return p


def cluster(*options, objects=(), **cluster_options):
    """A fixture for tap.main. options: of the controllers."""
    @contextlib.contextmanager
    def made():
        with Cluster(**cluster_options) as c:
            subject.apply(c, *PRIORITIES, *objects)
            c.controllers = start_controllers(c, *options)
            c.schedulers = {who: start_scheduler(c, who) for who in BOTH}
            yield c
            subject.stop(c, c.schedulers["berth"])
    return made


def after(c):
    for p in (*c.schedulers.values(), c.controllers):
        show_log(p.log)
    tidy(c)
    for p in (*c.schedulers.values(), c.controllers):
        check(p.running(), f"{p.name} has ended")


def strip(c, path):
    """Removes the finalizers, so that deletion does not depend on what is under test."""
    for o in c.get(path)["items"]:
        if o["metadata"].get("finalizers"):
            try:
                c.patch(f"{path}/{o['metadata']['name']}", {"metadata": {"finalizers": None}})
            except berth.ApiError as e:
                check(e.status == 404, str(e))


def tidy(c):
    subject.tidy(c)
    for path in (CLAIMS, VOLUMES, DEVICE_CLAIMS, DRA + "/resourceslices", DRA + "/deviceclasses",
                 DRA + "/namespaces/default/resourceclaimtemplates", CLASSES, STORAGE + "/csinodes",
                 STORAGE + "/csidrivers", STORAGE + "/namespaces/default/csistoragecapacities"):
        def gone(path=path):
            if c.get(path)["items"]:
                c.delete(path)
                strip(c, path)
            return not c.get(path)["items"]
        wait_for(gone, LATE, what=f"{path} is empty")


def scene(function):
    """Makes a test of a scene."""
    def run(c):
        outcome = {}
        for who in BOTH:
            stage = Stage(c, who)
            outcome[who] = stage.plain(function(stage))
            tidy(c)
        equal(outcome["berth"], outcome["kube"], "outcome")
    run.__name__ = function.__name__
    return test(run)


class Stage:
    """One scheduler and its objects."""

    def __init__(self, c, who):
        self.c, self.who = c, who
        self.unsettled = False  # volumes were made that the scheduler may not have seen

    def plain(self, value):
        """Without the scheduler's name and generated parts of names."""
        text = json.dumps(value, sort_keys=True).replace(self.who + "-", "")
        return json.loads(re.sub(r"pvc-[0-9a-f-]{36}", "pvc-UID", text))

    def name(self, name):
        return f"{self.who}-{name}"

    # -- objects --

    def nodes(self, *nodes):
        for node in nodes:
            self.c.create(NODES, node)
        subject.settle(self.c, self.who)

    def pod(self, name, claims=(), devices=(), labels=None, profile="", **options):
        """A pod with these persistent volume claims and resource claims: name, or (name,
        template). profile: "" or "hasty"."""
        spec = options.pop("spec", {})
        if self.unsettled and self.c.nodes():
            subject.settle(self.c, self.who)
            self.unsettled = False
        if claims:
            spec["volumes"] = [{"name": f"v{i}", "persistentVolumeClaim": {
                "claimName": self.name(claim)}} for i, claim in enumerate(claims)]
        if devices:
            spec["resourceClaims"] = [{"name": d[0], "resourceClaimTemplateName": d[1]}
                                      if isinstance(d, tuple) else
                                      {"name": d, "resourceClaimName": self.name(d)}
                                      for d in devices]
        made = make_pod(self.name(name), labels=labels, spec=spec, **options,
                        scheduler_name="-".join(filter(None, (self.who, profile))))
        if devices:
            made["spec"]["containers"][0]["resources"]["claims"] = [
                {"name": d[0] if isinstance(d, tuple) else d} for d in devices]
        return self.c.create(PODS, made)

    def claim(self, name, klass="", size="1Gi", modes=("ReadWriteOnce",), **spec):
        return self.c.create(CLAIMS, {
            "metadata": {"name": self.name(name)},
            "spec": {"accessModes": list(modes), "storageClassName": klass,
                     "resources": {"requests": {"storage": size}}, **spec}})

    def volume(self, name, klass="", size="1Gi", node=None, labels=None, csi=None,
               modes=("ReadWriteOnce",), claim=None, affinity=None):
        """A volume; on a node, if one is given. claim: the claim that it is reserved for."""
        self.unsettled = True
        spec = {"capacity": {"storage": size}, "accessModes": list(modes),
                "storageClassName": klass, "persistentVolumeReclaimPolicy": "Retain"}
        if csi:
            spec["csi"] = {"driver": csi, "volumeHandle": self.name(name)}
        elif node:
            spec["local"] = {"path": "/mnt/disk"}
        else:
            spec["nfs"] = {"server": "192.0.2.1", "path": "/"}
        affinity = affinity or (node and ("kubernetes.io/hostname", [node]))
        if affinity:
            spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                {"key": affinity[0], "operator": "In", "values": affinity[1]}]}]}}
        if claim:
            spec["claimRef"] = {"namespace": "default", "name": self.name(claim)}
        return self.c.create(VOLUMES, {"metadata": {"name": self.name(name),
                                                    "labels": labels or {}}, "spec": spec})

    def bound(self, name, **volume):
        """A claim with its volume, both bound."""
        modes = volume.get("modes", ("ReadWriteOnce",))
        self.volume(name, claim=name, **volume)
        self.claim(name, klass=volume.get("klass", ""), modes=modes)
        self.wait_claim(name)

    def klass(self, name, provisioner="kubernetes.io/no-provisioner", waits=True, **more):
        self.c.create(CLASSES, {
            "metadata": {"name": name}, "provisioner": provisioner, **more,
            "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate"})

    # -- what can be seen --

    def get_claim(self, name):
        return self.c.get(f"{CLAIMS}/{self.name(name)}")

    def wait_claim(self, name, phase="Bound"):
        wait_for(lambda: self.get_claim(name)["status"].get("phase") == phase, LATE,
                 what=f"claim {self.name(name)} is {phase}")

    def lands(self, name):
        """The node of the pod; waits until it has one."""
        return wait_for(lambda: berth.node_of(self.c, self.name(name)), LATE,
                        what=f"{self.name(name)} has a node")

    def waits(self, name):
        """The message of a pod that gets no node."""
        return berth.wait_unschedulable(self.c, self.name(name), LATE)["message"]

    def is_not_tried(self, name):
        """Checks that a plugin keeps the pod out of the queue: nothing is reported."""
        subject.settle(self.c, self.who)
        pod = self.c.pod(self.name(name))
        equal(pod["spec"].get("nodeName"), None, f"node of {self.name(name)}")
        return berth.condition_of(self.c, self.name(name))

    def delete_pod(self, name):
        self.c.delete(f"{PODS}/{self.name(name)}?gracePeriodSeconds=0")

    # -- the scheduler --

    def kill_scheduler(self):
        p = self.c.schedulers[self.who]
        if hasattr(p, "killed"):
            p.killed = True
        p.signal(signal.SIGKILL)
        p.popen.wait()
        self.c.children.remove(p)

    def restart_scheduler(self):
        self.c.schedulers[self.who] = start_scheduler(self.c, self.who)
