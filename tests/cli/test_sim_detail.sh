#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sim, machines access by access: what misses are due to, levels that are inclusive or
# exclusive, writes through, victim caches, and coherence between cores.
set -eu

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() {
    echo "test_sim_detail: $*" >&2
    exit 1
}

# Two passes over 3 KiB, one word of each line stored to; then columns of 16 words, 1 KiB apart
awk 'BEGIN {
    for (pass = 0; pass < 2; pass++)
        for (i = 0; i < 384; i++)
            printf "%d %x\n", i % 8 == 0, 65536 + 8 * i
    for (pass = 0; pass < 4; pass++)
        for (i = 0; i < 16; i++)
            printf "0 %x\n", 131072 + 1024 * i
}' > trace.din

# Misses add up; columns of a power of two are conflicts, and xor has none of them
"$PSNAP" sim trace.din -m 1K:64:4,8K:64:4 --misses --json > misses 2> err
"$PSNAP" sim trace.din -m 1K:64:4,8K:64:4 --json > plain 2> err
cat > xor.yaml << 'END'
levels:
- {size_bytes: 1K, line_bytes: 64, ways: 4}
- {size_bytes: 8K, line_bytes: 64, ways: 4, index: xor}
END
"$PSNAP" sim trace.din -m xor.yaml --misses --by total --json > xor 2> err
python3 - << 'END'
import json
misses, plain, xor = (json.load(open(name))["rows"] for name in ("misses", "plain", "xor"))
for a, b in zip(misses, plain):
    for x, y in zip(a["levels"], b["levels"]):
        assert "cold_misses" not in y
        kinds = x["cold_misses"] + x["capacity_misses"] + x["conflict_misses"]
        assert kinds == x["accesses"] - x["hits"], x
        assert all(x[key] == y[key] for key in y), (x, y)
first, second = misses[0]["levels"]
assert first["cold_misses"] == 48 + 16 and first["capacity_misses"] == 48, first
assert first["conflict_misses"] == 48, first # 16 lines in one set, where 16 lines fit
assert second["conflict_misses"] == 48 and second["cold_misses"] == 64, second
assert xor[0]["levels"][1]["conflict_misses"] == 0, xor
END
"$PSNAP" sim trace.din -m 1K:64:4 --misses > table 2> err
grep -q "L1 cold  *L1 capacity  *L1 conflict" table || fail "$(cat table)"

# What a machine has is in its report
cat > all.yaml << 'END'
machine:
  name: all
  levels:
  - {size_bytes: 1K, line_bytes: 64, ways: 2, write: through, victim_lines: 4, prefetch: {next_lines: 1}}
  - {size_bytes: 2K, line_bytes: 64, ways: 4, replacement: fifo, write_allocate: no}
  - {size_bytes: 16K, line_bytes: 64, ways: 8, inclusion: inclusive}
END
"$PSNAP" sim trace.din -m all.yaml --by total > table 2> err
for heading in "L1 through" "L1 victims" "L1 useful" "L2 taken"; do
    grep -q "$heading" table || fail "no $heading in $(cat table)"
done
"$PSNAP" sim trace.din -m all.yaml --by total --json > json 2> err
python3 - << 'END'
import json
first, second, third = json.load(open("json"))["rows"][0]["levels"]
assert first["write_throughs"] == 96 and first["write_backs"] == 0, first
assert first["prefetches_useful"] == 48 and "victim_hits" in first, first
assert "invalidations" in second and "invalidations" not in third
END
"$PSNAP" machines all.yaml > text
grep -q "writes through, victim cache of 4 lines, prefetches 1 next line" text || fail "$(cat text)"
grep -q "fifo, stores do not allocate" text || fail "$(cat text)"

# Two threads that store to one line in turn: it is taken each time
awk 'BEGIN {
    print "address,size,kind,thread,ref"
    for (i = 0; i < 100; i++)
        printf "0x10000,8,store,%d,0\n", i % 2
}' > turns.csv
coherent=$PSNAP_SOURCE/samples/machines/coherent.yaml
"$PSNAP" sim turns.csv -m "$coherent" --cores 2 --misses --by total --json > json 2> err
"$PSNAP" sim turns.csv -m 32K:64:8 --cores 2 --by total --json > apart 2> err
python3 - << 'END'
import json
first, _, third = json.load(open("json"))["rows"][0]["levels"]
assert first["hits"] == 0 and first["cold_misses"] == 2 and first["coherence_misses"] == 98, first
assert first["invalidations"] == 99 and first["write_backs"] == 99, first
assert third["hits"] == 99, third
assert json.load(open("apart"))["rows"][0]["levels"][0]["hits"] == 98
END
"$PSNAP" sim turns.csv -m "$coherent" --by total > table 2> err
! grep -q coherence table || fail "one hierarchy has no coherence: $(cat table)"
