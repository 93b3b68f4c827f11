#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of one object grows at most linearly with each of its lists.

Users write pods and configurations. If they make any list of a pod, node or configuration long,
berth's work and memory must grow in proportion: a pod of a megabyte must not take minutes or
gigabytes. Each case makes one list n, 2n and 4n long and lets `berth simulate` place the pods, or
`berth config validate` check the configuration. The work is counted, not timed (tests/counting),
so that a busy machine makes no difference.

From 2n to 4n the work of a linear program increases by twice as much as from n to 2n, with n log n
by about 2.2 times as much, quadratically by 4 times.

    test_growth.py                  all cases
    test_growth.py tolerations      those whose name contains a word
    test_growth.py --table          prints the measurements without judging them
"""

import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

import berth
from berth import ROOT, make_node, make_pod
from config_files import HEAD
from tap import check, main, test

N = 500                 # elements; then twice and four times as many
MOST = 2.5              # maximal ratio of the increases; see above

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


# ---- objects -------------------------------------------------------------------------------------

def nodes(n=12, **more):
    return [make_node(f"node-{i}", cpu="640", memory="2560Gi", pods=100000, zone=f"z{i % 3}", **more)
            for i in range(n)]


def pod(name, spec=None, labels=None, node=None, **meta):
    p = make_pod(name, cpu="10m")
    p["metadata"].update(meta)
    if labels:
        p["metadata"]["labels"] = labels
    p["spec"].update(spec or {})
    if node:
        p["spec"]["nodeName"] = node
        p.setdefault("status", {})["phase"] = "Running"
    return p


def others(n=8):
    """Running pods, and waiting pods without special demands."""
    return ([pod(f"run-{i}", labels={"app": f"a{i % 3}"}, node=f"node-{i}") for i in range(n)] +
            [pod(f"wait-{i}", labels={"app": f"a{i % 3}"}) for i in range(4)])


def selector(i):
    """Different for every i; matches every pod."""
    return {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": [f"x{i}"]}]}


def term(i, key=None, **more):
    return {"topologyKey": key or f"example.com/key-{i}", "labelSelector": selector(i), **more}


def affinity(kind, terms):
    if kind.startswith("preferred"):
        terms = [{"weight": 1 + i % 100, "podAffinityTerm": t} for i, t in enumerate(terms)]
    which = "podAntiAffinity" if kind.endswith("anti") else "podAffinity"
    when = PREFERRED if kind.startswith("preferred") else REQUIRED
    return {"affinity": {which: {when: terms}}}


def constraint(i, when, key=None):
    return {"maxSkew": 1, "topologyKey": key or f"example.com/key-{i}", "whenUnsatisfiable": when,
            "labelSelector": selector(i)}


def node_affinity(**parts):
    return {"affinity": {"nodeAffinity": parts}}


def container(i, **more):
    return {"name": f"c{i}", "image": f"registry.example/image-{i}:v1",
            "resources": {"requests": {"cpu": "1m"}}, **more}


# ---- cases ---------------------------------------------------------------------------------------

CASES = {}


def case(function):
    """function(n) returns documents, lists of documents that are applied one after the other, or the
    text of a configuration."""
    CASES[function.__name__.replace("_", " ")] = function
    return function


def around(make):
    """A case about one waiting pod among others; and about the same pod on a node, then deleted."""
    name = make.__name__.replace("_", " ")

    def waiting(n):
        tainted = make_node("tainted", taints=[{"key": "k1", "value": "v", "effect": "NoSchedule"},
                                               {"key": "k2", "effect": "PreferNoSchedule"}])
        return nodes() + [tainted] + others() + [pod("long", make(n), labels={"app": "long"})]

    def running(n):
        there = pod("long", make(n), labels={"app": "long"}, node="node-0", uid="long")
        again = [pod(f"again-{i}", labels={"app": "a1"}) for i in range(3)]
        return (nodes() + [there] + others(),
                [{"type": "DELETED", "object": there}] + again)

    CASES[name + ", waiting"] = waiting
    CASES[name + ", running"] = running
    return make


@around
def affinity_terms_with_keys_of_no_node(n):
    return affinity("required", [term(i, namespaceSelector={}) for i in range(n)])


@around
def anti_affinity_terms_with_keys_of_no_node(n):
    return affinity("required anti", [term(i, namespaceSelector={}) for i in range(n)])


@around
def preferred_terms_with_keys_of_no_node(n):
    return affinity("preferred", [term(i, namespaceSelector={}) for i in range(n)])


@around
def preferred_anti_terms_with_keys_of_no_node(n):
    return affinity("preferred anti", [term(i, namespaceSelector={}) for i in range(n)])


@around
def affinity_terms_with_different_selectors(n):
    return affinity("required", [term(i, ZONE) for i in range(n)])


@around
def anti_affinity_terms_with_different_selectors(n):
    terms = [{"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": f"x{i}"}}}
             for i in range(n)]
    return affinity("required anti", terms)


@around
def anti_affinity_terms_that_mean_everybody(n):
    return affinity("required anti", [term(i, ZONE, namespaceSelector={}) for i in range(n)])


@around
def preferred_terms_with_different_selectors(n):
    return affinity("preferred", [term(i, HOSTNAME, namespaceSelector={}) for i in range(n)])


@around
def preferred_anti_terms_with_different_selectors(n):
    return affinity("preferred anti", [term(i, ZONE) for i in range(n)])


@around
def requirements_of_one_term(n):
    expressions = [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(n)]
    return affinity("required anti",
                    [{"topologyKey": ZONE, "labelSelector": {"matchExpressions": expressions}}])


@around
def values_of_one_requirement(n):
    values = [f"v{i}" for i in range(n)]
    return affinity("preferred", [{"topologyKey": ZONE, "labelSelector": {"matchExpressions": [
        {"key": "app", "operator": "NotIn", "values": values}]}}])


@around
def namespaces_of_one_term(n):
    return affinity("required anti", [term(0, ZONE, namespaces=[f"ns-{i}" for i in range(n)])])


@around
def namespace_selectors(n):
    return affinity("preferred", [
        term(0, ZONE, namespaceSelector={"matchLabels": {f"l{i}": "x"}}) for i in range(n)])


@around
def spread_constraints_with_keys_of_no_node(n):
    return {"topologySpreadConstraints": [constraint(i, "ScheduleAnyway") for i in range(n)]}


@around
def required_spread_constraints_with_keys_of_no_node(n):
    return {"topologySpreadConstraints": [constraint(i, "DoNotSchedule") for i in range(n)]}


@around
def spread_constraints_with_different_selectors(n):
    return {"topologySpreadConstraints": [constraint(i, "ScheduleAnyway", ZONE) for i in range(n)]}


@around
def required_spread_constraints_with_different_selectors(n):
    return {"topologySpreadConstraints": [constraint(i, "DoNotSchedule", ZONE) for i in range(n)]}


@around
def label_keys_that_spreading_matches(n):
    return {"topologySpreadConstraints": [
        {**constraint(0, "ScheduleAnyway", ZONE), "matchLabelKeys": [f"k{i}" for i in range(n)]}]}


@around
def tolerations(n):
    return {"tolerations": [{"key": f"x{i}", "operator": "Exists"} for i in range(n)]}


@around
def host_ports(n):
    return {"containers": [container(0, ports=[
        {"containerPort": 1 + i, "hostPort": 1 + i} for i in range(n)])]}


@around
def host_addresses(n):
    return {"containers": [container(0, ports=[
        {"containerPort": 80, "hostPort": 80, "hostIP": f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}"}
        for i in range(n)])]}


@around
def containers(n):
    return {"containers": [container(i) for i in range(n)]}


def resource_of(i):
    return {"resources": {"requests": {f"example.com/r{i}": "0"}, "limits": {f"example.com/r{i}": "0"}}}


@around
def containers_with_resources_of_their_own(n):
    return {"containers": [container(i, **resource_of(i)) for i in range(n)]}


@around
def init_containers_with_resources_of_their_own(n):
    return {"initContainers": [container(i, **resource_of(i)) for i in range(n)],
            "containers": [container(n)]}


@around
def sidecars_with_resources_of_their_own(n):
    return {"initContainers": [container(i, restartPolicy="Always", **resource_of(i)) for i in range(n)],
            "containers": [container(n)]}


@around
def init_containers(n):
    return {"initContainers": [container(i, restartPolicy="Always") for i in range(n)],
            "containers": [container(n)]}


@around
def extended_resources(n):
    amounts = {f"example.com/r{i}": "0" for i in range(n)}
    return {"containers": [container(0, resources={"requests": amounts, "limits": amounts})]}


@around
def extended_resources_that_lack(n):
    amounts = {f"example.com/r{i}": "1" for i in range(n)}
    return {"containers": [container(0, resources={"requests": amounts, "limits": amounts})]}


@around
def node_selector_labels(n):
    return {"nodeSelector": {f"k{i}": "v" for i in range(n)}}


@around
def node_affinity_terms(n):
    terms = [{"matchExpressions": [{"key": f"k{i}", "operator": "Exists"}]} for i in range(n)]
    return node_affinity(**{REQUIRED: {"nodeSelectorTerms": terms}})


@around
def node_affinity_expressions(n):
    expressions = [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(n)]
    return node_affinity(**{REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}})


@around
def node_affinity_values(n):
    values = [f"z{i}" for i in range(n)]
    return node_affinity(**{REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [
        {"key": ZONE, "operator": "In", "values": values}]}]}})


@around
def node_names(n):
    terms = [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": [f"node-{i}"]}]}
             for i in range(n)]
    return node_affinity(**{REQUIRED: {"nodeSelectorTerms": terms}})


@around
def preferred_node_terms(n):
    terms = [{"weight": 1 + i % 100, "preference": {"matchExpressions": [
        {"key": f"k{i}", "operator": "DoesNotExist"}]}} for i in range(n)]
    return node_affinity(**{PREFERRED: terms})


@around
def node_demands_and_spread_constraints(n):
    """Two long lists of one pod at once."""
    expressions = [{"key": f"k{i}", "operator": "DoesNotExist"} for i in range(n)]
    return {**node_affinity(**{REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": expressions}]}}),
            "topologySpreadConstraints": [constraint(i, "DoNotSchedule", ZONE) for i in range(n)]}


@around
def scheduling_gates(n):
    return {"schedulingGates": [{"name": f"example.com/g{i}"} for i in range(n)]}


@around
def volumes(n):
    return {"volumes": [{"name": f"v{i}", "persistentVolumeClaim": {"claimName": f"claim-{i}"}}
                        for i in range(n)]}


def bound_claim(i, driver):
    """A claim and its volume."""
    return [{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": f"pv-{i}"},
             "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteMany"],
                      "storageClassName": "", "csi": {"driver": driver, "volumeHandle": f"h-{i}"},
                      "claimRef": {"namespace": "default", "name": f"claim-{i}", "uid": f"claim-{i}"}},
             "status": {"phase": "Bound"}},
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim",
             "metadata": {"name": f"claim-{i}", "namespace": "default", "uid": f"claim-{i}",
                          "annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
             "spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "",
                      "volumeName": f"pv-{i}", "resources": {"requests": {"storage": "1Gi"}}},
             "status": {"phase": "Bound"}}]


@case
def drivers_of_a_csi_node(n):
    """The drivers in use have reached their limits; a pod wants the same volumes, and one others."""
    def csi_node(limit):
        return {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "node-0"},
                "spec": {"drivers": [{"name": f"d{i}.example.com", "nodeID": "node-0",
                                      "allocatable": {"count": limit if i == n - 1 else 1}}
                                     for i in range(8 * n)]}}
    claims = [o for i in range(n) for o in bound_claim(i, f"d{i}.example.com")]
    more = bound_claim(n, f"d{n - 1}.example.com")
    there = volumes(n)
    other = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"claim-{n}"}}]}
    return (nodes(1) + [csi_node(1)] + claims + more +
            [pod("there", there, node="node-0"), pod("same", there), pod("other", other)],
            [csi_node(2)])


@case
def labels_of_a_pod(n):
    labels = {f"k{i}": f"v{i}" for i in range(n)}
    near = affinity("preferred", [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"k1": "v1"}}}])
    return (nodes() + [pod("near", near, labels={"k1": "v1"}, node="node-1")] + others() +
            [pod("long", labels=labels), pod("there", labels=labels, node="node-2")])


@case
def annotations_of_a_pod(n):
    return nodes() + others() + [pod("long", annotations={f"k{i}": f"v{i}" for i in range(n)})]


@case
def owners_of_a_pod(n):
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"r{i}", "uid": f"u{i}",
               "controller": i == n - 1} for i in range(n)]
    return nodes() + others() + [pod("long", ownerReferences=owners)]


@case
def labels_of_a_node(n):
    long = make_node("long", zone="z1", labels={f"k{i}": f"v{i}" for i in range(n)})
    return nodes() + [long] + others()


@case
def constraints_and_labels_of_nodes(n):
    """Every key is on nodes, some keys only on part of them."""
    labels = {f"example.com/key-{i}": "x" for i in range(n)}
    spread = {"topologySpreadConstraints": [constraint(i, "ScheduleAnyway") for i in range(n)] +
              [constraint(i, "DoNotSchedule") for i in range(n)]}
    return (nodes(3, labels=labels) + [make_node("without", zone="z1")] +
            [pod("there", node="node-1", labels={"app": "a"}), pod("long", spread, labels={"app": "a"}),
             pod("again", spread, labels={"app": "a"})])


@case
def terms_and_labels_of_nodes(n):
    labels = {f"example.com/key-{i}": "x" for i in range(n)}
    likes = affinity("preferred", [term(i) for i in range(n)])
    hates = affinity("required anti", [term(i) for i in range(n)])
    return (nodes(3, labels=labels) + [make_node("without", zone="z1")] +
            [pod("there", hates, node="node-1", labels={"app": "a"}),
             pod("liked", likes, node="node-2", labels={"app": "a"}),
             pod("likes", likes), pod("hates", hates)] + others(0))


@case
def taints_of_a_node(n):
    long = make_node("long", zone="z1", taints=[
        {"key": f"k{i}", "value": "v", "effect": "NoSchedule"} for i in range(n)])
    return nodes() + [long] + others() + [pod("all", {"tolerations": [{"operator": "Exists"}]})]


@case
def images_of_a_node(n):
    images = [{"names": [f"registry.example/image-{i}:v1"], "sizeBytes": 50 << 20} for i in range(n)]
    return nodes() + [make_node("long", zone="z1", images=images)] + others()


@case
def images_of_a_node_and_containers(n):
    images = [{"names": [f"registry.example/image-{i}:v1"], "sizeBytes": 50 << 20} for i in range(n)]
    return (nodes() + [make_node("long", zone="z1", images=images)] + others() +
            [pod("long", {"containers": [container(i) for i in range(n)]})])


@case
def extended_resources_of_a_node(n):
    amounts = {f"example.com/r{i}": "5" for i in range(n)}
    wants = {k: "1" for k in amounts}
    return (nodes(2) + [make_node("long", zone="z1", extended=amounts)] + others(0) +
            [pod("long", {"containers": [container(0, resources={"requests": wants, "limits": wants})]})])


@case
def host_ports_against_host_ports(n):
    def ports(first):
        return {"containers": [container(0, ports=[
            {"containerPort": first + i, "hostPort": first + i} for i in range(n)])]}
    return (nodes(4) + [pod("there", ports(1), node="node-0"), pod("long", ports(1 + n)),
                        pod("taken", ports(1))])


@case
def services_of_a_namespace(n):
    services = [{"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"s{i}", "namespace": "default"},
                 "spec": {"selector": {"app": f"a{i % 3}"}}} for i in range(n)]
    return nodes() + services + others()


@case
def labels_of_a_namespace(n):
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "default", "labels": {f"k{i}": "v" for i in range(n)}}}
    there = affinity("required anti", [term(0, ZONE, namespaceSelector={"matchLabels": {"k1": "v"}})])
    return nodes() + [namespace, pod("there", there, node="node-0")] + others()


@case
def terms_of_a_pod_that_preempts(n):
    small = [make_node(f"node-{i}", cpu="1", zone=f"z{i % 3}") for i in range(6)]
    low = [pod(f"low-{i}", {"containers": [container(0, resources={"requests": {"cpu": "900m"}})],
                            "priority": 1}, labels={"app": "a1"}, node=f"node-{i}") for i in range(6)]
    spec = {**affinity("required anti", [term(i, ZONE, namespaceSelector={}) for i in range(n)] +
                       [term(i) for i in range(n)]),
            "topologySpreadConstraints": [constraint(i, "DoNotSchedule", ZONE) for i in range(n)],
            "containers": [container(0, resources={"requests": {"cpu": "500m"}})], "priority": 1000}
    return small + low + [pod("long", spec, labels={"app": "a1"})]


@case
def terms_of_pods_that_are_preempted(n):
    small = [make_node(f"node-{i}", cpu="1", zone=f"z{i % 3}") for i in range(3)]
    spec = {**affinity("required anti", [term(i, HOSTNAME) for i in range(n)] +
                       [term(i) for i in range(n)]),
            "containers": [container(0, resources={"requests": {"cpu": "900m"}})], "priority": 1}
    low = [pod(f"low-{i}", spec, labels={"app": "a1"}, node=f"node-{i}") for i in range(3)]
    high = pod("high", {"containers": [container(0, resources={"requests": {"cpu": "500m"}})],
                        "priority": 1000}, labels={"app": "a1"})
    return small + low + [high]


@case
def pods_with_keys_of_no_node(n):
    """The cost of one pod does not depend on how many others use their own keys."""
    return nodes() + [pod(f"p{k}", affinity("preferred" if k % 2 else "required anti", [
        term(k * 10 + i, namespaceSelector={}) for i in range(10)])) for k in range(n)]


@case
def pods_with_selectors_of_their_own(n):
    return nodes() + [pod(f"p{k}", {**affinity("preferred anti", [
        {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": f"a{k}"}}}]),
        "topologySpreadConstraints": [{**constraint(0, "ScheduleAnyway", ZONE), "labelSelector":
                                       {"matchLabels": {"app": f"a{k}"}}}]},
        labels={"app": "one"}) for k in range(n)]


@case
def events_while_a_long_pod_waits(n):
    """The pod waits while nodes and pods are added and deleted; each event calls its hints."""
    spec = {**affinity("required anti", [term(i, ZONE, namespaceSelector={}) for i in range(n)]),
            "topologySpreadConstraints": [constraint(i, "DoNotSchedule", ZONE) for i in range(n)]}
    changes = []
    for i in range(6):
        changes += [{"type": "DELETED", "object": pod(f"run-{i}", labels={"app": "a"}, node=f"node-{i}")},
                    make_node(f"more-{i}", zone="z9")]
    return (nodes(6) + [pod(f"run-{i}", labels={"app": "a"}, node=f"node-{i}") for i in range(6)] +
            [pod("long", spec, labels={"app": "a"})], changes)


# ---- plugins of scheduler-plugins ---------------------------------------------------------------

PLUGINS = {}    # of a case: the text of a configuration


def with_plugin(name):
    """A case whose pods are scheduled with this plugin, which also preempts."""
    def add(function):
        PLUGINS[function] = HEAD + f"""profiles:
- plugins:
    multiPoint: {{enabled: [{{name: {name}}}]}}
    postFilter: {{disabled: [{{name: '*'}}], enabled: [{{name: {name}}}]}}
"""
        return case(function)
    return add


def quota(namespace, amounts):
    return {"apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
            "metadata": {"name": "q", "namespace": namespace},
            "spec": {"min": amounts, "max": amounts}}


AMOUNTS = {"cpu": "1k", "memory": "100Gi"}


@with_plugin("CapacityScheduling")
def elastic_quotas(n):
    def of(i, node=None):
        p = pod(f"p{i}", node=node)
        p["metadata"]["namespace"] = f"ns{i}"
        return p
    return (nodes() + [quota(f"ns{i}", AMOUNTS) for i in range(n)] +
            [of(i, "node-0" if i % 2 else None) for i in range(n)])


@with_plugin("CapacityScheduling")
def resources_of_an_elastic_quota(n):
    amounts = {**AMOUNTS, **{f"example.com/r{i}": "5" for i in range(n)}}
    wants = {f"example.com/r{i}": "1" for i in range(n)}
    long = {"containers": [container(0, resources={"requests": wants, "limits": wants})]}
    return (nodes(2, extended=amounts) + others() +
            [quota("default", amounts), pod("there", long, node="node-0"), pod("long", long)])


@with_plugin("CapacityScheduling")
def containers_that_count_in_an_elastic_quota(n):
    def each(i):
        wants = {f"example.com/r{i % 3}": "1"}
        return container(i, resources={"requests": wants, "limits": wants})
    spec = {"containers": [each(i) for i in range(n)],
            "initContainers": [each(n + i) for i in range(n)]}
    amounts = {f"example.com/r{i}": f"{5 * n}" for i in range(3)}
    return (nodes(2, extended=amounts) +
            [quota("default", {**AMOUNTS, **amounts}), pod("there", spec, node="node-0"), pod("long", spec)])


# ---- configurations ------------------------------------------------------------------------------

def numbered(n, line):
    return "".join(line.format(i) for i in range(n))


CONFIGURATIONS = {
    "profiles": lambda n: "profiles:\n" + numbered(n, "- schedulerName: s{}\n"),
    "profiles of one name": lambda n: "profiles:\n" + numbered(n, "- schedulerName: s\n"),
    "extenders": lambda n: "extenders:\n" + numbered(n, "- managedResources: [{{name: a.com/{}}}]\n"),
    "pluginConfig": lambda n: "profiles:\n- pluginConfig:\n" + numbered(n, "  - name: P{}\n"),
    "enabled plugins": lambda n: "profiles:\n- plugins:\n    score:\n      enabled:\n" + numbered(
        n, "      - name: P{}\n"),
    "multiPoint": lambda n: "profiles:\n- plugins:\n    multiPoint:\n      enabled:\n" + numbered(
        n, "      - name: P{}\n"),
    "disabled plugins": lambda n: "profiles:\n- plugins:\n    multiPoint:\n      disabled:\n" +
    numbered(n, "      - name: P{}\n"),
    "default constraints": lambda n: "profiles:\n- pluginConfig:\n  - name: PodTopologySpread\n"
    "    args:\n      defaultingType: List\n      defaultConstraints:\n" + numbered(
        n, "      - {{maxSkew: 1, topologyKey: k{}, whenUnsatisfiable: ScheduleAnyway}}\n"),
    "unknown fields": lambda n: numbered(n, "x{}: 1\n"),
    "duplicate fields": lambda n: numbered(n, "parallelism: 1\n"),
}


def add_configurations():
    def add(name, make):
        CASES[f"configuration: {name}"] = lambda n: HEAD + make(10 * n)    # buffers that double

    for name, make in CONFIGURATIONS.items():
        add(name, make)


add_configurations()


# ---- measuring -----------------------------------------------------------------------------------

PROGRAM = os.path.join(ROOT, "build", "berth-counting")
COUNTS = {"engine_blocks": "what the engine does", "blocks": "what berth does",
          "peak_bytes": "memory"}


def build():
    subprocess.run(["make", "-s", "-C", ROOT, f"-j{os.cpu_count()}", "build/berth-counting"],
                   check=True, stdout=subprocess.DEVNULL)


def write(d, documents):
    """Writes the files. Returns the arguments of berth."""
    if isinstance(documents, str):
        path = os.path.join(d, "config.yaml")
        with open(path, "w") as f:
            f.write(documents)
        return ["config", "validate", path]
    steps = documents if isinstance(documents, tuple) else (documents,)
    args = ["simulate"]
    for i, step in enumerate(steps):
        path = os.path.join(d, f"step-{i}.json")
        with open(path, "w") as f:
            f.write("\n---\n".join(json.dumps(o) for o in step))
        args += (["--then"] if i else []) + [path]
    return args


def count(make, n):
    with tempfile.TemporaryDirectory() as d:
        counts = os.path.join(d, "counts")
        args = write(d, make(n))
        if make in PLUGINS:
            path = os.path.join(d, "plugins.yaml")
            with open(path, "w") as f:
                f.write(PLUGINS[make])
            args += ["--config", path]
        done = subprocess.run([PROGRAM, *args], timeout=600,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              env={**os.environ, "BERTH_COUNTS": counts})
        allowed = (0, 1) if args[0] == "config" else (0,)   # validate exits with 1 for faults
        check(done.returncode in allowed, f"exit code {done.returncode}: {done.stderr[-1000:]}")
        with open(counts) as f:
            return json.load(f)


def measure(name):
    """By kind of count: the counts of n, 2n and 4n."""
    counts = [count(CASES[name], n) for n in (N, 2 * N, 4 * N)]
    return {what: [c[what] for c in counts] for what in COUNTS}


def growth(v):
    """The increase from 2n to 4n divided by that from n to 2n."""
    return max(0, v[2] - v[1]) / max(1, v[1] - v[0])


def grows_linearly(v):
    # Small increases may be steps: buffers that double, the seed of a hash.
    return growth(v) <= MOST or v[2] - v[1] < v[0] / 4


def measure_all(names):
    """As many at a time as there are processors."""
    pool = concurrent.futures.ThreadPoolExecutor(os.cpu_count())
    return {name: pool.submit(measure, name) for name in names}


def add_tests(chosen):
    measured = measure_all(chosen)

    def add(name):
        def function(_):
            for what, v in measured[name].result().items():
                check(grows_linearly(v), f"{COUNTS[what]}: {v}, {growth(v):.2f} times as much")
        function.__name__ = f"linear in {name}"
        test(function)

    for name in chosen:
        add(name)


def table(chosen):
    for name, measured in measure_all(chosen).items():
        cells = [f"{growth(v):5.2f} {v[2] / 1e6:9.2f} M" + (" " if grows_linearly(v) else "!")
                 for v in measured.result().values()]
        print(f"{name:62}", *cells, flush=True)


if __name__ == "__main__":
    words = [a for a in sys.argv[1:] if not a.startswith("--")]
    picked = [n for n in CASES if not words or any(w.replace("_", " ") in n for w in words)]
    build()
    if "--table" in sys.argv:
        table(picked)
    else:
        sys.argv[1:] = []
        add_tests(picked)
        main(fixture=tempfile.TemporaryDirectory)
