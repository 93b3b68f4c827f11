# SPDX-License-Identifier: Apache-2.0
"""Runs a program of tests/attack in its short form, on the berth that the tests are about."""

import json
import os
import subprocess
import sys

import berth
from tap import check

PROGRAM = berth.find_program("berth")
# How much more memory a program takes that checks every access.
SANITIZED = 6 if "/address/" in PROGRAM else 1


def run(name, timeout=berth.TIMEOUT):
    """Its figures."""
    done = subprocess.run(
        # What it starts inherits the layout of addresses that the sanitizers of gcc 12 want.
        [*berth.command()[:-1], sys.executable, os.path.join(berth.ROOT, "tests", "attack", name + ".py"), "--short",
         "--berth", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=timeout, env=berth.environment())
    check(done.returncode == 0, f"{name}.py: exit code {done.returncode}\n{done.stderr[-3000:]}")
    check(not berth.SANITIZER_FOUND.search(done.stderr), done.stderr)
    return json.loads(done.stdout.splitlines()[-1])["figures"]
