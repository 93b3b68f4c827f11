# SPDX-License-Identifier: Apache-2.0
"""Parses log lines, klog's text and JSON, into message and keys."""

import json
import re

from tap import check

HEADER = re.compile(r"([IWEF])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ [\w.]+:\d+\] (.*)")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
PORT = re.compile(r"(127\.0\.0\.1|\[::1?\]):\d+")


def read_pairs(rest):
    """The keys after a message, in order."""
    keys = []
    while rest:
        m = re.match(r" ([^=]+)=", rest)
        check(m, f"no key in {rest!r}")
        keys.append(m[1])
        rest = rest[m.end():]
        quoted = STRING.match(rest)
        if quoted:
            rest = rest[quoted.end():]
        elif rest[:1] in "{[":
            rest = rest[json.JSONDecoder().raw_decode(rest)[1]:]
        elif rest == "<":
            rest = ""
        else:
            rest = rest[len(re.match(r"\S*", rest)[0]):]
    return keys


def join_dumps(text):
    """Joins values of several lines, which end in " >", into one line each."""
    return re.sub(r"=<\n(?:\t.*\n)* >", '="..."', text)


def read_text(text):
    """[(severity, message, keys, line)] of klog's text."""
    lines = []
    for line in join_dumps(text).splitlines():
        m = HEADER.fullmatch(line)
        if not m or m[2].startswith("FLAG: "):
            continue
        quoted = STRING.match(m[2])
        if quoted:
            lines.append((m[1], quoted[0][1:-1].replace('\\"', '"'),
                          frozenset(read_pairs(m[2][quoted.end():])), line))
        else:
            lines.append((m[1], PORT.sub("ADDRESS", m[2]), frozenset(), line))
    return lines


def read_json(text):
    """[(level or None of an error, message, keys, line)]"""
    lines = []
    for line in text.splitlines():
        got = json.loads(line)
        # One time in 4096 is a whole number of milliseconds and is written as such.
        check(isinstance(got["ts"], (int, float)) and
              re.fullmatch(r"[\w.]+/[\w.]+:\d+", got["caller"]), f"head of {line}")
        if not got["msg"].startswith("FLAG: "):
            lines.append((got.get("v"), PORT.sub("ADDRESS", got["msg"]),
                          frozenset(got) - {"ts", "caller", "msg", "v"}, line))
    return lines
