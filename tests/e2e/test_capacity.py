#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CapacityScheduling on a real API server: namespaces borrow what others do not use, and give it
back. The story is that of upstream's proposal: a cluster with 10 GPUs and two quotas.

There are no kubelets: pods run when the test says so, and a deleted pod ends when the test ends it.
"""

import os
import re

import berth
from berth import TIMEOUT, add_nodes, make_node, make_pod, wait_for
from cluster import ApiError, Cluster
from tap import check, contains, equal, main, test

GPU = "example.com/gpu"
NAMESPACES = ("usera", "userb")

# The plugins of upstream's manifests/capacityscheduling/scheduler-config.yaml.
PROFILE = {
    "schedulerName": "default-scheduler",
    "plugins": {
        "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
        "postFilter": {"enabled": [{"name": "CapacityScheduling"}], "disabled": [{"name": "*"}]}}}


def start(c):
    return berth.start(c, "-v=2", name="capacity",
                       config=berth.scheduler_config(c, "capacity", profiles=[PROFILE]))


def quotas_of(ns):
    return f"/apis/scheduling.x-k8s.io/v1alpha1/namespaces/{ns}/elasticquotas"


def served(c):
    try:
        return c.get(quotas_of("default")) is not None
    except ApiError:
        return False


def add_namespace(c, name):
    c.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                    "metadata": {"name": name}})
    # Without a controller there is no default account, which pods need.
    c.create(f"/api/v1/namespaces/{name}/serviceaccounts",
             {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})


def add_quota(c, ns, least, most):
    c.create(quotas_of(ns), {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1", "kind": "ElasticQuota",
        "metadata": {"name": "quota", "namespace": ns},
        "spec": {"min": {GPU: least}, "max": {GPU: most}}})


def add_pod(c, ns, name, gpus):
    c.create(f"/api/v1/namespaces/{ns}/pods",
             make_pod(name, ns=ns, cpu=None, memory=None, extended={GPU: gpus}))


def runs(c, ns, name):
    """Waits until the pod has a node, and lets it run."""
    wait_for(lambda: c.pod(name, ns)["spec"].get("nodeName"), TIMEOUT, what=f"{name} has a node")
    c.patch(f"/api/v1/namespaces/{ns}/pods/{name}/status", {"status": {"phase": "Running"}},
            "application/merge-patch+json")


def message_of(c, ns, name):
    for condition in c.pod(name, ns).get("status", {}).get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            return condition.get("message", "")
    return ""


def waits(c, ns, name, text):
    wait_for(lambda: text in message_of(c, ns, name), TIMEOUT, what=f"{name} waits: {text}")


def end(c, ns, name):
    c.delete(f"/api/v1/namespaces/{ns}/pods/{name}?gracePeriodSeconds=0")


def evicted(c, ns):
    return sorted(p["metadata"]["name"] for p in c.pods(ns) if "deletionTimestamp" in p["metadata"])


def used(c, ns):
    return c.get(f"{quotas_of(ns)}/quota").get("status", {}).get("used", {}).get(GPU)


def wait_used(c, **want):
    for ns, gpus in want.items():
        wait_for(lambda ns=ns, gpus=gpus: used(c, ns) == gpus, TIMEOUT,
                 what=f"status.used of {ns} is {gpus}")


class Capacity(Cluster):
    def __enter__(self):
        super().__enter__()
        berth.allow_scheduler_plugins(self)
        for ns in NAMESPACES:
            add_namespace(self, ns)
        return self


def reset(c):
    for ns in NAMESPACES:
        c.delete(f"/api/v1/namespaces/{ns}/pods?gracePeriodSeconds=0")
    berth.reset(c)


@test
def without_the_resource_pods_are_scheduled(c):
    add_nodes(c, make_node("n1", extended={GPU: 10}))
    p = start(c)
    wait_for(lambda: re.search("does not serve this resource.*elasticquotas", p.text()), TIMEOUT,
             what="the missing resource is reported")
    add_pod(c, "usera", "first", 1)
    runs(c, "usera", "first")
    equal(len(re.findall("does not serve this.*elasticquotas", p.text())), 1, "lines about it")
    berth.stop(p)


@test
def what_is_lent_is_given_back(c):
    c.kubectl("apply", "-f", os.path.join(berth.ROOT, "deploy/crds/elasticquotas.yaml"))
    wait_for(lambda: served(c), TIMEOUT, what="ElasticQuotas are served")
    add_quota(c, "usera", 4, 6)
    add_quota(c, "userb", 6, 8)
    add_nodes(c, make_node("n1", extended={GPU: 10}))
    p = start(c)
    # Both are within their min.
    add_pod(c, "usera", "a1", 2)
    add_pod(c, "userb", "b1", 3)
    runs(c, "usera", "a1")
    runs(c, "userb", "b1")
    wait_used(c, usera="2", userb="3")
    # A reaches its min, then its max: it borrows 2 GPUs of B.
    for name in ("a2", "a3"):
        add_pod(c, "usera", name, 2)
        runs(c, "usera", name)
    wait_used(c, usera="6", userb="3")
    add_pod(c, "usera", "a4", 1)
    waits(c, "usera", "a4", "Pod usera/a4 is rejected in PreFilter because ElasticQuota usera is "
                            "more than Max")
    end(c, "usera", "a4")
    # B needs its min: A loses what it borrowed, and not more.
    add_pod(c, "userb", "b2", 3)
    victim = wait_for(lambda: evicted(c, "usera"), TIMEOUT, what="a pod of A is evicted")
    equal(len(victim), 1, "number of victims")
    end(c, "usera", victim[0])
    runs(c, "userb", "b2")
    wait_used(c, usera="4", userb="6")
    # What A has now is its min, and safe.
    add_pod(c, "userb", "b3", 1)
    waits(c, "userb", "b3", "total ElasticQuota used is more than min")
    equal(evicted(c, "usera") + evicted(c, "userb"), [], "victims")
    contains(c.kubectl("get", "eq", "-n", "userb"), f'{{"{GPU}":"6"}}')
    check("Could not write" not in p.text(), "a status was not written")
    berth.stop(p)
    # Another start counts the same, from the pods that run.
    p = start(c)
    add_pod(c, "usera", "a5", 1)
    waits(c, "usera", "a5", "total ElasticQuota used is more than min")
    c.delete(f"{quotas_of('usera')}/quota")
    c.delete(f"{quotas_of('userb')}/quota")
    # Nothing is limited now but by the node, which is full.
    waits(c, "usera", "a5", f"Insufficient {GPU}")
    berth.stop(p)


if __name__ == "__main__":
    main(fixture=Capacity, after=reset)
