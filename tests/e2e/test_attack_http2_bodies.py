#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/http2_bodies.py in its short form: bodies of unauthenticated clients are not
buffered."""

from attack import attack, plain_program
from tap import check, equal, main, note, test


@test
def bodies_that_nobody_asked_for_stay_with_the_client():
    program = plain_program()
    figures = attack("http2_bodies", program=program)
    taken = figures["body bytes that the server took for each connection, KiB"]
    check(taken < 256, f"{taken} KiB of bodies for each connection")
    equal(figures["/healthz without an answer"], 0, "/healthz")
    if program:
        most = figures["resident memory at most, MiB"] - figures["resident memory before, MiB"]
        left = figures["resident memory afterwards, MiB"] - figures["resident memory before, MiB"]
        check(most < 40, f"{most} MiB more at most")
        check(left < 20, f"{left} MiB more afterwards")
    else:
        note("build/berth is not built: memory is not measured")


if __name__ == "__main__":
    main()
