#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Policy of releases up to 1.22, from a file or a ConfigMap of a real API server: which one is
used, its effect on pods, and the errors if it is missing, forbidden or invalid."""

import json
import os

import berth
from berth import NODES, PODS, add_nodes, add_pods, equal, make_node, make_pod, wait_bound
from cluster import Cluster, free_port
from tap import contains, main, test

NAMESPACE = "guide"
MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"


def policy(*priorities, **more):
    return json.dumps({"kind": "Policy", "apiVersion": "v1",
                       "predicates": [{"name": "GeneralPredicates"}],
                       "priorities": [{"name": p, "weight": 1} for p in priorities], **more})


# The first attracts pods to the node in use, the second repels them from it.
PACK, SPREAD = policy("MostRequestedPriority"), policy("LeastRequestedPriority")


def forget(c):
    for path in (MAPS, f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles",
                 f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings"):
        c.delete(path)


def make_world(c):
    """Two nodes, one of them half full; a namespace for the ConfigMaps."""
    if NAMESPACE not in [n["metadata"]["name"] for n in c.get("/api/v1/namespaces")["items"]]:
        c.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    forget(c)
    add_nodes(c, make_node("used"), make_node("free"))
    c.create(PODS, make_pod("resident", cpu="4", memory="16Gi", node_name="used"))


def allow(c):
    """Lets the scheduler read ConfigMaps of that namespace; its role does not."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}"
    c.create(f"{rbac}/roles", {"metadata": {"name": "reader"}, "rules": [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}]})
    c.create(f"{rbac}/rolebindings", {
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
        "subjects": [{"kind": "User", "name": "system:kube-scheduler"}]})


def put_map(c, name, **data):
    c.create(MAPS, {"metadata": {"name": name}, "data": data})


def file(c, text, name="policy.json"):
    path = os.path.join(c.dir, name)
    with open(path, "w") as f:
        f.write(text)
    return path


def from_map(name):
    return [f"--policy-configmap={name}", f"--policy-configmap-namespace={NAMESPACE}"]


def place(c, *flags, config=None, scheduler="default-scheduler"):
    """The node that a pod gets from a scheduler with these flags."""
    p = berth.start(c, *flags, config=config)
    add_pods(c, make_pod("pod", scheduler_name=scheduler))
    node = wait_bound(c, "pod")
    berth.stop(p)
    c.delete(f"{PODS}/pod?gracePeriodSeconds=0")
    berth.wait_for(lambda: [x["metadata"]["name"] for x in c.pods()] == ["resident"], berth.TIMEOUT,
                   what="the pod is gone")
    return node


def refused(c, *flags, config=None):
    where = [f"--config={config}"] if config else [f"--kubeconfig={c.scheduler_kubeconfig}"]
    done = berth.run("scheduler", *where, "--secure-port=0", *flags)
    equal(done.code, 1, f"exit code with {flags}")
    return done.err.splitlines()[-1]


# ---- effects -------------------------------------------------------------------------------------

@test
def a_policy_in_a_file_decides(c):
    make_world(c)
    for text, node in ((PACK, "used"), (SPREAD, "free")):
        equal(place(c, f"--policy-config-file={file(c, text)}"), node, "node")


@test
def a_policy_in_a_configmap_decides(c):
    make_world(c)
    allow(c)
    put_map(c, "pack", **{"policy.cfg": PACK})
    put_map(c, "spread", **{"policy.cfg": SPREAD})
    equal(place(c, *from_map("pack")), "used", "node")
    equal(place(c, *from_map("spread")), "free", "node")


@test
def the_map_counts_before_the_file_unless_the_legacy_way_is_asked_for(c):
    make_world(c)
    allow(c)
    put_map(c, "pack", **{"policy.cfg": PACK})
    both = [f"--policy-config-file={file(c, SPREAD)}"] + from_map("pack")
    equal(place(c, *both), "used", "node by the map")
    equal(place(c, *both, "--use-legacy-policy-config"), "free", "node by the file")


@test
def a_policy_takes_the_place_of_all_profiles_of_a_configuration(c):
    """As in 1.22: pods of default-scheduler are scheduled, whatever the profiles' names."""
    make_world(c)
    named = berth.scheduler_config(c, "named", profiles=[{"schedulerName": "mine"}])
    several = berth.scheduler_config(c, "several", profiles=berth.PROFILES)
    for config, text, node in ((named, PACK, "used"), (several, SPREAD, "free")):
        equal(place(c, f"--policy-config-file={file(c, text)}", config=config), node, "node")


@test
def a_scheduler_of_that_time_runs_by_the_flags_of_that_time(c):
    """Name, lease and Policy by flags; the port without TLS is accepted and not served."""
    make_world(c)
    allow(c)
    put_map(c, "my-policy", **{"policy.cfg": PACK})
    c.create(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/roles", {
        "metadata": {"name": "leader"}, "rules": [{
            "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
            "verbs": ["create", "get", "list", "update", "watch"]}]})
    c.create(f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings", {
        "metadata": {"name": "leader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "leader"},
        "subjects": [{"kind": "User", "name": "system:kube-scheduler"}]})
    p = berth.start(c, f"--port={free_port()}", "--leader-elect=true",
                    f"--lock-object-namespace={NAMESPACE}", "--lock-object-name=my-scheduler",
                    "--scheduler-name=my-scheduler", *from_map("my-policy"))
    add_pods(c, make_pod("mine", scheduler_name="my-scheduler"), make_pod("other"))
    equal(wait_bound(c, "mine"), "used", "node")
    equal(berth.node_of(c, "other"), None, "node of a pod of another scheduler")
    lease = c.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/my-scheduler")
    equal(bool(lease["spec"]["holderIdentity"]), True, "the lease is held")
    for flag in ("port", "lock-object-name", "scheduler-name", "policy-configmap"):
        contains(p.text(), f"Flag --{flag} has been deprecated")
    berth.stop(p)
    c.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases")


# ---- messages ------------------------------------------------------------------------------------

@test
def a_map_that_is_missing_or_forbidden_is_named(c):
    make_world(c)
    contains(refused(c, *from_map("pack")), f"couldn't get policy config map {NAMESPACE}/pack",
             "forbidden")
    allow(c)
    contains(refused(c, *from_map("pack")), f"couldn't get policy config map {NAMESPACE}/pack",
             'configmaps "pack" not found')
    contains(refused(c, "--policy-configmap=pack", "--policy-configmap-namespace="),
             "couldn't get policy config map kube-system/pack")
    put_map(c, "empty", other="x")
    contains(refused(c, *from_map("empty")),
             'missing policy config map value at key "policy.cfg"')


@test
def a_policy_that_is_wrong_is_told_with_its_line(c):
    make_world(c)
    allow(c)
    bad = '{"kind": "Policy", "apiVersion": "v1",\n"predicate": []}'
    put_map(c, "bad", **{"policy.cfg": bad})
    put_map(c, "other", **{"policy.cfg": "apiVersion: kubescheduler.config.k8s.io/v1\n"
                           "kind: KubeSchedulerConfiguration\n"})
    contains(refused(c, *from_map("bad")), "bad:2: predicate: unknown field (did you mean predicates?)")
    contains(refused(c, *from_map("other")), "invalid policy: other: ", "kind: Policy")
    path = file(c, bad)
    contains(refused(c, f"--policy-config-file={path}"), f"{path}:2: predicate: unknown field")
    contains(refused(c, f"--policy-config-file={path}.no"), f"{path}.no")
    contains(refused(c, "--use-legacy-policy-config"), "required when --use-legacy-policy-config")


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
