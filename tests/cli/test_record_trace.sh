#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A trace that is cut off because psnap was killed: what is whole can be read. A trace with --max-bytes ends early and is whole, the profile is not
# touched by it.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > prog.c << 'END'
#include <stdio.h>
#include <stdlib.h>
static unsigned cells[1 << 16];
int main(int argc, char **argv)
{
    unsigned random = 1;
    for (long n = argc > 1 ? atol(argv[1]) : 1; n > 0; n--) {
        random = random * 1664525u + 1013904223u;
        cells[random >> 16]++;
    }
    puts("end");
    return 0;
}
END
"$PSNAP" cc -O1 -o prog prog.c
count() { "$PSNAP" info "$1" --json 2> /dev/null | tr -d ' \n' | grep -o '"accesses":[0-9]*' | cut -d : -f 2; }

# psnap is killed at some moment: the part is the start of the whole trace
"$PSNAP" record --no-profile --trace whole.pst -- ./prog 3000000 > out
"$PSNAP" record --no-profile --trace skipped.pst --skip 3 -- ./prog 3000000 > out
for delay in 0.15 0.3 0.5; do
    rm -f t.pst.part # of the last time
    "$PSNAP" record --no-profile --force --trace t.pst --skip 3 -- ./prog 1000000000 > out 2> err &
    recorder=$!
    for ((i = 0; i < 1200; i++)); do
        n=$(count t.pst.part)
        [ "${n:-0}" = 0 ] || break # the header is there from the start
        sleep 0.05
    done
    sleep $delay
    kill -9 $recorder
    wait $recorder 2> err || true
    [ -s t.pst.part ] && [ ! -e t.pst ] || fail "after kill -9: $(ls)"
    n=$(count t.pst.part)
    [ "$n" -gt 0 ] || fail "nothing is whole after kill -9"
    "$PSNAP" info t.pst.part > out 2> err # it says where it comes from, and which part it is
    grep -q '^command  *./prog 1000000000$' out && grep -q '^compiler  *clang' out &&
        grep -q "^part  *from access 3 on $n of them" <(tr -d , < out) ||
        fail "of a killed recording: $(cat out)"
    n=$((n < 3000000 ? n : 3000000))
    "$PSNAP" convert t.pst.part --count $n -f csv -o - 2> /dev/null | cut -d , -f 1-4 > part.csv
    "$PSNAP" convert skipped.pst --count $n -f csv -o - 2> /dev/null | cut -d , -f 1-4 | cmp - part.csv
done
"$PSNAP" sim t.pst.part -m 32K:64:8 > out 2> err
has err "t.pst.part: offset"
has err "accesses are whole"

# what was left is not overwritten without --force
[ "$(status "$PSNAP" record --no-profile --trace t.pst -- ./prog 10)" = 125 ]
has err "'t.pst.part' is what a recording that was cut off has left"
"$PSNAP" record --no-profile --trace t.pst --force -- ./prog 10 > out
[ ! -e t.pst.part ] && [ "$(count t.pst)" -gt 10 ] || fail "--force: $(ls)"

# what has the name of the part and is none is neither followed, cut nor removed
echo mine > mine
cp t.pst linked.pst
for other in "cp mine" "ln -s mine" "ln -s nothing" "ln linked.pst" mkfifo mkdir touch; do
    $other t.pst.part
    ls -ld t.pst.part > before
    "$PSNAP" record --no-profile --trace t.pst --force -- ./prog 10 > out
    ls -ld t.pst.part | cmp - before || fail "$other: $(ls -l)"
    [ "$(cat mine)" = mine ] && [ ! -e nothing ] && [ "$(ls -d t.pst.part*)" = t.pst.part ] || fail "$other: $(ls -l)"
    rm -rf t.pst.part
done

# two recordings at a time of one name do not meet
"$PSNAP" record --no-profile --force --trace two.pst -- ./prog 300000 > out &
"$PSNAP" record --no-profile --force --trace two.pst -- ./prog 300000 > out
wait $!
[ "$(count two.pst)" -gt 300000 ] && [ ! -e two.pst.part ] || fail "two at a time: $(ls)"

# a limit: whole, no larger, and said
"$PSNAP" record -o all.yaml -- ./prog 3000000 > out
for bytes in 59 4K 100K 1M; do
    "$PSNAP" record --force -o limited.yaml --trace limited.pst --max-bytes $bytes -- ./prog 3000000 \
        > out 2> err
    has out end
    size=$(wc -c < limited.pst)
    limit=${bytes/K/ * 1024}
    limit=$((${limit/M/ * 1048576}))
    [ "$size" -le $limit ] || fail "--max-bytes $bytes: $size bytes"
    [ $limit -lt 100000 ] || [ "$size" -gt $((limit * 3 / 4)) ] || fail "$bytes: only $size bytes"
    n=$(count limited.pst)
    has err "limited.pst: --max-bytes leaves it the first "
    "$PSNAP" info limited.pst > out
    has out "limited"
    "$PSNAP" convert limited.pst --force -f csv -o limited.csv 2> err
    ! grep -q warning err || fail "$(cat err)"
    cmp <("$PSNAP" convert whole.pst --count "$n" -f csv -o - 2> /dev/null | cut -d , -f 1-4) \
        <(cut -d , -f 1-4 limited.csv)
    cmp <(grep -v recorded: all.yaml) <(grep -v recorded: limited.yaml)
done
"$PSNAP" record --force --no-profile --trace limited.pst --max-bytes 1G -- ./prog 1000 2> err > out
! grep -q limited err && "$PSNAP" info limited.pst --json | tr -d ' \n' | grep -q '"limited":false' ||
    fail "a limit that was not reached"
[ "$(status "$PSNAP" record --max-bytes 1K -- ./prog)" = 125 ]
has err "--max-bytes is for --trace"
