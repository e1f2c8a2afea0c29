#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap record --threads apart: parts of loops for each thread. They add up to the merged profile
# and, by loop and by thread, to the trace; the same twice; their replay has the threads.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# counts INPUT: "scope id accesses" of its loops and threads
counts() {
    "$PSNAP" sim "$1" -m 32K:64:8 --by loop,thread --json | python3 -c '
import json, sys
rows = json.load(sys.stdin)["rows"]
print(*sorted("{scope} {id} {accesses}".format(**row) for row in rows), sep="\n")'
}
# without what differs from run to run
plain() {
    sed "s/recorded: '[^']*'//" "$1"
}

"$PSNAP" cc -O2 -pthread "$PSNAP_SOURCE/samples/threads.c" -o threads -lm
"$PSNAP" record --threads merged -o merged.yaml -- ./threads 100 5 3 > out
"$PSNAP" record --threads apart -o apart.yaml --trace apart.pst -- ./threads 100 5 3 > out
expect 0 "$PSNAP" check merged.yaml apart.yaml
/usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" \
    "$PSNAP_SOURCE/profile/psnap-profile.schema.json" apart.yaml || [ $? = 77 ]

# ------------------------------------------------------------- counts

python3 - "$PSNAP" << 'END' || fail "parts do not add up"
import collections, json, subprocess, sys
def show(path):
    return json.loads(subprocess.run([sys.argv[1], "show", path, "--json", "--top", "1000"],
                                     check=True, capture_output=True).stdout)
merged, apart = show("merged.yaml"), show("apart.yaml")
keys = ("accesses", "loads", "stores", "atomics", "bytes", "operations")
assert [merged[k] for k in keys] == [apart[k] for k in keys]
whole = {l["id"]: l for l in apart["loops"] if "thread" not in l}
parts = [l for l in apart["loops"] if "thread" in l]
assert {l["id"] for l in merged["loops"]} == set(whole)
sums = collections.Counter()
for part in parts:
    assert part["id"] == f'{part["whole"]}.t{part["thread"]}', part
    assert part["part_of"] == whole[part["whole"]]["part_of"], part
    assert "iterations" not in part
    for key in ("accesses", "loads", "stores"):
        sums[part["whole"], key] += part[key]
for loop in merged["loops"]:
    for key in ("accesses", "loads", "stores"):
        assert sums[loop["id"], key] == loop[key], (loop["id"], key)
    for key in ("entries", "iterations", "operations", "depth", "parent", "src_line"):
        assert loop.get(key) == whole[loop["id"]].get(key), (loop["id"], key)
# rows 1 to 98 in three bands of 32, 33 and 33, which thread 1, 2 and 3 sum
assert {p["thread"]: p["accesses"] for p in parts if p["function"] == "sum_rows"} == {
    1: 3200, 2: 3300, 3: 3300}
assert {p["thread"] for p in parts if p["function"] in ("main", "init", "run")} == {0}
END
counts apart.pst > of_trace
counts apart.yaml > of_profile
[ "$(grep -c ^thread of_trace)" = 4 ] || fail "threads of the trace: $(cat of_trace)"
diff of_trace of_profile || fail "loops and threads are others in the profile"

# by the other way, and again
"$PSNAP" profile apart.pst --threads apart -o from_trace.yaml 2> log
diff <(plain apart.yaml) <(plain from_trace.yaml) || fail "psnap profile makes another one"
for i in 1 2 3; do
    "$PSNAP" record --force --threads apart -o again.yaml -- ./threads 100 5 3 > out
    diff <(plain apart.yaml) <(plain again.yaml) || fail "another run has another profile"
done

# ------------------------------------------------------------- replay, sim, compare

"$PSNAP" replay apart.yaml -f csv -o a.csv 2> log
"$PSNAP" replay apart.yaml -f csv -o b.csv 2> log
cmp a.csv b.csv || fail "replay is not the same twice"
[ "$(cut -d, -f4 a.csv | sed -n '2,9p' | xargs)" = "0 1 2 3 0 1 2 3" ] || fail "$(head a.csv)"
"$PSNAP" replay apart.yaml -o replayed.pst 2> log
counts replayed.pst | diff of_profile - || fail "the replay has other counts"
# the threads of the trace that was replayed are in turn by themselves
"$PSNAP" sim apart.yaml -m 32K:64:8 --json > 1.json
"$PSNAP" sim replayed.pst -m 32K:64:8 --json > 2.json
"$PSNAP" sim apart.yaml -m 32K:64:8 --by thread,total,loop --json > 3.json
"$PSNAP" compare apart.pst apart.yaml -m 32K:64:8 --all --interleave round-robin --json > 4.json
"$PSNAP" compare merged.yaml apart.yaml -m 32K:64:8 --all --json > 5.json
"$PSNAP" profile apart.pst --model psnap -o published.yaml 2> log
"$PSNAP" compare published.yaml apart.yaml -m 32K:64:8 --all --json > 6.json
python3 - << 'END' || fail "sim and compare"
import json
one, two, three, four, five, six = (json.load(open(f"{i}.json")) for i in range(1, 7))
assert one["rows"] == two["rows"] == [r for r in three["rows"] if r["scope"] != "thread"]
assert [r["threads"] for r in (one, two, three)] == [4, 4, 4]
assert [r["interleaving"] for r in (one, two, three)] == [
    "round-robin by access", "stream order", "round-robin by access"]
assert four["summary"]["missing_loops"] == five["summary"]["missing_loops"] == 0
for side in (four["observed"], four["synthetic"], five["synthetic"]):
    assert (side["threads"], side["interleaving"]) == (4, "round-robin by access"), side
# the published model merges them to one
assert (six["observed"]["threads"], six["observed"]["interleaving"]) == (1, "stream order")
loops = [r for r in four["rows"] if r["scope"] == "loop"]
assert "sweep:42" in [r["id"] for r in loops]
assert all(l["observed"] is not None and l["synthetic"] is not None
           for r in loops for l in r["levels"])
END
"$PSNAP" compare apart.pst apart.yaml -m 32K:64:8 > table
[ "$(grep -c "4 threads, interleaved in the stream's order" table)" = 1 ] || fail "$(head -3 table)"
[ "$(grep -c '4 threads, interleaved access by access' table)" = 1 ] || fail "$(head -3 table)"

# ------------------------------------------------------------- by the hundred

cat > crowd.c << 'END'
#include <pthread.h>
static volatile long cells[1024];
static void *run(void *n)
{
    for (long i = 0; i < 100 + (long)n; i++)
        cells[i] = i;
    return 0;
}
int main(void)
{
    for (long i = 1; i <= 200; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, run, (void *)i))
            return 1;
        pthread_join(thread, 0);
    }
    return 0;
}
END
"$PSNAP" cc -O1 -pthread crowd.c -o crowd
"$PSNAP" record --threads apart -o crowd.yaml -- ./crowd
expect 0 "$PSNAP" check crowd.yaml
"$PSNAP" show crowd.yaml --json --top 1000 > crowd.json
python3 - << 'END' || fail "a crowd: $(head -c 2000 crowd.json)"
import json
r = json.load(open("crowd.json"))
parts = {l["thread"]: l for l in r["loops"] if "thread" in l and l["function"] == "run"}
numbers = sorted(parts)
own, rest = numbers[:-1], numbers[-1]
assert len(r["threads"]) == 65 and len(own) == 63 # 0 is the main thread, and does not run
assert own == list(range(1, 64)) and rest == 64, numbers
assert [parts[t]["accesses"] for t in own] == [100 + t for t in own]
assert parts[rest]["threads"] == 200 - 63 and parts[rest]["id"].endswith(".t64+")
assert parts[rest]["accesses"] == sum(100 + t for t in range(64, 201))
END
"$PSNAP" show crowd.yaml > out
has out "(137 threads from 64 on are merged)"

[ "$(status "$PSNAP" record --threads both -o x.yaml -- ./crowd)" = 125 ] || fail "$(cat err)"
has err "--threads is merged or apart, not 'both'"
[ ! -e x.yaml ] || fail "x.yaml"
