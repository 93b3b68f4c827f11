#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs berth's tests and ends with the line "N passed, N failed, N skipped".

    tests/run.py                    run everything; `make test` does this
    tests/run.py --quick            run lint, unit tests, simulate and the recorded oracle cases, as
                                    `make check` does
    tests/run.py --only lint        run one phase; repeat it for several
    tests/run.py --unit build       run the unit tests built in build
    tests/run.py --unit build queue heap    run these modules of them
    tests/run.py --fuzz 600         run the fuzz targets for 600 seconds each
    tests/run.py --record           also write tests/durations.json, from which the order of tests and
                                    how many run at once follow; use it on an idle machine

The phases, in this order:

    build         build/berth, where a warning is an error
    lint          tools/lint.sh
    unit-address  unit tests under AddressSanitizer, LeakSanitizer and UBSan
    unit-thread   unit tests under ThreadSanitizer, with a fifth of the random cases
    fuzz          every fuzz target for a few seconds (BERTH_FUZZ_SECONDS)
    oracle        berth and kube-scheduler on the same random clusters (tests/oracle)
    cel           CEL and cel-go on the same expressions (tests/cel)
    devices       berth's and upstream's allocator of devices on the same random cases (tests/devices)
    sigs          plugins of scheduler-plugins and berth's on the same random clusters (tests/sigs)
    instructions  instructions per pod, compared with tests/bench/instructions.json
    e2e           tests/e2e against a real etcd and kube-apiserver, which are built first; berth
                  runs under AddressSanitizer, LeakSanitizer and UBSan

Prints one line for a program that passes and the whole output of one that fails. A phase that
cannot be built fails; the next phase runs nevertheless.
"""

import argparse
import collections
import concurrent.futures
import contextlib
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CORES = len(os.sched_getaffinity(0))
HEARTBEAT = 30      # seconds between two lines about a program that prints nothing
UNIT_TIMEOUT = 300  # seconds; sanitizers and a busy machine each make a program ten times slower
BUILD_TIMEOUT = 3600
E2E_TIMEOUT = 900
ORACLE_TIMEOUT = 1800
FINDINGS = "build/fuzz/findings"
DURATIONS = "tests/durations.json"

# "ok 3 - name", as TAP has it and as cmocka, tools/lint.sh and tests/e2e write it.
TAP = re.compile(r"(not ok|ok)\b(?:\s+\d+)?(?:\s+-)?\s*(.*)")


# ---- results ---------------------------------------------------------------------------------

print_lock = threading.RLock()


def say(text):
    with print_lock:
        print(text, flush=True)


def indent(text):
    return "\n".join("    | " + line for line in text.rstrip("\n").split("\n"))


class Tally:
    """The results of a phase. Safe to use from several threads."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.lock = threading.RLock()

    def add(self, passed=0, failed=0, skipped=0):
        with self.lock:
            self.passed += passed
            self.failed += failed
            self.skipped += skipped

    def ok(self, what):
        self.add(passed=1)
        say(f"ok      {what}")

    def fail(self, what, output=""):
        self.add(failed=1)
        say(f"not ok  {what}" + ("\n" + indent(output) if output.strip() else ""))


def is_skipped(line):
    """TAP's directive: "ok 3 - name # SKIP why"."""
    return "# SKIP" in line.upper()


def count_tap(lines):
    """(passed, failed, skipped) of the TAP lines among these."""
    passed = failed = skipped = 0
    for line in lines:
        m = TAP.match(line)
        if not m:
            continue
        if is_skipped(line):
            skipped += 1
        elif m[1] == "ok":
            passed += 1
        else:
            failed += 1
    return passed, failed, skipped


# ---- running programs ------------------------------------------------------------------------

children = set()
children_lock = threading.RLock()


class Finished:
    def __init__(self, code, output, seconds, cpu, timed_out):
        self.code, self.output, self.timed_out = code, output, timed_out
        self.seconds, self.cpu = seconds, cpu  # cpu: with the processes it waited for
        self.lines = output.split("\n")

    def how(self):
        """Why the program failed."""
        if self.timed_out:
            return f"still running after {self.seconds:.0f} s, ended"
        if self.code < 0:
            with contextlib.suppress(ValueError):
                return f"ended by {signal.Signals(-self.code).name}"
        return f"exit code {self.code}"


def end_group(process):
    """Kills a program and everything it started: each program has its own process group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def run(argv, name, timeout, env=None, on_line=None):
    """Runs a program and waits for it. Keeps its output and calls on_line for each line."""
    begin = time.monotonic()
    process = subprocess.Popen(
        argv, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, errors="replace", start_new_session=True, env=os.environ | (env or {}))
    with children_lock:
        children.add(process)
    timed_out = threading.Event()

    def expire():
        timed_out.set()
        end_group(process)

    timer = threading.Timer(timeout, expire)
    timer.daemon = True
    timer.start()
    ended = threading.Event()
    lines = collections.deque(maxlen=200000)
    threading.Thread(target=beat, args=(name, ended, begin, lines), daemon=True).start()
    try:
        for line in process.stdout:
            lines.append(line)
            if on_line:
                on_line(line.rstrip("\n"))
        _, status, usage = os.wait4(process.pid, 0)
        code = process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        ended.set()
        timer.cancel()
        end_group(process)  # whatever it left running
        with children_lock:
            children.discard(process)
    return Finished(code, "".join(lines), time.monotonic() - begin,
                    usage.ru_utime + usage.ru_stime, timed_out.is_set())


def beat(name, ended, begin, lines):
    """Prints from time to time that a program runs, and which file a compiler is at."""
    while not ended.wait(HEARTBEAT):
        at = ""
        with contextlib.suppress(IndexError, RuntimeError):
            step = re.match(r"  (CC|AR|LD) (\S+)", lines[-1])
            at = f", at {step[2]}" if step else ""
        say(f"        ... {name}: {time.monotonic() - begin:.0f} s{at}")


def make(*args):
    """make without the -j and the job server of the make that started this program."""
    flags = re.sub(r"(^|\s)(-j\S*|--jobserver\S*)", " ", os.environ.get("MAKEFLAGS", "")).strip()
    return (["make", "--no-print-directory", *args], {"MAKEFLAGS": flags, "MAKELEVEL": ""})


def build(tally, what, *args):
    """Builds with make -k. Returns whether everything was built."""
    argv, env = make("-k", f"-j{CORES}", *args)
    done = run(argv, what, BUILD_TIMEOUT, env)
    if done.code == 0:
        tally.ok(f"{what} ({done.seconds:.1f} s)")
        return True
    errors = [line for line in done.lines if not re.match(r"  (CC|AR|LD) ", line)]
    tally.fail(f"{what}: {done.how()}", "\n".join(errors))
    return False


def up_to_date(program, *args):
    """After a failed build: whether this program is newer than its sources."""
    argv, env = make("-q", *args, program)
    return subprocess.run(argv, cwd=ROOT, env=os.environ | env, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL).returncode == 0


# ---- order -----------------------------------------------------------------------------------

class Durations:
    """How long each test took, and how many cores it kept busy, when they were last recorded."""

    def __init__(self):
        self.lock = threading.Lock()
        self.measured = {}
        with contextlib.suppress(FileNotFoundError), \
                open(os.path.join(ROOT, DURATIONS), encoding="utf-8") as f:
            self.recorded = json.load(f)
            return
        self.recorded = {}

    def add(self, name, done):
        row = {"seconds": round(done.seconds, 1), "cores": round(done.cpu / done.seconds, 2)}
        with self.lock:
            self.measured.setdefault(name, row)

    def longest_first(self, names):
        """A test that is not recorded starts first: it may be the longest."""
        unknown = {"seconds": float("inf")}
        return sorted(names, key=lambda name: -self.recorded.get(name, unknown)["seconds"])

    def cores(self, name):
        return self.recorded.get(name, {"cores": 1.0})["cores"]

    def write(self):
        rows = [f"{json.dumps(name)}: {json.dumps(row)}"
                for name, row in sorted((self.recorded | self.measured).items())]
        with open(os.path.join(ROOT, DURATIONS), "w", encoding="utf-8") as f:
            f.write("{\n" + ",\n".join(rows) + "\n}\n")


durations = Durations()


def in_parallel(work, items, cores=lambda item: 1.0, limit=CORES):
    """Calls work for each item, in this order and at most `limit` at once. An item that keeps more
    cores busy than are free waits while items behind it start."""
    changed = threading.Condition()
    waiting, busy = list(items), []

    def take():
        """The next item; None if there is none left."""
        with changed:
            while waiting:
                free = CORES - sum(busy)
                for item in waiting:
                    if not busy or cores(item) <= free:
                        waiting.remove(item)
                        busy.append(cores(item))
                        return item
                changed.wait()
            return None

    def worker():
        while (item := take()) is not None:
            try:
                work(item)
            finally:
                with changed:
                    busy.remove(cores(item))
                    changed.notify_all()

    with concurrent.futures.ThreadPoolExecutor(limit) as pool:
        for future in [pool.submit(worker) for _ in range(limit)]:
            future.result()


# ---- phases ----------------------------------------------------------------------------------

def phase_build(tally, options):
    build(tally, "make all libs", "all", "libs")


def phase_lint(tally, options):
    show_tap(tally, ["tools/lint.sh"], "tools/lint.sh", BUILD_TIMEOUT, details=True)


def show_tap(tally, argv, name, timeout, details=False, env=None, label=""):
    """Runs a program that prints TAP, and prints its results as they come."""
    def on_line(line):
        m = TAP.match(line)
        if m:
            say(f"{'skip' if is_skipped(line) else m[1]:7} {label}{m[2]}")
        elif details and line.strip():
            say(f"    | {line.removeprefix('    ')}")

    done = run(argv, name, timeout, env, on_line)
    passed, failed, skipped = count_tap(done.lines)
    tally.add(passed, failed, skipped)
    if done.code == 0 and failed == 0:
        if passed + skipped == 0:
            tally.fail(f"{name}: it tested nothing", done.output)
        return done
    if failed == 0 or done.timed_out or done.code < 0:
        tally.fail(f"{name}: {done.how()}", "" if details else done.output)
    elif not details:
        say(f"        all output of {name}:\n{indent(done.output)}")
    return done


SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def sanitizer_env():
    return {name: ":".join(filter(None, (value, os.environ.get(name))))
            for name, value in SANITIZERS.items()}


def clang_symbolizer():
    """Finds the symbolizer for reports of programs built by clang; those built by gcc need none."""
    path = shutil.which("llvm-symbolizer-19")
    return {"ASAN_SYMBOLIZER_PATH": path} if path else {}


def fixed_addresses():
    """The sanitizers of gcc 12 do not start on newer kernels, which randomize more bits of an
    address; setarch -R turns that off for one program. Some containers do not allow it."""
    argv = ["setarch", "-R"]
    try:
        allowed = subprocess.run(argv + ["true"], stderr=subprocess.DEVNULL).returncode == 0
    except OSError:
        allowed = False
    return argv if allowed else []


def unit_modules(tally, program, modules, env=None):
    """Runs each module of the program of unit tests in its own process."""
    env = sanitizer_env() | {"CMOCKA_MESSAGE_OUTPUT": "TAP"} | (env or {})
    prefix = fixed_addresses()

    def one(name):
        module = name.removeprefix("unit/")
        done = run([*prefix, program, module], name, UNIT_TIMEOUT, env)
        durations.add(name, done)
        passed, failed, skipped = count_tap(done.lines)
        tally.add(passed, failed, skipped)
        if failed:
            say(f"not ok  {name}: {failed} of {passed + failed} tests\n{indent(done.output)}")
        elif done.code != 0:
            tally.fail(f"{name}: {done.how()}", done.output)
        elif passed + skipped == 0:
            tally.fail(f"{name}: it tested nothing", done.output)
        else:
            left_out = f", {skipped} skipped" if skipped else ""
            say(f"ok      {name}: {passed} tests{left_out} ({done.seconds:.1f} s)")

    in_parallel(one, durations.longest_first(f"unit/{module}" for module in modules))


def all_unit_modules():
    return sorted(os.path.basename(source)[len("test_"):-2]
                  for source in glob.glob("tests/unit/test_*.c", root_dir=ROOT))


def unit_phase(sanitizer, directory, env=None):
    def phase(tally, options):
        san = f"SAN={sanitizer}"
        if build(tally, f"make {san} unit-bins", san, "unit-bins"):
            unit_modules(tally, f"{directory}/berth-unit", all_unit_modules(), env)
    return phase


def phase_fuzz(tally, options):
    built = build(tally, "make fuzz-bins", "fuzz-bins")
    names = []
    for source in sorted(glob.glob("tests/fuzz/fuzz_*.c", root_dir=ROOT)):
        name = os.path.basename(source)[len("fuzz_"):-2]
        if built or up_to_date(f"build/fuzz/fuzz_{name}"):
            names.append(name)
        else:
            tally.fail(f"fuzz_{name}: not built")
    os.makedirs(os.path.join(ROOT, FINDINGS), exist_ok=True)
    in_parallel(lambda name: fuzz(tally, name, options.fuzz_seconds), names)


def fuzz(tally, name, seconds):
    """Runs a target on a copy of its corpus, to which libFuzzer adds files."""
    program = f"build/fuzz/fuzz_{name}"
    prefix = f"{FINDINGS}/{name}-"
    with tempfile.TemporaryDirectory(prefix="berth-fuzz-") as corpus:
        seeds = os.path.join(ROOT, "tests/fuzz/corpus", name)
        if os.path.isdir(seeds):
            shutil.copytree(seeds, corpus, dirs_exist_ok=True)
        before = set(glob.glob(os.path.join(ROOT, prefix) + "*"))
        done = run([program, corpus, f"-max_total_time={seconds}", "-rss_limit_mb=2048",
                    "-timeout=20", "-print_final_stats=1", f"-artifact_prefix={prefix}"],
                   f"fuzz_{name}", seconds + 300, sanitizer_env() | clang_symbolizer())
    if done.code == 0:
        runs = re.search(r"stat::number_of_executed_units:\s*(\d+)", done.output)
        cover = re.findall(r"\bcov: (\d+)", done.output)
        tally.ok(f"fuzz_{name}: {runs[1] if runs else '?'} inputs, coverage "
                 f"{cover[-1] if cover else '?'} ({done.seconds:.0f} s)")
        return
    found = sorted(set(glob.glob(os.path.join(ROOT, prefix) + "*")) - before)
    repeat = "\n".join(f"to repeat: {program} {os.path.relpath(f, ROOT)}" for f in found)
    tally.fail(f"fuzz_{name}: {done.how()}", "\n".join(done.lines[-200:]) + "\n" + repeat)


# Upstream's feature gates for pod groups, besides those that turn groups on.
GROUP_GATES = ([], ["-feature-gates=WorkloadAwarePreemption=true"],
               ["-feature-gates=TopologyAwareWorkloadScheduling=true,WorkloadAwarePreemption=true"])


def recorded_cases():
    """Clusters on which berth and upstream differed before a bug was fixed."""
    return sorted(glob.glob("tests/oracle/cases/*.json", root_dir=ROOT))


def oracle_program(tally):
    """Builds the oracle; None on failure."""
    done = run(["tests/oracle/build.sh"], "tests/oracle/build.sh", BUILD_TIMEOUT)
    if done.code == 0:
        return done.lines[-2]
    tally.fail(f"tests/oracle/build.sh: {done.how()}; no oracle case was run", done.output)
    return None


def phase_oracle(tally, options):
    """The recorded cases and random ones, the same in every run; with sanitizers and a feature gate
    fewer of them, because a sanitizer starts slowly; then pod groups."""
    san = "SAN=address,undefined"
    if not (build(tally, "make build/berth", "build/berth")
            and build(tally, f"make {san} build/address/berth", san, "build/address/berth")):
        return
    program = oracle_program(tally)
    if not program:
        return
    oracle = [*fixed_addresses(), program, "-tap"]

    def one(arguments):
        show_tap(tally, oracle + arguments, "oracle", ORACLE_TIMEOUT, details=True,
                 env=sanitizer_env())

    in_parallel(one, [
        ["-berth=build/berth", "-seed=1", "-cases=1500", *recorded_cases()],
        ["-berth=build/address/berth", "-seed=1001", "-cases=100",
         "-feature-gates=TaintTolerationComparisonOperators=true"],
        ["-berth=build/berth", "-devices", "-seed=1", "-cases=400"],
        ["-berth=build/berth", "-devices", "-seed=1", "-cases=200",
         "-feature-gates=DRANodeAllocatableResources=true"],
        *[["-berth=build/berth", "-groups", "-seed=1", "-cases=100", *gates]
          for gates in GROUP_GATES]])


def phase_cel(tally, options):
    """Upstream's own expressions and random ones, and regular expressions; with sanitizers."""
    san = "SAN=address,undefined"
    if not (build(tally, "make build/berth-cel", "build/berth-cel")
            and build(tally, f"make {san} build/address/berth-cel", san, "build/address/berth-cel")):
        return
    done = run(["tests/cel/build.sh"], "tests/cel/build.sh", BUILD_TIMEOUT)
    if done.code != 0:
        tally.fail(f"tests/cel/build.sh: {done.how()}; no expression was compared", done.output)
        return

    def one(arguments):
        show_tap(tally, [done.lines[-2], "-tap", *arguments], "tests/cel", ORACLE_TIMEOUT,
                 details=True, env=sanitizer_env())

    in_parallel(one, [["-berth=build/berth-cel", "-seed=1", "-cases=4000"],
                      ["-berth=build/address/berth-cel", "-no-corpus", "-seed=100001", "-cases=2000"],
                      ["-berth=build/address/berth-cel", "-regex", "-seed=1", "-cases=3000"]])


def phase_devices(tally, options):
    """Random cases, the same in every run; with sanitizers."""
    san = "SAN=address,undefined"
    if not build(tally, f"make {san} build/address/berth-devices", san, "build/address/berth-devices"):
        return
    built = run(["tests/devices/build.sh"], "tests/devices/build.sh", BUILD_TIMEOUT)
    if built.code != 0:
        tally.fail(f"tests/devices/build.sh: {built.how()}; no case was run", built.output)
        return
    show_tap(tally, [built.lines[-2], "-tap", "-berth=build/address/berth-devices", "-seed=1",
                     "-cases=1000"], "devices", ORACLE_TIMEOUT, details=True, env=sanitizer_env())


def phase_sigs(tally, options):
    """Random cases, the same in every run."""
    if not build(tally, "make build/berth", "build/berth"):
        return
    built = run(["tests/sigs/build.sh"], "tests/sigs/build.sh", BUILD_TIMEOUT)
    if built.code != 0:
        tally.fail(f"tests/sigs/build.sh: {built.how()}; no case was run", built.output)
        return
    show_tap(tally, [built.lines[-2], "-tap", "-berth=build/berth", "-seed=1", "-cases=300"], "sigs",
             ORACLE_TIMEOUT, details=True)


def phase_recorded(tally, options):
    """Only the oracle's recorded cases."""
    if not build(tally, "make build/berth", "build/berth"):
        return
    program = oracle_program(tally)
    if program:
        show_tap(tally, [program, "-tap", "-berth=build/berth", "-cases=0", *recorded_cases()],
                 "oracle", ORACLE_TIMEOUT, details=True)


def phase_instructions(tally, options):
    """Instructions per pod are those of tests/bench/instructions.json."""
    if build(tally, "make build/berth", "build/berth"):
        show_tap(tally, ["tests/bench/instructions.py"], "tests/bench/instructions.py", BUILD_TIMEOUT,
                 details=True)


def phase_simulate(tally, options):
    """The end-to-end tests that need no cluster."""
    san = "SAN=address,undefined"
    if build(tally, f"make {san} e2e-bins", san, "e2e-bins"):
        show_tap(tally, [sys.executable, "tests/e2e/test_simulate.py"], "simulate", E2E_TIMEOUT)


def e2e_name(script):
    return "e2e/" + os.path.basename(script).removeprefix("test_").removesuffix(".py")


def e2e_cores(name):
    """How many cores to keep for a script. Attacks measure how long other requests wait."""
    return 1.0 if name.startswith("e2e/attack_") else min(max(durations.cores(name), 0.25), 1.0)


def phase_e2e(tally, options):
    san = "SAN=address,undefined"
    if not (build(tally, f"make {san} e2e-bins", san, "e2e-bins")
            and build(tally, "make build/berth-counting", "build/berth-counting")):
        return
    scripts = {e2e_name(script): script
               for script in glob.glob("tests/e2e/test_*.py", root_dir=ROOT)}
    if not scripts:
        tally.fail("tests/e2e: no tests there")
        return
    say("        etcd, kube-apiserver, kubectl and kube-scheduler; the first build takes minutes")
    done = run(["tests/kube/build.sh"], "tests/kube/build.sh", BUILD_TIMEOUT,
               on_line=lambda line: say(f"        {line}"))
    if done.code != 0:
        tally.fail(f"tests/kube/build.sh: {done.how()}; tests/e2e was not run")
        return
    tally.ok(f"tests/kube/build.sh ({done.seconds:.1f} s)")
    # If Helm cannot be built, its tests are skipped.
    run(["tests/helm/build.sh"], "tests/helm/build.sh", BUILD_TIMEOUT)

    def one(name):
        script = scripts[name]
        say(f"        {script}")
        done = show_tap(tally, [sys.executable, script], script, E2E_TIMEOUT,
                        label=name.removeprefix("e2e/") + ": ")
        durations.add(name, done)

    # Each has its own cluster and waits for it more than it works.
    in_parallel(one, durations.longest_first(sorted(scripts)), e2e_cores, 2 * CORES)


PHASES = {
    "build": ("the program", phase_build),
    "lint": ("lint", phase_lint),
    "unit-address": ("unit tests, address and undefined behaviour sanitizers",
                     unit_phase("address,undefined", "build/address")),
    # Random cases repeat the same accesses: few of them find what this sanitizer looks for.
    "unit-thread": ("unit tests, thread sanitizer",
                    unit_phase("thread", "build/thread", {"BERTH_CASES": "20"})),
    "fuzz": ("fuzz targets", phase_fuzz),
    "oracle": ("the same decisions as kube-scheduler", phase_oracle),
    "cel": ("the same results as cel-go", phase_cel),
    "devices": ("the same devices as upstream's allocator", phase_devices),
    "sigs": ("the same decisions as scheduler-plugins", phase_sigs),
    "instructions": ("instructions per pod", phase_instructions),
    "e2e": ("end to end on a real API server", phase_e2e),
}
QUICK = {name: PHASES[name] for name in ("build", "lint", "unit-address")} | {
    "simulate": ("scenarios without a cluster", phase_simulate),
    "recorded": ("recorded cases of the oracle", phase_recorded),
}


# ---- main ------------------------------------------------------------------------------------

def parse_args():
    summary, rest = __doc__.split("\n", 1)
    p = argparse.ArgumentParser(description=summary, epilog=rest,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", metavar="PHASE", action="append", choices=PHASES,
                   help="run only this phase: " + ", ".join(PHASES))
    p.add_argument("--unit", metavar=("DIR", "MODULE"), nargs="+",
                   help="run the unit tests built in DIR, or these modules of them")
    p.add_argument("--quick", action="store_true", help="run the phases of make check")
    p.add_argument("--fuzz", metavar="SECONDS", type=int,
                   help="run only the fuzz targets, each this long")
    p.add_argument("--record", action="store_true", help=f"write {DURATIONS}")
    options = p.parse_args()
    options.fuzz_seconds = options.fuzz or int(os.environ.get("BERTH_FUZZ_SECONDS", "5"))
    return options


def chosen_phases(options):
    if options.unit:
        directory, *modules = options.unit
        if unknown := set(modules) - set(all_unit_modules()):
            sys.exit(f"run.py: no unit test tests/unit/test_{min(unknown)}.c")
        program = os.path.join(ROOT, directory, "berth-unit")
        if not os.access(program, os.X_OK):
            sys.exit(f"run.py: {directory}/berth-unit is not built: run make unit-bins")
        return {"unit": (f"unit tests in {directory}", lambda tally, _:
                         unit_modules(tally, program, modules or all_unit_modules()))}
    if options.quick:
        return QUICK
    if options.fuzz:
        return {"fuzz": PHASES["fuzz"]}
    return {name: PHASES[name] for name in PHASES if not options.only or name in options.only}


def stop(signum, frame):
    with children_lock:
        for process in children:
            end_group(process)
    say("interrupted")
    os._exit(128 + signum)


def main():
    options = parse_args()
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, stop)
    total = Tally()
    rows = []
    for name, (title, phase) in chosen_phases(options).items():
        say(f"\n== {title} ==")
        tally, begin = Tally(), time.monotonic()
        phase(tally, options)
        skipped = f", {tally.skipped} skipped" if tally.skipped else ""
        rows.append(f"{name:14}{tally.passed:5} passed, {tally.failed} failed{skipped}"
                    f" ({time.monotonic() - begin:.0f} s)")
        total.add(tally.passed, tally.failed, tally.skipped)
    if options.record:
        durations.write()
    say("\n== summary ==\n" + "\n".join(rows) +
        f"\n\n{total.passed} passed, {total.failed} failed, {total.skipped} skipped")
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
