#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/http_floods.py in its short form: berth keeps scheduling whatever clients send."""

from attack import attack, plain_program
from tap import check, equal, main, note, test


@test
def floods_from_strangers_stop_neither_probes_nor_scheduling():
    program = plain_program()
    figures = attack("http_floods", program=program)
    equal(figures["alive (1: yes)"], 1, "alive")
    for what, value in figures.items():
        note(f"{what}: {value}")
        if what.endswith(("/healthz at most, ms", "a pod is bound, ms")):
            check(value is not None, f"{what}: never")
        if what.endswith("memory more at most, MiB") and program:
            check(value < 100, f"{what}: {value}")


if __name__ == "__main__":
    main()
