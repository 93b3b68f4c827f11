#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The benchmark, too small to measure anything: it runs and reports all its figures."""

import json
import os
import subprocess
import tempfile

import berth
from berth import ROOT, check, equal
from tap import contains, main, test

PODS, ARRIVING = 100, 20
WHO = {"waiting": ["kube-scheduler", "berth", "binds", "binds+events"],
       "arriving": ["kube-scheduler", "berth"]}
FIGURES = {"waiting": ["pods_per_s", "events_per_s", "cpu_ms_per_pod", "peak_rss_mb", "first_bind_s"],
           "arriving": ["pods_per_s", "cpu_ms_per_pod", "peak_rss_mb", "p50_ms", "p99_ms"]}
RATIOS = {"waiting": ["rate_vs_kube", "rate_vs_binds_events", "rate_vs_binds",
                      "events_vs_binds_events", "cpu_vs_kube", "rss_vs_kube", "first_bind_vs_kube"],
          "arriving": ["rate_vs_kube", "cpu_vs_kube", "rss_vs_kube", "p50_vs_kube", "p99_vs_kube"]}


def bench(output, *args):
    # Child processes inherit the address layout that the sanitizers of gcc 12 need.
    prefix = berth.command()[:-1]
    return subprocess.run(
        [*prefix, os.path.join(ROOT, "tests/bench/cluster_bench.py"),
         "--berth", berth.find_program("berth"), "--load", berth.find_program("berth-load"),
         "--controllers", berth.find_program("berth-controllers"),
         "--output", output, *args],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=berth.environment(),
        timeout=berth.TIMEOUT * 4)


@test
def a_small_bench_binds_every_pod_and_tells_every_figure():
    with tempfile.TemporaryDirectory(prefix="berth-bench-") as d:
        output = os.path.join(d, "bench.json")
        done = bench(output, "--nodes", "50", "--pods", str(PODS), "--arriving", str(ARRIVING),
                     "--rate", "100", "--warm-up", "2", "--rows", "plain")
        equal(done.returncode, 0, f"exit code; it said {done.stdout}")
        with open(output) as f:
            report = json.load(f)
    contains(done.stdout, "plain, identical, pods waiting", "plain, identical, pods arriving",
             "kube-scheduler", "berth", "only binds", "binds, with events", "rate_vs_kube")
    for variant, who in WHO.items():
        runs = [r for r in report["runs"] if r["variant"] == variant]
        equal([r["who"] for r in runs], who, f"programs, {variant}")
        count = PODS if variant == "waiting" else ARRIVING
        for r in runs:
            equal((r["row"], r["pods"], r["bound"]), ("plain", count, count), str(r))
            for key in FIGURES[variant] if r["who"] in WHO["arriving"] else ["pods_per_s"]:
                check(r.get(key, 0) > 0, f"{key} of {r}")
        ratios = [r for r in report["ratios"] if r["variant"] == variant]
        equal(len(ratios), 1, f"ratios, {variant}")
        equal([k for k in RATIOS[variant] if ratios[0].get(k, 0) <= 0], [], "ratios that are missing")


@test
def a_row_that_is_not_there_is_told():
    with tempfile.TemporaryDirectory(prefix="berth-bench-") as d:
        done = bench(os.path.join(d, "bench.json"), "--rows", "plain,nonsense")
        equal(done.returncode, 2, f"exit code; it said {done.stdout}")
        contains(done.stdout, "no such row: nonsense")


if __name__ == "__main__":
    main()
