#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/topology_keys.py in its short form: pods with thousands of topology keys."""

from attack import attack
from tap import check, main, test


@test
def pods_with_keys_of_no_node_cost_other_pods_nothing():
    figures = attack("topology_keys")
    # CPU time in one run, with and without them. The factor was 40 when every pod built a topology
    # for each key.
    before, during = (figures[f"CPU for an unrelated pod{when}, ms"] for when in (" before", ""))
    check(during < 4 * before + 2, f"CPU for an unrelated pod: {during} ms, {before} ms before")


if __name__ == "__main__":
    main()
