#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# The table of PPT-Multicore's paper, as far as it can be had without its machines: hit rates of each
# level and run times that `psnap predict multicore` predicts for the programs of samples/openmp on
# 1, 2, 4, 8 and 16 cores of an i7-5960X, an E5-2699 v4 and an EPYC 7702P, from one run of one thread.
#
#   tests/fidelity/ppt.sh [--samples a,b,c] [--jobs N] [--accept]
#
# At the arguments of the tests (openmp.list). Prints the table; --accept writes ppt.csv. PSNAP is the
# psnap to take (else one is built). Takes some minutes.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) accept=0
read_options "samples= jobs= accept" "$@"
psnap=${PSNAP-}
[ -n "$psnap" ] || build_release all
export psnap root work

# NAME FILE ARGUMENTS...: leaves NAME.json
one_program()
{
    cd "$work"
    "$psnap" cc -O2 -fopenmp --psnap-openmp "$root/samples/openmp/$2" -o "$1" -lm
    "$psnap" record --no-profile --trace "$1.pst" -- "./$1" "${@:3}" > "$1.out"
    "$psnap" predict multicore "$1.pst" --cores 1,2,4,8,16 -m i7-5960x -m e5-2699v4 -m epyc-7702p \
        --json > "$1.json"
    rm "$1.pst"
}
export -f one_program

grep -v -e '^#' -e '^ *$' samples/openmp/openmp.list | while read -r name file rest; do
    ! is_wanted "$name" || echo "$name $file ${rest%%|*}"
done | sed 's/ *$//' | xargs -r -P "$jobs" -L 1 bash -c 'one_program "$@"' one_program
/usr/bin/python3 - "$accept" "$root/tests/fidelity/ppt.csv" "$work"/*.json << 'END'
import csv
import json
import os
import sys

accept, path, files = sys.argv[1], sys.argv[2], sys.argv[3:]
TIMES = ["seconds", "t_mem_seconds", "t_cpu_seconds"]
METHODS = ["sdcm", "per-set", "simulation"]
columns = ["program", "machine", "cores", *(f"{m}_l{i}" for i in (1, 2, 3) for m in METHODS), *TIMES]
table = []
for name in sorted(files):
    with open(name) as file:
        report = json.load(file)
    for row in report["rows"]:
        line = {"program": os.path.basename(name)[: -len(".json")], "machine": row["machine"],
                "cores": row["cores"]}
        for level in row["levels"]:
            for method in METHODS:
                line[f"{method}_l{level['level']}"] = f"{100 * level[method]:.3f}"
        for key in TIMES:
            line[key] = f"{row[key]:.4g}"
        table.append(line)
for out in [sys.stdout] + ([open(path, "w", newline="")] if accept == "1" else []):
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
END
