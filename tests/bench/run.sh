#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Speed: what capture costs, and how fast streams are simulated, replayed and
# profiled. Prints two tables and writes tests/bench/capture_MODEL.csv and rates.csv.
#
#   tests/bench/run.sh [--samples a,b,c] [--runs N] [--quick] [--no-write] [--model NAME] [--peers]
#
# capture_nests.csv, a row per sample at its bench arguments (samples/samples.list),
# compiled with -O2; wall seconds are medians of N runs (3), all kinds taken in turn:
#   native_s        plain clang, the same options
#   idle_s, idle_x  compiled by psnap cc, run by itself; as a multiple of native
#   record_s, record_x  under psnap record with a profile; as a multiple of native
#   pinned_x        the same with all of it on one processor
#   accesses, million_per_s  recorded, and per second of record_s
#   memory_mb       of the largest process of it, resident: the collector, or the program itself
#                   where that is larger (hashjoin)
#   profile_bytes
# Below the table it prints the means, and the affine samples (samples/kinds.sh) above 1.5x.
# --model NAME records with another model than nests, the default (psnap is the published one), and
# writes capture_NAME.csv alone. With --samples only the rows of these are written, and no rates.csv.
# rates.csv: million accesses per second of wall time of each command, median.
# --peers writes tests/bench/peers.csv instead: a few samples at the arguments of the
# fidelity tests under psnap record, Valgrind's cachegrind, and, of bfs, its lackey, which writes a
# text trace: processor time by that of the program, and the sizes of profile and traces; one run of each.
# --quick takes the arguments of the tests. Run it alone on the machine.
set -eu
# shellcheck source=tests/script.sh
. "$(dirname "$0")/../script.sh"
runs=3 quick=0 no_write=0 peers=0 model=nests
read_options "samples= runs= quick no-write model= peers" "$@"
csv=tests/bench/capture_$model.csv
small=fidelity large=bench # arguments
[ $quick = 0 ] || small=test large=test
clang=${PSNAP_CLANG:-clang-19}
build_release all
recorder=("$psnap" record --force --model "$model" -o "$work/p.yaml" --)

# table FILE.csv: with columns as wide as they must be
table()
{
    awk -F, '
        NR == FNR { for (i = 1; i <= NF; i++) if (length($i) > width[i]) width[i] = length($i); next }
        { for (i = 1; i < NF; i++) printf "%-*s  ", width[i], $i; print $NF }
    ' "$1" "$1"
}

accesses_of()
{
    "$psnap" info --json "$1" | sed -n 's/.*"accesses": *\([0-9]*\).*/\1/p' | head -1
}

# compile_both NAME FILE: natively as native, instrumented as NAME
compile_both()
{
    local compiler=$clang
    case $2 in *.cpp) compiler=${PSNAP_CLANGXX:-clang++-19} ;; esac
    rm -f "$work"/*.s
    "$compiler" -O2 -g "samples/$2" -o "$work/native" -lm -pthread
    compile "$2" "$work/$1"
}

# pinned_run FILE COMMAND...: its wall time on one processor, appended to the file; prints the
# megabytes that the largest of its processes had
pinned_run()
{
    local to=$1
    shift
    python3 - "$to" "$@" << 'END'
import os, resource, subprocess, sys, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
start = time.monotonic()
subprocess.run(sys.argv[2:], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, check=True)
with open(sys.argv[1], "a") as out:
    print("%.4f" % (time.monotonic() - start), file=out)
print(round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024))
END
}

one_sample()
{
    local name=$1 i native idle record accesses pinned memory
    compile_both "$1" "$2"
    shift 2
    for ((i = 0; i < runs; i++)); do
        seconds "$work/native.s" "$work/native" "$@"
        seconds "$work/idle.s" "$work/$name" "$@"
        seconds "$work/record.s" "${recorder[@]}" "$work/$name" "$@"
        pinned_run "$work/pinned.s" "${recorder[@]}" "$work/$name" "$@" >> "$work/memory.s"
    done
    memory=$(sort -n "$work/memory.s" | tail -1) pinned=$(median "$work/pinned.s")
    native=$(median "$work/native.s") idle=$(median "$work/idle.s")
    record=$(median "$work/record.s") accesses=$(accesses_of "$work/p.yaml")
    echo "$name,$*,$native,$idle,$record,$pinned,$accesses,$memory,$(stat -c %s "$work/p.yaml")" |
        awk -F, -v OFS=, '{print $1, $2, $3, $4, sprintf("%.2f", $4 / $3), $5,
            sprintf("%.2f", $5 / $3), sprintf("%.2f", $6 / $3), $7, sprintf("%.1f", $7 / $5 / 1e6),
            $8, $9}'
}

capture()
{
    echo sample,arguments,native_s,idle_s,idle_x,record_s,record_x,pinned_x,accesses,million_per_s,memory_mb,profile_bytes
    each_sample $large one_sample
}

# processor_time COMMAND...: seconds, of its children too
processor_time()
{
    local TIMEFORMAT='%U %S'
    { time "$@" > /dev/null 2>&1; } 2>&1 | awk '{ print $1 + $2 }'
}

# Of other tools: processor time by that of the program, and what is kept.
peers_of()
{
    local name=$1 native record cachegrind lackey
    compile_both "$1" "$2"
    shift 2
    native=$(processor_time "$work/native" "$@")
    record=$(processor_time "${recorder[@]}" "$work/$name" "$@")
    cachegrind=$(processor_time valgrind -q --tool=cachegrind --cache-sim=yes \
        --cachegrind-out-file=/dev/null "$work/native" "$@")
    lackey=$([ "$name" != bfs ] || processor_time valgrind -q --tool=lackey --trace-mem=yes \
        --log-file="$work/lackey" "$work/native" "$@") # it takes half an hour for the others
    "$psnap" record --force -o "$work/p.yaml" --trace "$work/t.pst" -- "$work/$name" "$@" > /dev/null
    echo "$name,$*,$native,$record,$cachegrind,$lackey" | awk -F, -v OFS=, -v sizes="$(stat -c %s \
        "$work/p.yaml" "$work/t.pst" "$work/lackey" 2> /dev/null | paste -sd,)" '{
            print $1, $2, $3, sprintf("%.1f,%.0f,%s", $4 / $3, $5 / $3, $6 ? sprintf("%.0f", $6 / $3) : ""), sizes}'
    rm -f "$work/t.pst" "$work/lackey"
}

peer_rows()
{
    echo sample,arguments,native_s,record_x,cachegrind_x,lackey_x,profile_bytes,pst_bytes,lackey_bytes
    samples=${samples:-stream,cg,matmul,hashjoin,bfs} each_sample $small peers_of
}

# rate NAME ACCESSES COMMAND...: a row of rates.csv
rate()
{
    local name=$1 accesses=$2 i
    shift 2
    rm -f "$work/rate.s"
    for ((i = 0; i < runs; i++)); do seconds "$work/rate.s" "$@"; done
    awk -v n="$name" -v a="$accesses" -v s="$(median "$work/rate.s")" \
        'BEGIN {printf "%s,%d,%.3f,%.1f\n", n, a, s, a / s / 1e6}'
}

# Of cg, matmul and stream.
rates_of()
{
    local name=$1 accesses part machine=32K:64:8,1M:64:16,32M:64:16
    [[ " cg matmul stream " == *" $name "* ]] || return 0
    compile "$2" "$work/$name"
    shift 2
    "$psnap" record --force --model "$model" -o "$work/p.yaml" --trace "$work/t.pst" -- \
        "$work/$name" "$@" > /dev/null
    accesses=$(accesses_of "$work/p.yaml")
    cat "$work/t.pst" > /dev/null # into the page cache
    rate "sim $name.pst (three levels)" "$accesses" "$psnap" sim "$work/t.pst" -m $machine 2> /dev/null
    rate "replay $name -f pst -o /dev/null" "$accesses" "$psnap" replay "$work/p.yaml" -f pst -o /dev/null 2> /dev/null
    rate "profile $name.pst" "$accesses" "$psnap" profile "$work/t.pst" --model "$model" --force -o "$work/q.yaml" 2> /dev/null
    part=$((accesses < 20971520 ? accesses : 20971520))
    rate "locality $name.pst --count 20M" $part "$psnap" locality "$work/t.pst" --count 20M 2> /dev/null
    rm -f "$work/t.pst"
}

if [ $peers = 1 ]; then
    peer_rows > "$work/peers.csv"
    table "$work/peers.csv"
    [ $no_write = 1 ] || cp "$work/peers.csv" tests/bench/peers.csv
    exit
fi
capture > "$work/capture.csv"
table "$work/capture.csv"
echo
awk -F, 'NR > 1 {n++; i += log($5); r += log($7); p += log($8); if ($7 > max) {max = $7; who = $1}}
    END {if (n) printf "%d samples: idle %.2fx, record %.2fx, on one processor %.2fx of native (geometric means); largest %.1fx (%s)\n",
        n, exp(i / n), exp(r / n), exp(p / n), max, who}' "$work/capture.csv"
awk -F, -v irregular="$irregular" 'NR > 1 && !index(irregular, " " $1 " ") {n++; if ($7 > 1.5) over = over " " $1 " " $7 "x"}
    END {if (n) printf "%d of them affine, above 1.5x:%s\n", n, over ? over : " none"}' "$work/capture.csv"
if [ "$model" = nests ]; then
    {
        echo what,accesses,seconds,million_per_s
        each_sample $small rates_of
    } > "$work/rates.csv"
    echo
    table "$work/rates.csv"
fi
if [ $no_write = 0 ] && [ $quick = 0 ] && [ -n "$samples" ]; then
    put_rows "$work/capture.csv" "$csv"
elif [ $no_write = 0 ] && [ $quick = 0 ]; then
    cp "$work/capture.csv" "$csv"
    [ "$model" != nests ] || cp "$work/rates.csv" tests/bench/rates.csv
    echo
    echo "written: $csv$([ "$model" != nests ] || echo ", tests/bench/rates.csv")"
fi
