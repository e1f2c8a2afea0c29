#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# On a terminal long work shows how far it is, from the second second on: how many accesses, how
# many a second, or what it is at, and the time left. Elsewhere it is quiet.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
command -v script > /dev/null || exit 77

# accesses N THREADS: a trace, whose first accesses are read two seconds before the others
accesses() {
    awk -v n="$1" -v threads="$2" 'BEGIN {
        print "address,size,kind,thread,ref"
        for (i = 0; i < n; i++)
            printf "0x%x,8,load,%d,0\n", 65536 + i % 9999 * 8, i % threads
    }'
}
# slowly FILE: it, in two parts with two seconds between
slowly() {
    head -n 70000 "$1"
    sleep 2.2
    tail -n +70001 "$1"
}
accesses 700000 1 > one.csv

# on_terminal ARGUMENTS...: psnap's standard error is a terminal, its input comes slowly; into shown
on_terminal() {
    slowly one.csv > fifo &
    script -qec "'$PSNAP' $* < fifo > out" /dev/null > shown < /dev/null || fail "$*: $(cat shown)"
    wait
}
mkfifo fifo
on_terminal sim - -m 1K:64:2 --by total
grep -Eq 'psnap: [0-9,]+ accesses, [0-9.]+ M/s' shown || fail "no rate: $(cat -v shown)"
grep -q $'\r\033\[K' shown || fail "not erased"
on_terminal sim - --sweep 1,16
grep -Eq 'psnap: [0-9,]+ accesses, [0-9.]+ M/s' shown || fail "no rate of a sweep: $(cat -v shown)"
on_terminal reuse - --by total
grep -Eq 'psnap: [0-9,]+ accesses, [0-9.]+ M/s' shown || fail "no rate of reuse: $(cat -v shown)"
on_terminal info -
grep -Eq 'psnap: [0-9,]+ accesses, [0-9.]+ M/s' shown || fail "no rate of info: $(cat -v shown)"

# how long a replay is stands there at once, and how far it is in one long loop
endless 0 > endless.yaml
for command in 'sim -m 1K:64:2' 'locality --by total' 'whatif -e capture.region_gap_bytes=2 -m 1K:64:2'; do
    script -qec "timeout 4 '$PSNAP' ${command%% *} endless.yaml ${command#* } > out" /dev/null \
        > shown < /dev/null || true
    grep -Eq 'psnap: 0 of 4,503,599,627,370,496 accesses' shown ||
        fail "the length is not said: $(cat -v shown)"
    grep -Eq 'psnap: [1-9][0-9,]+ of 4,503,599,627,370,496 accesses, [0-9.]+ M/s, 0 %, [0-9]+ days left' \
        shown || fail "$command says no time: $(cat -v shown)"
done

# things that are no accesses, and how many are left
cat > p.yaml << 'EOF'
psnap: 1
capture: {model: psnap}
schedule: [l]
loops:
- id: l
  regions:
  - {id: r, working_set: {bytes: 80, group: raw, offset: 64}, accesses: 10, loads: 10, sizes: {8: 10}, strides: {8: 9}}
EOF
mkfifo slow
{ sleep 2.2; cat p.yaml; } > slow &
script -qec "'$PSNAP' merge p.yaml slow p.yaml -o m.yaml > out" /dev/null > shown < /dev/null || fail "merge: $(cat shown)"
wait
grep -Eq 'psnap: 2 profiles, [0-9.]+/s, 67 %, [0-9]+ s left' shown || fail "no rate of merge: $(cat -v shown)"

# work that says what it is at
script -qec "'$PSNAP' multimaps --sizes 12 --largest 64K --budget 4s --tolerance 0.00001 -m 4K:64:4,16K:64:4 -o points.yaml > out" /dev/null \
    > shown < /dev/null || fail "multimaps: $(cat shown)"
grep -Eq 'psnap: round [0-9]+, [0-9]+ of [0-9]+ points not stable yet, [0-9]+ %, [0-9]+ s left' shown || fail "no time left of multimaps: $(cat -v shown)"
grep -q $'\r\033\[K' shown || fail "multimaps: not erased"
script -qec "timeout 6 '$PSNAP' fit points.yaml --population 100000 > out" /dev/null > shown < /dev/null || true
grep -Eq 'psnap: ga, generation [0-9]+ of 200, [0-9]+ %, [0-9]+ s left' shown || fail "no time left of fit: $(cat -v shown)"

# no terminal: nothing
slowly one.csv | "$PSNAP" sim - -m 1K:64:2 --by total > out 2> err
grep -q $'\r' err && fail "not quiet: $(cat -v err)"
exit 0
