#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A dump of a cluster through `berth simulate`: memory depends on what is kept, not on what is
read."""

import json
import os
import subprocess
import sys

from berth import ROOT
from tap import check, equal, main, skip, test

ATTACK = os.path.join(ROOT, "tests", "attack", "large_dump.py")


def find_berth():
    """The program without sanitizers, which need memory of their own."""
    path = os.environ.get("BERTH_PLAIN", os.path.join(ROOT, "build", "berth"))
    return path if os.access(path, os.X_OK) else None


@test
def memory_is_bounded_by_what_is_kept():
    program = find_berth()
    if not program:
        skip("build/berth is not built")
    done = subprocess.run([sys.executable, ATTACK, "--short", "--berth", program], text=True,
                          stdout=subprocess.PIPE, timeout=600, check=True)
    result = json.loads(done.stdout.splitlines()[-1])
    equal((result["attack"], result["subject"]), ("large_dump", "berth"), "what was run")
    figures = result["figures"]
    for form in ("JSON", "YAML"):
        padded = f"{form} with 8 times the fields that are not kept"
        equal((figures[f"{form}: pending pods placed"], figures[f"{padded}: pending pods placed"]),
              (10, 10), f"{form}: pods placed")
        grown = figures[f"{padded}: size, MB"] - figures[f"{form}: size, MB"]
        more = figures[f"{padded}: peak memory, MB"] - figures[f"{form}: peak memory, MB"]
        check(grown > 5 and more < grown / 5, f"{form}: {more} MB for {grown} MB more of input")


if __name__ == "__main__":
    main()
