#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/storm.py in its short form: unschedulable pods must not flood the API server."""

import json
import os
import subprocess
import sys

import berth
from tap import check, equal, main, note, test

TOOL = os.path.join(berth.ROOT, "tests", "attack", "storm.py")
ROOM = "seconds until 10 large pods have got new room"


def storm(*args):
    """The figures. Uses the program without sanitizers if it is built."""
    plain = os.path.join(berth.ROOT, "build", "berth")
    program = plain if os.access(plain, os.X_OK) else berth.find_program("berth")
    done = subprocess.run([sys.executable, TOOL, "--short", f"--berth={program}", *args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=berth.TIMEOUT)
    equal(done.returncode, 0, f"exit code of the tool\n{done.stderr[-2000:]}")
    figures = json.loads(done.stdout.splitlines()[-1])["figures"]
    note(json.dumps(figures))
    return figures


def check_figures(figures, seconds, pods):
    """The limits of a scheduler that waits for the API server and honours backoff."""
    equal(figures["small pods bound"], figures["small pods made"], "small pods bound")
    # 50 writes a second and a burst of 100, as upstream.
    check(figures["status patches"] <= 100 + 50 * (seconds + 2), "too many status patches")
    # One for each deleted small pod, and one for each pod when its backoff ends: 1, 2, 4, 8 s.
    most = figures["small pods made"] + 5 * pods
    check(figures["unschedulable attempts"] <= most, f"more than {most} failed attempts")
    check(figures[ROOM] < 20, "waiting pods do not use free resources")


@test
def pods_that_fit_nowhere_do_not_flood_the_api_server():
    check_figures(storm(), seconds=8, pods=150)


@test
def nor_do_they_where_no_two_are_alike():
    check_figures(storm("--distinct"), seconds=8, pods=150)


@test
def nor_do_they_hold_up_bindings_within_a_limit():
    check_figures(storm("--qps=50", "--burst=100"), seconds=8, pods=150)


if __name__ == "__main__":
    main()
