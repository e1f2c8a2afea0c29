#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The binary interface of libpsnap.so is what samples/packaging/abi.txt has: symbols and their types, layouts of
# structs, values of constants. Anything that is new, gone or changed fails, with what to do; samples/packaging/README.md
# has the rules. And the check finds what it is for: it is tried on other headers.
#
#   tests/rules/abi.sh --write    has the list written anew, of build/debug
set -eu
cd "${PSNAP_SOURCE:=$(cd "$(dirname "$0")/../.." && pwd)}"
build=${PSNAP_BUILD:-$PSNAP_SOURCE/build/debug}
[ -e "$build/lib/libpsnap.so" ] || exit 77 # sanitizer builds have none
command -v clang-19 > /dev/null && command -v python3 > /dev/null && [ "$(uname -m)" = x86_64 ] || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
abi="python3 -B samples/packaging/abi.py"
$abi list "$build/include" "$build/lib/libpsnap.so" > "$work/now"
if [ "${1-}" = --write ]; then
    $abi write . "$work/now"
    exit 0
fi
$abi check . "$work/now"

# The same with changes, in a copy of what is read of the sources
mkdir -p "$work/samples/packaging"
cp CMakeLists.txt CHANGELOG.md "$work"
cp samples/packaging/abi.txt "$work/samples/packaging"
grep -q "^## .*, not released yet" CHANGELOG.md || sed -i '0,/^## /s/^## .*/&, not released yet/' "$work/CHANGELOG.md"
status=0

# finds NOW TEXT: the check of NOW fails, and says TEXT
finds()
{
    if $abi check "$work" "$1" > "$work/said"; then
        echo "nothing was found; wanted: $2"
        status=1
    fi
    grep -qF -- "$2" "$work/said" || { echo "not said: $2, but:" && cat "$work/said" && status=1; }
}
cp -r "$build/include" "$work/include"
sed -i 's/uint32_t shape, turns;/uint64_t shape; uint32_t turns;/' "$work/include/psnap/formats/base/nest.h"
$abi list "$work/include" "$build/lib/libpsnap.so" > "$work/other"
finds "$work/other" "changed: struct psnap_run: it was 48 bytes"
finds "$work/other" "tests/rules/abi.sh --write"
sed -i 's/^#define PSNAP_SIM_ROWS_MAX .*/#define PSNAP_SIM_ROWS_MAX 1000/' "$work/include/psnap/simcore.h"
$abi list "$work/include" "$build/lib/libpsnap.so" > "$work/other"
finds "$work/other" "changed: constant PSNAP_SIM_ROWS_MAX: it was "
sed -i 's/^\(## .*\), not released yet$/\1/' "$work/CHANGELOG.md"
finds "$work/other" "raise PSNAP_ABI in CMakeLists.txt"
sed -i '/^symbol psnap_pump /d' "$work/samples/packaging/abi.txt"
finds "$work/now" "new: symbol psnap_pump"
finds "$work/now" "is released: raise the version"
echo "symbol psnap_gone 0.0.9 int (void)" >> "$work/samples/packaging/abi.txt"
finds "$work/now" "gone: symbol psnap_gone: it was int (void)"
finds "$work/now" "1 of these are in a release"
exit $status
