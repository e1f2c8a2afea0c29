#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap record --certify: the certificate is what psnap compare finds with a trace of the same run,
# and nothing else is different from a recording without it: of plain programs, threads, children,
# parts and samples, and of both models.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# certified PROFILE TRACE [MACHINES]: and nothing but the certificate is more than what the trace gives
certified() {
    local profile=$1 trace=$2
    shift 2
    grep -q '^certificate:$' "$profile" || fail "no certificate in $profile"
    expect 0 "$PSNAP" check "$profile"
    [ "$(wc -l < out)" = 1 ] || fail "$profile: $(cat out)"
    "$PSNAP" compare "$trace" "$profile" "$@" > out
    grep -q '^certificate of .*: confirmed' out || fail "$profile: $(tail -1 out)"
}

for sample in adi lu spmv; do
    "$PSNAP" cc -O2 "$PSNAP_SOURCE/samples/$sample.c" -o "$sample" -lm
done
"$PSNAP" record --verbose --certify -o lu.yaml --trace lu.pst -- ./lu 60 > out 2> err
certified lu.yaml lu.pst
grep -q '(22 of its 22 rows)' out || fail "$(tail -1 out)"
"$PSNAP" record -o plain.yaml -- ./lu 60 > out
diff <(sed '/^certificate:/,/^loops:/{/^loops:/!d}; s/recorded: [^,]*,//' lu.yaml) \
    <(sed 's/recorded: [^,]*,//' plain.yaml) || fail "a certificate changes the profile"
# the same again, whenever it was recorded
"$PSNAP" record --certify -o again.yaml -- ./lu 60 > out
diff <(sed -n '/^certificate/,/^loops/p' lu.yaml) <(sed -n '/^certificate/,/^loops/p' again.yaml) ||
    fail "another certificate"

# what the program says and how it ends is left alone; of a program that is killed too
cat > ends.c << 'END'
#include <signal.h>
#include <stdio.h>
static volatile int a[1000];
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 1000; i++)
        a[i] = i;
    puts("said");
    fflush(stdout);
    if (argc > 1)
        raise(SIGKILL);
    return 7;
}
END
"$PSNAP" cc -O2 ends.c -o ends
expect 7 "$PSNAP" record --certify -m 1K:64:2 -o ends.yaml -- ./ends
[ "$(cat out)" = said ] || fail "its output: $(cat out)"
has ends.yaml "machine: '1K:64:2', level: 1, mean_points: 0, max_points: 0, total_points: 0}"
expect 137 "$PSNAP" record --certify -m 1K:64:2 -o killed.yaml -- ./ends x
has killed.yaml 'certificate:'
expect 7 "$PSNAP" record --certify -m 1K:64:2 -o - -- ./ends
sed -n '/^certificate/,$p' out | diff - <(sed -n '/^certificate/,$p' ends.yaml) || fail "to stdout"

# exact walks have no error at all (of lu the pivots are drawn)
"$PSNAP" record --certify -o walks.yaml --trace walks.pst -- ./adi 60 2 > out
certified walks.yaml walks.pst
"$PSNAP" show walks.yaml --json | python3 -c '
import json, sys
c = json.load(sys.stdin)["certificate"]
assert {x[k] for x in c["rows"] + c["levels"] for k in ("mean_points", "max_points", "total_points")} == {0}, c
assert c["worst_loop"]["points"] == 0 and c["relevant_loops"] > 1'

# threads, of both models
"$PSNAP" cc -O2 -pthread "$PSNAP_SOURCE/samples/threads.c" -o threads -lm
for model in nests psnap; do
    "$PSNAP" record --certify -m table1-4 -m 4K:64:4 --model $model --force -o t.yaml --trace t.pst \
        -- ./threads 60 3 3 > out
    certified t.yaml t.pst -m table1-4 -m 4K:64:4
done

# parts and samples of a run: of what was recorded
"$PSNAP" record --certify -m table1-3 --skip 5000 --count 40000 -o part.yaml --trace part.pst \
    -- ./spmv 1000 5 > out
certified part.yaml part.pst -m table1-3
"$PSNAP" record --certify -m table1-3 --window 2K/20K -o window.yaml --trace window.pst \
    -- ./spmv 1000 5 > out
certified window.yaml window.pst -m table1-3
"$PSNAP" cc -O2 -fno-inline-functions "$PSNAP_SOURCE/samples/spmv.c" -o spmv -lm
"$PSNAP" record --certify -m table1-3 --roi multiply -o roi.yaml --trace roi.pst -- ./spmv 1000 5 > out ||
    fail "roi: $(cat out)"
certified roi.yaml roi.pst -m table1-3

# each process has its own
cat > forks.c << 'END'
#include <sys/wait.h>
#include <unistd.h>
static volatile int a[4000];
int main(void)
{
    pid_t child = fork();
    for (int i = 0; i < (child ? 1000 : 4000); i++)
        a[i * 7 % 4000] = i;
    if (child)
        wait(NULL);
    return 0;
}
END
"$PSNAP" cc -O2 forks.c -o forks
"$PSNAP" record --certify -m 1K:64:2 -o f.yaml --trace f.pst -- ./forks > out 2> err
certified f.yaml f.pst -m 1K:64:2
[ "$(ls f.yaml.*)" ] || fail "no child: $(ls)"
for child in f.yaml.*; do
    certified "$child" "f.pst.${child##*.}" -m 1K:64:2
done

# what makes no sense is said before the program starts
cat > touch.c << 'END'
#include <stdio.h>
int main(void) { return fclose(fopen("ran", "w")); }
END
"$PSNAP" cc touch.c -o touch
expect 125 "$PSNAP" record --certify -m nothing -o x.yaml -- ./touch
has err nothing
expect 125 "$PSNAP" record -m 1K:64:2 -o x.yaml -- ./touch
has err '-m is for --certify'
expect 125 "$PSNAP" record --certify --no-profile --trace x.pst -- ./touch
has err 'no-profile'
[ ! -e ran ] && [ ! -e x.yaml ] || fail "it ran"

