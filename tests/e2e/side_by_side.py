# SPDX-License-Identifier: Apache-2.0
"""berth and the real kube-scheduler on one cluster, each with its own set of equal pods.

A pod made for both exists twice: berth-NAME, with the schedulerName berth, and kube-NAME. With
BERTH_SUBJECT=kube-scheduler a second kube-scheduler takes berth's place: that validates a test,
since the two must then be equal.
"""

import contextlib
import json

import berth
import subject
from berth import NODES, PODS
from cluster import Cluster
from tap import check, show_log

BOTH = ("berth", "kube")


def cluster(profiles, objects=(), **config):
    """A fixture for tap.main; profiles(who) returns the profiles of one scheduler, one of them
    named WHO. config: the rest of the configuration."""
    @contextlib.contextmanager
    def made():
        with Cluster() as c:
            if objects:
                subject.apply(c, *objects)
            c.schedulers = {
                "berth": subject.start(c, profiles("berth"), name="berth", **config),
                "kube": c.start_scheduler(
                    *subject.FLAGS, config={"profiles": profiles("kube"), **config}, qps=5000)}
            yield c
            subject.stop(c, c.schedulers["berth"])
    return made


def after(c):
    for p in c.schedulers.values():
        show_log(p.log)
    subject.tidy(c)
    for p in c.schedulers.values():
        check(p.running(), f"{p.name} has ended")


def have(c, *objects):
    """Creates nodes, and pods bound to them, before the test: both schedulers know them."""
    for obj in objects:
        c.create(NODES if obj["kind"] == "Node" else PODS, obj)
    settle(c)


def settle(c):
    for who in BOTH:
        subject.settle(c, who)


def copy_for(who, pod, name):
    own = json.loads(json.dumps(pod))
    own["metadata"]["name"] = f"{who}-{name}"
    own["spec"]["schedulerName"] = "-".join(filter(None, (who, own["spec"].get("schedulerName"))))
    return own


def make_twice(c, pods):
    """Creates the pods of a dict, by name, for both schedulers: the schedulerName X becomes
    WHO-X."""
    berth.add_pods(c, *[copy_for(who, pod, name) for name, pod in pods.items() for who in BOTH])
