#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# All processes of a recording are recorded, each into files of its own: children by fork,
# vfork, _Fork and posix_spawn, programs that are exec'd or started by a script or a wrapper
# that is not instrumented; however they end. Names of files, with %p, %h, %q{VAR} and %r.
set -eu
. "$PSNAP_SOURCE/tests/cli/capture_common.sh"

# ./play PART ARGUMENTS; work(n) makes n stores in a loop of its own
cat > play.c << 'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static volatile long cells[1024];
static volatile sig_atomic_t handled;

__attribute__((noinline)) static void work(long n)
{
    for (long i = 0; i < n; i++)
        cells[i * (i + 1L) / 2 % 1024] = i;
}
static void end(const char *how)
{
    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "segv"))
        *(volatile char *)0 = 1;
    if (!strcmp(how, "kill"))
        kill(getpid(), SIGKILL);
    if (!strcmp(how, "exit"))
        exit(3);
    if (!strcmp(how, "pthread_exit"))
        pthread_exit(NULL);
    _exit(4);
}
static int wait_for(pid_t pid)
{
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
static void *other(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++)
        work(1000);
    return NULL;
}
static void on_signal(int signal)
{
    (void)signal;
    if (fork() == 0) {
        work(700);
        _exit(0);
    }
    handled = 1;
}

static int forks(long n, const char *how)
{
    work(1000);
    pid_t pid = fork();
    if (pid == 0) {
        work(n);
        end(how);
    }
    work(10);
    return wait_for(pid);
}
static int plain_fork(long n)
{
    work(1000);
    pid_t pid = _Fork();
    if (pid == 0) {
        work(n);
        _exit(0);
    }
    int result = wait_for(pid);
    work(10);
    return result;
}
static int generations(long n)
{
    pid_t pid = 0;
    for (long i = 1; i <= n && pid == 0; i++) {
        work(i);
        pid = i < n ? fork() : 0;
    }
    return pid ? wait_for(pid) : 0;
}
static int many(long n)
{
    for (long i = 0; i < n; i++)
        if (fork() == 0) {
            work(100);
            return 0;
        }
    while (wait(NULL) > 0)
        ;
    return 0;
}
static int threads(long n)
{
    pthread_t one, two, mine;
    pthread_create(&one, NULL, other, NULL);
    pthread_create(&two, NULL, other, NULL);
    for (int i = 0; i < 5; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            pthread_create(&mine, NULL, other, NULL);
            work(n);
            pthread_join(mine, NULL);
            exit(0);
        }
        if (wait_for(pid))
            return 1;
    }
    pthread_join(one, NULL);
    pthread_join(two, NULL);
    return 0;
}
static int handler(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    work(50);
    return wait(NULL) > 0 && handled ? 0 : 1;
}
static int vforks(long n, char **program) /* the child works in our memory */
{
    pid_t pid;
    work(n);
    pid = vfork();
    if (pid == 0) {
        work(n);
        if (program[0])
            execv(program[0], program);
        _exit(7);
    }
    work(n);
    return wait_for(pid);
}
static int spawns(long n, char **program)
{
    pid_t pid;
    work(n);
    if (posix_spawn(&pid, program[0], NULL, NULL, program, environ))
        return 1;
    work(n);
    return wait_for(pid);
}
static int goes_on(long n)
{
    work(n);
    if (fork() == 0) {
        setsid();
        freopen("/dev/null", "w", stderr);
        freopen("/dev/null", "w", stdout);
        usleep(700000);
        work(2 * n);
        _exit(0);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    long n = argc > 2 ? atol(argv[2]) : 0;

    if (!strcmp(part, "work")) {
        work(n);
        return argc > 3 ? atoi(argv[3]) : 0;
    }
    if (!strcmp(part, "fork"))
        return forks(n, argv[3]);
    if (!strcmp(part, "_Fork"))
        return plain_fork(n);
    if (!strcmp(part, "generations"))
        return generations(n);
    if (!strcmp(part, "many"))
        return many(n);
    if (!strcmp(part, "threads"))
        return threads(n);
    if (!strcmp(part, "handler"))
        return handler();
    if (!strcmp(part, "vfork"))
        return vforks(n, argv + 3);
    if (!strcmp(part, "spawn"))
        return spawns(n, argv + 3);
    if (!strcmp(part, "exec")) {
        work(n);
        execv(argv[3], argv + 3);
    }
    if (!strcmp(part, "daemon"))
        return goes_on(n);
    return 99;
}
END
"$PSNAP" cc -O1 -pthread -o play play.c -Wno-unused-result
line=$(grep -n 'i < n; i++' play.c | head -n 1 | cut -d : -f 1)
stores() {
    accesses_of "work:$line" "$1"
}
# files EXPECTED...: the profiles in r/ have so many accesses of work(), in any order
files() {
    local file
    for file in r/*; do
        stores "$file"
    done | sort -n | paste -s -d ' ' > counts
    [ "$(cat counts)" = "$*" ] || fail "$what: $(cat counts) accesses, not $*: $(ls r; cat err)"
}
# play STATUS "EXPECTED..." ARGUMENTS: every process into a file of its own
play() {
    local wanted=$1 expected=$2 result
    shift 2
    what="$*"
    rm -rf r
    mkdir r
    result=$(status timeout 300 "$PSNAP" record -o r/%p.yaml -- "$@")
    [ "$result" = "$wanted" ] || fail "$what: exit status $result: $(cat err)"
    if [ "$wanted" = 139 ]; then # the access that ends it is never made
        grep -v 'record: 1 block cut off by' err > rest || true
        mv rest err
    fi
    [ ! -s err ] || fail "$what: says $(cat err)"
    files "$expected"
}

play 3 "1010 5000" ./play fork 5000 exit
play 4 "1010 5000" ./play fork 5000 _exit
play 0 "1010 100000" ./play fork 100000 pthread_exit
play 134 "1010 100000" ./play fork 100000 abort
play 139 "1010 100000" ./play fork 100000 segv
play 137 "1010 100000" ./play fork 100000 kill
play 0 "1 2 3 4 5 6 7 8" ./play generations 8
play 0 "0 $(printf '100 %.0s' {1..14})100" ./play many 15
play 0 "$(printf '102000 %.0s' 1 2 3 4 5)200000" ./play threads 2000
play 0 "50 700" ./play handler
play 7 "9000000" ./play vfork 3000000
play 5 "1200 30000" ./play vfork 10000 ./play work 1200 5
play 5 "1200 20000" ./play spawn 10000 ./play work 1200 5
play 5 "1200 10000" ./play exec 10000 ./play work 1200 5
[ "$(ls r | grep -c '^[0-9]*\.yaml$')" = 1 ] && [ "$(ls r | wc -l)" = 2 ] || fail "exec: $(ls r)"
play 0 "10000" ./play exec 10000 /bin/true
play 6 "30 40" sh -c './play work 30; ./play work 40; exit 6'
play 0 "30 40" sh -c './play work 30 & ./play work 40; wait'
play 0 "60" env nice ./play work 60

# ------------------------------------------------------------- names

"$PSNAP" record -o first.yaml --trace first.pst -- sh -c './play work 30; ./play work 40' 2> err
[ "$(stores first.yaml)" = 30 ] && [ "$(stores first.yaml.[0-9]*)" = 40 ] || fail "first: $(ls)"
for trace in first.pst first.pst.[0-9]*; do
    "$PSNAP" info "$trace" > out || fail "$trace: $(cat out)"
done
has err "1 further process recorded, in first.yaml.PID"
rm first*
"$PSNAP" record -- ./play fork 70 _exit 2> err || [ $? = 4 ]
[ "$(stores play.psnap.yaml)" = 1010 ] && [ "$(stores play.psnap.yaml.[0-9]*)" = 70 ] ||
    fail "default names: $(ls)"
what="one name"
rm -rf r && mkdir r
SOME='' KIND=a "$PSNAP" record -v -o 'r/%%-%q{KIND}-%q{SOME}-%r.yaml' --trace 'r/%h.%p' -- \
    sh -c './play work 30; KIND=b ./play work 40; ./play work 50' 2> err
[ -e r/%-a--0.yaml ] && [ "$(stores r/%-b--0.yaml)" = 40 ] && [ -e r/%-a--0.yaml.[0-9]* ] &&
    [ "$(ls r/"$(hostname)".[0-9]* | wc -l)" = 3 ] || fail "names: $(ls r)"
rm r/"$(hostname)".*
files 30 40 50
has err "42 accesses, profile in r/%-b--0.yaml, trace in r/$(hostname)."
for rank in OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID; do
    env $rank=5 "$PSNAP" record -o rank-%r-%h.yaml -- ./play work 10
    [ "$(stores "rank-5-$(hostname).yaml")" = 10 ] || fail "$rank: $(ls)"
    rm rank-*
done
OMPI_COMM_WORLD_RANK=5 OMPI_COMM_WORLD_SIZE=8 "$PSNAP" record -o rank.yaml --trace rank.pst -- ./play work 10
"$PSNAP" info rank.pst > out
grep -q '^rank  *5 of 8$' out || fail "the trace: $(cat out)"
"$PSNAP" profile rank.pst -o rank.pst.yaml 2> err
cmp rank.yaml rank.pst.yaml || fail "the trace's profile: $(diff rank.yaml rank.pst.yaml)"
"$PSNAP" convert rank.yaml -o rank.2.pst 2> err
"$PSNAP" info --json rank.2.pst | tr -d ' \n' | grep -q '"rank":5,"ranks":8' || fail "replayed: $("$PSNAP" info rank.2.pst)"
echo precious > taken.0
"$PSNAP" record -o taken.%r -- ./play work 10 2> err || fail "taken: $(cat err)"
[ "$(cat taken.0)" = precious ] && [ "$(stores taken.0.[0-9]*)" = 10 ] || fail "taken: $(ls)"
"$PSNAP" record --force -o taken.%r -- ./play work 10
[ "$(stores taken.0)" = 10 ] || fail "taken, --force"
# a variable that is not set would make an odd name of it, and the same for all
rm -rf r && mkdir r
[ "$(status "$PSNAP" record -o 'r/%q{WHERE}.yaml' -- sh -c './play work 10; WHERE=b ./play work 20')" = 125 ] ||
    fail "unset: $(cat err)"
has err "psnap record: in 'r/%q{WHERE}.yaml': the variable WHERE is not set in process "
has err "1 process could not be recorded"
[ "$(ls -A r)" = b.yaml ] && [ "$(stores r/b.yaml)" = 20 ] || fail "unset: $(ls -A r)"
PSNAP_OUT='r/%q{WHERE}.yaml' ./play work 10 2> err || fail "unset, PSNAP_OUT: $?"
for i in $(seq 600); do
    [ ! -s err ] || break
    sleep 0.05
done
has err "psnap collect: in 'r/%q{WHERE}.yaml': the variable WHERE is not set"
for odd in '%' '%x.yaml' 'a%q.yaml' '%q{A' '%q{}'; do
    [ "$(status "$PSNAP" record -o "$odd" -- ./play work 10)" = 125 ] || fail "$odd"
    has err "%q{VARIABLE}"
done
[ "$(status "$PSNAP" record -o none/%p.yaml -- ./play work 10 7)" = 125 ] || fail "no folder"
has err "cannot create 'none/"
[ "$(status "$PSNAP" record -o %p.none -- sh -c 'exit 3')" = 125 ] || fail "not instrumented"
has err "the program is not instrumented"
[ "$(status "$PSNAP" record -o %p.none -- ./not-there)" = 127 ] || fail "not there"
[ "$(echo *.none)" = '*.none' ] || fail "profiles of nothing"

# ------------------------------------------------------------- memory from before

# What was allocated before the fork has its name and its place in the children's profiles, too,
# also that of another thread, and in a child of a child that records nothing.
cat > heirs.c << 'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
struct node {
    struct node *next;
    long value;
};
static long *small, *large, *others;
static struct node *list;
static volatile long sum;
__attribute__((noinline)) static void work(void)
{
    for (int i = 0; i < 100; i++)
        sum += small[i];
    for (int i = 0; i < 60000; i++)
        sum += large[i] + others[i];
    for (struct node *at = list; at; at = at->next)
        sum += at->value;
}
static void *other(void *unused)
{
    others = calloc(60000, sizeof *others);
    return unused;
}
int main(void)
{
    pthread_t thread;
    small = calloc(100, sizeof *small);
    large = calloc(60000, sizeof *large);
    pthread_create(&thread, NULL, other, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 1000; i++) {
        struct node *node = malloc(sizeof *node);
        *node = (struct node){list, i};
        list = node;
    }
    work();
    if (fork() == 0) {
        if (fork() == 0) {
            work();
            _exit(0);
        }
        wait(NULL);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
END
"$PSNAP" cc -O1 -pthread -o heirs heirs.c
places() { # "NAME BYTES OFFSET" of regions of work() in allocations
    awk '/^- id: /{ is_work = /work/ } !is_work { next } /^ *- id: /{ name = "" }
        /allocation: /{ name = $2 $3 }
        /working_set: / && name { gsub("[^0-9 -]", ""); print name, $0 }' "$1" | sort
}
rm -rf r before && mkdir r
"$PSNAP" record -o r/%p.yaml -- ./heirs
for file in r/*; do
    places "$file" | grep . > places || continue
    [ -e before ] || mv places before
    [ ! -e places ] || diff before places || fail "heirs: the names differ in $file"
    ls "$file" >> heirs.files
done
[ "$(wc -l < before)" = 3 ] && [ "$(wc -l < heirs.files)" = 2 ] ||
    fail "heirs: $(cat before heirs.files)"

# ------------------------------------------------------------- who goes on

# one that goes on behind psnap record's back is recorded to its end, and nobody waits for it
rm -rf r && mkdir r
start=$(date +%s%N)
"$PSNAP" record -o r/%p.yaml -- ./play daemon 100 < /dev/null 2>&1 | cat > err
has err "psnap record: 1 process is still running: what is recorded appears when it ends"
what="daemon, at first"
for i in $(seq 600); do
    [ "$(ls r | wc -l)" = 2 ] && break
    sleep 0.05
done
what=daemon
files 100 200
# and so are children of a psnap record that has been killed
rm -rf r && mkdir r
"$PSNAP" record -o r/%p.yaml -- sh -c './play work 100; touch played; sleep 1; ./play work 200' &
recorder=$!
until [ -e played ]; do sleep 0.05; done
kill -KILL $recorder
wait $recorder 2> /dev/null || true
what="killed"
for i in $(seq 600); do
    [ "$(ls r | wc -l)" = 2 ] && break
    sleep 0.05
done
[ "$(ls r | wc -l)" -ge 1 ] || fail "killed: $(ls r)"

# ------------------------------------------------------------- who it was

# a profile has the name and the build id of the program, not of what started it
"$PSNAP" record -o who.yaml -- ./play work 100
id=$(sed -n 's/.*build_id: \([^,}]*\).*/\1/p' who.yaml | head -1)
[ -n "$id" ] || fail "no build id: $(head -5 who.yaml)"
"$PSNAP" record -o who.env.yaml -- env FOO=1 ./play work 100
"$PSNAP" record -o who.sh.yaml -- sh -c 'true; ./play work 100'
for file in who.env.yaml who.sh.yaml; do
    grep -q 'program: {name: play,' $file || fail "$file: $(head -3 $file)"
    grep -qF "$id" $file || fail "$file: not $id: $(head -3 $file)"
done

# all slots to ask with are those of processes that were killed while they took one
cat > takes.c << 'END'
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "formats/base/capture_abi.h"
int main(void)
{
    int fd = open(getenv(PSNAP_ENV_SESSION), O_RDWR);
    struct psnap_hub *hub = mmap(NULL, sizeof *hub, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    pid_t dead = fork();
    if (dead == 0)
        _exit(0);
    waitpid(dead, NULL, 0);
    for (int i = 0; i < PSNAP_REQUESTS; i++)
        hub->requests[i].state = PSNAP_REQUEST_TAKEN_BY(dead);
    return 0;
}
END
"${PSNAP_CC:-cc}" -D_GNU_SOURCE -I"$PSNAP_SOURCE" -o takes takes.c
play 6 "40" sh -c './takes && ./play work 40; exit 6'

# ------------------------------------------------------------- by themselves

# one whose children orphans become, as in a container: the collector is none of them
cat > reaps.c << 'END'
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long cells[1000];
int main(int argc, char **argv)
{
    int children = 0;
    if (argc > 1) {
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        argv[1] = NULL;
        execv("./reaps", argv);
    }
    for (int i = 0; i < 1000; i++)
        cells[i] = i;
    if (vfork() == 0) {
        execl("/bin/true", "true", NULL);
        _exit(1);
    }
    while (wait(NULL) > 0)
        children++;
    printf("%d\n", children);
    return 4;
}
END
"$PSNAP" cc -O1 reaps.c -o reaps
mkdir reaped # its first collector may be late
[ "$(PSNAP_OUT=reaped/p.yaml status timeout 300 ./reaps again)" = 4 ] || fail "reaps: $(cat out err)"
[ "$(cat out)" = 1 ] || fail "reaps: it waited for $(cat out): $(cat err)"

for arguments in "fork 5000 exit" "fork 5000 segv" "spawn 505 ./play work 5000"; do
    rm -rf r && mkdir r
    what="PSNAP_OUT $arguments"
    PSNAP_OUT=r/%p.yaml ./play $arguments > out 2> err || true
    for i in $(seq 600); do
        [ "$(ls r | wc -l)" = 2 ] && break
        sleep 0.05
    done
    files 1010 5000
    rm -rf r && mkdir r
    PSNAP_OUT=r/p.yaml ./play $arguments > out 2> err || true
    for i in $(seq 600); do
        [ "$(ls r | wc -l)" = 2 ] && break
        sleep 0.05
    done
    files 1010 5000
done
