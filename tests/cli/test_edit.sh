#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap edit on recorded programs: the replayed stream of the edited profile is that of the program
# with another size, or of the stream with another address for each.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# edit FROM TO OPTIONS...: succeeds, and 'check' has nothing to say but ok
edit() {
    local from=$1 to=$2
    shift 2
    expect 0 "$PSNAP" edit "$from" -o "$to" --force "$@"
    expect 0 "$PSNAP" check "$to"
    [ "$(wc -l < out)" = 1 ] || fail "$to: $(cat out)"
}

# stream FILE: the addresses, sizes and kinds of what it replays, as numbers
stream() {
    "$PSNAP" replay "$1" -f csv -o - 2> log | awk -F, 'NR > 1 { print $1, $2, $3 }'
}

"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/matmul.c" -o matmul -lm
expect 0 "$PSNAP" record -o w.yaml -- ./matmul 40 1
expect 0 "$PSNAP" record --model psnap -o p.yaml -- ./matmul 40 1

# Nothing is changed by what changes nothing.
stream w.yaml > before
for change in 'loops[multiply:39].iterations *= 1' 'loops[multiply:36].entries *= 1' \
    'regions[a].working_set *= 1' 'regions[b].pad += 0'; do
    edit w.yaml same.yaml -e "$change"
    stream same.yaml | cmp - before
done

# An array twice as large, the same accesses: each address is where the definition has it.
edit w.yaml span.yaml -e 'regions[a].working_set *= 2'
stream span.yaml > after
python3 - <<'END'
import re
old, new = [[l.split() for l in open(f)] for f in ("before", "after")]
offset = {k: int(re.search(r"symbol: %s\n.*?offset: (\d+)" % k, open("w.yaml").read()).group(1))
          for k in "abc"}
base = {k: 0x10000000000 + v for k, v in offset.items()}
assert len(old) == len(new) > 100000
for x, y in zip(old, new):
    a = int(x[0], 0)
    if base["a"] <= a < base["a"] + 12800:
        a += a - base["a"]  # for which there is room
    assert a == int(y[0], 0) and x[1:] == y[1:], (x, y)
END

# Twice as many iterations of the outer loop: rows 40 to 79 of c, of matrices of 40 columns.
edit w.yaml rows.yaml -e 'loops[multiply:35].iterations *= 2'
stream rows.yaml | wc -l > n
[ "$(cat n)" = $((134406 + 129600)) ]

# The loop is not there: what is left is the rest of the stream, in its order.
edit w.yaml gone.yaml -e 'remove loops[multiply:36]'
if grep -q 'multiply:3[69]' gone.yaml; then fail "the loop is still there"; fi
(head -n 3205 before && tail -n 1601 before) > rest
[ "$(wc -l < rest)" = 4806 ]
stream gone.yaml | cmp - rest

# Another stride: told by the program's, of a loop that is unrolled twice.
edit w.yaml stride.yaml -e 'loops[multiply:39].regions[b].strides[320] = 640'
grep -q 'start: 640, counts: \[40, 40, 20\], strides: \[0, 8, 1280\]' stride.yaml
expect 1 "$PSNAP" edit w.yaml -o x.yaml -e 'loops[multiply:39].regions[b].strides[24] = 640'
has err "no stride is 24 there, only 0, 8, 320"
[ ! -e x.yaml ]

# The published model is edited by its fields.
expect 1 "$PSNAP" edit p.yaml -o x.yaml -e 'regions[b].working_set *= 4'
has err "the published model is edited by its fields"
edit p.yaml moved.yaml --set 'loops.init:27.regions.a.working_set.offset=20000000'
[ "$(stream moved.yaml | wc -l)" = 134406 ]

# Irregular ones: addresses that are drawn are spread like others; all counts are right.
"$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/hashjoin.c" -o hashjoin -lm
expect 0 "$PSNAP" record -o h.yaml -- ./hashjoin 4000 2

# its tuples twice as far apart, though the last one ends in padding that nothing uses
expect 0 "$PSNAP" record -o far.yaml -- ./hashjoin 20000 1
expect 0 "$PSNAP" edit far.yaml -o wide.yaml \
    -e "regions[$(sed -n 's/^ *allocation: //p' far.yaml | sort -u | tail -1)].working_set *= 2"
expect 0 "$PSNAP" check wide.yaml
for loop in $(sed -n "/^loops:/,\$s/^- id: //p" h.yaml | tr -d "'"); do
    edit h.yaml e.yaml -e "loops[$loop].entries *= 2"
    edit h.yaml e.yaml -e "remove loops[$loop]"
    [ "$loop" = main ] || [ "$loop" = main:114 ] || edit h.yaml e.yaml -e "loops[$loop].iterations *= 3"
done

# Three times as many probes, in the same two calls: chains of each length come three times as often,
# each as long as it was; all else is as before.
edit h.yaml probes.yaml -e 'loops[probe:78].iterations *= 3'
for profile in h probes; do
    "$PSNAP" replay $profile.yaml -f csv -o $profile.csv --force 2> log
done
python3 - <<'END'
import collections
old, new = [[l.rstrip().split(",")[4] for l in open(f)][1:] for f in ("h.csv", "probes.csv")]
was, now = collections.Counter(old), collections.Counter(new)
probe, = [ref for ref in was if was[ref] == 32000]
chain = was.most_common(2)[1][0]  # of each but the last entry of a chain
assert chain != probe and now[probe] == 96000 and now[chain] == 3 * was[chain]
assert all(now[ref] in (was[ref], 3 * was[ref]) for ref in was) and len(was) == len(now)
def lengths(refs):
    histogram = collections.Counter()
    for ref in refs[refs.index(probe):]:
        if ref == probe:
            length = 0
        elif ref == chain:
            histogram[length] -= 1
            length += 1
        histogram[length] += ref in (probe, chain)
    return +histogram  # of how many probes have so many
was, now = lengths(old), lengths(new)
assert len(was) > 5 and now == {n: 3 * was[n] for n in was}, (was, now)
END
expect 1 "$PSNAP" edit h.yaml -o x.yaml -e 'loops[main].iterations *= 2'
grep -Eq "^psnap edit: h.yaml:[0-9]+:3: 'main' is the body of a function" err

# What is drawn by reuse time has no strides, but times.
expect 0 "$PSNAP" edit h.yaml -o e.yaml --force -e 'loops[probe:78].strides[16] = 32'
has err "it depends on another one" # of the loop, though others have that stride
offset=$(sed -n "s/.*, and '\(loops.*offset\)' is how far.*/\1/p" err)
edit h.yaml e.yaml --set "$offset=16"
expect 1 "$PSNAP" edit h.yaml -o x.yaml -e 'loops[probe:81].strides[8] = 64'
grep -q "no stride is 8 there; reference [0-9] of loop 'probe:81' has no strides: its addresses are drawn" err
steps=$(sed -n "s/.*; '\(loops.*references.[0-9]*.reuse\)' has 'steps' within.*/\1/p" err)
firsts=$(sed -n "s/.*, '\(objects.*first_touches\)' has those to new lines.*/\1/p" err)
edit h.yaml e.yaml --set "$steps.${firsts:8:-14}.steps={32: 1}" --set "$firsts={strides_lines: {4: 1}}"
edit h.yaml e.yaml -e 'objects[heap].reuse *= 2'
edit h.yaml e.yaml -e 'loops[probe:81].reuse *= 0.3'
edit h.yaml e.yaml -e 'regions[main hashjoin.c:109].reuse /= 2'
expect 1 "$PSNAP" edit h.yaml -o x.yaml -e 'objects[nothing].reuse *= 2'
has err "nothing in 'nothing' is drawn by reuse time"
expect 1 "$PSNAP" edit w.yaml -o x.yaml -e 'reuse *= 2'
has err "nothing is drawn by reuse time"
expect 2 "$PSNAP" edit h.yaml -o x.yaml -e 'reuse *= 0'
edit h.yaml e.yaml --set 'objects.heap.bytes=40000'
expect 1 "$PSNAP" edit h.yaml -o x.yaml --set 'loops.probe:81.references.1.reuse.heap.2.times.32=5'
grep -Eq "h.yaml:[0-9]+:[0-9]+: reference 1 has addresses for [0-9]+ accesses, but bodies make" err

# Regions of loops that go over either of two arrays overlap in a recording, of which 'check' has
# nothing to say, also when it was merged; it has once an array was moved.
cat > either.c << 'END'
double a[5000], b[5000], c[5000];
__attribute__((noinline)) double sum(const double *x, int n)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}
__attribute__((noinline)) double dot(const double *x, const double *y)
{
    double s = 0;
    for (int i = 0; i < 5000; i++)
        s += x[i] * y[i];
    return s;
}
int main(void)
{
    double s = 0;
    for (int i = 0; i < 10; i++)
        s += sum(i & 1 ? a : b, 5000) + sum(i & 1 ? b : a, 5000) + dot(i & 1 ? a : b, i & 1 ? b : a) + sum(c, 1000);
    return s > 1;
}
END
"$PSNAP" cc -O1 either.c -o either
for model in nests psnap; do
    expect 0 "$PSNAP" record --model $model -o $model.yaml --force -- ./either
    expect 0 "$PSNAP" merge $model.yaml $model.yaml -o merged.yaml --force
    for profile in $model merged; do
        expect 0 "$PSNAP" check $profile.yaml
        [ "$(wc -l < out)" = 1 ] || { cat out; exit 1; }
    done
done
python3 - << 'END'
import re
for model, loop, region in ("nests", "sum", "c"), ("psnap", "dot", "b"):
    text = open(model + ".yaml").read()
    place = text.index("symbol: %s\n" % region, text.index("- id: %s:" % loop))
    moved = re.sub("(?<=offset: )[0-9]+", lambda m: str(int(m[0]) - 4000), text[place:], count=1)
    open(model + ".yaml", "w").write(text[:place] + moved)
END
expect 0 "$PSNAP" check nests.yaml psnap.yaml
has out "nests.yaml: warning: region 'b' of loop 'sum:5' (symbol b) overlaps region 'c' of loop 'sum:5' (symbol c) by"
has out "psnap.yaml: warning: region 'a' of loop 'dot:12' (symbol a) overlaps region 'b' of loop 'dot:12' (symbol b) by"

# Fields by their paths; a contradiction names both lines of the profile that was edited.
edit w.yaml set.yaml --set 'loops.multiply:36.regions.c.working_set.offset=20000000' \
    --set 'program.name=renamed'
grep -q 'name: renamed' set.yaml
grep -q 'offset: 20000000' set.yaml
edit w.yaml set.yaml --set 'loops.multiply:39.references.3.start=640'
stream w.yaml > one
stream set.yaml > two
[ "$(diff one two | grep -c '^>')" = 32000 ]
expect 1 "$PSNAP" edit w.yaml -o x.yaml --set schedule.2.repeat=800
grep -Eq "^psnap edit: w.yaml:[0-9]+:[0-9]+: .*addresses for 1600 accesses, but bodies make 800" err
expect 1 "$PSNAP" edit w.yaml -o x.yaml --set loops.multiply:93.accesses=1
has err "there is no 'multiply:93.accesses' in this; did you mean 'multiply:39'?"
expect 2 "$PSNAP" edit w.yaml -o x.yaml --set nonsense

# Several changes: one behind the other.
"$PSNAP" edit w.yaml -o - -e 'regions[a].working_set *= 2' | "$PSNAP" edit - -o both.yaml -e 'regions[b].pad += 64'
expect 0 "$PSNAP" check both.yaml
edit w.yaml at_once.yaml -e 'regions[a].working_set *= 2; regions[b].pad += 64'
cmp at_once.yaml both.yaml
edit w.yaml at_once.yaml -e 'regions[a].working_set *= 2' -e ' regions[b].pad += 64 ;'
cmp at_once.yaml both.yaml
expect 2 "$PSNAP" edit w.yaml -o x.yaml -e 'loops[multiply:39].iterations *= 2.5'
has err "iterations wants"
expect 2 "$PSNAP" edit w.yaml -o x.yaml -e 'regions[a].working_set *= 2; nonsense'
for wrong in 'interleave regions[a], regions[b]' 'interleave regions[a] by 8,8' 'split regions[a] into 8' \
    'split regions[a], regions[b] into 8,8' 'interleave loops[multiply:39] by 8' 'split regions[a] into 8,x'; do
    expect 2 "$PSNAP" edit w.yaml -o x.yaml -e "$wrong"
done
expect 2 "$PSNAP" edit w.yaml -o x.yaml
for none in "" " ; "; do
    expect 2 "$PSNAP" edit w.yaml -o x.yaml -e "$none"
    has err "an edit is missing"
done
expect 2 "$PSNAP" whatif w.yaml -e ' ; ' -m 1K:64:2
expect 2 "$PSNAP" edit w.yaml -e 'regions[a].working_set *= 2'
expect 1 "$PSNAP" edit w.yaml -o both.yaml -e 'regions[a].working_set *= 2' # it is there
expect 1 "$PSNAP" edit w.yaml -o x.yaml -e 'regions[nothing].working_set *= 2'
has err "no region is in an array 'nothing'"
expect 1 "$PSNAP" edit "$PSNAP_SOURCE/README.md" -o x.yaml -e 'regions[a].working_set *= 2'
[ ! -e x.yaml ]

# A certificate is of what there was.
expect 0 "$PSNAP" record --certify -m 32K:64:8 -o c.yaml -- ./matmul 8 1
grep -q '^certificate:' c.yaml
edit c.yaml d.yaml -e 'regions[b].pad += 64'
if grep -q '^certificate:' d.yaml; then fail "the certificate is still there"; fi

# Two arrays of which element i of one comes behind element i of the other; then apart again.
edit w.yaml aos.yaml -e 'interleave regions[a], regions[b] by 8'
grep -q 'id: a+b' aos.yaml
edit aos.yaml soa.yaml -e 'split regions[a+b] into 8,8'
stream w.yaml > one
stream soa.yaml > two
python3 - <<'END'
lines = [[l.split() for l in open(f)] for f in ("one", "two")]
assert len(lines[0]) == len(lines[1])
moved = set()
for x, y in zip(*lines):
    assert x[1:] == y[1:]
    moved.add(int(y[0], 0) - int(x[0], 0))
assert len(moved) == 2, moved  # a stays, b is behind it, for which there is room before c
END
expect 1 "$PSNAP" edit w.yaml -o x.yaml -e 'split regions[a] into 4,4'
has err "8 bytes at once"
