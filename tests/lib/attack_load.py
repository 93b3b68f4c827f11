# SPDX-License-Identifier: Apache-2.0
"""Shared by the programs of tests/attack: their options, the scheduler, and small waiting pods."""

import argparse
import json
import os
import sys
import threading
import time
import urllib.request

from cluster import PODS, Process, free_port, make_pod, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEFAULT = PODS.format("default")


def options_of(doc, numbers):
    """The command line; numbers: by name, the values of the long and of the short form."""
    parser = argparse.ArgumentParser(description=doc.split("\n\n")[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subject", choices=("berth", "kube-scheduler"), default="berth")
    parser.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"), metavar="PATH")
    parser.add_argument("--short", action="store_true", help="finish in well under a minute")
    for name, values in numbers.items():
        parser.add_argument(f"--{name}", type=int, help=f"default {values[0]}, {values[1]} with --short")
    options = parser.parse_args()
    for name, values in numbers.items():
        if getattr(options, name) is None:
            setattr(options, name, values[1 if options.short else 0])
    return options


def say(text):
    print(text, file=sys.stderr, flush=True)


def report(attack, subject, figures):
    print(json.dumps({"attack": attack, "subject": subject, "figures": figures}), flush=True)


def start_scheduler(c, options):
    """Starts the subject as system:kube-scheduler, without leader election."""
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "leaderElection": {"leaderElect": False},
              "clientConnection": {"kubeconfig": c.scheduler_kubeconfig, "qps": 1000, "burst": 2000}}
    path = os.path.join(c.dir, "attack.config.json")
    with open(path, "w") as f:
        json.dump(config, f)
    flags = [f"--config={path}", f"--secure-port={free_port()}", "--bind-address=127.0.0.1"]
    if options.subject == "berth":
        argv = [os.path.abspath(options.berth), "scheduler", *flags]
    else:
        argv = [os.path.join(c.bin, "kube-scheduler"), *flags]
    p = Process(options.subject, argv, os.path.join(c.dir, "scheduler.log"), cwd=c.dir)
    c.children.append(p)
    return p


def peak_bytes(p):
    """The peak of the process's resident memory."""
    with open(f"/proc/{p.pid}/status") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def check_running(p):
    if not p.running():
        sys.exit(f"{p.name} has ended\n{p.text()[-2000:]}")


def megabytes(n):
    return round(n / 1e6, 1)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


class SmallPods:
    """Creates pods with small requests at a steady pace and measures how long each waits for its
    node."""

    def __init__(self, c, name):
        self.c, self.name = c, name
        self.made, self.bound = {}, {}
        self.over = False
        threading.Thread(target=self.watch, daemon=True).start()

    def make(self, count, pause):
        for i in range(count):
            name = f"{self.name}-{i:04}"
            self.made[name] = time.monotonic()
            self.c.create(DEFAULT, make_pod(name, cpu="1m", memory="1Mi", labels={"set": self.name}))
            time.sleep(pause)

    def watch(self):
        path = f"{DEFAULT}?labelSelector=set%3D{self.name}&watch=true&resourceVersion=0"
        request = urllib.request.Request(self.c.url + path, headers={"Accept": "application/json"})
        try:
            with urllib.request.urlopen(request, context=self.c._tls, timeout=600) as stream:
                for line in stream:
                    pod = json.loads(line)["object"]
                    if pod["spec"].get("nodeName"):
                        self.bound.setdefault(pod["metadata"]["name"], time.monotonic())
        except (OSError, ValueError):
            if not self.over:
                raise

    def wait(self, seconds):
        """The waits in seconds; a pod that is not bound in time counts with the whole timeout."""
        try:
            wait_for(lambda: len(self.bound) >= len(self.made), seconds)
        except TimeoutError:
            pass
        self.over = True
        return [self.bound.get(name, made + seconds) - made for name, made in self.made.items()]
