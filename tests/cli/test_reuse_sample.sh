#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap reuse --sample 0.01 of traces of samples, with some thousand to some ten thousand lines
# each: hit rates of caches of 1, 2, 4 ... lines are 0.005 or less from the exact ones in the mean,
# and each row has the accesses that it has.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

while read -r name arguments; do
    "$PSNAP" cc -O2 -o "$name" "$PSNAP_SOURCE/samples/$name.c" -lm
    # shellcheck disable=SC2086
    "$PSNAP" record --no-profile --trace "$name.pst" -- "./$name" $arguments > /dev/null 2>&1
    "$PSNAP" reuse "$name.pst" --json > "$name.exact"
    "$PSNAP" reuse "$name.pst" --sample 0.01 --json > "$name.sample"
done << 'END'
cg 4000 1
matmul 160 1
jacobi3d 60 4
hashjoin 60000 3
END

python3 - cg matmul jacobi3d hashjoin << 'END'
import json, sys

def hits(row, lines):
    return sum(n for distance, n in row["histogram"] if distance < lines) / row["accesses"]

errors = []
for name in sys.argv[1:]:
    exact, sample = (json.load(open(f"{name}.{kind}")) for kind in ("exact", "sample"))
    assert abs(sample["lines"] - exact["lines"]) < .1 * exact["lines"], name
    assert [r["id"] for r in exact["scopes"]] == [r["id"] for r in sample["scopes"]], name
    for a, b in zip(exact["scopes"], sample["scopes"]):
        assert a["accesses"] == b["accesses"] == b["cold"] + sum(n for _, n in b["histogram"])
    sizes = [2 ** k for k in range(exact["lines"].bit_length())]
    a, b = exact["scopes"][0], sample["scopes"][0]
    errors.append(sum(abs(hits(a, s) - hits(b, s)) for s in sizes) / len(sizes))
print(dict(zip(sys.argv[1:], errors)), file=sys.stderr)
assert sum(errors) / len(errors) <= .005, errors
END
