#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU time per call of examples/extender beside the same extender in Go (tests/kube/cmd/extender).

Both get the same requests over one connection, one after the other, without TLS. The time is that
of the server's process, user and system, so it does not depend on this client.

    tests/bench/extender_kit_bench.py [--calls 200] [--extender build/my-scheduler-extender]
"""

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import Process, make_pod, wait_for  # noqa: E402
from extender_bench import big_node  # noqa: E402


def build_go():
    go = subprocess.check_output([os.path.join(ROOT, "tests/lib/go.sh")], text=True).strip()
    path = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
                        "berth", "bench", "extender")
    subprocess.run([go, "build", "-o", path, "./cmd/extender"], check=True,
                   cwd=os.path.join(ROOT, "tests/kube"))
    return path


def requests():
    """(name, verb, body)"""
    pod = make_pod("p")
    for n in (100, 1000):
        nodes = {"metadata": {}, "items": [big_node(i) for i in range(n)]}
        body = json.dumps({"Pod": pod, "Nodes": nodes, "NodeNames": None}).encode()
        for verb in ("filter", "prioritize"):
            yield f"{verb}, {n} nodes, {len(body) / 1e6:.1f} MB", verb, body
    names = json.dumps({"Pod": pod, "Nodes": None,
                        "NodeNames": [f"node-{i:05}" for i in range(5000)]}).encode()
    for verb in ("filter", "prioritize"):
        yield f"{verb}, 5000 names", verb, names


def call(conn, verb, body, times):
    for _ in range(times):
        conn.request("POST", "/" + verb, body, {"Content-Type": "application/json"})
        answer = conn.getresponse()
        text = answer.read()
        assert answer.status == 200, text[:200]
    return json.loads(text)


def measure(name, argv, log, calls):
    """{request: (CPU ms per call, answer)}, and the memory at the end."""
    p = Process(name, argv, log)
    try:
        port = int(wait_for(lambda: re.search(r"port=(\d+)", p.text()), 60).group(1))
        conn = http.client.HTTPConnection("127.0.0.1", port)
        results = {}
        for what, verb, body in requests():
            call(conn, verb, body, 20)
            before = p.cpu_seconds()
            answer = call(conn, verb, body, calls)
            results[what] = (1000 * (p.cpu_seconds() - before) / calls, answer)
        return results, p.rss_bytes()
    finally:
        p.kill()


def same(a, b):
    """Whether two answers mean the same; Go writes null for empty maps."""
    if isinstance(a, list):
        return a == b
    return all((a.get(k) or None) == (b.get(k) or None) for k in ("NodeNames", "FailedNodes", "Error")) \
        and [n["metadata"]["name"] for n in (a["Nodes"] or {}).get("items", ())] == \
            [n["metadata"]["name"] for n in (b["Nodes"] or {}).get("items", ())]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--extender", default=os.path.join(ROOT, "build", "my-scheduler-extender"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as d:
        kit, kit_rss = measure("kit", [os.path.abspath(options.extender), "--plain", "--port=0"],
                               os.path.join(d, "kit.log"), options.calls)
        go, go_rss = measure("go", [build_go()], os.path.join(d, "go.log"), options.calls)
    print(f"{'CPU ms per call':36}{'kit':>10}{'Go':>10}{'ratio':>10}")
    for what, (ms, answer) in kit.items():
        assert same(answer, go[what][1]), f"{what}: different answers"
        print(f"{what:36}{ms:10.3f}{go[what][0]:10.3f}{go[what][0] / ms:10.1f}")
    print(f"{'resident memory at the end, MiB':36}{kit_rss / 2**20:10.1f}{go_rss / 2**20:10.1f}")


if __name__ == "__main__":
    main()
