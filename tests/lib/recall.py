# SPDX-License-Identifier: Apache-2.0
"""Recalls what a program printed when it was last run with the same arguments and files.

    done = recall.run([kube_scheduler, "--config=DIR/config.yaml", "--write-config-to=DIR/out.yaml"],
                      directory, outputs=["out.yaml"])

For third-party programs that do not change between two runs of the tests, and whose output depends
only on their arguments and on the files directly in one directory. Outputs are kept in
~/.cache/berth/recall by a hash of all these and deleted 30 days after the last use.

BERTH_RECALL=0 runs the program every time.
"""

import contextlib
import hashlib
import json
import os
import subprocess
import tempfile
import time

CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "berth/recall")
KEPT = 30 * 24 * 3600  # seconds after the last use
PLACE = "\0directory\0"  # stands for the directory, whose name differs each time


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape") as f:
        return f.read()


def key_of(argv, directory, outputs):
    """A hash of everything that the output depends on."""
    program = os.stat(argv[0])
    files = {name: read(os.path.join(directory, name)) for name in sorted(os.listdir(directory))
             if name not in outputs and os.path.isfile(os.path.join(directory, name))
             and not os.path.islink(os.path.join(directory, name))}
    text = json.dumps([argv, program.st_size, program.st_mtime_ns, files])
    return hashlib.sha256(text.replace(directory, PLACE).encode()).hexdigest()


def run_now(argv, directory, outputs, timeout):
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="surrogateescape", timeout=timeout, cwd=directory)
    written = {name: read(os.path.join(directory, name)) for name in outputs
               if os.path.exists(os.path.join(directory, name))}
    return {"code": done.returncode, "out": done.stdout, "err": done.stderr, "written": written}


def keep(path, result):
    """Writes a file. Tests that run at the same time may write the same one."""
    with tempfile.NamedTemporaryFile("w", dir=CACHE, delete=False) as f:
        json.dump(result, f)
    os.rename(f.name, path)


def forget_old():
    for entry in os.scandir(CACHE):
        with contextlib.suppress(FileNotFoundError):
            if entry.stat().st_mtime < time.time() - KEPT:
                os.unlink(entry.path)


def replaced(result, old, new):
    """The result with one text replaced by another, wherever it is."""
    old, new = json.dumps(old)[1:-1], json.dumps(new)[1:-1]
    return json.loads(json.dumps(result).replace(old, new))


def recalled(argv, directory, outputs, timeout):
    os.makedirs(CACHE, exist_ok=True)
    path = os.path.join(CACHE, key_of(argv, directory, outputs))
    try:
        result = replaced(json.loads(read(path)), PLACE, directory)
        os.utime(path)
    except (FileNotFoundError, ValueError):
        result = run_now(argv, directory, outputs, timeout)
        keep(path, replaced(result, directory, PLACE))
        forget_old()
    for name, text in result["written"].items():
        with open(os.path.join(directory, name), "w", encoding="utf-8", errors="surrogateescape") as f:
            f.write(text)
    return result


def run(argv, directory, outputs=(), timeout=60):
    """Returns a subprocess.CompletedProcess. The program writes `outputs` into the directory."""
    for name in outputs:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(directory, name))
    once = run_now if os.environ.get("BERTH_RECALL") == "0" else recalled
    result = once(argv, directory, outputs, timeout)
    return subprocess.CompletedProcess(argv, result["code"], result["out"], result["err"])
