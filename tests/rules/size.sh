#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# No source file grows beyond 800 lines (400 is what it should have).
set -eu
cd "$PSNAP_SOURCE"
find psnap.c formats simcore profile replay predict capture samples tests \
    "(" -name '*.c' -o -name '*.h' -o -name '*.cpp' -o -name '*.inc' ")" -exec wc -l {} + |
    awk '$2 != "total" && $1 > 800 { print $2 ": " $1 " lines"; wrong = 1 } END { exit wrong }'
