#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Bandwidth against reality, on one core of this computer: psnap multimaps measures it, psnap fit fits it, and
# memory times of all samples' loops (runtime.list, its second and third size) are measured and predicted.
#
#   tests/fidelity/bandwidth.sh [--samples a,b,c] [--points FILE.yaml] [--machine FILE.yaml] [--budget TIME]
#                               [--rounds N] [--keep DIR] [--accept]
#
# A sample's loops are what it does in another so many iterations: it runs with half of the list's iterations and
# with all of them, natively, all rows in turn, N rounds (9), and the difference of the medians counts; so what
# it does once (first touches, input) is in neither side. Both runs are recorded, and predicted by each method of
# the fit. Loops are memory-bound where more than half of the predicted memory time is for what lies behind level
# 1, and it is more than the floating-point time; the mean error of these is what counts. Beside it the times of
# whole runs, by bandwidth and by psnap predict runtime. --accept writes bandwidth.csv; --keep leaves
# traces and points in DIR, and takes what is there. PSNAP is the psnap to take. Half an hour.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
points="" machine="" budget=3m rounds=9 keep="" accept=0
read_options "samples= points= machine= budget= rounds= keep= accept" "$@"
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

# one_row ROW FILE ARGUMENTS...: both runs of a row recorded and predicted
one_row()
{
    local row=$1 file=$2 name=${1%.*} driver=$clang run
    shift 2
    case $file in *.cpp) driver=${clang/clang/clang++} ;; esac
    [ -e "$name" ] || "$driver" -O2 -g "$root/samples/$file" -o "$name" -lm -pthread
    [ -e "$name.psnap" ] || compile "$file" "$name.psnap"
    local half=("$1" "$((($2 + 1) / 2))" "${@:3}") all=("$1" "$((2 * (($2 + 1) / 2)))" "${@:3}")
    echo "$row ./$name ${half[*]} | ./$name ${all[*]}" >> rows
    for run in half all; do
        local -n arguments=$run
        [ -e "$row.$run.pst" ] || {
            "$psnap" record --no-profile --force --trace "$row.part.pst" -- "./$name.psnap" "${arguments[@]}" > /dev/null
            mv "$row.part.pst" "$row.$run.pst"
        }
        "$psnap" predict bandwidth "$row.$run.pst" --fit fit.yaml --method all -m "$machine" --by total --json \
            > "$row.$run.json"
        [ $run = half ] || "$psnap" predict runtime "$row.$run.pst" -m "$machine" --method overlap --by total \
            --json > "$row.runtime.json"
        [ -n "$keep" ] || rm -f "$row.$run.pst"
    done
}

echo 'int main(void) { return 0; }' > nothing.c
"$clang" -O2 -o nothing nothing.c
: > rows
while read -r name file sizes; do
    case $name in "" | "#"*) continue ;; esac
    is_wanted "$name" || continue
    IFS='|' read -r -a lists <<< "$sizes"
    for size in 1 2; do
        # shellcheck disable=SC2086
        one_row "$name.$((size + 1))" "$file" ${lists[size]}
    done
done < "$root/tests/fidelity/runtime.list"
/usr/bin/python3 "$root/tests/fidelity/bandwidth.py" "$([ "$accept" = 0 ] && echo show || echo accept)" . "$rounds" "$points"
