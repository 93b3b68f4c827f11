#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/deposed_leader.py in its short form: a deposed leader writes nothing."""

from attack import attack
from tap import equal, main, test


@test
def a_leader_that_was_stopped_until_another_led_writes_nothing_more():
    figures = attack("deposed_leader")
    equal(figures["bindings sent after another took the lease"], 0, "bindings")
    equal(figures["other writes sent after another took the lease"], 0, "other writes")
    equal(figures["exit code"], 1, "exit code of the leader that was deposed")


if __name__ == "__main__":
    main()
