#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# venv.sh DIR PACKAGE==VERSION: installs a package of PyPI's into an environment of its own, DIR/venv,
# which Debian's Python does not mind. Silent, unless it fails.
set -eu

mkdir -p "$1"
if ! { python3 -m venv "$1/venv" &&
    "$1/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
        --no-deps --only-binary :all: "$2"; } >"$1/log" 2>&1; then
    tail -n 3 "$1/log" >&2
    exit 1
fi
