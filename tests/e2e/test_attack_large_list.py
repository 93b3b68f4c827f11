#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tests/attack/large_list.py in its short form: lists with pages above the size limit are read."""

from attack import attack
from tap import equal, main, test


@test
def a_list_whose_pages_are_too_large_is_read_in_smaller_ones():
    figures = attack("large_list")
    equal(figures["became ready and bound a pod (1: yes)"], 1, "ready and bound")


if __name__ == "__main__":
    main()
