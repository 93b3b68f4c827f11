#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/deposed_leader.py in its short form: a leader that was deposed writes nothing more."""

import json
import os
import subprocess

import berth
from berth import ROOT, equal
from tap import main, test


def attack():
    # What it starts inherits the layout of addresses that the sanitizers of gcc 12 want.
    done = subprocess.run(
        [*berth.command()[:-1], os.path.join(ROOT, "tests/attack/deposed_leader.py"), "--short",
         "--berth", berth.find_program("berth")],
        stdout=subprocess.PIPE, text=True, env=berth.environment(), timeout=berth.TIMEOUT * 2)
    equal(done.returncode, 0, "exit code of the attack")
    return json.loads(done.stdout.splitlines()[-1])["figures"]


@test
def a_leader_that_was_stopped_until_another_led_writes_nothing_more():
    figures = attack()
    equal(figures["bindings sent after another took the lease"], 0, "bindings")
    equal(figures["other writes sent after another took the lease"], 0, "other writes")
    equal(figures["exit code"], 1, "exit code of the leader that was deposed")


if __name__ == "__main__":
    main()
