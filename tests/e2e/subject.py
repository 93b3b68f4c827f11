# SPDX-License-Identifier: Apache-2.0
"""The scheduler under test in the tests of plugins, on its own cluster.

It is berth; BERTH_SUBJECT=kube-scheduler selects the real kube-scheduler, which must pass the same
tests: that validates the tests. One scheduler runs through a whole file, with as many profiles as
its tests need. It never retries a pod just because time has passed: a pod that gets a node after a
change got it by a queueing hint.

The tests use kubectl as users do. Pods that exist from the beginning are created with
spec.nodeName.
"""

import contextlib
import itertools
import json
import os
import sys

import berth
from berth import NODES, PODS, condition_of, events_of, make_pod, wait_bound, wait_for
from cluster import Cluster
from reasons import before_preemption
from tap import check, equal, show_log

SUBJECT = os.environ.get("BERTH_SUBJECT", "berth")
# Seconds; what should happen happens long before.
LATE = int(os.environ.get("BERTH_LATE", "60"))


# ---- profiles ------------------------------------------------------------------------------------

def profile(name="default-scheduler", score=None, **args):
    """The default plugins; with `score`, all of them for filtering and only that one for
    scoring. Further arguments are pluginConfig: NodeResourcesFit={...}."""
    plugins = {}
    if score:
        plugins["score"] = {"disabled": [{"name": "*"}], "enabled": [{"name": score}]}
    return {"schedulerName": name, "percentageOfNodesToScore": 100, "plugins": plugins,
            "pluginConfig": [{"name": n, "args": a} for n, a in args.items()]}


# ---- start and stop ------------------------------------------------------------------------------

FLAGS = ("-v=2", "--pod-max-in-unschedulable-pods-duration=1h")


def start(c, profiles, name="subject", flags=(), **config):
    flags = FLAGS + tuple(flags)
    if SUBJECT == "berth":
        path = berth.scheduler_config(c, name, profiles=profiles, **config)
        return berth.start(c, *flags, name=name, config=path)
    p = c.start_scheduler(*flags, name=name, config={"profiles": profiles, **config}, qps=5000)
    show_log(p.log)
    return p


def stop(c, p):
    c.children.remove(p)
    if SUBJECT == "berth":
        berth.stop(p)
    else:
        p.kill()


def cluster(profiles, before=(), flags=(), **options):
    """A fixture for tap.main: a cluster with these objects, then the scheduler. flags: the
    scheduler's, options: the cluster's."""
    @contextlib.contextmanager
    def made():
        if SUBJECT not in ("berth", "kube-scheduler"):
            sys.exit(f"BERTH_SUBJECT={SUBJECT}: it is berth or kube-scheduler")
        with Cluster(**options) as c:
            if before:
                apply(c, *before)
            c.profiles, c.flags = profiles, flags
            c.scheduler = start(c, profiles, flags=flags)
            yield c
            stop(c, c.scheduler)
    return made


def after(c):
    """Empties the cluster. The test fails if the scheduler has ended."""
    show_log(c.scheduler.log)
    tidy(c)
    if not c.scheduler.running():
        code = c.scheduler.popen.returncode
        c.children.remove(c.scheduler)
        c.scheduler = start(c, c.profiles, flags=c.flags)
        check(False, f"the scheduler has ended with {code}")


def tidy(c):
    for ns in {p["metadata"]["namespace"] for p in c.pods()}:
        c.delete(f"/api/v1/namespaces/{ns}/pods?gracePeriodSeconds=0")
    c.delete(NODES)
    wait_for(lambda: not c.pods() and not c.nodes(), LATE, what="pods and nodes are gone")
    c.delete("/apis/events.k8s.io/v1/namespaces/default/events")


# ---- what users do and see -----------------------------------------------------------------------

def apply(c, *objects):
    """kubectl apply. Does not wait for the scheduler to see the change."""
    c.kubectl("apply", "-f", "-",
              input={"apiVersion": "v1", "kind": "List", "items": list(objects)})


def have(c, *objects):
    """Creates nodes, and pods bound to them, and waits until the scheduler knows them."""
    apply(c, *objects)
    settle(c)


_seen = itertools.count(1)


def settle(c, scheduler="default-scheduler"):
    """Returns when the scheduler knows all changes of nodes and pods so far. Changes of each
    kind arrive in order. So a pod that fits only after the latest change of a node, and that was
    created after all other pods, gets a node only when everything is known."""
    name = f"seen-{next(_seen)}"
    resource = f"berth.test/{name}"
    node = c.nodes()[0]["metadata"]["name"]
    c.patch(f"{NODES}/{node}/status", {"status": {"capacity": {resource: "1"},
                                                  "allocatable": {resource: "1"}}})
    c.create(PODS, make_pod(name, cpu=None, memory=None, extended={resource: 1},
                            tolerations=[{"operator": "Exists"}], scheduler_name=scheduler))
    wait_bound(c, name, LATE)
    c.delete(f"{PODS}/{name}?gracePeriodSeconds=0")


def lands(c, name, *nodes, ns="default"):
    """Checks that the pod gets one of these nodes. Returns it."""
    got = wait_for(lambda: c.pod(name, ns)["spec"].get("nodeName"), LATE, what=f"{name} has a node")
    check(got in nodes, f"node of {name}: got {got}, want {' or '.join(nodes)}")
    return got


def pends(c, name, text):
    """Checks that the pod gets no node, with this message. Without a part about preemption in
    it, that part is not compared."""
    def part(said):
        return said if " preemption: " in text else before_preemption(said)

    def told():
        return part((condition_of(c, name) or {}).get("message", ""))
    try:
        wait_for(lambda: told() == text, LATE)
    except TimeoutError:
        equal(told(), text, f"condition of {name}")
    wait_for(lambda: text in [part(e["note"]) for e in events_of(c, name, "FailedScheduling")],
             LATE, what=f"the event of {name}: {text}")
    equal(c.pod(name)["spec"].get("nodeName"), None, f"node of {name}")


def place_of(c, *names):
    return {name: c.pod(name)["spec"].get("nodeName") for name in names}


def delete_pod(c, name, ns="default"):
    c.kubectl("delete", "pod", name, "-n", ns, "--force", "--grace-period=0")


def patch_status(c, node, **status):
    c.kubectl("patch", "node", node, "--subresource=status", "--type=merge",
              "-p", json.dumps({"status": status}))
