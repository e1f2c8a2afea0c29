#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Model stackdist: recorded or made of a trace, the same profile; its replay has the hit rates of
# the program in fully associative caches of as many lines, by loop; an edit moves it.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# near NAME POINTS ARGUMENTS...: no loop of the sample is further off
near()
{
    local name=$1 points=$2 size
    shift 2
    "$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/$name.c" -o "$name" -lm
    expect 0 "$PSNAP" record --model stackdist -o "$name.yaml" --trace "$name.pst" -- "./$name" "$@"
    grep -q 'model: stackdist-1' "$name.yaml"
    expect 0 "$PSNAP" check "$name.yaml"
    /usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
        "$PSNAP_SOURCE/profile/psnap-profile.schema.json" "$name.yaml" || [ $? = 77 ]
    expect 0 "$PSNAP" profile "$name.pst" --model stackdist -o again.yaml
    diff <(sed '/recorded:/d' "$name.yaml") <(sed '/recorded:/d' again.yaml)
    rm again.yaml
    for size in 16K:64:256 64K:64:1024; do
        expect 0 "$PSNAP" compare "$name.pst" "$name.yaml" -m $size --max-error "$points"
    done
}

near stream 0.1 20000 3
near matmul 0.2 60 1
near spmv 0.3 5000 2

# What is touched longest ago is touched next instead: nothing is in reach of the cache any more.
sed -E 's/reuse: \{new: ([0-9]+), distances: \{0: /reuse: {new: \1, distances: {500000: /' \
    matmul.yaml > far.yaml
if cmp -s matmul.yaml far.yaml; then fail "there is nothing to edit"; fi
expect 1 "$PSNAP" compare matmul.yaml far.yaml -m 16K:64:256 --max-error 5

expect 2 "$PSNAP" profile stream.pst --model stack -o other.yaml
grep -q "no model 'stack'; there are walks, psnap and stackdist" err
