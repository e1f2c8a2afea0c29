#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run times against reality: all samples at three sizes (runtime.list) on one core of this computer,
# measured and predicted.
#
#   tests/fidelity/runtime.sh [--samples a,b,c] [--machine FILE.yaml] [--rounds N] [--keep DIR]
#                             [--jobs N] [--accept]
#
# Each sample is compiled three times with the same flags: as it is, as assembly code, and with
# capture. The first is timed, all rows in turn, N rounds (7); the median counts, less that of a program
# that does nothing. The third is recorded as a trace, which `psnap predict runtime` takes with the
# assembly code and the machine that `psnap machine host` has measured. Prints the table of runtime.py and
# the mean error of each method; --accept writes runtime.csv. --keep leaves traces and results in DIR, and
# takes what is there. --jobs: so many samples are recorded and predicted at a time (1); times are
# taken afterwards, alone. PSNAP is the psnap to take (else one is built). Takes some ten minutes.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
# shellcheck source=tests/fidelity/runtime_common.sh
. tests/fidelity/runtime_common.sh "$@"
echo 'int main(void) { return 0; }' > nothing.c
"$clang" -O2 -o nothing nothing.c -lm -pthread

build()
{
    local driver=$clang capture=cc
    case $2 in *.cpp) driver=${clang/clang/clang++} capture=c++ ;; esac
    "$driver" -O2 -g "$root/samples/$2" -o "$1" -lm -pthread
    "$psnap" $capture --psnap-blocks -O2 -S "$root/samples/$2" -o "$1.s"
    compile "$2" "$1.psnap"
}

predict()
{
    "$psnap" predict runtime "$1.pst" -m "$machine" --asm "$2.s" --json > "$1.part"
    mv "$1.part" "$1.json"
}

commands()
{
    echo "$1 ./$2 ${*:3}"
}

measure runtime.list runtime.csv
