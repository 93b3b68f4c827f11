#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""berth up: a cluster in one process, used with the real kubectl."""

import json
import os
import signal
import socket
import stat
import subprocess
import tempfile

import berth
import terminal
from berth import ROOT, check, equal, make_node, make_pod, wait_for
from cluster import ApiError
from tap import contains, main, test
from up import Up

T = berth.TIMEOUT
POD = "/api/v1/namespaces/default/pods"


def up(*args, **more):
    return berth.run("up", "--port", "0", *args, timeout=T, **more)


def write(d, name, content):
    """Writes a file with this text, or these objects as a stream of documents. Returns its path."""
    if not isinstance(content, str):
        content = "\n---\n".join(json.dumps(o) for o in content)
    path = os.path.join(d, name)
    with open(path, "w") as f:
        f.write(content)
    return path


def fails(parts, *args, code=1):
    """One clear line, and the exit code."""
    done = up(*args)
    equal((done.code, done.out), (code, ""), f"exit code and output; it said {done.err!r}")
    equal(done.err.count("\n"), 1, f"lines in {done.err!r}")
    contains(done.err, *parts)


def running(c, name, ns="default"):
    wait_for(lambda: c.pod(name, ns)["status"].get("phase") == "Running", T, what=f"{name} runs")


def deployment(c, name, replicas, ns="default"):
    labels = {"app": name}
    c.create(f"/apis/apps/v1/namespaces/{ns}/deployments", {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels},
                 "template": {"metadata": {"labels": labels},
                              "spec": {"containers": [{"name": "c", "image": "i"}]}}}})


def scale(c, name, replicas):
    c.patch(f"/apis/apps/v1/namespaces/default/deployments/{name}", {"spec": {"replicas": replicas}})
    c.kubectl("rollout", "status", f"deployment/{name}", f"--timeout={T}s")


@test
def kubectl_sees_nodes_that_are_ready(d):
    with Up("--nodes", "5", "--zones", "a,b") as c:
        c.kubectl("wait", "--for=condition=Ready", "node", "--all", f"--timeout={T}s")
        equal(c.kubectl("get", "nodes", "-o", "name").split(), [f"node/node-{i}" for i in range(5)],
              "nodes")
        zones = [n["metadata"]["labels"]["topology.kubernetes.io/zone"] for n in c.nodes()]
        equal(zones, ["a", "b", "a", "b", "a"], "zones")
        equal(c.nodes()[0]["status"]["allocatable"]["cpu"], "32", "CPUs")
        equal(stat.S_IMODE(os.stat(c.admin_kubeconfig).st_mode), 0o600, "mode of the kubeconfig")


@test
def a_pod_is_applied_scheduled_run_and_deleted(d):
    with Up() as c:
        c.kubectl("apply", "--validate=false", "-f", "-", input=make_pod("p"))
        running(c, "p")
        contains(c.kubectl("get", "pod", "p", "-o", "jsonpath={.spec.nodeName}"), "node-")
        c.kubectl("delete", "pod", "p", "--wait=true")
        equal(c.pods("default"), [], "pods")


@test
def a_deployment_scales_up_and_down(d):
    with Up() as c:
        deployment(c, "web", 4)
        c.kubectl("rollout", "status", "deployment/web", f"--timeout={T}s")
        equal(len(c.pods("default")), 4, "pods")
        scale(c, "web", 1)
        wait_for(lambda: len(c.pods("default")) == 1, T)


@test
def the_scheduler_has_the_rights_of_its_user_only(d):
    with Up("--data-dir", os.path.join(d, "rights")) as c:
        argv = [os.path.join(c.bin, "kubectl"), "--kubeconfig", c.scheduler_kubeconfig]
        for args, may in ((["get", "nodes"], True), (["get", "secrets"], False),
                          (["delete", "node", "node-0"], False)):
            done = subprocess.run([*argv, *args], env=c.environment(), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            equal(done.returncode == 0, may, f"{args}: {done.stderr!r}")
            if not may:
                contains(done.stderr, 'User "system:kube-scheduler" cannot')


@test
def templates_make_nodes_with_resources_taints_and_devices(d):
    node = make_node("any", cpu="64", taints=[{"key": "gpu", "effect": "NoSchedule"}],
                     images=[{"names": ["registry.test/big:1"], "sizeBytes": 1000}])
    csi = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "any"},
           "spec": {"drivers": [{"name": "csi.test", "nodeID": "any",
                                 "allocatable": {"count": 4}}]}}
    devices = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
               "metadata": {"name": "gpus"},
               "spec": {"driver": "gpu.test", "pool": {"name": "any", "generation": 1,
                                                       "resourceSliceCount": 1},
                        "devices": [{"name": "gpu-0"}]}}
    path = write(d, "template.json", [node, csi, devices])
    with Up("--nodes", "2", "--node-template", path) as c:
        got = c.get("/api/v1/nodes/node-1")
        equal(got["status"]["allocatable"]["cpu"], "64", "CPUs")
        equal(got["spec"]["taints"][0]["key"], "gpu", "taint")
        equal(got["status"]["images"][0]["sizeBytes"], 1000, "image")
        equal(got["metadata"]["labels"]["kubernetes.io/hostname"], "node-1", "hostname")
        equal(c.get("/apis/storage.k8s.io/v1/csinodes/node-1")["spec"]["drivers"][0]["nodeID"],
              "node-1", "CSINode")
        slices = c.get("/apis/resource.k8s.io/v1/resourceslices")["items"]
        equal(sorted(s["spec"]["nodeName"] for s in slices), ["node-0", "node-1"], "slices")


@test
def what_was_acknowledged_survives_kill(d):
    with Up("--data-dir", os.path.join(d, "data")) as c:
        for i in range(20):
            c.create(POD, make_pod(f"p{i}"))
        names = {p["metadata"]["name"]: p["metadata"]["uid"] for p in c.pods("default")}
        equal(c.restart(signal.SIGKILL), -signal.SIGKILL, "exit code")
        again = {p["metadata"]["name"]: p["metadata"]["uid"] for p in c.pods("default")}
        equal(again, names, "pods")
        running(c, "p19")
        equal(c.restart(signal.SIGINT), 0, "exit code after SIGINT")
        equal(len(c.pods("default")), 20, "pods")


@test
def a_second_process_on_the_same_directory_is_refused(d):
    data = os.path.join(d, "busy")
    with Up("--data-dir", data):
        fails([data, "another process"], "--data-dir", data)


@test
def a_damaged_database_is_refused(d):
    data = os.path.join(d, "damaged")
    os.mkdir(data)
    write(data, "berth.db", "this is no database\n" * 100)
    fails([data], "--data-dir", data)


@test
def a_port_in_use_is_one_line(d):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        port = str(s.getsockname()[1])
        done = berth.run("up", "--port", port, timeout=T)
        equal((done.code, done.err.count("\n")), (1, 1), done.err)
        contains(done.err, port, "in use")


@test
def wrong_flags_exit_with_2(d):
    for args in (["--nodes", "-1"], ["--port", "70000"], ["--zones", "a,,b"], ["--unknown"],
                 ["--plain-http", "--address", "0.0.0.0"], ["file.yaml"]):
        done = berth.run("up", *args, timeout=T)
        equal((done.code, done.out), (2, ""), f"{args}: exit code and output")


@test
def refused_objects_are_reported_with_file_kind_and_name(d):
    bad = make_pod("Not_A_Name")
    path = write(d, "bad.yaml", [make_pod("good"), bad, {"apiVersion": "x/v1", "kind": "What",
                                                        "metadata": {"name": "w"}}])
    done = up("-f", path)
    equal(done.code, 1, "exit code")
    contains(done.err, "bad.yaml:", "Pod/Not_A_Name: ", "What/w: no matches for kind",
             "2 objects were refused")


@test
def the_demonstration_is_placed_and_explained(d):
    done = up("--nodes", "6", "-f", os.path.join(ROOT, "examples", "demo.yaml"), "--wait",
              "--for", f"{T}s")
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    contains(done.out, "export KUBECONFIG=", "NAMESPACE", "web-", "too-large", "Insufficient cpu",
             "Filters: 0 of 6 nodes passed")


@test
def waiting_ends_with_3_if_a_pod_cannot_be_tried(d):
    path = write(d, "pod.json", [make_pod("p")])
    done = up("-f", path, "--without-scheduler", "--wait", "--for", "1s")
    equal(done.code, 3, f"exit code; it said {done.err!r}")


@test
def what_is_exported_can_be_created_and_applied(d):
    out = os.path.join(d, "export.yaml")
    with Up("--export", out) as c:
        c.create("/api/v1/namespaces",
                 {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
        deployment(c, "web", 2, ns="team")
        c.create("/api/v1/namespaces/team/configmaps",
                 {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"},
                  "data": {"k": "v"}})
        c.create(POD, make_pod("alone"))
        running(c, "alone")
        wait_for(lambda: len(c.pods("team")) == 2, T)
        equal(c.up.terminate(T), 0, "exit code")
        with open(out) as f:
            text = f.read()
        for part in ("status:", "uid:", "resourceVersion:", "kind: Node\n", "kind: ReplicaSet"):
            check(part not in text, f"{part} in\n{text}")
    with Up("-f", out) as c:
        wait_for(lambda: len(c.pods("team")) == 2, T)
        running(c, "alone")
        equal(c.get("/api/v1/namespaces/team/configmaps/m")["data"], {"k": "v"}, "data")
        c.kubectl("apply", "--validate=false", "-f", out)


@test
def a_dump_is_imported_with_uids_and_statuses(d):
    with Up("--nodes", "2") as c:
        deployment(c, "web", 2)
        c.kubectl("rollout", "status", "deployment/web", f"--timeout={T}s")
        dump = c.kubectl("get", "ns,nodes,pods,deployments,replicasets", "-A", "-o", "yaml")
        pods = {p["metadata"]["name"]: p["metadata"]["uid"] for p in c.pods("default")}
    path = write(d, "dump.yaml", dump)
    with Up("--import", path) as c:
        equal({p["metadata"]["name"]: p["metadata"]["uid"] for p in c.pods("default")}, pods,
              "pods")
        equal(len(c.nodes()), 2, "nodes")
        scale(c, "web", 3)
        equal(set(pods) - {p["metadata"]["name"] for p in c.pods("default")}, set(), "kept pods")


@test
def a_live_cluster_is_imported(d):
    with Up("--nodes", "2") as live:
        live.create(POD, make_pod("p"))
        running(live, "p")
        with Up("--import", live.admin_kubeconfig) as c:
            equal([n["metadata"]["name"] for n in c.nodes()], ["node-0", "node-1"], "nodes")
            equal(c.pod("p")["metadata"]["uid"], live.pod("p")["metadata"]["uid"], "uid")


@test
def the_export_of_the_simulator_is_imported_with_its_configuration(d):
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
              "profiles": [{"schedulerName": "theirs"}]}
    export = {"pods": [make_pod("p", scheduler_name="theirs")], "nodes": [make_node("n")],
              "pvs": [], "pvcs": [], "storageClasses": [],
              "priorityClasses": [{"metadata": {"name": "high"}, "value": 10}],
              "schedulerConfig": config, "namespaces": [{"metadata": {"name": "team"}}]}
    path = write(d, "simulator.json", json.dumps(export))
    with Up("--import", path) as c:
        running(c, "p")
        equal(c.pod("p")["spec"]["nodeName"], "n", "node")
        equal(c.get("/apis/scheduling.k8s.io/v1/priorityclasses/high")["value"], 10, "value")
        c.get("/api/v1/namespaces/team")


@test
def a_configuration_is_used_and_a_wrong_one_refused(d):
    good = write(d, "config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                 "kind: KubeSchedulerConfiguration\nprofiles:\n- schedulerName: mine\n")
    with Up("--config", good) as c:
        c.create(POD, make_pod("p", scheduler_name="mine"))
        running(c, "p")
    bad = write(d, "bad-config.yaml", "apiVersion: kubescheduler.config.k8s.io/v1\n"
                "kind: KubeSchedulerConfiguration\nparallelism: -1\n")
    done = up("--config", bad)
    equal(done.code, 1, "exit code")
    contains(done.err, "parallelism")


@test
def a_terminal_shows_a_table_until_ctrl_c(d):
    argv = [*berth.command(), "up", "--port", "0", "--nodes", "2"]
    shown = terminal.type_into(argv, [("PLACED/S", "\x03")], "\x1b[J")
    contains(shown, "export KUBECONFIG=", "NODES", "node-1", "zone-2")


@test
def plain_http_needs_no_credentials(d):
    done = up("--plain-http", "--nodes", "1", "--for", "1ms")
    equal(done.code, 0, f"exit code; it said {done.err!r}")
    contains(done.out, "API server: http://127.0.0.1:")


@test
def without_controllers_and_scheduler_nothing_is_added(d):
    with Up("--without-controllers", "--without-scheduler") as c:
        deployment(c, "web", 2)
        c.create("/api/v1/namespaces/default/configmaps",
                 {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}})
        equal(c.get("/apis/apps/v1/replicasets")["items"], [], "ReplicaSets")
        try:
            c.get("/api/v1/namespaces/default/serviceaccounts/default")
            check(False, "a service account was made")
        except ApiError as e:
            equal(e.status, 404, "status")


if __name__ == "__main__":
    main(fixture=lambda: tempfile.TemporaryDirectory(prefix="berth-up-"))
