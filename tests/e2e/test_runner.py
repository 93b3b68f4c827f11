#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/run.py: the counts of results, and the order in which tests run."""

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
import time
from unittest import mock

import berth
from tap import Skipped, check, contains, equal, main, test
from terminal import type_into

sys.path.insert(0, os.path.join(berth.ROOT, "tests"))

import run as runner  # noqa: E402

SCRIPT = """import sys
sys.path.insert(0, {lib!r})
from tap import check, main, skip, test

@test
def one_holds():
    pass

@test
def one_does_not():
    check({holds}, "it does not")

@test
def one_cannot_be_tried():
    skip("there is no such thing here")

main()
"""


def run_script(holds):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(SCRIPT.format(lib=os.path.join(berth.ROOT, "tests", "lib"), holds=holds))
        f.flush()
        tally, said = runner.Tally(), []
        with mock.patch.object(runner, "say", said.append):
            runner.show_tap(tally, [sys.executable, f.name], "script", berth.TIMEOUT)
    return tally, said


@test
def passed_failed_and_skipped_tests_are_counted_apart():
    tally, said = run_script(holds=True)
    equal((tally.passed, tally.failed, tally.skipped), (2, 0, 1), "counts")
    equal(said, ["ok      one holds", "ok      one does not",
                 "skip    one cannot be tried # SKIP there is no such thing here"], "lines")
    tally, _ = run_script(holds=False)
    equal((tally.passed, tally.failed, tally.skipped), (1, 1, 1), "counts with a failure")


@test
def the_last_line_names_all_three_counts():
    """Of the phase `unit`, which accepts any folder with a berth-unit."""
    with tempfile.TemporaryDirectory() as at:
        program = os.path.join(at, "berth-unit")
        with open(program, "w") as f:
            f.write("#!/bin/sh\necho 1..2\necho ok 1 - a\necho 'ok 2 - b # SKIP none here'\n")
        os.chmod(program, 0o755)
        done = subprocess.run(
            [sys.executable, os.path.join(berth.ROOT, "tests", "run.py"), "--unit", at, "heap"],
            stdout=subprocess.PIPE, text=True, timeout=berth.TIMEOUT)
    equal(done.returncode, 0, "exit code")
    equal(done.stdout.splitlines()[-1], "1 passed, 0 failed, 1 skipped", "last line")


@test
def tests_that_type_into_a_shell_are_skipped_without_a_pseudo_terminal():
    refuse = mock.Mock(side_effect=OSError(errno.ENOENT, "out of pty devices"))
    with mock.patch.object(os, "openpty", refuse), contextlib.ExitStack() as stack:
        fork = stack.enter_context(mock.patch.object(os, "forkpty"))
        try:
            type_into(["true"], [], "")
        except Skipped as e:
            contains(str(e), "pseudo-terminal", "out of pty devices")
        else:
            check(False, "it was not skipped")
        check(not fork.called, "it went on")


@test
def long_tests_start_first_and_light_ones_run_beside_them():
    rows = {"e2e/long": {"seconds": 0.4, "cores": 1.0}, "e2e/heavy": {"seconds": 0.3, "cores": 2.0},
            "e2e/light": {"seconds": 0.1, "cores": 0.3}}
    began, now, most = [], [], []

    def work(name):
        began.append(name)
        now.append(name)
        most.append(sorted(now))
        time.sleep(rows.get(name, {"seconds": 0.1})["seconds"])
        now.remove(name)

    with mock.patch.object(runner.durations, "recorded", rows), \
            mock.patch.object(runner, "CORES", 2):
        names = runner.durations.longest_first([*rows, "e2e/new"])
        equal(names, ["e2e/new", "e2e/long", "e2e/heavy", "e2e/light"], "order")
        runner.in_parallel(work, names[1:], runner.durations.cores, 3)
    equal(began, ["e2e/long", "e2e/light", "e2e/heavy"], "heavy waits until the cores are free")
    equal(most[1], ["e2e/light", "e2e/long"], "at once")
    equal(most[2], ["e2e/heavy"], "alone")


if __name__ == "__main__":
    main()
