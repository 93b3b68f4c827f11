# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by its neighbours: what Debian calls an architecture's tools and libraries.

# triple ARCH: aarch64-linux-gnu for arm64
triple() {
    case $1 in
    amd64) echo x86_64-linux-gnu ;;
    arm64) echo aarch64-linux-gnu ;;
    *) echo "$0: no image for the architecture \"$1\": amd64 or arm64" >&2 && return 1 ;;
    esac
}
