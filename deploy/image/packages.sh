#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh ARCH - installs the packages that compile berth for ARCH (amd64, arm64) on Debian.
set -eu

# shellcheck source=deploy/image/arch.sh
. "$(dirname "$0")/arch.sh"

arch=$1
triple=$(triple "$arch")
if [ "$(dpkg --print-architecture)" = "$arch" ]; then
    compiler=gcc
else
    compiler=gcc-$(echo "$triple" | tr _ -)
    dpkg --add-architecture "$arch"
fi
apt-get update
DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    make ca-certificates binutils "$compiler" "libc6-dev:$arch" "libssl-dev:$arch" \
    "libnghttp2-dev:$arch" "libyaml-dev:$arch" "libsqlite3-dev:$arch"
rm -rf /var/lib/apt/lists/*
