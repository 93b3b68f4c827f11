#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy (.clang-tidy) on all cores.

    tools/tidy.py [FILE...]     check these files; without arguments, all of src/

A file without findings is not checked again until it, a header it includes, its compiler flags or
.clang-tidy changes. ~/.cache/berth/tidy has one empty file per state without findings, which clones
share; states that were not used for 30 days are deleted.
"""

import concurrent.futures
import contextlib
import hashlib
import json
import os
import re
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DATABASE = os.path.join(ROOT, "build/tidy")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "berth/tidy")
KEPT = 30 * 24 * 3600  # seconds after its last use
CORES = len(os.sched_getaffinity(0))
TIDY = "clang-tidy-19"
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def content(path):
    with open(os.path.join(ROOT, path), "rb") as f:
        return f.read()


def closure(path, seen):
    """path and all headers of this project that it includes, directly or indirectly."""
    if path in seen:
        return seen
    seen.add(path)
    for name in INCLUDE.findall(content(path).decode("utf-8", "replace")):
        for directory in (os.path.dirname(path), "src", "include", "tests/lib"):
            header = os.path.normpath(os.path.join(directory, name))
            if os.path.exists(os.path.join(ROOT, header)):
                closure(header, seen)
                break
    return seen


def state(command, common):
    """A file name made from everything that the findings in a file depend on."""
    h = hashlib.sha256(common)
    h.update("\0".join(command["arguments"]).encode())
    for path in sorted(closure(command["file"], set())):
        h.update(path.encode() + b"\0" + content(path))
    return os.path.join(CACHE, h.hexdigest())


def known_clean(mark):
    """Whether this state is known to have no findings. This counts as a use."""
    with contextlib.suppress(FileNotFoundError):
        os.utime(mark)
        return True
    return False


def forget_old():
    for entry in os.scandir(CACHE):
        if entry.stat().st_mtime < time.time() - KEPT:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(entry.path)


def look_at(command):
    done = subprocess.run([TIDY, "--quiet", "-p", DATABASE, command["file"]], cwd=ROOT, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode == 0:
        return ""
    return done.stdout.replace(ROOT + "/", "") or done.stderr


def main():
    os.makedirs(CACHE, exist_ok=True)
    os.makedirs(DATABASE, exist_ok=True)
    database = os.path.join(DATABASE, "compile_commands.json")
    subprocess.run([os.path.join(ROOT, "tools/compile_commands.py"), database], check=True)
    with open(database, encoding="utf-8") as f:
        commands = {c["file"]: c for c in json.load(f)}
    files = sys.argv[1:] or [path for path in commands if path.startswith("src/")]
    common = content(".clang-tidy") + subprocess.run([TIDY, "--version"], check=True,
                                                     stdout=subprocess.PIPE).stdout
    states = {path: state(commands[path], common) for path in files}
    todo = [path for path in files if not known_clean(states[path])]
    # The largest first: they take longest.
    todo.sort(key=lambda path: -len(content(path)))
    faults = False
    with concurrent.futures.ThreadPoolExecutor(CORES) as pool:
        for path, output in zip(todo, pool.map(lambda path: look_at(commands[path]), todo)):
            if output:
                faults = True
                print(output.rstrip())
            else:
                open(states[path], "w", encoding="utf-8").close()
    forget_old()
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
