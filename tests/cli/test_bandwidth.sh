#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap multimaps, fit and predict bandwidth, end to end on this computer with little time; and on points
# of a made-up machine whose fits are known. Figures that were measured are only asked to be sane.
set -eu
. "$(dirname "$0")/common.sh"

# ------------------------------------------------------------------ multimaps
expect 0 "$PSNAP" multimaps --sizes 8 --largest 256K --budget 500ms -m 4K:64:4,64K:64:8 -o points.yaml
[ ! -s err ] || fail "talks where there is no terminal: $(cat err)"
has out ' points in '
has points.yaml 'psnap_maps: 1'
expect 1 "$PSNAP" multimaps --sizes 2 --largest 8K --budget 100ms -m 4K:64:4 -o points.yaml
has err 'points.yaml'
expect 0 "$PSNAP" multimaps --sizes 4 --largest 64K --strided --budget 200ms --json
mv out points.json
python3 -B - << 'END'
import json
whole = json.load(open("points.json"))
assert whole["psnap"] == 1 and whole["command"] == "multimaps"
points = whole["points"]
assert {p["stride_words"] for p in points} == {1, 2, 4, 8, 16, 32, 64}, points
assert min(p["size_bytes"] for p in points) == 1024 and max(p["size_bytes"] for p in points) == 65536
for p in points:
    assert 1e6 < p["bandwidth_bytes_per_s"] < 1e15 and p["runs"] >= 1, p
    assert p["spread"] is None if p["runs"] == 1 else p["spread"] >= 0, p
    assert all(0 <= a <= b <= 1 for a, b in zip(p["hit_rates"], p["hit_rates"][1:])), p
END
# a table where there is no -o; rates of another machine, of the same points
expect 0 "$PSNAP" multimaps --of points.yaml -m 16K:64:4
for probe in 'strided 64' 'apex 16' 'streams 4' 'chain 8'; do has out "$probe"; done
expect 0 "$PSNAP" multimaps --of points.yaml -m 16K:64:4 -o other.yaml
expect 0 "$PSNAP" multimaps --of points.yaml -m 4K:64:4,16K:64:4,64K:64:8 -o points3.yaml
[ "$(grep -c bandwidth_bytes_per_s: points.yaml)" = "$(grep -c bandwidth_bytes_per_s: other.yaml)" ] || fail "points were lost"
has other.yaml 'size_bytes: 16K'
# this computer's own rates: a variant of its machine is chosen, and named
expect 0 "$PSNAP" multimaps --sizes 4 --largest 64K --strided --budget 100ms -m 16K:64:4 -o strided.yaml
expect 0 "$PSNAP" multimaps --of strided.yaml -o host.yaml
has host.yaml 'name: host'
grep -A1 description: host.yaml | grep -qE 'as described|random replacement' || fail "no variant is named: $(cat host.yaml)"
if command -v gnuplot > /dev/null; then
    expect 0 "$PSNAP" multimaps --of points.yaml -m 16K:64:4 --plot map.svg -o other2.yaml
    has map.svg '<svg'
    has map.svg 'bandwidth (GB/s)'
fi
expect 2 "$PSNAP" multimaps --budget never
has err "'never' is no time"
expect 2 "$PSNAP" multimaps --sizes 0
expect 2 "$PSNAP" multimaps --of points.yaml -o same.yaml --plot same.yaml
has err "-o and --plot are both 'same.yaml'"
expect 2 "$PSNAP" multimaps --of points.yaml -o - --json
expect 2 "$PSNAP" multimaps --stride 128
expect 2 "$PSNAP" multimaps --stride 3
has err 'power of two'
expect 2 "$PSNAP" multimaps --largest 0
expect 2 "$PSNAP" multimaps --of points.yaml --budget 3s
has err '--of measures nothing'
expect 2 "$PSNAP" multimaps points.yaml

# ------------------------------------------------------------- points that are made up
# Two levels, kinds of streams apart: an access takes 0.1 ns in level 1, else 0.3 (near) to 0.9 (lost) of
# level 2, 2 to 10 of memory; chains, 1, 4 and 100 ns.
python3 -B - << 'END'
import random
random.seed(1)
lines = []
for level in range(3):
    for kind in range(5 if level else 1):
        for step in (1, 2, 4, 8):
            for share in (0, 0.25, 0.5, 0.75):
                miss = step / 8 if level else 0
                rates = [1 - miss, 0, 0]
                if level == 1:
                    rates[1], rates[2] = miss * (1 - share), miss * share
                elif level == 2:
                    rates[2] = miss
                kinds = [[rates[l] if k == kind else 0 for k in range(5)] for l in (1, 2)]
                times = ((0.3, 0.4, 0.45, 0.6, 0.9), (2, 3, 4, 6, 10))
                seconds = max(0.1, sum(times[l][k] * kinds[l][k] for l in (0, 1) for k in range(5))) * 1e-9
                lines.append("- {size_bytes: 1024, stride_words: %d, bandwidth_bytes_per_s: %.6e, hit_rates: [%g, %g], kinds: %s}"
                             % (step, 8 / seconds, rates[0], rates[0] + rates[1], kinds))
for level, wait in enumerate((1, 4, 100)):
    rates = [int(level == 0), int(level <= 1)]
    kinds = [[int(level == l) if k == 4 else 0 for k in range(5)] for l in (1, 2)]
    lines.append("- {size_bytes: 1024, chain_words: 8, bandwidth_bytes_per_s: %g, hit_rates: %s, kinds: %s}"
                 % (8e9 / wait, rates, kinds))
open("made.yaml", "w").write("psnap_maps: 1\nmachine:\n  levels:\n  - {size_bytes: 4K, line_bytes: 64, ways: 4}\n"
                             "  - {size_bytes: 64K, line_bytes: 64, ways: 8}\npoints:\n" + "\n".join(lines) + "\n")
END
expect 0 "$PSNAP" fit made.yaml --population 600 --generations 60 -o fit.yaml
has fit.yaml 'latencies_ns: [1, 4, 100]'
for word in ga nnls averaged additive 'held out %'; do has out "$word"; done
expect 0 "$PSNAP" fit made.yaml --population 600 --generations 60 --json --seed 3
mv out one.json
expect 0 "$PSNAP" fit made.yaml --population 600 --generations 60 --json --seed 3 -j 1
mv out again.json
python3 -B - << 'END'
import json
one, again = json.load(open("one.json")), json.load(open("again.json"))
assert one["command"] == "fit" and one["points"] == 176
by = {m["method"]: m for m in one["methods"]}
assert by["nnls"]["mean_error"] < 0.01 and by["nnls"]["held_out_error"] < 0.02, by["nnls"]
assert by["ga"]["mean_error"] < 0.2 < by["averaged"]["mean_error"], by
for a, b in zip(one["methods"], again["methods"]):
    a.pop("seconds"), b.pop("seconds")
    assert a == b, (a, b)
END
expect 0 "$PSNAP" fit made.yaml --method nnls --folds 0 --as-published
has out nnls
expect 0 "$PSNAP" fit - --method additive --folds 0 < made.yaml

# -------------------------------------------------------------- what cannot be fitted
head -12 made.yaml > few.yaml
expect 1 "$PSNAP" fit few.yaml --method ga
has err 'parameters'
has err 'few.yaml'
sed 's/hit_rates: \[1, 1\]/hit_rates: [1, 0.5]/' made.yaml > falling.yaml
expect 1 "$PSNAP" fit falling.yaml
has err 'falling.yaml:7'
has err 'the hit rate of level 2 is below that of level 1'
sed '0,/bandwidth_bytes_per_s: [^,]*/s//bandwidth_bytes_per_s: nan/' made.yaml > nan.yaml
expect 1 "$PSNAP" fit nan.yaml
has err 'nan.yaml:7'
sed '0,/bandwidth_bytes_per_s: [^,]*/s//bandwidth_bytes_per_s: -5/' made.yaml > negative.yaml
expect 1 "$PSNAP" fit negative.yaml
has err 'negative.yaml:7'
sed '0,/kinds: \[\[0, /s//kinds: [[0.5, /' made.yaml > kinds.yaml
expect 1 "$PSNAP" fit kinds.yaml
has err 'do not add up'
sed '9s/, kinds: .*/}/' made.yaml > lacking.yaml
expect 1 "$PSNAP" fit lacking.yaml
has err 'lacking.yaml:9:'
has err 'points before this one have kinds: all have them, or none'
sed '7,8s/, kinds: .*/}/' made.yaml > late.yaml
expect 1 "$PSNAP" fit late.yaml
has err 'late.yaml:9:'
has err 'points before this one have no kinds'
expect 1 "$PSNAP" fit fit.yaml
has err 'fit.yaml'
expect 2 "$PSNAP" fit made.yaml --method best
has err 'ga, nlopt, nnls'
expect 2 "$PSNAP" fit made.yaml --folds 1
expect 2 "$PSNAP" fit

# ---------------------------------------------------------------- predict bandwidth
# 1000 loads of lines in other pages each, once: 10 ns
{
    for ((i = 0; i < 1000; i++)); do printf '0 %x\n' $((i * 65536)); done
} > far.din
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --method nnls --json
mv out far.json
python3 -B - << 'END'
import json
rows = json.load(open("far.json"))["rows"]
total = [r for r in rows if r["scope"] == "total"][0]
assert total["accesses"] == 1000 and total["hit_rates"] == [0, 0], total
assert abs(total["t_mem_seconds"] / 10e-6 - 1) < 0.02, total
assert total["t_cpu_seconds"] is None and total["seconds"] == total["t_mem_seconds"], total
END
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage made.yaml
has out 'memory s'
has out '0-36'
sed '/hit_rates: \[[^1]/d; /hit_rates: \[1, [^1]/d' made.yaml > near.yaml
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage near.yaml
[ "$(grep -c '100.00 (no point)' out)" = 2 ] || fail "not told that no point is near, of both levels: $(cat out)"
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage made.yaml --json
mv out coverage.json
python3 -B - << 'END'
import json
cells = json.load(open("coverage.json"))["coverage"]
assert len(cells) == 2 * 8, cells
assert sum(c["points"] for c in cells) == 2 * 179, cells
assert [c["share"] for c in cells if c["loops"]] == [1, 1], cells
assert all(c["hit_rate_percent"] == "0-36" for c in cells if c["loops"]), cells
END
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --method all -m "$PSNAP_SOURCE/samples/machines/complete.yaml"
has out 'floating s'
has out 'by averaged'
# two loops with operations: JSON has the times of both, and their sums
cat > two.yaml << 'END'
psnap: 1
capture: {model: psnap}
schedule: [far, near]
loops:
- id: far
  operations: {fp_add: 3000, fp_div: 100, int_add: 5000}
  regions:
  - {id: a, working_set: {bytes: 63944, group: heap, offset: 0}, accesses: 1000, loads: 1000, sizes: {8: 1000}, strides: {64: 999}}
- id: near
  operations: {fp_mul: 400, fp_sqrt: 20}
  regions:
  - {id: b, working_set: {bytes: 8, group: image, offset: 0}, accesses: 2000, loads: 2000, sizes: {8: 2000}, strides: {0: 1999}}
END
expect 0 "$PSNAP" predict bandwidth two.yaml --fit fit.yaml --method all -m "$PSNAP_SOURCE/samples/machines/complete.yaml" --json
mv out two.json
python3 -B - << 'END'
import json
rows = json.load(open("two.json"))["rows"]
def near(value, expected):
    assert abs(value - expected) < 1e-9 * expected, (value, expected)
for method in {r["method"] for r in rows}:
    by = {r["id"]: r for r in rows if r["method"] == method}
    assert {i: r["accesses"] for i, r in by.items()} == {"total": 3000, "far": 1000, "near": 2000}, by
    near(by["far"]["t_cpu_seconds"], (3000 * 0.5 + 100 * 5) / 3.65e9)
    near(by["near"]["t_cpu_seconds"], (400 * 0.5 + 20 * 9) / 3.65e9)
    for key in ("t_mem_seconds", "t_cpu_seconds", "seconds"):
        near(by["total"][key], by["far"][key] + by["near"][key])
    for row in by.values():
        near(row["seconds"], row["t_mem_seconds"] + row["t_cpu_seconds"])
        near(row["t_mem_seconds"], 8 * row["accesses"] / row["bandwidth_bytes_per_s"])
END
expect 0 "$PSNAP" predict bandwidth "$PSNAP_SOURCE/tests/golden/tutorial_nests.psnap.yaml" --fit fit.yaml
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage points3.yaml
has err "the hit rates of 'points3.yaml' are of other caches than the fit's"
# as many levels are not the same machine, another name is
sed 's/size_bytes: 64K/size_bytes: 128K/' made.yaml > larger.yaml
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage larger.yaml
has err "the hit rates of 'larger.yaml' are of other caches than the fit's"
sed 's/^machine:/&\n  name: another/' made.yaml > named.yaml
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage named.yaml
sed '/^machine:/,/^  - {size_bytes: 64K/d' made.yaml > nomachine.yaml
expect 0 "$PSNAP" fit nomachine.yaml --method nnls --folds 0 -o nofit.yaml
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit nofit.yaml
has err 'no machine'
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --coverage nomachine.yaml
has err 'of a machine that is not known'
head -40 nomachine.yaml > some.yaml
expect 1 "$PSNAP" fit some.yaml --folds 100 --method additive
has err 'fewer folds, or more points'
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit made.yaml
has err 'these are points'
expect 1 "$PSNAP" fit fit.yaml
has err 'this is a fit'
expect 2 "$PSNAP" predict bandwidth far.din --from din
has err '--fit FIT.yaml'
expect 2 "$PSNAP" predict bandwidth --fit fit.yaml
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml -m 32K:64:8
has err 'no clock'
# refused FILE.yaml MESSAGE SED...: a fit that was edited so makes no sense
refused() {
    local file=$1 message=$2
    shift 2
    sed "$@" fit.yaml > "$file"
    ! cmp -s fit.yaml "$file" || fail "$file is fit.yaml"
    expect 1 "$PSNAP" predict bandwidth far.din --from din --fit "$file"
    has err "$file:"
    has err "$message"
}
refused still.yaml 'a number from 1.0e-30' '0,/relative_time: [^}]*/s//relative_time: 0/'
refused slow.yaml 'a number from 1.0e-30' '/method: ga/,/method: nnls/s/bandwidth_bytes_per_s: [^,]*/bandwidth_bytes_per_s: 0/'
refused broken.yaml 'a whole number from 1 to 3' '0,/level: 2/s//level: 1.9/'
refused twice.yaml 'each once' '0,/level: 2, kind: near.*/s//&\n  - {level: 2, kind: near, bandwidth_bytes_per_s: 5e9, relative_time: 1}/'
refused unsorted.yaml 'by kind (near, beside, skip, far, lost)' '0,/level: 2, kind: near/s//level: 2, kind: far/'
refused second.yaml 'this method is there already' 's/method: averaged/method: additive/'
refused other.yaml "no key 'relative_time'" '/method: additive/,$s/level: 1, /level: 1, relative_time: 1, /'
refused penalty.yaml 'only ga and nlopt have penalties' '/method: additive/s/$/\n  penalties: [{f: 0, x: 1}, {f: 0, x: 1}]/'
refused form.yaml "no key 'w'" '0,/penalties: \[{f: /s//penalties: [{w: 1, f: /'
sed '/_error:/d; /held_out_spread:/d' fit.yaml > noerror.yaml
expect 0 "$PSNAP" predict bandwidth far.din --from din --fit noerror.yaml
! grep -qi nan out || fail "an error that is not known is told: $(cat out)"
# Two machines, beside each other: far.din takes 1000 * 10 ns on A and 1000 * 5 ns on B, near.din (a line's first
# access, nine further ones) 10 + 9 * 1 ns and 5 + 9 * 2 ns; times relative to A's are -50 % and 4 / 19
cat > A.yaml << 'END'
psnap_fit: 1
machine: {name: A, levels: [{size_bytes: 4K, line_bytes: 64, ways: 4}]}
methods:
- {method: additive, points: 9, sources: [{level: 1, bandwidth_bytes_per_s: 8e9}, {level: 2, bandwidth_bytes_per_s: 8e8}]}
END
sed 's/name: A/name: B/; s/8e9/4e9/; s/8e8/1.6e9/' A.yaml > B.yaml
for ((i = 0; i < 10; i++)); do echo '0 40'; done > near.din
both='--from din --fit A.yaml --fit B.yaml'
expect 0 "$PSNAP" predict bandwidth far.din near.din $both --by total --relative-to A
[ "$(awk '$1 ~ /[.]din/ { print $1, $5, $6 } $1 ~ /^[AB]$/' out | tr -s ' ')" = 'far.din 1e-05 +0.0
near.din 1.9e-08 +0.0
far.din 5e-06 -50.0
near.din 2.3e-08 +21.1
B -14.5 50.2
A +0.0 0.0' ] || fail "relative times: $(cat out)"
expect 0 "$PSNAP" predict bandwidth far.din near.din $both --relative-to A --json
mv out relative.json
python3 -B - << 'END'
import json
whole = json.load(open("relative.json"))
assert [m["machine"] for m in whole["methods"]] == ["A", "B"] and whole["relative_to"] == "A", whole
rows = {(r["machine"], r["input"], r["scope"]): r for r in whole["rows"]}
for scope in ("total", "loop"):
    for name, a, b in (("far.din", 10e-6, 5e-6), ("near.din", 19e-9, 23e-9)):
        assert abs(rows["A", name, scope]["seconds"] / a - 1) < 1e-9 and rows["A", name, scope]["relative_time"] == 0
        assert abs(rows["B", name, scope]["seconds"] / b - 1) < 1e-9, rows
        assert abs(rows["B", name, scope]["relative_time"] - (b / a - 1)) < 1e-9, rows
first, last = whole["machines"]
assert first["machine"] == "B" and abs(first["relative_time"] - (-1 / 2 + 4 / 19) / 2) < 1e-9, first
assert abs(first["deviation"] - (1 / 2 + 4 / 19) / 2 ** 0.5) < 1e-9, first
assert last == {"machine": "A", "relative_time": 0, "deviation": 0}, last
END
# a stream is read once; of one input there is no deviation; without a base there are two tables
expect 0 "$PSNAP" predict bandwidth - $both --by total --relative-to B < far.din
grep -qx 'A  *+100.0  *-' out || fail "of one input: $(cat out)"
expect 0 "$PSNAP" predict bandwidth far.din $both
[ "$(grep -c '^hit rates of machine' out)" = 2 ] && ! grep -q relative out || fail "two machines: $(cat out)"
# floating-point time counts: of each machine's own costs
complete=$PSNAP_SOURCE/samples/machines/complete.yaml
expect 0 "$PSNAP" predict bandwidth two.yaml --fit A.yaml --fit B.yaml -m "$complete" -m "$complete" --relative-to A --json
mv out relative.json
python3 -B - << 'END'
import json
a, b = [r for r in json.load(open("relative.json"))["rows"] if r["scope"] == "total"]
assert b["t_cpu_seconds"] == a["t_cpu_seconds"] > 0 and abs(b["seconds"] / a["seconds"] - 1 - b["relative_time"]) < 1e-9
END
expect 1 "$PSNAP" predict bandwidth far.din --from din --fit A.yaml --fit A.yaml
has err "the machines of 'A.yaml' and 'A.yaml' are both called 'A'"
expect 2 "$PSNAP" predict bandwidth far.din $both --relative-to C
has err "no fit is of machine 'C'"
expect 2 "$PSNAP" predict bandwidth far.din $both --relative-to A --method all
expect 2 "$PSNAP" predict bandwidth far.din $both -m "$complete"
expect 2 "$PSNAP" predict bandwidth far.din $both --coverage made.yaml
: > empty.din
expect 1 "$PSNAP" predict bandwidth empty.din --from din --fit fit.yaml
expect 2 "$PSNAP" predict bandwidth far.din --from din --fit fit.yaml --method ga9
