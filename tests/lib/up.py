# SPDX-License-Identifier: Apache-2.0
"""A cluster of `berth up`: for tests that need no etcd, in place of cluster.Cluster.

    from up import Up

    with Up("--nodes", "3") as c:
        c.create("/api/v1/namespaces/default/pods", make_pod("p"))
        wait_for(lambda: c.pod("p")["spec"].get("nodeName"), 10)
        print(c.kubectl("get", "pods"))

It has the methods of Cluster for requests, kubectl and further processes, and .up, the process. The
scheduler and the controllers run unless flags say otherwise.
"""

import atexit
import base64
import os
import re
import signal
import ssl
import tempfile
import time

import berth
from cluster import Cluster, ClusterError, programs, tail


class Up(Cluster):
    def __init__(self, *args, bin=None, env=None):
        super().__init__(bin=bin)
        self.args = [str(a) for a in args]
        self.env = env
        self.up = None

    def start(self, timeout=60):
        """Starts it. Returns when the API server is ready."""
        self.bin = self.bin or programs("kubectl")
        if self.dir is None:
            self.dir = tempfile.mkdtemp(prefix="berth-up-")
            atexit.register(self.stop)
        try:
            self._start_up(timeout)
            return self
        except BaseException:
            self.print_logs()
            self.stop()
            raise

    def _start_up(self, timeout):
        port = [] if "--port" in self.args else ["--port", "0"]
        kubeconfig = self._path("admin.kubeconfig")
        log = self._path("up.log")
        seen = os.path.getsize(log) if os.path.exists(log) else 0
        self.up = self.spawn("up", [*berth.command(), "up", "--kubeconfig", kubeconfig, *port,
                                    *self.args], env=self.env or berth.environment())
        end = time.monotonic() + timeout
        while True:
            found = re.search(r"^API server: (https?://\S+)$", self.up.text()[seen:], re.M)
            if found:
                break
            if not self.up.running():
                raise ClusterError(f"berth up ended with {self.up.popen.returncode}:\n{tail(log)}")
            if time.monotonic() > end:
                raise ClusterError(f"berth up is not ready after {timeout} s")
            time.sleep(0.01)
        self.url = found[1]
        self.port = int(self.url.rpartition(":")[2])
        self.admin_kubeconfig = kubeconfig
        self._read_identity()
        self.apiserver = self.up

    def _read_identity(self):
        with open(self.admin_kubeconfig) as f:
            text = f.read()
        for name, key in (("ca.crt", "certificate-authority-data"),
                          ("admin.crt", "client-certificate-data"),
                          ("admin.key", "client-key-data")):
            found = re.search(rf"{key}: *\"?([A-Za-z0-9+/=]+)", text)
            with open(self._path(name), "wb") as f:
                f.write(base64.b64decode(found[1]))
        self._tls = ssl.create_default_context(cafile=self._path("ca.crt"))
        self._tls.load_cert_chain(self._path("admin.crt"), self._path("admin.key"))
        # The data directory has the scheduler's; by default both are in a temporary one.
        shown = re.search(r"--data-dir[ =](\S+)", " ".join(self.args))
        self.scheduler_kubeconfig = (os.path.join(shown[1], "scheduler.kubeconfig") if shown
                                     else self.admin_kubeconfig)

    def restart(self, sig=signal.SIGTERM, timeout=60):
        """Ends it with a signal and starts it again with the same flags. Returns its exit code."""
        self.up.signal(sig)
        code = self.up.popen.wait(timeout)
        self._end_processes()
        self._start_up(timeout)
        return code
