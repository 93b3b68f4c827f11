#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth explain: a running scheduler explains its decisions to users with the right to read them.

The scheduler is started with the commands of README.md, "On your own cluster".
"""

import contextlib
import json
import os
import re
import shlex
import shutil
import subprocess
import textwrap

import berth
from berth import ROOT, make_node, make_pod, wait_for
from cluster import ApiError, Cluster, free_port
from tap import check, contains, equal, main, show_log, test

SKIP = "--insecure-skip-tls-verify"


def readme():
    """The configuration of README's second scheduler, and the commands around it."""
    with open(os.path.join(ROOT, "README.md")) as f:
        section = f.read().partition("## On your own cluster\n")[2].partition("\n## ")[0]
    blocks = [textwrap.dedent(b) for b in re.findall(r"(?:^(?:    .*)?\n)+", section, re.M)]
    text = "\n".join(b for b in blocks if b.strip())
    config = re.search(r"cat > berth.yaml <<'EOF'\n(.*?)EOF\n", text, re.S)
    commands = (text[:config.start()] + text[config.end():]).splitlines()
    return config[1], [line for line in commands if line]


def command_of(start):
    """README's command with this beginning, split into words."""
    return shlex.split(next(line for line in readme()[1] if line.startswith(start)), comments=True)


@contextlib.contextmanager
def cluster():
    with Cluster() as c:
        config = readme()[0]
        check("/path/to/kubeconfig" in config, config)
        with open(os.path.join(c.dir, "berth.yaml"), "w") as f:
            f.write(config.replace("/path/to/kubeconfig", c.admin_kubeconfig))
        start = command_of("build/berth scheduler --config")
        equal(start[:2] + start[3:], ["build/berth", "scheduler", "berth.yaml"], "README's command")
        c.berth = berth.start(c, config="berth.yaml")
        berth.add_nodes(c, make_node("n1"), make_node("cordoned", unschedulable=True),
                        make_node("small", cpu="100m"))
        run = command_of("kubectl run hello")
        c.kubectl(*run[1:])
        for name in ("root", "nobody"):
            c.kubectl("create", "serviceaccount", name)
        c.kubectl("create", "clusterrolebinding", "root", "--clusterrole=cluster-admin",
                  "--serviceaccount=default:root")
        c.token = {name: c.kubectl("create", "token", name).strip() for name in ("root", "nobody")}
        berth.wait_bound(c, "hello")
        yield c
        c.children.remove(c.berth)
        berth.stop(c.berth)


def after(c):
    show_log(c.berth.log)
    check(c.berth.running(), "berth has ended")


def tools(c):
    """A folder with the programs that a test needs in PATH, without kubectl."""
    folder = os.path.join(c.dir, "tools")
    os.makedirs(folder, exist_ok=True)
    for name in ("setarch", "sleep"):
        with contextlib.suppress(FileExistsError):
            os.symlink(shutil.which(name), os.path.join(folder, name))
    return folder


def explain(c, *args, kubeconfig=None, server=True, home=None, path=None):
    """kubeconfig: passed by KUBECONFIG, as for kubectl. path: the folder of programs."""
    env = {"HOME": home or os.path.join(c.dir, "nowhere")}
    if path:
        env["PATH"] = path + ":" + tools(c)
    if kubeconfig:
        env["KUBECONFIG"] = kubeconfig
    where = [f"--server=127.0.0.1:{c.berth.port}"] if server else []
    return berth.run("explain", *args, *where, env=env)


def curl(port, c, *args):
    argv = ["curl", "-sk", "--max-time", "60", "-o", "/dev/null", "-w", "%{http_code}", *args,
            f"https://127.0.0.1:{port}/debug/explain?pod=hello"]
    return int(subprocess.run(argv, stdout=subprocess.PIPE, text=True).stdout)


def certificate(c, name):
    path = os.path.join(c.dir, name)
    return ["--cert", path + ".crt", "--key", path + ".key"]


@test
def the_second_scheduler_of_the_readme_knows_its_administrators(c):
    """kube-scheduler, started in the same way, sends no reviews and denies everything."""
    def bearer(name):
        return ["-H", "Authorization: Bearer " + c.token[name]]

    users = [certificate(c, "admin"), bearer("root"), bearer("nobody"),
             ["-H", "Authorization: Bearer wrong"], []]
    wait_for(lambda: curl(c.berth.port, c, *users[0]) == 200, 60, what="the client CA is known")
    equal([curl(c.berth.port, c, *user) for user in users], [200, 200, 403, 401, 403], "berth")
    port = free_port()
    config = berth.scheduler_config(c, "kube", clientConnection={"kubeconfig": c.admin_kubeconfig})
    kube = c.spawn("kube", [os.path.join(c.bin, "kube-scheduler"), f"--config={config}",
                            f"--secure-port={port}", "--bind-address=127.0.0.1"])
    show_log(kube.log)
    wait_for(lambda: curl(port, c), 60, what="kube-scheduler serves")
    equal([curl(port, c, *user) for user in users], [403] * 5, "kube-scheduler")
    kube.kill()
    c.children.remove(kube)


@test
def one_of_the_flags_alone_is_taken_at_its_word(c):
    """As upstream: no reviews for what the missing flag would name."""
    root = ["-H", "Authorization: Bearer " + c.token["root"]]
    for what in ("authentication", "authorization"):
        p = berth.start(c, f"--{what}-kubeconfig={c.admin_kubeconfig}", name=what)
        wait_for(lambda p=p: curl(p.port, c), 60, what="it serves")
        equal(curl(p.port, c, *root), 403, f"--{what}-kubeconfig alone")
        c.children.remove(p)
        berth.stop(p)


@test
def the_command_of_the_readme_prints_a_table(c):
    words = command_of("build/berth explain")
    equal(words[:2], ["build/berth", "explain"], "README's command")
    done = explain(c, *words[2:], kubeconfig=c.admin_kubeconfig)
    equal((done.code, done.err), (0, ""), "exit code and errors")
    lines = done.out.splitlines()
    equal(lines[0], "default/hello: scheduled to n1 (attempt 1, profile berth)", "headline")
    for line in ("  Filters: 2 of 3 nodes passed",
                 "  > n1        -                  passed, chosen",
                 "    small     -                  passed",
                 "    cordoned  NodeUnschedulable  node(s) were unschedulable",
                 "  Scores: normalized score * weight"):
        contains(lines, line)
    check("\x1b" not in done.out, "no colours where there is no terminal")


@test
def it_is_the_same_by_token_certificate_and_kubeconfig(c):
    crt, key = (os.path.join(c.dir, "admin" + end) for end in (".crt", ".key"))
    home = os.path.join(c.dir, "home")
    os.makedirs(home + "/.kube", exist_ok=True)
    with open(home + "/.kube/config", "w") as to, open(c.admin_kubeconfig) as of:
        to.write(of.read())
    outputs = {
        "a token": explain(c, "hello", SKIP, f"--token={c.token['root']}"),
        "a certificate": explain(c, "default/hello", SKIP, f"--client-certificate={crt}",
                                 f"--client-key={key}"),
        "--kubeconfig": explain(c, "hello", "-n", "default", SKIP,
                                f"--kubeconfig={c.admin_kubeconfig}"),
        "KUBECONFIG": explain(c, "hello", SKIP, kubeconfig=c.admin_kubeconfig),
        "~/.kube/config": explain(c, "hello", SKIP, home=home),
        "a token, not the kubeconfig": explain(c, "hello", SKIP, f"--token={c.token['root']}",
                                               f"--kubeconfig={c.scheduler_kubeconfig}"),
    }
    for how, done in outputs.items():
        equal((done.code, done.err), (0, ""), how)
    equal(len({done.out for done in outputs.values()}), 1, "the same table")


@test
def json_is_what_the_scheduler_sends(c):
    done = explain(c, "hello", SKIP, "-o", "json", kubeconfig=c.admin_kubeconfig)
    argv = ["curl", "-sk", *certificate(c, "admin"),
            f"https://127.0.0.1:{c.berth.port}/debug/explain?pod=hello"]
    equal(done.out, subprocess.run(argv, stdout=subprocess.PIPE, text=True).stdout, "the lines")
    record = json.loads(done.out)
    equal((record["pod"], record["node"]), ("hello", "n1"), "the pod")


@test
def a_pod_that_finds_no_node_has_several_attempts(c):
    berth.add_pods(c, make_pod("homeless", cpu="64", scheduler_name="berth"))
    berth.wait_unschedulable(c, "homeless")
    berth.add_nodes(c, make_node("large", cpu="65", taints=[{"key": "k", "effect": "NoSchedule"}]))

    def attempts():
        done = explain(c, "homeless", SKIP, "-o", "json", kubeconfig=c.admin_kubeconfig)
        return len(done.out.splitlines()) >= 2 and done
    wait_for(attempts, berth.TIMEOUT, what="a second attempt")
    done = explain(c, "homeless", SKIP, kubeconfig=c.admin_kubeconfig)
    equal(done.code, 0, done.err)
    equal(done.out.count("default/homeless: unschedulable"), 1, "the latest attempt")
    check(re.search(r"^\d+ earlier attempts? (is|are) recorded; use --all-attempts to show",
                    done.out, re.M), done.out)
    contains(done.out, "    n1        NodeResourcesFit   Insufficient cpu")
    done = explain(c, "homeless", SKIP, "--all-attempts", kubeconfig=c.admin_kubeconfig)
    check(done.out.count("default/homeless: unschedulable") >= 2, done.out)


# ---- errors --------------------------------------------------------------------------------------

def failed(done, *parts, code=1):
    equal((done.code, done.out), (code, ""), done.err)
    check(done.err.startswith("berth: "), done.err)
    for part in parts:
        contains(done.err, part)


@test
def a_connection_that_is_refused_is_told_with_its_address(c):
    port = free_port()
    failed(explain(c, "hello", f"--server=127.0.0.1:{port}", server=False),
           f"127.0.0.1:{port}", "refused", "--server")


@test
def a_certificate_that_nobody_signed_is_not_believed(c):
    failed(explain(c, "hello", kubeconfig=c.admin_kubeconfig),
           "certificate signed by unknown authority", "--certificate-authority", SKIP)


@test
def a_certificate_of_a_known_authority_is_believed(c):
    files = os.path.join(c.dir, "serving.crt"), os.path.join(c.dir, "serving.key")
    p = berth.start(c, f"--tls-cert-file={files[0]}", f"--tls-private-key-file={files[1]}",
                    "--leader-elect=false", name="signed")
    wait_for(lambda: curl(p.port, c, *certificate(c, "admin")) == 404, 60, what="it serves")
    ca = os.path.join(c.dir, "ca.crt")
    for args, env in ((["--certificate-authority=" + ca, "--token=" + c.token["root"]], None),
                      ([], c.admin_kubeconfig)):
        failed(explain(c, "hello", f"--server=127.0.0.1:{p.port}", *args, server=False,
                       kubeconfig=env), "has no recorded attempts for the pod default/hello")
    c.children.remove(p)
    berth.stop(p)


@test
def users_without_rights_are_told_what_they_lack(c):
    failed(explain(c, "hello", SKIP), 'User "system:anonymous" cannot get path "/debug/explain"',
           "--token", "--kubeconfig")
    done = explain(c, "hello", SKIP, f"--token={c.token['nobody']}")
    failed(done, "system:serviceaccount:default:nobody", "--non-resource-url=/debug/explain")
    failed(explain(c, "hello", SKIP, "--token=wrong"), "Unauthorized", "from --token")
    # The proposed command works.
    line = next(line for line in done.err.splitlines() if "create clusterrole " in line)
    c.kubectl(*shlex.split(line)[1:])
    line = next(line for line in done.err.splitlines() if "create clusterrolebinding " in line)
    c.kubectl(*shlex.split(line.replace("NAME", "system:serviceaccount:default:nobody"))[1:])
    wait_for(lambda: explain(c, "hello", SKIP, f"--token={c.token['nobody']}").code == 0, 60,
             what="the new right is noticed")


@test
def pods_without_attempts_are_told(c):
    for pod in ("default/unknown", "other/hello"):
        failed(explain(c, pod, SKIP, kubeconfig=c.admin_kubeconfig),
               f"has no recorded attempts for the pod {pod}", "kubectl get pod -n")


@test
def kube_scheduler_explains_nothing(c):
    kube = c.start_scheduler()
    wait_for(lambda: curl(kube.port, c, *certificate(c, "admin")) == 404, 60,
             what="kube-scheduler serves")
    failed(explain(c, "hello", SKIP, f"--server=127.0.0.1:{kube.port}", server=False,
                   kubeconfig=c.admin_kubeconfig), "does not serve /debug/explain", "not berth")
    kube.kill()
    c.children.remove(kube)


@test
def wrong_command_lines_exit_with_2(c):
    for args in ([], ["a", "b"], ["a/b/c"], ["/a"], ["hello", "-o", "yaml"],
                 ["hello", "--nodes=-1"],
                 ["hello", "--client-key=x"], ["hello", "--request-timeout=0s"],
                 ["hello", SKIP, "--certificate-authority=x"], ["hello", "--port-forward"],
                 ["hello", "--nodse=1"]):
        failed(explain(c, *args), code=2)
    failed(explain(c, "hello", "--server=http://127.0.0.1:1", server=False), "use https")
    failed(explain(c, "hello", f"--kubeconfig={c.dir}/missing"), "missing")


# ---- discovery -----------------------------------------------------------------------------------

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"


def add_leader(c, lease, host, pod, address, *args, node="n1"):
    """Creates a lease, and a pod that holds it as far as the API server knows."""
    with contextlib.suppress(ApiError):
        c.delete(f"{LEASES}/{lease}")
    c.create(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                      "metadata": {"name": lease, "namespace": "kube-system"},
                      "spec": {"holderIdentity": f"{host}_6d2f0b2e", "leaseDurationSeconds": 15}})
    manifest = make_pod(pod, ns="kube-system", node_name=node,
                        labels={"component": "kube-scheduler"})
    manifest["spec"]["containers"][0]["command"] = ["kube-scheduler", *args]
    c.create(SYSTEM_PODS, manifest)
    c.patch(f"{SYSTEM_PODS}/{pod}/status", {"status": {"podIP": address}},
            "application/strategic-merge-patch+json")


def find(c, *args, **more):
    return explain(c, "hello", f"--kubeconfig={c.admin_kubeconfig}", *args, server=False, **more)


@test
def the_leader_is_found_by_its_lease(c):
    add_leader(c, "by-pod", "pod-a", "pod-a", "127.0.0.1", f"--secure-port={c.berth.port}")
    done = find(c, SKIP, "--lease=kube-system/by-pod")
    equal((done.code, done.err), (0, ""), "a lease held by a pod")
    contains(done.out, "default/hello: scheduled to n1")
    add_leader(c, "by-node", "n1", "kube-scheduler-n1", "127.0.0.1", "--secure-port",
               str(c.berth.port))
    equal(find(c, SKIP, "--lease=by-node").out, done.out, "a lease held by a node")


@test
def the_lease_is_that_of_the_pod_s_scheduler(c):
    """The pod has the schedulerName berth, and the real berth holds a lease of that name."""
    holder = c.get(f"{LEASES}/berth")["spec"]["holderIdentity"]
    equal(holder.rpartition("_")[0], os.uname().nodename, "holder")
    done = find(c, SKIP)
    # It runs on this machine; whether the default port has a listener does not matter here.
    check(done.code == 0 or "127.0.0.1:10259" in done.err, done.err)


def fake_kubectl(c, name, script):
    """A folder with a kubectl that runs this script; it records its arguments and its pid."""
    folder = os.path.join(c.dir, name)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "kubectl")
    with open(path, "w") as f:
        f.write(f'#!/bin/sh\necho "$@" > {folder}/args\necho $$ > {folder}/pid\n{script}\n')
    os.chmod(path, 0o755)
    return folder


def written(folder, name):
    with open(os.path.join(folder, name)) as f:
        return f.read().strip()


@test
def a_leader_that_cannot_be_reached_is_reached_by_port_forward(c):
    port = free_port()
    add_leader(c, "away", "pod-b", "pod-b", "127.0.0.1", f"--secure-port={port}")
    failed(find(c, SKIP, "--lease=away"), "refused",
           f"--port-forward to run `kubectl port-forward -n kube-system pod-b :{port}`")
    add_leader(c, "loopback", "pod-c", "pod-c", "127.0.0.1", "--bind-address=127.0.0.1")
    failed(find(c, SKIP, "--lease=loopback"), "listens on loopback only", "--port-forward")
    # Without kubelets there is no tunnel: the fake kubectl forwards to the scheduler's own port.
    path = fake_kubectl(c, "good", f'echo "Forwarding from 127.0.0.1:{c.berth.port} -> 10259"\n'
                                   "exec sleep 600")
    done = find(c, "--lease=loopback", "--port-forward", "--context=test", path=path)
    equal((done.code, done.err), (0, ""), "with a tunnel, and no certificate to believe")
    contains(done.out, "default/hello: scheduled to n1")
    equal(written(path, "args"), f"--kubeconfig {c.admin_kubeconfig} --context test --namespace "
          "kube-system port-forward --address 127.0.0.1 -- pod-c :10259", "kubectl's arguments")
    check(not os.path.exists(f"/proc/{written(path, 'pid')}"), "kubectl has ended")


@test
def port_forward_that_fails_is_told(c):
    add_leader(c, "tunnel", "pod-d", "pod-d", "127.0.0.1")
    args = ("--lease=tunnel", "--port-forward")
    # The real kubectl: a pod that no kubelet runs.
    done = find(c, *args, path=c.bin)
    equal((done.code, done.out), (1, ""), done.err)
    contains(done.err, "pod is not running",
             "berth: --port-forward: `kubectl port-forward` failed")
    for script, text in (("exit 1", "failed"), ("exec sleep 600", "timed out"),
                         ("echo hello; exec sleep 600", "printed unexpected output")):
        path = fake_kubectl(c, "bad", script)
        failed(find(c, *args, "--request-timeout=5s", path=path), text)
        check(not os.path.exists(f"/proc/{written(path, 'pid')}"), "kubectl has ended")
    nothing = os.path.join(c.dir, "nothing")
    failed(find(c, *args, path=nothing), "kubectl not found in PATH")


@test
def a_leader_that_cannot_be_found_is_told(c):
    failed(find(c, SKIP, "--lease=nothing"), "lease kube-system/nothing not found", "--server")
    failed(explain(c, "unknown", f"--kubeconfig={c.admin_kubeconfig}", server=False),
           'pods "unknown" not found')
    c.create(LEASES, {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                      "metadata": {"name": "elsewhere", "namespace": "kube-system"},
                      "spec": {"holderIdentity": "laptop_1"}})
    failed(find(c, SKIP, "--lease=elsewhere"), '"laptop"', "--server")


if __name__ == "__main__":
    main(fixture=cluster, after=after)
