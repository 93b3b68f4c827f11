#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many unschedulable pods, while small pods are created and deleted: what does the scheduler write?

Every created or deleted small pod changes the reason why the large ones do not fit ("3 Insufficient
cpu, 20 Insufficient memory"), and each deletion is an event after which they are retried. A
scheduler that retries and writes as fast as it can floods the API server with status patches; other
clients and its own bindings then wait.

    tests/attack/storm.py                            berth, 500 pods, 30 s
    tests/attack/storm.py --subject kube-scheduler   the same load on kube-scheduler
    tests/attack/storm.py --qps 50 --burst 100       with a limit in clientConnection

Progress goes to stderr; the last line of stdout is one JSON object with the figures.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import re
import shutil
import ssl
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import (NODES, PODS, ApiError, Cluster, Process, free_port, make_node,  # noqa: E402
                     make_pod, wait_for)

SUBJECTS = ("berth", "kube-scheduler")
N_NODES = 20
# A node has 4 CPUs and 8 GiB. A large pod never fits by memory, and fits by CPU only on empty
# nodes.
LARGE = {"cpu": "3900m", "memory": "16Gi"}
SMALL = {"cpu": "300m", "memory": "64Mi"}
N_ROOM = 10              # large pods that fit a node which is added at the end
SMALL_PER_SECOND = 16
SMALL_LIVES = 1.0        # seconds, after it is bound
DEFAULT = PODS.format("default")
LIMITS = {"long": {"pods": 500, "seconds": 30, "wait": 60},
          "short": {"pods": 150, "seconds": 8, "wait": 30}}


def say(text):
    print(f"storm: {text}", file=sys.stderr, flush=True)


# ---- the scheduler -------------------------------------------------------------------------------

def start_scheduler(c, options):
    """Starts the subject as system:kube-scheduler, without leader election; .port serves its
    metrics."""
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "leaderElection": {"leaderElect": False},
              "clientConnection": {"kubeconfig": c.scheduler_kubeconfig}}
    if options.qps:
        config["clientConnection"].update(qps=options.qps, burst=options.burst)
    path = os.path.join(c.dir, "storm.config.json")
    with open(path, "w") as f:
        json.dump(config, f)
    port = free_port()
    flags = [f"--config={path}", f"--secure-port={port}", "--bind-address=127.0.0.1",
             f"--authentication-kubeconfig={c.scheduler_kubeconfig}",
             f"--authorization-kubeconfig={c.scheduler_kubeconfig}", f"-v={options.verbosity}"]
    if options.subject == "berth":
        argv = [os.path.abspath(options.berth), "scheduler", *flags]
    else:
        argv = [os.path.join(c.bin, "kube-scheduler"), *flags]
    p = Process(options.subject, argv, os.path.join(c.dir, "scheduler.log"), cwd=c.dir)
    p.port = port
    c.children.append(p)
    return p


def metrics_of_scheduler(c, p):
    """Its page of metrics, requested as admin."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(os.path.join(c.dir, "admin.crt"), os.path.join(c.dir, "admin.key"))
    with urllib.request.urlopen(f"https://127.0.0.1:{p.port}/metrics", context=context,
                                timeout=30) as answer:
        return answer.read().decode()


def total(page, name, **labels):
    """The sum of the series of this name that have these labels."""
    found = 0.0
    for line in page.splitlines():
        m = re.match(re.escape(name) + r"\{(.*)\} (\S+)$", line)
        if m and all(f'{k}="{v}"' in m[1] for k, v in labels.items()):
            found += float(m[2])
    return found


def counts(c, p):
    server = c.request("GET", "/metrics", accept="text/plain").decode()
    scheduler = metrics_of_scheduler(c, p)
    writes = "apiserver_request_total"
    return {
        "status patches": total(server, writes, verb="PATCH", resource="pods", subresource="status"),
        "events written": total(server, writes, verb="POST", resource="events")
        + total(server, writes, verb="PATCH", resource="events"),
        "attempts": total(scheduler, "scheduler_schedule_attempts_total"),
        "unschedulable attempts": total(scheduler, "scheduler_schedule_attempts_total",
                                        result="unschedulable"),
        "API server CPU seconds": c.apiserver.cpu_seconds(),
        "scheduler CPU seconds": p.cpu_seconds(),
    }


# ---- small pods ----------------------------------------------------------------------------------

class SmallPods:
    """Creates small pods at a steady pace, and deletes each some time after it was bound."""

    def __init__(self, c):
        self.c = c
        self.made, self.bound, self.deleted = {}, {}, set()
        self.stopped = self.over = False
        self.threads = [threading.Thread(target=self.run, args=(f,), daemon=True)
                        for f in (self.make, self.watch, self.remove)]
        for t in self.threads:
            t.start()

    def run(self, function):
        """Errors of connections at the end of the cluster are ignored."""
        try:
            function()
        except (OSError, http.client.HTTPException):
            if not self.over:
                raise

    def make(self):
        start = time.monotonic()
        while not self.stopped:
            name = f"small-{len(self.made):05}"
            self.c.create(DEFAULT, make_pod(name, labels={"size": "small"}, **SMALL))
            self.made[name] = time.monotonic()
            # Delays are not made up for: a slow server gets fewer pods, not a burst.
            wait = start + len(self.made) / SMALL_PER_SECOND - time.monotonic()
            if wait > 0:
                time.sleep(wait)
            else:
                start -= wait

    def remove(self):
        while not self.over:
            for name, since in list(self.bound.items()):
                if name not in self.deleted and time.monotonic() - since > SMALL_LIVES:
                    self.deleted.add(name)
                    try:
                        self.c.delete(f"{DEFAULT}/{name}?gracePeriodSeconds=0")
                    except ApiError:
                        pass
            time.sleep(0.02)

    def look(self, pod):
        name = pod["metadata"]["name"]
        if pod["spec"].get("nodeName"):
            self.bound.setdefault(name, time.monotonic())

    def watch(self):
        path = f"{DEFAULT}?labelSelector=size%3Dsmall&watch=true&resourceVersion=0&timeoutSeconds=600"
        request = urllib.request.Request(self.c.url + path, headers={"Accept": "application/json"})
        with urllib.request.urlopen(request, context=self.c._tls, timeout=600) as stream:
            for line in stream:
                event = json.loads(line)
                if event["type"] in ("ADDED", "MODIFIED"):
                    self.look(event["object"])

    def stop(self, wait):
        """Returns how many were created and bound; the last ones get some time to be bound."""
        self.stopped = True
        self.threads[0].join(60)

        def all_are_bound():
            for pod in self.c.pods("default", "labelSelector=size%3Dsmall"):
                self.look(pod)
            return len(self.bound) >= len(self.made)

        try:
            wait_for(all_are_bound, wait, interval=0.5)
        except TimeoutError:
            pass
        self.over = True
        return len(self.made), len(self.bound)


# ---- another client ------------------------------------------------------------------------------

def other_client(url, folder, stop, pipe):
    """A separate process: GETs of one small object, 25 a second, each timed."""
    context = ssl.create_default_context(cafile=os.path.join(folder, "ca.crt"))
    context.load_cert_chain(os.path.join(folder, "admin.crt"), os.path.join(folder, "admin.key"))
    conn = http.client.HTTPSConnection("127.0.0.1", int(url.rpartition(":")[2]), context=context,
                                       timeout=60)
    took = []
    while not stop.is_set():
        began = time.monotonic()
        conn.request("GET", "/api/v1/namespaces/default")
        conn.getresponse().read()
        took.append(time.monotonic() - began)
        time.sleep(max(0, 0.04 - took[-1]))
    pipe.send(took)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


# ---- the attack ----------------------------------------------------------------------------------

def attack(c, options):
    limits = LIMITS["short" if options.short else "long"]
    pods = options.pods or limits["pods"]
    seconds = options.seconds or limits["seconds"]
    c.create_many(NODES, [make_node(f"node-{i:02}", cpu="4", memory="8Gi") for i in range(N_NODES)])
    scheduler = start_scheduler(c, options)
    c.create(DEFAULT, make_pod("first"))
    wait_for(lambda: c.pod("first")["spec"].get("nodeName"), limits["wait"], what="a pod is bound")
    wait_for(lambda: scheduler_answers(c, scheduler), limits["wait"], what="metrics are served")

    say(f"{options.subject}: {pods} pods that fit nowhere")
    c.create_many(DEFAULT, [make_pod(f"large-{i:05}", **shape(options, i)) for i in range(pods)])
    wait_for(lambda: all_told(c, pods), 2 * limits["wait"], interval=1, what="all pods are told why")

    before = counts(c, scheduler)
    stop, (pipe, end) = multiprocessing.Event(), multiprocessing.Pipe(False)
    prober = multiprocessing.Process(target=other_client, args=(c.url, c.dir, stop, end), daemon=True)
    prober.start()
    began = time.monotonic()
    say("small pods come and go")
    small = SmallPods(c)
    while time.monotonic() - began < seconds:
        time.sleep(0.5)
        say(f"{time.monotonic() - began:4.1f} s: {len(small.bound)} of {len(small.made)} small pods"
            " bound")
    after = counts(c, scheduler)
    stop.set()
    took = pipe.recv()
    prober.join(10)
    late = room_is_found(c, limits["wait"])
    made, bound = small.stop(limits["wait"])
    figures = {k: round(after[k] - before[k], 2) for k in after}
    figures.update({
        "attempts per large pod": round(figures["unschedulable attempts"] / pods, 2),
        "small pods made": made, "small pods bound": bound,
        f"seconds until {N_ROOM} large pods have got new room": late,
        "GET p50 ms": round(percentile(took, 0.5) * 1e3, 1),
        "GET p99 ms": round(percentile(took, 0.99) * 1e3, 1),
    })
    if options.log:
        shutil.copy(scheduler.log, options.log)
    if not scheduler.running():
        raise SystemExit(f"storm: {options.subject} has ended\n{scheduler.text()[-2000:]}")
    return figures


def room_is_found(c, wait):
    """A node is added that fits some of the large pods: how long do they wait?"""
    began = time.monotonic()
    c.create(NODES, make_node("large-node", cpu=4 * N_ROOM, memory=f"{17 * N_ROOM}Gi"))
    try:
        wait_for(lambda: len(c.pods("default", "fieldSelector=spec.nodeName%3Dlarge-node")) >= N_ROOM,
                 wait, interval=0.02)
    except TimeoutError:
        say("the room is not used")
    return round(time.monotonic() - began, 2)


def all_told(c, pods):
    """Whether every large pod has its condition."""
    listed = c.request("GET", f"{DEFAULT}?resourceVersion=0").count(b'"Unschedulable"')
    return listed >= pods


def shape(options, i):
    """The requests of the i-th large pod; with --distinct no two are equal."""
    if not options.distinct:
        return LARGE
    return {"cpu": LARGE["cpu"], "memory": f"{16384 + i}Mi"}


def scheduler_answers(c, p):
    try:
        return metrics_of_scheduler(c, p)
    except OSError:
        return None


def parse_args():
    p = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    p.add_argument("--subject", choices=SUBJECTS, default="berth")
    p.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"), metavar="PATH")
    p.add_argument("--short", action="store_true", help="fewer pods, well under a minute")
    p.add_argument("--pods", type=int, help="unschedulable pods (500; 150 with --short)")
    p.add_argument("--seconds", type=float, help="duration (30; 8 with --short)")
    p.add_argument("--distinct", action="store_true", help="all large pods have different requests")
    p.add_argument("--qps", type=float, default=0, help="clientConnection.qps; 0: the default")
    p.add_argument("--burst", type=int, default=100, help="clientConnection.burst, with --qps")
    p.add_argument("--verbosity", type=int, default=0, help="the scheduler's -v")
    p.add_argument("--log", metavar="FILE", help="keep the scheduler's log")
    return p.parse_args()


def main():
    options = parse_args()
    with Cluster() as c:
        figures = attack(c, options)
    print(json.dumps({"attack": "storm", "subject": options.subject, "figures": figures}))


if __name__ == "__main__":
    main()
