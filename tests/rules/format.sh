#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The layout of the code is what .clang-format makes of it. To mend:
#   clang-format-19 -i FILE
set -eu
cd "$PSNAP_SOURCE"
command -v clang-format-19 > /dev/null || exit 77
find psnap.c formats simcore profile replay predict capture samples tests \
    -name '*.c' -o -name '*.h' -o -name '*.cpp' | sort | xargs clang-format-19 --dry-run -Werror
