#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every public header compiles alone: as C17, and those of the library as C++17
# too (the commands' headers and the YAML tree are not for others). No feature
# macros: what is installed may not depend on them.
set -eu
cd "$PSNAP_SOURCE"

check()
{
    local header=$1 compiler=$2 standard=$3 language=$4
    if ! printf '#include "%s"\nextern int unit;\n' "$header" | "$compiler" -std="$standard" -x "$language" -I. \
        -Wall -Wextra -Wpedantic -Werror -fsyntax-only -; then
        echo "$header does not compile alone as $standard"
        failures=$((failures + 1))
    fi
}

failures=0
count=0
for header in formats/base/*.h formats/formats.h simcore/simcore.h profile/profile.h \
    replay/replay.h replay/cmd_input.h predict/predict.h capture/capture.h capture/roi.h; do
    [ -e "$header" ] || continue
    count=$((count + 1))
    check "$header" "${PSNAP_CC:-cc}" c17 c
    case $header in
    */cmd.h | */cmd_*.h | */yaml_tree.h | capture/capture.h) ;;
    *) check "$header" "${PSNAP_CXX:-c++}" c++17 c++ ;;
    esac
done
[ "$count" -ge 10 ] || { echo "only $count headers found"; exit 1; }
echo "$count headers, $failures wrong"
[ "$failures" -eq 0 ]
