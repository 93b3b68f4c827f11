# SPDX-License-Identifier: Apache-2.0
"""Runs berth and the real kube-scheduler on configuration files: both write the effective
configuration with --write-config-to, or report why they reject the file."""

import json
import os
import re
import tempfile

import berth
import recall
from berth import check, equal
from cluster import programs
from config_text import KUBECONFIG, head

HEAD = head("v1")


# ---- running both --------------------------------------------------------------------------------

class Both:
    def __enter__(self):
        self.dir = tempfile.TemporaryDirectory()
        self.kubeconfig = self.write("kubeconfig", KUBECONFIG)
        self.kube = os.path.join(programs(), "kube-scheduler")
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def write(self, name, text):
        path = self.path(name)
        with open(path, "w") as f:
            f.write(text)
        return path

    def config(self, text):
        if "clientConnection" not in text:
            text = text + "\nclientConnection: {kubeconfig: @}"
        return self.write("config.yaml", HEAD + text.replace("@", self.kubeconfig) + "\n")

    def arguments(self, config):
        self.out = os.path.join(self.dir.name, "out.yaml")
        if os.path.exists(self.out):
            os.unlink(self.out)
        return [f"--config={config}", f"--write-config-to={self.out}", "--secure-port=0"]

    def written(self):
        with open(self.out) as f:
            return f.read()

    def kube_scheduler(self, config, *flags):
        """The configuration it wrote, or None and its error."""
        done = recall.run([self.kube] + self.arguments(config) + list(flags), self.dir.name, ["out.yaml"],
                          berth.TIMEOUT)
        if done.returncode == 0:
            return self.written(), ""
        found = re.search(r'"command failed" err=("(?:[^"\\]|\\.)*"|<\n.*?\n >)', done.stderr, re.S)
        check(found, f"kube-scheduler's error: {done.stderr}")
        error = found.group(1)
        return None, json.loads(error) if error.startswith('"') else error

    def berth(self, config, *flags):
        done = berth.run("scheduler", *self.arguments(config), *flags)
        if done.code == 0:
            return self.written(), ""
        equal(done.code, 1, f"exit code; it said {done.err!r}")
        return None, done.err[max(0, done.err.find("berth: ")):]


# The two report it from different places, and berth adds advice.
ROUTES = re.compile(r"^(initializing profiles: |creating profile for scheduler name \S+: |"
                    r"berth: |\S*config\.yaml:(\d+:)? |profiles\[\d+\]: |"
                    r"profiles\[\d+\]\.plugins\.\w+(\.enabled\[\d+\])?: (?!Invalid))")
HINT = re.compile(r" \((?:did you mean|it extends|it is not a plugin|use \w+ instead)[^()]*\)$")


def essence(error):
    """The parts of an error, sorted: upstream reports some in the order of a Go map."""
    lines = error.strip().split("\nberth: ")
    if len(lines) > 1:
        return sorted(part for line in lines for part in essence(line))
    error = HINT.sub("", lines[0])
    while ROUTES.match(error):
        error = ROUTES.sub("", error)
    if error.startswith("["):
        error = error[1:-1]
    return sorted(re.split(r", (?=[a-zA-Z]+(?:\[|\.|: | is enabled, ))", error))
