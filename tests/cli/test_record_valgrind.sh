#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# psnap record --engine valgrind on programs that were not compiled for psnap:
# loops at the right lines with exact counts, the same number of accesses as
# lackey itself prints, profiles that pass the check and replay, the same
# profile in every run, exit statuses, what cannot be run.
set -eu
. "$PSNAP_SOURCE/tests/cli/common.sh"
unset PSNAP_OUT PSNAP_SESSION LD_PRELOAD

record() {
    "$PSNAP" record --engine valgrind --force "$@"
}

valgrind=$(command -v valgrind) || { echo "skipped: no valgrind"; exit 77; }
valgrind -q --tool=lackey true 2> /dev/null || { echo "skipped: valgrind does not work here"; exit 77; }

cat > matmul.c << 'END'
#include <stdlib.h>
enum { N = 12 };
double a[N][N], b[N][N], c[N][N];
static void multiply(void)
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                c[i][j] += a[i][k] * b[k][j];
}
int main(int argc, char **argv)
{
    multiply();
    return argc > 1 ? atoi(argv[1]) : 0;
}
END
cat > chase.c << 'END'
#include <stdio.h>
struct node { struct node *next; char rest[56]; } nodes[1000];
static int fib(int n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}
int main(void)
{
    long count = 0;
    for (int i = 0; i < 1000; i++)
        nodes[i].next = i * 7 % 1000 == 993 ? NULL : &nodes[(i + 7) % 1000];
    for (struct node *at = nodes; at; at = at->next)
        count++;
    fprintf(stderr, "to stderr\n");
    printf("%ld %d\n", count, fib(8));
    return 3;
}
END
compiler=${PSNAP_CC:-cc}
$compiler -g -O0 -o matmul matmul.c
$compiler -g -O0 -o chase chase.c

# What loops a profile has: "id depth parent entries iterations".
loops() {
    python3 - "$1" << 'END'
import sys, yaml
for loop in yaml.safe_load(open(sys.argv[1]))["loops"]:
    if loop.get("function") in ("multiply", "fib", "main"):
        nest = loop.get("nest", {})
        print(loop["id"], nest.get("depth", 0), nest.get("parent", "-"), loop["entries"],
              loop["iterations"]["total"])
END
}

# Loops and lines; the header of a loop is its test, which runs once more than the body.
[ "$(status record -o matmul.yaml --trace matmul.pst -- ./matmul 5)" = 5 ] || fail "$(cat err)"
has err "slower"
loops matmul.yaml | grep multiply > found
diff - found << 'END' || fail "loops of matmul"
multiply 0 - 1 1
multiply:6 1 multiply 1 13
multiply:7 2 multiply:6 12 156
multiply:8 3 multiply:7 144 1872
END
"$PSNAP" check matmul.yaml > /dev/null
"$PSNAP" info --json matmul.pst > info
has info '"stage": "valgrind"'
has matmul.yaml "stage: valgrind"
has matmul.yaml "model: psnap"
[ "$(status record --model nests -o nests.yaml -- ./matmul 5)" = 5 ] || fail "nests: $(cat err)"
has nests.yaml "model: nests-3"
"$PSNAP" check nests.yaml > /dev/null
loops nests.yaml | grep multiply | diff found - || fail "nests: loops of matmul"
has matmul.yaml "source: matmul.c:8"
# By name: the arrays, each 12 * 12 * 12 times.
python3 - << 'END' || fail "regions of matmul"
import yaml
loop = [l for l in yaml.safe_load(open("matmul.yaml"))["loops"] if l["id"] == "multiply:8"][0]
found = {r["id"]: (r["accesses"], r.get("stores", 0)) for r in loop["regions"]}
assert found["a"] == (1728, 0) and found["b"] == (1728, 0) and found["c"] == (3456, 1728), found
END
"$PSNAP" replay matmul.yaml -f din -o matmul.din 2> /dev/null
"$PSNAP" profile --model psnap matmul.pst -o again.yaml 2> /dev/null
totals() { sed -n '/^totals/p' "$1"; }
[ "$(totals again.yaml)" = "$(totals matmul.yaml)" ] || fail "profile of the trace"
totals matmul.yaml | grep -q "accesses: $(wc -l < matmul.din)," || fail "replay is short"

# The program's own output and exit status; as many accesses as lackey counts, wide ones split.
[ "$(status env -i LD_PRELOAD= PATH="$PATH" "$PSNAP" record --engine valgrind -o chase.yaml -- ./chase)" = 3 ] ||
    fail "$(cat err)"
[ "$(cat out)" = "858 21" ] || fail "output: $(cat out)"
has err "to stderr"
env -i LD_PRELOAD= PATH="$PATH" "$valgrind" --command-line-only=yes -q --tool=lackey --basic-counts=no \
    --trace-mem=yes --vgdb=no --log-fd=9 ./chase 9> lines > out 2> err || true
python3 - << 'END' || fail "number of accesses"
import re, yaml
count = {"load": 0, "store": 0}
for line in open("lines", errors="replace"):
    match = re.match(r" ([LSM]) [0-9a-f]+,(\d+)$", line)
    if match:
        parts = (int(match[2]) + 63) // 64
        count["load"] += parts * (match[1] in "LM")
        count["store"] += parts * (match[1] in "SM")
totals = yaml.safe_load(open("chase.yaml"))["totals"]
assert (totals["loads"], totals["stores"]) == (count["load"], count["store"]), (totals, count)
END
loops chase.yaml > found
has found "fib 0 - 67 67"
has found "main:10 1 main 1 1001"
has found "main:12 1 main 1 859"
"$PSNAP" check chase.yaml > /dev/null

# Two runs, one profile.
record -o one.yaml -- ./chase > /dev/null 2>&1 || true
record -o two.yaml -- ./chase > /dev/null 2>&1 || true
plain() { sed "s/recorded: *'[^']*'//" "$1"; }
diff <(plain one.yaml) <(plain two.yaml) > difference || fail "two runs differ: $(head -20 difference)"

# The C library has names, too, or at least an address in its file.
python3 - << 'END' || fail "the C library is not there"
import yaml
functions = {loop["function"] for loop in yaml.safe_load(open("one.yaml"))["loops"]}
assert any("printf" in f or "libc.so" in f for f in functions), functions
END

# What kills the program, what cannot be run, what is wrong.
echo 'int main(void) { return *(volatile int *)8; }' > crash.c
$compiler -o crash crash.c
[ "$(status record -o crash.yaml -- ./crash)" = 139 ] || fail "crash: $(cat err)"
"$PSNAP" check crash.yaml > /dev/null
[ "$(status record -o none.yaml -- ./nothing)" = 127 ] || fail "$(cat err)"
has err "cannot run './nothing': no such file or directory"
[ "$(status record -o none.yaml -- ./chase.c)" = 126 ] || fail "$(cat err)"
[ "$(status "$PSNAP" record --engine qemu -o none.yaml -- ./chase)" = 125 ] || fail "$(cat err)"
has err "no engine 'qemu'"
[ "$(status env PATH=/nowhere "$PSNAP" record --engine valgrind -o none.yaml -- ./chase)" = 125 ] ||
    fail "without valgrind: $(cat err)"
has err "Debian package valgrind"
[ "$(status "$PSNAP" record --engine valgrind --skip 1G -o skipped.yaml -- true)" = 125 ] || fail "--skip of all"
has err "made no accesses behind --skip"
[ ! -e none.yaml ] || fail "a profile of nothing"
[ "$(status "$PSNAP" record --engine valgrind -o chase.yaml -- ./chase)" = 125 ] || fail "overwrites"

# A disk that is full: the program runs to its end all the same.
if [ -w /dev/full ]; then
    [ "$(status record -o /dev/full -- ./chase)" = 125 ] || fail "full disk: $(cat err)"
    [ "$(cat out)" = "858 21" ] || fail "full disk disturbs the program"
    has err "no space left"
fi

# A child that outlives the program, and holds the pipe open, keeps nobody waiting.
cat > daemon.c << 'END'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    if (fork() == 0) {
        FILE *file = fopen("pid", "w");
        fprintf(file, "%d\n", (int)getpid());
        fclose(file);
        for (volatile int i = 0; i < 100000; i++)
            continue;
        sleep(300);
    }
    return 0;
}
END
$compiler -g -O0 -o daemon daemon.c
before=$SECONDS
[ "$(status record -o daemon.yaml -- ./daemon)" = 0 ] || fail "daemon: $(cat err)"
[ $((SECONDS - before)) -lt 250 ] || fail "waited for the child"
for i in 1 2 3 4 5 6 7 8 9; do
    [ -s pid ] || sleep 1
done
kill "$(cat pid)"
loops daemon.yaml > found
! grep -q main:9 found || fail "the child's loops are there: $(cat found)"

# Instrumented programs run under Valgrind like others: it can read what the runtime brings.
if "$PSNAP" cc -O2 -o instrumented chase.c 2> /dev/null; then
    [ "$(status valgrind -q --tool=none ./instrumented)" = 3 ] || fail "instrumented: $(cat err)"
    has out "858 21"
    [ "$(status record -o instrumented.yaml -- ./instrumented)" = 3 ] || fail "instrumented: $(cat err)"
fi

# Stripped: loops have addresses for names.
strip -o bare matmul
record -o bare.yaml -- ./bare > /dev/null 2>&1
has bare.yaml "bare+0x"
echo "$name: all well"
