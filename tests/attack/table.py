#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the attacks of this folder on berth and on kube-scheduler and prints the table of docs/reliability.md.

    tests/attack/table.py                   all attacks, each on both subjects, one after the other
    tests/attack/table.py storm http2_bodies --repeat 3
    tests/attack/table.py --short           the short forms that `make test` runs

An attack is a program NAME.py beside this one. It prints its progress on standard error and, as the last
line of standard output, {"attack": NAME, "subject": ..., "figures": {"what, with its unit": number}}.
"""

import argparse
import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SUBJECTS = ("kube-scheduler", "berth")
BERTH_ONLY = ("large_dump",)  # kube-scheduler has no such command
# Variants besides the plain form.
VARIANTS = {"storm": [["--qps=50", "--burst=100"]], "silent_connections": [["--hard=1024"]]}
TIMEOUT = 1800  # seconds for one attack on one subject


def attacks():
    names = (os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "*.py")))
    return sorted(n for n in names if n != "table" and os.access(os.path.join(HERE, n + ".py"), os.X_OK))


def run(name, variant, subject, options):
    """The figures of one run."""
    argv = [os.path.join(HERE, name + ".py"), "--subject", subject, *variant,
            *(["--short"] if options.short else [])]
    if options.berth:
        argv += ["--berth", options.berth]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT)
    lines = done.stdout.strip().split("\n")
    try:
        result = json.loads(lines[-1])
    except ValueError:
        sys.exit(f"{name} on {subject}: exit code {done.returncode} and no result")
    return result["figures"]


def spread(values):
    """One value, or the range of several."""
    values = sorted(v for v in values if v is not None)
    if not values:
        return "–"
    text = [f"{v:,.2f}".rstrip("0").rstrip(".") if isinstance(v, float) else f"{v:,}" for v in values]
    return text[0] if text[0] == text[-1] else f"{text[0]} to {text[-1]}"


def print_table(name, variant, runs):
    command = " ".join([f"tests/attack/{name}.py --subject SUBJECT", *variant])
    print(f"\n### {name}\n\n`{command}`\n\n| | " + " | ".join(runs) + " |\n|---" + "|---" * len(runs) + "|")
    labels = {label: None for figures in runs.values() for run_ in figures for label in run_}
    for label in labels:
        cells = [spread([r.get(label) for r in figures]) for figures in runs.values()]
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("attack", nargs="*", help="attacks to run: " + ", ".join(attacks()))
    p.add_argument("--short", action="store_true")
    p.add_argument("--repeat", type=int, default=1)
    p.add_argument("--berth")
    options = p.parse_args()
    for unknown in set(options.attack) - set(attacks()):
        p.error(f"no attack {unknown}")
    for name in options.attack or attacks():
        for variant in [[], *VARIANTS.get(name, [])]:
            runs = {s: [] for s in SUBJECTS if s == "berth" or name not in BERTH_ONLY}
            for _ in range(options.repeat):
                for subject in runs:
                    runs[subject].append(run(name, variant, subject, options))
            print_table(name, variant, runs)


if __name__ == "__main__":
    main()
