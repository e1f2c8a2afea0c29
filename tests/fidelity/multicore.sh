#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Several cores: how far the streams that `psnap predict multicore` mimics from a run of one thread
# are from recordings of the same programs with two and four threads.
#
#   tests/fidelity/multicore.sh [--samples a,b,c] [--threads 2,4] [--jobs N] [--quick] [--accept]
#                               [--as-published] [--psnap FILE]
#
# The programs of samples/openmp, compiled by psnap cc -O2 -fopenmp --psnap-openmp, on two machines
# whose third level is shared. Prints cumulative hit rates of each level in percent, simulated: of
# the mimicked stream and of the recorded one, whose threads are in turn between barriers; how far
# they are apart in points; and how far from the recorded one the predictions by reuse distances
# are (SDCM, per set). Fails when the mean of the points is above 1.2 or one above 5. --accept writes
# multicore.csv, with --samples the lines of these. --quick takes the small arguments of the tests
# and writes nothing. --as-published mimics as the paper does, and neither fails nor writes. The full
# run takes half an hour.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
jobs=$(nproc) threads=2,4 quick=0 accept=0 as_published=0 psnap=""
given=""
read_options "samples= threads= jobs= psnap= quick accept as-published" "$@"
given=$psnap
if [ -z "$given" ]; then build_release all; else psnap=$(realpath "$given"); fi
arguments=fidelity
[ $quick = 0 ] || arguments=test
published=""
[ $as_published = 0 ] || published=--as-published accept=0
export psnap root work threads published

cat > "$work/small.yaml" <<'END'
machine:
  name: small
  levels:
    - {size_bytes: 8K, line_bytes: 64, ways: 4}
    - {size_bytes: 64K, line_bytes: 64, ways: 8}
    - {size_bytes: 1M, line_bytes: 64, ways: 16, shared_by: 8}
END
cat > "$work/haswell.yaml" <<'END'
machine:
  name: haswell
  levels:
    - {size_bytes: 32K, line_bytes: 64, ways: 8}
    - {size_bytes: 256K, line_bytes: 64, ways: 8}
    - {size_bytes: 20M, line_bytes: 64, ways: 20, shared_by: 8}
END

# record NAME THREADS ARGUMENTS...
record()
{
    local name=$1 count=$2
    shift 2
    "$psnap" record --no-profile --trace "$work/$name.$count.pst" -- "$work/$name" "$@" "$count" \
        > /dev/null
}

# NAME FILE SIZE ITERATIONS: leaves NAME.rows
one_sample()
{
    local name=$1 file=$2 count
    shift 2
    "$psnap" cc -O2 -fopenmp --psnap-openmp "$root/samples/openmp/$file" -o "$work/$name" -lm
    record "$name" 1 "$@"
    for count in ${threads//,/ }; do
        record "$name" "$count" "$@"
        # shellcheck disable=SC2086
        "$psnap" predict multicore "$work/$name.1.pst" --cores "$count" --no-time $published \
            --against "$work/$name.$count.pst" -m "$work/haswell.yaml" -m "$work/small.yaml" \
            --json > "$work/$name.json"
        /usr/bin/python3 - "$name" "$work/$name.json" << 'END' >> "$work/$name.rows"
import json
import sys

for row in json.load(open(sys.argv[2]))["rows"]:
    for level in row["levels"]:
        rates = [100 * level[k] for k in ("simulation", "observed", "sdcm", "per-set")]
        points = [abs(rate - rates[1]) for rate in (rates[0], rates[2], rates[3])]
        print(sys.argv[1], row["cores"], row["machine"], level["level"],
              *(f"{x:.2f}" for x in rates[:2] + points), sep=",")
END
        rm "$work/$name.$count.pst"
    done
    rm "$work/$name.1.pst" "$work/$name"
}
export -f one_sample record

while read -r name file rest; do
    # shellcheck disable=SC2034 # one of them is used
    IFS='|' read -r test fidelity bench <<< "$rest"
    ! is_wanted "$name" || echo "$name" "$file" ${!arguments}
done < <(grep -v -e '^#' -e '^ *$' samples/openmp/openmp.list) |
    xargs -r -P "$jobs" -L 1 bash -euc 'one_sample "$@"' one_sample
{
    echo "program,threads,machine,level,mimicked,recorded,points,sdcm_points,per_set_points"
    cat "$work"/*.rows
} > "$work/multicore.csv"
column -s , -t "$work/multicore.csv"
if [ $accept = 1 ]; then # those of other programs stay
    committed=tests/fidelity/multicore.csv
    [ -e $committed ] || head -n 1 "$work/multicore.csv" > $committed
    awk -F, 'NR == FNR {new[$1] = 1} NR == FNR && FNR > 1 || NR != FNR && !new[$1]' \
        "$work/multicore.csv" $committed | sort -t , -k 1,1 -k 2n > "$work/sorted"
    { head -n 1 "$work/multicore.csv" && cat "$work/sorted"; } > $committed
fi
/usr/bin/python3 - "$work/multicore.csv" "$published" << 'END'
import csv
import sys

rows = list(csv.DictReader(open(sys.argv[1])))
mean = {}
for key in ("points", "sdcm_points", "per_set_points"):
    for level in sorted({row["level"] for row in rows}):
        points = [float(row[key]) for row in rows if row["level"] == level]
        mean[key, level] = sum(points) / len(points)
        print(f"{key:15} level {level}: mean {mean[key, level]:.2f}, largest {max(points):.2f}")
points = [float(row["points"]) for row in rows]
if not sys.argv[2] and (sum(points) / len(points) > 1.2 or max(points) > 5):
    sys.exit("mimicked streams are further from recorded ones than 1.2 points in the mean, or 5")
END
