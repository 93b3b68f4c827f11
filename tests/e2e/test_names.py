#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The name of the program: as `berth` it has commands; a copy or link of any other name, started
with flags only, is the scheduler, for guides that name their own scheduler."""

import os
import shutil
import subprocess
import tempfile

import berth
from config_text import KUBECONFIG, head
from tap import check, contains, equal, main, test

FORMS = {"symlink": os.symlink, "hard link": os.link, "copy": shutil.copy}
NAMES = ("my-scheduler", "berth2", "kube-scheduler", "a scheduler with spaces", "scheduler", "simulate")


class Folder:
    """A folder on the file system of the program, where hard links can be made."""

    def __enter__(self):
        *self.prefix, self.program = berth.command()
        self.dir = tempfile.TemporaryDirectory(dir=os.path.dirname(self.program), prefix="names of ")
        self.kubeconfig = self.write("kubeconfig", KUBECONFIG)
        self.config = self.write("config.yaml", head("v1") +
                                 f"clientConnection: {{kubeconfig: '{self.kubeconfig}'}}\n")
        return self

    def __exit__(self, *_):
        self.dir.cleanup()

    def path(self, *parts):
        return os.path.join(self.dir.name, *parts)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)

    def named(self, name, form="symlink"):
        at = self.path(form)
        os.makedirs(at, exist_ok=True)
        path = os.path.join(at, name)
        if not os.path.lexists(path):
            FORMS[form](self.program, path)
        return path

    def run(self, path, *arguments, **more):
        env = {k: v for k, v in berth.environment().items() if not k.startswith("KUBERNETES_")}
        done = subprocess.run(self.prefix + [path, *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=berth.TIMEOUT, env=env, **more)
        check(not berth.SANITIZER_FOUND.search(done.stderr), done.stderr)
        return done


@test
def every_other_name_with_flags_is_the_scheduler(f):
    for form in FORMS:
        for name in NAMES:
            path, out = f.named(name, form), f.path("out.yaml")
            done = f.run(path, "--version")
            equal((done.returncode, done.stdout[:16]), (0, "Kubernetes v1.36"), f"{form} {name}")
            done = f.run(path, f"--config={f.config}", "--write-config-to", out)
            equal(done.returncode, 0, f"exit code of the {form} {name}: {done.stderr}")
            with open(out) as written:
                contains(written.read(), "kind: KubeSchedulerConfiguration\n")
            os.unlink(out)
            if form == "copy":
                os.unlink(path)


@test
def its_help_is_the_schedulers_and_shows_its_name(f):
    for name in NAMES:
        for flag in ("--help", "-h"):
            done = f.run(f.named(name), flag)
            equal(done.returncode, 0, "exit code")
            contains(done.stdout, f"Usage:\n  {name} [flags]\n", f"  {name} --kubeconfig ", "--leader-elect")
    done = f.run(f.named("my-scheduler"), "--nonsense")
    equal(done.returncode, 1, "exit code, which is kube-scheduler's")
    contains(done.stderr, "Usage:\n  my-scheduler [flags]\n", "Error: unknown flag: --nonsense\n")


@test
def without_arguments_it_runs(f):
    """It finds no cluster here, and reports that as kube-scheduler does."""
    for name in ("my-scheduler", "kube-scheduler"):
        done = f.run(f.named(name), cwd=f.dir.name)
        equal((done.returncode, done.stdout), (1, ""), name)
        contains(done.stderr, '"command failed" err=')


@test
def commands_work_under_every_name_but_kube_schedulers(f):
    for name in set(NAMES) - {"kube-scheduler"}:
        done = f.run(f.named(name), "config", "validate", f.config)
        equal((done.returncode, done.stderr), (0, ""), name)
        done = f.run(f.named(name), "nonsense")
        equal((done.returncode, done.stdout), (2, ""), name)
        contains(done.stderr, 'unknown command "nonsense"')
    done = f.run(f.named("kube-scheduler"), "config", "validate", f.config)
    equal((done.returncode, done.stdout), (1, ""), "kube-scheduler")
    contains(done.stderr, 'Error: "kube-scheduler" does not take any arguments, got ["config" ')


@test
def berth_itself_wants_a_command(f):
    for form in FORMS:
        path = f.named("berth", form)
        equal(f.run(path).returncode, 2, "exit code without arguments")
        done = f.run(path, f"--config={f.config}")
        equal((done.returncode, done.stdout), (2, ""), "exit code with a flag of the scheduler")
        contains(f.run(path, "--help").stdout, "Usage: berth COMMAND")
        contains(f.run(path, "--version").stdout, "berth ")


if __name__ == "__main__":
    main(fixture=Folder)
