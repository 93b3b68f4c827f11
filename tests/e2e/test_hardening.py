#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The program's protection against memory attacks, as the file itself shows it. Checks build/berth
(or the program of BERTH_RELEASE): sanitizers leave some of it out."""

import os
import re
import subprocess

import berth
from tap import check, contains, main, note, skip, test

# Functions that _FORTIFY_SOURCE guards and the program calls; each has a checked variant.
FORTIFIED = ("memcpy", "snprintf", "vsnprintf", "fprintf", "printf")


def program():
    path = os.environ.get("BERTH_RELEASE", os.path.join(berth.ROOT, "build", "berth"))
    if not os.access(path, os.X_OK):
        skip("build/berth is not built")
    return path


def readelf(*flags):
    return subprocess.run(["readelf", "-W", *flags, program()], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, timeout=berth.TIMEOUT).stdout


def compile_command():
    return subprocess.run(["make", "-n", "V=1", "-B", "build/src/cmd/main.o"], cwd=berth.ROOT, check=True,
                          stdout=subprocess.PIPE, text=True, timeout=berth.TIMEOUT).stdout


def machine():
    return re.search(r"Machine: +(.*)", readelf("-h")).group(1)


@test
def addresses_are_random_and_tables_read_only():
    contains(readelf("-h"), "DYN (")
    contains(readelf("-d"), "PIE", "NOW")
    contains(readelf("-l"), "GNU_RELRO")
    stack = re.search(r"GNU_STACK .*", readelf("-l")).group(0)
    check("RWE" not in stack, f"the stack is executable: {stack}")


@test
def the_stack_is_guarded():
    contains(readelf("--dyn-syms"), "__stack_chk_fail")


@test
def calls_that_copy_are_checked():
    symbols = readelf("--dyn-syms")
    found = [name for name in FORTIFIED if f" __{name}_chk@" in symbols]
    note("checked: " + " ".join(found))
    for name in ("memcpy", "snprintf"):
        check(name in found, f"__{name}_chk is not used")


@test
def sizes_that_are_known_only_when_it_runs_are_checked_as_well():
    """_FORTIFY_SOURCE=3; the program itself does not show the level it was built with."""
    command = compile_command()
    contains(command, "-D_FORTIFY_SOURCE=3 ")
    check("-D_FORTIFY_SOURCE=2" not in command, "an older level is set as well")


@test
def jumps_and_returns_are_checked_where_the_machine_can():
    notes, kind = readelf("-n"), machine()
    if "X86-64" in kind:
        contains(notes, "IBT", "SHSTK")
    elif "AArch64" in kind:
        # Start files of a C library without it remove the note from the program.
        contains(compile_command(), "-mbranch-protection=standard ")
    else:
        skip(f"not on {kind}")


if __name__ == "__main__":
    main()
