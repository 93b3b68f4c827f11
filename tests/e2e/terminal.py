# SPDX-License-Identifier: Apache-2.0
"""Runs a program on a pseudo-terminal and returns what a user would see."""

import os
import pty
import select
import time

from berth import TIMEOUT, check
from tap import skip


def need_pty():
    """Skips the test if no pseudo-terminal can be opened, as in a chroot without devpts."""
    try:
        for fd in os.openpty():
            os.close(fd)
    except OSError as e:
        skip(f"no pseudo-terminal can be opened: {e}")


def type_into(argv, keys, until, env=None):
    """Types into a program on a terminal. Returns what it displayed."""
    need_pty()
    pid, fd = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, {**os.environ, "TERM": "dumb", "PS1": "ready> ", **(env or {})})
    shown, end = "", time.monotonic() + TIMEOUT
    try:
        for wait, key in keys:
            shown += read_until(fd, wait, end)
            os.write(fd, key.encode())
        return shown + read_until(fd, until, end)
    finally:
        os.close(fd)
        os.waitpid(pid, 0)


def read_until(fd, wanted, end):
    shown = ""
    while wanted not in shown:
        check(time.monotonic() < end, f"not seen: {wanted!r}, but: {shown!r}")
        if select.select([fd], [], [], 0.2)[0]:
            try:
                shown += os.read(fd, 65536).decode(errors="replace")
            except OSError:
                break
    return shown
