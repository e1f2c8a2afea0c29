#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Every OpenMP sample compiles alone and without a warning, prints its one line whoever compiled
# it and with 1, 2 and 3 threads, recorded or not, refuses wrong arguments, has no data race, and
# its loops make as many accesses as can be counted by hand.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

samples=$PSNAP_SOURCE/samples/openmp
warnings='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror'
export OMP_WAIT_POLICY=passive # threads that wait leave the processor to others

cat > omp.c << 'END'
#include <omp.h>
int main(void) { return omp_get_max_threads() < 1; }
END
for compiler in "$PSNAP cc" "${PSNAP_CC:-cc}"; do
    $compiler -fopenmp omp.c -o omp 2> omp.err || {
        echo "skipped: no OpenMP with $compiler: $(head -n 1 omp.err)"
        exit 77
    }
done

# check NAME FILE TEST_ARGS; NAME.ok is left behind when all is well
check() {
    local name=$1 file=$samples/$2 threads program wrong status
    shift 2
    ${PSNAP_CC:-cc} -std=c17 $warnings -Wmissing-prototypes -Wstrict-prototypes -Wvla -O0 -fopenmp \
        -o "$name.plain" "$file" -lm || fail "$name: does not compile at -O0"
    "$PSNAP" cc -std=c17 $warnings -O2 -fopenmp -o "$name" "$file" -lm ||
        fail "$name: does not compile with psnap cc"
    "./$name.plain" "$@" > "$name.wanted" || fail "$name $*: exit status $?"
    grep -Eqx "$name $1 $2 checksum -?[0-9.e+-]+" "$name.wanted" ||
        fail "$name: printed '$(cat "$name.wanted")'"
    for threads in 1 2 3; do
        for program in "./$name.plain" "./$name"; do
            "$program" "$@" $threads > "$name.out" || fail "$program $* $threads: exit status $?"
            cmp -s "$name.wanted" "$name.out" ||
                fail "$program $* $threads: '$(cat "$name.out")', not '$(cat "$name.wanted")'"
        done
        "$PSNAP" record -o "$name.$threads.yaml" -- "./$name" "$@" $threads > "$name.out" \
            2> "$name.err" || fail "$name $* $threads: exit status $? recorded: $(cat "$name.err")"
        cmp -s "$name.wanted" "$name.out" || fail "$name $* $threads: recorded, prints another line"
        "$PSNAP" check "$name.$threads.yaml" > "$name.check" || fail "$name: $(cat "$name.check")"
    done
    for wrong in '0' '1x' '10 0' '10 1 0' '10 1 257' '10 1 1 1'; do
        status=0
        "./$name" $wrong > "$name.out" 2> "$name.err" || status=$?
        [ $status -eq 2 ] && [ ! -s "$name.out" ] &&
            grep -q "^usage: $name .*THREADS" "$name.err" ||
            fail "$name '$wrong': exit status $status: $(cat "$name.out" "$name.err")"
    done
    touch "$name.ok"
}

names=
while read -r sample file arguments; do
    case $sample in '' | '#'*) continue ;; esac
    IFS='|' read -r test fidelity bench extra <<< "$arguments"
    [[ $test\|$fidelity =~ ^\ *[0-9]+\ [0-9]+\ *\|\ *[0-9]+\ [0-9]+\ *$ ]] && [ -z "${extra:-}" ] &&
        [[ $bench =~ ^\ [0-9]+\ [0-9]+\ \;\ [0-9]+\ [0-9]+\ \;\ [0-9]+\ [0-9]+$ ]] ||
        fail "openmp.list: $sample: want SIZE ITERATIONS, again, and three times with ';' between"
    names="$names $sample"
    check "$sample" "$file" $test &
    while [ "$(jobs -pr | wc -l)" -ge 2 ]; do
        wait -n || true # whoever failed said so, and is missed below
    done
done < "$samples/openmp.list"
wait || true
for sample in $names; do
    [ -e "$sample.ok" ] || fail "$sample failed"
done
for file in "$samples"/*.c; do
    [ -e "$(basename "$file" .c).ok" ] || fail "openmp.list: $file is not in it"
done

# ------------------------------------------------------------- counts, by hand

# line NAME TEXT: where the first loop is in whose head or body this text is
line() {
    local at
    at=$(grep -nF -- "$2" "$samples/$1.c" | head -n 1 | cut -d : -f 1)
    [ -n "$at" ] || fail "$1.c: no '$2'"
    sed -n "1,${at}p" "$samples/$1.c" | grep -n '^ *for (' | tail -n 1 | cut -d : -f 1
}

# counted PROFILE LINE: accesses of all loops that are at this line of the source
counted() {
    "$PSNAP" show "$1" --json | python3 -c '
import json, sys
loops = json.load(sys.stdin)["loops"]
print(sum(loop["accesses"] for loop in loops if loop.get("source", "").endswith(":" + sys.argv[1])))
' "$2"
}

# expect_count NAME TEXT PROFILE ACCESSES
expect_count() {
    local seen
    seen=$(counted "$3" "$(line "$1" "$2")")
    [ "$seen" = "$4" ] || fail "$3: $seen accesses in the loop of '$2', not $4"
}

# arguments NAME: sets n and t, those of its tests
arguments() {
    read -r _ _ n t _ <<< "$(grep "^$1 " "$samples/openmp.list")"
}

# Sums are not vectorised: what the source says is what is done, by however many threads.
for threads in 1 2 3; do
    arguments atax && expect_count atax 'a[i * n + j] * x[j]' atax.$threads.yaml $((2 * n * n * t))
    arguments bicg && expect_count bicg 'a[i * n + j] * r[i]' bicg.$threads.yaml $((2 * n * n * t))
    arguments mvt && expect_count mvt 'a[j * n + i] * y2[j]' mvt.$threads.yaml $((2 * n * n * t))
    arguments mm2 && expect_count mm2 'right[k * n + j]' mm2.$threads.yaml $((4 * n * n * n * t))
    arguments covariance
    expect_count covariance 'data[k * n + i] * data[k * n + j]' covariance.$threads.yaml \
        $((n * n * (n + 1) * t))
    arguments doitgen
    expect_count doitgen 'of_a[s] * c[s * n + p]' doitgen.$threads.yaml $((2 * n * n * n * n * t))
    arguments gramschmidt
    expect_count gramschmidt 'dot += ' gramschmidt.$threads.yaml $((n * n * (n - 1) * t))
    expect_count gramschmidt 'q[i * n + k] * dot' gramschmidt.$threads.yaml \
        $((3 * n * n * (n - 1) / 2 * t))
done

# The others are so without vectors; at a size of which turns would be left over by unrolling.
for sample in adi conv2d jacobi lu symm; do
    "$PSNAP" cc -O2 -fno-vectorize -fno-slp-vectorize -fno-unroll-loops -fopenmp \
        -o "$sample" "$samples/$sample.c" -lm
    "$PSNAP" record -o "$sample.yaml" -- "./$sample" 75 3 > out
done
n=75 t=3 inner=$((73 * 73))
expect_count adi 'double pivot' adi.yaml $((2 * 5 * inner * t))
expect_count adi 'double *point = to' adi.yaml $((2 * 4 * inner * t))
expect_count conv2d 'double *above' conv2d.yaml $((10 * inner * t))
expect_count jacobi 'to[j] =' jacobi.yaml $((6 * inner * t))
expect_count lu 'factor * pivot_row[j]' lu.yaml $((3 * (n - 1) * n * (2 * n - 1) / 6 * t))
expect_count symm 'factor * from[j]' symm.yaml $((3 * n * n * n * t))

# ------------------------------------------------------------- data races

# The thread sanitizer understands OpenMP by LLVM's tool Archer: what it finds in a program that has
# a race it must not find in the samples. 70: more than one strip of atax, tile of conv2d.
cat > race.c << 'END'
int main(void)
{
    int sum = 0;
#pragma omp parallel for num_threads(3)
    for (int i = 0; i < 1000; i++)
        sum += i;
    return sum == 1;
}
END
OMP_TOOL_LIBRARIES=$("$PSNAP" cc -print-file-name=libarcher.so)
export OMP_TOOL_LIBRARIES TSAN_OPTIONS="ignore_noninstrumented_modules=1"
"$PSNAP" cc -O0 -g -fsanitize=thread -fopenmp race.c -o race 2> race.err &&
    [ -e "$OMP_TOOL_LIBRARIES" ] && ./race 2>&1 | grep -q 'data race' || {
    echo "skipped data races: $(head -n 1 race.err)"
    exit 0
}
for sample in $names; do
    n=70
    [ "$sample" != doitgen ] || n=20 # its work is n^4
    "$PSNAP" cc -O1 -g -fsanitize=thread -fopenmp -o "$sample" "$samples/$sample.c" -lm
    expect 0 "./$sample" $n 2 3
    [ ! -s err ] || fail "$sample: $(head -n 20 err)"
done
