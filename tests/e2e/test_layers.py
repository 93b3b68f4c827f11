#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/check_layers.py on small trees: each error is reported once, at its line."""

import os
import subprocess
import sys
import tempfile

import berth
from tap import contains, equal, main, test

CHECKER = os.path.join(berth.ROOT, "tools", "check_layers.py")
LAYERS = "low:\nmid: low\ntop/*: low mid\nengine: low\npure: engine\n"
# In order, with a call in each allowed direction.
GOOD = {
    "src/low/low.h": "int low(void);\nstatic inline int twice(int n) { return 2 * n; }\n",
    "src/low/low.c": '#include "low/low.h"\nint low(void)\n{\n    return twice(1);\n}\n',
    "src/mid/mid.h": "int mid(void);\n",
    "src/mid/mid.c": '#include "mid/mid.h"\n#include "low/low.h"\nint mid(void)\n{\n    return low();\n}\n',
    "src/top/one/main.c": '#include "mid/mid.h"\nint main(void)\n{\n    return mid();\n}\n',
}


class Tree:
    """A tree of these files, compiled."""

    def __init__(self, files, layers=LAYERS, exempt=""):
        self.at = tempfile.TemporaryDirectory(prefix="berth-layers-")
        for path, text in {"tools/layers.txt": layers, "tools/unused_exempt.txt": exempt, **files}.items():
            name = os.path.join(self.at.name, path)
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "w", encoding="utf-8") as f:
                f.write(text)
        for path in files:
            if path.endswith(".c") and path.startswith("src/"):
                out = os.path.join(self.at.name, "build", path[:-2] + ".o")
                os.makedirs(os.path.dirname(out), exist_ok=True)
                subprocess.run(["gcc", "-Isrc", "-c", path, "-o", out], cwd=self.at.name, check=True,
                               timeout=berth.TIMEOUT)

    def check(self, name):
        """(exit code, lines)"""
        done = subprocess.run([sys.executable, CHECKER, name, "--root", self.at.name],
                              stdout=subprocess.PIPE, text=True, timeout=berth.TIMEOUT)
        return done.returncode, done.stdout.splitlines()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.at.cleanup()


def errors(name, files, **options):
    with Tree(GOOD | files, **options) as tree:
        code, lines = tree.check(name)
    equal(code, 1 if lines else 0, f"exit code of {name}")
    return lines


@test
def a_tree_in_order_passes_with_its_figures():
    with Tree(GOOD) as tree:
        for name in ("includes", "calls", "purity"):
            equal(tree.check(name), (0, []), name)
        equal(tree.check("cycles"),
              (0, ["0 call cycles and 0 include cycles between 3 folders, "
                   "largest cycle of modules 1"]), "cycles")
        equal(tree.check("unused"), (0, ["4 public names, 0 of them exempt"]), "unused")


@test
def an_include_upwards_is_reported():
    equal(errors("includes", {"src/low/low.c": '#include "low/low.h"\n#include "mid/mid.h"\n'
                                               'int low(void) { return 1; }\n'}),
          ["src/low/low.c:2: low may not include mid/mid.h (tools/layers.txt)"], "errors")


@test
def an_include_between_folders_of_one_line_is_reported():
    equal(errors("includes", {"src/top/two/two.h": "",
                              "src/top/one/main.c": '#include "top/two/two.h"\n'
                                                    'int main(void) { return 0; }\n'}),
          ["src/top/one/main.c:1: top/one may not include top/two/two.h (tools/layers.txt)"], "errors")


@test
def a_folder_without_a_line_and_a_missing_header_are_reported():
    with Tree({"src/new/new.h": "", "src/mid/mid.h": '\n#include "mid/gone.h"\n'}) as tree:
        equal(tree.check("includes"),
              (1, ["src/mid/mid.h:2: there is no mid/gone.h",
                   "src/new/new.h:1: src/new is not in tools/layers.txt"]), "errors")


@test
def a_call_upwards_is_reported():
    equal(errors("calls", {"src/low/low.c": "int mid(void);\nint low(void)\n{\n    return mid();\n}\n"}),
          ["src/low/low.c:1: low may not call mid of src/mid/mid.c (tools/layers.txt)"], "errors")


@test
def cycles_of_folders_by_includes_and_by_calls_are_reported():
    equal(errors("cycles", {"src/low/low.h": '#pragma once\n#include "mid/mid.h"\nint low(void);\n'
                                             'static inline int twice(int n) { return 2 * n; }\n'}),
          ["src/low:1: cycle of 2 folders, by includes: low mid"], "include cycle")
    equal(errors("cycles", {"src/low/low.c": "int mid(void);\nint low(void) { return mid(); }\n"}),
          ["src/low:1: cycle of 2 folders, by calls: low mid"], "call cycle")


@test
def a_cycle_of_headers_is_reported():
    equal(errors("cycles", {"src/low/a.h": '#pragma once\n#include "low/b.h"\n',
                            "src/low/b.h": '#pragma once\n#include "low/a.h"\n'}),
          ["src/low/a.h:1: cycle of 2 headers: src/low/a.h src/low/b.h"], "errors")


@test
def a_large_cycle_of_modules_is_reported_in_the_engine():
    ring = {f"src/engine/e{i}.c": f"int e{(i + 1) % 4}(void);\nint e{i}(void) {{ return e{(i + 1) % 4}(); }}\n"
            for i in range(4)}
    equal(errors("cycles", ring),
          ["src/engine/e0.c:1: cycle of 4 modules: " + " ".join(sorted(ring))], "four modules")
    ring["src/engine/e2.c"] = "int e0(void);\nint e2(void) { return e0(); }\n"
    with Tree(GOOD | ring) as tree:
        code, lines = tree.check("cycles")
    equal(code, 0, "exit code with three modules")
    contains(lines[0], "largest cycle of modules 3")


@test
def functions_without_a_caller_are_reported_unless_exempt():
    files = {
        "src/low/dead.h": "int dead(void);\nint tested(void);\nint own(void);\n"
                          "static inline int idle(void) { return 0; }\n",
        "src/low/dead.c": "int own(void)\n{\n    return 0;\n}\nint dead(void)\n{\n    return own();\n}\n"
                          "int tested(void)\n{\n    return 0;\n}\n",
        "tests/unit/test_dead.c": "int t(void) { return tested(); }\n",
    }
    equal(errors("unused", files),
          ["src/low/dead.c:5: dead has no caller",
           "src/low/dead.c:1: own is used only here: make it static",
           "src/low/dead.c:9: tested has no caller but tests",
           "src/low/dead.h:4: idle has no caller"], "errors")
    exempt = "dead later\nown later\ntested later\nidle later\nmid later\n"
    equal(errors("unused", files, exempt=exempt),
          ["tools/unused_exempt.txt:5: mid is used, or gone"], "errors of exemptions")


@test
def a_pure_folder_must_not_read_the_clock():
    equal(errors("purity", {"src/engine/clock.c": "#include <time.h>\n#include <sys/time.h>\n"
                                                  "long now(void) { return time(0); }\n"}),
          ["src/engine/clock.c:2: engine is pure and may not include <sys/time.h>",
           "src/engine/clock.c:3: engine is pure and may not call time()"], "errors")


if __name__ == "__main__":
    main()
