#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# lint.sh [CHECK...] - checks the sources; without arguments, all checks.
#
# Prints one line per check, "ok 1 - name" or "not ok 1 - name", with the figures of a check that has
# some: "ok 1 - name: figures". The errors of a check follow its line, indented. Checks all files that
# git tracks or would track.
# shellcheck disable=SC2317 # the checks are called by their names
set -u
cd "$(dirname "$0")/.." || exit 2

checks="format tidy includes header calls cycles unused purity budget spdx shell python paths docs"

# Lists the files that match the patterns. Outside a git checkout: all files.
files() {
    if git rev-parse --git-dir >/dev/null 2>&1; then
        git ls-files -co --exclude-standard -- "$@"
    else
        for pattern in "$@"; do find . -path ./build -prune -o -name "$pattern" -print; done
    fi | while read -r path; do [ ! -e "$path" ] || echo "$path"; done
}
# Runs a command on the files listed on standard input. Names contain no blanks.
on_files() { xargs -r "$@"; }
# Lists the scripts of an interpreter, by suffix or by first line.
scripts() {
    files "*.$2"
    files '*' | grep -v '\.[a-z]*$' | on_files grep -lsIE "^#!.*[/ ]$1\$"
}

# Builds the objects of build/ whose symbols the checks read; prints errors only.
objects() {
    log=$(MAKEFLAGS='' make --no-print-directory -j"$(nproc)" SAN= DEBUG= all 2>&1) && return
    echo "$log"
    return 1
}

check_format() { files '*.c' '*.h' | on_files -P "$(nproc)" -n 40 clang-format-19 --dry-run -Werror; }
check_tidy() { tools/tidy.py; }
check_includes() { tools/check_layers.py includes; }
check_calls() { objects && tools/check_layers.py calls; }
check_cycles() { objects && tools/check_layers.py cycles; }
check_unused() { objects && tools/check_layers.py unused; }
check_purity() { tools/check_layers.py purity; }
check_budget() { tools/check_budget.py; }
check_docs() { tools/check_docs.py; }
# Installed headers are for C11 and C++20, with all warnings.
check_header() {
    for path in include/berth/*.h; do
        ${CC:-cc} -std=c11 -Wall -Wextra -Wpedantic -Wstrict-prototypes -Werror -Iinclude -x c -fsyntax-only "$path"
        ${CXX:-c++} -std=c++20 -Wall -Wextra -Wpedantic -Werror -Iinclude -x c++ -fsyntax-only "$path"
    done 2>&1 | fail_on_output
}
check_shell() { scripts sh sh | sort -u | on_files shellcheck -x; }
check_python() {
    scripts python3 py | sort -u | on_files env PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
for path in sys.argv[1:]:
    with open(path, "rb") as f:
        compile(f.read(), path, "exec")'
}
# Every source names its license in its first lines.
check_spdx() {
    { files '*.c' '*.h' '*.py' '*.sh' '*.go' Makefile; scripts sh sh; scripts python3 py; } |
        sort -u | while read -r path; do
        head -n 3 "$path" | grep -q 'SPDX-License-Identifier: Apache-2.0' ||
            echo "$path: no SPDX-License-Identifier in the first three lines"
    done | fail_on_output
}
# Paths that exist on one machine only.
check_paths() {
    files '*' | grep -v '^tools/lint.sh$' |
        on_files grep -nIE '(^|[^A-Za-z0-9._/-])(/home/[a-z]|/root/|/Users/|/work/)' | fail_on_output
}
fail_on_output() { if grep '' >&2; then return 1; fi; }

[ $# -eq 0 ] || checks=$*
out=$(mktemp) || exit 2
trap 'rm -f "$out"' EXIT
number=0 failed=0
for name in $checks; do
    case $(command -v "check_$name") in
    '') echo "lint.sh: no such check: $name" >&2 && exit 2 ;;
    esac
    number=$((number + 1))
    if "check_$name" >"$out" 2>&1; then
        figures=$(cat "$out")
        echo "ok $number - $name${figures:+: $figures}"
    else
        failed=1
        echo "not ok $number - $name"
        sed 's/^/    /' "$out"
    fi
done
exit $failed
