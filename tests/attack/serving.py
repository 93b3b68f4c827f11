# SPDX-License-Identifier: Apache-2.0
"""Shared by the attacks on a scheduler's HTTPS port: the scheduler, and misbehaving clients.

HTTP/2 is written frame by frame: libraries follow rules that an attacker does not. Only the
standard library is needed, and all traffic stays on loopback.
"""

import argparse
import contextlib
import json
import os
import resource
import socket
import ssl
import struct
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

from cluster import Cluster, Process, free_port, make_node, make_pod, wait_for  # noqa: E402

TIMEOUT = 180
PODS = "/api/v1/namespaces/default/pods"
MIB = 1 << 20

say_name = os.path.basename(sys.argv[0]).removesuffix(".py")


def say(text):
    print(f"{say_name}: {text}", file=sys.stderr, flush=True)


# ---- the program ---------------------------------------------------------------------------------

def options(doc, **more):
    """The command line of all attacks, and further flags: name=(default, help)."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--subject", choices=("berth", "kube-scheduler"), default="berth")
    parser.add_argument("--short", action="store_true", help="finish in well under a minute")
    parser.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"), metavar="PATH")
    for name, (default, text) in more.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default, help=text)
    given = parser.parse_args()
    given.berth = os.path.abspath(given.berth)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    given.descriptors = hard
    return given


def report(given, figures):
    print(json.dumps({"attack": say_name, "subject": given.subject, "figures": figures}))


# ---- the scheduler -------------------------------------------------------------------------------

def start(c, given, *flags, soft=None, hard=None):
    """Starts the subject on the cluster, with leader election. Returns when it is ready, with its
    .port."""
    port = free_port()
    limit = ["prlimit", f"--nofile={soft or given.descriptors}:{hard or given.descriptors}"]
    program = ([given.berth, "scheduler"] if given.subject == "berth"
               else [os.path.join(c.bin, "kube-scheduler")])
    argv = limit + program + [
        f"--secure-port={port}", "--bind-address=127.0.0.1",
        *(f"--{what}kubeconfig={c.scheduler_kubeconfig}"
          for what in ("", "authentication-", "authorization-")),
        # A restart of the API server on a busy machine must not cost the lease.
        "--leader-elect-lease-duration=90s", "--leader-elect-renew-deadline=60s", *flags]
    p = c.spawn(given.subject, argv)
    p.port = port
    wait_for(lambda: status(p, "/readyz") == 200, TIMEOUT, what=f"{given.subject} is ready")
    return p


def status(p, path, timeout=5, token=None):
    """The status of one HTTP/1.1 request on its own connection; None if there is no answer."""
    try:
        with tls(p, timeout) as s:
            extra = f"Authorization: Bearer {token}\r\n" if token else ""
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{extra}\r\n".encode())
            line = s.recv(4096)
            return int(line.split()[1]) if line.startswith(b"HTTP/1.") else None
    except (OSError, ValueError, IndexError):
        return None


def time_to_answer(p, path, want=200, limit=TIMEOUT, token=None):
    """Seconds until the path has this status, with retries; None if not within limit."""
    began = time.monotonic()
    while (passed := time.monotonic() - began) < limit:
        if status(p, path, timeout=max(limit - passed, 1), token=token) == want:
            return time.monotonic() - began
        if not p.running():
            return None
        time.sleep(0.2)
    return None


def monitor_token(c):
    """The token of a user that may read /metrics."""
    c.kubectl("create", "serviceaccount", "monitor")
    c.kubectl("create", "clusterrole", "monitor", "--verb=get", "--non-resource-url=*")
    c.kubectl("create", "clusterrolebinding", "monitor", "--clusterrole=monitor",
              "--serviceaccount=default:monitor")
    return c.kubectl("create", "token", "monitor").strip()


def memory(p):
    """Resident bytes: current and peak."""
    now = most = 0
    with open(f"/proc/{p.pid}/status") as f:
        for line in f:
            if line.startswith("VmRSS:"):
                now = int(line.split()[1]) * 1024
            elif line.startswith("VmHWM:"):
                most = int(line.split()[1]) * 1024
    return now, most


def forget_peak(p):
    """Resets the peak that memory(p) returns."""
    with open(f"/proc/{p.pid}/clear_refs", "w") as f:
        f.write("5")


def mib(n):
    return round(n / MIB, 1)


def bind_pod(c, name, limit=TIMEOUT):
    """Seconds from creating a pod to its binding; None if not within limit."""
    began = time.monotonic()
    c.create(PODS, make_pod(name, cpu="1m", memory="1Mi"))
    try:
        wait_for(lambda: c.pod(name)["spec"].get("nodeName"), limit, interval=0.01)
    except TimeoutError:
        return None
    return time.monotonic() - began


# ---- clients -------------------------------------------------------------------------------------

def tcp(p, timeout=5):
    s = socket.create_connection(("127.0.0.1", p.port), timeout=timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def context(*alpn):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    ctx.check_hostname = False
    ctx.verify_mode = ssl.CERT_NONE
    if alpn:
        ctx.set_alpn_protocols(list(alpn))
    return ctx


_plain, _h2 = context(), context("h2")


def tls(p, timeout=5, h2=False):
    s = tcp(p, timeout)
    try:
        return (_h2 if h2 else _plain).wrap_socket(s)
    except BaseException:
        s.close()
        raise


DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _length(n, prefix_bits, first=0):
    most = (1 << prefix_bits) - 1
    if n < most:
        return bytes([first | n])
    out, n = bytearray([first | most]), n - most
    while n >= 128:
        out.append(n % 128 | 128)
        n //= 128
    out.append(n)
    return bytes(out)


def literal(name, value):
    """A header field that is neither compressed nor indexed."""
    name, value = name.encode(), value.encode()
    return b"\x00" + _length(len(name), 7) + name + _length(len(value), 7) + value


def head(path="/metrics", method="GET", more=()):
    pairs = [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path), *more]
    return b"".join(literal(*pair) for pair in pairs)


class H2:
    """An HTTP/2 connection that sends the given frames and tracks what the server allows."""

    PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    def __init__(self, p, settings=b"", timeout=5):
        self.s = tls(p, timeout, h2=True)
        self.next, self.buffer = 1, b""
        self.streams_max, self.stream_window, self.window = 100, 65535, 65535
        self.windows, self.answered, self.closed = {}, set(), False
        self.s.sendall(self.PREFACE + frame(SETTINGS, 0, 0, settings))

    def close(self):
        self.closed = True
        self.s.close()

    def send(self, data):
        """Returns False once the connection is closed."""
        try:
            self.s.sendall(data)
        except OSError:
            self.closed = True
        return not self.closed

    def open(self, block, flags=END_STREAM | END_HEADERS):
        """Returns the number of a new stream and the frame that opens it."""
        stream, self.next = self.next, self.next + 2
        self.windows[stream] = self.stream_window
        return stream, frame(HEADERS, flags, stream, block)

    def take(self, wait=0.0):
        """Reads what has arrived, for at most so long. Returns False once the connection has
        ended."""
        self.s.settimeout(wait or 0.000001)
        try:
            while not self.closed:
                got = self.s.recv(65536)
                if not got:
                    self.closed = True
                self.buffer += got
                self.s.settimeout(0.000001)
        except (TimeoutError, ssl.SSLWantReadError, BlockingIOError):
            pass
        except OSError:
            self.closed = True
        finally:
            with contextlib.suppress(OSError):
                self.s.settimeout(5)
        self._parse()
        return not self.closed

    def _parse(self):
        at = 0
        while len(self.buffer) - at >= 9:
            n = int.from_bytes(self.buffer[at:at + 3], "big")
            kind, flags, stream = struct.unpack(">BBI", self.buffer[at + 3:at + 9])
            if len(self.buffer) - at < 9 + n:
                break
            self._frame(kind, flags, stream & 0x7fffffff, self.buffer[at + 9:at + 9 + n])
            at += 9 + n
        self.buffer = self.buffer[at:]

    def _frame(self, kind, flags, stream, payload):
        if kind == SETTINGS and not flags & ACK:
            for i in range(0, len(payload), 6):
                key, value = struct.unpack(">HI", payload[i:i + 6])
                if key == 3:
                    self.streams_max = value
                if key == 4:
                    for s in self.windows:
                        self.windows[s] += value - self.stream_window
                    self.stream_window = value
            self.send(frame(SETTINGS, ACK, 0))
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if stream:
                self.windows[stream] = self.windows.get(stream, 0) + more
            else:
                self.window += more
        elif kind in (HEADERS, RST_STREAM):
            self.answered.add(stream)
            if kind == RST_STREAM:
                self.windows.pop(stream, None)


# ---- probes --------------------------------------------------------------------------------------

class Probes:
    """Requests /healthz again and again, as a kubelet does, and records how long each answer
    took."""

    def __init__(self, p, pause=0.1, timeout=10):
        self.p, self.pause, self.timeout = p, pause, timeout
        self.times, self.failed, self.ends = [], 0, threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def _run(self):
        while not self.ends.is_set():
            began = time.monotonic()
            if status(self.p, "/healthz", self.timeout) == 200:
                self.times.append(time.monotonic() - began)
            else:
                self.failed += 1
            self.ends.wait(self.pause)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.ends.set()
        self.thread.join()

    def most_ms(self):
        return round(1000 * max(self.times), 1) if self.times else None
