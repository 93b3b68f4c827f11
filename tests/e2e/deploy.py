# SPDX-License-Identifier: Apache-2.0
"""The contents of deploy/ as data; the image as a folder to run programs in; effective rights."""

import collections
import json
import os
import re
import shutil
import subprocess

import berth
from berth import Process, free_port
from tap import check, show_log, skip

DEPLOY = os.path.join(berth.ROOT, "deploy")
NAMESPACE = "kube-system"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:berth"


def path(*parts):
    return os.path.join(DEPLOY, *parts)


def read(*parts):
    with open(path(*parts)) as f:
        return f.read()


def version():
    with open(os.path.join(berth.ROOT, "Makefile")) as f:
        return re.search(r"^VERSION := (\S+)", f.read(), re.M)[1]


# ---- objects -------------------------------------------------------------------------------------

def objects(c, text):
    """The objects of a YAML text, by (kind, name)."""
    said = c.kubectl("create", "--dry-run=client", "--validate=false", "-o", "json", "-f", "-",
                     input=text)
    found, at, decoder = {}, 0, json.JSONDecoder()
    while at < len(said):
        one, at = decoder.raw_decode(said, at)
        while at < len(said) and said[at].isspace():
            at += 1
        for o in one["items"] if one["kind"] == "List" else [one]:
            found[o["kind"], o["metadata"]["name"]] = o
    return found


def kustomize(c, *parts):
    return c.kubectl("kustomize", path("kustomize", *parts))


def container(o):
    return (o["spec"] if o["kind"] == "Pod" else o["spec"]["template"]["spec"])["containers"][0]


# ---- Helm ----------------------------------------------------------------------------------------

def helm(*args, ok=True, cluster=None):
    """Helm's output; of a call that must fail, its error."""
    built = subprocess.run([os.path.join(berth.ROOT, "tests/helm/build.sh")], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if built.returncode != 0:
        skip("Helm cannot be built here: " + built.stderr.strip().split("\n")[-1])
    done = subprocess.run([built.stdout.strip(), *args], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=berth.TIMEOUT, cwd=berth.ROOT,
                          env=cluster.environment() if cluster else None)
    check((done.returncode == 0) == ok, f"helm {args}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout if ok else done.stderr


def template(*args, release="berth", namespace=NAMESPACE, **more):
    return helm("template", release, path("helm", "berth"), "--namespace", namespace,
                "--kube-version=1.36.3", *args, **more)


# ---- rights --------------------------------------------------------------------------------------

Right = collections.namedtuple("Right", "group resource verb name")


def rights(*roles):
    """Everything that the rules of these roles allow, one by one. No name: any."""
    return {Right(group, resource, verb, name)
            for role in roles for rule in role["rules"]
            for group in rule["apiGroups"] for resource in rule["resources"]
            for verb in rule["verbs"] for name in rule.get("resourceNames", [""])}


def allowed(right, by):
    return right in by or right._replace(name="") in by


def asked(c, user):
    """(Right, HTTP code) of every request of this user, according to the audit log."""
    found = set()
    with open(os.path.join(c.dir, "audit.log")) as f:
        for line in f:
            entry = json.loads(line)
            if entry["user"]["username"] != user or "objectRef" not in entry:
                continue
            ref = entry["objectRef"]
            resource = "/".join(filter(None, (ref["resource"], ref.get("subresource"))))
            found.add((Right(ref.get("apiGroup", ""), resource, entry["verb"],
                             ref.get("name", "")), entry["responseStatus"]["code"]))
    return found


# ---- the image -----------------------------------------------------------------------------------

class Image:
    """The files of the image in a folder, laid out by the script that the Dockerfile runs."""

    def __init__(self, at):
        if os.geteuid() != 0:
            skip("only root may chroot")
        # The program without sanitizers, which would need /proc and more libraries.
        program = os.path.join(berth.ROOT, "build", "berth")
        check(os.path.exists(program), "build/berth is not built: run make first")
        self.dir = at
        shutil.rmtree(at, ignore_errors=True)
        triple = subprocess.run(["gcc", "-dumpmachine"], stdout=subprocess.PIPE, text=True,
                                check=True).stdout.strip()
        subprocess.run([path("image", "layout.sh"), program, triple, at], check=True)
        os.chmod(at, 0o755)
        self.clean = self.files()

    def files(self):
        return sorted(os.path.relpath(os.path.join(d, f), self.dir)
                      for d, _, names in os.walk(self.dir) for f in names)

    def write(self, where, text, mode=0o644, owner=0):
        """Writes a file of the image, as a mount would provide it."""
        to = os.path.join(self.dir, where.lstrip("/"))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(to, "w") as f:
            f.write(text)
        os.chmod(to, mode)
        os.chown(to, owner, owner)

    def argv(self, command, user):
        """argv as a container runtime starts it: found by the image's PATH, as this user."""
        found = re.search(r"^ENV PATH=(\S+)", read("Dockerfile"), re.M)[1]
        return ["env", "-i", f"PATH={found}", *self.env, "/usr/sbin/chroot",
                f"--userspec={user}:{user}", self.dir, *command]

    env = ()

    def run(self, *command, user=65532):
        done = subprocess.run(self.argv(command, user), text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=berth.TIMEOUT)
        return berth.Done(done)

    def start(self, c, command, user, name):
        """Starts the command with its own port, since several run on this machine."""
        port = free_port()
        log = os.path.join(c.dir, name + ".log")
        p = Process(name, self.argv([*command, f"--secure-port={port}"], user), log)
        p.port, p.killed = port, False
        c.children.append(p)
        show_log(log)
        return p
