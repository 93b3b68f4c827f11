# SPDX-License-Identifier: Apache-2.0
"""A scheduler extender on loopback, for tests: its answers depend on the names of pods and
nodes.

The equal pods of two schedulers differ in the part of their names before the first dash; an
extender uses only the part after it, so that both schedulers get the same answers.

The path of a verb may begin with a behaviour, as in "slow/filter":

    500       answers with that status
    rubbish   answers with invalid JSON
    cut       closes the connection
    slow      answers after SLOW seconds
    error     returns an error in its answer
    unknown   keeps a node that was not in the request
    stranger  preempts a pod that does not exist
    empty     preempts no pod, on one of the nodes
    huge      answers with more bytes than a client should read
"""

import contextlib
import hashlib
import http.server
import json
import random
import ssl
import threading
import time

SLOW = 1.5
HUGE = 300 << 20


def draw(*parts):
    """A random generator that depends only on these texts."""
    return random.Random(hashlib.sha256("/".join(parts).encode()).digest())


def own_name(pod_name):
    return pod_name.split("-", 1)[1]


class Extender:
    """A context manager. `calls` are the requests: (path, body), in order; `binds` by the pod's
    name.

    A request with nodes is answered with nodes, one with names with names. on_bind(namespace, pod,
    uid, node) carries out a bind; without it binds are only recorded.
    """

    def __init__(self, on_bind=None, tls=None):
        self.on_bind = on_bind
        self.calls, self.binds, self.peers = [], {}, set()
        self.lock = threading.Lock()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        if tls:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc):
        self.server.shutdown()
        self.server.server_close()

    # -- answers --

    @staticmethod
    def fate(pod, node):
        """kept, failed, unresolvable or dropped; the label keep selects one node or none."""
        keep = pod["metadata"].get("labels", {}).get("keep")
        name = own_name(pod["metadata"]["name"])
        if keep and keep != "none":
            return "kept" if node == keep else draw(name, node).choice(("failed", "dropped"))
        words = ("failed", "unresolvable", "dropped") + (() if keep else ("kept", "kept", "kept"))
        return draw(name, node, "fate").choice(words)

    @staticmethod
    def score(pod, node):
        """Eleven nodes named n0 … n10 all have different scores."""
        order = list(range(11))
        draw(own_name(pod["metadata"]["name"]), "score").shuffle(order)
        return order[int(node[1:]) % 11]

    def filter(self, args):
        nodes = {n["metadata"]["name"]: n for n in (args["Nodes"] or {}).get("items") or []}
        names = args["NodeNames"] if args["NodeNames"] is not None else list(nodes)
        fates = {n: self.fate(args["Pod"], n) for n in names}
        kept = [n for n in names if fates[n] == "kept"]
        answer = {"FailedNodes": {n: f"reason {len(n) + ord(n[-1]) % 3}"
                                  for n in names if fates[n] == "failed"},
                  "FailedAndUnresolvableNodes": {n: "never" for n in names
                                                 if fates[n] == "unresolvable"}}
        if args["Nodes"]:
            return {"Nodes": {"items": [nodes[n] for n in kept]}, **answer}
        return {"nodenames": kept, **answer}

    def prioritize(self, args):
        names = args["NodeNames"]
        if names is None:
            names = [n["metadata"]["name"] for n in args["Nodes"]["items"]]
        return [{"host": n, "score": self.score(args["Pod"], n)} for n in names]

    def bind(self, args):
        with self.lock:
            self.binds[args["PodName"]] = args["Node"]
        if self.on_bind:
            self.on_bind(args["PodNamespace"], args["PodName"], args["PodUID"], args["Node"])
        return {"Error": ""}

    def most(self, args):
        """A filter that never keeps some nodes."""
        name = own_name(args["Pod"]["metadata"]["name"])
        kept = [n for n in args["NodeNames"] if draw(name, own_name(n), "most").random() < 0.8]
        return {"NodeNames": kept, "FailedAndUnresolvableNodes": {
            n: "never" for n in args["NodeNames"] if n not in kept}}

    def by_name(self, args):
        return [{"host": n, "score": int(own_name(n)[1:])} for n in args["NodeNames"]]

    def preempt(self, args):
        """Drops some nodes; on others it spares some of the victims."""
        given, name = args["NodeNameToVictims"], own_name(args["Pod"]["metadata"]["name"])
        uids = {n: [p["metadata"]["uid"] for p in v["Pods"]] for n, v in (given or {}).items()}
        if given is None:
            given = args["NodeNameToMetaVictims"]
            uids = {n: [p["UID"] for p in v["Pods"]] for n, v in given.items()}
        answer = {}
        for node, victims in uids.items():
            rng = draw(name, own_name(node), str(len(victims)))
            if rng.random() < 0.3:
                continue
            kept = [v for v in victims if rng.random() < 0.7] or victims[:1]
            broken = given[node]["NumPDBViolations"] + rng.choice((0, 0, 1))
            answer[node] = {"Pods": [{"UID": v} for v in kept], "NumPDBViolations": broken}
        return {"NodeNameToMetaVictims": answer}

    @staticmethod
    def preempt_badly(manner, args):
        given = args["NodeNameToMetaVictims"] or args["NodeNameToVictims"]
        node = "nowhere" if manner == "unknown" else min(given)
        pods = {"stranger": [{"UID": "no-such-uid"}]}.get(manner, [])
        return {"NodeNameToMetaVictims": {node: {"Pods": pods}}}

    # -- for tests --

    def all_asked(self, verb, name):
        """The bodies of all calls about this pod, in order."""
        with self.lock:
            return [body for path, body in self.calls if path.endswith("/" + verb)
                    and (body.get("PodName") or body["Pod"]["metadata"]["name"]) == name]

    def asked(self, verb, prefix=""):
        """The bodies of calls about pods whose names begin with this prefix, by pod."""
        with self.lock:
            calls = list(self.calls)
        found = {}
        for path, body in calls:
            name = body.get("PodName") or body["Pod"]["metadata"]["name"]
            if path.endswith("/" + verb) and name.startswith(prefix):
                found[name] = body
        return found


def _handler(extender):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args):
            pass

        def handle(self):
            with contextlib.suppress(ConnectionError, ssl.SSLError):
                super().handle()

        def do_POST(self):
            args = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with extender.lock:
                extender.calls.append((self.path, args))
                extender.peers.add(self.client_address)
            manner, verb = self.path.split("/")[-2:]
            if manner == "cut":
                self.close_connection = True
                return
            if manner == "slow":
                time.sleep(SLOW)
            status, body = self.answer(manner, verb, args)
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(HUGE if manner == "huge" else len(body)))
            self.end_headers()
            if manner == "huge":
                self.send_much(HUGE)
            else:
                self.wfile.write(body)

        def send_much(self, n):
            piece = b" " * (1 << 20)
            while n > 0:
                self.wfile.write(piece[:n])
                n -= len(piece)

        def answer(self, manner, verb, args):
            if manner in ("500", "404"):
                return int(manner), b"no\n"
            if manner == "rubbish":
                return 200, b'{"NodeNames": ['
            if manner == "error":
                return 200, json.dumps({"Error": "the extender is unwell"}).encode()
            if verb == "preempt" and manner in ("unknown", "stranger", "empty"):
                return 200, json.dumps(extender.preempt_badly(manner, args)).encode()
            if manner == "unknown":
                return 200, json.dumps({"NodeNames": ["nowhere"]}).encode()
            if manner == "huge":
                return 200, b""
            return 200, json.dumps(getattr(extender, verb)(args)).encode()

    return Handler
