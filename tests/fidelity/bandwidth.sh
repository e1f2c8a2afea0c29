#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bandwidth against reality, on one core of this computer: psnap multimaps measures it, psnap fit fits it, and
# memory times of all samples' loops (runtime.list, the size beyond the caches) are measured and predicted.
#
#   tests/fidelity/bandwidth.sh [--samples a,b,c] [--points FILE.yaml] [--machine FILE.yaml] [--budget TIME]
#                               [--rounds N] [--jobs N] [--keep DIR] [--accept]
#
# A sample's loops are what it does in further iterations: it runs natively with half of the list's iterations
# and with as many and eight times that half more, all rows in turn, N rounds (9), and the difference of the medians counts;
# so what it does once (first touches, input) is in neither side. Runs of half and of twice the half are
# recorded, and predicted by each method of the fit. What the core needs for them when all hits level 1
# is what psnap predict runtime has for computation, by the assembly code. Loops are memory-bound where they
# take more than twice that: the mean error of their memory times is what counts.
# Beside it the times of whole runs, by bandwidth and by psnap predict runtime. --accept writes bandwidth.csv and
# bandwidth_points.yaml; --keep leaves traces and points in DIR, and takes what is there. PSNAP is the psnap to take.
# --jobs: so many samples are recorded and predicted at a time (1); times are taken alone. Half an hour.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
points="" machine="" budget=3m rounds=9 keep="" jobs=1 accept=0
read_options "samples= points= machine= budget= rounds= jobs= keep= accept" "$@"
# shellcheck disable=SC2154
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
clang=$(command -v clang-19 || command -v clang)
[ -z "$keep" ] || { mkdir -p "$keep" && keep=$(realpath "$keep"); }
[ -z "$machine" ] || machine=$(realpath "$machine")
[ -z "$points" ] || points=$(realpath "$points")
cd "${keep:-$work}" || exit
[ -n "$machine" ] || { machine=$PWD/host.yaml && { [ -e host.yaml ] || "$psnap" machine host -o host.yaml > /dev/null; }; }
[ -n "$points" ] || { points=$PWD/points.yaml && { [ -e points.yaml ] || "$psnap" multimaps -o points.yaml --budget "$budget"; }; }
[ -e fit.yaml ] || "$psnap" fit "$points" -o fit.yaml

# one_run NAME RUN ARGUMENTS...: a run recorded and predicted
one_run()
{
    local name=$1 run=$2 each
    shift 2
    [ -e "$name.$run.pst" ] || {
        "$psnap" record --no-profile --force --trace "$name.$run.part.pst" -- "./$name.psnap" "$@" > /dev/null
        mv "$name.$run.part.pst" "$name.$run.pst"
    }
    "$psnap" predict bandwidth "$name.$run.pst" --fit fit.yaml --method all -m "$machine" --by total --json > "$name.$run.json"
    for each in "" "--asm $name.s"; do
        # shellcheck disable=SC2086
        "$psnap" predict runtime "$name.$run.pst" -m "$machine" $each --method overlap --by total --json \
            > "$name.$run.runtime${each:+.asm}.json"
    done
    [ -n "$keep" ] || rm -f "$name.$run.pst"
}

# one_sample NAME FILE N ITERATIONS ...: compiled, recorded and predicted
one_sample()
{
    local name=$1 file=$2 driver=$clang capture=cc half=$((($4 + 1) / 2))
    case $file in *.cpp) driver=${clang/clang/clang++} capture=c++ ;; esac
    [ -e "$name" ] || "$driver" -O2 -g "$root/samples/$file" -o "$name" -lm -pthread
    [ -e "$name.s" ] || "$psnap" $capture --psnap-blocks -O2 -S "$root/samples/$file" -o "$name.s"
    [ -e "$name.psnap" ] || compile "$file" "$name.psnap"
    echo "$name ./$name $3 $half ${*:5} | ./$name $3 $((9 * half)) ${*:5}" > "$name.row"
    one_run "$name" half "$3" "$half" "${@:5}"
    one_run "$name" all "$3" "$((2 * half))" "${@:5}"
}

echo 'int main(void) { return 0; }' > nothing.c
"$clang" -O2 -o nothing nothing.c
rm -f ./*.row
while read -r name file sizes; do
    case $name in "" | "#"*) continue ;; esac
    is_wanted "$name" || continue
    IFS='|' read -r -a lists <<< "$sizes"
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
    # shellcheck disable=SC2086
    one_sample "$name" "$file" ${lists[2]} &
done < "$root/tests/fidelity/runtime.list"
while [ -n "$(jobs -rp)" ]; do wait -n; done
/usr/bin/python3 "$root/tests/fidelity/bandwidth.py" "$([ "$accept" = 0 ] && echo show || echo accept)" . "$rounds"
[ "$accept" = 0 ] || cp "$points" "$root/tests/fidelity/bandwidth_points.yaml"
