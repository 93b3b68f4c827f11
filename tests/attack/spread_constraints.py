#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One pod with thousands of topology spread constraints: what does it cost the scheduler?

Each constraint has a topology key of its own, which no node has. The API server accepts 12,000 of
them in a pod. A scheduler that does work, or keeps memory, for each pair of constraints takes
gigabytes. Afterwards the pod is deleted, and the memory should be given back.

    tests/attack/spread_constraints.py                            berth
    tests/attack/spread_constraints.py --subject kube-scheduler   the same pod for kube-scheduler

With berth, `berth simulate` places a larger one, too. Progress goes to stderr; the last line of
stdout is one JSON object with the figures.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from attack_load import (DEFAULT, SmallPods, check_running, megabytes, options_of,  # noqa: E402
                         peak_bytes, report, say, start_scheduler)
from cluster import NODES, Cluster, make_node, make_pod, wait_for  # noqa: E402

NUMBERS = {"constraints": (12000, 4000), "simulated": (20000, 8000), "nodes": (100, 20)}


def attacker(count, name="attacker"):
    pod = make_pod(name, cpu="1m", memory="1Mi", labels={"app": "attacker"})
    pod["spec"]["topologySpreadConstraints"] = [
        {"maxSkew": 1, "topologyKey": f"k{i}", "whenUnsatisfiable": "ScheduleAnyway",
         "labelSelector": {"matchLabels": {"app": "attacker"}}} for i in range(count)]
    return pod


def make_nodes(options):
    return [make_node(f"node-{i}", zone=f"z{i % 3}") for i in range(options.nodes)]


def settle(c, name, count=20):
    """Creates a few pods and waits until they are placed, so that the scheduler has work again."""
    pods = SmallPods(c, name)
    pods.make(count, 0.02)
    waits = pods.wait(60)
    time.sleep(1)
    return waits


def attack(c, options):
    c.create_many(NODES, make_nodes(options))
    p = start_scheduler(c, options)
    settle(c, "before")
    rss, cpu = p.rss_bytes(), p.cpu_seconds()
    say(f"{options.subject}: a pod with {options.constraints} constraints")
    began = time.monotonic()
    c.create(DEFAULT, attacker(options.constraints))
    wait_for(lambda: c.pod("attacker")["spec"].get("nodeName"), 120, what="the pod has a node")
    took, used = time.monotonic() - began, p.cpu_seconds() - cpu
    peak = peak_bytes(p)
    c.delete(f"{DEFAULT}/attacker?gracePeriodSeconds=0")
    settle(c, "after")
    check_running(p)
    return {"constraints": options.constraints, "RSS before, MB": megabytes(rss),
            "peak RSS, MB": megabytes(peak), "RSS after deletion, MB": megabytes(p.rss_bytes()),
            "CPU for the pod, s": round(used, 2), "until it is bound, s": round(took, 2)}


# A process of its own, as small as python allows: a child's peak starts with its parent's.
MEASURE = """
import json, resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([code, used.ru_maxrss * 1024, used.ru_utime + used.ru_stime]))
"""


def simulate(options):
    """Peak memory and CPU time."""
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "scenario.json")
        with open(path, "w") as f:
            f.write("\n---\n".join(json.dumps(o) for o in make_nodes(options) +
                                   [attacker(options.simulated)]))
        done = subprocess.run([sys.executable, "-I", "-S", "-c", MEASURE, options.berth, "simulate",
                               path], stdout=subprocess.PIPE, check=True, timeout=600)
    code, peak, cpu = json.loads(done.stdout)
    if code:
        sys.exit(f"berth simulate: exit code {code}")
    return {"simulated constraints": options.simulated, "simulate: peak RSS, MB": megabytes(peak),
            "simulate: CPU, s": round(cpu, 2)}


def main():
    options = options_of(__doc__, NUMBERS)
    with Cluster() as c:
        figures = attack(c, options)
    if options.subject == "berth":
        figures.update(simulate(options))
    report("spread_constraints", options.subject, figures)


if __name__ == "__main__":
    main()
