#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kube-scheduler and berth in turn with the same extender on the same cluster.

The extender filters and prioritizes, and gets whole nodes; it returns all of them. A pod costs two
round trips. The scheduler's own share of one is the time from the last byte of an answer to the
head of the next request: reading the answer, deciding, and writing the next request. The extender's
time (from the head of a request to the last byte of the answer) is not included. The extender also
binds, which is only recorded, so that the API server does not affect the figures.

    tests/bench/extender_bench.py [--nodes 1000] [--pods 100] [--berth build/berth]
"""

import argparse
import collections
import json
import os
import re
import socket
import statistics
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import Cluster, free_port, make_node, make_pod, wait_for  # noqa: E402

BOTH = ("kube-scheduler", "berth")
LENGTH = re.compile(rb"content-length: *(\d+)", re.I)


class Extender:
    """Returns the bytes it gets, in as little time as possible."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.lock = threading.Lock()
        self.reset()
        threading.Thread(target=self.accept, daemon=True).start()

    def reset(self):
        with self.lock:
            self.last, self.bound = None, 0
            self.gaps, self.busy = collections.defaultdict(list), collections.defaultdict(list)
            self.sizes = collections.defaultdict(list)
            self.first_bind = self.last_bind = None

    def accept(self):
        while True:
            s, _ = self.listener.accept()
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                piece = s.recv(65536)
                if not piece:
                    return
                head += piece
            begin = time.monotonic()
            head, _, rest = head.partition(b"\r\n\r\n")
            verb = head.split(b" ", 2)[1].rsplit(b"/", 1)[1].decode()
            n = int(LENGTH.search(head).group(1))
            body = bytearray(n)
            body[:len(rest)] = rest
            view, at = memoryview(body), len(rest)
            while at < n:
                at += s.recv_into(view[at:])
            s.sendall(self.answer(verb, body))
            self.note(verb, begin, time.monotonic(), n)

    def answer(self, verb, body):
        if verb == "filter":
            begin, end = body.find(b',"Nodes":') + 1, body.rfind(b',"NodeNames":')
            text = b"{" + body[begin:end] + b"}"
        else:
            text = b"[]" if verb == "prioritize" else b"{}"
        return (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                + str(len(text)).encode() + b"\r\n\r\n" + text)

    def note(self, verb, begin, end, n):
        with self.lock:
            if verb == "bind":
                self.bound += 1
                self.first_bind = self.first_bind or end
                self.last_bind = end
                return
            if self.last:
                self.gaps[verb].append(begin - self.last)
            self.last = end
            self.busy[verb].append(end - begin)
            self.sizes[verb].append(n)


def big_node(i):
    """A node of about the size that a kubelet reports."""
    node = make_node(f"node-{i:05}", cpu=8, zone=f"zone-{i % 3}", images=[
        {"names": [f"registry.test/team-{k}/image-{(i * 7 + k) % 200}@sha256:{k:064x}",
                   f"registry.test/team-{k}/image-{(i * 7 + k) % 200}:v1.{k}"],
         "sizeBytes": (k + 1) << 24} for k in range(20)])
    node["status"]["conditions"] += [
        {"type": t, "status": "False", "reason": f"KubeletHasNo{t}",
         "message": f"kubelet has no {t.lower()}"}
        for t in ("MemoryPressure", "DiskPressure", "PIDPressure")]
    node["status"]["addresses"] = [
        {"type": "InternalIP", "address": f"10.{i >> 8}.{i & 255}.1"},
        {"type": "Hostname", "address": f"node-{i:05}"}]
    return node


def measure(c, x, who, options):
    """Creates the pods, then starts the scheduler."""
    pods = [make_pod(f"{who}-{i}", scheduler_name=who, cpu="1m", memory="1Mi")
            for i in range(options.pods)]
    c.create_many("/api/v1/namespaces/default/pods", pods)
    x.reset()
    config = {"profiles": [{"schedulerName": who, "percentageOfNodesToScore": 100}],
              "extenders": [{"urlPrefix": x.url, "filterVerb": "filter", "bindVerb": "bind",
                             "prioritizeVerb": "prioritize", "weight": 1, "httpTimeout": "30s"}]}
    if who == "berth":
        path = os.path.join(c.dir, "berth.json")
        with open(path, "w") as f:
            json.dump({"apiVersion": "kubescheduler.config.k8s.io/v1",
                       "kind": "KubeSchedulerConfiguration",
                       "leaderElection": {"leaderElect": False},
                       "clientConnection": {"kubeconfig": c.scheduler_kubeconfig}, **config}, f)
        p = c.spawn("berth", [os.path.abspath(options.berth), "scheduler", f"--config={path}",
                              f"--secure-port={free_port()}", "--bind-address=127.0.0.1"])
    else:
        p = c.start_scheduler(config=config, qps=5000)
    try:
        wait_for(lambda: x.bound >= options.pods or not p.running(), 1200, what="all pods are bound")
        assert p.running(), f"{who} has ended"
        cpu = p.cpu_seconds()
    finally:
        c.children.remove(p)
        p.kill()
    gaps = [g for verb in ("filter", "prioritize") for g in x.gaps[verb]]
    result = {"pods_per_s": (options.pods - 1) / (x.last_bind - x.first_bind),
              "own_ms": 1000 * statistics.median(gaps),
              "own_mean_ms": 1000 * statistics.mean(gaps),
              "cpu_ms_per_pod": 1000 * cpu / options.pods}
    for verb in ("filter", "prioritize"):
        result[f"own_{verb}_ms"] = 1000 * statistics.median(x.gaps[verb])
        result[f"extender_{verb}_ms"] = 1000 * statistics.median(x.busy[verb])
        result[f"{verb}_mb"] = statistics.median(x.sizes[verb]) / 1e6
    c.delete("/api/v1/namespaces/default/pods?gracePeriodSeconds=0")
    wait_for(lambda: not c.pods(), 120, what="pods are gone")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--pods", type=int, default=100)
    parser.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"))
    parser.add_argument("--only", choices=BOTH, help="run only this one")
    options = parser.parse_args()
    x = Extender()
    with Cluster() as c:
        c.create_many("/api/v1/nodes", [big_node(i) for i in range(options.nodes)])
        results = {who: measure(c, x, who, options) for who in BOTH
                   if options.only in (None, who)}
    print(" " * 26 + "".join(f"{who:>16}" for who in results))
    for key in results[next(iter(results))]:
        print(f"{key:26}" + "".join(f"{r[key]:16.3f}" for r in results.values()))
    if len(results) == 2:
        kube, berth = (results[who]["own_ms"] for who in BOTH)
        print(f"own share of kube-scheduler over that of berth: {kube / berth:.1f}")


if __name__ == "__main__":
    main()
