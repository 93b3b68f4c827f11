#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy/ on a real API server: it accepts everything; the static Pod and the second scheduler
really run, from the files of the image, with the command, user, configuration and rights of their
manifests; the audit log shows berth's requests."""

import json
import os
import re
import shlex
import signal
import subprocess

import berth
import deploy
from berth import add_nodes, make_node, make_pod, wait_bound, wait_for
from cluster import Cluster
from deploy import ACCOUNT, NAMESPACE, Right, allowed, objects, rights
from tap import check, contains, equal, main, note, skip, test

OVERLAYS = ("bin-packing", "control-plane")
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def cluster():
    policy = os.path.join(berth.HERE, "deploy-audit-policy.yaml")
    return Cluster(apiserver_args=[f"--audit-policy-file={policy}", "--audit-log-path=audit.log"])


def curl(p, path, token=None):
    """The HTTP status; 0 if there is no answer."""
    argv = ["curl", "-sk", "--max-time", "30", "-o", "/dev/null", "-w", "%{http_code}"]
    if token:
        argv += ["-H", "Authorization: Bearer " + token]
    return int(subprocess.run(argv + [f"https://127.0.0.1:{p.port}{path}"], text=True,
                              stdout=subprocess.PIPE).stdout)


def probes_pass(p, container):
    for probe in PROBES:
        get = container[probe]["httpGet"]
        equal(get["scheme"], "HTTPS", probe)
        wait_for(lambda get=get: curl(p, get["path"]) == 200, berth.TIMEOUT,
                 what=f"{probe} of {p.name} passes")


def lease(c, name):
    got = c.kubectl("-n", NAMESPACE, "get", "lease", name, "-o", "json", "--ignore-not-found")
    return json.loads(got)["spec"].get("holderIdentity") if got else None


# ---- the image -----------------------------------------------------------------------------------

@test
def the_image_has_what_it_needs_and_no_more(c):
    image = deploy.Image(os.path.join(c.dir, "image"))
    known = [r"usr/local/bin/(berth|kube-scheduler)", r"usr/lib/[^/]+/lib(c|m|ssl|crypto|nghttp2|yaml-0"
             r"|sqlite3)\.so\.\d+", r"lib(64)?/ld-linux-[^/]+", r"etc/(passwd|group|nsswitch\.conf)",
             r"etc/ssl/certs/ca-certificates\.crt", r"usr/lib/ssl/cert\.pem",
             r"var/lib/dpkg/status\.d/[^/]+"]
    equal([f for f in image.files() if not any(re.fullmatch(k, f) for k in known)], [], "files")
    size = sum(os.lstat(os.path.join(image.dir, f)).st_size for f in image.files())
    note(f"{size / 1e6:.1f} MB")
    check(size < 16e6, f"{size} bytes")


@test
def the_image_runs_as_nobody_in_particular(c):
    contains(deploy.read("Dockerfile"), "\nUSER 65532:65532\n", 'ENTRYPOINT ["/usr/local/bin/berth"]')
    image = deploy.Image(os.path.join(c.dir, "image"))
    for command in (["kube-scheduler", "--version"], ["berth", "kube-scheduler", "--version"]):
        done = image.run(*command)
        equal((done.code, done.out), (0, "Kubernetes v1.36.3\n"), command)
    image.write("/scenario.yaml", open(os.path.join(berth.ROOT, "examples/scenario.yaml")).read())
    done = image.run("berth", "simulate", "/scenario.yaml")
    equal(done.code, 0, done.err)
    contains(done.out, "default/web-1")


@test
def hadolint_likes_the_dockerfile(c):
    got = subprocess.run([os.path.join(berth.ROOT, "tests/lib/hadolint.sh")], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if got.returncode != 0:
        skip("hadolint is not available: " + got.stderr.strip())
    done = subprocess.run([got.stdout.strip(), deploy.path("Dockerfile")], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal((done.returncode, done.stdout), (0, ""))
    # The files that it copies exist and are not ignored.
    ignored = deploy.read("Dockerfile.dockerignore")
    for source in re.findall(r"^COPY (\S+) ", deploy.read("Dockerfile"), re.M):
        if not source.startswith("--from"):
            check(os.path.exists(os.path.join(berth.ROOT, source)), source)
            contains(ignored, f"\n!{source}\n")


@test
def all_files_name_the_same_version(c):
    v = deploy.version()
    contains(deploy.read("helm/berth/Chart.yaml"), f"\nversion: {v}\n", f"\nappVersion: {v}\n")
    for file in ("static-pod/kube-scheduler.yaml", "second-scheduler/berth.yaml",
                 "kustomize/base/deployment.yaml"):
        equal(re.findall(r"image: (\S+)", deploy.read(file)), [f"berth:{v}"], file)


# ---- the static Pod ------------------------------------------------------------------------------

def static_pod(c):
    return objects(c, deploy.read("static-pod/kube-scheduler.yaml"))["Pod", "kube-scheduler"]


@test
def the_static_pod_is_kubeadms_but_for_image_and_rights(c):
    with open(os.path.join(berth.ROOT, "tests/golden/kubeadm-kube-scheduler.yaml")) as f:
        theirs = objects(c, f.read())["Pod", "kube-scheduler"]
    ours = static_pod(c)
    theirs.pop("status")
    equal(ours["spec"]["containers"][0].pop("securityContext"),
          {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
           "readOnlyRootFilesystem": True, "runAsUser": 0})
    equal((ours["spec"]["containers"][0].pop("image"), theirs["spec"]["containers"][0].pop("image")),
          (f"berth:{deploy.version()}", "registry.k8s.io/kube-scheduler:v1.36.3"))
    equal(ours, theirs, "the rest")


@test
def the_static_pod_runs_as_its_manifest_says(c):
    pod = static_pod(c)
    c.kubectl("create", "--dry-run=server", "-f", deploy.path("static-pod/kube-scheduler.yaml"))
    container = deploy.container(pod)
    user = container["securityContext"]["runAsUser"]
    image = deploy.Image(os.path.join(c.dir, "image"))
    (mount,) = container["volumeMounts"]
    (volume,) = pod["spec"]["volumes"]
    equal(volume["hostPath"]["path"], mount["mountPath"])
    with open(c.scheduler_kubeconfig) as f:
        image.write(mount["mountPath"], f.read(), mode=0o600)
    p = image.start(c, container["command"], user, "static-pod")
    probes_pass(p, container)
    add_nodes(c, make_node("node-1"))
    berth.add_pods(c, make_pod("a"), make_pod("b", scheduler_name="other"))
    equal(wait_bound(c, "a"), "node-1")
    check(lease(c, "kube-scheduler"), "kube-scheduler's lease is held")
    equal(berth.node_of(c, "b"), None)
    berth.stop(p)
    # The image's own user gets a clear error.
    done = image.run(*container["command"], "--secure-port=0")
    check(done.code != 0, done.err)
    contains(done.err, mount["mountPath"], "ermission denied")


# ---- the second scheduler: its rights ------------------------------------------------------------

def second(c):
    return objects(c, deploy.read("second-scheduler/berth.yaml"))


def roles_of(found):
    return [o for (kind, _), o in found.items() if kind in ("Role", "ClusterRole")]


def all_forms(c):
    """{form: YAML text}: every way to install a second scheduler."""
    forms = {"second-scheduler": deploy.read("second-scheduler/berth.yaml"),
             "kustomize base": deploy.kustomize(c, "base")}
    for overlay in OVERLAYS:
        forms[f"kustomize {overlay}"] = deploy.kustomize(c, "overlays", overlay)
    return forms


@test
def the_one_file_is_what_the_base_builds(c):
    built = deploy.kustomize(c, "base")
    text = "".join(line for line in deploy.read("second-scheduler/berth.yaml").splitlines(True)
                   if not line.startswith("#"))
    equal(text, built, "deploy/second-scheduler/berth.yaml")
    equal(sorted(os.listdir(deploy.path("kustomize/overlays"))), sorted(OVERLAYS))


@test
def the_server_accepts_every_form(c):
    for what, text in all_forms(c).items():
        said = c.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", input=text)
        note(f"{what}: {said.count('serverside-applied')} objects")
        equal(said.count("serverside-applied (server dry run)"), 10, what)


# Resources that a server has only with alpha or beta gates.
UNSERVED = ("podgroups", "devicetaintrules")


@test
def roles_allow_nothing_that_kube_schedulers_do_not(c):
    upstream = [json.loads(c.kubectl("get", "clusterrole", name, "-o", "json"))
                for name in ("system:kube-scheduler", "system:volume-scheduler")]
    may = rights(*upstream)
    # The server grants these to kube-scheduler only if its gates GenericWorkload and
    # DRADeviceTaintRules are on. One manifest serves all cases; without the resources the rules
    # have no effect.
    check(not [r for r in may if r.resource.startswith(UNSERVED)], "a gate is on")
    may |= {Right("resource.k8s.io", "devicetaintrules", verb, "") for verb in ("list", "watch")}
    may |= {Right("scheduling.k8s.io", "podgroups", verb, "") for verb in ("list", "watch")}
    may.add(Right("scheduling.k8s.io", "podgroups/status", "patch", ""))
    # Its lease has another name.
    may |= {r._replace(name="berth") for r in may if r.name == "kube-scheduler"}
    ours = rights(*roles_of(second(c)))
    check(len(ours) > 20, f"only {len(ours)} rights")
    equal(sorted(r for r in ours if not allowed(r, may)), [], "more than upstream's")


def can_i(c, verb, resource, *more, user=ACCOUNT):
    """kubectl auth can-i."""
    said = c.kubectl("auth", "can-i", verb, resource, f"--as={user}",
                     "--as-group=system:serviceaccounts", "--as-group=system:authenticated", *more,
                     check=False)
    check(said.strip() in ("yes", "no"), said)
    return said.strip() == "yes"


def may_unknown(c, right, user=ACCOUNT):
    """The same for a resource that the server does not serve, which kubectl rejects."""
    resource, _, sub = right.resource.partition("/")
    asked = c.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": ["system:serviceaccounts", "system:authenticated"],
                 "resourceAttributes": {"group": right.group, "resource": resource,
                                        "subresource": sub, "verb": right.verb}}})
    return asked["status"]["allowed"]


def can_i_right(c, right, **more):
    if right.resource.startswith(UNSERVED):
        return may_unknown(c, right, **more)
    resource, _, sub = right.resource.partition("/")
    what = resource + (f".{right.group}" if right.group else "")
    args = [f"--subresource={sub}"] if sub else []
    where = ["-n", NAMESPACE] if resource in ("leases", "configmaps") else ["-A"]
    return can_i(c, right.verb, what + (f"/{right.name}" if right.name else ""), *args, *where,
                 **more)


@test
def rights_are_those_that_were_given(c):
    c.kubectl("apply", "-f", deploy.path("second-scheduler/berth.yaml"))
    found = second(c)
    needed = rights(*roles_of(found)) | {
        Right("", "configmaps", "get", "extension-apiserver-authentication")}
    nobody = f"system:serviceaccount:{NAMESPACE}:default"
    for right in sorted(needed):
        check(can_i_right(c, right), f"may not: {right}")
        check(not can_i_right(c, right, user=nobody), f"everybody may: {right}")
    for verb, resource, *more in (
            ("get", "secrets", "-A"), ("list", "secrets", "-n", NAMESPACE),
            ("create", "pods", "-A"), ("update", "pods", "-A"), ("patch", "pods", "-A"),
            ("update", "nodes"), ("delete", "nodes"), ("patch", "nodes", "--subresource=status"),
            ("get", "configmaps", "-n", NAMESPACE), ("update", "configmaps/berth", "-n", NAMESPACE),
            ("update", "leases.coordination.k8s.io/kube-scheduler", "-n", NAMESPACE),
            ("delete", "leases.coordination.k8s.io/berth", "-n", NAMESPACE),
            ("create", "leases.coordination.k8s.io", "-n", "default"),
            ("create", "pods", "--subresource=exec", "-A"),
            ("create", "clusterrolebindings.rbac.authorization.k8s.io"),
            ("impersonate", "users"), ("create", "serviceaccounts", "--subresource=token", "-A"),
            ("delete", "events", "-A"), ("*", "*", "-A")):
        check(not can_i(c, verb, resource, *more), f"may: {verb} {resource} {more}")


# ---- the second scheduler: running it ------------------------------------------------------------

def in_pod(c, name, found):
    """The image as the Deployment mounts it, with the environment of a pod."""
    spec = found["Deployment", "berth"]["spec"]["template"]["spec"]
    equal(spec["serviceAccountName"], "berth")
    user = spec["securityContext"]["runAsUser"]
    image = deploy.Image(os.path.join(c.dir, name))
    (mount,) = spec["containers"][0]["volumeMounts"]
    (volume,) = spec["volumes"]
    for file, text in found["ConfigMap", volume["configMap"]["name"]]["data"].items():
        image.write(os.path.join(mount["mountPath"], file), text)
    secrets = "/var/run/secrets/kubernetes.io/serviceaccount/"
    image.write(secrets + "token", c.kubectl("-n", NAMESPACE, "create", "token", "berth"),
                mode=0o600, owner=user)
    image.write(secrets + "namespace", NAMESPACE)
    with open(os.path.join(c.dir, "ca.crt")) as f:
        image.write(secrets + "ca.crt", f.read())
    image.env = ("KUBERNETES_SERVICE_HOST=127.0.0.1", f"KUBERNETES_SERVICE_PORT={c.port}")
    return image.start(c, spec["containers"][0]["command"], user, name)


def monitors(c):
    """Tokens of a user who may read metrics, and of one who may not."""
    for name in ("monitor", "nobody"):
        c.kubectl("create", "serviceaccount", name)
    c.kubectl("create", "clusterrole", "metrics-reader", "--verb=get",
              "--non-resource-url=/metrics,/metrics/resources")
    c.kubectl("create", "clusterrolebinding", "monitor", "--clusterrole=metrics-reader",
              "--serviceaccount=default:monitor")
    return [c.kubectl("create", "token", name).strip() for name in ("monitor", "nobody")]


def schedule_some(c):
    add_nodes(c, make_node("node-1", cpu="2"), make_node("node-2", cpu="2"))
    berth.add_pods(c, *[make_pod(f"p{i}", scheduler_name="berth") for i in range(10)],
                   make_pod("large", cpu="100", scheduler_name="berth"), make_pod("theirs"))
    for i in range(10):
        wait_bound(c, f"p{i}")
    berth.wait_unschedulable(c, "large")
    berth.wait_events(c, "large", "FailedScheduling")
    berth.wait_events(c, "p0", "Scheduled")
    equal(berth.node_of(c, "theirs"), None)
    # A pod that preempts others.
    c.kubectl("create", "priorityclass", "first", "--value=1000")
    berth.add_pods(c, make_pod("vip", cpu="1900m", scheduler_name="berth", priority_class="first"))
    wait_for(lambda: c.pod("vip")["status"].get("nominatedNodeName"), berth.TIMEOUT,
             what="vip is nominated to a node")


@test
def the_second_scheduler_runs_with_its_rights(c):
    found = second(c)
    c.kubectl("apply", "-f", deploy.path("second-scheduler/berth.yaml"))
    reader, nobody = monitors(c)
    equal(found["Deployment", "berth"]["spec"]["replicas"], 2)
    leader = in_pod(c, "replica-0", found)
    holder = wait_for(lambda: lease(c, "berth"), berth.TIMEOUT, what="the first leads")
    other = in_pod(c, "replica-1", found)
    replicas = [leader, other]
    for p in replicas:
        probes_pass(p, deploy.container(found["Deployment", "berth"]))
    schedule_some(c)
    for p in replicas:
        equal([curl(p, "/metrics", token) for token in (None, nobody, reader)], [403, 403, 200])
        equal(curl(p, "/metrics/resources", reader), 200)
        equal([curl(p, "/healthz"), curl(p, "/configz", reader)], [200, 403])
    berth.stop(leader)
    # The other replica takes over.
    berth.add_pods(c, make_pod("late", scheduler_name="berth"))
    wait_bound(c, "late")
    check(lease(c, "berth") != holder, "another holds the lease")
    berth.stop(other)
    compare_with_audit(c, found)


def compare_with_audit(c, found):
    requests = deploy.asked(c, ACCOUNT)
    may = rights(*roles_of(found)) | {
        Right("", "configmaps", verb, "extension-apiserver-authentication")
        for verb in ("get", "list", "watch")}
    equal(sorted(r for r, code in requests if code in (401, 403)), [], "refused")
    equal(sorted(r for r, _ in requests if not allowed(r, may)), [], "not in the roles")
    used = {right for right in may for r, _ in requests if r in (right, right._replace(name=r.name))}
    for needed in (("pods/binding", "create"), ("pods/status", "patch"), ("pods", "delete")):
        check(Right("", *needed, "") in used, f"the audit log has no {needed}")
    note("allowed, but not used in this test: " +
         ", ".join(f"{r.verb} {r.resource}" for r in sorted(may - used)))


@test
def every_configuration_is_valid(c):
    forms = all_forms(c)
    forms["helm"] = deploy.template()
    forms["helm with profiles"] = deploy.template("--set", "config.profiles[0].schedulerName=x")
    for what, text in forms.items():
        found = objects(c, text)
        (config,) = [o["data"] for (kind, _), o in found.items() if kind == "ConfigMap"]
        done = berth.run("config", "validate", "-", input=config["config.yaml"])
        equal(done.code, 0, f"{what}: {done.err}")
        contains(done.out, "valid KubeSchedulerConfiguration kubescheduler.config.k8s.io/v1")


# ---- Helm ----------------------------------------------------------------------------------------

@test
def helm_lints_the_chart(c):
    contains(deploy.helm("lint", "--strict", deploy.path("helm/berth")), "0 chart(s) failed")
    contains(deploy.helm("template", "berth", deploy.path("helm/berth"), "--kube-version=1.20.0",
                         ok=False), "incompatible")


def without_labels(o):
    """An object without the labels that differ between the ways of installing it."""
    if isinstance(o, dict):
        return {k: without_labels(v) for k, v in o.items()
                if k not in ("labels", "matchLabels", "imagePullPolicy") and v is not None
                and not (k == "selector" and o.get("ports"))}
    return [without_labels(v) for v in o] if isinstance(o, list) else o


@test
def the_chart_installs_what_the_files_do(c):
    chart, files = objects(c, deploy.template()), second(c)
    del chart["Pod", "berth-test"]      # of `helm test`
    equal(sorted(chart), sorted(files))
    for key in files:
        if key[0] != "ConfigMap":
            equal(without_labels(chart[key]), without_labels(files[key]), key)
    (deployment,) = [o for (kind, _), o in chart.items() if kind == "Deployment"]
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    for key, value in deployment["spec"]["selector"]["matchLabels"].items():
        equal(labels[key], value, key)


@test
def the_chart_follows_its_values(c):
    c.kubectl("create", "namespace", "elsewhere")
    candidates = rights(objects(c, deploy.template(
        "--set", "featureGates.CoordinatedLeaderElection=true"))["Role", "berth-leader-election"])
    equal(sorted(r.verb for r in candidates if r.resource == "leasecandidates"),
          ["create", "list", "update", "watch"])
    text = deploy.template(
        "--set", "schedulerName=packer", "--set", "replicaCount=3",
        "--set", "featureGates.GenericWorkload=true", "--set", "logFormat=json",
        "--set", "config.percentageOfNodesToScore=50", "--set", "extraArgs={--leader-elect-lease-duration=20s}",
        "--set", "podDisruptionBudget.enabled=false", "--set", "nodeSelector.disk=ssd",
        "--set", "tolerations[0].operator=Exists", "--set", "rbac.extraRules[0].verbs={get}",
        "--set", "rbac.extraRules[0].apiGroups={example.com}",
        "--set", "rbac.extraRules[0].resources={things}", "--set-string", "image.tag=9",
        release="mine", namespace="elsewhere")
    said = c.kubectl("apply", "--server-side", "--dry-run=server", "-f", "-", input=text)
    equal(said.count("serverside-applied"), 10, said)
    found = objects(c, text)
    deployment = found["Deployment", "mine-berth"]
    container = deploy.container(deployment)
    equal(deployment["spec"]["replicas"], 3)
    equal(container["image"], "berth:9")
    equal(container["command"][2:],
          ["--config=/etc/berth/config.yaml", "--v=2", "--logging-format=json",
           "--feature-gates=GenericWorkload=true", "--leader-elect-lease-duration=20s"])
    check(("PodDisruptionBudget", "mine-berth") not in found, "no budget")
    config = found["ConfigMap", "mine-berth"]["data"]["config.yaml"]
    contains(config, "schedulerName: packer", "percentageOfNodesToScore: 50",
             "resourceName: mine-berth", "resourceNamespace: elsewhere")
    check(allowed(Right("coordination.k8s.io", "leases", "update", "mine-berth"),
                  rights(found["Role", "mine-berth-leader-election"])), "its own lease")
    check(allowed(Right("example.com", "things", "get", ""),
                  rights(found["ClusterRole", "mine-berth"])), "another rule")
    equal(found["RoleBinding", "mine-berth-authentication-reader"]["metadata"]["namespace"], NAMESPACE)
    equal(found["Pod", "mine-berth-test"]["spec"]["schedulerName"], "packer")
    # Its flags exist.
    done = berth.run(*container["command"][1:], "--version")
    equal((done.code, done.out), (0, "Kubernetes v1.36.3\n"), done.err)


@test
def helm_installs_upgrades_and_takes_away(c):
    chart = deploy.path("helm/berth")
    place = ("--namespace", "berth-system")
    deploy.helm("install", "b", chart, "--create-namespace", *place, cluster=c)
    account = "system:serviceaccount:berth-system:b-berth"
    lease_of = "leases.coordination.k8s.io/b-berth"
    check(can_i(c, "create", "pods", "--subresource=binding", "-A", user=account), "may bind")
    check(can_i(c, "update", lease_of, "-n", "berth-system", user=account), "may lead")
    check(not can_i(c, "update", lease_of, "-n", NAMESPACE, user=account), "may lead elsewhere")
    deploy.helm("upgrade", "b", chart, "--set", "schedulerName=other", *place, cluster=c)
    contains(c.kubectl("-n", "berth-system", "get", "configmap", "b-berth", "-o", "yaml"),
             "schedulerName: other")
    deploy.helm("uninstall", "b", *place, cluster=c)
    left = c.kubectl("get", "clusterrole,clusterrolebinding,role,rolebinding,deployment,configmap,sa",
                     "-A", "-l", "app.kubernetes.io/instance=b", "-o", "name")
    equal(left, "")


@test
def the_chart_refuses_values_that_make_no_sense(c):
    for value in ("replicaCount=two", "replicaCount=-1", "image.pullPolicy=Sometimes", "imagee.tag=1",
                  "logFormat=xml", "featureGates.X=maybe", "verbosity=loud", "schedulerName=",
                  "config.apiVersion=v1", "extraArgs={leader-elect}", "service.port=1"):
        contains(deploy.template("--set", value, ok=False), "values don't meet the specifications")


# ---- other files ---------------------------------------------------------------------------------

@test
def the_unit_starts_what_it_says(c):
    unit = deploy.read("systemd/berth.service").replace("\\\n", " ")
    (line,) = re.findall(r"^ExecStart=(.*)$", unit, re.M)
    words = line.replace("%d/kubeconfig", c.scheduler_kubeconfig).replace("$BERTH_FLAGS", "").split()
    equal(words[:2], ["/usr/local/bin/berth", "scheduler"])
    done = berth.run(*words[1:], "--version")
    equal((done.code, done.out), (0, "Kubernetes v1.36.3\n"), done.err)
    p = berth.start(c, *words[2:], "--leader-elect=false")
    wait_for(lambda: curl(p, "/readyz") == 200, berth.TIMEOUT, what="it is ready")
    # `systemctl reload` is harmless if there is no file to reload.
    contains(unit, "\nExecReload=/bin/kill -HUP $MAINPID\n")
    p.signal(signal.SIGHUP)
    wait_for(lambda: "SIGHUP" in p.text(), berth.TIMEOUT, what="SIGHUP is noticed")
    check(p.running(), "it has ended")
    with open(os.path.join(c.dir, "berth.service"), "w") as f:
        f.write(unit.replace("/usr/local/bin/berth", "/bin/true").replace("man:", "file:/"))
    try:
        done = subprocess.run(["systemd-analyze", "verify", f.name], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except FileNotFoundError:
        skip("systemd is not installed")
    equal([row for row in done.stdout.split("\n") if "berth.service" in row], [])


# The commands that the text tells users to type: run, or why not here.
NOT_HERE = ("docker buildx ", "mv /etc/", "cp /etc/", "make install", "systemctl ",
            "kubectl -n kube-system rollout status ",
            "berth explain ")   # needs a scheduler in a pod: test_explain.py


@test
def what_the_readme_tells_to_type_works(c):
    text = deploy.read("README.md")
    c.kubectl("create", "namespace", "monitoring")
    for name, body in (("old.yaml", "bin-packing"), ("new.yaml", "bin-packing")):
        found = objects(c, deploy.kustomize(c, "overlays", body))
        with open(os.path.join(c.dir, name), "w") as f:
            f.write(found["ConfigMap", "berth"]["data"]["config.yaml"])
    c.create(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases",
             {"metadata": {"name": "kube-scheduler"}, "spec": {"holderIdentity": "somebody"}})
    c.create(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases",
             {"metadata": {"name": "berth"}})
    os.chdir(berth.ROOT)
    commands = re.findall(r"^ {4,}([a-z]+ .*)$", text, re.M)
    commands += [m for m in re.findall(r"`([a-z]+ [^`]*)`", text)
                 if m.startswith(("kubectl ", "berth config validate new"))]
    check(len(commands) > 15, commands)
    # Before the other way to install the same objects, which Helm would not adopt.
    commands.sort(key=lambda line: not line.startswith("helm "))
    for line in commands:
        words = shlex.split(line)
        if line.startswith(NOT_HERE):
            continue
        if words[0] == "helm":
            deploy.helm(*words[1:], "--dry-run=server", cluster=c)
        elif words[0] == "kubectl":
            note(line)
            c.kubectl(*words[1:])
        else:
            equal(words[:2], ["berth", "config"], line)
            equal(berth.run(*words[1:3], *[os.path.join(c.dir, w) for w in words[3:]]).code, 0, line)
    links = re.findall(r"\]\(([^)]+)\)", text)
    for target in links:
        check(os.path.exists(deploy.path(target)), target)


# ---- cleanup -------------------------------------------------------------------------------------

def after(c):
    """Removes the test's objects."""
    try:
        berth.reset(c)
    finally:
        c.kubectl("delete", "--ignore-not-found", "--wait=false", "-f",
                  deploy.path("second-scheduler/berth.yaml"))
        for kind, names in (("priorityclass", "first"), ("clusterrole", "metrics-reader"), ("serviceaccount", "monitor,nobody"),
                            ("clusterrolebinding", "monitor,prometheus-reads-metrics")):
            c.kubectl("delete", kind, *names.split(","), "--ignore-not-found")


if __name__ == "__main__":
    main(fixture=cluster, after=after)
