#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A real Kubernetes control plane (etcd and kube-apiserver, no kubelets) on loopback, for tests.

In a test:

    from cluster import Cluster, make_node, make_pod, wait_for

    with Cluster() as c:
        c.create_many("/api/v1/nodes", [make_node(f"n{i}", cpu="8") for i in range(100)])
        c.create("/api/v1/namespaces/default/pods", make_pod("p"))
        c.start_scheduler()                           # kube-scheduler; or c.spawn("berth", [...])
        wait_for(lambda: c.pod("p")["spec"].get("nodeName"), 10)
        print(c.kubectl("get", "pods", "-o", "wide"))

On the command line:

    cluster.py run                  start one, print the paths of its kubeconfigs, wait for ^C
    cluster.py run --nodes 50 --scheduler
    cluster.py run -- CMD ARG...    run CMD with KUBECONFIG set and kubectl on PATH; its exit code

Everything is in one temporary directory: certificates, kubeconfigs, etcd's data, one log per
process. It is removed with the cluster; BERTH_KEEP=1 keeps it. Processes end with this one, even if
this one is killed, and only processes started here are ever signalled. Any number of clusters may
run side by side.

Needs python3, openssl, setpriv (util-linux) and the programs that tests/kube/build.sh builds.
"""

import argparse
import atexit
import base64
import collections
import http.client
import json
import os
import queue
import random
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))

# Below the kernel's range for outgoing connections: a port stays free between a stop and a restart.
PORTS = range(18000, 32000)

NEW_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")

PODS = "/api/v1/namespaces/{}/pods"
NODES = "/api/v1/nodes"


class ClusterError(Exception):
    """An operation on the cluster failed."""


class ApiError(Exception):
    """The API server answered with an error: .status is the HTTP code, .body the Status it sent."""

    def __init__(self, method, path, status, text):
        self.status = status
        try:
            self.body = json.loads(text)
        except ValueError:
            self.body = {"message": text.decode("utf-8", "replace").strip()}
        self.reason = self.body.get("reason", "")
        super().__init__(f"{method} {path}: {status} {self.reason}: {self.body.get('message', '')}")


# ---- small helpers -------------------------------------------------------------------------------

def free_port():
    """A loopback port without a listener."""
    for _ in range(1000):
        port = random.SystemRandom().choice(PORTS)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise ClusterError("no free port")


def wait_for(predicate, timeout, interval=0.05, what=None):
    """Calls predicate until it returns something true, and returns that. Raises TimeoutError when
    late.

    A slow predicate is called less often, so that waiting costs less than half a core.
    """
    end = time.monotonic() + timeout
    while True:
        began = time.monotonic()
        got = predicate()
        if got:
            return got
        now = time.monotonic()
        if now >= end:
            name = what or getattr(predicate, "__name__", "condition")
            raise TimeoutError(f"{name}: still not so after {timeout} s")
        time.sleep(max(interval, 2 * (now - began)))


def tail(path, lines=30):
    try:
        with open(path, errors="replace") as f:
            return "".join(collections.deque(f, lines))
    except OSError as e:
        return f"({e})\n"


def programs(*names):
    """The folder with etcd, kube-apiserver, kubectl and kube-scheduler; builds these if needed."""
    script = os.path.join(HERE, "..", "kube", "build.sh")
    built = subprocess.run([script, *names], stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        raise ClusterError("tests/kube/build.sh failed")
    return built.stdout.strip()


# ---- objects -------------------------------------------------------------------------------------

def make_node(name, cpu="8", memory="32Gi", pods=110, labels=None, taints=None, zone=None,
              extended=None, ready=True, unschedulable=False, annotations=None, images=None,
              storage="100Gi"):
    """A Node with the capacity and allocatable of a kubelet's. `extended` adds further
    resources."""
    resources = {"cpu": str(cpu), "memory": str(memory), "pods": str(pods),
                 "ephemeral-storage": str(storage)}
    resources.update({k: str(v) for k, v in (extended or {}).items()})
    all_labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
                  "kubernetes.io/arch": "amd64"}
    if zone:
        all_labels["topology.kubernetes.io/zone"] = zone
    all_labels.update(labels or {})
    node = {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": all_labels},
        "spec": {},
        "status": {
            "capacity": resources, "allocatable": dict(resources),
            "conditions": [{"type": "Ready", "status": "True" if ready else "False",
                            "reason": "KubeletReady" if ready else "KubeletNotReady"}],
        },
    }
    if annotations:
        node["metadata"]["annotations"] = annotations
    if taints:
        node["spec"]["taints"] = taints
    if unschedulable:
        node["spec"]["unschedulable"] = True
    if images:
        node["status"]["images"] = images
    return node


def make_pod(name, ns="default", cpu="100m", memory="100Mi", labels=None, annotations=None,
             node_name=None, node_selector=None, affinity=None, tolerations=None, spread=None,
             priority_class=None, scheduler_name=None, image="registry.test/pause:3.10", ports=None,
             gates=None, extended=None, spec=None):
    """A Pod with one container. cpu or memory None leaves that request out; `spec` overrides
    fields."""
    requests = {}
    if cpu is not None:
        requests["cpu"] = str(cpu)
    if memory is not None:
        requests["memory"] = str(memory)
    container = {"name": "main", "image": image, "resources": {"requests": requests}}
    if extended:
        container["resources"]["requests"].update({k: str(v) for k, v in extended.items()})
        container["resources"]["limits"] = {k: str(v) for k, v in extended.items()}
    if ports:
        container["ports"] = [p if isinstance(p, dict) else {"containerPort": p, "hostPort": p}
                              for p in ports]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": ns},
           "spec": {"containers": [container]}}
    for where, key, value in (
            ("metadata", "labels", labels), ("metadata", "annotations", annotations),
            ("spec", "nodeName", node_name), ("spec", "nodeSelector", node_selector),
            ("spec", "affinity", affinity), ("spec", "tolerations", tolerations),
            ("spec", "topologySpreadConstraints", spread),
            ("spec", "priorityClassName", priority_class),
            ("spec", "schedulerName", scheduler_name),
            ("spec", "schedulingGates", [{"name": g} for g in gates] if gates else None)):
        if value is not None:
            pod[where][key] = value
    pod["spec"].update(spec or {})
    return pod


# ---- processes -----------------------------------------------------------------------------------

class Process:
    """A child process with a log file. It is killed by the kernel when this process dies."""

    def __init__(self, name, argv, log, env=None, cwd=None):
        self.name, self.log = name, log
        # The kernel ties the death signal to the *thread* that forks, so a thread that may end
        # earlier must not request it.
        guard = ["setpriv", "--pdeathsig", "KILL", "--"] if _on_main_thread() else []
        with open(log, "ab") as out:
            self.popen = subprocess.Popen(
                guard + [str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.STDOUT, env=env, cwd=cwd, start_new_session=True)
        self.pid = self.popen.pid

    def running(self):
        return self.popen.poll() is None

    def signal(self, sig):
        if self.running():
            self.popen.send_signal(sig)

    def kill(self):
        """Kills the process and waits until it has ended."""
        self.signal(signal.SIGKILL)
        return self.popen.wait()

    def terminate(self, timeout=10):
        """Sends SIGTERM; kills the process after `timeout` seconds. Returns the exit code."""
        self.signal(signal.SIGTERM)
        try:
            return self.popen.wait(timeout)
        except subprocess.TimeoutExpired:
            return self.kill()

    def cpu_seconds(self):
        """User and system time used so far."""
        with open(f"/proc/{self.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_bytes(self):
        with open(f"/proc/{self.pid}/statm") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def text(self):
        with open(self.log, errors="replace") as f:
            return f.read()


# ---- the cluster ---------------------------------------------------------------------------------

class Cluster:
    """See the top of this file.

    After start() there are .dir, .url, .port, .bin, .admin_kubeconfig and .scheduler_kubeconfig.
    """

    def __init__(self, apiserver_args=(), etcd_args=(), feature_gates=None, runtime_config=None,
                 keep=None, bin=None):
        """feature_gates and runtime_config: {"scheduling.k8s.io/v1alpha2": True}; *_args: flags."""
        self.apiserver_args = list(apiserver_args)
        self.etcd_args = list(etcd_args)
        if feature_gates:
            self.apiserver_args.append("--feature-gates=" + _switches(feature_gates))
        if runtime_config:
            self.apiserver_args.append("--runtime-config=" + _switches(runtime_config))
        self.keep = bool(os.environ.get("BERTH_KEEP")) if keep is None else keep
        self.bin = bin
        self.dir = None
        self.etcd = self.apiserver = None
        self.children = []
        self._local = threading.local()
        self._connections = []

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None and issubclass(kind, Exception):
            self.print_logs()
        self.stop()

    # -- start and stop --

    def start(self, timeout=60):
        """Starts etcd and the API server. Returns when the API server is ready."""
        self.bin = self.bin or programs()
        _end_on_sigterm()
        self.dir = tempfile.mkdtemp(prefix="berth-cluster-")
        atexit.register(self.stop)
        try:
            for attempt in range(3):
                try:
                    self._start_etcd()
                    self._make_identities()
                    self.port = free_port()
                    self.url = f"https://127.0.0.1:{self.port}"
                    self._write_kubeconfigs()
                    self.start_apiserver(timeout)
                    return self
                except _PortTaken:
                    if attempt == 2:
                        raise
                    self._end_processes()
                    shutil.rmtree(self._path("etcd"), ignore_errors=True)
        except BaseException:
            self.print_logs()
            self.stop()
            raise

    def stop(self):
        """Ends every process and removes the directory. May be called twice."""
        atexit.unregister(self.stop)
        self._end_processes()
        if self.dir:
            if self.keep:
                print(f"cluster: kept {self.dir}", file=sys.stderr)
            else:
                shutil.rmtree(self.dir, ignore_errors=True)
            self.dir = None

    def _end_processes(self):
        for p in reversed(self.children):
            p.kill()
        self.children.clear()
        for c in self._connections:
            c.close()
        self._connections.clear()
        self._local = threading.local()

    def spawn(self, name, argv, env=None):
        """Starts a process that ends with the cluster. Its log is NAME.log in the directory."""
        p = Process(name, argv, self._path(name + ".log"), env=env, cwd=self.dir)
        self.children.append(p)
        return p

    def start_scheduler(self, *args, name="kube-scheduler", config=None, qps=None):
        """Starts the real kube-scheduler as system:kube-scheduler, without leader election.

        config is a KubeSchedulerConfiguration (dict) or None; qps raises the client's default limit
        of 50 requests a second; args are further flags. Returns the Process, whose .port serves
        metrics and health over TLS.
        """
        port = free_port()
        argv = [os.path.join(self.bin, "kube-scheduler"),
                f"--secure-port={port}", "--bind-address=127.0.0.1",
                f"--authentication-kubeconfig={self.scheduler_kubeconfig}",
                f"--authorization-kubeconfig={self.scheduler_kubeconfig}"]
        if config is None and qps is None:
            argv += [f"--kubeconfig={self.scheduler_kubeconfig}", "--leader-elect=false"]
        else:
            config = {"apiVersion": "kubescheduler.config.k8s.io/v1",
                      "kind": "KubeSchedulerConfiguration",
                      "leaderElection": {"leaderElect": False},
                      "clientConnection": {"kubeconfig": self.scheduler_kubeconfig},
                      **(config or {})}
            if qps is not None:
                client = {**config["clientConnection"], "qps": qps, "burst": qps}
                config["clientConnection"] = client
            path = self._path(name + ".config.json")
            with open(path, "w") as f:
                json.dump(config, f)
            argv += [f"--config={path}"]
        p = self.spawn(name, argv + list(args))
        p.port = port
        return p

    def print_logs(self, lines=30):
        for p in self.children:
            state = "running" if p.running() else f"ended with {p.popen.returncode}"
            print(f"---- {p.name} ({state}), end of its log ----\n{tail(p.log, lines)}", end="",
                  file=sys.stderr)

    # -- etcd and the API server --

    def _path(self, *parts):
        return os.path.join(self.dir, *parts)

    def _start_etcd(self):
        client, peer = (f"http://127.0.0.1:{free_port()}" for _ in range(2))
        self.etcd_url = client
        self.etcd = self.spawn("etcd", [
            os.path.join(self.bin, "etcd"), "--name=test", f"--data-dir={self._path('etcd')}",
            f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=test={peer}",
            "--unsafe-no-fsync", "--log-level=warn", "--quota-backend-bytes=8589934592",
            *self.etcd_args])

    def start_apiserver(self, timeout=60):
        """Starts the API server (again): same port, same data. Returns when it is ready."""
        if self.apiserver and self.apiserver.running():
            raise ClusterError("the API server is running already")
        log = self._path("kube-apiserver.log")
        seen = os.path.getsize(log) if os.path.exists(log) else 0
        if self.apiserver in self.children:
            self.children.remove(self.apiserver)
        self.apiserver = self.spawn("kube-apiserver", [
            os.path.join(self.bin, "kube-apiserver"),
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--tls-cert-file={self._path('serving.crt')}",
            f"--tls-private-key-file={self._path('serving.key')}",
            f"--client-ca-file={self._path('ca.crt')}",
            # Published to servers behind the aggregator, such as a scheduler.
            f"--requestheader-client-ca-file={self._path('ca.crt')}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--authorization-mode=Node,RBAC",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._path('sa.pub')}",
            f"--service-account-signing-key-file={self._path('sa.key')}",
            "--service-cluster-ip-range=10.96.0.0/16",
            # Without these flags nodes without a kubelet would be tainted not-ready, and pods would
            # be rejected because no controller manager creates service accounts.
            "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount",
            # Nothing serves at the address of the service "kubernetes".
            "--endpoint-reconciler-type=none",
            "--allow-privileged=true",
            *self.apiserver_args])
        end = time.monotonic() + timeout
        while not self._ready():
            for p in (self.etcd, self.apiserver):
                if not p.running():
                    text = tail(p.log, 50) if p is self.etcd else self.apiserver.text()[seen:]
                    if "address already in use" in text:
                        raise _PortTaken(f"{p.name}: another process took its port")
                    raise ClusterError(f"{p.name} ended with exit code {p.popen.returncode}")
            if time.monotonic() > end:
                raise ClusterError(f"the API server is not ready after {timeout} s")
            time.sleep(0.05)

    def _ready(self):
        try:
            self.request("GET", "/readyz")
            self.request("GET", "/api/v1/namespaces/default")
            return True
        except (ApiError, OSError, http.client.HTTPException):
            return False

    def kill_apiserver(self):
        """Sends SIGKILL: connections break without notice."""
        self.apiserver.kill()

    def pause_apiserver(self):
        """Stops it with SIGSTOP: connections stay open and get no answer. See resume_apiserver."""
        self.apiserver.signal(signal.SIGSTOP)

    def resume_apiserver(self):
        self.apiserver.signal(signal.SIGCONT)

    # -- identities --

    def _openssl(self, *args, input=None):
        done = subprocess.run(["openssl", *args], input=input, text=True, cwd=self.dir,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if done.returncode != 0:
            raise ClusterError(f"openssl {' '.join(args)}: {done.stderr.strip()}")
        return done.stdout

    def _make_identities(self):
        if os.path.exists(self._path("ca.crt")):
            return
        self._openssl("req", "-x509", *NEW_KEY, "-subj", "/CN=berth-test-ca", "-days", "3650",
                      "-keyout", "ca.key", "-out", "ca.crt",
                      "-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self._issue("serving", "/CN=kube-apiserver", "serverAuth",
                    "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes,DNS:kubernetes.default,"
                    "DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local")
        self._openssl("genrsa", "-out", "sa.key", "2048")
        self._openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")

    def _issue(self, name, subject, usage, alt=None):
        """A key NAME.key and a certificate NAME.crt, signed by the cluster's CA."""
        extensions = ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature",
                      f"extendedKeyUsage={usage}"]
        if alt:
            extensions.append(f"subjectAltName={alt}")
        with open(self._path(name + ".ext"), "w") as f:
            f.write("\n".join(extensions) + "\n")
        request = self._openssl("req", "-new", *NEW_KEY, "-subj", subject, "-keyout", name + ".key")
        self._openssl("x509", "-req", "-CA", "ca.crt", "-CAkey", "ca.key", "-days", "3650",
                      "-set_serial", str(random.SystemRandom().getrandbits(63)),
                      "-extfile", name + ".ext", "-out", name + ".crt", input=request)

    def kubeconfig(self, name, user, groups=()):
        """Writes NAME.kubeconfig for a user, with its own client certificate. Returns its path."""
        if not os.path.exists(self._path(name + ".crt")):
            self._issue(name, "".join(f"/O={g}" for g in groups) + f"/CN={user}", "clientAuth")

        def data(file):
            with open(self._path(file), "rb") as f:
                return base64.b64encode(f.read()).decode()

        path = self._path(name + ".kubeconfig")
        with open(path, "w") as f:
            f.write(f"""apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context:
    cluster: test
    user: "{user}"
clusters:
- name: test
  cluster:
    server: {self.url}
    certificate-authority-data: {data("ca.crt")}
users:
- name: "{user}"
  user:
    client-certificate-data: {data(name + ".crt")}
    client-key-data: {data(name + ".key")}
""")
        return path

    def _write_kubeconfigs(self):
        self.admin_kubeconfig = self.kubeconfig("admin", "admin", ["system:masters"])
        self.scheduler_kubeconfig = self.kubeconfig("scheduler", "system:kube-scheduler")
        self._tls = ssl.create_default_context(cafile=self._path("ca.crt"))
        self._tls.load_cert_chain(self._path("admin.crt"), self._path("admin.key"))

    # -- requests --

    def environment(self):
        """The environment for programs that use the cluster as its admin."""
        env = dict(os.environ, KUBECONFIG=self.admin_kubeconfig, KUBERC="off",
                   KUBECACHEDIR=self._path("kubectl-cache"),
                   SCHEDULER_KUBECONFIG=self.scheduler_kubeconfig)
        env["PATH"] = self.bin + os.pathsep + env.get("PATH", "")
        return env

    def kubectl(self, *args, input=None, check=True):
        """Runs kubectl as admin. Returns its output. input: text, or an object sent as JSON."""
        if input is not None and not isinstance(input, str):
            input = json.dumps(input)
        args = [str(a) for a in args]
        done = subprocess.run([os.path.join(self.bin, "kubectl"), *args], input=input, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=self.environment())
        if check and done.returncode != 0:
            raise ClusterError(f"kubectl {' '.join(args)}: {done.stderr.strip()}"
                               f" (exit code {done.returncode})")
        return done.stdout

    def request(self, method, path, body=None, content_type=None, accept="application/json"):
        """One request as admin on this thread's connection. Returns the bytes of the answer.

        Raises ApiError from status 400 on.
        """
        if body is not None and not isinstance(body, (bytes, bytearray)):
            body = json.dumps(body, separators=(",", ":")).encode()
        headers = {"Accept": accept}
        if body is not None:
            headers["Content-Type"] = content_type or (
                "application/merge-patch+json" if method == "PATCH" else "application/json")
        fresh = False
        while True:
            conn = getattr(self._local, "conn", None)
            if conn is None:
                fresh = True
                conn = http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls,
                                                   timeout=60)
                self._local.conn = conn
                self._connections.append(conn)
            try:
                conn.request(method, path, body, headers)
                answer = conn.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                conn.close()
                self._connections.remove(conn)
                self._local.conn = None
                # The server may have closed a kept connection. On a new connection the failure is
                # real, and it is unknown whether a write was done.
                if fresh or method not in ("GET", "PUT", "DELETE"):
                    raise
        if answer.status >= 400:
            raise ApiError(method, path, answer.status, text)
        return text

    def api(self, method, path, body=None, content_type=None):
        """One request as admin. Returns the answer decoded from JSON (None if empty)."""
        text = self.request(method, path, body, content_type)
        return json.loads(text) if text else None

    def get(self, path):
        return self.api("GET", path)

    def create(self, path, body):
        return self.api("POST", path, body)

    def delete(self, path):
        return self.api("DELETE", path)

    def patch(self, path, body, content_type=None):
        """Sends a merge patch unless another content type is given."""
        return self.api("PATCH", path, body, content_type)

    def create_many(self, path, bodies, threads=8):
        """POSTs every body to path, from several threads at once. Raises the first error."""
        work = queue.SimpleQueue()
        for b in bodies:
            work.put(b)
        errors = []

        def worker():
            try:
                while not errors:
                    self.request("POST", path, work.get_nowait())
            except queue.Empty:
                pass
            except Exception as e:
                errors.append(e)
            finally:
                conn = getattr(self._local, "conn", None)
                if conn:
                    conn.close()
                    self._connections.remove(conn)

        crew = [threading.Thread(target=worker) for _ in range(min(threads, max(1, work.qsize())))]
        for t in crew:
            t.start()
        for t in crew:
            t.join()
        if errors:
            raise errors[0]

    def nodes(self):
        return self.get(NODES)["items"]

    def pods(self, ns=None, selector=""):
        """All pods of a namespace, or of all namespaces; selector is a query
        (fieldSelector=...)."""
        path = PODS.format(ns) if ns else "/api/v1/pods"
        return self.get(path + ("?" + selector if selector else ""))["items"]

    def pod(self, name, ns="default"):
        return self.get(f"{PODS.format(ns)}/{name}")

    def bound(self, ns=None):
        """The number of pods that have a node. The list is counted, not decoded: cheap enough to
        poll."""
        path = PODS.format(ns) if ns else "/api/v1/pods"
        text = self.request("GET", path + "?fieldSelector=spec.nodeName!=&resourceVersion=0",
                            accept="application/json;as=PartialObjectMetadataList;"
                                   "g=meta.k8s.io;v=v1,application/json")
        return text.count(b'"resourceVersion":') - 1  # one of them is the list's own


class _PortTaken(ClusterError):
    pass


def _switches(values):
    return ",".join(f"{k}={str(v).lower()}" for k, v in values.items())


def _on_main_thread():
    return threading.current_thread() is threading.main_thread()


def _end_on_sigterm():
    """Lets SIGTERM unwind the stack, which stops clusters, unless the program handles it itself."""
    if _on_main_thread() and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


# ---- command line --------------------------------------------------------------------------------

def main():
    argv, command = sys.argv[1:], []
    if "--" in argv:
        at = argv.index("--")
        argv, command = argv[:at], argv[at + 1:]
    parser = argparse.ArgumentParser(
        description="Start etcd and kube-apiserver on loopback for trying things out.",
        usage="%(prog)s run [options] [-- CMD ARG...]")
    parser.add_argument("what", choices=["run"])
    parser.add_argument("--nodes", type=int, default=0, metavar="N",
                        help="create N nodes of 8 CPUs and 32 GiB")
    parser.add_argument("--scheduler", action="store_true", help="also run the real kube-scheduler")
    parser.add_argument("--apiserver-arg", action="append", default=[], metavar="FLAG",
                        help="further flag for the API server, repeatable")
    parser.add_argument("--keep", action="store_true", default=None,
                        help="keep the directory with the logs")
    args = parser.parse_args(argv)

    began = time.monotonic()
    cluster = Cluster(apiserver_args=args.apiserver_arg, keep=args.keep)
    cluster.start()
    try:
        cluster.create_many(NODES, [make_node(f"node-{i:04}", zone=f"zone-{i % 3}")
                                    for i in range(args.nodes)])
        if args.scheduler:
            cluster.start_scheduler()
        if command:
            child = subprocess.Popen(command, env=cluster.environment())
            while True:
                try:
                    return child.wait()
                except KeyboardInterrupt:
                    continue  # the terminal has sent it to the command as well
                except SystemExit:
                    child.terminate()
                    raise
        print(f"ready in {time.monotonic() - began:.1f} s\n"
              f"  server                 {cluster.url}\n"
              f"  directory (logs)       {cluster.dir}\n"
              f"  as admin               export KUBECONFIG={cluster.admin_kubeconfig}\n"
              f"  as the scheduler       {cluster.scheduler_kubeconfig}\n"
              f"  kubectl                {cluster.bin}/kubectl\n"
              f"^C ends it.", flush=True)
        while cluster.apiserver.running() and cluster.etcd.running():
            time.sleep(0.5)
        cluster.print_logs()
        return 1
    except KeyboardInterrupt:
        return 0
    finally:
        cluster.stop()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ClusterError as e:
        sys.exit(f"cluster: {e}")
