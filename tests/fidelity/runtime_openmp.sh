#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Run times against reality, on two cores: the OpenMP samples at three sizes (runtime_openmp.list),
# with one thread and with two, measured and predicted from one run of one thread.
#
#   tests/fidelity/runtime_openmp.sh [--samples a,b,c] [--machine FILE.yaml] [--rounds N] [--keep DIR]
#                                    [--jobs N] [--accept]
#
# As runtime.sh, by `psnap predict multicore --cores 1,2`: rows are NAME.SIZE.CORES, and speed-ups from
# one to two cores are compared as well. Threads are bound to cores: unbound, Linux may leave both on
# one for the first 10 ms, a time that programs of a tenth of a second notice. --accept writes runtime_openmp.csv. Takes half an hour.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
# shellcheck source=tests/fidelity/runtime_common.sh
. tests/fidelity/runtime_common.sh "$@"
export OMP_PROC_BIND=true
printf '#include <omp.h>\nint main(void) {\n#pragma omp parallel num_threads(2)\nomp_get_num_threads(); }\n' \
    > nothing.c
"$clang" -O2 -fopenmp -o nothing nothing.c

build()
{
    "$clang" -O2 -fopenmp "$root/samples/openmp/$2" -o "$1" -lm
    "$psnap" cc --psnap-openmp --psnap-blocks -O2 -fopenmp -S "$root/samples/openmp/$2" -o "$1.s"
    "$psnap" cc -O2 -fopenmp --psnap-openmp "$root/samples/openmp/$2" -o "$1.psnap" -lm
}

predict()
{
    "$psnap" predict multicore "$1.pst" --cores 1,2 -m "$machine" --asm "$2.s" --json > "$1.part"
    /usr/bin/python3 - "$1" << 'END'
import json
import sys

with open(sys.argv[1] + ".part") as file:
    report = json.load(file)
for row in report["rows"]:
    with open(f"{sys.argv[1]}.{row['cores']}.json", "w") as file:
        json.dump({"rows": [{"method": report["time"], **row}]}, file)
END
}

commands()
{
    for cores in 1 2; do echo "$1.$cores ./$2 ${*:3} $cores"; done
}

measure runtime_openmp.list runtime_openmp.csv
