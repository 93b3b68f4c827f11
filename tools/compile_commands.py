#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a compilation database for clang-tidy and editors.

    tools/compile_commands.py FILE
"""

import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def commands():
    """The compilations that `make` runs in an empty build directory."""
    env = os.environ | {"MAKEFLAGS": "", "MAKELEVEL": ""}
    dry_run = subprocess.run(["make", "-nB", "all", "unit-bins"], cwd=ROOT, env=env, check=True,
                             stdout=subprocess.PIPE, text=True).stdout
    for line in dry_run.replace("\\\n", " ").split("\n"):
        if " -c " not in line:
            continue
        argv = shlex.split(line)
        yield {"directory": ROOT, "file": argv[argv.index("-c") + 1], "arguments": argv}


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.strip())
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump(list(commands()), f, indent=1)
        f.write("\n")


if __name__ == "__main__":
    main()
