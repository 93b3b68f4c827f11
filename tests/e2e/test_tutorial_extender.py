#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/tutorials/extender.md: its commands run on a real cluster and print what it shows.

The commands are the blocks marked sh, in one shell; a block marked console is the output of the
block before it. Ports are replaced with free ones, and make only has to know its targets.
"""

import os
import re
import subprocess

import berth
from berth import NODES, make_node
from cluster import Cluster, free_port
from tap import check, equal, main, note, test

TUTORIAL = os.path.join(berth.ROOT, "docs/tutorials/extender.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "---- end of block ----"


def script(blocks, port):
    """The commands, with a mark after each block; a server is waited for."""
    lines = ["set -eu", f'make() {{ command make -C "{berth.ROOT}" -n "$@" >make.log; }}',
             "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT"]
    for text in blocks:
        lines.append(text)
        if text.rstrip().endswith("&"):
            lines.append(f"until curl -sf http://127.0.0.1:{port}/healthz >/dev/null; do sleep 0.1; done")
        lines.append(f"echo '{MARK}'")
    return "\n".join(lines)


@test
def its_commands_print_what_it_shows(c):
    for name in ("n1", "n2"):    # for a single node no scores are needed
        c.create(NODES, make_node(name))
    port, folder = free_port(), os.path.join(c.dir, "tutorial")
    os.makedirs(os.path.join(folder, "build"))
    for program in ("berth", "my-scheduler-extender"):
        path = os.path.join(folder, "build", program)
        with open(path, "w") as f:
            f.write(f'#!/bin/sh\nexec {" ".join(berth.command(program))} "$@"\n')
        os.chmod(path, 0o755)
    with open(TUTORIAL) as f:
        blocks = [(kind, text.replace("8080", str(port))) for kind, text in BLOCK.findall(f.read())]
    commands = [text for kind, text in blocks if kind == "sh"]
    env = {**berth.environment(), **c.environment()}
    env["PATH"] = c.bin + ":" + env["PATH"]
    done = subprocess.run(["bash", "-c", script(commands, port)], cwd=folder, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=berth.TIMEOUT)
    equal(done.returncode, 0, f"exit code\n{done.stdout}\n{done.stderr[-3000:]}")
    check(not berth.SANITIZER_FOUND.search(done.stderr), done.stderr)
    printed = iter(done.stdout.split(MARK + "\n"))
    compared = 0
    for kind, text in blocks:
        if kind == "sh":
            last = next(printed)
        elif kind == "console":
            # A line without its end is followed by the next one.
            equal(last.replace("\n", ""), text.replace("\n", ""), "what a block printed")
            compared += 1
    check(compared >= 3, f"{compared} outputs compared")
    note(f"{len(commands)} blocks of commands, {compared} outputs")


if __name__ == "__main__":
    main(fixture=Cluster)
