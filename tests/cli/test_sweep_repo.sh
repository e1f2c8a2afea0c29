#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap sweep of a repository: all its profiles, or those of a query, with the results of the
# profiles as files; by ranks; what no query finds and damage are said.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

machine="-m 1K:64:4,8K:64:8"
made 6
expect 0 "$PSNAP" repo init r
expect 0 "$PSNAP" repo add r p?.yaml
# shellcheck disable=SC2086
{
    expect 0 "$PSNAP" sweep r $machine -e '' -e 'capture.region_gap_bytes = 8192' --loops -o r.csv
    has err "12 of 12 items simulated"
    expect 0 "$PSNAP" sweep p?.yaml $machine -e '' -e 'capture.region_gap_bytes = 8192' --loops -o p.csv
    python3 - << 'END'
import csv
def rows(path, key):
    return [[key(r["input"])] + list(r.values())[1:] for r in csv.DictReader(open(path))]
inputs = []
for r in csv.DictReader(open("r.csv")):
    if r["input"] not in inputs:
        inputs.append(r["input"])
assert len(inputs) == 6 and inputs == sorted(inputs) and all(i.startswith("r:") for i in inputs), inputs
with_names = rows("r.csv", lambda _: "")
assert sorted(with_names) == sorted(rows("p.csv", lambda _: "")), "other results than of the files"
END

    # A query, on the command line and in a list, with a file beside the repository
    expect 0 "$PSNAP" sweep r name:made1 $machine -o q.csv
    has err "1 of 1 items simulated"
    printf 'inputs: [p2.yaml, r]\nquery: ["!name:made1", "regions>3"]\n' > list.yaml
    wanted=$("$PSNAP" repo search r '!name:made1' 'regions>3' --json | python3 -c 'import json, sys
print(len(json.load(sys.stdin)["entries"]))')
    [ "$wanted" -gt 0 ] || fail "the query finds nothing"
    expect 0 "$PSNAP" sweep --list list.yaml $machine -o l.csv
    has err "$((wanted + 1)) of $((wanted + 1)) items simulated"

    # Ranks, and a second start
    expect 0 "$PSNAP" sweep r $machine --rank 0/2 -o ranks.csv
    has err "3 are others' to do"
    expect 0 "$PSNAP" sweep r $machine -o ranks.csv
    has err "3 of 6 items simulated, 3 were there"
    # ------------------------------------------------------------------ what is wrong
    expect 1 "$PSNAP" sweep r name:nothing $machine -o x.csv
    has err "r: there is no profile in it that the query finds"
    expect 0 "$PSNAP" repo init empty
    expect 1 "$PSNAP" sweep empty $machine -o x.csv
    has err "empty: there is no profile in it"
    expect 2 "$PSNAP" sweep r regions:many $machine -o x.csv
    printf 'inputs: [p2.yaml]\nquery: ["name:made1"]\n' > list.yaml
    expect 2 "$PSNAP" sweep --list list.yaml $machine -o x.csv
    has err "a query is of a repository"
    mkdir folder
    expect 1 "$PSNAP" sweep folder $machine -o x.csv
    has err "folder"
    [ ! -e x.csv ] || fail "results of nothing"
}
exit 0
