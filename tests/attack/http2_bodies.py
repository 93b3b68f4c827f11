#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP/2 connections full of requests with bodies of 1 MiB, from unauthenticated clients.

Eight connections open as many streams as allowed, up to 250, and send 1 MiB on each as far as the
server's flow control permits, except for the last byte: no request ever ends. A connection that the
server closes is replaced. The attacker needs no credentials.

    tests/attack/http2_bodies.py [--subject kube-scheduler] [--short]
"""

import threading
import time

import serving
from serving import DATA, END_HEADERS, H2, MIB, Cluster, frame, head, mib, say

PIECE = b"x" * 16384


class Attacker(threading.Thread):
    def __init__(self, p, streams, ends):
        super().__init__(daemon=True)
        self.p, self.streams, self.ends = p, streams, ends
        self.sent = self.opened = self.connections = 0

    def run(self):
        while not self.ends.is_set():
            try:
                conn = H2(self.p)
            except OSError:
                time.sleep(0.05)
                continue
            self.connections += 1
            self.fill(conn)
            conn.close()

    def fill(self, conn):
        conn.take(1)
        left = {}
        for _ in range(min(self.streams, conn.streams_max)):
            stream, opening = conn.open(head("/metrics", "POST"), END_HEADERS)
            if not conn.send(opening):
                return
            left[stream] = MIB - 1
            self.opened += 1
        while not self.ends.is_set():
            if not conn.take(0.05 if not self.push(conn, left) else 0):
                return

    def push(self, conn, left):
        """One round over the streams. Returns False if flow control allows nothing."""
        any_sent = False
        for stream in left:
            n = min(left[stream], len(PIECE), conn.window, conn.windows.get(stream, 0))
            if n <= 0 or not conn.send(frame(DATA, 0, stream, PIECE[:n])):
                continue
            left[stream] -= n
            conn.window -= n
            conn.windows[stream] -= n
            self.sent += n
            any_sent = True
        return any_sent


def main():
    given = serving.options(__doc__, connections=(8, "at a time"), streams=(250, "per connection"),
                            seconds=(0, "how long; 0: 15, short 6"))
    with Cluster() as c:
        p = serving.start(c, given)
        before, _ = serving.memory(p)
        ends = threading.Event()
        crew = [Attacker(p, given.streams, ends) for _ in range(given.connections)]
        for a in crew:
            a.start()
        with serving.Probes(p) as probes:
            time.sleep(given.seconds or (6 if given.short else 15))
        _, most = serving.memory(p)
        ends.set()
        for a in crew:
            a.join()
        say("all connections closed; waiting for memory to be given back")
        time.sleep(5 if given.short else 15)
        after, _ = serving.memory(p)
        sent = sum(a.sent for a in crew)
        figures = {
            "requests": sum(a.opened for a in crew),
            "body bytes that the server took, MiB": mib(sent),
            "body bytes that the server took for each connection, KiB":
                round(sent / max(1, sum(a.connections for a in crew)) / 1024, 1),
            "resident memory before, MiB": mib(before),
            "resident memory at most, MiB": mib(most),
            "resident memory afterwards, MiB": mib(after),
            "/healthz at most, ms": probes.most_ms(),
            "/healthz without an answer": probes.failed,
        }
    serving.report(given, figures)


if __name__ == "__main__":
    main()
