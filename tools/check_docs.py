#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that what documents name exists: files they link to, tests that docs/compat.md names, and
the files with log lines that --vmodule's table names as counterparts of upstream's.

Prints one line per error, as file:line: text, and exits with 1 if there is one.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")  # no colon: a file, not an address
TEST = re.compile(r"(?<![\w/])(unit|e2e)/(\w+)")
SUFFIX = {"unit": "c", "e2e": "py"}


def faults(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            targets = [os.path.join(os.path.dirname(path), link) for link in LINK.findall(line)]
            if path == "docs/compat.md" and line.startswith("|"):
                targets += [f"tests/{kind}/test_{name}.{SUFFIX[kind]}"
                            for kind, name in TEST.findall(line)]
            for target in targets:
                if not os.path.exists(os.path.join(ROOT, target)):
                    yield f"{path}:{number}: there is no {os.path.normpath(target)}"


COUNTERPARTS = "src/cmd/scheduler/scheduler_logging.c"
ROW = re.compile(r'\{"\w+", "([\w*]+)"\}')
SPEAKS = re.compile(r"\b(?:log_(?:info|warning|error|plain\w*|write)|engine_log\w*)\(")


def speaks(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return SPEAKS.search(f.read())


def silent_counterparts():
    with open(os.path.join(ROOT, COUNTERPARTS), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            for name in ROW.findall(line):
                found = glob.glob(f"src/**/{name}.c", root_dir=ROOT, recursive=True)
                if not any(speaks(path) for path in found):
                    yield f"{COUNTERPARTS}:{number}: no file {name}.c says anything"


def main():
    documents = sorted(glob.glob("*.md", root_dir=ROOT) +
                       glob.glob("docs/**/*.md", root_dir=ROOT, recursive=True))
    found = [fault for path in documents for fault in faults(path)] + list(silent_counterparts())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
