#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/spread_constraints.py in its short form: one pod with thousands of constraints."""

from attack import SANITIZED, attack
from tap import check, main, test


@test
def a_pod_with_thousands_of_constraints_takes_memory_in_proportion():
    figures = attack("spread_constraints")
    # The decoded pod takes about a kilobyte per constraint, more under a sanitizer. One byte for
    # each pair of constraints would be another 16 MB, a name for each 150 MB.
    grown = figures["peak RSS, MB"] - figures["RSS before, MB"]
    check(grown < 0.004 * figures["constraints"] * SANITIZED, f"it grew by {grown} MB")
    check(figures["simulate: peak RSS, MB"] < 15 + 0.004 * figures["simulated constraints"]
          * SANITIZED, f"simulate: {figures}")


if __name__ == "__main__":
    main()
