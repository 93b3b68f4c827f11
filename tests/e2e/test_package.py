#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users get: `make dist` and `make deb`, and the build's message if a dependency is
missing."""

import os
import re
import shutil
import subprocess
import tarfile
import tempfile

import berth
from tap import check, contains, equal, main, skip, test

BUILD_TIMEOUT = 1200


def make(*args, cwd=berth.ROOT, code=0):
    env = {**os.environ, "MAKEFLAGS": "", "MAKELEVEL": ""}
    done = subprocess.run(["make", "--no-print-directory", *args], cwd=cwd, env=env, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=BUILD_TIMEOUT)
    equal(done.returncode, code, f"exit code of make {' '.join(args)}:\n{done.stdout[-2000:]}\n")
    return done.stdout


def sh(*argv):
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    check(done.returncode == 0, f"{argv}: exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def files_below(root):
    return sorted(os.path.relpath(os.path.join(folder, name), root)
                  for folder, _, names in os.walk(root) for name in names)


@test
def a_tarball_has_the_committed_tree_and_builds():
    if not os.path.isdir(os.path.join(berth.ROOT, ".git")):
        skip("not a git checkout")
    path = os.path.join(berth.ROOT, make("dist").split("\n")[-2])
    with tempfile.TemporaryDirectory(prefix="berth-dist-") as tmp:
        with tarfile.open(path) as tar:
            tar.extractall(tmp, filter="data")
        (top,) = os.listdir(tmp)
        check(re.fullmatch(r"berth-\d+\.\d+\.\d+", top), f"the tarball's folder is {top}")
        tree = os.path.join(tmp, top)
        tracked = sh("git", "-C", berth.ROOT, "ls-tree", "-r", "--name-only", "HEAD").split()
        equal(files_below(tree), sorted(tracked), "files")
        # One object shows that the tree compiles without git; -Werror is for developers.
        line = make("V=1", "build/src/base/str.o", cwd=tree)
        check("-Werror" not in line, line)


@test
def a_package_installs_runs_and_goes_without_a_trace():
    if not shutil.which("dpkg-deb"):
        skip("dpkg-deb is not installed")
    path = os.path.join(berth.ROOT, make("deb").split("\n")[-2])
    control = sh("dpkg-deb", "--info", path)
    contains(control, "Package: berth", "libssl3", "libnghttp2-14", "libyaml-0-2", "libsqlite3-0", "libc6")
    with tempfile.TemporaryDirectory(prefix="berth-deb-") as root:
        admin = os.path.join(root, "var/lib/dpkg")
        os.makedirs(os.path.join(admin, "updates"))
        os.makedirs(os.path.join(admin, "info"))
        for name in ("status", "available"):
            open(os.path.join(admin, name), "w").close()
        dpkg = ("dpkg", f"--root={root}", "--force-depends", "--force-not-root", "--log=/dev/null")
        before = files_below(os.path.join(root, "usr"))
        sh(*dpkg, "--install", path)
        program = os.path.join(root, "usr/bin/berth")
        contains(sh(program, "--version"), "Kubernetes v1.36")
        contains(sh(program, "simulate", os.path.join(berth.ROOT, "examples/scenario.yaml")), "web-1")
        check(os.path.exists(os.path.join(root, "usr/share/man/man8/berth-scheduler.8.gz")), "no manual")
        sh(*dpkg, "--purge", "berth")
        equal(files_below(os.path.join(root, "usr")), before, "files left behind")


@test
def a_missing_header_is_reported_with_what_to_run():
    with tempfile.TemporaryDirectory(prefix="berth-headers-") as tmp:
        out = make(f"BUILD={tmp}", "headers=no/such.h", f"{tmp}/headers", code=2)
    contains(out, "no/such.h not found: run 'make deps'")


@test
def a_changed_flag_rebuilds_and_an_unchanged_one_does_not():
    with tempfile.TemporaryDirectory(prefix="berth-flags-") as tmp:
        target = f"{tmp}/src/base/str.o"
        contains(make(f"BUILD={tmp}", target), "CC")
        check("CC" not in make(f"BUILD={tmp}", target), "compiled again without a change")
        contains(make(f"BUILD={tmp}", "CFLAGS=-O1", target), "CC")


if __name__ == "__main__":
    main()
