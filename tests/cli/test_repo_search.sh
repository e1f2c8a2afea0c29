#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo search: each kind of word finds what it should and nothing else, beside a list made from the
# profiles themselves; similarity; mistakes, and texts that SQL would take for its own.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 60
"$PSNAP" repo init r
"$PSNAP" repo add r p?.yaml p??.yaml > ids
printf '%s\n' p?.yaml p??.yaml > names
"$PSNAP" repo add r p7.yaml p8.yaml --tag hpc --licence BSD-3-Clause --input 'the large one' > /dev/null
"$PSNAP" repo add r p9.yaml --tag hpc-old --fidelity 3.5 > /dev/null

# found QUERY... : what the expression in $1 (of n, the number of the profile) is true for
found() {
    local expression=$1
    shift
    "$PSNAP" repo search r "$@" --ids | sort > got
    python3 -c '
import sys
loops = lambda n: 3 + n % 5
accesses = lambda n: sum(100 + 37 * n + k for k in range(loops(n)))
size = lambda n, k: 8 << (n + k) % 3
count = lambda n, k: 100 + 37 * n + k
working_set = lambda n: len({a for k in range(loops(n)) for a in range(4096 * k, 4096 * k + count(n, k) * size(n, k))})
share = lambda n, s: sum(count(n, k) for k in range(loops(n)) if size(n, k) == s) / accesses(n)
for line in open("names"):
    n = int(line[1:-6])
    print(bool(eval(sys.argv[1])))
' "$expression" > wanted
    paste wanted ids | sed -n 's/^True\t//p' | sort > expected
    cmp got expected || fail "$*: $(wc -l < got) found, not $(wc -l < expected)"
}
found 'n % 7 == 3' name:made3
found 'n % 7 == 3' program=made3
found 'False' program=made
found 'True' name:MADE
found 'n % 7 == 3 and loops(n) == 7' name:made3 'loops=7'
found 'loops(n) > 4' function:work4
found 'loops(n) > 4' function=work4
found 'False' function=work
found 'loops(n) <= 4' '!function:work4'
found 'loops(n) > 4' regions\>4
found 'loops(n) >= 4' 'loops>=4'
found '1000 <= accesses(n) < 4096' 'accesses>=1000 accesses<4K'
found 'working_set(n) > 16384' 'working_set>16K'
found 'share(n, 32) > 0.45' 'stride:32>0.45'
found 'share(n, 8) == 0' '!stride:8'
found 'share(n, 64) > 0' 'stride:64'
found 'n % 28 >= 20' 'recorded>=2026-01-21'
found 'n in (7, 8)' tag:hpc
found 'n == 9' tag:hpc-old
found 'n in (7, 8)' 'licence:bsd'
found 'n in (7, 8)' 'input:"large one"'
found 'n in (7, 8)' '"the large"'
found 'n == 9' 'fidelity>2'
found 'n in (7, 8, 9)' hpc
found 'n == 12' 'command:" 12"'
found 'True' host:x86 compiler:clang model=psnap
found 'False' "name:x' OR 1=1 --"
found 'False' "tag:x') OR ('1'='1"
found 'n in (7, 8)' 'license=BSD-3-Clause' licence:3-clause
found 'n in (7, 8)' 'input="the large one"'
found 'False' 'input="the large"'
found 'n == 12' 'command="./made5 12"'
found 'True' 'model:PSN' 'host=x86_64' 'compiler="clang 19.1.7"'
found 'False' build:3f
found 'False' language:C
found 'False' tag=hp
found 'n % 7 >= 5' 'name>made4'
found 'n in (7, 8)' tag=hpc
# numbers and times by every operator; fidelity of what says one
for key in accesses:accesses loads:accesses regions:loops loops:loops working_set:working_set; do
    for op in '<' '<=' '>' '>=' '='; do
        middle=4
        case $key in *:accesses) middle=5561 ;; *:working_set) middle=16384 ;; esac
        found "${key#*:}(n) ${op/#=/==} $middle" "${key%:*}$op$middle"
    done
done
found 'True' 'stores=0 atomics<=0 bytes>100 bytes<1M'
found 'False' 'stores>0'
for op in '<' '<=' '>' '>=' '='; do
    found "n % 28 ${op/#=/==} 20" "recorded${op}2026-01-21T00:00:00Z"
    found "n == 9 and '=' in '$op'" "fidelity${op}3.5"
    found "share(n, 8) ${op/#=/==} 0" "stride:8${op}0"
done
found 'n % 28 == 20' recorded:2026-01-21
year=$(date -u +%Y)
for query in "added>$year" "added>=$year-01-01" "added<$((year + 1))" "added<=$((year + 1))" "added:$year-" "!added>$((year + 1))" \
    'added>2026-01-01'; do
    found 'True' "$query"
done
for query in "added<$year" "added<=$year" "added>$((year + 1))" "added=$year" "!added>$year"; do
    found 'False' "$query"
done
found 'n == 30' "id:$(grep -n '^p30.yaml' names | cut -d : -f 1 | xargs -I @ sed -n @p ids | cut -c 1-20)"

# similarity: itself among the first, falling, all of them; the signature goes by what is accessed, not by names
id=$(sed -n 20p ids)
expect 0 "$PSNAP" repo search r "like:${id:0:12}" --json
python3 - "$id" << 'PYTHON'
import json, sys
entries = json.load(open("out"))["entries"]
alike = [e["similarity"] for e in entries]
assert len(entries) == 60 and abs(alike[0] - 1) < 1e-9
assert [e for e in entries if e["id"] == sys.argv[1]][0]["similarity"] == alike[0]
assert alike == sorted(alike, reverse=True) and 0 <= alike[-1] < 0.999, alike
PYTHON
expect 0 "$PSNAP" repo search r "like:$id" name:made1 --limit 3
has out alike
[ "$(wc -l < out)" = 4 ] || fail "not three: $(cat out)"
[ "$("$PSNAP" repo search r made --limit 5 --ids | wc -l)" = 5 ]

# mistakes
expect 2 "$PSNAP" repo search r
expect 2 "$PSNAP" repo search r nmae:x
has err "did you mean 'name'?"
for query in 'regions>many' 'regions:' 'stride:3>0.1' 'stride:8>x' 'like:1 like:2' 'name:"x' 'fidelity:good'; do
    expect 2 "$PSNAP" repo search r "$query"
    [ -s err ] || fail "$query: nothing is said"
done
expect 2 "$PSNAP" repo search r 'regions>many' --json
python3 -c 'import json; assert "many" in json.load(open("out"))["error"]["message"]'
expect 1 "$PSNAP" repo search r like:ffffffffff
expect 2 "$PSNAP" repo search r "$(for i in $(seq 100); do printf 'x%s ' "$i"; done)"
has err "words at most"
expect 0 "$PSNAP" repo search -h
has out "stride:8>0.5"
echo "search: ok"
