#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks sizes: lines of a function and of a file, columns of a line, parameters of a function.

    tools/check_budget.py           prints what exceeds a limit, as file:line: text; fails if any does
    tools/check_budget.py --all     also prints what exceeds a target

Relies on .clang-format: a function's braces are alone in the first column. tools/budget_exempt.txt
lists exemptions with their reasons.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

FUNCTION_LINES, FUNCTION_AIM = 80, 40
FILE_LINES, FILE_AIM = 800, 500
TEST_LINES = 2000  # a unit test covers one module and lists its cases
COLUMNS = 100
PARAMETERS = 6  # a target, never an error


def c_files():
    out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.c", "*.h"], cwd=ROOT,
                         check=True, stdout=subprocess.PIPE, text=True).stdout
    return [path for path in out.split("\n") if path and os.path.exists(os.path.join(ROOT, path))]


def exemptions():
    """{"path" or "path:function"} of tools/budget_exempt.txt; every line has a reason."""
    names = set()
    with open(os.path.join(ROOT, "tools/budget_exempt.txt"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, _, reason = line.partition(" ")
            if not reason.strip():
                sys.exit(f"tools/budget_exempt.txt:{number}: {name} has no reason")
            names.add(name)
    return names


def functions(lines):
    """(name, first line, last line, parameters) of every function. Lines count from 1."""
    start = None
    for i, line in enumerate(lines, 1):
        if line == "{":
            head = i - 1
            while head > 1 and lines[head - 2] and not lines[head - 2].endswith((";", "}", "*/", "\\")) \
                    and not lines[head - 2].startswith("#"):
                head -= 1
            signature = " ".join(lines[head - 1:i - 1])
            start = (signature, head)
        elif line == "}" and start:
            signature, head = start
            start = None
            m = re.search(r"\b(\w+)\((.*)\)[^()]*$", signature)
            if m:
                yield m[1], head, i, parameters(m[2])


def parameters(text):
    depth, count = 0, 1
    for c in text:
        depth += {"(": 1, ")": -1}.get(c, 0)
        count += c == "," and depth == 0
    return 0 if text.strip() in ("", "void") else count


def check(path, exempt):
    """(whether it is an error, place, text) of everything that is too large."""
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        lines = f.read().split("\n")
    count = len(lines) - 1
    limit = TEST_LINES if path.startswith("tests/unit/") else FILE_LINES
    if count > FILE_AIM and path not in exempt:
        yield count > limit, f"{path}:1", f"{count} lines (limit {limit})"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS and path not in exempt:
            yield True, f"{path}:{number}", f"{len(line)} columns (limit {COLUMNS})"
    for name, first, last, count in functions(lines):
        size = last - first + 1
        if f"{path}:{name}" in exempt or path in exempt:
            continue
        if size > FUNCTION_AIM:
            yield size > FUNCTION_LINES, f"{path}:{first}", \
                f"{name} has {size} lines (limit {FUNCTION_LINES})"
        if count > PARAMETERS:
            yield False, f"{path}:{first}", f"{name} has {count} parameters (target {PARAMETERS})"


def main():
    show_all = sys.argv[1:] == ["--all"]
    if sys.argv[1:] and not show_all:
        sys.exit(__doc__.strip())
    exempt = exemptions()
    errors = 0
    for path in c_files():
        for is_error, place, text in check(path, exempt):
            errors += is_error
            if is_error or show_all:
                print(f"{place}: {text if is_error else 'note: ' + text}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
