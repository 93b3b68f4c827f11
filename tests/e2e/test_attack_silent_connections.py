#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/silent_connections.py in its short form: silent clients do not lock out others."""

from attack import attack
from tap import check, equal, main, test


def lives(figures):
    check(figures["/healthz during the attack, ms"] is not None, "/healthz is not answered")
    equal(figures["alive after the API server restarted (1: yes)"], 1, "alive")
    check(figures["a pod is bound after the restart, ms"] is not None, "no pod is bound")
    check(figures["/healthz after the restart, ms"] is not None, "/healthz is not answered afterwards")


@test
def silent_connections_and_a_soft_limit_of_1024_descriptors():
    lives(attack("silent_connections"))


@test
def silent_connections_and_a_hard_limit_of_1024_descriptors():
    lives(attack("silent_connections", "--hard=1024"))


if __name__ == "__main__":
    main()
