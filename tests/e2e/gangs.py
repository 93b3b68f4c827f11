# SPDX-License-Identifier: Apache-2.0
"""PodGroups and their pods, for tests."""

from berth import make_pod, wait_for
from subject import LATE
from tap import equal

GROUPS = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"


def gang(name, minimum):
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "kind": "PodGroup",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}}}


def members(name, n, start=0, **more):
    return [make_pod(f"{name}-{i}", spec={"schedulingGroup": {"podGroupName": name}}, **more)
            for i in range(start, start + n)]


def running(c, name):
    """The number of the gang's pods that have a node."""
    return sum(1 for p in c.pods() if p["spec"].get("nodeName") and
               p["spec"].get("schedulingGroup", {}).get("podGroupName") == name)


def wait_running(c, name, n):
    wait_for(lambda: running(c, name) == n, LATE, what=f"{n} pods of {name} have nodes")


def condition(c, name):
    group = c.get(f"{GROUPS}/{name}")
    for one in group.get("status", {}).get("conditions", []):
        if one["type"] == "PodGroupScheduled":
            return one["status"], one["reason"], one.get("message", "")
    return None


def wait_condition(c, name, want):
    try:
        wait_for(lambda: condition(c, name) == want, LATE)
    except TimeoutError:
        equal(condition(c, name), want, f"condition of {name}")
