# SPDX-License-Identifier: Apache-2.0
"""berth as a developer has it: `make install` into a folder of its own, and a shell that uses it."""

import os
import re
import shutil
import signal
import subprocess
import tempfile

from berth import ROOT, TIMEOUT
from tap import check

BUILD_TIMEOUT = 1200


class Sdk:
    """The tree of `make install`, and a copy of examples/."""

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="berth-sdk-")
        self.prefix = os.path.join(self.dir, "usr")
        env = {**os.environ, "MAKEFLAGS": "", "MAKELEVEL": ""}
        done = subprocess.run(["make", "--no-print-directory", "-C", ROOT, "install", f"PREFIX={self.prefix}"],
                              env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=BUILD_TIMEOUT)
        check(done.returncode == 0, done.stdout[-2000:])
        self.examples = os.path.join(self.dir, "examples")
        shutil.copytree(os.path.join(ROOT, "examples"), self.examples,
                        ignore=shutil.ignore_patterns("*.so", "*.tmp"))
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL", "BERTH")}
        return {**env, "PATH": f"{self.prefix}/bin:{env['PATH']}",
                "PKG_CONFIG_PATH": f"{self.prefix}/lib/pkgconfig",
                "LD_LIBRARY_PATH": f"{self.prefix}/lib", **more}

    def run(self, *argv, cwd=None, code=0, **env):
        """Runs a command to completion. Returns its output."""
        done = subprocess.run([str(a) for a in argv], cwd=cwd or self.examples, text=True,
                              env=self.environment(**env), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT)
        check(done.returncode == code, f"{argv}: exit code {done.returncode}\n{done.stdout}")
        return done.stdout


class Shell:
    """bash with job control, one command after the other. The processes it started end with it."""

    MARK = "=== end of command"

    def __init__(self, cwd, env):
        self.popen = subprocess.Popen(["bash", "--norc"], cwd=cwd, env=env, text=True, bufsize=1,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, start_new_session=True)
        self.popen.stdin.write("set -m\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.popen.stdin.write("kill $(jobs -p) 2>/dev/null; wait; exit\n")
        self.popen.stdin.close()
        try:
            self.popen.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.stdout.close()

    def run(self, command):
        """Returns output and exit status."""
        self.popen.stdin.write(f"{command}\necho; echo '{self.MARK}' $?\n")
        lines = []
        for line in self.popen.stdout:
            end = re.fullmatch(rf"{self.MARK} (\d+)\n", line)
            if end:
                return "".join(lines)[:-1], int(end[1])
            lines.append(line)
        check(False, f"the shell ended in {command!r}:\n{''.join(lines)}")
