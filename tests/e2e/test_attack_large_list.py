#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/large_list.py in its short form: lists whose pages are too large are read all the same."""

import json
import os
import subprocess

import berth
from berth import ROOT, equal
from tap import main, test


@test
def a_list_whose_pages_are_too_large_is_read_in_smaller_ones():
    # What it starts inherits the layout of addresses that the sanitizers of gcc 12 want.
    done = subprocess.run(
        [*berth.command()[:-1], os.path.join(ROOT, "tests/attack/large_list.py"), "--short",
         "--berth", berth.find_program("berth")],
        stdout=subprocess.PIPE, text=True, env=berth.environment(), timeout=berth.TIMEOUT * 2)
    equal(done.returncode, 0, "exit code of the attack")
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    equal(figures["became ready and bound a pod (1: yes)"], 1, "ready and bound")


if __name__ == "__main__":
    main()
