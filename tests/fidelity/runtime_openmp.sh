#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run times against reality, on two cores: the OpenMP samples at three sizes (runtime_openmp.list),
# with one thread and with two, measured and predicted from one run of one thread.
#
#   tests/fidelity/runtime_openmp.sh [--samples a,b,c] [--machine FILE.yaml] [--rounds N] [--keep DIR]
#                                    [--accept]
#
# As runtime.sh, by `psnap predict multicore --cores 1,2`: rows are NAME.SIZE.CORES, and speed-ups from
# one to two cores are compared as well. --accept writes runtime_openmp.csv. Takes some ten minutes,
# alone.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
machine="" rounds=7 keep="" accept=0
read_options "samples= machine= rounds= keep= accept" "$@"
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
clang=$(command -v clang-19 || command -v clang)
[ -z "$keep" ] || { mkdir -p "$keep" && keep=$(realpath "$keep"); }
[ -z "$machine" ] || machine=$(realpath "$machine")
cd "${keep:-$work}"

if [ -z "$machine" ]; then
    machine=$PWD/host.yaml
    [ -e "$machine" ] || "$psnap" machine host -o "$machine"
fi
printf '#include <omp.h>\nint main(void) {\n#pragma omp parallel num_threads(2)\nomp_get_num_threads(); }\n' \
    > nothing.c
"$clang" -O2 -fopenmp -o nothing nothing.c

# NAME FILE: NAME (native), NAME.s and NAME.psnap
build()
{
    "$clang" -O2 -fopenmp "$root/samples/openmp/$2" -o "$1" -lm
    "$psnap" cc --psnap-openmp --psnap-blocks -O2 -fopenmp -S "$root/samples/openmp/$2" -o "$1.s"
    "$psnap" cc -O2 -fopenmp --psnap-openmp "$root/samples/openmp/$2" -o "$1.psnap" -lm
}

# TRACE ROW: ROW.1.json and ROW.2.json, as runtime.py takes them
predict()
{
    "$psnap" predict multicore "$1" --cores 1,2 -m "$machine" --asm "${2%%.*}.s" --json > predicted
    /usr/bin/python3 - "$2" << 'END'
import json
import sys

report = json.load(open("predicted"))
for row in report["rows"]:
    with open(f"{sys.argv[1]}.{row['cores']}.json", "w") as file:
        json.dump({"rows": [{"method": report["time"], **row}]}, file)
END
}

: > rows
while read -r name file rest; do
    case $name in "" | "#"*) continue ;; esac
    is_wanted "$name" || continue
    [ -e "$name.psnap" ] || build "$name" "$file"
    size=0
    IFS='|' read -r -a sizes <<< "$rest"
    for arguments in "${sizes[@]}"; do
        size=$((size + 1))
        row=$name.$size
        # shellcheck disable=SC2086
        [ -e "$row.pst" ] ||
            "$psnap" record --no-profile --trace "$row.pst" -- "./$name.psnap" $arguments > record.out
        [ -e "$row.2.json" ] || predict "$row.pst" "$row"
        [ -n "$keep" ] || rm "$row.pst"
        for cores in 1 2; do
            echo "$row.$cores ./$name $arguments $cores" >> rows
        done
    done
done < "$root/tests/fidelity/runtime_openmp.list"

mode=show
[ $accept = 0 ] || mode=accept
/usr/bin/python3 "$root/tests/fidelity/runtime.py" "$mode" . "$rounds" runtime_openmp.csv
