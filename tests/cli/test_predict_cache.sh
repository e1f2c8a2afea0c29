#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap predict cache: SDCM and distances per set beside the simulator, in columns that fall into
# one set (SDCM's worst case) too; by hand; a profile that is exact; wrong usage.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

# 16 lines of one set of 64, again and again; then 16 lines next to each other
{
    echo address,size,kind,thread,ref
    for pitch in 4096 64; do
        for ((i = 0; i < 30; i++)); do
            for ((k = 0; k < 16; k++)); do
                printf '0x%x,8,load,0,%d\n' $((1 << 20 | k * pitch)) $((pitch == 64))
            done
        done
    done
} > lines.csv
"$PSNAP" predict cache lines.csv -m 32K:64:8,1M:64:16 --by total,loop --json > json
"$PSNAP" sim lines.csv -m 32K:64:8,1M:64:16 --by total --json > sim.json
python3 - << 'END'
import json
from math import comb
rows = json.load(open("json"))["rows"]
assert [(r["scope"], r["method"]) for r in rows] == [
    (scope, method) for scope in ("total", "loop") for method in ("sdcm", "per-set", "simulation")]
sdcm, sets, sim = ([l["cumulative_hit_rate"] for l in r["levels"]] for r in rows[:3])
real = [l["cumulative_hit_rate"] for l in json.load(open("sim.json"))["rows"][0]["levels"]]
assert sim == real, (sim, real)
# By hand: 960 accesses, 31 lines cold; of the first half none hits L1, whose sets have 8 ways
assert abs(sets[0] - 29 * 16 / 960) < 1e-12 and sets[0] == sim[0], sets
assert abs(sets[1] - (960 - 31) / 960) < 1e-12, sets
# All but the cold ones have distance 15: SDCM sees no conflict
def hit(d, a, b):
    p = a / b
    return sum(comb(d, i) * p ** i * (1 - p) ** (d - i) for i in range(a))
assert abs(sdcm[0] - (929 / 960) * hit(15, 8, 512)) < 1e-6, sdcm
level = rows[0]["levels"][1]
assert abs(level["accesses"] - 960 * (1 - sdcm[0])) < 1e-6
assert abs(level["hits"] - 960 * (sdcm[1] - sdcm[0])) < 1e-6
END

"$PSNAP" predict cache lines.csv -m 32K:64:8 -m 2K:64:full --by total > table
has table "machine 32K:64:8, cumulative hit rates:"
has table "L1 SDCM %  L1 sets %  L1 sim. %"
"$PSNAP" predict cache lines.csv -m 32K:64:8 --by total --method per-set > table
has table "L1 sets %"
cat > named.yaml << 'END'
machine:
  name: named
  clock_hz: 1e9
  levels:
    - {size_bytes: 1K, line_bytes: 64, ways: 2}
    - {name: LLC, size_bytes: 32K, line_bytes: 64, ways: 8}
END
"$PSNAP" predict cache lines.csv -m named.yaml --by total --method per-set > named
has named "L1 sets %  LLC sets %"
"$PSNAP" predict cache lines.csv -m named.yaml --by total --json > named
has named '"name": "LLC"'
! grep -q SDCM table || fail "SDCM was not asked for"

# Fully associative: all three are the same
"$PSNAP" predict cache lines.csv -m 1K:64:full --by total --json > json
python3 - << 'END'
import json
rates = {r["levels"][0]["cumulative_hit_rate"] for r in json.load(open("json"))["rows"]}
assert max(rates) - min(rates) < 1e-12, rates
END

# The profile of a regular stream predicts what its trace does
"$PSNAP" profile lines.csv -o lines.yaml 2> err
for input in lines.csv lines.yaml; do
    "$PSNAP" predict cache $input -m i7-5960x --by total --json |
        python3 -c 'import json, sys; print([r["levels"] for r in json.load(sys.stdin)["rows"]])' > $input.rates
done
cmp lines.csv.rates lines.yaml.rates || fail "the profile is another stream"

head -1 lines.csv > empty.csv
expect 1 "$PSNAP" predict cache empty.csv -m i7-5960x --json
has out '"message": "there is not a single access in it'

expect 2 "$PSNAP" predict
has err "usage: psnap predict MODEL"
expect 2 "$PSNAP" predict cach
has err "did you mean 'cache'?"
expect 2 "$PSNAP" predict foo --json
has out '"message": "no model '
expect 2 "$PSNAP" predict cache lines.csv -m i7-5960x -m i7-5960x
has err "two machines are called 'i7-5960x'"
for model in cache multicore runtime; do
    expect 2 "$PSNAP" predict $model lines.csv --nonsense
    has err "psnap predict $model: no option '--nonsense'"
    has err "'psnap predict $model --help'"
done
expect 2 "$PSNAP" predict cache lines.csv
has err "no machine"
expect 2 "$PSNAP" predict cache lines.csv -m i7-5960x --method lru
has err "sdcm and per-set"
expect 2 "$PSNAP" predict cache lines.csv -m i7-5960x --by thread
has err "total, loop and block"
expect 1 "$PSNAP" predict cache lines.csv -m nowhere
has err "no machine 'nowhere'"
expect 0 "$PSNAP" predict cache --help
has out "SDCM"
