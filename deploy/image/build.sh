#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# build.sh ARCH DIR - compiles berth for ARCH and puts the files of its image into DIR.
set -eu

here=$(dirname "$0")
# shellcheck source=deploy/image/arch.sh
. "$here/arch.sh"

triple=$(triple "$1")
make -j"$(nproc)" CC="$triple-gcc" all
"$here/layout.sh" build/berth "$triple" "$2"
