# SPDX-License-Identifier: Apache-2.0
"""berth and the real kube-scheduler on one cluster, each with pods of its own that are alike.

A pod that is made for both is there twice: berth-NAME, which has the schedulerName berth, and
kube-NAME. With BERTH_SUBJECT=kube-scheduler the part of berth is played by a second kube-scheduler:
that proves a test, since the two must then be alike.
"""

import contextlib
import json

import berth
import subject
from berth import NODES, PODS
from cluster import Cluster
from tap import check, show_log

BOTH = ("berth", "kube")


def cluster(profiles, objects=()):
    """A fixture for tap.main; profiles(who) are those of one scheduler, one of them named WHO."""
    @contextlib.contextmanager
    def made():
        with Cluster() as c:
            if objects:
                subject.apply(c, *objects)
            c.schedulers = {
                "berth": subject.start(c, profiles("berth"), name="berth"),
                "kube": c.start_scheduler(*subject.FLAGS, config={"profiles": profiles("kube")},
                                          qps=5000)}
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
    """Nodes, and pods on them, that are there from the beginning: both schedulers know of them."""
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
    """The pods of a dict, by name, for either scheduler: the schedulerName X becomes WHO-X."""
    berth.add_pods(c, *[copy_for(who, pod, name) for name, pod in pods.items() for who in BOTH])
