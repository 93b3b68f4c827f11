#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The events after which a waiting pod is retried: the same for berth and kube-scheduler.

Pods wait, each for one plugin and once for each scheduler. Then the cluster changes step by step.
After each change both schedulers must have retried the same pods, as often, and with the same
result: that is what queueing hints decide. The logs show how often a pod was tried.
"""

import collections
import re

import side_by_side
from berth import NODES, PODS, make_node, make_pod, wait_for
from side_by_side import BOTH, after, make_twice
from subject import LATE, profile
from tap import check, main, note, test

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
GPU = "example.com/gpu"
TRIED = re.compile(r'"(Unable to schedule pod; no fit; waiting|Successfully bound pod to node)"'
                   r' pod="default/(\w+)-([\w-]+)"')

STRATEGIC = "application/strategic-merge-patch+json"
LAST = "seen-last"

# One profile for each plugin that rejects, so that no other plugin requeues its pods; and one with
# all.
ONLY = {"fit": "NodeResourcesFit", "cordon": "NodeUnschedulable", "taint": "TaintToleration",
        "affinity": "NodeAffinity", "port": "NodePorts", "spread": "PodTopologySpread",
        "pods": "InterPodAffinity", "feature": "NodeDeclaredFeatures", "volume": "VolumeBinding"}


def only(name, *plugins):
    return {"schedulerName": name, "plugins": {"multiPoint": {
        "disabled": [{"name": "*"}],
        "enabled": [{"name": n} for n in ("PrioritySort", *plugins, "DefaultBinder")]}}}


def profiles(who):
    return [only(who, "NodeResourcesFit"), profile(f"{who}-all"),
            only(f"{who}-last", "NodeDeclaredFeatures", "NodeAffinity")] + [
        only(f"{who}-{name}", plugin) for name, plugin in ONLY.items()]


# ---- observation ---------------------------------------------------------------------------------

def tried(c, who):
    """How often each pod of this scheduler was tried in this test, with which result."""
    return collections.Counter(
        f"{name}{'' if what.startswith('Unable') else ' bound'}"
        for what, owner, name in TRIED.findall(c.schedulers[who].text()[c.log_begins[who]:])
        if owner == who)


class Changes:
    """Applies changes one by one and compares the results."""

    def __init__(self, c):
        self.c, self.rounds, self.trouble, self.told = c, 0, [], []
        self.before = {who: collections.Counter() for who in BOTH}

    def come_to_rest(self):
        """Returns when both schedulers know all changes and have retried the requeued pods.

        All changes are known when a pod created after all others has a node. Requeued pods are
        retried one by one, the one with the longest backoff last. That is LAST, which the new
        feature of a node always requeues: when it has failed once more, all others were tried.
        """
        self.rounds += 1
        resource = f"berth.test/seen-{self.rounds}"
        self.c.patch(f"{NODES}/a/status", {"status": {"capacity": {resource: "2"},
                                                      "allocatable": {resource: "2"}}})
        make_twice(self.c, {f"seen-{self.rounds}": make_pod(
            "p", cpu=None, memory=None, extended={resource: 1})})
        for who in BOTH:
            wait_for(lambda: self.c.pod(f"{who}-seen-{self.rounds}")["spec"].get("nodeName"), LATE,
                     what=f"{who} has seen it all")
        last = {who: tried(self.c, who)[LAST] for who in BOTH}
        self.c.patch(f"{NODES}/a/status", {"status": {"declaredFeatures": [f"V{self.rounds:04}"]}})
        for who in BOTH:
            wait_for(lambda: tried(self.c, who)[LAST] > last[who], LATE,
                     what=f"{who} has tried all pods")

    def begin(self):
        """LAST fails until no pod has a longer backoff."""
        for _ in range(5):
            self.come_to_rest()
        for who in BOTH:
            self.before[who] = tried(self.c, who)

    def done(self, what):
        self.come_to_rest()
        now = {who: tried(self.c, who) for who in BOTH}
        # Pods that the new feature of the node requeues anyway prove nothing.
        new = {who: {name: n for name, n in (now[who] - self.before[who]).items()
                     if name != "feature" and not name.startswith("seen-")} for who in BOTH}
        self.told.append(f"{what}: {', '.join(sorted(new['kube'])) or '-'}")
        if new["berth"] != new["kube"]:
            self.trouble.append(f"{what}: berth {new['berth']}, kube {new['kube']}")
        self.before = now

    def node(self, name, what, patch):
        self.c.patch(f"{NODES}/{name}", patch)
        self.done(f"node {name}: {what}")

    def node_status(self, name, what, **status):
        self.c.patch(f"{NODES}/{name}/status", {"status": status})
        self.done(f"node {name}: {what}")

    def pod(self, name, what, patch, subresource=""):
        self.c.patch(f"{PODS}/{name}{subresource}", patch, STRATEGIC)
        self.done(f"pod {name}: {what}")

    def twins(self, what, patches):
        """Waiting pods change themselves: a patch by the name of each."""
        for name, patch in patches.items():
            for who in BOTH:
                self.c.patch(f"{PODS}/{who}-{name}", patch, STRATEGIC)
        whose = ", ".join(patches) if len(patches) < 4 else "all that wait"
        self.done(f"{whose}: {what}")

    def add(self, what, obj):
        ns = obj["metadata"].get("namespace")
        self.c.create(f"/api/v1/namespaces/{ns}/pods" if ns else NODES, obj)
        self.done(what)

    def delete(self, path):
        self.c.delete(f"{path}?gracePeriodSeconds=0")
        self.done(f"{path.rpartition('/')[2]} is gone")

    def conclude(self):
        note("\n".join(self.told))
        check(not self.trouble, "\n".join(self.trouble))


# ---- the cluster and the waiting pods ------------------------------------------------------------

def labelled(**labels):
    return {"metadata": {"labels": labels}}


def in_zone(zone):
    return {"metadata": {"labels": {ZONE: zone}}}


def tainted(*keys):
    return {"spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in keys]}}


def near(app, key=ZONE, **more):
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **more}]}}


def far(app, key=HOST):
    return {"podAntiAffinity": near(app, key)["podAffinity"]}


def evenly(key=ZONE, **more):
    return [{"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule",
             "labelSelector": {"matchLabels": {"app": "web"}}, **more}]


def node(name, zone, cpu="4", memory="8Gi"):
    made = make_node(name, zone=zone, cpu=cpu, memory=memory, pods=500, unschedulable=True)
    made["spec"].update(tainted("t", "u")["spec"])
    return made


def on_node(name, cpu="1"):
    """Makes a node unusable: a pod "web" with its ports, and one that repels "loud"."""
    return (make_pod(f"web-{name}", cpu=cpu, labels={"app": "web"}, node_name=name, ports=[80, 81]),
            make_pod(f"shy-{name}", node_name=name, affinity=far("loud")))


def needy(why, **more):
    """A pod that needs a feature that no node has."""
    pod = make_pod("p", scheduler_name=why, spec={"restartPolicy": "Never"}, **more)
    pod["spec"]["containers"][0].update(restartPolicy="Never", restartPolicyRules=[
        {"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [42]}}])
    return pod


def waiting():
    def pod(why, **more):
        return make_pod("p", scheduler_name=why, **more)
    web = {"labels": {"app": "web"}}
    return {
        "cpu": pod("fit", cpu="3500m"), "memory": pod("fit", memory="8Gi"),
        "gpu": pod("fit", extended={GPU: 1}),
        "cordon": pod("cordon"), "taint": pod("taint", tolerations=[{"key": "t"}]),
        "selector": pod("affinity", node_selector={"disk": "fast", "cpu": "new"}),
        "name": pod("affinity", affinity={"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["d"]}],
                 "matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}}}),
        "port": pod("port", ports=[80]),
        "domains": pod("spread", spread=evenly(minDomains=9), **web),
        "rack": pod("spread", spread=evenly("rack")),
        "honour": pod("spread", spread=evenly(minDomains=9, nodeTaintsPolicy="Honor"),
                      tolerations=[{"operator": "Exists"}], **web),
        "near": pod("pods", affinity=near("db")),
        "near-host": pod("pods", affinity=near("db", HOST)),
        "near-rack": pod("pods", affinity=near("web", "rack")),
        "far": pod("pods", affinity=far("web")), "loud": pod("pods", labels={"app": "loud"}),
        "feature": needy("feature"),
        "mixed": pod("all", cpu="7", node_selector={"disk": "fast"},
                     tolerations=[{"operator": "Exists"}]),
        "mixed-pods": pod("all", affinity=near("db"), ports=[80],
                          tolerations=[{"operator": "Exists"}]),
    }


def prepare(c, pods=None):
    """Creates three nodes that none of the pods can use, and the waiting pods."""
    c.log_begins = {who: len(c.schedulers[who].text()) for who in BOTH}
    for name, zone in (("a", "1"), ("b", "2"), ("c", "3")):
        for obj in (node(name, zone), *on_node(name)):
            c.create(NODES if obj["kind"] == "Node" else PODS, obj)
    make_twice(c, {LAST: needy("last", priority_class="last", node_selector={"for": "nobody"})})
    do = Changes(c)
    do.come_to_rest()
    make_twice(c, pods or waiting())
    do.begin()
    return do


# ---- changes -------------------------------------------------------------------------------------

@test
def changes_of_nodes(c):
    do = prepare(c)
    do.node("a", "a label that nobody wants", labelled(colour="red"))
    do.node("a", "one of two labels that are wanted", labelled(disk="fast"))
    do.node("a", "another value of it", labelled(disk="slow"))
    do.node("a", "it again", labelled(disk="fast"))
    do.node("a", "an annotation", {"metadata": {"annotations": {"a": "b"}}})
    do.node("b", "another zone", in_zone("4"))
    do.node("b", "a zone that is there", in_zone("3"))
    do.node("b", "no zone", in_zone(None))
    do.node("b", "a zone again", in_zone("2"))
    do.node("a", "one taint more", tainted("t", "u", "v"))
    do.node("a", "other taints", tainted("t", "w"))
    do.node("b", "an effect that does not matter", {"spec": {"taints": [
        {"key": "t", "effect": "NoSchedule"}, {"key": "x", "effect": "PreferNoSchedule"},
        {"key": "u", "effect": "NoExecute"}]}})
    do.node_status("a", "more memory, not enough", allocatable={"memory": "8200Mi"})
    do.node_status("a", "more cpu, not enough", allocatable={"cpu": "4100m"})
    do.node_status("a", "less cpu", allocatable={"cpu": "4"})
    do.node_status("a", "more pods", allocatable={"pods": "600"})
    do.node_status("a", "more capacity", capacity={"cpu": "64"})
    do.node_status("a", "none of the GPUs that are wanted", allocatable={GPU: "0"})
    do.node_status("a", "more storage", allocatable={"ephemeral-storage": "200Gi"})
    do.node_status("a", "a condition", conditions=[{"type": "Ready", "status": "False"}])
    do.node_status("a", "a time in a condition", conditions=[
        {"type": "Ready", "status": "False", "reason": "Other"}])
    do.node_status("a", "images", images=[{"names": ["registry.test/pause:3.10"], "sizeBytes": 1}])
    # New nodes, and deleted old ones.
    for name, zone, what in (("e", "9", "a zone of its own"), ("f", "3", "a zone that is there"),
                             ("g", None, "no zone")):
        for pod in on_node(name, cpu="100m"):
            do.add(f"a pod on node {name}, which is not there yet ({pod['metadata']['name']})", pod)
        do.add(f"node {name} with {what}", node(name, zone, cpu="1", memory="1Gi"))
        do.delete(f"{NODES}/{name}")
    # Changes that help.
    do.node_status("c", "what is wanted", allocatable={GPU: "2"})
    do.node_status("c", "twice the cpu", allocatable={"cpu": "9"})
    do.node("c", "the other label and the first", labelled(disk="fast", cpu="new"))
    do.node("c", "uncordoned", {"spec": {"unschedulable": None}})
    do.node("c", "no taint", {"spec": {"taints": None}})
    do.node_status("c", "the feature", declaredFeatures=["RestartAllContainersOnContainerExits"])
    do.node("c", "a rack", labelled(rack="1"))
    do.conclude()


@test
def changes_of_pods_that_have_a_node(c):
    do = prepare(c)
    do.add("a pod that nobody knows", make_pod("other", node_name="a"))
    do.pod("other", "a label that nobody knows", labelled(colour="red"))
    do.pod("other", "what is to be spread", labelled(app="web"))
    do.pod("other", "an annotation", {"metadata": {"annotations": {"a": "b"}}})
    do.pod("other", "it is another thing", labelled(app="none"))
    do.delete(f"{PODS}/other")
    do.add("one more to be spread", make_pod("web", node_name="a", labels={"app": "web"}))
    do.delete(f"{PODS}/web")
    do.add("one in another namespace", make_pod("web", ns="red", node_name="a",
                                                labels={"app": "web"}))
    do.pod("web-a", "less cpu", {"spec": {"containers": [
        {"name": "main", "resources": {"requests": {"cpu": "900m"}}}]}}, "/resize")
    do.pod("web-a", "more cpu", {"spec": {"containers": [
        {"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}, "/resize")
    do.pod("web-a", "less memory", {"spec": {"containers": [
        {"name": "main", "resources": {"requests": {"memory": "50Mi"}}}]}}, "/resize")
    do.pod("shy-a", "a label", labelled(a="b"))
    do.delete(f"{PODS}/shy-a")
    do.add("one that takes another port", make_pod("other", node_name="a", ports=[82]))
    do.delete(f"{PODS}/other")
    do.add("one that has the port at one address", make_pod("same", node_name="a", ports=[
        {"containerPort": 80, "hostPort": 80, "hostIP": "127.0.0.1"}]))
    do.delete(f"{PODS}/same")
    do.add("one with a GPU that is not there", make_pod("gpu", node_name="a", extended={GPU: 1}))
    do.delete(f"{PODS}/gpu")
    do.add("one that keeps others away too", make_pod("shy", node_name="b", affinity=far("loud")))
    do.delete(f"{PODS}/shy")
    # A completed pod, and one that terminates but still exists.
    do.add("one that will end", make_pod("ends", node_name="b", labels={"app": "web"}))
    do.pod("ends", "it has ended", {"status": {"phase": "Succeeded"}}, "/status")
    do.pod("ends", "a label when it has ended", labelled(app="db"))
    do.delete(f"{PODS}/ends")
    stays = make_pod("stays", node_name="b", labels={"app": "web"})
    stays["metadata"]["finalizers"] = ["example.com/stays"]
    do.add("one that stays", stays)
    do.delete(f"{PODS}/stays")
    do.pod("stays", "nothing holds it", {"metadata": {"finalizers": None}})
    do.add("what is wanted, by nobody's scheduler", make_pod("db", labels={"app": "db"},
                                                             scheduler_name="nobody"))
    do.pod("db", "a label", labelled(a="b"))
    do.delete(f"{PODS}/db")
    do.add("what is wanted, on a node", make_pod("db-a", labels={"app": "db"}, node_name="a"))
    do.conclude()


def more_tolerations(c, name, *more):
    """The pod's tolerations, except that of key y, and these."""
    has = [t for t in c.pod(f"kube-{name}")["spec"].get("tolerations", []) if t.get("key") != "y"]
    return {"spec": {"tolerations": has + list(more)}}


@test
def changes_of_the_pods_that_wait(c):
    do = prepare(c)
    names = list(waiting())
    do.twins("an annotation", {n: {"metadata": {"annotations": {"a": "b"}}} for n in names})
    do.twins("a label", {n: labelled(a="b") for n in names})
    do.twins("a toleration", {n: more_tolerations(c, n, {"key": "x", "operator": "Exists"})
                              for n in names})
    for seconds in (300, 200):
        y = {"key": "y", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
        do.twins(f"{seconds} s of toleration", {n: more_tolerations(c, n, y) for n in names})
    do.twins("what it wants itself", {"near": labelled(app="db")})
    do.twins("quiet", {"loud": labelled(app="quiet")})
    do.twins("tolerations that help", {"taint": more_tolerations(
        c, "taint", y, *[{"key": key, "operator": "Exists"} for key in ("t", "u")])})
    do.twins("a toleration that helps", {"cordon": more_tolerations(
        c, "cordon", y, {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"})})
    for name in ("gpu", "rack"):
        for who in BOTH:
            c.delete(f"{PODS}/{who}-{name}?gracePeriodSeconds=0")
        do.done(f"{name} itself: gone")
    do.conclude()


# ---- volumes -------------------------------------------------------------------------------------

CORE, STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
CLAIM_PATH, VOLUME_PATH = f"{CORE}/namespaces/default/persistentvolumeclaims", f"{CORE}/persistentvolumes"
CAPACITY_PATH = f"{STORAGE}/namespaces/default/csistoragecapacities"
NO_PROVISIONER = "kubernetes.io/no-provisioner"


def storage_class(name, provisioner, mode="WaitForFirstConsumer", **more):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
            "provisioner": provisioner, "volumeBindingMode": mode, **more}


def topologies(zone):
    return [{"matchLabelExpressions": [{"key": ZONE, "values": [zone]}]}]


def claim(name, storage, annotations=None, **more):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"storageClassName": storage, "accessModes": ["ReadWriteOnce"],
                     "resources": {"requests": {"storage": "5Gi"}}, **more}}


def volume(name, storage, host, size="1Gi"):
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {"storageClassName": storage, "capacity": {"storage": size},
                     "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/none"},
                     "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [
                         {"key": HOST, "operator": "In", "values": [host]}]}]}}}}


def capacity(size):
    return {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity",
            "metadata": {"name": "pool"}, "storageClassName": "tracked", "capacity": size,
            "nodeTopology": {"matchLabels": {ZONE: "1"}}}


STORAGE_OBJECTS = [
    (f"{STORAGE}/storageclasses", storage_class("local", NO_PROVISIONER)),
    (f"{STORAGE}/storageclasses", storage_class("now", NO_PROVISIONER, "Immediate")),
    (f"{STORAGE}/storageclasses", storage_class("tracked", "tracked.example")),
    (f"{STORAGE}/storageclasses", storage_class("far", "far.example",
                                                allowedTopologies=topologies("9"))),
    (f"{STORAGE}/csidrivers", {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver",
                               "metadata": {"name": "tracked.example"},
                               "spec": {"storageCapacity": True}}),
    (VOLUME_PATH, volume("elsewhere", "other", "nowhere")),
    (CLAIM_PATH, claim("static", "local")), (CLAIM_PATH, claim("now", "now")),
    (CLAIM_PATH, claim("tracked", "tracked")), (CLAIM_PATH, claim("far", "far")),
    (CLAIM_PATH, claim("bound", "other", {"pv.kubernetes.io/bind-completed": "yes"},
                       volumeName="elsewhere")),
]


def waiting_for_volumes():
    def pod(*claims, more=()):
        return make_pod("p", scheduler_name="volume", spec={"volumes": [
            {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
            for i, name in enumerate(claims)] + list(more)})
    return {
        "missing": pod("missing"), "static": pod("static"), "now": pod("now"),
        "tracked": pod("tracked"), "far": pod("far"), "bound": pod("bound"),
        "inline": pod("missing", more=[{"name": "i", "csi": {"driver": "tracked.example"}}]),
        "ephemeral": pod(more=[{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}}}]),
        "two": pod("static", "bound"),
    }


def change_volumes(c, do):
    def create(what, path, obj):
        c.create(path, obj)
        do.done(what)

    def patch(what, path, body):
        c.patch(path, body)
        do.done(what)
    create("a class that nobody uses", f"{STORAGE}/storageclasses", storage_class("new", "x.example"))
    patch("a label of a class", f"{STORAGE}/storageclasses/far", labelled(a="b"))
    patch("other topologies", f"{STORAGE}/storageclasses/far", {"allowedTopologies": topologies("8")})
    create("a claim that nobody uses", CLAIM_PATH, claim("other", "local"))
    patch("an annotation of a claim", f"{CLAIM_PATH}/static", {"metadata": {"annotations": {"a": "b"}}})
    patch("a label of a claim of two", f"{CLAIM_PATH}/bound", labelled(a="b"))
    create("a volume that is too small", VOLUME_PATH, volume("small", "local", "a"))
    patch("a label of a volume", f"{VOLUME_PATH}/small", labelled(a="b"))
    create("a CSINode", f"{STORAGE}/csinodes", {
        "apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a"},
        "spec": {"drivers": []}})
    patch("a label of a CSINode", f"{STORAGE}/csinodes/a", labelled(a="b"))
    patch("a migrated plugin", f"{STORAGE}/csinodes/a", {"metadata": {"annotations": {
        "storage.alpha.kubernetes.io/migrated-plugins": "kubernetes.io/aws-ebs"}}})
    create("too little capacity", CAPACITY_PATH, capacity("1Gi"))
    patch("more capacity", f"{CAPACITY_PATH}/pool", {"capacity": "2Gi"})
    patch("less capacity", f"{CAPACITY_PATH}/pool", {"capacity": "1Gi"})
    patch("a label of a capacity", f"{CAPACITY_PATH}/pool", labelled(a="b"))
    patch("capacity is not tracked", f"{STORAGE}/csidrivers/tracked.example", {"spec": {
        "storageCapacity": False}})
    do.node("a", "a taint more", tainted("t", "u", "v"))
    do.node("b", "a label that nobody wants", labelled(colour="red"))
    do.delete(f"{VOLUME_PATH}/small")
    for who in BOTH:
        c.create(CLAIM_PATH, claim(f"{who}-ephemeral-e", "local"))
    do.done("claims of ephemeral volumes that are not the pods'")


@test
def changes_of_volumes(c):
    for path, obj in STORAGE_OBJECTS:
        c.create(path, obj)
    try:
        do = prepare(c, waiting_for_volumes())
        change_volumes(c, do)
        do.conclude()
    finally:
        for path in (f"{STORAGE}/storageclasses", f"{STORAGE}/csidrivers", f"{STORAGE}/csinodes",
                     CAPACITY_PATH, CLAIM_PATH, VOLUME_PATH):
            c.delete(path)


OBJECTS = [
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "red"}},
    {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "last"},
     "value": -1000},
]

if __name__ == "__main__":
    main(fixture=side_by_side.cluster(profiles, OBJECTS), after=after)
