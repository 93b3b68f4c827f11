#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""External errors: one clear log line, no crash, no leak, no busy loop.

Permanent errors end berth with exit code 1. Errors that may pass are retried with backoff.
"""

import base64
import contextlib
import json
import os
import re
import socket
import socketserver
import ssl
import stat
import struct
import subprocess
import threading
import time

import berth
from berth import (TIMEOUT, add_nodes, add_pods, equal, make_node, make_pod, start, stop,
                   wait_bound, wait_for)
from cluster import Cluster
from tap import check, contains, main, matches, note, test


# ---- kubeconfigs ---------------------------------------------------------------------------------


def read(c, name, mode="r"):
    with open(os.path.join(c.dir, name), mode) as f:
        return f.read()


def write(c, name, text):
    path = os.path.join(c.dir, name)
    with open(path, "w" if isinstance(text, str) else "wb") as f:
        f.write(text)
    return path


def data(c, name):
    return base64.b64encode(read(c, name, "rb")).decode()


def kubeconfig(c, name, cluster=None, user=None, **top):
    """A valid kubeconfig with these changes: None removes a field."""
    def changed(good, changes):
        good.update(changes or {})
        return {k: v for k, v in good.items() if v is not None}
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": changed(
            {"server": c.url, "certificate-authority-data": data(c, "ca.crt")}, cluster)}],
        "users": [{"name": "x", "user": changed(
            {"client-certificate-data": data(c, "scheduler.crt"),
             "client-key-data": data(c, "scheduler.key")}, user)}]}
    return write(c, name, json.dumps(changed(config, top), indent=1))


def refused(path, *parts):
    """berth must exit with code 1 and one line that names the file and contains these parts."""
    done = berth.run("scheduler", "--kubeconfig", path, "--secure-port=0", "--leader-elect=false",
                     timeout=60)
    equal(done.code, 1, f"exit code; it said {done.err!r}")
    equal(done.err.count("\n"), 1, f"lines in {done.err!r}")
    contains(done.err, path, *parts)


@test
def a_kubeconfig_that_is_missing_or_unreadable_is_named(c):
    refused(os.path.join(c.dir, "nothing"), "No such file or directory")
    refused(c.dir, "directory")
    refused(os.path.join(c.scheduler_kubeconfig, "x"), "Not a directory")
    if os.geteuid() != 0:
        path = write(c, "secret", "")
        os.chmod(path, 0)
        refused(path, "Permission denied")


@test
def a_kubeconfig_that_is_no_kubeconfig_is_named(c):
    refused(write(c, "empty", ""), "current-context")
    refused(write(c, "scalar", "hello\n"), "expected an object")
    refused(write(c, "unclosed", "contexts: [\n"), "line 2")
    refused(write(c, "binary", b"\x00\x01\xff\xfe" * 100), "control characters")
    refused(write(c, "latin", b"current-context: \xe4\n"), "UTF-8")
    refused(write(c, "deep", "[" * 100000))
    refused(write(c, "bomb", "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n"
        for i in range(12))))
    refused(write(c, "types", "apiVersion: v1\nkind: Config\ncontexts: 3\n"), "contexts")
    refused(write(c, "kind", "apiVersion: v1\nkind: Pod\n"))


@test
def a_kubeconfig_of_endless_size_is_refused(c):
    path = os.path.join(c.dir, "huge")
    with open(path, "wb") as f:
        f.truncate(1 << 30)
    refused(path, "more than")
    refused("/dev/zero")


@test
def missing_entries_of_a_kubeconfig_are_named(c):
    refused(kubeconfig(c, "k1", **{"current-context": "y"}), "current-context", '"y"')
    refused(kubeconfig(c, "k2", **{"current-context": None}), "current-context")
    refused(kubeconfig(c, "k3", clusters=[]), "contexts[x].context.cluster", '"x"')
    refused(kubeconfig(c, "k4", users=[]), "contexts[x].context.user", '"x"')
    refused(kubeconfig(c, "k5", cluster={"server": None}), "server")
    refused(kubeconfig(c, "k6", cluster={"server": "ftp://127.0.0.1"}), "server", "ftp")
    refused(kubeconfig(c, "k7", cluster={"server": "https://127.0.0.1:99999"}), "server")


@test
def bad_certificates_and_keys_are_named(c):
    bad = base64.b64encode(b"no certificate").decode()
    refused(kubeconfig(c, "c1", cluster={"certificate-authority-data": bad}),
            "certificate-authority-data")
    refused(kubeconfig(c, "c2", cluster={"certificate-authority-data": "%%%"}),
            "certificate-authority-data")
    refused(kubeconfig(c, "c3", user={"client-certificate-data": bad}), "client-certificate-data")
    refused(kubeconfig(c, "c4", user={"client-key-data": bad}), "client-key-data")
    refused(kubeconfig(c, "c5", user={"client-key-data": data(c, "admin.key")}),
            "client-key-data", "does not match the certificate")
    refused(kubeconfig(c, "c6", user={"client-key-data": None}), "client-key")
    refused(kubeconfig(c, "c7", cluster={"certificate-authority-data": None,
                                         "certificate-authority": "/nonexistent/ca.crt"}),
            "certificate-authority", "/nonexistent/ca.crt")
    refused(kubeconfig(c, "c8", user={"client-certificate-data": None, "client-key-data": None,
                                      "client-certificate": "/nonexistent/x.crt",
                                      "client-key": "/nonexistent/x.key"}), "/nonexistent/x.")
    half = base64.b64encode(read(c, "ca.crt", "rb")[:300]).decode()
    refused(kubeconfig(c, "c9", cluster={"certificate-authority-data": half}),
            "certificate-authority-data")


# ---- servers that reject requests ----------------------------------------------------------------


def wait_told(p, pattern):
    """Waits for a line of the log. Fails at once if berth has ended."""
    wait_for(lambda: re.search(pattern, p.text()) or not p.running(), TIMEOUT,
             what=f"a line with {pattern!r}")
    matches(p.text(), pattern)
    check(p.running(), "it gave up")


def persists(c, pattern, path):
    """Checks that berth logs the error, keeps retrying, and pauses in between."""
    p = start(c, kubeconfig=path)
    wait_told(p, pattern)
    quiet(p)
    return p


def quiet(p, seconds=3):
    """Checks for almost no CPU use and few log lines while nothing can be done."""
    cpu, lines, began = p.cpu_seconds(), p.text().count("\n"), time.monotonic()
    time.sleep(seconds)     # an interval to measure over, not a wait for something
    check(p.running(), "it gave up")
    cpu, lines = p.cpu_seconds() - cpu, p.text().count("\n") - lines
    passed = time.monotonic() - began
    check(cpu < passed / 4, f"busy: {cpu:.2f} s of CPU in {passed:.1f} s")
    check(lines < 80 * passed / seconds, f"{lines} lines in {passed:.1f} s")


@test
def a_wrong_ca_is_told_with_the_host_and_the_reason(c):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                    "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=other", "-days", "1",
                    "-keyout", "other.key", "-out", "other.crt"], cwd=c.dir, check=True,
                   stderr=subprocess.DEVNULL)
    path = kubeconfig(c, "wrong-ca", cluster={"certificate-authority-data": data(c, "other.crt")})
    stop(persists(c, rf"{c.url}.*certificate signed by unknown authority", path))


@test
def a_server_name_that_does_not_match_is_told(c):
    path = kubeconfig(c, "wrong-name", cluster={"tls-server-name": "elsewhere.test"})
    stop(persists(c, r"elsewhere\.test", path))


@test
def a_server_name_that_matches_another_entry_of_the_certificate_works(c):
    p = start(c, kubeconfig=kubeconfig(c, "right-name", cluster={
        "tls-server-name": "kubernetes.default.svc"}))
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    stop(p)


@test
def a_server_that_is_not_verified_works_where_the_user_says_so(c):
    p = start(c, kubeconfig=kubeconfig(c, "insecure", cluster={
        "certificate-authority-data": None, "insecure-skip-tls-verify": True}))
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    stop(p)


@test
def a_token_that_is_not_accepted_is_told(c):
    path = kubeconfig(c, "token", user={"token": "expired", "client-certificate-data": None,
                                        "client-key-data": None})
    p = persists(c, rf"{c.url}.*Unauthorized.*{path}", path)
    check("expired" not in p.text(), "the token is in the log")
    stop(p)


@test
def a_user_without_rights_is_told_what_is_missing(c):
    stop(persists(c, r'is forbidden: User \\?"nobody\\?" cannot (list|watch) resource',
                  c.kubeconfig("nobody", "nobody")))


@test
def rights_that_come_later_heal_it(c):
    p = persists(c, "is forbidden", c.kubeconfig("late", "late"))
    for role in ("system:kube-scheduler", "system:volume-scheduler"):
        c.kubectl("create", "clusterrolebinding", role.replace(":", "-") + "-late",
                  f"--clusterrole={role}", "--user=late")
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    stop(p)


@test
def a_server_that_is_down_at_the_start_is_waited_for(c):
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    c.kill_apiserver()
    p = persists(c, rf"{c.url}.*[Cc]onnection refused", c.scheduler_kubeconfig)
    c.start_apiserver()
    wait_bound(c, "p")
    stop(p)


@test
def a_host_that_does_not_exist_is_told(c):
    stop(persists(c, r"does-not-exist\.invalid", kubeconfig(
        c, "no-host", cluster={"server": "https://does-not-exist.invalid:6443"})))


@test
def a_token_file_that_is_missing_is_named(c):
    refused(kubeconfig(c, "token-file", user={
        "tokenFile": "/nonexistent/token", "client-certificate-data": None,
        "client-key-data": None}), "users[x].user.tokenFile", "/nonexistent/token")


@test
def an_exec_plugin_that_fails_is_told(c):
    for name, script in (("missing", None), ("fails", "#!/bin/sh\necho oh no >&2\nexit 3\n"),
                         ("babbles", "#!/bin/sh\necho hello\n"),
                         ("endless", "#!/bin/sh\nexec cat /dev/zero\n")):
        command = os.path.join(c.dir, "exec-" + name)
        if script:
            write(c, "exec-" + name, script)
            os.chmod(command, stat.S_IRWXU)
        path = kubeconfig(c, "exec-" + name + ".kubeconfig", user={
            "client-certificate-data": None, "client-key-data": None,
            "exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": command,
                     "interactiveMode": "Never"}})
        p = start(c, kubeconfig=path, name=name)
        wait_told(p, re.escape(command))
        quiet(p)
        stop(p)


# ---- servers that send nonsense ------------------------------------------------------------------


class Fake(socketserver.ThreadingTCPServer):
    """A TLS server that answers every request with behave(connection, request line)."""
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, c, behave, alpn=None):
        self.behave, self.requests, self.accepted = behave, [], 0
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(os.path.join(c.dir, "serving.crt"),
                                 os.path.join(c.dir, "serving.key"))
        if alpn:
            self.tls.set_alpn_protocols(alpn)
        super().__init__(("127.0.0.1", 0), None)
        self.url = f"https://127.0.0.1:{self.server_address[1]}"

    def finish_request(self, request, client_address):
        self.accepted += 1
        with contextlib.suppress(OSError, ValueError):
            with self.tls.wrap_socket(request, server_side=True) as conn:
                if self.behave is None:
                    return
                while True:
                    head = b""
                    while b"\r\n\r\n" not in head:
                        got = conn.recv(65536)
                        if not got:
                            return
                        head += got
                        if head.startswith(b"PRI "):
                            break
                    self.requests.append(head.split(b"\r\n")[0].decode())
                    if not self.behave(conn, self.requests[-1]):
                        return


@contextlib.contextmanager
def fake(c, behave, **more):
    server = Fake(c, behave, **more)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(body, kind="application/json", status="200 OK", length=None):
    if isinstance(body, str):
        body = body.encode()
    return (f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n"
            f"Content-Length: {len(body) if length is None else length}\r\n\r\n").encode() + body


def always(raw, keep=True):
    def behave(conn, _):
        conn.sendall(raw)
        return keep
    return behave


UNKNOWN = answer(json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 422,
                             "reason": "Invalid", "message": "unknown option"}),
                 status="422 Unprocessable Entity")


def lists(raw, keep=True):
    """An older server without streaming lists that answers a list in this way."""
    def behave(conn, line):
        conn.sendall(UNKNOWN if "watch=" in line else raw)
        return keep or "watch=" in line
    return behave


def watches(raw, keep=True):
    """An older server that lists correctly and answers a watch in this way."""
    def behave(conn, line):
        kind = "NodeList" if "/nodes" in line else "PodList"
        if "sendInitialEvents" in line:
            conn.sendall(UNKNOWN)
        elif "watch=" in line:
            conn.sendall(raw)
            return keep
        else:
            conn.sendall(answer(json.dumps({"kind": kind, "apiVersion": "v1", "items": [],
                                            "metadata": {"resourceVersion": "1"}})))
        return True
    return behave


def survives(c, behave, pattern, at_once=40, **more):
    """Checks that berth logs the server's error with the URL, and retries with pauses. All kinds
    together make at most `at_once` requests before the first pause."""
    with fake(c, behave, **more) as server:
        p = start(c, kubeconfig=kubeconfig(c, "fake", cluster={"server": server.url}))
        began = time.monotonic()
        wait_told(p, rf"{server.url}/api/v1/.*({pattern})")
        tried = max(server.accepted, len(server.requests))
        wait_for(lambda: max(server.accepted, len(server.requests)) >= tried + 2, TIMEOUT,
                 what="further tries")
        quiet(p)
        passed = time.monotonic() - began
        seen = max(server.accepted, len(server.requests))
        check(seen < at_once + 20 * passed, f"{seen} tries in {passed:.1f} s")
        stop(p)


PROTOBUF = "application/vnd.kubernetes.protobuf"


@test
def a_server_that_hangs_up_is_survived(c):
    survives(c, None, r"closed|reset|EOF|ended")


@test
def a_server_that_does_not_speak_http_is_survived(c):
    survives(c, always(b"220 smtp.test ESMTP\r\n" * 3, keep=False), r"HTTP|malformed|status line")


@test
def a_server_that_agrees_to_http_2_and_talks_nonsense_is_survived(c):
    survives(c, always(b"\x00\xff" * 5000, keep=False), r"HTTP/2|frame|protocol|closed|reset|lost",
             alpn=["h2"])


ENDED = r"closed|truncated|[Rr]eset|EOF|ended"


@test
def a_truncated_list_is_survived(c):
    survives(c, lists(answer('{"kind":"NodeList"', length=100000), keep=False), ENDED)


@test
def a_truncated_watch_is_survived(c):
    survives(c, watches(answer('{"type":"ADDED"', length=100000), keep=False), ENDED)


@test
def malformed_json_is_survived(c):
    survives(c, lists(answer('{"kind":"NodeList","apiVersion":"v1","items":[{"metadata":')),
             r"items: unexpected end of input")
    survives(c, watches(answer('{"type":"ADDED","object":{"kind":"Node","meta')), r"ended within")
    survives(c, watches(answer("]]]]]]")), r"JSON")


@test
def json_of_the_wrong_shape_is_survived(c):
    survives(c, lists(answer('{"kind":"NodeList","apiVersion":"v1","items":{"a":3}}')), r"items")
    survives(c, lists(answer('{"kind":"NodeList","apiVersion":"v1","metadata":{},"items":[{'
                             '"metadata":{"name":"x"},"status":{"allocatable":{"cpu":"much"}}}]}')),
             r"items.0.: .*status.allocatable.cpu.: quantit")
    survives(c, watches(answer('{"type":"NONSENSE","object":{}}')), r"NONSENSE")


@test
def malformed_protobuf_is_survived(c):
    survives(c, lists(answer(b"k8s\x00" + b"\xff" * 200, kind=PROTOBUF)), r"protobuf")
    survives(c, lists(answer(b"hello", kind=PROTOBUF)), r"list: .* at byte|protobuf")
    survives(c, watches(answer(b"\xff" * 200, kind=PROTOBUF)), r"larger than the limit")
    survives(c, watches(answer(struct.pack(">I", 100) + b"\xff" * 100, kind=PROTOBUF)),
             r"watch: .*(protobuf|at byte)")


@test
def a_page_of_html_is_survived(c):
    survives(c, always(answer("<html><body>Sign in</body></html>", kind="text/html")),
             r"neither JSON nor Kubernetes protobuf")


@test
def an_error_page_of_a_proxy_is_survived(c):
    survives(c, always(answer("bad\r\ngateway", kind="text/plain", status="502 Bad Gateway")),
             r"502 Bad Gateway: bad  gateway")


@test
def an_answer_that_announces_too_much_is_survived(c):
    """The announced length is not allocated; above the limit berth does not even wait for the
    body."""
    # A page that is too large is requested with fewer objects, four times, before the first pause.
    survives(c, lists(answer("x", length=1 << 60), keep=False), r"response larger than \d+ bytes",
             at_once=5 * 40)
    survives(c, lists(answer("x", length=1 << 65), keep=False), r"HTTP/1.1.*[Ll]ength|" + ENDED)


@test
def an_answer_without_end_is_survived(c):
    """Endless chunks: the answer is cut off at the limit, and memory stays bounded."""
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    served = []

    def behave(conn, _):
        conn.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                     b"Transfer-Encoding: chunked\r\n\r\n")
        while True:
            served.append(1)
            conn.sendall(chunk)

    def on_list(conn, line):
        return lists(b"")(conn, line) if "watch=" in line else behave(conn, line)

    with fake(c, on_list) as server:
        p = start(c, kubeconfig=kubeconfig(c, "fake", cluster={"server": server.url}))
        most = 0

        def complained():
            nonlocal most
            most = max(most, p.rss_bytes())
            return server.url + "/api" in p.text()
        wait_for(complained, TIMEOUT, what="an error")
        note(f"{len(served)} MiB served, {most >> 20} MiB resident at most")
        matches(p.text(), r"larger|longer|more than")
        # A list of 128 MiB for each of eight kinds at most, with room for a sanitizer.
        check(most < 4 << 30, f"{most >> 20} MiB")
        stop(p)


@test
def headers_without_end_are_survived(c):
    def behave(conn, _):
        conn.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            conn.sendall(b"X-Header: " + b"x" * 4000 + b"\r\n")
    survives(c, behave, r"head or chunk line larger")


@test
def a_server_that_never_answers_is_left_in_peace(c):
    gone = threading.Event()
    with fake(c, lambda conn, _: gone.wait(TIMEOUT)) as server:
        p = start(c, kubeconfig=kubeconfig(c, "fake", cluster={"server": server.url}))
        wait_for(lambda: server.requests, TIMEOUT, what="a request")
        quiet(p)
        stop(p)
        gone.set()


@test
def a_server_that_never_shakes_hands_is_left_in_peace(c):
    with socket.socket() as mute:
        mute.bind(("127.0.0.1", 0))
        mute.listen(64)
        p = start(c, kubeconfig=kubeconfig(c, "mute", cluster={
            "server": f"https://127.0.0.1:{mute.getsockname()[1]}"}))
        wait_for(lambda: "Serving" in p.text(), TIMEOUT, what="it runs")
        quiet(p)
        stop(p)


@test
def a_server_without_tls_is_told(c):
    with socket.socket() as plain:
        plain.bind(("127.0.0.1", 0))
        plain.listen(64)
        url = f"https://127.0.0.1:{plain.getsockname()[1]}"

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    conn, _ = plain.accept()
                    conn.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request\n")
                    conn.close()
        threading.Thread(target=serve, daemon=True).start()
        p = start(c, kubeconfig=kubeconfig(c, "plain", cluster={"server": url}))
        wait_told(p, url + ".*the peer does not speak TLS")
        quiet(p)
        stop(p)


@test
def a_server_that_asks_for_patience_gets_it(c):
    def behave(conn, _):
        body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 429,
                           "reason": "TooManyRequests", "message": "later"})
        conn.sendall(f"HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\n"
                     f"Retry-After: 1\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        return True
    with fake(c, behave) as server:
        p = start(c, kubeconfig=kubeconfig(c, "patience", cluster={"server": server.url}))
        began = time.monotonic()
        wait_for(lambda: sum("/nodes" in line for line in server.requests) >= 3, TIMEOUT,
                 what="requests for nodes")
        check(time.monotonic() - began > 1.5, "it did not wait")
        stop(p)


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
