#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# clang-tidy with .clang-tidy over the library and the commands. It takes half a
# minute, so it runs only when PSNAP_TIDY=1 is set. The analyzer's search of a function
# ends after 20000 states: by its default, 225000, it takes ten times as long.
set -eu
[ "${PSNAP_TIDY:-0}" = 1 ] || exit 77
command -v run-clang-tidy-19 > /dev/null || exit 77
[ -e "$PSNAP_BUILD/compile_commands.json" ] || exit 77
cd "$PSNAP_SOURCE"
run-clang-tidy-19 -quiet -j "$(nproc)" -p "$PSNAP_BUILD" \
    -extra-arg=-Xclang -extra-arg=-analyzer-config -extra-arg=-Xclang -extra-arg=max-nodes=20000 \
    "^$PSNAP_SOURCE/(psnap|(formats|simcore|profile|replay|predict|capture)/.*)\.c\$"
