#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the structure of src/: the order of its folders, and what is used.

    tools/check_layers.py includes   every #include "..." goes to a folder that is allowed
    tools/check_layers.py calls      so does every call from one module to another
    tools/check_layers.py cycles     no cycle of folders or headers, no large cycle of modules
    tools/check_layers.py unused     every public function has a caller
    tools/check_layers.py purity     the pure folders call nothing outside the process
    tools/check_layers.py modules    prints the cycles of modules; this is not a check

tools/layers.txt has the folders, tools/unused_exempt.txt the functions without a caller, with the
reason. A module is a .c file; calls between modules are read from its object in build/ with nm, so
run make before (tools/lint.sh does). A reference to another module's data counts as a call.

Prints one line per error, as file:line: text, and exits with 1 if there is one; otherwise `cycles`
and `unused` print a line of figures. --root DIR checks another tree than this one.
"""

import argparse
import collections
import functools
import glob
import os
import re
import subprocess
import sys

# Functions through which a program reads or changes what is outside its process.
IMPURE_CALL = re.compile(r"""\b(
    accept4? | bind | connect | listen | recv\w* | send(to|msg|file)? | socket(pair)? | getaddrinfo |
    epoll_\w+ | poll | ppoll | p?select | eventfd\w* | timerfd_\w+ | signalfd | inotify_\w+ |
    clock_\w+ | time | gettimeofday | timespec_get | time_mono | time_wall | localtime(_r)? |
    nanosleep | u?sleep |
    getrandom | getentropy | rand_entropy | random | srandom | rand | srand | [a-z]rand48 |
    pthread_\w+ | thrd_\w+ | mtx_\w+ | cnd_\w+ | pool_new | fork | vfork | exec[lv]\w* | posix_spawnp? |
    system | popen | open(at)? | fopen | fdopen | freopen | creat | mmap | ioctl | dlopen | dlsym |
    getenv | secure_getenv | setenv | signal | sigaction | kill | raise
    )\s*\(""", re.VERBOSE)
IMPURE_HEADER = re.compile(
    r"(pthread|threads|poll|netdb|dlfcn|signal|spawn|fcntl|unistd)\.h"
    r"|sys/(socket|epoll|eventfd|timerfd|random|mman|stat|wait|time)\.h|(netinet|arpa|openssl)/.*")
# A member with such a name is called through a port, as it should be.
MEMBER = re.compile(r"(->|\.)\s*$")
OWN_FUNCTION = re.compile(r"^static\b.*?\b(\w+)\(", re.MULTILINE)
INLINE_FUNCTION = re.compile(r"^static inline\b[^;{]*?\b(\w+)\(", re.MULTILINE)
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
WORD = re.compile(r"\b[A-Za-z_]\w*\b")

# The largest cycle of modules, in the folders below src/engine and elsewhere.
ENGINE_CYCLE = 3
OTHER_CYCLE = 6


# ---- the tree --------------------------------------------------------------------------------

class Tree:
    """The sources below a directory."""

    def __init__(self, root):
        self.root = root
        self.paths = sorted(glob.glob("src/**/*.[ch]", root_dir=root, recursive=True) +
                            glob.glob("include/**/*.h", root_dir=root, recursive=True))

    @functools.cache
    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as f:
            return f.read()

    @functools.cache
    def includes(self, path):
        """[(line, what is written, path or None if there is no such file)] of #include "..."."""
        found = []
        for number, line in enumerate(self.text(path).split("\n"), 1):
            m = INCLUDE.match(line)
            if m and m[1] == '"':
                tried = (os.path.normpath(os.path.join(directory, m[2]))
                         for directory in (os.path.dirname(path), "src", "include"))
                exists = (p for p in tried if os.path.exists(os.path.join(self.root, p)))
                found.append((number, m[2], next(exists, None)))
        return found

    @functools.cached_property
    def symbols(self):
        """({module: {name it defines: its kind}}, {module: names it takes from elsewhere})."""
        modules = [path for path in self.paths if path.endswith(".c")]
        objects = {f"build/{path[:-2]}.o": path for path in modules}
        missing = [o for o in objects if not os.path.exists(os.path.join(self.root, o))]
        if missing:
            sys.exit(f"check_layers.py: no {missing[0]}: run make first")
        out = subprocess.run(["nm", "-gA", *objects], cwd=self.root, check=True, text=True,
                             stdout=subprocess.PIPE).stdout
        defined, taken = collections.defaultdict(dict), collections.defaultdict(set)
        for line in out.splitlines():
            name, _, rest = line.partition(":")
            *_, kind, symbol = rest.split()
            if kind in "Uw":
                taken[objects[name]].add(symbol)
            else:
                defined[objects[name]][symbol] = kind
        return defined, taken

    @functools.cached_property
    def calls(self):
        """{module: {another module: a name that it takes from there}}."""
        defined, taken = self.symbols
        home = {symbol: module for module, names in defined.items() for symbol in names}
        graph = {path: {} for path in self.paths if path.endswith(".c")}
        for module, names in taken.items():
            for symbol in sorted(names):
                if symbol in home:
                    graph[module].setdefault(home[symbol], symbol)
        return graph


def folder_of(path):
    """The folder of a source, as tools/layers.txt names it."""
    top, _, rest = path.partition("/")
    return os.path.dirname(rest) if top == "src" else "include"


def without_comments(text):
    """The code alone: strings emptied, every line where it was."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0]) if m[0].startswith("/") else '""'
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.DOTALL)


# ---- tools/layers.txt ------------------------------------------------------------------------

class Layers:
    def __init__(self, root):
        self.allowed, self.pure = {}, []
        with open(os.path.join(root, "tools/layers.txt"), encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                name, colon, rest = line.split("#")[0].strip().partition(":")
                if name == "pure":
                    self.pure = rest.split()
                elif colon:
                    self.allowed[name] = self.before(number, rest.split())

    def before(self, number, names):
        """The lines listed so far that these names stand for."""
        found = set()
        for name in names:
            matching = {line for line in self.allowed
                        if name in ("*", line) or name.endswith("/*") and line.startswith(name[:-1])}
            if not matching and not name.endswith("*"):
                sys.exit(f"tools/layers.txt:{number}: {name} is not listed before this line")
            found |= matching
        return found

    def line_of(self, folder):
        """The line that speaks of a folder; None if there is none."""
        general = os.path.dirname(folder) + "/*"
        return next((name for name in (folder, general) if name in self.allowed), None)

    def allows(self, user, used):
        return user == used or self.line_of(used) in self.allowed[self.line_of(user)]

    def is_pure(self, folder):
        return any(folder == name or folder.startswith(name + "/") for name in self.pure)


# ---- directions ------------------------------------------------------------------------------

def check_includes(tree, layers):
    for path in tree.paths:
        folder = folder_of(path)
        if not layers.line_of(folder):
            yield f"{path}:1: src/{folder} is not in tools/layers.txt"
            continue
        for number, written, header in tree.includes(path):
            if not header:
                yield f"{path}:{number}: there is no {written}"
            elif layers.line_of(folder_of(header)) and not layers.allows(folder, folder_of(header)):
                yield f"{path}:{number}: {folder} may not include {written} (tools/layers.txt)"


def check_calls(tree, layers):
    for module, used in tree.calls.items():
        for other, symbol in sorted(used.items()):
            user, owner = folder_of(module), folder_of(other)
            if layers.line_of(user) and layers.line_of(owner) and not layers.allows(user, owner):
                number = line_of_word(tree.text(module), symbol)
                yield f"{module}:{number}: {user} may not call {symbol} of {other} (tools/layers.txt)"


def line_of_word(text, word):
    m = re.search(rf"\b{word}\b", text)
    return text.count("\n", 0, m.start()) + 1 if m else 1


# ---- cycles ----------------------------------------------------------------------------------

def cycles_of(graph):
    """The sets of more than one node that reach each other, largest first (Tarjan's algorithm)."""
    index, low, stack, on_stack, found = {}, {}, [], set(), []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for other in sorted(graph[node]):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in on_stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            members = set()
            while node not in members:
                members.add(stack.pop())
            on_stack.difference_update(members)
            if len(members) > 1 or node in graph[node]:
                found.append(sorted(members))

    sys.setrecursionlimit(10000)
    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found, key=lambda members: (-len(members), members))


def by_folder(graph):
    """The graph of folders that a graph of files amounts to."""
    folders = {folder_of(path): set() for path in graph}
    for path, others in graph.items():
        folders[folder_of(path)] |= {folder_of(other) for other in others} - {folder_of(path)}
    return folders


def include_graph(tree):
    return {path: {header for _, _, header in tree.includes(path) if header in tree.paths}
            for path in tree.paths}


def find_cycles(tree):
    includes = include_graph(tree)
    headers = {path: others for path, others in includes.items() if path.endswith(".h")}
    return {
        "folders, by includes": cycles_of(by_folder(includes)),
        "folders, by calls": cycles_of(by_folder(tree.calls)),
        "headers": cycles_of(headers),
        "modules": cycles_of(tree.calls),
    }


def too_large(members):
    """Whether a cycle of modules is over the limit of its place."""
    in_engine = any(path.startswith("src/engine/") for path in members)
    return len(members) > (ENGINE_CYCLE if in_engine else OTHER_CYCLE)


def check_cycles(tree, layers):
    for kind, cycles in find_cycles(tree).items():
        for members in cycles:
            if kind != "modules" or too_large(members):
                at = members[0] if "/" in members[0] and "." in members[0] else f"src/{members[0]}"
                yield f"{at}:1: cycle of {len(members)} {kind}: {' '.join(members)}"


def cycles_figures(tree):
    found = find_cycles(tree)
    folders = {folder_of(path) for path in tree.paths}
    largest = max((len(members) for members in found["modules"]), default=1)
    return (f"{len(found['folders, by calls'])} call cycles and "
            f"{len(found['folders, by includes'])} include cycles between {len(folders)} folders, "
            f"largest cycle of modules {largest}")


def show_modules(tree):
    for members in cycles_of(tree.calls):
        print(f"{len(members)} modules in a cycle:")
        for module in members:
            for other, symbol in sorted(tree.calls[module].items()):
                if other in members:
                    print(f"    {module} -> {other} {symbol}")


# ---- unused ----------------------------------------------------------------------------------

def unused_exemptions(root):
    """{name: line} of tools/unused_exempt.txt; every line has a reason."""
    names = {}
    with open(os.path.join(root, "tools/unused_exempt.txt"), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            name, _, reason = line.split("#")[0].strip().partition(" ")
            if name and not reason.strip():
                sys.exit(f"tools/unused_exempt.txt:{number}: {name} has no reason")
            if name:
                names[name] = number
    return names


def words_in(tree, paths):
    return collections.Counter(word for path in paths
                               for word in WORD.findall(without_comments(tree.text(path))))


def public_names(tree):
    """(path, name, whether another module uses it, whether it is a function) of what is public."""
    defined, taken = tree.symbols
    wanted = set().union(*taken.values()) | {"main"}
    for module, names in defined.items():
        for name, kind in sorted(names.items()):
            yield module, name, name in wanted, kind in "TW"
    everywhere = words_in(tree, tree.paths)
    for path in tree.paths:
        if path.endswith(".h") and path.startswith("src/"):
            for name in INLINE_FUNCTION.findall(without_comments(tree.text(path))):
                yield path, name, everywhere[name] > 1, True


def check_unused(tree, layers):
    """A function that only its own module uses is public for the tests, or it should be static.
    Data like that is left alone: the descriptors of src/api are public, used or not."""
    exempt = unused_exemptions(tree.root)
    tests = words_in(tree, glob.glob("tests/**/*.[ch]", root_dir=tree.root, recursive=True))
    headers = words_in(tree, [path for path in tree.paths if path.endswith(".h")])
    installed = words_in(tree, glob.glob("include/berth/*.h", root_dir=tree.root))
    public = list(public_names(tree))
    for path, name, used, is_function in public:
        if used or name in exempt or headers[name] > 1:  # an inline function of a header uses it
            continue
        if name in installed:  # for other programs
            continue
        at = f"{path}:{line_of_word(tree.text(path), name)}"
        if path.endswith(".h") or words_in(tree, [path])[name] == 1:
            yield f"{at}: {name} has no caller" + (" but tests" if tests[name] else "")
        elif is_function and not tests[name]:
            yield f"{at}: {name} is used only here: make it static"
    unused = {name for _, name, used, _ in public if not used}
    for name, number in exempt.items():
        if name not in unused:
            yield f"tools/unused_exempt.txt:{number}: {name} is used, or gone"


def unused_figures(tree):
    count = len(list(public_names(tree)))
    return f"{count} public names, {len(unused_exemptions(tree.root))} of them exempt"


# ---- purity ----------------------------------------------------------------------------------

def check_purity(tree, layers):
    for path in tree.paths:
        folder = folder_of(path)
        if not layers.is_pure(folder):
            continue
        text = tree.text(path)
        for number, line in enumerate(text.split("\n"), 1):
            m = INCLUDE.match(line)
            if m and IMPURE_HEADER.fullmatch(m[2]):
                yield f"{path}:{number}: {folder} is pure and may not include <{m[2]}>"
        code = without_comments(text)
        own = set(OWN_FUNCTION.findall(code))
        for number, line in enumerate(code.split("\n"), 1):
            for m in IMPURE_CALL.finditer(line):
                if m[1] not in own and not MEMBER.search(line[:m.start()]):
                    yield f"{path}:{number}: {folder} is pure and may not call {m[1]}()"


CHECKS = {
    "includes": (check_includes, None),
    "calls": (check_calls, None),
    "cycles": (check_cycles, cycles_figures),
    "unused": (check_unused, unused_figures),
    "purity": (check_purity, None),
}


def main():
    p = argparse.ArgumentParser(usage=__doc__.split("\n\n", 1)[1], add_help=False)
    p.add_argument("check", choices=[*CHECKS, "modules"])
    p.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    options = p.parse_args()
    tree = Tree(options.root)
    if options.check == "modules":
        show_modules(tree)
        return 0
    check, figures = CHECKS[options.check]
    errors = list(check(tree, Layers(options.root)))
    if errors:
        print("\n".join(errors))
    elif figures:
        print(figures(tree))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
