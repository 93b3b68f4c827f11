#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/golden/old-configs: how the last releases that read them interpreted older
configuration files, Policies and flags (cases: old_config_cases.py).

Each release is built from its Go module, with a program that runs its code (cmd/oldconfig); that
takes some minutes the first time. A module proxy must be reachable.

A golden file is a list of {input, ...}. The result of an input is plugins (per profile and
extension point, name=weight in order), args (per profile and plugin) and fields (everything else),
or error. The first entry is complete, later ones have the differences from it: null stands for
absent. The result of flags is a few lines of the release's --write-config-to.
"""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))

import old_config_cases as cases  # noqa: E402
from config_text import KUBECONFIG, head  # noqa: E402

GOLDEN = os.path.join(HERE, "..", "golden", "old-configs")
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")), "berth", "old")
RELEASE = {"v1beta1": "v1.22.17", "v1beta2": "v1.27.16", "v1beta3": "v1.27.16", "policy": "v1.22.17"}
# The libraries beside a release; the proxy does not have all of v0.27.16.
LIBRARIES = {"v1.21.14": "v0.21.14", "v1.22.17": "v0.22.17", "v1.27.16": "v0.27.15"}


# ---- the releases --------------------------------------------------------------------------------

def go(*arguments, cwd):
    program = subprocess.run([os.path.join(HERE, "..", "lib", "go.sh")], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.strip()
    environment = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "GOWORK": "off",
                   "GONOSUMDB": "*", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    return subprocess.run([program, *arguments], check=True, text=True, cwd=cwd, env=environment,
                          stdout=subprocess.PIPE).stdout


def unpack(release):
    """The release's module as a folder, with its staging modules from the proxy."""
    folder = os.path.join(CACHE, release)
    if os.path.exists(os.path.join(folder, "go.sum")):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as empty:
        found = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@{release}", cwd=empty))
    shutil.copytree(found["Dir"], folder, copy_function=shutil.copyfile)
    for path, _, _ in os.walk(folder):
        os.chmod(path, 0o755)
    shutil.rmtree(os.path.join(folder, "vendor"), ignore_errors=True)
    os.unlink(os.path.join(folder, "go.sum"))
    path = os.path.join(folder, "go.mod")
    with open(path) as f:
        text = f.read()
    with open(path, "w") as f:
        f.write(re.sub(r"=> \./staging/src/(k8s\.io/\S+)", rf"=> \1 {LIBRARIES[release]}", text))
    return folder


def program(release, name="oldconfig"):
    """oldconfig inside that release, or its own kube-scheduler."""
    made = os.path.join(CACHE, f"{name}-{release}")
    source = os.path.join(HERE, "cmd", "oldconfig", "main.go")
    if os.path.exists(made) and os.path.getmtime(made) > os.path.getmtime(source):
        return made
    folder = unpack(release)
    os.makedirs(os.path.join(folder, "cmd", "oldconfig"), exist_ok=True)
    shutil.copyfile(source, os.path.join(folder, "cmd", "oldconfig", "main.go"))
    version = "k8s.io/component-base/version"
    stamps = " ".join(f"-X {version}.{k}={v}" for k, v in {
        "gitVersion": release, "gitMajor": "1", "gitMinor": release.split(".")[1]}.items())
    go("build", "-tags=oldconfig", f"-ldflags=-checklinkname=0 {stamps}", "-o", made,
       f"./cmd/{name}", cwd=folder)
    return made


# ---- running -------------------------------------------------------------------------------------

class Folder:
    """Files for the program to read; paths are removed from its answers."""

    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.kubeconfig = self.write("kubeconfig", KUBECONFIG)
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def write(self, name, text):
        path = os.path.join(self.dir.name, name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def ask(self, release, flags):
        done = subprocess.run([program(release)], input=json.dumps(flags), text=True, check=True,
                              stdout=subprocess.PIPE)
        text = done.stdout.replace(self.dir.name + "/", "")
        return json.loads(re.sub(r"\b0x[0-9a-f]{6,}", "0x…", text))


def result(answer):
    """Of one answer: plugins, args, fields or error."""
    if "error" in answer:
        # An excerpt of the file follows, cut anywhere.
        return {"error": re.sub(r", error found in #.*", "", answer["error"], flags=re.S)}
    fields = answer["config"]
    arguments = {}
    for profile in fields.pop("profiles"):
        arguments[profile["schedulerName"]] = {
            e["name"]: {k: v for k, v in (e.get("args") or {}).items()
                        if k not in ("kind", "apiVersion")}
            for e in profile.get("pluginConfig", [])}
    for name in ("kind", "apiVersion"):
        fields.pop(name)
    fields["clientConnection"].pop("kubeconfig")
    return {"plugins": answer["plugins"], "args": arguments, "fields": fields}


def changes(base, this):
    """this without what base also has; None for what only base has."""
    found = {k: v for k, v in this.items() if k not in base or base[k] != v}
    return {**found, **{k: None for k in base if k not in this}}


def shorten(base, this):
    if "error" in this:
        return this
    found = {"fields": changes(base["fields"], this["fields"])}
    for part in ("plugins", "args"):
        usual = next(iter(base[part].values()))
        found[part] = {name: changes(usual, of) for name, of in this[part].items()}
    return {part: found[part] for part in ("plugins", "args", "fields") if found[part]}


def write(name, inputs, answers):
    results = [result(a) for a in answers]
    rows = [{"input": inputs[0], **results[0]}] + [
        {"input": i, **shorten(results[0], r)} for i, r in zip(inputs[1:], results[1:])]
    refused = sum("error" in r for r in results)
    with open(os.path.join(GOLDEN, f"{name}.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, ensure_ascii=False) for r in rows) + "\n]\n")
    print(f"{name} by {RELEASE[name]}: {len(rows)} inputs, {refused} refused", file=sys.stderr)


def write_version(folder, version):
    flags = []
    for i, text in enumerate(cases.VERSIONS[version]):
        text = text.replace("VERSION", version)
        if "clientConnection" not in text:
            text += "\nclientConnection: {kubeconfig: '@'}"
        path = folder.write(f"{version}-{i}.yaml",
                            head(version) + text.replace("@", folder.kubeconfig) + "\n")
        flags.append([f"--config={path}", "--secure-port=0"])
    inputs = [text.replace("VERSION", version) for text in cases.VERSIONS[version]]
    write(version, inputs, folder.ask(RELEASE[version], flags))


def write_policies(folder):
    # v1beta1 can express everything in a Policy.
    config = folder.write("config.yaml", head("v1beta1") +
                          f"clientConnection: {{kubeconfig: {folder.kubeconfig}}}\n")
    flags = []
    for i, policy in enumerate(cases.POLICIES):
        path = folder.write(f"policy-{i}.json", policy)
        flags.append([f"--config={config}", f"--policy-config-file={path}", "--secure-port=0"])
    write("policy", cases.POLICIES, folder.ask(RELEASE["policy"], flags))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def run_flags(folder, release, flags):
    """The release's answer to flags: its error, or lines of the configuration it writes."""
    for name, text in cases.FLAG_FILES.items():
        folder.write(name, text.replace("PORT", str(free_port())).replace("@", folder.kubeconfig))
    arguments = [f.replace("@", folder.dir.name + "/") for f in flags]
    served = any(f.startswith(("--port", "--config")) for f in flags)
    given = any(f.startswith("--config") for f in flags)
    out = os.path.join(folder.dir.name, "out.yaml")
    done = subprocess.run(
        [program(release, "kube-scheduler"), "--secure-port=0", f"--write-config-to={out}"] +
        ([] if given else [f"--kubeconfig={folder.kubeconfig}"]) +
        ([] if served else ["--port=0"]) + arguments, text=True, stderr=subprocess.PIPE, timeout=60)
    if done.returncode:
        lines = done.stderr.strip().replace(folder.dir.name + "/", "").split("\n")
        return {"error": next(line for line in lines + [""] if not line.startswith("Flag --"))}
    with open(out) as f:
        text = f.read()
    os.unlink(out)
    said = {key: re.findall(rf"^ +{key}: (.*)$", text, re.M)[0] for key in (
        "schedulerName", "resourceName", "resourceNamespace", "hardPodAffinityWeight")
            if re.search(rf"^ +{key}: ", text, re.M)}
    return {**said, "ofPolicy": "weight: 17" in text, "packs": "NodeResourcesMostAllocated" in text,
            "ImageLocality": "name: ImageLocality" in text}


def write_flags(folder):
    rows = [{"release": release, "flags": flags, **run_flags(folder, release, flags)}
            for release, all_flags in cases.FLAGS.items() for flags in all_flags]
    with open(os.path.join(GOLDEN, "flags.json"), "w") as f:
        f.write('{"files": ' + json.dumps(cases.FLAG_FILES, indent=1) + ',\n"rows": [\n' +
                ",\n".join(json.dumps(r) for r in rows) + "\n]}\n")
    print(f"flags: {len(rows)} rows, {sum('error' in r for r in rows)} refused", file=sys.stderr)


def main():
    os.makedirs(CACHE, exist_ok=True)
    os.makedirs(GOLDEN, exist_ok=True)
    wanted = sys.argv[1:] or list(RELEASE) + ["flags"]
    with Folder() as folder:
        for name in wanted:
            if name == "policy":
                write_policies(folder)
            elif name == "flags":
                write_flags(folder)
            else:
                write_version(folder, name)


if __name__ == "__main__":
    main()
