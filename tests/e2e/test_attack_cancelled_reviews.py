#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/cancelled_reviews.py in its short form: cancelled requests do not delay others."""

from attack import attack
from tap import check, main, test


@test
def users_are_authorized_during_and_after_a_flood_of_cancelled_requests():
    figures = attack("cancelled_reviews")
    # The tool waits 30 and 20 s; before the fix it took minutes.
    for what in ("/metrics for a user during the attack, s", "/metrics for a user after the attack, s",
                 "403 for an anonymous client after the attack, s"):
        check(figures[what] is not None, f"{what}: never")


if __name__ == "__main__":
    main()
