#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap predict multicore: marks in programs as they are optimised, a triangle, chunks, vectors, a
# single, nested loops; the mimicked stream against recordings of two and four threads, in the
# caches; run times; task lists; bad input.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > machine.yaml << 'END'
machine:
  name: quad
  clock_hz: 2.0e9
  cores: 4
  levels:
    - {size_bytes: 8K, line_bytes: 64, ways: 4, latency_cycles: 4, throughput_cycles: 0.5}
    - {size_bytes: 64K, line_bytes: 64, ways: 8, latency_cycles: 12, throughput_cycles: 2, bandwidth_bytes_per_s: 64.0e9, shared_by: 2}
    - {size_bytes: 256K, line_bytes: 64, ways: 16, latency_cycles: 40, throughput_cycles: 5, bandwidth_bytes_per_s: 25.6e9, shared_by: 4}
  memory: {latency_cycles: 200, throughput_cycles: 20, bandwidth_bytes_per_s: 6.4e9}
  operations:
    int_add: {latency_cycles: 1, throughput_cycles: 0.25}
    int_mul: {latency_cycles: 3, throughput_cycles: 1}
    int_div: {latency_cycles: 20, throughput_cycles: 8}
    fp_add: {latency_cycles: 3, throughput_cycles: 1}
    fp_mul: {latency_cycles: 3, throughput_cycles: 1}
    fp_fma: {latency_cycles: 4, throughput_cycles: 1}
    convert: {latency_cycles: 4, throughput_cycles: 1}
    branch: {throughput_cycles: 0.5}
    call: {throughput_cycles: 2}
END

cat > program.c << 'END'
#include <stdio.h>
#include <stdlib.h>
static double *a, *b;
int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 60;
    double sum = 0;

    a = malloc(sizeof(double) * (size_t)(n * n));
    b = malloc(sizeof(double) * (size_t)(n * n));
#pragma omp parallel for
    for (int i = 0; i < n * n; i++) /* vectorised: an iteration of the code is several */
        a[i] = i, b[i] = 2 * i;
#pragma omp parallel for
    for (int i = 0; i < n * n; i++) /* a memset: none is left */
        b[i] = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double s = 0;
            for (int k = 0; k < n; k++)
                s += a[i * n + k] * a[j * n + k];
            b[i * n + j] = s;
        }
#pragma omp parallel
    {
        double own[64] = {0};
#pragma omp for collapse(2) schedule(static, 5) reduction(+ : sum)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                own[(i * 7 + j) & 63] += b[j * n + i];
                sum += own[j & 63];
            }
#pragma omp single
        a[0] = sum;
#pragma omp for schedule(static)
        for (int i = 1; i < n; i++)
            for (int j = 0; j < n; j++)
                a[i * n + j] += b[i * n + j];
    }
    printf("%g\n", sum + a[n]);
    return 0;
}
END
"$PSNAP" cc -fopenmp -O2 probe.c -o probe 2> err && OMP_NUM_THREADS=1 ./probe || {
    echo "skipped: no OpenMP: $(cat err)"
    exit 77
}

# What the pass writes is well formed, however the code is optimised, and counts iterations
for flags in -O0 -O1 "-O2 -g" "-O3 -funroll-loops"; do
    # shellcheck disable=SC2086
    "$PSNAP" cc --psnap-openmp -fopenmp $flags program.c -S -emit-llvm -o program.ll
    "$PSNAP" cc -fopenmp program.ll -o program 2> err || fail "$flags: $(cat err)"
    ! grep -q dominate err || fail "$flags: $(cat err)"
    OMP_NUM_THREADS=1 "$PSNAP" record --no-profile --force --trace one.pst -- ./program 50 > out
    "$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,3 --json > json
    python3 - "$flags" << 'END'
import json, sys
rows = json.load(open("json"))["rows"]
sections = rows[0]["sections"]
at_o0 = sys.argv[1] == "-O0"
seen = [[s[key] for s in sections] for key in ("executions", "loops", "iterations")]
assert seen == [[0, 1, 1, 1, 1], [0, 1, 1, 1, 2], [0, 2500, 2500 if at_o0 else 0, 50, 2549]], seen
for section in rows[1]["sections"][1:4]:
    even = section["accesses"] / 3
    busiest = section["busiest_core_accesses"]
    if section["iterations"] == 50: # a triangle: 17 rows of 50 have more than a third
        part = sum(range(34, 51)) / sum(range(51))
        assert abs(busiest / section["accesses"] - part) < 0.02, (part, section)
    else:
        assert even <= busiest < 1.1 * even + 16, section
END
done

# Mimicked and recorded, at -O2; the streams of two machines, and drawn cores
for threads in 2 4; do
    OMP_NUM_THREADS=$threads "$PSNAP" record --no-profile --force --trace many.pst -- ./program 50 > out
    "$PSNAP" predict multicore one.pst -m machine.yaml --no-time --cores $threads --against many.pst \
        --json > json
    python3 - << 'END'
import json
for level in json.load(open("json"))["rows"][0]["levels"]:
    assert level["error_points"] <= 0.5, level
    assert abs(level["per-set"] - level["observed"]) < 0.02, level
    assert abs(level["sdcm"] - level["observed"]) < 0.1, level
assert json.load(open("json"))["core_accesses_difference"] < 0.05, json.load(open("json"))
END
done
"$PSNAP" predict multicore one.pst -m machine.yaml -m 8K:64:4 --no-time --cores 4 --interleave uniform \
    --seed 3 --json > uniform
"$PSNAP" predict multicore one.pst -m machine.yaml -m 8K:64:4 --no-time --cores 4 --interleave uniform \
    --seed 3 --json > again
cmp uniform again
python3 - << 'END'
import json
drawn, turn = (json.load(open(name))["rows"][0]["levels"] for name in ("uniform", "json"))
rows = json.load(open("uniform"))["rows"]
assert rows[1]["levels"][0]["simulation"] == rows[0]["levels"][0]["simulation"]
assert rows[0]["seconds"] is None
for a, b in zip(drawn, turn):
    assert abs(a["simulation"] - b["simulation"]) < 0.02, (a, b)
assert drawn[0]["simulation"] == turn[0]["simulation"] # a core's own
END

# One core is the program itself, but for the marks
"$PSNAP" cc -fopenmp -O3 -funroll-loops program.c -o plain
OMP_NUM_THREADS=1 "$PSNAP" record --no-profile --force --trace plain.pst -- ./plain 50 > out
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 1 --json > json
"$PSNAP" sim plain.pst -m machine.yaml --by total --json > sim.json
python3 - << 'END'
import json
row, sim = (json.load(open(name))["rows"][0] for name in ("json", "sim.json"))
assert row["accesses"] == sim["accesses"]
for a, b in zip(row["levels"], sim["levels"]):
    assert abs(a["simulation"] - b["cumulative_hit_rate"]) < 1e-3, (a, b)
END

# A memset that the optimiser takes out of a loop, and leaves the rest: it is dealt out, too
cat > taken.c << 'END'
#include <stdio.h>
#define N 32768
double z[N], a[N], b[N];
int main(int argc, char **argv)
{
    const int n = argc > 1 ? 7 : N;
    (void)argv;
#pragma omp parallel for
    for (int i = 0; i < n; i++) {
        z[i] = 0;
        a[i] += b[i] * 2;
    }
    printf("%g\n", a[5] + z[7]);
    return 0;
}
END
"$PSNAP" cc --psnap-openmp -fopenmp -O2 taken.c -o taken
for threads in 1 4; do
    OMP_NUM_THREADS=$threads "$PSNAP" record --no-profile --force --trace taken.$threads.pst -- ./taken > out
done
"$PSNAP" predict multicore taken.1.pst -m machine.yaml --no-time --cores 4 --against taken.4.pst --json > json
python3 - << 'END'
import json
row = json.load(open("json"))["rows"][0]
section = row["sections"][1]
assert section["iterations"] == 32768, section
assert abs(section["busiest_core_accesses"] / section["accesses"] - 0.25) < 0.01, section
for level in row["levels"]:
    assert level["error_points"] < 0.2, level
END

# Chunks of which the compiler knows no length are said to be such, and asked for
cat > chunks.c << 'END'
#include <stdio.h>
#include <stdlib.h>
double a[4096];
int main(int argc, char **argv)
{
    const int chunk = argc > 1 ? atoi(argv[1]) : 8;
#pragma omp parallel for schedule(SCHEDULE)
    for (int i = 0; i < 4096; i++)
        a[i] = a[4095 - i] + i;
    printf("%g\n", a[chunk]);
    return 0;
}
END
for schedule in static,chunk dynamic,chunk guided,chunk runtime static,8 dynamic,8; do
    "$PSNAP" cc --psnap-openmp -fopenmp -O2 "-DSCHEDULE=$schedule" chunks.c -o chunks
    OMP_NUM_THREADS=1 "$PSNAP" record -o chunks.yaml --force --trace chunks.pst -- ./chunks > out
    for input in chunks.pst chunks.yaml; do
        if [ "${schedule#*,}" != 8 ]; then
            expect 1 "$PSNAP" predict multicore $input -m machine.yaml --no-time --cores 4
            has err "section main.omp_outlined ("
            has err "has a loop whose chunk was not known when it was compiled: add --chunk N"
        else
            "$PSNAP" predict multicore $input -m machine.yaml --no-time --cores 4 > known
        fi
        "$PSNAP" predict multicore $input -m machine.yaml --no-time --cores 4 --chunk 8 > table
        [ "${schedule#*,}" != 8 ] || cmp known table
    done
done

# Threads of a trace as cores
"$PSNAP" sim many.pst -m machine.yaml --cores 4 --by total --interleave round-robin > table 2> err
has table "4 threads, interleaved access by access, each a core with the caches that the machine has"
"$PSNAP" sim many.pst -m machine.yaml --cores 4 --by total --interleave round-robin --json > cores 2> err
"$PSNAP" sim many.pst -m machine.yaml --by total --interleave round-robin --json > one 2> err
"$PSNAP" sim many.pst -m machine.yaml --cores 4 --by thread --interleave round-robin --json > apart 2> err
python3 - << 'END'
import json
cores, one, apart = (json.load(open(name)) for name in ("cores", "one", "apart"))
first = [[row["levels"][0]["hits"] for row in report["rows"]] for report in (cores, one, apart)]
assert cores["cores"] == 4 and "cores" not in one
assert (cores["hierarchy"], one["hierarchy"]) == ("cores", "one")
assert cores["interleaving"] == one["interleaving"] == "round-robin by access"
assert len(first[2]) == 4 and first[0][0] == sum(first[2]) != first[1][0], first
END
expect 1 "$PSNAP" sim many.pst -m machine.yaml --cores 2
has err "but there are only 2 cores"
for cores in 0 1025 x; do
    expect 2 "$PSNAP" sim many.pst -m machine.yaml --cores $cores
    has err "--cores takes a number from 1 to 1024, not '$cores'"
done

# The total does not depend on the rows that are asked for
OMP_NUM_THREADS=4 "$PSNAP" record -o many.yaml --force --trace many.pst -- ./program 50 > out
for input in many.pst many.yaml; do
    "$PSNAP" sim $input -m machine.yaml --cores 4 --by total --json > total 2> err
    "$PSNAP" sim $input -m machine.yaml --cores 4 --by total,thread --json > both 2> err
    python3 - << 'END'
import json
total, both = (json.load(open(name)) for name in ("total", "both"))
assert both["threads"] == 4 and both["interleaving"] == "stream order", both["interleaving"]
assert total["rows"] == both["rows"][:1], (total["rows"], both["rows"][:1])
END
done

# Run times: more cores, less time, as far as the busiest one has less; by hand from the rates
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,2,4 --sections > table
has table "L3/4 sim. %"
has table speedup
has table "main.omp_outlined.2"
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,2,4 --method simulation --json > json
python3 - << 'END'
import json
report = json.load(open("json"))
rows = report["rows"]
assert report["method"] == "simulation" and report["time"] == "overlap"
assert rows[0]["seconds"] > rows[1]["seconds"] > rows[2]["seconds"] > 0
for row in rows:
    for s in row["sections"]:
        # of each loop the root of squares, and sections are sums of loops
        mem, cpu = s["t_mem_seconds"], s["t_cpu_seconds"]
        rest = s["t_branch_seconds"] + s["t_touch_seconds"]
        assert rest == 0, s # this machine does not say what they cost
        assert (mem ** 2 + cpu ** 2) ** 0.5 < s["seconds"] * (1 + 1e-9), s
        assert s["seconds"] < (mem + cpu) * (1 + 1e-9), s
    assert abs(row["seconds"] - sum(s["seconds"] for s in row["sections"])) < 1e-12, row
    assert row["levels"][0]["cumulative_hit_rate"] == row["levels"][0]["simulation"], row
sequential = [row["sections"][0]["seconds"] for row in rows]
assert max(sequential) < 1.3 * min(sequential)
END
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,2 --as-published --json > published
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,2 --chunk 1 --json > chunked
python3 - << 'END'
import json
plain, published, chunked = (json.load(open(n))["rows"][1] for n in ("json", "published", "chunked"))
def busiest(row, section):
    return row["sections"][section]["busiest_core_accesses"] / row["sections"][section]["accesses"]
assert busiest(plain, 3) > 0.7 # a triangle: the first half of the rows
assert busiest(chunked, 3) < 0.55 # every other row
assert published["sections"][3]["iterations"] == 50 and 0.45 < busiest(published, 3) < 0.75
END

# What OpenMP takes itself: sections, of one core and more, and barriers, two for each level of the tree
sed 's/^  operations:/  parallel: {alone_cycles: 1000, section_cycles: 20000, barrier_cycles: 300}\n&/' \
    machine.yaml > omp.yaml
"$PSNAP" predict multicore one.pst -m omp.yaml --cores 1,2,4 --method simulation --json > synced
python3 - << 'END'
import json
from math import log2
for plain, row in zip(*(json.load(open(name))["rows"] for name in ("json", "synced"))):
    depth, all_of = log2(row["cores"]), 0
    for s in row["sections"]:
        each = 20000 * depth if depth else 1000
        sync = (s["executions"] * each + s["barriers"] * 300 * depth) / 2e9
        assert abs(s["t_sync_seconds"] - sync) < 1e-12, s
        all_of += sync
    assert abs(row["t_sync_seconds"] - all_of) < 1e-12 and all_of > 0, row
    assert abs(row["seconds"] - plain["seconds"] - all_of) < 1e-12, (row, plain)
    assert sum(s["barriers"] for s in row["sections"]) > 0, row
END

# schedule(dynamic) of a vectorised loop: its vectors go round
cat > dynamic.c << 'END'
double a[40000], b[40000];
int main(void)
{
#pragma omp parallel for schedule(dynamic)
    for (int i = 0; i < 40000; i++)
        a[i] = a[i] * 2 + b[i];
    return 0;
}
END
"$PSNAP" cc --psnap-openmp -fopenmp -O2 dynamic.c -o dynamic
OMP_NUM_THREADS=1 "$PSNAP" record --no-profile --trace dynamic.pst -- ./dynamic
"$PSNAP" predict multicore dynamic.pst -m machine.yaml --no-time --cores 1,2,3,4 --json > json.dynamic
python3 - << 'END'
import json
rows = json.load(open("json.dynamic"))["rows"]
for row in rows:
    part = row["busiest_core_accesses"] / rows[0]["accesses"]
    assert abs(part * row["cores"] - 1) < 0.01, (row["cores"], part)
END

# A trace that was cut off has lost what blocks compute, which it says at its end
head -c $(($(stat -c %s one.pst) - 20)) one.pst > cut.pst
expect 1 "$PSNAP" predict multicore cut.pst -m machine.yaml --cores 1,2
has err "'cut.pst' does not say what its blocks compute"
"$PSNAP" predict multicore cut.pst -m machine.yaml --cores 2 --no-time > table 2> err

# What every core does for itself takes as long on many, or less where they have its lines together
cat > copies.c << 'END'
#include <stdlib.h>
static double work(double *a, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[(long)i * 7919 % n];
    return sum;
}
int main(void)
{
    enum { N = 20000 };
    double *a = calloc(N, sizeof *a), sum = work(a, N);
#pragma omp parallel reduction(+ : sum)
    sum += work(a, N);
    return sum > 0;
}
END
"$PSNAP" cc --psnap-openmp -fopenmp -O1 -fno-inline copies.c -o copies
OMP_NUM_THREADS=1 "$PSNAP" record --no-profile --trace copies.pst -- ./copies
"$PSNAP" predict multicore copies.pst -m machine.yaml --cores 1,4 --json > json.copies
python3 - << 'END'
import json
one, four = (row["sections"] for row in json.load(open("json.copies"))["rows"])
for a, b in zip(one, four):
    assert abs(b["t_cpu_seconds"] / a["t_cpu_seconds"] - 1) < 0.01, (a, b)
    assert b["t_mem_seconds"] < 1.05 * a["t_mem_seconds"], (a, b)
END

# Code: additions that wait for each other, 3 cycles each, half of them while the loop's next entry
# is under way, rather than units
if command -v clang-19 llvm-mca-19 > out; then
    "$PSNAP" cc -O3 -funroll-loops -fopenmp --psnap-openmp --psnap-blocks -S program.c -o program.s
    "$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,4 --asm program.s --cpu skylake \
        --json > code
    python3 - << 'END'
import json
one, four = json.load(open("code"))["rows"]
section = one["sections"][3]
additions = 50 * 51 / 2 * 50
cycles = section["t_cpu_seconds"] * 2e9 / additions
assert 1.2 < cycles < 2, (cycles, section)
assert 1.2 < section["t_cpu_seconds"] / four["sections"][3]["t_cpu_seconds"] < 4, four
END
    expect 1 "$PSNAP" predict multicore one.pst -m machine.yaml --asm program.s --asm ./program.s
    has err "./program.s: this code is in a file that was given before"
    expect 2 "$PSNAP" predict multicore one.pst -m machine.yaml --asm program.s --time published
    has err "--asm is for run times by --time overlap"
    expect 1 "$PSNAP" predict multicore one.pst -m machine.yaml --asm nowhere.s
    has err "cannot open 'nowhere.s'"
fi

# On one core it is what predict runtime says, but for the marks, which are accesses to that one
"$PSNAP" predict runtime one.pst -m machine.yaml --method overlap --json > runtime
python3 - << 'END'
import json
one = json.load(open("json"))["rows"][0]
runtime = next(r for r in json.load(open("runtime"))["rows"] if r["scope"] == "total")
assert abs(one["t_cpu_seconds"] / runtime["t_cpu_seconds"] - 1) < 0.05, (one, runtime)
assert abs(one["seconds"] / runtime["seconds"] - 1) < 0.05, (one, runtime)
END

# A profile keeps the marks; of this regular program it is as good as the trace
OMP_NUM_THREADS=1 "$PSNAP" record -o one.yaml --force --trace one.pst -- ./program 50 > out
for input in one.pst one.yaml; do
    "$PSNAP" predict multicore $input -m machine.yaml --cores 4 --json > $input.json
done
python3 - << 'END'
import json
a, b = (json.load(open(name))["rows"][0] for name in ("one.pst.json", "one.yaml.json"))
# of the memset, pieces at its ends are references of their own
assert abs(a["accesses"] - b["accesses"]) < 10 and abs(a["seconds"] / b["seconds"] - 1) < 1e-3, (a, b)
assert a["t_cpu_seconds"] > 0 and abs(a["t_cpu_seconds"] / b["t_cpu_seconds"] - 1) < 1e-3, (a, b)
for x, y in zip(a["levels"], b["levels"]):
    assert abs(x["simulation"] - y["simulation"]) < 1e-3
END
has one.yaml "mark: omp.iteration"
OMP_NUM_THREADS=1 "$PSNAP" record --model psnap -o published.yaml -- ./program 50 > out
expect 1 "$PSNAP" predict multicore published.yaml -m machine.yaml --no-time --cores 4
has err "'published.yaml' is a profile of model psnap, which does not say in which order marks come:"
sed 's/mark: omp.single end/mark: omp.singled/' one.yaml > odd.yaml
expect 1 "$PSNAP" predict multicore odd.yaml -m machine.yaml
has err "no mark 'omp.singled'"

# A task list in place of the trace: the same by SDCM, but for bins
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,4 --time throughput \
    --task-list tasks.yaml --json > json
expect 1 "$PSNAP" predict multicore one.pst -m machine.yaml --cores 1,4 --task-list tasks.yaml
if [ -w /dev/full ]; then
    expect 1 "$PSNAP" predict multicore one.pst -m machine.yaml --cores 1 --task-list /dev/full
    has err "/dev/full: cannot write: no space"
fi
"$PSNAP" predict multicore tasks.yaml -m machine.yaml --cores 1,4 --time throughput \
    --json > list.json
"$PSNAP" predict multicore tasks.yaml -m machine.yaml --cores 4 --task-list copy.yaml > table
has table "nothing is simulated"
sed 's/{size_bytes: 256K/{name: LLC, size_bytes: 256K/' machine.yaml > named.yaml
"$PSNAP" predict multicore tasks.yaml -m named.yaml --cores 4 > table
has table "L2/2 SDCM %  LLC/4 SDCM %"
"$PSNAP" predict multicore tasks.yaml -m named.yaml --cores 4 --json > named.json
has named.json '"name": "LLC"'
cmp tasks.yaml copy.yaml
python3 - << 'END'
import json
for a, b in zip(*(json.load(open(n))["rows"] for n in ("json", "list.json"))):
    assert abs(a["seconds"] / b["seconds"] - 1) < 0.01
    assert a["accesses"] == b["accesses"]
    for x, y in zip(a["levels"], b["levels"]):
        assert abs(x["sdcm"] - y["sdcm"]) < 1e-3 and "simulation" not in y
END
expect 1 "$PSNAP" predict multicore tasks.yaml -m machine.yaml --cores 2
has err "has no run of 2 cores"
expect 1 "$PSNAP" predict multicore tasks.yaml -m 8K:32:4 --no-time --cores 4
has err "no profile of lines of 32 bytes in caches of 1 of 4 cores"
expect 2 "$PSNAP" predict multicore tasks.yaml -m machine.yaml --cores 4 --method per-set
has err "of a task list there is SDCM alone"
for option in "--chunk 4" "--interleave uniform" "--interleave round-robin" "--seed 3" \
    "--no-time --as-published"; do
    # shellcheck disable=SC2086
    expect 2 "$PSNAP" predict multicore tasks.yaml -m machine.yaml --cores 4 $option
    has err "${option% [0-9ur]*} needs a trace or a profile: a task list was dealt when it was written"
done
expect 2 "$PSNAP" predict multicore one.pst -m machine.yaml --cores 4 --task-list - --json
has err "--task-list - and --json would both go to standard output"
sed -i 's/line_bytes: 64/line_bytes: x/' copy.yaml
expect 1 "$PSNAP" predict multicore copy.yaml -m machine.yaml --cores 4
has err "copy.yaml:"

# It may come through a pipe, behind comments, and its first key be quoted; so may a trace
multicore_json() { timeout 300 "$PSNAP" predict multicore "$@" -m machine.yaml --json; }
same() { sed 's/"input": *"[^"]*"//' "$1" > as_said; cmp as_said expected; }
multicore_json tasks.yaml --cores 1,4 | sed 's/"input": *"[^"]*"//' > expected
{ echo '# of the program'; echo ''; echo '---'; sed 's/^psnap_tasks:/"psnap_tasks" :/' tasks.yaml; } > quoted.yaml
mkfifo fifo
for input in tasks.yaml quoted.yaml; do
    multicore_json $input --cores 1,4 > json && same json
    multicore_json - --cores 1,4 < $input > json && same json
    cat $input | multicore_json - --cores 1,4 > json && same json
    multicore_json <(cat $input) --cores 1,4 > json && same json
    cat $input > fifo &
    multicore_json fifo --cores 1,4 > json && same json
done
for input in one.pst one.yaml; do
    multicore_json $input --cores 4 | sed 's/"input": *"[^"]*"//' > expected
    multicore_json <(cat $input) --cores 4 > json && same json
    cat $input > fifo &
    multicore_json fifo --cores 4 > json && same json
    grep -q '"input": *"fifo"' json || fail "$(head -3 json)"
    expect 2 "$PSNAP" predict multicore <(cat $input) -m machine.yaml
    has err "is read once"
    cat $input > fifo 2> broken &
    expect 2 timeout 300 "$PSNAP" predict multicore fifo -m machine.yaml --cores 1,2
    has err "is read once"
done

# Run times by hand, of the core that makes 600 of 1000 accesses: 60 fp_add, 30 int_add, 6 fp_div.
# Half of all hit level 1, which is fully associative, 0.8 level 1 or 2. A cycle is 1 ns.
cat > two.yaml << 'END'
machine:
  name: two
  clock_hz: 1.0e9
  cores: 2
  levels:
    - {size_bytes: 512, line_bytes: 64, ways: 8, latency_cycles: 4, throughput_cycles: 1}
    - {size_bytes: 4096, line_bytes: 64, ways: 64, latency_cycles: 20, throughput_cycles: 8, bandwidth_bytes_per_s: 32.0e9}
  memory: {latency_cycles: 100, throughput_cycles: 40, bandwidth_bytes_per_s: 8.0e9}
  operations:
    fp_add: {latency_cycles: 3, throughput_cycles: 0.5}
    int_add: {latency_cycles: 1, throughput_cycles: 0.25}
    fp_div: {latency_cycles: 20, throughput_cycles: 10}
END
cat > hand.yaml << 'END'
psnap_tasks: 1
program: hand
tasks:
- {section: sequential, file: '', src_line: 0, executions: 0, loops: 0, iterations: 0, accesses: 0, bytes: 0, operations: {}, runs: [{cores: 2, accesses: 0, busiest_core_accesses: 0, profiles: [{line_bytes: 64, shared_by: 1, cold: 0, histogram: []}]}]}
- {section: s, file: f.c, src_line: 1, executions: 1, loops: 1, iterations: 10, accesses: 1000, bytes: 8000, operations: {fp_add: 100, int_add: 50, fp_div: 10}, runs: [{cores: 2, accesses: 1000, busiest_core_accesses: 600, profiles: [{line_bytes: 64, shared_by: 1, cold: 200, histogram: [[0, 500], [20, 300]]}]}]}
END
for time in published throughput overlap as-published; do
    how=(--time "$time")
    [ "$time" != as-published ] || how=(--as-published)
    "$PSNAP" predict multicore hand.yaml -m two.yaml --cores 2 "${how[@]}" --json > "hand.$time.json"
done
python3 - << 'END'
import json
# lambda 0.5 4 + 0.3 20 + 0.2 100 = 28, beta 0.5 1 + 0.3 8 + 0.2 40 = 10.9 an access of 8 bytes; of
# all accesses 0.5 4 + 0.5 (0.8 20 + 0.2 100) = 20 and 0.5 + 0.5 (0.8 8 + 0.2 40) = 7.7; lines
# from level 2 take 2 cycles, from memory 8. Other operations than divisions: 90, of 210 / 90
# cycles or 37.5 / 90; as published each core has half of them, 75 of 175 / 75.
mem = 600 * (28 + 7 * 10.9 / 8)
expected = {
    "published": (mem, 89 * 210 / 90 + 5 * 20),
    "throughput": (mem, 210 / 90 + 89 * 37.5 / 90 + 20 + 5 * 10),
    "overlap": (600 * (0.3 * 2 + 0.2 * 8), 600 * 1),
    "as-published": (600 * (20 + 7 * 7.7 / 8), 74 * 175 / 75 + 4 * 20),
}
for name, (mem, cpu) in expected.items():
    report = json.load(open(f"hand.{name}.json"))
    row = report["rows"][0]
    total = (mem ** 2 + cpu ** 2) ** 0.5 if name == "overlap" else mem + cpu
    assert report["time"] == name.replace("as-", ""), report
    for key, cycles in ("seconds", total), ("t_mem_seconds", mem), ("t_cpu_seconds", cpu):
        assert abs(row[key] / (cycles * 1e-9) - 1) < 1e-9, (name, key, row[key], cycles)
END

# Bad input
multicore() { expect "$1" "$PSNAP" predict multicore "${@:2}"; }
multicore 1 plain.pst -m machine.yaml
has err "no parallel section in 'plain.pst': marks say where they are; compile the program with"
multicore 1 many.pst -m machine.yaml
has err "record it with OMP_NUM_THREADS=1"
multicore 1 one.pst -m 8K:64:4
has err "machine '8K:64:4' lacks clock_hz, latency_cycles of level 1"
has err "; --no-time predicts hit rates alone"
multicore 1 one.pst -m "$PSNAP_SOURCE/samples/machines/desktop.yaml" --cores 2 # it has latencies
has err "machine 'desktop' lacks throughput_cycles of level 1, "
sed '/fp_add/d' machine.yaml > no_add.yaml
multicore 1 one.pst -m no_add.yaml --cores 2
has err "machine 'quad' lacks operations.fp_add.throughput_cycles:"
"$PSNAP" predict multicore one.pst -m no_add.yaml --cores 2 --no-time > table
multicore 2 one.pst -m machine.yaml --time fast
has err "--time takes published, throughput and overlap, not 'fast'"
multicore 2 one.pst -m machine.yaml --cores 1,0
has err "--cores takes numbers from 1 to 256, as in 1,2,4, not '0'"
multicore 2 one.pst -m machine.yaml --cores 2,2
multicore 2 one.pst -m machine.yaml --cores ""
multicore 2 one.pst -m machine.yaml --interleave often
multicore 2 one.pst -m machine.yaml --method guess
multicore 2 one.pst --cores 2
multicore 2 one.pst -m machine.yaml --cores 2,4 --against many.pst
multicore 1 one.pst -m machine.yaml --cores 2 --against many.pst
has err "'many.pst' has 4 threads, not 2"
multicore 1 one.pst -m machine.yaml --cores 4 --against taken.4.pst
has err "'taken.4.pst' has no parallel section main.omp_outlined.1, which 'one.pst' has: --against"
multicore 2 one.pst -m machine.yaml --cores 4 --against <(cat many.pst)
has err "is read once: give a file to --against"
"$PSNAP" predict multicore one.pst -m machine.yaml --cores 4 --against many.pst > table
has table "accesses of a core, mimicked and recorded, differ by"
multicore 2 one.pst -m machine.yaml --cores 4 --interleave uniform --seed x
has err "--seed takes a whole number, not 'x'"
multicore 2 - -m machine.yaml < one.pst
has err "standard input is read once"
"$PSNAP" predict multicore - -m machine.yaml --cores 2 --json < one.pst > piped
multicore 1 absent.pst -m machine.yaml
multicore 2 -m machine.yaml
