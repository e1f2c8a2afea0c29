#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A recorded program behaves as if it were not: what it prints, how it ends, its errno, its
# files, children, signals and threads; and what was recorded is exact however it ends.
# Recorded by `psnap record`, by itself (PSNAP_OUT), or not at all.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# Parts to play: ./act PART ARGUMENTS
cat > act.c << 'END'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static volatile long cells[1024];
static volatile sig_atomic_t ticks, stop;
static sigjmp_buf back;

/* n stores, in a loop of its own */
__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
static void tick(int signal)
{
    (void)signal;
    ticks = ticks + 1;
}
static void on_term(int signal)
{
    (void)signal;
    stop++;
}
static void on_fault(int signal)
{
    (void)signal;
    ticks = ticks + 1;
    siglongjmp(back, 1);
}
static void *thread(void *argument)
{
    work((long)argument);
    return NULL;
}
static void *lasting(void *argument)
{
    work(100);
    __atomic_add_fetch((int *)argument, 1, __ATOMIC_SEQ_CST);
    pause();
    return NULL;
}
static int recurse(volatile int *from, int n)
{
    volatile int here[100];
    here[n % 100] = *from;
    return recurse(here, n + 1) + here[0];
}

static int echo(int argc, char **argv)
{
    char line[256];
    for (int i = 0; i < argc; i++)
        printf("%s|", argv[i]);
    for (char **e = environ; *e; e++)
        if (strncmp(*e, "PSNAP_", 6) != 0 && strncmp(*e, "_=", 2) != 0)
            puts(*e);
    while (fgets(line, sizeof line, stdin))
        printf("<%s", line);
    fprintf(stderr, "to stderr\n");
    work(10);
    return atoi(argv[2]);
}

static int files(void)
{
    int first = open("/dev/null", O_RDONLY), second = dup(first), number;
    printf("%d %d", first, second);
    for (number = 0; number < 64; number++)
        if (number != first && number != second && fcntl(number, F_GETFD) >= 0)
            printf(" +%d", number);
    work(10);
    printf("\nerrno %d", errno);
    errno = 77;
    work(1000000); /* the ring fills */
    printf(" %d\n", errno);
    return waitpid(-1, NULL, 0) == -1 && errno == ECHILD ? 0 : 9;
}

static int timer(int microseconds)
{
    struct itimerval interval = {{0, microseconds}, {0, microseconds}}, none = {{0, 0}, {0, 0}};
    signal(SIGALRM, tick);
    setitimer(ITIMER_REAL, &interval, NULL);
    work(10000000);
    setitimer(ITIMER_REAL, &none, NULL);
    printf("%d\n", (int)ticks);
    return 0;
}

static int faults(void)
{
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_NODEFER};
    volatile int n = 0;
    sigaction(SIGSEGV, &action, NULL);
    for (n = 0; n < 50; n++)
        if (sigsetjmp(back, 1) == 0) {
            cells[n] = 1;
            *(volatile char *)8 = 1;
        } else
            work(100);
    printf("%d\n", (int)ticks);
    return 0;
}

static int die(const char *how)
{
    work(100000);
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "_exit"))
        _exit(3);
    if (!strcmp(how, "exit"))
        exit(4);
    if (!strcmp(how, "term"))
        raise(SIGTERM);
    if (!strcmp(how, "deep"))
        return recurse((volatile int *)cells, 1);
    cells[1] = 1; /* one record with the access that fails */
    *(volatile char *)0 = 1;
    return 0;
}

static int child(void)
{
    int status = 0;
    pid_t pid = fork();
    if (pid == 0) {
        work(5000);
        printf("child\n");
        exit(6);
    }
    work(1000);
    waitpid(pid, &status, 0);
    if (system("exit 8") == 0)
        return 1;
    printf("parent %d\n", WEXITSTATUS(status));
    return 0;
}

static int threads(int count, int concurrent, long n)
{
    pthread_t *all = calloc((size_t)count, sizeof *all);
    for (int i = 0; i < count; i++) {
        if (pthread_create(&all[i], NULL, thread, (void *)n))
            return 1;
        if (i >= concurrent)
            pthread_join(all[i - concurrent], NULL);
    }
    for (int i = count - concurrent; i < count; i++)
        pthread_join(all[i], NULL);
    free(all);
    return 0;
}

static int crowd(int count)
{
    pthread_t one;
    int ready = 0;
    for (int i = 0; i < count; i++)
        if (pthread_create(&one, NULL, lasting, &ready))
            return 1;
    while (__atomic_load_n(&ready, __ATOMIC_SEQ_CST) < count)
        usleep(1000);
    printf("crowd\n");
    fflush(stdout);
    _exit(0);
}

static int wait_for_term(void)
{
    signal(SIGTERM, on_term);
    signal(SIGHUP, on_term);
    signal(SIGINT, on_term);
    signal(SIGQUIT, on_term);
    puts("ready");
    fflush(stdout);
    while (!stop)
        work(1);
    usleep(100000); /* for one that came twice */
    printf("bye %d\n", (int)stop);
    return 5;
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    if (!strcmp(part, "echo"))
        return echo(argc, argv);
    if (!strcmp(part, "files"))
        return files();
    if (!strcmp(part, "timer"))
        return timer(atoi(argv[2]));
    if (!strcmp(part, "faults"))
        return faults();
    if (!strcmp(part, "die"))
        return die(argv[2]);
    if (!strcmp(part, "child"))
        return child();
    if (!strcmp(part, "threads"))
        return threads(atoi(argv[2]), atoi(argv[3]), atol(argv[4]));
    if (!strcmp(part, "crowd"))
        return crowd(atoi(argv[2]));
    if (!strcmp(part, "term"))
        return wait_for_term();
    if (!strcmp(part, "long")) {
        for (int i = 0; i < 200; i++)
            work(500000);
        puts("whole");
        return 0;
    }
    return 99;
}
END
${PSNAP_CC:-cc} -O1 -pthread -o native act.c -Wno-unused-result -Wno-infinite-recursion 2> cc.err ||
    fail "native: $(cat cc.err)"
"$PSNAP" cc -O1 -pthread -o act act.c -Wno-infinite-recursion

# stores PROFILE: accesses of the loop in work(), a number
line=$(grep -n 'i < n; i++' act.c | head -n 1 | cut -d : -f 1)
stores() {
    accesses_of "${2:-work:$line}" "$1"
}
recorded() { # EXPECTED STATUS ARGUMENTS...: records act, accesses of work() are EXPECTED
    local expected=$1 wanted=$2 result
    shift 2
    rm -f p.yaml
    result=$(status "$PSNAP" record -o p.yaml -- ./act "$@")
    [ "$result" = "$wanted" ] || fail "$*: exit status $result: $(cat err)"
    [ "$(stores p.yaml)" = "$expected" ] || fail "$*: $(stores p.yaml) accesses"
}

# ------------------------------------------------------------- what goes in and out

# same ARGUMENTS...: as the native program, recorded, alone, and recording itself
same() {
    local wanted result
    wanted=$(status ./native "$@" < input)
    cp out native.out && cp err native.err
    rm -f p.yaml q.yaml
    result=$(status "$PSNAP" record -o p.yaml -- ./act "$@" < input)
    sed 's/^.\/native|/.\/act|/' native.out | diff - out > difference || fail "record $*: $(cat difference)"
    cmp native.err err || fail "record $*: $(cat err)"
    [ "$result" = "$wanted" ] || fail "record $*: exit status $result, not $wanted"
    result=$(status ./act "$@" < input)
    sed 's/^.\/native|/.\/act|/' native.out | diff - out > difference || fail "alone $*: $(cat difference)"
    cmp native.err err && [ "$result" = "$wanted" ] || fail "alone $*: $result, $(cat err)"
    result=$(PSNAP_OUT=q.yaml status ./act "$@" < input)
    [ -s q.yaml ] || fail "PSNAP_OUT $*: no profile when the program is gone: $(cat err)"
    sed 's/^.\/native|/.\/act|/' native.out | diff - out > difference || fail "PSNAP_OUT $*: $(cat difference)"
    cmp native.err err && [ "$result" = "$wanted" ] || fail "PSNAP_OUT $*: $result, $(cat err)"
    [ "$(stores p.yaml)" = "$(stores q.yaml)" ] || fail "$*: PSNAP_OUT has another profile"
}
printf 'one\ntwo\nno end' > input
same echo 0 'a b' ''
same echo 7 "'" '*'
same echo 255
same files
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
    rm -f p.yaml
    eval "./native files 3>&1 $closed" > native.out 2> /dev/null || true
    eval "'$PSNAP' record -o p.yaml -- ./act files 3>&1 $closed" > out 2> /dev/null || true
    cmp native.out out || fail "files $closed: $(cat out)"
    [ "$(stores p.yaml)" = 1000010 ] || fail "files $closed: a profile of $(stores p.yaml)"
done
echo x | "$PSNAP" record -o pipe.yaml -- ./act echo 0 2> /dev/null | grep -q '<x' || fail "through pipes"
{ "$PSNAP" record -o sigpipe.yaml -- sh -c 'trap "" TERM; exec ./act echo 0 < /etc/passwd' ||
    echo $? > pipe.status; } 2> /dev/null | true
[ -s sigpipe.yaml ] || fail "no profile behind a closed pipe"
(cd / && "$PSNAP" record -o "$dir/cwd.yaml" -- "$dir/act" die exit) && fail "status 4 lost"
[ "$(stores cwd.yaml)" = 100000 ] || fail "other directory"

# ------------------------------------------------------------- how it ends

recorded 100000 4 die exit
recorded 100000 3 die _exit
recorded 100000 137 die kill
recorded 100000 134 die abort
recorded 100000 139 die segv
recorded 100000 143 die term
recorded 100000 139 die deep
[ "$(status "$PSNAP" record -o none.yaml -- ./not-there)" = 127 ] || fail "not there"
has err "cannot run './not-there': no such file or directory"
[ "$(status "$PSNAP" record -o none.yaml -- ./act.c)" = 126 ] || fail "not a program"
[ "$(status "$PSNAP" record -o none.yaml -- /)" = 126 ] || fail "a directory"
[ "$(status "$PSNAP" record -o none.yaml -- ./native echo 7 < input)" = 125 ] ||
    fail "not instrumented"
has err "the program is not instrumented"
has err "psnap cc"
has out "<two"
[ "$(status "$PSNAP" record -o none.yaml -- env -i ./act die exit)" = 125 ] || fail "env -i"
has err "environment may have been cleared before it started"
has err "(PSNAP_SESSION has to be in it)"
[ -z "$(awk 'length > 100' err)" ] || fail "one long line: $(cat err)"
[ ! -e none.yaml ] || fail "a profile of nothing"
[ "$(status "$PSNAP" record -o none.yaml --)" = 125 ] || fail "no program"
[ "$(status "$PSNAP" record --odd -- ./act die exit)" = 125 ] || fail "no such option"

# ------------------------------------------------------------- signals

# handlers come between any two instructions; every access of theirs and of the loop counts
for microseconds in 50 1000; do
    rm -f p.yaml
    [ "$(status timeout 300 "$PSNAP" record -o p.yaml -- ./act timer $microseconds)" = 0 ] ||
        fail "timer: $(cat err)"
    [ "$(stores p.yaml)" = 10000000 ] || fail "timer: $(stores p.yaml) accesses of the loop"
    [ "$(stores p.yaml tick)" = $((2 * $(cat out))) ] ||
        fail "timer: $(stores p.yaml tick) accesses of $(cat out) handlers"
done
recorded 5000 0 faults
[ "$(cat out)" = 50 ] && [ "$(stores p.yaml on_fault)" = 100 ] || fail "faults: $(cat out)"

# told to end, psnap record tells the program, once; what goes to both the program has from
# whoever sent it
cat > tell.py << 'END'
import os, pty, signal, subprocess, sys
psnap, name, way = sys.argv[1:]
number = getattr(signal, name)
command = [psnap, "record", "--force", "-o", "p.yaml", "--", "./act", "term"]
if way == "terminal":  # its key
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(psnap, command)
    text = b""
    while b"ready" not in text:
        text += os.read(terminal, 100)
    os.write(terminal, {"SIGINT": b"\x03", "SIGQUIT": b"\x1c"}[name])
    try:
        while more := os.read(terminal, 100):
            text += more
    except OSError:
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
else:
    record = subprocess.Popen(command, stdout=subprocess.PIPE)
    text = record.stdout.readline()
    record.send_signal(number)
    text += record.stdout.read()
    status = record.wait()
if status != 5 or b"bye 1" not in text:
    sys.exit(f"{name} {way}: {status}: {text}")
END
for way in "SIGTERM sent" "SIGHUP sent" "SIGINT sent" "SIGQUIT sent" "SIGINT terminal" "SIGQUIT terminal"; do
    rm -f p.yaml
    timeout 300 python3 tell.py "$PSNAP" $way > err 2>&1 || fail "$(cat err)"
    stores p.yaml > /dev/null
done

# ------------------------------------------------------------- processes and threads

rm -f p.yaml
[ "$(status "$PSNAP" record -o p.yaml -- ./act child)" = 0 ] || fail "child: $(cat err)"
printf 'child\nparent 6\n' | cmp - out || fail "child: $(cat out)"
has err "1 further process recorded, in p.yaml.PID"
[ "$(stores p.yaml)" = 1000 ] || fail "child: $(stores p.yaml)"
[ "$(stores p.yaml.[0-9]*)" = 5000 ] || fail "child: $(stores p.yaml.[0-9]*) of the child"
recorded 300000 0 threads 300 20 1000
recorded 8000000 0 threads 8 8 1000000
recorded 2000000 0 threads 2000 1 1000
recorded 200000 0 crowd 2000
has out "crowd"

# ------------------------------------------------------------- the collector is slow, or dies

rm -f p.yaml
"$PSNAP" record -o p.yaml -- ./act long > out 2> err &
recorder=$!
for i in 1 2 3; do
    sleep 0.03
    kill -STOP $recorder
    sleep 0.12
    kill -CONT $recorder
done
wait $recorder || fail "stopped: $(cat err)"
[ "$(stores p.yaml)" = 100000000 ] || fail "stopped: $(stores p.yaml) accesses"

rm -f p.yaml
"$PSNAP" record -o p.yaml -- ./act long > out 2> err &
recorder=$!
for i in $(seq 600); do # until the program runs, that is to survive it
    ! pgrep -P $recorder -x act > pids || break
    sleep 0.05
done
sleep 0.1
kill -KILL $recorder
wait $recorder 2> /dev/null || true
for i in $(seq 100); do
    grep -q whole out && break
    sleep 0.1
done
grep -q whole out || fail "the program did not survive the collector"
[ ! -e p.yaml ] || fail "half a profile"

# ------------------------------------------------------------- recording itself

echo precious > kept.yaml
[ "$(PSNAP_OUT=kept.yaml status ./act echo 3 < input)" = 3 ] || fail "PSNAP_OUT: status"
[ "$(cat kept.yaml)" = precious ] || fail "PSNAP_OUT: overwritten"
has err "'kept.yaml' exists already, writing 'kept.yaml."
[ "$(stores kept.yaml.[0-9]*)" = 10 ] || fail "PSNAP_OUT: no spare name: $(ls)"
[ "$(PSNAP_OUT=- status ./act echo 3 < input)" = 3 ] || fail "PSNAP_OUT=-: status"
has err "name a file in PSNAP_OUT"
! grep -q "psnap: 1" out || fail "PSNAP_OUT=-: a profile in the program's output"
[ "$(PSNAP_OUT=no/where.yaml status ./act echo 3 < input)" = 3 ] || fail "PSNAP_OUT: nowhere"
has err "cannot create 'no/where.yaml'"
[ "$(PSNAP_OUT=none.yaml PSNAP_COMMAND=/not/there status ./act echo 3 < input)" = 3 ] ||
    fail "PSNAP_OUT: no collector"
has err "cannot start the collector"
[ "$(PSNAP_SESSION=/not/there status ./act echo 3 < input)" = 3 ] || fail "PSNAP_SESSION"
[ "$(PSNAP_SESSION=/etc/passwd status ./act echo 3 < input)" = 3 ] || fail "PSNAP_SESSION"
[ ! -e none.yaml ] || fail "a profile from nowhere"
# who has more rights than who starts it does as it is told by nobody: starts nothing, opens nothing
cp act suid
if [ "$(id -u)" = 0 ] && chown 65534 suid && chmod 4755 suid; then
    printf '#!/bin/sh\necho started > "%s/started"\n' "$dir" > starts
    chmod 755 starts
    chmod 777 .
    [ "$(PSNAP_OUT="$dir/suid.yaml" PSNAP_COMMAND="$dir/starts" status ./suid echo 3 < input)" = 3 ] &&
        grep -q "to stderr" err && ! grep -q psnap: err || fail "set-uid: $(cat err)"
    [ ! -e started ] && [ ! -e suid.yaml ] || fail "set-uid: it starts what it is told"
    [ "$(status "$PSNAP" record -o suid.yaml -- ./suid echo 3 < input)" = 125 ] || fail "set-uid, recorded"
    has err "'./suid' is set-uid"
fi
PSNAP_OUT=killed.yaml status ./act die kill > /dev/null 2>&1
for i in $(seq 50); do
    [ ! -e killed.yaml ] || break
    sleep 0.1
done
[ "$(stores killed.yaml)" = 100000 ] || fail "PSNAP_OUT, killed: $(stores killed.yaml)"
