#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Size and speed of .pst on the samples, next to the baseline of bench_pst.c:
# records each at its fidelity arguments (samples/samples.list) and -O2, and
# takes the first 100 M accesses. Prints a table, and puts its rows into
# tests/bench/pst.csv in place of those of the same samples.
#
#   tests/bench/pst.sh [--samples a,b,c] [--no-write]
#
# samples/kinds.sh says which samples are affine.
set -eu
. "$(dirname "$0")/../script.sh"
write=1
while [ $# -gt 0 ]; do
    case $1 in
    --samples) wanted=,$2, && shift ;;
    --no-write) write=0 ;;
    *) usage "$1" ;;
    esac
    shift
done

cmake --preset release > /dev/null
cmake --build --preset release > /dev/null
psnap=$PWD/build/release/psnap
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
${CC:-cc} -std=gnu17 -O2 -DNDEBUG -I. tests/bench/bench_pst.c -o "$work/bench_pst" \
    build/release/lib/libpsnap_core.a -lzstd -lxxhash -lyaml -lm

one_sample()
{
    local name=$1 file=$2 driver=cc kind=affine
    shift 2
    case $file in *.cpp) driver=c++ ;; esac
    [[ $irregular != *" $name "* ]] || kind=irregular
    "$psnap" $driver -O2 "samples/$file" -o "$work/$name" -lm -pthread
    "$psnap" record --force -o "$work/p.yaml" --trace "$work/$name.pst" -- "$work/$name" "$@" \
        > /dev/null 2>&1
    "$work/bench_pst" "$work/$name.pst" | sed -n "s/^\\([^,]*\\),pst,/\\1,$kind,/p"
    rm -f "$work/$name.pst"
}

{
    "$work/bench_pst" -n 1000 | sed -n '1s/format/kind/p'
    while read -r name file rest; do
        IFS='|' read -r _ fidelity _ <<< "$rest"
        # shellcheck disable=SC2086
        one_sample "$name" "$file" $fidelity < /dev/null
    done < <(wanted_samples)
} > "$work/pst.csv"
column -s, -t "$work/pst.csv"
for kind in affine irregular; do
    awk -F, -v kind=$kind '$2 == kind {n++; s += log($8); if ($8 > m) {m = $8; who = $1}}
        END {if (n) printf "%s: %.3f of the baseline (geometric mean of %d), at most %.3f (%s)\n",
            kind, exp(s / n), n, m, who}' "$work/pst.csv"
done
[ $write = 0 ] || put_rows "$work/pst.csv" tests/bench/pst.csv
