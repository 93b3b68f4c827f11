#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A few small pods whose affinity names thousands of topology keys: do other pods wait longer?

Half of the attacker's pods have required anti-affinity terms, half preferred ones, all of them with
`namespaceSelector: {}` and with different topology keys that no node has. They are placed, so that
every other pod has to respect them. Then unrelated pods are created at a steady pace; the result is
how long each waits for its node.

    tests/attack/topology_keys.py                            berth
    tests/attack/topology_keys.py --subject kube-scheduler   the same load on kube-scheduler

Progress goes to stderr; the last line of stdout is one JSON object with the figures.
"""

import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))

from attack_load import (DEFAULT, SmallPods, check_running, megabytes, options_of,  # noqa: E402
                         peak_bytes, percentile, report, say, start_scheduler)
from cluster import NODES, Cluster, make_node, make_pod, wait_for  # noqa: E402

NUMBERS = {"pods": (30, 10), "keys": (12000, 3000), "nodes": (100, 20), "unrelated": (200, 60)}
PACE = 0.05     # seconds between unrelated pods


def attacker(k, keys):
    terms = [{"topologyKey": f"example.com/key-{i}", "namespaceSelector": {}, "labelSelector": {}}
             for i in keys]
    pod = make_pod(f"attacker-{k:02}", cpu="1m", memory="1Mi", labels={"app": "attacker"})
    if k % 2:
        far = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    else:
        far = {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": t} for t in terms]}
    pod["spec"]["affinity"] = {"podAntiAffinity": far}
    return pod


def waits_of(c, name, options):
    pods = SmallPods(c, name)
    pods.make(options.unrelated, PACE)
    return pods.wait(60)


def attack(c, options):
    c.create_many(NODES, [make_node(f"node-{i}", zone=f"z{i % 3}") for i in range(options.nodes)])
    p = start_scheduler(c, options)
    waits_of(c, "first", options)
    cpu = p.cpu_seconds()
    before = waits_of(c, "before", options)
    alone = p.cpu_seconds() - cpu
    share = options.keys // options.pods
    say(f"{options.subject}: {options.pods} pods with {share} keys each")
    cpu = p.cpu_seconds()
    names = [f"attacker-{k:02}" for k in range(options.pods)]
    c.create_many(DEFAULT, [attacker(k, range(k * share, (k + 1) * share))
                            for k in range(options.pods)], threads=2)
    wait_for(lambda: all(c.pod(n)["spec"].get("nodeName") for n in names), 300, interval=0.5,
             what="the attacker's pods have nodes")
    placing, cpu = p.cpu_seconds() - cpu, p.cpu_seconds()
    waits = waits_of(c, "unrelated", options)
    during = p.cpu_seconds() - cpu
    peak = peak_bytes(p)
    for n in names:
        c.delete(f"{DEFAULT}/{n}?gracePeriodSeconds=0")
    time.sleep(1)
    waits_of(c, "after", options)
    check_running(p)
    return {"attacker's pods": options.pods, "topology keys": share * options.pods,
            "p50 wait of unrelated pods before, ms": round(percentile(before, 0.5) * 1e3, 1),
            "p50 wait of unrelated pods, ms": round(percentile(waits, 0.5) * 1e3, 1),
            "p99 wait of unrelated pods, ms": round(percentile(waits, 0.99) * 1e3, 1),
            "CPU for the attacker's pods, s": round(placing, 2),
            "CPU for an unrelated pod before, ms": round(alone / options.unrelated * 1e3, 2),
            "CPU for an unrelated pod, ms": round(during / options.unrelated * 1e3, 2),
            "peak RSS, MB": megabytes(peak), "RSS after deletion, MB": megabytes(p.rss_bytes())}


def main():
    options = options_of(__doc__, NUMBERS)
    with Cluster() as c:
        figures = attack(c, options)
    report("topology_keys", options.subject, figures)


if __name__ == "__main__":
    main()
