#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth simulate --explain: its output in a file and on a terminal."""

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import textwrap

import berth
from berth import ROOT, check, equal, make_node, make_pod
from tap import contains, main, skip, test


def simulate(*args):
    return berth.run("simulate", *args)


def file(d, name, objects):
    path = os.path.join(d, name)
    with open(path, "w") as f:
        json.dump({"apiVersion": "v1", "kind": "List", "items": objects}, f)
    return path


@test
def explanations_are_tables_for_people(d):
    """Golden: README shows this one."""
    done = simulate("--explain", "--pod", "web-1", os.path.join(ROOT, "examples", "scenario.yaml"))
    equal((done.code, done.err), (0, ""), "exit code and errors")
    with open(os.path.join(ROOT, "README.md")) as f:
        shown = re.search(r"\$ build/berth simulate --explain --pod web-1 .*\n((?:(?:    .*)?\n)+)",
                          f.read())[1]
    equal(done.out.strip(), textwrap.dedent(shown).strip(), "the table")
    done = simulate("--explain", os.path.join(ROOT, "examples", "scenario.yaml"))
    equal(re.findall(r"^default/(\S+): (\w+)", done.out, re.M),
          [("web-1", "scheduled"), ("web-2", "scheduled"), ("web-3", "scheduled"),
           ("batch", "scheduled"), ("maintenance", "scheduled"), ("too-big", "unschedulable"),
           ("idle", "scheduled")], "all pods")
    contains(done.out, "6 of 7 pods placed")
    done = simulate("--pod=unknown", os.path.join(ROOT, "examples", "scenario.yaml"))
    contains(done.err, '--pod: no attempt to schedule pod "unknown"')
    contains(done.out, "6 of 7 pods placed")


def in_terminal(columns, *args, **env):
    """berth's output to a terminal of that width."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {k: v for k, v in berth.environment().items() if k != "NO_COLOR"}
    p = subprocess.Popen(berth.command() + ["simulate", *args], stdin=theirs, stdout=theirs,
                         stderr=theirs, env={**environment, "TERM": "xterm", **env})
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):
        while part := os.read(ours, 65536):
            text += part
    os.close(ours)
    equal(p.wait(berth.TIMEOUT), 0, "exit code")
    return text.decode().replace("\r\n", "\n")


@test
def a_thousand_nodes_fit_a_terminal(d):
    nodes = [make_node(f"gke-prod-default-pool-{i:04}.europe-west1-b.c.example.internal",
                       cpu=str(1 + i % 4), unschedulable=i % 10 == 0,
                       taints=[{"key": "gpu", "effect": "NoSchedule"}] if i % 7 == 0 else None)
             for i in range(1000)]
    path = file(d, "large.json", nodes + [make_pod("web", cpu="2"), make_pod("huge", cpu="99")])
    try:
        pty.openpty()
    except OSError as e:
        skip(f"no pseudo-terminal: {e}")
    for columns in (80, 120):
        text = in_terminal(columns, "--explain", "--pod", "huge", path)
        check("\x1b[1;31munschedulable\x1b[0m" in text, "colours in a terminal")
        plain = in_terminal(columns, "--explain", "--pod", "huge", path, NO_COLOR="1")
        check("\x1b" not in plain, "NO_COLOR")
        check("\x1b" not in in_terminal(columns, "--explain", "--pod", "huge", path, TERM="dumb"),
              "TERM=dumb")
        equal(re.sub(r"\x1b\[[0-9;]*m", "", text), plain, "the same text")
        table = plain.splitlines()
        check(max(map(len, table)) <= columns, "\n".join(table))
        check(len(table) < 40, f"{len(table)} lines for 1000 nodes")
        contains(plain, "Filters: 0 of 1000 nodes passed", "Insufficient cpu",
                 "names are shown without .europe-west1-b.c.example.internal")
    all_nodes = simulate("--explain", "--pod", "default/huge", "--nodes=0", path).out
    equal(len(re.findall(r"^    gke-prod-default-pool-\d{4} ", all_nodes, re.M)), 1000, "--nodes=0")


@test
def preemption_is_explained(d):
    scene = [make_node("n0", cpu="8"), make_pod("low", cpu="8", node_name="n0"),
             make_pod("high", cpu="8", spec={"priority": 1000})]
    out = simulate("--explain", file(d, "scenario.json", scene)).out
    contains(out, "default/high: unschedulable (attempt 1)", "  Nominated:   n0\n",
             "  Evicts:      1 pod by DefaultPreemption: default/low\n",
             "default/high: scheduled to n0 (attempt 2)")


if __name__ == "__main__":
    main(fixture=tempfile.TemporaryDirectory)
