#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs upstream's tests of kubectl against `berth up`, group by group.

    groups.py                       all groups; a table at the end
    groups.py pod kubectl_get       these groups
    groups.py --list                the names of the groups
    groups.py --kube                against a real kube-apiserver and etcd (no controllers), to see
                                    which groups depend on what is missing there
    groups.py --logs DIR            keep the output of every group in DIR

The tests are shell scripts of the Go module k8s.io/kubernetes (test/cmd), which are read where Go
keeps the module; nothing of them is part of berth. A group is a function run_NAME_tests. Each gets
a new cluster without nodes but 127.0.0.1, as upstream's own driver makes it: a token of an
administrator, no scheduler, and the same admission plugins switched off.

Ends with "N passed, N failed". Exit code 0 if the groups that failed are those that
tests/kubectl/expected.txt lists with a reason.
"""

import argparse
import base64
import concurrent.futures
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))

import cluster  # noqa: E402

VERSION = "v1.36.3"
# Folders of the module that the scripts read, relative to their working directory.
FOLDERS = ("api", "build", "cluster", "hack", "staging", "test", "third_party")
# Admission that upstream's driver switches off.
WITHOUT = ("ServiceAccount", "DefaultStorageClass", "DefaultTolerationSeconds",
           "StorageObjectInUseProtection")
GROUP_TIMEOUT = 300

# What upstream's driver does before it runs the groups; WHAT selects one.
DRIVER = r"""
set -o errexit -o nounset -o pipefail
cd "$TREE"
export THIS_PLATFORM_BIN="$PROGRAMS" KUBE_OUTPUT="$TREE/_output"
source hack/lib/util.sh
source hack/lib/logging.sh
source hack/lib/test.sh
source test/cmd/legacy-script.sh
run_secrets_test_tests() { run_secrets_test; }
run_kubectl_diff_same_names_tests() { run_kubectl_diff_same_names; }
kube::util::ensure-temp-dir
kube::util::ensure-gnu-sed
export HOME="$KUBE_TEMP" CONTEXT=test
kubectl config set-credentials test-admin --token admin-token
kubectl config set-cluster local --insecure-skip-tls-verify --server "https://127.0.0.1:$SECURE_API_PORT"
kubectl config set-context "$CONTEXT" --user test-admin --cluster local
kubectl config use-context "$CONTEXT"
kubectl get node 127.0.0.1 >/dev/null 2>&1 || kubectl create -f - <<EOF
{"kind": "Node", "apiVersion": "v1",
 "metadata": {"name": "127.0.0.1", "annotations": {"save-managers": "true"}},
 "status": {"capacity": {"memory": "1Gi"}}}
EOF
export SUPPORTED_RESOURCES=("*")
create_and_use_new_namespace
runTests
"""


def module():
    """The folder in which Go keeps k8s.io/kubernetes."""
    env = os.environ | {"GOWORK": "off", "GOFLAGS": "-mod=mod"}
    found = subprocess.run(["go", "mod", "download", "-json", f"k8s.io/kubernetes@{VERSION}"],
                           stdout=subprocess.PIPE, text=True, env=env, cwd=tempfile.gettempdir())
    place = re.search(r'"Dir": "([^"]*)"', found.stdout)
    if not place:
        sys.exit("groups.py: the Go module k8s.io/kubernetes is missing and could not be fetched")
    return place[1]


def groups(source):
    """Their names, in upstream's order."""
    with open(os.path.join(source, "test", "cmd", "legacy-script.sh")) as f:
        names = re.findall(r"^\s*record_command run_(\w+)", f.read(), re.M)
    return [n[:-len("_tests")] if n.endswith("_tests") else n for n in names]


def expected():
    """Groups that fail, with the reason: "NAME REASON" per line."""
    path = os.path.join(HERE, "expected.txt")
    with open(path) as f:
        rows = [line.split(None, 1) for line in f if line.strip() and line[0] != "#"]
    return {name: reason.strip() for name, reason in rows}


class Berth:
    """`berth up` with the switches of upstream's driver."""

    def __init__(self, berth, folder):
        self.port = cluster.free_port()
        tokens = os.path.join(folder, "tokens.csv")
        with open(tokens, "w") as f:
            f.write('admin-token,admin,,"system:masters"\n')
        self.log = open(os.path.join(folder, "up.log"), "w")
        self.process = subprocess.Popen(
            [berth, "up", "--nodes", "0", "--without-scheduler", "--port", str(self.port),
             "--kubeconfig", os.path.join(folder, "kubeconfig"), "--token-auth-file", tokens,
             "--authorization-mode", "RBAC,AlwaysAllow", "--disable-admission-plugins",
             ",".join(WITHOUT)],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        kubeconfig = os.path.join(folder, "kubeconfig")
        cluster.wait_for(lambda: os.path.exists(kubeconfig), 30, what="berth up")
        # Some groups read the server's certificate where kube-apiserver leaves it.
        with open(kubeconfig) as f, open(os.path.join(folder, "apiserver.crt"), "wb") as to:
            ca = re.search(r"certificate-authority-data: *\"?([A-Za-z0-9+/=]+)", f.read())
            to.write(base64.b64decode(ca[1]) if ca else b"")

    def end(self):
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(10)
        self.process.kill()
        self.log.close()


class Kube:
    """A real API server with the same switches, one for all groups."""

    def __init__(self, stack, folder):
        tokens = os.path.join(folder, "tokens.csv")
        with open(tokens, "w") as f:
            f.write('admin-token,admin,,"system:masters"\n')
        self.cluster = stack.enter_context(cluster.Cluster(apiserver_args=(
            f"--token-auth-file={tokens}", "--disable-admission-plugins=" + ",".join(WITHOUT))))
        self.port = self.cluster.port

    def end(self):
        pass


def tree_of(source, folder):
    """A folder with the module's folders in it in which scripts may also write."""
    os.mkdir(folder)
    for name in FOLDERS:
        with contextlib.suppress(FileNotFoundError):
            os.symlink(os.path.join(source, name), os.path.join(folder, name))
    return folder


def run_group(name, source, programs, server, folder):
    """(passed, assertions, seconds, output)"""
    began = time.monotonic()
    env = os.environ | {
        "TREE": tree_of(source, os.path.join(folder, "tree")), "PROGRAMS": programs,
        "SECURE_API_PORT": str(server.port), "WHAT": name, "LANG": "C",
        "KUBE_JUNIT_REPORT_DIR": os.path.join(folder, "junit"), "KUBE_VERBOSE": "1",
        "PATH": programs + os.pathsep + os.environ["PATH"], "TMPDIR": folder,
    }
    os.mkdir(env["KUBE_JUNIT_REPORT_DIR"])
    env.pop("KUBECONFIG", None)
    try:
        done = subprocess.run(["bash", "-c", DRIVER], env=env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=GROUP_TIMEOUT, start_new_session=True)
        code, output = done.returncode, done.stdout
    except subprocess.TimeoutExpired as e:
        code, output = -1, (e.stdout or b"").decode(errors="replace") + "\ntime is up\n"
    assertions = len(re.findall(r"Successful", output))
    return code == 0, assertions, time.monotonic() - began, output


def one(name, options, source, programs, kube):
    folder = tempfile.mkdtemp(prefix="berth-kubectl-")
    server = None
    try:
        server = kube or Berth(options.berth, folder)
        result = run_group(name, source, programs, server, folder)
    except (OSError, TimeoutError) as e:
        result = (False, 0, 0.0, f"{e}\n")
    finally:
        if server:
            server.end()
        if options.logs:
            with contextlib.suppress(OSError):
                shutil.copy(os.path.join(folder, "up.log"), os.path.join(options.logs, name + ".up"))
        shutil.rmtree(folder, ignore_errors=True)
    if options.logs:
        with open(os.path.join(options.logs, name + ".log"), "w") as f:
            f.write(result[3])
    return result


def last_words(output):
    """The line that tells why a group failed, as well as one can tell."""
    lines = [line for line in re.sub(r"\x1b\S*?m|\x1b\(B", "", output).splitlines() if line.strip()]
    ends = [i for i, line in enumerate(lines) if "exit code: 1" in line]
    if not ends:
        return lines[-1][:200] if lines else "no output"
    return " | ".join(line.strip()[:100] for line in lines[max(0, ends[-1] - 4):ends[-1]])


def report(name, result, known):
    passed, assertions, seconds, output = result
    verdict = "ok" if passed else "not ok"
    why = "" if passed else "  " + known.get(name, last_words(output))
    print(f"{verdict:7} {name:45} {assertions:4} assertions {seconds:6.1f} s{why}", flush=True)


def main():
    p = argparse.ArgumentParser(description="Run upstream's tests of kubectl against berth up.")
    p.add_argument("groups", nargs="*")
    p.add_argument("--berth", default=os.path.join(ROOT, "build", "berth"))
    p.add_argument("--kube", action="store_true", help="against a real kube-apiserver")
    p.add_argument("--list", action="store_true", help="print the names of the groups")
    p.add_argument("--logs", help="a folder for the output of every group")
    p.add_argument("--jobs", type=int, default=1, help="groups at a time")
    options = p.parse_args()
    source = module()
    names = groups(source)
    if options.list:
        print("\n".join(names))
        return 0
    wrong = [n for n in options.groups if n not in names]
    if wrong:
        sys.exit(f"groups.py: no such group: {wrong[0]} (--list prints them)")
    if options.logs:
        os.makedirs(options.logs, exist_ok=True)
    programs = cluster.programs()
    known = {} if options.kube else expected()
    failed = []
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="berth-kubectl-"))
        kube = Kube(stack, folder) if options.kube else None
        pool = stack.enter_context(concurrent.futures.ThreadPoolExecutor(options.jobs))
        wanted = options.groups or names
        runs = [(n, pool.submit(one, n, options, source, programs, kube)) for n in wanted]
        for name, run in runs:
            result = run.result()
            report(name, result, known)
            if not result[0]:
                failed.append(name)
    print(f"{len(wanted) - len(failed)} passed, {len(failed)} failed")
    surprises = [n for n in failed if n not in known]
    fixed = [n for n in known if n in wanted and n not in failed]
    for n in fixed:
        print(f"{n} passes: remove it from tests/kubectl/expected.txt")
    return 1 if surprises or fixed else 0


if __name__ == "__main__":
    sys.exit(main())
