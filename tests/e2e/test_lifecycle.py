#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How berth starts, reports its health, elects a leader, and ends."""

import contextlib
import json
import os
import re
import signal
import socket
import socketserver
import subprocess
import threading
import time

import berth
from berth import (TIMEOUT, add_nodes, add_pods, equal, make_node, make_pod, node_of, start, stop,
                   wait_bound, wait_exit, wait_for)
from cluster import ApiError, Cluster, Process, free_port
from tap import check, contains, main, matches, test

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"


# ---- health --------------------------------------------------------------------------------------

def ask(p, path, *options):
    """(HTTP version, status, body); status 0: no answer."""
    done = subprocess.run(
        ["curl", "-ksS", "--max-time", "20", *options, "-w", r"\n%{http_version} %{http_code}",
         f"https://127.0.0.1:{p.port}{path}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True)
    body, _, tail = done.stdout.rpartition("\n")
    version, status = tail.split()
    return version, int(status), body


# Grants everything to anonymous users.
EVERYWHERE = "--authorization-always-allow-paths=/*"


def wait_status(p, path, status):
    wait_for(lambda: ask(p, path)[1] == status, TIMEOUT, what=f"{path} answers {status}")


@test
def health_is_served_over_http_2_and_http_1(c):
    p = start(c)
    wait_status(p, "/readyz", 200)
    for path in ("/healthz", "/livez", "/readyz"):
        equal(ask(p, path, "--http2"), ("2", 200, "ok"), path)
        equal(ask(p, path, "--http1.1"), ("1.1", 200, "ok"), path)


@test
def health_tells_its_checks_when_asked(c):
    p = start(c, EVERYWHERE)
    wait_status(p, "/readyz", 200)
    real = c.start_scheduler()
    wait_status(real, "/readyz", 200)
    for path in ("/healthz", "/livez", "/readyz"):
        equal(ask(p, path + "?verbose"), ask(real, path + "?verbose"), path)
    contains(ask(p, "/readyz?verbose")[2], "[+]sched-handler-sync ok\n", "readyz check passed\n")
    equal(ask(p, "/readyz/sched-handler-sync")[1:], (200, "ok"), "one check")
    equal(ask(p, "/readyz?exclude=sched-handler-sync")[1:], (200, "ok"), "with one left out")
    equal(ask(p, "/livez/ping")[1:], (200, "ok"), "ping")
    equal(ask(p, "/livez", "--head")[1], 200, "HEAD")


@test
def other_paths_and_methods_are_refused(c):
    p = start(c, EVERYWHERE)
    wait_status(p, "/healthz", 200)
    for path in ("/", "/nothing", "/healthz/nothing", "/healthzz", "/" + "x" * 4000):
        equal(ask(p, path)[1], 404, path)
    real = c.start_scheduler(EVERYWHERE)
    wait_status(real, "/healthz", 200)
    # With a body over HTTP/1.1: over HTTP/2 both reset the stream after their answer (RFC 9113, 8.1),
    # and curl 7.88 may lose the answer if the reset comes before it has sent the body.
    for post in (("/healthz", "-X", "POST"), ("/healthz", "--http1.1", "-X", "POST", "-d", "x")):
        equal(ask(p, *post)[1], ask(real, *post)[1], "POST")
    equal(ask(p, "/healthz")[1], 200, "after all that")


@test
def it_is_not_ready_before_it_knows_the_cluster(c):
    c.pause_apiserver()
    p = start(c)
    wait_status(p, "/livez", 200)
    version, status, body = ask(p, "/readyz")
    equal(status, 500, "readyz")
    contains(body, "[-]sched-handler-sync failed: reason withheld", "readyz check failed")
    c.resume_apiserver()
    wait_status(p, "/readyz", 200)


def listening(p):
    """The addresses, in the kernel's format, that a process listens on."""
    mine = {os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd")}
    found = []
    for table in ("tcp", "tcp6"):
        with open(f"/proc/net/{table}") as f:
            for row in (line.split() for line in f.readlines()[1:]):
                if row[3] == "0A" and f"socket:[{row[9]}]" in mine:
                    found.append(row[1])
    return found


@test
def no_port_is_opened_when_secure_port_is_zero(c):
    p = start(c, "--secure-port=0")
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")
    equal(listening(p), [], "listening sockets")


@test
def a_port_that_is_taken_is_told_and_ends_it(c):
    first = start(c)
    wait_status(first, "/livez", 200)
    equal(len(listening(first)), 1, "number of listening sockets")
    second = start(c, f"--secure-port={first.port}")
    equal(wait_exit(second), 1, "exit code")
    contains(second.text(), str(first.port), "in use")


# ---- shutdown ------------------------------------------------------------------------------------

def ended_by_sigterm(c, name, program, *args):
    """Exit code and last line of a scheduler that has served and then gets SIGTERM."""
    port = free_port()
    argv = [*program, f"--kubeconfig={c.scheduler_kubeconfig}", f"--secure-port={port}",
            "--bind-address=127.0.0.1", *args]
    p = Process(name, argv, os.path.join(c.dir, f"{name}.{port}.log"), env=berth.environment(),
                cwd=c.dir)
    c.children.append(p)
    wait_for(lambda: "Serving securely" in p.text() and "Caches populated" in p.text(), TIMEOUT,
             what=f"{name} runs")
    c.children.remove(p)
    return p.terminate(60), re.sub(r".*\] ", "", p.text().splitlines()[-1])


@test
def sigterm_gives_upstreams_exit_code(c):
    """Without leader election kube-scheduler exits with 1, and so does berth under that name."""
    link = os.path.join(c.dir, "kube-scheduler")
    os.symlink(berth.command()[-1], link)
    theirs, ours = [os.path.join(c.bin, "kube-scheduler")], berth.command()[:-1] + [link]
    for args, code in ((("-v=2", "--leader-elect=false"), 1), (("-v=2", "--leader-elect"), 0)):
        got, want = (ended_by_sigterm(c, name, program, *args)
                     for name, program in (("link", ours), ("kube", theirs)))
        equal(got, want, f"{args}: exit code and last line")
        equal(got[0], code, f"{args}: exit code")
        own = ended_by_sigterm(c, "own", berth.command() + ["scheduler"], *args)
        equal(own[0], 0, f"berth scheduler {args}: exit code")


# ---- leader election -----------------------------------------------------------------------------

QUICK = ("-v=2", "--leader-elect=true", "--leader-elect-lease-duration=3s",
         "--leader-elect-renew-deadline=2s", "--leader-elect-retry-period=500ms")


def lease(c):
    try:
        return c.get(LEASE)["spec"]
    except ApiError as e:
        if e.status == 404:
            return {}
        raise


def leads(p):
    return "Successfully acquired lease" in p.text()


def wait_leads(p):
    wait_for(lambda: leads(p), TIMEOUT, what=f"{p.name} leads")


def two(c):
    """A leader and a standby."""
    first = start(c, *QUICK, name="first")
    wait_leads(first)
    second = start(c, *QUICK, name="second")
    wait_for(lambda: "Attempting to acquire" in second.text(), TIMEOUT, what="second waits")
    wait_status(second, "/readyz", 200)
    return first, second


@test
def only_the_leader_schedules(c):
    add_nodes(c, make_node("n0"))
    first, second = two(c)
    for i in range(20):
        add_pods(c, make_pod(f"p{i}"))
        wait_bound(c, f"p{i}")
    contains(first.text(), "Scheduling started")
    check("Scheduling started" not in second.text(), "the second one schedules too")
    spec = lease(c)
    equal((spec["leaseDurationSeconds"], spec["leaseTransitions"]), (3, 0), "lease")


@test
def a_leader_that_ends_hands_over_at_once(c):
    add_nodes(c, make_node("n0"))
    first, second = two(c)
    holder = lease(c)["holderIdentity"]
    check(holder.startswith(os.uname().nodename + "_"), f"holder: {holder}")
    stop(first)
    wait_leads(second)
    contains(second.text(), "Successfully acquired lease")
    check(lease(c)["holderIdentity"] not in ("", holder), "the lease was not taken over")
    equal(lease(c)["leaseTransitions"], 1, "leaseTransitions")
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")


@test
def a_leader_that_ends_alone_gives_the_lease_back(c):
    first = start(c, *QUICK)
    wait_leads(first)
    stop(first)
    equal(lease(c)["holderIdentity"], "", "holder")


@test
def one_that_waits_ends_without_touching_the_lease(c):
    first, second = two(c)
    holder = lease(c)["holderIdentity"]
    stop(second)
    equal(lease(c)["holderIdentity"], holder, "holder")


@test
def a_leader_that_is_killed_is_replaced_after_its_lease(c):
    add_nodes(c, make_node("n0"))
    first, second = two(c)
    holder = lease(c)["holderIdentity"]
    began = time.monotonic()
    berth.kill(first)
    wait_leads(second)
    check(time.monotonic() - began > 1, "taken over while the lease was valid")
    check(lease(c)["holderIdentity"] != holder, "the lease was not taken over")
    add_pods(c, make_pod("p"))
    wait_bound(c, "p")


@test
def a_leader_that_cannot_renew_ends(c):
    first = start(c, *QUICK)
    wait_leads(first)
    c.pause_apiserver()
    equal(wait_exit(first), 1, "exit code")
    contains(first.text(), "Leaderelection lost")


@test
def health_of_a_leader_includes_its_lease(c):
    first = start(c, *QUICK)
    wait_leads(first)
    wait_status(first, "/readyz", 200)
    contains(ask(first, "/healthz?verbose")[2], "[+]leaderElection ok")


@test
def a_lease_of_another_name_and_namespace_can_be_used(c):
    c.create("/api/v1/namespaces", {"metadata": {"name": "elsewhere"}})
    # Granted by an administrator, since the scheduler's own role does not include it.
    c.kubectl("create", "role", "-n", "elsewhere", "leases", "--verb=*", "--resource=leases")
    c.kubectl("create", "rolebinding", "-n", "elsewhere", "leases", "--role=leases",
              "--user=system:kube-scheduler")
    p = start(c, *QUICK, "--leader-elect-resource-name=mine",
              "--leader-elect-resource-namespace=elsewhere")
    wait_leads(p)
    got = c.get("/apis/coordination.k8s.io/v1/namespaces/elsewhere/leases/mine")
    check(got["spec"]["holderIdentity"], "no holder")


@test
def a_lease_that_may_not_be_read_is_tried_again(c):
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    c.create(f"{rbac}/clusterroles", {"metadata": {"name": "watcher"}, "rules": [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["list", "watch"]}]})
    c.kubectl("create", "clusterrolebinding", "watcher", "--clusterrole=watcher",
              "--user=watcher")
    p = start(c, *QUICK, kubeconfig=c.kubeconfig("watcher", "watcher"))
    wait_for(lambda: p.text().count("is forbidden") >= 2, TIMEOUT, what="two errors")
    matches(p.text(), r'Error retrieving lease lock.*leases.*kube-scheduler.*is forbidden')
    check(p.running(), "it gave up")
    stop(p)


# ---- configuration -------------------------------------------------------------------------------

def write(c, name, text):
    path = os.path.join(c.dir, name)
    with open(path, "w") as f:
        f.write(text)
    return path


HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


@test
def a_configuration_file_says_it_all(c):
    path = write(c, "all.yaml", HEAD + f"""
clientConnection:
  kubeconfig: {c.scheduler_kubeconfig}
leaderElection:
  leaderElect: true
  leaseDuration: 3s
  renewDeadline: 2s
  retryPeriod: 500ms
podInitialBackoffSeconds: 1
podMaxBackoffSeconds: 5
profiles:
- schedulerName: default-scheduler
  percentageOfNodesToScore: 100
  plugins:
    multiPoint:
      disabled: [{{name: "*"}}]
      enabled: [{{name: PrioritySort}}, {{name: NodeUnschedulable}}, {{name: NodeName}},
                {{name: NodeResourcesFit}}, {{name: DefaultBinder}}]
""")
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    p = start(c, config=path)
    wait_bound(c, "p")
    equal(lease(c)["leaseDurationSeconds"], 3, "lease duration")
    stop(p)


@test
def flags_win_over_the_file(c):
    path = berth.scheduler_config(c, "flags", leaderElection={"leaderElect": True})
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"))
    p = start(c, "--leader-elect=false", config=path)
    wait_bound(c, "p")
    equal(lease(c), {}, "lease")
    stop(p)


@test
def json_on_the_wire_works_too(c):
    path = berth.scheduler_config(c, "json", clientConnection={
        "kubeconfig": c.scheduler_kubeconfig, "contentType": "application/json",
        "acceptContentTypes": "application/json"})
    p = start(c, config=path)
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("p"), make_pod("q", cpu="100"))
    wait_bound(c, "p")
    berth.wait_unschedulable(c, "q")
    berth.wait_events(c, "p", "Scheduled")
    stop(p)


class Tunnels(socketserver.BaseRequestHandler):
    """A proxy that resolves all names to this machine."""

    def handle(self):
        head = b""
        while b"\r\n\r\n" not in head:
            more = self.request.recv(4096)
            if not more:
                return
            head += more
        where = head.split()[1].decode()
        self.server.asked.append(where)
        with socket.create_connection(("127.0.0.1", int(where.rpartition(":")[2]))) as there:
            self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            other = threading.Thread(target=self.pump, args=(there, self.request), daemon=True)
            other.start()
            self.pump(self.request, there)
            other.join()

    @staticmethod
    def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)


@test
def the_environment_may_name_a_proxy(c):
    with open(c.scheduler_kubeconfig) as f:
        text = f.read().replace("127.0.0.1", "kubernetes.default.svc")
    path = write(c, "named.kubeconfig", text)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tunnels) as proxy:
        proxy.daemon_threads, proxy.asked = True, []
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        os.environ["HTTPS_PROXY"] = f"http://127.0.0.1:{proxy.server_address[1]}"
        try:
            p = start(c, kubeconfig=path)
        finally:
            del os.environ["HTTPS_PROXY"]
        wait_status(p, "/readyz", 200)
        equal(set(proxy.asked), {f"kubernetes.default.svc:{c.port}"}, "requested address")
        stop(p)
        proxy.shutdown()


@test
def qps_and_burst_hold_it_back(c):
    path = berth.scheduler_config(c, "slow", clientConnection={
        "kubeconfig": c.scheduler_kubeconfig, "qps": 10, "burst": 5})
    add_nodes(c, make_node("n0"))
    add_pods(c, *[make_pod(f"p{i}", cpu="10m") for i in range(45)])
    p = start(c, config=path)
    wait_for(lambda: c.bound("default") >= 1, TIMEOUT, what="the first pod")
    began = time.monotonic()
    wait_for(lambda: c.bound("default") >= 45, TIMEOUT, what="all pods")
    # 45 bindings at 10 a second with a burst of 5; upper bounds would depend on speed.
    check(time.monotonic() - began > 3, f"45 pods in {time.monotonic() - began:.1f} s")
    stop(p)


@test
def two_profiles_serve_two_names_and_leave_others_alone(c):
    profiles = [{"schedulerName": n} for n in ("default-scheduler", "b")]
    p = start(c, config=berth.scheduler_config(c, "two", profiles=profiles))
    add_nodes(c, make_node("n0"))
    add_pods(c, make_pod("x", scheduler_name="unknown"))
    add_pods(c, make_pod("a"), make_pod("b", scheduler_name="b"))
    wait_bound(c, "a"), wait_bound(c, "b")
    for name, controller in (("a", "default-scheduler"), ("b", "b")):
        equal(berth.wait_events(c, name, "Scheduled")[0]["reportingController"], controller, name)
    equal((node_of(c, "x"), berth.condition_of(c, "x"), berth.events_of(c, "x")), (None, None, []),
          "the pod of a scheduler that is not there")
    stop(p)


@test
def mistakes_in_the_configuration_are_told_with_file_line_and_field(c):
    client = f"clientConnection: {{kubeconfig: {c.scheduler_kubeconfig}}}\n"
    cases = {
        "unknown field": (HEAD + "leaderElection:\n  leaderElect: false\n  laeseDuration: 3s\n",
                          5, "leaderElection.laeseDuration"),
        "duplicate key": (HEAD + "parallelism: 1\nparallelism: 2\n", 4, "parallelism"),
        "wrong type": (HEAD + "profiles:\n- schedulerName: 3\n", 4, "profiles[0].schedulerName"),
        "wrong value": (HEAD + "parallelism: -1\n", None, "parallelism"),
        "wrong kind": ("apiVersion: v1\nkind: Pod\n", None, "KubeSchedulerConfiguration"),
        "no kind": ("parallelism: 3\n", None, "kind"),
        "not YAML": (HEAD + "profiles: [\n", None, ""),
        "empty": ("", None, ""),
        "unknown plugin": (HEAD + client + "profiles:\n- plugins:\n    filter:\n      enabled:\n"
                                  "      - name: Nonsense\n", None, "Nonsense"),
        "unknown argument": (HEAD + client + "profiles:\n- pluginConfig:\n"
                             "  - name: NodeResourcesFit\n    args: {scoringStrategi: {}}\n", None,
                             "scoringStrategi"),
        "renewal longer than lease": (HEAD + "leaderElection:\n  leaseDuration: 1s\n", None,
                                      "leaderElection.leaseDuration"),
    }
    for name, (text, line, field) in cases.items():
        path = write(c, name.replace(" ", "-") + ".yaml", text)
        done = berth.run("scheduler", "--config", path)
        equal(done.code, 1, f"{name}: exit code")
        equal(done.err.count("\n"), 1, f"{name}: lines in {done.err!r}")
        contains(done.err, os.path.basename(path), field)
        if line:
            check(f":{line}" in done.err or f"line {line}" in done.err,
                  f"{name}: no line {line} in {done.err!r}")


@test
def a_configuration_that_cannot_be_read_is_named(c):
    for path in ("/nonexistent/config.yaml", c.dir):
        done = berth.run("scheduler", "--config", path)
        equal(done.code, 1, "exit code")
        contains(done.err, path)


@test
def mistakes_on_the_command_line_exit_with_2(c):
    for args, text in ((["--no-such-flag"], "unknown flag: --no-such-flag"),
                       (["--leader-elect=perhaps"], "leader-elect"),
                       (["--leader-elect-lease-duration=3"], "leader-elect-lease-duration"),
                       (["--secure-port=x"], "secure-port"), (["--config"], "needs an argument"),
                       (["-x"], "unknown shorthand flag"), (["argument"], "argument")):
        done = berth.run("scheduler", *args)
        equal((done.code, done.err.count("\n")), (2, 1), f"{args}: exit code and lines")
        contains(done.err, text)
    equal(berth.run("no-such-command").code, 2, "exit code")
    equal(berth.run().code, 2, "exit code")


@test
def help_and_version_are_told_on_standard_output(c):
    for args in (["--help"], ["scheduler", "--help"], ["simulate", "-h"], ["--version"],
                 ["scheduler", "--version"]):
        done = berth.run(*args)
        equal((done.code, done.err), (0, ""), f"{args}: exit code and standard error")
        check(done.out, "no output")


@test
def it_explains_itself_when_asked(c):
    add_nodes(c, make_node("small", cpu="1", memory="1Gi"), make_node("big", cpu="4", memory="8Gi"))
    add_pods(c, make_pod("fits", cpu="2", memory="1Gi"), make_pod("never", cpu="9", memory="1Gi"))
    file = os.path.join(c.dir, "why.json")
    p = start(c, f"--explain-file={file}")
    wait_bound(c, "fits")
    wait_for(lambda: berth.condition_of(c, "never"), TIMEOUT, what="never has a condition")
    p.signal(signal.SIGUSR1)
    wait_for(lambda: os.path.exists(file), TIMEOUT, what="the file is there")
    with open(file, encoding="utf-8") as f:
        attempts = {a["pod"]: a for a in map(json.loads, f)}
    equal(attempts["fits"]["node"], "big", "where it went")
    equal({n["name"]: n.get("reasons") for n in attempts["fits"]["nodes"]},
          {"small": ["Insufficient cpu"], "big": None}, "what was said of each node")
    equal(attempts["never"]["outcome"], "unschedulable", "the other")
    equal(os.stat(file).st_mode & 0o777, 0o600, "mode of the file")
    stop(p)


@test
def it_ends_by_a_signal_whatever_it_is_doing(c):
    add_nodes(c, make_node("n0", cpu="1000", memory="1000Gi", pods=5000))
    add_pods(c, *[make_pod(f"p{i}", cpu="10m", memory="1Mi") for i in range(100)])
    p = start(c)
    wait_for(lambda: "Serving" in p.text(), TIMEOUT, what="it has started")
    stop(p)                         # before it knows anything
    p = start(c, *QUICK)
    wait_leads(p)
    stop(p)                         # under load
    c.pause_apiserver()
    p = start(c)
    wait_status(p, "/livez", 200)
    stop(p)                         # while the server does not answer


if __name__ == "__main__":
    main(fixture=Cluster, after=berth.reset)
