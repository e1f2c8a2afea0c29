#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap repo search: each kind of word finds what it should and nothing else, beside a list made from the
# profiles themselves; mistakes, and texts that SQL would take for its own.
set -eu
. "$PSNAP_SOURCE/tests/cli/repo_common.sh"

made 60
"$PSNAP" repo init r
"$PSNAP" repo add r p?.yaml p??.yaml > ids
printf '%s\n' p?.yaml p??.yaml > names
"$PSNAP" repo add r p7.yaml p8.yaml --tag hpc > /dev/null
"$PSNAP" repo add r p9.yaml --tag hpc-old > /dev/null

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
found 'n % 28 >= 20' 'recorded>=2026-01-21'
found 'n in (7, 8)' tag:hpc
found 'n == 9' tag:hpc-old
found 'n in (7, 8, 9)' hpc
found 'n in (12,)' 'command:made5' command:12
found 'True' host:x86 compiler:clang model=psnap
found 'False' "name:x'OR'1'='1'--"
found 'False' "name:x'" OR
found 'False' "tag:x') OR ('1'='1"
found 'True' 'model:PSN' 'host=x86_64' 'compiler:19.1.7'
found 'False' build:3f
found 'False' language:C
found 'False' tag=hp
found 'n % 7 >= 5' 'name>made4'
found 'n in (7, 8)' tag=hpc
# numbers and times by every operator; no fidelity without a certificate
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
    found 'False' "fidelity${op}3.5"
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

[ "$("$PSNAP" repo search r made --limit 5 --ids | wc -l)" = 5 ]

# mistakes
expect 2 "$PSNAP" repo search r
expect 2 "$PSNAP" repo search r nmae:x
has err "a query knows no 'nmae'"
for query in 'regions>many' 'regions:' 'regions<>3' 'fidelity:good'; do
    expect 2 "$PSNAP" repo search r "$query"
    [ -s err ] || fail "$query: nothing is said"
done
expect 2 "$PSNAP" repo search r 'regions>many' --json
python3 -c 'import json; assert "many" in json.load(open("out"))["error"]["message"]'
expect 2 "$PSNAP" repo search r "$(for i in $(seq 100); do printf 'x%s ' "$i"; done)"
has err "words at most"
expect 0 "$PSNAP" repo search -h
echo "search: ok"
