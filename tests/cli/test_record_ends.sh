#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# SIGTERM, SIGINT and SIGHUP that are sent to psnap record end it soon with whole files, whatever
# the program makes of them, and whatever psnap is doing: recording, waiting or certifying. (How
# soon is a second; a test that depends on no clock gives it ten.)
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

cat > prog.c << 'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long cells[1 << 16];
static volatile sig_atomic_t runs = 1;
static void end(int signal)
{
    runs = signal == SIGUSR1 ? 0 : runs;
}
__attribute__((noinline)) static void work(long n, unsigned long seed)
{
    for (long i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        cells[cells[seed >> 48] & 0xffff] = (long)(seed >> 33);
    }
}
int main(int argc, char **argv)
{
    FILE *file;
    char made[32]; /* a name of its own: two of these run at once */
    signal(SIGUSR1, end);
    alarm(100); /* whatever becomes of the test */
    for (int i = 2; i < argc; i++)
        signal(atoi(argv[i]), end);
    work(getenv("FEW") ? 1000 : 1000000, 1);
    snprintf(made, sizeof made, "%s.new", argv[1]);
    file = fopen(made, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    rename(made, argv[1]);
    while (runs)
        if (argc > 2 && argv[2][0] == '0')
            pause();
        else
            work(1000, 2);
    puts("done");
    return 3;
}
END
"$PSNAP" cc -O1 -o prog prog.c

# until FILE: waits for it
until_there() {
    for _ in $(seq 600); do
        [ ! -e "$1" ] || return 0
        sleep 0.05
    done
    fail "no $1: $(cat err)"
}

# ends SIGNAL: psnap record, which is $recorder, does so, with $result
ends() {
    kill "-$1" $recorder
    for _ in $(seq 200); do
        kill -0 $recorder 2> /dev/null || break
        sleep 0.05
    done
    ! kill -0 $recorder 2> /dev/null || { kill -9 $recorder; fail "SIG$1: psnap record goes on"; }
    result=0
    wait $recorder || result=$?
}

# begin ARGUMENTS...: in the background, until the program is at work
begin() {
    rm -f ready.* p.yaml p.yaml.* t.pst
    env --default-signal=INT "$PSNAP" record -o p.yaml "$@" > out 2> err &
    recorder=$!
    until_there ready.1
    program=$(cat ready.1)
}

# ------------------------------------------------------------- a program that obeys

for signal in TERM HUP INT; do
    begin --trace t.pst -- ./prog ready.1
    ends $signal
    [ $result = $((128 + $(kill -l $signal))) ] || fail "obeys $signal: $result: $(cat err)"
    [ "$(accesses_of work:13 p.yaml)" -ge 2000000 ] || fail "obeys $signal: too little"
    "$PSNAP" info t.pst > info.out || fail "obeys $signal: no trace"
done

# ------------------------------------------------------------- one that does not

for signal in TERM HUP INT; do
    begin --trace t.pst -- ./prog ready.1 1 2 15
    ends $signal
    [ $result = $((128 + $(kill -l $signal))) ] || fail "deaf to $signal: $result: $(cat err)"
    has err "process $program goes on, unrecorded"
    [ "$(accesses_of work:13 p.yaml)" -ge 2000000 ] || fail "deaf to $signal: too little"
    "$PSNAP" info t.pst > info.out || fail "deaf to $signal: no trace"
    kill -USR1 "$program" || fail "deaf to $signal: the program has ended"
done
begin -- ./prog ready.1 0 1 2 15 # and is asleep
ends TERM
[ "$(accesses_of work:13 p.yaml)" -ge 1900000 ] || fail "asleep: $(accesses_of work:13 p.yaml)"
has err "the last accesses are missing" # the chunk that it was writing
kill -USR1 "$program"

# ------------------------------------------------------------- one behind another

begin -- sh -c './prog ready.1 1 2 15; echo then'
ends TERM
[ "$(accesses_of work:13 p.yaml)" -ge 2000000 ] || fail "behind a shell"
kill -USR1 "$program"
begin -- sh -c './prog ready.1 1 2 15 & ./prog ready.2 1 2 15; wait'
until_there ready.2
ends TERM
kill -USR1 "$program" "$(cat ready.2)"
for _ in $(seq 1200); do # its collector goes on until it has ended
    [ "$(ls | grep -c '^p\.yaml')" -lt 2 ] || break
    sleep 0.05
done
for profile in p.yaml*; do
    [ "$(accesses_of work:13 "$profile")" -ge 2000000 ] || fail "two behind a shell: $profile"
done
[ "$(ls | grep -c '^p\.yaml')" = 2 ] || fail "two behind a shell: $(ls)"

# ------------------------------------------------------------- a program that sends it itself

cat > all.sh << 'END'
trap : TERM
kill -TERM 0
./prog ready.2 1 2 15
END
rm -f ready.*
(
    setsid "$PSNAP" record --force -o p.yaml -- sh all.sh > out 2> err &
    echo $! > recorder
    wait $! || true
) &
until_there ready.2
kill -USR1 "$(cat ready.2)"
wait $!
has out "done"

# ------------------------------------------------------------- while a certificate is made

begin --certify -- ./prog ready.1
sleep 2 # so that there is something to certify
kill -USR1 "$program"
until grep -q "State:.Z" "/proc/$program/status"; do
    sleep 0.05
done
ends TERM
has err "psnap was told to end"
"$PSNAP" check p.yaml || fail "certifying: $(cat err)"

# ------------------------------------------------------------- under Valgrind

if command -v valgrind > valgrind.path; then
    "${PSNAP_CC:-cc}" -O1 -o plain prog.c # whose DWARF Valgrind knows
    FEW=1 begin --engine valgrind -- ./plain ready.1 1 2 15
    ends TERM
    [ $result -gt 128 ] || fail "under Valgrind: $result: $(cat err)"
    "$PSNAP" check p.yaml || fail "under Valgrind: $(cat err)"
fi

# Names that processes settle: what was recorded until then is there when psnap record ends
cat > late.c << 'END'
#include <stdio.h>
#include <unistd.h>
static volatile long cells[1024];
int main(void)
{
    FILE *file = fopen("late.new", "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
    rename("late.new", "late.ready");
    alarm(100); /* whatever becomes of the test */
    for (long i = 0;; i++)
        cells[i * (i + 1) / 2 % 1024] = i;
}
END
"$PSNAP" cc -O1 -o late late.c
"$PSNAP" record -o 'late.%p.yaml' -- ./late 2> err &
recorder=$!
until_there late.ready # only now is it sure to be recorded
program=$(cat late.ready)
trap 'kill -KILL $program 2> /dev/null || true; rm -rf "$dir"' EXIT
kill -STOP "$program" # it does not end by the signal for now
sleep 0.3
kill -TERM $recorder
result=0
wait $recorder || result=$?
[ $result = 143 ] || fail "late: $result: $(cat err)"
until_there "late.$program.yaml" # at once, unless the machine is very busy: then it is said
[ -s "late.$program.yaml" ] || fail "late: no profile: $(cat err)"
kill -KILL "$program"
[ "$(status "$PSNAP" record -o '/nonexistent/%p.yaml' -- ./late)" = 125 ] || fail "$(cat err)"
has err "nonexistent"
