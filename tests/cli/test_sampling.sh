#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap record --skip, --count and --window: what is recorded is that part of the whole
# stream, access for access; profiles of it say so, and estimate what the run has with an
# error that is computed by hand here and holds for programs at large.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# stream FILE.pst: its accesses
stream() { "$PSNAP" convert "$1" -f csv -o - 2> /dev/null | sed 1d | cut -d , -f 1-4; }

# ------------------------------------------------------------- parts of the whole

cat > mixed.c << 'END'
#include <stdlib.h>
#include <string.h>
static double a[3000], b[3000], square[50][50], wide[3000][20];
static int order[3000];
static char text[5000];
__attribute__((noinline)) static double walk(int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i]; /* affine */
    for (int i = 0; i < n; i++)
        b[order[i]] += a[i]; /* rows */
    for (int i = 0; i < n; i++)
        if (order[i] % 3 == 0)
            b[i] = sum; /* guarded */
    memset(text, 0, (size_t)n);
    return sum;
}
__attribute__((noinline)) static double triangle(int n) /* a nest */
{
    double sum = 0;
    for (int i = 0; i < n; i++) {
        b[i] += 1;
        for (int j = 0; j <= i; j++)
            sum += square[j][i];
        square[i][0] = sum;
    }
    return sum;
}
/* many accesses in an iteration, which a part may begin or end in the middle of */
__attribute__((noinline)) static void row(volatile double *r, int n)
{
#define EACH(k) r[20 * i + k] = i, r[20 * i + k + 1] = i
    for (int i = 0; i < n; i++)
        EACH(0), EACH(2), EACH(4), EACH(6), EACH(8), EACH(10), EACH(12), EACH(14), EACH(16), EACH(18);
}
int main(void)
{
    double sum = 0;
    for (int i = 0; i < 3000; i++)
        order[i] = i * 7 % 3000;
    for (int n = 1; n < 40; n++) {
        sum += walk(n * 70) + triangle(n);
        row(wide[0], n);
    }
    return sum > 1;
}
END
"$PSNAP" cc -O2 -c mixed.c -o mixed.o
nm mixed.o | grep -q __psnap_renew_nest || fail "there is no nest"
"$PSNAP" cc -O2 -o mixed mixed.o
"$PSNAP" record --force -o whole.yaml --trace whole.pst -- ./mixed
stream whole.pst > whole
total=$(wc -l < whole)
[ "$total" -gt 200000 ] || fail "$total accesses"

# part "OPTIONS" AWK: of the whole, numbered from 0 in i, where the condition holds
part() {
    "$PSNAP" record --force -o part.yaml --trace part.pst $1 -- ./mixed 2> err || fail "$1: $(cat err)"
    awk "{ i = NR - 1 } $2" whole > wanted
    cmp <(stream part.pst) wanted > difference || fail "$1: $(cat difference)"
    grep -q "^totals: {accesses: $(wc -l < wanted)," part.yaml || fail "$1: $(grep totals part.yaml)"
    "$PSNAP" check part.yaml > out || fail "$1: $(cat out)"
    # the trace says of which part it is as the profile does, standard errors and all
    "$PSNAP" profile part.pst --force -o of_trace.yaml 2> out || fail "$1: $(cat out)"
    cmp part.yaml of_trace.yaml || fail "$1: the trace's profile is another: $(diff part.yaml of_trace.yaml)"
    info_part part.pst > of_trace
    info_part part.yaml | cmp of_trace - || fail "$1: $(cat of_trace)"
}
# info_part FILE: of which part of a run it is
info_part() {
    "$PSNAP" info --json "$1" 2> info.err | python3 -c '
import json, sys
print(json.dumps(json.load(sys.stdin)["part"]))'
}
part "--skip 12345" "i >= 12345"
part "--count 54321" "i < 54321"
part "--skip 1000 --count 1" "i == 1000"
part "--skip 50000 --count 100003" "i >= 50000 && i < 150003"
part "--count 1G" "1"
expect 125 "$PSNAP" record --count 0 -o none.yaml -- true
grep -q "count 0 would record nothing" err
part "--window 100/1000" "i % 1000 < 100"
part "--window 7777/7778" "i % 7778 < 7777"
part "--window 5/5" "1"
part "--skip 1K --count 128K --window 1K/10K" "i >= 1024 && i < 1024 + 131072 && (i - 1024) % 10240 < 1024"
[ "$(tr -s '\n ' ' ' < part.yaml | sed 's/.*sampling: {\([^}]*\)}.*/\1/')" = \
    "skip: 1024, count: 131072, window: 1024, period: 10240, windows: 13, run_accesses: 131072" ] ||
    fail "$(grep -A1 sampling part.yaml)"
[ "$(cat of_trace)" = '{"skip": 1024, "count": 131072, "window": 1024, "period": 10240, "windows": 13, "run_accesses": 131072}' ] ||
    fail "$(cat of_trace)"
"$PSNAP" info part.pst > out
grep -q '^part  *from access 1,024 on, 131,072 of them$' out || fail "$(cat out)"
grep -q '^sample  *1,024 accesses of each 10,240, 13 windows of a run of 131,072$' out || fail "$(cat out)"
part "--skip 1T" "0"
[ "$(info_part whole.pst)" = null ] || fail "the whole is a part: $(info_part whole.pst)"
"$PSNAP" info whole.pst > out
if grep -E '^(part|sample|roi)' out; then fail "the whole is a part"; fi

# A trace that has its --max-bytes, or was cut off, is that part of a part
early() { # EXPECTED: part.pst ends early: it says so in these terms of its n accesses
    n=$(stream part.pst | wc -l)
    [ "$n" -gt 100 ] && [ "$n" -lt "$total" ] || fail "$*: $n accesses"
    [ "$(info_part part.pst)" = "$(python3 -c "import json; n = $n; print(json.dumps($1))")" ] ||
        fail "$n: $(info_part part.pst)"
    "$PSNAP" profile part.pst --force -o part.yaml 2> err || fail "$(cat err)"
    [ "$(info_part part.yaml)" = "$(info_part part.pst)" ] || fail "the profile: $(info_part part.yaml)"
}
limited() {
    "$PSNAP" record --force --no-profile --trace part.pst "$@" -- ./mixed
    "$PSNAP" record --force --no-profile --trace part.pst \
        --max-bytes $(($(wc -c < part.pst) - 100)) "$@" -- ./mixed 2> err || fail "$*: $(cat err)"
}
limited
early '{"count": n}'
limited --skip 7 --count 1G
early '{"skip": 7, "count": n}'
limited --window 100/1000
early '{"count": n // 100 * 1000 + n % 100, "window": 100, "period": 1000, "windows": n // 100, "run_accesses": n // 100 * 1000 + n % 100}'
"$PSNAP" record --force --no-profile --trace all.pst --skip 1 -- ./mixed
head -c "$(($(wc -c < all.pst) - 1))" all.pst > part.pst
[ "$(info_part part.pst)" = "{\"skip\": 1, \"count\": $((total - 1))}" ] || fail "cut off: $(info_part part.pst)"

# All of it is the whole, counts of iterations and operations too; halves add up to it
"$PSNAP" record --force -o all.yaml --count 1G -- ./mixed
alike() {
    tr -s '\n ' ' ' < "$1" |
        sed "s/recorded: '[^']*'//; s/, content: [^,]*//; s/, sampling: {count: 1073741824}//"
}
diff <(alike whole.yaml) <(alike all.yaml) > difference ||
    fail "--count 1G: $(cat difference)"
sums() { # of entries, iterations and operations, over all loops
    "$PSNAP" show --json "$@" | python3 -c '
import json, sys
loops = [l for l in json.load(sys.stdin)["loops"] if l["accesses"]]
print(sum(l.get("entries", 0) for l in loops), sum(l["iterations"]["total"] for l in loops if "iterations" in l),
      *(sum(l.get("operations", {}).get(op, 0) for l in loops) for op in ("int_add", "fp_add", "branch")))'
}
"$PSNAP" record --force -o first.yaml --count 77777 -- ./mixed
"$PSNAP" record --force -o second.yaml --skip 77777 -- ./mixed
paste -d ' ' <(sums whole.yaml) <(sums first.yaml) <(sums second.yaml) > added
awk '{ for (i = 1; i <= 5; i++) if ($i != $(i + 5) + $(i + 10)) exit 1 }' added || fail "halves: $(cat added)"

for wrong in "--window 0/5" "--window 6/5" "--window 5" "--skip x" "--count 1Q"; do
    [ "$(status "$PSNAP" record $wrong -- ./mixed)" = 125 ] || fail "$wrong: $(cat err)"
    has err "${wrong%% *}"
done

# The program runs on to its end, and the others of its threads
cat > long.c << 'END'
#include <pthread.h>
#include <stdio.h>
static volatile long sums[4][64];
static void *work(void *mine)
{
    volatile long *sum = mine;
    for (long i = 0; i < 3000000; i++)
        sum[i % 64 * (i % 3 == 0)] += i;
    return NULL;
}
int main(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, work, (void *)sums[i]);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    puts("done");
    return 7;
}
END
"$PSNAP" cc -O2 -o long long.c -pthread
[ "$(status timeout 300 "$PSNAP" record --force -o p.yaml --count 300000 -- ./long)" = 7 ] || fail "long: $(cat err)"
has out done
[ ! -s err ] || fail "long: $(cat err)"
grep -q "^totals: {accesses: 300000," p.yaml || fail "long: $(grep totals p.yaml)"

# ------------------------------------------------------------- the error by hand

# 1000 stores, then 300 loads: of 13 windows of 10 in 100, 10 are full of the one and 3 of the
# other. For both the squares about the mean add up to 1000 - 100^2/13 = 300 - 30^2/13 ... =
# 230.77, the variance over 12 is 19.23, and 1300/10 sqrt(0.9/13 19.23) = 150.
cat > hand.c << 'END'
static volatile long words[1000];
__attribute__((noinline)) static void stores(void)
{
    for (int i = 0; i < 1000; i++)
        words[i] = i;
}
__attribute__((noinline)) static void loads(void)
{
    for (int i = 0; i < 300; i++)
        (void)words[i];
}
int main(void)
{
    stores();
    loads();
    return 0;
}
END
"$PSNAP" cc -O2 -o hand hand.c
"$PSNAP" record --force -o hand.yaml --window 10/100 -- ./hand
"$PSNAP" show --json hand.yaml > hand.json
python3 -c '
import json
profile = json.load(open("hand.json"))
sampling = profile["capture"]["sampling"]
assert [sampling[key] for key in ("window", "period", "windows", "run_accesses")] == [10, 100, 13, 1300]
assert profile["totals"]["accesses"] == 130
rows = {l["function"]: (l["accesses"], l["estimate"]["accesses"], l["estimate"]["standard_error"])
        for l in profile["loops"] if l["accesses"]}
assert rows == {"stores": (100, 1000, 150), "loads": (30, 300, 150)}, rows'
"$PSNAP" show hand.yaml > out
has out "sample     10 accesses of each 100, 13 windows of a run of 1,300"
has out "15.0 %"
/usr/bin/python3 "$PSNAP_SOURCE/tests/schema_check.py" "$PSNAP_SOURCE/profile/psnap-profile.schema.json" hand.yaml part.yaml ||
    fail "the schema does not hold"

# What contradicts itself is refused
sed 's/window: 10,/window: 101,/' hand.yaml > wrong.yaml
[ "$(status "$PSNAP" check wrong.yaml)" = 1 ] || fail "a window longer than its period"
cat out err > both
has both "'window' is 101, longer than its period of 100"
sed 's/period: 100, *//' hand.yaml > wrong.yaml
[ "$(status "$PSNAP" check wrong.yaml)" = 1 ] || fail "a window without a period"

# ------------------------------------------------------------- samples of samples

# Loops of a sample are as many accesses as of the whole, by the error that it says itself, and hit
# as often in a cache; numbers of misses are compared as of the run.
while read -r name arguments; do
    "$PSNAP" cc -O2 -o "$name" "$PSNAP_SOURCE/samples/$name.c" -lm
    "$PSNAP" record --force -o whole.yaml -- "./$name" $arguments > out
    "$PSNAP" record --force -o sample.yaml --window 1K/9999 -- "./$name" $arguments > out
    "$PSNAP" show --json whole.yaml > whole.json
    "$PSNAP" show --json sample.yaml > sample.json
    python3 -c '
import json
whole, sample = json.load(open("whole.json")), json.load(open("sample.json"))
def strides(loop):
    sums = {}
    for region in loop["regions"]:
        for stride, count in (region.get("strides") or region.get("derived", {}).get("strides", {})).items():
            sums[stride] = sums.get(stride, 0) + count
    return sums
total = whole["totals"]["accesses"]
assert sample["capture"]["sampling"]["run_accesses"] == total
assert abs(sample["totals"]["accesses"] / total - 1024 / 9999) < 0.01
seen = {l["id"]: l for l in sample["loops"]}
for loop in whole["loops"]:
    if loop["accesses"] < 0.005 * total:
        continue
    mine = seen[loop["id"]]
    error = mine["estimate"]["standard_error"]
    off = abs(mine["estimate"]["accesses"] - loop["accesses"])
    assert off <= 3 * error + 1, (loop["id"], loop["accesses"], mine)
    if loop["accesses"] < 0.2 * total:
        continue
    assert error < 0.3 * loop["accesses"], (loop["id"], loop["accesses"], mine)
    for stride, count in strides(loop).items():
        share = count / loop["accesses"]
        # the mix of strides is that of the whole; what is drawn by reuse time has none
        if share > 0.1 and "random" not in strides(mine):
            assert abs(strides(mine).get(stride, 0) / mine["accesses"] - share) < 0.1, (loop["id"], stride, mine)
' || fail "$name: the sample is not like the whole"
    "$PSNAP" compare whole.yaml sample.yaml -m 32K:64:8 > out
    has out ", a sample of"
    "$PSNAP" compare --json whole.yaml sample.yaml -m 32K:64:8 | python3 -c '
import json, sys
total = [r for r in json.load(sys.stdin)["rows"] if r["scope"] == "total"][0]
assert total["levels"][0]["relative_miss_error"] < 0.3, total' || fail "$name: misses of the sample are not the run's"
done << 'END'
spmv 10000 4
stream 50000 10
END
