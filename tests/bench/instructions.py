#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the engine's instructions per pod and compares them with the recorded ones.

    tests/bench/instructions.py             compares; fails where a row needs over 3 % more
    tests/bench/instructions.py --record    writes tests/bench/instructions.json

The count is that of engine_schedule_one and engine_write_done under callgrind, which is the same in
every run of one program. It depends on the compiler and the C library: with others than those of the
record the comparison is skipped. One line of TAP per row.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECORD = os.path.join(ROOT, "tests/bench/instructions.json")
TOLERANCE = 0.03
PODS, NODES = 500, 1000
TIMEOUT = 600

# callgrind counts each byte of `rep stosb` as an instruction, so memset must not use it.
TUNABLES = ":".join(f"glibc.cpu.x86_rep_{name}_threshold=10485760" for name in ("stosb", "movsb"))


def toolchain(berth):
    """What the count depends on besides the source: compiler, C library and architecture."""
    comment = subprocess.run(["readelf", "-p", ".comment", berth], check=True, text=True,
                             stdout=subprocess.PIPE).stdout
    compiler = re.search(r"GCC: .*?(\d+\.\d+\.\d+)", comment)
    return f"gcc {compiler[1] if compiler else '?'}, {' '.join(platform.libc_ver())}, {platform.machine()}"


def rows(berth):
    """The kinds of pods that `berth bench engine` knows, except the one that is not per pod."""
    out = subprocess.run([berth, "bench", "engine", "--runs=1", "--pods=1", "--nodes=10", "-o", "json"],
                         check=True, text=True, stdout=subprocess.PIPE).stdout
    return [row["name"] for row in json.loads(out)["rows"]]


def count(berth, row):
    with tempfile.TemporaryDirectory(prefix="berth-instructions-") as tmp:
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={tmp}/out", "--collect-atstart=no",
             "--toggle-collect=engine_schedule_one", "--toggle-collect=engine_write_done",
             berth, "bench", "engine", "--runs=1", f"--pods={PODS}", f"--nodes={NODES}", f"--row={row}"],
            env=os.environ | {"GLIBC_TUNABLES": TUNABLES}, timeout=TIMEOUT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise RuntimeError(f"valgrind failed on row {row}:\n{done.stderr[-2000:]}")
        with open(f"{tmp}/out", encoding="utf-8", errors="replace") as f:
            total = re.search(r"^(?:summary|totals): (\d+)", f.read(), re.MULTILINE)
    return int(total[1]) // PODS


def compare(recorded, counts):
    failed = 0
    for number, (row, now) in enumerate(counts.items(), 1):
        before = recorded["instructions per pod"].get(row)
        change = f"{now / before - 1:+.1%}" if before else "not recorded"
        ok = bool(before) and now <= before * (1 + TOLERANCE)
        failed += not ok
        print(f"{'ok' if ok else 'not ok'} {number} - {row}: {now} instructions per pod ({change})")
    if failed:
        print("# A change made the engine slower. If that is worth it, run: make instructions RECORD=1")
    return 1 if failed else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--berth", default=os.path.join(ROOT, "build/berth"))
    p.add_argument("--record", action="store_true")
    options = p.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("instructions.py: valgrind not found: run make deps-test")
    recorded = {}
    if not options.record:
        with open(RECORD, encoding="utf-8") as f:
            recorded = json.load(f)
        if recorded["toolchain"] != toolchain(options.berth):
            print(f"ok 1 - instructions # SKIP recorded with {recorded['toolchain']}, "
                  f"this is {toolchain(options.berth)}")
            return 0
    names = rows(options.berth)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        counts = dict(zip(names, pool.map(lambda row: count(options.berth, row), names)))
    if options.record:
        with open(RECORD, "w", encoding="utf-8") as f:
            json.dump({"toolchain": toolchain(options.berth), "pods": PODS, "nodes": NODES,
                       "instructions per pod": counts}, f, indent=2)
            f.write("\n")
        print(f"recorded {len(counts)} rows in {os.path.relpath(RECORD, ROOT)}")
        return 0
    return compare(recorded, counts)


if __name__ == "__main__":
    sys.exit(main())
