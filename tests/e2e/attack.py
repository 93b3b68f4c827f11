# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of tests/attack in their short form, for tests that check the figures."""

import json
import os
import subprocess
import sys

import berth
from tap import check

PROGRAM = berth.find_program("berth")
# The factor by which sanitizers increase memory use.
SANITIZED = 6 if "/address/" in PROGRAM else 1


def attack(name, *args, program=None, timeout=2 * berth.TIMEOUT):
    """Returns the figures of tests/attack/NAME.py on berth."""
    done = subprocess.run(
        # Child processes inherit the address layout that the sanitizers of gcc 12 need.
        [*berth.command()[:-1], sys.executable, os.path.join(berth.ROOT, "tests", "attack", name + ".py"),
         "--short", "--berth", program or PROGRAM, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=berth.environment(), timeout=timeout)
    check(done.returncode == 0, f"{name}.py: exit code {done.returncode}\n{done.stderr[-3000:]}")
    check(not berth.SANITIZER_FOUND.search(done.stderr), done.stderr)
    return json.loads(done.stdout.splitlines()[-1])["figures"]


def plain_program():
    """berth without sanitizers, whose memory can be measured; None if it is not built."""
    path = os.path.join(berth.ROOT, "build", "berth")
    return path if os.access(path, os.X_OK) else None
