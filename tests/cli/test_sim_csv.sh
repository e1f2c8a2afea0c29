#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sim --csv: the same as --json, field by field, with --misses, --cores, prefetchers, a TLB
# and a machine whose name has a comma; of a sweep, too; and one form at a time.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

awk 'BEGIN {
    print "address,size,kind,thread,ref"
    x = 1
    for (i = 0; i < 4000; i++) {
        x = x * 16807 % 2147483647
        at = i % 3 == 2 ? x % 300000 : i * 8
        printf "0x%x,%d,%s,%d,%d\n", 65536 + at, i % 5 ? 8 : 24, i % 4 ? "load" : "store", i % 2, i % 3
    }
}' > trace.csv
cat > odd.yaml << 'END'
name: 'a, "b"'
coherence: invalidate
levels:
  - {size_bytes: 1K, line_bytes: 64, ways: 2, victim_lines: 2, write: through}
  - {size_bytes: 8K, line_bytes: 64, ways: 4, inclusion: inclusive, shared_by: 2}
END
cat > compare.py << 'END'
import csv, json, sys
records = list(csv.DictReader(open(sys.argv[1], newline="", encoding="utf-8")))
document = json.load(open(sys.argv[2], encoding="utf-8"))
def same(text, value):
    if value is None:
        return text == ""
    return text == value if isinstance(value, str) else float(text) == value
if "sweep" in document:
    expected = []
    for row in document["sweep"]:
        for ways, rate in enumerate(row.pop("hit_rates"), 1):
            expected.append({**row, "ways": ways, "hit_rate": rate})
    for record in records:
        accesses, hits = int(record["accesses"]), int(record.pop("hits"))
        assert float(record.pop("miss_ratio")) == (accesses - hits) / accesses
        assert float(record["hit_rate"]) == hits / accesses
        assert int(record.pop("size_bytes")) == (
            int(record["line_bytes"]) * int(record["sets"]) * int(record["ways"]))
else:
    expected = []
    for row in document["rows"]:
        levels, tlb = row.pop("levels"), row.pop("tlb", [])
        for level in levels + tlb:
            level["level_name"] = level.pop("name", "")
        row["row_accesses"] = row.pop("accesses")
        expected += [{**row, **level} for level in levels + tlb]
assert len(records) == len(expected) > 0, (len(records), len(expected))
for record, wanted in zip(records, expected):
    for key, text in record.items():
        assert same(text, wanted.pop(key, None)), (key, text, record)
    assert not wanted, wanted
END

# both ARGUMENTS...: the two forms have the same content
both() {
    "$PSNAP" sim trace.csv "$@" --csv > out.csv 2> err
    "$PSNAP" sim trace.csv "$@" --json > out.json 2> err
    python3 compare.py out.csv out.json || fail "sim $*: $(head -n 3 out.csv)"
}
both -m 1K:64:2,8K:64:4
both -m prefetch-3 -m tlb-64 --by total,loop,block,region,thread
both -m odd.yaml --cores 2 --misses
has out.csv '"a, ""b"""'
both -m odd.yaml -m 1K:64:2 --misses
both --sweep 1,3,16 --line 16,64 --ways 3 --by total,loop
head -n 1 out.csv | grep -qx "line_bytes,sets,ways,size_bytes,scope,id,name,accesses,hits,hit_rate,miss_ratio"

expect 2 "$PSNAP" sim trace.csv -m 1K:64:2 --csv --json
has err "one of them"
expect 2 "$PSNAP" sim trace.csv --sweep 16 --csv --json

# levels have names: in the table's headings, the JSON, the CSV, and the description
cat > named.yaml << 'END'
source: a manual, table 2
levels:
  - {name: L1d, size_bytes: 1K, line_bytes: 64, ways: 2}
  - {size_bytes: 4K, line_bytes: 64, ways: 4}
  - {name: 'LLC, all', size_bytes: 16K, line_bytes: 64, ways: 4}
END
both -m named.yaml -m tlb-64 --by total
has out.csv ',3,"LLC, all",'
"$PSNAP" sim trace.csv -m named.yaml --by total > out 2> err
has out "L1d hit %"
has out "L2 hit %"
has out "LLC, all cum. %"
"$PSNAP" sim trace.csv -m named.yaml -m 1K:64:2 --by total > out 2> err
has out "named L1d %"
"$PSNAP" machines named.yaml > out
has out "level 1, L1d: 1,024 bytes"
has out "source: a manual, table 2"
"$PSNAP" machines named.yaml --json > out
has out '"name": "LLC, all"'
"$PSNAP" compare trace.csv trace.csv -m named.yaml --json > out
has out '"name": "L1d"'
sed 's/LLC, all/L1d/' named.yaml > twice.yaml
expect 1 "$PSNAP" sim trace.csv -m twice.yaml
has err "twice.yaml:5:12: name 'L1d' is that of level 1, too"
