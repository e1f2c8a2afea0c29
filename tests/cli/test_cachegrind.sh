#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Two samples as psnap records and simulates them, and as cachegrind counts them without psnap:
# misses as tests/fidelity/cachegrind.csv has them, which is within 0.3 %.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
valgrind -q --tool=cachegrind --cache-sim=yes --cachegrind-out-file=probe.cg true > /dev/null 2>&1 ||
    { echo "skipped: no valgrind that works here"; exit 77; }
command -v clang-19 > /dev/null || command -v clang > /dev/null ||
    { echo "skipped: no clang"; exit 77; }

PSNAP=$(realpath "$PSNAP") "$PSNAP_SOURCE/tests/fidelity/cachegrind.sh" --samples spmv,seidel --jobs 2 > table ||
    fail "$(cat table)"
[ "$(grep -c -e '^spmv ' -e '^seidel ' table)" = 4 ] || fail "$(cat table)"
awk 'NR > 1 && ($6 < -1 || $6 > 1 || $9 < -1 || $9 > 1) { exit 1 }' table || fail "$(cat table)"

# it would see a difference: half of the accesses of one
sed 's/--by total --csv/--count 1000000 &/' "$PSNAP_SOURCE/tests/fidelity/cachegrind.sh" > half.sh
mkdir -p tree/tests/fidelity
cp half.sh tree/tests/fidelity/cachegrind.sh
cp "$PSNAP_SOURCE"/tests/fidelity/cachegrind.{py,csv} tree/tests/fidelity
cp "$PSNAP_SOURCE/tests/script.sh" tree/tests
cp -r "$PSNAP_SOURCE/samples" tree
expect 1 env PSNAP="$(realpath "$PSNAP")" bash tree/tests/fidelity/cachegrind.sh --samples seidel
has out "seidel sets: d1_percent"
