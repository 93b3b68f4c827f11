#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The extender kit: examples/extender serves berth and the real kube-scheduler alike, with and
without TLS, and stands up to clients that send garbage, too much, or nothing at all.

The extender scores nodes by their position in the request. Both schedulers therefore run one after
the other, with parallelism 1, and see nodes and pods one by one in the order of their creation:
kube-scheduler keeps nodes that exist when it starts in a random order.
"""

import concurrent.futures
import contextlib
import http.client
import itertools
import json
import os
import random
import re
import socket
import ssl

import berth
from berth import NODES, PODS, make_node, make_pod, wait_for
from cluster import Cluster, Process
from tap import check, contains, equal, main, note, show_log, test

N_NODES = 11        # scores 0 … 10, times ten: never equal with a weight of 11 (see profiles)
ROUNDS = int(os.environ.get("BERTH_PODS", "40"))
ROOM = max(1, ROUNDS // 40)     # some pods do not fit


# ---- the extender --------------------------------------------------------------------------------

_started = itertools.count(1)


@contextlib.contextmanager
def extender(c, *flags):
    """Runs examples/extender; it must end without leaks."""
    log = os.path.join(c.dir, f"extender.{next(_started)}.log")
    p = Process("extender", berth.command("my-scheduler-extender") + ["--port=0", *flags], log,
                env=berth.environment(), cwd=c.dir)
    c.children.append(p)
    show_log(log)
    try:
        found = wait_for(lambda: re.search(r"port=(\d+)", p.text()) or not p.running(),
                         berth.TIMEOUT, what="the extender listens")
        check(p.running(), p.text())
        p.port = int(found.group(1))
        yield p
        c.children.remove(p)
        berth.stop(p)
    finally:
        if p in c.children:
            c.children.remove(p)
            p.kill()


def ask(p, path, body, tls=None, method="POST"):
    """(status, text) of one request."""
    if tls:
        conn = http.client.HTTPSConnection("127.0.0.1", p.port, context=tls, timeout=60)
    else:
        conn = http.client.HTTPConnection("127.0.0.1", p.port, timeout=60)
    try:
        conn.request(method, path, body)
        answer = conn.getresponse()
        return answer.status, answer.read().decode()
    finally:
        conn.close()


# ---- two schedulers, one after the other ---------------------------------------------------------

def profiles(who):
    plugins = {}
    plugins["score"] = {"disabled": [{"name": "*"}],
                        "enabled": [{"name": "NodeResourcesFit", "weight": 11}]}
    return [{"schedulerName": who, "percentageOfNodesToScore": 100, "plugins": plugins}]


def random_pods(n):
    rng = random.Random(n)
    return [make_pod(f"p{i:04}", cpu=f"{rng.randint(1, 90)}0m", memory=f"{rng.randint(1, 900)}Mi",
                     scheduler_name="alike",
                     node_selector={"half": str(rng.randint(0, 1))} if rng.random() < 0.2 else None)
            for i in range(n)]


def make_nodes(c):
    rng = random.Random(3)
    for i in range(N_NODES):
        c.create(NODES, make_node(f"n{i:02}", cpu=ROOM * rng.randint(2, 6),
                                  memory=f"{ROOM * rng.randint(4, 9)}Gi",
                                  labels={"half": str(i % 2), "i": str(i)}))


def outcome(pod):
    if pod["spec"].get("nodeName"):
        return pod["spec"]["nodeName"]
    said = [k["message"] for k in pod["status"].get("conditions", ())
            if k["type"] == "PodScheduled" and k["status"] == "False"]
    return said[0] if said else None


def is_ready(p):
    """The scheduler has seen everything; from now on objects arrive in the order of creation."""
    with contextlib.suppress(OSError):
        return ask(p, "/readyz", None, tls=ssl._create_unverified_context(), method="GET")[0] == 200
    return False


def wait_seen(c):
    """The scheduler knows all nodes when it knows the last one."""
    c.create(PODS, make_pod("probe", cpu=None, memory=None, scheduler_name="alike",
                            node_selector={"i": str(N_NODES - 1)}))
    berth.wait_bound(c, "probe")
    c.delete(PODS + "/probe?gracePeriodSeconds=0")


def decisions(c, who, pods, of_extender):
    """Runs one scheduler on these pods until each has a node or a message."""
    config = {"parallelism": 1, "profiles": profiles("alike"), "extenders": [of_extender]}
    if who == "berth":
        p = berth.start(c, config=berth.scheduler_config(c, who, **config))
    else:
        p = c.start_scheduler(config=config, qps=5000)
        show_log(p.log)

    def all_known():
        known = {pod["metadata"]["name"]: outcome(pod) for pod in c.pods()}
        known.pop("probe", None)
        return len(known) == len(pods) and all(known.values()) and known
    try:
        wait_for(lambda: is_ready(p), berth.TIMEOUT, what=f"{who} is ready")
        make_nodes(c)
        wait_seen(c)
        for pod in pods:
            c.create(PODS, pod)
        known = wait_for(all_known, berth.TIMEOUT, interval=0.2, what=f"{who} has decided")
    finally:
        c.children.remove(p)
        if who == "berth":
            berth.stop(p)
        else:
            p.kill()
    after(c)
    return known


def compare(c, of_extender):
    pods = random_pods(ROUNDS)
    got = {who: decisions(c, who, pods, of_extender) for who in ("kube", "berth")}
    differ = {n: (got["berth"][n], got["kube"][n]) for n in got["kube"]
              if got["berth"][n] != got["kube"][n]}
    equal(differ, {}, "differences of berth and kube-scheduler")
    outcomes = set(got["kube"].values())
    check(len(outcomes) > 3, f"only {len(outcomes)} different outcomes")
    note(f"{len(pods)} pods, {len(outcomes)} different outcomes")


SEEDS = {"filterVerb": "filter", "prioritizeVerb": "prioritize", "bindVerb": "bind", "weight": 1}


@test
def both_schedulers_decide_alike_with_nodes(c):
    with extender(c, "--plain", f"--kubeconfig={c.admin_kubeconfig}") as x:
        compare(c, {**SEEDS, "urlPrefix": f"http://127.0.0.1:{x.port}"})
        status, page = ask(x, "/metrics", None, method="GET")
        equal(status, 200, "status of /metrics")
        for verb in ("filter", "prioritize", "bind"):
            contains(page, f'berth_extender_requests_total{{code="200",verb="{verb}"}}')


@test
def both_schedulers_decide_alike_with_names(c):
    with extender(c, "--plain", f"--kubeconfig={c.admin_kubeconfig}") as x:
        compare(c, {**SEEDS, "urlPrefix": f"http://127.0.0.1:{x.port}/some/prefix",
                    "nodeCacheCapable": True})


@test
def both_schedulers_decide_alike_over_tls_with_client_certificates(c):
    c._issue("kit", "/CN=extender.test", "serverAuth", "IP:127.0.0.1")
    file = {n: os.path.join(c.dir, n) for n in ("kit.crt", "kit.key", "ca.crt", "ca.key")}
    with extender(c, f"--tls-cert-file={file['kit.crt']}", f"--tls-private-key-file={file['kit.key']}",
                  f"--client-ca-file={file['ca.crt']}", f"--kubeconfig={c.admin_kubeconfig}") as x:
        context = ssl.create_default_context(cafile=file["ca.crt"])
        equal(ask(x, "/healthz", None, tls=context, method="GET"), (200, "ok"), "health")
        for path in ("/filter", "/metrics"):
            status, text = ask(x, path, b"{}", tls=context)
            equal(status, 401, f"status of {path} without certificate")
            contains(text, "a client certificate is required")
        compare(c, {**SEEDS, "urlPrefix": f"https://127.0.0.1:{x.port}", "enableHTTPS": True,
                    "tlsConfig": {"caFile": file["ca.crt"],
                                  "certFile": os.path.join(c.dir, "admin.crt"),
                                  "keyFile": os.path.join(c.dir, "admin.key")}})


# ---- clients of all kinds ------------------------------------------------------------------------

@test
def binding_reports_what_the_api_server_says(c):
    with extender(c, "--plain", f"--kubeconfig={c.admin_kubeconfig}") as x:
        status, text = ask(x, "/bind", json.dumps({"PodName": "nobody", "PodNamespace": "default",
                                                   "PodUID": "u", "Node": "n"}))
        equal(status, 200, "status")
        contains(json.loads(text)["Error"], 'pods "nobody" not found')


@test
def garbage_gets_a_clear_answer(c):
    pod = '"Pod":{"metadata":{"name":"p"}}'
    with extender(c, "--plain", "--max-body=100000") as x:
        for path, body, status, part in (
                ("/filter", "", 400, "unexpected end of input"),
                ("/filter", "nonsense", 400, "expected an object"),
                ("/filter", '{"Pod":[]}', 400, "Pod: "),
                ("/filter", "{%s,\"Nodes\":{\"items\":[{}]}}" % pod, 400, "metadata.name is required"),
                ("/prioritize", "{%s,\"NodeNames\":[1]}" % pod, 400, "NodeNames: "),
                ("/bind", "{}", 400, "PodName and Node are required"),
                ("/bind", '{"PodName":"p","Node":"n"}', 200, "no API server"),
                ("/preempt", "{}", 404, "no such verb"),
                ("/", "{}", 404, "no such verb"),
                ("/filter", "[" * 99999, 400, "expected an object"),
                ("/filter", '{"Pod":' + "[" * 9999 + "]" * 9999 + "}", 400, "Pod: "),
                ("/filter", " " * 100001, 413, "longer than 100000 bytes")):
            got, text = ask(x, path, body)
            equal(got, status, f"status of {path} {body[:60]!r}: {text[:100]}")
            contains(json.loads(text)["Error"], part)
        equal(ask(x, "/filter", None, method="GET")[0], 405, "status of GET")
        for bad in (b"\0\1\2\r\n\r\n", b"GET\r\n\r\n", b"POST /filter HTTP/9.9\r\n\r\n"):
            with socket.create_connection(("127.0.0.1", x.port), timeout=60) as s:
                s.sendall(bad)
                check(s.recv(100)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 505", b""), "not refused")


@test
def slow_and_greedy_clients_cost_little_memory(c):
    """Connections that say nothing, half of a head, half of a body; and bodies without end."""
    with extender(c, "--plain", "--max-body=4000000") as x, contextlib.ExitStack() as open_ones:
        def dial():
            return open_ones.enter_context(
                socket.create_connection(("127.0.0.1", x.port), timeout=60))
        before = x.rss_bytes()
        for _ in range(200):
            dial()
            dial().sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\n")
            dial().sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n{")

        def endless(_):
            with socket.create_connection(("127.0.0.1", x.port), timeout=60) as s, \
                    contextlib.suppress(OSError):
                s.sendall(b"POST /filter HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
                for _ in range(200):
                    s.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(endless, range(24)))
        equal(ask(x, "/healthz", None, method="GET"), (200, "ok"), "health")
        grown = x.rss_bytes() - before
        note(f"{grown >> 20} MiB more than at the start")
        check(grown < 300 << 20, f"{grown} bytes more than at the start")


def after(c):
    for path in (PODS, NODES):
        c.delete(path + "?gracePeriodSeconds=0")
    wait_for(lambda: not c.pods() and not c.nodes(), berth.TIMEOUT, what="pods and nodes are gone")


if __name__ == "__main__":
    main(fixture=Cluster, after=after)
