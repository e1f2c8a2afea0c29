#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A collector that dies, is stopped, or is not what it should be, and signals that come while the
# two are being started: the program runs on or ends as it should, and what is missing is said.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"
sanitized=$(grep -c '^PSNAP_SANITIZE:[^=]*=..*' "$PSNAP_BUILD/CMakeCache.txt" || true)

cat > act.c << 'END_OF_C'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long cells[1024];
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
/* Each is announced in the control ring, too. */
__attribute__((noinline)) static void *allocate(void *count)
{
    for (long i = 0; i < (long)count; i++) {
        void *volatile block = malloc(200000);
        free(block);
    }
    return NULL;
}
static void ready(void)
{
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    (void)!getchar();
}
int main(int argc, char **argv)
{
    long n = argc > 2 ? atol(argv[2]) : 0;
    if (!strcmp(argv[1], "work")) {
        work(1);
        if (argc > 3)
            ready();
        work(n);
    } else if (!strcmp(argv[1], "clone")) { /* no handler of fork's is called */
        pid_t child;
        work(n);
        child = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
        if (child == 0)
            exit(0);
        waitpid(child, NULL, 0);
        usleep(300000);
        work(n);
    } else if (!strcmp(argv[1], "allocate")) {
        pthread_t thread;
        ready();
        for (int i = 0; i < 6; i++) /* the main thread's own ring stays empty */
            if (!pthread_create(&thread, NULL, allocate, (void *)10000L))
                pthread_join(thread, NULL);
        allocate((void *)30000L);
    }
    puts("whole");
    return 3;
}
END_OF_C
"$PSNAP" cc -O1 -pthread -o act act.c
line=$(grep -n 'i < n; i++' act.c | cut -d : -f 1)
stores() {
    accesses_of "work:$line" "$1"
}
# wait_for FILE TEXT: until the text is in the file, for 10 seconds
wait_for() {
    for i in $(seq 100); do
        if grep -q "$2" "$1" 2> /dev/null; then return; fi
        sleep 0.1
    done
    fail "no '$2' in $1: $(cat "$1")"
}

# ------------------------------------------------------------- PSNAP_OUT

# what is started says nothing and ends
[ "$(PSNAP_OUT=p.yaml PSNAP_COMMAND=/bin/true status timeout 20 ./act work 1000000)" = 3 ] ||
    fail "/bin/true: $(cat err)"
has out whole
has err "psnap: the collector has died, accesses are missing"
[ ! -e p.yaml ] || fail "a profile from /bin/true"

# a child that has recorded nothing ends: that is no end of its parent's recording
[ "$(PSNAP_OUT=p.yaml status timeout 20 ./act clone 300000)" = 3 ] || fail "clone: $(cat err)"
[ ! -s err ] && [ "$(stores p.yaml)" = 600000 ] || fail "clone: $(stores p.yaml): $(cat err)"

# what is preloaded into the program is not for the collector
cat > preload.c << 'END_OF_C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
__attribute__((constructor)) static void mark(void)
{
    FILE *marks = fopen("marks", "a");
    if (marks) {
        fprintf(marks, "%s\n", program_invocation_short_name);
        fclose(marks);
    }
}
END_OF_C
"${PSNAP_CC:-cc}" -shared -fPIC -o preload.so preload.c
rm -f p.yaml
[ "$(PSNAP_OUT=p.yaml LD_PRELOAD=$dir/preload.so status ./act work 1000)" = 3 ] ||
    fail "preload: $(cat err)"
[ "$(stores p.yaml)" = 1001 ] || fail "preload: $(stores p.yaml)"
grep -q '^act$' marks || fail "nothing was preloaded"
! grep -q psnap marks || fail "preloaded into the collector: $(cat marks)"

# ------------------------------------------------------------- stopped

# start_stopped ARGUMENTS...: the program is about to begin and its collector is stopped
start_stopped() {
    rm -f p.yaml gate
    mkfifo gate
    "$PSNAP" record -o p.yaml -- "$@" > out 2> err < gate &
    recorder=$!
    exec 5> gate
    wait_for out ready
    program=$(sed -n 's/ready //p' out)
    kill -STOP $recorder
}
# state: of the program: its letter, empty when it is gone
state() {
    sed 's/.*) \(.\).*/\1/' "/proc/$program/stat" 2> /dev/null || true
}

# wait_for_sleep: until the program has used no processor for half a second
wait_for_sleep() {
    local before= now still=0
    for i in $(seq 200); do
        now=$(cut -d ' ' -f 14,15 "/proc/$program/stat")
        still=$((still + 1))
        [ "$now" = "$before" ] && [ "$(state)" = S ] || still=0
        [ $still -lt 5 ] || break
        before=$now
        sleep 0.1
    done
    [ $still = 5 ] && ! grep -q whole out || fail "it does not wait for the collector"
}

# a thread that waits for the control ring ends when it is told to
start_stopped ./act allocate
echo >&5
wait_for_sleep
kill -TERM "$program"
for i in $(seq 50); do
    case $(state) in '' | Z) break ;; esac
    sleep 0.1
done
ended=$(state)
kill -CONT $recorder
exec 5>&-
result=0
wait $recorder || result=$?
case $ended in '' | Z) ;; *) fail "SIGTERM was not heard: $ended" ;; esac
[ $result = 143 ] && [ -s p.yaml ] || fail "SIGTERM: $result: $(cat err)"

# killed, with a full ring: the program runs on
start_stopped ./act work 3000000 gate
echo >&5
wait_for_sleep
kill -KILL $recorder
wait $recorder 2> wait.err || true
exec 5>&-
wait_for out whole
[ ! -e p.yaml ] || fail "a profile by a killed collector"

# ------------------------------------------------------------- signals while it starts

# psnap record is told to end as soon as it has started the program: so is the program
if [ "$sanitized" = 0 ]; then
    cat > forks.c << 'END_OF_C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>
pid_t fork(void)
{
    static int count; /* the first one is for a helper */
    pid_t (*real)(void) = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    pid_t pid = real();
    if (++count == 2 && pid > 0) {
        for (int i = 0; i < 100 && access("pid", F_OK) != 0; i++)
            usleep(50000); /* until the program has begun */
        raise(SIGTERM);
    }
    return pid;
}
END_OF_C
    "${PSNAP_CC:-cc}" -shared -fPIC -o forks.so forks.c -ldl
    rm -f pid p.yaml
    LD_PRELOAD=$dir/forks.so status "$PSNAP" record -o p.yaml -- env -u LD_PRELOAD \
        sh -c 'echo $$ > new; mv new pid; exec sleep 20' > /dev/null
    [ -s pid ] || fail "the program did not begin: $(cat err)"
    for i in $(seq 20); do
        [ -e "/proc/$(cat pid)" ] || break
        sleep 0.1
    done
    [ ! -e "/proc/$(cat pid)" ] || fail "the program has outlived psnap record"
fi
# and the program has no signals blocked that we had not
[ "$("$PSNAP" record --force -o p.yaml -- grep SigBlk /proc/self/status 2> /dev/null)" = \
    "$(grep SigBlk /proc/self/status)" ] || fail "the program starts with signals blocked"
