#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A leader is stopped until another has taken its lease, then resumed: what does it still write?

Two schedulers of the same kind share one lease while pods are created, some of which are
unschedulable. The leader gets SIGSTOP; when the other one leads it gets SIGCONT. The API server's
audit log distinguishes the two by a group in their certificates. Everything that the first one
writes from then on conflicts with the new leader: an accepted binding was decided on the state
before the pause.

    tests/attack/deposed_leader.py                            berth, with the default times of a lease
    tests/attack/deposed_leader.py --subject kube-scheduler
    tests/attack/deposed_leader.py --short                    a lease of 4 s

Progress goes to stderr; the last line of stdout is one JSON object with the figures.
"""

import argparse
import collections
import datetime
import json
import os
import signal
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import NODES, PODS, Cluster, Process, free_port, make_node, make_pod, wait_for  # noqa: E402

SUBJECTS = ("berth", "kube-scheduler")
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
USER = "system:kube-scheduler"
TIMEOUT = 120
TIMES = {"long": {"leaseDuration": "15s", "renewDeadline": "10s", "retryPeriod": "2s"},
         "short": {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}}
AFTER_TAKEOVER = 1.0     # seconds until the first one is resumed
BATCH, PAUSE = 20, 0.1   # of the load
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
          "rules": [{"level": "Metadata", "users": [USER],
                     "verbs": ["create", "update", "patch", "delete", "deletecollection"]},
                    {"level": "None"}]}


def say(text):
    print(f"deposed_leader: {text}", file=sys.stderr, flush=True)


class Load:
    """Creates pods until stopped; one of each batch is unschedulable."""

    def __init__(self, c):
        self.c, self.made, self.ends, self.error = c, 0, threading.Event(), None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            while not self.ends.is_set():
                self.c.create_many(PODS.format("default"),
                                   [make_pod(f"p{self.made + i}", cpu="1m" if i else "9000",
                                             memory="1Mi") for i in range(BATCH)], threads=4)
                self.made += BATCH
                time.sleep(PAUSE)
        except Exception as e:
            self.error = e

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.ends.set()
        self.thread.join()
        if self.error:
            raise self.error


def start_scheduler(c, options, name):
    """Starts a scheduler with leader election; NAME is also a group of its user."""
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "leaderElection": {"leaderElect": True, **TIMES["short" if options.short else "long"]},
              "clientConnection": {"kubeconfig": c.kubeconfig(name, USER, [name]), "qps": 5000,
                                   "burst": 5000}}
    path = os.path.join(c.dir, name + ".config.json")
    with open(path, "w") as f:
        json.dump(config, f)
    program = ([os.path.abspath(options.berth), "scheduler"] if options.subject == "berth"
               else [os.path.join(c.bin, "kube-scheduler")])
    p = Process(name, [*program, f"--config={path}", f"--secure-port={free_port()}",
                       "--bind-address=127.0.0.1", "-v=2"],
                os.path.join(c.dir, name + ".log"), cwd=c.dir)
    c.children.append(p)
    return p


def leads(p):
    return "Successfully acquired lease" in p.text()


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def writes_of(c, name):
    """(time, what, HTTP code) of every write of the scheduler, except those of and about its
    lease."""
    found = []
    with open(os.path.join(c.dir, "audit.log")) as f:
        for line in f:
            try:
                entry = json.loads(line)
            except ValueError:
                continue    # not complete yet
            ref = entry["objectRef"]
            if name not in entry["user"]["groups"] or ref.get("namespace") == "kube-system":
                continue
            what = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
            found.append((seconds_of(entry["requestReceivedTimestamp"]), f"{entry['verb']} {what}",
                          entry["responseStatus"]["code"]))
    return found


def depose(c, options):
    """Returns (when the other one took the lease, when the first one was resumed, when it
    ended)."""
    first = start_scheduler(c, options, "first")
    wait_for(lambda: leads(first), TIMEOUT, what="the first one leads")
    second = start_scheduler(c, options, "second")
    wait_for(lambda: "Attempting to acquire" in second.text(), TIMEOUT, what="the second one waits")
    with Load(c) as load:
        wait_for(lambda: c.bound("default") >= 100, TIMEOUT, what="the first pods")
        first.signal(signal.SIGSTOP)
        say(f"the first one is stopped, {c.bound('default')} of {load.made} pods are bound")
        wait_for(lambda: leads(second), TIMEOUT, what="the second one leads")
        taken = seconds_of(c.get(LEASE)["spec"]["acquireTime"])
        time.sleep(AFTER_TAKEOVER)
        resumed = time.time()
        first.signal(signal.SIGCONT)
        say("the second one leads, the first one is resumed")
        wait_for(lambda: not first.running(), TIMEOUT, what="the first one ends")
        ended = time.time()
        say(f"the first one has ended with {first.popen.returncode}")
    small = load.made - load.made // BATCH
    wait_for(lambda: c.bound("default") == small, TIMEOUT, what=f"all {small} pods are bound")
    c.children.remove(first)
    return taken, resumed, ended, first.popen.returncode


def attack(options):
    policy = os.path.join(os.path.abspath(options.work), "audit-policy.json")
    with open(policy, "w") as f:
        json.dump(POLICY, f)
    with Cluster(apiserver_args=[f"--audit-policy-file={policy}", "--audit-log-path=audit.log"]) as c:
        c.create_many(NODES, [make_node(f"n{i}", cpu="100", memory="100Gi", pods=2000)
                              for i in range(10)])
        taken, resumed, ended, code = depose(c, options)
        late = [(what, status) for at, what, status in writes_of(c, "first") if at > taken]
    for (what, status), n in sorted(collections.Counter(late).items()):
        say(f"sent by the first one after the second led: {n} × {what}: {status}")
    bindings = [status for what, status in late if what == "create pods/binding"]
    return {"bindings sent after another took the lease": len(bindings),
            "of these accepted": sum(status < 300 for status in bindings),
            "other writes sent after another took the lease": len(late) - len(bindings),
            "seconds from resuming to its end": round(ended - resumed, 1),
            "exit code": code}


def main():
    import tempfile
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--subject", choices=SUBJECTS, default="berth")
    parser.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"), metavar="PATH")
    parser.add_argument("--short", action="store_true", help="a lease of 4 s, for make test")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="berth-attack-") as options.work:
        figures = attack(options)
    print(json.dumps({"attack": "deposed_leader", "subject": options.subject, "figures": figures}))


if __name__ == "__main__":
    main()
