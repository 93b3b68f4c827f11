# SPDX-License-Identifier: Apache-2.0
"""Tests as a list of behaviours, reported in TAP.

    from tap import test, equal, contains, main

    @test
    def a_pod_that_fits_is_bound(c):
        ...

    if __name__ == "__main__":
        main(fixture=Cluster, after=reset)

A test is a function; its name states what it proves: "ok 1 - a pod that fits is bound". It fails by
an exception; equal, contains and check raise one that shows the actual value; skip ends a test that
cannot run here, with the reason. The fixture is a context manager, entered once and passed to every
test; `after` is called with it when a test has ended, and may fail it. Arguments on the command
line select the tests whose names contain one of them.
"""

import os
import re
import sys
import time
import traceback

TAIL = 40       # lines of each log shown if a test fails

_tests = []
_logs = []      # paths of the logs of the running test


def test(function):
    _tests.append(function)
    return function


def show_log(path):
    """Shows the end of this file if the running test fails."""
    if path not in _logs:
        _logs.append(path)


class Failed(AssertionError):
    pass


class Skipped(Exception):
    pass


def skip(why):
    """Skips the running test."""
    raise Skipped(why)


def check(condition, otherwise):
    if not condition:
        raise Failed(otherwise)


def equal(got, want, what="value"):
    check(got == want, f"{what}: got {got!r}\n{' ' * len(what)} want {want!r}")


def contains(text, *parts):
    for part in parts:
        check(part in text, f"not found: {part!r}\nin: {text[-2000:]}")


def matches(text, pattern):
    check(re.search(pattern, text), f"no match for {pattern!r}\nin: {text[-2000:]}")


def note(text):
    """Prints a line beside the results."""
    for line in str(text).rstrip("\n").split("\n"):
        print("# " + line, flush=True)


def _note_logs():
    for path in _logs:
        try:
            with open(path, errors="replace") as f:
                lines = f.readlines()
        except OSError:
            continue
        note(f"end of {os.path.basename(path)} ({len(lines)} lines):")
        note("".join("  " + line for line in lines[-TAIL:]) or "  (empty)")


def _run_one(number, function, args, after):
    name = function.__name__.replace("_", " ")
    begin = time.monotonic()
    trouble, left_out = [], ""
    for step in (function, after):
        try:
            if step:
                step(*args)
        except Skipped as e:
            left_out = f" # SKIP {e}"
        except Exception as e:
            told = str(e) if isinstance(e, (Failed, TimeoutError)) else traceback.format_exc()
            trouble.append(told + ("" if step is function else "\n(when tidying up)"))
            where = traceback.extract_tb(e.__traceback__)
            trouble += [f"  at {os.path.basename(f.filename)}:{f.lineno} {f.line}" for f in where
                        if os.path.basename(f.filename) != "tap.py"]
    print(f"{'not ok' if trouble else 'ok'} {number} - {name}{left_out}", flush=True)
    note(f"{time.monotonic() - begin:.1f} s")
    if trouble:
        note("\n".join(trouble))
        _note_logs()
    _logs.clear()
    return not trouble


def main(fixture=None, after=None):
    wanted = [w.replace("_", " ") for w in sys.argv[1:]]
    chosen = [t for t in _tests
              if not wanted or any(w in t.__name__.replace("_", " ") for w in wanted)]
    if not chosen:
        sys.exit("no test has such a name; there are: " + " ".join(t.__name__ for t in _tests))
    print(f"1..{len(chosen)}", flush=True)
    if fixture is None:
        results = [_run_one(i, t, (), after) for i, t in enumerate(chosen, 1)]
    else:
        with fixture() as made:
            results = [_run_one(i, t, (made,), after) for i, t in enumerate(chosen, 1)]
    sys.exit(0 if all(results) else 1)
