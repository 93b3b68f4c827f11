#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many silent TCP connections while the API server restarts: does the scheduler survive?

The scheduler runs with the usual soft limit of 1,024 descriptors (`ulimit -Sn 1024`). When the
connections are established, /healthz is requested as a kubelet does it, the API server is
restarted, and a pod must still get a node. The attacker needs no credentials: a connection is
enough.

    tests/attack/silent_connections.py [--subject kube-scheduler] [--short]
    tests/attack/silent_connections.py --hard 1024        the limit cannot be raised
"""

import threading
import time

import serving
from serving import Cluster, bind_pod, make_node, mib, say


class Flood(threading.Thread):
    """Keeps n silent connections open: one that the server closes is replaced."""

    def __init__(self, p, n):
        super().__init__(daemon=True)
        self.p, self.n = p, n
        self.sockets, self.opened, self.failed, self.ends = [], 0, 0, threading.Event()
        self.full = threading.Event()

    def run(self):
        while not self.ends.is_set():
            self.sockets = [s for s in self.sockets if is_open(s)]
            while len(self.sockets) < self.n and not self.ends.is_set():
                try:
                    self.sockets.append(serving.tcp(self.p, timeout=1))
                    self.opened += 1
                except OSError:
                    self.failed += 1
                    self.ends.wait(0.05)
                    break
            self.full.set()
            self.ends.wait(0.1)

    def __enter__(self):
        self.start()
        self.full.wait(60)
        return self

    def __exit__(self, *exc):
        self.ends.set()
        self.join()
        for s in self.sockets:
            s.close()


def is_open(s):
    s.setblocking(False)
    try:
        if s.recv(1):
            return True
    except BlockingIOError:
        return True
    except OSError:
        pass
    s.close()
    return False


def main():
    given = serving.options(__doc__, connections=(1100, "how many"),
                            hard=(0, "hard limit of descriptors; 0: as it is"))
    with Cluster() as c:
        c.create(serving.PODS.replace("/namespaces/default/pods", "/nodes"), make_node("n0"))
        p = serving.start(c, given, soft=1024, hard=given.hard)
        before, _ = serving.memory(p)
        say(f"keeping {given.connections} connections open")
        with Flood(p, given.connections) as flood:
            time.sleep(1)
            health = serving.time_to_answer(p, "/healthz", limit=5 if given.short else 20)
            rss, _ = serving.memory(p)
            say(f"/healthz after {health} s; restarting the API server")
            c.kill_apiserver()
            c.start_apiserver()
            bound = bind_pod(c, "after", limit=20 if given.short else 90) if p.running() else None
            after = serving.time_to_answer(p, "/healthz", limit=5) if p.running() else None
        figures = {
            "connections opened": flood.opened,
            "resident memory before, MiB": mib(before),
            "/healthz during the attack, ms": None if health is None else round(1000 * health, 1),
            "resident memory during the attack, MiB": mib(rss),
            "alive after the API server restarted (1: yes)": int(p.running()),
            "a pod is bound after the restart, ms": None if bound is None else round(1000 * bound, 1),
            "/healthz after the restart, ms": None if after is None else round(1000 * after, 1),
        }
    serving.report(given, figures)


if __name__ == "__main__":
    main()
