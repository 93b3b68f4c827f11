#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages, completion and `make install` match the command line.

The reference for flags is `--help` of each command; manual pages are checked by mandoc and groff,
completion scripts by their shells.
"""

import os
import re
import shutil
import subprocess
import tempfile

import berth
from tap import check, contains, equal, main, skip, test
from terminal import type_into

COMMANDS = ("scheduler", "up", "simulate", "explain", "config", "plugin", "bench", "completion")
SHELLS = ("bash", "zsh", "fish")


def sh(*argv, input=None, env=None, cwd=None):
    done = subprocess.run([str(a) for a in argv], input=input, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=env, cwd=cwd, timeout=berth.TIMEOUT)
    check(done.returncode == 0, f"{argv}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout + done.stderr


def needs(program):
    if not shutil.which(program):
        skip(f"{program} is not installed")


def flags_of_help(command):
    """{"--name": "-n" or None} of the flags that help lists."""
    found = re.findall(r"^  (?:(-\w), |    )(--[a-z0-9-]+)", berth.run(command, "--help").out, re.M)
    check(found, f"no flags in the help of {command}")
    return {name: letter or None for letter, name in found}


class Installed:
    """The tree of `make install`, in a temporary folder. The program in it is the one under
    test."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="berth-install-")
        build = os.path.join(self.dir, "build")
        os.mkdir(build)
        with open(os.path.join(build, "berth"), "w") as f:
            f.write("#!/bin/sh\nexec " + " ".join(berth.command()) + ' "$@"\n')
        os.chmod(os.path.join(build, "berth"), 0o755)
        os.mkdir(os.path.join(build, "lib"))
        for name in ("libberth.a", "libberth.so.1"):
            open(os.path.join(build, "lib", name), "w").close()
        # -o: do not build the program and the libraries here; test_sdk.py has them.
        sh("make", "-C", berth.ROOT, "--no-print-directory", "install-kube-scheduler",
           f"BUILD={build}", "-o", f"{build}/berth", "-o", "all", "-o", "libs", f"DESTDIR={self.dir}/to",
           "PREFIX=/opt/berth", env={**berth.environment(), "MAKEFLAGS": "", "MAKELEVEL": ""})
        self.to = os.path.join(self.dir, "to", "opt", "berth")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)

    def path(self, *parts):
        return os.path.join(self.to, *parts)

    def page(self, command):
        section = 8 if command == "scheduler" else 1
        name = f"berth-{command}" if command else "berth"
        return self.path(f"share/man/man{section}/{name}.{section}")


# ---- make install --------------------------------------------------------------------------------

@test
def make_install_puts_everything_in_its_place(i):
    found = sorted(os.path.relpath(os.path.join(at, f), i.to)
                   for at, _, files in os.walk(i.to) for f in files)
    equal(found, sorted([
        "bin/berth", "bin/kube-scheduler", "include/berth/extender.h", "include/berth/plugin.h",
        "include/berth/scheduler.h", "lib/libberth.a", "lib/libberth.so", "lib/libberth.so.1",
        "lib/pkgconfig/berth.pc",
        "lib/systemd/system/berth.service",
        "share/bash-completion/completions/berth",
        "share/bash-completion/completions/kube-scheduler",
        "share/fish/vendor_completions.d/berth.fish",
        "share/fish/vendor_completions.d/kube-scheduler.fish",
        "share/man/man1/berth-bench.1", "share/man/man1/berth-completion.1",
        "share/man/man1/berth-config.1", "share/man/man1/berth-explain.1",
        "share/man/man1/berth-plugin.1", "share/man/man1/berth-simulate.1", "share/man/man1/berth-up.1",
        "share/man/man1/berth.1", "share/man/man8/berth-scheduler.8",
        "share/man/man8/kube-scheduler.8", "share/zsh/site-functions/_berth"]))
    contains(sh(i.path("bin/kube-scheduler"), "--version"), "Kubernetes v1.36")
    with open(i.path("lib/systemd/system/berth.service")) as f:
        contains(f.read(), "ExecStart=/opt/berth/bin/berth scheduler ")


# ---- manual pages --------------------------------------------------------------------------------

def flags_of_page(path):
    """The flags that head an entry of a list."""
    with open(path) as f:
        rows = re.findall(r"^\.It (?:Fl (\w) , )?Fl \\-(\S+)", f.read(), re.M)
    return {"--" + name.replace("\\-", "-"): "-" + letter if letter else None
            for letter, name in rows}


@test
def pages_have_the_flags_of_help_and_no_others(i):
    for command in COMMANDS:
        equal(flags_of_page(i.page(command)), flags_of_help(command), command)
    equal(flags_of_page(i.page("")), {"--help": "-h", "--version": None}, "berth")


@test
def every_command_has_a_page_that_berth_1_names(i):
    listed = re.findall(r"^  (\w+)  +\S", berth.run("--help").out, re.M)
    equal(tuple(listed), COMMANDS, "commands of help")
    with open(i.page("")) as f:
        text = f.read()
    for command in COMMANDS:
        contains(text, f".It Cm {command}\n", f".Xr berth-{command} ")


@test
def mandoc_and_groff_have_nothing_to_complain(i):
    pages = [i.page(command) for command in ("", *COMMANDS)]
    for page in pages:
        if shutil.which("groff"):
            equal(sh("groff", "-mandoc", "-Tutf8", "-ww", "-z", page), "", page)
    needs("mandoc")
    for page in pages:
        equal(sh("mandoc", "-T", "lint", "-W", "warning", page), "", page)
    text = re.sub(r".\x08", "", sh("mandoc", "-T", "utf8", i.page("scheduler")))
    contains(text, "--leader-elect-lease-duration=duration", "The default is 15s.",
             "kube:GenericWorkload=true|false", "berth(1)")


# ---- completion: bash ----------------------------------------------------------------------------

def script(shell):
    return berth.run("completion", shell).out


def complete(line, cwd=None):
    """The completions that bash gets for this line, with the cursor at its end."""
    program = script("bash") + f"""
        COMP_LINE={quoted(line)}
        COMP_POINT=${{#COMP_LINE}}
        _berth
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return sorted(w for w in sh("bash", "--norc", "-c", program, cwd=cwd).split("\n") if w)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


@test
def scripts_are_scripts(i):
    for shell in SHELLS:
        if shutil.which(shell):
            equal(sh(shell, "-n", input=script(shell)), "", shell)
    needs("shellcheck")
    # Words are split on purpose; compgen prints one per line.
    sh("shellcheck", "-s", "bash", "-", input=script("bash"))


@test
def bash_completes_commands_and_flags(i):
    equal(complete("berth "), sorted([*COMMANDS, "--help", "--version"]))
    equal(complete("berth sch"), ["scheduler"])
    equal(complete("berth nonsense --"), [])
    for command in COMMANDS:
        words = {w.rstrip("=") for w in complete(f"berth {command} --")}
        equal(words, set(flags_of_help(command)), command)
    equal(complete("kube-scheduler --leader-elect-r"),
          ["--leader-elect-renew-deadline=", "--leader-elect-resource-lock=",
           "--leader-elect-resource-name=", "--leader-elect-resource-namespace=",
           "--leader-elect-retry-period="])
    equal(complete("/usr/local/bin/kube-scheduler --explain"), ["--explain-file="])
    equal(complete("berth simulate --expl"), ["--explain"])


@test
def bash_completes_values(i):
    equal(complete("berth simulate -o "), ["json", "table", "wide"])
    equal(complete("berth explain -o "), ["json", "table", "wide"])
    equal(complete("berth explain --cert"), ["--certificate-authority="])
    equal(complete("berth simulate --output=t"), ["table"])
    equal(complete("berth scheduler --tls-min-version VersionTLS1"),
          [f"VersionTLS1{n}" for n in range(4)])
    equal(complete("berth scheduler --logging-format="), ["json", "text"])
    equal(complete("berth config "), ["convert", "diff", "validate"])
    equal(complete("berth completion f"), ["fish"])
    # readline replaces what follows the last "=".
    equal(complete("berth scheduler --feature-gates=GenericW"), ["GenericWorkload="])
    equal(complete("berth scheduler --feature-gates=GenericWorkload="),
          ["false", "true"])
    equal(complete("berth scheduler --feature-gates=GangScheduling=true,GenericW"),
          ["true,GenericWorkload="])
    equal(complete("berth scheduler --feature-gates GangScheduling=true,GenericWorkload=f"), ["false"])
    equal(complete("berth bench engine --row plain,anti"), ["plain,anti-affinity"])


@test
def bash_completes_names_of_files(i):
    with tempfile.TemporaryDirectory() as at:
        os.mkdir(os.path.join(at, "keys"))
        for name in ("one.yaml", "two words.yaml"):
            open(os.path.join(at, name), "w").close()
        equal(complete("berth scheduler --config=o", at), ["one.yaml"])
        equal(complete("berth scheduler --kubeconfig ", at), ["keys", "one.yaml", "two words.yaml"])
        equal(complete("berth scheduler --cert-dir=", at), ["keys"])
        equal(complete("berth simulate ", at), ["keys", "one.yaml", "two words.yaml"])
        equal(complete("berth config diff o", at), ["one.yaml"])
        equal(complete("berth scheduler --v=", at), [])


@test
def a_bash_that_somebody_types_into_completes(i):
    path = i.path("share/bash-completion/completions/berth")
    type_into(["bash", "--norc", "--noprofile", "-i"],
              [("ready> ", f". {path}\n"), ("ready> ", "berth sche\t"),
               ("scheduler ", "--feature-g\t"), ("ates=", "GenericW\t"), ("orkload=", "t\t"),
               ("true ", "\x15exit\n")], "exit")


# ---- completion: other shells --------------------------------------------------------------------

def fish(line):
    program = script("fish") + f"\ncomplete -C {quoted(line)}\n"
    with tempfile.TemporaryDirectory() as home:
        said = sh("fish", "--no-config", "-c", program, env={**os.environ, "HOME": home}, cwd=home)
    return sorted(row.split("\t")[0] for row in said.split("\n") if row)


@test
def fish_completes(i):
    needs("fish")
    equal([w for w in fish("berth ") if not w.startswith("-")], sorted(COMMANDS))
    for command in COMMANDS:
        got = {w.rstrip("=") for w in fish(f"berth {command} --")}
        equal({w for w in got if w.startswith("--")}, set(flags_of_help(command)), command)
    equal(fish("berth simulate --output="), ["--output=json", "--output=table", "--output=wide"])
    equal(fish("kube-scheduler --logging-format "), ["json", "text"])
    equal(fish("berth scheduler --feature-gates=GangScheduling=true,GenericW"),
          ["--feature-gates=GangScheduling=true,GenericWorkload=false",
           "--feature-gates=GangScheduling=true,GenericWorkload=true"])
    equal(fish("berth config "), ["convert", "diff", "validate"])


@test
def zsh_completes(i):
    needs("zsh")
    functions = i.path("share/zsh/site-functions")
    with tempfile.TemporaryDirectory() as home:
        with open(os.path.join(home, ".zshrc"), "w") as f:
            f.write(f"fpath=({functions} $fpath)\nautoload -U compinit\ncompinit -u\nPS1='ready> '\n"
                    "unsetopt zle_bracketed_paste 2>/dev/null\nunset zle_bracketed_paste\n")
        type_into(["zsh", "-i"],
                  [("ready> ", "berth sche\t"), ("duler ", "--feature-g\t"),
                   ("ates=", "GenericW\t"), ("orkload=", "t\t"), ("rue", " --logging-f\t"),
                   ("ormat=", "j\t"), ("son", "\x15berth bench engine --row=plain,anti\t"),
                   ("-affinity", "\x15exit\n")], "exit",
                  env={"ZDOTDIR": home, "HOME": home})


if __name__ == "__main__":
    main(fixture=Installed)
