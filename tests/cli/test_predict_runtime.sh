#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap predict runtime: of a trace and its profile; of a larger input by its block counts, by
# branch probabilities and by growth, against its own trace; with assembly; bad input and usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
machine=$PSNAP_SOURCE/samples/machines/complete.yaml

"$PSNAP" cc -O2 -g "$PSNAP_SOURCE/samples/matmul.c" -o matmul -lm
for size in 12 16 20 24 60; do
    "$PSNAP" record --trace $size.pst -o $size.yaml -- ./matmul $size 2 > /dev/null
done

# total FILE NAME [METHOD]: of the total's row; levels are L1, L2 ...
total() {
    python3 - "$@" << 'END'
import json, sys
method = sys.argv[3] if len(sys.argv) > 3 else "overlap"
row = next(r for r in json.load(open(sys.argv[1]))["rows"]
           if r["scope"] == "total" and r["method"] == method)
name = sys.argv[2]
print(row["levels"][int(name[1]) - 1]["cumulative_hit_rate"] if name[0] == "L" else row[name])
END
}
# near A B TOLERANCE: relative
near() {
    python3 -c 'import sys
a, b, t = map(float, sys.argv[1:])
assert abs(a - b) <= t * abs(b), sys.argv' "$@" || fail "not near: $*"
}

# The table, and that the profile predicts what the trace does
"$PSNAP" predict runtime 24.pst -m "$machine" > table
has table "machine complete, one core:"
has table "published ms  throughput ms  overlap ms  overlap T_mem ms  overlap T_cpu ms"
has table "multiply:39"
has table "no --asm"
sed '0,/- {size_bytes/s//- {name: L1d, size_bytes/' "$machine" > named.yaml
"$PSNAP" predict runtime 24.pst -m named.yaml > named
grep -q " L1d cum. %  L2 cum. %" named || fail "no level is called L1d: $(cat named)"
"$PSNAP" predict runtime 24.pst -m named.yaml --json > named
grep -q '"name": "L1d"' named || fail "nor in JSON"
"$PSNAP" predict runtime 24.pst -m "$machine" --json > trace.json
"$PSNAP" predict runtime 24.yaml -m "$machine" --json > profile.json
for method in published throughput overlap; do
    near "$(total profile.json seconds $method)" "$(total trace.json seconds $method)" 0.001
done
python3 - << 'END'
import json
report = json.load(open("trace.json"))
assert report["command"] == "predict runtime", report
assert report["sampled_accesses"] == report["accesses"]
for row in report["rows"]:
    waits = row.get("t_branch_seconds", 0) + row.get("t_touch_seconds", 0)
    together = row["t_mem_seconds"] + row["t_cpu_seconds"] + waits
    larger = max(row["t_mem_seconds"], row["t_cpu_seconds"]) + waits
    assert row["cores"] == 1 and row["machine"] == "complete" and row["distances"] == "measured"
    if row["method"] != "overlap":
        assert abs(row["seconds"] - together) <= 1e-12 * together, row
    else:
        assert larger * (1 - 1e-12) <= row["seconds"] <= together * (1 + 1e-12), row
loops = [r for r in report["rows"] if r["scope"] == "loop" and r["method"] == "overlap"]
total = next(r for r in report["rows"] if r["scope"] == "total" and r["method"] == "overlap")
assert abs(sum(r["seconds"] for r in loops) - total["seconds"]) < 1e-9 * total["seconds"]
assert abs(sum(r["accesses"] for r in loops) - report["accesses"]) < 0.5
END
# hit rates within sets are those of the simulator
"$PSNAP" predict runtime 24.pst -m "$machine" --rates per-set --json > sets.json
"$PSNAP" sim 24.pst -m "$machine" --by total --json > sim.json
near "$(total sets.json L1)" "$(python3 -c 'import json
print(json.load(open("sim.json"))["rows"][0]["levels"][0]["cumulative_hit_rate"])')" 1e-9

"$PSNAP" predict runtime 24.pst -m "$machine" --line 1 --csv addresses.csv > out
"$PSNAP" reuse 24.pst --line 1 --by total --json > reuse.json
python3 - << 'END'
import csv, json
expected = {str(d): n for d, n in json.load(open("reuse.json"))["scopes"][0]["histogram"]}
rows = [(row["distance"], float(row["accesses"])) for row in csv.DictReader(open("addresses.csv"))]
assert rows[-1][0] == "cold"
distances = [int(distance) for distance, _ in rows[:-1]]
assert distances == sorted(set(distances)), "a line a distance, in ascending order"
assert dict(rows[:-1]) == expected, "the profile is not that of psnap reuse"
END

# As published: levels see all accesses, one window in a hundred
"$PSNAP" predict runtime 24.pst -m "$machine" --as-published --method published --json > published.json
python3 - << 'END'
import json
report = json.load(open("published.json"))
assert report["sampled_accesses"] < report["accesses"], report
assert {row["method"] for row in report["rows"]} == {"published"}
END

# ... which is nothing to overlap but a sample
"$PSNAP" predict runtime 24.pst -m "$machine" --as-published --by total --json > published.json
"$PSNAP" predict runtime 24.pst -m "$machine" --rate 0.01 --by total --json > sample.json
python3 - << 'END'
import json
rows = [{row["method"]: row for row in json.load(open(name))["rows"]}
        for name in ("published.json", "sample.json")]
assert rows[0]["overlap"] == rows[1]["overlap"], rows
assert rows[0]["published"]["levels"] != rows[1]["published"]["levels"], rows
END

# A larger input: counts by its trace, or by its branch probabilities, are exact
"$PSNAP" predict runtime 60.pst -m "$machine" --json > 60.json
"$PSNAP" predict runtime 24.pst --at 60.pst -m "$machine" --json > at.json
expect 1 "$PSNAP" predict runtime 24.pst --at 60.yaml -m "$machine"
has err "--at needs the blocks of a program, and a profile has loops"
"$PSNAP" predict runtime 60.pst -m "$machine" --write-probabilities 60.csv > /dev/null
expect 1 "$PSNAP" predict runtime 60.pst -m "$machine" --write-probabilities 60.csv
has err "exists"
"$PSNAP" predict runtime 24.pst --probabilities 60.csv -m "$machine" --json > branches.json
for report in at branches; do
    near "$(total $report.json accesses)" "$(total 60.json accesses)" 1e-6
    near "$(total $report.json t_cpu_seconds throughput)" \
        "$(total 60.json t_cpu_seconds throughput)" 0.01
done

# ... of the same build: blocks of others say nothing
"$PSNAP" cc -O2 -g "$PSNAP_SOURCE/samples/stream.c" -o stream -lm
"$PSNAP" record --no-profile --trace stream.pst -- ./stream 1000 1 > /dev/null
mkdir other
"$PSNAP" cc -O1 -g "$PSNAP_SOURCE/samples/matmul.c" -o other/matmul -lm
"$PSNAP" record --no-profile --trace other.pst -- other/matmul 60 2 > /dev/null
expect 1 "$PSNAP" predict runtime 24.pst --at stream.pst -m "$machine"
has err "stream.pst: the larger input is of another program, 'stream' instead of 'matmul'"
expect 1 "$PSNAP" predict runtime 24.pst --at other.pst -m "$machine"
has err "another build of the program"
has err "record both inputs with the same build"
cp matmul renamed
"$PSNAP" record --trace renamed.pst -- ./renamed 60 2 > /dev/null
expect 0 "$PSNAP" predict runtime 24.pst --at renamed.pst -m "$machine"

# Assembly: loops have their cycles from it
if "$PSNAP" predict runtime 24.pst -m "$machine" --asm /dev/null > out 2> err; then
    fail "no assembly is taken for some"
fi
has err "psnap-blocks -S"
if command -v clang-19 llvm-mca-19 > out; then
    "$PSNAP" cc --psnap-blocks -O2 -S "$PSNAP_SOURCE/samples/matmul.c" -o matmul.s
    expect 2 "$PSNAP" cc --psnap-blocks -O2 "$PSNAP_SOURCE/samples/matmul.c" -o matmul.no -lm
    has err "--psnap-blocks is for -S, and not with -flto"
    # a multiplication and an addition each for two elements; the additions wait for each other
    "$PSNAP" predict runtime 60.pst -m "$machine" --asm matmul.s --cpu skylake --method overlap > table
    has table "loops that iterate have their cycles by llvm-mca"
    "$PSNAP" predict runtime 60.pst -m "$machine" --asm matmul.s --cpu skylake --json > asm.json
    python3 - << 'END'
import json
row = next(r for r in json.load(open("asm.json"))["rows"]
           if r["method"] == "overlap" and r["id"] == "multiply:39")
iterations, trips, window = 2 * 60 ** 3 / 2, 30, 224 / 11
cycles = row["t_cpu_seconds"] * 3.65e9 / iterations
assert abs(cycles - 6 * trips / (trips + window)) < 0.5, cycles
END
    expect 1 "$PSNAP" predict runtime 24.pst -m "$machine" --asm matmul.s --cpu 'x; touch made'
    [ ! -e made ] || fail "a shell ran"
    expect 1 "$PSNAP" predict runtime 24.pst -m "$machine" --asm nowhere.s
    has err "cannot open 'nowhere.s'"
fi

# Branches by a coin: every second one is not the predicted one; pages that nothing touched before.
# By size they grow as the blocks and first touches do.
cat > waits.c << 'END'
#include <stdlib.h>
static unsigned char coin[20000];
static volatile int heads, tails;
int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 20000;
    char *pages = malloc(4096 * 512);
    unsigned state = 1;

    for (int i = 0; i < n; i++)
        coin[i] = (state = state * 1664525 + 1013904223) >> 31;
    for (int i = 0; i < n; i++)
        if (coin[i]) {
            heads = i;
            heads = i;
        } else {
            tails = i;
        }
    for (int i = 0; i < 512; i++)
        *(volatile char *)(pages + 4096 * i) = 1;
    free(pages);
    return 0;
}
END
sed 's/bandwidth_bytes_per_s: 2.5e+10}/bandwidth_bytes_per_s: 2.5e+10, first_touch_cycles: 1000}/' \
    "$machine" > waits.yaml
grep -q first_touch waits.yaml
"$PSNAP" cc -O1 waits.c -o waits
for n in 5000 20000; do
    "$PSNAP" record --no-profile --trace waits.$n.pst -- ./waits $n
done
"$PSNAP" predict runtime waits.20000.pst -m waits.yaml --method overlap > table
has table "overlap T_branch ms  overlap T_touch ms"
"$PSNAP" predict runtime waits.20000.pst -m waits.yaml --json > waits.json
"$PSNAP" predict runtime waits.20000.pst -m "$machine" --json > plain.json
"$PSNAP" predict runtime waits.5000.pst --at waits.20000.pst -m waits.yaml --json > at.json
python3 - << 'END'
import json
def total(name):
    return next(r for r in json.load(open(name))["rows"]
                if r["method"] == "overlap" and r["scope"] == "total")
waits, plain, at = total("waits.json"), total("plain.json"), total("at.json")
wrong = waits["t_branch_seconds"] * 3.65e9 / 13
assert 9000 < wrong < 11500, wrong
assert abs(at["t_branch_seconds"] / waits["t_branch_seconds"] - 1) < 0.05, (at, waits)
pages = waits["t_touch_seconds"] * 3.65e9 / 1000
assert 512 <= pages < 540, pages
assert plain["t_touch_seconds"] == 0 and plain["t_branch_seconds"] == waits["t_branch_seconds"]
END

# Chains that the code does not show: adi loads along columns what the iteration before stored, by
# another register; 4 + 3 + 3 cycles, 58 of them at each entry while 224 / 8 others are under way
if command -v clang-19 llvm-mca-19 > out; then
    "$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/adi.c" -o adi -lm
    "$PSNAP" cc --psnap-blocks -O2 -S "$PSNAP_SOURCE/samples/adi.c" -o adi.s
    "$PSNAP" record --no-profile --trace adi.pst -- ./adi 60 2 > out
    "$PSNAP" predict runtime adi.pst -m "$machine" --asm adi.s --cpu skylake --json > adi.json
    python3 - << 'END'
import json
row = next(r for r in json.load(open("adi.json"))["rows"]
           if r["method"] == "overlap" and r["id"] == "columns:48")
cycles = row["t_cpu_seconds"] * 3.65e9 / (row["accesses"] / 4)
assert 5 < cycles < 10, cycles
END
fi

# What is missing is said, and where it comes from
expect 1 "$PSNAP" predict runtime 24.pst -m 32K:64:8,1M:64:16
has err "lacks clock_hz, latency_cycles of level 1, latency_cycles of level 2, memory.latency_cycles, "
has err " more: 'psnap machine host"
has err "psnap machine host"
"$PSNAP" convert 24.pst -o plain.din 2> err
expect 1 "$PSNAP" predict runtime plain.din -m "$machine"
has err "psnap record"
expect 1 "$PSNAP" predict runtime plain.din --at 60.pst -m "$machine"
printf 'address,size,kind,thread,ref\n' > empty.csv
expect 1 "$PSNAP" predict runtime empty.csv -m "$machine"
has err "not a single access"
expect 1 "$PSNAP" predict runtime 24.yaml --probabilities 60.csv -m "$machine"
has err "a profile has loops"
expect 1 "$PSNAP" predict runtime 24.yaml --write-probabilities profile.csv -m "$machine"
has err "--write-probabilities needs the blocks of a program, and a profile has loops"
[ ! -e profile.csv ] || fail "probabilities of blocks that a profile does not have"
"$PSNAP" predict runtime other.pst -m "$machine" --write-probabilities other.csv > out
expect 1 "$PSNAP" predict runtime 24.pst --probabilities other.csv -m "$machine"
has err "another build or program"
# ... the place may be left out, or without its quotes
cut -d, -f1-3 60.csv > short.csv
tr -d '"' < 60.csv > bare.csv
for file in short bare; do
    "$PSNAP" predict runtime 24.pst --probabilities $file.csv -m "$machine" --json > json
    cmp json branches.json || fail "$file.csv is not 60.csv"
done

# edit SED: probabilities that make no sense
edit() { sed -e "$1" 60.csv > bad.csv; }
block=$(grep multiply:39 60.csv | head -1 | cut -d, -f1)
edit "s/^$block,$block,0[.0-9]*/$block,$block,0.5/"
expect 1 "$PSNAP" predict runtime 24.pst --probabilities bad.csv -m "$machine"
has err "add up to"
edit "s/^$block,\(.*\),0[.0-9]*,/$block,\1,0,/; s/^$block,$block,0,/$block,$block,1,/"
expect 1 "$PSNAP" predict runtime 24.pst --probabilities bad.csv -m "$machine"
has err "singular"
edit '2s/^b[0-9]*/b4000000/'
expect 1 "$PSNAP" predict runtime 24.pst --probabilities bad.csv -m "$machine"
has err "bad.csv:2"
has err "is no block"
edit '2s/,[0-9.]*,/,x,/'
expect 1 "$PSNAP" predict runtime 24.pst --probabilities bad.csv -m "$machine"
has err "no probability"
{ cat 60.csv; head -c 1000000 /dev/zero | tr '\0' ,; } > bad.csv
expect 1 "$PSNAP" predict runtime 24.pst --probabilities bad.csv -m "$machine"
has err "bad.csv:$(($(wc -l < 60.csv) + 1)):4097: a record of more than 4096 fields"
expect 1 "$PSNAP" predict runtime 24.pst --probabilities "$machine" -m "$machine"
has err "--write-probabilities makes such a file"

expect 2 "$PSNAP" predict runtime 24.pst
has err "no machine"
# Outputs do not meet
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --csv x.csv --write-probabilities x.csv --force
has err "both 'x.csv'"
[ ! -e x.csv ] || fail "a file in spite of wrong usage"
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --csv - --write-probabilities -
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --json --write-probabilities -
has err "standard output"
expect 0 "$PSNAP" predict runtime 24.pst -m "$machine" --line 1 --csv -
cmp out addresses.csv || fail "standard output has more than the CSV"
expect 2 "$PSNAP" predict runtime 24.pst 60.pst -m "$machine"
has err "one input is needed, not 2"
for option in block line; do
    expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --$option 0
    has err "--$option takes one byte or more"
done
expect 1 "$PSNAP" predict runtime 24.pst -m "$machine" --csv left.csv --write-probabilities nowhere/p
[ ! -e left.csv ] || fail "a file in spite of another that cannot be written"
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" -m "$machine"
has err "two machines are called 'complete'"
expect 2 "$PSNAP" predict runtime 24.pst --at 60.pst --probabilities 60.csv -m "$machine"
has err "only one"
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --rate 0
has err "--rate"
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --method fast
has err "published, throughput and overlap"
expect 2 "$PSNAP" predict runtime 24.pst -m "$machine" --by block
has err "total and loop"
expect 0 "$PSNAP" predict runtime --help
has out "AMM.md"
