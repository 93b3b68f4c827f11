#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists with pages of 500 objects that are larger than a client's limit.

The API server has no streaming lists, so schedulers list in pages. Pods of 1 MB each make a page of
hundreds of MB, more than the 128 MiB that berth reads. A scheduler must still become ready, bind a
pod, and release the memory.

    tests/attack/large_list.py                            berth, 600 pods of 1 MB
    tests/attack/large_list.py --subject kube-scheduler
    tests/attack/large_list.py --short                    140 pods

Progress goes to stderr; the last line of stdout is one JSON object with the figures.
"""

import argparse
import json
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import NODES, PODS, Cluster, Process, free_port, make_node, make_pod, wait_for  # noqa: E402

SUBJECTS = ("berth", "kube-scheduler")
MEGABYTE = 1000 * 1000
LARGE_PODS = {"long": 600, "short": 140}
PATIENCE = {"long": 120, "short": 60}   # seconds to become ready, and then to bind a pod
REST = {"long": 5, "short": 1}          # seconds after which memory is measured again


def say(text):
    print(f"large_list: {text}", file=sys.stderr, flush=True)


def make_large_pod(name):
    """A pod with a node: it is not scheduled, but it must be read."""
    pod = make_pod(name, cpu="1m", memory="1Mi", node_name="n0")
    pod["spec"]["containers"][0]["args"] = ["x" * MEGABYTE]
    return pod


def start_scheduler(c, options):
    port = free_port()
    flags = [f"--kubeconfig={c.scheduler_kubeconfig}", "--leader-elect=false", f"--secure-port={port}",
             "--bind-address=127.0.0.1", "-v=2"]
    program = ([os.path.abspath(options.berth), "scheduler"] if options.subject == "berth"
               else [os.path.join(c.bin, "kube-scheduler")])
    p = Process(options.subject, [*program, *flags], os.path.join(c.dir, "scheduler.log"), cwd=c.dir)
    p.port = port
    c.children.append(p)
    return p


def is_ready(p):
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"https://127.0.0.1:{p.port}/readyz", context=context,
                                    timeout=10) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def peak_mb(p):
    with open(f"/proc/{p.pid}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+) kB", f.read())[1]) // 1024


def waited(predicate, timeout, what):
    """Seconds until the predicate holds; None on timeout."""
    began = time.monotonic()
    try:
        wait_for(predicate, timeout, what=what)
    except TimeoutError as e:
        say(str(e))
        return None
    return round(time.monotonic() - began, 1)


def attack(options):
    form = "short" if options.short else "long"
    with Cluster(feature_gates={"WatchList": False}) as c:
        c.create(NODES, make_node("n0", cpu="100", memory="100Gi", pods=2000))
        pods = PODS.format("default")
        c.create_many(pods, (make_large_pod(f"large-{i}") for i in range(LARGE_PODS[form])), threads=4)
        c.create(pods, make_pod("small"))
        say(f"there are {LARGE_PODS[form]} pods of 1 MB")
        p = start_scheduler(c, options)
        ready = waited(lambda: is_ready(p), PATIENCE[form], "it is ready")
        bound = None
        if ready is not None:
            bound = waited(lambda: c.pod("small")["spec"].get("nodeName"), PATIENCE[form],
                           "the pod is bound")
        time.sleep(REST[form])
        for line in re.findall(r".*(?:too large|larger than).*", p.text())[:8]:
            say(line)
        return {"became ready and bound a pod (1: yes)": int(bound is not None),
                "seconds until it was ready": ready,
                "peak memory, MB": peak_mb(p),
                "memory some seconds later, MB": p.rss_bytes() >> 20,
                "CPU, seconds": round(p.cpu_seconds(), 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--subject", choices=SUBJECTS, default="berth")
    parser.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"), metavar="PATH")
    parser.add_argument("--short", action="store_true", help="fewer pods, for make test")
    options = parser.parse_args()
    print(json.dumps({"attack": "large_list", "subject": options.subject, "figures": attack(options)}))


if __name__ == "__main__":
    main()
