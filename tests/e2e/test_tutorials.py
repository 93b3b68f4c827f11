#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands of docs/tutorials do what the pages say, with an installed berth on a real cluster.

A line "    $ command" is run; the indented lines after it are its output. "…" stands for any text.
"""

import glob
import os
import re
import shutil

import berth
from berth import ROOT, add_nodes, check, make_node
from cluster import Cluster
from sdk import Sdk, Shell
from tap import main, skip, test

PAGES = sorted(glob.glob(os.path.join(ROOT, "docs", "tutorials", "[0-9]*.md")))


def commands(path):
    """[(command, output that is expected)] of a page."""
    found, last = [], None
    with open(path, encoding="utf-8") as f:
        for line in f.read().split("\n"):
            if line.startswith("    $ "):
                last = [line[6:], []]
                found.append(last)
            elif last and (line.startswith("    ") or not line):
                last[1].append(line[4:])
            else:
                last = None
    return [(command, "\n".join(lines).strip("\n")) for command, lines in found]


def pattern(text):
    parts = [re.escape(part) for part in text.split("…")]
    joined = "(?s:.*?)".join(parts)
    return re.sub(r"(?:\\ ){2,}", r"\\s+", joined)


def as_printed(got, want):
    got = "\n".join(line.rstrip() for line in got.strip("\n").split("\n"))
    return re.fullmatch(pattern(want) + r"\s*", got) or re.fullmatch(pattern(want) + r"\s*", "\n" + got)


class Fixture:
    def __enter__(self):
        self.cluster = Cluster().__enter__()
        try:
            self.sdk = Sdk().__enter__()
        except BaseException:
            self.cluster.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *error):
        self.sdk.__exit__(*error)
        self.cluster.__exit__(*error)


def page(path):
    name = os.path.basename(path)[:-3]

    def follow(fixture):
        c, kit = fixture.cluster, fixture.sdk
        if "rust" in name and not shutil.which("rustc"):
            skip("rustc is not installed")
        add_nodes(c, make_node("n0"), make_node("n1"))
        env = kit.environment(KUBECONFIG=c.admin_kubeconfig, KUBERC="off",
                              KUBECACHEDIR=os.path.join(c.dir, "kubectl-cache"))
        env["PATH"] += ":" + c.bin
        steps = commands(path)
        check(steps, f"{name} has no commands")
        with Shell(kit.examples, env) as shell:
            for command, want in steps:
                got, code = shell.run(command)
                check(code == 0, f"{command}: exit status {code}\n{got}")
                check(not want or as_printed(got, want), f"$ {command}\ngot:\n{got}\nwant:\n{want}")

    follow.__name__ = "tutorial_" + name.replace("-", "_")
    return test(follow)


for each in PAGES:
    page(each)


if __name__ == "__main__":
    main(fixture=Fixture, after=lambda fixture: berth.reset(fixture.cluster))
