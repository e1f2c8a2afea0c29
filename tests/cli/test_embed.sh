#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# samples/embed, a program that uses the simulator, builds against an installed psnap, by pkg-config
# and by CMake, and counts what psnap sim does of the same stream; README.md says how.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
[ -e "$PSNAP_BUILD/lib/libpsnap.so" ] || exit 77 # sanitizer builds have none
cc=${PSNAP_CC:-cc}

cmake --install "$PSNAP_BUILD" --prefix "$dir/prefix" > log || fail "$(cat log)"
PKG_CONFIG_PATH=$(dirname "$(find "$dir/prefix" -name psnap.pc)")
export PKG_CONFIG_PATH

# By hand: the 256 lines of a column are in 2 of 64 sets of 8 ways, where none stays until the next
# column, and in 32 of 1024 of 16 ways, where all stay for the 8 columns that they have.
cat > expected << 'END'
level 1: 0 hits of 65536
level 2: 57344 hits of 65536
END
# shellcheck disable=SC2046
$cc -std=c17 -Wall -Wextra -Wpedantic -Werror "$PSNAP_SOURCE/samples/embed/simulate.c" -o by_hand \
    $(pkg-config --cflags --libs psnap) -Wl,-rpath,"$(pkg-config --variable=libdir psnap)"
./by_hand | diff expected - || fail "by pkg-config"

cmake -S "$PSNAP_SOURCE/samples/embed" -B build -DCMAKE_PREFIX_PATH="$dir/prefix" \
    -DCMAKE_C_COMPILER="$cc" > log 2>&1 && cmake --build build >> log 2>&1 || fail "$(cat log)"
./build/simulate | diff expected - || fail "by find_package"
sed 's/find_package(psnap/& 99.0/' "$PSNAP_SOURCE/samples/embed/CMakeLists.txt" > CMakeLists.txt
cp "$PSNAP_SOURCE/samples/embed/simulate.c" .
cmake -S . -B newer -DCMAKE_PREFIX_PATH="$dir/prefix" > log 2>&1 && fail "version 99 was found"
grep -q "99.0" log || fail "$(cat log)"

# the same stream through psnap sim
awk 'BEGIN {
    print "address,size,kind,thread,ref"
    for (column = 0; column < 256; column++)
        for (row = 0; row < 256; row++)
            printf "0x%x,8,load,0,0\n", 4096 + (row * 256 + column) * 8
}' > same.csv
"$PSNAP" sim same.csv -m 32K:64:8,1M:64:16 --by total --csv > out 2> err || fail "$(cat err)"
has out ",1,,65536,0,0,0,"
has out ",2,,65536,57344,0.875,"
