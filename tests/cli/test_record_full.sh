#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A disk that is full: a small one of our own where that can be mounted (in a name space that ends
# with the test), else a limit on the sizes of files. The program runs on to its end, what is missing
# is said with exit status 125, an earlier file stays, no half one appears, and of a trace that is
# asked for its whole chunks are kept.
set -eu
if [ -z "${PSNAP_TEST_MOUNTS-}" ]; then
    for flags in -m -Urm; do
        if unshare $flags sh -c 'mount -t tmpfs none /tmp && mount --make-rprivate /' 2> /dev/null; then
            PSNAP_TEST_MOUNTS=yes exec unshare $flags "$0"
        fi
    done
fi
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > prog.c << 'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static unsigned cells[1 << 16], random_number = 1;
__attribute__((noinline)) static void work(long n)
{
    for (; n > 0; n--) {
        random_number = random_number * 1664525u + 1013904223u;
        cells[random_number >> 16]++;
    }
}
int main(int argc, char **argv)
{
    int children = argc > 2 ? atoi(argv[2]) : 0;
    puts("start");
    fflush(stdout);
    work(atol(argv[1]));
    while (children-- > 0)
        if (fork() == 0) {
            work(atol(argv[1]));
            _exit(0);
        } else
            wait(NULL);
    puts("end");
    return 7;
}
END
"$PSNAP" cc -O1 -o prog prog.c
printf 'start\nend\n' > output

# full OPTIONS -- PROGRAM...: it ends as ever, and psnap says so and how
full() {
    local got
    got=$(status timeout 300 "$PSNAP" record "$@")
    [ "$got" = 125 ] || fail "$*: exit status $got: $(cat err)"
    cmp out output || fail "$*: the program was disturbed: $(cat out)"
    [ -z "$(find . -name '.*psnap*')" ] || fail "$*: temporary files: $(find . -name '.*psnap*')"
}
# refused OPTIONS -- PROGRAM...: there is no room for a file, and the program does not run
refused() {
    local got
    got=$(status timeout 300 "$PSNAP" record "$@")
    [ "$got" = 125 ] || fail "$*: exit status $got: $(cat err)"
    [ ! -s out ] || fail "$*: the program ran: $(cat out)"
    grep -q "no space left on device" err || fail "$*: $(cat err)"
}
# part FILE: what is whole of a trace is there, and readable
part() {
    "$PSNAP" info "$1" > info 2> info.err || fail "$1: $(cat info.err)"
    has info "cut off"
    "$PSNAP" convert "$1" -f csv -o - 2> /dev/null | sed 1d | head -n 30000 | cut -d , -f 1-4 > part.csv
    [ "$(wc -l < part.csv)" = 30000 ] || fail "$1: $(wc -l < part.csv) accesses"
    cmp part.csv whole.csv || fail "$1: other accesses"
    rm "$1" part.csv
}
# no_room FILE COUNT: so many profiles named so were not written, while they were or in the end
no_room() {
    local n
    n=$(grep -c -e "^psnap [a-z]*: $1: cannot write: no space left on device" \
        -e "cannot write '$1': no space left on device" err) || true
    [ "$n" = "$2" ] || fail "not $2 times $1 without room: $(cat err)"
}
trap 'umount disk 2> /dev/null || true; rm -rf "$dir"' EXIT
"$PSNAP" record --force -o whole.yaml --trace whole.pst -- ./prog 2000000 > out || [ $? = 7 ]
"$PSNAP" convert whole.pst -f csv -o - 2> /dev/null | sed 1d | head -n 30000 | cut -d , -f 1-4 > whole.csv

# ------------------------------------------------------------- a limit, where nothing can be mounted

# A profile goes on without its trace, which has grown too large. Rings are files to the system, too.
(
    ulimit -f 9000
    full -o p.yaml --trace t.pst -- ./prog 9000000
    has err "t.pst: cannot write: file too large"
    has err "the trace up to there is in t.pst.part"
    [ "$(grep -c . err)" = 2 ] || fail "$(cat err)"
    echo earlier > t.pst
    rm t.pst.part
    full --force --no-profile --trace t.pst -- ./prog 9000000
    [ "$(cat t.pst)" = earlier ] || fail "an earlier trace is gone"
)
rm t.pst
part t.pst.part
grep -q 'accesses: 1800[0-9]*,' p.yaml || fail "$(grep totals: p.yaml)"
"$PSNAP" check p.yaml > out || fail "$(cat out)"
rm p.yaml

# ------------------------------------------------------------- a disk of 1 MB

if [ -z "${PSNAP_TEST_MOUNTS-}" ]; then exit 0; fi
mkdir disk
mount -t tmpfs -o size=1m none disk
# fill: not a byte is left on it
fill() {
    rm -f disk/*
    dd if=/dev/zero of=disk/fill bs=4k 2> /dev/null || true
}

full -o disk/p.yaml --trace disk/t.pst -- ./prog 2000000
has err "disk/t.pst: cannot write: no space left on device"
has err "the trace up to there is in disk/t.pst.part"
[ "$(wc -l < err)" = 2 ] && [ "$(ls -A disk | paste -s -d ' ')" = "p.yaml t.pst.part" ] ||
    fail "both: $(ls -A disk): $(cat err)"
diff <(grep -v recorded: whole.yaml) <(grep -v recorded: disk/p.yaml) || fail "room was kept for the profile"
[ "$(stat -c %b disk/p.yaml)" -le 64 ] || fail "more room than it needs: $(stat disk/p.yaml)"
rm disk/p.yaml
part disk/t.pst.part

full -o p.yaml --trace disk/t.pst -- ./prog 2000000
diff <(grep -v recorded: whole.yaml) <(grep -v recorded: p.yaml) || fail "the profile beside a trace"
rm p.yaml
part disk/t.pst.part
full --no-profile --trace disk/t.pst -- ./prog 2000000
part disk/t.pst.part
"$PSNAP" record --no-profile --trace disk/t.pst --max-bytes 900K -- ./prog 2000000 > out 2> err || [ $? = 7 ]
"$PSNAP" info disk/t.pst > info
has info limited

fill
full -o disk/p.yaml --trace t.pst -- ./prog 1000 # the trace is whole, elsewhere
no_room 'disk/p\.yaml' 1
[ "$(ls -A disk)" = fill ] && [ "$(wc -l < err)" = 1 ] || fail "profile: $(ls -A disk): $(cat err)"
"$PSNAP" info t.pst > info 2>&1 || fail "$(cat info)"
rm t.pst
full -o disk/p.yaml -- ./prog 1000 2 # all processes
no_room 'disk/p\.yaml[.0-9]*' 3
[ "$(ls -A disk)" = fill ] || fail "all: $(ls -A disk)"
full -o disk/%p.yaml -- ./prog 1000 2
no_room 'disk/[0-9]*\.yaml' 3
[ "$(ls -A disk)" = fill ] || fail "all: $(ls -A disk)"
full -o '%q{WHERE}.yaml' -- sh -c 'WHERE=p ./prog 1000; WHERE=disk/p ./prog 1000 > /dev/null' # one of two
no_room 'disk/p\.yaml' 1
rm p.yaml
full -o p.yaml --trace disk/t.%p.pst -- sh -c './prog 1000; exit 3' > /dev/null
"$PSNAP" check p.yaml* > out || fail "profiles without traces: $(ls; cat out err)"
rm -f p.yaml*

# what a certificate of several threads would need has no room: one thread does without
rm -f disk/*
got=$(status "$PSNAP" record --certify -m 1K:64:2 -o disk/p.yaml -- ./prog 2000000)
[ "$got" = 7 ] && [ ! -s err ] || fail "a certificate: $got: $(cat err)"
grep -q '^certificate:' disk/p.yaml && [ "$(ls -A disk)" = p.yaml ] || fail "no certificate"

# an earlier file is there as it was
for option in -o "--no-profile --trace"; do
    rm -f disk/*
    echo earlier > disk/kept
    dd if=/dev/zero of=disk/fill bs=4k 2> /dev/null || true
    full --force $option disk/kept -- ./prog 1000
    [ "$(cat disk/kept)" = earlier ] || fail "$option: $(cat disk/kept)"
    rm -f disk/kept.part
    [ "$(ls -A disk | paste -s -d ' ')" = "fill kept" ] || fail "$option: $(ls -A disk)"
done
fill
# a program that records itself
got=$(PSNAP_OUT=disk/p.yaml status timeout 300 ./prog 1000)
[ "$got" = 7 ] && cmp out output || fail "PSNAP_OUT: $got: $(cat out)"
no_room 'disk/p\.yaml' 1
[ "$(ls -A disk)" = fill ] || fail "PSNAP_OUT: $(ls -A disk)"
# under Valgrind
if command -v valgrind > /dev/null && "$PSNAP" record --help | grep -q valgrind; then
    "${PSNAP_CC:-cc}" -O1 -o plain prog.c # whose DWARF Valgrind knows
    full --engine valgrind -o disk/p.yaml -- ./plain 1000
    grep -qE "disk/p.yaml'?: (cannot write: )?no space left on device" err || fail "Valgrind: $(cat err)"
    full --engine valgrind --no-profile --trace disk/t.pst -- ./plain 1000
    has err "disk/t.pst: cannot write: no space left on device"
    rm -f disk/t.pst.part
    [ "$(ls -A disk)" = fill ] || fail "Valgrind: $(ls -A disk)"
fi
# no room for a name
umount disk
mount -t tmpfs -o nr_inodes=1 none disk
refused -o disk/p.yaml -- ./prog 1000
has err "cannot create 'disk/p.yaml': no space left on device"
# what comes of a trace
umount disk
mount -t tmpfs -o size=1m none disk
echo earlier > disk/kept
dd if=/dev/zero of=disk/fill bs=4k 2> /dev/null || true
for command in "profile whole.pst" "convert whole.pst"; do
    [ "$(status "$PSNAP" $command --force -o disk/kept)" = 1 ] || fail "$command: $(cat err)"
    grep -qE "disk/kept'?: (cannot write: )?no space left on device" err || fail "$command: $(cat err)"
    [ "$(cat disk/kept)" = earlier ] && [ "$(ls -A disk | paste -s -d ' ')" = "fill kept" ] ||
        fail "$command: $(ls -A disk)"
done
umount disk

# ------------------------------------------------------------- killed early

# What is left of the trace can be read, whenever psnap record was killed.
cat > sleeps.c << 'END'
#include <stdio.h>
#include <unistd.h>
static volatile int cells[64];
int main(void)
{
    for (int i = 0; i < 64; i++)
        cells[i] = i;
    fclose(fopen("asleep", "w"));
    alarm(60);
    pause();
}
END
"$PSNAP" cc -O1 -o sleeps sleeps.c
rm -f asleep
"$PSNAP" record --no-profile --trace killed.pst -- ./sleeps 2> err &
recorder=$!
until [ -e asleep ]; do
    sleep 0.05
done
child=$(pgrep -P $recorder -x sleeps)
kill -9 $recorder
wait $recorder || true
kill "$child"
"$PSNAP" info killed.pst.part > info.out 2> err || true
grep -q "pst" info.out || fail "killed early: $(cat info.out err)"
