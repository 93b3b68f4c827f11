#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python that has wasmtime (package wasmtime): that of PATH, or one in the cache,
# which the package is installed into. Its library is the one that berth loads for guests.
set -eu

want=wasmtime==50.0.1
cache=${XDG_CACHE_HOME:-$HOME/.cache}/berth/wasmtime
if python3 -c 'import wasmtime' 2>/dev/null; then
    command -v python3
    exit 0
fi
if ! "$cache/venv/bin/python" -c 'import wasmtime' 2>/dev/null; then
    "$(dirname "$0")/venv.sh" "$cache" "$want"
fi
echo "$cache/venv/bin/python"
