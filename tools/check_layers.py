#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the directories of src/ against tools/layers.txt.

    tools/check_layers.py includes      every #include "..." goes in a direction that is allowed
    tools/check_layers.py purity        the pure directories call nothing of the outer world

Prints one line per fault, as file:line: text, and fails when there is one.
"""

import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Functions by which a program learns about the world or acts on it.
IMPURE_CALL = re.compile(r"""\b(
    accept4? | bind | connect | listen | recv\w* | send(to|msg|file)? | socket(pair)? | getaddrinfo |
    epoll_\w+ | poll | ppoll | p?select | eventfd\w* | timerfd_\w+ | signalfd | inotify_\w+ |
    clock_\w+ | time | gettimeofday | timespec_get | time_mono | time_wall | localtime(_r)? |
    nanosleep | u?sleep |
    getrandom | getentropy | rand_entropy | random | srandom | rand | srand | [a-z]rand48 |
    pthread_\w+ | thrd_\w+ | mtx_\w+ | cnd_\w+ | pool_new | fork | vfork | exec[lv]\w* | posix_spawnp? |
    system | popen | open(at)? | fopen | fdopen | freopen | creat | mmap | ioctl | dlopen | dlsym |
    getenv | secure_getenv | setenv | signal | sigaction | kill | raise
    )\s*\(""", re.VERBOSE)
IMPURE_HEADER = re.compile(
    r"(pthread|threads|poll|netdb|dlfcn|signal|spawn|fcntl|unistd)\.h"
    r"|sys/(socket|epoll|eventfd|timerfd|random|mman|stat|wait|time)\.h|(netinet|arpa|openssl)/.*")
# A member of such a name is called through a port, which is the point of ports.
MEMBER = re.compile(r"(->|\.)\s*$")
OWN_FUNCTION = re.compile(r"^static\b.*?\b(\w+)\(", re.MULTILINE)

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def read_rules():
    allowed, pure = {}, []
    with open(os.path.join(ROOT, "tools/layers.txt"), encoding="utf-8") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if not line:
                continue
            name, _, rest = line.partition(":")
            if name == "pure":
                pure = rest.split()
            else:
                allowed[name] = set(rest.split()) | {name}
    return allowed, pure


def sources():
    """(directory by its name in layers.txt, path) of every C file and header."""
    for top, pattern in (("src", "src/**/*.[ch]"), ("include", "include/**/*.h")):
        for path in sorted(glob.glob(pattern, root_dir=ROOT, recursive=True)):
            yield (path.split("/")[1] if top == "src" else "include"), path


def without_comments(text):
    """The code alone, strings emptied, every line where it was."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


def directory_of(header):
    """Which directory of layers.txt an included header is in; None for one beside the includer."""
    first = header.split("/")[0]
    if "/" not in header:
        return None
    return "include" if first == "berth" else first


def check_includes(allowed):
    for name, path in sources():
        if name not in allowed:
            yield f"{path}:1: src/{name} is not in tools/layers.txt"
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                m = INCLUDE.match(line)
                if not m or m[1] == "<":
                    continue
                to = directory_of(m[2])
                if to and "*" not in allowed[name] and to not in allowed[name]:
                    yield f"{path}:{number}: {name} may not include {m[2]} (tools/layers.txt)"


def check_purity(pure):
    for name, path in sources():
        if name not in pure:
            continue
        with open(os.path.join(ROOT, path), encoding="utf-8") as f:
            text = f.read()
        for number, line in enumerate(text.split("\n"), 1):
            m = INCLUDE.match(line)
            if m and IMPURE_HEADER.fullmatch(m[2]):
                yield f"{path}:{number}: {name} is pure and may not include <{m[2]}>"
        code = without_comments(text)
        own = set(OWN_FUNCTION.findall(code))
        for number, line in enumerate(code.split("\n"), 1):
            for m in IMPURE_CALL.finditer(line):
                if m[1] not in own and not MEMBER.search(line[:m.start()]):
                    yield f"{path}:{number}: {name} is pure and may not call {m[1]}()"


def main():
    allowed, pure = read_rules()
    checks = {"includes": lambda: check_includes(allowed), "purity": lambda: check_purity(pure)}
    if len(sys.argv) != 2 or sys.argv[1] not in checks:
        sys.exit(__doc__.strip())
    faults = list(checks[sys.argv[1]]())
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
