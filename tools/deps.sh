#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh PACKAGE... - installs the Debian packages that are missing; silent if none is.
set -eu

missing=
for package in "$@"; do
    case $(dpkg-query -W -f '${Status}' "$package" 2>/dev/null) in
    "install ok installed") ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "deps.sh: missing packages:$missing; install them as root, or install sudo" >&2
        exit 1
    fi
    as_root=sudo
fi

echo "installing:$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update
# shellcheck disable=SC2086 # a list of names
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends $missing >/dev/null
