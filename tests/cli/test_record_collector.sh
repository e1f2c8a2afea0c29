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
# wait_for FILE TEXT: until the text is in the file, for a minute
wait_for() {
    for i in $(seq 600); do
        if grep -q "$2" "$1" 2> /dev/null; then return; fi
        sleep 0.1
    done
    fail "no '$2' in $1: $(cat "$1")"
}

# ------------------------------------------------------------- PSNAP_OUT

# what is started ends before it is a collector, or is none
for command in /bin/true /bin/false /nonexistent; do
    [ "$(PSNAP_OUT=p.yaml PSNAP_COMMAND=$command status timeout 300 ./act work 1000000)" = 3 ] ||
        fail "$command: $(cat err)"
    has out whole
    has err "psnap: cannot start the collector, not recording: $command"
    [ ! -e p.yaml ] || fail "a profile from $command"
done
# a collector that is killed, or cannot use what it was handed
cat > killed.sh << 'END_OF_SH'
#!/bin/bash
[ "$HOW" = late ] || kill -KILL $$
exec "$REAL" "$@" --fd 0
END_OF_SH
chmod +x killed.sh
for how in early late; do
    [ "$(HOW=$how REAL=$PSNAP PSNAP_OUT=p.yaml PSNAP_COMMAND=./killed.sh status timeout 300 \
        ./act work 1000000)" = 3 ] || fail "killed $how: $(cat err)"
    has out whole
    has err "psnap: cannot start the collector, not recording: ./killed.sh"
done

# the program has no child, and has had none: what its children used is what they used
cat > children.c << 'END_OF_C'
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
static volatile int cells[1000];
int main(void)
{
    struct rusage used;
    for (int i = 0; i < 1000; i++)
        cells[i]++;
    if (wait(NULL) != -1 || getrusage(RUSAGE_CHILDREN, &used) != 0)
        return 1;
    printf("%ld %ld %ld %ld\n", (long)used.ru_utime.tv_usec, (long)used.ru_stime.tv_usec,
           used.ru_maxrss, used.ru_minflt);
    return 3;
}
END_OF_C
"$PSNAP" cc -O1 -o children children.c
[ "$(PSNAP_OUT=children.yaml status ./children)" = 3 ] || fail "children: $(cat err)"
has out "0 0 0 0"
[ "$(accesses_of main:8 children.yaml)" = 2000 ] || fail "children: $(accesses_of main:8 children.yaml)"

# tables of any length: 10,000 functions, some MB
awk 'BEGIN {
    n = 10000
    print "#include <stdio.h>\nstatic volatile int cells[" n "];"
    for (i = 0; i < n; i++)
        print "static void f" i "(int k) { cells[" i "] += k; }"
    print "static void (*const all[])(int) = {"
    for (i = 0; i < n; i++)
        print "f" i ","
    print "};"
    print "int main(void) { for (int i = 0; i < " n "; i++) all[i](2);"
    print "printf(\"%d\\n\", cells[9]); return 7; }"
}' > many.c
"$PSNAP" cc -O0 -o many many.c
[ "$(status "$PSNAP" record -o many.yaml ./many)" = 7 ] || fail "10,000 functions: $(cat err)"
[ "$(PSNAP_OUT=many.out.yaml status timeout 300 ./many)" = 7 ] ||
    fail "10,000 functions under PSNAP_OUT: $(cat err)"
has out 2
for profile in many.yaml many.out.yaml; do
    "$PSNAP" info --json "$profile" | grep -q '"accesses": 90004\b' ||
        fail "10,000 functions: $("$PSNAP" info "$profile")"
done

# a child that has recorded nothing ends: that is no end of its parent's recording
[ "$(PSNAP_OUT=p.yaml status timeout 300 ./act clone 300000)" = 3 ] || fail "clone: $(cat err)"
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
for i in $(seq 600); do
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

# ------------------------------------------------------------- corrupt

# Bytes of a ring that cannot be end the recording at once, and nothing else: of its header
# (capture_abi.h: what was produced, its state and what was consumed), or of all its words
cat > scribble.py << 'END_OF_PYTHON'
import os, sys
program, place, size = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
folder = f"/proc/{program}/fd"
names = [name for name in os.listdir(folder) if "psnap-session" in os.readlink(f"{folder}/{name}")]
memory = os.open(f"{folder}/{names[0]}", os.O_RDWR)
header, ring = 4096, 4096 + 2 * 131072 * 8
os.pwrite(memory, b"\x5a" * size, header + ring + place)
END_OF_PYTHON
for place in "144 8" "176 4" "256 8" "4096 2097152"; do
    rm -f p.yaml gate
    mkfifo gate
    "$PSNAP" record -o p.yaml -- ./act work 3000000 gate > out 2> err < gate &
    recorder=$!
    exec 5> gate
    wait_for out ready
    python3 scribble.py $recorder $place
    [ "$place" = "4096 2097152" ] || wait_for err "psnap record: the program's ring 1 is not"
    echo >&5
    wait_for out whole
    exec 5>&-
    result=0
    wait $recorder || result=$?
    [ $result = 125 ] && [ ! -e p.yaml ] || fail "corrupt at $place: $result: $(cat err)"
    has err "psnap record: the program's ring"
done

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
    for i in $(seq 150); do
        [ -e "/proc/$(cat pid)" ] || break
        sleep 0.1
    done
    [ ! -e "/proc/$(cat pid)" ] || fail "the program has outlived psnap record"
fi
# and the program has no signals blocked that we had not
[ "$("$PSNAP" record --force -o p.yaml -- grep SigBlk /proc/self/status 2> /dev/null)" = \
    "$(grep SigBlk /proc/self/status)" ] || fail "the program starts with signals blocked"
