#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# --verbose says where the time went, on standard error, of every command: what a stream took and what takes
# its accesses, of each stream if there are several; the parts add up. Without it there is nothing.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"

awk 'BEGIN { for (i = 0; i < 300000; i++) printf "%d %x\n", i % 2, 4096 + i % 5000 * 8 }' > t.din

# adds_up: the rows of err that are parts come to what "all" says; milliseconds are rounded
adds_up()
{
    awk '/^psnap: where the time went$/ { is_there = 1; next }
        is_there && /^  all / { all = $2; next }
        is_there && match($0, /[0-9]+\.[0-9]+ s/) { sum += substr($0, RSTART, RLENGTH); rows++ }
        END { exit !(rows >= 4 && sum > 0.9 * all - 0.01 && sum < all + 0.01) }' err || fail "times of $*: $(cat err)"
}
expect 0 "$PSNAP" sim t.din -m i7-5960x --verbose
adds_up sim
has err '300,000 accesses'
grep -Eq '^  all +[0-9.]+ s, [0-9.]+ s of processors, at most [0-9.]+ MB$' err || fail "$(cat err)"
cp out with
expect 0 "$PSNAP" sim t.din -m i7-5960x
! grep -q 'where the time went' err || fail "times that nobody asked for: $(cat err)"
diff with out
expect 0 "$PSNAP" info -v t.din
adds_up info
expect 0 "$PSNAP" profile -v t.din -o t.yaml --force
adds_up profile
expect 0 "$PSNAP" compare -v t.din t.yaml -m i7-5960x
adds_up compare
[ "$(grep -c 'reading the stream .*300,000 accesses' err)" -ge 2 ] || fail "one stream of two: $(cat err)"
expect 0 "$PSNAP" reuse --verbose --json t.din
python3 -c 'import json; json.load(open("out"))'
expect 0 "$PSNAP" machines -v
has err '  all '
grep -q stream err && fail "machines has no stream: $(cat err)"
expect 2 "$PSNAP" sim t.din --verbos
has err "did you mean '--verbose'"

# after an error that came before any stream there is nothing to know
expect 1 "$PSNAP" sim t.din -m nothing -v
! grep -q 'where the time went' err || fail "times of an error: $(cat err)"
expect 2 "$PSNAP" sim -v
! grep -q 'where the time went' err || fail "times of wrong usage: $(cat err)"

# record has a --verbose that says more
[ -e "$PSNAP_BUILD/lib/psnap/libpsnap_rt.a" ] || exit 0
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/cg.c" -o cg -lm
expect 0 "$PSNAP" record --verbose -o cg.yaml -- ./cg 50
has err 'profile in cg.yaml'
adds_up record
expect 0 "$PSNAP" record -o cg2.yaml -- ./cg 50
[ ! -s err ] || fail "record says, unasked: $(cat err)"
exit 0
