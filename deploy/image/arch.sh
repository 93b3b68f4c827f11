# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# Sourced by the other scripts: Debian's names for the tools and libraries of an architecture.

# triple ARCH: aarch64-linux-gnu for arm64
triple() {
    case $1 in
    amd64) echo x86_64-linux-gnu ;;
    arm64) echo aarch64-linux-gnu ;;
    *) echo "$0: architecture \"$1\" is not supported: use amd64 or arm64" >&2 && return 1 ;;
    esac
}
