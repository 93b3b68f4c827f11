# SPDX-License-Identifier: Apache-2.0
"""Runs the tools of tests/attack in their short form, for tests of what comes of them."""

import json
import os
import subprocess

import berth
from tap import equal


def attack(name, *args, program=None):
    """The figures of tests/attack/NAME.py on berth."""
    # What it starts inherits the layout of addresses that the sanitizers of gcc 12 want.
    done = subprocess.run(
        [*berth.command()[:-1], os.path.join(berth.ROOT, "tests", "attack", name + ".py"), "--short",
         "--berth", program or berth.find_program("berth"), *args],
        stdout=subprocess.PIPE, text=True, env=berth.environment(), timeout=berth.TIMEOUT * 2)
    equal(done.returncode, 0, f"exit code of {name}")
    return json.loads(done.stdout.splitlines()[-1])["figures"]


def plain_program():
    """berth without sanitizers, whose memory can be measured; None where it is not built."""
    path = os.path.join(berth.ROOT, "build", "berth")
    return path if os.access(path, os.X_OK) else None
